//! The layers of the library only look down: no module names one that stands above it in the
//! picture of `src/lib.rs`, and no family of rules names another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// Layers that are a crate.
const CRATES_OF_ONE_LAYER: [&str; 3] = ["isa", "host", "simulation"];

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

/// What stands in the `lib.rs` of the checker itself, and the module that it is of: what it hands on is of where
/// it comes from, and what it says itself is about checks. The program hands that on under the same names.
fn of_lib() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in code(&root().join("src/checker/lib.rs")).lines() {
        if let Some(used) = line.strip_prefix("pub use ") {
            let used = used.trim_end_matches(';');
            let (path, renamed) =
                used.split_once(" as ").map_or((used, None), |(path, name)| (path, Some(name)));
            let module = path.split("::").next().unwrap().trim_start_matches("ptx_").to_owned();
            let names = match (renamed, path.split_once('{')) {
                (Some(name), _) => vec![name],
                (None, Some((_, list))) => heads(list),
                (None, None) => path.rsplit("::").take(1).collect(),
            };
            found.extend(names.into_iter().map(|name| (name.to_owned(), module.clone())));
        }
        for item in ["pub struct ", "pub enum ", "pub fn ", "pub trait ", "pub type "] {
            if let Some(rest) = line.strip_prefix(item) {
                found.push((first_name(rest).to_owned(), "check".to_owned()));
            }
        }
    }
    found
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

fn all() -> Vec<(String, String)> {
    let source = root().join("src");
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let name = |path: &Path| {
        let path = path.strip_prefix(&source).unwrap().with_extension("");
        path.components()
            .map(|it| it.as_os_str().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join("::")
    };
    let module = |path: &Path| {
        let name = name(path);
        // The checker is a crate of several layers, and the others that have a directory here are one each.
        let name = name.strip_prefix("checker::").unwrap_or(&name);
        name.strip_suffix("::lib").unwrap_or(name).to_owned()
    };
    paths.iter().map(|path| (module(path), code(path))).collect()
}

#[test]
fn no_module_names_one_above_it() {
    let (picture, of_lib) = (picture(), of_lib());
    let place = |module: &str| picture.iter().rposition(|layer| layer.iter().any(|it| it == module));
    let layer = |module: &str| {
        place(module).unwrap_or_else(|| panic!("`{module}` has no place in the picture of lib.rs"))
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (module, text) in all() {
        let own = module.split("::").next().unwrap();
        if matches!(own, "lib" | "main") {
            continue;
        }
        for name in named(&text) {
            let name = of_lib.iter().find(|(it, _)| it == name).map_or(name, |(_, module)| module.as_str());
            // In a crate that is one layer, the modules at its root are parts of it.
            let is_part = CRATES_OF_ONE_LAYER.contains(&own) && place(name).is_none();
            if name == own || is_part {
                continue;
            }
            seen += 1;
            if layer(name) <= layer(own) {
                wrong.push(format!("{module} names {name}"));
            }
        }
    }
    assert!(seen > 500, "{seen} names: they are not found any more");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whoever names what stands above says `crate::`, so that it is seen.
#[test]
fn nobody_reaches_over_their_parent() {
    let mut wrong = Vec::new();
    for (module, text) in all() {
        let is_at_top =
            !module.contains("::") && !CRATES_OF_ONE_LAYER.contains(&module.as_str()) && module != "lib";
        if text.contains("super::super") || is_at_top && text.contains("super::") {
            wrong.push(module);
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
    let of_lib = of_lib();
    let module = |name: &str| of_lib.iter().find(|(it, _)| it == name).map(|(_, module)| module.as_str());
    assert_eq!(
        ["Source", "Unit", "Options", "Memory"].map(module),
        [Some("syntax"), Some("resolve"), Some("check"), Some("check")]
    );
}

#[test]
fn families_of_rules_are_leaves() {
    let mut wrong = Vec::new();
    for (module, text) in all().iter().filter(|(module, _)| module.starts_with("rules::")) {
        let own = module.split("::").nth(1).unwrap();
        for (at, _) in text.match_indices("crate::rules::") {
            let rest = &text[at + "crate::rules::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_family = end > 0 && root().join("src/checker/rules").join(&rest[..end]).is_dir();
            if is_family && rest[..end] != *own {
                wrong.push(format!("{module} names {}", &rest[..end]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
