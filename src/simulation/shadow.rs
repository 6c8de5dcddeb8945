//! Who accessed what last.
//!
//! Memory is divided into granules, and a granule into fine cells only where accesses do. A cell
//! knows the last write and the reads since then. Many cells have the same history, and an access
//! touches many: so sets of reads are numbered, and what became of the last cell is remembered.

use rustc_hash::FxHashMap;

use super::clock::{Agent, Clock};

/// Bytes of a granule.
pub(crate) const GRANULE: u32 = 16;
/// Nothing.
const NONE: u32 = u32::MAX;
/// The granule is divided.
const FINE: u32 = u32::MAX - 1;

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
    /// The loop that it was in, and which round.
    pub(crate) head: u32,
    pub(crate) round: u32,
    pub(crate) via: Via,
    pub(crate) writes: bool,
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

/// The cells of a memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    granules: Vec<Cell>,
    fine: Vec<[Cell; GRANULE as usize]>,
    free: Vec<u32>,
}

/// An access that is being made.
pub(crate) struct Visit<'a> {
    pub(crate) history: &'a mut History,
    pub(crate) clock: &'a Clock,
    /// The number of the access.
    pub(crate) number: u32,
    /// What became of the last cell.
    last: Option<(Cell, Cell)>,
    /// Where the cells are that are visited, for whoever reports conflicts.
    pub(crate) at: (u32, u32),
    /// Each with the place where it was met first.
    pub(crate) conflicts: Vec<(Conflict, (u32, u32))>,
    /// Whether the bytes that are written are what stands there.
    pub(crate) keeps: bool,
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

    fn set(&mut self, set: Vec<u32>) -> u32 {
        if let Some(known) = self.numbers.get(&set) {
            return *known;
        }
        self.sets.push(set.clone());
        let number = self.sets.len() as u32 - 1;
        self.numbers.insert(set, number);
        number
    }
}

impl<'a> Visit<'a> {
    pub(crate) fn new(history: &'a mut History, clock: &'a Clock, access: Access) -> Self {
        let number = history.add(access);
        Self { history, clock, number, last: None, at: (0, 0), conflicts: Vec::new(), keeps: false }
    }

    fn is_before(&self, access: &Access, own: &Access) -> bool {
        access.agent == own.agent && access.tick <= own.tick || self.clock.of(access.agent) >= access.tick
    }

    fn found(&mut self, conflict: Conflict) {
        if !self.conflicts.iter().any(|(known, _)| *known == conflict) {
            self.conflicts.push((conflict, self.at));
        }
    }

    fn visit(&mut self, cell: Cell) -> Cell {
        if let Some((before, after)) = self.last
            && before == cell
        {
            return after;
        }
        let after = self.judge(cell);
        self.last = Some((cell, after));
        after
    }

    fn judge(&mut self, cell: Cell) -> Cell {
        let own = *self.history.access(self.number);
        if cell.write != NONE {
            let write = *self.history.access(cell.write);
            if !self.is_before(&write, &own) {
                if !(self.keeps && own.writes) {
                    self.found(Conflict::Race(cell.write));
                }
            } else if write.via == Via::Generic
                && own.via == Via::Async
                && !own.writes
                && self.clock.proxy_of(write.agent) < write.tick
            {
                self.found(Conflict::Proxy(cell.write));
            }
        }
        if own.writes {
            if cell.reads != NONE {
                for read in self.history.sets[cell.reads as usize].clone() {
                    let access = *self.history.access(read);
                    if !self.is_before(&access, &own) && !self.keeps {
                        self.found(Conflict::Race(read));
                    }
                }
            }
            return Cell { write: self.number, reads: NONE };
        }
        let mut reads = vec![self.number];
        if cell.reads != NONE {
            for read in &self.history.sets[cell.reads as usize] {
                let access = self.history.access(*read);
                if !self.is_before(access, &own) {
                    reads.push(*read);
                }
            }
        }
        // More readers than these that know nothing of each other are not told apart.
        reads.truncate(64);
        reads.sort_unstable();
        Cell { write: cell.write, reads: self.history.set(reads) }
    }
}

impl Shadow {
    /// The cells of that many bytes, or others.
    pub(crate) fn new(bytes: u32) -> Self {
        Self { granules: vec![FRESH; bytes.div_ceil(GRANULE) as usize], fine: Vec::new(), free: Vec::new() }
    }

    /// Makes an access to bytes.
    pub(crate) fn access(&mut self, start: u32, bytes: u32, visit: &mut Visit<'_>) {
        let end = start.saturating_add(bytes);
        let mut at = start;
        while at < end {
            let index = (at / GRANULE) as usize;
            let from = at % GRANULE;
            let to = (end - (at - from)).min(GRANULE);
            at += to - from;
            let Some(granule) = self.granules.get(index).copied() else { return };
            visit.at.1 = at - (to - from);
            let is_whole = from == 0 && to == GRANULE;
            if is_whole && granule.write != FINE {
                self.granules[index] = visit.visit(granule);
                continue;
            }
            let fine = if granule.write == FINE { granule.reads } else { self.divide(index, granule) };
            let cells = &mut self.fine[fine as usize];
            for cell in &mut cells[from as usize..to as usize] {
                *cell = visit.visit(*cell);
            }
            let first = cells[0];
            if is_whole && cells.iter().all(|cell| *cell == first) {
                self.granules[index] = first;
                self.free.push(fine);
            }
        }
    }

    /// Makes an access to cells that are never divided.
    pub(crate) fn access_cell(&mut self, index: usize, visit: &mut Visit<'_>) {
        if let Some(cell) = self.granules.get(index).copied() {
            self.granules[index] = visit.visit(cell);
        }
    }

    fn divide(&mut self, index: usize, granule: Cell) -> u32 {
        let cells = [granule; GRANULE as usize];
        let fine = if let Some(free) = self.free.pop() {
            self.fine[free as usize] = cells;
            free
        } else {
            self.fine.push(cells);
            self.fine.len() as u32 - 1
        };
        self.granules[index] = Cell { write: FINE, reads: fine };
        fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(agent: Agent, tick: u32, writes: bool, via: Via) -> Access {
        Access { agent, tick, step: 0, warp: 0, mask: 1, head: 0, round: 0, via, writes }
    }

    fn make(
        shadow: &mut Shadow,
        history: &mut History,
        clock: &Clock,
        it: Access,
        at: (u32, u32),
    ) -> Vec<Conflict> {
        let mut visit = Visit::new(history, clock, it);
        shadow.access(at.0, at.1, &mut visit);
        visit.conflicts.into_iter().map(|(conflict, _)| conflict).collect()
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
    fn the_async_proxy_sees_what_a_fence_shows_it() {
        let (mut shadow, mut history) = (Shadow::new(64), History::default());
        let mut clock = Clock::default();
        make(&mut shadow, &mut history, &clock, access(0, 1, true, Via::Generic), (0, 32));
        clock.learn(0, 1);
        let found = make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Async), (0, 32));
        assert_eq!(found, [Conflict::Proxy(0)]);
        clock.fence();
        assert_eq!(make(&mut shadow, &mut history, &clock, access(1, 1, false, Via::Async), (0, 32)), []);
    }
}
