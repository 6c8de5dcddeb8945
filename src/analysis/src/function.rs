//! What every analysis of one function may look at.

use super::budget::Budget;
use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use super::given::Given;
use super::values::ValueId;
use crate::ir::{Computing, Lowered};
use crate::isa::special_registers::Special;
use crate::resolve::symbols::{RegisterId, Symbol};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{self, StatementKind};

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
    /// Its instructions, lowered.
    pub lowered: &'a Lowered,
    /// What other functions give it, if something is known of that.
    pub given: Option<&'a Given>,
}

impl<'a> Function<'a> {
    /// What an instruction of the function computes of which registers, if that is all that it does.
    pub fn computing(&self, instruction: u32) -> Option<&'a Computing> {
        self.lowered.computing(self.unit, instruction)
    }

    /// How many threads a block has in each direction, if the function is a kernel that says so.
    pub fn block_size(&self) -> Option<[u64; 3]> {
        let block = self.unit.launch_bounds(self.declared()?).block()?;
        Some(block.value.map(u64::from))
    }

    /// How many threads a block has at most, where the kernel says that.
    pub fn most_threads(&self) -> Option<u64> {
        self.unit.launch_bounds(self.declared()?).most()
    }

    /// Which of the parameters of a function that is no kernel a name stands for.
    pub fn parameter(&self, symbol: &Symbol) -> Option<u16> {
        let module = &self.unit.module;
        let body = module.statements.get(self.cfg.body().range())?.first()?;
        if symbol.span.start >= body.span.start {
            return None;
        }
        let function = self.declared().filter(|it| !it.is_entry)?;
        let declarations = module.declarations.get(function.parameters.range())?;
        let mut names = declarations.iter().flat_map(|it| &module.declarators[it.declarators.range()]);
        u16::try_from(names.position(|it| it.name == symbol.span)?).ok()
    }

    /// Whether a name stands for a parameter of a kernel.
    pub fn is_of_kernel(&self, symbol: &Symbol) -> bool {
        let body = self.unit.module.statements.get(self.cfg.body().range()).and_then(<[_]>::first);
        body.is_some_and(|body| symbol.span.start < body.span.start)
            && self.declared().is_some_and(|function| function.is_entry)
    }

    /// How the function is declared.
    pub(super) fn declared(&self) -> Option<&ast::Function> {
        let module = &self.unit.module;
        let before = (self.cfg.body().start as usize).checked_sub(1)?;
        match module.statements.get(before)?.kind() {
            StatementKind::FunctionOpen(function) => module.functions.get(function as usize),
            _ => None,
        }
    }

    /// What a register of the machine holds that says which CTA of its cluster runs, where the function is
    /// a kernel that neither asks for a cluster nor does anything with its other CTAs: compilers leave
    /// the question behind, and a cluster of one is the answer.
    pub fn in_cluster_of_one(&self, special: Special) -> Option<u64> {
        let value = special.facts().in_cluster_of_one?;
        self.cfg.is_alone(|| self.finds_no_cluster()).then_some(value)
    }

    fn finds_no_cluster(&self) -> bool {
        let Unit { operations, .. } = self.unit;
        let Some(function) = self.declared().filter(|it| it.is_entry) else { return false };
        if self.unit.launch_bounds(function).asks_for_cluster() {
            return false;
        }
        !self.cfg.instructions().any(|instruction| operations.of(instruction).names_other_ctas())
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
