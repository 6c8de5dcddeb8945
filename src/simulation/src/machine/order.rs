//! Order by memory: what threads that read a value learn from those who wrote it (PTX ISA, "Memory
//! Consistency Model").
//!
//! A release leaves a message beside the value: what its thread knows. An atomic operation adds to it,
//! another write replaces it. Who reads the value learns the message: at once by an acquire, otherwise
//! with its next fence. What a thread writes behind a fence says what was known at the fence. The CTA's
//! own scope tells other CTAs nothing.

use rustc_hash::FxHashMap;

use super::Machine;
use super::places::Place;
use super::warp::Strand;
use crate::clock::Clock;
use crate::program::{ProxyFence, Scope, Strength};

/// More places have a message together.
const MOST_PLACES: usize = 1 << 14;

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

/// What someone knew who wrote.
#[derive(Clone, Debug)]
struct Message {
    /// Its CTA.
    cta: u32,
    /// To whom it is told.
    scope: Scope,
    clock: Clock,
}

/// The messages beside all values.
#[derive(Debug, Default)]
pub(super) struct Messages(FxHashMap<Spot, Vec<Message>>);

/// What a warp has published by fences, and what it will know at the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    /// What was known at the last fence of any scope, and of one that other CTAs take part in.
    own: Clock,
    wide: Clock,
    /// The messages that were read: of the own CTA, and of others.
    seen: Clock,
    seen_of_others: Clock,
    /// Of the barriers: what is known to be initialised at the last `fence.mbarrier_init`.
    initialised: Clock,
}

impl Messages {
    fn spot(&self, place: Place) -> Option<Spot> {
        let spot = match place {
            Place::Global(address) => Spot::Global(address),
            Place::Shared { cta, offset } => Spot::Shared { cta, offset },
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => return None,
        };
        let is_full = self.0.len() >= MOST_PLACES && !self.0.contains_key(&spot);
        Some(if is_full { Spot::Rest } else { spot })
    }

    /// A weak write replaces what was said.
    pub(super) fn forget(&mut self, place: Place) {
        if !self.0.is_empty()
            && let Some(spot) = self.spot(place)
            && spot != Spot::Rest
        {
            self.0.remove(&spot);
        }
    }
}

impl Fences {
    /// What is published without a release.
    pub(super) fn published(&self, scope: Scope) -> &Clock {
        match scope {
            Scope::Cta => &self.own,
            Scope::Wide => &self.wide,
        }
    }

    /// What an arrival at a barrier tells that is no release.
    pub(super) fn tell(&self, scope: Scope, to: &mut Clock) {
        to.join(self.published(scope));
        to.join(&self.initialised);
    }

    /// What a wait was told that is no acquire.
    pub(super) fn hear(&mut self, clock: &Clock) {
        self.seen.join(clock);
    }

    pub(super) fn initialise(&mut self, clock: &Clock) {
        self.initialised.join(clock);
    }
}

impl Machine<'_> {
    /// A fence between threads.
    pub(super) fn fence(&mut self, strand: &Strand, strength: Strength) {
        self.fence_between(strength);
        if strength.releases && strength.scope == Scope::Wide {
            self.defer_stores(strand.warp);
        }
        let warp = &mut self.warps[strand.warp as usize];
        if strength.acquires {
            warp.clock.join(&warp.fences.seen);
            if strength.scope == Scope::Wide {
                warp.clock.join(&warp.fences.seen_of_others);
            }
        }
        if strength.releases {
            warp.fences.own.join(&warp.clock);
            if strength.scope == Scope::Wide {
                warp.fences.wide.join(&warp.clock);
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
            ProxyFence::All => warp.clock.fence(),
            ProxyFence::Acquired => {
                let copies = warp.copies.queue().and_then(|queue| queue_agents.get(&queue));
                warp.clock.fence_acquired(&[Some(warp.agent), copies.map(|(agent, _)| *agent)]);
            }
        }
        // What comes behind it is not shown.
        warp.clock.advance(warp.agent);
    }

    /// Threads have read what is at these places, and not weakly.
    pub(super) fn hear(&mut self, strand: &Strand, places: &[Place], strength: Strength) {
        self.hear_between(places, strength);
        self.warps[strand.warp as usize].unsynchronised.acquire();
        if self.messages.0.is_empty() {
            return;
        }
        let Self { messages, warps, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        for place in places {
            let Some(spot) = messages.spot(*place) else { continue };
            for message in messages.0.get(&spot).into_iter().flatten() {
                let is_own = message.cta == warp.cta;
                if !is_own && (message.scope == Scope::Cta || strength.scope == Scope::Cta) {
                    continue;
                }
                if strength.acquires {
                    warp.clock.join(&message.clock);
                } else if is_own {
                    warp.fences.seen.join(&message.clock);
                } else {
                    warp.fences.seen_of_others.join(&message.clock);
                }
            }
        }
    }

    /// Threads have written there, and not weakly; `adds` to what was there.
    pub(super) fn tell(&mut self, strand: &Strand, places: &[Place], strength: Strength, adds: bool) {
        self.tell_between(places, strength, adds);
        if strength.releases && strength.scope == Scope::Wide {
            self.defer_stores(strand.warp);
        }
        let Self { messages, warps, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        let cta = warp.cta;
        let mut said: Vec<Message> = Vec::new();
        if strength.releases {
            said.push(Message { cta, scope: strength.scope, clock: warp.clock.clone() });
            warp.clock.advance(warp.agent);
        } else {
            for scope in [Scope::Cta, Scope::Wide] {
                let clock = warp.fences.published(scope);
                if *clock != Clock::default() && (scope == Scope::Cta || strength.scope == Scope::Wide) {
                    said.push(Message { cta, scope, clock: clock.clone() });
                }
            }
        }
        for place in places {
            let Some(spot) = messages.spot(*place) else { continue };
            if !adds && spot != Spot::Rest {
                if said.is_empty() {
                    messages.0.remove(&spot);
                } else {
                    messages.0.insert(spot, said.clone());
                }
                continue;
            }
            if said.is_empty() {
                continue;
            }
            let known = messages.0.entry(spot).or_default();
            for message in &said {
                match known.iter_mut().find(|it| it.cta == cta && it.scope == message.scope) {
                    Some(it) => it.clock.join(&message.clock),
                    None => known.push(message.clone()),
                }
            }
        }
    }
}
