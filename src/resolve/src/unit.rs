//! One text with everything that is known of it before its instructions are decoded.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::launch_bounds::{AllBounds, LaunchBounds};
use super::misfits::Misplaced;
use super::operations::Operations;
use super::symbols::{Symbol, Symbols};
use crate::host::{Binding, Fragment, Holes, Outside, fragment_at};
use crate::isa::generic;
use crate::isa::vocabulary::Qualifier;
use crate::source::{Source, Span};
use crate::syntax::ast::{Declaration, Declarator, Function, Module, Statement, StatementKind};
use crate::syntax::lexer::lex;
use crate::syntax::parser::{self, SyntaxError};
use crate::syntax::threads;
use crate::words::demangled;

/// A statement of which that much is known is judged by it.
const NEAR: usize = 4096;

/// What starts a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// A guard, a label, a directive, an opcode with a dot: nothing else looks so.
    Certain,
    /// An opcode that could be a name as well: `ret`.
    Name,
    /// A brace with statements in it.
    Block,
}

impl Start {
    /// Directives that start a statement. Followed by a dot, some are words of an opcode.
    const DIRECTIVES: &'static [&'static str] = &[
        ".reg",
        ".shared",
        ".local",
        ".param",
        ".const",
        ".global",
        ".loc",
        ".pragma",
        ".branchtargets",
        ".calltargets",
        ".visible",
        ".extern",
        ".weak",
        ".entry",
        ".func",
        ".file",
        ".section",
    ];

    /// What a text starts with.
    fn of(text: &str) -> Option<Self> {
        /// Nobody writes a longer word.
        const LONG: usize = 256;
        if text.starts_with('@') {
            return Some(Self::Certain);
        }
        let near = &text.as_bytes()[..text.len().min(NEAR)];
        if text.starts_with('{') {
            let is_block = memchr::memchr2(b';', b'}', near).is_some_and(|at| near[at] == b';');
            return is_block.then_some(Self::Block);
        }
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:$".contains(byte);
        let len = near.iter().take(LONG).take_while(|byte| is_of_word(byte)).count();
        let (word, behind) = (&text[..len], &text[len..]);
        let is_name = |name: &str| {
            name.starts_with(|first: char| !first.is_ascii_digit()) && !name.contains(['.', ':'])
        };
        let is_label = if let Some((name, rest)) = word.split_once(':') {
            is_name(name) && !rest.starts_with(':')
        } else {
            let behind = behind.trim_start_matches([' ', '\t']);
            is_name(word) && behind.starts_with(':') && !behind.starts_with("::")
        };
        if is_label || Self::DIRECTIVES.contains(&word) {
            return Some(Self::Certain);
        }
        let has_dot = word.split_once('.').is_some_and(|(name, last)| {
            // `v.x` is an element of a vector.
            is_name(name) && !matches!(last, "x" | "y" | "z" | "w" | "r" | "g" | "b" | "a")
        });
        match (has_dot, generic::is_opcode(word)) {
            (true, _) => Some(Self::Certain),
            (false, true) => Some(Self::Name),
            (false, false) => None,
        }
    }
}

/// A module, parsed and resolved. Everything behind this stage reads it, and nothing changes it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unit {
    /// The text.
    pub source: Source,
    /// Its syntax tree.
    pub module: Module,
    /// What was wrong with the text.
    pub syntax_errors: Vec<SyntaxError>,
    /// What its names mean.
    pub symbols: Symbols,
    /// What its opcodes mean.
    pub operations: Operations,
    bounds: AllBounds,
    /// What is wrong with operands, once somebody asks.
    pub(super) misfits: OnceLock<Vec<Misplaced>>,
    /// The statements of a host file that it was taken from; a module has none.
    pub fragments: Vec<Fragment>,
    /// What the host file decides of the text; nothing of a module.
    pub holes: Holes,
    /// What is around them.
    outside: Option<Outside>,
    /// Whether it is a module, and not fragments of one.
    pub is_module: bool,
}

impl Unit {
    /// Parses `source` and resolves its names.
    pub fn new(source: &Source) -> Self {
        let parsed = parser::parse_parallel(source, threads::count());
        let module = &parsed.module;
        let (symbols, (operations, bounds)) = threads::join(
            || Symbols::new(source, module),
            || (Operations::new(source, module), AllBounds::new(source, module)),
        );
        Self {
            source: source.clone(),
            module: parsed.module,
            syntax_errors: parsed.errors,
            symbols,
            operations,
            bounds,
            misfits: OnceLock::new(),
            fragments: Vec::new(),
            holes: Holes::default(),
            outside: None,
            is_module: true,
        }
    }

    /// Parses what was taken from a host file.
    pub fn of_fragments(ptx: &Source, fragments: Vec<Fragment>, holes: Holes, outside: Outside) -> Self {
        Self { fragments, holes, outside: Some(outside), is_module: false, ..Self::new(ptx) }
    }

    /// Whether a name that the text does not declare may be one of a variable that the code around it declares.
    pub fn may_be_declared_outside(&self, name: &str) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.may_declare(name))
    }

    /// What a function of the module says about how it is launched.
    pub fn launch_bounds(&self, function: &Function) -> &LaunchBounds {
        self.bounds.of(function)
    }

    /// How a variable is declared, and which of the declarators is its own.
    pub fn declaration(&self, variable: &Symbol) -> Option<(&Declaration, &Declarator)> {
        // Both are in the order of the text, and a module may have very many.
        let Module { declarations, declarators, .. } = &self.module;
        let at = declarators.binary_search_by_key(&variable.span.start, |it| it.name.start).ok()?;
        let behind = declarations.partition_point(|it| it.declarators.start as usize <= at);
        let declaration = declarations.get(behind.checked_sub(1)?)?;
        declaration.declarators.range().contains(&at).then(|| (declaration, &declarators[at]))
    }

    /// The fragment that a place stands in.
    pub fn fragment(&self, offset: u32) -> Option<&Fragment> {
        fragment_at(&self.fragments, offset)
    }

    /// What people write for the name that is all of `span`, or all in its brackets; none for an operand whose name is
    /// not known here.
    pub fn written(&self, span: Span, name: &str) -> Option<String> {
        let text = self.source.slice(span);
        let start = span.start + text.find(name).unwrap_or_default() as u32;
        match self.holes.operand(Span::new(start, start + name.len() as u32)) {
            Some(operand) => self.fragment(start)?.written(operand),
            None => Some(name.to_owned()),
        }
    }

    /// The operand of a fragment that is declared at `span`, if that is where one is.
    pub fn binding(&self, span: Span) -> Option<&Binding> {
        let fragment = self.fragment(span.start)?;
        let at = fragment.operands.binary_search_by_key(&span.start, |operand| operand.span.start).ok()?;
        fragment.operands.get(at)
    }

    /// Where a `;` is missing if the statement that starts a line at a place stands in the one before it: the end of
    /// that one. None if nothing starts here, or nothing is open.
    pub fn missing_end(&self, offset: u32) -> Option<u32> {
        Start::of(self.source.text().get(offset as usize..)?)?;
        let (end, has_newline) = self.open_before(offset)?;
        has_newline.then_some(end)
    }

    /// The same for a statement that may stand in the line of the one before it, and whether it can be nothing else.
    pub fn missing_end_in_line(&self, offset: u32) -> Option<(u32, bool)> {
        let start = Start::of(self.source.text().get(offset as usize..)?)?;
        let (end, has_newline) = self.open_before(offset)?;
        match start {
            Start::Certain => Some((end, true)),
            Start::Name => Some((end, has_newline)),
            // A vector follows its operand in the same line.
            Start::Block => has_newline.then_some((end, true)),
        }
    }

    /// Where two literals of a host file meet between the start of a statement and a place, so that the next statement
    /// begins within a word: the first begins there.
    pub fn seam_before(&self, start: u32, end: u32) -> Option<u32> {
        let seams = &self.fragment(start)?.seams;
        let first = seams.partition_point(|seam| *seam <= start);
        let starts = |seam: &u32| {
            let text = self.source.text().get(*seam as usize..);
            text.and_then(Start::of) == Some(Start::Certain)
        };
        seams[first..].iter().copied().take_while(|seam| *seam < end).find(starts)
    }

    /// Where the text ends before a place, without comments, and whether that is in a line above; none where nothing
    /// can be open there.
    fn open_before(&self, offset: u32) -> Option<(u32, bool)> {
        /// Nobody writes more between two statements.
        const FAR: usize = 1024;
        let text = self.source.text();
        let mut end = offset as usize;
        let mut has_newline = false;
        loop {
            let from = (offset as usize).saturating_sub(FAR);
            let before = text.get(from..end)?;
            let trimmed = before.trim_end();
            has_newline |= before[trimmed.len()..].contains('\n');
            end = from + trimmed.len();
            let line = trimmed.rfind('\n').map_or(0, |at| at + 1);
            match trimmed[line..].find("//") {
                Some(comment) => end = from + line + comment,
                None if trimmed.is_empty() || trimmed.ends_with("*/") => return None,
                None => break,
            }
        }
        let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
        // They end with their line.
        let ends_itself = [".loc", ".file"].iter().any(|it| text[line..end].trim_start().starts_with(it));
        let is_open = !text[..end].ends_with([';', '{', '}', ':', ',', '(', '[', '=']) && !ends_itself;
        is_open.then_some((end as u32, has_newline))
    }

    /// Where else a `;` is missing in what the parser passed over behind an error: it goes on at the next `;`.
    pub fn missing_ends_passed_over(&self, from: u32) -> impl Iterator<Item = u32> {
        let statements = &self.module.statements;
        let behind = statements.partition_point(|statement| statement.span.start <= from);
        let statement = behind.checked_sub(1).map(|at| statements[at]);
        let end = statement.filter(|it| it.kind() == StatementKind::Broken).map_or(from, |it| it.span.end);
        let text = self.source.slice(Span::new(from, end.max(from)));
        let mut last = 0;
        let starts_line = move |range: &Range<usize>| {
            text[std::mem::replace(&mut last, range.end)..range.start].contains('\n')
        };
        lex(text)
            .map(|(_, range)| range)
            .filter(starts_line)
            .filter_map(move |range| self.missing_end(from + range.start as u32))
    }

    /// Where the last token of the statement before a place ends: what follows it there is comments.
    pub fn end_of_tokens(&self, at: u32) -> u32 {
        let statements = &self.module.statements;
        let behind = statements.partition_point(|statement| statement.span.start < at);
        let start = behind.checked_sub(1).map_or(0, |at| statements[at].span.start);
        let text = self.source.slice(Span::new(start, at));
        lex(text).last().map_or(at, |(_, range)| start + range.end as u32)
    }

    /// Where the line starts that a place stands in, if one word is before it: the operation of a statement may
    /// stand where an operand can, and is read as one where the `;` before it is missing.
    pub fn first_word(&self, offset: u32) -> Option<u32> {
        let before = self.source.text().get(..offset as usize)?;
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let mut words = line.split_whitespace();
        let is_one = words.next().is_some() && words.next().is_none();
        is_one.then(|| offset - line.trim_start().len() as u32)
    }

    /// The statements that start within `span`.
    pub fn statements_in(&self, span: Span) -> &[Statement] {
        let statements = &self.module.statements;
        let start = statements.partition_point(|statement| statement.span.start < span.start);
        let end = statements.partition_point(|statement| statement.span.start < span.end);
        &statements[start..end]
    }

    /// Whether a part of the statement at a place is not known, so that nothing can be said about the
    /// whole.
    pub fn is_open(&self, offset: u32) -> bool {
        if self.is_module {
            return false;
        }
        let bytes = self.source.text().as_bytes();
        let behind = &bytes[bytes.len().min(offset as usize)..bytes.len().min(offset as usize + NEAR)];
        let end = offset as usize + memchr::memchr(b';', behind).unwrap_or(behind.len());
        self.has_text(self.end_before(offset), end as u32)
    }

    /// Whether all that is not known of the statement at a place is which qualifiers its opcode has, so that
    /// its operands can be judged by those that it may have.
    pub fn has_open_qualifiers(&self, offset: u32) -> bool {
        let statements = &self.module.statements;
        let behind = statements.partition_point(|statement| statement.span.start <= offset);
        let Some(statement) = behind.checked_sub(1).map(|at| statements[at]) else { return false };
        let StatementKind::Instruction(index) = statement.kind() else { return false };
        let Span { start, end } = self.module.instructions[index as usize].opcode;
        if self.is_module || statement.span.len() as usize > NEAR {
            return false;
        }
        // What stands behind a whole word at the end of an opcode may be anything, operands as well.
        let opcode = self.source.slice(Span::new(start, end));
        let last = Span::new(start + opcode.rfind('.').map_or(0, |dot| dot as u32 + 1), end);
        let known = Span::new(last.start, self.holes.end_of_known(last));
        let is_bounded = known == last || Qualifier::parse(self.source.slice(known)).is_none();
        is_bounded
            && self.has_text(start, end)
            && !self.has_text(self.end_before(start), start)
            && !self.has_text(end, statement.span.end)
    }

    /// Whether the words at a place certainly are those of an opcode, and nothing that is not known can mend them.
    pub fn has_whole_opcode(&self, words: Span) -> bool {
        let statements = &self.module.statements;
        let behind = statements.partition_point(|statement| statement.span.start <= words.start);
        let Some(statement) = behind.checked_sub(1).map(|at| statements[at]) else { return false };
        let StatementKind::Instruction(index) = statement.kind() else { return false };
        let Span { start, end } = self.module.instructions[index as usize].opcode;
        // Another word may follow behind blanks.
        let text = self.source.text();
        let behind = text[end as usize..].trim_ascii_start();
        let goes_on = self.holes.is_text_at((text.len() - behind.len()) as u32);
        let is_ended = !goes_on && !behind.starts_with('/');
        let is_sure = || {
            self.has_text(start, end)
                || self.source.slice(words).split('.').any(|word| !word.is_empty() && !generic::is_word(word))
        };
        !self.has_text(self.end_before(start), start) && (is_ended || is_sure())
    }

    /// Where the statement before a place ends.
    fn end_before(&self, offset: u32) -> u32 {
        let bytes = self.source.text().as_bytes();
        let at = bytes.len().min(offset as usize);
        let before = &bytes[at.saturating_sub(NEAR)..at];
        (at - before.len() + memchr::memrchr(b';', before).map_or(0, |semicolon| semicolon + 1)) as u32
    }

    /// Whether a part of the text can be anything.
    fn has_text(&self, start: u32, end: u32) -> bool {
        self.holes.has_text(Span::new(start, end))
    }

    /// A name of the module as its source has it, for people.
    pub fn readable(&self, name: Span) -> Cow<'_, str> {
        demangled(self.source.slice(name))
    }

    /// The opcodes that are not in the table, as they are first written.
    pub fn unknown_opcodes(&self) -> Vec<UnknownOpcode> {
        let opcode = |first: u32| self.module.instructions[first as usize].opcode;
        let unknown = |(first, count): (u32, usize)| UnknownOpcode {
            text: self.source.slice(opcode(first)).to_owned(),
            count,
            is_operation: self.operations.of(first).row.is_none(),
        };
        let all = self.operations.unknown().into_iter();
        all.filter(|(first, _)| !self.holes.has_text(opcode(*first))).map(unknown).collect()
    }

    /// How much work it was to make it: what was read, in the units of the tree.
    pub fn steps(&self) -> u64 {
        let Module { statements, operands, declarators, .. } = &self.module;
        (statements.len() + operands.len() + declarators.len() + self.source.text().len() / 8) as u64
    }
}

/// An opcode that the table of instructions does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownOpcode {
    /// As it is written.
    pub text: String,
    /// Number of instructions.
    pub count: usize,
    /// Whether it is the operation that is unknown, not only one of its modifiers.
    pub is_operation: bool,
}
