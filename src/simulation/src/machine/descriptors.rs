//! Descriptors that are executed: the rules about them see those words only that follow from the text.

use rustc_hash::FxHashSet;

use super::Machine;
use super::warp::Strand;
use crate::descriptor::idesc_check::{self, Facts};
use crate::descriptor::{Problem, shared_memory, zero_column_mask};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::vocabulary::CtaGroup;
use crate::program::{Matrix, Multiply, Operand};

/// A descriptor of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Which {
    Instruction,
    A,
    B,
    Copied,
    Mask,
}

/// What was judged: the step, which of its descriptors, and the word.
pub(super) type Judged = FxHashSet<(u32, Which, u64)>;

impl Which {
    /// What the ISA calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Instruction => "idesc",
            Self::A => "a-desc",
            Self::B => "b-desc",
            Self::Copied => "s-desc",
            Self::Mask => "zero-column-mask-desc",
        }
    }

    /// Its digits in hexadecimal, and the prefix.
    fn width(self) -> usize {
        match self {
            Self::Instruction => 10,
            Self::A | Self::B | Self::Copied | Self::Mask => 18,
        }
    }
}

impl Machine<'_> {
    /// Looks whether the multiply exists that the descriptors of a multiply ask for.
    pub(super) fn judge_multiply(&mut self, strand: &Strand, it: &Multiply, lane: usize, facts: &Facts) {
        let features = self.features;
        let multiply = idesc_check::Multiply {
            kind: it.kind,
            ws: Some(it.weight_stationary),
            cta_group: Some(if it.pair { CtaGroup::Two } else { CtaGroup::One }),
            sparse: Some(it.sparse),
            ashift: it.ashift,
            scale_vector_size: it.scale_vector_size,
            features,
        };
        self.judge(strand, (Which::Instruction, it.idesc), lane, |word| {
            idesc_check::check(&multiply, word.into())
        });
        let matrix = |transposed, element_bits| {
            let matrix = shared_memory::Matrix { transposed, element_bits, features };
            move |word: u64| shared_memory::check(&matrix, word.into())
        };
        if let Matrix::Shared(a) = it.a {
            self.judge(strand, (Which::A, a), lane, matrix(facts.transpose_a, facts.a_bits(it.kind)));
        }
        self.judge(strand, (Which::B, it.b), lane, matrix(facts.transpose_b, facts.b_bits(it.kind)));
        if let Some(mask) = it.zero_column_mask {
            self.judge(strand, (Which::Mask, mask), lane, |word| {
                zero_column_mask::check(facts.m, word.into())
            });
        }
    }

    /// The same of a copy.
    pub(super) fn judge_copy(&mut self, strand: &Strand, descriptor: Operand, lane: usize) {
        let matrix = shared_memory::Matrix::any(self.features);
        self.judge(strand, (Which::Copied, descriptor), lane, |word| {
            shared_memory::check(&matrix, word.into())
        });
    }

    fn judge(
        &mut self,
        strand: &Strand,
        (which, operand): (Which, Operand),
        lane: usize,
        problems: impl Fn(u64) -> Vec<Problem>,
    ) {
        let Some(mut word) = self.value_at(strand, operand, lane) else { return };
        if which == Which::Instruction {
            word &= u64::from(u32::MAX);
        }
        // What is made of numbers that are made up may be anything.
        if self.descriptors.contains(&(strand.step, which, word)) || self.is_made_up(strand, operand) {
            return;
        }
        self.descriptors.insert((strand.step, which, word));
        for problem in problems(word) {
            let (code, name, width) = (Code::of_descriptors(problem.check), which.name(), which.width());
            let finding = Finding::new(
                Code::InvalidDescriptor,
                strand.step,
                format!("`{name}`: {}", problem.summary()),
                problem.found(),
            )
            .which((which as u32) << 16 | (problem.check as u32) << 8 | problem.bits().first().map_or(0, |it| it.low.into()))
            .cause()
            .note(format!(
                "the whole word is {word:#0width$x}; `ptx-tc explain {code}` says why, and `ptx-tc decode` shows every field"
            ));
            self.report(finding);
        }
    }
}
