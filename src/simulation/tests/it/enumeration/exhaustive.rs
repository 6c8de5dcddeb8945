//! Every state that a program can come to.

use std::collections::{HashMap, HashSet};

use super::program::{BARRIERS, BYTES, FLAGS, MOST, NAMED, Op, PIECES, Program};

/// What some interleaving does wrong.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is something of its own")]
pub(super) struct Truth {
    pub(super) phase: bool,
    pub(super) deadlock: bool,
    pub(super) race: bool,
    pub(super) proxy: bool,
}

/// Events: what warps do, and above [`LATER`] what their asynchronous operations do.
type Events = u64;

const LATER: usize = 32;

/// What happened before something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    events: Events,
    /// Of these, what the async proxy sees.
    shown: Events,
}

impl Known {
    fn join(&mut self, other: Self) {
        self.events |= other.events;
        self.shown |= other.shown;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Warp {
    at: usize,
    /// Whether it has come to the barrier that it is at.
    waits: bool,
    known: Known,
    /// What it knew at its last fence, and what it will know at the next one.
    fenced: Known,
    heard: Known,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Barrier {
    pending: u32,
    bytes: u32,
    phase: u32,
    arrived: Known,
    released: Known,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Named {
    generation: u32,
    warps: u32,
    known: Known,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    warps: Vec<Warp>,
    barriers: [Barrier; BARRIERS],
    named: [Named; NAMED],
    flags: [(u32, Known); FLAGS],
    /// Operations under way: their number, and what happened before they began.
    under_way: Vec<(usize, Known)>,
    /// What has happened.
    done: Events,
    /// By piece: the last write.
    last: [Option<usize>; PIECES],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Proxy {
    Generic,
    Async,
}

/// An access of an event: of which piece, whether it writes, and by whom.
type Touch = (usize, bool, Proxy);

/// All states of a program, and what was seen in them.
struct Explorer<'p> {
    program: &'p Program,
    /// By event: what it accesses.
    touches: HashMap<usize, Touch>,
    /// By operation: the phases that it may belong to.
    phases: HashMap<usize, HashSet<u32>>,
    /// By wait: the phases in which it does not pass.
    stuck: HashMap<usize, HashSet<u32>>,
    truth: Truth,
}

/// What can go wrong; nothing if there are more states than that.
pub(super) fn explore(program: &Program, most: usize) -> Option<Truth> {
    let mut explorer = Explorer {
        program,
        touches: HashMap::new(),
        phases: HashMap::new(),
        stuck: HashMap::new(),
        truth: Truth::default(),
    };
    for (warp, ops) in program.warps.iter().enumerate() {
        for (at, op) in ops.iter().enumerate() {
            let number = warp * MOST + at;
            let touch = match *op {
                Op::Store(piece) => (number, (piece, true, Proxy::Generic)),
                Op::Load(piece) => (number, (piece, false, Proxy::Generic)),
                Op::Fetch(piece, _) => (number + LATER, (piece, true, Proxy::Async)),
                Op::Put(piece) | Op::Multiply(piece) => (number + LATER, (piece, false, Proxy::Async)),
                Op::Copy(piece) => (number + LATER, (piece, true, Proxy::Generic)),
                _ => continue,
            };
            explorer.touches.insert(touch.0, touch.1);
        }
    }
    let mut start = State { warps: vec![Warp::default(); program.warps.len()], ..State::default() };
    for (barrier, count) in start.barriers.iter_mut().zip(program.counts) {
        barrier.pending = count;
    }
    let mut seen = HashSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        if seen.len() > most {
            return None;
        }
        let next = explorer.next(&state);
        let is_over = (0..program.warps.len()).all(|warp| state.warps[warp].at >= program.warps[warp].len());
        explorer.truth.deadlock |= next.is_empty() && !is_over;
        for state in next {
            if seen.insert(state.clone()) {
                work.push(state);
            }
        }
    }
    explorer.truth.phase |= explorer.phases.values().any(|phases| phases.len() > 1);
    // Who could go on finds another phase later.
    explorer.truth.phase |= explorer.stuck.iter().any(|(number, stuck)| {
        let passes = explorer.phases.get(number).and_then(|phases| phases.iter().min());
        passes.is_some_and(|first| stuck.iter().any(|phase| phase > first))
    });
    Some(explorer.truth)
}

impl Explorer<'_> {
    fn next(&mut self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for warp in 0..state.warps.len() {
            all.extend(self.step(state, warp));
        }
        for index in 0..state.under_way.len() {
            all.extend(self.perform(state, index));
        }
        all
    }

    fn op(&self, number: usize) -> Op {
        self.program.warps[number / MOST][number % MOST]
    }

    /// An access of an event, after what is known.
    fn touch(&mut self, state: &mut State, event: usize, known: Known) {
        let Some((piece, writes, proxy)) = self.touches.get(&event).copied() else {
            state.done |= 1 << event;
            return;
        };
        for (other, (at, other_writes, _)) in &self.touches {
            let has_happened = state.done >> other & 1 != 0;
            let conflicts = *at == piece && (writes || *other_writes);
            self.truth.race |= has_happened && conflicts && known.events >> other & 1 == 0;
        }
        if let Some(last) = state.last[piece]
            && self.touches[&last].2 == Proxy::Generic
            && proxy == Proxy::Async
            && !writes
        {
            self.truth.proxy |= known.events >> last & 1 != 0 && known.shown >> last & 1 == 0;
        }
        if writes {
            state.last[piece] = Some(event);
        }
        state.done |= 1 << event;
    }

    fn arrive(&mut self, state: &mut State, number: usize, barrier: usize, known: Known) {
        let it = &mut state.barriers[barrier];
        self.phases.entry(number).or_default().insert(it.phase);
        it.arrived.join(known);
        match it.pending.checked_sub(1) {
            Some(pending) => it.pending = pending,
            // Nobody can say which phase it counts for.
            None => self.truth.phase = true,
        }
        self.end_phase(state, barrier);
    }

    fn end_phase(&self, state: &mut State, barrier: usize) {
        let it = &mut state.barriers[barrier];
        if it.pending == 0 && it.bytes == 0 {
            it.phase += 1;
            it.pending = self.program.counts[barrier];
            let arrived = it.arrived;
            it.released.join(arrived);
        }
    }

    /// A warp comes to a barrier of the CTA.
    fn meet(&mut self, state: &mut State, number: usize, id: usize) {
        let named = &mut state.named[id];
        self.phases.entry(number).or_default().insert(named.generation);
        named.known.join(state.warps[number / MOST].known);
        named.warps += 1;
        if named.warps < self.program.warps_of[id] {
            return;
        }
        let known = named.known;
        *named = Named { generation: named.generation + 1, ..Named::default() };
        for (warp, ops) in state.warps.iter_mut().zip(&self.program.warps) {
            if warp.waits && ops[warp.at] == Op::Sync(id) {
                warp.waits = false;
                warp.at += 1;
                warp.known.join(known);
            }
        }
    }

    /// What a warp does next, if it can go on.
    fn step(&mut self, old: &State, warp: usize) -> Option<State> {
        let at = old.warps[warp].at;
        let number = warp * MOST + at;
        let op = *self.program.warps[warp].get(at)?;
        if old.warps[warp].waits {
            return None;
        }
        let mut state = old.clone();
        let known = state.warps[warp].known;
        let is_under_way = |of: fn(Op) -> bool| {
            old.under_way.iter().any(|(other, _)| other / MOST == warp && of(self.op(*other)))
        };
        // What operations of the warp have done by now.
        let finished = |of: fn(Op) -> bool| -> Events {
            let before = (0..at).filter(|at| of(self.program.warps[warp][*at]));
            before.fold(0, |all, at| all | 1 << (warp * MOST + at + LATER))
        };
        let mut learned = Known::default();
        match op {
            Op::Store(_) | Op::Load(_) => self.touch(&mut state, number, known),
            Op::Arrive(barrier) => self.arrive(&mut state, number, barrier, known),
            Op::Wait(barrier, parity) => {
                let it = &old.barriers[barrier];
                let passes = it.phase & 1 != parity;
                let phases = if passes { &mut self.phases } else { &mut self.stuck };
                phases.entry(number).or_default().insert(it.phase);
                if !passes {
                    return None;
                }
                learned = it.released;
            }
            Op::Fetch(_, barrier) => {
                state.barriers[barrier].bytes += BYTES;
                self.arrive(&mut state, number, barrier, known);
                state.under_way.push((number, known));
            }
            Op::Put(_) | Op::Copy(_) | Op::CopyArrive(_) | Op::Multiply(_) | Op::Commit(_) => {
                state.under_way.push((number, known));
            }
            Op::PutWait => {
                let is_put = |op| matches!(op, Op::Put(_));
                if is_under_way(is_put) {
                    return None;
                }
                learned.events = finished(is_put);
            }
            Op::CopyWait => {
                let is_copy = |op| matches!(op, Op::Copy(_));
                if is_under_way(is_copy) {
                    return None;
                }
                learned.events = finished(is_copy);
            }
            Op::Sync(id) => {
                state.warps[warp].waits = true;
                self.meet(&mut state, number, id);
                return Some(state);
            }
            Op::Pass(id) => self.meet(&mut state, number, id),
            Op::Raise(flag, release) => {
                state.flags[flag].0 += 1;
                let said = if release { known } else { state.warps[warp].fenced };
                state.flags[flag].1.join(said);
            }
            Op::Watch(flag, acquire) => {
                let (value, said) = old.flags[flag];
                if value < self.program.raises(flag).max(1) {
                    return None;
                }
                if acquire {
                    learned = said;
                } else {
                    state.warps[warp].heard.join(said);
                }
            }
            Op::Fence => {
                let it = &mut state.warps[warp];
                it.known.join(it.heard);
                it.fenced = it.known;
            }
            Op::ProxyFence => state.warps[warp].known.shown |= known.events,
        }
        let it = &mut state.warps[warp];
        it.at += 1;
        it.known.join(learned);
        it.known.events |= 1 << number;
        state.under_way.sort_unstable_by_key(|(number, _)| *number);
        Some(state)
    }

    /// An operation takes effect, if others need not come first.
    fn perform(&mut self, old: &State, index: usize) -> Option<State> {
        let (number, known) = old.under_way[index];
        let op = self.op(number);
        let waits_for = |of: fn(Op) -> bool| {
            old.under_way[..index]
                .iter()
                .any(|(other, _)| other / MOST == number / MOST && of(self.op(*other)))
        };
        let before = |of: fn(Op) -> bool| -> Events {
            let warp = number / MOST;
            (0..number % MOST)
                .filter(|at| of(self.program.warps[warp][*at]))
                .fold(0, |all, at| all | 1 << (warp * MOST + at + LATER))
        };
        let mut state = old.clone();
        state.under_way.remove(index);
        let mut known = known;
        match op {
            Op::Fetch(_, barrier) => {
                self.touch(&mut state, number + LATER, known);
                let it = &mut state.barriers[barrier];
                self.phases.entry(number + LATER).or_default().insert(it.phase);
                known.events |= 1 << (number + LATER);
                it.arrived.join(known);
                it.bytes -= BYTES;
                self.end_phase(&mut state, barrier);
            }
            Op::Put(_) | Op::Copy(_) | Op::Multiply(_) => self.touch(&mut state, number + LATER, known),
            Op::CopyArrive(barrier) => {
                // One behind another waits for at least as much.
                if waits_for(|op| matches!(op, Op::Copy(_) | Op::CopyArrive(_))) {
                    return None;
                }
                known.events |= before(|op| matches!(op, Op::Copy(_)));
                self.arrive(&mut state, number, barrier, known);
            }
            Op::Commit(barrier) => {
                if waits_for(|op| matches!(op, Op::Multiply(_) | Op::Commit(_))) {
                    return None;
                }
                known.events |= before(|op| matches!(op, Op::Multiply(_)));
                self.arrive(&mut state, number, barrier, known);
            }
            _ => {}
        }
        Some(state)
    }
}
