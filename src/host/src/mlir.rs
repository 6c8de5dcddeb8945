//! Assembly in MLIR.
//!
//! ```text
//! %r = llvm.inline_asm has_side_effects asm_dialect = att "add.s32 $0, $1, 1;", "=r,r" %a : (i32) -> i32
//! %r = "llvm.inline_asm"(%a) <{asm_string = "add.s32 $0, $1, 1;", constraints = "=r,r"}> : (i32) -> i32
//! %r = tt.elementwise_inline_asm "..." {constraints = "=r,r", packed_element = 1 : i32, pure = true} %x : ...
//! %r = nvvm.inline_ptx "mov.b32 {$w0}, {$r0};" ro(%a : i32) -> i32
//! ```
//!
//! Only strings, comments and what stands directly around them is looked at.

use std::borrow::Cow;

use super::constraints;
use super::template::{Backslash, Escapes, Placeholders};
use super::{Constraint, Found, Language, MARK, Machine, Operand, Piece, Statement};
use ptx_text::source::{Source, Span};
use ptx_text::types::Type;

/// Words of which every file with assembly has one.
pub(super) const WORDS: [&str; 2] = ["inline_asm", "inline_ptx"];

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let mut found = Found::default();
    let mut at = 0;
    // Those since the last string.
    let mut comments = Vec::new();
    // Where the last statement ends.
    let mut end = 0;
    while let Some(next) = next(text, at) {
        found.steps += 1;
        match next {
            Next::Comment(comment) => {
                at = comment.end as usize;
                comments.push(comment);
                if memchr::memmem::find(text[comment.range()].as_bytes(), MARK.as_bytes()).is_some() {
                    found.comments.push(comment);
                }
            }
            Next::String(inside) => {
                at = inside.end as usize + 1;
                let head = if inside.start < end { None } else { head(text, inside, &comments) };
                comments.clear();
                if let Some(statement) = head.and_then(|head| statement(source, &head, inside)) {
                    end = statement.span.end;
                    found.statements.push(statement);
                }
            }
        }
    }
    found
}

/// What is not code.
enum Next {
    Comment(Span),
    /// The inside of a string.
    String(Span),
}

/// The next string or comment.
fn next(text: &str, from: usize) -> Option<Next> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += memchr::memchr2(b'"', b'/', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(Next::String(string(bytes, at)));
        }
        if bytes.get(at + 1) == Some(&b'/') {
            let len = memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
            let len = text[at..at + len].trim_ascii_end().len();
            return Some(Next::Comment(Span::new(at as u32, (at + len) as u32)));
        }
        at += 1;
    }
}

/// The inside of a string whose quote stands at `start`. What does not end on its line ends with it.
fn string(bytes: &[u8], start: usize) -> Span {
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'\\', b'\n', rest)) {
        at += found;
        if bytes[at] != b'\\' {
            return Span::new(start as u32 + 1, at as u32);
        }
        at += 2;
    }
    Span::new(start as u32 + 1, bytes.len() as u32)
}

/// An operation that takes assembly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// `llvm.inline_asm`.
    Llvm,
    /// The same in the form that all operations have.
    Generic,
    /// Triton's.
    Elementwise,
    /// `nvvm.inline_ptx`.
    Ptx,
}

/// What stands before a template.
struct Head {
    operation: Operation,
    keyword: Span,
    is_volatile: bool,
}

/// What stands in front of a place, `most` bytes of it that are no comments, with blanks in the place of those.
fn code_before<'t>(text: &'t str, end: usize, most: usize, comments: &[Span]) -> Cow<'t, str> {
    let skipped: usize = comments.iter().map(|comment| comment.len() as usize).sum();
    let mut from = end.saturating_sub(most + skipped);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    if comments.is_empty() {
        return Cow::Borrowed(&text[from..end]);
    }
    let mut code = text.as_bytes()[from..end].to_vec();
    for comment in comments {
        let at = |place: u32| (place as usize).max(from) - from;
        code[at(comment.start)..at(comment.end)].fill(b' ');
    }
    Cow::Owned(String::from_utf8(code).unwrap_or_default())
}

/// What follows blanks and comments.
fn behind_blanks(text: &str) -> &str {
    let mut rest = text.trim_ascii_start();
    while rest.starts_with("//") {
        let len = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        rest = rest[len..].trim_ascii_start();
    }
    rest
}

/// The operation that has a string for its template, or for its name; the comments since the string before it
/// say nothing.
fn head(text: &str, string: Span, comments: &[Span]) -> Option<Head> {
    /// No operation has more before its template.
    const MOST: usize = 256;
    if &text[string.range()] == "llvm.inline_asm" {
        return Some(Head { operation: Operation::Generic, keyword: string, is_volatile: false });
    }
    let quote = string.start as usize - 1;
    let before = code_before(text, quote, MOST, comments);
    let from = quote - before.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "_.=<>#[]".contains(c);
    let start = before
        .rfind(|c: char| !is_part(c))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let words = &before[start..];
    let names = [
        ("llvm.inline_asm", Operation::Llvm),
        ("tt.elementwise_inline_asm", Operation::Elementwise),
        ("nvvm.inline_ptx", Operation::Ptx),
    ];
    let (at, name, operation) = names
        .into_iter()
        .filter_map(|(name, it)| Some((words.rfind(name)?, name, it)))
        .max_by_key(|it| it.0)?;
    let between = &words[at + name.len()..];
    // Between the name and the template stand attributes only.
    let is_known = between.split_ascii_whitespace().all(|word| {
        let names = [
            "has_side_effects",
            "is_align_stack",
            "asm_dialect",
            "tail_call_kind",
            "operand_attrs",
            "att",
            "[]",
        ];
        names.contains(&word) || word.starts_with(['<', '='])
    });
    if !is_known || between.contains("intel") {
        return None;
    }
    let at = (from + start + at) as u32;
    let keyword = Span::new(at, at + name.len() as u32);
    Some(Head { operation, keyword, is_volatile: between.contains("has_side_effects") })
}

fn statement(source: &Source, head: &Head, first: Span) -> Option<Statement> {
    let text = source.text();
    // A literal may end with the file.
    let behind = text.len().min(first.end as usize + 1);
    let mut statement = Statement {
        span: head.keyword.to(Span::at(behind as u32)),
        keyword: head.keyword,
        language: Language::Mlir,
        placeholders: Placeholders::Dollar,
        template: vec![piece(first)],
        operands: Vec::new(),
        is_volatile: head.is_volatile,
        clobbers_memory: false,
        is_convergent: None,
        volatile_keyword: (head.operation == Operation::Llvm).then_some("has_side_effects"),
        memory_clobber: None,
        machine: Machine::Gpu,
        is_in_code: true,
    };
    let constraints = match head.operation {
        Operation::Llvm => {
            let comma = behind_blanks(behind_blanks(text.get(behind..)?).strip_prefix(',')?);
            let quote = comma.starts_with('"').then_some(text.len() - comma.len())?;
            Some(string(text.as_bytes(), quote))
        }
        Operation::Generic => {
            // Its operands, then its properties.
            let operands = text.get(behind..)?.strip_prefix('(')?;
            let (_, rest) = operands.split_at(operands.find([')', '"', '\n'])?);
            let dictionary = Dictionary::behind(text, text.len() - rest.strip_prefix(')')?.len())?;
            statement.template = vec![piece(dictionary.asm_string?)];
            statement.is_volatile = dictionary.has_side_effects;
            statement.span.end = dictionary.end;
            dictionary.constraints
        }
        Operation::Elementwise => {
            let dictionary = Dictionary::behind(text, behind)?;
            statement.is_volatile = !dictionary.is_pure;
            statement.span.end = dictionary.end;
            dictionary.constraints
        }
        Operation::Ptx => {
            statement.machine = Machine::Ptx;
            // It has every effect, whatever it does.
            statement.is_volatile = true;
            statement.clobbers_memory = true;
            (statement.operands, statement.span.end) = accessed(text, behind);
            if constraints::has_access(source, &statement.template) {
                statement.placeholders = Placeholders::Access;
            } else {
                // Which number is which the compiler decides.
                statement.operands = constraints::unknown(source, &statement.template, head.keyword);
            }
            return Some(statement);
        }
    };
    let constraints = constraints?;
    statement.span.end = statement.span.end.max(constraints.end + 1).min(text.len() as u32);
    let found = constraints::read(source, &[piece(constraints)])?;
    statement.machine = found.machine(Machine::Gpu);
    statement.operands = found.operands;
    if head.operation == Operation::Elementwise {
        constraints::needs_outputs(&mut statement.operands);
        // Elements come in packs, whether all are wanted or not.
        statement.operands.iter_mut().for_each(|operand| operand.is_tied = true);
    }
    statement.clobbers_memory = found.clobbers_memory;
    statement.memory_clobber = found.memory_clobber;
    Some(statement)
}

fn piece(span: Span) -> Piece {
    Piece::Text { span, escapes: Escapes::of(Backslash::Mlir) }
}

/// What is of interest in `{name = value, ...}`.
#[derive(Default)]
struct Dictionary {
    asm_string: Option<Span>,
    constraints: Option<Span>,
    has_side_effects: bool,
    is_pure: bool,
    end: u32,
}

impl Dictionary {
    /// The one that starts at a place, but for blanks and comments.
    fn behind(text: &str, at: usize) -> Option<Self> {
        let mut found = Self::default();
        let bytes = text.as_bytes();
        let rest = behind_blanks(text.get(at..)?);
        let rest = rest.strip_prefix('<').unwrap_or(rest).strip_prefix('{')?;
        let mut at = text.len() - rest.len();
        let mut name = "";
        // What values have brackets of their own.
        let mut depth = 0_usize;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let inside = string(bytes, at - 1);
                    match (name, depth) {
                        // Another operation.
                        _ if head(text, inside, &[]).is_some() => return None,
                        ("asm_string", 0) => found.asm_string = Some(inside),
                        ("constraints", 0) => found.constraints = Some(inside),
                        _ => {}
                    }
                    at = inside.end as usize + 1;
                }
                b'/' if bytes.get(at) == Some(&b'/') => {
                    at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                }
                b',' if depth == 0 => name = "",
                b'}' if depth == 0 => {
                    found.end = at as u32;
                    return Some(found);
                }
                b'{' | b'[' | b'(' | b'<' => depth += 1,
                // That of `->` closes nothing.
                b'>' if bytes[at - 2] == b'-' => {}
                b'}' | b']' | b')' | b'>' => depth = depth.saturating_sub(1),
                _ if depth == 0 && byte.is_ascii_alphabetic() => {
                    let rest = &text[at - 1..];
                    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
                    let len = rest.bytes().take_while(is_word).count();
                    match (name, &rest[..len]) {
                        ("", word) => {
                            name = word;
                            found.has_side_effects |= word == "has_side_effects";
                        }
                        ("pure", "true") => found.is_pure = true,
                        _ => {}
                    }
                    at += len - 1;
                }
                _ => {}
            }
        }
        None
    }
}

/// The operands of `nvvm.inline_ptx`, of which the template ends before `at`, and where they end.
fn accessed(text: &str, at: usize) -> (Vec<Operand>, u32) {
    let line = text.get(at..).unwrap_or_default();
    let line = &line[..memchr::memchr3(b'\n', b'"', b'/', line.as_bytes()).unwrap_or(line.len())];
    let mut operands = Vec::new();
    let mut types = |class: &str, list: &str, start: usize| {
        let mut from = start;
        for (index, word) in list.split(',').enumerate() {
            let blanks = word.len() - word.trim_ascii_start().len();
            let ty = word.trim_ascii();
            let span = Span::new((from + blanks) as u32, (from + blanks + ty.len()) as u32);
            from += word.len() + 1;
            let constraint = register(ty).map_or(Constraint::Other, Constraint::Register);
            operands.push(Operand {
                name: Some(format!("{class}{index}")),
                is_tied: class == "rw",
                ..Operand::new(span, constraint, class != "r")
            });
        }
    };
    let mut end = 0;
    for (class, opening) in [("r", "ro"), ("rw", "rw")] {
        let Some(open) = line.find(opening) else { continue };
        if !line[open + opening.len()..].trim_ascii_start().starts_with('(') {
            continue;
        }
        let Some(close) = line[open..].find(')').map(|len| open + len) else { continue };
        end = end.max(close + 1);
        if let Some(colon) = line[open..close].find(':').map(|len| open + len + 1) {
            types(class, &line[colon..close], at + colon);
        }
    }
    if let Some(arrow) = line.find("->") {
        let list = line[arrow + 2..].trim_ascii();
        let start = at + line.len() - line[arrow + 2..].trim_ascii_start().len();
        let list = list.trim_start_matches('(').trim_end_matches(')');
        types("w", list, start + usize::from(line[arrow + 2..].trim_ascii_start().starts_with('(')));
        end = line.trim_ascii_end().len();
    }
    (operands, (at + end) as u32)
}

/// The register that a value of a type is in.
fn register(ty: &str) -> Option<Type> {
    Some(match ty {
        "i1" => Type::Pred,
        "i16" | "f16" | "bf16" => Type::B16,
        "i32" | "f32" => Type::B32,
        "i64" | "f64" | "!llvm.ptr" | "!llvm.ptr<1>" => Type::B64,
        _ => return None,
    })
}
