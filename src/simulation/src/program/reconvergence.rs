//! Where the threads of a warp that took different ways come together again: at the immediate
//! post-dominator of the branch.
//!
//! Ways that end in a trap do not count: they are not expected to be taken, and what all others go
//! through is where a compiler makes the warp converge. Nor do those that end in `exit` where a function
//! returns elsewhere: nobody waits for threads that have ended. Nor do threads wait where all that is left is to end.

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{Action, NOWHERE, Program, Slice};
use crate::analysis::dominance::DominatorTree;

/// Fills in the joins of the branches of one function.
pub(super) fn join(program: &mut Program, blocks: &Blocks) {
    let exit = blocks.starts.len() as u32;
    let none: &[u32] = &[];
    let nodes = blocks.successors.len();
    // The exit stands between the blocks and the tables.
    let tree = DominatorTree::new(
        nodes,
        exit,
        |node| {
            let before = if node == exit { &blocks.ends } else { &blocks.predecessors[node as usize] };
            before.iter().copied()
        },
        |node| {
            let after = blocks.successors.get(node as usize).map_or(none, Vec::as_slice);
            let leaves = node != exit && blocks.ends.binary_search(&node).is_ok();
            after.iter().copied().chain(leaves.then_some(exit))
        },
    );
    // By node that is a table: the first block or the exit that all ways from there go through.
    let mut behind: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    for (block, last) in blocks.lasts.iter().enumerate() {
        let (mut node, mut tables) = (tree.immediate(block as u32), Vec::new());
        while let Some(table) = node.filter(|node| *node > exit) {
            if let Some(known) = behind.get(&table) {
                node = *known;
                break;
            }
            tables.push(table);
            node = tree.immediate(table);
        }
        behind.extend(tables.into_iter().map(|table| (table, node)));
        // Threads that have nothing left to do end, whatever the others do: `if (i >= n) return;` is a branch to the `ret` of
        // all.
        let ends = |step: &u32| {
            let step = program.steps.get(*step as usize);
            step.is_some_and(|it| it.guard.is_none() && matches!(it.action, Action::Return | Action::Exit))
        };
        let join = node.and_then(|node| blocks.starts.get(node as usize).copied()).filter(|it| !ends(it));
        let Some(step) = program.steps.get_mut(*last as usize) else { continue };
        if let Action::Branch { join: place, .. } | Action::IndexedBranch { join: place, .. } =
            &mut step.action
        {
            *place = join.unwrap_or(NOWHERE);
        }
    }
}

/// The blocks of a function as a graph. Behind the blocks stand their exit and the tables of branches:
/// where very many branches have one table, each has one way to it, and it has one to each of its blocks.
pub(super) struct Blocks {
    /// By block: its first and its last step.
    pub(super) starts: Vec<u32>,
    pub(super) lasts: Vec<u32>,
    /// By node.
    pub(super) successors: Vec<Vec<u32>>,
    pub(super) predecessors: Vec<Vec<u32>>,
    /// Blocks behind which the function may end.
    ends: Vec<u32>,
}

impl Blocks {
    /// Those of the function that has these steps.
    pub(super) fn new(program: &Program, steps: Range<u32>) -> Self {
        let mut starts: Vec<u32> = vec![steps.start];
        let mut tables: FxHashMap<Slice, u32> = FxHashMap::default();
        for index in steps.clone() {
            match &program.steps[index as usize].action {
                Action::Branch { target, .. } => starts.extend([*target, index + 1]),
                Action::IndexedBranch { targets, .. } => {
                    let next = tables.len() as u32;
                    if let Entry::Vacant(entry) = tables.entry(*targets) {
                        entry.insert(next);
                        starts.extend(&program.targets[targets.range()]);
                    }
                    starts.push(index + 1);
                }
                Action::Return | Action::Exit | Action::Trap | Action::Assert { .. } => {
                    starts.push(index + 1);
                }
                _ => {}
            }
        }
        starts.retain(|start| steps.contains(start));
        starts.sort_unstable();
        starts.dedup();
        let block_of = |step: u32| starts.partition_point(|start| *start <= step) as u32 - 1;
        let ends_of_blocks = starts.iter().skip(1).copied().chain([steps.end]);
        let lasts: Vec<u32> = ends_of_blocks.map(|end| end.saturating_sub(1)).collect();
        let first_table = starts.len() as u32 + 1;
        let mut successors = vec![Vec::new(); starts.len() + 1 + tables.len()];
        let inside = |to: &[u32]| {
            let mut next: Vec<u32> =
                to.iter().copied().filter(|it| steps.contains(it)).map(block_of).collect();
            next.sort_unstable();
            next.dedup();
            next
        };
        for (targets, table) in &tables {
            successors[(first_table + table) as usize] = inside(&program.targets[targets.range()]);
        }
        let mut ends = Vec::new();
        for (block, last) in lasts.iter().enumerate() {
            let Some(step) = program.steps.get(*last as usize) else { continue };
            let guarded = step.guard.is_some();
            let (mut to, mut table) = (Vec::new(), None);
            let (falls, leaves) = match &step.action {
                Action::Branch { target, .. } => {
                    to.push(*target);
                    (guarded, false)
                }
                Action::IndexedBranch { targets, .. } => {
                    table = tables.get(targets).map(|table| first_table + table);
                    (guarded, false)
                }
                Action::Return | Action::Exit => (guarded, true),
                Action::Trap | Action::Assert { .. } => (guarded, false),
                _ => (true, false),
            };
            if falls {
                to.push(last + 1);
            }
            if leaves || falls && last + 1 >= steps.end {
                ends.push(block as u32);
            }
            successors[block] = inside(&to);
            successors[block].extend(table);
        }
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (node, next) in successors.iter().enumerate() {
            for next in next {
                predecessors[*next as usize].push(node as u32);
            }
        }
        let mut blocks = Self { starts, lasts, successors, predecessors, ends };
        let returns = |block: u32| {
            let last = blocks.lasts.get(block as usize).and_then(|last| program.steps.get(*last as usize));
            !last.is_some_and(|step| matches!(step.action, Action::Exit))
        };
        let reached = blocks.reached();
        let ends = blocks.ends.iter().copied().filter(|end| reached[*end as usize] && returns(*end));
        let ends: Vec<u32> = ends.collect();
        if !ends.is_empty() {
            blocks.ends = ends;
        }
        blocks
    }

    /// How many steps a node has.
    pub(super) fn steps_of(&self, node: u32) -> u32 {
        let ends = self.starts.get(node as usize).zip(self.lasts.get(node as usize));
        ends.map_or(0, |(start, last)| last - start + 1)
    }

    /// By block: whether control may come to it.
    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.successors.len()];
        let mut open = vec![0u32];
        while let Some(block) = open.pop() {
            if let Some(known) = reached.get_mut(block as usize)
                && !std::mem::replace(known, true)
            {
                open.extend(&self.successors[block as usize]);
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use crate::program::{Action, NOWHERE, Shared, lower};
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Where the branches of a kernel meet, by their order.
    fn joins(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r; mov.b32 r, 0; {body} }}"
        );
        let unit = Unit::new(&Source::new("k.ptx", text).unwrap());
        let program = lower(&Shared::new(&unit), 0);
        let join = |action: &Action| match action {
            Action::Branch { join, .. } | Action::IndexedBranch { join, .. } => Some(*join),
            _ => None,
        };
        program.steps.iter().filter_map(|step| join(&step.action)).collect()
    }

    #[test]
    fn branches_of_one_table_meet_as_those_of_tables_that_are_alike() {
        for body in [
            "brx.idx r, T; A: brx.idx r, U; B: mov.b32 r, 1; bra E; C: mov.b32 r, 2; E: ret;",
            "brx.idx r, T; A: mov.b32 r, 1; bra E; B: mov.b32 r, 2; C: mov.b32 r, 3; E: brx.idx r, U;",
            "@p bra E; brx.idx r, T; A: B: mov.b32 r, 1; brx.idx r, V; C: brx.idx r, W; \
             E: mov.b32 r, 2; bra G; F: mov.b32 r, 3; G: ret;",
            "A: @p brx.idx r, T; B: @p brx.idx r, U; C: ret;",
        ] {
            let body = format!("{body} {}", if body.contains('V') { "" } else { "F: G: exit;" });
            let list = |name: char, labels: &str| format!("{name}: .branchtargets {labels};");
            let (first, second) = ("A, B, C", "E, F");
            let apart = [list('T', first), list('U', first), list('V', second), list('W', second)].concat();
            let body = if body.contains("E:") { body } else { format!("{body} E: exit;") };
            let together = body.replace("r, U", "r, T").replace("r, W", "r, V");
            let (apart, together) =
                (joins(&format!("{apart} {body}")), joins(&format!("{apart} {together}")));
            assert_eq!(together, apart, "{body}");
        }
    }

    #[test]
    fn ways_through_two_tables_meet_behind_both() {
        let body = "T: .branchtargets A, B; U: .branchtargets C, D; brx.idx r, T; A: mov.b32 r, 1; \
                    brx.idx r, U; B: brx.idx r, U; C: mov.b32 r, 2; D: mov.b32 r, 3; ret;";
        let joins = joins(body);
        assert_eq!(joins.len(), 3);
        assert!(joins[0] != NOWHERE && joins.iter().all(|join| *join == joins[0]), "{joins:?}");
    }
}
