//! Which bytes of global memory clusters have read and written.

use rustc_hash::FxHashMap;

/// Bytes of a page, and words of as many bits.
const PAGE: u64 = 4096;
const WORDS: usize = PAGE as usize / 64;

/// Sets of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pages: FxHashMap<u64, Box<Page>>,
}

#[derive(Clone, Debug)]
struct Page {
    read: [u64; WORDS],
    written: [u64; WORDS],
}

impl Touched {
    /// Adds bytes that are read or written.
    pub(super) fn add(&mut self, (address, bytes): (u64, u32), writes: bool) {
        let end = address.saturating_add(bytes.into());
        for page in address / PAGE..end.div_ceil(PAGE) {
            let sets = self
                .pages
                .entry(page)
                .or_insert_with(|| Box::new(Page { read: [0; WORDS], written: [0; WORDS] }));
            let set = if writes { &mut sets.written } else { &mut sets.read };
            let (from, to) =
                (address.max(page * PAGE) - page * PAGE, end.min((page + 1) * PAGE) - page * PAGE);
            for word in from / 64..to.div_ceil(64) {
                let (first, last) = (from.max(word * 64) % 64, (to - 1).min(word * 64 + 63) % 64);
                set[word as usize] |= u64::MAX >> (63 - (last - first)) << first;
            }
        }
    }

    /// Whether one has written bytes that the other has read or written, too.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let (few, many) = if self.pages.len() < other.pages.len() { (self, other) } else { (other, self) };
        few.pages.iter().any(|(page, one)| {
            many.pages.get(page).is_some_and(|two| {
                (0..WORDS).any(|word| {
                    one.written[word] & (two.read[word] | two.written[word]) != 0
                        || two.written[word] & one.read[word] != 0
                })
            })
        })
    }

    /// Adds those of others.
    pub(crate) fn join(&mut self, other: Self) {
        for (number, page) in other.pages {
            match self.pages.get_mut(&number) {
                Some(own) => {
                    for word in 0..WORDS {
                        own.read[word] |= page.read[word];
                        own.written[word] |= page.written[word];
                    }
                }
                None => {
                    self.pages.insert(number, page);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(pieces: &[(u64, u32, bool)]) -> Touched {
        let mut touched = Touched::default();
        for (address, bytes, writes) in pieces {
            touched.add((*address, *bytes), *writes);
        }
        touched
    }

    #[test]
    fn bytes_are_told_apart() {
        let one = touched(&[(4090, 20, true), (0, 64, false)]);
        for (other, conflicts) in [
            ((4089, 1, true), false),
            ((4090, 1, false), true),
            ((4109, 1, true), true),
            ((4110, 5000, true), false),
            ((63, 1, false), false),
            ((63, 1, true), true),
            ((64, 1, true), false),
            ((1 << 43, 64, true), false),
        ] {
            let other = touched(&[other]);
            assert_eq!(one.conflicts(&other), conflicts, "{other:?}");
            assert_eq!(other.conflicts(&one), conflicts);
        }
        let mut both = touched(&[(100_000, 4, true)]);
        both.join(one.clone());
        assert!(both.conflicts(&one) && both.conflicts(&touched(&[(100_003, 1, false)])));
    }

    #[test]
    fn random_sets_are_as_plain_ones() {
        let mut state = 3_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 33) % below
        };
        let (mut met, mut total) = (0, 0);
        for _ in 0..500 {
            let mut set = || -> Vec<(u64, u32, bool)> {
                (0..3).map(|_| (random(9000), 1 + random(200) as u32, random(2) == 0)).collect()
            };
            let (one, two) = (set(), set());
            let overlap = |a: &(u64, u32, bool), b: &(u64, u32, bool)| {
                (a.2 || b.2) && a.0 < b.0 + u64::from(b.1) && b.0 < a.0 + u64::from(a.1)
            };
            let wanted = one.iter().any(|a| two.iter().any(|b| overlap(a, b)));
            assert_eq!(touched(&one).conflicts(&touched(&two)), wanted, "{one:?} {two:?}");
            met += usize::from(wanted);
            total += 1;
        }
        assert!(met > 50 && met < total - 50, "{met}");
    }
}
