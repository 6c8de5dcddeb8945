//! What happened in a run, and when: for pictures and traces.
//!
//! # Time
//!
//! The machine runs one strand at a time, so the order in which it does things says little about a
//! GPU. Here each warp has a time of its own, and so has each unit beside the warps: an instruction
//! takes one step, who waits goes on when the last of what it waits for has come, and operations take
//! [`COPY`], [`MULTIPLY`] or [`MOVE`] steps, which are not measured but have about the proportions
//! that a GPU has. So what happens at the same time is drawn at the same time, and a wait is as long as
//! what it depends on. With the schedule `late` an operation ends when all others wait.

use ptx_check::isa::asynchrony::Access;

use crate::diagnostic::Code;
use crate::source::Span;

mod recorder;

pub(crate) use recorder::{Context, Recorder};

/// Steps that a copy takes.
pub const COPY: u64 = 100;
/// Steps that a multiply, or another operation of the tensor core, takes.
pub const MULTIPLY: u64 = 16;
/// Steps that a load or a store of Tensor Memory takes.
pub const MOVE: u64 = 12;

/// What happened in a run.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Who did something.
    pub tracks: Vec<Track>,
    /// What took time.
    pub slices: Vec<Slice>,
    /// What took none.
    pub marks: Vec<Mark>,
    /// What let whom go on.
    pub flows: Vec<Flow>,
    /// The mbarriers.
    pub barriers: Vec<Barrier>,
    /// What was done to columns of Tensor Memory, in the order in which it took effect.
    pub columns: Vec<Touch>,
    /// When the last thing happened.
    pub end: u64,
    /// What happened after there was too much to keep.
    pub left_out: u64,
}

/// Someone who does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The rank of its CTA in the cluster.
    pub cta: u32,
    /// Who.
    pub who: Who,
    /// When it starts and ends.
    pub life: (u64, u64),
    /// Where it is when the run is over, unless it has ended: the place, and what it waits for.
    pub stands: Option<(Span, String)>,
}

/// Threads, or a unit of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// A warp; for threads that went another way than lane 0, their first lane.
    Warp {
        /// Its number in the CTA.
        index: u32,
        /// The first lane.
        lane: u32,
    },
    /// Copies in bulk from and to shared memory.
    Tma,
    /// `cp.async`
    Copies,
    /// The tensor core.
    TensorCore,
    /// Loads and stores of Tensor Memory.
    Moves,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Whose it is: an index of [`Record::tracks`].
    pub track: u32,
    /// When it started.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What it was.
    pub what: Activity,
    /// The instruction.
    pub span: Span,
    /// Whether it had not ended when the run was over.
    pub is_open: bool,
    pub step: u32,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// A phase of an mbarrier is waited for.
    Mbarrier {
        /// An index of [`Record::barriers`].
        barrier: u32,
        /// The phase, from 0.
        phase: u64,
    },
    /// A barrier of the CTA is waited for.
    Named(u32),
    /// The barrier of the cluster is waited for.
    Cluster,
    /// Other threads of the warp are waited for.
    Warp,
    /// Copies that were committed are waited for.
    Copied,
    /// Loads or stores of Tensor Memory are waited for.
    Moved,
    /// Columns of Tensor Memory are waited for.
    Columns(u32),
    /// Registers are waited for.
    Registers(u32),
    /// Memory is asked for a value again and again.
    Memory,
    /// A copy to shared memory, or from there.
    Copy {
        /// Its bytes, if they are known.
        bytes: Option<u32>,
        /// Whether it goes to global memory.
        stores: bool,
    },
    /// An answer about the next cluster.
    Grant,
    /// A multiply.
    Multiply,
    /// Another operation of the tensor core.
    Rearrange,
    /// Something arrives when what was started before is over.
    Commit,
    /// A load of Tensor Memory.
    Load,
    /// A store to Tensor Memory.
    Store,
}

impl Activity {
    /// Whether someone waits.
    pub const fn is_wait(self) -> bool {
        match self {
            Self::Mbarrier { .. }
            | Self::Named(_)
            | Self::Cluster
            | Self::Warp
            | Self::Copied
            | Self::Moved
            | Self::Columns(_)
            | Self::Registers(_)
            | Self::Memory => true,
            Self::Copy { .. }
            | Self::Grant
            | Self::Multiply
            | Self::Rearrange
            | Self::Commit
            | Self::Load
            | Self::Store => false,
        }
    }
}

/// Something that took no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Whose it is: an index of [`Record::tracks`].
    pub track: u32,
    /// When.
    pub at: u64,
    /// What.
    pub what: Event,
    /// The instruction.
    pub span: Span,
    pub step: u32,
}

/// Something that was done to columns of Tensor Memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The rank of the CTA whose Tensor Memory it is.
    pub cta: u32,
    /// Who did it: an index of [`Record::tracks`].
    pub track: u32,
    /// When.
    pub at: u64,
    /// What.
    pub what: Column,
    /// The first column, and how many; pieces may overlap.
    pub columns: Vec<(u32, u32)>,
    /// The instruction.
    pub span: Span,
    pub step: u32,
}

/// What is done to columns of Tensor Memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// They are allocated.
    Allocate,
    /// An instruction reads or writes them.
    Access(Access),
    /// They are freed.
    Free,
}

/// What takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// An arrival at an mbarrier, or bytes that come to it.
    Arrive {
        /// An index of [`Record::barriers`].
        barrier: u32,
        /// The phase that it counts for.
        phase: u64,
    },
    /// An arrival at a barrier of the CTA, without waiting.
    NamedArrive(u32),
    /// A copy is started.
    Copy,
    /// Something is given to the tensor core.
    Tensor,
    /// A `tcgen05.commit` is given to it.
    Commit,
    /// Columns of Tensor Memory are allocated.
    Alloc,
    /// They are freed.
    Dealloc,
    /// Threads end.
    Exit,
    /// Something was found: here, or what it conflicts with.
    Finding {
        /// The rule.
        code: Code,
        /// Whether this is where it was found.
        is_primary: bool,
    },
}

/// Something that let someone go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where it happened: the track and the time.
    pub from: (u32, u64),
    /// Who could go on, and when.
    pub to: (u32, u64),
    /// The mbarrier, and the phase that was over; nothing if a warp started an operation.
    pub barrier: Option<(u32, u64)>,
}

/// An mbarrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// What people call it.
    pub name: String,
    /// The CTA that it is in.
    pub cta: u32,
    /// Where it is in its shared memory.
    pub offset: u32,
    /// Arrivals that a phase awaits.
    pub count: u32,
    /// Phases that were over at the end.
    pub phases: u64,
    /// What the phase lacks that was not over: arrivals and bytes.
    pub lacks: (u32, i64),
    /// Where it was initialised.
    pub init: Span,
}
