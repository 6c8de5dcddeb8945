//! The codes of the rules: what findings are called, whoever makes them.
//!
//! [`Code`] is the table: the number and the name under which a rule is known, how much its
//! findings matter by default, and what the assembler does with them. What a rule says and how it
//! looks is in its own file under [`rules`](crate::rules).

use std::fmt;

use serde::{Serialize, Serializer};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use super::{Ptxas, Severity};
use crate::descriptor::Check;

/// What is known of a code.
struct Facts {
    number: &'static str,
    name: &'static str,
    severity: Severity,
    ptxas: Ptxas,
}

/// Declares [`Code`] and the facts of each.
macro_rules! codes {
    ($($variant:ident $number:literal $name:literal $severity:ident $ptxas:ident,)+) => {
        /// The code of a rule: a name for it that is cheap to compare.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, IntoStaticStr)]
        #[allow(missing_docs, reason = "each is explained by its rule")]
        #[non_exhaustive]
        pub enum Code {
            $($variant,)+
        }

        static FACTS: &[Facts] = &[$(Facts {
            number: $number,
            name: $name,
            severity: Severity::$severity,
            ptxas: Ptxas::$ptxas,
        },)+];
    };
}

// A number is never used again for another rule.
codes! {
    // SIM1 Progress
    Deadlock "SIM101" "deadlock" Error Silent,
    WorkOutstandingAtExit "SIM102" "work-outstanding-at-exit" Error Silent,
    RegistersNeverGranted "SIM103" "registers-never-granted" Error Silent,
    DivergentAligned "SIM104" "divergent-aligned" Error Silent,
    // SIM2 Races
    SharedMemoryRace "SIM201" "shared-memory-race" Error Silent,
    TensorMemoryRace "SIM202" "tensor-memory-race" Error Silent,
    ProxyFenceMissing "SIM203" "proxy-fence-missing" Error Silent,
    GlobalMemoryRace "SIM204" "global-memory-race" Error Silent,
    // SIM3 Tensor Memory
    TensorMemoryUnallocated "SIM301" "tensor-memory-unallocated" Error Silent,
    TensorMemoryNotFreed "SIM302" "tensor-memory-not-freed" Error Silent,
    DeallocNotAllocated "SIM303" "dealloc-not-allocated" Error Silent,
    AllocationNeverSatisfied "SIM304" "allocation-never-satisfied" Error Silent,
    WrongLanes "SIM305" "wrong-lanes" Error Silent,
    TensorMemoryUninitialized "SIM306" "tensor-memory-uninitialized" Error Silent,
    ResultUnread "SIM307" "result-unread" Warning Silent,
    // SIM4 Barriers
    BarrierUninitialized "SIM401" "barrier-uninitialized" Error Silent,
    BarrierReused "SIM402" "barrier-reused" Error Silent,
    ArrivalOverflow "SIM403" "arrival-overflow" Error Silent,
    TransactionMismatch "SIM404" "transaction-mismatch" Error Silent,
    PhaseOvertaken "SIM405" "phase-overtaken" Error Silent,
    NamedBarrierMisuse "SIM406" "named-barrier-misuse" Error Silent,
    // SIM5 Addresses and layouts
    OutOfBounds "SIM501" "out-of-bounds" Error Silent,
    Misaligned "SIM502" "misaligned" Error Silent,
    DescriptorOutOfBounds "SIM503" "descriptor-out-of-bounds" Error Silent,
    LayoutMismatch "SIM504" "layout-mismatch" Error Silent,
    SharedMemoryUninitialized "SIM505" "shared-memory-uninitialized" Error Silent,
    InvalidDescriptor "SIM506" "invalid-descriptor" Error Silent,
    OperandOverlap "SIM507" "operand-overlap" Error Silent,
    NanOrInfinity "SIM508" "nan-or-infinity" Off Silent,
    // TC0 Syntax
    SyntaxError "TC001" "syntax-error" Error Rejects,
    InvalidToken "TC002" "invalid-token" Error Rejects,
    ModuleHeader "TC003" "module-header" Error Rejects,
    UndeclaredName "TC004" "undeclared-name" Error Rejects,
    AnalysisLimit "TC005" "analysis-limit" Info Silent,
    // TC1 Form of one instruction
    UnknownInstruction "TC101" "unknown-instruction" Error Rejects,
    UnknownQualifier "TC102" "unknown-qualifier" Error Rejects,
    QualifierNotAllowed "TC103" "qualifier-not-allowed" Error Rejects,
    MissingQualifier "TC104" "missing-qualifier" Error Rejects,
    RepeatedQualifier "TC105" "repeated-qualifier" Error Rejects,
    OperandCount "TC106" "operand-count" Error Rejects,
    OperandKind "TC107" "operand-kind" Error Rejects,
    OperandType "TC108" "operand-type" Error Rejects,
    VectorLength "TC109" "vector-length" Error Rejects,
    ImmediateRange "TC110" "immediate-range" Error Rejects,
    VectorElement "TC111" "vector-element" Error Rejects,
    StateSpace "TC112" "state-space" Error Rejects,
    CommitMask "TC113" "commit-mask" Warning Silent,
    AddressNotConverted "TC114" "address-not-converted" Info Silent,
    UnknownOperation "TC121" "unknown-operation" Error Rejects,
    UnknownModifier "TC122" "unknown-modifier" Error Rejects,
    MissingModifier "TC123" "missing-modifier" Error Rejects,
    OperandsMisfit "TC124" "operands-misfit" Error Rejects,
    ModifiersExclude "TC125" "modifiers-exclude" Error Rejects,
    RegisterType "TC126" "register-type" Error Rejects,
    ImmediateOutOfRange "TC127" "immediate-out-of-range" Error Rejects,
    VectorSize "TC128" "vector-size" Error Rejects,
    // TC2 Target and version
    InstructionUnsupportedOnTarget "TC201" "instruction-unsupported-on-target" Error Rejects,
    FeatureUnsupportedOnTarget "TC202" "feature-unsupported-on-target" Error Rejects,
    VersionTooOld "TC203" "version-too-old" Error Rejects,
    TargetNeedsNewerVersion "TC204" "target-needs-newer-version" Error Rejects,
    UnknownTarget "TC205" "unknown-target" Error Rejects,
    // TC3 Tensor Memory allocation
    NcolsInvalid "TC301" "ncols-invalid" Error Rejects,
    NcolsIncreases "TC302" "ncols-increases" Error Silent,
    AllocAfterRelinquish "TC303" "alloc-after-relinquish" Error Silent,
    MissingDealloc "TC304" "missing-dealloc" Error Silent,
    DeallocSizeMismatch "TC305" "dealloc-size-mismatch" Error Silent,
    OverAllocation "TC306" "over-allocation" Error Silent,
    TensorMemoryWithoutAlloc "TC307" "tensor-memory-without-alloc" Warning Silent,
    UseAfterDealloc "TC308" "use-after-dealloc" Error Silent,
    DeallocRacesAccess "TC309" "dealloc-races-access" Warning Silent,
    MixedCtaGroup "TC310" "mixed-cta-group" Error Rejects,
    CtaGroup2WithoutCluster "TC311" "cta-group-2-without-cluster" Warning Silent,
    SlotReadTooEarly "TC312" "slot-read-too-early" Error Silent,
    LiteralTmemAddress "TC313" "literal-tmem-address" Off Silent,
    DeallocAddress "TC314" "dealloc-address" Error Silent,
    // TC4 Data movement
    ShapeNum "TC401" "shape-num" Error Rejects,
    HalfSplitOffset "TC402" "half-split-offset" Error Rejects,
    CpMulticast "TC403" "cp-multicast" Error Rejects,
    CpFormat "TC404" "cp-format" Error Rejects,
    ShiftLaneAlignment "TC405" "shift-lane-alignment" Error Silent,
    ColumnRange "TC406" "column-range" Error Silent,
    SpcompressTypes "TC407" "spcompress-types" Error Rejects,
    LaneRestriction "TC408" "lane-restriction" Error Silent,
    OutsideTensorMemory "TC409" "outside-tensor-memory" Error Silent,
    LanesOfAnotherWarp "TC410" "lanes-of-another-warp" Error Silent,
    LanesOfFirstWarp "TC411" "lanes-of-first-warp" Info Silent,
    NeverWritten "TC412" "never-written" Warning Silent,
    // TC5 Matrix multiply
    BlockScale "TC501" "block-scale" Error Rejects,
    ScaleVectorSize "TC502" "scale-vector-size" Error Rejects,
    WeightStationary "TC503" "weight-stationary" Error Rejects,
    CollectorBuffer "TC504" "collector-buffer" Error Rejects,
    Ashift "TC505" "ashift" Error Rejects,
    ScaleInputD "TC506" "scale-input-d" Error Rejects,
    CollectorUseWithoutFill "TC507" "collector-use-without-fill" Warning Silent,
    Decompress "TC508" "decompress" Error Rejects,
    // TC6 Descriptor values
    IdescReservedBits "TC601" "idesc-reserved-bits" Error Silent,
    IdescTypes "TC602" "idesc-types" Error Silent,
    IdescShape "TC603" "idesc-shape" Error Silent,
    IdescSparsity "TC604" "idesc-sparsity" Error Silent,
    IdescTransposeNegate "TC605" "idesc-transpose-negate" Error Silent,
    IdescSaturateShift "TC606" "idesc-saturate-shift" Error Silent,
    IdescScale "TC607" "idesc-scale" Error Silent,
    IdescK96 "TC608" "idesc-k96" Error Silent,
    IdescAshiftM "TC609" "idesc-ashift-m" Error Silent,
    SparsitySelector "TC610" "sparsity-selector" Error Silent,
    SmemDescFixedBits "TC611" "smem-desc-fixed-bits" Error Silent,
    SmemDescSwizzle "TC612" "smem-desc-swizzle" Error Silent,
    SmemDescAbsoluteStride "TC613" "smem-desc-absolute-stride" Error Silent,
    SmemDescSwizzleType "TC614" "smem-desc-swizzle-type" Error Silent,
    ZeroColumnMask "TC615" "zero-column-mask" Error Silent,
    AccumulatorColumns "TC616" "accumulator-columns" Error Silent,
    LaneAlignment "TC617" "lane-alignment" Error Silent,
    TransposedAInTensorMemory "TC618" "transposed-a-in-tensor-memory" Warning Silent,
    SwizzledStride "TC619" "swizzled-stride" Warning Silent,
    SmemDescAlignment "TC620" "smem-desc-alignment" Error Silent,
    SwizzleStart "TC621" "swizzle-start" Warning Silent,
    SwizzledCopyStart "TC622" "swizzled-copy-start" Info Silent,
    // TC7 Ordering
    TmemReusedBeforeWaitLd "TC701" "tmem-reused-before-wait-ld" Error Silent,
    MissingWaitSt "TC702" "missing-wait-st" Error Silent,
    ResultReadEarly "TC703" "result-read-early" Error Silent,
    MissingCommit "TC704" "missing-commit" Warning Silent,
    FenceBeforeWait "TC706" "fence-before-wait" Warning Silent,
    MissingProxyFence "TC707" "missing-proxy-fence" Warning Silent,
    MissingAfterFence "TC708" "missing-after-fence" Off Silent,
    SignalBeforeWait "TC709" "signal-before-wait" Info Silent,
    NoMbarrierWait "TC710" "no-mbarrier-wait" Warning Silent,
    NotPipelined "TC711" "not-pipelined" Error Silent,
    WaitedByAnotherWarp "TC712" "waited-by-another-warp" Warning Silent,
    SourceOverwritten "TC713" "source-overwritten" Error Silent,
    HandedOverBeforeWait "TC714" "handed-over-before-wait" Warning Silent,
    CopyNeverWaitedFor "TC715" "copy-never-waited-for" Warning Silent,
    AccumulatesFromStart "TC716" "accumulates-from-start" Warning Silent,
    LoadedRegisterReadEarly "TC717" "loaded-register-read-early" Off Silent,
    BulkSourceOverwritten "TC718" "bulk-source-overwritten" Warning Silent,
    // TC8 Who issues it
    AlignedInOneThread "TC801" "aligned-in-one-thread" Error Silent,
    IssuedByEveryThread "TC802" "issued-by-every-thread" Warning Silent,
    OperandDiffersInWarp "TC803" "operand-differs-in-warp" Error Silent,
    AllocatedByEveryWarp "TC804" "allocated-by-every-warp" Error Silent,
    AlignedInPartOfWarp "TC805" "aligned-in-part-of-warp" Error Silent,
    IssuedBySeveralThreads "TC806" "issued-by-several-threads" Warning Silent,
    PairInOneCta "TC807" "pair-in-one-cta" Error Silent,
    PairMultipliedTwice "TC808" "pair-multiplied-twice" Warning Silent,
    PairNotSynchronised "TC809" "pair-not-synchronised" Info Silent,
    // TC82 Registers of warps
    SetmaxnregIgnored "TC821" "setmaxnreg-ignored" Warning Silent,
    SetmaxnregPartOfWarpgroup "TC822" "setmaxnreg-part-of-warpgroup" Info Silent,
    RegisterBudgetExceeded "TC823" "register-budget-exceeded" Warning Silent,
    TooFewRegisters "TC824" "too-few-registers" Error Rejects,
    // TC83 Barriers
    MbarrierCount "TC831" "mbarrier-count" Error Silent,
    BarrierNumber "TC832" "barrier-number" Error Silent,
    MbarrierNeverSignalled "TC833" "mbarrier-never-signalled" Warning Silent,
    CommitNotWaitedFor "TC834" "commit-not-waited-for" Warning Silent,
    WrongParity "TC835" "wrong-parity" Warning Silent,
    MbarrierNotInitialised "TC836" "mbarrier-not-initialised" Error Silent,
    ArrivalNotWaitedFor "TC837" "arrival-not-waited-for" Warning Silent,
    MoreArrivalsThanExpected "TC838" "more-arrivals-than-expected" Error Silent,
    WaitResultUnread "TC839" "wait-result-unread" Warning Silent,
    ArrivalScopeTooSmall "TC840" "arrival-scope-too-small" Warning Silent,
    CommitForAnotherPair "TC841" "commit-for-another-pair" Error Silent,
    ArrivalForOtherLanes "TC842" "arrival-for-other-lanes" Warning Silent,
    MulticastReleasedLocally "TC843" "multicast-released-locally" Warning Silent,
    // TC9 Style
    QualifierOrder "TC901" "qualifier-order" Info Silent,
    FamilyPortability "TC902" "family-portability" Off Silent,
    UnusedSuppression "TC903" "unused-suppression" Warning Silent,
    // TC95 Inline assembly in host files; the assembler is nvcc's
    OperandNotListed "TC951" "operand-not-listed" Error Rejects,
    OperandNotUsed "TC952" "operand-not-used" Warning Silent,
    ConstraintType "TC953" "constraint-type" Error Rejects,
    PercentEscape "TC954" "percent-escape" Error Rejects,
    MissingVolatile "TC955" "missing-volatile" Warning Silent,
    MissingMemoryClobber "TC956" "missing-memory-clobber" Off Silent,
    MissingComma "TC957" "missing-comma" Off Silent,
    LabelNotUnique "TC958" "label-not-unique" Warning Silent,
    ScopeNotClosed "TC959" "scope-not-closed" Warning Silent,
    MissingSideeffect "TC960" "missing-sideeffect" Warning Silent,
    MissingConvergent "TC961" "missing-convergent" Warning Silent,
}

impl Code {
    /// Every code.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// `TC301`
    pub fn as_str(self) -> &'static str {
        self.facts().number
    }

    /// `ncols-invalid`
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// How much its findings matter by default.
    pub fn severity(self) -> Severity {
        self.facts().severity
    }

    /// What the assembler does with its findings, unless one says otherwise.
    pub fn ptxas(self) -> Ptxas {
        self.facts().ptxas
    }

    /// The rule that answers a question about descriptors.
    pub fn of_descriptors(check: Check) -> Self {
        match check {
            Check::ReservedBits => Self::IdescReservedBits,
            Check::Types => Self::IdescTypes,
            Check::Shape => Self::IdescShape,
            Check::Sparsity => Self::IdescSparsity,
            Check::TransposeNegate => Self::IdescTransposeNegate,
            Check::SaturateShift => Self::IdescSaturateShift,
            Check::Scale => Self::IdescScale,
            Check::K96 => Self::IdescK96,
            Check::AshiftM => Self::IdescAshiftM,
            Check::SparsitySelector => Self::SparsitySelector,
            Check::FixedBits => Self::SmemDescFixedBits,
            Check::Swizzle => Self::SmemDescSwizzle,
            Check::AbsoluteStride => Self::SmemDescAbsoluteStride,
            Check::SwizzleType => Self::SmemDescSwizzleType,
            Check::ZeroColumnMask => Self::ZeroColumnMask,
            Check::TensorMemoryAddress => Self::OutsideTensorMemory,
        }
    }

    /// Whether it shows in runs of a kernel only, which no check makes.
    pub fn is_about_runs(self) -> bool {
        self.as_str().starts_with("SIM")
    }

    /// The page of the rule in the project's documentation.
    pub fn url(self) -> String {
        format!("https://ptx-tc.github.io/rules/{}", self.as_str())
    }

    /// The code written `TC301`, or the name written `ncols-invalid`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::iter().find(|code| code.as_str().eq_ignore_ascii_case(text) || code.name() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted() {
        for pair in FACTS.windows(2) {
            assert!(pair[0].number < pair[1].number, "{} before {}", pair[0].number, pair[1].number);
        }
    }

    #[test]
    fn names_are_unique() {
        for code in Code::all() {
            assert_eq!(Code::parse(code.name()), Some(code));
            assert_eq!(Code::parse(code.as_str()), Some(code));
        }
    }
}
