//! A broken item changes nothing in its neighbours.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use ptx_syntax::Source;
use ptx_syntax::parser::parse;

use crate::tree::Writer;

/// Sound items of every kind, as words between spaces.
const ITEMS: &[&str] = &[
    ".version 9.0",
    ".target sm_100a , debug",
    ".address_size 64",
    ".file 1 \"kernel.cu\" , 5 , 7",
    ".global .align 8 .v2 .b32 table [ 2 ] [ ] = { 1 , -2 , generic ( other ) } ;",
    ".visible .const .f32 pi = 0f40490FDB , e = 2.718 ;",
    ".alias one , two ;",
    ".pragma \"nounroll\" , \"x\" ;",
    ".extern .func ( .param .b32 result ) callee ( .param .b64 p , .param .b32 n ) ;",
    ".func ( .reg .b32 value ) helper ( .reg .b32 x , .reg .b32 y ) .noreturn ;",
    ".visible .entry kernel ( .param .u64 .ptr .global .align 16 p , .param .b32 n ) .maxntid 128 , 1 , 1 \
     .pragma \"a\" ; { .reg .b32 %r<4> ; .loc 1 2 3 start: @!%p add.s32 %r1 , [ %rd1 + 4 ] , { 1 , 2 } ; { \
     mov.b32 a , b ; } ret ; }",
    ".func inner ( ) { p: .callprototype ( .param .b32 _ ) _ ( .param .b64 _ ) ; l: .branchtargets a , b ; \
     call ( r ) , f , ( x ) , p ; }",
    ".entry bare ( ) { }",
    ".weak .func ( .param .b32 r ) weak ( .param .b32 only ) { ret ; }",
    ".section .debug_str { s: .b8 1 , 2 .b64 s + 4 , .debug_str }",
];

/// Words that can stand anywhere and end nothing.
const INTRUDERS: &[&str] =
    &["5", "1.5", "`", "=", ")", "]", ",", "<", "?", "_", "%", "\"text\"", "::", "\u{1a}"];

/// What a recovery looks for: a breakage must leave it alone.
const KEPT: &[&str] = &["{", "}", ";"];

/// `item` with a word replaced, left out or added, so that its end is still where it was.
fn broken(item: &str, at: Index, intruder: &str, how: usize) -> String {
    let mut words: Vec<&str> = item.split_whitespace().collect();
    // The first word stays: it says what the item is.
    let at = 1 + at.index(words.len() - 1);
    let kept = KEPT.contains(&words[at]);
    match how {
        0 if !kept => {
            words.remove(at);
        }
        1 if !kept => words[at] = intruder,
        _ => words.insert(at, intruder),
    }
    words.join(" ")
}

/// The items of a module with the text of each, sound or not.
fn items(texts: &[String]) -> (Vec<String>, usize) {
    let source = Source::new("items.ptx", texts.join("\n")).unwrap();
    let parsed = parse(&source);
    (Writer { source: &source, module: &parsed.module }.items(), parsed.errors.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leave_their_neighbours_alone(
        before in prop::collection::vec(select(ITEMS), 0..3),
        after in prop::collection::vec(select(ITEMS), 1..4),
        item in select(ITEMS),
        at in any::<Index>(),
        intruder in select(INTRUDERS),
        how in 0_usize..3,
    ) {
        let own = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>();
        let broken = broken(item, at, intruder, how);
        let (sound, errors) = items(&[own(&before), own(&after)].concat());
        prop_assert_eq!((sound.len(), errors), (before.len() + after.len(), 0));
        let (mixed, _) = items(&[own(&before), vec![broken.clone()], own(&after)].concat());
        let (first, rest) = (&sound[..before.len()], &sound[before.len()..]);
        prop_assert!(mixed.starts_with(first) && mixed.ends_with(rest), "{}\n{:#?}\n{:#?}", broken, sound, mixed);
    }
}

/// Names of a header that did not parse went into the next function.
#[test]
fn do_not_lend_their_parameters() {
    let (items, errors) =
        items(&[".func (.reg .b32 t) foo 5;".to_owned(), ".entry k { mov.b32 t, 1; }".to_owned()]);
    assert_eq!(errors, 1);
    assert!(items[1].contains("k [] []"), "{items:#?}");
}
