//! `asm!` of Rust, and `ptx_asm!` of cuda-oxide.
//!
//! ```text
//! asm!("mov.u32 {0}, %laneid;", "...", out(reg32) lane, options(pure, nomem, nostack));
//! ptx_asm!("mov.u32 %0, %%laneid;", out("=r") lane, options(register_only));
//! ```
//!
//! What a macro of the file says is read where it is defined, with parameters that may stand for anything, and
//! where it is used, with its arguments.

use super::modules::{self, Part};
use super::template::{Backslash, Escapes};
use super::{Found, Piece, cpp};
use ptx_text::source::{Source, Span};

mod macros;
mod statement;
mod tokens;

use macros::{Macros, Made, Uses};
use statement::Reader;
use tokens::{Literal, Token, Tokens};

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let mut tokens = Tokens::new(text);
    let mut found = Found::default();
    let mut macros = Macros::new(text);
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { continue };
        let behind = tokens.at();
        match &text[word.range()] {
            name if is_keyword(name) => {
                let mut rest = std::iter::from_fn(|| tokens.next().map(Made::written));
                match Reader::new(text, &mut rest, word).statement() {
                    Some(statement) => found.statements.push(statement),
                    // What is not a statement is looked at again: it may have one in it.
                    None => tokens.go_to(behind),
                }
            }
            "macro_rules" => {
                macros.define(&mut tokens);
                // The body is read as well.
                tokens.go_to(behind);
            }
            name if macros.has_assembly(name) => {
                if let Some(arguments) = macros.arguments(&mut tokens) {
                    let span = word.to(Span::at(tokens.at() as u32));
                    Uses { text, macros: &macros, span, statements: &mut found.statements }
                        .look_at(name, &arguments, 0);
                }
                // The arguments may have statements in them.
                tokens.go_to(behind);
            }
            _ => {}
        }
    }
    found.steps = tokens.steps() + macros.steps();
    found.comments = tokens.comments();
    if modules::may_be_in(text.as_bytes()) {
        let mut tokens = Tokens::new(text);
        let parts = std::iter::from_fn(|| {
            Some(match tokens.next()? {
                Token::Literal(literal) => Part::Literal(literal.span, literal.inside, piece(literal)),
                Token::Other(b'+', _) => Part::Changes,
                Token::Other(b'.', dot) if text[dot.end as usize..].starts_with("replace") => Part::Changes,
                Token::Word(word) => Part::Word(word, false),
                Token::Other(..) => Part::Other,
            })
        });
        modules::find(source, parts, &mut found);
        found.steps += tokens.steps();
    }
    if cpp::may_be_in(text.as_bytes()) {
        let mut tokens = Tokens::new(text);
        let strings = std::iter::from_fn(|| tokens.next());
        cpp::programs(source, programs(text, strings), &mut found);
        found.steps += tokens.steps();
    }
    found
}

/// The insides of strings that may be programs of C++: raw ones that nothing is put into.
fn programs(text: &str, tokens: impl Iterator<Item = Token>) -> impl Iterator<Item = Span> {
    let mut before = [0; 2];
    tokens.filter_map(move |token| {
        let Token::Literal(literal) = token else {
            before = [before[1], text.as_bytes()[token.span().start as usize]];
            return None;
        };
        // `format!(r"...")`
        let is_given = before == *b"!(";
        let is_changed = text[literal.span.end as usize..].trim_start().starts_with(".replace");
        before = [before[1], b'"'];
        let is_closed = literal.inside.end < literal.span.end;
        (literal.is_raw && is_closed && !is_given && !is_changed).then_some(literal.inside)
    })
}

fn is_keyword(word: &str) -> bool {
    word == "asm" || is_cuda(word)
}

/// Whether a macro is cuda-oxide's, which names operands, and says what they are, as CUDA does.
fn is_cuda(keyword: &str) -> bool {
    keyword == "ptx_asm"
}

fn piece(literal: Literal) -> Piece {
    let backslash = if literal.is_raw { Backslash::Plain } else { Backslash::Rust };
    Piece::Text { span: literal.inside, escapes: Escapes::of(backslash) }
}
