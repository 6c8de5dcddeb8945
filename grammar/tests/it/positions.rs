//! Lines and columns, also of lines that are as long as files.

use proptest::prelude::*;
use ptx_syntax::Source;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_those_that_counting_gives(
        lines in prop::collection::vec(("[a-zé𝄞]{0,5}", 0_usize..4000), 1..5),
        places in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let text: Vec<String> = lines.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        let source = Source::new("lines.ptx", text.join("\n")).unwrap();
        let text = source.text();
        for place in places {
            let mut offset = place.index(text.len() + 1);
            while !text.is_char_boundary(offset) {
                offset -= 1;
            }
            let before = &text[..offset];
            let line = before.matches('\n').count() as u32 + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
            let position = source.position(offset as u32);
            prop_assert_eq!((position.line, position.column), (line, column));
        }
        prop_assert_eq!(source.lines().count(), text.matches('\n').count() + 1);
    }
}

#[test]
fn of_a_clone_are_its_own() {
    let source = Source::new("a.ptx", "one\ntwo").unwrap();
    let copy = source.clone();
    assert!(std::ptr::eq(source.text(), copy.text()));
    assert_eq!(source.position(5), copy.position(5));
}
