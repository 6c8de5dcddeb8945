//! Every state that a program can come to.
//!
//! Order is a set of events for each warp. What is observed follows PTX's memory model: a read observes the write that
//! it reads, and through atomic operations those before it, where each pair is morally strong; an observed release
//! pattern synchronises with the acquire pattern that observes it if both are in the scope of each other.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::program::{FLAGS, MOST, Op, PIECES, Program, Scope};

/// What some interleaving does wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Truth {
    pub(super) deadlock: bool,
    pub(super) race: bool,
}

type Events = u64;

/// A release pattern: the warp and the scope of its first operation, and what happened before.
type Pattern = (usize, Scope, Events);

/// A write of a flag: its warp, its scope, and the release patterns that end in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Write {
    warp: usize,
    scope: Scope,
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Warp {
    at: usize,
    /// Whether it has come to the barrier that it is at.
    waits: bool,
    known: Events,
    /// Its fences, and the release patterns that its reads have observed.
    fences: Vec<(Scope, Events)>,
    observed: Vec<Pattern>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    warps: Vec<Warp>,
    /// The writes of each flag.
    flags: [Vec<Write>; FLAGS],
    /// What is told at the barriers of CTAs, and of clusters.
    synced: BTreeMap<usize, Events>,
    met: BTreeMap<usize, Events>,
    /// By fence of the whole GPU: what happened before.
    fenced: BTreeMap<usize, Events>,
    done: Events,
}

/// An access of an event: of which place, whether it writes, and with which scope.
type Touch = (usize, bool, Option<Scope>);

struct Explorer<'p> {
    program: &'p Program,
    touches: HashMap<usize, Touch>,
    truth: Truth,
}

/// What can go wrong; nothing if there are more states than that.
pub(super) fn explore(program: &Program, most: usize) -> Option<Truth> {
    let mut explorer = Explorer { program, touches: HashMap::new(), truth: Truth::default() };
    for (warp, ops) in program.ops.iter().enumerate() {
        for (at, op) in ops.iter().enumerate() {
            let touch = match *op {
                Op::Store(piece, scope) => (piece, true, scope),
                Op::Load(piece, scope) => (piece, false, scope),
                Op::Raise(flag, _, scope) | Op::Last(flag, _, scope) => (PIECES + flag, true, Some(scope)),
                Op::Watch(flag, _, scope) => (PIECES + flag, false, Some(scope)),
                Op::Fence(..) | Op::Sync | Op::Meet(_) => continue,
            };
            explorer.touches.insert(warp * MOST + at, touch);
        }
    }
    let start = State { warps: vec![Warp::default(); program.ops.len()], ..State::default() };
    let mut seen = HashSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        if seen.len() > most {
            return None;
        }
        let next: Vec<State> =
            (0..program.ops.len()).filter_map(|warp| explorer.step(&state, warp)).collect();
        explorer.truth.deadlock |=
            next.is_empty() && !(0..program.ops.len()).all(|it| explorer.is_over(&state, it));
        for state in next {
            if seen.insert(state.clone()) {
                work.push(state);
            }
        }
    }
    Some(explorer.truth)
}

impl Explorer<'_> {
    fn is_over(&self, state: &State, warp: usize) -> bool {
        state.warps[warp].at >= self.program.ops[warp].len()
    }

    /// Whether both operations, of these warps and scopes, are morally strong.
    fn are_strong(&self, (one, first): (usize, Scope), (other, second): (usize, Scope)) -> bool {
        let needed = self.program.scope_of(one, other);
        first >= needed && second >= needed
    }

    fn touch(&mut self, state: &State, event: usize) {
        let Some((place, writes, scope)) = self.touches.get(&event).copied() else { return };
        let known = state.warps[event / MOST].known;
        for (other, (at, other_writes, other_scope)) in &self.touches {
            let has_happened = state.done >> other & 1 != 0;
            let conflicts = *at == place && (writes || *other_writes);
            let is_data = match (scope, *other_scope) {
                (None, None) => true,
                (Some(one), Some(two)) => !self.are_strong((event / MOST, one), (other / MOST, two)),
                // One may be a flag.
                _ => false,
            };
            self.truth.race |= has_happened && conflicts && is_data && known >> other & 1 == 0;
        }
    }

    /// Lets those go on who have all come to a barrier.
    fn meet(&self, state: &mut State, op: Op, warps: &[usize], told: Events) -> bool {
        let is_here = |it: &usize| state.warps[*it].waits && self.program.ops[*it][state.warps[*it].at] == op;
        if !warps.iter().all(|it| self.is_over(state, *it) || is_here(it)) {
            return false;
        }
        for warp in warps {
            if !self.is_over(state, *warp) {
                let it = &mut state.warps[*warp];
                it.known |= told | 1 << (warp * MOST + it.at);
                it.at += 1;
                it.waits = false;
            }
        }
        true
    }

    /// Whether a barrier is complete; an end of a warp may complete that of a cluster.
    fn end_barriers(&self, state: &mut State) {
        let program = self.program;
        let count = program.ops.len();
        for cta in 0..count / program.warps {
            let warps: Vec<usize> = (0..count).filter(|it| program.cta_of(*it) == cta).collect();
            // All of its threads are awaited, whether they have ended or not.
            if let Some(told) = state.synced.get(&cta).copied()
                && warps.iter().all(|it| !self.is_over(state, *it))
                && self.meet(state, Op::Sync, &warps, told)
            {
                state.synced.remove(&cta);
            }
        }
        for cluster in 0..count / program.warps / program.ctas {
            let warps: Vec<usize> = (0..count).filter(|it| program.cluster_of(*it) == cluster).collect();
            let Some(told) = state.met.get(&cluster).copied() else { continue };
            // Some may arrive with a release and others without.
            let is_here = |it: &usize| {
                let warp = &state.warps[*it];
                self.is_over(state, *it) || warp.waits && matches!(program.ops[*it][warp.at], Op::Meet(_))
            };
            if warps.iter().all(is_here) {
                state.met.remove(&cluster);
                for warp in warps {
                    if !self.is_over(state, warp) {
                        let it = &mut state.warps[warp];
                        it.known |= told | 1 << (warp * MOST + it.at);
                        it.at += 1;
                        it.waits = false;
                    }
                }
            }
        }
    }

    /// The release patterns that a write of a warp ends.
    fn patterns(&self, state: &State, warp: usize, releases: Option<Scope>) -> Vec<Pattern> {
        let own = &state.warps[warp];
        let mut patterns: Vec<Pattern> =
            own.fences.iter().map(|(scope, known)| (warp, *scope, *known)).collect();
        // What others of the cluster have fenced for the whole GPU is published, too, where that is known.
        let fences = state.fenced.iter().filter(|(event, _)| own.known >> **event & 1 != 0);
        let fences = fences
            .filter(|(event, _)| self.program.cluster_of(**event / MOST) == self.program.cluster_of(warp));
        patterns.extend(fences.map(|(_, known)| (warp, Scope::Gpu, *known)));
        patterns.extend(releases.map(|scope| (warp, scope, own.known)));
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    /// A warp reads a flag.
    fn observe(&self, state: &mut State, warp: usize, (flag, scope): (usize, Scope), acquires: bool) {
        let mut reader = (warp, scope);
        // Each of several writes is an atomic operation, which reads the one before it.
        for write in state.flags[flag].clone().iter().rev() {
            if !self.are_strong(reader, (write.warp, write.scope)) {
                break;
            }
            reader = (write.warp, write.scope);
            for pattern in &write.patterns {
                if acquires && self.are_strong((warp, scope), (pattern.0, pattern.1)) {
                    state.warps[warp].known |= pattern.2;
                }
                state.warps[warp].observed.push(*pattern);
            }
        }
        let observed = &mut state.warps[warp].observed;
        observed.sort_unstable();
        observed.dedup();
    }

    /// What a warp does next, if it can go on.
    fn step(&mut self, old: &State, warp: usize) -> Option<State> {
        let at = old.warps[warp].at;
        let number = warp * MOST + at;
        let op = *self.program.ops[warp].get(at)?;
        if old.warps[warp].waits {
            return None;
        }
        let mut state = old.clone();
        let known = old.warps[warp].known;
        match op {
            Op::Store(..) | Op::Load(..) => self.touch(old, number),
            Op::Raise(flag, releases, scope) => {
                self.touch(old, number);
                let patterns = self.patterns(old, warp, releases.then_some(scope));
                state.flags[flag].push(Write { warp, scope, patterns });
            }
            Op::Watch(flag, acquires, scope) => {
                // It reads, whether it goes on or not.
                self.touch(old, number);
                if (old.flags[flag].len() as u32) < self.program.raises(flag).max(1) {
                    return None;
                }
                self.observe(&mut state, warp, (flag, scope), acquires);
            }
            Op::Last(flag, both, scope) => {
                self.touch(old, number);
                self.observe(&mut state, warp, (flag, scope), both);
                let patterns = self.patterns(&state, warp, both.then_some(scope));
                state.flags[flag].push(Write { warp, scope, patterns });
                if (state.flags[flag].len() as u32) < self.program.raises(flag) {
                    // It ends.
                    state.warps[warp].at = self.program.ops[warp].len();
                    state.warps[warp].known |= 1 << number;
                    state.done |= 1 << number;
                    self.end_barriers(&mut state);
                    return Some(state);
                }
            }
            Op::Fence(_, scope) => {
                let observed = state.warps[warp].observed.clone();
                for pattern in observed {
                    if self.are_strong((warp, scope), (pattern.0, pattern.1)) {
                        state.warps[warp].known |= pattern.2;
                    }
                }
                let known = state.warps[warp].known;
                state.warps[warp].fences.push((scope, known));
                if scope == Scope::Gpu {
                    state.fenced.insert(number, known);
                }
            }
            Op::Sync => {
                *state.synced.entry(self.program.cta_of(warp)).or_default() |= known;
                state.warps[warp].waits = true;
                self.end_barriers(&mut state);
                return Some(state);
            }
            Op::Meet(releases) => {
                // What is not released by the arrival is released by fences.
                let fences = state.warps[warp].fences.iter();
                let fenced = fences.filter(|(scope, _)| *scope >= Scope::Cluster);
                let fenced = fenced.fold(0, |all, (_, known)| all | known);
                let told = if releases { known } else { fenced };
                *state.met.entry(self.program.cluster_of(warp)).or_default() |= told;
                state.warps[warp].waits = true;
                self.end_barriers(&mut state);
                return Some(state);
            }
        }
        let it = &mut state.warps[warp];
        it.at += 1;
        it.known |= 1 << number;
        state.done |= 1 << number;
        self.end_barriers(&mut state);
        Some(state)
    }
}
