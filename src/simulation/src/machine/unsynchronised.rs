//! What lanes of a warp store to shared memory before the lanes synchronise.
//!
//! An arrival at an mbarrier releases what its own thread has done, and what other threads have done before they
//! synchronised with it (PTX ISA, "Memory Consistency Model"). A warp has one clock for all its lanes. So where some
//! lanes arrive, what the others have stored since they last synchronised is from then on an access of an agent of
//! its own: the warp knows it, and those who acquire the arrival do not.
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
    /// What arrivals of other lanes did not release.
    withheld: SmallVec<[Withheld; 1]>,
    /// The lanes that last released all of it, if nothing was stored since.
    released_by: Option<u32>,
}

/// What a lane has stored.
#[derive(Clone, Copy, Debug)]
struct Store {
    /// The CTA, the offset, and how many bytes.
    place: (u32, u32, u32),
    step: u32,
    /// The lanes that synchronised with the one that stored, and that one.
    known_to: u32,
    /// Whether one of these has released it.
    is_released: bool,
    is_withheld: bool,
}

/// Stores that an arrival did not release.
#[derive(Clone, Copy, Debug)]
struct Withheld {
    /// Lanes that know them.
    known_to: u32,
    agent: Agent,
    /// The last thing that the agent did before, which others may know.
    before: u32,
}

impl Unsynchronised {
    /// A lane stores.
    pub(super) fn store(&mut self, lane: usize, place: (u32, u32, u32), step: u32) {
        if self.stores.len() < MOST {
            let known_to = 1 << lane;
            self.released_by = None;
            self.stores.push(Store { place, step, known_to, is_released: false, is_withheld: false });
        }
    }

    /// Lanes synchronise; `live` are those that have not ended.
    pub(super) fn synchronise(&mut self, lanes: u32, live: u32) {
        if live & !lanes == 0 {
            self.stores.clear();
            self.withheld.clear();
            return;
        }
        let stores = self.stores.iter_mut().map(|it| &mut it.known_to);
        for known_to in stores.chain(self.withheld.iter_mut().map(|it| &mut it.known_to)) {
            if *known_to & lanes != 0 {
                *known_to |= lanes;
            }
        }
    }

    /// The warp acquires something: perhaps what its lanes have released before.
    pub(super) fn acquire(&mut self) {
        if !self.stores.is_empty() {
            self.stores.retain(|store| !store.is_released);
            self.withheld.retain(|it| self.stores.iter().any(|store| store.known_to & it.known_to != 0));
        }
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
        let own = &mut self.warps[strand.warp as usize].unsynchronised;
        // An instruction of a whole warp arrives lane by lane.
        if own.stores.is_empty() || own.released_by == Some(lanes) {
            return None;
        }
        if own.withheld.is_empty() && own.stores.iter().all(|store| store.known_to & lanes != 0) {
            own.stores.iter_mut().for_each(|store| store.is_released = true);
            own.released_by = Some(lanes);
            return None;
        }
        // Where all store the same, one is as good as the others.
        let mut here = FxHashSet::default();
        for store in own.stores.iter_mut().filter(|store| store.known_to & lanes != 0) {
            store.is_released = true;
            here.insert(store.place);
        }
        let mut fresh: Vec<Store> = Vec::new();
        for store in own.stores.iter_mut().filter(|store| store.known_to & lanes == 0) {
            if !store.is_withheld && !here.contains(&store.place) {
                store.is_withheld = true;
                fresh.push(*store);
            }
        }
        if !fresh.is_empty() {
            self.withhold(strand, &fresh);
        }
        let warp = &self.warps[strand.warp as usize];
        let mut withheld =
            warp.unsynchronised.withheld.iter().filter(|it| it.known_to & lanes == 0).peekable();
        withheld.peek()?;
        let mut clock = warp.clock.clone();
        for Withheld { agent, before, .. } in withheld {
            clock.forget(*agent, *before);
        }
        Some(clock)
    }

    /// Stores are of an agent of its own from now on.
    fn withhold(&mut self, strand: &Strand, stores: &[Store]) {
        let known_to = stores.iter().fold(0, |all, store| all | store.known_to);
        let known = self.lane_agents.get(&(strand.warp, known_to)).copied();
        let (agent, before) = known.unwrap_or_else(|| (self.new_agent(), 0));
        self.lane_agents.insert((strand.warp, known_to), (agent, before + 1));
        self.arrivals_of_lanes.insert(agent, strand.step);
        let warp = &mut self.warps[strand.warp as usize];
        warp.clock.learn(agent, before + 1);
        warp.unsynchronised.withheld.push(Withheld { known_to, agent, before });
        for stores in stores.chunk_by(|one, other| one.step == other.step) {
            let mask = stores.iter().fold(0, |all, store| all | store.known_to);
            let access = Access {
                agent,
                tick: before + 1,
                step: stores[0].step,
                ..self.access_of(strand, Via::Generic, true, mask)
            };
            let places: Vec<(u32, u32, u32)> = stores.iter().map(|store| store.place).collect();
            let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
            self.visit(access, &clock, &places);
            self.warps[strand.warp as usize].clock = clock;
        }
    }
}
