//! Which branches decide whether a block runs: control dependences (Ferrante, Ottenstein and
//! Warren), without a list of them for each block.
//!
//! An edge that leaves a branch decides about the blocks on a way up the tree of post-dominators:
//! from where it leads to the first that every way from the branch goes through. Many long ways
//! would be too much to write down (a loop in a loop in a loop decides about all that is in it), so
//! they are kept as what they are, two ends each. Who wants to know what decides about some blocks,
//! directly or not, [takes](Edges::take) each edge once; what an edge decides about is a
//! [way](Branches::way) up.

use std::ops::Range;

use smallvec::SmallVec;

use super::budget::Budget;
use super::cfg::{BlockId, Cfg};
use super::dominance::DominatorTree;

/// The tree of post-dominators and the edges that decide.
#[derive(Debug)]
pub(super) struct Branches {
    /// By block: the next one that every way from it goes through.
    next: Vec<u32>,
    /// By block: its place in a walk over the tree, and where that leaves it.
    ranges: Vec<Range<u32>>,
    /// By block: how many stand above it.
    depth: Vec<u32>,
    /// By where they lead to in a walk over the tree: the block that an edge leaves, and the depth of
    /// the block that all ways from there go through.
    edges: Vec<Edge>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    position: u32,
    branch: BlockId,
    until: u32,
}

/// An edge of the control flow that decides about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decides {
    /// From here
    pub(super) branch: BlockId,
    /// to there.
    pub(super) successor: BlockId,
}

/// What stands above the last block of a way.
const END: u32 = u32::MAX;

impl Branches {
    /// Finds the edges of a function.
    pub(super) fn new(cfg: &Cfg, budget: &Budget) -> Self {
        let tree = cfg.post_dominators();
        budget.take(cfg.len() as u64);
        let exit = cfg.len() as u32;
        let mut depth = vec![0; cfg.len()];
        let mut order: Vec<(u32, u32)> =
            (0..exit).filter_map(|block| Some((tree.position(block)?, block))).collect();
        order.sort_unstable();
        for (_, block) in &order {
            depth[*block as usize] = above(tree, exit, *block).map_or(1, |next| depth[next as usize] + 1);
        }
        let mut edges: Vec<Edge> = Vec::new();
        for (branch, block) in cfg.blocks() {
            if block.successors.len() + usize::from(block.leaves) < 2 || tree.immediate(branch.0).is_none() {
                continue;
            }
            let until = above(tree, exit, branch.0).map_or(0, |next| depth[next as usize]);
            let leads = |to: &BlockId| {
                let position = tree.position(to.0)?;
                // Where every way goes, no edge decides.
                (depth[to.index()] > until).then_some(Edge { position, branch, until })
            };
            edges.extend(block.successors.iter().filter_map(leads));
        }
        edges.sort_unstable_by_key(|edge| edge.position);
        Self {
            next: (0..exit).map(|block| above(tree, exit, block).unwrap_or(END)).collect(),
            ranges: (0..exit)
                .map(|block| tree.range(block).map_or(0..0, |(entered, left)| entered..left))
                .collect(),
            depth,
            edges,
        }
    }

    /// All blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = BlockId> {
        (0..self.next.len() as u32).map(BlockId)
    }

    /// All edges, none of them taken.
    pub(super) fn edges(&self) -> Edges {
        let leaves = self.edges.len().next_power_of_two();
        let mut least = vec![END; 2 * leaves];
        for (index, edge) in self.edges.iter().enumerate() {
            least[leaves + index] = edge.until;
        }
        for index in (1..leaves).rev() {
            least[index] = least[2 * index].min(least[2 * index + 1]);
        }
        Edges { least }
    }

    /// The blocks that an edge from `branch` to `successor` decides about.
    pub(super) fn way(&self, branch: BlockId, successor: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let stop = self.next[branch.index()];
        // What has no place in the tree decides about nothing.
        let first = Some(successor).filter(|_| !self.ranges[branch.index()].is_empty());
        let first = first.filter(|block| block.0 != stop);
        std::iter::successors(first, move |block| {
            let next = self.next[block.index()];
            (next != stop && next != END).then_some(BlockId(next))
        })
    }

    /// By block: the edges that decide about it, those of loops that it is in as well, if the `budget` is
    /// enough for that.
    pub(super) fn edges_to(&self, cfg: &Cfg, budget: &Budget) -> Option<Vec<Vec<Decides>>> {
        let mut edges = vec![Vec::new(); cfg.len()];
        for (branch, block) in cfg.blocks() {
            if block.successors.len() + usize::from(block.leaves) < 2 || !cfg.is_reachable(branch) {
                continue;
            }
            for successor in &block.successors {
                for block in self.way(branch, *successor) {
                    if !budget.take(1) {
                        return None;
                    }
                    edges[block.index()].push(Decides { branch, successor: *successor });
                }
            }
        }
        Some(edges)
    }

    /// Whether a block that stands above one of a branch's successors is on the way from there.
    pub(super) fn is_on_way(&self, branch: BlockId, block: BlockId) -> bool {
        let stop = self.next[branch.index()];
        let until = if stop == END { 0 } else { self.depth[stop as usize] };
        !self.ranges[branch.index()].is_empty() && self.depth[block.index()] > until
    }

    /// The block above one in the tree.
    pub(super) fn next(&self, block: BlockId) -> Option<BlockId> {
        Some(self.next[block.index()]).filter(|next| *next != END).map(BlockId)
    }
}

/// The block above one in the tree.
fn above(tree: &DominatorTree, exit: u32, block: u32) -> Option<u32> {
    tree.immediate(block).filter(|next| *next != exit)
}

/// Edges that were not taken yet.
#[derive(Debug)]
pub(super) struct Edges {
    /// A tree over the edges: of those below, the least depth that one's way ends at.
    least: Vec<u32>,
}

impl Edges {
    /// Takes the edges that decide about a block and calls `found` with the block that each leaves;
    /// false when that is more than the `budget` is enough for.
    pub(super) fn take(
        &mut self,
        control: &Branches,
        block: BlockId,
        budget: &Budget,
        found: &mut dyn FnMut(BlockId),
    ) -> bool {
        /// What it takes to find one of them, in steps of the budget.
        const EDGE: u64 = 8;
        let range = &control.ranges[block.index()];
        let start = control.edges.partition_point(|edge| edge.position < range.start);
        let end = control.edges.partition_point(|edge| edge.position < range.end);
        let below = control.depth[block.index()];
        let leaves = self.least.len() / 2;
        // Nodes of the tree with the edges below them.
        let mut work: SmallVec<[(usize, Range<usize>); 32]> = SmallVec::new();
        work.push((1, 0..leaves));
        while let Some((node, edges)) = work.pop() {
            if self.least[node] >= below || edges.end <= start || end <= edges.start {
                continue;
            }
            if node >= leaves {
                if !budget.take(EDGE) {
                    return false;
                }
                found(control.edges[edges.start].branch);
                self.least[node] = END;
                let mut node = node / 2;
                while node > 0 {
                    self.least[node] = self.least[2 * node].min(self.least[2 * node + 1]);
                    node /= 2;
                }
                continue;
            }
            let middle = usize::midpoint(edges.start, edges.end);
            work.push((2 * node + 1, middle..edges.end));
            work.push((2 * node, edges.start..middle));
        }
        true
    }
}

/// The branches that decide directly whether a block is entered, by block. What decides only whether a
/// loop goes on that the block is in does not count.
#[derive(Debug)]
pub(super) struct Deciding {
    pub(super) blocks: Vec<SmallVec<[(BlockId, Way); 1]>>,
    /// Whether these are all: the budget was enough.
    pub(super) is_complete: bool,
    /// Whether a branch decides about a block that comes before it, so that it may decide about
    /// itself: only in loops with several entries.
    pub(super) goes_back: bool,
}

/// By which of its edges a branch leads to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By the one to this block.
    Only(BlockId),
    /// By several.
    Several,
}

impl Deciding {
    pub(super) fn new(cfg: &Cfg, control: &Branches, budget: &Budget) -> Self {
        let blocks = vec![SmallVec::new(); cfg.len()];
        let mut this = Self { blocks, is_complete: false, goes_back: false };
        let mut position = vec![0; cfg.len()];
        for (at, block) in cfg.reverse_post_order().iter().enumerate() {
            position[block.index()] = at;
        }
        for (branch, block) in cfg.blocks() {
            if block.successors.len() + usize::from(block.leaves) < 2 || !cfg.is_reachable(branch) {
                continue;
            }
            for successor in &block.successors {
                // What lies behind a block that dominates the branch does so, too.
                for block in
                    control.way(branch, *successor).take_while(|block| !cfg.dominates(*block, branch))
                {
                    if !budget.take(1) {
                        return this;
                    }
                    this.goes_back |= position[block.index()] <= position[branch.index()];
                    let known = &mut this.blocks[block.index()];
                    match known.last_mut() {
                        // From here on they are all known.
                        Some((last, Way::Several)) if *last == branch => break,
                        Some((last, way)) if *last == branch => *way = Way::Several,
                        _ => known.push((branch, Way::Only(*successor))),
                    }
                }
            }
        }
        this.is_complete = true;
        this
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// The edges that decide about a block, by definition: it is on every way to the end from where the
    /// edge leads, and not on every one from where it starts.
    fn expected(cfg: &Cfg, block: BlockId) -> BTreeMap<BlockId, BTreeSet<BlockId>> {
        let mut edges: BTreeMap<BlockId, BTreeSet<BlockId>> = BTreeMap::new();
        for (branch, content) in cfg.blocks() {
            if content.successors.len() + usize::from(content.leaves) < 2 {
                continue;
            }
            for successor in &content.successors {
                let is_always = branch != block && cfg.post_dominates(block, branch);
                if cfg.post_dominates(block, *successor) && !is_always {
                    edges.entry(branch).or_default().insert(*successor);
                }
            }
        }
        edges
    }

    proptest! {
        #[test]
        fn branches_decide(lines in prop::collection::vec((0u8..4, 0usize..20), 1..20)) {
            let mut body = String::new();
            for (at, (kind, to)) in lines.iter().enumerate() {
                let to = to % lines.len();
                let _ = match kind {
                    0 => write!(body, "L{at}: bra L{to}; "),
                    1 | 2 => write!(body, "L{at}: @p bra L{to}; "),
                    _ => write!(body, "L{at}: @p ret; "),
                };
            }
            let text = format!(".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; {body} }}");
            let unit = Unit::new(&Source::new("t", text).unwrap());
            let (_, function) = unit.module.bodies().next().unwrap();
            let cfg = Cfg::new(&unit, function.body);
            let budget = Budget::default();
            let control = Branches::new(&cfg, &budget);
            let deciding = Deciding::new(&cfg, &control, &budget);
            let mut rest = control.edges();
            let mut all: BTreeSet<BlockId> = BTreeSet::new();
            let mut taken: BTreeSet<BlockId> = BTreeSet::new();
            for (block, _) in cfg.blocks() {
                let wanted = expected(&cfg, block);
                let mut found = BTreeSet::new();
                control.edges().take(&control, block, &budget, &mut |branch| {
                    found.insert(branch);
                });
                prop_assert_eq!(&found, &wanted.keys().copied().collect(), "{:?} in {}", block, body);
                // What is taken for one block is not taken again.
                all.extend(found);
                rest.take(&control, block, &budget, &mut |branch| {
                    taken.insert(branch);
                });
                let counts = |branch: &&BlockId| cfg.is_reachable(**branch) && !cfg.dominates(block, **branch);
                let wanted: BTreeSet<(BlockId, Option<BlockId>)> = wanted
                    .keys()
                    .filter(counts)
                    .map(|branch| (*branch, wanted[branch].first().copied().filter(|_| wanted[branch].len() == 1)))
                    .collect();
                let found: BTreeSet<(BlockId, Option<BlockId>)> = deciding.blocks[block.index()]
                    .iter()
                    .map(|(branch, way)| match way {
                        Way::Only(successor) => (*branch, Some(*successor)),
                        Way::Several => (*branch, None),
                    })
                    .collect();
                prop_assert_eq!(found, wanted, "{:?} in {}", block, body);
            }
            prop_assert_eq!(all, taken);
        }
    }
}
