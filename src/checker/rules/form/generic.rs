//! Instructions outside tcgen05 against their rows of the table of generic PTX.

use rustc_hash::FxHashMap;

use crate::host::is_unknown;
use crate::isa::generic::rows_starting_with;
use crate::isa::targets::PtxVersion;
use crate::resolve::operations::Opcode;
use crate::resolve::words::words;
use crate::rules::Checker;
use crate::source::Span;
use crate::words::similar;

/// An instruction outside tcgen05.
pub(super) struct Generic<'a> {
    /// Which of the module's instructions it is.
    pub(super) index: u32,
    /// A number that it shares with those whose opcode is written alike.
    number: u32,
    /// What its words mean.
    pub(super) opcode: &'a Opcode,
    /// Where they stand.
    pub(super) span: Span,
    /// They themselves.
    pub(super) text: &'a str,
}

/// What may have been meant by unknown opcodes.
#[derive(Default)]
pub(super) struct Meant {
    /// By the number of the opcode.
    found: FxHashMap<u32, Vec<&'static str>>,
}

impl Meant {
    /// Of no more opcodes it is looked for: it takes as long as thousands of instructions do.
    const MOST: usize = 256;

    /// What may have been meant by this one; `find` finds it when it is first asked for.
    pub(super) fn by(
        &mut self,
        generic: &Generic<'_>,
        find: impl FnOnce() -> Vec<&'static str>,
    ) -> &[&'static str] {
        if self.found.len() >= Self::MOST {
            return self.found.get(&generic.number).map_or(&[], Vec::as_slice);
        }
        self.found.entry(generic.number).or_insert_with(find)
    }
}

impl<'a> Generic<'a> {
    /// The instruction of this number, unless a part of its opcode is not known, or a later PTX may have it.
    pub(super) fn new(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let unit = checker.unit;
        let span = unit.module.instructions[index as usize].opcode;
        let text = unit.source.slice(span);
        let is_later = checker.environment.version.is_some_and(|version| version.value > PtxVersion::LATEST);
        let is_judged = !is_later && !is_unknown(text);
        is_judged.then(|| Self {
            index,
            number: unit.operations.number(index),
            opcode: unit.operations.of(index),
            span,
            text,
        })
    }

    /// The same, unless a part of the statement is not known.
    pub(super) fn judged(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let opcode = checker.unit.module.instructions[index as usize].opcode;
        if checker.unit.is_open(opcode.start) { None } else { Self::judged_by_operands(checker, index) }
    }

    /// The same, unless an operand is not known.
    pub(super) fn judged_by_operands(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let unit = checker.unit;
        let raw = &unit.module.instructions[index as usize];
        let operands = unit.module.operands(raw.operands);
        let is_open = |span: Span| is_unknown(unit.source.slice(span)) || unit.missing_end(span.start).is_some();
        if operands.iter().any(|operand| is_open(operand.span())) { None } else { Self::new(checker, index) }
    }

    /// Those whose opcode the table does not have.
    pub(super) fn unknown(checker: &Checker<'a>) -> impl Iterator<Item = Self> {
        let operations = &checker.unit.operations;
        operations.each_unknown().filter_map(|index| Self::new(checker, index))
    }

    /// The place of one of its words in the module.
    pub(super) fn place(&self, word: Span) -> Span {
        Span::new(self.span.start + word.start, self.span.start + word.end)
    }

    /// What it is called: that name of its row that is written.
    pub(super) fn name(&self) -> &'static str {
        let names = self.opcode.row.map_or(&[][..], |row| row.names);
        let written =
            |name: &&&str| name.split('.').eq(words(self.text).map(|it| it.0).take(name.split('.').count()));
        names.iter().find(written).or(names.first()).copied().unwrap_or_default()
    }

    /// Where its name ends in the module.
    pub(super) fn end_of_name(&self) -> u32 {
        let named = self.name().split('.').count();
        let last = words(self.text).take(named).last();
        self.span.start + last.map_or(0, |(_, span)| span.end)
    }

    /// Words that stand where `word` does in an opcode that the table has, or has better, and look like it; those
    /// that make it known before others.
    pub(super) fn meant(&self, word: Span, looks: &str) -> Vec<&'static str> {
        let rank = |opcode: &Opcode| opcode.unknown.len() + usize::from(opcode.is_incomplete);
        let first = self.text.split('.').next().unwrap_or_default().trim_ascii();
        let rows = rows_starting_with(first);
        let names = rows.iter().flat_map(|(name, _)| name.split('.').skip(1));
        let modifiers = rows.iter().flat_map(|(_, row)| row.modifiers).flat_map(|group| group.words);
        let spelled = modifiers.filter_map(|modifier| modifier.fixed_spelling());
        let (start, end) = (word.start as usize, word.end as usize);
        let with =
            |choice: &str| Opcode::new(&format!("{}.{choice}{}", &self.text[..start], &self.text[end..]));
        let mut meant: Vec<(&'static str, bool)> = similar(looks, names.chain(spelled))
            .into_iter()
            .map(|choice| (choice, with(choice)))
            .filter(|(_, opcode)| opcode.row.is_some() && rank(opcode) < rank(self.opcode))
            .map(|(choice, opcode)| (choice, opcode.is_known()))
            .collect();
        if meant.iter().any(|(_, is_known)| *is_known) {
            meant.retain(|(_, is_known)| *is_known);
        }
        meant.into_iter().map(|(choice, _)| choice).collect()
    }
}
