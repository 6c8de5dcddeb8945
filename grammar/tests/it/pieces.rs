//! A text that is read in pieces has the tree of the text that is read in one.

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use ptx_syntax::Source;
use ptx_syntax::parser::{cuts, parse, parse_parallel, parse_pieces};

use crate::ways::{WORDS, fixtures, mutate, words};

/// Whether the text was read in pieces.
fn compare(text: String, at: &[u32]) -> bool {
    let source = Source::new("pieces.ptx", text).unwrap();
    let pieces = parse_pieces(&source, at);
    let is_cut = pieces.is_some();
    assert!(pieces.is_none_or(|pieces| pieces == parse(&source)), "{at:?} in {}", source.text());
    is_cut
}

/// Every place that a text may be cut at.
fn places(text: &str) -> Vec<u32> {
    text.match_indices("\n}").map(|(at, _)| at as u32 + 2).collect()
}

#[test]
fn of_fixtures() {
    let mut pieces = 0;
    for text in fixtures() {
        let at = places(&text);
        let at = at.split_last().map_or(&[][..], |(_, rest)| rest);
        pieces += usize::from(compare(text, at));
    }
    assert!(pieces > 10, "only {pieces} were cut");
}

#[test]
fn of_all_fixtures_in_one() {
    let sound: Vec<String> = fixtures()
        .into_iter()
        .filter(|text| parse(&Source::new("sound.ptx", text.as_str()).unwrap()).errors.is_empty())
        .collect();
    let text = sound.join("\n");
    for threads in [2, 3, 8, 64] {
        let at = cuts(&text, threads, 1000);
        assert!(at.len() >= threads / 2, "{threads} threads: {at:?}");
        assert!(compare(text.clone(), &at), "{threads} threads: {at:?}");
    }
    let source = Source::new("all.ptx", text).unwrap();
    assert!(parse_parallel(&source, 4) == parse(&source));
}

#[test]
fn a_semicolon_behind_a_function() {
    let kernel = ".version 9.0\n.target sm_100a\n.entry k()\n{\nret;\n}";
    let text = |between: &str| format!("{kernel}{between}\n{kernel}\n");
    assert!(compare(text(""), &[kernel.len() as u32]), "it can be cut");
    assert!(!compare(text("\n;"), &[kernel.len() as u32]), "it is not cut");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_broken_texts(
        texts in prop::collection::vec(
            select(fixtures().into_iter().filter(|text| text.len() < 5000).collect::<Vec<_>>()), 1..4),
        changes in prop::collection::vec((any::<Index>(), select(WORDS), 0_usize..8), 0..3),
        chosen in subsequence((0..12).collect::<Vec<usize>>(), 1..4),
    ) {
        let mut words = words(&texts.join("\n"));
        for (at, word, how) in changes {
            mutate(&mut words, at, word, how);
        }
        let text = words.concat();
        let places = places(&text);
        let at: Vec<u32> = chosen.into_iter().filter_map(|index| places.get(index).copied()).collect();
        compare(text, &at);
    }
}
