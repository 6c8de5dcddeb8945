//! Values that go through local memory.
//!
//! What is compiled for debuggers keeps its variables in memory of the thread: a register is stored to a word of a
//! `.local` variable and loaded from it, perhaps in the next line. Where the address of the variable goes nowhere else,
//! and one instruction alone stores to the word, a load behind that is a copy of the register.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use crate::isa::generic::{Arithmetic, Computation, Modifier, Operation};
use crate::resolve::symbols::{RegisterId, Resolution, Symbol, SymbolId, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{BinaryOperator, Declaration, OperandKind, StateSpace, Type};
use crate::syntax::literal;

/// By definition of a register that is loaded: the instruction that stores the word, and the register that it stores.
pub(super) type Forwarded = FxHashMap<DefinitionId, (u32, RegisterId)>;

/// A place in a local variable.
type Place = (SymbolId, i128);

/// An access to local memory.
#[derive(Clone, Copy)]
struct Word {
    instruction: u32,
    place: Place,
    bytes: i128,
    /// The register that is loaded or stored, where it is one that takes all of the word.
    register: Option<RegisterId>,
}

/// Bytes that are looked at together.
const GRANULE: i128 = 4;

impl Word {
    fn granule(&self) -> Place {
        (self.place.0, self.place.1.div_euclid(GRANULE))
    }

    fn granules(&self) -> impl Iterator<Item = Place> + use<> {
        let (variable, first) = self.granule();
        let last = (self.place.1 + self.bytes - 1).div_euclid(GRANULE);
        (first..=last).map(move |at| (variable, at))
    }
}

/// Finds the loads that are copies.
pub(super) fn forwarded(unit: &Unit, cfg: &Cfg, definitions: &Definitions) -> Forwarded {
    let Some(body) = with_locals(unit, cfg) else { return Forwarded::default() };
    let (based, escaped) = (FxHashMap::default(), FxHashSet::default());
    let mut search = Search { unit, cfg, definitions, body, based, escaped, once: FxHashMap::default() };
    search.find_addresses();
    let (loads, stores) = search.accesses();
    // By four bytes: the only store that writes some of them.
    let mut writers: FxHashMap<Place, Option<usize>> = FxHashMap::default();
    for (index, store) in stores.iter().enumerate() {
        for place in store.granules() {
            writers.entry(place).and_modify(|writer| *writer = None).or_insert(Some(index));
        }
    }
    let mut forwarded = Forwarded::default();
    for load in &loads {
        if search.escaped.contains(&load.place.0) {
            continue;
        }
        let writer = writers.get(&load.granule()).copied().flatten();
        let Some(store) = writer.and_then(|index| stores.get(index)) else { continue };
        let (Some(to), Some(from)) = (load.register, store.register) else { continue };
        let is_alone = load.granules().all(|place| writers.get(&place) == Some(&writer));
        let is_whole = (store.place, store.bytes) == (load.place, load.bytes);
        if !is_alone || !is_whole || !search.is_before(store, load) || !search.is_steady(from, store, load) {
            continue;
        }
        let all = definitions.of(to);
        if let Ok(index) = all.binary_search_by_key(&load.instruction, |id| definitions.get(*id).instruction)
        {
            forwarded.insert(all[index], (store.instruction, from));
        }
    }
    forwarded
}

/// The text of a function, if it declares variables in local memory.
fn with_locals(unit: &Unit, cfg: &Cfg) -> Option<Range<u32>> {
    let module = &unit.module;
    let statements = module.statements.get(cfg.body().range())?;
    let body = statements.first()?.span.start..statements.last()?.span.end;
    let start = |declaration: &Declaration| {
        module.declarators.get(declaration.declarators.start as usize).map_or(0, |it| it.name.start)
    };
    let from = module.declarations.partition_point(|it| start(it) < body.start);
    let mut own = module.declarations[from..].iter().take_while(|it| start(it) < body.end);
    own.any(|it| it.space == StateSpace::Local).then_some(body)
}

struct Search<'a> {
    unit: &'a Unit,
    cfg: &'a Cfg,
    definitions: &'a Definitions,
    body: Range<u32>,
    /// Registers that hold the address of a place in a local variable, and nothing else.
    based: FxHashMap<RegisterId, Place>,
    /// Variables whose address may get anywhere.
    escaped: FxHashSet<SymbolId>,
    /// Whether a register is written in no loop, as far as it was asked for.
    once: FxHashMap<RegisterId, bool>,
}

impl Search<'_> {
    /// Follows addresses through registers that are written once.
    fn find_addresses(&mut self) {
        for instruction in self.cfg.instructions().filter(|it| self.cfg.is_executed(*it)) {
            if let Some((register, place)) = self.address_made(instruction) {
                self.based.insert(register, place);
            }
        }
    }

    /// The register that an instruction gives the address of a place to.
    fn address_made(&self, instruction: u32) -> Option<(RegisterId, Place)> {
        let Unit { module, symbols, operations, source, .. } = self.unit;
        let raw = &module.instructions[instruction as usize];
        let first = raw.operands.start;
        let (from, by) = match (operations.of(instruction).computes(), raw.operands.len) {
            (Computation::Move | Computation::ConvertAddress, 2) => (first + 1, 0),
            (Computation::Arithmetic(Arithmetic::Add), 3) => {
                (first + 1, literal::evaluate(source, module, &module.operands[first as usize + 2])?)
            }
            _ => return None,
        };
        let Resolution::Register(register) = symbols.operand(first) else { return None };
        let [only] = self.definitions.of(register) else { return None };
        let (variable, at) = self.place_at(from)?;
        (!self.definitions.get(*only).guarded).then_some((register, (variable, at + by)))
    }

    /// The place that a plain operand names.
    fn place_at(&self, operand: u32) -> Option<Place> {
        let Unit { module, symbols, .. } = self.unit;
        if !module.operands[operand as usize].is_name() {
            return None;
        }
        match symbols.operand(operand) {
            Resolution::Register(register) => self.based.get(&register).copied(),
            Resolution::Symbol(symbol) => {
                let Symbol { kind, span } = *symbols.symbol(symbol);
                let is_local = matches!(kind, SymbolKind::Variable { space: StateSpace::Local, .. });
                // Those of the module are for other functions, too.
                (is_local && self.body.contains(&span.start)).then_some((symbol, 0))
            }
            Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    /// The loads and stores; what else is done with an address lets it escape.
    fn accesses(&mut self) -> (Vec<Word>, Vec<Word>) {
        let Unit { module, operations, .. } = self.unit;
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        for instruction in self.cfg.instructions().filter(|it| self.cfg.is_executed(*it)) {
            if self.address_made(instruction).is_some_and(|(register, _)| self.based.contains_key(&register))
            {
                continue;
            }
            let raw = &module.instructions[instruction as usize];
            let (address, value) = match operations.of(instruction).operation() {
                Some(Operation::Ld) if raw.operands.len == 2 => (raw.operands.start + 1, raw.operands.start),
                Some(Operation::St) if raw.operands.len == 2 => (raw.operands.start, raw.operands.start + 1),
                _ => {
                    raw.operands.range().for_each(|operand| self.escape(operand as u32));
                    continue;
                }
            };
            self.escape(value);
            match self.word(instruction, address, value) {
                Some(word) if value < address => loads.push(word),
                Some(word) => stores.push(word),
                None => self.escape(address),
            }
        }
        (loads, stores)
    }

    fn word(&self, instruction: u32, address: u32, value: u32) -> Option<Word> {
        let Unit { module, symbols, operations, source, .. } = self.unit;
        let OperandKind::Address(parts) = module.operands[address as usize].kind() else { return None };
        let (base, by) = match module.operands[parts.start as usize].kind() {
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                (sum.start, literal::evaluate(source, module, &module.operands[sum.start as usize + 1])?)
            }
            _ => (parts.start, 0),
        };
        let (variable, at) = self.place_at(base)?;
        let opcode = operations.of(instruction);
        let bits = opcode.types.last()?.bits()?;
        let is_vector = opcode.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)));
        // No vector has more elements.
        let bytes = i128::from(bits) / 8 * if is_vector { 8 } else { 1 };
        let raw = &module.instructions[instruction as usize];
        let register = match symbols.operand(value) {
            Resolution::Register(register) if module.operands[value as usize].is_name() => Some(register),
            _ => None,
        };
        let is_whole = |register: &RegisterId| match symbols.register(*register).kind {
            SymbolKind::Register { ty: Some(ty), vector: 1, .. } => {
                ty != Type::Pred && ty.bits() == Some(bits) && matches!(bits, 32 | 64)
            }
            _ => false,
        };
        let register = register.filter(is_whole).filter(|_| !is_vector && module.guard(raw).is_none());
        Some(Word { instruction, place: (variable, at + by), bytes, register })
    }

    /// Lets the addresses escape that an operand names anywhere.
    fn escape(&mut self, operand: u32) {
        let module = &self.unit.module;
        if let Some((variable, _)) = self.place_at(operand) {
            self.escaped.insert(variable);
        }
        let parts = match module.operands[operand as usize].kind() {
            OperandKind::Address(parts)
            | OperandKind::Vector(parts)
            | OperandKind::Binary(_, parts)
            | OperandKind::Unary(_, parts)
            | OperandKind::List(parts)
            | OperandKind::Conditional(parts)
            | OperandKind::Cast(_, parts)
            | OperandKind::Apply(parts)
            | OperandKind::Element(parts) => parts,
            OperandKind::Name
            | OperandKind::Integer
            | OperandKind::Float
            | OperandKind::String
            | OperandKind::Sink => return,
        };
        parts.range().for_each(|part| self.escape(part as u32));
    }

    /// Whether the store is executed before every load.
    fn is_before(&self, store: &Word, load: &Word) -> bool {
        self.cfg.passes_before(store.instruction, load.instruction)
    }

    /// Whether what is loaded is what the register holds, as long as it is not loaded again: the register is never
    /// written anew, or whenever it is, the word is stored and loaded in the same block.
    fn is_steady(&mut self, stored: RegisterId, store: &Word, load: &Word) -> bool {
        let Self { cfg, definitions, .. } = *self;
        let all = definitions.of(stored);
        let made = |id: &DefinitionId| definitions.get(*id).instruction;
        let is_outside = |at: u32| cfg.block_of(at).is_some_and(|at| !cfg.is_in_loop(at));
        let is_once = self.once.entry(stored).or_insert_with(|| all.iter().map(made).all(is_outside));
        *is_once
            || matches!(all, [only] if {
                let at = [made(only), store.instruction, load.instruction].map(|at| cfg.block_of(at));
                at[0] == at[1] && at[0] == at[2] && made(only) < store.instruction
            })
    }
}
