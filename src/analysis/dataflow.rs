//! The dataflow engine: bit-vector problems over a control-flow graph.
//!
//! Facts are numbered. Each block generates some and kills others; a worklist carries them along the
//! edges until nothing changes, and paths join by union. This is for problems whose facts start in
//! most blocks, as definitions of registers do; [`reach`](super::reach) is for those that start in
//! few.

use super::cfg::Cfg;

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set, with room for numbers below `len`.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// All numbers below `len`.
    pub fn full(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), len % 64) {
            *last = (1 << rest) - 1;
        }
        Self { words }
    }

    /// Adds `bit`.
    pub fn insert(&mut self, bit: usize) {
        self.words[bit / 64] |= 1 << (bit % 64);
    }

    /// Removes `bit`.
    pub fn remove(&mut self, bit: usize) {
        self.words[bit / 64] &= !(1 << (bit % 64));
    }

    /// Whether `bit` is in the set.
    pub fn contains(&self, bit: usize) -> bool {
        self.words.get(bit / 64).is_some_and(|word| word & 1 << (bit % 64) != 0)
    }

    /// Adds all of `other`.
    pub fn union(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Removes all of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// The smallest number in it that is not below `from`.
    pub fn first_from(&self, from: usize) -> Option<usize> {
        let start = from / 64;
        let rest = self.words.get(start)? & u64::MAX << (from % 64);
        if rest != 0 {
            return Some(start * 64 + rest.trailing_zeros() as usize);
        }
        let index = start + 1 + self.words[start + 1..].iter().position(|&word| word != 0)?;
        Some(index * 64 + self.words[index].trailing_zeros() as usize)
    }

    /// The numbers in it, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|&rest| rest != 0)
                .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
        })
    }
}

/// What one block does to the facts.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Facts that hold behind the block, whatever held before.
    pub generate: BitSet,
    /// Facts that end in the block.
    pub kill: BitSet,
}

impl Effect {
    /// Changes nothing.
    pub fn none(len: usize) -> Self {
        Self { generate: BitSet::new(len), kill: BitSet::new(len) }
    }

    /// The facts behind the block, of those before it.
    pub fn apply(&self, facts: &mut BitSet) {
        facts.subtract(&self.kill);
        facts.union(&self.generate);
    }
}

/// Solves a problem of `len` facts; the result is what holds on some path where each block is
/// entered. Nothing holds where the function is. `None` when that takes more than what is `left` of
/// steps on words of 64 facts: loops in loops in loops can need many rounds.
pub fn solve(cfg: &Cfg, len: usize, effects: &[Effect], left: &mut usize) -> Option<Vec<BitSet>> {
    let words = len.div_ceil(64).max(1);
    let mut before: Vec<BitSet> = (0..cfg.len()).map(|_| BitSet::new(len)).collect();
    let mut after = before.clone();
    let order = cfg.reverse_post_order();
    let position: Vec<usize> = {
        let mut position = vec![0; cfg.len()];
        for (at, block) in order.iter().enumerate() {
            position[block.index()] = at;
        }
        position
    };
    // Blocks that wait, by their place in the order: inner loops settle before what follows them.
    let mut waiting = BitSet::full(order.len());
    // None before this one waits.
    let mut from = 0;
    while let Some(at) = waiting.first_from(from) {
        waiting.remove(at);
        from = at + 1;
        let block = order[at];
        let sources = &cfg.block(block).predecessors;
        *left = left.checked_sub(words * (sources.len() + 2))?;
        let mut facts = BitSet::new(len);
        for source in sources {
            facts.union(&after[source.index()]);
        }
        before[block.index()].clone_from(&facts);
        effects[block.index()].apply(&mut facts);
        if facts != after[block.index()] {
            after[block.index()] = facts;
            for target in &cfg.block(block).successors {
                waiting.insert(position[target.index()]);
                from = from.min(position[target.index()]);
            }
        }
    }
    Some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut set = BitSet::new(130);
        for bit in [0, 63, 64, 129] {
            set.insert(bit);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        set.remove(63);
        assert!(set.contains(64) && !set.contains(63) && !set.contains(1000));
        assert_eq!([0, 1, 64, 65, 129, 130, 500].map(|from| set.first_from(from)), {
            [Some(0), Some(64), Some(64), Some(129), Some(129), None, None]
        });
        assert_eq!(BitSet::full(65).iter().count(), 65);
        assert_eq!(BitSet::full(64).iter().count(), 64);
    }
}
