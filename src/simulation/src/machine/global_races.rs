//! Races in global memory: accesses of threads, one of them a write, that nothing orders.
//!
//! Within a cluster the clocks of its warps say what is ordered, as in shared memory. Between clusters there is one
//! clock for each cluster: what a thread of one releases, and a thread of another one acquires, orders all that
//! happened in the first before all that happens in the second. So a race between clusters may be missed where
//! threads of one cluster do not agree among themselves, and none is found that is not one.
//!
//! Flags, counters and locks are no data: where one of both accesses is strong, nothing is said. Nor is anything
//! said of two writes if it is not known what they write: it may be the same.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Machine;
use super::operation::Operation;
use super::places::Place;
use super::touched::Touched;
use super::warp::Strand;
use crate::Checks;
use crate::clock::Clock;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Scope, Strength, windows};
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
        !is_flag(one) && !is_flag(two) && !may_agree
    }
}

/// What clusters know of each other.
#[derive(Debug, Default)]
pub(crate) struct Between {
    pages: Pages,
    history: History,
    /// By address: what the cluster knew that released something there.
    messages: FxHashMap<u64, Clock>,
    /// The bytes that were accessed, if these are noted.
    touched: Option<Touched>,
}

impl Between {
    /// Which bytes are accessed is noted.
    pub(crate) fn noting() -> Self {
        Self { touched: Some(Touched::default()), ..Self::default() }
    }

    /// Whether a cluster has released something to others.
    pub(crate) fn talks(&self) -> bool {
        !self.messages.is_empty()
    }

    /// The bytes that were accessed since they are noted; they are not any more.
    pub(crate) fn take_touched(&mut self) -> Option<Touched> {
        self.touched.take()
    }
}

/// What a cluster knows of others.
#[derive(Debug, Default)]
pub(super) struct Known {
    clock: Clock,
    /// What it will know at its next fence.
    seen: Clock,
    /// What it had released at its last fence.
    published: Clock,
    /// What copies have stored of which no thread that released something has known that it is over.
    stores: VecDeque<Store>,
}

/// What a copy stores in global memory.
#[derive(Debug)]
struct Store {
    access: Access,
    pieces: Vec<Piece>,
    is_unknown: bool,
}

/// Stores that are remembered: of those before nothing more is found.
const MOST_STORES: usize = 64;

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
        let access = self.access_of_operation(operation, Via::Async, writes);
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

    fn compare_global(&mut self, access: Access, clock: &Clock, pieces: &[Piece], is_unknown: bool) {
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
        let (own_access, via) = (access, access.via);
        let Self { global_pages, history, warps, between, known, shape, .. } = self;
        let mut found: Vec<(u32, u32, (u32, u32))> = Vec::new();
        if warps.len() > 1 {
            let mut visit = Visit::new(history, clock, access);
            global_pages.visit(&mut visit, &merged, is_unknown);
            let (own, conflicts) = (visit.number, visit.conflicts);
            for (conflict, at) in conflicts {
                if let Conflict::Race(other) = conflict
                    && global_pages.is_race(history, (own, other))
                {
                    found.push((own, other, at));
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
            let index = shape.index;
            let access = Access { agent: index, tick: known.clock.of(index), cta: index, ..access };
            let mut visit = Visit::new(history, &known.clock, access);
            pages.visit(&mut visit, &merged, is_unknown);
            let (own, conflicts) = (visit.number, visit.conflicts);
            for (conflict, at) in conflicts {
                if let Conflict::Race(other) = conflict
                    && pages.is_race(history, (own, other))
                {
                    others.push((*history.access(other), at));
                }
            }
            if via == Via::Async && access.writes {
                if known.stores.len() == MOST_STORES {
                    known.stores.pop_front();
                }
                known.stores.push_back(Store { access: own_access, pieces: merged.clone(), is_unknown });
            }
        }
        for (own, other, at) in found {
            let place = self.global_name(at);
            self.race(own, (Conflict::Race(other), clock), Code::GlobalMemoryRace, &place);
        }
        for (other, at) in others {
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
        let (mine, index) = (self.describe(own), self.shape.index);
        let finding = Finding::new(
            Code::GlobalMemoryRace,
            own.step,
            "two accesses to the same bytes of global memory are not ordered",
            format!("{mine} of cluster {index} {} {place}, and nothing orders that", verb(own.writes)),
        )
        // Between clusters, each is one agent.
        .label(other.step, format!("with what cluster {} {} here", other.agent, verb(other.writes)));
        self.report(finding);
    }

    /// A thread of a warp has released something. What copies have stored before, and this thread does not know to be
    /// over, is not released by it: it counts as stored later.
    pub(super) fn defer_stores(&mut self, warp: u32) {
        let Self { warps, known: Known { clock, stores, .. }, between, shape, .. } = self;
        let Some(Between { pages, history, .. }) = between.as_deref_mut() else { return };
        let knows = &warps[warp as usize].clock;
        stores.retain(|Store { access, .. }| knows.of(access.agent) < access.tick);
        let mut found: Vec<(Access, Access, (u32, u32))> = Vec::new();
        for Store { access, pieces, is_unknown } in stores {
            let index = shape.index;
            let access = Access { agent: index, tick: clock.of(index), cta: index, ..*access };
            let mut visit = Visit::new(history, clock, access);
            pages.visit(&mut visit, pieces, *is_unknown);
            let (own, conflicts) = (visit.number, visit.conflicts);
            for (conflict, at) in conflicts {
                if let Conflict::Race(other) = conflict
                    && pages.is_race(history, (own, other))
                {
                    found.push((access, *history.access(other), at));
                }
            }
        }
        for (own, other, at) in found {
            self.race_between(&own, &other, at);
        }
    }

    /// A fence between threads of all clusters.
    pub(super) fn fence_between(&mut self, strength: Strength) {
        if self.between.is_none() || strength.scope != Scope::Wide {
            return;
        }
        let Self { known: Known { clock, seen, published, .. }, shape, .. } = self;
        if strength.acquires {
            clock.join(seen);
        }
        if strength.releases {
            published.join(clock);
            clock.advance(shape.index);
        }
    }

    /// Threads have read at these places, and not weakly.
    pub(super) fn hear_between(&mut self, places: &[Place], strength: Strength) {
        let Some(between) = self.between.as_deref().filter(|_| strength.scope == Scope::Wide) else { return };
        for place in places {
            let Place::Global(address) = place else { continue };
            let Some(message) = between.messages.get(address) else { continue };
            if strength.acquires {
                self.known.clock.join(message);
            } else {
                self.known.seen.join(message);
            }
        }
    }

    /// Threads have written there, and not weakly; `adds` to what was there.
    pub(super) fn tell_between(&mut self, places: &[Place], strength: Strength, adds: bool) {
        let Self { between, known, shape, .. } = self;
        let Some(between) = between.as_deref_mut().filter(|_| strength.scope == Scope::Wide) else { return };
        let mut any = false;
        for place in places {
            let Place::Global(address) = place else { continue };
            let said = if strength.releases { &known.clock } else { &known.published };
            let message = between.messages.entry(*address).or_default();
            if !adds {
                *message = Clock::default();
            }
            message.join(said);
            any = true;
        }
        if any && strength.releases {
            known.clock.advance(shape.index);
        }
    }

    /// A weak write replaces what was said.
    pub(super) fn forget_between(&mut self, place: Place) {
        if let (Some(between), Place::Global(address)) = (self.between.as_deref_mut(), place) {
            between.messages.remove(&address);
        }
    }

    /// The cluster begins, or goes on.
    pub(super) fn know_own(&mut self) {
        let index = self.shape.index;
        if self.known.clock.of(index) == 0 {
            self.known.clock.advance(index);
        }
    }
}
