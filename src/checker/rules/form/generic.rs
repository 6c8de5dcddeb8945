//! Instructions outside tcgen05 against their rows of the table of generic PTX.

use crate::isa::generic::rows_starting_with;
use crate::isa::targets::PtxVersion;
use crate::resolve::operations::Opcode;
use crate::resolve::words::words;
use crate::rules::Checker;
use crate::source::Span;
use crate::words::similar;

/// An instruction outside tcgen05.
pub(super) struct Generic<'a> {
    /// What its words mean.
    pub(super) opcode: &'a Opcode,
    /// Where they stand.
    pub(super) span: Span,
    /// They themselves.
    pub(super) text: &'a str,
}

/// Another opcode that may have been meant.
pub(super) struct Meant {
    /// What is written in place of the word, without a dot.
    pub(super) word: &'static str,
    /// Whether the table has all of the opcode then.
    pub(super) is_known: bool,
}

impl<'a> Generic<'a> {
    /// The instruction of this number, unless a part of its opcode is not known, or a later PTX may have it.
    pub(super) fn new(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let unit = checker.unit;
        let span = unit.module.instructions[index as usize].opcode;
        let text = unit.source.slice(span);
        let is_later = checker.environment.version.is_some_and(|version| version.value > PtxVersion::LATEST);
        let is_judged = !is_later && !crate::host::is_unknown(text);
        is_judged.then(|| Self { opcode: unit.operations.of(index), span, text })
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
    pub(super) fn meant(&self, word: Span, looks: &str) -> Vec<Meant> {
        let rank = |opcode: &Opcode| opcode.unknown.len() + usize::from(opcode.is_incomplete);
        let first = self.text.split('.').next().unwrap_or_default().trim_ascii();
        let rows = rows_starting_with(first);
        let names = rows.iter().flat_map(|(name, _)| name.split('.').skip(1));
        let modifiers = rows.iter().flat_map(|(_, row)| row.modifiers).flat_map(|group| group.words);
        let spelled = modifiers.filter_map(|modifier| modifier.fixed_spelling());
        let (start, end) = (word.start as usize, word.end as usize);
        let mut meant: Vec<Meant> = similar(looks, names.chain(spelled))
            .into_iter()
            .filter_map(|choice| {
                let text = format!("{}.{choice}{}", &self.text[..start], &self.text[end..]);
                let opcode = Opcode::new(&text);
                let is_better = opcode.row.is_some() && rank(&opcode) < rank(self.opcode);
                is_better.then(|| Meant { word: choice, is_known: opcode.is_known() })
            })
            .collect();
        if meant.iter().any(|meant| meant.is_known) {
            meant.retain(|meant| meant.is_known);
        }
        meant
    }
}
