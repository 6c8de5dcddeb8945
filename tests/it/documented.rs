//! The commands of the README and of the tutorial print what these pages show.

use std::fs;
use std::process::Command;

use crate::common::root;

/// A command of a page, and the output that the page shows below it.
struct Shown {
    line: usize,
    arguments: Vec<String>,
    output: Vec<String>,
}

/// A block of code with its language, and the line in which it starts.
struct Block<'a> {
    line: usize,
    language: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (index, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                blocks.push(Block { line: index + 1, language, lines: Vec::new() });
            }
            None if is_open => blocks.last_mut().unwrap().lines.push(line),
            None => {}
        }
    }
    blocks
}

/// The commands with an output: a block of one command, and the block of text after it.
fn shown(page: &str) -> Vec<Shown> {
    let blocks = blocks(page);
    let pairs = blocks.windows(2).filter(|pair| pair[0].language == "console" && pair[1].language == "text");
    let commands = pairs.filter_map(|pair| {
        let [command] = pair[0].lines[..] else { return None };
        let arguments = command.strip_prefix("ptx-tc ")?;
        Some(Shown {
            line: pair[0].line + 1,
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            output: pair[1].lines.iter().map(|line| plain(line)).collect(),
        })
    });
    commands.collect()
}

/// A line without the seconds that a run has taken.
fn plain(line: &str) -> String {
    match line.split_once(" warp instructions, ") {
        Some((before, _)) => format!("{before} warp instructions"),
        None => line.trim_end().to_owned(),
    }
}

/// Whether a page shows what was printed; `...` in a line of its own stands for any number of lines.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    let Some(gap) = shown.iter().position(|line| line == "...") else { return shown == printed };
    let rest = &shown[gap + 1..];
    printed.starts_with(&shown[..gap]) && (gap..=printed.len()).any(|at| is_shown(rest, &printed[at..]))
}

#[test]
fn outputs_of_the_pages() {
    for (page, directory, least) in
        [("README.md", "", 3), ("docs/simulation/tutorial.md", "docs/simulation", 6)]
    {
        let all = shown(&fs::read_to_string(root().join(page)).unwrap());
        assert!(all.len() >= least, "{page} shows {} outputs", all.len());
        for Shown { line, arguments, output } in all {
            let ran = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
                .args(&arguments)
                .current_dir(root().join(directory))
                .env("NO_COLOR", "1")
                .env("COLUMNS", "100")
                .output()
                .unwrap();
            let text = String::from_utf8(ran.stdout).unwrap();
            let printed: Vec<String> = text.trim_end().lines().map(plain).collect();
            assert!(
                is_shown(&output, &printed),
                "{page}:{line}: `ptx-tc {}` does not print what the page shows, but\n{text}",
                arguments.join(" ")
            );
        }
    }
}
