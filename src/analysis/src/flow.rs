//! One function as the rules about ordering see it: its events, the questions they ask about them,
//! and the addresses that its tcgen05 instructions use.

use std::hash::Hash;
use std::ops::Deref;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::allocated::Slots;
use super::arguments::Through;
use super::calls::CallGraph;
use super::cfg::{BlockId, Cfg};
use super::constants::{Constants, Known};
use super::descriptors::Descriptors;
use super::events::{Action, Event, Events, Summary};
use super::executing::Executing;
use super::functions::FunctionFacts;
use super::paths::Paths;
use super::places::{Place, Places, Root};
use super::reach::{Direction, Fact, Found, Passed, Query, Reach};
use super::uniformity::Uniformity;
use super::values::ValueId;
use crate::instruction::decode::Decoded;
use crate::instruction::index::OperationSet;
use crate::instruction::{Address, Alloc, Base, Commit, Dealloc, Instruction, Ld, Scalar};
use crate::isa::vocabulary::{CtaGroup, Operation, Slot};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::resolve::unit::Unit;
use crate::source::Span;

/// What an event means to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    #[default]
    None,
    /// The question is asked here.
    Query,
    /// Facts from before are no answer from here on, whatever other paths there are.
    Discharge,
    /// Facts from before hold no longer.
    Kill,
    /// A fact holds from here on.
    Gen,
    /// The question is asked here, and then a fact holds.
    QueryAndGen,
    /// The question is asked here, and then facts from before hold no longer.
    QueryAndKill,
}

impl Role {
    /// `self` where `condition` holds.
    #[must_use]
    pub const fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Self::None }
    }
}

/// What decides whether an event happens: who executes one executes all others of the same condition, as
/// often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    block: Option<BlockId>,
    guard: Guarded,
}

/// What keeps a thread from executing an instruction that it gets to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guarded {
    /// Nothing.
    No,
    /// A predicate, negated or not.
    By(ValueId, bool),
    /// A predicate of which nothing is known, of the instruction with this number.
    Unknown(u32),
}

/// An answer: `first` can have happened before `then`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What happened.
    pub first: Event,
    /// Where that matters.
    pub then: Event,
    /// The instruction of the function where the first happens: itself, or a call.
    pub from: u32,
    /// The same of the second.
    pub to: u32,
}

/// The instructions of a function that facts and queries belong to, by their numbers.
#[derive(Debug, Default)]
struct Sites {
    facts: SmallVec<[u32; 16]>,
    queries: SmallVec<[u32; 16]>,
}

/// Adds places where single facts are killed, given the facts of the events that generate one.
type Kills<'k> = &'k mut dyn FnMut(&mut Reach, &[(Fact, Event)]);

/// Whether a pair matters, given the question whether it can happen.
type Relates<'r> = &'r mut dyn FnMut(Pair, &mut dyn FnMut() -> bool) -> bool;

/// The events that generate facts.
type Firsts = SmallVec<[(Fact, Event); 16]>;

/// The events that query.
type Thens = SmallVec<[Event; 16]>;

/// The functions of a component of the call graph, with all that is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a> {
    /// The module.
    pub unit: &'a Unit,
    /// All tcgen05 instructions of the functions.
    pub instructions: &'a [Decoded<'a>],
    /// Which functions can call which.
    pub calls: &'a CallGraph,
    /// What happens in the functions.
    pub all: &'a Events,
    /// The functions.
    pub functions: &'a [FunctionFacts],
    /// The descriptors of their multiplies and copies.
    pub descriptors: &'a [Descriptors],
}

impl<'a> Together<'a> {
    /// Each function, with what happens in it.
    pub fn flows(&'a self) -> impl Iterator<Item = Flow<'a>> {
        self.functions.iter().map(|facts| Flow::new(self, facts))
    }
}

/// One function with its events, and with what it is looked at [`Together`] with. It is copied about by all that is
/// asked of it, so that what it shares with others stands elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    together: &'a Together<'a>,
    /// The function.
    pub facts: &'a FunctionFacts,
    /// What is asked for by every rule stands here itself.
    own: Own<'a>,
}

impl<'a> Deref for Flow<'a> {
    type Target = Together<'a>;

    fn deref(&self) -> &Together<'a> {
        self.together
    }
}

/// What is known of the function itself.
#[derive(Clone, Copy, Debug)]
struct Own<'a> {
    /// Its index in the module.
    function: u32,
    is_entry: bool,
    is_helper: bool,
    events: &'a [Event],
    summary: Option<&'a Summary>,
}

impl<'a> Own<'a> {
    fn new(unit: &'a Unit, all: &'a Events, facts: &'a FunctionFacts) -> Self {
        let FunctionFacts { function, is_helper, .. } = *facts;
        Self {
            function,
            is_entry: unit.module.functions[function as usize].is_entry,
            is_helper,
            events: all.of(function),
            summary: all.summary(function),
        }
    }
}

impl<'a> Flow<'a> {
    /// A function of a component.
    pub fn new(together: &'a Together<'a>, facts: &'a FunctionFacts) -> Self {
        Self { together, facts, own: Own::new(together.unit, together.all, facts) }
    }

    /// Another function, or the same one with what a single call gives it.
    pub(super) fn with(self, facts: &'a FunctionFacts) -> Self {
        Self::new(self.together, facts)
    }

    /// Its index in the module.
    pub fn function(&self) -> u32 {
        self.own.function
    }

    /// Whether it is here for its results alone.
    pub fn is_helper(&self) -> bool {
        self.own.is_helper
    }

    /// Its control flow.
    pub fn cfg(&self) -> &'a Cfg {
        &self.facts.cfg
    }

    /// Whether it is a kernel.
    pub fn is_entry(&self) -> bool {
        self.own.is_entry
    }

    /// How many threads a block has in each direction, if the kernel says so.
    pub fn block_size(&self) -> Option<[u64; 3]> {
        self.facts.view(self.unit).block_size()
    }

    /// Its events, in the order of its instructions.
    pub fn events(&self) -> &'a [Event] {
        self.own.events
    }

    /// What happens at an instruction of it.
    pub fn event_at(&self, instruction: u32) -> Option<Event> {
        let at = self.events().partition_point(|event| event.instruction < instruction);
        self.events().get(at).copied().filter(|event| event.instruction == instruction)
    }

    /// What may happen while it runs.
    pub fn summary(&self) -> Option<&'a Summary> {
        self.own.summary
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

    /// The CTAs for which an event of tcgen05 is, if it says so.
    pub fn cta_group(&self, event: Event) -> Option<CtaGroup> {
        match event.action {
            Action::Tensor { group, .. } => group,
            _ => None,
        }
    }

    /// The typed instruction of an event, if it is one of these operations. Of others, nothing is looked at but the
    /// event.
    fn instruction_of(&self, event: Event, operations: OperationSet) -> Option<&'a Instruction<'a>> {
        self.operation(event).filter(|it| operations.contains(*it))?;
        self.instruction(event)
    }

    /// The allocation that an event is.
    pub fn alloc(&self, event: Event) -> Option<&'a Alloc<'a>> {
        match self.instruction_of(event, OperationSet::of(&[Operation::Alloc]))? {
            Instruction::Alloc(alloc) => Some(alloc),
            _ => None,
        }
    }

    /// The deallocation that an event is.
    pub fn dealloc(&self, event: Event) -> Option<&'a Dealloc<'a>> {
        match self.instruction_of(event, OperationSet::of(&[Operation::Dealloc]))? {
            Instruction::Dealloc(dealloc) => Some(dealloc),
            _ => None,
        }
    }

    /// The commit that an event is.
    pub fn commit(&self, event: Event) -> Option<&'a Commit<'a>> {
        match self.instruction_of(event, OperationSet::of(&[Operation::Commit]))? {
            Instruction::Commit(commit) => Some(commit),
            _ => None,
        }
    }

    /// The load from Tensor Memory that an event is.
    pub fn load(&self, event: Event) -> Option<&'a Ld<'a>> {
        match self.instruction_of(event, OperationSet::LOADS)? {
            Instruction::Ld(ld) => Some(ld),
            _ => None,
        }
    }

    /// Whether all threads of a warp have to execute an event together.
    pub fn is_aligned(&self, event: Event) -> bool {
        self.operation(event).is_some_and(|it| OperationSet::ALIGNED.contains(it))
            && self.decoded(event).is_some_and(|it| it.qualifiers.in_slot(Slot::Aligned).is_some())
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

    /// What decides whether an event happens.
    pub fn condition(&self, event: Event) -> Condition {
        self.condition_at(event.instruction)
    }

    /// What decides whether an instruction of this function is executed.
    pub(super) fn condition_at(&self, at: u32) -> Condition {
        let guard = match self.unit.module.guard(&self.unit.module.instructions[at as usize]) {
            None => Guarded::No,
            Some(guard) => match self.unit.symbols.guard(at) {
                Resolution::Register(register) => self
                    .facts
                    .view(self.unit)
                    .value(at, register)
                    .map_or(Guarded::Unknown(at), |value| Guarded::By(value, guard.negated)),
                Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => {
                    Guarded::Unknown(at)
                }
            },
        };
        Condition { block: self.cfg().block_of(at), guard }
    }

    /// Pairs of events of which the second can follow the first, with no event between that kills;
    /// at most one first for each second. `relates` says which of them matter.
    ///
    /// A call counts as what may happen in it, in any order: if something in it can kill, it kills.
    pub fn pairs(&self, role: impl Fn(Event) -> Role, relates: impl FnMut(Pair) -> bool) -> Vec<Pair> {
        self.pairs_killing(role, |_, _| {}, relates)
    }

    /// The same, with more places where single facts are killed: `kills` is given the problem and the
    /// facts of the events that generate one.
    pub fn pairs_killing(
        &self,
        role: impl Fn(Event) -> Role,
        mut kills: impl FnMut(&mut Reach, &[(Fact, Event)]),
        mut relates: impl FnMut(Pair) -> bool,
    ) -> Vec<Pair> {
        self.find_pairs(&role, &mut kills, &mut |pair, can_happen| relates(pair) && can_happen())
    }

    /// The same, where `relates` itself asks whether a run has a path from the first to the second.
    pub fn pairs_judged(
        &self,
        role: impl Fn(Event) -> Role,
        mut kills: impl FnMut(&mut Reach, &[(Fact, Event)]),
        mut relates: impl FnMut(Pair, &mut dyn FnMut() -> bool) -> bool,
    ) -> Vec<Pair> {
        self.find_pairs(&role, &mut kills, &mut relates)
    }

    /// Some forty questions are asked of every function: what answers them is one piece of code, not a copy of it
    /// for each.
    fn find_pairs(&self, role: &dyn Fn(Event) -> Role, kills: Kills<'_>, relates: Relates<'_>) -> Vec<Pair> {
        let mut reach = Reach::default();
        let (mut firsts, mut thens) = (Firsts::new(), Thens::new());
        let at = self.lay_out(role, &mut reach, &mut firsts, &mut thens);
        if firsts.is_empty() || thens.is_empty() || !self.may_reach(&reach, &at) {
            return Vec::new();
        }
        kills(&mut reach, &firsts);
        let mut pairs = Vec::new();
        self.solve(reach, &mut |_, _| u64::MAX, &mut |query, fact, can_happen| {
            let pair = Pair {
                first: firsts[fact.0 as usize].1,
                then: thens[query.0 as usize],
                from: at.facts[fact.0 as usize],
                to: at.queries[query.0 as usize],
            };
            let found = relates(pair, can_happen);
            if found {
                pairs.push(pair);
            }
            found
        });
        in_order(pairs)
    }

    /// Whether there is any pair of such events, whether or not a run has a path from the first to the second.
    pub fn may_have_pairs(
        &self,
        role: impl Fn(Event) -> Role,
        kills: impl FnMut(&mut Reach, &[(Fact, Event)]),
    ) -> bool {
        !self.pairs_judged(role, kills, |_, _| true).is_empty()
    }

    /// What [`Flow::pairs`] finds, at most one second for each first as well: what follows the first offence has the
    /// same cause.
    pub fn first_pairs(&self, role: impl Fn(Event) -> Role, relates: impl FnMut(Pair) -> bool) -> Vec<Pair> {
        first_of_each_cause(self.pairs(role, relates))
    }

    /// The same where it depends only on the kinds of both events whether they matter, and there are
    /// few: what is of a kind that does not matter to a query is passed over, however many they are.
    pub fn pairs_of_kinds<K: Eq + Hash>(
        &self,
        role: impl Fn(Event) -> Role,
        kind: impl Fn(Event) -> K,
        relates: impl Fn(&K, &K) -> bool,
    ) -> Vec<Pair> {
        self.pairs_of_kinds_killing(role, |_, _| {}, kind, relates)
    }

    /// The same, with more places where single facts are killed, as [`Flow::pairs_killing`] has them.
    pub fn pairs_of_kinds_killing<K: Eq + Hash>(
        &self,
        role: impl Fn(Event) -> Role,
        kills: impl FnOnce(&mut Reach, &[(Fact, Event)]),
        kind: impl Fn(Event) -> K,
        relates: impl Fn(&K, &K) -> bool,
    ) -> Vec<Pair> {
        let mut reach = Reach::default();
        let (mut firsts, mut thens) = (Firsts::new(), Thens::new());
        let at = self.lay_out(&role, &mut reach, &mut firsts, &mut thens);
        if firsts.is_empty() || thens.is_empty() {
            return Vec::new();
        }
        kills(&mut reach, &firsts);
        let mut numbers: FxHashMap<K, u32> = FxHashMap::default();
        let mut known: FxHashMap<(u32, Option<Through>), u32> = FxHashMap::default();
        let mut number = |event: Event| -> u32 {
            let mut judge = || {
                let next = numbers.len() as u32;
                *numbers.entry(kind(event)).or_insert(next)
            };
            // What happens in a callee is met again at each of its calls.
            if self.is_own(event) {
                judge()
            } else {
                *known.entry((event.instruction, event.through)).or_insert_with(judge)
            }
        };
        let first_kinds: Vec<u32> = firsts.iter().map(|(_, event)| number(*event)).collect();
        let then_kinds: Vec<u32> = thens.iter().map(|event| number(*event)).collect();
        let mut kinds: Vec<&K> = numbers.keys().collect();
        kinds.sort_unstable_by_key(|kind| numbers[*kind]);
        let mut judged: FxHashMap<(u32, u32), bool> = FxHashMap::default();
        let mut matters = |first: u32, then: u32| {
            let judge = || relates(kinds[first as usize], kinds[then as usize]);
            *judged.entry((first, then)).or_insert_with(judge)
        };
        let mut few = first_kinds.clone();
        few.sort_unstable();
        few.dedup();
        let mut open: Vec<Option<bool>> = vec![None; kinds.len()];
        for (query, then) in then_kinds.iter().enumerate() {
            let open = open[*then as usize].get_or_insert_with(|| {
                few.iter().any(|first| self.facts.budget.take(1) && matters(*first, *then))
            });
            if !*open {
                reach.close(Query(query as u32));
            }
        }
        // By the kind of a query: the 64 facts that were asked for last, and which of them matter.
        let mut masks: Vec<Option<(Fact, u64)>> = vec![None; kinds.len()];
        let budget = &self.facts.budget;
        let mut related = |query: Query, from: Fact| -> u64 {
            let then = then_kinds[query.0 as usize];
            if let Some((_, mask)) = masks[then as usize].filter(|(known, _)| *known == from) {
                return mask;
            }
            let facts = first_kinds[from.0 as usize..].iter().take(64);
            budget.take(facts.len() as u64);
            let mask = facts
                .enumerate()
                .fold(0, |mask, (lane, first)| mask | u64::from(matters(*first, then)) << lane);
            masks[then as usize] = Some((from, mask));
            mask
        };
        let mut pairs = Vec::new();
        self.solve(reach, &mut related, &mut |query, fact, can_happen| {
            let found = can_happen();
            if found {
                pairs.push(Pair {
                    first: firsts[fact.0 as usize].1,
                    then: thens[query.0 as usize],
                    from: at.facts[fact.0 as usize],
                    to: at.queries[query.0 as usize],
                });
            }
            found
        });
        in_order(pairs)
    }

    /// Answers queries; what is found can be asked whether a run has a path for it.
    pub fn solve(&self, reach: Reach, related: &mut dyn FnMut(Query, Fact) -> u64, found: &mut Found<'_>) {
        reach.solve_feasible(self.facts.view(self.unit), || self.paths(), related, found);
    }

    /// Which paths a run can take.
    pub fn paths(&self) -> &'a Paths {
        self.facts.paths.get_or_init(|| {
            let is_guarded = |index: &u32| {
                self.unit.module.guard(&self.unit.module.instructions[*index as usize]).is_some()
            };
            let guarded = self.events().iter().map(|event| event.instruction).filter(is_guarded);
            let executing = self.executing(None);
            Box::new(Paths::new(&self.facts.view(self.unit), guarded, |guarded| executing.by_guard(guarded)))
        })
    }

    /// The events that query and that no fact reaches, from before them or, if `direction` is
    /// backward, from behind.
    pub fn unreached(&self, direction: Direction, role: impl Fn(Event) -> Role) -> Vec<Event> {
        let mut reach = Reach::default();
        let (mut firsts, mut thens) = (Firsts::new(), Thens::new());
        let at = self.lay_out(&role, &mut reach, &mut firsts, &mut thens);
        if thens.is_empty() {
            return Vec::new();
        }
        let mut reached = vec![false; thens.len()];
        if reach.only_generates() {
            // Then it is a question about the graph alone.
            let generated = self.passed(direction, &at);
            for (reached, query) in reached.iter_mut().zip(&at.queries) {
                *reached = generated.has(self.cfg(), *query);
            }
        } else {
            reach.solve(self.cfg(), direction, &self.facts.budget, &mut |query, _| {
                reached[query.0 as usize] = true;
                true
            });
        }
        if self.facts.budget.is_spent() {
            return Vec::new();
        }
        thens.into_iter().zip(reached).filter(|(_, reached)| !reached).map(|(event, _)| event).collect()
    }

    /// What can follow the facts of a problem.
    fn passed(&self, direction: Direction, at: &Sites) -> Passed {
        self.facts.budget.take(self.cfg().len() as u64 + at.facts.len() as u64 + at.queries.len() as u64);
        Passed::new(self.cfg(), direction, at.facts.iter().copied())
    }

    /// The instructions of a function, whether it is looked at together with this one or has nothing to do with
    /// tcgen05.
    pub fn instructions_of(&self, function: u32) -> Range<u32> {
        let module = &self.unit.module;
        let range = Cfg::instruction_range(module, module.functions[function as usize].body);
        self.facts.budget.take(range.len() as u64);
        range
    }

    /// What paths pass that go from some instructions forward, or backward; nothing if the budget does not
    /// suffice.
    pub(super) fn passed_from(&self, direction: Direction, instructions: &[u32]) -> Option<Passed> {
        let steps = self.cfg().len() as u64 + instructions.len() as u64;
        let enough = self.facts.budget.take(steps);
        enough.then(|| Passed::new(self.cfg(), direction, instructions.iter().copied()))
    }

    /// Whether the graph has a path from one instruction to another; it has one if the budget does not suffice.
    pub fn leads_to(&self, from: u32, to: u32) -> bool {
        self.passed_from(Direction::Forward, &[from]).is_none_or(|passed| passed.has(self.cfg(), to))
    }

    /// Whether a fact can get to a query, as far as the graph alone tells, where nothing kills it.
    fn may_reach(&self, reach: &Reach, at: &Sites) -> bool {
        if !reach.only_generates() {
            return true;
        }
        let passed = self.passed(Direction::Forward, at);
        at.queries.iter().any(|query| passed.has(self.cfg(), *query))
    }

    fn lay_out(
        &self,
        role: &dyn Fn(Event) -> Role,
        reach: &mut Reach,
        firsts: &mut Firsts,
        thens: &mut Thens,
    ) -> Sites {
        let mut sites = Sites::default();
        let mut enact = |reach: &mut Reach, at: u32, event: Event, role: Role| {
            if matches!(role, Role::Query | Role::QueryAndGen | Role::QueryAndKill) {
                reach.query(at);
                sites.queries.push(at);
                thens.push(event);
            }
            if matches!(role, Role::Gen | Role::QueryAndGen) {
                let fact = reach.fact();
                reach.generate(at, fact);
                sites.facts.push(at);
                firsts.push((fact, event));
            }
        };
        // What no path leads to does not happen.
        let all_happen = self.cfg().is_reached_whole();
        let happens = |event: &&Event| {
            all_happen
                || self.cfg().block_of(event.instruction).is_some_and(|block| self.cfg().is_reachable(block))
        };
        for &event in self.events().iter().filter(happens) {
            let at = event.instruction;
            let Action::Call(callee) = event.action else {
                let role = role(event);
                match role {
                    // So nearly always.
                    Role::None => continue,
                    Role::Discharge => reach.discharge(at),
                    Role::Kill | Role::QueryAndKill => reach.kill_all(at),
                    Role::Query | Role::Gen | Role::QueryAndGen => {}
                }
                enact(reach, at, event, role);
                continue;
            };
            let Some(summary) = self.all.summary(callee) else { continue };
            let unknown = summary.unknown.then_some(Event { action: Action::Unknown, ..event });
            if !self.facts.budget.take(summary.events.len() as u64) {
                reach.kill_all(at);
                continue;
            }
            let roles = || summary.events.iter().copied().chain(unknown).map(|inner| (inner, role(inner)));
            let any = |wanted: Role| roles().any(|(_, role)| role == wanted);
            if any(Role::Kill) || any(Role::QueryAndKill) {
                reach.kill_all(at);
                continue;
            }
            if any(Role::Discharge) {
                reach.discharge(at);
                continue;
            }
            // Where it matters what is accessed, it matters what the call gives.
            for inner in self.within(event, callee).iter().copied().chain(unknown) {
                enact(reach, at, inner, role(inner));
            }
        }
        sites
    }

    /// Who executes its tcgen05 instructions and its calls.
    pub fn uniformity(&self) -> &'a Uniformity {
        self.facts.uniformity.get_or_init(|| {
            let asked = || {
                let of_interest =
                    |event: &&Event| matches!(event.action, Action::Tensor { .. } | Action::Call(_));
                self.events().iter().filter(of_interest).map(|event| event.instruction)
            };
            let is_guarded = |index: &u32| {
                self.unit.module.guard(&self.unit.module.instructions[*index as usize]).is_some()
            };
            let mut blocks: Vec<BlockId> = asked().filter_map(|index| self.cfg().block_of(index)).collect();
            blocks.dedup();
            let guarded: Vec<u32> = asked().filter(is_guarded).collect();
            Box::new(Uniformity::new(&self.facts.view(self.unit), &blocks, &guarded, &self.facts.budget))
        })
    }

    /// The known bits of what instructions of this function read from registers, in their order.
    pub fn known(&self, uses: &[(u32, RegisterId)]) -> Vec<Known> {
        if uses.is_empty() {
            return Vec::new();
        }
        Constants::of_uses(&self.facts.view(self.unit), uses)
    }

    /// Which threads of a block execute what; those of the CTA with rank 0 or 1 in its cluster, if
    /// one is given.
    pub fn executing(&self, rank: Option<u32>) -> Executing<'a> {
        let found = self.facts.executing.get_or_init(Box::default);
        Executing::new(self.facts.view(self.unit), self.uniformity(), rank, found).calling(*self)
    }

    /// Whether two events of this function stand under different conditions, so that perhaps no run
    /// has both.
    pub fn mutually_exclusive(&self, first: Event, then: Event) -> bool {
        let function = self.facts.view(self.unit);
        self.uniformity().mutually_exclusive(
            &function,
            first.instruction,
            then.instruction,
            &self.facts.budget,
        )
    }

    /// Whether `first` is executed whenever `then` is, as far as conditions go.
    pub fn accompanies(&self, first: Event, then: Event) -> bool {
        let function = self.facts.view(self.unit);
        self.uniformity().accompanies(&function, first.instruction, then.instruction, &self.facts.budget)
    }

    /// The descriptors of the tcgen05 instruction with this index, if it has some.
    pub fn descriptors_of(&self, instruction: u32) -> Option<&'a Descriptors> {
        let at = self.descriptors.binary_search_by_key(&(instruction as usize), |it| it.instruction).ok()?;
        self.descriptors.get(at)
    }

    /// Where the function keeps addresses of allocations.
    pub fn slots(&self) -> &'a Slots {
        self.facts.slots.get_or_init(|| Box::new(Slots::new(self)))
    }

    /// The addresses of the function.
    pub fn places(&self) -> Places<'a> {
        let facts = self.facts;
        Places {
            function: facts.view(self.unit),
            constants: &facts.constants,
            ranges: &facts.ranges,
            known: &facts.places,
            calling: facts.passing.as_ref().filter(|it| it.calls_others()).map(|_| *self),
        }
    }

    /// What an address in an instruction is made of: one of this function, or one that it is known
    /// through which calls it is reached.
    pub fn place(&self, event: Event, address: &Address<'_>) -> Option<Place> {
        let Base::Register(register) = address.base else { return None };
        self.register_place(event, register.id, address.offset)
    }

    /// The least column that an address can be in: by the bits that are known, or by what is counted.
    pub fn least_column(&self, instruction: u32, address: &Address<'_>, known: Known) -> u64 {
        /// Bits of a column.
        const COLUMN: u64 = 0xFFFF;
        let by_bits = known.value & known.mask & COLUMN;
        let Base::Register(register) = address.base else { return by_bits };
        match self.places().of(instruction, register.id).root {
            // Where an allocation lies is not known.
            Root::Slot(_) | Root::Variable(_) => return by_bits,
            Root::Literal | Root::Register(_) | Root::Parameter(_) => {}
        }
        let first = self.facts.ranges.least(&self.facts.view(self.unit), instruction, register.id);
        // What counts backwards, or past all columns, is in no column that is known.
        let by_count = first.and_then(|first| u64::try_from(first + address.offset).ok());
        by_bits.max(by_count.filter(|column| *column <= COLUMN).unwrap_or_default())
    }

    /// What a value in such an instruction is made of.
    pub fn scalar_place(&self, event: Event, scalar: &Scalar<'_>) -> Option<Place> {
        match scalar {
            Scalar::Register(register) if !register.component => {
                self.register_place(event, register.id, register.plus.unwrap_or_default())
            }
            _ => None,
        }
    }

    /// What a register holds where an instruction reads it, plus a constant.
    fn register_place(&self, event: Event, register: RegisterId, plus: i64) -> Option<Place> {
        let plus = Known::from(plus as u64);
        match event.through {
            None if self.is_own(event) => Some(self.places().of(event.instruction, register).plus(plus)),
            None => None,
            Some(through) => {
                let inner = self.other(self.all.chains.callee(through))?;
                self.as_calling(through, inner.places().of(event.instruction, register).plus(plus))
            }
        }
    }
}

/// Pairs in the order of their second events, and of their first ones.
fn in_order(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_by_key(|pair| (pair.then.instruction, pair.first.instruction));
    pairs
}

/// Of pairs in the order of their second events, one for each first event.
pub fn first_of_each_cause(mut pairs: Vec<Pair>) -> Vec<Pair> {
    let mut seen = FxHashSet::default();
    pairs.retain(|pair| seen.insert(pair.first.instruction));
    pairs
}
