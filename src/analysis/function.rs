//! What every analysis of one function may look at.

use std::borrow::Cow;

use super::budget::Budget;
use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;

/// One function: where its control goes, and where its registers are written.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The module.
    pub unit: &'a Unit,
    /// The function's control flow.
    pub cfg: &'a Cfg,
    /// Its definitions.
    pub definitions: &'a Definitions,
    /// How much may still be done with it.
    pub budget: &'a Budget,
}

impl<'a> Function<'a> {
    /// The definitions of `register` that may have made the value that `instruction` reads. None
    /// when nothing here makes it, or the budget is spent.
    pub fn reaching(&self, instruction: u32, register: RegisterId) -> Cow<'a, [DefinitionId]> {
        /// Definitions that are looked at in one step.
        const STEP: usize = 4;
        let several = self.definitions.of(register).len();
        if several > STEP && !self.budget.take((several / STEP) as u64) {
            return Cow::Borrowed(&[]);
        }
        self.definitions.reaching(self.cfg, instruction, register)
    }
}
