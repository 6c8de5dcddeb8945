//! Waits that nobody gets past: the phase that they are for, only those complete who wait for each other.
//!
//! The first wait for an empty buffer has to be one for the phase before the first, parity 1. With 0, the one who
//! fills waits for the one who empties, who waits for what has been filled. What is said here is certain: of some waits,
//! nobody gets past any without having got past another one of them before. Without those ways past them, a thread
//! comes to each of them with parity 0 only, and to nothing that arrives at their mbarriers. So it does not matter how
//! often a wait stands in the text: of a loop that is unrolled, all iterations wait, and so do those that are left.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Why, WrongParity};
use crate::cfg::{BlockId, OfBlocks};
use crate::flow::Flow;
use crate::isa::generic::Flag;
use crate::mbarriers::{Mbarrier, Several, Use, Used};
use crate::resolve::symbols::Resolution;

/// Kernels with more waits or arrivals have them in the text once for each iteration.
const MOST: usize = 32;

/// A wait for the first phase, and where it leads to.
struct Held<'u> {
    wait: &'u Used,
    block: BlockId,
    /// Where a thread goes on behind the wait, once that is over.
    past: BlockId,
    /// What arrives at its mbarrier.
    arrivals: SmallVec<[u32; 4]>,
    /// Whether the phase may be over at some time, or the parity not be 0.
    ends: bool,
}

impl Flow<'_> {
    /// Waits of this kernel for a first phase that never ends: the first one. `elsewhere` is used by what is called.
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
            let Some(past) = self.past(wait, block) else { continue };
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
            held.push(Held { wait, block, past, arrivals: arrivals.clone(), ends: false });
        }
        let Some(reached) = self.let_go(&mut held) else { return Vec::new() };
        // One of them is wrong: rather the wait for what is told to be free again than the one for what is filled.
        let fills = |it: &Held<'_>| it.arrivals.iter().map(|at| self.fills(*at)).max();
        let at_all = held.iter().filter(|it| reached[it.block.index()]);
        let Some(first) = at_all.min_by_key(|it| fills(it)) else { return Vec::new() };
        let of = |at: u32| used.iter().find(|used| used.instruction == at).copied();
        let Some(arrival) = first.arrivals.first().and_then(|at| of(*at)) else { return Vec::new() };
        let is_before = |before: &&Held<'_>| {
            let block = cfg.block_of(arrival.instruction);
            block.is_some_and(|block| block != before.block && cfg.dominates(before.block, block))
        };
        let before = held.iter().find(is_before);
        let why = Why::Circle { before: before.map_or(first.wait.span, |it| it.wait.span) };
        vec![WrongParity { wait: *first.wait, arrival, parity: false, why }]
    }

    /// How much an arrival looks like one that tells that something is filled.
    fn fills(&self, arrival: u32) -> u32 {
        let opcode = self.unit.operations.of(arrival);
        if opcode.has_flag(Flag::ExpectTx) { 2 } else { u32::from(opcode.tensor.is_some()) }
    }

    /// Leaves only waits that nobody gets past; returns the blocks that are reached all the same.
    fn let_go(&self, held: &mut Vec<Held<'_>>) -> Option<OfBlocks> {
        loop {
            if held.is_empty() {
                return None;
            }
            let reached = self.reached_without(held)?;
            let arrives = |at: u32| self.cfg().block_of(at).is_none_or(|block| reached[block.index()]);
            for it in &mut *held {
                it.ends = it.arrivals.iter().any(|at| arrives(*at));
            }
            // Which parities are left costs more.
            if !held.iter().any(|it| it.ends) {
                for it in &mut *held {
                    it.ends =
                        reached[it.block.index()] && self.first_parity(it.wait, &reached) != Some(false);
                }
            }
            let before = held.len();
            held.retain(|it| !it.ends);
            if held.len() == before {
                return Some(reached);
            }
        }
    }

    /// By block, whether a thread gets there without getting past one of these waits.
    fn reached_without(&self, held: &[Held<'_>]) -> Option<OfBlocks> {
        let cfg = self.cfg();
        let mut ways: FxHashMap<BlockId, BlockId> = FxHashMap::default();
        ways.extend(held.iter().map(|it| (it.block, it.past)));
        let mut blocks = cfg.walk(&self.facts.budget, [BlockId(0)]);
        while let Some(at) = blocks.pop() {
            let past = ways.get(&at);
            blocks.extend(cfg.block(at).successors.iter().copied().filter(|next| past != Some(next)));
        }
        blocks.reached()
    }

    /// Where a thread goes on from the block of a wait that is over, and from no other one: nothing if it is not known
    /// what becomes of the result.
    fn past(&self, wait: &Used, block: BlockId) -> Option<BlockId> {
        let (cfg, unit) = (self.cfg(), self.unit);
        let content = cfg.block(block);
        let [one, other] = content.successors[..] else { return None };
        let branch = content.branch?;
        let raw = &unit.module.instructions[branch as usize];
        let (Some(guard), Resolution::Register(register)) =
            (unit.module.guard(raw), unit.symbols.guard(branch))
        else {
            return None;
        };
        let view = self.facts.view(unit);
        let made = *view.definitions.get(view.only(branch, register)?);
        if made.instruction != wait.instruction || made.guarded {
            return None;
        }
        // It falls through where the branch is not taken.
        let falls = block.next();
        let taken = if one == falls { other } else { one };
        ((one == falls) != (other == falls)).then_some(if guard.negated { falls } else { taken })
    }
}
