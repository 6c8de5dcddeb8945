//! The descriptors of each multiply and copy, as far as their bits are known, and what is wrong
//! with them. The [`descriptor`](crate::descriptor) module judges; this brings it the words.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::functions::FunctionFacts;
use super::values::ValueId;
use super::walks::Walk;
use crate::descriptor::idesc_check::{self, Facts, Multiply};
use crate::descriptor::{Check, Known, Problem, shared_memory, zero_column_mask};
use crate::instruction::decode::Decoded;
use crate::instruction::{Instruction, MatrixA, Mma, Scalar};
use crate::isa::generic::{Computation, Space};
use crate::isa::targets::Target;
use crate::resolve::environment::Environment;
use crate::resolve::symbols::Resolution;
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
    /// Those that are wrong with what one call gives the function, and the call.
    pub of_calls: Vec<(Descriptor, u32)>,
    /// Whether something is wrong with one of them. Nearly all are sound, and each rule asks.
    pub is_wrong: bool,
}

impl Descriptors {
    /// Those with which something is wrong, and the calls that give what is wrong, if not all do.
    pub fn wrong(&self) -> impl Iterator<Item = (&Descriptor, Option<u32>)> {
        let in_all = self.descriptors.iter().filter(|it| !it.problems.is_empty()).map(|it| (it, None));
        in_all.chain(self.of_calls.iter().map(|(descriptor, call)| (descriptor, Some(*call))))
    }
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
                let of_calls = Vec::new();
                found.push(Descriptors { instruction: index, facts, descriptors, of_calls, is_wrong: false });
            }
            Some(Instruction::Cp(cp)) => {
                let (facts, of_calls) = (Facts::default(), Vec::new());
                let descriptors = vec![finder.shared("s-desc", &cp.s_desc, None, None)];
                found.push(Descriptors { instruction: index, facts, descriptors, of_calls, is_wrong: false });
            }
            _ => continue,
        }
        let Some(all) = found.last_mut() else { continue };
        if !function.by_call.is_empty() {
            finder.judge_calls(all);
        }
        let is_wrong = all.wrong().next().is_some();
        all.is_wrong = is_wrong;
    }
    found
}

/// Whether no condition of an instruction is made of what the function is given and nothing knows: where it is, a
/// call that gives it another descriptor may have another way through it, too.
fn is_whatever_is_given(unit: &Unit, function: &FunctionFacts, instruction: u32) -> bool {
    /// Values that are looked at.
    const FAR: usize = 64;
    let cfg = &function.cfg;
    let view = function.view(unit);
    let Some(block) = cfg.block_of(instruction) else { return false };
    let mut conditions: SmallVec<[u32; 4]> = SmallVec::new();
    let is_guarded = unit.module.guard(&unit.module.instructions[instruction as usize]).is_some();
    if is_guarded && cfg.guard_holds(instruction).is_none() {
        conditions.push(instruction);
    }
    let mut below = block;
    for above in cfg.dominating(block).filter(|above| *above != block) {
        if cfg.post_dominates(std::mem::replace(&mut below, above), above) {
            continue;
        }
        match cfg.block(above).branch {
            Some(branch) if cfg.guard_holds(branch).is_some() => {}
            Some(branch) => conditions.push(branch),
            None if cfg.block(above).successors.len() < 2 => {}
            None => return false,
        }
    }
    let mut deciding: Vec<ValueId> = Vec::new();
    for condition in conditions {
        let Resolution::Register(register) = unit.symbols.guard(condition) else { return false };
        match view.value(condition, register) {
            Some(value) => deciding.push(value),
            None => return false,
        }
    }
    if deciding.is_empty() {
        return true;
    }
    if function.given.as_ref().is_some_and(|given| given.has_registers()) {
        return false;
    }
    let mut values = Walk::new(&function.budget, deciding).at_most(FAR);
    while let Some(value) = values.pop() {
        if let ValueId::Definition(id) = value {
            let opcode = unit.operations.of(view.definitions.get(id).instruction);
            let is_param = |space: Space| matches!(space, Space::Param | Space::ParamFunc);
            let is_given = opcode.computes() != Computation::Elect && !view.has_sources(id)
                || opcode.spaces().next().is_some_and(is_param);
            if is_given {
                return false;
            }
        }
        view.sources(value, &mut |_, source| values.extend([source]));
    }
    values.is_complete()
}

/// A multiply with its descriptor, and what came of these.
struct Judged {
    multiply: Multiply,
    word: Known,
    facts: Facts,
    problems: Vec<(Problem, Option<Target>)>,
}

#[derive(Clone, Copy)]
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
    /// Judges the descriptors with what each call of the function gives.
    fn judge_calls(&self, all: &mut Descriptors) {
        let Self { unit, decoded, function, .. } = *self;
        // With what some calls give, the instruction is not executed at all.
        let executes = |(_, facts): &&(u32, FunctionFacts)| facts.cfg.is_executed(decoded.index);
        let is_in_all = function.by_call.iter().all(|it| executes(&it));
        let mut origins: Vec<(Span, Vec<Span>)> = Vec::new();
        for (call, function) in function.by_call.iter().filter(executes) {
            let finder = Finder { function, ..*self };
            let descriptors = match &decoded.instruction {
                Some(Instruction::Mma(mma)) => finder.multiply(mma, &mut None).1,
                Some(Instruction::Cp(cp)) => vec![finder.shared("s-desc", &cp.s_desc, None, None)],
                _ => Vec::new(),
            };
            if !is_in_all {
                origins.extend(descriptors.iter().map(|it| (it.span, it.origins.clone())));
            }
            if !is_whatever_is_given(unit, function, decoded.index) {
                continue;
            }
            for mut descriptor in descriptors {
                let known = all.descriptors.iter().filter(|it| it.span == descriptor.span);
                let is_known = |problem: &(Problem, _)| known.clone().any(|it| it.problems.contains(problem));
                descriptor.problems.retain(|problem| !is_known(problem));
                if !descriptor.problems.is_empty() {
                    all.of_calls.push((descriptor, *call));
                }
            }
        }
        // What is wrong in all of the others was made in these.
        for descriptor in all.descriptors.iter_mut().filter(|it| !is_in_all && !it.problems.is_empty()) {
            let of_it = origins.iter().filter(|(span, _)| *span == descriptor.span);
            descriptor.origins = of_it.flat_map(|(_, origins)| origins).copied().collect();
            descriptor.origins.sort_unstable();
            descriptor.origins.dedup();
        }
    }

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
            // What is wrong with a descriptor of a matrix is not its address.
            descriptor.origins = if descriptor.width == 64 {
                self.function.origins_beside_address(self.unit, self.decoded, scalar)
            } else {
                self.function.origins(self.unit, self.decoded, scalar)
            };
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
