//! What all threads of a block do together, whatever it is that decides about it.

use super::{BlockId, Executing, Resolution, Way};
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::{Computation, Flag, Lanes, Space};
use crate::isa::special_registers::{Extent, Lasting};
use crate::resolve::symbols::{RegisterId, SymbolKind};
use crate::syntax::ast::{OperandKind, StateSpace};
use crate::syntax::literal;
use crate::values::{JoinId, ValueId};
use crate::walks::Walk;

/// How long a chain of definitions is followed.
const DEEP: u32 = 16;

impl Executing<'_> {
    /// Whether either all threads of a block execute an instruction or none of them, which depends only on what
    /// is the same for all of them: parameters and the number of the block.
    pub fn is_for_whole_block(&self, instruction: u32) -> bool {
        let function = &self.function;
        let Some(block) = function.cfg.block_of(instruction) else { return false };
        if !self.deciding.is_complete || self.deciding.goes_back {
            return false;
        }
        let raw = &function.unit.module.instructions[instruction as usize];
        if function.unit.module.guard(raw).is_some() && !self.is_agreed(instruction, Extent::Cta) {
            return false;
        }
        let mut blocks = Walk::new(function.budget, [block]);
        while let Some(at) = blocks.pop() {
            for (branch, way) in &self.deciding.blocks[at.index()] {
                // Loops have more iterations for some threads than for others.
                if *way == Way::Several {
                    return false;
                }
                match function.cfg.block(*branch).branch {
                    Some(branch) if self.is_agreed(branch, Extent::Cta) => {}
                    _ => return false,
                }
                blocks.extend([*branch]);
            }
        }
        blocks.is_complete()
    }

    /// Whether nothing is known of the condition at the end of a block but that all threads go the same way, those of
    /// a CTA or of its cluster.
    pub(super) fn is_open_to_all(&self, block: BlockId, of: Extent) -> bool {
        let Some(branch) = self.function.cfg.block(block).branch else { return false };
        let holds = self.guard(branch);
        holds.yes.is_empty() && holds.no.is_empty() && self.is_agreed(branch, of)
    }

    /// Whether the guard of an instruction is the same for all threads of a CTA, or of its cluster.
    fn is_agreed(&self, instruction: u32, of: Extent) -> bool {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.is_same((instruction, register), of, 0),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => false,
        }
    }

    fn is_same(&self, (instruction, register): (u32, RegisterId), of: Extent, depth: u32) -> bool {
        let function = &self.function;
        if depth >= DEEP || !function.budget.take(1) {
            return false;
        }
        match function.value(instruction, register) {
            Some(ValueId::Definition(id)) => {
                function.definitions.get(id).instruction != instruction
                    && self.is_made_same(id, None, of, depth)
            }
            Some(ValueId::Join(join)) => self.is_counted_same(instruction, join, of, depth),
            None => false,
        }
    }

    /// Whether what each iteration of a loop makes of a register is the same for all threads in this iteration.
    fn is_counted_same(&self, reader: u32, join: JoinId, of: Extent, depth: u32) -> bool {
        let Function { cfg, definitions, budget, .. } = self.function;
        let Some(all) = definitions.all(ValueId::Join(join), budget) else { return false };
        let [one, other] = all[..] else { return false };
        let Some(read) = cfg.block_of(reader) else { return false };
        let block = |id: DefinitionId| cfg.block_of(definitions.get(id).instruction);
        let is_behind = |id: DefinitionId| {
            definitions.get(id).instruction >= reader
                && block(id).is_some_and(|it| it == read || cfg.dominates(read, it))
        };
        let (outer, inner) = match (is_behind(one), is_behind(other)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            (true, true) | (false, false) => return false,
        };
        // In each iteration of the innermost loop, once.
        let header = cfg.dominating(read).find(|header| {
            budget.take(1) && cfg.block(*header).predecessors.iter().any(|it| cfg.dominates(*header, *it))
        });
        let is_in_each_round = || {
            let (Some(header), Some(counts)) = (header, block(inner)) else { return false };
            let mut back = cfg.block(header).predecessors.iter().filter(|it| cfg.dominates(header, **it));
            back.all(|last| cfg.dominates(counts, *last))
                && block(outer).is_some_and(|it| it != header && cfg.dominates(it, header))
        };
        is_in_each_round()
            && self.is_made_same(outer, None, of, depth + 1)
            && self.is_made_same(inner, Some(join), of, depth + 1)
    }

    /// Whether a definition makes the same in all threads, where all have the same before the iteration.
    fn is_made_same(&self, id: DefinitionId, iteration: Option<JoinId>, of: Extent, depth: u32) -> bool {
        let function = &self.function;
        let definition = *function.definitions.get(id);
        let at = definition.instruction;
        if definition.guarded || function.cfg.block_of(at).is_none() {
            return false;
        }
        let unit = function.unit;
        let opcode = unit.operations.of(at);
        if opcode.computes() == Computation::Load {
            return match opcode.spaces().next() {
                Some(Space::Param | Space::ParamEntry | Space::Const) => self.names_constant(at),
                // Nobody writes what is read in this way.
                Some(Space::Global) if opcode.has_flag(Flag::Nc) => self.loads_from_same(at, of, depth),
                _ => false,
            };
        }
        if opcode.lanes() != Lanes::AsSources || opcode.computes() == Computation::Other {
            return false;
        }
        let operands = unit.module.instructions[at as usize].operands.range().skip(1);
        operands.into_iter().all(|index| {
            let operand = &unit.module.operands[index];
            if literal::evaluate(&unit.source, &unit.module, operand).is_some() {
                return true;
            }
            if operand.kind() != OperandKind::Name {
                return false;
            }
            match unit.symbols.operand(index as u32) {
                Resolution::Register(register) => {
                    let comes_back = || function.value(at, register) == iteration.map(ValueId::Join);
                    iteration.is_some() && comes_back() || self.is_same((at, register), of, depth + 1)
                }
                Resolution::Special(special) => {
                    let facts = special.facts();
                    facts.same_in >= of && facts.lasting == Lasting::Always
                }
                Resolution::Symbol(_) => true,
                Resolution::Undeclared => false,
            }
        })
    }

    /// Whether a load names the parameter of the kernel or the constant that it loads.
    fn names_constant(&self, instruction: u32) -> bool {
        let Function { unit, .. } = self.function;
        let Some(Resolution::Symbol(id)) =
            self.base_of_load(instruction).map(|base| unit.symbols.operand(base))
        else {
            return false;
        };
        let symbol = unit.symbols.symbol(id);
        // What calls give and give back may be another thing in each thread.
        let is_passed = matches!(symbol.kind, SymbolKind::Variable { space: StateSpace::Param, .. });
        !is_passed || self.function.is_of_kernel(symbol)
    }

    /// Whether a load reads one address, which is the same for all threads.
    fn loads_from_same(&self, instruction: u32, of: Extent, depth: u32) -> bool {
        let unit = self.function.unit;
        match self.base_of_load(instruction).map(|base| unit.symbols.operand(base)) {
            Some(Resolution::Register(register)) => self.is_same((instruction, register), of, depth + 1),
            Some(Resolution::Symbol(_)) => true,
            Some(Resolution::Special(_) | Resolution::Undeclared) | None => false,
        }
    }

    /// The operand that the address of a load is counted from.
    fn base_of_load(&self, instruction: u32) -> Option<u32> {
        let module = &self.function.unit.module;
        let address = module.instructions[instruction as usize].operands.range().nth(1)?;
        module.base_of(address as u32)
    }
}
