//! Layout of a whole module.
//!
//! Only white space changes. Line breaks within a statement stay, so that long vectors and
//! parameter lists keep the shape that someone gave them; between statements there is at least one.
//! Where white space separates tokens it becomes one blank, and where it does not, none is added but
//! behind commas: PTX opcodes are sensitive to it.

#![warn(missing_docs)]

use ptx_syntax::lexer::Token;
use ptx_syntax::parser::{self, SyntaxError};
use ptx_syntax::source::{Source, SourceError};
use ptx_syntax::structure::Structure;

/// How to indent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of one level.
    pub tab_size: u32,
    /// Whether they are blanks, not one tab.
    pub spaces: bool,
}

/// Why a file has no layout.
#[derive(Debug)]
pub enum Refusal {
    /// It is no text.
    NoText(SourceError),
    /// It does not parse, so that nobody knows where its statements end.
    Broken {
        /// The text.
        source: Source,
        /// The first thing that is wrong with it.
        error: SyntaxError,
    },
}

/// The bytes of a module in its layout; `None` when they need no change.
///
/// ```
/// use ptx_layout::{Style, layout};
///
/// let style = Style { tab_size: 4, spaces: true };
/// let text = b".version 9.0\n.target sm_100a\n.entry k()\n{ ret ;  }\n";
/// let after = layout("kernel.ptx", text, style).unwrap();
/// assert_eq!(after.unwrap(), b".version 9.0\n.target sm_100a\n.entry k()\n{\n    ret;\n}\n");
/// ```
///
/// # Errors
/// When the bytes are no text, or the text does not parse.
pub fn layout(name: &str, bytes: &[u8], style: Style) -> Result<Option<Vec<u8>>, Refusal> {
    let source = Source::from_bytes(name, bytes.to_vec()).map_err(Refusal::NoText)?;
    let error = parser::parse(&source).errors.into_iter().next();
    if let Some(error) = error {
        return Err(Refusal::Broken { source, error });
    }
    let after = layout_sound(source.text(), style);
    Ok(after.map(|after| restore(after.into_bytes(), source.text().as_bytes(), bytes)))
}

/// A text that parses in its layout; `None` when it needs no change.
pub fn layout_sound(text: &str, style: Style) -> Option<String> {
    let after = Printer::new(text, style).run();
    // The promise of this module, held at run time, too: better no layout than another program.
    (after != text && same_tokens(text, &after)).then_some(after)
}

/// Puts the bytes that are no UTF-8 back in their places. In the text, one character stands for each;
/// they are in comments, which the layout keeps, in the same order.
fn restore(mut after: Vec<u8>, text: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut changed = text.iter().zip(bytes).filter(|(shown, byte)| shown != byte).map(|(&shown, _)| shown);
    if let Some(stands_for) = changed.next() {
        let mut real =
            text.iter().zip(bytes).filter(|(shown, _)| **shown == stands_for).map(|(_, byte)| *byte);
        for byte in after.iter_mut().filter(|byte| **byte == stands_for) {
            *byte = real.next().unwrap_or(stands_for);
        }
    }
    after
}

/// Whether both texts have the same tokens and comments.
fn same_tokens(one: &str, other: &str) -> bool {
    let pieces = |text| pieces(text).into_iter().map(|piece| piece.text);
    pieces(one).eq(pieces(other))
}

/// A token or a comment.
#[derive(Clone, Copy, Debug)]
struct Piece<'s> {
    /// `None` for a comment.
    token: Option<Token>,
    text: &'s str,
    /// Line breaks before it; two of them make an empty line.
    breaks: usize,
    /// Whether any white space or comment stands before it.
    apart: bool,
}

/// The tokens, as the structure pass sees them, with the comments between.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for positioned in Structure::new(text) {
        let Ok((start, token, end)) = positioned;
        // Braces that the pass adds to balance a broken text have no text.
        if start == end {
            continue;
        }
        let blank = gap(&text[at..start as usize], &mut pieces);
        pieces.push(Piece {
            token: Some(token),
            text: &text[start as usize..end as usize],
            breaks: breaks(blank),
            apart: start as usize > at,
        });
        at = end as usize;
    }
    gap(&text[at..], &mut pieces);
    pieces
}

/// Takes the comments out of the text between two tokens; what is left stands before the next.
fn gap<'s>(text: &'s str, pieces: &mut Vec<Piece<'s>>) -> &'s str {
    let mut rest = text;
    loop {
        let start = rest.len() - rest.trim_start().len();
        let (blank, comment) = rest.split_at(start);
        if comment.is_empty() {
            return rest;
        }
        let length = if let Some(behind) = comment.strip_prefix("/*") {
            // The `*` of `/*` ends nothing: `/*/` is not a whole comment.
            behind.find("*/").map_or(comment.len(), |end| end + 4)
        } else {
            // A line comment, or the line marker of a preprocessor.
            comment.find(['\n', '\r']).unwrap_or(comment.len())
        };
        let text = comment[..length].trim_end();
        pieces.push(Piece { token: None, text, breaks: breaks(blank), apart: true });
        rest = &comment[length..];
    }
}

fn breaks(blank: &str) -> usize {
    blank.matches('\n').count().max(blank.matches('\r').count())
}

struct Printer<'s> {
    pieces: Vec<Piece<'s>>,
    style: Style,
    newline: &'static str,
    out: String,
    /// Scopes that are open.
    depth: usize,
    /// Brackets that are open in the statement.
    nesting: usize,
    /// Whether the statement has begun.
    within: bool,
}

impl<'s> Printer<'s> {
    fn new(text: &'s str, style: Style) -> Self {
        Self {
            pieces: pieces(text),
            style,
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            out: String::with_capacity(text.len()),
            depth: 0,
            nesting: 0,
            within: false,
        }
    }

    fn run(mut self) -> String {
        let pieces = std::mem::take(&mut self.pieces);
        let mut previous: Option<Piece<'_>> = None;
        // Whether the last piece ended a statement, so that only a comment may follow on its line.
        let mut ended = false;
        for (index, &piece) in pieces.iter().enumerate() {
            let closes =
                matches!(piece.token, Some(Token::BodyClose | Token::BlockClose | Token::SectionClose));
            if closes {
                self.depth = self.depth.saturating_sub(1);
                self.within = false;
                self.nesting = 0;
            }
            let opens = matches!(piece.token, Some(Token::BodyOpen | Token::BlockOpen | Token::SectionOpen));
            let line_before = previous.is_some_and(|it| it.token.is_none() && !it.text.starts_with("/*"));
            let breaks = match previous {
                None => 0,
                Some(_) if line_before => piece.breaks.max(1),
                Some(_) if piece.token.is_none() => piece.breaks,
                Some(_) if ended || closes => piece.breaks.max(1),
                Some(_) => piece.breaks,
            };
            if breaks > 0 {
                self.out.truncate(self.out.trim_end().len());
                for _ in 0..breaks.min(2) {
                    self.out.push_str(self.newline);
                }
                // A label stands out, as compilers write it.
                let label = !self.within
                    && piece.token == Some(Token::Identifier)
                    && pieces.get(index + 1).is_some_and(|next| next.token == Some(Token::Colon));
                self.indent(piece, opens || closes, label);
            } else if let Some(previous) = previous
                && blank_between(previous, piece)
            {
                self.out.push(' ');
            }
            self.out.push_str(piece.text);
            ended = self.advance(piece, opens, closes, &pieces[index + 1..], ended);
            previous = Some(piece);
        }
        if !self.out.is_empty() {
            self.out.push_str(self.newline);
        }
        self.out
    }

    fn indent(&mut self, piece: Piece<'_>, brace: bool, label: bool) {
        // Line markers have to start the line.
        if piece.token.is_none() && piece.text.starts_with('#') {
            return;
        }
        // A parameter list closes where its function starts.
        let leaves = matches!(piece.token, Some(Token::ParenClose | Token::BracketClose | Token::BraceClose));
        let continued = usize::from(self.within && !brace && !(leaves && self.nesting <= 1));
        let levels = (self.depth + continued).saturating_sub(usize::from(label));
        if self.style.spaces {
            self.out.push_str(&" ".repeat(levels * self.style.tab_size as usize));
        } else {
            self.out.push_str(&"\t".repeat(levels));
        }
    }

    /// Follows the structure; whether the piece ended a statement.
    fn advance(
        &mut self,
        piece: Piece<'_>,
        opens: bool,
        closes: bool,
        rest: &[Piece<'_>],
        ended: bool,
    ) -> bool {
        let Some(token) = piece.token else { return ended };
        if opens {
            self.depth += 1;
            self.within = false;
            self.nesting = 0;
            return true;
        }
        if closes {
            return true;
        }
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => self.nesting += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                self.nesting = self.nesting.saturating_sub(1);
            }
            Token::Semicolon => {
                // The `;` of a `.pragma` in a header ends a line, not the header; nothing is lost.
                self.within = false;
                self.nesting = 0;
                return true;
            }
            _ => {}
        }
        // What follows a label, and what follows a directive without `;`, starts on a line of its
        // own already, or may stay where it is.
        let next_starts = rest.iter().find(|it| it.token.is_some()).is_some_and(|it| {
            it.breaks > 0
                && self.nesting == 0
                && match it.token {
                    Some(
                        Token::Loc
                        | Token::File
                        | Token::Version
                        | Token::Target
                        | Token::AddressSize
                        | Token::Section
                        | Token::Entry
                        | Token::Func
                        | Token::Linkage(_),
                    ) => true,
                    _ => matches!(token, Token::Integer | Token::Float | Token::Colon) || self.directive(),
                }
        });
        self.within = !next_starts;
        false
    }

    /// Whether the line that was written last is a directive that ends with its line.
    fn directive(&self) -> bool {
        let line = self.out.rsplit('\n').next().unwrap_or_default().trim_start();
        [".target", ".version", ".address_size", ".loc", ".file"].iter().any(|it| line.starts_with(it))
            && !line.ends_with(',')
    }
}

/// Whether a blank stands between two pieces of one line.
fn blank_between(left: Piece<'_>, right: Piece<'_>) -> bool {
    let (Some(before), Some(behind)) = (left.token, right.token) else { return true };
    match (before, behind) {
        (_, Token::Comma | Token::Semicolon | Token::ParenClose | Token::BracketClose)
        | (Token::ParenOpen | Token::BracketOpen, _) => false,
        (Token::Comma | Token::Colon, _) => true,
        (_, Token::BodyOpen | Token::SectionOpen) => true,
        (Token::BraceOpen, _) | (_, Token::BraceClose) => false,
        _ => right.apart,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ptx_syntax::lexer;

    const STYLE: Style = Style { tab_size: 4, spaces: true };

    fn formatted(text: &str) -> String {
        match layout("k.ptx", text.as_bytes(), STYLE) {
            Ok(Some(after)) => String::from_utf8(after).expect("from a string"),
            Ok(None) | Err(Refusal::Broken { .. } | Refusal::NoText(_)) => text.to_owned(),
        }
    }

    fn tokens(text: &str) -> Vec<(Option<Token>, String)> {
        lexer::lex(text).map(|(token, range)| (token.ok(), text[range].to_owned())).collect()
    }

    fn holds(text: &str) {
        let once = formatted(text);
        assert_eq!(tokens(text), tokens(&once), "{text}");
        assert_eq!(formatted(&once), once, "{text}");
    }

    #[test]
    fn a_kernel() {
        insta::assert_snapshot!(formatted(
            ".version   9.0\n.target sm_100a,  debug\n.address_size 64\n\n\n\n// a comment\n.visible .entry k(\n.param .u64 a ,\n .param .u64 b\n)\n  .maxntid 128,1,1\n{ .reg .b32 %r<4>;.reg .pred p; // two\n  mov.b32 %r1,%r2;   mov.b32 %r0 , 1 ;\n.loc 1 2 3\nadd.s32 %r1, %r2, 4+ 5;\nL: bra L;\n{ ret; }\n  tcgen05.ld.sync.aligned.32x32b.x2.b32 { %r0,\n %r1 }, [ %r2+16 ];\n@!p bra L; /* last */ }\n"
        ));
    }

    #[test]
    fn other_bytes_stay() {
        let text = b"// caf\xe9 \x1a \xff\r\n.version  9.0 // \xfe\r\n";
        let after = layout("k.ptx", text, STYLE).unwrap().unwrap();
        assert_eq!(after, b"// caf\xe9 \x1a \xff\r\n.version 9.0 // \xfe\r\n");
    }

    #[test]
    fn the_kernels_keep_their_tokens() {
        for entry in
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kernels")).unwrap()
        {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "ptx") && path.metadata().unwrap().len() < 120_000 {
                holds(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn layout_is_stable_and_keeps_tokens(
            words in proptest::collection::vec(proptest::sample::select(&[
                ".version 9.0", ".target sm_100a", ".reg .b32 %r<4>;", "mov.b32 %r0 , %r1;", "L:", "{", "}",
                "// note\n", "/* block\n comment */", "/*/*/", "\n", "\n\n\n", "\t", " ", ".loc 1 2 3", "bra L ;",
                "tcgen05.mma .cta_group::1 [ %r0 ],{ %r1 , %r2 };", "@ !p ret;", ".pragma \"x\";", "# 5 \"a.cu\"\n",
                ".shared .align 8 .b64 s[ 2 ] = { 1,2 };", "a ? b : c", "\r\n",
            ][..]), 0..30),
            body in any::<bool>(),
        ) {
            let inner = words.join("");
            let text = if body { format!(".version 9.0\n.target sm_100a\n.entry k() {{\n{inner}\n}}") } else { inner };
            holds(&text);
        }
    }
}
