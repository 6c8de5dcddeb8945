//! The phases that waits are for: their parities, and how these begin and turn.

use smallvec::SmallVec;

use super::Used;
use crate::arithmetic::known_bits::{self, Known, KnownBits, UNKNOWN};
use crate::cfg::BlockId;
use crate::definitions::{Definition, DefinitionId};
use crate::flow::Flow;
use crate::function::Function;
use crate::ir::Simple;
use crate::isa::generic::{Arithmetic, Bits, Computation, Modifier, Part};
use crate::ranges;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;
use crate::walks::Walk;

/// Longer chains are not followed.
const DEEP: u32 = 8;

/// What makes a register, as an instruction reads it: each with what it computes. Those that write it beside something
/// else are left out.
struct Makers {
    all: SmallVec<[(Definition, Computation); 4]>,
    /// Whether there is no other.
    is_only: bool,
}

/// Whether counting or turning is what is computed.
fn turns(computes: Computation) -> bool {
    matches!(
        computes,
        Computation::Xor | Computation::Not | Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
    )
}

impl Flow<'_> {
    /// The parity that a wait is for, if it is known.
    pub fn parity(&self, wait: &Used) -> Option<bool> {
        self.parity_by(wait, |register| self.known(&[(wait.instruction, register)]).first()?.constant(1))
    }

    /// The parity that is written, or that of what a register holds.
    fn parity_by(&self, wait: &Used, number: impl FnOnce(RegisterId) -> Option<u64>) -> Option<bool> {
        let operand = wait.parity?;
        let found = self.unit.module.operands.get(operand as usize)?;
        let number = match literal::evaluate(&self.unit.source, &self.unit.module, found) {
            Some(value) => value as u64,
            None => number(self.register_at(operand)?)?,
        };
        Some(number & 1 == 1)
    }

    /// Whether a wait is for the first phase at some time: its parity is 0, or begins with 0 where a loop
    /// counts, or each iteration turns it.
    pub fn waits_for_first(&self, wait: &Used) -> bool {
        if let Some(parity) = self.parity(wait) {
            return !parity;
        }
        let Some(register) = wait.parity.and_then(|operand| self.register_at(operand)) else { return false };
        let view = self.facts.view(self.unit);
        let read = (wait.instruction, register);
        self.begins_with_zero(&view, read, 0) || self.takes_turns(&view, read, wait.instruction, 0)
    }

    /// The parity that a wait is for while threads get to these blocks only, by a short chain of instructions: it
    /// costs much less than [`Flow::parity`].
    pub fn first_parity(&self, wait: &Used, reached: &[bool]) -> Option<bool> {
        let at = wait.instruction;
        self.parity_by(wait, |register| {
            let is_reached = |block: BlockId| reached[block.index()];
            self.at_first(&self.facts.view(self.unit), (at, register), &is_reached, 0).constant(1)
        })
    }

    /// The parity that a wait is for when a thread gets there for the first time.
    pub fn parity_at_first(&self, wait: &Used) -> Option<bool> {
        let cfg = self.cfg();
        let own = cfg.block_of(wait.instruction)?;
        // Threads get to a block before they have passed this one, unless all paths there go through this one.
        let is_reached =
            |block: BlockId| block == own || cfg.is_reachable(block) && !cfg.dominates(own, block);
        self.parity_by(wait, |register| {
            self.at_first(&self.facts.view(self.unit), (wait.instruction, register), &is_reached, 0)
                .constant(1)
        })
    }

    /// What is known of what an instruction reads, whatever in these blocks made it.
    fn at_first(
        &self,
        view: &Function<'_>,
        (at, register): (u32, RegisterId),
        is_reached: &dyn Fn(BlockId) -> bool,
        depth: u32,
    ) -> Known {
        /// More definitions are not looked at.
        const MOST: usize = 4;
        let value = (depth < DEEP && view.budget.take(1)).then(|| view.value(at, register)).flatten();
        let Some(ids) = value.and_then(|value| view.definitions.all(value, view.budget)) else {
            return UNKNOWN;
        };
        let is_made = |it: &Definition| self.cfg().block_of(it.instruction).is_none_or(is_reached);
        let made: SmallVec<[Definition; MOST]> =
            ids.iter().map(|id| *view.definitions.get(*id)).filter(is_made).take(MOST + 1).collect();
        if made.len() > MOST {
            return UNKNOWN;
        }
        let all = made.iter().map(|it| self.made_at_first(view, at, it, is_reached, depth));
        all.reduce(known_bits::join).unwrap_or(UNKNOWN)
    }

    fn made_at_first(
        &self,
        view: &Function<'_>,
        reader: u32,
        definition: &Definition,
        is_reached: &dyn Fn(BlockId) -> bool,
        depth: u32,
    ) -> Known {
        let made = definition.instruction;
        let computing = view.computing(made).filter(|_| !definition.guarded && made != reader);
        let Some(computing) = computing else { return UNKNOWN };
        let (Some(arithmetic), Some(position)) =
            (computing.arithmetic, computing.position(definition.operand))
        else {
            return UNKNOWN;
        };
        let sources: SmallVec<[Known; 4]> = computing
            .sources()
            .iter()
            .map(|placed| match placed.argument.simple() {
                Simple::Number(value) => Known::from(value),
                Simple::Register(id) => self.at_first(view, (made, id), is_reached, depth + 1),
                Simple::Not(id) => known_bits::not(self.at_first(view, (made, id), is_reached, depth + 1)),
                Simple::Other => UNKNOWN,
            })
            .collect();
        let count = computing.results().len();
        let result = arithmetic.transfer(&mut KnownBits, &sources, position, count);
        known_bits::within(result, arithmetic.result_bits(position, count))
    }

    /// Whether what chooses one of several mbarriers comes back to the first: by a mask, by a remainder, or as it is
    /// chosen or set anew.
    pub fn comes_back(&self, used: &Used) -> bool {
        /// More values are not looked at.
        const MOST: usize = 64;
        /// No ring has more mbarriers.
        const LONGEST: i128 = 64;
        let view = self.facts.view(self.unit);
        let module = &self.unit.module;
        let base = module.base_of(used.operand);
        let Some(register) = base.and_then(|base| self.register_at(base)) else { return false };
        // The numbers that it is set to, and whether that is in an iteration; whether something counts.
        let mut set: SmallVec<[(i128, bool); 4]> = SmallVec::new();
        let mut counts = false;
        let mut values = Walk::new(view.budget, view.value(used.instruction, register)).at_most(MOST);
        while let Some(id) = values.pop_definition(view.definitions) {
            let made = view.definitions.get(id).instruction;
            let operands = module.instructions[made as usize].operands;
            let number =
                |operand: usize| literal::evaluate(&self.unit.source, module, &module.operands[operand]);
            let is_few = || operands.range().skip(1).filter_map(number).any(|it| (1..LONGEST).contains(&it));
            match self.unit.operations.of(made).computes() {
                Computation::And | Computation::Xor | Computation::Arithmetic(Arithmetic::Remainder)
                    if is_few() =>
                {
                    return true;
                }
                Computation::Select => return true,
                Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract | Arithmetic::MultiplyAdd) => {
                    if ranges::is_remainder(&view, made) {
                        return true;
                    }
                    counts |= self.is_made_of_itself(&view, id);
                }
                Computation::Move => {
                    let number = operands.range().nth(1).and_then(number);
                    set.extend(number.map(|it| (it, self.leads_to(used.instruction, made))));
                }
                _ => {}
            }
            let registers = operands.range().skip(1).filter_map(|it| self.register_at(it as u32));
            values.extend(registers.filter_map(|register| view.value(made, register)));
        }
        // What is set to another number each time may be all there is: two iterations, one for each.
        let is_again = |(at, (number, _)): (usize, &(i128, bool))| {
            set.iter().enumerate().any(|(other, (it, _))| other != at && it == number)
        };
        set.iter().enumerate().any(|(at, it)| it.1 && (counts || is_again((at, it))))
    }

    /// Whether a definition reads what it made before: it counts.
    fn is_made_of_itself(&self, view: &Function<'_>, counts: DefinitionId) -> bool {
        /// Longer cycles are not looked for.
        const MOST: usize = 32;
        let reads = |id: DefinitionId| {
            let made = view.definitions.get(id).instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            let registers = operands.range().skip(1).filter_map(|it| self.register_at(it as u32));
            registers.filter_map(move |register| view.value(made, register))
        };
        let mut values = Walk::new(view.budget, reads(counts)).at_most(MOST);
        while let Some(id) = values.pop_definition(view.definitions) {
            if id == counts {
                return true;
            }
            values.extend(reads(id));
        }
        false
    }

    /// The register that an operand names.
    pub(crate) fn register_at(&self, operand: u32) -> Option<RegisterId> {
        match self.unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    fn makers(&self, view: &Function<'_>, (at, register): (u32, RegisterId)) -> Option<Makers> {
        let value = view.budget.take(1).then(|| view.value(at, register))??;
        let ids = view.definitions.all(value, view.budget)?;
        let operands = |it: &Definition| self.unit.module.instructions[it.instruction as usize].operands;
        let computed = |it: Definition| (it, self.unit.operations.of(it.instruction).computes());
        let all = ids.iter().map(|id| *view.definitions.get(*id));
        let all = all.filter(|it| it.operand == operands(it).start).map(computed).collect();
        Some(Makers { all, is_only: ids.len() == 1 })
    }

    /// Whether a loop around a wait counts or turns what its parity is made of, be it in some iterations only: sooner or
    /// later it is 0.
    fn takes_turns(&self, view: &Function<'_>, read: (u32, RegisterId), wait: u32, depth: u32) -> bool {
        let Some(Makers { all, is_only }) = (depth < DEEP).then(|| self.makers(view, read)).flatten() else {
            return false;
        };
        all.iter().any(|(definition, computes)| {
            let made = definition.instruction;
            if made == read.0 {
                return false;
            }
            let operands = self.unit.module.instructions[made as usize].operands;
            let mut registers = operands.range().skip(1).filter_map(|it| self.register_at(it as u32));
            match computes {
                computes if !is_only && turns(*computes) => {
                    registers.next().is_some() && self.leads_to(wait, made)
                }
                Computation::Move | Computation::Select if !is_only => {
                    let is_turned = |from: RegisterId| {
                        let only = view.only(made, from).map(|only| view.definitions.get(only).instruction);
                        only.is_some_and(|only| turns(self.unit.operations.of(only).computes()))
                    };
                    registers.any(is_turned) && self.leads_to(wait, made)
                }
                Computation::Move
                | Computation::Convert
                | Computation::And
                | Computation::Xor
                | Computation::Not
                | Computation::Bits(Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(
                    Arithmetic::Subtract | Arithmetic::Remainder | Arithmetic::Divide,
                ) if is_only => registers.any(|from| self.takes_turns(view, (made, from), wait, depth + 1)),
                // The quotient by a constant.
                Computation::Arithmetic(Arithmetic::Multiply) if is_only => {
                    let opcode = self.unit.operations.of(made);
                    let is_quotient = !opcode.has(Modifier::Part(Part::Lo));
                    is_quotient && registers.any(|from| self.takes_turns(view, (made, from), wait, depth + 1))
                }
                _ => false,
            }
        })
    }

    /// Whether a register is 0, or begins with 0 where a loop counts or turns it; of an even number, only the
    /// lowest bit is asked.
    fn begins_with_zero(&self, view: &Function<'_>, read: (u32, RegisterId), depth: u32) -> bool {
        let Some(Makers { all, is_only }) = (depth < DEEP).then(|| self.makers(view, read)).flatten() else {
            return false;
        };
        all.iter().any(|(definition, computes)| {
            if definition.guarded {
                return false;
            }
            let made = definition.instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            let is_moved = *computes == Computation::Move;
            let is_zero = |number: u32| {
                let Some(operand) = operands.range().nth(number as usize) else { return false };
                let found = &self.unit.module.operands[operand];
                if let Some(number) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                    return if depth == 0 { number & 1 == 0 } else { number == 0 };
                }
                // What a loop carries is made of what it was before.
                self.register_at(operand as u32)
                    .filter(|_| is_only || is_moved)
                    .is_some_and(|register| self.begins_with_zero(view, (made, register), depth + 1))
            };
            match computes {
                Computation::Move => is_zero(1),
                _ if !is_only => false,
                Computation::Convert
                | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder) => is_zero(1),
                Computation::And | Computation::Arithmetic(Arithmetic::Multiply) => is_zero(1) || is_zero(2),
                Computation::Or | Computation::Xor | Computation::Arithmetic(Arithmetic::Add) => {
                    is_zero(1) && is_zero(2)
                }
                _ => false,
            }
        })
    }
}
