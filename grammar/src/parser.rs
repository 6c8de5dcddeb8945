//! The one way from text to a [`Module`].

use std::cell::RefCell;

use crate::ast::Module;
use crate::builder::{Builder, Recovery};
use crate::generated::ModuleParser;
use crate::lexer::{LexError, Token};
use crate::parallel;
use crate::plain::Tokens;
use crate::source::{Source, Span};
use crate::structure::Structure;

/// A syntax tree and what was wrong with the text.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The tree; broken statements are [`Broken`](crate::ast::StatementKind::Broken) in it.
    pub module: Module,
    /// In source order.
    pub errors: Vec<SyntaxError>,
}

/// Something that is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// Text that is no token.
    InvalidToken {
        /// The text.
        span: Span,
        /// Why.
        error: LexError,
    },
    /// A token where another is due.
    Unexpected {
        /// The token.
        span: Span,
        /// What could stand there, in words, the most likely first.
        expected: Vec<&'static str>,
    },
    /// The statement or the file ends too early.
    UnexpectedEnd {
        /// Where it ends.
        at: u32,
        /// What could stand there.
        expected: Vec<&'static str>,
    },
    /// A `}` that closes nothing.
    StrayBrace {
        /// The brace.
        span: Span,
    },
    /// A `{` without its `}`.
    UnclosedBrace {
        /// The outermost brace that is open.
        brace: Span,
        /// Where it had to be closed at the latest.
        at: u32,
        /// Whether another function starts there; else the file ends.
        before_function: bool,
    },
    /// Braces or brackets nested deeper than any sound module does.
    TooDeep {
        /// The one over the limit.
        span: Span,
        /// The limit.
        limit: u32,
    },
    /// More statements, or elements of a list, than the tree has room for.
    TooMany {
        /// The first one over the limit.
        span: Span,
    },
}

impl SyntaxError {
    /// The place that the error is about.
    pub fn span(&self) -> Span {
        match *self {
            Self::InvalidToken { span, .. }
            | Self::Unexpected { span, .. }
            | Self::StrayBrace { span }
            | Self::TooDeep { span, .. }
            | Self::TooMany { span } => span,
            Self::UnexpectedEnd { at, .. } | Self::UnclosedBrace { at, .. } => Span::at(at),
        }
    }

    /// The error that the parser recovered from; none when it was about a token that the lexer or
    /// the structure pass has already reported.
    #[cold]
    pub(crate) fn from_recovery(recovery: Recovery, text: &str) -> Option<Self> {
        use lalrpop_util::ParseError;
        match recovery.error {
            ParseError::UnrecognizedToken { token: (_, Token::Error, _), .. } => None,
            ParseError::UnrecognizedToken {
                token:
                    (start, Token::BodyClose | Token::BlockClose | Token::SectionClose | Token::DirectiveEnd, _),
                expected,
            } => {
                let before = text.get(..start as usize).unwrap_or_default();
                Some(Self::UnexpectedEnd {
                    at: before.trim_end().len() as u32,
                    expected: describe(&expected),
                })
            }
            ParseError::UnrecognizedToken { token: (start, _, end), expected } => {
                Some(Self::Unexpected { span: Span::new(start, end), expected: describe(&expected) })
            }
            ParseError::UnrecognizedEof { location, expected } => {
                Some(Self::UnexpectedEnd { at: location, expected: describe(&expected) })
            }
            ParseError::InvalidToken { location } => {
                Some(Self::Unexpected { span: Span::at(location), expected: Vec::new() })
            }
            ParseError::ExtraToken { token: (start, _, end) } => {
                Some(Self::Unexpected { span: Span::new(start, end), expected: Vec::new() })
            }
            ParseError::User { error } => match error {},
        }
    }
}

/// Parses a whole module. Total: any text yields a tree.
///
/// ```
/// use ptx_syntax::Source;
/// use ptx_syntax::ast::StatementKind;
/// use ptx_syntax::parser::parse;
///
/// let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n\
///     .entry k() { .reg .b32 %r<2>; mov.b32 %r0, ; add.s32 %r1, %r0, 1; }\n")?;
/// let parsed = parse(&source);
///
/// // One statement is broken; the ones around it are not.
/// assert_eq!(parsed.errors.len(), 1);
/// assert_eq!(source.slice(parsed.errors[0].span()), ";");
/// let opcodes: Vec<&str> = parsed
///     .module
///     .statements
///     .iter()
///     .filter_map(|statement| match statement.kind() {
///         StatementKind::Instruction(index) => {
///             Some(source.slice(parsed.module.instructions[index as usize].opcode))
///         }
///         _ => None,
///     })
///     .collect();
/// assert_eq!(opcodes, ["add.s32"]);
/// # Ok::<(), ptx_syntax::source::SourceError>(())
/// ```
pub fn parse(source: &Source) -> Parsed {
    parse_with(source, |structure, builder| {
        ModuleParser::new().parse(builder, Tokens::new(structure, builder)).err()
    })
}

/// The same on several threads, where the text is long enough and cut easily.
pub fn parse_parallel(source: &Source, threads: usize) -> Parsed {
    if threads < 2 {
        return parse(source);
    }
    let cuts = parallel::cuts(source.text(), threads, parallel::WORTH);
    parallel::parse_pieces(source, &cuts).unwrap_or_else(|| parse(source))
}

/// Reads the pieces between `cuts` side by side, each of which must stand right behind a `}` at the
/// start of a line; `None` when the text cannot be cut there or is broken.
#[doc(hidden)]
pub fn parse_pieces(source: &Source, cuts: &[u32]) -> Option<Parsed> {
    parallel::parse_pieces(source, cuts)
}

/// Where [`parse_parallel`] cuts a text into pieces of at least `worth` bytes.
#[doc(hidden)]
pub fn cuts(text: &str, threads: usize, worth: usize) -> Vec<u32> {
    parallel::cuts(text, threads, worth)
}

/// The same, with every statement read by the generated parser: so that tests can compare.
#[doc(hidden)]
pub fn parse_the_long_way(source: &Source) -> Parsed {
    parse_with(source, |structure, builder| ModuleParser::new().parse(builder, structure).err())
}

type ParseError = lalrpop_util::ParseError<u32, Token, std::convert::Infallible>;

fn parse_with<'s>(
    source: &'s Source,
    run: impl FnOnce(&mut Structure<'s>, &RefCell<Builder<'s>>) -> Option<ParseError>,
) -> Parsed {
    let mut structure = Structure::new(source.text());
    let builder = RefCell::new(Builder::new(source.text(), source.text()));
    // A parser that can recover returns an error only when recovery itself is impossible: at the
    // end of input. What it read until then is in the builder.
    let unrecovered = run(&mut structure, &builder);
    let Builder { module, mut errors, .. } = builder.into_inner();
    if let Some(error) = unrecovered {
        let recovery = Recovery { error, dropped_tokens: Vec::new() };
        errors.extend(SyntaxError::from_recovery(recovery, source.text()));
    }
    errors.append(&mut structure.errors);
    errors.sort_by_key(SyntaxError::span);
    Parsed { module, errors }
}

/// Words for what the grammar expected, at most four, the most useful first.
fn describe(expected: &[String]) -> Vec<&'static str> {
    // In order of usefulness to someone who has to mend the line.
    const WORDS: &[(&[&str], &str)] = &[
        (&["\";\""], "`;`"),
        (&["\",\""], "`,`"),
        (&["\"]\""], "`]`"),
        (&["\"}\""], "`}`"),
        (&["\")\""], "`)`"),
        (&["\">\""], "`>`"),
        (&["\":\""], "`:` after a label"),
        (&["body_open"], "`{`"),
        (&["section_open"], "`{`"),
        (&["identifier", "\"[\""], "an operand"),
        (&["identifier", "\"@\""], "an instruction"),
        (&["\".entry\"", "\".version\""], "a directive such as `.entry`"),
        (&["identifier"], "a name"),
        (&["integer"], "a number"),
        (&["string"], "a string"),
        (&["dot_word"], "a type or attribute such as `.b32`"),
        (&["\"=\""], "`=`"),
    ];
    let has = |name: &&str| expected.iter().any(|it| it == name);
    let mut words: Vec<&'static str> = Vec::new();
    for &(names, word) in WORDS {
        if !names.iter().all(has) {
            continue;
        }
        // An operand or an instruction starts with a name; naming both would say it twice.
        let implied = match word {
            "a name" => words.iter().any(|w| matches!(*w, "an operand" | "an instruction")),
            "a number" | "a string" => words.contains(&"an operand"),
            // Where an operand may end, `>` and `:` are operators of a constant expression.
            "`>`" | "`:` after a label" => words.contains(&"`;`") || words.contains(&"`,`"),
            _ => false,
        };
        if !implied && !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(4);
    words
}
