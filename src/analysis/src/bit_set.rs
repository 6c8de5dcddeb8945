//! Sets of facts that are numbered: one bit each.

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut set = BitSet::full(130);
        assert_eq!([0, 63, 64, 129, 130, 500].map(|from| set.first_from(from)), {
            [Some(0), Some(63), Some(64), Some(129), None, None]
        });
        (0..130).for_each(|bit| set.remove(bit));
        assert_eq!(set.first_from(0), None);
        for bit in [0, 64, 129] {
            set.insert(bit);
        }
        assert_eq!([0, 1, 64, 65, 129, 130, 500].map(|from| set.first_from(from)), {
            [Some(0), Some(64), Some(64), Some(129), Some(129), None, None]
        });
        assert_eq!([0, 1, 64, 129, 500].map(|bit| set.contains(bit)), [true, false, true, true, false]);
        assert_eq!(BitSet::full(64).first_from(64), None);
        assert_eq!(BitSet::new(64).first_from(0), None);
    }
}
