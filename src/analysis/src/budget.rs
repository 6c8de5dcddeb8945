//! How much work the analyses of one function may cause.
//!
//! Every analysis takes the steps that it makes from one budget, so that the work for any text is
//! bounded by its size, whatever its shape. Where a budget is spent, answers are those that lead to
//! silence, and the rule `analysis-limit` says so: nothing is given up without a word.

use std::cell::Cell;

/// Steps that may still be taken. One step is about what it takes to look at one instruction once.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    left: Cell<u64>,
    gave_up: Cell<bool>,
}

impl Budget {
    /// Steps that each function may take, however small it is.
    const BASE: u64 = 1_000_000;
    /// Steps for each of its instructions beside that. Compilers' kernels take less than a hundred.
    const FOR_INSTRUCTION: u64 = 4_096;
    /// Steps that no function may exceed.
    pub const LIMIT: u64 = 30_000_000;

    /// A budget of `limit` steps.
    pub fn new(limit: u64) -> Self {
        Self { limit, left: Cell::new(limit), gave_up: Cell::new(false) }
    }

    /// The budget of a function with this many instructions.
    pub fn for_function(instructions: u64) -> Self {
        Self::new((Self::BASE + Self::FOR_INSTRUCTION * instructions).min(Self::LIMIT))
    }

    /// How many steps it had.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many steps were taken.
    pub fn taken(&self) -> u64 {
        self.limit - self.left.get()
    }

    /// Whether it was used up, so that some questions have no complete answer.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Says that a question has no complete answer, though there are steps left.
    pub fn give_up(&self) {
        self.gave_up.set(true);
    }

    /// Whether every question so far has a complete answer.
    pub fn is_complete(&self) -> bool {
        !self.is_spent() && !self.gave_up.get()
    }

    /// Takes `amount`; false when there is nothing left.
    pub fn take(&self, amount: u64) -> bool {
        self.left.set(self.left.get().saturating_sub(amount));
        !self.is_spent()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Self::LIMIT)
    }
}
