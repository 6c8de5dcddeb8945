//! What Cargo cannot hold: inside a crate, modules look down the picture of `src/lib.rs` only, and no family of
//! rules names another. Which crate may name which is in their manifests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// The crates that consist of several layers.
const CRATES: [&str; 2] = ["src", "src/checker/src"];

/// The picture of the layers in `lib.rs`, from the top down. Modules in one line do not know each other.
fn picture() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let picture =
        text.split_once("//! # The layers").and_then(|(_, rest)| rest.split_once("```text\n")).unwrap().1;
    let lines = picture.lines().take_while(|line| !line.contains("```"));
    let layers = lines.map(|line| {
        let line = line.strip_prefix("//!").unwrap().trim_start();
        let modules = line.split_once("  ").map_or(line, |(modules, _)| modules);
        modules.split(", ").map(str::to_owned).collect()
    });
    layers.collect()
}

/// What the `lib.rs` of the checker says itself, which is about checks.
fn of_check() -> Vec<String> {
    let text = code(&root().join("src/checker/src/lib.rs"));
    let items = ["pub struct ", "pub enum ", "pub fn ", "pub trait ", "pub type "];
    let names = text.lines().filter_map(|line| items.iter().find_map(|item| line.strip_prefix(item)));
    names.map(|rest| first_name(rest).to_owned()).collect()
}

fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// What the paths of a list start with, up to the brace that closes it: `a` and `d` of `a::{b, c}, d}`.
fn heads(list: &str) -> Vec<&str> {
    let (mut heads, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                heads.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                heads.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    heads.into_iter().map(|head| first_name(head.trim())).filter(|head| !head.is_empty()).collect()
}

/// The names of the crate's root that a file names: behind `crate::`, also in braces.
fn named(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // `$crate::` in a macro is the same crate.
    for (at, word) in text.match_indices("crate::") {
        let rest = &text[at + word.len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(heads(list)),
            None => found.push(first_name(rest)),
        }
    }
    found
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without its own tests, which may look wherever they like, and stand at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let (code, tests) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ";"));
    let behind = match tests.strip_prefix(';') {
        Some(behind) => behind,
        None => tests.split_once("\n}\n").map_or("", |(_, behind)| behind),
    };
    assert!(behind.trim().is_empty(), "behind the tests of {} stands more", path.display());
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules of a crate by the paths of their files, with their code.
fn all(directory: &str) -> Vec<(String, String)> {
    let source = root().join(directory);
    let mut paths = Vec::new();
    files(&source, &mut paths);
    // Other crates lie in it, too.
    paths.retain(|path| !path.strip_prefix(&source).unwrap().iter().any(|part| part == "src"));
    let module = |path: &Path| {
        let path = path.strip_prefix(&source).unwrap().with_extension("");
        path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("::")
    };
    paths.iter().map(|path| (module(path), code(path))).collect()
}

#[test]
fn no_module_names_one_above_it() {
    let (picture, of_check) = (picture(), of_check());
    let layer = |module: &str| picture.iter().rposition(|layer| layer.iter().any(|it| it == module));
    let mut wrong = Vec::new();
    let mut seen = 0;
    for directory in CRATES {
        for (module, text) in all(directory) {
            let own = module.split("::").next().unwrap();
            if matches!(own, "lib" | "main") {
                continue;
            }
            let at = layer(own).unwrap_or_else(|| panic!("`{own}` has no place in the picture of lib.rs"));
            for name in named(&text) {
                let is_of_check = directory == "src/checker/src" && of_check.iter().any(|it| it == name);
                let name = if is_of_check { "check" } else { name };
                let is_module = root().join(directory).join(name).with_extension("rs").exists();
                if name == own || !is_module {
                    continue;
                }
                seen += 1;
                let below = layer(name).unwrap_or_else(|| panic!("`{name}` has no place in the picture"));
                if below <= at {
                    wrong.push(format!("{module} names {name}"));
                }
            }
        }
    }
    assert!(seen > 100, "{seen} names: they are not found any more");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whoever names what stands above says `crate::`, so that it is seen.
#[test]
fn nobody_reaches_over_their_parent() {
    let mut wrong = Vec::new();
    for directory in CRATES {
        for (module, text) in all(directory) {
            let is_at_top = !module.contains("::") && module != "lib";
            if text.contains("super::super") || is_at_top && text.contains("super::") {
                wrong.push(module);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_are_read() {
    assert_eq!(
        named("use crate::{a::{b, c}, d, e::{self}};\nuse crate::f::{g}; crate::h()"),
        ["a", "d", "e", "f", "h"]
    );
    let of_check = of_check();
    assert!(["Options", "Report", "check"].iter().all(|name| of_check.iter().any(|it| it == name)));
}

#[test]
fn families_of_rules_are_leaves() {
    let mut wrong = Vec::new();
    for (module, text) in all("src/checker/src").iter().filter(|(module, _)| module.starts_with("rules::")) {
        let own = module.split("::").nth(1).unwrap();
        for (at, _) in text.match_indices("crate::rules::") {
            let rest = &text[at + "crate::rules::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_family = end > 0 && root().join("src/checker/src/rules").join(&rest[..end]).is_dir();
            if is_family && rest[..end] != *own {
                wrong.push(format!("{module} names {}", &rest[..end]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
