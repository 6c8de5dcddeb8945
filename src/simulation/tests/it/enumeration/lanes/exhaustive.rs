//! Every state that a program can come to.
//!
//! Each lane knows a set of events. Within a warp, races are not looked for; that a lane has loaded something, and what
//! one has acquired, is known to all of its warp.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::program::{BARRIERS, FLAGS, LANES, MOST, Op, Program};

/// What some interleaving does wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Truth {
    pub(super) phase: bool,
    pub(super) deadlock: bool,
    pub(super) race: bool,
}

/// By warp, operation and lane.
type Events = u128;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Warp {
    at: usize,
    waits: bool,
    /// By lane: what it knows, and what it knew at its last fence.
    known: [Events; LANES],
    fenced: [Events; LANES],
    heard: Events,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Barrier {
    pending: u32,
    phase: u32,
    arrived: Events,
    released: Events,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    warps: Vec<Warp>,
    barriers: [Barrier; BARRIERS],
    flags: [(u32, Events); FLAGS],
    /// Warps at the barrier of the CTA, and what they know.
    synced: (usize, Events),
    /// By fence of a lane: what happened before.
    fences: BTreeMap<usize, Events>,
    done: Events,
}

struct Explorer<'p> {
    program: &'p Program,
    /// By event: the piece and the word, and whether it writes.
    touches: HashMap<usize, (usize, usize, bool)>,
    /// By operation: the phases that it may belong to; by wait: those in which it does not pass.
    phases: HashMap<usize, HashSet<u32>>,
    stuck: HashMap<usize, HashSet<u32>>,
    /// Whether a phase ends between the arrivals of one instruction, whose order nothing says.
    is_cut: bool,
    truth: Truth,
}

fn event(warp: usize, at: usize, lane: usize) -> usize {
    (warp * MOST + at) * LANES + lane
}

/// What can go wrong; nothing if there are more states than that, or if it depends on the order of lanes.
pub(super) fn explore(program: &Program, most: usize) -> Option<Truth> {
    let mut explorer = Explorer {
        program,
        touches: HashMap::new(),
        phases: HashMap::new(),
        stuck: HashMap::new(),
        is_cut: false,
        truth: Truth::default(),
    };
    for (warp, ops) in program.warps.iter().enumerate() {
        for (at, op) in ops.iter().enumerate() {
            match *op {
                Op::Store(lane, piece, word) => {
                    explorer.touches.insert(event(warp, at, lane), (piece, word, true));
                }
                Op::Load(lane, piece, word) => {
                    explorer.touches.insert(event(warp, at, lane), (piece, word, false));
                }
                Op::StoreEach(piece) => {
                    for lane in 0..LANES {
                        explorer.touches.insert(event(warp, at, lane), (piece, lane, true));
                    }
                }
                _ => {}
            }
        }
    }
    let mut start = State { warps: vec![Warp::default(); program.warps.len()], ..State::default() };
    for (barrier, count) in start.barriers.iter_mut().zip(program.counts) {
        barrier.pending = count;
    }
    let mut seen = HashSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        if seen.len() > most || explorer.is_cut {
            return None;
        }
        let count = program.warps.len();
        let next: Vec<State> = (0..count).filter_map(|warp| explorer.step(&state, warp)).collect();
        let is_over = (0..count).all(|warp| state.warps[warp].at >= program.warps[warp].len());
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
    /// An access of a lane.
    fn touch(&mut self, state: &mut State, warp: usize, lane: usize) {
        let number = event(warp, state.warps[warp].at, lane);
        let (piece, word, writes) = self.touches[&number];
        // What others of the warp have acquired, it knows, too.
        let known = state.warps[warp].known.iter().fold(0, |all, known| all | known);
        for (other, (other_piece, other_word, other_writes)) in &self.touches {
            let is_other = other / LANES / MOST != warp;
            let conflicts = (*other_piece, *other_word) == (piece, word) && (writes || *other_writes);
            let has_happened = state.done >> other & 1 != 0;
            self.truth.race |= is_other && conflicts && has_happened && known >> other & 1 == 0;
        }
        state.done |= 1 << number;
        let own = &mut state.warps[warp].known;
        if writes {
            own[lane] |= 1 << number;
        } else {
            for known in own {
                *known |= 1 << number;
            }
        }
    }

    fn arrive(&mut self, state: &mut State, (warp, lane): (usize, usize), barrier: usize) {
        let number = event(warp, state.warps[warp].at, lane);
        let it = &mut state.barriers[barrier];
        self.phases.entry(number).or_default().insert(it.phase);
        it.arrived |= state.warps[warp].known[lane];
        match it.pending.checked_sub(1) {
            Some(pending) => it.pending = pending,
            None => self.truth.phase = true,
        }
        if it.pending == 0 {
            it.phase += 1;
            it.pending = self.program.counts[barrier];
            it.released |= it.arrived;
        }
    }

    /// What a warp does next, if it can go on.
    fn step(&mut self, old: &State, warp: usize) -> Option<State> {
        let at = old.warps[warp].at;
        let op = *self.program.warps[warp].get(at)?;
        if old.warps[warp].waits {
            return None;
        }
        let mut state = old.clone();
        let join = |warp: &mut Warp, lanes: usize| {
            let all = warp.known[..lanes].iter().fold(0, |all, known| all | known);
            warp.known[..lanes].iter_mut().for_each(|known| *known |= all);
        };
        let mut learned = 0;
        match op {
            Op::Store(lane, ..) | Op::Load(lane, ..) => self.touch(&mut state, warp, lane),
            Op::StoreEach(_) => (0..LANES).for_each(|lane| self.touch(&mut state, warp, lane)),
            Op::Arrive(lane, barrier) => self.arrive(&mut state, (warp, lane), barrier),
            Op::ArriveEach(barrier) => {
                let before = old.barriers[barrier].pending as usize;
                self.is_cut |= before < LANES;
                (0..LANES).for_each(|lane| self.arrive(&mut state, (warp, lane), barrier));
            }
            Op::Wait(barrier, parity) => {
                let it = &old.barriers[barrier];
                let passes = it.phase & 1 != parity;
                let phases = if passes { &mut self.phases } else { &mut self.stuck };
                phases.entry(event(warp, at, 0)).or_default().insert(it.phase);
                if !passes {
                    return None;
                }
                learned = it.released;
            }
            Op::WarpSync(true) | Op::Shuffle => join(&mut state.warps[warp], LANES),
            Op::WarpSync(false) => join(&mut state.warps[warp], 2),
            Op::Elect => {}
            Op::Sync => {
                let it = &mut state.warps[warp];
                it.waits = true;
                let known = it.known.iter().fold(0, |all, known| all | known);
                state.synced = (old.synced.0 + 1, old.synced.1 | known);
                if state.synced.0 == self.program.warps.len() {
                    let told = std::mem::take(&mut state.synced).1;
                    for it in &mut state.warps {
                        it.waits = false;
                        it.at += 1;
                        it.known = [told; LANES];
                    }
                }
                return Some(state);
            }
            Op::Raise(lane, flag, release) => {
                let own = &state.warps[warp];
                let mut said = own.fenced[lane];
                // What others have fenced is published, too, where that is known.
                let known = own.known[lane];
                for (_, fenced) in state.fences.iter().filter(|(event, _)| known >> **event & 1 != 0) {
                    said |= fenced;
                }
                if release {
                    said |= known;
                }
                state.flags[flag].0 += 1;
                state.flags[flag].1 |= said;
            }
            Op::Watch(flag, acquire) => {
                let (value, said) = old.flags[flag];
                if value < self.program.raises(flag).max(1) {
                    return None;
                }
                if acquire {
                    learned = said;
                } else {
                    state.warps[warp].heard |= said;
                }
            }
            Op::Fence => {
                let it = &mut state.warps[warp];
                for lane in 0..LANES {
                    it.known[lane] |= it.heard;
                    it.fenced[lane] = it.known[lane];
                    state.fences.insert(event(warp, at, lane), it.known[lane]);
                    it.known[lane] |= 1 << event(warp, at, lane);
                }
            }
        }
        let it = &mut state.warps[warp];
        it.at += 1;
        for known in &mut it.known {
            *known |= learned;
        }
        Some(state)
    }
}
