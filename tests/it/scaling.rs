//! Texts that are bad for one part of the checker each, of any size.

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
    ];
    let is_broken = |shape: &&Shape| {
        let source = Source::new(shape.name, (shape.write)(5_000)).unwrap();
        let report = check(&source, &Options::default());
        report.diagnostics.iter().any(|it| matches!(it.code, Code::SyntaxError | Code::InvalidToken))
    };
    let broken: Vec<&str> = SHAPES.iter().filter(is_broken).map(|shape| shape.name).collect();
    assert_eq!(broken, BROKEN);
}

#[test]
fn every_shape_has_a_name_of_its_own() {
    let mut names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SHAPES.len());
}
