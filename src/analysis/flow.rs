//! One function as the rules about ordering see it: its events, the questions they ask about them,
//! and the addresses that its tcgen05 instructions use.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::cfg::{BlockId, Cfg};
use super::constants::Known;
use super::dataflow::Direction;
use super::definitions::{self, Definition, DefinitionId};
use super::events::{Action, Event, Events, Summary};
use super::functions::FunctionFacts;
use super::places::{Place, Places};
use super::reach::{Fact, Group, Reach};
use super::registers;
use super::uniformity::Uniformity;
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Base, Instruction, Scalar};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;
use crate::source::Span;

/// What an event means to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    #[default]
    None,
    /// The question is asked here.
    Ask,
    /// What started before is no answer from here on, whatever other paths there are.
    Mark,
    /// What started before ends here.
    Stop,
    /// Something starts here.
    Start,
    /// The question is asked here, and something starts here.
    AskAndStart,
}

impl Role {
    /// `self` where `condition` holds.
    #[must_use]
    pub const fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Self::None }
    }
}

/// Whether a pending load matters to what happens behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// It does not.
    No,
    /// If one of its registers can still be read.
    IfLive,
    /// It does.
    Yes,
}

/// An answer: `first` can have happened before `then`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What happened.
    pub first: Event,
    /// Where that matters.
    pub then: Event,
}

/// One function with its events.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    /// The module.
    pub unit: &'a Unit,
    /// All tcgen05 instructions of the module.
    pub instructions: &'a [Decoded<'a>],
    /// What happens in its functions.
    pub all: &'a Events,
    /// The function.
    pub facts: &'a FunctionFacts,
}

impl<'a> Flow<'a> {
    /// Its control flow.
    pub fn cfg(&self) -> &'a Cfg {
        &self.facts.cfg
    }

    /// Whether it is a kernel.
    pub fn is_entry(&self) -> bool {
        self.unit.module.functions[self.facts.function as usize].is_entry
    }

    /// Its events, in the order of its instructions.
    pub fn events(&self) -> &'a [Event] {
        self.all.of(self.facts.function)
    }

    /// What may happen while it runs.
    pub fn summary(&self) -> Option<&'a Summary> {
        self.all.summary(self.facts.function)
    }

    /// The typed instruction of an event, if it is one of tcgen05 and understood.
    pub fn instruction(&self, event: Event) -> Option<&'a Instruction<'a>> {
        self.decoded(event)?.instruction.as_ref()
    }

    /// The tcgen05 instruction of an event.
    pub fn decoded(&self, event: Event) -> Option<&'a Decoded<'a>> {
        match event.action {
            Action::Tensor { index, .. } => self.instructions.get(index as usize),
            _ => None,
        }
    }

    /// The tcgen05 operation of an event, understood or not.
    pub fn operation(&self, event: Event) -> Option<Operation> {
        match event.action {
            Action::Tensor { operation, .. } => Some(operation),
            _ => None,
        }
    }

    /// Where an event is written: the operation's name, or the opcode.
    pub fn span(&self, event: Event) -> Span {
        self.decoded(event).map_or_else(
            || self.unit.module.instructions[event.instruction as usize].opcode,
            |decoded| decoded.name,
        )
    }

    /// Whether an event happens in this function itself, not in one that it calls.
    pub fn is_own(&self, event: Event) -> bool {
        self.cfg().block_of(event.instruction).is_some()
    }

    /// Pairs of events of which the second can follow the first, with no event between that stops;
    /// at most one first for each second. `relates` says which of them matter.
    ///
    /// A call counts as what may happen in it, in any order: if something in it can stop, it stops.
    pub fn pairs(&self, role: impl Fn(Event) -> Role, relates: impl FnMut(Pair) -> bool) -> Vec<Pair> {
        self.pairs_ending(role, |_, _| {}, relates)
    }

    /// The same, with more places where single events end: `ends` is given the question and the
    /// facts of the events that start one.
    pub fn pairs_ending(
        &self,
        role: impl Fn(Event) -> Role,
        ends: impl FnOnce(&mut Reach, &[(Fact, Event)]),
        mut relates: impl FnMut(Pair) -> bool,
    ) -> Vec<Pair> {
        let mut reach = Reach::default();
        let mut firsts: Vec<(Fact, Event)> = Vec::new();
        let mut thens: Vec<Event> = Vec::new();
        self.lay_out(&role, &mut reach, &mut firsts, &mut thens);
        if firsts.is_empty() || thens.is_empty() {
            return Vec::new();
        }
        ends(&mut reach, &firsts);
        let mut pairs = Vec::new();
        reach.solve(self.cfg(), Direction::Forward, &self.facts.budget, &mut |ask, fact| {
            let first = firsts[fact.0 as usize].1;
            let pair = Pair { first, then: thens[ask.0 as usize] };
            let found = relates(pair);
            if found {
                pairs.push(pair);
            }
            found
        });
        pairs.sort_by_key(|pair| (pair.then.instruction, pair.first.instruction));
        pairs
    }

    /// The same, at most one second for each first as well: what follows the first offence has the
    /// same cause.
    pub fn first_pairs(&self, role: impl Fn(Event) -> Role, relates: impl FnMut(Pair) -> bool) -> Vec<Pair> {
        first_of_each_cause(self.pairs(role, relates))
    }

    /// The events that ask and that nothing reaches that starts: neither from before them, nor, if
    /// `direction` is backward, from behind.
    pub fn unreached(&self, direction: Direction, role: impl Fn(Event) -> Role) -> Vec<Event> {
        let mut reach = Reach::default();
        let mut firsts = Vec::new();
        let mut thens = Vec::new();
        self.lay_out(&role, &mut reach, &mut firsts, &mut thens);
        let mut reached = vec![false; thens.len()];
        reach.solve(self.cfg(), direction, &self.facts.budget, &mut |ask, _| {
            reached[ask.0 as usize] = true;
            true
        });
        if self.facts.budget.is_spent() {
            return Vec::new();
        }
        thens.into_iter().zip(reached).filter(|(_, reached)| !reached).map(|(event, _)| event).collect()
    }

    fn lay_out(
        &self,
        role: &impl Fn(Event) -> Role,
        reach: &mut Reach,
        firsts: &mut Vec<(Fact, Event)>,
        thens: &mut Vec<Event>,
    ) {
        let mut enact = |reach: &mut Reach, at: u32, event: Event, role: Role| {
            if matches!(role, Role::Ask | Role::AskAndStart) {
                reach.ask(at);
                thens.push(event);
            }
            if matches!(role, Role::Start | Role::AskAndStart) {
                let fact = reach.fact();
                reach.start(at, fact);
                firsts.push((fact, event));
            }
        };
        // What no path leads to does not happen.
        let happens = |event: &&Event| {
            self.cfg().block_of(event.instruction).is_some_and(|block| self.cfg().is_reachable(block))
        };
        for &event in self.events().iter().filter(happens) {
            let at = event.instruction;
            let Action::Call(callee) = event.action else {
                let role = role(event);
                match role {
                    Role::Mark => reach.mark(at),
                    Role::Stop => reach.stop(at),
                    Role::None | Role::Ask | Role::Start | Role::AskAndStart => {}
                }
                enact(reach, at, event, role);
                continue;
            };
            let Some(summary) = self.all.summary(callee) else { continue };
            let unknown = summary.unknown.then_some(Event { action: Action::Unknown, ..event });
            let roles = || summary.events.iter().copied().chain(unknown).map(|inner| (inner, role(inner)));
            let any = |wanted: Role| roles().any(|(_, role)| role == wanted);
            if any(Role::Stop) {
                reach.stop(at);
                continue;
            }
            if any(Role::Mark) {
                reach.mark(at);
                continue;
            }
            for (inner, role) in roles() {
                enact(reach, at, inner, role);
            }
        }
    }

    /// Who executes its tcgen05 instructions and its calls.
    pub fn uniformity(&self) -> &'a Uniformity {
        self.facts.uniformity.get_or_init(|| {
            let asked = || {
                let of_interest =
                    |event: &&Event| matches!(event.action, Action::Tensor { .. } | Action::Call(_));
                self.events().iter().filter(of_interest).map(|event| event.instruction)
            };
            let is_guarded = |index: &u32| self.unit.module.instructions[*index as usize].guard.is_some();
            let mut blocks: Vec<BlockId> = asked().filter_map(|index| self.cfg().block_of(index)).collect();
            blocks.dedup();
            let guarded: Vec<u32> = asked().filter(is_guarded).collect();
            Uniformity::new(&self.facts.view(self.unit), &blocks, &guarded, &self.facts.budget)
        })
    }

    /// Whether two events of this function stand under different conditions, so that perhaps no run
    /// has both.
    pub fn may_exclude(&self, first: Event, then: Event) -> bool {
        let function = self.facts.view(self.unit);
        self.uniformity().may_exclude(&function, first.instruction, then.instruction, &self.facts.budget)
    }

    /// Whether `first` is executed whenever `then` is, as far as conditions go.
    pub fn accompanies(&self, first: Event, then: Event) -> bool {
        let function = self.facts.view(self.unit);
        self.uniformity().accompanies(&function, first.instruction, then.instruction, &self.facts.budget)
    }

    /// The addresses of the function.
    pub fn places(&self) -> Places<'a> {
        let facts = self.facts;
        Places { function: facts.view(self.unit), constants: &facts.constants, known: &facts.places }
    }

    /// What an address in an instruction of this function is made of.
    pub fn place(&self, event: Event, address: &Address<'_>) -> Option<Place> {
        if !self.is_own(event) {
            return None;
        }
        let Base::Register(register) = address.base else { return None };
        Some(self.register_place(event, register.id, address.offset))
    }

    /// What a value in an instruction of this function is made of.
    pub fn scalar_place(&self, event: Event, scalar: &Scalar<'_>) -> Option<Place> {
        match scalar {
            Scalar::Register(register) if !register.component && self.is_own(event) => {
                Some(self.register_place(event, register.id, register.plus.unwrap_or_default()))
            }
            _ => None,
        }
    }

    /// What a register holds where an instruction reads it, plus a constant.
    fn register_place(&self, event: Event, register: RegisterId, plus: i64) -> Place {
        let place = self.places().of(event.instruction, register);
        let by = Known::from(plus as u64);
        Place { offset: place.offset.sum(by), ..place }
    }

    /// Whether it can be followed when what an event loads is read: the registers of a load are not
    /// written in too many places. What a callee loads is dead when it returns.
    fn follows_load(&self, event: Event) -> bool {
        match self.instruction(event) {
            Some(Instruction::Ld(ld)) if self.is_own(event) => loaded_registers(ld)
                .all(|register| self.facts.definitions.of(register).len() <= definitions::MANY),
            _ => false,
        }
    }

    /// Ends each load's fact where an instruction other than `mov` reads what it loaded, or what
    /// `mov` made of it, or another one writes there: that waits for the load.
    fn end_at_uses(&self, reach: &mut Reach, loads: &[(Fact, Event)]) {
        let definitions = &self.facts.definitions;
        let carried = self.carried(loads);
        let mut groups: FxHashMap<RegisterId, Group> = FxHashMap::default();
        // By fact, in their order: the load, and where in which block it ended last. What reads more of
        // its registers in the same block ends nothing, unless it is loaded again between.
        let mut ended: Vec<(u32, u32, Option<BlockId>)> =
            loads.iter().map(|(_, event)| (event.instruction, 0, None)).collect();
        let mut ends_here = |instruction: u32, fact: Fact| -> bool {
            let Some((load, last, in_block)) = ended.get_mut(fact.0 as usize) else { return true };
            let block = self.cfg().block_of(instruction);
            let again = *in_block == block && !(*last..instruction).contains(load);
            (*last, *in_block) = (instruction, block);
            !again
        };
        for &(instruction, register) in definitions.reads() {
            if self.is_move(instruction) {
                continue;
            }
            let reaching = definitions.reaching(self.cfg(), instruction, register);
            let facts = |ids: &[DefinitionId]| -> SmallVec<[Fact; 4]> {
                let of = |id: &DefinitionId| carried.get(&definitions.get(*id).instruction);
                ids.iter().filter_map(of).flatten().copied().collect()
            };
            // Many reads of many definitions are a step each, not one for each pair of them.
            if reaching.len() > 1 && reaching.len() == definitions.of(register).len() {
                let group = *groups.entry(register).or_insert_with(|| {
                    let group = reach.group();
                    facts(&reaching).into_iter().for_each(|fact| reach.join(fact, group));
                    group
                });
                reach.end_group(instruction, group);
            } else {
                for fact in facts(&reaching) {
                    if ends_here(instruction, fact) {
                        reach.end(instruction, fact);
                    }
                }
            }
        }
        // Where only the load writes a register, nothing else does.
        let has_others = |register: &RegisterId| definitions.of(*register).len() > 1;
        let written = loads.iter().flat_map(|(fact, event)| {
            let registers: SmallVec<[RegisterId; 8]> = match self.instruction(*event) {
                Some(Instruction::Ld(ld)) => loaded_registers(ld).filter(has_others).collect(),
                _ => SmallVec::new(),
            };
            registers.into_iter().map(|register| (*fact, register))
        });
        self.end_at_writes(reach, written);
    }

    fn is_move(&self, instruction: u32) -> bool {
        registers::mnemonic(self.unit, instruction) == "mov"
    }

    /// By instruction: the loads whose values may be in the registers that it writes. These are the
    /// loads themselves and the `mov` behind them.
    fn carried(&self, loads: &[(Fact, Event)]) -> FxHashMap<u32, SmallVec<[Fact; 2]>> {
        let definitions = &self.facts.definitions;
        let mut carried: FxHashMap<u32, SmallVec<[Fact; 2]>> = FxHashMap::default();
        for (fact, event) in loads {
            carried.entry(event.instruction).or_default().push(*fact);
        }
        let moves: Vec<(u32, RegisterId)> = definitions
            .reads()
            .iter()
            .copied()
            .filter(|(instruction, _)| self.is_move(*instruction))
            .collect();
        // Once more where a loop carries a copy backwards.
        loop {
            let mut changed = false;
            for &(instruction, register) in &moves {
                let reaching = definitions.reaching(self.cfg(), instruction, register);
                for id in reaching.iter() {
                    let Some(from) = carried.get(&definitions.get(*id).instruction).cloned() else {
                        continue;
                    };
                    let to = carried.entry(instruction).or_default();
                    let held = to.len();
                    for fact in from {
                        if !to.contains(&fact) {
                            to.push(fact);
                        }
                    }
                    changed |= to.len() > held;
                    if !self.facts.budget.take(to.len() as u64) {
                        return carried;
                    }
                }
            }
            if !changed {
                return carried;
            }
        }
    }

    /// Ends the facts of accesses whose columns a later load reads: where `wait::ld` has waited for
    /// that load, or where something else than `mov` reads what it loaded. `columns` says which ones
    /// an event accesses, and `overlap` whether some are the same.
    pub fn end_where_read_again<T>(
        &self,
        reach: &mut Reach,
        accesses: &[(Fact, Event)],
        columns: impl Fn(Event) -> Option<T>,
        overlap: impl Fn(&T, &T) -> bool,
    ) {
        let accessed: Vec<(Fact, Event, T)> =
            accesses.iter().filter_map(|(fact, event)| Some((*fact, *event, columns(*event)?))).collect();
        let mut loads: Vec<(Fact, Event)> = Vec::new();
        for &event in self.events() {
            let Some(Instruction::Ld(_)) = self.instruction(event) else { continue };
            if !self.facts.budget.take(accesses.len() as u64) {
                return;
            }
            let Some(read) = columns(event) else { continue };
            let same = |(_, access, columns): &&(Fact, Event, T)| *access != event && overlap(columns, &read);
            let same = accessed.iter().filter(same);
            let covered = same.map(|(fact, ..)| reach.cover(event.instruction, *fact)).count();
            if covered > 0 {
                loads.push((Fact(loads.len() as u32), event));
            }
        }
        if loads.is_empty() {
            return;
        }
        for &event in self.events() {
            if self.operation(event) == Some(Operation::WaitLd) {
                reach.end_covered(event.instruction);
            }
        }
        let definitions = &self.facts.definitions;
        let carried = self.carried(&loads);
        for &(instruction, register) in definitions.reads() {
            let reaching = definitions.reaching(self.cfg(), instruction, register);
            let is_loaded = |id: &DefinitionId| carried.contains_key(&definitions.get(*id).instruction);
            if reaching.iter().any(is_loaded) && !self.is_move(instruction) {
                reach.end_covered(instruction);
            }
        }
    }

    /// Ends each fact where the register beside it is written again.
    pub fn end_at_writes(&self, reach: &mut Reach, facts: impl IntoIterator<Item = (Fact, RegisterId)>) {
        self.end_at_definitions(reach, facts, |_| true);
    }

    fn end_at_definitions(
        &self,
        reach: &mut Reach,
        facts: impl IntoIterator<Item = (Fact, RegisterId)>,
        counts: impl Fn(&Definition) -> bool,
    ) {
        let definitions = &self.facts.definitions;
        let mut groups: FxHashMap<RegisterId, Group> = FxHashMap::default();
        for (fact, register) in facts {
            let group = *groups.entry(register).or_insert_with(|| {
                let group = reach.group();
                let all = definitions.of(register).iter().map(|id| definitions.get(*id));
                all.filter(|it| counts(it)).for_each(|it| reach.end_group(it.instruction, group));
                group
            });
            reach.join(fact, group);
        }
    }

    /// Loads that are pending where something happens, as far as `concern` says that it matters; at
    /// most one load for each event that asks. Loads that can't be followed to where they are used
    /// start nothing. `ends` adds to where loads end otherwise: where an
    /// instruction other than `mov` reads what was loaded.
    pub fn pending_loads(
        &self,
        role: impl Fn(Event) -> Role,
        ends: impl FnOnce(&mut Reach, &[(Fact, Event)]),
        mut concern: impl FnMut(Pair) -> Concern,
    ) -> Vec<Pair> {
        let mut if_live = Vec::new();
        let mut found = self.pairs_ending(
            |event| match role(event) {
                Role::Start => Role::Start.only_if(self.follows_load(event)),
                role => role,
            },
            |reach, loads| {
                self.end_at_uses(reach, loads);
                ends(reach, loads);
            },
            |pair| {
                let concern = concern(pair);
                // Whether its registers are live is a question for all of them together.
                if_live.extend((concern == Concern::IfLive).then_some(pair));
                concern == Concern::Yes
            },
        );
        found.extend(self.live(if_live));
        found.sort_by_key(|pair| (pair.then.instruction, pair.first.instruction));
        found.dedup_by_key(|pair| pair.then.instruction);
        found
    }

    /// Of pairs of a load and something behind it, those where a register of the load can still be
    /// read afterwards.
    fn live(&self, pairs: Vec<Pair>) -> Vec<Pair> {
        if pairs.is_empty() {
            return pairs;
        }
        let definitions = &self.facts.definitions;
        let mut reach = Reach::default();
        let mut ends: Vec<(Fact, RegisterId)> = Vec::new();
        let mut registers: Vec<SmallVec<[RegisterId; 4]>> = Vec::new();
        for pair in &pairs {
            let fact = reach.fact();
            reach.start(pair.then.instruction, fact);
            let loaded: SmallVec<[RegisterId; 4]> = match self.instruction(pair.first) {
                Some(Instruction::Ld(ld)) => loaded_registers(ld).collect(),
                _ => SmallVec::new(),
            };
            ends.extend(loaded.iter().map(|register| (fact, *register)));
            registers.push(loaded);
        }
        let concerned: FxHashSet<RegisterId> = ends.iter().map(|(_, register)| *register).collect();
        self.end_at_definitions(&mut reach, ends, |definition| !definition.guarded);
        let mut readers: Vec<RegisterId> = Vec::new();
        for &(instruction, register) in definitions.reads() {
            if concerned.contains(&register) {
                reach.ask(instruction);
                readers.push(register);
            }
        }
        let mut live = vec![false; pairs.len()];
        reach.solve(self.cfg(), Direction::Forward, &self.facts.budget, &mut |ask, fact| {
            let index = fact.0 as usize;
            live[index] = live[index] || registers[index].contains(&readers[ask.0 as usize]);
            false
        });
        pairs.into_iter().zip(live).filter(|(_, live)| *live).map(|(pair, _)| pair).collect()
    }
}

/// Of pairs in the order of their second events, one for each first event.
pub fn first_of_each_cause(mut pairs: Vec<Pair>) -> Vec<Pair> {
    let mut seen = FxHashSet::default();
    pairs.retain(|pair| seen.insert(pair.first.instruction));
    pairs
}

/// The registers that a load writes.
pub fn loaded_registers<'i>(ld: &'i crate::instruction::Ld<'_>) -> impl Iterator<Item = RegisterId> + 'i {
    let results = ld.reduction.iter().filter_map(|reduction| reduction.result.as_ref());
    let metadata = ld.metadata.iter().flat_map(|vector| vector.elements.iter());
    ld.r.elements.iter().chain(metadata).chain(results).filter_map(|scalar| match scalar {
        Scalar::Register(register) => Some(register.id),
        _ => None,
    })
}
