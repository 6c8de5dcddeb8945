//! The descriptors of each multiply and copy, as far as their bits are known, and what is wrong
//! with them. The [`descriptor`](crate::descriptor) module judges; this brings it the words.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::functions::FunctionFacts;
use crate::descriptor::idesc_check::{self, Facts, Multiply};
use crate::descriptor::{Check, Known, Problem, shared_memory, zero_column_mask};
use crate::instruction::decode::Decoded;
use crate::instruction::{Instruction, MatrixA, Mma, Scalar};
use crate::isa::targets::Target;
use crate::resolve::environment::Environment;
use crate::resolve::unit::Unit;
use crate::source::Span;

/// A descriptor of an instruction and what is known of it.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// What it is called in the ISA.
    pub name: &'static str,
    /// The operand.
    pub span: Span,
    /// Where its value was made, if something is wrong with it.
    pub origins: Vec<Span>,
    /// Its known bits.
    pub word: Known,
    /// Its width.
    pub width: u32,
    /// What is wrong with it, and on which target, where that differs.
    pub problems: Vec<(Problem, Option<Target>)>,
}

/// The descriptors of one instruction.
#[derive(Clone, Debug)]
pub struct Descriptors {
    /// The instruction, as an index into the decoded ones.
    pub instruction: usize,
    /// What the instruction descriptor says about the matrices; nothing for copies.
    pub facts: Facts,
    /// All of them, in the order of the operands.
    pub descriptors: Vec<Descriptor>,
}

/// Finds the descriptors of every typed multiply and copy.
pub fn find(
    unit: &Unit,
    instructions: &[Decoded<'_>],
    functions: &[FunctionFacts],
    environment: &Environment,
) -> Vec<Descriptors> {
    let mut found = Vec::new();
    let mut last = None;
    let sound = RefCell::default();
    for (index, decoded) in instructions.iter().enumerate() {
        if !matches!(decoded.instruction, Some(Instruction::Mma(_) | Instruction::Cp(_))) {
            continue;
        }
        let Some(place) = decoded.function else { continue };
        let Ok(at) = functions.binary_search_by_key(&place, |facts| facts.function) else { continue };
        let function = &functions[at];
        let finder = Finder { unit, decoded, function, environment, sound: &sound };
        match &decoded.instruction {
            Some(Instruction::Mma(mma)) => {
                let (facts, descriptors) = finder.multiply(mma, &mut last);
                found.push(Descriptors { instruction: index, facts, descriptors });
            }
            Some(Instruction::Cp(cp)) => {
                let descriptors = vec![finder.shared("s-desc", &cp.s_desc, None, None)];
                found.push(Descriptors { instruction: index, facts: Facts::default(), descriptors });
            }
            _ => {}
        }
    }
    found
}

/// A multiply with its descriptor, and what came of these.
struct Judged {
    multiply: Multiply,
    word: Known,
    facts: Facts,
    problems: Vec<(Problem, Option<Target>)>,
}

struct Finder<'a> {
    unit: &'a Unit,
    decoded: &'a Decoded<'a>,
    function: &'a FunctionFacts,
    environment: &'a Environment,
    /// Descriptors of matrices that nothing is wrong with: most are like one of the last.
    sound: &'a RefCell<SmallVec<[Matrix; SOUND]>>,
}

/// A descriptor of a matrix, and what decides whether it is sound.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Matrix {
    word: Known,
    transposed: Option<bool>,
    element_bits: Option<u32>,
}

/// Sound descriptors that are remembered.
const SOUND: usize = 4;

impl Finder<'_> {
    fn descriptor(&self, name: &'static str, scalar: &Scalar<'_>, width: u32) -> Descriptor {
        Descriptor {
            name,
            span: scalar.span(),
            origins: Vec::new(),
            word: self.word(scalar, width),
            width,
            problems: Vec::new(),
        }
    }

    /// What is known of an operand. Nothing of a register that is not even as wide: that is one mistake,
    /// and its bits would be others.
    fn word(&self, scalar: &Scalar<'_>, width: u32) -> Known {
        match scalar {
            Scalar::Register(register) if register.ty.is_some_and(|ty| ty.bits() != Some(width)) => {
                Known::new(0, 0)
            }
            _ => self.function.value(self.unit, self.decoded, scalar),
        }
    }

    fn shared(
        &self,
        name: &'static str,
        scalar: &Scalar<'_>,
        transposed: Option<bool>,
        element_bits: Option<u32>,
    ) -> Descriptor {
        let descriptor = self.descriptor(name, scalar, 64);
        let matrix = Matrix { word: descriptor.word, transposed, element_bits };
        if self.sound.borrow().contains(&matrix) {
            return descriptor;
        }
        let problems = self.environment.judge(|features| {
            let matrix = shared_memory::Matrix { transposed, element_bits, features };
            shared_memory::check(&matrix, descriptor.word)
        });
        if problems.is_empty() {
            let mut sound = self.sound.borrow_mut();
            if sound.len() == SOUND {
                sound.remove(0);
            }
            sound.push(matrix);
        }
        self.judged(descriptor, scalar, problems)
    }

    /// The descriptor with what is wrong with it; most have nothing, and need no origin.
    fn judged(
        &self,
        mut descriptor: Descriptor,
        scalar: &Scalar<'_>,
        problems: Vec<(Problem, Option<Target>)>,
    ) -> Descriptor {
        if !problems.is_empty() {
            descriptor.origins = self.function.origins(self.unit, self.decoded, scalar);
            descriptor.problems = problems;
        }
        descriptor
    }

    /// The descriptors of a multiply; most multiplies are like the `last` one.
    fn multiply(&self, mma: &Mma<'_>, last: &mut Option<Judged>) -> (Facts, Vec<Descriptor>) {
        let kind = mma.kind.value;
        let idesc = self.descriptor("idesc", &mma.idesc, 32);
        let multiply = Multiply {
            kind,
            ws: Some(mma.weight_stationary),
            cta_group: Some(mma.cta_group.value),
            sparse: Some(mma.sparse.is_some()),
            ashift: mma.ashift.is_some(),
            scale_vector_size: mma.scale_vector_size.map(|size| size.value),
            features: self.environment.features(),
        };
        let judged = match last.take() {
            Some(judged) if judged.multiply == multiply && judged.word == idesc.word => judged,
            _ => Judged {
                multiply,
                word: idesc.word,
                facts: idesc_check::facts(kind, multiply.features.generation, idesc.word),
                problems: self
                    .environment
                    .judge(|features| idesc_check::check(&Multiply { features, ..multiply }, idesc.word)),
            },
        };
        let facts = judged.facts;
        let idesc = self.judged(idesc, &mma.idesc, judged.problems.clone());
        *last = Some(judged);
        let mut descriptors = Vec::new();
        if let MatrixA::Descriptor(a) = &mma.a {
            descriptors.push(self.shared("a-desc", a, facts.transpose_a, facts.a_bits(kind)));
        }
        descriptors.push(self.shared("b-desc", &mma.b, facts.transpose_b, facts.b_bits(kind)));
        descriptors.push(idesc);
        if let Some(scalar) = &mma.zero_column_mask {
            let mask = self.descriptor("zero-column-mask-desc", scalar, 64);
            let problems = zero_column_mask::check(facts.m, mask.word);
            let problems = problems.into_iter().map(|problem| (problem, None)).collect();
            descriptors.push(self.judged(mask, scalar, problems));
        }
        (facts, descriptors)
    }
}

impl Descriptor {
    /// The problems of one sort.
    pub fn problems_of(&self, check: Check) -> impl Iterator<Item = &(Problem, Option<Target>)> {
        self.problems.iter().filter(move |(problem, _)| problem.check == check)
    }
}
