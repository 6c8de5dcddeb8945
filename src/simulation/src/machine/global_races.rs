//! Races in global memory: accesses of threads, one of them a write, that nothing orders.
//!
//! The clocks of warps say what is ordered, as in shared memory. What a thread of one cluster releases, and a thread of
//! another one acquires, takes the clock of the first along.
//!
//! Flags, counters and locks are no data: where one of both accesses is strong, nothing is said. Where both are, each
//! has to be in the scope of the other one. Nor is anything said of two writes if it is not known what they write: it may
//! be the same.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::operation::Operation;
use super::order::Messages;
use super::touched::Touched;
use super::warp::Strand;
use super::{Machine, part_of_grid};
use crate::Checks;
use crate::clock::Clock;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Scope, windows};
use crate::shadow::{Access, Conflict, History, Shadow, Via, Visit};

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Pages beyond these are not looked at.
const MOST_PAGES: usize = 1 << 14;

/// A piece of global memory that an instruction accesses.
pub(super) type Piece = (u64, u32);

/// Who accessed global memory last.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pages: FxHashMap<u64, Shadow>,
    /// Accesses that write what is not known.
    unknown: FxHashSet<u32>,
}

impl Pages {
    /// Makes an access. Says with which others it conflicts, and where.
    fn visit(&mut self, visit: &mut Visit<'_>, pieces: &[Piece], is_unknown: bool) {
        if is_unknown {
            self.unknown.insert(visit.number);
        }
        visit.is_global = true;
        let by_page = pieces.iter().flat_map(|(address, bytes)| {
            let end = address.saturating_add((*bytes).into());
            (address / PAGE..end.div_ceil(PAGE)).map(move |page| {
                let (from, to) = ((page * PAGE).max(*address), ((page + 1).saturating_mul(PAGE)).min(end));
                (page, ((from % PAGE) as u32, (to - from) as u32))
            })
        });
        let by_page: SmallVec<[(u64, (u32, u32)); 4]> = by_page.collect();
        for pieces in by_page.chunk_by(|(one, _), (other, _)| one == other) {
            let page = pieces[0].0;
            if self.pages.len() < MOST_PAGES || self.pages.contains_key(&page) {
                let shadow = self.pages.entry(page).or_insert_with(|| Shadow::new(PAGE as u32));
                visit.memory = page as u32;
                shadow.access(pieces.iter().map(|(_, piece)| *piece), visit);
            }
        }
    }

    /// Whether something is said of two accesses.
    fn is_race(&self, history: &History, (own, other): (u32, u32)) -> bool {
        let (one, two) = (history.access(own), history.access(other));
        let may_agree = one.writes && two.writes && [own, other].iter().any(|it| self.unknown.contains(it));
        // What a copy reduces is data, although each element is reduced by an atomic operation.
        let is_flag = |access: &Access| access.strong.is_some() && access.via != Via::Async;
        is_flag(one) == is_flag(two) && !may_agree
    }
}

/// What clusters have in common.
#[derive(Debug)]
pub(crate) struct Between {
    pages: Pages,
    history: History,
    /// The messages beside values in global memory.
    pub(super) messages: Messages,
    /// The bytes that were accessed, if these are noted.
    touched: Option<Touched>,
}

impl Between {
    /// Which bytes are accessed is noted.
    pub(crate) fn noting() -> Self {
        Self { touched: Some(Touched::default()), ..Self::default() }
    }

    /// Whether a thread has released something to others.
    pub(crate) fn talks(&self) -> bool {
        !self.messages.is_empty()
    }

    /// The bytes that were accessed since they are noted; they are not any more.
    pub(crate) fn take_touched(&mut self) -> Option<Touched> {
        self.touched.take()
    }
}

impl Default for Between {
    fn default() -> Self {
        Self {
            pages: Pages::default(),
            history: History::default(),
            messages: Messages::between(),
            touched: None,
        }
    }
}

/// Why flags race.
pub(super) const NARROW: &str = "the scope of one of the two does not include the thread of the other one, so they are \
                                 not atomic to each other";

impl Machine<'_> {
    /// Threads access global memory. `keeps`: what they write is what was there.
    pub(super) fn touch_global(
        &mut self,
        strand: &Strand,
        pieces: &[Piece],
        (writes, keeps, is_unknown): (bool, bool, bool),
        strong: Option<Scope>,
        mask: u32,
    ) {
        if self.checks == Checks::None || pieces.is_empty() {
            return;
        }
        let access = self.access_of(strand, Via::Generic, writes, mask);
        let access = Access { strong, keeps, ..access };
        let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
        self.compare_global(access, &clock, pieces, is_unknown && writes);
        self.warps[strand.warp as usize].clock = clock;
    }

    /// A copy accesses global memory. `keeps`: what it writes is what was there.
    pub(super) fn touch_global_by(
        &mut self,
        operation: &Operation,
        pieces: &[Piece],
        (writes, keeps, is_unknown): (bool, bool, bool),
        reduces: bool,
    ) {
        if self.checks == Checks::None || pieces.is_empty() {
            return;
        }
        let mut access = self.access_of_operation(operation, Via::Async, writes);
        if let Some((agent, tick)) = operation.writer.filter(|_| writes) {
            (access.agent, access.tick) = (agent, tick);
        }
        // Each element is reduced by an atomic operation (PTX ISA, "cp.reduce.async.bulk").
        let access = Access { strong: reduces.then_some(Scope::Wide), keeps, ..access };
        self.compare_global(access, &operation.clock, pieces, is_unknown && writes);
    }

    /// Something is read that is not compared with what others do.
    pub(super) fn note_global_read(&mut self, piece: Piece) {
        if let Some(touched) = self.between.as_mut().and_then(|between| between.touched.as_mut()) {
            touched.add(piece, false);
        }
    }

    pub(super) fn compare_global(
        &mut self,
        access: Access,
        clock: &Clock,
        pieces: &[Piece],
        is_unknown: bool,
    ) {
        if self.checks == Checks::None || pieces.is_empty() {
            return;
        }
        // Where an assumed launch has its buffers says nothing of where others have them.
        let variables = windows::VARIABLES..1 << windows::BITS;
        let is_looked_at = |(address, _): &&Piece| !self.is_assumed || variables.contains(address);
        let mut merged: Vec<Piece> = Vec::with_capacity(4);
        for (address, bytes) in pieces.iter().filter(is_looked_at) {
            match merged.last_mut() {
                Some((start, len)) if start.saturating_add((*len).into()) == *address => *len += bytes,
                _ => merged.push((*address, *bytes)),
            }
        }
        if merged.is_empty() {
            return;
        }
        let Self { global_pages, history, warps, between, shape, copies_in_bulk, .. } = self;
        let mut found: Vec<(u32, u32, (u32, u32))> = Vec::new();
        let mut unseen: Vec<(u32, u32, (u32, u32))> = Vec::new();
        if warps.len() > 1 || *copies_in_bulk {
            let mut visit = Visit::new(history, clock, access);
            global_pages.visit(&mut visit, &merged, is_unknown);
            let (own, conflicts) = (visit.number, visit.conflicts);
            for (conflict, at) in conflicts {
                match conflict {
                    Conflict::Race(other) if global_pages.is_race(history, (own, other)) => {
                        found.push((own, other, at));
                    }
                    // Whoever does not see a write of what was there sees the same.
                    Conflict::Proxy(other) if !history.access(other).keeps => unseen.push((own, other, at)),
                    Conflict::Race(_) | Conflict::Proxy(_) => {}
                }
            }
        }
        let mut others: Vec<(Access, (u32, u32))> = Vec::new();
        if let Some(Between { pages, history, touched, .. }) = between.as_deref_mut() {
            if let Some(touched) = touched {
                for piece in &merged {
                    touched.add(*piece, access.writes);
                }
            }
            let mut visit = Visit::new(history, clock, access);
            pages.visit(&mut visit, &merged, is_unknown);
            let (own, conflicts) = (visit.number, visit.conflicts);
            for (conflict, at) in conflicts {
                // Within the cluster they are found already.
                if let Conflict::Race(other) = conflict
                    && history.access(other).cluster != shape.index
                    && pages.is_race(history, (own, other))
                {
                    others.push((*history.access(other), at));
                }
            }
        }
        for (own, other, at) in found {
            let (one, two) = (*self.history.access(own), *self.history.access(other));
            if self.note_racing(&one, &two) {
                continue;
            }
            let place = self.global_name(at);
            self.race(own, (Conflict::Race(other), clock), Code::GlobalMemoryRace, &place);
        }
        for (own, other, at) in unseen {
            let place = self.global_name(at);
            self.race(own, (Conflict::Proxy(other), clock), Code::ProxyFenceMissing, &place);
        }
        for (other, at) in others {
            if self.note_racing(&access, &other) {
                continue;
            }
            self.race_between(&access, &other, at);
        }
    }

    /// What people call a place in global memory.
    fn global_name(&self, (page, offset): (u32, u32)) -> String {
        let address = u64::from(page) * PAGE + u64::from(offset);
        let found = self.global.locate(address, 0).ok();
        match found.and_then(|(slot, at)| Some((self.global.buffer(slot)?, at))) {
            Some((buffer, at)) => format!("byte {at} of {}", buffer.name),
            None => format!("global memory at {address:#x}"),
        }
    }

    /// Reports an access that conflicts with one of another cluster.
    fn race_between(&mut self, own: &Access, other: &Access, at: (u32, u32)) {
        let verb = |writes: bool| if writes { "writes" } else { "reads" };
        let place = self.global_name(at);
        let cluster = |index: u32| part_of_grid(self.shape.cluster, index);
        let (mine, here) = (self.describe(own), cluster(self.shape.index));
        let finding = Finding::new(
            Code::GlobalMemoryRace,
            own.step,
            "two accesses to the same bytes of global memory are not ordered",
            format!("{mine} of {here} {} {place}, and nothing orders that", verb(own.writes)),
        )
        .label(other.step, format!("with what {} {} here", cluster(other.cluster), verb(other.writes)));
        let finding = match (own.strong, other.strong) {
            (Some(_), Some(_)) => finding.note(NARROW),
            _ => finding,
        };
        self.report(finding);
    }
}
