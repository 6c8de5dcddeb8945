//! Assembly in LLVM IR.
//!
//! ```text
//! %r = call i32 asm sideeffect "mov.u32 $0, %laneid;", "=r,~{memory}"() #3
//! attributes #3 = { convergent nounwind }
//! ```
//!
//! Only strings, comments and what stands directly around them is looked at.

use rustc_hash::FxHashSet;

use super::constraints;
use super::template::{Backslash, Escapes, Placeholders};
use super::{Constraint, Found, Language, MARK, Machine, Piece, Statement};
use ptx_text::source::{Source, Span};

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let bytes = text.as_bytes();
    let mut found = Found::default();
    let mut convergent = None;
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'"', b';', &bytes[at..]) {
        found.steps += 1;
        let start = at + next;
        if bytes[start] == b';' {
            let len = memchr::memchr(b'\n', &bytes[start..]).unwrap_or(bytes.len() - start);
            let comment = text[start..start + len].trim_end();
            if memchr::memmem::find(comment.as_bytes(), MARK.as_bytes()).is_some() {
                found.comments.push(Span::new(start as u32, (start + comment.len()) as u32));
            }
            at = start + len;
            continue;
        }
        let Some(template) = string(bytes, start) else { break };
        at = template.end as usize + 1;
        let Some(head) = head(&text[..start]) else { continue };
        let convergent = convergent.get_or_insert_with(|| convergent_groups(text));
        if let Some(statement) = statement(source, &head, template, convergent) {
            at = statement.span.end as usize;
            found.statements.push(statement);
        }
    }
    found
}

/// The inside of a string whose quote stands at `start`. It has no quotes: they are `\22`.
fn string(bytes: &[u8], start: usize) -> Option<Span> {
    let len = memchr::memchr(b'"', &bytes[start + 1..])?;
    Some(Span::new(start as u32 + 1, (start + 1 + len) as u32))
}

/// What stands before a template.
struct Head {
    keyword: Span,
    is_volatile: bool,
}

/// The words between `asm` and a template that follows this text; none if there is no `asm`.
fn head(before: &str) -> Option<Head> {
    /// There are four words at most.
    const MOST: usize = 5;
    let mut rest = before;
    let mut is_volatile = false;
    for _ in 0..MOST {
        let trimmed = rest.trim_ascii_end();
        let word = trimmed.bytes().rev().take_while(u8::is_ascii_lowercase).count();
        let start = trimmed.len() - word;
        match &trimmed[start..] {
            "sideeffect" => is_volatile = true,
            "alignstack" | "unwind" => {}
            "asm" => {
                let is_whole = trimmed[..start].ends_with(|c: char| c.is_ascii_whitespace());
                let keyword = Span::new(start as u32, trimmed.len() as u32);
                // That of a module has no operands.
                let is_call = !trimmed[..start].trim_ascii_end().ends_with("module");
                return (is_whole && is_call).then_some(Head { keyword, is_volatile });
            }
            // Intel's syntax is that of another machine.
            _ => return None,
        }
        rest = &trimmed[..start];
    }
    None
}

fn statement(
    source: &Source,
    head: &Head,
    template: Span,
    convergent: &FxHashSet<&str>,
) -> Option<Statement> {
    let text = source.text();
    let behind = text.get(template.end as usize + 1..)?;
    let comma = behind.trim_ascii_start().strip_prefix(',')?;
    let quote = comma.trim_ascii_start();
    if !quote.starts_with('"') {
        return None;
    }
    let constraints = string(text.as_bytes(), text.len() - quote.len())?;
    let behind = text.get(constraints.end as usize + 1..)?.trim_ascii_start();
    let open = text.len() - behind.len();
    let (arguments, end) = arguments(text, open)?;
    let escapes = Escapes::of(Backslash::Llvm);
    let piece = |span| Piece::Text { span, escapes };
    let mut found = constraints::read(source, &[piece(constraints)])?;
    let machine = found.machine(Machine::Gpu);
    let mut arguments = arguments.into_iter();
    for operand in &mut found.operands {
        let constraint = &text[operand.span.range()];
        // What is written directly is not an argument.
        if operand.is_output && !constraint.starts_with("=*") {
            continue;
        }
        let Some(argument) = arguments.next() else { break };
        let number = || text[argument.range()].rsplit_once(' ')?.1.parse::<i128>().ok();
        if matches!(operand.constraint, Constraint::Register(_)) && !operand.is_output {
            let is_integer = text[argument.range()].starts_with('i');
            operand.known = number().filter(|_| is_integer);
        }
        if operand.constraint == Constraint::Immediate(None)
            && let Some((_, number)) = text[argument.range()].rsplit_once(' ')
            && let Ok(value) = number.parse::<i128>()
        {
            operand.constraint = Constraint::Immediate(Some(value));
            operand.value = (Span::new(argument.end - number.len() as u32, argument.end), true);
        }
    }
    Some(Statement {
        span: head.keyword.to(Span::at(end)),
        keyword: head.keyword,
        language: Language::Llvm,
        placeholders: Placeholders::Dollar,
        template: vec![piece(template)],
        operands: found.operands,
        is_volatile: head.is_volatile,
        clobbers_memory: found.clobbers_memory,
        is_convergent: Some(is_convergent(&text[end as usize..], convergent)),
        volatile_keyword: Some("sideeffect"),
        memory_clobber: found.memory_clobber,
        machine,
        is_in_code: true,
    })
}

/// The arguments of a call, from their parenthesis on, and where they end.
fn arguments(text: &str, open: usize) -> Option<(Vec<Span>, u32)> {
    let bytes = text.as_bytes();
    if bytes.get(open) != Some(&b'(') {
        return None;
    }
    let mut arguments = Vec::new();
    let mut depth = 0_usize;
    let mut at = open + 1;
    let mut start = at;
    let mut push = |start: usize, end: usize| {
        let inside = &text[start..end];
        let from = start + (inside.len() - inside.trim_ascii_start().len());
        let argument = inside.trim_ascii();
        if !argument.is_empty() {
            arguments.push(Span::new(from as u32, (from + argument.len()) as u32));
        }
    };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if depth == 0 => {
                push(start, at);
                return Some((arguments, at as u32 + 1));
            }
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                push(start, at);
                start = at + 1;
            }
            // A call in a call is none: the first one has no end.
            b'"' if head(&text[..at]).is_some() => return None,
            b'"' => at = string(bytes, at)?.end as usize,
            // No argument has a comment; what follows one is another line.
            b';' => return None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Whether the rest of a call, up to the end of its line, says that it is convergent.
fn is_convergent(behind: &str, groups: &FxHashSet<&str>) -> bool {
    /// No call has more attributes.
    const MOST: usize = 512;
    let bytes = behind.as_bytes();
    let is_end = |byte: &u8| matches!(byte, b'\n' | b';' | b'!');
    let end = bytes.iter().take(MOST).position(is_end).unwrap_or(bytes.len().min(MOST));
    let line = behind.get(..end).unwrap_or_default();
    line.split([' ', ',', '\t', '\r']).any(|word| word == "convergent" || groups.contains(word))
}

/// The groups of attributes that have `convergent`.
fn convergent_groups(text: &str) -> FxHashSet<&str> {
    let mut groups = FxHashSet::default();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"\nattributes #") {
        let line = text[at + 1..].split('\n').next().unwrap_or_default();
        let Some((name, attributes)) = line["attributes ".len()..].split_once('=') else { continue };
        // Every second part is a string.
        let mut words = attributes.split('"').step_by(2).flat_map(str::split_ascii_whitespace);
        if words.any(|word| word == "convergent") {
            groups.insert(name.trim());
        }
    }
    groups
}
