//! Waits that nobody gets past: the phase that they are for, only those complete who wait for each other.
//!
//! The first wait for an empty buffer has to be one for the phase before the first, parity 1. With 0, the one who
//! fills waits for the one who empties, who waits for what has been filled. What is said here is certain: each arrival at
//! the mbarrier comes behind a wait that is not over before another one is, and so on until that is the first one again.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Why, WrongParity};
use crate::analysis::cfg::BlockId;
use crate::analysis::flow::Flow;
use crate::analysis::mbarriers::{Mbarrier, Several, Use, Used};
use crate::isa::generic::Flag;
use crate::resolve::symbols::Resolution;

/// Kernels with more waits or arrivals have them in the text once for each round.
const MOST: usize = 32;

/// A wait for the first phase, and where it leads to.
struct Held<'u> {
    wait: &'u Used,
    block: BlockId,
    /// What arrives at its mbarrier.
    arrivals: SmallVec<[u32; 4]>,
    /// By block, when it was asked for: whether that can be reached though the wait has failed.
    passed_by: Option<Vec<bool>>,
    /// Whether the phase may be over at some time.
    ends: bool,
}

impl Flow<'_> {
    /// Waits of this kernel for a first phase that never ends, for each mbarrier the first. `elsewhere` is used by what
    /// is called.
    pub(super) fn waits_in_circles(&self, elsewhere: &Several<()>) -> Vec<WrongParity> {
        let used = self.mbarriers();
        let arrivals: Option<Vec<(Mbarrier, u32)>> = used
            .iter()
            .filter(|it| it.how.arrives())
            .map(|it| Some((it.mbarrier?, it.instruction)))
            .collect();
        let Some(arrivals) = arrivals else { return Vec::new() };
        let waits = || used.iter().filter(|it| it.how == Use::Waits);
        if arrivals.is_empty() || arrivals.len() > MOST || waits().count() > MOST {
            return Vec::new();
        }
        let cfg = self.cfg();
        let mut known: FxHashMap<Mbarrier, SmallVec<[u32; 4]>> = FxHashMap::default();
        let mut held: Vec<Held<'_>> = Vec::new();
        for wait in waits() {
            let (Some(mbarrier), Some(block)) = (wait.mbarrier, cfg.block_of(wait.instruction)) else {
                continue;
            };
            if self.first_parity(wait) != Some(false) {
                continue;
            }
            if !self.facts.budget.take(arrivals.len() as u64) {
                return Vec::new();
            }
            let arrivals = known.entry(mbarrier).or_insert_with(|| {
                let may_be = |(other, _): &&(Mbarrier, u32)| self.may_be_same(other, &mbarrier);
                arrivals.iter().filter(may_be).map(|(_, at)| *at).collect()
            });
            // Where nothing arrives, another rule says so.
            if arrivals.is_empty() || self.may_be_one_of(&mbarrier, elsewhere) {
                continue;
            }
            held.push(Held { wait, block, arrivals: arrivals.clone(), passed_by: None, ends: false });
        }
        // Nearly always there is no circle in the graph.
        self.let_go(&mut held);
        held.retain(|it| !it.ends);
        for it in &mut held {
            let Some(passed_by) = self.passed_by(it.wait, it.block) else { return Vec::new() };
            it.passed_by = Some(passed_by);
        }
        self.let_go(&mut held);
        held.retain(|it| !it.ends);
        // One of them is wrong: rather the wait for what is told to be free again than the one for what is filled.
        let fills = |it: &Held<'_>| it.arrivals.iter().map(|at| self.fills(*at)).max();
        let Some(first) = held.iter().min_by_key(|it| fills(it)) else { return Vec::new() };
        let of = |at: u32| used.iter().find(|used| used.instruction == at).copied();
        let Some(arrival) = first.arrivals.first().and_then(|at| of(*at)) else { return Vec::new() };
        let before = held.iter().find(|before| self.keeps(before, arrival.instruction));
        let why = Why::Circle { before: before.map_or(first.wait.span, |it| it.wait.span) };
        vec![WrongParity { wait: *first.wait, arrival, parity: false, why }]
    }

    /// How much an arrival looks like one that tells that something is filled.
    fn fills(&self, arrival: u32) -> u32 {
        let opcode = self.unit.operations.of(arrival);
        if opcode.has_flag(Flag::ExpectTx) { 2 } else { u32::from(opcode.tensor.is_some()) }
    }

    /// Says of those waits that they end whose mbarrier something may arrive at that none of the others keeps from it.
    fn let_go(&self, held: &mut [Held<'_>]) {
        loop {
            let is_free = |at: u32| !held.iter().any(|it| !it.ends && self.keeps(it, at));
            let next = held.iter().position(|it| !it.ends && it.arrivals.iter().any(|at| is_free(*at)));
            match next.and_then(|at| held.get_mut(at)) {
                Some(held) => held.ends = true,
                None => return,
            }
        }
    }

    /// Whether only those execute an instruction who got past a wait.
    fn keeps(&self, held: &Held<'_>, instruction: u32) -> bool {
        self.facts.budget.take(1);
        let Some(block) = self.cfg().block_of(instruction) else { return false };
        block != held.block
            && self.cfg().dominates(held.block, block)
            && held.passed_by.as_ref().is_none_or(|passed_by| !passed_by[block.index()])
    }

    /// The blocks that a thread can reach behind a wait that has failed before it waits again; nothing if it is not known
    /// what becomes of the result.
    fn passed_by(&self, wait: &Used, block: BlockId) -> Option<Vec<bool>> {
        let (cfg, unit) = (self.cfg(), self.unit);
        let everything = || Some(vec![true; cfg.len()]);
        let content = cfg.block(block);
        let Some(branch) = content.branch.filter(|_| content.successors.len() == 2) else {
            return everything();
        };
        let raw = &unit.module.instructions[branch as usize];
        let (Some(guard), Resolution::Register(register)) =
            (unit.module.guard(raw), unit.symbols.guard(branch))
        else {
            return everything();
        };
        let view = self.facts.view(unit);
        let made = view.only(branch, register).map(|id| *view.definitions.get(id));
        if !made.is_some_and(|made| made.instruction == wait.instruction && !made.guarded) {
            return everything();
        }
        let next = block.next();
        let fails = |to: &&BlockId| (**to == next) != guard.negated;
        let mut passed = vec![false; cfg.len()];
        let mut work: Vec<BlockId> = content.successors.iter().filter(fails).copied().collect();
        if work.len() != 1 {
            return everything();
        }
        while let Some(at) = work.pop() {
            if at == block || std::mem::replace(&mut passed[at.index()], true) {
                continue;
            }
            self.facts.budget.take(1).then_some(())?;
            work.extend(cfg.block(at).successors.iter().copied());
        }
        Some(passed)
    }
}
