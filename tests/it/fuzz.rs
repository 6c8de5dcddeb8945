//! A few seconds of fuzzing; `cargo run --release -p ptx-tc-fuzz` goes on for as long as one likes.

use ptx_tc_fuzz::corpus::Corpus;
use ptx_tc_fuzz::minimise::minimise;
use ptx_tc_fuzz::{Case, Target};

use crate::common::root;

/// Another one for each day would find more, and nobody could tell why a change is red.
const SEED: u64 = 7;

fn holds(target: Target, cases: u64) {
    let corpus = Corpus::read(&root().join("fixtures")).unwrap();
    for number in 0..cases {
        if let Err(message) = target.judge(&Case::new(target, &corpus, SEED, number)) {
            panic!(
                "{message}\n`cargo run -p ptx-tc-fuzz -- {target} --seed {SEED} --first {number} --cases 1` \
                 makes it small"
            );
        }
    }
}

#[test]
fn checks() {
    holds(Target::Check, 2_000);
}

#[test]
fn checks_that_remember() {
    holds(Target::Again, 400);
}

#[test]
fn fixes() {
    holds(Target::Fix, 2_000);
}

#[test]
fn layouts() {
    holds(Target::Format, 2_000);
}

#[test]
fn documents() {
    holds(Target::Lsp, 1_000);
}

#[test]
fn files_of_other_languages() {
    holds(Target::Host, 2_000);
}

#[test]
fn runs() {
    holds(Target::Simulate, 400);
}

#[test]
fn descriptors() {
    holds(Target::Descriptors, 200);
}

/// What a case is may not depend on anything else: else no failure could be found again.
#[test]
fn a_case_follows_from_its_number() {
    let corpora = [(); 2].map(|()| Corpus::read(&root().join("fixtures")).unwrap());
    let case = |corpus, number| Case::new(Target::Check, corpus, 3, number);
    let mut lengths = std::collections::BTreeSet::new();
    for number in 0..200 {
        let [one, other] = [&corpora[0], &corpora[1]].map(|corpus| case(corpus, number));
        assert_eq!(one, other);
        lengths.insert(one.text.len());
    }
    assert!(lengths.len() > 150, "the cases differ: {}", lengths.len());
}

#[test]
fn what_breaks_a_promise_stays_in_the_smaller_text() {
    let text = format!("{}needle\n{}", "hay\n".repeat(300), "straw\n".repeat(300));
    let case = Case { text: text.into_bytes(), choice: 7 };
    let found = minimise(&case, &mut |case| {
        assert_eq!(case.choice, 7);
        String::from_utf8_lossy(&case.text).contains("needle")
    });
    assert_eq!(found.text, b"needle");
}
