//! Where the threads of a warp that took different ways come together again: at the immediate
//! post-dominator of the branch.
//!
//! Ways that end in a trap do not count: they are not expected to be taken, and what all others go
//! through is where a compiler makes the warp converge. Nor do those that end in `exit` where a function
//! returns elsewhere: nobody waits for threads that have ended.

use std::ops::Range;

use super::{Action, NOWHERE, Program};
use crate::analysis::dominance::DominatorTree;

/// Fills in the joins of the branches of one function, whose steps these are.
pub(super) fn join(program: &mut Program, steps: Range<u32>) {
    let blocks = Blocks::new(program, steps);
    let exit = blocks.starts.len() as u32;
    let none: &[u32] = &[];
    let tree = DominatorTree::new(
        blocks.starts.len() + 1,
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
    for (block, last) in blocks.lasts.iter().enumerate() {
        let join = tree.immediate(block as u32).and_then(|node| blocks.starts.get(node as usize).copied());
        let Some(step) = program.steps.get_mut(*last as usize) else { continue };
        if let Action::Branch { join: place, .. } | Action::IndexedBranch { join: place, .. } =
            &mut step.action
        {
            *place = join.unwrap_or(NOWHERE);
        }
    }
}

struct Blocks {
    /// By block: its first and its last step.
    starts: Vec<u32>,
    lasts: Vec<u32>,
    successors: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
    /// Blocks behind which the function may end.
    ends: Vec<u32>,
}

impl Blocks {
    fn new(program: &Program, steps: Range<u32>) -> Self {
        let mut starts: Vec<u32> = vec![steps.start];
        for index in steps.clone() {
            match &program.steps[index as usize].action {
                Action::Branch { target, .. } => starts.extend([*target, index + 1]),
                Action::IndexedBranch { targets, .. } => {
                    starts.extend(&program.targets[targets.range()]);
                    starts.push(index + 1);
                }
                Action::Return | Action::Exit | Action::Trap => starts.push(index + 1),
                _ => {}
            }
        }
        starts.retain(|start| steps.contains(start));
        starts.sort_unstable();
        starts.dedup();
        let block_of = |step: u32| starts.partition_point(|start| *start <= step) as u32 - 1;
        let ends_of_blocks = starts.iter().skip(1).copied().chain([steps.end]);
        let lasts: Vec<u32> = ends_of_blocks.map(|end| end.saturating_sub(1)).collect();
        let mut successors = vec![Vec::new(); starts.len()];
        let mut predecessors = vec![Vec::new(); starts.len()];
        let mut ends = Vec::new();
        for (block, last) in lasts.iter().enumerate() {
            let Some(step) = program.steps.get(*last as usize) else { continue };
            let guarded = step.guard.is_some();
            let mut to: Vec<u32> = Vec::new();
            let (falls, leaves) = match &step.action {
                Action::Branch { target, .. } => {
                    to.push(*target);
                    (guarded, false)
                }
                Action::IndexedBranch { targets, .. } => {
                    to.extend(&program.targets[targets.range()]);
                    (guarded, false)
                }
                Action::Return | Action::Exit => (guarded, true),
                Action::Trap => (guarded, false),
                _ => (true, false),
            };
            if falls {
                to.push(last + 1);
            }
            if leaves || falls && last + 1 >= steps.end {
                ends.push(block as u32);
            }
            let mut next: Vec<u32> = to.into_iter().filter(|it| steps.contains(it)).map(block_of).collect();
            next.sort_unstable();
            next.dedup();
            for next in &next {
                predecessors[*next as usize].push(block as u32);
            }
            successors[block] = next;
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

    /// By block: whether control may come to it.
    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len()];
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
