//! Bugs put into every real kernel where they have a place: which are found, rule by rule, and that
//! nothing else is.
//!
//! `cargo test --test it injected_bugs -- --nocapture` prints the table; the snapshot holds it.

use std::fs;

use ptx_tc::Source;
use ptx_tc_fuzz::bugs::Tallies;

#[test]
fn injected_bugs() {
    let mut tallies = Tallies::default();
    let mut paths: Vec<_> = fs::read_dir(crate::common::root().join("fixtures/kernels"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        tallies.add(&Source::from_bytes(&name, fs::read(&path).unwrap()).unwrap()).unwrap();
    }
    let table = tallies.table();
    println!("{table}");
    println!("{} unexpected: {:#?}", tallies.unexpected.len(), tallies.unexpected.iter().take(40));
    assert!(tallies.unexpected.is_empty());
    insta::assert_snapshot!("injected_bugs", table);
}
