//! What every analysis of one function may look at.

use super::budget::Budget;
use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use super::values::ValueId;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;
use crate::syntax::ast::StatementKind;
use crate::syntax::literal;

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
    /// How many threads a block has in each direction, if the function is a kernel that says so.
    pub fn block_size(&self) -> Option<[u64; 3]> {
        let Unit { module, source, .. } = self.unit;
        let before = (self.cfg.body().start as usize).checked_sub(1)?;
        let StatementKind::FunctionOpen(function) = module.statements.get(before)?.kind() else {
            return None;
        };
        let function = module.functions.get(function as usize)?;
        let size = |name: &str| {
            let directives = &module.directives[function.directives.range()];
            let operands = directives.iter().find(|it| source.slice(it.name) == name)?.operands;
            let mut size = [1; 3];
            if operands.len > 3 {
                return None;
            }
            for (at, operand) in size.iter_mut().zip(module.operands(operands)) {
                *at = u64::try_from(literal::evaluate(source, module, operand)?).ok()?;
            }
            Some(size)
        };
        // A block may be smaller than the largest, but for one of one thread.
        size(".reqntid").or_else(|| size(".maxntid").filter(|size| *size == [1; 3]))
    }

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
