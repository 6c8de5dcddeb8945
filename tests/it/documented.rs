//! The commands of the README and of the pages about the simulation print what these pages show.
//!
//! `INSTA_UPDATE=always`, which writes snapshots, writes these outputs into the pages, too.

use std::env;
use std::fs;
use std::process::Command;

use crate::common::root;

/// A line of a page that stands for any number of lines.
const GAP: &str = "...";

/// A block of code with its language. `start` is the number of its first line, from 0.
struct Block<'a> {
    start: usize,
    language: &'a str,
    lines: Vec<&'a str>,
}

/// A command of a page, and the block of text after it.
struct Shown<'a> {
    arguments: Vec<&'a str>,
    output: &'a Block<'a>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (index, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                blocks.push(Block { start: index + 1, language, lines: Vec::new() });
            }
            None if is_open => blocks.last_mut().unwrap().lines.push(line),
            None => {}
        }
    }
    blocks
}

/// The commands with an output: a block of one command, and the block of text after it.
fn commands<'a>(blocks: &'a [Block<'a>]) -> Vec<Shown<'a>> {
    let pairs = blocks.windows(2).filter(|pair| pair[0].language == "console" && pair[1].language == "text");
    let commands = pairs.filter_map(|pair| {
        let [command] = pair[0].lines[..] else { return None };
        let arguments = command.strip_prefix("ptx-tc ")?.split_whitespace().collect();
        Some(Shown { arguments, output: &pair[1] })
    });
    commands.collect()
}

/// A line without the seconds that a run has taken.
fn timeless(line: &str) -> String {
    match line.split_once(" warp instructions, ") {
        Some((before, _)) => format!("{before} warp instructions"),
        None => line.trim_end().to_owned(),
    }
}

/// Whether a page shows what was printed.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let Some(gap) = shown.iter().position(|line| line == GAP) else { return shown == printed };
    let rest = &shown[gap + 1..];
    printed.starts_with(&shown[..gap]) && (gap..=printed.len()).any(|at| is_shown(rest, &printed[at..]))
}

/// What a page is to show: with a gap, as many lines before and after it as now.
fn updated<'a>(shown: &[&'a str], printed: &[&'a str]) -> Vec<&'a str> {
    let Some(gap) = shown.iter().position(|line| *line == GAP) else { return printed.to_vec() };
    let after = shown.len() - gap - 1;
    let (first, last) = (gap.min(printed.len()), printed.len().saturating_sub(after));
    [&printed[..first], &[GAP], &printed[last..]].concat()
}

#[test]
fn outputs_of_the_pages() {
    let updates = env::var("INSTA_UPDATE").is_ok_and(|it| it == "always");
    for (name, directory, least) in [
        ("README.md", "", 3),
        ("docs/simulation/tutorial.md", "docs/simulation", 6),
        ("docs/simulation/assumed-launches.md", "docs/simulation", 2),
    ] {
        let page = fs::read_to_string(root().join(name)).unwrap();
        let blocks = blocks(&page);
        let commands = commands(&blocks);
        assert!(commands.len() >= least, "{name} shows {} outputs", commands.len());
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        // From the end, so that the numbers of the lines before stay.
        for Shown { arguments, output } in commands.into_iter().rev() {
            let ran = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
                .args(&arguments)
                .current_dir(root().join(directory))
                .env("NO_COLOR", "1")
                .env("COLUMNS", "100")
                .output()
                .unwrap();
            let text = String::from_utf8(ran.stdout).unwrap();
            let printed: Vec<&str> = text.trim_end().lines().collect();
            let plain = |lines: &[&str]| lines.iter().map(|line| timeless(line)).collect::<Vec<_>>();
            if is_shown(&plain(&output.lines), &plain(&printed)) {
                continue;
            }
            assert!(
                updates,
                "{name}:{}: `ptx-tc {}` does not print what the page shows, but\n{text}",
                output.start + 1,
                arguments.join(" ")
            );
            let new = updated(&output.lines, &printed).into_iter().map(str::to_owned);
            lines.splice(output.start..output.start + output.lines.len(), new);
        }
        if updates {
            let text = lines.join("\n") + "\n";
            if text != page {
                fs::write(root().join(name), text).unwrap();
            }
        }
    }
}
