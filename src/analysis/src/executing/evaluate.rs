//! What registers hold in each thread of a block.

use std::sync::Arc;

use smallvec::SmallVec;

use super::numbers::{Chosen, Grain, Numbers};
use super::threads::{Holds, ThreadSet};
use super::{ALL_THREADS, Executing, Unknown};
use crate::arithmetic::domain::{Domain, Function as Step};
use crate::arithmetic::{Arithmetic, Integer, Lanes};
use crate::cfg::BlockId;
use crate::definitions::{Definition, DefinitionId};
use crate::ir::argument::{self, Argument, Arguments, Placed};
use crate::ir::{Computing, Simple};
use crate::isa::generic::{self, BooleanOperator, Computation, Modifier, ShuffleMode, Type};
use crate::isa::hierarchy::WARPS_OF_CTA;
use crate::isa::special_registers::{Extent, Lasting, Part as Which, Special, SpecialRegister};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{BinaryOperator, OperandKind, RawInstruction};
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
        let mut first = Arguments::new();
        argument::flatten(self.function.unit, raw.operands.start, Some(Type::U32), &mut first);
        if let [first] = first[..]
            && let Some(Value::Number(numbers)) = self.argument(instruction, first, 0)
        {
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

    /// All threads, or none.
    fn same(&self, holds: bool) -> Holds {
        let yes = if holds { self.all } else { ThreadSet::EMPTY };
        Holds { yes, no: self.all.without(yes), agrees: true, elects: None }
    }

    /// For which threads something about a number holds.
    fn known_of(&self, number: &Numbers, holds: impl Fn(u64) -> bool) -> Holds {
        match number {
            // What chooses may be an election: which thread it is does not matter.
            Numbers::Chosen(chosen) => match (holds(chosen.yes), holds(chosen.no)) {
                (true, false) => chosen.by,
                (false, true) => chosen.by.not(),
                (both, _) => self.same(both),
            },
            Numbers::Same(number) => self.same(holds(*number)),
            Numbers::Warps(numbers) => {
                let lanes = |warp: usize| if holds(numbers[warp]) { u32::MAX } else { 0 };
                let yes = ThreadSet::where_lanes(self.threads(), lanes);
                Holds { yes, no: self.all.without(yes), agrees: true, elects: None }
            }
            Numbers::Lanes(_) | Numbers::Threads(_) => {
                let yes =
                    ThreadSet::where_each(self.threads(), |thread| holds(number.at(Grain::Thread, thread)));
                Holds { yes, no: self.all.without(yes), agrees: true, elects: None }
            }
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.size.iter().product::<u64>() as usize
    }

    /// A number for each thread, as the machine makes it of others, if the budget is enough for that.
    fn executed(
        &self,
        arithmetic: &Arithmetic,
        of: &[&Numbers],
        position: usize,
        count: usize,
    ) -> Option<Numbers> {
        let of_numbers = |at: &dyn Fn(&Numbers) -> u64| {
            let numbers: SmallVec<[u64; 4]> = of.iter().map(|it| at(it)).collect();
            arithmetic.number(&numbers, position, count)
        };
        match of.iter().map(|numbers| numbers.grain()).max().unwrap_or(Grain::All) {
            Grain::All => of_numbers(&|it| it.at(Grain::All, 0)).map(Numbers::Same),
            // The warps stand in the lanes.
            Grain::Warp => {
                let warps = self.threads().div_ceil(32);
                let made = execute(arithmetic, of, position, count, &|numbers, warp| {
                    numbers.at(Grain::Warp, warp.min(warps - 1))
                });
                Some(Numbers::Warps(made[..warps].into()))
            }
            Grain::Thread => {
                let mut others = of.iter().filter(|numbers| numbers.grain() > Grain::All);
                if let (Some(Numbers::Chosen(chosen)), None) = (others.next(), others.next()) {
                    let with = |value: u64| {
                        of_numbers(&|it| if let Numbers::Same(number) = it { *number } else { value })
                    };
                    let (yes, no) = (with(chosen.yes)?, with(chosen.no)?);
                    return Some(Numbers::Chosen(Arc::new(Chosen { by: chosen.by, yes, no })));
                }
                if !self.function.budget.take(ALL_THREADS) {
                    return None;
                }
                let threads = self.threads();
                let warp = |warp: usize| {
                    execute(arithmetic, of, position, count, &|numbers, lane| {
                        numbers.at(Grain::Thread, (warp * 32 + lane).min(threads - 1))
                    })
                };
                let mut made: Vec<u64> = (0..threads.div_ceil(32)).flat_map(warp).collect();
                made.truncate(threads);
                Some(Numbers::of_threads(made))
            }
        }
    }

    /// The same, for each thread on its own.
    fn each(&self, number: impl Fn(usize) -> u64) -> Option<Numbers> {
        if !self.function.budget.take(ALL_THREADS) {
            return None;
        }
        Some(Numbers::of_threads((0..self.threads()).map(number).collect()))
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

    /// What an argument is in each thread.
    fn argument(&self, instruction: u32, placed: Placed, depth: u32) -> Option<Value> {
        match placed.argument {
            Argument::Constant(value) => Some(Value::Number(Numbers::Same(value))),
            Argument::Register { id, part: 0 } => self.read(instruction, id, depth),
            Argument::Not(id) => Some(Value::Truth(Arc::new(self.truth(instruction, id, depth).not()))),
            Argument::Special(special) => self.special(special).map(Value::Number),
            Argument::Register { .. }
            | Argument::Symbol { .. }
            | Argument::Carry
            | Argument::Sink
            | Argument::Opaque => None,
        }
    }

    pub(super) fn number(&self, instruction: u32, placed: Placed, depth: u32) -> Option<Numbers> {
        match self.argument(instruction, placed, depth)? {
            Value::Number(numbers) => Some(numbers),
            Value::Truth(_) => None,
        }
    }

    fn predicate(&self, instruction: u32, placed: Placed, depth: u32) -> Holds {
        match placed.argument.simple() {
            Simple::Number(value) => self.same(value != 0),
            Simple::Register(id) => self.truth(instruction, id, depth),
            Simple::Not(id) => self.truth(instruction, id, depth).not(),
            Simple::Other => Holds::NEVER_KNOWN,
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
            Computation::Arithmetic(generic::Arithmetic::Remainder) => number(2)?,
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
        let unit = self.function.unit;
        let at = definition.instruction;
        let raw = &unit.module.instructions[at as usize];
        let opcode = unit.operations.of(at);
        if opcode.computes() == Computation::Elect {
            return self.elected(definition, raw);
        }
        let computing = self.function.computing(at)?;
        let arithmetic = computing.arithmetic.filter(Arithmetic::is_followed)?;
        let (position, count) = (computing.position(definition.operand)?, computing.results().len());
        if opcode.types.last() == Some(&Type::Pred) {
            let sources: SmallVec<[Option<Holds>; 4]> =
                computing.sources().iter().map(|it| Some(self.predicate(at, *it, depth))).collect();
            let holds = arithmetic.transfer(&mut Predicates(self.all), &sources, position, count)?;
            return Some(Value::Truth(Arc::new(holds)));
        }
        if opcode.computes() == Computation::Compare {
            return self.compare(at, opcode, computing, position, depth);
        }
        if let Some(place) = self.place_in_cluster(at, raw) {
            return Some(Value::Number(place));
        }
        let number = match (opcode.computes(), computing.sources()) {
            (Computation::Select, [yes, no, holds]) => {
                let (yes, no) = (self.number(at, *yes, depth)?, self.number(at, *no, depth)?);
                self.select(&yes, &no, &self.predicate(at, *holds, depth))?
            }
            (Computation::Shuffle, [a, from, clamp, ..])
                if position == 0 && opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx)) =>
            {
                let number = |placed: &Placed| self.number(at, *placed, depth);
                self.shuffled(number(a)?, &number(from)?, &number(clamp)?)?
            }
            (_, sources) => {
                let numbers: SmallVec<[Numbers; 4]> =
                    sources.iter().map(|it| self.number(at, *it, depth)).collect::<Option<_>>()?;
                let numbers: SmallVec<[&Numbers; 4]> = numbers.iter().collect();
                self.executed(&arithmetic, &numbers, position, count)?
            }
        };
        Some(Value::Number(number))
    }

    /// `shfl.idx`: from one lane to all, where all 32 are one segment.
    fn shuffled(&self, a: Numbers, from: &Numbers, clamp: &Numbers) -> Option<Numbers> {
        let is_whole = clamp.all(|clamp| clamp & SEGMENTS == ALL_LANES);
        if !is_whole || !self.threads().is_multiple_of(32) || !from.all(|lane| lane < 32) {
            return None;
        }
        match a {
            Numbers::Lanes(_) | Numbers::Chosen(_) | Numbers::Threads(_) if from.grain() < Grain::Thread => {
                let warps = 0..self.threads() / 32;
                let lane = |warp: usize| from.at(Grain::Warp, warp) as usize;
                let chosen = |warp: usize| a.at(Grain::Thread, warp * 32 + lane(warp));
                Some(Numbers::Warps(warps.map(chosen).collect()))
            }
            Numbers::Lanes(_) | Numbers::Chosen(_) | Numbers::Threads(_) => self.each(|thread| {
                let lane = from.at(Grain::Thread, thread) as usize;
                a.at(Grain::Thread, thread / 32 * 32 + lane)
            }),
            Numbers::Same(_) | Numbers::Warps(_) => Some(a),
        }
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
        at: u32,
        opcode: &Opcode,
        computing: &Computing,
        position: usize,
        depth: u32,
    ) -> Option<Value> {
        let [a, b, with @ ..] = computing.sources() else { return None };
        let numbers = self.number(at, *a, depth).zip(self.number(at, *b, depth));
        let compared =
            numbers.and_then(|(a, b)| self.executed(computing.arithmetic.as_ref()?, &[&a, &b], 0, 1));
        let holds = if let Some(compared) = compared {
            self.known_of(&compared, |holds| holds != 0)
        } else {
            // What is compared may agree in a warp, whatever it is.
            let agrees = [a, b].into_iter().all(|placed| match placed.argument {
                Argument::Register { id, .. } | Argument::Not(id) => self.agrees(at, id),
                Argument::Special(special) => {
                    let facts = special.facts();
                    // Threads may be at different places when they read what counts on.
                    facts.same_in >= Extent::Warp && facts.lasting != Lasting::Never
                }
                Argument::Constant(_)
                | Argument::Symbol { .. }
                | Argument::Carry
                | Argument::Sink
                | Argument::Opaque => true,
            });
            Holds { agrees, ..Holds::NEVER_KNOWN }
        };
        let holds = holds.not_if(position == 1);
        let with = || with.first().map_or(Holds::NEVER_KNOWN, |with| self.predicate(at, *with, depth));
        let holds = match opcode.boolean_operator() {
            Some(BooleanOperator::And) => holds.and(with(), self.all),
            Some(BooleanOperator::Or) => holds.or(with(), self.all),
            Some(BooleanOperator::Xor) => holds.exclusive_or(with(), self.all),
            None => holds,
        };
        Some(Value::Truth(Arc::new(holds)))
    }
}

/// What an instruction makes of 32 numbers of each source, at a place each.
fn execute(
    arithmetic: &Arithmetic,
    of: &[&Numbers],
    position: usize,
    count: usize,
    at: &dyn Fn(&Numbers, usize) -> u64,
) -> Lanes {
    let sources: SmallVec<[Lanes; 4]> =
        of.iter().map(|it| std::array::from_fn(|place| at(it, place))).collect();
    let sources: SmallVec<[&Lanes; 4]> = sources.iter().collect();
    let mut results: SmallVec<[Lanes; 2]> = SmallVec::from_elem([0; 32], count);
    {
        let mut places: SmallVec<[&mut Lanes; 2]> = results.iter_mut().collect();
        arithmetic.execute(u32::MAX, &sources, &mut places);
    }
    results.get(position).copied().unwrap_or([0; 32])
}

/// The domain of predicates: for which threads each certainly holds, and for which it certainly does not.
struct Predicates(ThreadSet);

impl Domain for Predicates {
    type Value = Option<Holds>;

    fn unknown(&mut self) -> Self::Value {
        None
    }

    fn number(&mut self, bits: u64) -> Self::Value {
        let (yes, no) = if bits & 1 == 1 { (self.0, ThreadSet::EMPTY) } else { (ThreadSet::EMPTY, self.0) };
        Some(Holds { yes, no, agrees: true, elects: None })
    }

    fn known(&mut self, value: &Self::Value, _: u32) -> Option<u64> {
        let value = value.as_ref()?;
        if value.yes == self.0 { Some(1) } else { (value.no == self.0).then_some(0) }
    }

    fn apply(&mut self, function: Step, _: Integer, sources: &[Self::Value]) -> Self::Value {
        let all = self.0;
        match (function, sources) {
            (Step::Extend(_), [Some(a)]) => Some(*a),
            (Step::Not, [Some(a)]) => Some(a.not()),
            (Step::And, [Some(a), Some(b)]) => Some(a.and(*b, all)),
            (Step::Or, [Some(a), Some(b)]) => Some(a.or(*b, all)),
            (Step::Xor, [Some(a), Some(b)]) => Some(a.exclusive_or(*b, all)),
            // Nothing else is computed of predicates.
            _ => None,
        }
    }
}
