//! What a counted loop does, iteration by iteration.
//!
//! [Ranges](super::ranges) say what a register can hold at most. Here is what it certainly holds: a loop that is
//! left by one branch only, which compares what the loop counts from a constant on, is executed, as far as its
//! numbers and addresses go. What stands in each of its iterations then meets each of the values.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::cfg::{BlockId, Direction};
use super::constants::Known;
use super::definitions::{Definition, DefinitionId};
use super::flow::Flow;
use super::function::Function;
use super::places::Place;
use super::values::{JoinId, ValueId};
use crate::arithmetic::domain::{Domain, Function as Step};
use crate::arithmetic::known_bits::{self, KnownBits};
use crate::arithmetic::{Arithmetic, Integer};
use crate::ir::{Argument, Simple};
use crate::isa::generic::{Computation, Control};
use crate::resolve::symbols::{RegisterId, Resolution};

/// More iterations are not gone.
const MOST: u32 = 520;
/// Values that are made of longer chains are not looked into.
const DEEP: u32 = 24;

/// What a register holds in the iterations of a loop.
#[derive(Clone, Debug, Default)]
pub struct Iterations {
    /// In the first, the second, and so on, as far as that is known.
    pub values: Vec<Place>,
    /// Whether there are certainly no more.
    pub is_complete: bool,
}

impl Flow<'_> {
    /// What a register certainly holds where an instruction reads it, in the iterations of the loop that the instruction is
    /// in.
    pub fn in_iterations(&self, at: u32, register: RegisterId) -> Iterations {
        let mut found = Iterations::default();
        let Iterations { values, is_complete } = &mut found;
        let Some(cycle) = Loop::around(self, at) else { return found };
        let mut run =
            Run { flow: self, view: self.facts.view(self.unit), cycle, known: FxHashMap::default() };
        if !run.is_in_each_round(at) {
            return found;
        }
        let is_behind_exit = run.cycle.is_behind_exit(self, at);
        let Some(width) = Function::width(self.unit.symbols.register(register)) else { return found };
        for iteration in 0..MOST {
            let goes_on = run.goes_on(iteration);
            if is_behind_exit && goes_on != Some(true) {
                *is_complete = goes_on == Some(false);
                break;
            }
            match run.register(at, register, iteration, 0) {
                Some(Value::At(place)) => values.push(place),
                Some(Value::Bits(known)) => match known.constant(width) {
                    Some(number) => values.push(Place::literal(number)),
                    None => break,
                },
                None => break,
            }
            if goes_on != Some(true) {
                *is_complete = goes_on == Some(false);
                break;
            }
        }
        found
    }
}

/// A loop that only one branch leaves.
struct Loop {
    body: FxHashSet<BlockId>,
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
            let ends = back.clone().chain([header, last]);
            let body = cfg.reached(Direction::Backward, ends, &flow.facts.budget, |block| block != header)?;
            if !body.contains(&block) {
                continue;
            }
            return if back.next().is_none() { Self::leaving(flow, body, header, last) } else { None };
        }
        None
    }

    fn leaving(flow: &Flow<'_>, body: FxHashSet<BlockId>, header: BlockId, last: BlockId) -> Option<Self> {
        let cfg = flow.cfg();
        let mut leaving: SmallVec<[BlockId; 2]> = SmallVec::new();
        for (block, content) in cfg.blocks().filter(|(block, _)| body.contains(block)) {
            if content.leaves || cfg.choice(block).is_some() {
                return None;
            }
            if content.successors.iter().any(|next| !body.contains(next)) {
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
        let stays = content.successors.iter().find(|next| body.contains(*next))?;
        let taken_goes_on = *stays != exit.next();
        Some(Self { body, header, last, exit, branch, taken_goes_on })
    }

    /// Whether an instruction is executed only in iterations after which the loop goes on.
    fn is_behind_exit(&self, flow: &Flow<'_>, at: u32) -> bool {
        let cfg = flow.cfg();
        cfg.block_of(at).is_some_and(|block| block != self.exit && cfg.dominates(self.exit, block))
    }
}

/// What a register holds in one iteration.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A number, of which these bits are known: the column, at least.
    Bits(Known),
    /// A place that is counted from something, of which at least the column is known.
    At(Place),
}

impl Value {
    /// The number that the low bits are.
    fn number(self, bits: u32) -> Option<u64> {
        match self {
            Self::Bits(known) => known.constant(bits),
            Self::At(_) => None,
        }
    }
}

/// Bits of a column.
const COLUMN: u32 = 16;

/// The domain of one iteration: known bits, or a place. A value of which neither is known is `None`.
struct Iteration;

impl Domain for Iteration {
    type Value = Option<Value>;

    fn unknown(&mut self) -> Option<Value> {
        None
    }

    fn number(&mut self, bits: u64) -> Option<Value> {
        Some(Value::Bits(Known::from(bits)))
    }

    fn known(&mut self, value: &Option<Value>, bits: u32) -> Option<u64> {
        value.as_ref()?.number(bits)
    }

    fn apply(&mut self, function: Step, ty: Integer, sources: &[Option<Value>]) -> Option<Value> {
        match (function, sources) {
            (
                Step::Add,
                [Some(Value::At(place)), Some(Value::Bits(by))]
                | [Some(Value::Bits(by)), Some(Value::At(place))],
            ) => by.constant(COLUMN).map(|_| Value::At(place.plus(*by))),
            (Step::Subtract, [Some(Value::At(place)), Some(Value::Bits(by))]) => {
                let by = by.constant(ty.bits)?.wrapping_neg() & ty.mask();
                Some(Value::At(place.plus(Known::from(by))))
            }
            (Step::Extend(to), [Some(Value::At(place))]) if ty.bits.min(to) >= 32 => Some(Value::At(*place)),
            (Step::Exchange, [Some(Value::At(place)), ..]) => Some(Value::At(*place)),
            (Step::Select, [yes, no, holds]) => match self.known(holds, 1)? {
                0 => *no,
                _ => *yes,
            },
            (function, sources) => {
                let bits = |value: &Option<Value>| match value {
                    Some(Value::Bits(known)) => Some(*known),
                    Some(Value::At(_)) | None => None,
                };
                let sources: SmallVec<[Known; 4]> = sources.iter().map(bits).collect::<Option<_>>()?;
                Some(Value::Bits(KnownBits.apply(function, ty, &sources)))
            }
        }
    }
}

struct Run<'f, 'a> {
    flow: &'f Flow<'a>,
    view: Function<'a>,
    cycle: Loop,
    known: FxHashMap<(DefinitionId, u32), Option<Value>>,
}

impl Run<'_, '_> {
    fn is_inside(&self, instruction: u32) -> Option<BlockId> {
        self.view.cfg.block_of(instruction).filter(|block| self.cycle.body.contains(block))
    }

    /// Whether each iteration executes an instruction once.
    fn is_in_each_round(&self, instruction: u32) -> bool {
        let Some(block) = self.is_inside(instruction) else { return false };
        let (cfg, unit) = (self.view.cfg, self.view.unit);
        let each = cfg.dominates(block, self.cycle.last) || cfg.dominates(block, self.cycle.exit);
        // Who is let through is the same in all iterations.
        let is_let_through = || match unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.view.definitions.of(register).iter().all(|id| {
                let made = self.view.definitions.get(*id).instruction;
                let is_elected = unit.operations.of(made).computes() == Computation::Elect;
                is_elected || self.is_inside(made).is_none()
            }),
            _ => unit.module.guard(&unit.module.instructions[instruction as usize]).is_none(),
        };
        each && !self.is_in_inner_cycle(block) && is_let_through()
    }

    /// Whether a block is in a loop inside this one.
    fn is_in_inner_cycle(&self, block: BlockId) -> bool {
        let cfg = self.view.cfg;
        let goes_on = |at: BlockId| at != self.cycle.header && self.cycle.body.contains(&at);
        block != self.cycle.header && cfg.comes_back(block, self.view.budget, goes_on)
    }

    /// Whether another iteration follows, if that is known.
    fn goes_on(&mut self, iteration: u32) -> Option<bool> {
        let unit = self.view.unit;
        let branch = self.cycle.branch;
        let guard = unit.module.guard(&unit.module.instructions[branch as usize])?;
        let Resolution::Register(predicate) = unit.symbols.guard(branch) else { return None };
        let holds = self.register(branch, predicate, iteration, 0)?.number(1)?;
        Some(((holds != 0) != guard.negated) == self.cycle.taken_goes_on)
    }

    /// What a register holds where an instruction reads it.
    fn register(&mut self, at: u32, register: RegisterId, iteration: u32, depth: u32) -> Option<Value> {
        if depth > DEEP || !self.view.budget.take(1) {
            return None;
        }
        let found = match self.view.value(at, register)? {
            ValueId::Definition(id) => {
                let Definition { instruction: made, guarded, .. } = *self.view.definitions.get(id);
                if guarded || !self.view.cfg.passes_before(made, at) {
                    None
                } else {
                    self.definition(id, iteration, depth)
                }
            }
            ValueId::Join(join) => match self.entered(join)? {
                (first, _) if iteration == 0 => self.definition(first, 0, depth),
                (_, next) => self.definition(next, iteration - 1, depth),
            },
        };
        let width = Function::width(self.view.unit.symbols.register(register))?;
        let is_known = |value: &Value| match value {
            Value::Bits(known) => known.constant(width.min(COLUMN)).is_some(),
            Value::At(_) => true,
        };
        found.filter(is_known).or_else(|| self.outside(at, register))
    }

    /// What gives a register its value before the first iteration, and in each of them.
    fn entered(&self, join: JoinId) -> Option<(DefinitionId, DefinitionId)> {
        let all = self.view.definitions.all(ValueId::Join(join), self.view.budget)?;
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
        known.constant(width.min(COLUMN)).map(|_| Value::Bits(known))
    }

    fn definition(&mut self, id: DefinitionId, iteration: u32, depth: u32) -> Option<Value> {
        let made = self.view.definitions.get(id).instruction;
        let is_inside = self.is_inside(made).is_some();
        if is_inside && !self.is_in_each_round(made) {
            return None;
        }
        let key = (id, if is_inside { iteration } else { 0 });
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        // What is made of itself has no value.
        self.known.insert(key, None);
        let value = self.made(id, iteration, depth + 1);
        self.known.insert(key, value);
        value
    }

    /// What an instruction makes.
    fn made(&mut self, id: DefinitionId, iteration: u32, depth: u32) -> Option<Value> {
        let Definition { instruction: at, operand, register, .. } = *self.view.definitions.get(id);
        let unit = self.view.unit;
        if unit.operations.of(at).computes() == Computation::Load {
            let is_first = operand == unit.module.instructions[at as usize].operands.start;
            return self.flow.start_of_loaded(at).filter(|_| is_first).map(|start| Value::At(start.place()));
        }
        let computing = self.view.computing(at)?;
        let arithmetic = computing.arithmetic.filter(Arithmetic::is_followed)?;
        let (position, count) = (computing.position(operand)?, computing.results().len());
        let sources: SmallVec<[Option<Value>; 4]> =
            computing.sources().iter().map(|it| self.argument(at, it.argument, iteration, depth)).collect();
        let value = arithmetic.transfer(&mut Iteration, &sources, position, count)?;
        let width = Function::width(unit.symbols.register(register))?;
        Some(match value {
            // A register that is wider than the type keeps what nobody knows.
            Value::Bits(known) => {
                Value::Bits(known_bits::within(known, arithmetic.result_bits(position, count).min(width)))
            }
            place @ Value::At(_) => place,
        })
    }

    fn argument(&mut self, at: u32, argument: Argument, iteration: u32, depth: u32) -> Option<Value> {
        match argument.simple() {
            Simple::Number(value) => Some(Value::Bits(Known::from(value))),
            Simple::Register(id) => self.register(at, id, iteration, depth),
            Simple::Not(id) => match self.register(at, id, iteration, depth)? {
                Value::Bits(known) => Some(Value::Bits(known_bits::not(known))),
                Value::At(_) => None,
            },
            Simple::Other => None,
        }
    }
}
