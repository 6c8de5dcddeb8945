//! The mbarriers of a kernel: which are waited on, and which something signals.
//!
//! An mbarrier is the place of its word in shared memory. Where a kernel chooses among several, it is not
//! known which one an instruction means, but which ones it can be.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use strum::{EnumIter, IntoEnumIterator};

use super::arguments::Link;
use super::cfg::Cfg;
use super::definitions::RegisterSet;
use super::events::Action;
use super::flow::Flow;
use super::function::Function;
use super::functions::FunctionFacts;
use super::places::{Place, Root};
use super::ranges::Numbers;
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Synchronization};
use crate::isa::vocabulary::Operation;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::source::Span;
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

mod several;

pub use several::Several;

/// No ring of mbarriers is longer, in bytes.
const LONGEST_RING: i64 = 256;

/// A word in shared memory, or one of several: what its address is counted from, and the bytes from there
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mbarrier {
    root: Root,
    bytes: Numbers,
}

impl Mbarrier {
    /// The one at an address, if that is known.
    fn at(place: &Place, is_rounded: impl Fn(RegisterId) -> bool) -> Option<Self> {
        let is_fixed = match place.root {
            Root::Variable(_) | Root::Literal => true,
            Root::Register(register) => is_rounded(register),
            Root::Slot(_) | Root::Parameter(_) => false,
        };
        let bytes = place.bytes().filter(|_| is_fixed)?;
        Some(Self { root: place.root, bytes })
    }

    /// Whether two instructions may mean the same.
    pub fn may_be(&self, other: &Self) -> bool {
        self.root == other.root && !self.bytes.is_disjoint(other.bytes)
    }

    /// Whether it is in a variable of the module.
    pub fn is_variable(&self) -> bool {
        matches!(self.root, Root::Variable(_))
    }

    /// Whether it is known which one it is.
    pub fn is_one(&self) -> bool {
        self.bytes.single().is_some()
    }

    /// Whether two instructions mean one of the same mbarriers, which are few.
    pub fn is_of_same_ring(&self, other: &Self) -> bool {
        let is_short = |it: &Self| {
            it.bytes.first().zip(it.bytes.last()).is_some_and(|(first, last)| last - first < LONGEST_RING)
        };
        self.root == other.root
            && is_short(self)
            && is_short(other)
            && (self.bytes.is_within(other.bytes) || other.bytes.is_within(self.bytes))
    }
}

/// What an instruction does with an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter)]
pub enum Use {
    /// Waits for it.
    Waits,
    /// Arrives.
    Arrives,
    /// Makes bytes arrive, or something that is counted with them.
    Completes,
    /// `tcgen05.commit` arrives there.
    Commits,
    /// Makes one.
    Initialises,
}

impl Use {
    /// What an instruction does with an mbarrier.
    pub(super) fn of(opcode: &Opcode) -> Option<Self> {
        Some(match opcode.synchronization() {
            Synchronization::MbarrierWait => Self::Waits,
            Synchronization::MbarrierArrive | Synchronization::AsyncCopyArrive => Self::Arrives,
            Synchronization::MbarrierCompleteTransactions
            | Synchronization::BulkCopy
            | Synchronization::AsyncStore
            | Synchronization::FabricStart
            | Synchronization::ClusterLaunch => Self::Completes,
            Synchronization::MbarrierInit => Self::Initialises,
            Synchronization::Tensor if opcode.tensor == Some(Operation::Commit) => Self::Commits,
            Synchronization::Tensor
            | Synchronization::None
            | Synchronization::BarrierSync
            | Synchronization::BarrierArrive
            | Synchronization::ClusterArrive
            | Synchronization::ClusterWait
            | Synchronization::WarpBarrier
            | Synchronization::WarpCollective
            | Synchronization::MbarrierQuery
            | Synchronization::MbarrierInvalidate
            | Synchronization::MbarrierExpectTransactions
            | Synchronization::Fence
            | Synchronization::MbarrierInitFence
            | Synchronization::ProxyFence
            | Synchronization::AsyncCopy
            | Synchronization::AsyncCopyCommit
            | Synchronization::AsyncCopyWait
            | Synchronization::BulkCommit
            | Synchronization::BulkWait
            | Synchronization::FabricSubmit
            | Synchronization::FabricWait
            | Synchronization::WarpgroupFence
            | Synchronization::WarpgroupMultiply
            | Synchronization::WarpgroupCommit
            | Synchronization::WarpgroupWait
            | Synchronization::RegisterChange
            | Synchronization::DependentGrids => return None,
        })
    }

    /// Whether it is one of the arrivals that a phase waits for, and not bytes only.
    pub fn arrives(self) -> bool {
        match self {
            Self::Arrives | Self::Commits => true,
            Self::Completes | Self::Waits | Self::Initialises => false,
        }
    }

    /// Whether a phase may be over by it.
    pub fn signals(self) -> bool {
        match self {
            Self::Arrives | Self::Completes | Self::Commits => true,
            Self::Waits | Self::Initialises => false,
        }
    }
}

/// What is done with mbarriers somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses(u8);

impl Uses {
    /// Adds what an instruction does.
    pub(super) fn add(&mut self, how: Use) {
        self.0 |= 1 << how as u8;
    }

    /// Adds all that is done somewhere else.
    pub(super) fn extend(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Whether something is done in this way.
    pub fn has(self, how: Use) -> bool {
        self.0 >> how as u8 & 1 == 1
    }

    /// Whether a phase may be over by something.
    pub fn signal(self) -> bool {
        [Use::Arrives, Use::Completes, Use::Commits].into_iter().any(|how| self.has(how))
    }
}

/// An instruction that uses an mbarrier.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Which; `None` if it is not known.
    pub mbarrier: Option<Mbarrier>,
    /// What is done with it.
    pub how: Use,
    /// The instruction.
    pub instruction: u32,
    /// Its operand.
    pub span: Span,
    /// Whether it may be that of another CTA of the cluster.
    pub is_in_cluster: bool,
    operand: u32,
    /// The operand that says which parity is waited for.
    parity: Option<u32>,
}

impl<'a> Flow<'a> {
    /// The uses of mbarriers in this function, in the order of its instructions.
    pub fn mbarriers(&self) -> &'a [Used] {
        self.facts.mbarriers.get_or_init(|| self.find_mbarriers())
    }

    fn find_mbarriers(&self) -> Vec<Used> {
        let mut used = Vec::new();
        self.facts.budget.take(self.cfg().instructions().len() as u64);
        for instruction in self.cfg().instructions() {
            let opcode = self.unit.operations.of(instruction);
            if opcode.only_computes() {
                continue;
            }
            self.facts.budget.take(1);
            let Some(how) = Use::of(opcode).filter(|_| self.cfg().is_executed(instruction)) else { continue };
            let operands = self.unit.module.instructions[instruction as usize].operands;
            // It is the last address, where there are several.
            let is_address =
                |index: &usize| matches!(self.unit.module.operands[*index].kind(), OperandKind::Address(_));
            let Some(operand) = operands.range().rev().find(is_address) else { continue };
            let place = self.places().address(instruction, operand as u32);
            let at = |place: &Place| Mbarrier::at(place, |register| self.is_rounded(register));
            let mut mbarrier = place.as_ref().and_then(at);
            let is_in_cluster = mbarrier.is_none();
            if is_in_cluster {
                mbarrier =
                    self.places().address_in_cluster(instruction, operand as u32).as_ref().and_then(at);
            }
            let span = self.unit.module.operands[operand].span();
            let parity = opcode.has_flag(Flag::Parity).then_some(operand as u32 + 1);
            used.push(Used {
                mbarrier,
                how,
                instruction,
                span,
                is_in_cluster,
                operand: operand as u32,
                parity,
            });
        }
        used
    }

    /// The mbarriers that are used in one of these ways in functions that this one calls; nothing if it may be
    /// any.
    pub fn mbarriers_of_callees(&self, how: impl Fn(Use) -> bool) -> Option<Vec<Mbarrier>> {
        let mut callees = Callees { how: &how, known: FxHashMap::default(), found: Vec::new() };
        if !self.all.are_without_calls() {
            for event in self.events() {
                if let Action::Call(callee) = event.action {
                    let link = Link { function: self.facts.function, call: event.instruction, outer: None };
                    callees.add(self, link, callee)?;
                }
            }
        }
        Some(callees.found)
    }

    /// What a function does with mbarriers, and with the words at which addresses.
    fn mbarriers_in(&self, function: u32) -> Option<Vec<(Used, Option<Place>)>> {
        let own;
        let flow = if let Some(flow) = self.other(function) {
            flow
        } else {
            // What has nothing to do with tcgen05 is looked at for this alone.
            let module = &self.unit.module;
            let all = Cfg::instruction_range(module, module.functions[function as usize].body);
            self.facts.budget.take(all.len() as u64).then_some(())?;
            own = FunctionFacts::new(self.unit, function, &[], &mut RegisterSet::default(), None);
            Flow { facts: &own, ..*self }
        };
        let at = |used: &Used| flow.places().address(used.instruction, used.operand);
        Some(flow.mbarriers().iter().map(|used| (*used, at(used))).collect())
    }

    /// The parity that a wait is for, if it is known.
    pub fn parity(&self, wait: &Used) -> Option<bool> {
        let operand = wait.parity?;
        let found = self.unit.module.operands.get(operand as usize)?;
        let number = match literal::evaluate(&self.unit.source, &self.unit.module, found) {
            Some(value) => Some(value as u64),
            None => match self.unit.symbols.operand(operand) {
                Resolution::Register(register) => {
                    self.known(&[(wait.instruction, register)]).first()?.constant(32)
                }
                _ => None,
            },
        };
        number.map(|number| number & 1 == 1)
    }

    /// Whether a wait is for the first phase at some time: its parity is 0, or begins with 0 where a loop
    /// counts, or each round turns it.
    pub fn waits_for_first(&self, wait: &Used) -> bool {
        if let Some(parity) = self.parity(wait) {
            return !parity;
        }
        let Some(operand) = wait.parity else { return false };
        let Resolution::Register(register) = self.unit.symbols.operand(operand) else { return false };
        let view = self.facts.view(self.unit);
        self.begins_with_zero(&view, (wait.instruction, register), 0)
            || self.is_turned(&view, (wait.instruction, register))
            || self.takes_turns(&view, (wait.instruction, register), wait.instruction, 0)
    }

    /// Whether a register holds the address of a variable, rounded to a multiple, and nothing else.
    fn is_rounded(&self, register: RegisterId) -> bool {
        /// No pattern of shared memory is larger.
        const LARGEST: i128 = 1 << 16;
        let view = self.facts.view(self.unit);
        let [only] = view.definitions.of(register) else { return false };
        let definition = *view.definitions.get(*only);
        let made = definition.instruction;
        let operands = self.unit.module.instructions[made as usize].operands;
        if definition.guarded
            || definition.operand != operands.start
            || operands.len != 3
            || self.unit.operations.of(made).computes() != Computation::And
            || self.cfg().block_of(made).is_none_or(|block| self.cfg().is_in_loop(block))
        {
            return false;
        }
        let mask = &self.unit.module.operands[operands.start as usize + 2];
        let mask = literal::evaluate(&self.unit.source, &self.unit.module, mask);
        let is_mask = mask.is_some_and(|mask| {
            let cleared = i128::from(!(mask as u32));
            cleared < LARGEST && (cleared + 1).count_ones() == 1
        });
        match self.unit.symbols.operand(operands.start + 1) {
            Resolution::Register(of) if is_mask => {
                matches!(self.places().of(made, of).root, Root::Variable(_))
            }
            _ => false,
        }
    }

    /// Whether a loop around a wait counts or turns what its parity is made of, be it in some rounds only: sooner or
    /// later it is 0.
    fn takes_turns(
        &self,
        view: &Function<'_>,
        (at, register): (u32, RegisterId),
        wait: u32,
        depth: u32,
    ) -> bool {
        /// Longer chains are not followed.
        const DEEP: u32 = 6;
        if depth > DEEP || !view.budget.take(1) {
            return false;
        }
        let all = view.value(at, register).and_then(|value| view.definitions.all(value, view.budget));
        let Some(all) = all else { return false };
        let is_only = all.len() == 1;
        all.iter().any(|id| {
            let definition = view.definitions.get(*id);
            let made = definition.instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            if definition.operand != operands.start || made == at {
                return false;
            }
            let computes = self.unit.operations.of(made).computes();
            let mut registers = operands.range().skip(1).filter_map(|it| self.register_at(it as u32));
            match computes {
                Computation::Xor
                | Computation::Not
                | Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
                    if !is_only =>
                {
                    registers.next().is_some() && self.leads_to(wait, made)
                }
                Computation::Move | Computation::Select if !is_only => {
                    let turns = |from: RegisterId| {
                        let Some(only) = view.only(made, from) else { return false };
                        let only = view.definitions.get(only).instruction;
                        matches!(
                            self.unit.operations.of(only).computes(),
                            Computation::Xor
                                | Computation::Not
                                | Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
                        )
                    };
                    registers.any(turns) && self.leads_to(wait, made)
                }
                Computation::Move
                | Computation::Convert
                | Computation::And
                | Computation::Xor
                | Computation::Not
                | Computation::Bits(Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(
                    Arithmetic::Subtract | Arithmetic::Remainder | Arithmetic::Divide,
                ) if is_only => registers.any(|from| self.takes_turns(view, (made, from), wait, depth + 1)),
                _ => false,
            }
        })
    }

    fn register_at(&self, operand: u32) -> Option<RegisterId> {
        match self.unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    /// Whether each round of a loop turns a parity, behind where it is read.
    fn is_turned(&self, view: &Function<'_>, (at, register): (u32, RegisterId)) -> bool {
        let all = view.value(at, register).and_then(|value| view.definitions.all(value, view.budget));
        let (Some(all), Some(read)) = (all, self.cfg().block_of(at)) else { return false };
        all.len() > 1
            && all.iter().any(|id| {
                let definition = view.definitions.get(*id);
                let turns = matches!(
                    self.unit.operations.of(definition.instruction).computes(),
                    Computation::Xor | Computation::Not | Computation::Arithmetic(Arithmetic::Subtract)
                );
                let block = self.cfg().block_of(definition.instruction);
                turns && !definition.guarded && block.is_some_and(|it| self.cfg().post_dominates(it, read))
            })
    }

    /// Whether a register is 0, or begins with 0 where a loop counts or turns it; of an even number, only the
    /// lowest bit is asked.
    fn begins_with_zero(&self, view: &Function<'_>, (at, register): (u32, RegisterId), depth: u32) -> bool {
        /// Longer chains are not followed.
        const DEEP: u32 = 8;
        if depth > DEEP || !view.budget.take(1) {
            return false;
        }
        let all = view.value(at, register).and_then(|value| view.definitions.all(value, view.budget));
        let Some(all) = all else { return false };
        let is_only = all.len() == 1;
        all.iter().any(|id| {
            let definition = view.definitions.get(*id);
            if definition.guarded {
                return false;
            }
            let made = definition.instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            if definition.operand != operands.start {
                return false;
            }
            let computes = self.unit.operations.of(made).computes();
            let is_moved = computes == Computation::Move;
            let is_zero = |number: u32| {
                let Some(operand) = operands.range().nth(number as usize) else { return false };
                let found = &self.unit.module.operands[operand];
                if let Some(number) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                    return if depth == 0 { number & 1 == 0 } else { number == 0 };
                }
                // What goes round is made of what it was before.
                match self.unit.symbols.operand(operand as u32) {
                    Resolution::Register(register) if is_only || is_moved => {
                        self.begins_with_zero(view, (made, register), depth + 1)
                    }
                    Resolution::Register(_)
                    | Resolution::Symbol(_)
                    | Resolution::Special(_)
                    | Resolution::Undeclared => false,
                }
            };
            match computes {
                Computation::Move => is_zero(1),
                _ if !is_only => false,
                Computation::Convert
                | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder) => is_zero(1),
                Computation::And | Computation::Arithmetic(Arithmetic::Multiply) => is_zero(1) || is_zero(2),
                Computation::Or | Computation::Xor | Computation::Arithmetic(Arithmetic::Add) => {
                    is_zero(1) && is_zero(2)
                }
                _ => false,
            }
        })
    }
}

/// Finds the mbarriers of functions that are called.
struct Callees<'h> {
    how: &'h dyn Fn(Use) -> bool,
    /// By function, what is done there.
    known: FxHashMap<u32, Vec<(Used, Option<Place>)>>,
    found: Vec<Mbarrier>,
}

impl Callees<'_> {
    /// Adds those that a function uses where it is called; nothing if they may be any.
    fn add(&mut self, kernel: &Flow<'_>, link: Link, callee: u32) -> Option<()> {
        let summary = kernel.all.summary(callee)?;
        if !Use::iter().any(|how| (self.how)(how) && summary.uses.has(how)) {
            return Some(());
        }
        let is_looked_into = kernel.all.is_looked_into(callee);
        if !is_looked_into || !kernel.facts.budget.take(1 + summary.events.len() as u64) {
            return None;
        }
        let known = match self.known.entry(callee) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(kernel.mbarriers_in(callee)?),
        };
        kernel.facts.budget.take(known.len() as u64).then_some(())?;
        let through = kernel.all.chains.add(link, callee);
        let facts = kernel.other(callee).map(|it| it.facts);
        for (used, place) in known {
            let happens = facts.is_none_or(|facts| facts.is_executed_in(link.call, used.instruction));
            if happens && (self.how)(used.how) {
                let mbarrier = match used.mbarrier {
                    Some(mbarrier) => mbarrier,
                    None => Mbarrier::at(&kernel.as_calling(through, (*place)?)?, |_| false)?,
                };
                self.found.push(mbarrier);
            }
        }
        for event in kernel.events_in(link, callee) {
            if let Action::Call(next) = event.action {
                let call = event.instruction;
                self.add(kernel, Link { function: callee, call, outer: Some(through) }, next)?;
            }
        }
        Some(())
    }
}
