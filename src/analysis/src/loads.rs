//! Loads of Tensor Memory, followed to where they are certainly complete.
//!
//! `tcgen05.ld` is asynchronous. `wait::ld` waits for it; so does, in effect, the first instruction
//! that reads what was loaded. Copies do not count as reading: the copy is followed instead.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::cfg::BlockId;
use super::definitions::{Definition, DefinitionId};
use super::events::{Action, Event};
use super::flow::{Flow, Pair, Role};
use super::footprint::columns;
use super::places::{Root, Slot, SlotRoot};
use super::reach::{Direction, Fact, Group, PassedWithout, Reach, are_within};
use super::values::{JoinId, ValueId};
use super::walks::Walk;
use crate::instruction::{Instruction, Ld, Scalar};
use crate::isa::generic::Computation;
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::RegisterId;

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

impl Flow<'_> {
    /// Whether it can be told where what an event loads is read. What a callee loads is dead when
    /// it returns.
    fn follows_load(&self, event: Event) -> bool {
        self.load(event).is_some() && self.is_own(event)
    }

    /// Kills each load's fact where an instruction other than `mov` reads what it loaded, or what
    /// `mov` made of it, or another one writes there: that waits for the load.
    fn kill_at_uses(&self, reach: &mut Reach, loads: &[(Fact, Event)]) {
        let definitions = &self.facts.definitions;
        let function = self.facts.view(self.unit);
        self.facts.budget.take(definitions.reads().len() as u64);
        let carried = self.carried(loads);
        let mut groups: FxHashMap<JoinId, Group> = FxHashMap::default();
        // By fact, in their order: the load, and where in which block it was killed last. What reads more
        // of its registers in the same block kills nothing, unless it is loaded again between.
        let mut killed: Vec<(u32, u32, Option<BlockId>)> =
            loads.iter().map(|(_, event)| (event.instruction, 0, None)).collect();
        let mut kills_here = |instruction: u32, fact: Fact| -> bool {
            let Some((load, last, in_block)) = killed.get_mut(fact.0 as usize) else { return true };
            let block = self.cfg().block_of(instruction);
            let again = *in_block == block && !(*last..instruction).contains(load);
            (*last, *in_block) = (instruction, block);
            !again
        };
        for &(instruction, register) in definitions.reads() {
            if self.is_move(instruction) {
                continue;
            }
            let facts = |id: DefinitionId| carried.get(&definitions.get(id).instruction);
            match function.value(instruction, register) {
                None => {}
                Some(ValueId::Definition(id)) => {
                    for fact in facts(id).into_iter().flatten() {
                        self.facts.budget.take(1);
                        if kills_here(instruction, *fact) {
                            reach.kill(instruction, *fact);
                        }
                    }
                }
                // Many reads of many definitions are a step each, not one for each pair of them.
                Some(value @ ValueId::Join(join)) => {
                    let group = *groups.entry(join).or_insert_with(|| {
                        let group = reach.group();
                        let all = definitions.all(value, &self.facts.budget).unwrap_or_default();
                        for fact in all.into_iter().filter_map(facts).flatten() {
                            reach.join(*fact, group);
                        }
                        group
                    });
                    reach.kill_group(instruction, group);
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
        self.kill_at_writes(reach, written);
    }

    /// Loads of this function, each with the first instruction other than `mov` that reads what it loaded, or a copy of
    /// it, where a path leads there on which nothing waits for the load.
    pub fn read_before_wait(&self) -> Vec<(Event, u32)> {
        /// Longer chains of copies are not followed.
        const COPIES: usize = 4;
        let loads: Vec<(Fact, Event)> = self
            .events()
            .iter()
            .filter(|event| self.follows_load(**event))
            .enumerate()
            .map(|(at, event)| (Fact(at as u32), *event))
            .collect();
        if loads.is_empty() {
            return Vec::new();
        }
        let is_wait = |event: &Event| self.operation(*event) == Some(Operation::WaitLd);
        let waits: Vec<u32> = self
            .events()
            .iter()
            .filter(|event| match event.action {
                Action::Call(callee) => self
                    .all
                    .summary(callee)
                    .is_none_or(|inner| inner.unknown || inner.events.iter().any(is_wait)),
                Action::Unknown => true,
                _ => is_wait(event),
            })
            .map(|event| event.instruction)
            .collect();
        let definitions = &self.facts.definitions;
        let function = self.facts.view(self.unit);
        let mut unwaited = Unwaited { flow: self, waits: &waits, after: FxHashMap::default() };
        // By instruction that writes: the loads whose values may be there, with nothing between that waits.
        let mut pending: FxHashMap<u32, SmallVec<[Fact; 2]>> = FxHashMap::default();
        for (fact, event) in &loads {
            pending.entry(event.instruction).or_default().push(*fact);
        }
        let (moves, reads): (Vec<_>, Vec<_>) =
            definitions.reads().iter().copied().partition(|(instruction, _)| self.is_move(*instruction));
        let mut of = |pending: &FxHashMap<u32, SmallVec<[Fact; 2]>>,
                      (instruction, register): (u32, RegisterId)| {
            let value = function.value(instruction, register);
            let ids = value.and_then(|value| definitions.all(value, function.budget));
            let mut facts: SmallVec<[Fact; 2]> = SmallVec::new();
            for id in ids.into_iter().flatten() {
                let made = definitions.get(id).instruction;
                if let Some(of_it) = pending.get(&made).filter(|_| unwaited.leads(made, instruction)) {
                    facts.extend(of_it.iter().copied());
                }
            }
            facts
        };
        // Copies of copies come later.
        for _ in 0..COPIES {
            let mut changed = false;
            for copy in &moves {
                for fact in of(&pending, *copy) {
                    let known = pending.entry(copy.0).or_default();
                    if !known.contains(&fact) && function.budget.take(1) {
                        known.push(fact);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut first: Vec<Option<u32>> = vec![None; loads.len()];
        for read in reads {
            for fact in of(&pending, read) {
                let first = &mut first[fact.0 as usize];
                *first = Some(first.map_or(read.0, |known| known.min(read.0)));
            }
        }
        let found = loads.iter().zip(first).filter_map(|((_, load), read)| Some((*load, read?)));
        found.collect()
    }

    fn is_move(&self, instruction: u32) -> bool {
        self.unit.operations.of(instruction).computes() == Computation::Move
    }

    /// By instruction: the loads whose values may be in the registers that it writes, ascending. These
    /// are the loads themselves and the `mov` behind them.
    fn carried(&self, loads: &[(Fact, Event)]) -> FxHashMap<u32, SmallVec<[Fact; 2]>> {
        let definitions = &self.facts.definitions;
        let function = self.facts.view(self.unit);
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
                let value = function.value(instruction, register);
                let all = value.and_then(|value| definitions.all(value, &self.facts.budget));
                for id in all.into_iter().flatten() {
                    let Some(from) = carried.get(&definitions.get(id).instruction).cloned() else {
                        continue;
                    };
                    let to = carried.entry(instruction).or_default();
                    let held = to.len();
                    if !self.facts.budget.take(1 + (held + from.len()) as u64) {
                        return carried;
                    }
                    to.extend(from);
                    to.sort_unstable();
                    to.dedup();
                    changed |= to.len() > held;
                }
            }
            if !changed {
                return carried;
            }
        }
    }

    /// Kills the facts of accesses whose columns a later load reads: where `wait::ld` has waited for
    /// that load, or where an instruction other than `mov` reads what it loaded.
    pub fn kill_where_read_again(&self, reach: &mut Reach, accesses: &[(Fact, Event)]) {
        let certain = |event: Event| columns(self, event)?.certain();
        let mut accessed: FxHashMap<Root, Vec<(Range<u32>, Fact)>> = FxHashMap::default();
        let mut own: FxHashMap<u32, Fact> = FxHashMap::default();
        for (fact, event) in accesses {
            if let Some((root, columns)) = certain(*event) {
                accessed.entry(root).or_default().push((columns, *fact));
                own.insert(event.instruction, *fact);
            }
        }
        // What is read in many places is one group. There are no more of them than there are ranges of
        // columns.
        let mut groups: FxHashMap<(Root, Range<u32>), (Group, usize)> = FxHashMap::default();
        let mut loads: Vec<(Fact, Event)> = Vec::new();
        for &event in self.events() {
            if self.load(event).is_none() {
                continue;
            }
            let Some((root, read)) = certain(event) else { continue };
            let Some(same_root) = accessed.get(&root) else { continue };
            let (group, members) = *groups.entry((root, read.clone())).or_insert_with(|| {
                self.facts.budget.take(same_root.len() as u64);
                let group = reach.group();
                let overlaps = |columns: &Range<u32>| columns.start < read.end && read.start < columns.end;
                let same = same_root.iter().filter(|(columns, _)| overlaps(columns));
                (group, same.map(|(_, fact)| reach.join(*fact, group)).count())
            });
            // A load does not read again what it reads itself.
            let but = own.get(&event.instruction).copied();
            if members > usize::from(but.is_some()) {
                reach.cover(event.instruction, group, but);
                loads.push((Fact(loads.len() as u32), event));
            }
        }
        if loads.is_empty() {
            return;
        }
        for &event in self.events() {
            if self.operation(event) == Some(Operation::WaitLd) {
                reach.kill_covered(event.instruction);
            }
        }
        let definitions = &self.facts.definitions;
        let function = self.facts.view(self.unit);
        let carried = self.carried(&loads);
        let mut joined: FxHashMap<JoinId, bool> = FxHashMap::default();
        for &(instruction, register) in definitions.reads() {
            if self.is_move(instruction) {
                continue;
            }
            let is_loaded = |id: &DefinitionId| carried.contains_key(&definitions.get(*id).instruction);
            let any_is_loaded = match function.value(instruction, register) {
                None => false,
                Some(ValueId::Definition(id)) => is_loaded(&id),
                Some(value @ ValueId::Join(join)) => *joined.entry(join).or_insert_with(|| {
                    definitions.all(value, &self.facts.budget).is_some_and(|all| all.iter().any(is_loaded))
                }),
            };
            if any_is_loaded {
                reach.kill_covered(instruction);
            }
        }
    }

    /// Whether the register that selects the slot of an address still holds what it held where the slot was loaded.
    pub fn reads_current_slot(&self, event: Event) -> bool {
        let Some(place) = columns(self, event).map(|it| it.place()) else { return true };
        let (Some(load), Root::Slot(Slot { root: SlotRoot::Register(register), .. })) =
            (place.load, place.root)
        else {
            return true;
        };
        let function = self.facts.view(self.unit);
        function.value(load, register) == function.value(event.instruction, register)
    }

    /// Kills each fact where the register beside it is written again.
    pub fn kill_at_writes(&self, reach: &mut Reach, facts: impl IntoIterator<Item = (Fact, RegisterId)>) {
        self.kill_at_definitions(reach, facts, |_| true);
    }

    fn kill_at_definitions(
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
                all.filter(|it| counts(it)).for_each(|it| reach.kill_group(it.instruction, group));
                group
            });
            reach.join(fact, group);
        }
    }

    /// Loads that are pending where something happens, as far as `concern` says that it matters; at
    /// most one load for each event that queries. Loads that can't be followed to where they are used
    /// generate nothing. A load is killed where an instruction other than `mov` reads what it loaded;
    /// `kills` adds to that.
    pub fn pending_loads(
        &self,
        role: impl Fn(Event) -> Role,
        kills: impl Fn(&mut Reach, &[(Fact, Event)]),
        mut concern: impl FnMut(Pair) -> Concern,
    ) -> Vec<Pair> {
        let (mut if_live, mut suspected) = (Vec::new(), Vec::new());
        self.pairs_of_loads(&role, &kills, |pair, _| {
            match concern(pair) {
                Concern::No => {}
                // Whether its registers are live is a question for all of them together.
                Concern::IfLive => if_live.push(pair),
                Concern::Yes => suspected.push(pair),
            }
            false
        });
        suspected.extend(self.live(if_live));
        if suspected.is_empty() {
            return Vec::new();
        }
        // Which paths a run can take is found out last: that takes the longest.
        let key = |pair: &Pair| (pair.first.instruction, pair.from, pair.then.instruction, pair.to);
        let suspected: FxHashSet<_> = suspected.iter().map(key).collect();
        let mut found = self.pairs_of_loads(&role, &kills, |pair, can_happen| {
            suspected.contains(&key(&pair)) && can_happen()
        });
        found.dedup_by_key(|pair| pair.then.instruction);
        found
    }

    /// Whether some load is pending where something happens, on whatever path.
    pub fn has_pending_loads(
        &self,
        role: impl Fn(Event) -> Role,
        kills: impl Fn(&mut Reach, &[(Fact, Event)]),
    ) -> bool {
        !self.pairs_of_loads(&role, &kills, |_, _| true).is_empty()
    }

    fn pairs_of_loads(
        &self,
        role: &impl Fn(Event) -> Role,
        kills: &impl Fn(&mut Reach, &[(Fact, Event)]),
        relates: impl FnMut(Pair, &mut dyn FnMut() -> bool) -> bool,
    ) -> Vec<Pair> {
        self.pairs_judged(
            |event| match role(event) {
                Role::Gen => Role::Gen.only_if(self.follows_load(event)),
                role => role,
            },
            |reach, loads| {
                // What is loaded here is used here.
                reach.same_thread();
                self.kill_at_uses(reach, loads);
                kills(reach, loads);
            },
            relates,
        )
    }

    /// The loads of which something that they loaded is read anywhere, copies included. Others matter
    /// to nothing that is asked about live registers.
    pub fn loads_that_are_read(&self) -> FxHashSet<u32> {
        let definitions = &self.facts.definitions;
        let function = self.facts.view(self.unit);
        let mut read = FxHashSet::default();
        let values = definitions.reads().iter().filter_map(|(at, register)| function.value(*at, *register));
        let mut values = Walk::new(&self.facts.budget, values);
        while let Some(id) = values.pop_definition(definitions) {
            read.insert(definitions.get(id).instruction);
        }
        read
    }

    /// Of pairs of a load and something behind it, those where a register of the load can still be
    /// read afterwards.
    fn live(&self, pairs: Vec<Pair>) -> Vec<Pair> {
        if pairs.is_empty() {
            return pairs;
        }
        let definitions = &self.facts.definitions;
        let mut reach = Reach::default();
        let mut writes: Vec<(Fact, RegisterId)> = Vec::new();
        let mut registers: Vec<SmallVec<[RegisterId; 4]>> = Vec::new();
        for pair in &pairs {
            let fact = reach.fact();
            reach.generate(pair.then.instruction, fact);
            let loaded: SmallVec<[RegisterId; 4]> = match self.instruction(pair.first) {
                Some(Instruction::Ld(ld)) => loaded_registers(ld).collect(),
                _ => SmallVec::new(),
            };
            writes.extend(loaded.iter().map(|register| (fact, *register)));
            registers.push(loaded);
        }
        let concerned: FxHashSet<RegisterId> = writes.iter().map(|(_, register)| *register).collect();
        self.kill_at_definitions(&mut reach, writes, |definition| !definition.guarded);
        let mut readers: Vec<RegisterId> = Vec::new();
        for &(instruction, register) in definitions.reads() {
            if concerned.contains(&register) {
                reach.query(instruction);
                readers.push(register);
            }
        }
        let mut live = vec![false; pairs.len()];
        reach.solve(self.cfg(), Direction::Forward, &self.facts.budget, &mut |query, fact| {
            let index = fact.0 as usize;
            live[index] = live[index] || registers[index].contains(&readers[query.0 as usize]);
            false
        });
        pairs.into_iter().zip(live).filter(|(_, live)| *live).map(|(pair, _)| pair).collect()
    }
}

/// Where control gets from an instruction without passing one of some that wait.
struct Unwaited<'w, 'a> {
    flow: &'w Flow<'a>,
    /// In their order.
    waits: &'w [u32],
    /// By block: what control passes from its end on, if that could be found out.
    after: FxHashMap<BlockId, Option<PassedWithout<'w>>>,
}

impl Unwaited<'_, '_> {
    /// Whether control may get from one instruction to another one without a wait between; it may not if the budget
    /// does not suffice to find out.
    fn leads(&mut self, from: u32, to: u32) -> bool {
        let (waits, cfg, budget) = (self.waits, self.flow.cfg(), &self.flow.facts.budget);
        let (Some(start), Some(end)) = (cfg.block_of(from), cfg.block_of(to)) else { return false };
        if start == end && from < to {
            return !are_within(waits, from..to);
        }
        let next = cfg.block(start).instructions.end;
        let after = || PassedWithout::new(cfg, Direction::Forward, next - 1, waits, budget);
        !are_within(waits, from..next)
            && self.after.entry(start).or_insert_with(after).as_ref().is_some_and(|it| it.has(cfg, to))
    }
}

/// The register that an address is counted from, or that selects the slot which holds it. The same root means the same
/// address only until that register is written again.
pub fn register_of(root: Root) -> Option<RegisterId> {
    match root {
        Root::Register(register) | Root::Slot(Slot { root: SlotRoot::Register(register), .. }) => {
            Some(register)
        }
        Root::Literal | Root::Variable(_) | Root::Slot(_) | Root::Parameter(_) => None,
    }
}

/// The registers that a load writes.
pub fn loaded_registers<'i>(ld: &'i Ld<'_>) -> impl Iterator<Item = RegisterId> + 'i {
    let results = ld.reduction.iter().filter_map(|reduction| reduction.result.as_ref());
    let metadata = ld.metadata.iter().flat_map(|vector| vector.elements.iter());
    ld.r.elements.iter().chain(metadata).chain(results).filter_map(|scalar| match scalar {
        Scalar::Register(register) => Some(register.id),
        _ => None,
    })
}
