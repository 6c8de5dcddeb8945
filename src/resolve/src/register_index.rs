//! Which declaration made a register.

use super::symbols::{RegisterId, SymbolId};

/// The declarations of registers by the number of their first one.
///
/// Numbers are parted into pages, about as many as there are declarations: so the index is no longer
/// than they are, however many registers one of them makes, and a page has few of them.
#[derive(Debug, Default)]
pub(super) struct RegisterIndex {
    declarations: Vec<(RegisterId, SymbolId)>,
    /// By page: the last declaration that starts before its end.
    pages: Vec<u32>,
    /// The binary logarithm of a page's size.
    shift: u32,
}

impl RegisterIndex {
    /// More than this, beside one for each declaration, are not needed.
    const PAGES: usize = 64;

    /// Adds a declaration whose registers have numbers from `first` on; the next one has greater
    /// numbers.
    pub(super) fn push(&mut self, first: RegisterId, symbol: SymbolId) {
        self.declarations.push((first, symbol));
    }

    /// Makes the pages, once all declarations are there. `count` is how many registers they make.
    pub(super) fn finish(&mut self, count: u32) {
        let most = (self.declarations.len() + Self::PAGES) as u64;
        self.shift = (0..u32::BITS).find(|shift| u64::from(count >> shift) < most).unwrap_or(0);
        let pages = (count >> self.shift) + 1;
        let mut last = 0;
        self.pages = (1..=u64::from(pages))
            .map(|page| {
                let end = page << self.shift;
                while self.declarations.get(last + 1).is_some_and(|next| u64::from(next.0.0) < end) {
                    last += 1;
                }
                last as u32
            })
            .collect();
    }

    /// The declaration that made a register; of an unknown one, some declaration.
    pub(super) fn get(&self, register: RegisterId) -> SymbolId {
        let page = ((register.0 >> self.shift) as usize).min(self.pages.len().saturating_sub(1));
        let start = page.checked_sub(1).map_or(0, |before| self.pages[before]) as usize;
        let end = self.pages.get(page).map_or(self.declarations.len(), |last| *last as usize + 1);
        let behind = self.declarations[start..end].partition_point(|(first, _)| *first <= register);
        self.declarations[(start + behind).saturating_sub(1)].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of declarations that make so many registers each, and the first of each.
    fn index(counts: &[u32]) -> (RegisterIndex, Vec<u32>) {
        let mut index = RegisterIndex::default();
        let mut firsts = Vec::new();
        let mut next = 0;
        for (symbol, count) in counts.iter().enumerate() {
            index.push(RegisterId(next), SymbolId(symbol as u32));
            firsts.push(next);
            next += count;
        }
        index.finish(next);
        (index, firsts)
    }

    #[test]
    fn every_register_has_its_declaration() {
        let singles = [1; 1000];
        let mixed: Vec<u32> = (0..500).map(|at| at * 7919 % 64).collect();
        let large = [[1 << 24; 20].as_slice(), &singles, &[1 << 24; 20], &singles].concat();
        for counts in [&singles[..], &mixed, &large, &[5], &[1 << 24; 60], &[3, 0, 0, 4]] {
            let (index, firsts) = index(counts);
            for (symbol, (first, count)) in firsts.iter().zip(counts).enumerate() {
                for register in [*first, first + count / 2, first + count.saturating_sub(1)] {
                    if *count > 0 {
                        assert_eq!(index.get(RegisterId(register)), SymbolId(symbol as u32), "{register}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_index_is_no_longer_than_the_declarations() {
        for counts in [vec![1 << 24; 60], vec![1; 10_000], vec![1 << 10; 5000], vec![1 << 24], vec![]] {
            let (index, _) = index(&counts);
            assert!(index.pages.len() <= counts.len() + RegisterIndex::PAGES, "{}", index.pages.len());
        }
    }
}
