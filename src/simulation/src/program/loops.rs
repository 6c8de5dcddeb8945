//! Loops: what tells people in which iteration something happened.
//!
//! A loop is what leads back to a step that all ways into it go through. Compilers often lay it out so that it is
//! entered in the middle of the text, so that a jump upwards says nothing.

use rustc_hash::FxHashMap;

use super::NOWHERE;
use super::reconvergence::Blocks;
use crate::analysis::dominance::DominatorTree;

/// Loops of no more steps are waits, whose iterations do not count.
pub(crate) const SHORT: u32 = 6;

/// The loops of all functions, each by the step at which its iterations begin.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// By step: the innermost loop around it.
    around: Vec<u32>,
    /// By loop within another one: that.
    outer: FxHashMap<u32, u32>,
}

impl Loops {
    /// The innermost loop around a step.
    pub(crate) fn around(&self, step: u32) -> Option<u32> {
        self.around.get(step as usize).copied().filter(|head| *head != NOWHERE)
    }

    /// Whether iterations of a loop begin with a step.
    pub(crate) fn begin(&self, step: u32) -> bool {
        self.around.get(step as usize).is_some_and(|head| *head == step)
    }

    /// Whether a step is in a loop.
    pub(crate) fn contain(&self, step: u32, head: u32) -> bool {
        let above = |inner: &u32| self.outer.get(inner).copied();
        std::iter::successors(self.around(step), above).any(|around| around == head)
    }

    /// Finds those of a function, the last one so far: from the innermost outwards, each one being a single
    /// block once it is found.
    pub(super) fn add(&mut self, blocks: &Blocks) {
        let nodes = blocks.successors.len();
        let tree = DominatorTree::new(
            nodes,
            0,
            |node| blocks.successors[node as usize].iter().copied(),
            |node| blocks.predecessors[node as usize].iter().copied(),
        );
        // By block in a loop: where its iterations begin.
        let mut inner: Vec<Option<u32>> = vec![None; nodes];
        let mut found = vec![false; nodes];
        let mut sizes: Vec<u32> = (0..nodes as u32).map(|node| blocks.steps_of(node)).collect();
        let mut group: Vec<u32> = (0..nodes as u32).collect();
        let mut heads: Vec<(u32, u32)> = Vec::new();
        for (node, before) in blocks.predecessors.iter().enumerate() {
            let node = node as u32;
            if let Some(position) = tree.position(node)
                && before.iter().any(|last| tree.dominates(node, *last))
            {
                heads.push((position, node));
            }
        }
        heads.sort_unstable();
        for (_, head) in heads.into_iter().rev() {
            let repeats =
                blocks.predecessors[head as usize].iter().filter(|last| tree.dominates(head, **last));
            let mut open: Vec<u32> = repeats.copied().collect();
            while let Some(node) = open.pop() {
                let node = whole(&mut group, node);
                if node == head || !tree.dominates(head, node) {
                    continue;
                }
                group[node as usize] = head;
                inner[node as usize] = Some(head);
                sizes[head as usize] += sizes[node as usize];
                open.extend(&blocks.predecessors[node as usize]);
            }
            found[head as usize] = sizes[head as usize] > SHORT;
        }
        let long = |node: u32| {
            let above = |inner_of: &u32| inner[*inner_of as usize];
            std::iter::successors(inner[node as usize], above).find(|head| found[*head as usize])
        };
        let step = |block: u32| blocks.starts[block as usize];
        for (block, (start, last)) in blocks.starts.iter().zip(&blocks.lasts).enumerate() {
            let (block, outer) = (block as u32, long(block as u32));
            let own = if found[block as usize] { Some(block) } else { outer };
            self.around.resize(*start as usize, NOWHERE);
            self.around.resize(*last as usize + 1, own.map_or(NOWHERE, step));
            if let (true, Some(outer)) = (found[block as usize], outer) {
                self.outer.insert(*start, step(outer));
            }
        }
    }
}

/// The loop that a node is in, as far as loops are found, as one node.
fn whole(group: &mut [u32], node: u32) -> u32 {
    let mut top = node;
    while group[top as usize] != top {
        top = group[top as usize];
    }
    let mut below = node;
    while group[below as usize] != top {
        below = std::mem::replace(&mut group[below as usize], top);
    }
    top
}

#[cfg(test)]
mod tests {
    use crate::program::{Shared, lower};
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// By step: which loop is around it, by the letter of its label; labels stand alone, and fillers are long.
    fn loops(body: &str) -> String {
        let body = body.replace("work", "add.u32 r, r, 1; ".repeat(7).trim());
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r; mov.b32 r, 0; {body} ret; }}"
        );
        let source = Source::new("k.ptx", text).unwrap();
        let unit = Unit::new(&source);
        let program = lower(&Shared::new(&unit), 0);
        let label = |step: u32| {
            let before = source.text()[..program.spans[step as usize].start as usize].trim_end();
            before.strip_suffix(':').and_then(|it| it.chars().last()).unwrap_or('?')
        };
        let mut said = String::new();
        for step in 0..program.steps.len() as u32 {
            let around = program.loops.around(step).map_or('-', label);
            if !said.ends_with(around) {
                said.push(around);
            }
        }
        said
    }

    #[test]
    fn loops_are_where_control_comes_back() {
        assert_eq!(loops("A: work @p bra A;"), "-A-");
        assert_eq!(loops("A: work B: work @p bra B; work @p bra A;"), "-ABA-");
        // Entered in the middle.
        assert_eq!(loops("bra.uni B; A: work B: work @p bra A;"), "-B-");
        assert_eq!(loops("bra.uni B; A: work C: work @p bra C; B: work @p bra A;"), "-BCB-");
        // Who comes to it from two sides.
        assert_eq!(loops("@p bra B; A: work B: work @p bra A;"), "-");
        // Waits.
        assert_eq!(loops("A: work B: @!p bra B; work @p bra A;"), "-A-");
        assert_eq!(loops("A: @!p bra A; work @p bra A;"), "-A-");
        assert_eq!(loops("A: add.u32 r, r, 1; @p bra A;"), "-");
    }
}
