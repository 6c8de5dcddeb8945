//! The layers of the library only look down: no module names one that stands above it in the
//! picture of `src/lib.rs`, and no family of rules names another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// The picture in `lib.rs`, from the bottom up. Modules in one line do not know each other.
const LAYERS: &[&[&str]] = &[
    &["words", "source", "syntax"],
    &["isa"],
    &["descriptor", "host"],
    &["resolve"],
    &["instruction"],
    &["analysis"],
    &["diagnostic"],
    &["rules"],
    &["suppression"],
    &["check"],
    &["simulation"],
    &["fix", "config", "layout"],
    &["render"],
    &["lsp"],
    &["cli"],
];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("`{module}` has no place in the picture of lib.rs"))
}

/// The modules of the crate that a file names: behind `crate::`, also in braces.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        // `$crate::` in a macro is the same crate.
        let rest = &text[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split_once('}').map_or(list, |(list, _)| list).split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name = name.trim();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            found.push(match &name[..end] {
                // What stands in lib.rs itself is said about checks, or handed on from below.
                "Options" | "Report" | "UnknownOpcode" | "Memory" | "Document" | "check_unit"
                | "check_unit_again" => "check".to_owned(),
                "Source" => "source".to_owned(),
                "Unit" => "resolve".to_owned(),
                name => name.to_owned(),
            });
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

/// The code of a file without its own tests, which may look wherever they like.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
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
    paths.iter().map(|path| (name(path), code(path))).collect()
}

#[test]
fn no_module_names_one_above_it() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (module, text) in all() {
        let own = module.split("::").next().unwrap();
        if matches!(own, "lib" | "main") {
            continue;
        }
        for name in named(&text).iter().filter(|name| *name != own) {
            seen += 1;
            if layer(name) >= layer(own) {
                wrong.push(format!("{module} names {name}"));
            }
        }
    }
    assert!(seen > 500, "{seen} names: they are not found any more");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn families_of_rules_are_leaves() {
    let mut wrong = Vec::new();
    for (module, text) in all().iter().filter(|(module, _)| module.starts_with("rules::")) {
        let own = module.split("::").nth(1).unwrap();
        for (at, _) in text.match_indices("crate::rules::") {
            let rest = &text[at + "crate::rules::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let is_family = end > 0 && root().join("src/rules").join(&rest[..end]).is_dir();
            if is_family && rest[..end] != *own {
                wrong.push(format!("{module} names {}", &rest[..end]));
            }
        }
        if text.contains("super::super") {
            wrong.push(format!("{module} reaches over its family"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
