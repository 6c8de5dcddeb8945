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
    /// By node.
    places: Vec<Place>,
}

/// Where a node stands in the tree, if `root` reaches it.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The nearest other node that all paths to it go through.
    immediate: u32,
    /// Where a walk over the tree enters and leaves it.
    entered: u32,
    left: u32,
}

impl Place {
    /// That of a node that is not in the tree.
    const NONE: Self = Self { immediate: NONE, entered: NONE, left: NONE };
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
        let Search { mut found, number } = Search::new(nodes, root, successors);
        let count = found.len();
        let mut path = Vec::new();
        for index in (1..count).rev() {
            let mut semi = found[index].parent;
            for from in predecessors(found[index].node) {
                let from = number[from as usize];
                if from != NONE {
                    let best = least(&mut found, &mut path, from, index as u32 + 1);
                    semi = semi.min(found[best as usize].semi);
                }
            }
            found[index].semi = semi;
        }
        for index in 1..count {
            let Found { semi, mut dominator, .. } = found[index];
            while dominator > semi {
                dominator = found[dominator as usize].dominator;
            }
            found[index].dominator = dominator;
        }
        Self::from_search(nodes, &mut found)
    }

    /// From each node's nearest dominator.
    fn from_search(nodes: usize, found: &mut [Found]) -> Self {
        for index in (1..found.len()).rev() {
            let Found { dominator, size, .. } = found[index];
            found[dominator as usize].size += size;
        }
        let mut places = vec![Place::NONE; nodes];
        for index in 0..found.len() {
            let Found { node, dominator, size, .. } = found[index];
            let above = &mut found[dominator as usize];
            let entered = above.next;
            let mut immediate = NONE;
            if index > 0 {
                immediate = above.node;
                above.next += size;
            }
            found[index].next = entered + 1;
            places[node as usize] = Place { immediate, entered, left: entered + size };
        }
        Self { places }
    }

    /// The nearest other node that all paths to `node` go through.
    pub fn immediate(&self, node: u32) -> Option<u32> {
        Some(self.places[node as usize].immediate).filter(|above| *above != NONE)
    }

    /// Where a walk over the tree enters `node`, if `root` reaches it.
    pub fn position(&self, node: u32) -> Option<u32> {
        Some(self.places[node as usize].entered).filter(|at| *at != NONE)
    }

    /// Where a walk over the tree enters and leaves `node`: between are the nodes that it dominates.
    pub fn range(&self, node: u32) -> Option<(u32, u32)> {
        Some((self.position(node)?, self.places[node as usize].left))
    }

    /// Whether all paths to `other` go through `node`, and there are some.
    pub fn dominates(&self, node: u32, other: u32) -> bool {
        let Place { entered, left, .. } = self.places[node as usize];
        let other = self.places[other as usize].entered;
        other != NONE && (entered..left).contains(&other)
    }
}

/// A depth-first search: nodes are numbered in the order in which they are found.
struct Search {
    /// By number.
    found: Vec<Found>,
    /// By node.
    number: Vec<u32>,
}

/// A node that was found, and what becomes known of it. Other nodes are meant by their numbers.
#[derive(Clone, Copy, Debug)]
struct Found {
    node: u32,
    parent: u32,
    semi: u32,
    /// In the part of the search's tree that is linked already: what stands above, paths being compressed,
    /// and of all on that path the one with the least semi-dominator.
    above: u32,
    label: u32,
    dominator: u32,
    /// How many nodes it dominates, and where the next of its children in the tree goes.
    size: u32,
    next: u32,
}

impl Search {
    fn new<S: Iterator<Item = u32>>(nodes: usize, root: u32, successors: impl Fn(u32) -> S) -> Self {
        let mut this = Self { found: Vec::with_capacity(nodes), number: vec![NONE; nodes] };
        this.find(root, 0);
        let mut stack = Vec::with_capacity(nodes.min(16));
        stack.push((0, successors(root)));
        while let Some((number, rest)) = stack.last_mut() {
            let number = *number;
            match rest.next() {
                Some(node) if this.number[node as usize] == NONE => {
                    this.find(node, number);
                    stack.push((this.found.len() as u32 - 1, successors(node)));
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
        let number = self.found.len() as u32;
        self.number[node as usize] = number;
        self.found.push(Found {
            node,
            parent,
            semi: number,
            above: parent,
            label: number,
            dominator: parent,
            size: 1,
            next: 0,
        });
    }
}

/// Of `number` and what is above it, numbers from `linked` on: the one with the least semi-dominator.
/// `path` is room to work in.
fn least(found: &mut [Found], path: &mut Vec<u32>, number: u32, linked: u32) -> u32 {
    let mut top = number;
    while found[top as usize].above >= linked {
        path.push(top);
        top = found[top as usize].above;
    }
    while let Some(at) = path.pop() {
        let Found { above, label, .. } = found[top as usize];
        let semi = found[label as usize].semi;
        let own = found[at as usize].label;
        found[at as usize].above = above;
        if semi < found[own as usize].semi {
            found[at as usize].label = label;
        }
        top = at;
    }
    found[number as usize].label
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
