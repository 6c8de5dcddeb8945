//! What lanes of a warp store before the lanes synchronise.
//!
//! An arrival at an mbarrier, or a flag, releases what its own thread has done, and what other threads have done before they
//! synchronised with it (PTX ISA, "Memory Consistency Model"). A warp has one clock for all its lanes. So what a lane
//! has stored since the lanes last synchronised gets a name when one of them releases something: an agent and a time,
//! which the warp knows from then on. What the lane that stored releases has it, and what the others release has not.
//! For these, it is an access of that agent.
//!
//! Lanes synchronise at `bar.warp.sync`, at barriers, and where they exchange values; the ISA says for
//! `bar.warp.sync` and barriers only that memory is ordered, shipped kernels rely on the others, too. They do not at
//! `elect.sync`, which is where the mistake is made. Loads are not looked at: a lane has the loaded value before it goes
//! on.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::Machine;
use super::warp::Strand;
use crate::clock::{Agent, Clock};
use crate::shadow::{Access, Via};

/// Stores of a warp after which nothing is said: it never synchronises.
const MOST: usize = 1 << 12;

/// Stores of a warp since its lanes synchronised.
#[derive(Debug, Default)]
pub(super) struct Unsynchronised {
    stores: Vec<Store>,
    /// The lanes that last released all of it, if nothing was stored since.
    released_by: Option<u32>,
}

/// What a lane has stored.
#[derive(Clone, Copy, Debug)]
struct Store {
    at: At,
    step: u32,
    /// The lanes that synchronised with the one that stored, and that one.
    known_to: u32,
    /// Its name, if something was released since.
    name: Option<(Agent, u32)>,
    is_withheld: bool,
}

/// Where something is stored, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// In the shared memory of a CTA.
    Shared(u32, u32, u32),
    Global(u64, u32),
}

impl Unsynchronised {
    /// A lane stores.
    pub(super) fn store(&mut self, lane: usize, at: At, step: u32) {
        if self.stores.len() < MOST {
            let known_to = 1 << lane;
            self.released_by = None;
            self.stores.push(Store { at, step, known_to, name: None, is_withheld: false });
        }
    }

    /// Lanes synchronise; `live` are those that have not ended.
    pub(super) fn synchronise(&mut self, lanes: u32, live: u32) {
        if live & !lanes == 0 {
            self.stores.clear();
            return;
        }
        for Store { known_to, .. } in &mut self.stores {
            if *known_to & lanes != 0 {
                *known_to |= lanes;
            }
        }
        self.released_by = None;
    }

    /// The warp acquires something: perhaps what its lanes have released before. `known` says how much of an agent it
    /// contains.
    pub(super) fn acquire(&mut self, known: impl Fn(Agent) -> u32) {
        self.stores.retain(|store| store.name.is_none_or(|(agent, tick)| known(agent) < tick));
    }
}

impl Machine<'_> {
    /// Lanes of a warp wait for each other.
    pub(super) fn synchronise_lanes(&mut self, warp: u32, lanes: u32) {
        let warp = &mut self.warps[warp as usize];
        warp.unsynchronised.synchronise(lanes, warp.live);
    }

    /// What an arrival of some lanes of a warp releases, if that is not all that the warp knows.
    pub(super) fn released_by(&mut self, strand: &Strand, lanes: u32) -> Option<Clock> {
        let withheld = self.withheld_from(strand, lanes);
        if withheld.is_empty() {
            return None;
        }
        let mut clock = self.warps[strand.warp as usize].clock.clone();
        for (agent, before) in withheld {
            clock.forget(agent, before);
        }
        Some(clock)
    }

    /// What some lanes of a warp do not release: of each agent, all after a time.
    pub(super) fn withheld_from(&mut self, strand: &Strand, lanes: u32) -> SmallVec<[(Agent, u32); 1]> {
        let own = &self.warps[strand.warp as usize].unsynchronised;
        // An instruction of a whole warp arrives lane by lane.
        if own.stores.is_empty() || own.released_by == Some(lanes) {
            return SmallVec::new();
        }
        self.name_stores(strand.warp);
        let own = &mut self.warps[strand.warp as usize].unsynchronised;
        if own.stores.iter().all(|store| store.known_to & lanes != 0) {
            own.released_by = Some(lanes);
            return SmallVec::new();
        }
        // Where all store the same, one is as good as the others.
        let known = own.stores.iter().filter(|store| store.known_to & lanes != 0);
        let here: FxHashSet<(At, u32)> = known.map(|store| (store.at, store.step)).collect();
        let mut fresh: Vec<Store> = Vec::new();
        let mut withheld: SmallVec<[(Agent, u32); 1]> = SmallVec::new();
        for store in own.stores.iter_mut().filter(|store| store.known_to & lanes == 0) {
            if here.contains(&(store.at, store.step)) {
                continue;
            }
            if !std::mem::replace(&mut store.is_withheld, true) {
                fresh.push(*store);
            }
            if let Some((agent, tick)) = store.name {
                match withheld.iter_mut().find(|(other, _)| *other == agent) {
                    Some((_, before)) => *before = tick.saturating_sub(1).min(*before),
                    None => withheld.push((agent, tick.saturating_sub(1))),
                }
            }
        }
        for stores in fresh.chunk_by(|one, other| (one.name, one.step) == (other.name, other.step)) {
            self.withhold(strand, stores);
        }
        withheld
    }

    /// Gives names to what lanes have stored; those that the same lanes know have one together.
    pub(super) fn name_stores(&mut self, warp: u32) {
        /// More sets of lanes are not told apart.
        const MOST_SETS: usize = 8;
        let mut sets: SmallVec<[(u32, (Agent, u32)); 2]> = SmallVec::new();
        let stores = &self.warps[warp as usize].unsynchronised.stores;
        let unnamed = stores.iter().rposition(|store| store.name.is_some()).map_or(0, |last| last + 1);
        for at in unnamed..stores.len() {
            let known_to = self.warps[warp as usize].unsynchronised.stores[at].known_to;
            let set = if sets.len() < MOST_SETS { known_to } else { 0 };
            let known = sets.iter().find(|(other, _)| *other == known_to || *other == set);
            let name = if let Some((_, name)) = known {
                *name
            } else {
                let last = self.lane_agents.get(&(warp, set)).copied();
                let (agent, before) = last.unwrap_or_else(|| (self.new_agent(), 0));
                let name = (agent, before + 1);
                self.lane_agents.insert((warp, set), name);
                self.warps[warp as usize].clock.learn(agent, before + 1);
                sets.push((set, name));
                name
            };
            self.warps[warp as usize].unsynchronised.stores[at].name = Some(name);
        }
    }

    /// An instruction's stores are of an agent of its own from now on.
    fn withhold(&mut self, strand: &Strand, stores: &[Store]) {
        let Some(Store { name: Some((agent, tick)), step, .. }) = stores.first().copied() else { return };
        self.arrivals_of_lanes.insert(agent, strand.step);
        let mask = stores.iter().fold(0, |all, store| all | store.known_to);
        let access =
            Access { agent, tick, step, is_late: true, ..self.access_of(strand, Via::Generic, true, mask) };
        let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
        let (mut shared, mut global) = (Vec::new(), Vec::new());
        for store in stores {
            match store.at {
                At::Shared(cta, start, bytes) => shared.push((cta, start, bytes)),
                At::Global(address, bytes) => global.push((address, bytes)),
            }
        }
        if !shared.is_empty() {
            self.compare(access, &clock, &shared);
        }
        self.compare_global(access, &clock, &global, false);
        self.warps[strand.warp as usize].clock = clock;
    }
}
