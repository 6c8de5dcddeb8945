//! Dominator trees: what every path from a root goes through.
//!
//! The semi-NCA algorithm (Georgiadis, "Linear-Time Algorithms for Dominators and Related
//! Problems"): nearly linear also on what makes the simple iterative algorithm quadratic, nests of
//! loops and large jump tables.

/// Nothing.
const NONE: u32 = u32::MAX;

/// The dominator tree of a graph whose nodes are numbered.
#[derive(Clone, Debug)]
pub struct DominatorTree {
    /// By node: the nearest other node that all paths to it go through.
    immediate: Vec<u32>,
    /// By node: where a walk over the tree enters and leaves it.
    entered: Vec<u32>,
    left: Vec<u32>,
}

impl DominatorTree {
    /// The tree of the nodes that `root` reaches.
    pub fn new<S, P>(
        nodes: usize,
        root: u32,
        successors: impl Fn(u32) -> S,
        predecessors: impl Fn(u32) -> P,
    ) -> Self
    where
        S: Iterator<Item = u32>,
        P: Iterator<Item = u32>,
    {
        let search = Search::new(nodes, root, successors);
        let count = search.order.len();
        let mut semi: Vec<u32> = (0..count as u32).collect();
        let mut forest = Forest { above: search.parent.clone(), label: semi.clone() };
        for index in (1..count).rev() {
            semi[index] = search.parent[index];
            for from in predecessors(search.order[index]) {
                let number = search.number[from as usize];
                if number != NONE {
                    let best = forest.least(number, index as u32 + 1, &semi);
                    semi[index] = semi[index].min(semi[best as usize]);
                }
            }
        }
        let mut dominator = search.parent.clone();
        for index in 1..count {
            while dominator[index] > semi[index] {
                dominator[index] = dominator[dominator[index] as usize];
            }
        }
        Self::from_search(nodes, &search.order, &dominator)
    }

    /// From each node's nearest dominator, both as numbers of the search.
    fn from_search(nodes: usize, order: &[u32], dominator: &[u32]) -> Self {
        let mut size = vec![1; order.len()];
        for index in (1..order.len()).rev() {
            size[dominator[index] as usize] += size[index];
        }
        let mut this =
            Self { immediate: vec![NONE; nodes], entered: vec![NONE; nodes], left: vec![NONE; nodes] };
        // By number: where the next of its children goes.
        let mut next = vec![0; order.len()];
        for (index, node) in order.iter().map(|node| *node as usize).enumerate() {
            let above = dominator[index] as usize;
            let entered = next[above];
            if index > 0 {
                this.immediate[node] = order[above];
                next[above] += size[index];
            }
            next[index] = entered + 1;
            this.entered[node] = entered;
            this.left[node] = entered + size[index];
        }
        this
    }

    /// The nearest other node that all paths to `node` go through.
    pub fn immediate(&self, node: u32) -> Option<u32> {
        Some(self.immediate[node as usize]).filter(|above| *above != NONE)
    }

    /// Where a walk over the tree enters `node`, if `root` reaches it.
    pub fn position(&self, node: u32) -> Option<u32> {
        Some(self.entered[node as usize]).filter(|at| *at != NONE)
    }

    /// Where a walk over the tree enters and leaves `node`: between are the nodes that it dominates.
    pub fn range(&self, node: u32) -> Option<(u32, u32)> {
        Some((self.position(node)?, self.left[node as usize]))
    }

    /// Whether all paths to `other` go through `node`, and there are some.
    pub fn dominates(&self, node: u32, other: u32) -> bool {
        let (node, other) = (node as usize, other as usize);
        self.entered[other] != NONE && (self.entered[node]..self.left[node]).contains(&self.entered[other])
    }
}

/// A depth-first search: nodes are numbered in the order in which they are found.
struct Search {
    order: Vec<u32>,
    /// By node.
    number: Vec<u32>,
    /// By number.
    parent: Vec<u32>,
}

impl Search {
    fn new<S: Iterator<Item = u32>>(nodes: usize, root: u32, successors: impl Fn(u32) -> S) -> Self {
        let mut this =
            Self { order: Vec::with_capacity(nodes), number: vec![NONE; nodes], parent: Vec::new() };
        this.find(root, 0);
        let mut stack = vec![(0, successors(root))];
        while let Some((number, rest)) = stack.last_mut() {
            let number = *number;
            match rest.next() {
                Some(node) if this.number[node as usize] == NONE => {
                    this.find(node, number);
                    stack.push((this.order.len() as u32 - 1, successors(node)));
                }
                Some(_) => {}
                None => {
                    stack.pop();
                }
            }
        }
        this
    }

    fn find(&mut self, node: u32, parent: u32) {
        self.number[node as usize] = self.order.len() as u32;
        self.order.push(node);
        self.parent.push(parent);
    }
}

/// The part of the search's tree that is linked already, paths in it being compressed.
struct Forest {
    above: Vec<u32>,
    label: Vec<u32>,
}

impl Forest {
    /// Of `number` and what is above it, numbers from `linked` on: the one with the least
    /// semi-dominator.
    fn least(&mut self, number: u32, linked: u32, semi: &[u32]) -> u32 {
        let mut path = Vec::new();
        let mut top = number as usize;
        while self.above[top] >= linked {
            path.push(top);
            top = self.above[top] as usize;
        }
        while let Some(at) = path.pop() {
            self.above[at] = self.above[top];
            if semi[self.label[top] as usize] < semi[self.label[at] as usize] {
                self.label[at] = self.label[top];
            }
            top = at;
        }
        self.label[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The nodes that `root` reaches without `left_out`.
    fn reached(edges: &[(u32, u32)], root: u32, left_out: Option<u32>) -> Vec<u32> {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            for (from, to) in edges {
                if *from == node && Some(*to) != left_out && !found.contains(to) {
                    found.push(*to);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn a_dominator_cuts_off(
            nodes in 1u32..12,
            edges in prop::collection::vec((0u32..12, 0u32..12), 0..40),
        ) {
            let edges: Vec<(u32, u32)> =
                edges.into_iter().filter(|(from, to)| *from < nodes && *to < nodes).collect();
            let tree = DominatorTree::new(
                nodes as usize,
                0,
                |node| edges.iter().filter(move |edge| edge.0 == node).map(|edge| edge.1),
                |node| edges.iter().filter(move |edge| edge.1 == node).map(|edge| edge.0),
            );
            let all = reached(&edges, 0, None);
            for other in 0..nodes {
                let is_reached = all.contains(&other);
                for node in 0..nodes {
                    let cut = node == other || node == 0 || !reached(&edges, 0, Some(node)).contains(&other);
                    prop_assert_eq!(tree.dominates(node, other), is_reached && cut, "{} {}", node, other);
                }
                let above = tree.immediate(other);
                prop_assert_eq!(above.is_some(), is_reached && other != 0);
                if let Some(above) = above {
                    // What dominates a node dominates its nearest dominator.
                    prop_assert!(above != other && tree.dominates(above, other));
                    let others = (0..nodes).filter(|node| *node != other && tree.dominates(*node, other));
                    prop_assert!(others.into_iter().all(|node| tree.dominates(node, above)));
                }
            }
        }
    }
}
