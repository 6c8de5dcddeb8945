//! What a counted loop does, round by round.
//!
//! [Ranges](super::ranges) say what a register can hold at most. Here is what it certainly holds: a loop that is
//! left by one branch only, which compares what the loop counts from a constant on, is executed, as far as its
//! numbers and addresses go. What stands in each of its rounds then meets each of the values.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cfg::BlockId;
use super::constants::Known;
use super::definitions::{Definition, DefinitionId};
use super::flow::Flow;
use super::function::Function;
use super::places::Place;
use super::values::{JoinId, ValueId};
use crate::isa::generic::{Arithmetic, Bits, Computation, Control, Flag, Modifier, Part, Type};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

/// More rounds are not gone.
const ROUNDS: u32 = 520;
/// Values that are made of longer chains are not looked into.
const DEEP: u32 = 24;

impl Flow<'_> {
    /// What a register certainly holds where an instruction reads it, in the first round of the loop that the
    /// instruction is in, in the second, and so on, as far as that is known.
    pub fn in_rounds(&self, at: u32, register: RegisterId) -> Vec<Place> {
        let mut values = Vec::new();
        let Some(rounds) = Loop::around(self, at) else { return values };
        let mut run =
            Run { flow: self, view: self.facts.view(self.unit), rounds, known: FxHashMap::default() };
        if !run.is_in_each_round(at) {
            return values;
        }
        let is_behind_exit = run.rounds.is_behind_exit(self, at);
        for round in 0..ROUNDS {
            let goes_on = run.goes_on(round);
            if is_behind_exit && goes_on != Some(true) {
                break;
            }
            match run.register(at, register, round, 0) {
                Some(Value::Number(number)) => values.push(Place::literal(number)),
                Some(Value::At(place)) => values.push(place),
                Some(Value::Bits(_)) | None => break,
            }
            if goes_on != Some(true) {
                break;
            }
        }
        values
    }
}

/// A loop that only one branch leaves.
struct Loop {
    /// By block.
    body: Vec<bool>,
    header: BlockId,
    /// The only block that goes back.
    last: BlockId,
    /// The block that leaves it, and its branch.
    exit: BlockId,
    branch: u32,
    /// Whether the branch is taken where the loop goes on.
    taken_goes_on: bool,
}

impl Loop {
    /// The innermost loop around an instruction.
    fn around(flow: &Flow<'_>, at: u32) -> Option<Self> {
        let cfg = flow.cfg();
        let block = cfg.block_of(at)?;
        if !cfg.is_in_loop(block) {
            return None;
        }
        for header in cfg.dominating(block) {
            let mut back =
                cfg.block(header).predecessors.iter().copied().filter(|it| cfg.dominates(header, *it));
            let Some(last) = back.next() else { continue };
            let mut body = vec![false; cfg.len()];
            body[header.index()] = true;
            let mut work: Vec<BlockId> = std::iter::once(last).chain(back.clone()).collect();
            while let Some(next) = work.pop() {
                if !flow.facts.budget.take(1) {
                    return None;
                }
                if !std::mem::replace(&mut body[next.index()], true) {
                    work.extend(cfg.block(next).predecessors.iter().copied());
                }
            }
            if !body[block.index()] {
                continue;
            }
            return if back.next().is_none() { Self::leaving(flow, body, header, last) } else { None };
        }
        None
    }

    fn leaving(flow: &Flow<'_>, body: Vec<bool>, header: BlockId, last: BlockId) -> Option<Self> {
        let cfg = flow.cfg();
        let mut leaving: SmallVec<[BlockId; 2]> = SmallVec::new();
        for (block, content) in cfg.blocks().filter(|(block, _)| body[block.index()]) {
            if content.leaves || cfg.choice(block).is_some() {
                return None;
            }
            if content.successors.iter().any(|next| !body[next.index()]) {
                leaving.push(block);
            }
        }
        let [exit] = leaving[..] else { return None };
        let content = cfg.block(exit);
        let branch = content.branch?;
        if content.successors.len() != 2
            || flow.unit.operations.of(branch).control() != Control::Branch
            || !cfg.dominates(exit, last)
        {
            return None;
        }
        let stays = content.successors.iter().find(|next| body[next.index()])?;
        let taken_goes_on = *stays != exit.next();
        Some(Self { body, header, last, exit, branch, taken_goes_on })
    }

    /// Whether an instruction is executed only in those rounds behind which the loop goes on.
    fn is_behind_exit(&self, flow: &Flow<'_>, at: u32) -> bool {
        let cfg = flow.cfg();
        cfg.block_of(at).is_some_and(|block| block != self.exit && cfg.dominates(self.exit, block))
    }
}

/// What a register holds.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A number.
    Number(u64),
    /// A place that is counted from something, of which at least the column is known.
    At(Place),
    /// A number of which the column is known.
    Bits(Known),
}

struct Run<'f, 'a> {
    flow: &'f Flow<'a>,
    view: Function<'a>,
    rounds: Loop,
    known: FxHashMap<(DefinitionId, u32), Option<Value>>,
}

impl Run<'_, '_> {
    fn is_inside(&self, instruction: u32) -> Option<BlockId> {
        self.view.cfg.block_of(instruction).filter(|block| self.rounds.body[block.index()])
    }

    /// Whether each round executes an instruction once.
    fn is_in_each_round(&self, instruction: u32) -> bool {
        let Some(block) = self.is_inside(instruction) else { return false };
        let (cfg, unit) = (self.view.cfg, self.view.unit);
        let each = cfg.dominates(block, self.rounds.last) || cfg.dominates(block, self.rounds.exit);
        // Who is let through is the same in all rounds.
        let is_let_through = || match unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.view.definitions.of(register).iter().all(|id| {
                let made = self.view.definitions.get(*id).instruction;
                let is_elected = unit.operations.of(made).computes() == Computation::Elect;
                is_elected || self.is_inside(made).is_none()
            }),
            _ => unit.module.guard(&unit.module.instructions[instruction as usize]).is_none(),
        };
        each && !self.goes_round_inside(block) && is_let_through()
    }

    /// Whether a block is in a loop inside this one.
    fn goes_round_inside(&self, block: BlockId) -> bool {
        let cfg = self.view.cfg;
        if block == self.rounds.header {
            return false;
        }
        let mut seen = SmallVec::<[BlockId; 8]>::new();
        let mut work: SmallVec<[BlockId; 8]> = SmallVec::from_slice(&[block]);
        while let Some(next) = work.pop() {
            for next in &cfg.block(next).successors {
                if *next == block || !self.view.budget.take(1) {
                    return true;
                }
                if *next != self.rounds.header && self.rounds.body[next.index()] && !seen.contains(next) {
                    seen.push(*next);
                    work.push(*next);
                }
            }
        }
        false
    }

    /// Whether another round follows, if that is known.
    fn goes_on(&mut self, round: u32) -> Option<bool> {
        let unit = self.view.unit;
        let branch = self.rounds.branch;
        let guard = unit.module.guard(&unit.module.instructions[branch as usize])?;
        let Resolution::Register(predicate) = unit.symbols.guard(branch) else { return None };
        let Value::Number(holds) = self.register(branch, predicate, round, 0)? else { return None };
        Some(((holds != 0) != guard.negated) == self.rounds.taken_goes_on)
    }

    /// What a register holds where an instruction reads it.
    fn register(&mut self, at: u32, register: RegisterId, round: u32, depth: u32) -> Option<Value> {
        if depth > DEEP || !self.view.budget.take(1) {
            return None;
        }
        let found = match self.view.value(at, register)? {
            ValueId::Definition(id) => {
                let Definition { instruction: made, guarded, .. } = *self.view.definitions.get(id);
                if guarded || !self.view.cfg.passes_before(made, at) {
                    None
                } else {
                    self.definition(id, round, depth)
                }
            }
            ValueId::Join(join) => match self.entered(join)? {
                (first, _) if round == 0 => self.definition(first, 0, depth),
                (_, next) => self.definition(next, round - 1, depth),
            },
        };
        found.or_else(|| self.outside(at, register))
    }

    /// What gives a register its value before the first round, and in each of them.
    fn entered(&self, join: JoinId) -> Option<(DefinitionId, DefinitionId)> {
        let mut all: SmallVec<[DefinitionId; 4]> = SmallVec::new();
        let mut work: SmallVec<[ValueId; 4]> = self.view.definitions.joined(join).iter().copied().collect();
        while let Some(next) = work.pop() {
            match next {
                ValueId::Definition(id) if !all.contains(&id) => all.push(id),
                ValueId::Definition(_) => {}
                ValueId::Join(join) => work.extend(self.view.definitions.joined(join).iter().copied()),
            }
            if all.len() > 2 || !self.view.budget.take(1) {
                return None;
            }
        }
        let [one, other] = all[..] else { return None };
        let definition = |id: DefinitionId| *self.view.definitions.get(id);
        if definition(one).guarded || definition(other).guarded {
            return None;
        }
        let is_inside = |id: DefinitionId| self.is_inside(definition(id).instruction).is_some();
        match (is_inside(one), is_inside(other)) {
            (false, true) => Some((one, other)),
            (true, false) => Some((other, one)),
            (true, true) | (false, false) => None,
        }
    }

    /// What does not change in the loop, by what is known of it anywhere.
    fn outside(&self, at: u32, register: RegisterId) -> Option<Value> {
        let inside = |id: &DefinitionId| self.is_inside(self.view.definitions.get(*id).instruction).is_some();
        // What is read before the loop is as it was there.
        if self.is_inside(at).is_some() && self.view.definitions.of(register).iter().any(inside) {
            return None;
        }
        let place = self.flow.places().of(at, register);
        if place.slot().is_some() && place.column().is_some() {
            return Some(Value::At(place));
        }
        let known = self.flow.facts.constants.at(&self.view, at, register);
        let width = Function::width(self.view.unit.symbols.register(register))?;
        match known.constant(width) {
            Some(number) => Some(Value::Number(number)),
            None => known.constant(16).map(|_| Value::Bits(known)),
        }
    }

    fn definition(&mut self, id: DefinitionId, round: u32, depth: u32) -> Option<Value> {
        let made = self.view.definitions.get(id).instruction;
        let is_inside = self.is_inside(made).is_some();
        if is_inside && !self.is_in_each_round(made) {
            return None;
        }
        let key = (id, if is_inside { round } else { 0 });
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        // What is made of itself has no value.
        self.known.insert(key, None);
        let value = self.made(id, round, depth + 1);
        self.known.insert(key, value);
        value
    }

    /// What an instruction makes.
    fn made(&mut self, id: DefinitionId, round: u32, depth: u32) -> Option<Value> {
        let Definition { instruction: at, operand, register, .. } = *self.view.definitions.get(id);
        let unit = self.view.unit;
        let holds = Function::width(unit.symbols.register(register));
        let raw = &unit.module.instructions[at as usize];
        let opcode = unit.operations.of(at);
        let ty = *opcode.types.last()?;
        let first = raw.operands.start;
        if operand != first
            || opcode.has_flag(Flag::Sat)
            || opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed())
        {
            return None;
        }
        if opcode.computes() == Computation::Load {
            return self.flow.start_of_loaded(at).map(|start| Value::At(start.place()));
        }
        let count = raw.operands.len;
        let mut operand = |position: u32| self.operand(at, first + position, round, depth);
        if ty == Type::Pred {
            return match (opcode.computes(), count) {
                (Computation::Move, 2) => operand(1),
                (Computation::Not, 2) => match operand(1)? {
                    Value::Number(number) => Some(Value::Number(u64::from(number == 0))),
                    Value::At(_) | Value::Bits(_) => None,
                },
                _ => None,
            };
        }
        let width = ty.bits().filter(|bits| matches!(bits, 32 | 64))?;
        let cut = |value: u64| if width == 64 { value } else { value & u64::from(u32::MAX) };
        let signed = |value: u64| (value << (64 - width)).cast_signed() >> (64 - width);
        if opcode.computes() == Computation::Compare {
            let relation = opcode.comparison()?.of_integers(ty)?;
            if opcode.boolean_operator().is_some() || count != 3 {
                return None;
            }
            let (Value::Number(a), Value::Number(b)) = (operand(1)?, operand(2)?) else { return None };
            let order: Ordering =
                if relation.is_signed { signed(a).cmp(&signed(b)) } else { cut(a).cmp(&cut(b)) };
            return Some(Value::Number(u64::from(relation.holds(order))));
        }
        let number = |a: Value, b: Value, combine: &dyn Fn(u64, u64) -> Option<u64>| match (a, b) {
            (Value::Number(a), Value::Number(b)) => Some(Value::Number(cut(combine(cut(a), cut(b))?))),
            _ => None,
        };
        let is_signed = ty.is_signed();
        match (opcode.computes(), count) {
            (Computation::Move, 2) => operand(1),
            // What is narrower than the register that it is written to is extended.
            (Computation::Convert, 2) if opcode.types.first().and_then(|ty| ty.bits()) != holds => None,
            (Computation::Convert, 2) => match (operand(1)?, opcode.types[..].first()?.bits()?) {
                (Value::Number(value), 64) if is_signed => Some(Value::Number(signed(value).cast_unsigned())),
                (Value::Number(value), 64) => Some(Value::Number(cut(value))),
                (Value::Number(value), 32) => Some(Value::Number(value & u64::from(u32::MAX))),
                _ => None,
            },
            (Computation::Shuffle, _) => match operand(1)? {
                place @ Value::At(_) => Some(place),
                Value::Number(_) | Value::Bits(_) => None,
            },
            (Computation::Arithmetic(Arithmetic::Add), 3) => match (operand(1)?, operand(2)?) {
                (Value::At(place), Value::Number(by)) | (Value::Number(by), Value::At(place)) => {
                    Some(Value::At(place.plus(Known::from(by))))
                }
                (Value::At(place), Value::Bits(by)) | (Value::Bits(by), Value::At(place)) => {
                    Some(Value::At(place.plus(by)))
                }
                (a, b) => number(a, b, &|a, b| Some(a.wrapping_add(b))),
            },
            (Computation::Arithmetic(Arithmetic::Subtract), 3) => match (operand(1)?, operand(2)?) {
                (Value::At(place), Value::Number(by)) => {
                    Some(Value::At(place.plus(Known::from(cut(by.wrapping_neg())))))
                }
                (a, b) => number(a, b, &|a, b| Some(a.wrapping_sub(b))),
            },
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 4) if opcode.has(Modifier::Part(Part::Lo)) => {
                let product = number(operand(1)?, operand(2)?, &|a, b| Some(a.wrapping_mul(b)))?;
                match (product, operand(3)?) {
                    (Value::Number(by), Value::At(place)) => Some(Value::At(place.plus(Known::from(by)))),
                    (a, b) => number(a, b, &|a, b| Some(a.wrapping_add(b))),
                }
            }
            (Computation::Arithmetic(Arithmetic::Multiply), 3) if opcode.has(Modifier::Part(Part::Lo)) => {
                number(operand(1)?, operand(2)?, &|a, b| Some(a.wrapping_mul(b)))
            }
            (Computation::Arithmetic(Arithmetic::Multiply), 3)
                if opcode.has(Modifier::Part(Part::Hi)) && !is_signed && width == 32 =>
            {
                number(operand(1)?, operand(2)?, &|a, b| Some((a * b) >> width))
            }
            (Computation::And, 3) => number(operand(1)?, operand(2)?, &|a, b| Some(a & b)),
            (Computation::Or, 3) => number(operand(1)?, operand(2)?, &|a, b| Some(a | b)),
            (Computation::Xor, 3) => number(operand(1)?, operand(2)?, &|a, b| Some(a ^ b)),
            (Computation::Bits(Bits::ShiftLeft), 3) => number(operand(1)?, operand(2)?, &|a, by| {
                Some(if by < u64::from(width) { a << by } else { 0 })
            }),
            (Computation::Bits(Bits::ShiftRight), 3) => number(operand(1)?, operand(2)?, &|a, by| {
                let last = u64::from(width) - 1;
                Some(match is_signed {
                    true => (signed(a) >> by.min(last)).cast_unsigned(),
                    // A word that is shifted by all its bits has none left.
                    false if by > last => 0,
                    false => a >> by,
                })
            }),
            (Computation::Arithmetic(Arithmetic::Remainder), 3) if !is_signed => {
                number(operand(1)?, operand(2)?, &u64::checked_rem)
            }
            (Computation::Arithmetic(Arithmetic::Divide), 3) if !is_signed => {
                number(operand(1)?, operand(2)?, &u64::checked_div)
            }
            (Computation::Select, 4) => match operand(3)? {
                Value::Number(0) => operand(2),
                Value::Number(_) => operand(1),
                Value::At(_) | Value::Bits(_) => None,
            },
            _ => None,
        }
    }

    fn operand(&mut self, at: u32, index: u32, round: u32, depth: u32) -> Option<Value> {
        let unit = self.view.unit;
        let operand = unit.module.operands.get(index as usize)?;
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return Some(Value::Number((value & i128::from(u64::MAX)) as u64));
        }
        if operand.kind() != OperandKind::Name {
            return None;
        }
        match unit.symbols.operand(index) {
            Resolution::Register(register) => self.register(at, register, round, depth),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }
}
