//! Instructions outside tcgen05 against their rows of the table of generic PTX.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::isa::generic::{Constraint, Demand, Modifier, Space, Targets, rows_starting_with};
use crate::isa::targets::{PtxVersion, Target};
use crate::resolve::environment::{Declared, Environment};
use crate::resolve::opcode_words::words;
use crate::resolve::operations::Opcode;
use crate::rules::Checker;
use crate::source::Span;
use crate::words::{list_words, similar};

/// An instruction outside tcgen05.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Generic<'a> {
    /// Which of the module's instructions it is.
    pub(in crate::rules) index: u32,
    /// A number that it shares with those whose opcode is written alike.
    number: u32,
    /// What its modifiers mean.
    pub(in crate::rules) opcode: &'a Opcode,
    /// Where they are.
    pub(in crate::rules) span: Span,
    /// They themselves.
    pub(in crate::rules) text: &'a str,
    /// Whether some of them are unknown: in such an opcode, only single modifiers can be checked.
    pub(in crate::rules) is_open: bool,
}

/// What may have been meant by unknown opcodes.
#[derive(Default)]
pub(in crate::rules) struct Meant {
    /// By the number of the opcode.
    found: FxHashMap<u32, Vec<&'static str>>,
}

impl Meant {
    /// Of no more opcodes it is looked for: it takes as long as thousands of instructions do.
    const MOST: usize = 256;

    /// What may have been meant by this one; `find` finds it when it is first asked for.
    pub(in crate::rules) fn by(
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
    /// The instruction of this number, unless a later PTX may have it.
    pub(in crate::rules) fn new(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let unit = checker.unit;
        let span = unit.module.instructions[index as usize].opcode;
        let text = unit.source.slice(span);
        let is_later = checker.environment.version.is_some_and(|version| version.value > PtxVersion::LATEST);
        (!is_later).then(|| Self {
            index,
            is_open: unit.holes.has_unknown(span),
            number: unit.operations.number(index),
            opcode: unit.operations.of(index),
            span,
            text,
        })
    }

    /// The same, unless a part of the statement is not known.
    pub(in crate::rules) fn judged(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let opcode = checker.unit.module.instructions[index as usize].opcode;
        if checker.unit.is_open(opcode.start) { None } else { Self::judged_by_operands(checker, index) }
    }

    /// The same, unless an operand or a part of the opcode is unknown.
    pub(in crate::rules) fn judged_by_operands(checker: &Checker<'a>, index: u32) -> Option<Self> {
        let unit = checker.unit;
        let raw = &unit.module.instructions[index as usize];
        let operands = unit.module.operands(raw.operands);
        let is_open = |span: Span| unit.holes.has_unknown(span) || unit.missing_end(span.start).is_some();
        if operands.iter().any(|operand| is_open(operand.span())) {
            return None;
        }
        Self::new(checker, index).filter(|generic| !generic.is_open)
    }

    /// Those whose opcode the table does not have.
    pub(in crate::rules) fn unknown(checker: &Checker<'a>) -> impl Iterator<Item = Self> {
        let operations = &checker.unit.operations;
        operations.each_unknown().filter_map(|index| Self::new(checker, index))
    }

    /// The location of one of its modifiers in the module.
    pub(in crate::rules) fn place(&self, word: Span) -> Span {
        Span::new(self.span.start + word.start, self.span.start + word.end)
    }

    /// What it is called: that name of its row that is written.
    pub(in crate::rules) fn name(&self) -> &'static str {
        self.opcode.name(self.text)
    }

    /// Where its name ends in the module.
    pub(in crate::rules) fn end_of_name(&self) -> u32 {
        let named = self.name().split('.').count();
        let last = words(self.text).take(named).last();
        self.span.start + last.map_or(0, |(_, span)| span.end)
    }

    /// Words that stand where `word` does in an opcode that the table has, or has better, and look like it; those
    /// that make it known before others.
    pub(in crate::rules) fn meant(&self, word: Span, looks: &str) -> Vec<&'static str> {
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

/// What is wrong with an address of 32 bits where one has 64, and what to write. `pointer` is what holds one of 64.
pub(in crate::rules) fn narrow_address(opcode: &Opcode, name: &str, pointer: &str) -> (String, String) {
    if opcode.spaces().any(|space| space == Space::Global) {
        let message = "an address in global memory has 64 bits".to_owned();
        return (message, format!("use {pointer}"));
    }
    let takes_shared = |group: &crate::isa::generic::Group| {
        group.words.iter().any(|word| matches!(word, Modifier::Space(space) if space.is_shared()))
    };
    let help = if opcode.row.is_some_and(|row| row.modifiers.iter().any(takes_shared)) {
        format!("write `.shared` if this is an address in shared memory, or use {pointer}")
    } else {
        format!("use {pointer}")
    };
    (format!("`{name}` names no state space: a generic address has 64 bits"), help)
}

/// Some modifiers, as a choice; of many only the first.
pub(in crate::rules) fn choice_of(words: &[Modifier]) -> String {
    const MOST: usize = 6;
    let shown = words.iter().take(MOST).map(|word| format!("`.{}`", word.spelling()));
    list_words(shown.chain((words.len() > MOST).then(|| "another".to_owned())), "or")
}

/// Something of an instruction outside tcgen05 that no version or target of the module has.
pub(in crate::rules) struct Lacking<'a> {
    /// The instruction.
    pub(in crate::rules) generic: Generic<'a>,
    /// Which modifiers of it; none for the instruction as such.
    pub(in crate::rules) words: Vec<usize>,
    /// What has it.
    pub(in crate::rules) gate: &'static Constraint,
    /// The targets, none of which has it; empty if the version is too old.
    pub(in crate::rules) targets: &'a [Declared<Target>],
}

impl<'a> Lacking<'a> {
    /// What is not available, instruction by instruction.
    pub(in crate::rules) fn each(checker: &Checker<'a>) -> impl Iterator<Item = Self> {
        let Environment { version, targets, .. } = checker.environment;
        let version = version.map_or(PtxVersion::LATEST, |version| version.value);
        let is_open = move |gate: &Constraint, target: Target| gate.is_on(version, target);
        let closed = move |opcode: &Opcode| -> Vec<(&'static Constraint, &'a [Declared<Target>])> {
            let gates: SmallVec<[&'static Constraint; 4]> = opcode.gates().collect();
            let old =
                gates.iter().copied().filter(|gate| !gate.is_since(version)).map(|gate| (gate, &[][..]));
            // One target of a set has to have all of it.
            let lacks = |target: Target| gates.iter().filter(|gate| !is_open(gate, target)).count();
            let lacking = targets.iter().filter_map(|set| {
                let best = set.iter().min_by_key(|target| lacks(target.value))?;
                let first = gates.iter().copied().find(|gate| !is_open(gate, best.value))?;
                Some((first, set.as_slice()))
            });
            old.chain(lacking).collect()
        };
        let instructions = checker.unit.operations.each_with(move |opcode| !closed(opcode).is_empty());
        let judged = instructions.filter_map(|index| Generic::new(checker, index)).filter(|it| !it.is_open);
        judged.flat_map(move |generic| {
            closed(generic.opcode).into_iter().map(move |(gate, targets)| {
                let written = generic.opcode.words();
                let terms = gate.when.iter().filter(|term| !term.absent);
                let words = terms.filter_map(|term| term.find(&written)).collect();
                Self { generic, words, gate, targets }
            })
        })
    }

    /// `` `.v8` of `ld` ``
    pub(in crate::rules) fn feature(&self) -> String {
        let name = self.generic.name();
        let words = self.generic.opcode.words();
        let spelled: Vec<String> =
            self.words.iter().map(|at| format!("`.{}`", words[*at].spelling())).collect();
        if spelled.is_empty() {
            format!("`{name}`")
        } else {
            format!("{} of `{name}`", spelled.join(" with "))
        }
    }

    /// Where it is.
    pub(in crate::rules) fn span(&self) -> Span {
        let place = |at: &usize| self.generic.place(self.generic.opcode.modifiers[*at].span);
        self.words.first().map_or(self.generic.span, place)
    }

    /// A description of what has it.
    pub(in crate::rules) fn having(&self) -> String {
        match self.gate.then {
            Demand::On(Targets::From(sm)) => format!("`sm_{sm}` and later targets"),
            Demand::On(Targets::These(targets)) => {
                list_words(targets.iter().map(|target| format!("`{target}`")), "and")
            }
            Demand::Since(version) => format!("PTX ISA {version}"),
            Demand::Gone(_, sm) => format!("targets before `sm_{sm}`"),
            Demand::Needs(_) | Demand::Excludes(_) | Demand::OneOf(_) | Demand::Leads(_) => String::new(),
        }
    }
}
