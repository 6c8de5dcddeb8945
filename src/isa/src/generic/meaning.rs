//! What an instruction does: the small enums that analyses match on.

/// What the first destination of an instruction is made of: the functions that analyses know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// Something that nothing here asks for.
    Other,
    /// `mov`: a copy, packed or unpacked.
    Move,
    /// `cvt`
    Convert,
    /// `cvta`: the same address in another window.
    ConvertAddress,
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
    /// `not`
    Not,
    /// Of the bits of a number.
    Bits(Bits),
    /// Of integers.
    Arithmetic(Arithmetic),
    /// `selp`
    Select,
    /// `setp`
    Compare,
    /// `shfl`: the value of another lane.
    Shuffle,
    /// What stands in memory.
    Load,
    /// `elect`
    Elect,
}

/// What is made of the bits of a number, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// `lop3`
    Lop3,
    /// `shl`
    ShiftLeft,
    /// `shr`
    ShiftRight,
    /// `shf`
    FunnelShift,
    /// `bfe`
    Extract,
    /// `bfi`
    Insert,
    /// `prmt`
    Permute,
    /// `brev`
    Reverse,
}

/// What is computed of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The negative.
    Negate,
    /// The product.
    Multiply,
    /// The sum of a product and a third one.
    MultiplyAdd,
    /// The quotient.
    Divide,
    /// What a division leaves.
    Remainder,
    /// The less of two.
    Minimum,
    /// The greater of two.
    Maximum,
}

/// What becomes of a number in a computation whose other operands are constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stays, perhaps in another width.
    Copied,
    /// A constant is added or subtracted.
    Moved,
    /// Only the bits of a mask stay.
    Masked,
    /// The bits from a constant on.
    High,
    /// Its quotient.
    Divided,
    /// What its division leaves.
    Left,
    /// Something else.
    Other,
}

impl Computation {
    /// What becomes of its first operand, if the others are constants.
    pub const fn change(self) -> Change {
        match self {
            Self::Move | Self::Convert => Change::Copied,
            Self::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => Change::Moved,
            Self::And => Change::Masked,
            Self::Bits(Bits::ShiftRight | Bits::Extract) => Change::High,
            Self::Arithmetic(Arithmetic::Divide) => Change::Divided,
            Self::Arithmetic(Arithmetic::Remainder) => Change::Left,
            Self::Other
            | Self::ConvertAddress
            | Self::Or
            | Self::Xor
            | Self::Not
            | Self::Bits(_)
            | Self::Arithmetic(_)
            | Self::Select
            | Self::Compare
            | Self::Shuffle
            | Self::Load
            | Self::Elect => Change::Other,
        }
    }
}

/// What is executed after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The next one.
    Next,
    /// The one at a label.
    Branch,
    /// The one at one of several labels.
    IndexedBranch,
    /// Another function, and then the next one.
    Call,
    /// What follows the call of this function.
    Return,
    /// Nothing.
    Exit,
    /// Nothing: the grid is stopped.
    Trap,
}

impl Control {
    /// Whether a thread leaves the function by it, as one does that has done its work.
    pub fn leaves(self) -> bool {
        match self {
            Self::Return | Self::Exit => true,
            Self::Next | Self::Branch | Self::IndexedBranch | Self::Call | Self::Trap => false,
        }
    }
}

/// With whom an instruction synchronises, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronization {
    /// With nobody.
    None,
    /// Arrives at a barrier of the CTA and waits there.
    BarrierSync,
    /// Arrives at a barrier of the CTA.
    BarrierArrive,
    /// Arrives at the barrier of the cluster.
    ClusterArrive,
    /// Waits at the barrier of the cluster.
    ClusterWait,
    /// Waits for the other threads of the warp.
    WarpBarrier,
    /// Waits for the other threads of the warp, to do something together with them.
    WarpCollective,
    /// Makes an mbarrier.
    MbarrierInit,
    /// Ends an mbarrier.
    MbarrierInvalidate,
    /// Makes an mbarrier expect transactions.
    MbarrierExpectTransactions,
    /// Makes transactions of an mbarrier happen.
    MbarrierCompleteTransactions,
    /// Arrives at an mbarrier.
    MbarrierArrive,
    /// Asks whether a phase of an mbarrier is over.
    MbarrierWait,
    /// Asks an mbarrier for something else.
    MbarrierQuery,
    /// Orders the accesses of the thread.
    Fence,
    /// Makes the initialisation of mbarriers visible.
    MbarrierInitFence,
    /// Orders accesses through different proxies.
    ProxyFence,
    /// Starts a copy of some bytes.
    AsyncCopy,
    /// Makes a group of copies.
    AsyncCopyCommit,
    /// Waits for copies.
    AsyncCopyWait,
    /// Makes an mbarrier follow copies.
    AsyncCopyArrive,
    /// Starts a copy or reduction in bulk.
    BulkCopy,
    /// Makes a group of copies in bulk.
    BulkCommit,
    /// Waits for copies in bulk.
    BulkWait,
    /// Starts a store or reduction of a value.
    AsyncStore,
    /// Starts an operation through the fabric.
    FabricStart,
    /// Submits operations through the fabric.
    FabricSubmit,
    /// Waits for operations through the fabric.
    FabricWait,
    /// Orders the registers of a warpgroup's multiplications.
    WarpgroupFence,
    /// Starts a multiplication of the warpgroup.
    WarpgroupMultiply,
    /// Makes a group of multiplications.
    WarpgroupCommit,
    /// Waits for multiplications.
    WarpgroupWait,
    /// Gives registers away, or waits for some.
    RegisterChange,
    /// Lets dependent grids start, or waits for the grids before.
    DependentGrids,
    /// Asks for the CTA of a cluster that has not started.
    ClusterLaunch,
    /// What the table of tcgen05 says.
    Tensor,
}

/// How what an instruction writes differs between the threads of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// As its sources do: it depends on them alone.
    AsSources,
    /// As what stands in memory does.
    Memory,
    /// Not at all between the threads that take part.
    Same,
    /// One thread gets something else than the others.
    Elected,
    /// Each thread gets what another one has.
    Exchanged,
    /// By its nature.
    Differ,
}
