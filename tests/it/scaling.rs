//! Work grows with the text: twice the text takes at most two and a half times the steps, whatever
//! the text is. Steps are counted, not time.

use ptx_tc::diagnostic::Code;
use ptx_tc::{Options, Source, check};
use ptx_tc_fuzz::shapes::{SHAPES, Shape};

/// Sizes, each twice the one before.
const SIZES: [usize; 3] = [10_000, 20_000, 40_000];

#[test]
fn shapes_are_as_long_as_they_should_be() {
    for shape in SHAPES {
        let mut last = 0;
        for size in SIZES {
            let bytes = (shape.write)(size).len();
            assert!(
                (size * 3 / 4..size * 3 / 2 + 4_000).contains(&bytes),
                "{}: {bytes} of {size}",
                shape.name
            );
            assert!(bytes > last, "{} does not grow", shape.name);
            last = bytes;
        }
    }
}

/// What a shape is bad for is reached only in sound texts, but for those that are bad for the
/// parser.
#[test]
fn shapes_are_sound() {
    const BROKEN: &[&str] = &[
        "semicolons",
        "number signs",
        "quotation marks",
        "closing braces",
        "opening brackets",
        "broken statements",
        "broken statements in deep scopes",
        "statements without ends",
        "pairs of statements",
    ];
    let is_broken = |shape: &&Shape| {
        let source = Source::new(shape.name, (shape.write)(5_000)).unwrap();
        let report = check(&source, &Options::default());
        report.diagnostics.iter().any(|it| matches!(it.code, Code::SyntaxError | Code::InvalidToken))
    };
    let broken: Vec<&str> = SHAPES.iter().filter(is_broken).map(|shape| shape.name).collect();
    assert_eq!(broken, BROKEN);
}

/// How many steps a check takes more for a text of twice the size, in per cent.
fn growth(shape: &Shape, size: usize) -> u64 {
    let steps = |size| {
        let source = Source::new(shape.name, (shape.write)(size)).unwrap();
        check(&source, &Options::default()).steps
    };
    let (one, two) = (steps(size), steps(2 * size));
    assert!(one as usize >= size / 64, "{}: {one} steps for {size} bytes", shape.name);
    two * 100 / one
}

/// Shapes that take more than they should, until the budget of a function ends that: most of them are
/// questions about pairs of events. The list only gets shorter.
const FASTER: &[&str] = &[
    // What each of many waits lets through is kept for each, and paid for.
    "stages, then accesses",
];

/// The shapes that take more than they should, with what they take.
fn faster(sizes: &[usize]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for shape in SHAPES {
        let growth: Vec<u64> = sizes.iter().map(|size| growth(shape, *size)).collect();
        println!("{}: {growth:?} %", shape.name);
        if growth.iter().any(|percent| *percent > 250) {
            found.push((shape.name, format!("{}: {growth:?} %", shape.name)));
        }
    }
    found
}

#[test]
fn twice_the_text_is_twice_the_work() {
    let found = faster(&[25_000, 50_000]);
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, FASTER, "{found:#?}");
}

#[test]
#[ignore = "takes minutes: in release, by hand"]
fn twice_the_text_is_twice_the_work_in_large_texts() {
    let mut found = faster(&[500_000, 2_500_000]);
    found.retain(|(name, _)| !FASTER.contains(name));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_shape_has_a_name_of_its_own() {
    let mut names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SHAPES.len());
}
