//! Which bits of a register are known.
//!
//! Kernels do not compute their descriptors from nothing: a constant is moved, some bits are
//! filled in at run time, and the rest stays. So the domain is the single bit: known to be 0,
//! known to be 1, or unknown. A value is known where every definition that reaches the use agrees.
//!
//! Sound: a bit that is said to be known has that value in every run. One rule of the domain is
//! not a theorem of arithmetic but of the hardware, and lives in `descriptor_sum`: address
//! arithmetic on a shared-memory descriptor does not carry out of its low word.
//!
//! Only what tcgen05 instructions need is evaluated: the definitions that reach their operands,
//! and what those are made of.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::definitions::DefinitionId;
use super::function::Function;
use super::registers;
use super::values::{JoinId, ValueId};
pub use crate::descriptor::Known;
use crate::descriptor::known_bits::{self as bits, UNKNOWN};
use crate::isa::generic::{Arithmetic, Computation};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::source::Span;
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::literal;

mod evaluate;
mod initial;

use evaluate::is_evaluated;

/// Known bits of the registers of one function, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Constants {
    /// By definition: where its value is, or [`NO_SLOT`]; nothing where few were asked for.
    slots: Vec<u32>,
    /// The same of other values.
    others: FxHashMap<ValueId, u32>,
    values: Vec<Known>,
}

/// What an evaluation takes, in steps of the budget.
const VISIT: u64 = 4;

/// How often a join loses bits one after the other. What counts up without end loses one each time that it
/// comes round, up to the highest.
const TURNS: u32 = 8;

/// Values that are evaluated in most functions.
const MANY: usize = 64;

/// A definition that was not evaluated.
const NO_SLOT: u32 = u32::MAX;

impl Constants {
    /// Evaluates what the `uses` need: registers and the instructions that read them.
    pub fn new(function: &Function<'_>, uses: impl IntoIterator<Item = (u32, RegisterId)>) -> Self {
        Self::with_slots(vec![NO_SLOT; function.definitions.len()], function, uses)
    }

    /// The known bits of few uses, in their order.
    pub(super) fn of_uses(function: &Function<'_>, uses: &[(u32, RegisterId)]) -> Vec<Known> {
        // Mostly a constant was moved there.
        let made = |(instruction, register): &_| made_of_nothing(function, *instruction, *register);
        uses.iter().map(made).collect::<Option<_>>().unwrap_or_else(|| {
            let constants = Self::of_few(function, uses.iter().copied());
            uses.iter()
                .map(|(instruction, register)| constants.at(function, *instruction, *register))
                .collect()
        })
    }

    /// Evaluates what few uses need, in time that does not grow with the function.
    fn of_few(function: &Function<'_>, uses: impl IntoIterator<Item = (u32, RegisterId)>) -> Self {
        /// Definitions for which a list takes less than a table.
        const LIST: usize = 1024;
        let definitions = Some(function.definitions.len()).filter(|count| *count <= LIST);
        Self::with_slots(vec![NO_SLOT; definitions.unwrap_or_default()], function, uses)
    }

    fn with_slots(
        slots: Vec<u32>,
        function: &Function<'_>,
        uses: impl IntoIterator<Item = (u32, RegisterId)>,
    ) -> Self {
        let mut this = Self { slots, others: FxHashMap::default(), values: Vec::new() };
        // By slot.
        let mut order: Vec<ValueId> = Vec::with_capacity(MANY);
        // What each of them is made of: the operand that reads it, and the value.
        let mut sources: Vec<(u32, ValueId)> = Vec::with_capacity(MANY);
        let mut first_source: Vec<u32> = Vec::with_capacity(MANY);
        // The slots, each behind those that its value is made of, but for what goes round.
        let mut inner_first: Vec<u32> = Vec::with_capacity(MANY);
        let mut work: Vec<Step> = Vec::with_capacity(MANY);
        for (instruction, register) in uses {
            work.extend(function.value(instruction, register).map(Step::Enter));
            while let Some(step) = work.pop() {
                let id = match step {
                    Step::Enter(id) => id,
                    Step::Leave(slot) => {
                        inner_first.push(slot);
                        continue;
                    }
                };
                if this.slot(id).is_some() {
                    continue;
                }
                let slot = order.len() as u32;
                match id {
                    ValueId::Definition(id) if !this.slots.is_empty() => this.slots[id.0 as usize] = slot,
                    ValueId::Definition(_) | ValueId::Join(_) => {
                        this.others.insert(id, slot);
                    }
                }
                order.push(id);
                first_source.push(sources.len() as u32);
                work.push(Step::Leave(slot));
                function.sources(id, &mut |operand, source| {
                    sources.push((operand, source));
                    work.push(Step::Enter(source));
                });
            }
        }
        first_source.push(sources.len() as u32);
        this.values = vec![TOP; order.len()];
        let read: Vec<Read> = sources
            .iter()
            .map(|(operand, source)| Read { operand: *operand, slot: this.slot(*source).unwrap_or(NO_SLOT) })
            .collect();
        let of =
            |slot: u32| &read[first_source[slot as usize] as usize..first_source[slot as usize + 1] as usize];
        let feeds = Feeds::new(order.len(), of);
        // Values only lose bits, so that this ends. Taken from the end.
        let mut waiting = inner_first;
        waiting.reverse();
        let mut queued = vec![true; order.len()];
        let mut turns = vec![0; order.len()];
        while let Some(slot) = waiting.pop() {
            queued[slot as usize] = false;
            if !function.budget.take(VISIT) {
                // What has not settled is not known.
                this.values.fill(UNKNOWN);
                break;
            }
            let old = this.values[slot as usize];
            let inputs = Inputs { values: &this.values, read: of(slot) };
            let mut new = match order[slot as usize] {
                // A definition that reads what has no value yet comes back when it has one.
                ValueId::Definition(_) if inputs.are_missing() => continue,
                ValueId::Definition(id) => join(old, function.evaluate(id, inputs)),
                ValueId::Join(id) => join(old, this.join(function, id)),
            };
            if new == old {
                continue;
            }
            turns[slot as usize] += 1;
            if turns[slot as usize] > TURNS && matches!(order[slot as usize], ValueId::Join(_)) {
                new = without_carries(old, new);
            }
            this.values[slot as usize] = new;
            for fed in feeds.of(slot) {
                if !std::mem::replace(&mut queued[*fed as usize], true) {
                    waiting.push(*fed);
                }
            }
        }
        this
    }

    /// The known bits of `register` where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        let joined = match function.value(instruction, register) {
            None => function.parameter_register(register).unwrap_or(UNKNOWN),
            Some(value @ ValueId::Join(join)) if !self.others.contains_key(&value) => {
                self.join(function, join)
            }
            Some(value) => self.of(value),
        };
        settled(joined)
    }

    fn slot(&self, value: ValueId) -> Option<u32> {
        match value {
            ValueId::Definition(id) if !self.slots.is_empty() => {
                self.slots.get(id.0 as usize).copied().filter(|slot| *slot != NO_SLOT)
            }
            ValueId::Definition(_) | ValueId::Join(_) => self.others.get(&value).copied(),
        }
    }

    fn of(&self, value: ValueId) -> Known {
        self.slot(value).and_then(|slot| self.values.get(slot as usize)).copied().unwrap_or(UNKNOWN)
    }

    /// What is known of one of several values.
    fn join(&self, function: &Function<'_>, id: JoinId) -> Known {
        let inputs = function.definitions.joined(id);
        function.budget.take(inputs.len() as u64);
        inputs.iter().fold(TOP, |joined, value| join(joined, self.of(*value)))
    }
}

/// What is known of a register where an instruction reads it, if no other register has to be looked at for that.
fn made_of_nothing(function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<Known> {
    let known = match function.value(instruction, register) {
        None => function.parameter_register(register).unwrap_or(UNKNOWN),
        Some(ValueId::Join(_)) => return None,
        Some(value @ ValueId::Definition(id)) => {
            let mut is_made_of_others = false;
            function.sources(value, &mut |_, _| is_made_of_others = true);
            if is_made_of_others || !function.budget.take(VISIT) {
                return None;
            }
            function.evaluate(id, Inputs { values: &[], read: &[] })
        }
    };
    Some(settled(known))
}

/// Where the search for what values are made of goes on.
enum Step {
    Enter(ValueId),
    /// Everything is found that the value in this slot is made of.
    Leave(u32),
}

/// An operand of an instruction that reads a register.
#[derive(Clone, Copy, Debug)]
struct Read {
    operand: u32,
    /// Where its value is, or [`NO_SLOT`].
    slot: u32,
}

/// What the instruction reads that is evaluated.
#[derive(Clone, Copy, Debug)]
struct Inputs<'a> {
    values: &'a [Known],
    read: &'a [Read],
}

impl Inputs<'_> {
    /// Whether something that is read has no value yet.
    fn are_missing(self) -> bool {
        self.read.iter().any(|read| self.values.get(read.slot as usize) == Some(&TOP))
    }

    /// The known bits of a register that an operand reads.
    fn of(self, operand: u32) -> Known {
        let read = self.read.iter().find(|read| read.operand == operand);
        settled(read.and_then(|read| self.values.get(read.slot as usize)).copied().unwrap_or(UNKNOWN))
    }
}

/// By slot, the slots of what is made of its value.
#[derive(Debug)]
struct Feeds {
    first: Vec<u32>,
    fed: Vec<u32>,
}

impl Feeds {
    /// `sources` says what the value in a slot is made of.
    fn new<'a>(slots: usize, sources: impl Fn(u32) -> &'a [Read]) -> Self {
        let all = || {
            (0..slots as u32)
                .flat_map(|slot| sources(slot).iter().map(move |read| (read.slot as usize, slot)))
        };
        // One more, for those without a slot.
        let mut first = vec![0; slots + 2];
        for (source, _) in all() {
            first[source.min(slots) + 1] += 1;
        }
        for slot in 0..=slots {
            first[slot + 1] += first[slot];
        }
        let mut next = first.clone();
        let mut fed = vec![0; first[slots + 1] as usize];
        for (source, slot) in all() {
            let place = &mut next[source.min(slots)];
            fed[*place as usize] = slot;
            *place += 1;
        }
        Self { first, fed }
    }

    fn of(&self, slot: u32) -> &[u32] {
        &self.fed[self.first[slot as usize] as usize..self.first[slot as usize + 1] as usize]
    }
}

/// What is known of a value in whose unknown bits others are going to carry: those below, and the upper word as
/// long as nothing carries there, such as that of a descriptor to whose address a loop adds.
fn without_carries(old: Known, new: Known) -> Known {
    const UPPER: u64 = 0xFFFF_FFFF_0000_0000;
    let below = new.mask.trailing_ones();
    let below = 1u64.checked_shl(below).map_or(u64::MAX, |next| next - 1);
    let is_kept = old.mask & !new.mask & UPPER == 0;
    Known::new(new.mask & (below | if is_kept { UPPER } else { 0 }), new.value)
}

/// What is known of what may have no value yet.
fn settled(known: Known) -> Known {
    if known == TOP { UNKNOWN } else { known }
}

/// Not evaluated yet: consistent with every value. No word looks like this, its value having a bit
/// that its mask has not.
const TOP: Known = Known { mask: 0, value: 1 };

/// What is known of a word that is one of two.
pub(super) fn either(left: Known, right: Known) -> Known {
    join(left, right)
}

/// What is known of a word that is made longer.
pub(super) fn extended(known: Known, width: u32, signed: bool) -> Known {
    bits::extend(known, width, signed)
}

/// What is known when it may be either.
fn join(left: Known, right: Known) -> Known {
    if left == TOP {
        return right;
    }
    if right == TOP {
        return left;
    }
    bits::join(left, right)
}

impl Function<'_> {
    /// Calls `visit` with the values that a value is made of, and the operands that read them; a join
    /// reads none.
    pub(super) fn sources(&self, id: ValueId, visit: &mut impl FnMut(u32, ValueId)) {
        let definition = match id {
            ValueId::Definition(id) => self.definitions.get(id),
            ValueId::Join(join) => {
                return self.definitions.joined(join).iter().for_each(|value| visit(u32::MAX, *value));
            }
        };
        if !is_evaluated(self.unit.operations.of(definition.instruction)) {
            return;
        }
        registers::accesses(self.unit, definition.instruction, &mut |register, operand, access| {
            if access == registers::Access::Read
                && let Some(value) = self.value(definition.instruction, register)
            {
                visit(operand, value);
            }
        });
    }

    /// Whether what a definition makes is made of its sources, which are known.
    pub(super) fn has_sources(&self, id: DefinitionId) -> bool {
        is_evaluated(self.unit.operations.of(self.definitions.get(id).instruction))
    }

    /// Where the value that `instruction` reads from `register` was made: through copies back to
    /// the definitions that it can come from, in the order of the text. None when that is far away,
    /// or in more places than a reader wants to know.
    pub fn origins(&self, instruction: u32, register: RegisterId) -> Vec<Span> {
        self.origins_through(instruction, register, false)
    }

    /// The same of a descriptor of a matrix, but for its address: through what only moves that on, as well.
    pub fn origins_beside_address(&self, instruction: u32, register: RegisterId) -> Vec<Span> {
        self.origins_through(instruction, register, true)
    }

    fn origins_through(&self, instruction: u32, register: RegisterId, moved_on: bool) -> Vec<Span> {
        /// Copies that are followed.
        const FAR: usize = 256;
        let mut origins = Vec::new();
        let Some(value) = self.value(instruction, register) else { return self.made_elsewhere(register) };
        let mut work: Vec<ValueId> = vec![value];
        let mut seen: FxHashSet<ValueId> = work.iter().copied().collect();
        while let Some(value) = work.pop() {
            if seen.len() > FAR {
                return Vec::new();
            }
            let id = match value {
                ValueId::Definition(id) => id,
                ValueId::Join(join) => {
                    let inputs = self.definitions.joined(join);
                    if inputs.len() > FAR {
                        return Vec::new();
                    }
                    work.extend(inputs.iter().copied().filter(|value| seen.insert(*value)));
                    continue;
                }
            };
            if let Some(word) = self.given.and_then(|it| it.word(self.definitions.get(id).operand))
                && !word.made.is_empty()
            {
                origins.extend_from_slice(&word.made);
            } else if let Some(from) = self.copied(id).or_else(|| self.moved_on(id).filter(|_| moved_on)) {
                let Some(value) = self.value(self.definitions.get(id).instruction, from) else {
                    // Copied from what nothing here makes.
                    return self.made_elsewhere(from);
                };
                work.extend(Some(value).filter(|value| seen.insert(*value)));
            } else {
                let raw = &self.unit.module.instructions[self.definitions.get(id).instruction as usize];
                let operands = self.unit.module.operands(raw.operands);
                origins.push(raw.opcode.to(operands.last().map_or(raw.opcode, Operand::span)));
            }
        }
        if self.given.is_some() {
            origins.extend(self.made_of_given(instruction, register));
        }
        origins.sort_unstable();
        origins.dedup();
        origins
    }

    /// Where other functions made what the value of a register is computed from.
    fn made_of_given(&self, instruction: u32, register: RegisterId) -> SmallVec<[Span; 2]> {
        /// Values that are looked at.
        const FAR: usize = 64;
        let mut made = SmallVec::new();
        let mut work: Vec<ValueId> = self.value(instruction, register).into_iter().collect();
        let mut seen: FxHashSet<ValueId> = work.iter().copied().collect();
        while let Some(value) = work.pop().filter(|_| seen.len() < FAR) {
            if let ValueId::Definition(id) = value
                && let Some(word) = self.given.and_then(|it| it.word(self.definitions.get(id).operand))
            {
                made.extend_from_slice(&word.made);
                continue;
            }
            self.sources(value, &mut |_, source| work.extend(Some(source).filter(|it| seen.insert(*it))));
        }
        made
    }

    /// Where what a parameter holds was made that is a register.
    fn made_elsewhere(&self, register: RegisterId) -> Vec<Span> {
        let word = self.given.and_then(|given| given.register(register));
        word.map_or_else(Vec::new, |word| word.made.to_vec())
    }

    /// The register to which a definition adds so little that it can only be meant for an address in the lowest
    /// bits.
    fn moved_on(&self, id: DefinitionId) -> Option<RegisterId> {
        /// The bits of an address in a descriptor (Table 41).
        const ADDRESS: i128 = 1 << 14;
        let definition = self.definitions.get(id);
        let raw = &self.unit.module.instructions[definition.instruction as usize];
        let opcode = self.unit.operations.of(definition.instruction);
        if opcode.computes() != Computation::Arithmetic(Arithmetic::Add)
            || definition.guarded
            || raw.operands.len != 3
        {
            return None;
        }
        let first = raw.operands.start;
        let by = literal::evaluate(
            &self.unit.source,
            &self.unit.module,
            &self.unit.module.operands[first as usize + 2],
        )?;
        match self.unit.symbols.operand(first + 1) {
            Resolution::Register(from) if (0..ADDRESS).contains(&by) => Some(from),
            _ => None,
        }
    }

    /// The register that a definition copies.
    fn copied(&self, id: DefinitionId) -> Option<RegisterId> {
        let instruction = self.definitions.get(id).instruction;
        let raw = &self.unit.module.instructions[instruction as usize];
        let is_move = self.unit.operations.of(instruction).computes() == Computation::Move;
        if !is_move || raw.operands.len != 2 {
            return None;
        }
        let from = raw.operands.start + 1;
        match (self.unit.module.operands[from as usize].kind(), self.unit.symbols.operand(from)) {
            (OperandKind::Name, Resolution::Register(from)) => Some(from),
            _ => None,
        }
    }
}
