//! A kernel and the functions that it calls, lowered for execution.
//!
//! Names become register numbers and addresses, literals become constants, opcodes become
//! [`Action`]s. Nothing here is looked up while the machine runs. What the machine has no action for
//! becomes [`Action::Unknown`]: a run that comes there ends.

use crate::addresses::matrix;
use crate::arithmetic::{Arithmetic, Lanes};
use crate::isa::generic::{ReductionOperator, Space, TensormapField, Type};
use crate::isa::mma_fragments;
use crate::isa::sparsity::{Granularity, Indices};
use crate::isa::vocabulary::{CpShape, Kind, LdShape, Num, ScaleVectorSize, WarpMulticast};
use crate::source::Span;
use smallvec::SmallVec;
use std::mem::{Discriminant, discriminant};

mod arguments;
pub(crate) mod loops;
mod lower;
mod mma;
mod operands;
mod pointers;
mod reconvergence;
mod roles;
mod tensor;
mod variables;

pub(crate) use lower::{Shared, lower};
pub(crate) use roles::Role;

/// No step.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Where generic addresses lead: the upper bits say which window, the lower ones are the address in it.
pub(crate) mod windows {
    /// Bits of an address within a window.
    pub(crate) const BITS: u32 = 44;
    /// Global memory starts with its first buffer; below is nothing.
    pub(crate) const GLOBAL: u64 = 0;
    /// Shared memory of the cluster.
    pub(crate) const SHARED: u64 = 1;
    /// The thread's own memory.
    pub(crate) const LOCAL: u64 = 2;
    /// Constants.
    pub(crate) const CONST: u64 = 3;
    /// The kernel's parameters.
    pub(crate) const PARAM: u64 = 4;
    /// Functions, whose addresses calls take.
    pub(crate) const CODE: u64 = 5;
    /// Global buffers are this far apart.
    pub(crate) const BUFFER_BITS: u32 = 34;
    /// The variables of the module start here in global memory: above all buffers, whose addresses are the same for all
    /// modules.
    pub(crate) const VARIABLES: u64 = 1 << (BITS - 1);
    /// The workspace of a cooperative launch, after all variables: `cooperative_groups::this_grid().sync()` counts there.
    pub(crate) const WORKSPACE: u64 = (1 << BITS) - 2 * BETWEEN_VARIABLES;
    pub(crate) const WORKSPACE_BYTES: u64 = 64;
    /// Between variables of the module are as many bytes that none has, at least.
    pub(crate) const BETWEEN_VARIABLES: u64 = 4096;
    /// The rank of a CTA in its cluster stands above these bits of an address in shared memory.
    pub(crate) const RANK_SHIFT: u32 = 24;
    /// Shared memory that the system keeps, at the start of each CTA's.
    pub(crate) const RESERVED: u32 = 1024;

    /// The generic address of one in a window.
    pub(crate) const fn generic(window: u64, address: u64) -> u64 {
        window << BITS | address
    }
}

/// A lowered kernel.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// The steps of all functions.
    pub(crate) steps: Vec<Step>,
    /// What statement each step is.
    pub(crate) spans: Vec<Span>,
    /// What [`Slice`]s of operands name.
    pub(crate) operands: Vec<Operand>,
    /// What lists of labels name.
    pub(crate) targets: Vec<u32>,
    /// What calls pass.
    pub(crate) passed: Vec<Passed>,
    /// Values that are the same everywhere.
    pub(crate) constants: Vec<Lanes>,
    /// Values that a thread keeps as long as it lives.
    pub(crate) fixed: Vec<Fixed>,
    /// Steps that exchange values between threads that a mask names: their last source.
    pub(crate) masked: rustc_hash::FxHashSet<u32>,
    /// Where they repeat.
    pub(crate) loops: loops::Loops,
    /// What steps compute.
    pub(crate) arithmetics: Vec<Arithmetic>,
    /// The functions; the kernel is the first.
    pub(crate) functions: Vec<Function>,
    /// Why steps are not known, and names for people.
    pub(crate) texts: Vec<String>,
    /// The kernel's parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// Bytes of the kernel's parameters together.
    pub(crate) parameter_bytes: u32,
    /// Where static variables in shared memory end, the reserved part included.
    pub(crate) static_shared: u32,
    /// What the dynamic part of shared memory has to be aligned to.
    pub(crate) dynamic_align: u32,
    /// Variables in shared memory, by their start.
    pub(crate) shared_names: Vec<(u32, u32, String)>,
    /// Global variables, in the order of their buffers.
    pub(crate) globals: Vec<Variable>,
    /// Constant variables: the memory of all.
    pub(crate) constant_bytes: Vec<u8>,
    /// The bytes of constants that have no known value.
    pub(crate) constant_unknown: Vec<(u32, u32)>,
}

impl Program {
    /// Whether threads may write to memory from a step on before they come to a barrier, as far as that is near.
    pub(crate) fn writes_before_barrier(&self, step: u32) -> bool {
        /// More steps are not looked at.
        const NEAR: usize = 64;
        let mut open: SmallVec<[u32; 8]> = SmallVec::from_slice(&[step]);
        let mut seen: SmallVec<[u32; NEAR]> = SmallVec::new();
        while let Some(at) = open.pop() {
            if seen.len() == NEAR || seen.contains(&at) {
                continue;
            }
            seen.push(at);
            let Some(step) = self.steps.get(at as usize) else { continue };
            match &step.action {
                Action::Store(_) | Action::Atomic(_) => return true,
                Action::Barrier { .. }
                | Action::WarpBarrier { .. }
                | Action::ClusterArrive { .. }
                | Action::ClusterWait { .. }
                | Action::Return
                | Action::Exit
                | Action::Trap => {}
                Action::Branch { target, .. } => {
                    open.push(*target);
                    open.extend(step.guard.is_some().then_some(at + 1));
                }
                _ => open.push(at + 1),
            }
        }
        false
    }

    /// Whether it looks for the workspace of a cooperative launch.
    pub(crate) fn uses_workspace(&self) -> bool {
        self.fixed.iter().any(|fixed| matches!(fixed, Fixed::Workspace(_)))
    }

    /// Whether there is something in dynamic shared memory.
    pub(crate) fn uses_dynamic(&self) -> bool {
        let is_dynamic = |fixed: &Fixed| {
            matches!(
                fixed,
                Fixed::DynamicShared(_)
                    | Fixed::GenericDynamicShared(_)
                    | Fixed::DynamicSmemSize
                    | Fixed::TotalSmemSize
            )
        };
        // MLIR names dynamic shared memory by a variable of one byte, behind which it lies.
        let is_byte = |(start, end, _): &(u32, u32, String)| end - start == 1;
        self.fixed.iter().any(is_dynamic) || self.shared_names.iter().any(is_byte)
    }

    /// Whether clusters may take over the work of others (`clusterlaunchcontrol.try_cancel`).
    pub(crate) fn takes_over_clusters(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::TryCancel { .. }))
    }

    /// Whether there are instructions for pairs of CTAs.
    pub(crate) fn is_for_pairs(&self) -> bool {
        self.steps.iter().any(|step| match &step.action {
            Action::Tensor(tensor) => match &**tensor {
                Tensor::Alloc { pair, .. } | Tensor::Copy { pair, .. } | Tensor::Shift { pair, .. } => *pair,
                Tensor::Multiply(multiply) => multiply.pair,
                _ => false,
            },
            Action::Bulk(bulk) => bulk.tensor.as_ref().is_some_and(|tensor| tensor.pair),
            _ => false,
        })
    }
}

/// A piece of an arena of a [`Program`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slice {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Slice {
    pub(crate) const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// A variable in global memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// Its first bytes; the others are zero.
    pub(crate) data: Vec<u8>,
    /// Parts of it that have no known value.
    pub(crate) unknown: Vec<(u32, u32)>,
    /// Whether another module makes it.
    pub(crate) is_external: bool,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Option<crate::syntax::ast::Type>,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    pub(crate) is_array: bool,
    pub(crate) align: u32,
    pub(crate) is_pointer: bool,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    /// Its first step.
    pub(crate) entry: u32,
    /// Registers that it has; 128 bits are two.
    pub(crate) registers: u32,
    /// Bytes of its variables, for each thread.
    pub(crate) local_bytes: u32,
    /// What it is called with.
    pub(crate) parameters: Slice,
    /// What it returns.
    pub(crate) returns: Slice,
}

/// Something that a call passes or a function receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Passed {
    /// In a register, or a constant.
    Value(Operand),
    /// In the frame's memory.
    Memory { offset: u32, bytes: u32 },
}

/// Where a value comes from or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    /// A register of the frame.
    Register(u32),
    /// The opposite of a predicate of the frame.
    Not(u32),
    /// Into [`Program::constants`].
    Constant(u32),
    /// Into [`Program::fixed`].
    Fixed(u32),
    /// The address of something in the frame's memory.
    Local(u32),
    /// A register of the machine that changes while a thread runs.
    Changing(Changing),
    /// Nowhere.
    Sink,
}

/// Registers of the machine that change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Changing {
    /// `%clock`, `%clock64`
    Clock,
    /// `%clock_hi`
    ClockHigh,
    /// `%globaltimer`, in nanoseconds.
    Timer,
    /// `%globaltimer_lo`
    TimerLow,
    /// `%globaltimer_hi`
    TimerHigh,
}

/// What a thread knows from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fixed {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSmemSize,
    TotalSmemSize,
    ReservedSmem,
    /// `%envreg1`, `%envreg2`: the halves of the address of the workspace of a cooperative launch, the upper one first. The
    /// driver sets them; CUDA's headers read them.
    Workspace(bool),
    /// The address of a static variable in the shared memory of the thread's CTA.
    Shared(u32),
    /// That of the dynamic part, and something behind it.
    DynamicShared(u32),
    /// The generic address of either.
    GenericShared(u32),
    GenericDynamicShared(u32),
}

/// An address that an instruction is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Operand,
    pub(crate) offset: i64,
}

/// An instruction, ready for execution.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The predicate that it depends on, and whether its opposite is meant.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) action: Action,
}

/// In which memory an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// What the address itself says.
    Generic,
    Global,
    /// Of the executing CTA: also what `.shared` alone means.
    Shared,
    SharedCluster,
    Local,
    Const,
    Param,
}

impl Where {
    pub(crate) fn of(space: Option<Space>) -> Self {
        match space {
            None => Self::Generic,
            Some(Space::Const) => Self::Const,
            Some(Space::Global) => Self::Global,
            Some(Space::Local) => Self::Local,
            Some(Space::Param | Space::ParamEntry) => Self::Param,
            Some(Space::ParamFunc) => Self::Local,
            Some(Space::Shared | Space::SharedCta) => Self::Shared,
            Some(Space::SharedCluster) => Self::SharedCluster,
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Registers from registers.
    Compute {
        arithmetic: u32,
        sources: Slice,
        destinations: Slice,
        depends: Depends,
    },
    /// Destinations get values that are not computed.
    Opaque {
        destinations: Slice,
    },
    /// `mma`, `mma.sp`, `wmma.mma`, of a form that may be computed.
    Mma(Box<Mma>),
    /// `wmma.load`, `wmma.store`
    WarpMatrix(Box<WarpMatrix>),
    /// Nothing that matters here.
    Nothing,
    /// `join`: where the threads of a warp come together again, or [`NOWHERE`].
    Branch {
        target: u32,
        join: u32,
    },
    IndexedBranch {
        index: Operand,
        targets: Slice,
        join: u32,
    },
    Call {
        callee: Callee,
        results: Slice,
        arguments: Slice,
    },
    /// `vprintf`: what it is passed, and where the number of arguments goes.
    Print {
        results: Slice,
        arguments: Slice,
    },
    /// `__assertfail`: a trap that says why.
    Assert {
        arguments: Slice,
    },
    Return,
    Exit,
    Trap,
    Load(Access),
    Store(Access),
    Atomic(Atomic),
    /// An address from one window to another.
    Convert {
        to_generic: bool,
        space: Where,
        source: Operand,
        destination: Operand,
    },
    IsInSpace {
        space: Where,
        source: Operand,
        destination: Operand,
    },
    MapAddress {
        source: Operand,
        rank: Operand,
        destination: Operand,
    },
    RankOf {
        source: Operand,
        destination: Operand,
    },
    /// A barrier of the CTA: `reduce` is what happens to the predicate `value`.
    Barrier {
        id: Operand,
        count: Option<Operand>,
        kind: BarrierKind,
        aligned: bool,
    },
    WarpBarrier {
        mask: Operand,
    },
    ClusterArrive {
        release: bool,
        aligned: bool,
    },
    ClusterWait {
        aligned: bool,
    },
    Mbarrier(Mbarrier),
    /// `fence.proxy.async` of shared memory
    ProxyFence(ProxyFence),
    /// `fence.mbarrier_init`
    InitFence,
    /// A fence between threads.
    Fence(Strength),
    CopyAsync {
        destination: Address,
        source: Address,
        bytes: u32,
        read: Read,
    },
    CopyCommit,
    CopyWait {
        left: u32,
    },
    CopyArrive {
        space: Where,
        address: Address,
        counts: bool,
    },
    /// `st.async`, `red.async`: of each element at most 8 bytes.
    StoreAsync {
        address: Address,
        barrier: Address,
        registers: Slice,
        bytes: u8,
        reduction: Option<Reduction>,
    },
    Bulk(Box<Bulk>),
    BulkCommit,
    /// Waits until all but the last groups are over, or until they have read what they copy.
    BulkWait {
        left: u32,
        for_reads: bool,
    },
    SetRegisters {
        count: u32,
        up: bool,
    },
    Sleep,
    /// `clusterlaunchcontrol.try_cancel`
    TryCancel {
        destination: Address,
        barrier: Address,
        multicast: bool,
    },
    IsCanceled {
        response: Slice,
        destination: Operand,
    },
    FirstCta {
        response: Slice,
        destinations: Slice,
        axis: Option<u8>,
    },
    /// `ldmatrix`, `stmatrix`: rows of 16 bytes at the addresses of the first lanes.
    Matrix {
        store: bool,
        address: Address,
        space: Where,
        rows: u32,
        row_bytes: u32,
        registers: Slice,
        fragments: Option<Fragments>,
    },
    /// `tensormap.replace`
    ReplaceTensorMap {
        address: Address,
        space: Where,
        field: TensormapField,
        ordinal: u32,
        value: Operand,
    },
    /// `tensormap.cp_fenceproxy`
    CopyTensorMap {
        destination: Address,
        source: Address,
    },
    Fill {
        address: Address,
        bytes: Operand,
    },
    Tensor(Box<Tensor>),
    /// What the machine does not know; the text says what.
    Unknown(u32),
}

impl Action {
    /// Whether it ends the kernel with an error.
    pub(crate) const fn traps(&self) -> bool {
        matches!(self, Self::Trap | Self::Assert { .. })
    }

    /// What a kernel is for, if it is a part of that: which kind of action moves or multiplies tiles, or orders what does.
    pub(crate) fn works(&self) -> Option<(Discriminant<Self>, Option<Discriminant<Tensor>>)> {
        let of_tensor = match self {
            Self::Tensor(tensor) => Some(discriminant(&**tensor)),
            Self::Barrier { .. }
            | Self::ClusterWait { .. }
            | Self::Mbarrier(_)
            | Self::CopyAsync { .. }
            | Self::StoreAsync { .. }
            | Self::Bulk(_)
            | Self::Mma(_) => None,
            _ => return None,
        };
        Some((discriminant(self), of_tensor))
    }
}

/// How much `cp.async` reads of what it writes; the rest is zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    All,
    /// So many bytes.
    Bytes(Operand),
    /// All, if this predicate does not hold.
    Unless(Operand),
}

/// What a fence shows the async proxy of what the generic proxy wrote to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyFence {
    /// All that the thread knows to have happened.
    All,
    /// The same in shared memory only.
    Shared,
    /// The same in global memory only.
    Global,
    /// What the thread has acquired: its own accesses before such a fence are not ordered by it.
    Acquired,
}

/// How the rows of a matrix lie in the registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragments {
    /// Eight rows of eight elements of 16 bits: four lanes have a row, each two elements of it.
    Rows,
    /// The same, but four lanes have a column.
    Columns,
    /// 16 rows of 16 bytes, of which four lanes have two columns (`.m16n16`).
    Bytes,
    /// Eight rows of 16 bytes, of which four lanes have two columns (`.m16n8`).
    StoredBytes,
    /// Elements of so many bits that are expanded to bytes, with their signs if they have some.
    Expanded { bits: u32, signed: bool, transposed: bool },
}

/// On which sources a result depends, where not all are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depends {
    /// On all.
    All,
    /// On the last, and on the one of two that it chooses.
    Choice,
    /// On none beside a zero.
    And,
    /// On none beside a predicate that holds.
    Or,
}

impl Fragments {
    /// Does something with each part of a lane's register. An element that is expanded is all bytes that it lies in.
    pub(crate) fn each(self, lane: u32, register: u32, each: impl FnMut(matrix::Place)) {
        match self {
            Self::Rows => matrix::eight_by_eight(lane, register, false).for_each(each),
            Self::Columns => matrix::eight_by_eight(lane, register, true).for_each(each),
            Self::Bytes => matrix::sixteen_by_sixteen(lane, register).for_each(each),
            Self::StoredBytes => matrix::sixteen_by_eight(lane, register).for_each(each),
            Self::Expanded { bits, transposed, .. } => {
                matrix::expanded(lane, register, bits, transposed).for_each(each);
            }
        }
    }

    /// What a register gets of bytes of memory, from a bit of them on.
    pub(crate) fn loaded(self, bytes: u64, shift: u32) -> u64 {
        let Self::Expanded { bits, signed, .. } = self else { return bytes };
        let element = (bytes >> shift & ((1 << bits) - 1)) as u8;
        let unused = 8 - bits;
        (if signed { (element << unused).cast_signed() >> unused } else { element.cast_signed() })
            .cast_unsigned()
            .into()
    }
}

impl Depends {
    /// The lanes whose result is not known: of those where some source is not.
    pub(crate) fn unknown(self, any: u32, values: &[&Lanes], doubts: &[u32]) -> u32 {
        let lanes = |holds: &dyn Fn(usize) -> bool| {
            (0..32).filter(|lane| any >> lane & 1 != 0 && holds(*lane)).fold(0, |all, lane| all | 1 << lane)
        };
        match (self, values, doubts) {
            (Self::Choice, [_, _, choice], [first, second, doubt]) => lanes(&|lane| {
                let chosen = if choice[lane] & 1 != 0 { first } else { second };
                (doubt | chosen) >> lane & 1 != 0
            }),
            (Self::And | Self::Or, [first, second], [one, other]) => {
                let decides = |value: u64| (self == Self::Or) == (value != 0);
                lanes(&|lane| {
                    !(one >> lane & 1 == 0 && decides(first[lane])
                        || other >> lane & 1 == 0 && decides(second[lane]))
                })
            }
            _ => any,
        }
    }
}

/// Which function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Known(u32),
    Address(Operand),
}

/// A load or a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Where,
    pub(crate) address: Address,
    /// Bytes of an element: at most 8; an element of 16 is two.
    pub(crate) bytes: u8,
    /// Bits that a loaded element is extended to with its sign; 0 for none.
    pub(crate) extend: u8,
    pub(crate) registers: Slice,
    /// Nothing if it is weak: then no other thread may be waited for with it.
    pub(crate) strength: Option<Strength>,
    /// Which of the registers that are loaded hold addresses, as far as can be seen.
    pub(crate) pointers: u32,
    /// Of these, those at which memory is accessed.
    pub(crate) addresses: u32,
}

/// How what is not weak orders threads (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strength {
    pub(crate) scope: Scope,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

/// Which threads take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the cluster.
    Cluster,
    /// Those of the GPU and more: all that run.
    Wide,
}

/// What an atomic operation or a reduction does to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) operator: ReductionOperator,
    pub(crate) ty: Type,
    /// Whether subnormal numbers stay what they are: `.noftz`.
    pub(crate) noftz: bool,
}

/// `atom`, `red`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) space: Where,
    pub(crate) address: Address,
    pub(crate) reduction: Reduction,
    pub(crate) bytes: u8,
    pub(crate) sources: Slice,
    pub(crate) destinations: Slice,
    pub(crate) strength: Strength,
}

/// `mma`, `mma.sp`, `wmma.mma`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mma {
    pub(crate) sums: Sums,
    pub(crate) factors: [mma_fragments::Factor; 2],
    pub(crate) sum: mma_fragments::Sum,
    /// The metadata of a sparse A.
    pub(crate) metadata: Option<Metadata>,
    /// The scale factors of A and B, and their format.
    pub(crate) scales: Option<([ScaleFactors; 2], ptx_numbers::Format)>,
    pub(crate) d: Slice,
    pub(crate) a: Slice,
    pub(crate) b: Slice,
    pub(crate) c: Slice,
}

/// How products of matrices in registers are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sums {
    /// As `ptx_numbers` says.
    Narrow {
        instruction: ptx_numbers::Instruction,
        kind: ptx_numbers::Kind,
        /// Those of A and B.
        formats: [ptx_numbers::Format; 2],
        accumulator: ptx_numbers::Accumulator,
        saturates: bool,
    },
    /// Doubles, one after the other, by a fused multiply-add with this number among the arithmetics.
    Double { fma: u32 },
    /// Single bits: how many pairs differ, or are both set.
    Bits { both: bool },
}

/// The metadata of a sparse A in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metadata {
    pub(crate) granularity: Granularity,
    pub(crate) indices: Indices,
    pub(crate) register: Operand,
    pub(crate) selector: u32,
}

/// Scale factors in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaleFactors {
    /// How many each row or column has.
    pub(crate) count: u32,
    pub(crate) register: Operand,
    /// The byte of the first, and which lanes have them.
    pub(crate) byte: Operand,
    pub(crate) thread: Operand,
}

/// `wmma.load`, `wmma.store`
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpMatrix {
    pub(crate) store: bool,
    pub(crate) matrix: WarpFragment,
    /// Whether its rows are contiguous in memory, and not its columns.
    pub(crate) by_rows: bool,
    /// From one to the next, in elements; nothing if there is nothing between them.
    pub(crate) stride: Option<Operand>,
    pub(crate) address: Address,
    pub(crate) space: Where,
    /// Bits of an element.
    pub(crate) bits: u32,
    pub(crate) registers: Slice,
}

/// Which matrix that is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WarpFragment {
    A(mma_fragments::Factor),
    B(mma_fragments::Factor),
    Sum(mma_fragments::Sum),
}

/// What a barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Arrive,
    Sync,
    Count { value: Operand, destination: Operand },
    And { value: Operand, destination: Operand },
    Or { value: Operand, destination: Operand },
}

/// What passes between threads at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Whether it is a release or an acquire.
    pub(crate) is_ordered: bool,
    /// Whether that is written to be for the CTA alone. Without a scope the ISA takes the CTA's, but many kernels rely
    /// on more.
    pub(crate) is_narrow: bool,
}

/// An instruction on an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mbarrier {
    pub(crate) space: Where,
    pub(crate) address: Address,
    pub(crate) kind: MbarrierKind,
    /// `.multicast`: to which CTAs.
    pub(crate) mask: Option<Operand>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum MbarrierKind {
    Init { count: Operand },
    Invalidate,
    Expect { bytes: Operand },
    Complete { bytes: Operand },
    Arrive { count: Option<Operand>, bytes: Option<Operand>, drop: bool, release: Told, state: Operand },
    Wait { parity: bool, value: Operand, may_suspend: bool, acquire: Told, destination: Operand },
    PendingCount { state: Operand, destination: Operand },
}

/// A copy in bulk.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    /// Where it writes; for tensors one of both is the map.
    pub(crate) destination: (Where, Address),
    pub(crate) source: (Where, Address),
    /// The bytes of a plain copy.
    pub(crate) bytes: Option<Operand>,
    pub(crate) barrier: Option<Address>,
    pub(crate) mask: Option<Operand>,
    /// Which bytes of each 16 it writes.
    pub(crate) byte_mask: Option<Operand>,
    /// What it computes with what is there, and the type; that of a tensor copy is in the tensor map.
    pub(crate) reduces: Option<(ReductionOperator, Option<Type>)>,
    pub(crate) tensor: Option<TensorCopy>,
}

/// What a tensor copy says besides.
#[derive(Clone, Debug)]
pub(crate) struct TensorCopy {
    pub(crate) dimensions: u32,
    pub(crate) pair: bool,
    pub(crate) mode: crate::isa::generic::LoadMode,
    pub(crate) coordinates: Slice,
    /// Where the filter's pixel is, in im2col mode.
    pub(crate) offsets: Slice,
}

/// An instruction of tcgen05.
#[derive(Clone, Debug)]
pub(crate) enum Tensor {
    Alloc {
        pair: bool,
        space: Where,
        destination: Address,
        columns: Operand,
        exclusive: bool,
    },
    Dealloc {
        address: Operand,
        columns: Operand,
    },
    Relinquish,
    Load {
        shape: LdShape,
        num: Num,
        packed: bool,
        address: Address,
        split: i64,
        registers: Slice,
        /// What `.red` makes of the registers of a thread, in the first of `extra`.
        reduction: Option<LoadReduction>,
        extra: Slice,
    },
    Store {
        shape: LdShape,
        num: Num,
        packed: bool,
        address: Address,
        split: i64,
        registers: Slice,
    },
    WaitLoad,
    WaitStore,
    Copy {
        pair: bool,
        shape: CpShape,
        multicast: Option<WarpMulticast>,
        /// Bits of the elements that become bytes.
        decompressed: Option<u32>,
        address: Address,
        descriptor: Operand,
    },
    Shift {
        pair: bool,
        address: Address,
    },
    Multiply(Multiply),
    Commit {
        space: Where,
        barrier: Address,
        mask: Option<Operand>,
    },
    FenceBefore,
    FenceAfter,
}

/// `.red` of `tcgen05.ld`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadReduction {
    pub(crate) reduction: Reduction,
    /// Whether magnitudes are compared.
    pub(crate) is_absolute: bool,
}

/// A multiply.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a qualifier of its own")]
pub(crate) struct Multiply {
    pub(crate) pair: bool,
    pub(crate) kind: Kind,
    pub(crate) sparse: bool,
    pub(crate) weight_stationary: bool,
    pub(crate) ashift: bool,
    pub(crate) scale_vector_size: Option<ScaleVectorSize>,
    pub(crate) d: Address,
    pub(crate) a: Matrix,
    pub(crate) b: Operand,
    pub(crate) metadata: Option<Address>,
    pub(crate) idesc: Operand,
    pub(crate) scales: Option<[Address; 2]>,
    pub(crate) zero_column_mask: Option<Operand>,
    pub(crate) enable_input: (Operand, bool),
    /// Whether B is read through a lookup table.
    pub(crate) is_looked_up: bool,
    /// The mask of `disable-output-lane`: 32 lanes of D in each register.
    pub(crate) disabled: Slice,
    /// By which power of two D is divided.
    pub(crate) scale_input: Option<Operand>,
}

/// Where matrix A is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matrix {
    Shared(Operand),
    TensorMemory(Address),
}
