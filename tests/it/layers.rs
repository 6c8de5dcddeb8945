//! What Cargo cannot hold: the pictures in the documentation are those of the manifests, modules of the checker only
//! use modules below them, and no family of rules uses another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// The crate that consists of several layers.
const CHECKER: &str = "src/checker/src";

/// The picture of the layers in a `lib.rs`, from the top down. The names of one line do not use each other.
fn picture(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let picture =
        text.split_once("//! # The layers").and_then(|(_, rest)| rest.split_once("```text\n")).unwrap().1;
    let lines = picture.lines().take_while(|line| !line.contains("```"));
    let layers = lines.map(|line| {
        let line = line.strip_prefix("//!").unwrap().trim_start();
        let names = line.split_once("  ").map_or(line, |(names, _)| names);
        names.split(", ").map(str::to_owned).collect()
    });
    layers.collect()
}

/// The line of a picture that has a name, from the top.
fn layer(picture: &[Vec<String>], name: &str) -> usize {
    let layer = picture.iter().position(|layer| layer.iter().any(|it| it == name));
    layer.unwrap_or_else(|| panic!("the picture does not have `{name}`"))
}

/// The crates that a manifest names for what is built from it, as the picture names them.
fn dependencies(manifest: &Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let rest = text.split_once("\n[dependencies]\n").map_or("", |(_, rest)| rest);
    let table = rest.split_once("\n[").map_or(rest, |(table, _)| table);
    let paths = table.lines().filter_map(|line| line.split_once("path = \"")?.1.split_once('"'));
    paths.map(|(path, _)| path.rsplit('/').next().unwrap().replace("grammar", "syntax")).collect()
}

#[test]
fn the_picture_is_that_of_the_manifests() {
    let picture = picture("src/lib.rs");
    let folders = fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap().path());
    let mut crates: Vec<(String, PathBuf)> = folders
        .filter(|path| path.is_dir())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    crates.push(("syntax".to_owned(), root().join("grammar")));
    assert_eq!(crates.len(), picture.iter().flatten().count(), "names in the picture");
    let mut seen = 0;
    let mut violated = Vec::new();
    for (name, path) in &crates {
        let at = layer(&picture, name);
        for dependency in dependencies(&path.join("Cargo.toml")) {
            seen += 1;
            if layer(&picture, &dependency) <= at {
                violated.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert!(seen > 40, "{seen} dependencies: they are not found any more");
    assert!(violated.is_empty(), "{violated:#?}");
}

/// What the `lib.rs` of the checker says itself, which is about checks.
fn of_check() -> Vec<String> {
    let text = code(&root().join(CHECKER).join("lib.rs"));
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

/// The code of a file without its own tests, which may use everything, and are at its end.
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
    let module = |path: &Path| {
        let path = path.strip_prefix(&source).unwrap().with_extension("");
        path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("::")
    };
    paths.iter().map(|path| (module(path), code(path))).collect()
}

#[test]
fn no_module_names_one_above_it() {
    let (picture, of_check) = (picture("src/checker/src/lib.rs"), of_check());
    let mut violated = Vec::new();
    let mut seen = 0;
    for (module, text) in all(CHECKER) {
        let own = module.split("::").next().unwrap();
        if own == "lib" {
            continue;
        }
        let at = layer(&picture, own);
        for name in named(&text) {
            let name = if of_check.iter().any(|it| it == name) { "check" } else { name };
            let is_module = root().join(CHECKER).join(name).with_extension("rs").exists();
            if name == own || !is_module {
                continue;
            }
            seen += 1;
            if layer(&picture, name) <= at {
                violated.push(format!("{module} names {name}"));
            }
        }
    }
    assert!(seen > 100, "{seen} names: they are not found any more");
    assert!(violated.is_empty(), "{violated:#?}");
}

/// A module that uses another above its parent says `crate::`, so that the test before sees it.
#[test]
fn no_module_reaches_over_its_parent() {
    let mut violated = Vec::new();
    for (module, text) in all(CHECKER) {
        let is_at_top = !module.contains("::") && module != "lib";
        if text.contains("super::super") || is_at_top && text.contains("super::") {
            violated.push(module);
        }
    }
    assert!(violated.is_empty(), "{violated:#?}");
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
    let mut violated = Vec::new();
    for (module, text) in all(CHECKER).iter().filter(|(module, _)| module.starts_with("rules::")) {
        let own = module.split("::").nth(1).unwrap();
        for (at, _) in text.match_indices("crate::rules::") {
            let rest = &text[at + "crate::rules::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_family = end > 0 && root().join(CHECKER).join("rules").join(&rest[..end]).is_dir();
            if is_family && rest[..end] != *own {
                violated.push(format!("{module} names {}", &rest[..end]));
            }
        }
    }
    assert!(violated.is_empty(), "{violated:#?}");
}
