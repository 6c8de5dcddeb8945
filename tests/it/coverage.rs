//! The list of the ISA's restrictions says what is true: each row that names a rule names a fixture
//! that breaks that restriction and in which the rule finds it, and every rule about tcgen05 is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptx_check::rules::RULES;
use ptx_tc::diagnostic::Code;
use ptx_tc::{Source, check};
use toml::de::DeTable;

use crate::common::{options, root};

const LIST: &str = include_str!("../../xtask/src/generate/coverage.toml");

fn list() -> DeTable<'static> {
    DeTable::parse(LIST).unwrap().into_inner()
}

/// What enforces something, row by row: the place, and the entries behind the restriction.
fn rows<'a>(list: &'a DeTable<'static>) -> Vec<(String, Vec<&'a str>)> {
    let mut rows = Vec::new();
    for section in list.get("section").unwrap().get_ref().as_array().unwrap() {
        let section = section.get_ref().as_table().unwrap();
        let number = section.get("number").unwrap().get_ref().as_str().unwrap();
        for row in section.get("rows").unwrap().get_ref().as_array().unwrap() {
            let row = row.get_ref().as_array().unwrap().iter();
            let row: Vec<&str> = row.map(|it| it.get_ref().as_str().unwrap()).collect();
            let (restriction, entries) = row.split_first().unwrap();
            rows.push((format!("{number}: {restriction}"), entries.to_vec()));
        }
    }
    rows
}

#[test]
fn every_claim_holds() {
    let list = list();
    let mut found: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for (place, entries) in rows(&list) {
        assert!(!entries.is_empty(), "{place}: nothing is said of it");
        for entry in entries {
            if ["simulation: ", "not observable: ", "missing: "].iter().any(|word| entry.starts_with(word)) {
                continue;
            }
            let (code, fixture) = entry.split_once(' ').unwrap_or_else(|| panic!("{place}: `{entry}`"));
            assert!(Code::parse(code).is_some(), "{place}: there is no {code}");
            assert!(fixture.starts_with("invalid"), "{place}: {fixture} is no fixture of an offence");
            let directory = root().join("fixtures/rules").join(code);
            let path = directory.join(fixture).with_extension("ptx");
            let codes = found.entry(format!("{code}/{fixture}")).or_insert_with(|| {
                let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let source = Source::from_bytes(path.display().to_string(), text).unwrap();
                check(&source, &options(code)).diagnostics.iter().map(|it| it.code.as_str()).collect()
            });
            assert!(codes.contains(code), "{place}: {code} does not find {fixture}, but {codes:?}");
            let is_valid = |name: &str| name.starts_with("valid");
            let names = fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name());
            assert!(
                names.into_iter().any(|it| is_valid(it.to_str().unwrap())),
                "{code} has no valid fixture"
            );
        }
    }
}

/// Families TC1 to TC9; TC0 is about PTX as a whole.
#[test]
fn every_rule_has_a_restriction() {
    let list = list();
    let rows = rows(&list);
    let enforced: BTreeSet<&str> =
        rows.iter().flat_map(|(_, entries)| entries).filter_map(|entry| entry.split(' ').next()).collect();
    let beyond: BTreeSet<&str> = list
        .get("beyond")
        .unwrap()
        .get_ref()
        .as_table()
        .unwrap()
        .keys()
        .map(|code| code.get_ref().as_ref())
        .collect();
    for code in &beyond {
        assert!(Code::parse(code).is_some(), "there is no {code}");
    }
    for rule in RULES
        .iter()
        .map(|rule| rule.code.as_str())
        .filter(|code| code.starts_with("TC") && !code.starts_with("TC0"))
    {
        assert!(
            enforced.contains(rule) || beyond.contains(rule),
            "{rule} is in no row of coverage.toml: which restriction does it enforce?"
        );
    }
}
