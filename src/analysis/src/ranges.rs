//! Which numbers a register can hold, counted from where.
//!
//! Kernels have loops: over the stages of a ring, over the columns of an accumulator. Which of them an
//! instruction means is not known; that it is one of few is. So a value is a set of [numbers](Numbers),
//! counted from nothing, from a variable, or from what an instruction made that is not looked into, such as
//! the load of a slot. Where values meet, the set has all of them, if they are counted from the same.
//!
//! What is read under a condition has only the numbers for which it holds: a `selp` of what was compared, and
//! what a loop carries past the compare that ends it. Without such an end a counter goes on forever, and
//! does not wrap around: an address that is counted so would have been outside all memory before.

use std::cell::{OnceCell, RefCell};

use rustc_hash::FxHashMap;

pub use self::numbers::Numbers;
use super::cfg::{BlockId, Direction};
use super::definitions::{Definition, DefinitionId};
use super::function::Function;
use super::sparse::{TooMuch, solve};
use super::values::ValueId;
use crate::isa::generic::{Arithmetic, Computation};
use crate::resolve::symbols::{RegisterId, Resolution};

use conditions::{Test, branch_test, is_passed, literal};
pub use counted::{Base, Counted, rounds_down};
use solver::OfRanges;

mod conditions;
mod counted;
mod numbers;
mod remainder;
mod solver;

/// Whether an instruction leaves what is left of a division by a constant: what counts on comes back to 0 by it.
pub fn is_remainder(function: &Function<'_>, instruction: u32) -> bool {
    remainder::remainder(function, instruction).is_some()
}

/// What registers of one function can hold, as far as it was asked for.
#[derive(Debug, Default)]
pub struct Ranges {
    known: RefCell<FxHashMap<ValueId, Counted>>,
    tests: OnceCell<FxHashMap<RegisterId, Vec<Test>>>,
}

impl Ranges {
    /// What `register` can hold where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Counted {
        match function.value(instruction, register) {
            Some(value) => self.of(function, value),
            None => Counted::UNKNOWN,
        }
    }

    /// The least column that `register` can hold where `instruction` reads it, if that is counted from
    /// nothing, and where all are few.
    pub fn least(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<i64> {
        /// More columns than there are, whatever is added by mistake.
        const MANY: i64 = 1 << 12;
        let found = self.at(function, instruction, register);
        let last = found.numbers.last().filter(|last| *last < MANY && found.base == Base::Nothing)?;
        found.numbers.first().filter(|first| (0..=last).contains(first))
    }

    fn of(&self, function: &Function<'_>, value: ValueId) -> Counted {
        if let Some(known) = self.known.borrow().get(&value) {
            return *known;
        }
        let found = solve(&mut OfRanges::new(self, function), function, [value], false);
        let mut known = self.known.borrow_mut();
        match found {
            Ok(found) => {
                let all =
                    found.all().map(|(value, counted)| (value, counted.copied().unwrap_or(Counted::UNKNOWN)));
                known.extend(all);
            }
            // Nor is it looked into again from elsewhere.
            Err(TooMuch(looked_at)) => {
                for value in looked_at {
                    known.entry(value).or_insert(Counted::UNKNOWN);
                }
            }
        }
        *known.entry(value).or_insert(Counted::UNKNOWN)
    }

    /// How often an instruction is executed at most in its loop, if a counter says so that a
    /// branch compares with a number.
    pub fn iterations(&self, function: &Function<'_>, instruction: u32) -> Option<u64> {
        let Function { cfg, definitions, .. } = *function;
        let block = cfg.block_of(instruction)?;
        // The loops that it is in.
        let [behind, before] =
            [Direction::Forward, Direction::Backward].map(|it| cfg.passed(it, std::iter::once(block)));
        let is_round = |other: BlockId| behind[other.index()] && before[other.index()];
        let tests = self.all_tests(function);
        let registers = tests.iter().filter(|(_, tests)| tests.iter().any(|test| is_round(test.block)));
        let counters = registers.filter_map(|(register, _)| {
            let all = definitions.of(*register).iter().map(|id| (*id, definitions.get(*id)));
            let mut inside = all.filter(|(_, it)| cfg.block_of(it.instruction).is_none_or(is_round));
            let (id, counts) = inside.next().filter(|(_, it)| !it.guarded)?;
            if inside.next().is_some() || !is_passed(function, block, cfg.block_of(counts.instruction)?) {
                return None;
            }
            let Counted { base: Base::Nothing, numbers, lanes: false } =
                self.of(function, ValueId::Definition(id))
            else {
                return None;
            };
            self.is_stepped(function, id).then(|| numbers.count()).flatten()
        });
        counters.min()
    }

    /// Whether a definition adds a constant that is not 0 to its own register.
    #[expect(clippy::unused_self, reason = "it belongs to the question above")]
    fn is_stepped(&self, function: &Function<'_>, id: DefinitionId) -> bool {
        let Function { unit, definitions, .. } = *function;
        let Definition { instruction, register, .. } = *definitions.get(id);
        let raw = &unit.module.instructions[instruction as usize];
        let first = raw.operands.start;
        unit.operations.of(instruction).computes() == Computation::Arithmetic(Arithmetic::Add)
            && raw.operands.len == 3
            && unit.symbols.operand(first + 1) == Resolution::Register(register)
            && literal(function, first + 2).is_some_and(|by| by != 0)
    }

    /// The branches that compare a register with a number.
    fn tests(&self, function: &Function<'_>, register: RegisterId) -> &[Test] {
        self.all_tests(function).get(&register).map_or(&[], |tests| tests)
    }

    fn all_tests(&self, function: &Function<'_>) -> &FxHashMap<RegisterId, Vec<Test>> {
        self.tests.get_or_init(|| {
            let mut tests: FxHashMap<RegisterId, Vec<Test>> = FxHashMap::default();
            for (block, content) in function.cfg.blocks() {
                if let Some((register, test)) =
                    content.branch.and_then(|branch| branch_test(function, block, branch))
                {
                    tests.entry(register).or_default().push(test);
                }
            }
            tests
        })
    }
}
