//! What every analysis of one function may look at.

use super::budget::Budget;
use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use super::values::ValueId;
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

impl Function<'_> {
    /// What `register` holds where `instruction` reads it. Nothing when nothing here makes it, or the
    /// budget is spent.
    pub fn value(&self, instruction: u32, register: RegisterId) -> Option<ValueId> {
        if self.budget.is_spent() {
            return None;
        }
        self.definitions.value(self.cfg, instruction, register, self.budget)
    }

    /// The only definition that can have made the value that `instruction` reads from `register`.
    pub fn only(&self, instruction: u32, register: RegisterId) -> Option<DefinitionId> {
        match self.value(instruction, register)? {
            ValueId::Definition(only) => Some(only),
            ValueId::Join(_) => None,
        }
    }
}
