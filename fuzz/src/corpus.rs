//! The texts that are mutated: the fixtures of the repository, the large ones in pieces.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use ptx_check::syntax::ast::StatementKind;
use ptx_check::syntax::lexer::{Token, lex};
use ptx_check::{Source, Unit};

/// Pieces of kernels are at most this long: a piece is checked in about a millisecond.
const LONGEST: usize = 48_000;
/// How much of a longer function is a piece, its declarations left out.
const WINDOW: usize = 20_000;
/// How much of the declarations before the first function, or of a long function, each piece has.
const HEAD: usize = 4_000;

/// Texts, and the words that they are made of.
#[derive(Debug, Default)]
pub struct Corpus {
    /// Small modules, most of them wrong: the fixtures of rules and of the syntax.
    pub small: Vec<String>,
    /// Functions of real kernels, each a module of its own.
    pub functions: Vec<String>,
    /// Small kernels that can be run, some of which are wrong.
    pub runs: Vec<String>,
    /// The opcodes of all of them.
    pub opcodes: Vec<String>,
    /// The words of the opcodes.
    pub words: Vec<String>,
    /// Files of other languages with PTX in them: how their names end, and their texts.
    pub hosts: Vec<(String, String)>,
}

impl Corpus {
    /// Reads the folder `fixtures` of the repository.
    ///
    /// # Errors
    /// When it, or something in it, cannot be read.
    pub fn read(fixtures: &Path) -> io::Result<Self> {
        let mut corpus = Self::default();
        for folder in ["rules", "syntax"] {
            for path in files(&fixtures.join(folder), &["ptx"])? {
                corpus.small.push(text(&path)?);
            }
        }
        for folder in ["rules", "host"] {
            for path in files(&fixtures.join(folder), &HOSTS)? {
                let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
                corpus.hosts.push((ending, text(&path)?));
            }
        }
        for path in files(&fixtures.join("kernels"), &["ptx"])? {
            corpus.functions.extend(pieces(&text(&path)?));
        }
        for path in files(&fixtures.join("simulation"), &["ptx"])? {
            corpus.runs.push(text(&path)?);
        }
        let mut opcodes = BTreeSet::new();
        for text in corpus.small.iter().chain(&corpus.functions) {
            let dotted = lex(text).filter(|(token, _)| *token == Ok(Token::Dotted));
            opcodes.extend(dotted.map(|(_, range)| &text[range]).filter(|word| !word.starts_with('%')));
        }
        let words: BTreeSet<&str> = opcodes.iter().flat_map(|opcode| opcode.split('.').skip(1)).collect();
        corpus.words = words.into_iter().map(str::to_owned).collect();
        corpus.opcodes = opcodes.into_iter().map(str::to_owned).collect();
        Ok(corpus)
    }
}

/// How the names of files of other languages end.
pub(crate) const HOSTS: [&str; 9] = ["cu", "cuh", "cpp", "c", "py", "mojo", "ll", "mlir", "rs"];

/// The files of a folder and its folders whose names end in one of these ways, in the order of their
/// names.
fn files(folder: &Path, endings: &[&str]) -> io::Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, endings)?);
        } else if path.extension().is_some_and(|ending| endings.iter().any(|it| ending == *it)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// The functions of a module, each with the header and the first declarations of the module.
fn pieces(text: &str) -> Vec<String> {
    let Ok(source) = Source::new("corpus", text) else { return Vec::new() };
    let unit = Unit::new(&source);
    let mut head = None;
    let mut end = 0;
    let mut pieces = Vec::new();
    for statement in &unit.module.statements {
        match statement.kind() {
            StatementKind::FunctionOpen(_) if head.is_none() => {
                end = statement.span.start as usize;
                head = Some(lines_up_to(&text[..end], HEAD));
            }
            StatementKind::FunctionClose => {
                let function = &text[end..statement.span.end as usize];
                end = statement.span.end as usize;
                let head = head.unwrap_or_default();
                if function.len() <= LONGEST {
                    pieces.push(format!("{head}{function}\n"));
                } else {
                    let start = lines_up_to(function, HEAD);
                    pieces.extend(
                        windows(&function[start.len()..]).map(|it| format!("{head}{start}{it}\n}}\n")),
                    );
                }
            }
            _ => {}
        }
    }
    pieces
}

/// The whole lines among the first `length` bytes.
fn lines_up_to(text: &str, length: usize) -> &str {
    if text.len() <= length {
        return text;
    }
    let end = text.as_bytes()[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &text[..end]
}

/// A text in pieces of whole lines; its last line, a `}`, is left out.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_end().strip_suffix('}').unwrap_or(text);
    std::iter::from_fn(move || {
        let window = lines_up_to(rest, WINDOW);
        rest = &rest[window.len()..];
        Some(window).filter(|window| !window.is_empty())
    })
}
