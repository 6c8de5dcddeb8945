//! What functions give each other, as known bits: arguments to those that are called, results to those
//! that call.
//!
//! A parameter has the bits that all arguments have in common, if every call of its function is known. So
//! a descriptor that a helper is given is judged there, by what its callers pass; a finding names where
//! they made it. Where its calls give it different words, its control flow and its descriptors are judged for each
//! call as well: what one call gives may decide which way it takes.
//!
//! A result has the bits that all the words have in common that its function stores for it. Functions that only
//! compute what others need, without an instruction of tcgen05 of their own, are looked at for their results
//! alone.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arguments::Parameter;
use super::calls::{CallGraph, Component, functions_named};
use super::cfg::Cfg;
use super::constants::{self, Known};
use super::events::{Action, Event, Events};
use super::functions::FunctionFacts;
use crate::isa::generic::{Computation, Control, Modifier, Space};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId};
use crate::resolve::unit::Unit;
use crate::source::Span;
use crate::syntax::ast::{BinaryOperator, OperandKind, Slice};
use crate::syntax::literal;

/// What is known of one word that a function is given.
#[derive(Clone, Debug)]
pub struct Word {
    /// Its known bits.
    pub known: Known,
    /// Where it was made, as far as that is known.
    pub made: SmallVec<[Span; 2]>,
}

/// What a function is given by those that call it, and what it gets back from those that it calls.
#[derive(Debug, Default)]
pub struct Given {
    /// By the operand that names the register: what is loaded there, or what a call leaves there.
    words: FxHashMap<u32, Word>,
    /// What parameters that are registers hold.
    registers: FxHashMap<RegisterId, Word>,
    /// The calls, each with what it gives by itself, where some give something else than others.
    by_call: Vec<(u32, Given)>,
}

impl Given {
    /// What an instruction leaves in the register that an operand names, if that comes from elsewhere.
    pub fn word(&self, operand: u32) -> Option<&Word> {
        self.words.get(&operand)
    }

    /// Whether something is known of parameters that are registers.
    pub fn has_registers(&self) -> bool {
        !self.registers.is_empty()
    }

    /// What a parameter holds that is a register.
    pub fn register(&self, register: RegisterId) -> Option<&Word> {
        self.registers.get(&register)
    }
}

/// A part of a variable in parameter space that is stored or loaded.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// The instruction.
    pub instruction: u32,
    /// The variable.
    pub variable: SymbolId,
    /// The bytes of it before the part.
    pub byte: u16,
    /// The operand that is stored, or that is loaded into.
    pub operand: u32,
    /// How many bits.
    bits: u32,
    signed: bool,
}

/// A call of a function with a body.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The instruction.
    pub instruction: u32,
    /// The function.
    pub callee: u32,
    results: Option<Slice>,
    arguments: Option<Slice>,
}

/// What a function stores for others and loads from them, and its calls.
#[derive(Debug, Default)]
pub struct Passing {
    stores: Vec<Passed>,
    loads: Vec<Passed>,
    calls: Vec<Call>,
    returns: Vec<u32>,
}

impl Passing {
    /// That of one function.
    fn new(unit: &Unit, function: u32) -> Self {
        let Unit { module, operations, .. } = unit;
        let mut this = Self::default();
        for instruction in Cfg::instruction_range(module, module.functions[function as usize].body) {
            let opcode = operations.of(instruction);
            match opcode.control() {
                Control::Call => this.calls.extend(call(unit, instruction)),
                Control::Return => this.returns.push(instruction),
                Control::Next | Control::Branch | Control::IndexedBranch | Control::Exit | Control::Trap => {
                    let is_passed = |space: Space| matches!(space, Space::Param | Space::ParamFunc);
                    if opcode.spaces().next().is_some_and(is_passed) {
                        passed(unit, instruction, opcode, &mut this);
                    }
                }
            }
        }
        this
    }

    /// What is stored.
    pub fn stores(&self) -> &[Passed] {
        &self.stores
    }

    fn stored(&self, variable: SymbolId, byte: u16) -> impl Iterator<Item = &Passed> {
        self.stores.iter().filter(move |it| it.variable == variable && it.byte == byte)
    }

    /// The call that leaves a result in a variable, and which result that is; none, if there are more calls.
    pub fn call_into(&self, unit: &Unit, variable: SymbolId) -> Option<(Call, u16)> {
        let is_it = |index: usize| unit.symbols.operand(index as u32) == Resolution::Symbol(variable);
        let mut calls = self.calls.iter().filter_map(|call| {
            let position = call.results?.range().position(is_it)?;
            Some((*call, u16::try_from(position).ok()?))
        });
        let found = calls.next()?;
        calls.next().is_none().then_some(found)
    }

    /// The call that has an operand among its results, and which result that is.
    pub fn call_of(&self, operand: u32) -> Option<(Call, u16)> {
        self.calls.iter().find_map(|call| {
            let position = call.results?.range().position(|index| index as u32 == operand)?;
            Some((*call, u16::try_from(position).ok()?))
        })
    }

    /// Whether there are calls.
    pub fn calls_others(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The instructions at which the function gives control back.
    pub fn returns(&self) -> &[u32] {
        &self.returns
    }

    /// The registers that are given away, and the instructions that read them.
    fn uses<'a>(&'a self, unit: &'a Unit, function: u32) -> impl Iterator<Item = (u32, RegisterId)> + 'a {
        let register = |operand: u32| match unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        };
        let stored = self.stores.iter().filter_map(move |it| Some((it.instruction, register(it.operand)?)));
        let arguments = self.calls.iter().flat_map(move |call| {
            let operands = call.arguments.into_iter().flat_map(Slice::range);
            operands.filter_map(move |it| Some((call.instruction, register(it as u32)?)))
        });
        let results = declared(unit, unit.module.functions[function as usize].returns);
        let returned = self.returns.iter().flat_map(move |at| {
            let results: SmallVec<[RegisterId; 2]> = results.iter().filter_map(|it| it.1).collect();
            results.into_iter().map(move |register| (*at, register))
        });
        stored.chain(arguments).chain(returned)
    }
}

/// A name, and the register that it is, if it is one.
pub(super) type Declared = (Span, Option<RegisterId>);

/// The names that declarations have, in their order.
pub(super) fn declared(unit: &Unit, declarations: Slice) -> SmallVec<[Declared; 4]> {
    let module = &unit.module;
    let names = module.declarations[declarations.range()]
        .iter()
        .flat_map(|it| &module.declarators[it.declarators.range()])
        .map(|it| it.name);
    names.map(|name| (name, declared_register(unit, name))).collect()
}

/// The register that is declared at a place: registers are numbered in the order of the text.
fn declared_register(unit: &Unit, name: Span) -> Option<RegisterId> {
    let (mut first, mut end) = (0, unit.symbols.register_count());
    while first < end {
        let middle = first + (end - first) / 2;
        let declared = unit.symbols.register(RegisterId(middle)).span;
        if declared == name {
            return Some(RegisterId(middle));
        }
        if declared.start < name.start { first = middle + 1 } else { end = middle }
    }
    None
}

/// A call of a function that has a body.
fn call(unit: &Unit, instruction: u32) -> Option<Call> {
    let Unit { module, symbols, .. } = unit;
    let operands = module.instructions[instruction as usize].operands;
    let mut named = functions_named(module, symbols, operands);
    let callee = named.next().filter(|it| module.functions[*it as usize].body.len > 0)?;
    if named.next().is_some() {
        return None;
    }
    let list = |index: usize| match module.operands[index].kind() {
        OperandKind::List(parts) => Some(parts),
        _ => None,
    };
    let first = operands.range().next()?;
    let results = list(first);
    let arguments = operands.range().skip(1 + usize::from(results.is_some())).find_map(list);
    Some(Call { instruction, callee, results, arguments })
}

/// Adds what a load or store in parameter space passes.
fn passed(unit: &Unit, instruction: u32, opcode: &Opcode, into: &mut Passing) {
    let Unit { module, symbols, source, .. } = unit;
    let operands = module.instructions[instruction as usize].operands;
    let [ty] = opcode.types[..] else { return };
    let (Some(bits), 2) = (ty.bits().filter(|bits| (8..=64).contains(bits)), operands.len) else { return };
    let is_load = opcode.computes() == Computation::Load;
    let (address, value) = (operands.start + u32::from(is_load), operands.start + u32::from(!is_load));
    let OperandKind::Address(Slice { start, len: 1 }) = module.operands[address as usize].kind() else {
        return;
    };
    let (variable, byte) = match module.operands[start as usize].kind() {
        OperandKind::Name => (start, Some(0)),
        OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
            (sum.start, literal::evaluate(source, module, &module.operands[sum.start as usize + 1]))
        }
        _ => return,
    };
    let Resolution::Symbol(variable) = symbols.operand(variable) else { return };
    let is_vector = opcode.modifiers.iter().any(|it| matches!(it.modifier, Modifier::Vector(_)));
    let values = match module.operands[value as usize].kind() {
        OperandKind::Vector(parts) => parts,
        _ if is_vector => return,
        _ => Slice { start: value, len: 1 },
    };
    for (position, operand) in values.range().enumerate() {
        let behind = position as i128 * i128::from(bits / 8);
        let Some(byte) = byte.and_then(|byte| u16::try_from(byte + behind).ok()) else { continue };
        let it =
            Passed { instruction, variable, byte, operand: operand as u32, bits, signed: ty.is_signed() };
        if is_load { into.loads.push(it) } else { into.stores.push(it) }
    }
}

/// Finds the facts of functions that call each other.
pub(super) struct Finder<'a> {
    unit: &'a Unit,
    calls: &'a CallGraph,
    events: &'a Events,
    /// The functions that are found, and where each is.
    found: Vec<FunctionFacts>,
    places: FxHashMap<u32, usize>,
}

impl<'a> Finder<'a> {
    /// The facts of all functions of a component that matter, in the order of the module. `is_tensor` says
    /// of a function whether an instruction of tcgen05 is in it or in what it calls, `make` finds the facts of
    /// one.
    pub(super) fn find(
        unit: &'a Unit,
        calls: &'a CallGraph,
        component: &Component,
        events: &'a Events,
        is_tensor: &dyn Fn(u32) -> bool,
        make: &mut dyn FnMut(u32, Plan) -> FunctionFacts,
    ) -> Vec<FunctionFacts> {
        let mut this = Self { unit, calls, events, found: Vec::new(), places: FxHashMap::default() };
        let callers_first = || component.callees_first.iter().rev().flatten().copied();
        let mut passing: FxHashMap<u32, Passing> = FxHashMap::default();
        // Those that are asked for a result only.
        let mut helpers: FxHashSet<u32> = FxHashSet::default();
        for function in callers_first() {
            if is_tensor(function) || helpers.contains(&function) {
                let it = Passing::new(unit, function);
                let of_results = it.calls.iter().filter(|call| {
                    let returns = unit.module.functions[call.callee as usize].returns;
                    call.results.is_some() && returns.len > 0 && !is_tensor(call.callee)
                });
                helpers.extend(of_results.map(|call| call.callee));
                passing.insert(function, it);
            }
        }
        let mut add = |this: &mut Self, function: u32, is_helper: bool, mut given: Given| {
            let Some(passing) = passing.remove(&function) else { return };
            let uses = passing.uses(unit, function).collect();
            let by_call = std::mem::take(&mut given.by_call);
            let given = Some(given).filter(|it| !it.words.is_empty() || !it.registers.is_empty());
            let mut facts = make(function, Plan { given, passing, uses, is_helper });
            facts.by_call.extend(by_call.into_iter().map(|(call, given)| {
                let (passing, uses) = (Passing::default(), Vec::new());
                (call, make(function, Plan { given: Some(given), passing, uses, is_helper }))
            }));
            this.places.insert(function, this.found.len());
            this.found.push(facts);
        };
        for function in component.callees_first.iter().flatten().copied() {
            if helpers.contains(&function) && !is_tensor(function) {
                let mut given = Given::default();
                this.add_results(function, &Passing::new(unit, function), &mut given);
                add(&mut this, function, true, given);
            }
        }
        for function in callers_first().filter(|it| is_tensor(*it)) {
            let mut given = Given::default();
            let it = Passing::new(unit, function);
            this.add_results(function, &it, &mut given);
            this.add_parameters(function, &it, &mut given);
            add(&mut this, function, false, given);
        }
        this.found.sort_unstable_by_key(|facts| facts.function);
        this.found
    }

    fn of(&self, function: u32) -> Option<&FunctionFacts> {
        self.found.get(*self.places.get(&function)?)
    }

    /// What the functions that are called give back, as far as that was looked at.
    fn add_results(&self, function: u32, passing: &Passing, given: &mut Given) {
        let unit = self.unit;
        for load in &passing.loads {
            let Some((call, position)) = passing.call_into(unit, load.variable) else { continue };
            if let Some((word, bits)) = self.result(call.callee, position, load.byte) {
                given.extend(load, &word, bits);
            }
        }
        for call in &passing.calls {
            for (position, operand) in call.results.into_iter().flat_map(Slice::range).enumerate() {
                let Resolution::Register(_) = unit.symbols.operand(operand as u32) else { continue };
                let Ok(position) = u16::try_from(position) else { continue };
                if let Some((word, _)) = self.result(call.callee, position, 0) {
                    given.words.insert(operand as u32, word);
                }
            }
        }
        debug_assert!(self.of(function).is_none(), "nothing is found twice");
    }

    /// What a function gives back, and how many bits that has.
    fn result(&self, callee: u32, position: u16, byte: u16) -> Option<(Word, u32)> {
        let unit = self.unit;
        let facts = self.of(callee)?;
        let passing = facts.passing.as_deref()?;
        let results = declared(unit, unit.module.functions[callee as usize].returns);
        let (name, register) = *results.get(usize::from(position))?;
        let mut joined = Joined::default();
        let mut bits = 64;
        if let Some(register) = register {
            if byte != 0 || !facts.ends_with_return(unit) {
                return None;
            }
            for at in passing.returns().iter().filter(|at| facts.cfg.is_executed(**at)) {
                joined.add(facts, unit, *at, Some(register), || None);
            }
        } else {
            for store in &passing.stores {
                if unit.symbols.symbol(store.variable).span != name
                    || !facts.cfg.is_executed(store.instruction)
                {
                    continue;
                }
                // One that overlaps in another way is not understood.
                if store.byte != byte {
                    let end = |it: u16, bits: u32| u32::from(it) + bits / 8;
                    if u32::from(store.byte) < end(byte, 64) && u32::from(byte) < end(store.byte, store.bits)
                    {
                        bits = bits.min(u32::from(store.byte.abs_diff(byte)) * 8);
                    }
                    if store.byte < byte && u32::from(byte) < end(store.byte, store.bits) {
                        return None;
                    }
                    continue;
                }
                bits = bits.min(store.bits);
                joined.add_operand(facts, unit, store.instruction, store.operand);
            }
        }
        Some((joined.word()?, bits))
    }

    /// What the arguments of all calls have in common.
    fn add_parameters(&self, function: u32, passing: &Passing, given: &mut Given) {
        let unit = self.unit;
        let module = &unit.module;
        let it = &module.functions[function as usize];
        let calls = self.events.calls_of(function);
        // Another module may call what has a linkage.
        let has_known_callers =
            !it.is_entry && it.linkage.is_none() && !self.calls.addressed().contains(&function);
        if !has_known_callers || calls.is_empty() {
            return;
        }
        let mut sites: Vec<(&FunctionFacts, Call)> = Vec::with_capacity(calls.len());
        for link in calls {
            let Some(facts) = self.of(link.function) else { return };
            let Some(passing) = facts.passing.as_deref() else { return };
            let Some(call) = passing.calls.iter().find(|it| it.instruction == link.call) else { return };
            let happens = facts.cfg.block_of(link.call).is_some_and(|block| facts.cfg.is_reachable(block))
                && facts.cfg.is_executed(link.call);
            if happens {
                sites.push((facts, *call));
            }
        }
        let parameters = declared(unit, it.parameters);
        let is_tensor = |event: &Event| matches!(event.action, Action::Tensor { .. });
        // What one of several calls gives matters to what is of tcgen05.
        if (2..=CALLS).contains(&sites.len()) && self.events.of(function).iter().any(is_tensor) {
            let of_call = |site: &(&FunctionFacts, Call)| {
                let mut given = Given { words: given.words.clone(), ..Given::default() };
                given.add(unit, passing, &parameters, std::slice::from_ref(site));
                (site.1.instruction, given)
            };
            given.by_call = sites.iter().map(of_call).collect();
        }
        given.add(unit, passing, &parameters, &sites);
        // All of them may give the same.
        let by_call = std::mem::take(&mut given.by_call);
        if by_call.iter().any(|(_, it)| it.knows_more_than(given)) {
            given.by_call = by_call;
        }
    }
}

/// Functions that are called more often are looked at for all calls together only.
const CALLS: usize = 8;

/// What a parameter is in all calls, and how many bits that has.
fn joined_arguments(
    unit: &Unit,
    sites: &[(&FunctionFacts, Call)],
    parameter: Parameter,
) -> Option<(Word, u32)> {
    let mut joined = Joined::default();
    let mut bits = 64;
    for (facts, call) in sites {
        let operand = call.arguments?.range().nth(usize::from(parameter.position))? as u32;
        let Resolution::Symbol(variable) = unit.symbols.operand(operand) else {
            if parameter.byte != 0 {
                return None;
            }
            joined.add_operand(facts, unit, call.instruction, operand);
            continue;
        };
        let passing = facts.passing.as_deref()?;
        let mut stores = passing.stores.iter().filter(|it| it.variable == variable);
        let store = passing.stored(variable, parameter.byte).next()?;
        let end = |it: &Passed| u32::from(it.byte) + it.bits / 8;
        // Nothing else is stored there, and it surely is before the call.
        let overlaps = |it: &Passed| u32::from(it.byte) < end(store) && u32::from(store.byte) < end(it);
        let is_only = stores.all(|it| it.operand == store.operand || !overlaps(it));
        let is_certain = facts.cfg.block_of(store.instruction) == facts.cfg.block_of(call.instruction)
            && store.instruction < call.instruction
            && unit.module.guard(&unit.module.instructions[store.instruction as usize]).is_none();
        if !is_only || !is_certain {
            return None;
        }
        bits = bits.min(store.bits);
        joined.add_operand(facts, unit, store.instruction, store.operand);
    }
    Some((joined.word()?, bits))
}

impl Given {
    /// Adds what is known of the parameters of a function that is called in these places.
    fn add(
        &mut self,
        unit: &Unit,
        passing: &Passing,
        parameters: &[Declared],
        sites: &[(&FunctionFacts, Call)],
    ) {
        for (position, (name, register)) in parameters.iter().enumerate() {
            let Ok(position) = u16::try_from(position) else { return };
            if let Some(register) = register {
                let parameter = Parameter { position, byte: 0 };
                if let Some((word, _)) = joined_arguments(unit, sites, parameter) {
                    self.registers.insert(*register, word);
                }
                continue;
            }
            for load in &passing.loads {
                if unit.symbols.symbol(load.variable).span == *name {
                    let parameter = Parameter { position, byte: load.byte };
                    if let Some((word, bits)) = joined_arguments(unit, sites, parameter) {
                        self.extend(load, &word, bits);
                    }
                }
            }
        }
    }

    /// Whether bits are known of something that another one does not know.
    fn knows_more_than(&self, other: &Self) -> bool {
        let is_more = |word: &Word, other: Option<&Word>| {
            word.known.mask & !other.map_or(0, |other| other.known.mask) != 0
        };
        self.words.iter().any(|(operand, word)| is_more(word, other.words.get(operand)))
            || self.registers.iter().any(|(register, word)| is_more(word, other.registers.get(register)))
    }

    /// Adds what a load gets of a word of so many bits.
    fn extend(&mut self, load: &Passed, word: &Word, bits: u32) {
        if load.bits <= bits {
            let known = constants::extended(word.known, load.bits, load.signed);
            self.words.insert(load.operand, Word { known, made: word.made.clone() });
        }
    }
}

/// What is known of one of several words.
#[derive(Default)]
struct Joined {
    known: Option<Known>,
    made: SmallVec<[Span; 2]>,
}

impl Joined {
    fn add_operand(&mut self, facts: &FunctionFacts, unit: &Unit, instruction: u32, operand: u32) {
        let found = &unit.module.operands[operand as usize];
        let register = match unit.symbols.operand(operand) {
            Resolution::Register(register) if found.kind() == OperandKind::Name => Some(register),
            _ => None,
        };
        let number = || {
            let value = literal::evaluate(&unit.source, &unit.module, found)?;
            Some((Known::from((value & i128::from(u64::MAX)) as u64), found.span()))
        };
        self.add(facts, unit, instruction, register, number);
    }

    fn add(
        &mut self,
        facts: &FunctionFacts,
        unit: &Unit,
        instruction: u32,
        register: Option<RegisterId>,
        number: impl FnOnce() -> Option<(Known, Span)>,
    ) {
        let view = facts.view(unit);
        let known = match register {
            Some(register) => {
                let known = facts.constants.at(&view, instruction, register);
                if known.mask != 0 {
                    self.made.extend(view.origins(instruction, register));
                }
                known
            }
            None => match number() {
                Some((known, span)) => {
                    self.made.push(span);
                    known
                }
                None => Known::new(0, 0),
            },
        };
        self.known = Some(match self.known {
            None => known,
            Some(before) => constants::either(before, known),
        });
    }

    /// Something, if anything is known.
    fn word(mut self) -> Option<Word> {
        let known = self.known.filter(|it| it.mask != 0)?;
        self.made.sort_unstable();
        self.made.dedup();
        Some(Word { known, made: self.made })
    }
}

/// What is known of a function before its facts are found.
pub struct Plan {
    /// What it is given.
    pub given: Option<Given>,
    /// What it passes.
    pub passing: Passing,
    /// The registers that it gives away.
    pub uses: Vec<(u32, RegisterId)>,
    /// Whether it is looked at for its results alone.
    pub is_helper: bool,
}
