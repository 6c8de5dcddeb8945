//! From literals to PTX: escapes, placeholders, and pieces that nobody knows.

use super::holes::HoleKind;
use super::map::Mapped;
use super::{Constraint, Operand, Piece};
use ptx_text::source::{Source, Span};

/// What the text has in place of what is not known: names, so that what is around them is parsed as with any other
/// name. The file has neither, so that no declaration of it is taken for theirs.
pub(super) struct Fillers {
    text: String,
    immediate: String,
}

impl Fillers {
    /// Those of a file.
    pub(super) fn of(source: &Source) -> Self {
        /// Nobody writes longer ones.
        const LONG: usize = 64;
        let name = |start: &str| {
            let text = source.text().as_bytes();
            let signs =
                |at: usize| text[at + start.len()..].iter().take(LONG).take_while(|it| **it == b'$').count();
            let longest = memchr::memmem::find_iter(text, start.as_bytes()).map(signs).max();
            format!("{start}{}_", "$".repeat(longest.unwrap_or_default() + 1))
        };
        Self { text: name("_$unknown"), immediate: name("_$immediate") }
    }
}

/// Keeps the location of an unknown piece until it is clear what it is in: a character that is a part of no word.
const PIECE: &str = "\u{10FFFF}";

/// How the characters of a literal stand for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Escapes {
    /// What a backslash does.
    pub backslash: Backslash,
    /// Whether `{{` and `}}` stand for single braces, as in formatted strings.
    pub doubled_braces: bool,
}

/// What a backslash in a literal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Backslash {
    /// Nothing: raw strings.
    Plain,
    /// Nothing, in raw strings of one line.
    PlainLine,
    /// Nothing, in tokens of the code that become a part of a string.
    Token,
    /// As in C, C++ and CUDA.
    C,
    /// As in C, in a string of Python that is not raw, where every second backslash stands for one.
    CInPython,
    /// As in Python: like C's, but what means nothing stays as it is.
    Python,
    /// As in Rust: a line that ends in one goes on behind the blanks of the next.
    Rust,
    /// Two hexadecimal digits, as in LLVM IR.
    Llvm,
    /// Two hexadecimal digits, or `\n`, `\t`, `\"`, as in MLIR.
    Mlir,
}

impl Escapes {
    /// Escapes that follow a backslash only.
    pub(crate) const fn of(backslash: Backslash) -> Self {
        Self { backslash, doubled_braces: false }
    }
}

/// How operands are named in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Placeholders {
    /// `%0`, and `%%` for `%` where there are operands: GNU's, nvcc's.
    Percent,
    /// `%0`, and `%%` for `%` whether there are operands or not: `ptx_asm!` of cuda-oxide.
    DoubledPercent,
    /// `$0`, `${0:x}`, and `$$` for `$`: LLVM's.
    Dollar,
    /// `{0}`, `{}`, `{name}`, and `{{` for `{`: Rust's.
    Braces,
    /// `{$r0}`, `{$w0}`, `{$rw0}`: by what is done with it, as `CuTe` DSL names them.
    Access,
    /// None: the text is PTX.
    None,
}

impl Placeholders {
    /// Whether `%` has to be doubled to stand for itself.
    fn doubles_percent(self, operands: usize) -> bool {
        match self {
            Self::Percent => operands > 0,
            Self::DoubledPercent => true,
            Self::Dollar | Self::Braces | Self::Access | Self::None => false,
        }
    }
}

/// What a template is once its escapes are undone.
pub(super) struct Cooked {
    pub(super) text: Mapped,
}

impl Cooked {
    /// Whether a piece is not known.
    pub(super) fn has_holes(&self) -> bool {
        !self.text.holes().is_empty()
    }
}

/// Joins the pieces of a template and undoes their escapes. `region` is asked for each literal.
pub(super) fn cook(
    source: &Source,
    pieces: &[Piece],
    mut region: impl FnMut(Span, Escapes) -> u32,
) -> Cooked {
    let mut text = Mapped::default();
    for piece in pieces {
        match *piece {
            Piece::Text { span, escapes } => {
                text.set_region(region(span, escapes));
                unescape(source.slice(span), span.start, escapes, &mut text);
            }
            Piece::Line(at) => text.glue("\n", Span::at(at)),
            Piece::Hole(span) => text.hole(PIECE, span, HoleKind::Text),
        }
    }
    Cooked { text }
}

fn unescape(text: &str, start: u32, escapes: Escapes, out: &mut Mapped) {
    let is_special = |byte: &u8| match byte {
        b'\\' => !matches!(escapes.backslash, Backslash::Plain | Backslash::PlainLine | Backslash::Token),
        b'{' | b'}' => escapes.doubled_braces,
        _ => false,
    };
    let mut rest = 0;
    while let Some(tail) = text.get(rest..).filter(|tail| !tail.is_empty()) {
        let plain = tail.bytes().position(|byte| is_special(&byte)).unwrap_or(tail.len());
        out.verbatim(&tail[..plain], start + rest as u32);
        rest += plain;
        let Some(tail) = text.get(rest..).filter(|tail| !tail.is_empty()) else { break };
        let (len, meaning) = if tail.starts_with('\\') {
            escape(tail, escapes.backslash)
        } else if tail.starts_with("{{") || tail.starts_with("}}") {
            (2, Meaning::Text(tail[..1].to_owned()))
        } else {
            (1, Meaning::Itself)
        };
        let at = start + rest as u32;
        match meaning {
            Meaning::Itself => out.verbatim(&tail[..len], at),
            Meaning::Text(meant) => out.replaced(&meant, Span::new(at, at + len as u32)),
            Meaning::Nothing => {}
        }
        rest += len;
    }
}

enum Meaning {
    Itself,
    Text(String),
    Nothing,
}

/// What the text, which starts with a backslash, starts with: its length and meaning.
fn escape(text: &str, backslash: Backslash) -> (usize, Meaning) {
    let bytes = text.as_bytes();
    let digits = |from: usize, radix: u32, most: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count()
    };
    let number = |from: usize, len: usize, radix: u32| {
        let value = text.get(from..from + len).and_then(|it| u32::from_str_radix(it, radix).ok());
        // What is not a character is nothing that PTX has.
        value.and_then(char::from_u32).unwrap_or('\u{1a}').to_string()
    };
    let hexadecimal = |from: usize, most: usize| match digits(from, 16, most) {
        0 => None,
        len => Some((from + len, Meaning::Text(number(from, len, 16)))),
    };
    let itself = |text: &str| {
        let len = 1 + text[1..].chars().next().map_or(0, char::len_utf8);
        (len, Meaning::Itself)
    };
    if matches!(backslash, Backslash::Llvm | Backslash::Mlir) {
        if digits(1, 16, 2) == 2 {
            return (3, Meaning::Text(number(1, 2, 16)));
        }
        if text.starts_with("\\\\") {
            return (2, Meaning::Text("\\".to_owned()));
        }
        if backslash == Backslash::Llvm {
            return (1, Meaning::Itself);
        }
    }
    if backslash == Backslash::CInPython {
        return match text.strip_prefix('\\').filter(|rest| rest.starts_with('\\')) {
            // `\\\\` is `\\` for C, and that is one.
            Some(rest) if rest.starts_with("\\\\\\") => (4, Meaning::Text("\\".to_owned())),
            Some(rest) => {
                let (len, meaning) = escape(rest, Backslash::C);
                (len + 1, meaning)
            }
            None => escape(text, Backslash::Python),
        };
    }
    let Some(letter) = bytes.get(1) else { return (1, Meaning::Itself) };
    let simple = |character: char| (2, Meaning::Text(character.to_string()));
    match letter {
        b'n' => simple('\n'),
        b't' => simple('\t'),
        b'r' => simple('\r'),
        b'\\' => simple('\\'),
        b'"' => simple('"'),
        b'\'' => simple('\''),
        b'0' if backslash == Backslash::Rust => simple('\0'),
        b'v' | b'f' | b'a' | b'b' if backslash != Backslash::Rust => simple(' '),
        b'?' if backslash == Backslash::C => simple('?'),
        // A line that goes on.
        b'\n' | b'\r' => {
            let end = if text.starts_with("\\\r\n") { 3 } else { 2 };
            let blanks = match backslash {
                Backslash::Rust => text[end..].len() - text[end..].trim_start().len(),
                _ => 0,
            };
            (end + blanks, Meaning::Nothing)
        }
        b'u' if backslash == Backslash::Rust && text.starts_with("\\u{") => {
            let len = digits(3, 16, 6);
            (4 + len, Meaning::Text(number(3, len, 16)))
        }
        b'x' => {
            let most = if backslash == Backslash::C { 8 } else { 2 };
            hexadecimal(2, most).unwrap_or_else(|| itself(text))
        }
        b'u' if backslash != Backslash::Rust => hexadecimal(2, 4).unwrap_or_else(|| itself(text)),
        b'U' if backslash != Backslash::Rust => hexadecimal(2, 8).unwrap_or_else(|| itself(text)),
        b'0'..=b'7' if backslash != Backslash::Rust => {
            let len = digits(1, 8, 3);
            (1 + len, Meaning::Text(number(1, len, 8)))
        }
        _ => itself(text),
    }
}

/// The text as it has to be written in a literal of this kind, in a template of this kind.
pub(super) fn quoted(
    text: &str,
    escapes: Escapes,
    placeholders: Placeholders,
    operands: usize,
) -> Option<String> {
    // One token stays one.
    if escapes.backslash == Backslash::Token
        && !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return None;
    }
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let mut len = character.len_utf8();
        let digits = rest[len..].bytes().take_while(u8::is_ascii_digit).count();
        let is_operand = || rest[len..len + digits].parse::<usize>().is_ok_and(|index| index < operands);
        match character {
            // A name that stands for an operand is written like one.
            '%' if is_operand() => {
                quoted.push(match placeholders {
                    Placeholders::Percent | Placeholders::DoubledPercent => '%',
                    Placeholders::Dollar => '$',
                    // They may have names, which are not known here.
                    Placeholders::Braces | Placeholders::Access => return None,
                    Placeholders::None => character,
                });
                quoted.push_str(&rest[len..len + digits]);
                len += digits;
            }
            '$' if placeholders == Placeholders::Dollar && is_operand() => {
                quoted.push_str(&rest[..len + digits]);
                len += digits;
            }
            '%' if placeholders.doubles_percent(operands) => quoted.push_str("%%"),
            '$' if placeholders == Placeholders::Dollar => quoted.push_str("$$"),
            '{' | '}' if escapes.doubled_braces || placeholders == Placeholders::Braces => {
                quoted.extend([character, character]);
            }
            '"' | '\n' | '\t' | '\\' => match (escapes.backslash, character) {
                (Backslash::Plain, '\n' | '\t') | (Backslash::PlainLine, '\t') => quoted.push(character),
                (Backslash::Plain | Backslash::PlainLine | Backslash::Token, _) => return None,
                (Backslash::CInPython, '\n') => quoted.push_str("\\\\n"),
                (Backslash::CInPython, '\t') => quoted.push_str("\\\\t"),
                (Backslash::CInPython, _) => return None,
                (Backslash::Llvm | Backslash::Mlir, _) => {
                    quoted.push_str(&format!("\\{:02X}", u32::from(character)));
                }
                (_, '\n') => quoted.push_str("\\n"),
                (_, '\t') => quoted.push_str("\\t"),
                (_, character) => quoted.extend(['\\', character]),
            },
            character => quoted.push(character),
        }
        rest = &rest[len..];
    }
    Some(quoted)
}

/// What is wrong with how a template names its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceholderError {
    /// There is no operand with this number.
    Unlisted(usize),
    /// `%%` where there are no operands.
    Doubled,
    /// `%[name]`: the number of the operand with that name, if there is one.
    Named(Option<usize>),
    /// `%r1`: a letter between the sign and the number.
    Modifier(String),
}

/// The PTX of a template.
pub(super) struct Expanded<'f> {
    pub(super) text: Mapped,
    fillers: &'f Fillers,
    /// How often each operand is named.
    pub(super) uses: Vec<u32>,
    pub(super) errors: Vec<(Span, PlaceholderError)>,
    /// Whether a label is made unique: `%=`, `${:uid}`.
    pub(super) unique: bool,
}

/// A sign in a template that does not stand for itself.
enum Sign {
    Operand(usize),
    Text(&'static str),
    /// A number that differs wherever the template is used.
    Unique,
    Error(PlaceholderError),
    /// An operand of which only this much is clear.
    Unknown,
    Itself,
}

/// Replaces the placeholders of a template by names of registers and by values, and what is not known by fillers.
/// Spans of errors count from the start of the text.
pub(super) fn expand<'f>(
    cooked: &Cooked,
    placeholders: Placeholders,
    operands: &[Operand],
    fillers: &'f Fillers,
) -> Expanded<'f> {
    let uses = vec![0; operands.len()];
    let mut expanded = Expanded { text: Mapped::default(), fillers, uses, errors: Vec::new(), unique: false };
    let text = cooked.text.text();
    let sign = match placeholders {
        Placeholders::Percent | Placeholders::DoubledPercent => b'%',
        Placeholders::Dollar => b'$',
        Placeholders::Braces | Placeholders::Access => b'{',
        Placeholders::None => 0,
    };
    let mut holes = cooked.text.holes().iter().map(|hole| hole.span.range()).peekable();
    let mut next = 0;
    let mut implicit = 0;
    loop {
        // A placeholder may have had some.
        while holes.next_if(|hole| hole.start < next).is_some() {}
        let end = holes.peek().map_or(text.len(), |hole| hole.start);
        let tail = &text.as_bytes()[next..end];
        let stop = match placeholders {
            Placeholders::None => None,
            Placeholders::Braces => memchr::memchr2(sign, b'}', tail),
            _ => memchr::memchr(sign, tail),
        };
        let at = stop.map_or(end, |stop| next + stop);
        expanded.text.append(&cooked.text, next..at);
        if at == text.len() {
            break;
        }
        let tail = &text[at..];
        // What stands for a placeholder is written as what is around it.
        expanded.text.set_region(cooked.text.region(at));
        if let Some(hole) = holes.next_if(|hole| hole.start == at) {
            next = hole.end;
            let host = cooked.text.host(hole).unwrap_or_default();
            expanded.unknown(host, &text[next..]);
            continue;
        }
        let (len, meaning) = match placeholders {
            Placeholders::Percent | Placeholders::DoubledPercent => {
                percent(tail, operands, placeholders.doubles_percent(operands.len()))
            }
            Placeholders::Dollar => dollar(tail),
            Placeholders::Braces => braces(tail, operands, &mut implicit),
            Placeholders::Access => access(tail, operands),
            Placeholders::None => (tail.chars().next().map_or(1, char::len_utf8), Sign::Itself),
        };
        next = at + len;
        let host = cooked.text.host(at..next).unwrap_or_default();
        let start = expanded.text.len() as u32;
        match meaning {
            Sign::Itself => expanded.text.append(&cooked.text, at..next),
            Sign::Text(meant) => expanded.text.replaced(meant, host),
            Sign::Unique => {
                expanded.unique = true;
                expanded.text.replaced("0", host);
            }
            Sign::Unknown => expanded.unknown(host, &text[next..]),
            Sign::Error(error) => {
                if let PlaceholderError::Named(Some(index)) = error {
                    expanded.uses[index] += 1;
                }
                expanded.meant(&error, operands, (at..next, host), cooked);
                expanded.errors.push((Span::new(start, expanded.text.len() as u32), error));
            }
            Sign::Operand(index) => match operands.get(index) {
                None => {
                    expanded.unknown(host, &text[next..]);
                    let span = Span::new(start, expanded.text.len() as u32);
                    expanded.errors.push((span, PlaceholderError::Unlisted(index)));
                }
                Some(operand) => {
                    expanded.uses[index] += 1;
                    expanded.operand(operand, index, (at..next, host), cooked);
                }
            },
        }
    }
    expanded
}

/// What stands before the end of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Nothing of a statement.
    Start,
    /// A part of an opcode.
    Opcode,
    /// More than an opcode.
    Operands,
}

impl Expanded<'_> {
    /// Appends something unknown, whatever fits where it stands.
    fn unknown(&mut self, host: Span, behind: &str) {
        let goes_on = behind.bytes().next().is_some_and(|byte| is_word(byte) || byte == b'.');
        match position(self.text.text()) {
            // A comment says it without being a word of a statement.
            Position::Start if !goes_on => {
                self.text.replaced("/*", host);
                self.text.hole(&self.fillers.text, host, HoleKind::Text);
                self.text.replaced("*/", host);
            }
            Position::Start | Position::Opcode | Position::Operands => {
                self.text.hole(&self.fillers.text, host, HoleKind::Text);
            }
        }
    }

    /// Appends what stands there once the error is repaired, so that the repair changes nothing else; where
    /// that is not clear, nothing more is to be said about it.
    fn meant(
        &mut self,
        error: &PlaceholderError,
        operands: &[Operand],
        (range, host): (std::ops::Range<usize>, Span),
        cooked: &Cooked,
    ) {
        match error {
            PlaceholderError::Doubled => self.text.replaced("%", host),
            PlaceholderError::Modifier(text) => self.text.replaced(text, host),
            PlaceholderError::Named(Some(index))
                if matches!(operands[*index].constraint, Constraint::Register(_)) =>
            {
                self.operand(&operands[*index], *index, (range, host), cooked);
            }
            PlaceholderError::Named(_) | PlaceholderError::Unlisted(_) => {
                self.unknown(host, &cooked.text.text()[range.end..]);
            }
        }
    }

    /// Appends what an operand becomes.
    fn operand(
        &mut self,
        operand: &Operand,
        index: usize,
        (range, host): (std::ops::Range<usize>, Span),
        cooked: &Cooked,
    ) {
        let in_operands = position(self.text.text()) == Position::Operands;
        match &operand.constraint {
            // It is written where its value is.
            Constraint::Immediate(Some(value)) => match operand.value {
                (span, true) => self.text.code(&value.to_string(), span),
                (span, false) => self.text.glue(&value.to_string(), span),
            },
            Constraint::Immediate(None) if in_operands => {
                self.text.hole(&self.fillers.immediate, host, HoleKind::Immediate);
            }
            Constraint::Register(_) if in_operands => {
                let (start, name) = (self.text.len(), name_of(index));
                if cooked.text.text()[range.clone()] == name {
                    self.text.append(&cooked.text, range);
                } else {
                    self.text.replaced(&name, host);
                }
                self.text.mark(start, HoleKind::Operand(index as u32));
            }
            Constraint::Immediate(None) | Constraint::Register(_) | Constraint::Other => {
                self.unknown(host, &cooked.text.text()[range.end..]);
            }
        }
    }
}

/// A text of PTX with blanks in place of its comments.
pub(super) fn uncommented(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, comment) = rest.split_at(at);
        kept.push_str(before);
        let len = match comment.as_bytes().get(1) {
            Some(b'/') => comment.find('\n').unwrap_or(comment.len()),
            Some(b'*') => comment[2..].find("*/").map_or(comment.len(), |len| len + 4),
            _ => 0,
        };
        kept.extend(std::iter::repeat_n(' ', len));
        // A slash by itself starts none.
        kept.push_str(&comment[..usize::from(len == 0)]);
        rest = &comment[len.max(1)..];
    }
    kept.push_str(rest);
    kept
}

/// How the register of an operand is called.
pub(super) fn name_of(operand: usize) -> String {
    format!("%{operand}")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b':')
}

/// How far back it is looked. What is longer is not an opcode.
const NEAR: usize = 1024;

/// Where in a statement a text ends.
fn position(text: &str) -> Position {
    let mut from = text.len().saturating_sub(NEAR);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    match position_near(&text[from..]) {
        // It is not known what stands before.
        (_, false) if from > 0 => Position::Operands,
        (found, _) => found,
    }
}

/// Where in a statement a text ends, and whether its start was found.
fn position_near(text: &str) -> (Position, bool) {
    let mut rest = text;
    let mut word = true;
    let mut found = Position::Start;
    // Each round goes back over a word, or what stands between words.
    loop {
        let trimmed = rest.trim_end_matches(|c: char| c.is_ascii() && (is_word(c as u8) || c == '.'));
        let has_word = trimmed.len() < rest.len();
        let taken = &rest[trimmed.len()..];
        rest = trimmed;
        if has_word {
            // `@p` is not a part of the opcode; a label ends with its colon.
            let is_guard = rest.trim_end_matches('!').ends_with('@');
            if is_guard {
                rest = rest.trim_end_matches('!').trim_end_matches('@');
            } else if taken.ends_with(':') && !taken.ends_with("::") && !word {
                return (found, true);
            } else {
                if !word || found != Position::Start {
                    return (Position::Operands, true);
                }
                found = Position::Opcode;
            }
        }
        let blank = rest.trim_end();
        word &= blank.len() == rest.len() && !has_word;
        rest = blank;
        match rest.as_bytes().last() {
            None => return (found, false),
            Some(b';' | b'}') => return (found, true),
            Some(b'{') => match position_of_brace(&rest[..rest.len() - 1]) {
                Position::Start => return (found, true),
                Position::Opcode | Position::Operands => return (Position::Operands, true),
            },
            Some(byte) if is_word(*byte) => word = false,
            Some(b'/') if rest.ends_with("*/") => {
                rest = rest.rfind("/*").map_or("", |start| &rest[..start]);
            }
            Some(_) => return (Position::Operands, true),
        }
    }
}

/// Whether a brace at the end of this text opens a scope.
fn position_of_brace(before: &str) -> Position {
    match before.trim_end().as_bytes().last() {
        None | Some(b';' | b'{' | b'}') => Position::Start,
        Some(b':') => Position::Start,
        Some(_) => Position::Operands,
    }
}

/// A text that starts with `%`; where the sign is not doubled, it stands for itself.
fn percent(text: &str, operands: &[Operand], is_doubled: bool) -> (usize, Sign) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    match bytes.get(1) {
        Some(b'%') if is_doubled => (2, Sign::Text("%")),
        Some(b'%') => (2, Sign::Error(PlaceholderError::Doubled)),
        Some(byte) if !is_doubled && *byte != b'=' => (1, Sign::Itself),
        Some(b'0'..=b'9') => {
            let len = 1 + digits(1);
            (len, text[1..len].parse().map_or(Sign::Unknown, Sign::Operand))
        }
        Some(b'=') => (2, Sign::Unique),
        Some(b'[') => {
            // No name is longer.
            let end = text.bytes().take(100).position(|byte| byte == b']');
            let name = end.and_then(|end| text.get(2..end));
            let named = operands.iter().position(|it| name.is_some() && it.name.as_deref() == name);
            (end.map_or(2, |end| end + 1), Sign::Error(PlaceholderError::Named(named)))
        }
        Some(b'a'..=b'z' | b'A'..=b'Z') if digits(2) > 0 => {
            let len = 2 + digits(2);
            // `%x0y` would be refused as well: the rest is text behind the operand.
            (len, Sign::Error(PlaceholderError::Modifier(text[..len].to_owned())))
        }
        _ => (1, Sign::Itself),
    }
}

/// A text that starts with `$`.
fn dollar(text: &str) -> (usize, Sign) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let operand = |range: std::ops::Range<usize>| text[range].parse().map_or(Sign::Unknown, Sign::Operand);
    match bytes.get(1) {
        Some(b'$') => (2, Sign::Text("$")),
        Some(b'0'..=b'9') => {
            let len = 1 + digits(1);
            (len, operand(1..len))
        }
        Some(b'{') => {
            let Some(end) = text.bytes().take(NEAR).position(|byte| byte == b'}') else {
                return (1, Sign::Itself);
            };
            let len = digits(2);
            let sign = match (len, &text[2 + len..end]) {
                (0, ":uid") => Sign::Unique,
                (1.., modifier) if modifier.is_empty() || modifier.starts_with(':') => operand(2..2 + len),
                _ => Sign::Unknown,
            };
            (end + 1, sign)
        }
        _ => (1, Sign::Itself),
    }
}

/// A text that starts with a brace, in a template of Rust.
fn braces(text: &str, operands: &[Operand], implicit: &mut usize) -> (usize, Sign) {
    if text.starts_with("{{") {
        return (2, Sign::Text("{"));
    }
    if text.starts_with("}}") {
        return (2, Sign::Text("}"));
    }
    let end = text.bytes().take(NEAR).position(|byte| byte == b'}').filter(|_| text.starts_with('{'));
    let Some(end) = end else { return (1, Sign::Itself) };
    let name = text[1..end].split(':').next().unwrap_or_default().trim();
    let sign = if name.is_empty() {
        *implicit += 1;
        Sign::Operand(*implicit - 1)
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        name.parse().map_or(Sign::Unknown, Sign::Operand)
    } else {
        let named = operands.iter().position(|operand| operand.name.as_deref() == Some(name));
        named.map_or(Sign::Unknown, Sign::Operand)
    };
    (end + 1, sign)
}

/// A text that starts with `{`, where `{$r0}` is an operand.
fn access(text: &str, operands: &[Operand]) -> (usize, Sign) {
    let end = text.bytes().take(NEAR).position(|byte| byte == b'}').filter(|_| text.starts_with("{$"));
    let Some(end) = end else { return (1, Sign::Itself) };
    let name = &text[2..end];
    let named = operands.iter().position(|operand| operand.name.as_deref() == Some(name));
    (end + 1, named.map_or(Sign::Unknown, Sign::Operand))
}
