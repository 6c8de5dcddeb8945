//! The short ways of the parser give what the long one does.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use ptx_syntax::Source;
use ptx_syntax::parser::{parse, parse_the_long_way};

/// Every text among the fixtures.
pub(crate) fn fixtures() -> Vec<String> {
    fn walk(directory: &Path, found: &mut Vec<String>) {
        let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures"), &mut found);
    assert!(found.len() > 100);
    found
}

fn compare(text: String) {
    let source = Source::new("ways.ptx", text).unwrap();
    let (short, long) = (parse(&source), parse_the_long_way(&source));
    if short != long {
        assert_eq!(short.errors, long.errors, "{}", source.text());
        let mut pairs = short.module.statements.iter().zip(&long.module.statements);
        if let Some((short, long)) = pairs.find(|(short, long)| short != long) {
            let around =
                source.text().get(long.span.start.saturating_sub(80) as usize..long.span.end as usize);
            panic!("{short:?} {long:?} in {around:?}");
        }
        assert_eq!(short, long, "{}", source.text());
    }
}

#[test]
fn of_fixtures() {
    for text in fixtures() {
        compare(text);
    }
}

/// What a text is broken with: every word that the structure of a module hangs on.
pub(crate) const WORDS: &[&str] = &[
    "{",
    "}",
    ";",
    ",",
    "(",
    ")",
    "[",
    "]",
    "@",
    "!",
    ":",
    "-",
    "+",
    "<",
    "_",
    "=",
    "?",
    "|",
    "x",
    "x:",
    "a.b",
    "5",
    "1.5",
    "\"s\"",
    "`",
    "/*",
    "//",
    ".entry",
    ".func",
    ".visible",
    ".loc 1 2 3",
    ".loc",
    ".file 1 \"f\"",
    ".section",
    ".section .d {",
    ".pragma",
    ".pragma \"p\";",
    ".callprototype",
    ".branchtargets",
    ".reg",
    ".param",
    ".b32",
    ".version",
    ".target",
    ".alias",
    ".align",
    "ret;",
    "add.s32 a, b, c;",
    "@p bra x;",
    ".callprototype _ (.param .b32 x) .pragma \"q\"; .pragma \"r\";",
    ".entry k() {",
    ".func f(",
];

/// One change: the tokens from a place on are left out, or a word is put there, or both.
pub(crate) fn mutate(text: &mut Vec<String>, at: Index, word: &str, how: usize) {
    let at = at.index(text.len() + 1);
    match how {
        0..3 => text.insert(at, word.to_owned()),
        3..5 if at < text.len() => {
            text.remove(at);
        }
        5 if at < text.len() => word.clone_into(&mut text[at]),
        6 => {
            let end = text.len().min(at + 12);
            text.drain(at..end);
        }
        _ => {
            let end = text.len().min(at + 12);
            let copy = text[at..end].to_vec();
            text.splice(at..at, copy);
        }
    }
}

/// A text in its words, each with the blanks behind it.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_inclusive([' ', '\n', ';', ',', '(', ')', '[', ']', '{', '}']).map(str::to_owned).collect()
}

/// What is no statement at all, wherever one is due.
#[test]
fn of_lone_semicolons() {
    for before in
        ["", "ret;", "x:", "{", "{ }", ";", "; ret;", ".loc 1 2 3", ".reg .b32 r;", "mov x y;", ", ;", "@p"]
    {
        for after in ["", ";", "ret;", "{ ; }", "x:", "mov x y;", "mov x y; ;", ".pragma \"p\"; ;"] {
            compare(format!(".entry k() {{ {before} ; {after} }} ; .entry l() {{ ; }}"));
        }
    }
}

/// What lists are made of, and what does not belong there.
const PARTS: &[&str] = &[
    "1",
    "1, ",
    "22,",
    "0x1F, ",
    "0X",
    "017, ",
    "1U, ",
    "2.5, ",
    "0f3F800000, ",
    "0d0, ",
    "-1, ",
    " - ",
    "+2",
    "(3), ",
    "x, ",
    "x+4, ",
    "\"s\", ",
    "{",
    "}",
    "{1, 2}, ",
    ",",
    ", ",
    "/* c */ ",
    "// c\n",
    "\n\t",
    " ",
    ";",
    ": ",
    "99999999999999999999, ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_broken_texts(
        text in select(fixtures().into_iter().filter(|text| text.len() < 5000).collect::<Vec<_>>()),
        changes in prop::collection::vec((any::<Index>(), select(WORDS), 0_usize..8), 1..6),
    ) {
        let mut words = words(&text);
        for (at, word, how) in changes {
            mutate(&mut words, at, word, how);
        }
        compare(words.concat());
    }

    /// Tables and vectors, whole and broken.
    #[test]
    fn of_lists(list in prop::collection::vec(select(PARTS), 0..24), in_body in any::<bool>()) {
        let list = list.concat();
        compare(if in_body {
            format!(".entry k() {{ mov.b64 d, {{{list}}}; add.s32 a, b, c; }}")
        } else {
            format!(".global .align 4 .b32 t[4] = {{{list}}}, u[2] = {{1, 2}};\n.entry k() {{ ret; }}")
        });
    }

    /// Texts of nothing but such words.
    #[test]
    fn of_texts_without_sense(words in prop::collection::vec(select(WORDS), 0..40), body in any::<bool>()) {
        compare(format!("{}{}", if body { ".entry k() { " } else { "" }, words.join(" ")));
    }
}
