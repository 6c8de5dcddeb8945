//! TC7: the order of asynchronous operations (9.7.16.6).

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Pair, Role};
use crate::analysis::loads::Concern;
use crate::analysis::places::Place;
use crate::analysis::reach::{Fact, Reach};
use crate::instruction::{Address, Instruction, MatrixA, Mma};
use crate::isa::datapath;
use crate::isa::vocabulary::Operation;
use crate::rules::Checker;

pub(super) mod fence_before_wait;
pub(super) mod missing_after_fence;
pub(super) mod missing_commit;
pub(super) mod missing_proxy_fence;
pub(super) mod missing_wait_st;
pub(super) mod no_mbarrier_wait;
pub(super) mod result_read_early;
pub(super) mod signal_before_wait;
pub(super) mod tmem_reused_before_wait_ld;

/// Asynchronous operations by the way in which their completion is observed (9.7.16.6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// `ld`, observed by `wait::ld`.
    Load,
    /// `st`, observed by `wait::st`.
    Store,
    /// `mma`, `cp` and `shift`, observed on the mbarrier that `commit` signals.
    Operation,
}

impl Pending {
    /// How the completion of an operation is observed, if it is asynchronous.
    pub(super) fn of(operation: Operation) -> Option<Self> {
        Some(match operation {
            Operation::Ld | Operation::LdRed | Operation::LdSpcompress | Operation::LdRedSpcompress => {
                Self::Load
            }
            Operation::St => Self::Store,
            Operation::Cp | Operation::Shift | Operation::Mma | Operation::MmaWs => Self::Operation,
            Operation::Alloc
            | Operation::Dealloc
            | Operation::RelinquishAllocPermit
            | Operation::WaitLd
            | Operation::WaitSt
            | Operation::Commit
            | Operation::FenceBefore
            | Operation::FenceAfter => return None,
        })
    }

    /// Whether `operation` is one of these.
    pub(super) fn started_by(self, operation: Operation) -> bool {
        Self::of(operation) == Some(self)
    }

    /// What `operation` means to a question about these.
    pub(super) fn role(self, operation: Operation) -> Role {
        match (self, operation) {
            _ if self.started_by(operation) => Role::Start,
            (Self::Load, Operation::WaitLd) | (Self::Store, Operation::WaitSt) => Role::Stop,
            _ => Role::None,
        }
    }
}

/// [`Flow::pending_loads`] for questions that are asked where Tensor Memory is written or freed, at
/// fences and where mbarriers are signalled. Most functions have no pending load at any of these,
/// which is found out once.
pub(super) fn pending_loads(
    flow: &Flow<'_>,
    role: impl Fn(Event) -> Role,
    ends: impl FnOnce(&mut Reach, &[(Fact, Event)]),
    concern: impl FnMut(Pair) -> Concern,
) -> Vec<Pair> {
    let any = *flow.facts.pending_loads.get_or_init(|| {
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::Unknown, _) => Role::Stop,
            (Action::MbarrierArrive, _) | (_, Some(Operation::Dealloc | Operation::FenceBefore)) => Role::Ask,
            (_, Some(operation)) if Pending::Operation.started_by(operation) => Role::Ask,
            (_, Some(operation)) => Pending::Load.role(operation),
            _ => Role::None,
        };
        !flow.pending_loads(role, |_, _| {}, |_| Concern::Yes).is_empty()
    });
    if any { flow.pending_loads(role, ends, concern) } else { Vec::new() }
}

/// Stores that are pending where something happens: there is no `wait::st`, and no load has read
/// the same columns since.
pub(super) fn pending_stores(
    checker: &Checker<'_>,
    flow: &Flow<'_>,
    role: impl Fn(Event) -> Role,
) -> Vec<Pair> {
    let pairs = flow.pairs(&role, |_| true);
    if pairs.is_empty() {
        return pairs;
    }
    // Few do that, so it is asked for only where it may matter.
    flow.pairs_ending(
        &role,
        |reach, stores| {
            flow.end_where_read_again(
                reach,
                stores,
                |event| columns(checker, flow, event),
                Columns::overlaps,
            );
        },
        |_| true,
    )
}

/// The address in Tensor Memory that an instruction is about, and whether it is written.
pub(super) fn accessed<'i, 's>(instruction: &'i Instruction<'s>) -> Option<(&'i Address<'s>, bool)> {
    Some(match instruction {
        Instruction::Ld(it) => (&it.taddr, false),
        Instruction::St(it) => (&it.taddr, true),
        Instruction::Cp(it) => (&it.taddr, true),
        Instruction::Shift(it) => (&it.taddr, true),
        Instruction::Mma(it) => (&it.d, true),
        Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => return None,
    })
}

/// Some columns of Tensor Memory, counted from a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    place: Place,
    /// The columns that are certainly touched.
    least: u32,
    /// The columns that may be touched; `None` when that is not known.
    most: Option<u32>,
}

impl Columns {
    /// What the columns are counted from.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// How many there are at least.
    pub(super) fn count(&self) -> u32 {
        self.least
    }

    /// Whether both certainly touch a common column.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let (Some(left), Some(right)) = (self.place.column(), other.place.column()) else { return false };
        self.place.root == other.place.root && left < right + other.least && right < left + self.least
    }

    /// Whether both certainly touch no common column.
    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        let (Some(left), Some(right)) = (self.place.column(), other.place.column()) else { return false };
        let (Some(left_most), Some(right_most)) = (self.most, other.most) else { return false };
        self.place.root == other.place.root && (left + left_most <= right || right + right_most <= left)
    }
}

/// The columns at the address that an instruction is about: the accumulator of a multiply.
pub(super) fn columns(checker: &Checker<'_>, flow: &Flow<'_>, event: Event) -> Option<Columns> {
    let instruction = flow.instruction(event)?;
    let place = flow.place(event, accessed(instruction)?.0)?;
    let (least, most) = match instruction {
        Instruction::Ld(ld) => {
            let columns = ld.shape.value.columns(ld.num.value, ld.pack.is_some());
            // The second half of `.16x32bx2` lies elsewhere.
            (columns, ld.half_split_offset.is_none().then_some(columns))
        }
        Instruction::St(st) => {
            let columns = st.shape.value.columns(st.num.value, st.unpack.is_some());
            (columns, st.half_split_offset.is_none().then_some(columns))
        }
        Instruction::Cp(cp) => (cp.shape.value.columns(), Some(cp.shape.value.columns())),
        Instruction::Mma(mma) => accumulator_columns(checker, event, mma),
        _ => (1, None),
    };
    Some(Columns { place, least, most })
}

/// Whether two instructions certainly access a common column.
pub(super) fn is_same(checker: &Checker<'_>, flow: &Flow<'_>, one: Event, other: Event) -> bool {
    match (columns(checker, flow, one), columns(checker, flow, other)) {
        (Some(one), Some(other)) => one.overlaps(&other),
        _ => false,
    }
}

/// How many columns an accumulator has at least and at most.
fn accumulator_columns(checker: &Checker<'_>, event: Event, mma: &Mma<'_>) -> (u32, Option<u32>) {
    let Action::Tensor { index, .. } = event.action else { return (1, None) };
    let found = checker.descriptors.binary_search_by_key(&(index as usize), |it| it.instruction);
    let Some(facts) = found.ok().and_then(|at| checker.descriptors.get(at)).map(|it| &it.facts) else {
        return (1, None);
    };
    let Some(n) = facts.n else { return (1, None) };
    let layout = facts
        .m
        .and_then(|m| datapath::layout(m, mma.cta_group.value, mma.sparse.is_some(), mma.weight_stationary));
    let split = match layout.map(|layout| layout.organization) {
        Some("4x1") => 1,
        Some("2x2") => 2,
        _ => 4,
    };
    ((n / split).max(1), Some(n))
}

/// The columns that a multiply reads beside its accumulator: A, its metadata, the scales.
pub(super) fn operands_read(flow: &Flow<'_>, event: Event) -> Vec<Option<Columns>> {
    /// More than any of these operands has: 64 bytes of A in a row are 16 columns.
    const MOST: u32 = 32;
    let Some(Instruction::Mma(mma)) = flow.instruction(event) else { return Vec::new() };
    let a = match &mma.a {
        MatrixA::TensorMemory(address) => Some(address),
        MatrixA::Descriptor(_) => None,
    };
    a.into_iter()
        .chain(&mma.b_meta)
        .chain(&mma.sparsity_metadata)
        .chain(mma.scales.iter().flat_map(|scales| scales.iter()))
        .map(|address| Some(Columns { place: flow.place(event, address)?, least: 1, most: Some(MOST) }))
        .collect()
}
