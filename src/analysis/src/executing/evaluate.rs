//! What registers hold in each thread of a block.

use std::cmp::Ordering;
use std::sync::Arc;

use super::numbers::{Chosen, Grain, Numbers, of_lanes};
use super::threads::{Holds, ThreadSet};
use super::{ALL_THREADS, Executing, Unknown};
use crate::cfg::BlockId;
use crate::constants::Known;
use crate::definitions::{Definition, DefinitionId};
use crate::descriptor::known_bits as bits;
use crate::function::Function;
use crate::isa::generic::{
    Arithmetic, Bits, BooleanOperator, Computation, Flag, Modifier, Operation, Part, ShuffleMode, Type,
};
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::isa::special_registers::{Extent, Lasting, Part as Which, Special, SpecialRegister};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{BinaryOperator, OperandKind, RawInstruction, UnaryOperator};
use crate::syntax::literal;
use crate::values::ValueId;

/// How long a chain of definitions is followed.
const DEEP: u32 = 40;

/// Of the operand of `shfl` that says where segments end: the last lane, and which bits tell segments apart.
const SEGMENTS: u64 = 0x1F1F;
/// One segment of all lanes.
const ALL_LANES: u64 = 0x1F;

/// The most warps that a block can have.
const WARPS: usize = WARPS_OF_CTA as usize;

/// What is known of a value in each thread.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(Numbers),
    Truth(Arc<Holds>),
}

impl Executing<'_> {
    /// The threads for which a register is true, or not zero.
    pub(super) fn truth(&self, instruction: u32, register: RegisterId, depth: u32) -> Holds {
        match self.read(instruction, register, depth) {
            Some(Value::Truth(holds)) => *holds,
            Some(Value::Number(numbers)) => self.known_of(&numbers, |number| number != 0),
            None => Holds { agrees: self.agrees(instruction, register), ..Holds::NEVER_KNOWN },
        }
    }

    /// Whether nothing is known of a predicate, whatever the thread.
    pub fn is_unknown(&self, instruction: u32, register: RegisterId) -> bool {
        let holds = self.truth(instruction, register, 0);
        holds.yes.is_empty() && holds.no.is_empty()
    }

    /// The threads for which something holds of the number that an instruction reads first.
    pub(super) fn chosen(&self, instruction: u32, holds: impl Fn(u64) -> bool) -> Holds {
        let raw = &self.function.unit.module.instructions[instruction as usize];
        if let Some(numbers) = self.number(instruction, raw, 0, 0) {
            return self.known_of(&numbers, |number| holds(number & u64::from(u32::MAX)));
        }
        let agrees = match self.function.unit.symbols.operand(raw.operands.start) {
            Resolution::Register(register) => self.agrees(instruction, register),
            _ => false,
        };
        Holds { agrees, ..Holds::NEVER_KNOWN }
    }

    /// What a register holds in each warp where an instruction reads it, if that is the same for all threads of
    /// a warp.
    pub fn in_warps(&self, instruction: u32, register: RegisterId) -> Option<[u64; WARPS]> {
        self.by_warps(&self.read(instruction, register, 0)?)
    }

    /// The same of what a definition makes, whatever else a register may hold behind it.
    pub fn made_in_warps(&self, id: DefinitionId) -> Option<[u64; WARPS]> {
        self.by_warps(&self.definition(id, *self.function.definitions.get(id), 0)?)
    }

    fn by_warps(&self, value: &Value) -> Option<[u64; WARPS]> {
        let Value::Number(numbers) = value else { return None };
        let at = |warp: usize| numbers.at(Grain::Warp, warp);
        let last = self.threads().div_ceil(32).checked_sub(1)?;
        (numbers.grain() < Grain::Thread).then(|| std::array::from_fn(|warp| at(warp.min(last))))
    }

    /// Whether those threads of a warp that read a register read the same, whatever it is.
    fn agrees(&self, instruction: u32, register: RegisterId) -> bool {
        let function = &self.function;
        let Some(value) = function.value(instruction, register) else { return false };
        !self.uniformity.may_differ(function, value, function.budget)
            || self.uniformity.agrees(function, instruction, register)
    }

    /// For which threads something about numbers holds.
    fn known<const N: usize>(&self, of: &[&Numbers; N], holds: impl Fn([u64; N]) -> bool) -> Holds {
        let at = |grain: Grain, place: usize| holds(std::array::from_fn(|it| of[it].at(grain, place)));
        let yes = match of.iter().map(|numbers| numbers.grain()).max().unwrap_or(Grain::All) {
            Grain::All if at(Grain::All, 0) => self.all,
            Grain::All => ThreadSet::EMPTY,
            Grain::Warp => {
                ThreadSet::where_lanes(
                    self.threads(),
                    |warp| {
                        if at(Grain::Warp, warp) { u32::MAX } else { 0 }
                    },
                )
            }
            Grain::Thread => ThreadSet::where_each(self.threads(), |thread| at(Grain::Thread, thread)),
        };
        Holds { yes, no: self.all.without(yes), agrees: true, elects: None }
    }

    /// For which threads something about a number holds.
    fn known_of(&self, number: &Numbers, holds: impl Fn(u64) -> bool) -> Holds {
        match number {
            // What chooses may be an election: which thread it is does not matter.
            Numbers::Chosen(chosen) => match (holds(chosen.yes), holds(chosen.no)) {
                (true, false) => chosen.by,
                (false, true) => chosen.by.not(),
                (both, _) => self.known(&[], |[]| both),
            },
            Numbers::Threads(numbers) => {
                let yes = ThreadSet::where_each(numbers.len(), |thread| holds(numbers[thread]));
                Holds { yes, no: self.all.without(yes), agrees: true, elects: None }
            }
            Numbers::Same(_) | Numbers::Warps(_) | Numbers::Lanes(_) => {
                self.known(&[number], |[number]| holds(number))
            }
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.size.iter().product::<u64>() as usize
    }

    /// A number for each thread, made of others, if the budget is enough for that.
    fn numbers<const N: usize>(
        &self,
        of: &[&Numbers; N],
        number: impl Fn([u64; N]) -> u64,
    ) -> Option<Numbers> {
        let grain = of.iter().map(|numbers| numbers.grain()).max().unwrap_or(Grain::All);
        let at = |place: usize| number(std::array::from_fn(|it| of[it].at(grain, place)));
        match grain {
            Grain::All => Some(Numbers::Same(at(0))),
            Grain::Warp => Some(Numbers::Warps((0..self.threads().div_ceil(32)).map(at).collect())),
            Grain::Thread => {
                let mut choices = of.iter().filter_map(|numbers| match numbers {
                    Numbers::Chosen(chosen) => Some(chosen),
                    Numbers::Same(_) | Numbers::Warps(_) | Numbers::Lanes(_) | Numbers::Threads(_) => None,
                });
                let is_sole =
                    |of: &[&Numbers]| of.iter().filter(|numbers| numbers.grain() > Grain::All).count() == 1;
                match choices.next().filter(|_| is_sole(of)) {
                    Some(chosen) => {
                        let with = |chosen: u64| {
                            number(std::array::from_fn(|it| match of[it] {
                                Numbers::Same(number) => *number,
                                Numbers::Chosen(_) => chosen,
                                other => other.at(Grain::Thread, 0),
                            }))
                        };
                        let (yes, no) = (with(chosen.yes), with(chosen.no));
                        Some(Numbers::Chosen(Arc::new(Chosen { by: chosen.by, yes, no })))
                    }
                    None => self.each(at),
                }
            }
        }
    }

    /// The same, for each thread on its own.
    fn each(&self, number: impl Fn(usize) -> u64) -> Option<Numbers> {
        if !self.function.budget.take(ALL_THREADS) {
            return None;
        }
        let numbers: Arc<[u64]> = (0..self.threads()).map(number).collect();
        let steps_by = |step: u64| {
            let mut warps = numbers.chunks(32);
            warps.all(|warp| {
                let counted = (0..).map(|lane| warp[0].checked_add(lane * step));
                warp.iter().zip(counted).all(|(number, counted)| Some(*number) == counted)
                    && warp[0].checked_add(31).is_some()
            })
        };
        let firsts = || numbers.iter().copied().step_by(32).collect();
        Some(if steps_by(0) {
            Numbers::Warps(firsts())
        } else if steps_by(1) {
            Numbers::Lanes(firsts())
        } else {
            Numbers::Threads(numbers)
        })
    }

    /// A mask of lanes for each thread, made of the bit of its own.
    fn masks(&self, mask: impl Fn(u32) -> u32) -> Option<Numbers> {
        self.each(|thread| u64::from(mask(1 << (thread % 32))))
    }

    /// Counts the lanes of each warp from a number on.
    fn lanes(&self, first: impl Fn(u64) -> u64) -> Numbers {
        Numbers::Lanes((0..self.threads().div_ceil(32) as u64).map(first).collect())
    }

    /// What a register holds where an instruction reads it.
    pub(super) fn read(&self, instruction: u32, register: RegisterId, depth: u32) -> Option<Value> {
        let function = &self.function;
        if depth >= DEEP {
            return None;
        }
        match function.value(instruction, register)? {
            ValueId::Definition(id) => {
                let definition = *function.definitions.get(id);
                if definition.guarded || definition.instruction == instruction {
                    return None;
                }
                self.definition(id, definition, depth)
            }
            // `mov r, 0; @p mov r, 1`
            ValueId::Join(join) => {
                let [ValueId::Definition(one), ValueId::Definition(other)] =
                    function.definitions.joined(join)[..]
                else {
                    return None;
                };
                let (first, second) = (*function.definitions.get(one), *function.definitions.get(other));
                let (before, then, (base, over)) = match (first.guarded, second.guarded) {
                    (false, true) => (first, second, (one, other)),
                    (true, false) => (second, first, (other, one)),
                    (true, true) | (false, false) => return None,
                };
                let places = [before.instruction, then.instruction, instruction];
                let blocks = places.map(|it| function.cfg.block_of(it));
                let [Some(start), Some(middle), Some(end)] = blocks else { return None };
                let ordered = |one: (BlockId, u32), other: (BlockId, u32)| {
                    if one.0 == other.0 { one.1 < other.1 } else { function.cfg.dominates(one.0, other.0) }
                };
                if !ordered((start, places[0]), (middle, places[1]))
                    || !ordered((middle, places[1]), (end, places[2]))
                {
                    return None;
                }
                let raw = &function.unit.module.instructions[then.instruction as usize];
                let guard = function.unit.module.guard(raw)?;
                let holds = self.guard(then.instruction).not_if(guard.negated);
                let (Value::Number(old), Value::Number(new)) =
                    (self.definition(base, before, depth)?, self.definition(over, then, depth)?)
                else {
                    return None;
                };
                self.select(&new, &old, &holds).map(Value::Number)
            }
        }
    }

    /// One number where something holds, and another where it does not.
    fn select(&self, yes: &Numbers, no: &Numbers, holds: &Holds) -> Option<Numbers> {
        if holds.yes.or(holds.no) != self.all {
            return None;
        }
        if yes.grain().max(no.grain()) < Grain::Thread && holds.is_of_warps(self.all) {
            let warps = holds.yes.warps().enumerate().take(self.threads().div_ceil(32));
            let chosen = |(warp, lanes)| (if lanes == 0 { no } else { yes }).at(Grain::Warp, warp);
            return Some(Numbers::Warps(warps.map(chosen).collect()));
        }
        if let (Numbers::Same(yes), Numbers::Same(no)) = (yes, no) {
            return Some(Numbers::Chosen(Arc::new(Chosen { by: *holds, yes: *yes, no: *no })));
        }
        self.each(|thread| {
            let chosen = if holds.yes.contains(thread) { yes } else { no };
            chosen.at(Grain::Thread, thread)
        })
    }

    pub(super) fn definition(&self, id: DefinitionId, definition: Definition, depth: u32) -> Option<Value> {
        if let Some(known) = self.found.values.borrow().get(&id) {
            return known.clone();
        }
        if !self.function.budget.take(1) {
            return None;
        }
        // What is made of itself has no value.
        self.found.values.borrow_mut().insert(id, None);
        let value = self.evaluate(definition, depth + 1);
        self.found.values.borrow_mut().insert(id, value.clone());
        value
    }

    fn operand(&self, instruction: u32, index: u32, depth: u32) -> Option<Value> {
        let unit = self.function.unit;
        let operand = unit.module.operands.get(index as usize)?;
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return Some(Value::Number(Numbers::Same((value & i128::from(u64::MAX)) as u64)));
        }
        if operand.kind() != OperandKind::Name {
            return None;
        }
        match unit.symbols.operand(index) {
            Resolution::Register(register) => self.read(instruction, register, depth),
            Resolution::Special(special) => self.special(special).map(Value::Number),
            _ => None,
        }
    }

    pub(super) fn number(
        &self,
        instruction: u32,
        raw: &RawInstruction,
        position: u32,
        depth: u32,
    ) -> Option<Numbers> {
        if position >= raw.operands.len {
            return None;
        }
        match self.operand(instruction, raw.operands.start + position, depth)? {
            Value::Number(numbers) => Some(numbers),
            Value::Truth(_) => None,
        }
    }

    fn predicate(&self, instruction: u32, index: u32, depth: u32) -> Holds {
        let unit = self.function.unit;
        let operand = &unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return self.known(&[], |[]| value != 0);
        }
        match operand.kind() {
            OperandKind::Unary(UnaryOperator::Not, part) if part.len == 1 && depth < DEEP => {
                self.predicate(instruction, part.start, depth + 1).not()
            }
            OperandKind::Name => match unit.symbols.operand(index) {
                Resolution::Register(register) => self.truth(instruction, register, depth),
                _ => Holds::NEVER_KNOWN,
            },
            _ => Holds::NEVER_KNOWN,
        }
    }

    /// A register of the machine.
    fn special(&self, Special { register, part }: Special) -> Option<Numbers> {
        let [x, y, _] = self.size;
        let of = |thread: usize| thread as u64;
        match (register, part) {
            (SpecialRegister::Tid, Which::Component(0)) => {
                if x >= self.threads() as u64 || x.is_multiple_of(32) {
                    Some(self.lanes(|warp| warp * 32 % x))
                } else {
                    self.each(|thread| of(thread) % x)
                }
            }
            (SpecialRegister::Tid, Which::Component(1)) if self.is_exact => {
                self.each(|thread| of(thread) / x % y)
            }
            (SpecialRegister::Tid, Which::Component(2)) if self.is_exact => {
                self.each(|thread| of(thread) / (x * y))
            }
            (SpecialRegister::Ntid, Which::Component(component)) if self.is_exact => {
                self.size.get(usize::from(component)).map(|size| Numbers::Same(*size))
            }
            (SpecialRegister::Laneid, Which::Whole) => Some(self.lanes(|_| 0)),
            (SpecialRegister::LanemaskEq, Which::Whole) => self.masks(|bit| bit),
            (SpecialRegister::LanemaskLt, Which::Whole) => self.masks(|bit| bit - 1),
            (SpecialRegister::LanemaskLe, Which::Whole) => self.masks(|bit| bit | (bit - 1)),
            (SpecialRegister::LanemaskGt, Which::Whole) => self.masks(|bit| !(bit | (bit - 1))),
            (SpecialRegister::LanemaskGe, Which::Whole) => self.masks(|bit| !(bit - 1)),
            (SpecialRegister::ClusterCtarank, Which::Whole) => {
                self.rank.map(|rank| Numbers::Same(u64::from(rank)))
            }
            // The first ones of a cluster lie beside each other, if it is that wide.
            (SpecialRegister::ClusterCtaid, Which::Component(component)) => {
                let rank = self
                    .rank
                    .filter(|rank| self.width_of_cluster().is_some_and(|width| width > *rank.max(&1)))?;
                Some(Numbers::Same(if component == 0 { rank.into() } else { 0 }))
            }
            // What the size of a CTA and the rank do not say; a new one says nothing either.
            _ => None,
        }
    }

    /// How many CTAs lie beside each other in a cluster, where every launch has the same.
    fn width_of_cluster(&self) -> Option<u32> {
        let function = self.function.declared()?;
        let [width, ..] = self.function.unit.launch_bounds(function).required_cluster?.value?;
        Some(width)
    }

    /// `%ctaid.x & 1`: what the number of a CTA in the grid says of its place in the cluster, because a grid
    /// consists of whole clusters.
    fn place_in_cluster(&self, at: u32, raw: &RawInstruction) -> Option<Numbers> {
        let unit = self.function.unit;
        let number = |position: u32| {
            let operand = unit.module.operands(raw.operands).get(position as usize)?;
            u64::try_from(literal::evaluate(&unit.source, &unit.module, operand)?).ok()
        };
        let below = match unit.operations.of(at).computes() {
            Computation::And => number(2)?.checked_add(1).filter(|below| below.is_power_of_two())?,
            Computation::Arithmetic(Arithmetic::Remainder) => number(2)?,
            _ => return None,
        };
        let rank = self.rank?;
        let width = self.width_of_cluster().filter(|width| *width > 1)?;
        if below < 2 || !u64::from(width).is_multiple_of(below) {
            return None;
        }
        let (mut at, mut index) = (at, raw.operands.start + 1);
        for _ in 0..DEEP {
            match unit.symbols.operand(index) {
                Resolution::Special(Special {
                    register: SpecialRegister::Ctaid,
                    part: Which::Component(0),
                }) => {
                    return Some(Numbers::Same(u64::from(rank) % below));
                }
                Resolution::Register(register) => {
                    let definition = *self.function.definitions.get(self.function.only(at, register)?);
                    let made = &unit.module.instructions[definition.instruction as usize];
                    let is_copy = unit.operations.of(definition.instruction).computes() == Computation::Move;
                    if !is_copy || definition.guarded || made.operands.len != 2 {
                        return None;
                    }
                    (at, index) = (definition.instruction, made.operands.start + 1);
                }
                Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => return None,
            }
        }
        None
    }

    fn evaluate(&self, definition: Definition, depth: u32) -> Option<Value> {
        if self.calling.is_some()
            && let Some(numbers) = self.given_back(definition)
        {
            return Some(Value::Number(numbers));
        }
        let function = &self.function;
        let at = definition.instruction;
        let raw = &function.unit.module.instructions[at as usize];
        let opcode = function.unit.operations.of(at);
        if opcode.computes() == Computation::Elect {
            return self.elected(definition, raw);
        }
        let ty = *opcode.types.last()?;
        if ty == Type::Pred {
            return self.logic(at, raw, opcode, depth);
        }
        if opcode.computes() == Computation::Compare {
            return self.compare(definition, raw, opcode, ty, depth);
        }
        let first = function.unit.module.operands(raw.operands).first()?.kind();
        let is_first = definition.operand == raw.operands.start
            || matches!(first, OperandKind::Binary(_, parts) if parts.start == definition.operand);
        if !is_first
            || matches!(first, OperandKind::Vector(_))
            || ty.is_float()
            || ty.is_packed()
            || opcode.has_flag(Flag::Sat)
        {
            return None;
        }
        let width = ty.bits().filter(|bits| *bits <= 64)?;
        let holds = Function::width(function.unit.symbols.register(definition.register));
        let cut = |value: u64| if width == 64 { value } else { value & ((1 << width) - 1) };
        let signed = |value: u64| {
            let unused = 64 - width;
            (value << unused).cast_signed() >> unused
        };
        let is_signed = ty.is_signed();
        let argument = |position: u32| self.number(at, raw, position, depth);
        let part = opcode.modifier(|modifier| match modifier {
            Modifier::Part(part) => Some(part),
            _ => None,
        });
        let of_two = |combine: &dyn Fn(u64, u64) -> u64| {
            let (a, b) = (argument(1)?, argument(2)?);
            if let Some(number) = of_lanes(opcode.computes(), &a, &b, width) {
                return Some(number);
            }
            self.numbers(&[&a, &b], |[a, b]| cut(combine(cut(a), cut(b))))
        };
        // Positions are 32 bits wide, whatever the rest is.
        let field =
            |start: u64, len: u64| bits::field(start & u64::from(u32::MAX), len & u64::from(u32::MAX), width);
        let is_field = |of: &[&Numbers]| of.iter().all(|it| it.all(|number| field(number, 0).is_some()));
        if let Some(place) = self.place_in_cluster(at, raw) {
            return Some(Value::Number(place));
        }
        let number = match opcode.computes() {
            Computation::Move => match argument(1)? {
                a if a.firsts(width).is_some() => a,
                a => self.numbers(&[&a], |[a]| cut(a))?,
            },
            Computation::Convert => {
                let [to, _] = opcode.types[..] else { return None };
                let to_signed = to.is_signed();
                let to = to.bits().filter(|bits| *bits <= 64)?;
                let a = argument(1)?;
                if a.firsts(to.min(width) - 1).is_some() {
                    return Some(Value::Number(a));
                }
                self.numbers(&[&a], |[a]| {
                    let value = if is_signed { signed(a).cast_unsigned() } else { cut(a) };
                    // A register that is wider than the type takes its sign.
                    let unused = 64 - to;
                    let extended = (value << unused).cast_signed() >> unused;
                    let value = if to_signed { extended.cast_unsigned() } else { value << unused >> unused };
                    holds.map_or(value, |holds| value & (u64::MAX >> (64 - holds)))
                })?
            }
            Computation::And => of_two(&|a, b| a & b)?,
            Computation::Or => of_two(&|a, b| a | b)?,
            Computation::Xor => of_two(&|a, b| a ^ b)?,
            Computation::Not => self.numbers(&[&argument(1)?], |[a]| cut(!a))?,
            // By how much is a number of 32 bits.
            Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight)
                if width < u32::BITS && !argument(2)?.all(|by| by >> width == 0) =>
            {
                return None;
            }
            Computation::Bits(Bits::ShiftLeft) => {
                of_two(&|a, by| if by < u64::from(width) { a << by } else { 0 })?
            }
            Computation::Bits(Bits::ShiftRight) => of_two(&|a, by| {
                let by = by.min(u64::from(width));
                if is_signed {
                    (signed(a) >> by.min(63)).cast_unsigned()
                } else {
                    a.checked_shr(by as u32).unwrap_or(0)
                }
            })?,
            Computation::Arithmetic(Arithmetic::Add) => of_two(&u64::wrapping_add)?,
            Computation::Arithmetic(Arithmetic::Subtract) => of_two(&u64::wrapping_sub)?,
            Computation::Arithmetic(Arithmetic::Multiply) if part == Some(Part::Lo) => {
                of_two(&u64::wrapping_mul)?
            }
            Computation::Arithmetic(Arithmetic::MultiplyAdd) if part == Some(Part::Lo) => {
                let of = [&argument(1)?, &argument(2)?, &argument(3)?];
                self.numbers(&of, |[a, b, c]| cut(a.wrapping_mul(b).wrapping_add(c)))?
            }
            // Numbers of threads are not negative.
            Computation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder) => {
                let (a, b) = (argument(1)?, argument(2)?);
                if !a.all(|number| signed(number) >= 0) || !b.all(|number| signed(number) > 0) {
                    return None;
                }
                if let Some(number) = of_lanes(opcode.computes(), &a, &b, width) {
                    return Some(Value::Number(number));
                }
                let divides = opcode.computes() == Computation::Arithmetic(Arithmetic::Divide);
                self.numbers(&[&a, &b], |[a, b]| if divides { a / b } else { a % b })?
            }
            Computation::Bits(Bits::Extract) if !is_signed => {
                let of = [&argument(1)?, &argument(2)?, &argument(3)?];
                if !is_field(&of[1..]) {
                    return None;
                }
                self.numbers(&of, |[a, start, len]| {
                    field(start, len).map_or(0, |it| bits::bfe(Known::from(cut(a)), it, width, false).value)
                })?
            }
            Computation::Bits(Bits::Insert) => {
                let of = [&argument(1)?, &argument(2)?, &argument(3)?, &argument(4)?];
                if !is_field(&of[2..]) {
                    return None;
                }
                self.numbers(&of, |[a, b, start, len]| {
                    let inserted = |it| bits::bfi(Known::from(cut(a)), Known::from(cut(b)), it, width).value;
                    field(start, len).map_or(0, inserted)
                })?
            }
            Computation::Bits(Bits::Permute) => {
                let of = [&argument(1)?, &argument(2)?, &argument(3)?];
                self.numbers(&of, |[a, b, selector]| {
                    bits::prmt(Known::from(cut(a)), Known::from(cut(b)), selector).value
                })?
            }
            Computation::Arithmetic(Arithmetic::Minimum | Arithmetic::Maximum)
                if !opcode.has_flag(Flag::Relu) =>
            {
                let is_least = opcode.computes() == Computation::Arithmetic(Arithmetic::Minimum);
                of_two(&|a, b| {
                    let less = if is_signed { signed(a) < signed(b) } else { a < b };
                    if less == is_least { a } else { b }
                })?
            }
            Computation::Bits(Bits::Reverse) => {
                self.numbers(&[&argument(1)?], |[a]| cut(a).reverse_bits() >> (64 - width))?
            }
            Computation::Other if opcode.operation() == Some(Operation::Popc) => {
                self.numbers(&[&argument(1)?], |[a]| u64::from(cut(a).count_ones()))?
            }
            Computation::Select => {
                let (a, b) = (argument(1)?, argument(2)?);
                self.select(&a, &b, &self.predicate(at, raw.operands.start + 3, depth))?
            }
            // From one lane to all.
            Computation::Shuffle if opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx)) => {
                let (a, from, clamp) = (argument(1)?, argument(2)?, argument(3)?);
                // Lanes of one segment, all 32 of them.
                let is_whole = clamp.all(|clamp| clamp & SEGMENTS == ALL_LANES);
                if !is_whole || !self.threads().is_multiple_of(32) || !from.all(|lane| lane < 32) {
                    return None;
                }
                match a {
                    Numbers::Lanes(_) | Numbers::Chosen(_) | Numbers::Threads(_)
                        if from.grain() < Grain::Thread =>
                    {
                        let warps = 0..self.threads() / 32;
                        let lane = |warp: usize| from.at(Grain::Warp, warp) as usize;
                        let chosen = |warp: usize| a.at(Grain::Thread, warp * 32 + lane(warp));
                        Numbers::Warps(warps.map(chosen).collect())
                    }
                    Numbers::Lanes(_) | Numbers::Chosen(_) | Numbers::Threads(_) => self.each(|thread| {
                        let lane = from.at(Grain::Thread, thread) as usize;
                        a.at(Grain::Thread, thread / 32 * 32 + lane)
                    })?,
                    Numbers::Same(_) | Numbers::Warps(_) => a,
                }
            }
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => return None,
        };
        Some(Value::Number(number))
    }

    /// A predicate that is made of predicates.
    fn logic(&self, at: u32, raw: &RawInstruction, opcode: &Opcode, depth: u32) -> Option<Value> {
        let part = |position: u32| {
            if position < raw.operands.len {
                self.predicate(at, raw.operands.start + position, depth)
            } else {
                Holds::NEVER_KNOWN
            }
        };
        let exclusive = |a: Holds, b: Holds| a.and(b.not(), self.all).or(a.not().and(b, self.all), self.all);
        let holds = match opcode.computes() {
            Computation::Move => part(1),
            Computation::Not => part(1).not(),
            Computation::And => part(1).and(part(2), self.all),
            Computation::Or => part(1).or(part(2), self.all),
            Computation::Xor => exclusive(part(1), part(2)),
            Computation::Other
            | Computation::Convert
            | Computation::ConvertAddress
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Select
            | Computation::Compare
            | Computation::Shuffle
            | Computation::Load
            | Computation::Elect => return None,
        };
        Some(Value::Truth(Arc::new(holds)))
    }

    /// `elect.sync`: one thread of each warp, and it does not matter which.
    fn elected(&self, definition: Definition, raw: &RawInstruction) -> Option<Value> {
        let first = self.function.unit.module.operands(raw.operands).first()?.kind();
        let here = self.block(self.function.cfg.block_of(definition.instruction)?, Unknown::Stays)?;
        match first {
            OperandKind::Binary(BinaryOperator::Or, parts)
                if definition.operand == parts.start + 1 && here.is_of_warps(self.all) =>
            {
                let yes = ThreadSet::where_lanes(self.threads(), |_| 1);
                let no = self.all.without(yes);
                Some(Value::Truth(Arc::new(Holds {
                    yes,
                    no,
                    agrees: true,
                    elects: Some(definition.instruction),
                })))
            }
            _ => None,
        }
    }

    fn compare(
        &self,
        definition: Definition,
        raw: &RawInstruction,
        opcode: &Opcode,
        ty: Type,
        depth: u32,
    ) -> Option<Value> {
        let at = definition.instruction;
        let relation = opcode.comparison()?.of_integers(ty)?;
        let width = ty.bits().filter(|bits| *bits <= 64)?;
        let numbers = self.number(at, raw, 1, depth).zip(self.number(at, raw, 2, depth));
        let holds = if let Some((a, b)) = numbers {
            let turn = if relation.is_signed { 1u64 << (width - 1) } else { 0 };
            let cut = |value: u64| if width == 64 { value } else { value & ((1 << width) - 1) };
            let [less, equal, greater] =
                [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|it| relation.holds(it));
            let holds = |a: u64, b: u64| {
                let (a, b) = (cut(a) ^ turn, cut(b) ^ turn);
                match a.cmp(&b) {
                    Ordering::Less => less,
                    Ordering::Equal => equal,
                    Ordering::Greater => greater,
                }
            };
            // Below the sign, numbers are in order with and without it.
            let of_lanes = |lanes: &Numbers, with: &Numbers, less: bool, greater: bool| {
                let firsts = lanes.firsts(width - 1).filter(|_| with.grain() < Grain::Thread)?;
                let yes = ThreadSet::where_lanes(self.threads(), |warp| {
                    let (first, with) = (firsts[warp] ^ turn, cut(with.at(Grain::Warp, warp)) ^ turn);
                    let below = with.saturating_sub(first).min(32);
                    let low = ((1u64 << below) - 1) as u32;
                    let same = if below < 32 && first + below == with { 1u32 << below } else { 0 };
                    let chosen = |is_chosen: bool, lanes: u32| if is_chosen { lanes } else { 0 };
                    chosen(less, low) | chosen(equal, same) | chosen(greater, !(low | same))
                });
                Some(Holds { yes, no: self.all.without(yes), agrees: true, elects: None })
            };
            of_lanes(&a, &b, less, greater).or_else(|| of_lanes(&b, &a, greater, less)).unwrap_or_else(|| {
                match (&a, &b) {
                    (a, Numbers::Same(b)) => self.known_of(a, |a| holds(a, *b)),
                    (Numbers::Same(a), b) => self.known_of(b, |b| holds(*a, b)),
                    (a, b) => self.known(&[a, b], |[a, b]| holds(a, b)),
                }
            })
        } else {
            // What is compared may agree in a warp, whatever it is.
            let symbols = &self.function.unit.symbols;
            let agrees = (1..3).all(|position| match symbols.operand(raw.operands.start + position) {
                Resolution::Register(register) => self.agrees(at, register),
                Resolution::Special(special) => {
                    let facts = special.facts();
                    // Threads may be at different places when they read what counts on.
                    facts.same_in >= Extent::Warp && facts.lasting != Lasting::Never
                }
                _ => true,
            });
            Holds { agrees, ..Holds::NEVER_KNOWN }
        };
        let first = self.function.unit.module.operands(raw.operands).first()?.kind();
        let is_second = matches!(first, OperandKind::Binary(BinaryOperator::Or, parts) if definition.operand == parts.start + 1);
        let holds = holds.not_if(is_second);
        let with = || self.predicate(at, raw.operands.start + 3, depth);
        let holds = match opcode.boolean_operator() {
            Some(BooleanOperator::And) => holds.and(with(), self.all),
            Some(BooleanOperator::Or) => holds.or(with(), self.all),
            Some(BooleanOperator::Xor) => return None,
            None => holds,
        };
        Some(Value::Truth(Arc::new(holds)))
    }
}
