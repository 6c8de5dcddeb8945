//! The commands of the pages run, and print what these pages show.
//!
//! `INSTA_UPDATE=always`, which writes snapshots, writes these outputs into the pages, too.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{root, scratch};

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
        ("docs/README.md", "docs/start", 5),
        ("docs/guides/hangs.md", "", 2),
        ("docs/guides/races.md", "", 3),
        ("docs/guides/wrong-numbers.md", "", 2),
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

/// Files of a page are those in the folder, so that both can be copied.
#[test]
fn files_of_the_first_page() {
    let page = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let mut count = 0;
    for block in blocks(&page) {
        let name = match block.language.split_once(' ') {
            Some((_, name)) => name,
            None if block.language == "toml" => "sum.toml",
            None => continue,
        };
        let file = fs::read_to_string(root().join("docs/start").join(name)).unwrap();
        assert!(file.lines().eq(block.lines.iter().copied()), "{name} is not what the page shows");
        count += 1;
    }
    assert_eq!(count, 3);
}

/// Where the commands of a page run, of which nobody says so: a folder with files that have the names that pages use.
const PROJECT: &str = "project";

/// Where the commands of a page run.
fn directory(page: &str) -> &'static str {
    match page {
        "docs/README.md" => "docs/start",
        "docs/found.md" | "docs/pictures.md" => "",
        page if page.starts_with("docs/simulation/") => "docs/simulation",
        page if page.starts_with("docs/guides/") => "",
        _ => PROJECT,
    }
}

/// Commands that are not run here, by their beginning, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("git clone ", "needs the network"),
    ("cargo ", "is not what users of the program run, or builds it"),
    ("PTX_NUMBERS_RECORDED=", "needs a record of a GPU"),
    ("pip install ", "needs an index; .ci/wheel-test installs the package"),
    ("pre-commit ", ".ci/pre-commit-test"),
    ("git add ", ".ci/pre-commit-test"),
    ("git commit ", ".ci/pre-commit-test"),
    ("nvcc ", "needs nvcc; python/tests/test_docs.py runs that of the first page"),
    ("ptx-tc check gemm.ptx", "what nvcc makes"),
    ("python scale.py", "needs Triton; python/tests/test_docs.py"),
    ("python double.py", "needs CuTe DSL; python/tests/test_docs.py"),
    ("python -m ptx_tc ", ".ci/wheel-test"),
    ("cd python/tests ", "needs the package; .ci/wheel-test"),
    (".ci/", "a step of continuous integration"),
    ("npm ", ".ci/vscode-test"),
    ("rustup target add ", "needs the network"),
    ("docker ", "needs a Docker engine"),
    ("cd web ", ".ci/web-test"),
    ("code ", "needs Visual Studio Code"),
    ("ptx-tc check . --format rdjson | reviewdog", "needs reviewdog; .ci/formats-test reads the format"),
    ("ptx-tc man | man ", "needs man"),
];

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

/// A place where commands may write: a copy of the documentation, and a project.
fn workplace() -> PathBuf {
    let place = scratch("commands_of_the_pages");
    copy(&root().join("docs"), &place.join("docs"));
    for folder in ["found", "kernels", "simulation/findings"] {
        copy(&root().join("fixtures").join(folder), &place.join("fixtures").join(folder));
    }
    let project = place.join(PROJECT);
    fs::create_dir_all(project.join("kernels")).unwrap();
    let simulation = root().join("docs/simulation");
    fs::copy(simulation.join("gemm.ptx"), project.join("kernel.ptx")).unwrap();
    fs::copy(simulation.join("gemm.toml"), project.join("launch.toml")).unwrap();
    fs::copy(root().join("docs/kernel.ptx"), project.join("kernels/broken.ptx")).unwrap();
    let kernel = ".version 9.0\n.target sm_100a\n.visible .entry _Z4gemmIfEvPf(.param .u64 p) { ret; }\n";
    fs::write(project.join("k.ptx"), kernel).unwrap();
    for folder in [
        ".local/share/man/man1",
        ".local/share/bash-completion/completions",
        ".zfunc",
        ".config/fish/completions",
        ".config/elvish/lib",
    ] {
        fs::create_dir_all(place.join("home").join(folder)).unwrap();
    }
    place
}

/// Each command of each page runs, or it is on the list above.
#[cfg(unix)]
#[test]
fn every_command_of_the_pages_runs() {
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    all.sort();
    let place = workplace();
    let program = Path::new(env!("CARGO_BIN_EXE_ptx-tc")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let (mut ran, mut listed) = (BTreeSet::new(), BTreeSet::new());
    for file in all {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        let page = fs::read_to_string(&file).unwrap();
        let blocks = blocks(&page);
        for line in blocks.iter().filter(|it| it.language == "console").flat_map(|it| &it.lines) {
            let command = line.split("  # ").next().unwrap().trim();
            let listed_as = ELSEWHERE.iter().find(|(start, _)| command.starts_with(start.trim_end()));
            if let Some((start, _)) = listed_as {
                listed.insert(*start);
                continue;
            }
            // Where that leads is known.
            if command.is_empty() || command.starts_with("cd ") && !command.contains("&&") {
                continue;
            }
            assert!(
                command.starts_with("ptx-tc "),
                "{name}: nothing runs `{command}`: list it, with the reason"
            );
            let directory = directory(&name);
            // Pages of rules have the same commands again and again.
            if !ran.insert((directory, command.to_owned())) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", command])
                .current_dir(place.join(directory))
                .env("PATH", &path)
                .env("HOME", place.join("home"))
                .env("PROFILE", place.join("home/profile.ps1"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            let status = output.status.code();
            // What is found, or cannot be judged, is no failure of the command.
            assert!(matches!(status, Some(0 | 1 | 3)), "{name}: `{command}`: {status:?}\n{error}");
        }
    }
    assert!(ran.len() > 150, "{} commands: they are not found any more", ran.len());
    let unused: Vec<&str> =
        ELSEWHERE.iter().map(|(start, _)| *start).filter(|it| !listed.contains(it)).collect();
    assert!(unused.is_empty(), "no page has {unused:?}");
}
