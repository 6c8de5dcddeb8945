//! Tensor Memory that a thread may still access when it tells another one to go on.
//!
//! Whether that matters depends on who is told: most mbarriers give back shared memory, or another stage.
//! Where it is known which mbarrier or barrier it is, who waits there, and what follows, the columns say
//! whether they are handed over. What follows a further wait may have been told in time: it counts only where
//! that wait is known to be for somebody else.

use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::hash_map::Entry;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::budget::Budget;
use super::cfg::{BlockId, Direction};
use super::channels::Channel;
use super::events::{Action, Event};
use super::executing::{Executing, Warps};
use super::flow::{Flow, Pair, Role};
use super::footprint::{self, Cells, columns, operands_read};
use super::loads::Concern;
use super::mbarriers::{Mbarrier, Several, Used};
use super::pending::{Threads, Transfer, pending_loads, pending_stores, pending_stores_of_kinds};
use super::places::Root;
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::Operation;

/// A signal while a load or store may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The load or store, and the signal.
    pub pair: Pair,
    /// Which of them it is.
    pub transfer: Transfer,
    /// What another warp does to its columns behind a wait for this signal, if that is known: it writes what is
    /// loaded, or accesses what is stored.
    pub then: Option<Event>,
}

impl Handover {
    /// Whether it is known what another warp does to the columns of such a transfer.
    pub fn is_of(&self, transfer: Transfer) -> bool {
        self.transfer == transfer && self.then.is_some()
    }
}

impl<'a> Flow<'a> {
    /// The signals of this function that come too early.
    pub fn handovers(&self) -> &'a [Handover] {
        self.facts.handovers.get_or_init(|| {
            let suspected =
                [Transfer::Load, Transfer::Store].into_iter().filter(|it| self.may_hand_over(*it));
            let mut search = None;
            suspected.flat_map(|it| search.get_or_insert_with(|| Search::new(*self)).find(it)).collect()
        })
    }

    /// Whether a load or store may be under way at a signal, whatever is done with what was loaded, and on whatever
    /// path. Most are waited for, and then nobody has to be looked for who is told.
    fn may_hand_over(&self, transfer: Transfer) -> bool {
        let role = |event: Event| match (event.action, self.operation(event)) {
            _ if self.signals(event) => Role::Query,
            (Action::Unknown, _) => Role::Kill,
            (_, Some(operation)) => transfer.pending().role(operation),
            _ => Role::None,
        };
        self.may_have_pairs(role, |_, _| {})
    }

    /// Whether an event tells others to go on.
    fn signals(&self, event: Event) -> bool {
        match event.action {
            Action::MbarrierArrive | Action::BarrierArrive => true,
            Action::Barrier => self.synchronization(event) == Synchronization::BarrierSync,
            Action::Tensor { operation, .. } => operation == Operation::Commit,
            Action::MbarrierWait
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::Acquire
            | Action::BulkLoad
            | Action::Call(_)
            | Action::Unknown => false,
        }
    }

    /// The use of an mbarrier that an instruction is.
    pub(super) fn mbarrier_of(&self, instruction: u32) -> Option<&'a Used> {
        let used = self.mbarriers();
        let at = used.binary_search_by_key(&instruction, |it| it.instruction).ok()?;
        Some(&used[at])
    }
}

/// Looks for handovers in one function.
struct Search<'a> {
    flow: Flow<'a>,
    executing: Executing<'a>,
    /// By instruction: the warps that execute it, as far as it was asked for.
    warps: RefCell<FxHashMap<u32, Option<Warps>>>,
    barriers: OnceCell<Barriers>,
    waits: OnceCell<Several<Wait>>,
    signals: OnceCell<FxHashMap<Option<Warps>, Signalled>>,
    /// Whether some warps may signal an mbarrier, as far as it was asked for.
    told_by: RefCell<FxHashMap<(Mbarrier, Warps), bool>>,
    /// What follows waits. Very many signals may have the same behind them.
    behind: Vec<Behind>,
    /// What follows from the start of some blocks on, where others than these warps are. Very many waits may
    /// lead there.
    following: FxHashMap<(Vec<BlockId>, Who), Rc<Accesses>>,
    /// By those who are told, and the warps that tell them: an index into `behind`.
    told: FxHashMap<(Told, Warps), Option<u32>>,
    /// The same by signal.
    of_signal: FxHashMap<u32, Option<u32>>,
    /// What conflicts with an access, as far as it was asked for.
    conflicts: RefCell<FxHashMap<(Transfer, Accessing, u32), Option<Event>>>,
}

/// Those who learn of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Told {
    /// Who waits for an mbarrier, or another one of its ring.
    Waiting(Mbarrier),
    /// Who waits at a barrier, at this instruction.
    At(u32),
}

/// A wait for an mbarrier.
#[derive(Clone, Copy, Debug)]
struct Wait {
    instruction: u32,
    by: Warps,
}

/// The mbarriers that some warps signal.
#[derive(Debug)]
struct Signalled {
    /// Those that are known.
    known: Several<()>,
    /// Whether there are others.
    others: bool,
}

/// The barriers of a function.
#[derive(Debug, Default)]
struct Barriers {
    /// By instruction, as far as it is known which one it is.
    channels: FxHashMap<u32, Channel>,
    /// Whether that is known of all of them.
    are_known: bool,
    met: FxHashMap<Channel, Met>,
}

/// Who gets to one barrier.
#[derive(Debug, Default)]
struct Met {
    /// By the warps that get there: at how many instructions, and at the first of them.
    by: FxHashMap<Warps, (u32, Event)>,
    /// Whether it is known of all instructions which warps get there.
    are_known: bool,
    /// At how many instructions somebody waits, and the first of them.
    waits: Option<(u32, u32)>,
}

/// Cells of Tensor Memory, and the warps that access them.
type Accessing = (Cells, Warps);

/// What other warps do behind the waits for a signal.
#[derive(Debug)]
struct Behind {
    /// In the blocks of the waits.
    at_once: Accesses,
    /// In those that follow.
    later: Rc<Accesses>,
}

/// Accesses of Tensor Memory by what the columns are counted from, in the order of the first columns. Of those
/// that are alike, there is the first.
#[derive(Debug, Default)]
struct Accesses(FxHashMap<Root, Vec<Access>>);

/// The warps whose accesses count behind a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    /// No warp that signals.
    OthersThan(Warps),
    /// Some warp that does not, of those that get to a barrier.
    MoreThan(Warps),
}

impl Who {
    /// Those who signal.
    fn tell(self) -> Warps {
        match self {
            Self::OthersThan(by) | Self::MoreThan(by) => by,
        }
    }

    /// Whether the accesses of these count.
    fn are(self, warps: Warps) -> bool {
        match self {
            Self::OthersThan(by) => by.are_others_than(warps),
            Self::MoreThan(by) => by.are_more_than(warps),
        }
    }
}

/// An access of Tensor Memory.
#[derive(Debug)]
struct Access {
    alike: Alike,
    event: Event,
    /// The last column of this access and of all before it in the list.
    end: u32,
}

/// What tells accesses apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alike {
    cells: Cells,
    by: Warps,
    is_written: bool,
    /// Whether each warp accesses only the lanes of its rank among four.
    is_by_lanes: bool,
}

impl<'a> Search<'a> {
    fn new(flow: Flow<'a>) -> Self {
        Self {
            flow,
            executing: flow.executing(None),
            warps: RefCell::default(),
            barriers: OnceCell::new(),
            waits: OnceCell::new(),
            signals: OnceCell::new(),
            told_by: RefCell::default(),
            behind: Vec::new(),
            following: FxHashMap::default(),
            told: FxHashMap::default(),
            of_signal: FxHashMap::default(),
            conflicts: RefCell::default(),
        }
    }

    fn find(&mut self, transfer: Transfer) -> Vec<Handover> {
        let flow = self.flow;
        let read = LazyCell::new(|| flow.loads_that_are_read());
        let role =
            |event: Event, is_asked: &dyn Fn(Event) -> bool| match (event.action, flow.operation(event)) {
                _ if is_asked(event) => Role::Query,
                (_, Some(operation)) if transfer.pending().started_by(operation) => {
                    Role::Gen.only_if(transfer == Transfer::Store || read.contains(&event.instruction))
                }
                (Action::Unknown, _) => Role::Kill,
                (_, Some(operation)) => transfer.pending().role(operation),
                _ => Role::None,
            };
        let arrives = |event: Event| event.action == Action::MbarrierArrive;
        let arrivals = match transfer {
            Transfer::Load => {
                pending_loads(&flow, |event| role(event, &arrives), |_, _| {}, |_| Concern::IfLive)
            }
            Transfer::Store => pending_stores(&flow, Threads::Same, |event| role(event, &arrives)),
        };
        // Barriers and commits say nothing unless it is known what they are for.
        let mut asked: FxHashSet<u32> = FxHashSet::default();
        for event in flow.events() {
            let counts = match event.action {
                // As for a store, there is a rule for that.
                Action::Tensor { .. } => transfer == Transfer::Load,
                Action::MbarrierArrive => !arrivals.is_empty(),
                _ => true,
            };
            if counts && flow.signals(*event) && self.behind(*event).is_some() {
                asked.insert(event.instruction);
            }
        }
        let mut known: FxHashMap<u32, Handover> = FxHashMap::default();
        if !asked.is_empty() {
            let is_asked = |event: Event| asked.contains(&event.instruction);
            let role = |event: Event| role(event, &is_asked);
            let pairs = match transfer {
                Transfer::Load => flow.pending_loads(
                    role,
                    |_, _| {},
                    |pair| {
                        if self.then(transfer, pair).is_some() { Concern::IfLive } else { Concern::No }
                    },
                ),
                Transfer::Store => pending_stores_of_kinds(
                    &flow,
                    Threads::Same,
                    role,
                    |event| (self.accessing(event), self.behind_signal(event)),
                    |(first, _), (_, behind)| match (first, behind) {
                        (Some(first), Some(behind)) => self.conflict(transfer, first, *behind).is_some(),
                        (Some(_) | None, Some(_) | None) => false,
                    },
                ),
            };
            for pair in pairs {
                let then = self.then(transfer, pair);
                known.insert(pair.then.instruction, Handover { pair, transfer, then });
            }
        }
        for pair in arrivals {
            known.entry(pair.then.instruction).or_insert(Handover { pair, transfer, then: None });
        }
        let mut found: Vec<Handover> = known.into_values().collect();
        found.sort_unstable_by_key(|it| it.pair.then.instruction);
        found
    }

    /// The warps that execute an instruction of this function.
    fn warps(&self, instruction: u32) -> Option<Warps> {
        let find = || self.executing.of(instruction).map(|it| it.by_warps());
        *self.warps.borrow_mut().entry(instruction).or_insert_with(find)
    }

    /// The same, if there may be some.
    fn somebody(&self, instruction: u32) -> Option<Warps> {
        self.warps(instruction).filter(|it| it.are_some())
    }

    /// What another warp does to the columns of a load or store behind a wait for a signal.
    fn then(&self, transfer: Transfer, pair: Pair) -> Option<Event> {
        let behind = self.behind_signal(pair.then)?;
        self.conflict(transfer, &self.accessing(pair.first)?, behind)
    }

    /// The cells that an instruction certainly accesses.
    fn accessing(&self, event: Event) -> Option<Accessing> {
        let flow = &self.flow;
        let cells = columns(flow, event).filter(|_| flow.is_own(event))?.cells()?;
        Some((cells, self.somebody(event.instruction)?))
    }

    /// The first access that conflicts with one, of those behind the waits for a signal.
    fn conflict(&self, transfer: Transfer, accessing: &Accessing, behind: u32) -> Option<Event> {
        let key = (transfer, accessing.clone(), behind);
        if let Some(known) = self.conflicts.borrow().get(&key) {
            return *known;
        }
        let (cells, by) = accessing;
        let conflicts = |it: &Alike| {
            (it.is_written || transfer == Transfer::Store)
                && (by.are_others_than(it.by) || by.are_more_than(it.by))
                && (!it.is_by_lanes || by.share_lanes_with(it.by))
        };
        let Behind { at_once, later } = &self.behind[behind as usize];
        let first_in = |it: &Accesses| it.first_in(cells, conflicts, &self.flow.facts.budget);
        let found = first_in(at_once).into_iter().chain(first_in(later)).min_by_key(|it| it.instruction);
        self.conflicts.borrow_mut().insert(key, found);
        found
    }

    /// The number of what is behind a signal, if it was looked for and there is something.
    fn behind_signal(&self, signal: Event) -> Option<u32> {
        self.of_signal.get(&signal.instruction).copied().flatten()
    }

    /// The number of what other warps access behind the waits for a signal, if there is something.
    fn behind(&mut self, signal: Event) -> Option<u32> {
        if let Some(known) = self.of_signal.get(&signal.instruction) {
            return *known;
        }
        let found = self.told(signal).and_then(|told| {
            if let Some(known) = self.told.get(&told) {
                return *known;
            }
            let (those, by) = told;
            let behind = self.find_behind(those, by);
            let is_some = !behind.at_once.0.is_empty() || !behind.later.0.is_empty();
            let number = is_some.then_some(self.behind.len() as u32);
            self.behind.extend(is_some.then_some(behind));
            self.told.insert(told, number);
            number
        });
        self.of_signal.insert(signal.instruction, found);
        found
    }

    /// Who is told by a signal, and by which warps.
    fn told(&self, signal: Event) -> Option<(Told, Warps)> {
        let flow = &self.flow;
        if !flow.is_own(signal) || !flow.facts.budget.take(1) {
            return None;
        }
        let by = self.somebody(signal.instruction)?;
        let told = match signal.action {
            Action::Barrier | Action::BarrierArrive => {
                // How many threads there are decides who else is there.
                flow.block_size()?;
                Told::At(self.waits_at(signal, by)?)
            }
            _ => {
                // Who waits in another CTA has columns of its own.
                let used = flow.mbarrier_of(signal.instruction).filter(|it| !it.is_in_cluster)?;
                Told::Waiting(used.mbarrier?)
            }
        };
        Some((told, by))
    }

    /// What others do behind the waits of those who are told.
    fn find_behind(&mut self, told: Told, by: Warps) -> Behind {
        let budget = &self.flow.facts.budget;
        let (waits, who): (Vec<u32>, Who) = match told {
            Told::Waiting(signalled) => {
                let waits = self.waits().of_ring(&signalled, budget);
                let of_others = waits.filter(|wait| by.are_others_than(wait.by));
                (of_others.map(|wait| wait.instruction).collect(), Who::OthersThan(by))
            }
            Told::At(instruction) => (vec![instruction], Who::MoreThan(by)),
        };
        let cfg = self.flow.cfg();
        let mut next: Vec<BlockId> = Vec::new();
        let mut at_once = Found::default();
        for wait in waits {
            let Some(block) = cfg.block_of(wait) else { continue };
            if self.add_from(block, wait + 1, who, &mut at_once) {
                next.extend(&cfg.block(block).successors);
            }
        }
        next.sort_unstable();
        next.dedup();
        let key = (next, who);
        let later = if let Some(known) = self.following.get(&key) {
            Rc::clone(known)
        } else {
            let later = Rc::new(self.following(&key.0, who));
            self.following.insert(key, Rc::clone(&later));
            later
        };
        Behind { at_once: at_once.sorted(), later }
    }

    /// What others access from the start of some blocks on, up to where those who signal may have told
    /// something else.
    fn following(&self, blocks: &[BlockId], who: Who) -> Accesses {
        let (cfg, budget) = (self.flow.cfg(), &self.flow.facts.budget);
        let mut found = Found::default();
        cfg.reached(Direction::Forward, blocks.iter().copied(), budget, |block| {
            self.add_from(block, cfg.block(block).instructions.start, who, &mut found)
        });
        found.sorted()
    }

    /// Adds what others access from an instruction to the end of its block. Whether control goes on there
    /// without those who signal having told something else.
    fn add_from(&self, block: BlockId, first: u32, who: Who, found: &mut Found) -> bool {
        let flow = &self.flow;
        let budget = &flow.facts.budget;
        let content = flow.cfg().block(block);
        let from = flow.events().partition_point(|event| event.instruction < first);
        let here = flow.events()[from..].iter();
        for event in here.take_while(|event| event.instruction < content.instructions.end) {
            if !budget.take(1) || self.may_tell(*event, who.tell()) {
                return false;
            }
            if flow.instruction(*event).and_then(footprint::accessed).is_some()
                && let Some(by) = self.somebody(event.instruction).filter(|by| who.are(*by))
            {
                self.add_accesses(found, *event, by);
            }
        }
        budget.take(1 + content.successors.len() as u64)
    }

    /// Adds what an instruction accesses, unless there is the like of it.
    fn add_accesses(&self, found: &mut Found, event: Event, by: Warps) {
        /// What is kept takes memory: that is worth some steps.
        const KEPT: u64 = 8;
        let flow = &self.flow;
        let is_written =
            flow.instruction(event).and_then(footprint::accessed).is_some_and(|(_, writes)| writes);
        let is_by_lanes = !matches!(
            flow.operation(event),
            Some(Operation::Mma | Operation::MmaWs | Operation::Cp | Operation::Shift)
        );
        let own = columns(flow, event).map(|it| (it, is_written));
        let read = operands_read(flow, event).into_iter().flatten().map(|it| (it, false));
        for (columns, is_written) in own.into_iter().chain(read) {
            let Some(cells) = columns.cells() else { continue };
            let alike = Alike { cells, by, is_written, is_by_lanes };
            match found.alike.entry(alike) {
                Entry::Occupied(mut known) if event.instruction < known.get().instruction => {
                    known.insert(event);
                }
                Entry::Vacant(new) if flow.facts.budget.take(KEPT) => {
                    new.insert(event);
                }
                Entry::Occupied(_) | Entry::Vacant(_) => {}
            }
        }
    }

    /// The waits of this function for mbarriers that are known.
    fn waits(&self) -> &Several<Wait> {
        self.waits.get_or_init(|| {
            let flow = &self.flow;
            let waits = flow.events().iter().filter(|event| event.action == Action::MbarrierWait);
            flow.several(waits.filter_map(|event| {
                let mbarrier = flow.mbarrier_of(event.instruction)?.mbarrier?;
                let by = self.somebody(event.instruction).filter(|_| flow.facts.budget.take(1))?;
                Some((mbarrier, Wait { instruction: event.instruction, by }))
            }))
        })
    }

    fn barriers(&self) -> &Barriers {
        self.barriers.get_or_init(|| {
            let flow = &self.flow;
            let channels = flow.channels();
            let mut barriers = Barriers { are_known: true, ..Barriers::default() };
            for (event, channel) in channels {
                let Some(channel) = channel.filter(|_| flow.facts.budget.take(1)) else {
                    barriers.are_known = false;
                    continue;
                };
                barriers.channels.insert(event.instruction, channel);
                let new = || Met { are_known: true, ..Met::default() };
                let met = barriers.met.entry(channel).or_insert_with(new);
                match self.warps(event.instruction) {
                    Some(by) => met.by.entry(by).or_insert((0, event)).0 += 1,
                    None => met.are_known = false,
                }
                if event.action == Action::Barrier {
                    met.waits.get_or_insert((0, event.instruction)).0 += 1;
                }
            }
            barriers
        })
    }

    /// Where others wait at the barrier of a signal, if it is certain that they wait for this one and not for
    /// one before or after it: everybody waits where the signal is given, or only others wait, at one place.
    fn waits_at(&self, signal: Event, by: Warps) -> Option<u32> {
        let barriers = self.barriers();
        let channel = *barriers.channels.get(&signal.instruction).filter(|_| barriers.are_known)?;
        let met = barriers.met.get(&channel).filter(|it| it.are_known)?;
        let (mut of_others, mut together, mut other) = (0, 0, None);
        for (warps, (count, first)) in &met.by {
            if !self.flow.facts.budget.take(1) {
                return None;
            }
            if by.are_others_than(*warps) {
                (of_others, other) = (of_others + count, Some(*first));
            } else {
                together += count;
            }
        }
        let is_wait = |event: Event| event.action == Action::Barrier;
        match other {
            // Everybody waits where the signal is given, whatever else there is.
            None if is_wait(signal) => Some(signal.instruction),
            // Who arrives at the barrier of the cluster waits there, farther on.
            None if channel == Channel::Cluster => {
                met.waits.filter(|(count, _)| *count == 1).map(|(_, first)| first)
            }
            // The signal itself is one of those together.
            Some(other) if of_others == 1 && together == 1 && is_wait(other) => Some(other.instruction),
            Some(_) | None => None,
        }
    }

    /// Whether a thread may learn from some warps that they are farther.
    fn may_tell(&self, event: Event, by: Warps) -> bool {
        match event.action {
            Action::Barrier | Action::Acquire | Action::Call(_) | Action::Unknown => true,
            Action::MbarrierWait => {
                let waited = self.flow.mbarrier_of(event.instruction).and_then(|it| it.mbarrier);
                waited.is_none_or(|waited| {
                    let known = self.told_by.borrow().get(&(waited, by)).copied();
                    known.unwrap_or_else(|| {
                        let may_signal = self.may_signal(&waited, by);
                        self.told_by.borrow_mut().insert((waited, by), may_signal);
                        may_signal
                    })
                })
            }
            Action::Tensor { .. }
            | Action::MbarrierArrive
            | Action::BarrierArrive
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::BulkLoad => false,
        }
    }

    /// Whether some warps may signal an mbarrier.
    fn may_signal(&self, mbarrier: &Mbarrier, by: Warps) -> bool {
        let flow = &self.flow;
        let signals = self.signals.get_or_init(|| {
            let mut found: FxHashMap<Option<Warps>, (Vec<Mbarrier>, bool)> = FxHashMap::default();
            for used in flow.mbarriers().iter().filter(|it| it.how.signals()) {
                let of_warps = found.entry(self.warps(used.instruction)).or_default();
                match used.mbarrier {
                    Some(mbarrier) => of_warps.0.push(mbarrier),
                    None => of_warps.1 = true,
                }
            }
            let sorted = |(warps, (known, others)): (_, (Vec<Mbarrier>, bool))| {
                let known = flow.several(known.into_iter().map(|it| (it, ())));
                (warps, Signalled { known, others })
            };
            found.into_iter().map(sorted).collect()
        });
        signals.iter().any(|(warps, signalled)| {
            let is_apart = warps.is_some_and(|warps| by.are_others_than(warps));
            !flow.facts.budget.take(1)
                || !is_apart && (signalled.others || flow.may_be_one_of(mbarrier, &signalled.known))
        })
    }
}

/// Accesses that are looked for: by what tells them apart, the first instruction.
#[derive(Debug, Default)]
struct Found {
    alike: FxHashMap<Alike, Event>,
}

impl Found {
    fn sorted(self) -> Accesses {
        let mut by_root: FxHashMap<Root, Vec<Access>> = FxHashMap::default();
        for (alike, event) in self.alike {
            let (root, end) = (alike.cells.root, alike.cells.columns.end);
            by_root.entry(root).or_default().push(Access { alike, event, end });
        }
        for accesses in by_root.values_mut() {
            accesses.sort_by_key(|it| (it.alike.cells.columns.start, it.event.instruction));
            let mut end = 0;
            for access in accesses {
                end = end.max(access.end);
                access.end = end;
            }
        }
        Accesses(by_root)
    }
}

impl Accesses {
    /// The first instruction that accesses some cells, of those accesses for which something holds; none if
    /// the budget does not suffice to find it.
    fn first_in(&self, cells: &Cells, holds: impl Fn(&Alike) -> bool, budget: &Budget) -> Option<Event> {
        let accesses = self.0.get(&cells.root)?;
        let before_end = accesses.partition_point(|it| it.alike.cells.columns.start < cells.columns.end);
        let mut first: Option<Event> = None;
        for access in accesses[..before_end].iter().rev().take_while(|it| it.end > cells.columns.start) {
            if !budget.take(1) {
                return None;
            }
            let is_first = first.is_none_or(|first| access.event.instruction < first.instruction);
            if is_first && access.alike.cells.overlap(cells) && holds(&access.alike) {
                first = Some(access.event);
            }
        }
        first
    }
}
