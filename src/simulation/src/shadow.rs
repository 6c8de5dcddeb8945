//! Who accessed what last.
//!
//! A cell knows the last write, the reads since then, and what that write does not stand for: flags may be
//! written by several who know nothing of each other. Sets of reads are numbered. Bytes that every access so far
//! touched together share one cell: see [`atoms`].

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

mod atoms;

pub(crate) use self::atoms::{GRANULE, Region, Shadow};

use super::clock::{Agent, Clock};
use super::program::Scope;
use crate::isa::asynchrony::{self, Condition, pipelined};

/// Nothing.
const NONE: u32 = u32::MAX;
/// Accesses to a cell besides the last write that are remembered.
const MOST_OTHERS: usize = 64;

/// How something was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// By a thread.
    Generic,
    /// By a copy or the tensor core.
    Async,
    /// By `tcgen05.ld` or `tcgen05.st`.
    Tensor,
}

/// An access of one agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) agent: Agent,
    pub(crate) tick: u32,
    /// Its instruction.
    pub(crate) step: u32,
    /// The warp that issued it, and its lanes.
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    /// Iterations of the loop that it was in before.
    pub(crate) iteration: u32,
    pub(crate) via: Via,
    pub(crate) writes: bool,
    /// Who takes part, if it is not weak.
    pub(crate) strong: Option<Scope>,
    /// The cluster, and the CTA in it, that made it.
    pub(crate) cluster: u32,
    pub(crate) cta: u32,
    /// Whether the bytes that are written are what stood there.
    pub(crate) keeps: bool,
    /// Whether it was made earlier under another name, and compared with all before.
    pub(crate) is_late: bool,
    /// What it does to Tensor Memory.
    pub(crate) does: Option<Pipelined>,
}

/// An access of Tensor Memory that may follow another one of its warp without a wait between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipelined {
    pub(crate) access: asynchrony::Access,
    /// The address of the accumulator, and its shape.
    pub(crate) accumulator: u64,
    /// Of the operations of the thread before it: those that it follows, the last one being the lowest
    /// bit.
    pub(crate) follows: u64,
}

/// The scope that has two threads, each named by its cluster and the CTA in it.
pub(crate) fn scope_of_both(one: (u32, u32), other: (u32, u32)) -> Scope {
    match (one.0 == other.0, one.1 == other.1) {
        (true, true) => Scope::Cta,
        (true, false) => Scope::Cluster,
        (false, _) => Scope::Wide,
    }
}

impl Access {
    /// Whether it does not matter which of both comes first.
    fn agrees_with(&self, other: &Self) -> bool {
        if !self.writes && !other.writes {
            return true;
        }
        // Both are morally strong: neither happens while the other does.
        let is_strong = match (self.strong, other.strong) {
            (Some(one), Some(two)) => {
                let needed = scope_of_both((self.cluster, self.cta), (other.cluster, other.cta));
                one >= needed && two >= needed
            }
            (Some(_) | None, None) | (None, Some(_)) => false,
        };
        // Whoever writes what is there changes nothing for those who read it, or write it, too.
        is_strong || self.keeps || other.keeps && !self.writes
    }

    /// Whether it happens before another one, of which `clock` says what it knows.
    fn is_before(&self, own: &mut Self, clock: &Clock) -> bool {
        if self.cluster != own.cluster {
            return clock.of_other(self.cluster, self.agent) >= self.tick;
        }
        if clock.of(self.agent) >= self.tick {
            return true;
        }
        let is_own = self.agent == own.agent;
        if is_own && self.tick == own.tick {
            return true;
        }
        let (Some(first), Some(then)) = (&self.does, &mut own.does) else { return false };
        let distance = own.tick.wrapping_sub(self.tick);
        // What was given to the tensor core long ago is taken to be over.
        if is_own && distance > u64::BITS {
            return true;
        }
        if is_own && then.follows >> (distance - 1) & 1 != 0 && first.is_over_before(then) {
            return true;
        }
        let follows = self.warp == own.warp
            && match pipelined(first.access, then.access) {
                // The pieces of a matrix are copied one by one to where they belong.
                Some(Condition::Nothing | Condition::Address) => true,
                Some(Condition::Accumulator) => first.accumulator == then.accumulator,
                None => false,
            };
        if follows && is_own {
            then.follows |= 1 << (distance - 1) | first.follows.checked_shl(distance).unwrap_or(0);
        }
        follows
    }

    /// Whether all that goes wrong with another one goes wrong with this one, which comes later. What leaves the bytes
    /// as they are does not stand for what made them so. What is data does not stand for a flag: with flags in global
    /// memory, only flags of other scopes conflict.
    fn covers(&self, other: &Self) -> bool {
        (self.writes || !other.writes)
            && (!self.keeps || !other.writes || other.keeps)
            && self.strong == other.strong
            && (self.strong.is_none() || (self.cluster, self.cta) == (other.cluster, other.cta))
    }
}

impl Pipelined {
    /// Whether it is over when an operation begins that follows its own. What a multiply reads is, and what
    /// it writes for another multiply.
    fn is_over_before(&self, then: &Self) -> bool {
        use asynchrony::Access::{
            Copy, Copy4x256b, Load, MultiplyReadsC, MultiplyReadsOperand, MultiplyWritesD, Shift, Store,
        };
        let is_accumulator = matches!(then.access, MultiplyReadsC | MultiplyWritesD);
        match self.access {
            MultiplyReadsOperand | MultiplyReadsC => true,
            MultiplyWritesD => is_accumulator,
            Copy | Copy4x256b | Shift => !is_accumulator,
            Store | Load => false,
        }
    }
}

/// What is wrong with two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Nothing orders them.
    Race(u32),
    /// They are ordered, but not across proxies.
    Proxy(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    write: u32,
    reads: u32,
}

const FRESH: Cell = Cell { write: NONE, reads: NONE };

/// All accesses, and sets of them.
#[derive(Debug, Default)]
pub(crate) struct History {
    accesses: Vec<Access>,
    /// Sets of reads.
    sets: Vec<Vec<u32>>,
    numbers: FxHashMap<Vec<u32>, u32>,
}

/// An access that is being made.
pub(crate) struct Visit<'a> {
    pub(crate) history: &'a mut History,
    pub(crate) clock: &'a Clock,
    /// The number of the access.
    pub(crate) number: u32,
    /// What became of the last cell.
    last: Option<(Cell, Cell)>,
    /// The memory that is visited, for the report of conflicts.
    pub(crate) memory: u32,
    /// Whether that is a part of global memory.
    pub(crate) is_global: bool,
    /// Each with the memory and the offset where it was met first.
    pub(crate) conflicts: Vec<(Conflict, (u32, u32))>,
}

impl History {
    /// Keeps an access.
    pub(crate) fn add(&mut self, access: Access) -> u32 {
        self.accesses.push(access);
        self.accesses.len() as u32 - 1
    }

    pub(crate) fn access(&self, number: u32) -> &Access {
        &self.accesses[number as usize]
    }

    fn set(&mut self, set: &[u32]) -> u32 {
        if let Some(known) = self.numbers.get(set) {
            return *known;
        }
        self.sets.push(set.to_vec());
        let number = self.sets.len() as u32 - 1;
        self.numbers.insert(set.to_vec(), number);
        number
    }
}

impl<'a> Visit<'a> {
    pub(crate) fn new(history: &'a mut History, clock: &'a Clock, access: Access) -> Self {
        let number = history.add(access);
        Self { history, clock, number, last: None, memory: 0, is_global: false, conflicts: Vec::new() }
    }

    /// What becomes of a cell; `place` says where it is, if something is wrong there.
    fn visit(&mut self, cell: Cell, place: impl FnOnce() -> u32) -> Cell {
        if let Some((before, after)) = self.last
            && before == cell
        {
            return after;
        }
        let known = self.conflicts.len();
        let after = self.judge(cell);
        if known < self.conflicts.len() {
            let place = place();
            self.conflicts[known..].iter_mut().for_each(|(_, at)| at.1 = place);
        }
        self.last = Some((cell, after));
        after
    }

    fn judge(&mut self, cell: Cell) -> Cell {
        let History { accesses, sets, .. } = &mut *self.history;
        let (clock, at, conflicts) = (self.clock, (self.memory, 0), &mut self.conflicts);
        let mut found = |conflict: Conflict| {
            if !conflicts.iter().any(|(known, _)| *known == conflict) {
                conflicts.push((conflict, at));
            }
        };
        let mut own = accesses[self.number as usize];
        let mut kept: SmallVec<[u32; 16]> = SmallVec::new();
        if own.is_late {
            if cell.reads != NONE {
                kept.extend_from_slice(&sets[cell.reads as usize]);
            }
            kept.push(self.number);
            return Cell { write: cell.write, reads: self.history.set(&kept) };
        }
        if cell.reads != NONE {
            for number in &sets[cell.reads as usize] {
                let other = &accesses[*number as usize];
                let is_before = other.is_before(&mut own, clock);
                let agrees = is_before || own.agrees_with(other);
                if !agrees {
                    found(Conflict::Race(*number));
                }
                // Who reads behind one of two that write the same reads that, whenever the other one writes.
                if own.keeps && !is_before && other.writes && other.strong.is_none() {
                    continue;
                }
                // Whoever gets into trouble with a race is told once.
                if !own.covers(other) || !is_before && agrees {
                    kept.push(*number);
                }
            }
        }
        let mut write = cell.write;
        if write != NONE {
            let last = &accesses[write as usize];
            let is_before = last.is_before(&mut own, clock);
            if !is_before {
                if !own.agrees_with(last) {
                    found(Conflict::Race(write));
                }
            } else if last.cluster == own.cluster
                && last.via == Via::Generic
                && own.via == Via::Async
                && !own.writes
                && clock.proxy_of(last.agent, self.is_global) < last.tick
            {
                found(Conflict::Proxy(write));
            }
            let is_covered = own.covers(last);
            let is_weakly_hidden = own.keeps && is_before && !is_covered;
            let is_flag = own.strong.is_some() || last.strong.is_some();
            if own.writes && is_flag && (!is_before || !is_covered) || is_weakly_hidden {
                kept.push(write);
            }
        }
        accesses[self.number as usize].does = own.does;
        if own.writes {
            write = self.number;
        } else {
            kept.push(self.number);
        }
        if kept.is_empty() {
            return Cell { write, reads: NONE };
        }
        if kept.len() > 1 {
            kept.sort_unstable();
            // More that know nothing of each other are not told apart.
            kept.drain(..kept.len().saturating_sub(MOST_OTHERS));
        }
        Cell { write, reads: self.history.set(&kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(agent: Agent, tick: u32, writes: bool, via: Via) -> Access {
        Access {
            agent,
            tick,
            step: 0,
            warp: 0,
            mask: 1,
            iteration: 0,
            via,
            writes,
            strong: None,
            cluster: 0,
            cta: 0,
            keeps: false,
            is_late: false,
            does: None,
        }
    }

    fn make(
        shadow: &mut Shadow,
        history: &mut History,
        clock: &Clock,
        it: Access,
        at: (u32, u32),
    ) -> Vec<Conflict> {
        let mut visit = Visit::new(history, clock, it);
        shadow.access([at].into_iter(), &mut visit);
        visit.conflicts.into_iter().map(|(conflict, _)| conflict).collect()
    }

    /// Accesses to overlapping pieces and regions, against one cell for each byte.
    #[test]
    fn atoms_are_as_exact_as_bytes() {
        const BYTES: u32 = 256;
        let mut state = 1_u64;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            ((state >> 33) % u64::from(below)) as u32
        };
        let mut conflicts = 0;
        for _ in 0..300 {
            let regions: Vec<Vec<(u32, u32)>> = (0..4)
                .map(|_| (0..=random(5)).map(|_| (random(8) * 32 + random(2) * 8, 8 << random(3))).collect())
                .collect();
            let (mut shadow, mut history) = (Shadow::new(BYTES), History::default());
            let (mut cells, mut plain) = (vec![FRESH; BYTES as usize], History::default());
            let mut clocks = vec![Clock::default(); 4];
            for tick in 1..120 {
                let agent = random(4);
                let (other, number) = (random(4), random(6));
                if random(3) == 0 {
                    let known = clocks[other as usize].clone();
                    clocks[agent as usize].join(&known);
                }
                let clock = &mut clocks[agent as usize];
                clock.learn(agent, tick);
                let via = if random(4) == 0 { Via::Async } else { Via::Generic };
                let strong = (random(5) == 0).then_some(Scope::Wide);
                let keeps = random(8) == 0;
                let it = Access { strong, keeps, ..access(agent, tick, random(2) == 0, via) };
                let few = [(random(BYTES), random(24)), (random(16) * 16, 16)];
                let region = regions.get(number as usize);
                let pieces: &[(u32, u32)] = region.map_or(&few, |it| it);
                let mut visit = Visit::new(&mut history, clock, it);
                match region {
                    Some(region) => {
                        shadow.access_region(Region::Matrix(number), region.iter().copied(), &mut visit);
                    }
                    None => shadow.access(pieces.iter().copied(), &mut visit),
                }
                let mut found: Vec<(Conflict, u32)> =
                    visit.conflicts.iter().map(|(it, at)| (*it, at.1)).collect();
                let mut visit = Visit::new(&mut plain, clock, it);
                let mut seen = [false; BYTES as usize];
                for byte in pieces.iter().flat_map(|(start, bytes)| *start..(start + bytes).min(BYTES)) {
                    if !std::mem::replace(&mut seen[byte as usize], true) {
                        cells[byte as usize] = visit.visit(cells[byte as usize], || byte);
                    }
                }
                let mut wanted: Vec<(Conflict, u32)> =
                    visit.conflicts.iter().map(|(it, at)| (*it, at.1)).collect();
                let key = |it: &(Conflict, u32)| format!("{it:?}");
                found.sort_by_key(key);
                wanted.sort_by_key(key);
                assert_eq!(found, wanted, "{pieces:?}");
                conflicts += found.len();
            }
        }
        assert!(conflicts > 1_000, "{conflicts}");
    }

    #[test]
    fn unordered_writes_race_and_ordered_ones_do_not() {
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let mut clock = Clock::default();
        let none = |found: Vec<Conflict>| assert_eq!(found, []);
        none(make(&mut shadow, &mut history, &clock, access(0, 1, true, Via::Generic), (0, 4)));
        let found = make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Generic), (2, 4));
        assert_eq!(found, [Conflict::Race(0)]);
        none(make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Generic), (4, 4)));
        clock.learn(0, 1);
        clock.learn(1, 1);
        none(make(&mut shadow, &mut history, &clock, access(2, 1, true, Via::Generic), (0, 16)));
    }

    #[test]
    fn what_changes_nothing_hides_nothing() {
        let of = |agent, tick, keeps| Access { keeps, ..access(agent, tick, true, Via::Generic) };
        let knowing = |events: &[(Agent, u32)]| {
            let mut clock = Clock::default();
            for (agent, tick) in events {
                clock.learn(*agent, *tick);
            }
            clock
        };
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let mut make = |clock: &Clock, it| make(&mut shadow, &mut history, clock, it, (0, 4));
        assert_eq!(make(&knowing(&[]), of(0, 1, false)), []);
        assert_eq!(make(&knowing(&[(0, 1)]), of(1, 1, true)), []);
        assert_eq!(make(&knowing(&[(0, 1), (1, 1)]), of(1, 2, true)), []);
        let read = |agent| access(agent, 1, false, Via::Generic);
        assert_eq!(make(&knowing(&[]), read(2)), [Conflict::Race(0)]);
        // Behind the first, what is written again is what it reads.
        assert_eq!(make(&knowing(&[(0, 1)]), read(3)), []);
        // One that knows nothing of the first writes the same for itself.
        let all = &[(0, 1), (1, 2), (2, 1), (3, 1)];
        assert_eq!(make(&knowing(all), of(4, 1, false)), []);
        assert_eq!(make(&knowing(all), of(5, 1, true)), []);
        assert_eq!(make(&knowing(&[(5, 1)]), read(5)), []);
    }

    #[test]
    fn only_pipelined_pairs_follow_each_other() {
        use asynchrony::Access::{Copy, MultiplyReadsOperand, MultiplyWritesD};
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let clock = Clock::default();
        let mut count = |tick, does, accumulator| {
            let does = Some(Pipelined { access: does, accumulator, follows: 0 });
            let writes = does.is_some_and(|it| it.access.writes());
            let it = Access { does, ..access(5, tick, writes, Via::Async) };
            make(&mut shadow, &mut history, &clock, it, (0, 16)).len()
        };
        assert_eq!(count(1, Copy, 0), 0);
        assert_eq!(count(2, MultiplyReadsOperand, 0), 0);
        // Behind the multiply, which is behind the first one.
        assert_eq!(count(3, Copy, 0), 0);
        assert_eq!(count(4, Copy, 0), 1);
        assert_eq!(count(5, MultiplyReadsOperand, 0), 0);
        assert_eq!(count(6, MultiplyWritesD, 1), 1);
        assert_eq!(count(7, MultiplyWritesD, 1), 0);
        assert_eq!(count(8, MultiplyWritesD, 2), 1);
    }

    #[test]
    fn flags_are_no_races() {
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let clock = Clock::default();
        let of =
            |agent, writes, strong, cta| Access { strong, cta, ..access(agent, 1, writes, Via::Generic) };
        let (own, wide) = (Some(Scope::Cta), Some(Scope::Wide));
        let found =
            |shadow: &mut Shadow, history: &mut History, it| make(shadow, history, &clock, it, (0, 4)).len();
        assert_eq!(found(&mut shadow, &mut history, of(0, true, own, 0)), 0);
        assert_eq!(found(&mut shadow, &mut history, of(1, true, wide, 0)), 0);
        // Another CTA is not in the scope of the first.
        assert_eq!(found(&mut shadow, &mut history, of(2, false, wide, 1)), 1);
        // Both writes are known still.
        assert_eq!(found(&mut shadow, &mut history, of(3, false, None, 0)), 2);
    }

    #[test]
    fn the_async_proxy_sees_what_a_fence_shows_it() {
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let mut clock = Clock::default();
        make(&mut shadow, &mut history, &clock, access(0, 1, true, Via::Generic), (0, 32));
        clock.learn(0, 1);
        let found = make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Async), (0, 32));
        assert_eq!(found, [Conflict::Proxy(0)]);
        clock.fence(true, false);
        assert_eq!(make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Async), (0, 32)), []);
    }
}
