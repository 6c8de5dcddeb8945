//! The instruction table.
//!
//! One row for each [`Operation`]: which qualifiers it takes, in the ISA's order, and which
//! operands. A row is exact about what an instruction takes at all; what only certain
//! combinations forbid is the business of the rules on typed instructions. Qualifiers of a
//! neighbouring form that people write by mistake are listed as [`Misfit`]s with the rule that
//! explains them.

use serde::Serialize;

use super::vocabulary::{
    AddressSpace, CtaGroup, DataType, Kind, LdShape, Multicast, Operation, Qualifier, Slot,
};
use ptx_text::types::Type;

/// One row of the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct InstructionForm {
    /// What it does.
    pub operation: Operation,
    /// The section of the ISA that defines it.
    pub section: &'static str,
    /// The anchor of that section in the online ISA.
    pub anchor: &'static str,
    /// The qualifiers, in the ISA's order.
    pub qualifiers: &'static [QualifierSlot],
    /// Qualifiers that related instructions take, and why this one does not.
    pub misfits: &'static [Misfit],
    /// The operands, in order.
    pub operands: &'static [OperandSlot],
}

/// A position for a qualifier.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QualifierSlot {
    /// The group of which one may stand here.
    pub slot: Slot,
    /// Which of the group; empty for all of them.
    pub only: &'static [Qualifier],
    /// Whether one has to.
    pub required: bool,
}

/// Qualifiers that the row does not take, to be explained by a rule of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Which.
    pub matches: Matcher,
    /// What is violated.
    pub restriction: Restriction,
    /// Why, as the help of the finding.
    pub reason: &'static str,
}

/// A set of qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matcher {
    /// All of a slot.
    Slot(Slot),
    /// These.
    Any(&'static [Qualifier]),
}

impl Matcher {
    /// Whether `qualifier` is in the set.
    pub fn contains(self, qualifier: Qualifier) -> bool {
        match self {
            Self::Slot(slot) => qualifier.slot() == slot,
            Self::Any(qualifiers) => qualifiers.contains(&qualifier),
        }
    }
}

/// A position for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperandSlot {
    /// The ISA's name for it.
    pub name: &'static str,
    /// What may stand there.
    pub class: OperandClass,
    /// Whether the form has it.
    pub when: Condition,
    /// Whether it may be left out where the form has it.
    pub optional: bool,
    /// What is violated when the operand stands where the form has none, or the other way round;
    /// `None` where only the number of operands is wrong. Such operands come and go with a
    /// qualifier, so that an operand too much can be told from a qualifier that is missing.
    pub restriction: Option<Restriction>,
}

/// What a qualifier or an operand violates that a related form takes, but this one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// The second half's offset goes with `.16x32bx2`.
    HalfSplitOffset,
    /// Scales, and the absence of a lane mask, go with block scaling.
    BlockScale,
    /// The scaling of D goes with certain kinds.
    ScaleInputD,
    /// The weight-stationary form has fewer variants.
    WeightStationary,
    /// Each form has collector buffers of its own.
    CollectorBuffer,
    /// Each address has its own state space.
    StateSpace,
}

/// On what the presence of an operand depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// On nothing: it is always there.
    Always,
    /// On this qualifier.
    With(Qualifier),
    /// On some qualifier of this slot.
    WithSlot(Slot),
    /// On `.multicast::cluster` or `::16b`.
    Multicast16,
    /// On block scaling: a kind that scales or `.block_scale` itself.
    BlockScaled,
    /// On the absence of block scaling.
    NotBlockScaled,
    /// On a kind whose accumulator can be scaled (9.7.16.10.9.1).
    ScaledInput,
}

/// What may stand in an operand position. The facts of each are in [`OperandClass::facts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperandClass {
    /// `[dst]` of `alloc`.
    AllocDestination,
    /// `[mbar]` of `commit`.
    Mbarrier,
    /// `[taddr]` of `ld`, `st`, `cp` and `shift`.
    TmemAddress,
    /// `[d-tmem]` and the other addresses of `mma`.
    MmaAddress,
    /// `a-desc` or `[a-tmem]`.
    MatrixA,
    /// `taddr` of `dealloc`: the address itself, without brackets.
    TmemHandle,
    /// The number of columns.
    Columns,
    /// The vector that a load writes.
    LoadVector,
    /// The metadata vector that a compressing load writes.
    MetadataVector,
    /// The vector that a store reads.
    StoreVector,
    /// The result of a reduction.
    ReductionResult,
    /// `immHalfSplitoff`.
    HalfSplitOffset,
    /// A shared-memory descriptor.
    SharedMemoryDescriptor,
    /// `idesc`
    InstructionDescriptor,
    /// `disable-output-lane`
    LaneMask,
    /// `enable-input-d`
    EnableInputD,
    /// `scale-input-d`
    ScaleInputD,
    /// `zero-column-mask-desc`
    ZeroColumnMask,
    /// `ctaMask` of 16 bits.
    CtaMask16,
    /// `ctaMask` of 32 bits.
    CtaMask32,
}

/// The syntactic shape that a class wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `[base+offset]`
    Address,
    /// A value without brackets.
    Value,
    /// A value without brackets, or `[base+offset]`.
    ValueOrAddress,
    /// `{a, b, ...}`
    Vector,
    /// A value or a vector of one.
    ValueOrVector,
}

/// What may stand in an operand position.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClassFacts {
    /// The syntactic shape.
    pub shape: Shape,
    /// What the operand is called in a message, with its article.
    pub noun: &'static str,
    /// Types of the registers that may stand there: by themselves, as the base of the address, or
    /// as elements of the vector.
    pub registers: &'static [Type],
    /// Whether an immediate integer may stand there.
    pub immediate: bool,
    /// Whether a shared variable may be the base of the address.
    pub variable: bool,
    /// Whether `register + constant` or `variable + constant` may stand there without brackets.
    pub sum: bool,
}

const INT_16: &[Type] = &[Type::B16, Type::U16, Type::S16];
const INT_32: &[Type] = &[Type::B32, Type::U32, Type::S32];
const INT_64: &[Type] = &[Type::B64, Type::U64, Type::S64];
const INT_32_64: &[Type] = &[Type::B32, Type::U32, Type::S32, Type::B64, Type::U64, Type::S64];
const ANY_32: &[Type] = &[Type::B32, Type::U32, Type::S32, Type::F32, Type::F16x2];

impl OperandClass {
    /// What may stand there.
    pub const fn facts(self) -> ClassFacts {
        match self {
            Self::AllocDestination => address("an address in shared memory", INT_32_64, true),
            Self::Mbarrier => address("the address of an mbarrier in shared memory", INT_32_64, true),
            Self::TmemAddress => address("a Tensor Memory address in brackets", INT_32, false),
            // The assembler takes no .u32 or .s32 here, unlike everywhere else.
            Self::MmaAddress => address("a Tensor Memory address in brackets", &[Type::B32], false),
            Self::MatrixA => ClassFacts {
                shape: Shape::ValueOrAddress,
                noun: "a 64-bit shared-memory descriptor or a Tensor Memory address in brackets",
                registers: INT_64,
                immediate: true,
                variable: false,
                sum: false,
            },
            Self::TmemHandle => {
                value("a 32-bit register that holds a Tensor Memory address", INT_32, true, true)
            }
            Self::Columns => value("an immediate or a 32-bit register", INT_32, true, true),
            Self::LoadVector | Self::MetadataVector => ClassFacts {
                shape: Shape::Vector,
                noun: "a vector of 32-bit registers in braces",
                registers: ANY_32,
                immediate: false,
                variable: false,
                sum: false,
            },
            Self::StoreVector | Self::LaneMask => ClassFacts {
                shape: Shape::Vector,
                noun: "a vector of 32-bit registers in braces",
                registers: ANY_32,
                immediate: true,
                variable: false,
                sum: false,
            },
            Self::ReductionResult => ClassFacts {
                shape: Shape::ValueOrVector,
                noun: "a 32-bit register",
                registers: ANY_32,
                immediate: false,
                variable: false,
                sum: false,
            },
            Self::HalfSplitOffset => value("an immediate", &[], true, false),
            Self::SharedMemoryDescriptor => {
                value("a 64-bit register or immediate with a shared-memory descriptor", INT_64, true, false)
            }
            Self::InstructionDescriptor => {
                value("a 32-bit register or immediate with an instruction descriptor", INT_32, true, false)
            }
            Self::EnableInputD => value("a predicate", &[Type::Pred], true, false),
            Self::ScaleInputD => value("an immediate", &[], true, false),
            Self::ZeroColumnMask => {
                value("a 64-bit register or immediate with a zero-column mask", INT_64, true, false)
            }
            Self::CtaMask16 => value("a 16-bit register or immediate", INT_16, true, true),
            Self::CtaMask32 => value("a 32-bit register or immediate", INT_32, true, true),
        }
    }

    /// Whether the instruction writes the registers that stand there.
    pub const fn is_written(self) -> bool {
        match self {
            Self::LoadVector | Self::MetadataVector | Self::ReductionResult => true,
            Self::AllocDestination
            | Self::Mbarrier
            | Self::TmemAddress
            | Self::MmaAddress
            | Self::MatrixA
            | Self::TmemHandle
            | Self::Columns
            | Self::StoreVector
            | Self::HalfSplitOffset
            | Self::SharedMemoryDescriptor
            | Self::InstructionDescriptor
            | Self::LaneMask
            | Self::EnableInputD
            | Self::ScaleInputD
            | Self::ZeroColumnMask
            | Self::CtaMask16
            | Self::CtaMask32 => false,
        }
    }

    /// Types of the registers that may be the base of the address, where a class takes both a
    /// value and an address.
    pub const fn address_registers(self) -> &'static [Type] {
        match self {
            Self::MatrixA => &[Type::B32],
            _ => self.facts().registers,
        }
    }
}

const fn value(noun: &'static str, registers: &'static [Type], immediate: bool, sum: bool) -> ClassFacts {
    ClassFacts { shape: Shape::Value, noun, registers, immediate, variable: false, sum }
}

const fn address(noun: &'static str, registers: &'static [Type], variable: bool) -> ClassFacts {
    ClassFacts { shape: Shape::Address, noun, registers, immediate: false, variable, sum: false }
}

const fn required(slot: Slot) -> QualifierSlot {
    QualifierSlot { slot, only: &[], required: true }
}

const fn required_of(slot: Slot, only: &'static [Qualifier]) -> QualifierSlot {
    QualifierSlot { slot, only, required: true }
}

const fn optional(slot: Slot) -> QualifierSlot {
    QualifierSlot { slot, only: &[], required: false }
}

const fn optional_of(slot: Slot, only: &'static [Qualifier]) -> QualifierSlot {
    QualifierSlot { slot, only, required: false }
}

const fn operand(name: &'static str, class: OperandClass) -> OperandSlot {
    OperandSlot { name, class, when: Condition::Always, optional: false, restriction: None }
}

impl OperandSlot {
    const fn when(self, when: Condition) -> Self {
        Self { when, ..self }
    }

    const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    const fn restriction(self, restriction: Restriction) -> Self {
        Self { restriction: Some(restriction), ..self }
    }
}

const B32: &[Qualifier] = &[Qualifier::DataType(DataType::B32)];
const B64: &[Qualifier] = &[Qualifier::DataType(DataType::B64)];
const REDUCED_TYPES: &[Qualifier] = &[
    Qualifier::DataType(DataType::F32),
    Qualifier::DataType(DataType::U32),
    Qualifier::DataType(DataType::S32),
];

const HALF_SPLIT_OFFSET: OperandSlot = operand("immHalfSplitoff", OperandClass::HalfSplitOffset)
    .when(Condition::With(Qualifier::LdShape(LdShape::S16x32bx2)))
    .restriction(Restriction::HalfSplitOffset);

const NOT_WITH_WS: &str = "the weight-stationary form does not have it; write `tcgen05.mma` without `.ws`";

/// The table.
pub static INSTRUCTIONS: &[InstructionForm] = &[
    InstructionForm {
        operation: Operation::Alloc,
        section: "9.7.16.7.1",
        anchor: "tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit",
        qualifiers: &[
            optional(Slot::Exclusive),
            required(Slot::CtaGroup),
            required(Slot::Sync),
            required(Slot::Aligned),
            optional_of(Slot::AddressSpace, &[Qualifier::AddressSpace(AddressSpace::SharedCta)]),
            required_of(Slot::DataType, B32),
        ],
        misfits: &[Misfit {
            matches: Matcher::Slot(Slot::AddressSpace),
            restriction: Restriction::StateSpace,
            reason: "the address is written to the CTA's own shared memory: write `.shared::cta`, or nothing for a generic address",
        }],
        operands: &[operand("dst", OperandClass::AllocDestination), operand("nCols", OperandClass::Columns)],
    },
    InstructionForm {
        operation: Operation::Dealloc,
        section: "9.7.16.7.1",
        anchor: "tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit",
        qualifiers: &[
            optional(Slot::Exclusive),
            required(Slot::CtaGroup),
            required(Slot::Sync),
            required(Slot::Aligned),
            required_of(Slot::DataType, B32),
        ],
        misfits: &[],
        operands: &[operand("taddr", OperandClass::TmemHandle), operand("nCols", OperandClass::Columns)],
    },
    InstructionForm {
        operation: Operation::RelinquishAllocPermit,
        section: "9.7.16.7.1",
        anchor: "tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit",
        qualifiers: &[required(Slot::CtaGroup), required(Slot::Sync), required(Slot::Aligned)],
        misfits: &[],
        operands: &[],
    },
    InstructionForm {
        operation: Operation::Ld,
        section: "9.7.16.8.3",
        anchor: "tcgen05-instructions-tcgen05-ld",
        qualifiers: &[
            required(Slot::Sync),
            required(Slot::Aligned),
            required(Slot::LdShape),
            required(Slot::Num),
            optional(Slot::Pack),
            required_of(Slot::DataType, B32),
        ],
        misfits: &[],
        operands: &[
            operand("r", OperandClass::LoadVector),
            operand("taddr", OperandClass::TmemAddress),
            HALF_SPLIT_OFFSET,
        ],
    },
    InstructionForm {
        operation: Operation::LdRed,
        section: "9.7.16.8.3",
        anchor: "tcgen05-instructions-tcgen05-ld",
        qualifiers: &[
            required(Slot::Sync),
            required(Slot::Aligned),
            required(Slot::LdShape),
            required(Slot::Num),
            required(Slot::RedOp),
            optional(Slot::Abs),
            optional(Slot::Nan),
            required_of(Slot::DataType, REDUCED_TYPES),
        ],
        misfits: &[],
        operands: &[
            operand("r", OperandClass::LoadVector),
            operand("redval", OperandClass::ReductionResult),
            operand("taddr", OperandClass::TmemAddress),
            HALF_SPLIT_OFFSET,
        ],
    },
    InstructionForm {
        operation: Operation::LdSpcompress,
        section: "9.7.18.8.3 (PTX ISA 9.4)",
        anchor: "tcgen05-instructions-tcgen05-ld",
        qualifiers: SPCOMPRESS_QUALIFIERS,
        misfits: &[],
        operands: &[
            operand("metadata", OperandClass::MetadataVector),
            operand("r", OperandClass::LoadVector),
            operand("taddr", OperandClass::TmemAddress),
        ],
    },
    InstructionForm {
        operation: Operation::LdRedSpcompress,
        section: "9.7.18.8.3 (PTX ISA 9.4)",
        anchor: "tcgen05-instructions-tcgen05-ld",
        qualifiers: RED_SPCOMPRESS_QUALIFIERS,
        misfits: &[],
        operands: &[
            operand("metadata", OperandClass::MetadataVector),
            operand("r", OperandClass::LoadVector),
            operand("redval", OperandClass::ReductionResult),
            operand("taddr", OperandClass::TmemAddress),
        ],
    },
    InstructionForm {
        operation: Operation::St,
        section: "9.7.16.8.4",
        anchor: "tcgen05-instructions-tcgen05-st",
        qualifiers: &[
            required(Slot::Sync),
            required(Slot::Aligned),
            required(Slot::LdShape),
            required(Slot::Num),
            optional(Slot::Unpack),
            required_of(Slot::DataType, B32),
        ],
        misfits: &[],
        operands: &[
            operand("taddr", OperandClass::TmemAddress),
            HALF_SPLIT_OFFSET,
            operand("r", OperandClass::StoreVector),
        ],
    },
    InstructionForm {
        operation: Operation::WaitLd,
        section: "9.7.16.8.5",
        anchor: "tcgen05-instructions-tcgen05-wait",
        qualifiers: &[required(Slot::Sync), required(Slot::Aligned)],
        misfits: &[],
        operands: &[],
    },
    InstructionForm {
        operation: Operation::WaitSt,
        section: "9.7.16.8.5",
        anchor: "tcgen05-instructions-tcgen05-wait",
        qualifiers: &[required(Slot::Sync), required(Slot::Aligned)],
        misfits: &[],
        operands: &[],
    },
    InstructionForm {
        operation: Operation::Cp,
        section: "9.7.16.9.2",
        anchor: "tcgen05-instructions-tcgen05-cp",
        qualifiers: &[
            required(Slot::CtaGroup),
            required(Slot::CpShape),
            optional(Slot::WarpMulticast),
            optional(Slot::DstFormat),
            optional(Slot::SrcFormat),
        ],
        misfits: &[],
        operands: &[
            operand("taddr", OperandClass::TmemAddress),
            operand("s-desc", OperandClass::SharedMemoryDescriptor),
        ],
    },
    InstructionForm {
        operation: Operation::Shift,
        section: "9.7.16.9.3",
        anchor: "tcgen05-instructions-tcgen05-shift",
        qualifiers: &[required(Slot::CtaGroup), required(Slot::Direction)],
        misfits: &[],
        operands: &[operand("taddr", OperandClass::TmemAddress)],
    },
    InstructionForm {
        operation: Operation::Mma,
        section: "9.7.16.10.9.1",
        anchor: "tcgen05-mma-instructions-mma",
        qualifiers: &[
            optional(Slot::Sparse),
            required(Slot::CtaGroup),
            required(Slot::Kind),
            optional(Slot::BlockScale),
            optional(Slot::ScaleVectorSize),
            optional(Slot::Ashift),
            optional(Slot::CollectorA),
            optional(Slot::CollectorB),
            optional(Slot::Decompress),
        ],
        misfits: &[Misfit {
            matches: Matcher::Slot(Slot::CollectorWs),
            restriction: Restriction::CollectorBuffer,
            reason: "buffers `b0` to `b3` belong to `tcgen05.mma.ws`; without `.ws` the buffer of A is used: `.collector::a::*`",
        }],
        operands: &[
            operand("d-tmem", OperandClass::MmaAddress),
            operand("a", OperandClass::MatrixA),
            operand("b-desc", OperandClass::SharedMemoryDescriptor),
            operand("b-meta", OperandClass::MmaAddress).when(Condition::WithSlot(Slot::Decompress)),
            operand("sp-meta-tmem", OperandClass::MmaAddress).when(Condition::WithSlot(Slot::Sparse)),
            operand("idesc", OperandClass::InstructionDescriptor),
            operand("scale-A-tmem", OperandClass::MmaAddress)
                .when(Condition::BlockScaled)
                .restriction(Restriction::BlockScale),
            operand("scale-B-tmem", OperandClass::MmaAddress)
                .when(Condition::BlockScaled)
                .restriction(Restriction::BlockScale),
            operand("disable-output-lane", OperandClass::LaneMask)
                .when(Condition::NotBlockScaled)
                .optional()
                .restriction(Restriction::BlockScale),
            operand("enable-input-d", OperandClass::EnableInputD),
            operand("scale-input-d", OperandClass::ScaleInputD)
                .when(Condition::ScaledInput)
                .optional()
                .restriction(Restriction::ScaleInputD),
        ],
    },
    InstructionForm {
        operation: Operation::MmaWs,
        section: "9.7.16.10.9.3",
        anchor: "tcgen05-mma-instructions-mma-ws",
        qualifiers: &[
            optional(Slot::Sparse),
            required_of(Slot::CtaGroup, &[Qualifier::CtaGroup(CtaGroup::One)]),
            required_of(
                Slot::Kind,
                &[
                    Qualifier::Kind(Kind::F16),
                    Qualifier::Kind(Kind::Tf32),
                    Qualifier::Kind(Kind::F8f6f4),
                    Qualifier::Kind(Kind::I8),
                    Qualifier::Kind(Kind::Ti16),
                ],
            ),
            optional(Slot::CollectorWs),
        ],
        misfits: &[
            Misfit {
                matches: Matcher::Slot(Slot::CtaGroup),
                restriction: Restriction::WeightStationary,
                reason: "`.ws` works on one CTA: write `.cta_group::1`",
            },
            Misfit {
                matches: Matcher::Slot(Slot::Kind),
                restriction: Restriction::WeightStationary,
                reason: "`.ws` has no block-scaled kinds: use `.kind::f16`, `.kind::tf32`, `.kind::f8f6f4` or `.kind::i8`, or drop `.ws`",
            },
            Misfit {
                matches: Matcher::Slot(Slot::BlockScale),
                restriction: Restriction::WeightStationary,
                reason: NOT_WITH_WS,
            },
            Misfit {
                matches: Matcher::Slot(Slot::ScaleVectorSize),
                restriction: Restriction::WeightStationary,
                reason: NOT_WITH_WS,
            },
            Misfit {
                matches: Matcher::Slot(Slot::Ashift),
                restriction: Restriction::WeightStationary,
                reason: NOT_WITH_WS,
            },
            Misfit {
                matches: Matcher::Slot(Slot::Decompress),
                restriction: Restriction::WeightStationary,
                reason: NOT_WITH_WS,
            },
            Misfit {
                matches: Matcher::Slot(Slot::CollectorA),
                restriction: Restriction::CollectorBuffer,
                reason: "`.ws` keeps B, in one of four buffers: write `.collector::b0::*` to `.collector::b3::*`",
            },
            Misfit {
                matches: Matcher::Slot(Slot::CollectorB),
                restriction: Restriction::CollectorBuffer,
                reason: "`.ws` has four buffers for B, which are numbered: write `.collector::b0::*` to `.collector::b3::*`",
            },
        ],
        operands: &[
            operand("d-tmem", OperandClass::MmaAddress),
            operand("a", OperandClass::MatrixA),
            operand("b-desc", OperandClass::SharedMemoryDescriptor),
            operand("sp-meta-tmem", OperandClass::MmaAddress).when(Condition::WithSlot(Slot::Sparse)),
            operand("idesc", OperandClass::InstructionDescriptor),
            // No block-scaled or masked form exists with `.ws`; the slots are here to name what
            // stands too much.
            operand("disable-output-lane", OperandClass::LaneMask)
                .when(Condition::BlockScaled)
                .restriction(Restriction::WeightStationary),
            operand("enable-input-d", OperandClass::EnableInputD),
            operand("zero-column-mask-desc", OperandClass::ZeroColumnMask).optional(),
        ],
    },
    InstructionForm {
        operation: Operation::Commit,
        section: "9.7.16.12.1",
        anchor: "tcgen-async-sync-operations-commit",
        qualifiers: &[
            required(Slot::CtaGroup),
            required(Slot::Completion),
            optional(Slot::SyncRestrict),
            optional_of(Slot::AddressSpace, &[Qualifier::AddressSpace(AddressSpace::SharedCluster)]),
            optional(Slot::Multicast),
            required_of(Slot::DataType, B64),
        ],
        misfits: &[Misfit {
            matches: Matcher::Slot(Slot::AddressSpace),
            restriction: Restriction::StateSpace,
            reason: "the mbarrier is addressed within the cluster: write `.shared::cluster`, or nothing for a generic address",
        }],
        operands: &[
            operand("mbar", OperandClass::Mbarrier),
            operand("ctaMask", OperandClass::CtaMask16).when(Condition::Multicast16),
            operand("ctaMask", OperandClass::CtaMask32)
                .when(Condition::With(Qualifier::Multicast(Multicast::Cluster32b))),
        ],
    },
    InstructionForm {
        operation: Operation::FenceBefore,
        section: "9.7.16.11.1",
        anchor: "tcgen05-special-sync-operations-fence",
        qualifiers: &[],
        misfits: &[],
        operands: &[],
    },
    InstructionForm {
        operation: Operation::FenceAfter,
        section: "9.7.16.11.1",
        anchor: "tcgen05-special-sync-operations-fence",
        qualifiers: &[],
        misfits: &[],
        operands: &[],
    },
];

const SPCOMPRESS_QUALIFIERS: &[QualifierSlot] = &[
    required(Slot::Sync),
    required(Slot::Aligned),
    required(Slot::LdShape),
    required(Slot::Num),
    required(Slot::RedOp),
    required(Slot::Sparsity),
    optional(Slot::Abs),
    required_of(Slot::DataType, &[Qualifier::DataType(DataType::F32)]),
    required(Slot::MetadataType),
];

const RED_SPCOMPRESS_QUALIFIERS: &[QualifierSlot] = &[
    required(Slot::Sync),
    required(Slot::Aligned),
    required(Slot::LdShape),
    required(Slot::Num),
    required(Slot::RedOp),
    required(Slot::Sparsity),
    optional(Slot::Abs),
    optional(Slot::Nan),
    required_of(Slot::DataType, &[Qualifier::DataType(DataType::F32)]),
    required(Slot::MetadataType),
];

impl Condition {
    /// The slots that decide whether it holds.
    pub fn slots(self) -> Vec<Slot> {
        match self {
            Self::Always => Vec::new(),
            Self::With(qualifier) => vec![qualifier.slot()],
            Self::WithSlot(slot) => vec![slot],
            Self::Multicast16 => vec![Slot::Multicast],
            Self::BlockScaled | Self::NotBlockScaled => vec![Slot::BlockScale, Slot::Kind],
            Self::ScaledInput => vec![Slot::Kind, Slot::Decompress],
        }
    }

    /// Whether it holds for an instruction with these qualifiers.
    pub fn holds(self, qualifiers: &(impl Iterator<Item = Qualifier> + Clone)) -> bool {
        let fills = |slot: Slot| qualifiers.clone().any(|it| it.slot() == slot);
        let kind = || qualifiers.clone().find_map(|it| Kind::try_from(it).ok());
        let is_block_scaled = || fills(Slot::BlockScale) || kind().is_some_and(Kind::is_block_scaled);
        match self {
            Self::Always => true,
            Self::With(qualifier) => qualifiers.clone().any(|it| it == qualifier),
            Self::WithSlot(slot) => fills(slot),
            Self::Multicast16 => {
                let multicast = qualifiers.clone().find_map(|it| Multicast::try_from(it).ok());
                matches!(multicast, Some(Multicast::Cluster | Multicast::Cluster16b))
            }
            Self::BlockScaled => is_block_scaled(),
            Self::NotBlockScaled => !is_block_scaled(),
            Self::ScaledInput => matches!(kind(), Some(Kind::F16 | Kind::Tf32)) && !fills(Slot::Decompress),
        }
    }
}

impl InstructionForm {
    /// The row of an operation.
    pub fn of(operation: Operation) -> &'static Self {
        // Every operation has a row; a test walks them all.
        INSTRUCTIONS.iter().find(|form| form.operation == operation).unwrap_or(&INSTRUCTIONS[0])
    }

    /// The position that `slot` has in this instruction.
    pub fn slot(&self, slot: Slot) -> Option<&'static QualifierSlot> {
        self.qualifiers.iter().find(|candidate| candidate.slot == slot)
    }

    /// Whether the instruction takes `qualifier` at all.
    pub fn takes(&self, qualifier: Qualifier) -> bool {
        self.slot(qualifier.slot()).is_some_and(|slot| slot.takes(qualifier))
    }

    /// Whether the assembler takes qualifiers of `slot` here without giving them a meaning: it does
    /// so with the formats of `cp` and `spcompress` on every other instruction.
    pub fn ignores(&self, slot: Slot) -> bool {
        matches!(slot, Slot::MetadataType | Slot::DstFormat | Slot::SrcFormat) && self.slot(slot).is_none()
    }

    /// The operands that the form has with these qualifiers.
    pub fn present(
        &'static self,
        qualifiers: impl Iterator<Item = Qualifier> + Clone,
    ) -> impl Iterator<Item = &'static OperandSlot> {
        self.operands.iter().filter(move |slot| slot.when.holds(&qualifiers))
    }

    /// The syntax in one line, as the ISA writes it.
    pub fn syntax(&self) -> String {
        let mut text = format!("tcgen05.{}", self.operation);
        for slot in self.qualifiers {
            let choices = slot.choices();
            let word = match choices.as_slice() {
                [only] => format!(".{}", only.spelling()),
                _ => format!(".{}", slot.slot.placeholder()),
            };
            if slot.required {
                text.push_str(&word);
            } else {
                text.extend(["{", &word, "}"]);
            }
        }
        let operands: Vec<String> = self
            .operands
            .iter()
            .filter(|operand| self.operation != Operation::MmaWs || operand.class != OperandClass::LaneMask)
            .map(OperandSlot::syntax)
            .collect();
        if !operands.is_empty() {
            text.push(' ');
            text.push_str(&operands.join(", "));
        }
        text
    }
}

impl QualifierSlot {
    /// The qualifiers that may stand here.
    pub fn choices(&self) -> Vec<Qualifier> {
        if self.only.is_empty() { self.slot.qualifiers() } else { self.only.to_vec() }
    }

    /// Whether `qualifier` may stand here.
    pub fn takes(&self, qualifier: Qualifier) -> bool {
        qualifier.slot() == self.slot && (self.only.is_empty() || self.only.contains(&qualifier))
    }
}

impl OperandSlot {
    /// How the operand is written in the ISA's syntax lines.
    pub fn syntax(&self) -> String {
        let text = self.bare_syntax();
        if self.optional || self.when != Condition::Always { format!("{{{text}}}") } else { text }
    }

    /// The same without the braces of what may be left out.
    pub fn bare_syntax(&self) -> String {
        match self.class.facts().shape {
            Shape::Address => format!("[{}]", self.name),
            Shape::ValueOrAddress => format!("{0}-desc | [{0}-tmem]", self.name),
            Shape::Vector => format!("{{{}}}", self.name),
            Shape::Value | Shape::ValueOrVector => self.name.to_owned(),
        }
    }
}

impl Slot {
    /// What stands for the slot in a syntax line.
    fn placeholder(self) -> &'static str {
        match self {
            Self::CtaGroup => "cta_group",
            Self::LdShape | Self::CpShape => "shape",
            Self::Num => "num",
            Self::RedOp => "redOp",
            Self::DataType => "type",
            Self::Multicast | Self::WarpMulticast => "multicast",
            Self::SrcFormat => "src_fmt",
            Self::Kind => "kind",
            Self::ScaleVectorSize => "scale_vectorsize",
            Self::CollectorA | Self::CollectorB | Self::CollectorWs => "collector_usage",
            Self::AddressSpace => "space",
            Self::Sync
            | Self::Aligned
            | Self::Exclusive
            | Self::Completion
            | Self::SyncRestrict
            | Self::Pack
            | Self::Unpack
            | Self::Abs
            | Self::Nan
            | Self::Sparsity
            | Self::MetadataType
            | Self::DstFormat
            | Self::Direction
            | Self::Sparse
            | Self::BlockScale
            | Self::Ashift
            | Self::Decompress => "qualifier",
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn every_operation_has_one_row() {
        for operation in Operation::iter() {
            let rows = INSTRUCTIONS.iter().filter(|form| form.operation == operation).count();
            assert_eq!(rows, 1, "{operation}");
        }
    }

    #[test]
    fn a_row_names_each_slot_once() {
        for form in INSTRUCTIONS {
            for slot in form.qualifiers {
                assert_eq!(
                    form.qualifiers.iter().filter(|it| it.slot == slot.slot).count(),
                    1,
                    "{}",
                    form.operation
                );
            }
        }
    }

    #[test]
    fn every_qualifier_belongs_to_an_instruction() {
        for qualifier in Qualifier::all() {
            assert!(INSTRUCTIONS.iter().any(|form| form.takes(qualifier)), "{}", qualifier.spelling());
            assert!(!qualifier.explanation().is_empty(), "{}", qualifier.spelling());
        }
    }
}
