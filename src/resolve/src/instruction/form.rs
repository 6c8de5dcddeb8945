//! An instruction against its row of the table, before it has types.

use smallvec::SmallVec;

use crate::isa::tensor::{InstructionForm, Misfit, OperandSlot, Restriction};
use crate::isa::vocabulary::{Operation, Qualifier, Slot};
use crate::source::{Span, Spanned};

/// The qualifiers of one instruction, in the order they are written.
#[derive(Clone, Debug, Default)]
pub struct Qualifiers {
    written: SmallVec<[Spanned<Qualifier>; 6]>,
}

impl Qualifiers {
    /// Appends one.
    pub fn push(&mut self, qualifier: Spanned<Qualifier>) {
        self.written.push(qualifier);
    }

    /// Says where each of them is written instead.
    pub fn move_spans(&mut self, moved: impl Fn(Span) -> Span) {
        self.written.iter_mut().for_each(|qualifier| qualifier.span = moved(qualifier.span));
    }

    /// All of them, as written.
    pub fn iter(&self) -> impl Iterator<Item = Spanned<Qualifier>> + '_ {
        self.written.iter().copied()
    }

    /// Which they are.
    pub fn words(&self) -> impl Iterator<Item = Qualifier> + Clone + '_ {
        self.written.iter().map(|qualifier| qualifier.value)
    }

    /// What fills `slot`.
    pub fn in_slot(&self, slot: Slot) -> Option<Spanned<Qualifier>> {
        self.iter().find(|qualifier| qualifier.value.slot() == slot)
    }

    /// The qualifier of the slot that `T` stands for.
    pub fn get<T: TryFrom<Qualifier>>(&self) -> Option<Spanned<T>> {
        self.iter().find_map(|qualifier| {
            T::try_from(qualifier.value).ok().map(|value| Spanned::new(value, qualifier.span))
        })
    }

    /// Whether `qualifier` is among them.
    pub fn has(&self, qualifier: Qualifier) -> bool {
        self.iter().any(|it| it.value == qualifier)
    }
}

/// What is wrong with the form of an instruction. Each becomes one finding of the rule of its
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// `tcgen05.` without such an operation.
    UnknownInstruction {
        /// The words behind `tcgen05.` that should name one.
        span: Span,
        /// Operations with a similar name, the nearest first.
        similar: Vec<Operation>,
    },
    /// White space within the name of the operation.
    SplitName {
        /// From `tcgen05` to the end of the name.
        span: Span,
        /// The operation that was meant.
        operation: Operation,
    },
    /// A word that no tcgen05 instruction has.
    UnknownQualifier {
        /// The word with its dot.
        span: Span,
        /// Similar ones that fit here; one if it is clear which was meant.
        similar: Vec<Qualifier>,
        /// Whether the assembler accepts the word, and ignores it.
        ignored_by_ptxas: bool,
    },
    /// A qualifier that this instruction does not take.
    NotAllowed {
        /// The qualifier.
        qualifier: Spanned<Qualifier>,
        /// Why, if the table says so.
        misfit: Option<&'static Misfit>,
    },
    /// `.ws` or another word of the operation behind a qualifier.
    Misplaced {
        /// The word with its dot.
        span: Span,
        /// The operation that was meant.
        operation: Operation,
    },
    /// A slot that has to be filled.
    Missing {
        /// The slot.
        slot: Slot,
        /// What may fill it.
        choices: Vec<Qualifier>,
        /// Where it would stand in the canonical order.
        insert_at: u32,
    },
    /// A slot that is filled twice.
    Repeated {
        /// The second one.
        qualifier: Spanned<Qualifier>,
        /// The first one.
        first: Spanned<Qualifier>,
    },
    /// Too few or too many operands.
    Count {
        /// Where the operands stand, or should.
        span: Span,
        /// How many there are.
        found: usize,
        /// The fewest the form takes.
        least: usize,
        /// The most.
        most: usize,
    },
    /// An operand where this combination has none.
    Unexpected {
        /// The operand.
        span: Span,
        /// What it would be.
        slot: &'static OperandSlot,
    },
    /// An operand that this combination needs is not there.
    Absent {
        /// Where it should stand: behind this.
        span: Span,
        /// The operand.
        slot: &'static OperandSlot,
    },
    /// An operand of another kind than the position takes.
    Kind {
        /// The operand.
        span: Span,
        /// The position.
        slot: &'static OperandSlot,
        /// What was found, with its article.
        found: &'static str,
        /// Whether braces around it make it right.
        wants_braces: bool,
    },
    /// Two operands of which each fits in the position of the other, and neither in its own.
    Exchanged {
        /// The operands, in the order in which they stand.
        spans: [Span; 2],
        /// The positions in which they stand.
        slots: [&'static OperandSlot; 2],
    },
    /// An element of a vector that may not be one.
    Element {
        /// The element.
        span: Span,
        /// What it is.
        found: &'static str,
    },
    /// A guard that is not a predicate.
    Guard {
        /// Its name.
        span: Span,
        /// What it is, with its article.
        found: String,
        /// Where it is declared.
        declaration: Option<Span>,
    },
    /// An undeclared name.
    Undeclared {
        /// The name.
        span: Span,
        /// Whether it is a guard.
        guard: bool,
    },
}

impl Problem {
    /// Whether the instruction means the same without what is wrong, so that the rest of it can be judged.
    pub fn is_harmless(&self, form: &InstructionForm) -> bool {
        match self {
            Self::UnknownQualifier { ignored_by_ptxas, .. } => *ignored_by_ptxas,
            Self::NotAllowed { qualifier, .. } => form.ignores(qualifier.value.slot()),
            Self::Repeated { qualifier, first } => {
                qualifier.value == first.value && matches!(qualifier.value.slot(), Slot::Sync | Slot::Nan)
            }
            // Of integers, the assembler overlooks it (errata E15); of others, what else is wrong is worth saying.
            Self::Unexpected { slot, .. } => slot.restriction == Some(Restriction::ScaleInputD),
            Self::SplitName { .. }
            | Self::UnknownInstruction { .. }
            | Self::Misplaced { .. }
            | Self::Missing { .. }
            | Self::Count { .. }
            | Self::Absent { .. }
            | Self::Kind { .. }
            | Self::Exchanged { .. }
            | Self::Element { .. }
            | Self::Guard { .. }
            | Self::Undeclared { .. } => false,
        }
    }
}
