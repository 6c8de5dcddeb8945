//! The mbarriers of a kernel: which are waited on, and which something signals.
//!
//! An mbarrier is the place of its word in shared memory. Where a kernel chooses among several, it is not
//! known which one an instruction means, but which ones it can be.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use strum::{EnumCount, EnumIter, IntoEnumIterator};

use super::arguments::Link;
use super::cfg::Cfg;
use super::definitions::RegisterSet;
use super::events::Action;
use super::flow::Flow;
use super::functions::FunctionFacts;
use super::places::{Place, Root};
use super::ranges::{self, Numbers};
use crate::isa::generic::{Computation, Flag, Synchronization};
use crate::isa::vocabulary::Operation;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::source::Span;
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

mod phases;
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

    /// What its address is counted from.
    pub fn root(&self) -> Root {
        self.root
    }

    /// Whether it is in a variable of the module.
    pub fn is_variable(&self) -> bool {
        matches!(self.root, Root::Variable(_))
    }

    /// Whether it is known which one it is.
    pub fn is_one(&self) -> bool {
        self.bytes.single().is_some()
    }

    /// How many it may be, and where the first of them is.
    pub fn size(&self) -> (Option<u64>, Option<i64>) {
        (self.bytes.count(), self.bytes.first())
    }

    /// Whether it is one of few.
    pub fn is_of_ring(&self) -> bool {
        self.is_of_same_ring(self) && !self.is_one()
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, EnumIter)]
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

impl Used {
    /// The operand that is its address.
    pub(super) fn operand(&self) -> u32 {
        self.operand
    }

    /// The operand that says which parity is waited for.
    pub(super) fn parity(&self) -> Option<u32> {
        self.parity
    }
}

impl<'a> Flow<'a> {
    /// The uses of mbarriers in this function, in the order of its instructions.
    pub fn mbarriers(&self) -> &'a [Used] {
        self.facts.mbarriers.get_or_init(|| self.find_mbarriers())
    }

    fn find_mbarriers(&self) -> Vec<Used> {
        let mut used = Vec::new();
        self.facts.budget.take(self.cfg().instructions().len() as u64);
        for &instruction in self.unit.operations.others_within(self.cfg().instructions()) {
            let opcode = self.unit.operations.of(instruction);
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

    /// The mbarriers that are used in one way in this function and in those that it calls; nothing if it may be any.
    pub fn all_mbarriers(&self, how: Use) -> Option<&'a Several<()>> {
        self.facts.all_mbarriers[how as usize].get_or_init(|| self.find_all_mbarriers(how)).as_ref()
    }

    fn find_all_mbarriers(&self, how: Use) -> Option<Several<()>> {
        let own = self.mbarriers().iter().filter(|it| it.how == how).map(|it| it.mbarrier);
        let own: Vec<Mbarrier> = own.collect::<Option<_>>()?;
        let of_callees = self.mbarriers_of_callees(|it| it == how)?;
        Some(self.several(own.into_iter().chain(of_callees).map(|it| (it, ()))))
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
            self.with(&own)
        };
        let at = |used: &Used| flow.places().address(used.instruction, used.operand);
        Some(flow.mbarriers().iter().map(|used| (*used, at(used))).collect())
    }

    /// Whether a register holds the address of a variable, rounded to a multiple, and nothing else.
    fn is_rounded(&self, register: RegisterId) -> bool {
        /// Bits of an address in shared memory.
        const ADDRESS: u32 = 32;
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
        let is_mask = mask.is_some_and(|mask| ranges::rounds_down(mask, ADDRESS));
        match self.unit.symbols.operand(operands.start + 1) {
            Resolution::Register(of) if is_mask => {
                matches!(self.places().of(made, of).root, Root::Variable(_))
            }
            _ => false,
        }
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
