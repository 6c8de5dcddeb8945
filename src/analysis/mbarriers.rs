//! The mbarriers of a kernel: which are waited on, and which something signals.
//!
//! An mbarrier is the place of its word in shared memory. Where a kernel chooses among several, it is not
//! known which one an instruction means, but which ones it can be.

use super::cfg::Cfg;
use super::flow::Flow;
use super::places::Root;
use super::ranges::Numbers;
use crate::isa::generic::{Computation, Flag, Synchronization};
use crate::isa::vocabulary::Operation;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::Resolution;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Waits for it, or asks.
    Waits,
    /// Arrives, or makes something else arrive.
    Signals,
    /// `tcgen05.commit` arrives there.
    Commits,
    /// Makes one.
    Initialises,
}

impl Use {
    /// Whether a phase may be over by it.
    pub fn signals(self) -> bool {
        match self {
            Self::Signals | Self::Commits => true,
            Self::Waits | Self::Initialises => false,
        }
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
        for instruction in self.cfg().instructions() {
            let opcode = self.unit.operations.of(instruction);
            if opcode.only_computes() {
                continue;
            }
            self.facts.budget.take(1);
            let Some(how) = used_as(opcode).filter(|_| self.cfg().is_executed(instruction)) else { continue };
            let operands = self.unit.module.instructions[instruction as usize].operands;
            // It is the last address, where there are several.
            let is_address =
                |index: &usize| matches!(self.unit.module.operands[*index].kind(), OperandKind::Address(_));
            let Some(operand) = operands.range().rev().find(is_address) else { continue };
            let place = self.places().address(instruction, operand as u32);
            let mbarrier = place.and_then(|place| {
                let is_fixed = matches!(place.root, Root::Variable(_) | Root::Literal);
                let bytes = place.bytes().filter(|_| is_fixed)?;
                Some(Mbarrier { root: place.root, bytes })
            });
            let span = self.unit.module.operands[operand].span();
            let parity = opcode.has_flag(Flag::Parity).then_some(operand as u32 + 1);
            used.push(Used { mbarrier, how, instruction, span, parity });
        }
        used
    }

    /// Whether something that this function calls initialises mbarriers.
    pub fn calls_initialise_mbarriers(&self) -> bool {
        let initialises = |at: u32| used_as(self.unit.operations.of(at)) == Some(Use::Initialises);
        let module = &self.unit.module;
        let mut callees = self.all.reachable([self.facts.function]).into_iter();
        callees.any(|function| {
            let mut all = Cfg::instruction_range(module, module.functions[function as usize].body);
            !self.facts.budget.take(all.len() as u64) || all.any(initialises)
        })
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
    /// turns it.
    pub fn waits_for_first(&self, wait: &Used) -> bool {
        if let Some(parity) = self.parity(wait) {
            return !parity;
        }
        let Some(operand) = wait.parity else { return false };
        let Resolution::Register(register) = self.unit.symbols.operand(operand) else { return false };
        let view = self.facts.view(self.unit);
        let value = view.value(wait.instruction, register);
        let all = value.and_then(|value| view.definitions.all(value, &self.facts.budget));
        let is_even = |instruction: u32| {
            let made = self.unit.module.instructions[instruction as usize].operands;
            let moved = self.unit.module.operands.get(made.start as usize + 1);
            let number = moved.and_then(|it| literal::evaluate(&self.unit.source, &self.unit.module, it));
            self.unit.operations.of(instruction).computes() == Computation::Move
                && number.is_some_and(|number| number & 1 == 0)
        };
        all.is_some_and(|all| {
            all.iter().any(|id| {
                let made = view.definitions.get(*id);
                !made.guarded && is_even(made.instruction)
            })
        })
    }
}

/// What an instruction does with an mbarrier.
pub(super) fn used_as(opcode: &Opcode) -> Option<Use> {
    Some(match opcode.synchronization() {
        Synchronization::MbarrierWait | Synchronization::MbarrierQuery => Use::Waits,
        Synchronization::MbarrierCompleteTransactions
        | Synchronization::MbarrierArrive
        | Synchronization::AsyncCopyArrive
        | Synchronization::BulkCopy
        | Synchronization::AsyncStore
        | Synchronization::FabricStart
        | Synchronization::ClusterLaunch => Use::Signals,
        Synchronization::MbarrierInit => Use::Initialises,
        Synchronization::Tensor if opcode.tensor == Some(Operation::Commit) => Use::Commits,
        Synchronization::Tensor
        | Synchronization::None
        | Synchronization::BarrierSync
        | Synchronization::BarrierArrive
        | Synchronization::ClusterArrive
        | Synchronization::ClusterWait
        | Synchronization::WarpBarrier
        | Synchronization::WarpCollective
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
