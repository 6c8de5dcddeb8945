//! Order by memory: what threads that read a value learn from those who wrote it (PTX ISA, "Memory
//! Consistency Model").
//!
//! A release leaves a message beside the value: what its thread knows. An atomic operation adds to it,
//! another write replaces it. Who reads the value learns the message: at once by an acquire, otherwise
//! with its next fence. What a thread writes after a fence says what was known at the fence. A scope tells
//! nothing to those who are not in it, and an atomic operation hands on only what was written in its scope,
//! by someone in whose scope it is.
//!
//! By the letter, a fence publishes with what its own thread writes next. Shipped kernels execute the fence in all
//! threads, synchronise the CTA, and count in one of them: so for fences of the whole GPU, a thread publishes what those
//! have fenced with whom it has synchronised since.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Machine;
use super::places::Place;
use super::warp::Strand;
use crate::clock::{Clock, Said};
use crate::program::{ProxyFence, Scope, Strength};
use crate::shadow::scope_of_both;

/// More places have a message together.
const MOST_PLACES: usize = 1 << 14;
/// The same for the whole grid.
const MOST_PLACES_BETWEEN: usize = 1 << 20;
/// Fences of a warp that others may publish.
const MOST_FENCES: usize = 4;

/// A place that flags may be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Global(u64),
    Shared {
        cta: u32,
        offset: u32,
    },
    /// All places that are too many.
    Rest,
}

/// Who takes part in an order, and in which scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Party {
    cluster: u32,
    cta: u32,
    scope: Scope,
}

impl Party {
    /// Whether both are in the scope of the other one.
    fn is_with(self, other: Self) -> bool {
        let needed = scope_of_both((self.cluster, self.cta), (other.cluster, other.cta));
        self.scope >= needed && other.scope >= needed
    }
}

/// What someone knew who wrote.
#[derive(Clone, Debug)]
struct Message {
    from: Party,
    clock: Clock,
    /// The same for other clusters.
    said: Option<Said>,
}

/// The messages beside a value.
#[derive(Debug)]
struct Told {
    /// Who wrote it.
    last: Party,
    messages: Vec<Message>,
}

/// The messages beside all values.
#[derive(Debug)]
pub(super) struct Messages {
    places: FxHashMap<Spot, Told>,
    most: usize,
}

impl Default for Messages {
    fn default() -> Self {
        Self { places: FxHashMap::default(), most: MOST_PLACES }
    }
}

/// What a warp has published by fences, and what it will know at the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    /// By scope: what was known at the last fence of that scope.
    published: [Clock; 3],
    /// The last fences of the whole GPU: when, and what was known.
    wide: VecDeque<(u32, Clock)>,
    /// The messages that were read, by the scope that it takes to learn them.
    seen: [Clock; 3],
    /// Of the barriers: what is known to be initialised at the last `fence.mbarrier_init`.
    initialised: Clock,
}

const SCOPES: [Scope; 3] = [Scope::Cta, Scope::Cluster, Scope::Wide];

impl Messages {
    /// Those of a whole grid.
    pub(super) fn between() -> Self {
        Self { most: MOST_PLACES_BETWEEN, ..Self::default() }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn spot(&self, place: Place) -> Option<Spot> {
        let spot = match place {
            Place::Global(address) => Spot::Global(address),
            Place::Shared { cta, offset } => Spot::Shared { cta, offset },
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => return None,
        };
        let is_full = self.places.len() >= self.most && !self.places.contains_key(&spot);
        Some(if is_full { Spot::Rest } else { spot })
    }

    /// A weak write replaces what was said.
    fn forget(&mut self, place: Place) {
        if !self.places.is_empty()
            && let Some(spot) = self.spot(place)
            && spot != Spot::Rest
        {
            self.places.remove(&spot);
        }
    }
}

impl Fences {
    /// What an arrival at a barrier tells that is no release, to those who are in a scope.
    pub(super) fn tell(&self, scope: Scope, to: &mut Clock) {
        for published in &self.published[scope as usize..] {
            to.join(published);
        }
        to.join(&self.initialised);
    }

    /// What a wait was told that is no acquire.
    pub(super) fn hear(&mut self, clock: &Clock) {
        self.seen[0].join(clock);
    }

    pub(super) fn initialise(&mut self, clock: &Clock) {
        self.initialised.join(clock);
    }
}

impl Machine<'_> {
    /// A fence between threads.
    pub(super) fn fence(&mut self, strand: &Strand, strength: Strength) {
        if strength.releases {
            self.name_stores(strand.warp);
        }
        let warp = &mut self.warps[strand.warp as usize];
        let scope = strength.scope as usize;
        if strength.acquires {
            for seen in &warp.fences.seen[..=scope] {
                warp.unsynchronised.acquire(|agent| seen.of(agent));
                warp.clock.join(seen);
            }
        }
        if strength.releases {
            warp.fences.published[scope].join(&warp.clock);
            if strength.scope == Scope::Wide {
                if warp.fences.wide.len() == MOST_FENCES {
                    warp.fences.wide.pop_front();
                }
                warp.fences.wide.push_back((warp.clock.of(warp.agent), warp.clock.clone()));
            }
            // What comes behind it is not published.
            warp.clock.advance(warp.agent);
        }
    }

    /// `fence.proxy.async`
    pub(super) fn fence_proxies(&mut self, strand: &Strand, fence: ProxyFence) {
        let Self { warps, queue_agents, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        match fence {
            ProxyFence::All => warp.clock.fence(true, true),
            ProxyFence::Shared => warp.clock.fence(true, false),
            ProxyFence::Global => warp.clock.fence(false, true),
            ProxyFence::Acquired => {
                let copies = warp.copies.queue().and_then(|queue| queue_agents.get(&queue));
                warp.clock.fence_acquired(&[Some(warp.agent), copies.map(|(agent, _)| *agent)]);
            }
        }
        // What comes behind it is not shown.
        warp.clock.advance(warp.agent);
    }

    fn party(&self, strand: &Strand, scope: Scope) -> Party {
        Party { cluster: self.shape.index, cta: self.warps[strand.warp as usize].cta, scope }
    }

    /// Threads have read what is at these places, and not weakly.
    pub(super) fn hear(&mut self, strand: &Strand, places: &[Place], strength: Strength) {
        self.note_poll(places);
        let own = self.party(strand, strength.scope);
        let Self { messages, between, warps, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        for place in places {
            let messages = match (place, between.as_deref()) {
                (Place::Global(_), Some(between)) => &between.messages,
                _ => &*messages,
            };
            if messages.places.is_empty() {
                continue;
            }
            let Some(spot) = messages.spot(*place) else { continue };
            let Some(told) = messages.places.get(&spot) else { continue };
            if spot != Spot::Rest && !told.last.is_with(own) {
                continue;
            }
            for message in &told.messages {
                let needed = scope_of_both((own.cluster, own.cta), (message.from.cluster, message.from.cta));
                if message.from.scope < needed || strength.acquires && own.scope < needed {
                    continue;
                }
                let to =
                    if strength.acquires { &mut warp.clock } else { &mut warp.fences.seen[needed as usize] };
                if message.from.cluster == own.cluster {
                    to.join(&message.clock);
                    if strength.acquires {
                        warp.unsynchronised.acquire(|agent| message.clock.of(agent));
                    }
                } else if let Some(said) = &message.said {
                    let returned = to.hear(own.cluster, said);
                    if let (true, Some(time)) = (strength.acquires, returned) {
                        let of = |agent: u32| time.get(agent as usize).copied().unwrap_or(0);
                        warp.unsynchronised.acquire(of);
                    }
                }
            }
        }
    }

    /// What a write of some lanes says that is no release: by scope.
    fn published(&mut self, strand: &Strand, lanes: u32) -> SmallVec<[(Scope, Clock); 1]> {
        let mut said: SmallVec<[(Scope, Clock); 1]> = SmallVec::new();
        let knows = &self.warps[strand.warp as usize].clock;
        for scope in SCOPES {
            let mut clock = self.warps[strand.warp as usize].fences.published[scope as usize].clone();
            if scope == Scope::Wide {
                for other in &self.warps {
                    let known = |(tick, _): &&(u32, Clock)| knows.of(other.agent) >= *tick;
                    if let Some((_, fenced)) = other.fences.wide.iter().rev().find(known) {
                        clock.join(fenced);
                    }
                }
            }
            if clock != Clock::default() {
                said.push((scope, clock));
            }
        }
        if !said.is_empty() {
            let withheld = self.withheld_from(strand, lanes);
            for (_, clock) in &mut said {
                withheld.iter().for_each(|(agent, before)| clock.forget(*agent, *before));
            }
        }
        said
    }

    /// Lanes have written there, and not weakly; `adds` to what was there.
    pub(super) fn tell(
        &mut self,
        strand: &Strand,
        places: &[Place],
        strength: Strength,
        (adds, lanes): (bool, u32),
    ) {
        let last = self.party(strand, strength.scope);
        let said: SmallVec<[(Scope, Clock); 1]> = if strength.releases {
            let released = self.released_by(strand, lanes);
            let warp = &mut self.warps[strand.warp as usize];
            let clock = released.unwrap_or_else(|| warp.clock.clone());
            warp.clock.advance(warp.agent);
            smallvec::smallvec![(strength.scope, clock)]
        } else {
            self.published(strand, lanes)
        };
        let Self { messages, between, .. } = self;
        let is_grid = between.is_some();
        let said: SmallVec<[Message; 1]> = said
            .into_iter()
            .map(|(scope, clock)| Message {
                from: Party { scope, ..last },
                said: (is_grid && scope == Scope::Wide).then(|| clock.say(last.cluster)),
                clock,
            })
            .collect();
        for place in places {
            let messages = match (place, between.as_deref_mut()) {
                (Place::Global(_), Some(between)) => &mut between.messages,
                _ => &mut *messages,
            };
            let Some(spot) = messages.spot(*place) else { continue };
            if said.is_empty() && !messages.places.contains_key(&spot) {
                continue;
            }
            let told = messages.places.entry(spot).or_insert_with(|| Told { last, messages: Vec::new() });
            if spot != Spot::Rest && (!adds || !told.last.is_with(last)) {
                told.messages.clear();
            }
            told.last = last;
            for message in &said {
                match told.messages.iter_mut().find(|it| it.from == message.from) {
                    Some(it) => {
                        it.clock.join(&message.clock);
                        it.said = is_grid.then(|| it.clock.say(last.cluster));
                    }
                    None => told.messages.push(message.clone()),
                }
            }
        }
    }

    /// A weak write replaces what was said.
    pub(super) fn forget_messages(&mut self, place: Place) {
        match (place, self.between.as_deref_mut()) {
            (Place::Global(_), Some(between)) => between.messages.forget(place),
            _ => self.messages.forget(place),
        }
    }
}
