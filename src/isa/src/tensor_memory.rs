//! Tensor Memory: how much of it there is, and in which pieces it is handed out (9.7.16.1).

/// The Tensor Memory of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMemory {
    /// Columns that there are.
    pub columns: u32,
    /// Columns of the largest allocation without `.exclusive`.
    pub largest: u32,
}

impl TensorMemory {
    /// Lanes of the Tensor Memory of a CTA (9.7.16.1).
    pub const LANES: u32 = 128;
    /// Columns in which Tensor Memory is allocated (9.7.16.1.2).
    pub const UNIT: u32 = 32;
    /// That of every target but those of the `sm_107` family.
    pub const BLACKWELL: Self = Self { columns: 512, largest: 512 };
    /// That of `sm_107a` and `sm_107f`, where `.exclusive` allocates more than a power of two (PTX ISA
    /// 9.4).
    pub const RUBIN: Self = Self { columns: 576, ..Self::BLACKWELL };

    /// The columns of the largest allocation with `.exclusive`, or without.
    pub const fn largest(self, exclusive: bool) -> u32 {
        if exclusive { self.columns } else { self.largest }
    }

    /// Whether `columns` can be allocated.
    pub const fn allocates(self, columns: u32, exclusive: bool) -> bool {
        columns >= Self::UNIT
            && columns <= self.largest(exclusive)
            && if exclusive { columns.is_multiple_of(Self::UNIT) } else { columns.is_power_of_two() }
    }

    /// Which numbers of columns can be allocated, in words.
    pub fn sizes(self, exclusive: bool) -> String {
        let (unit, largest) = (Self::UNIT, self.largest(exclusive));
        if exclusive {
            format!("a multiple of {unit}, at most {largest}")
        } else {
            format!("a power of two in [{unit}, {largest}]")
        }
    }

    /// The number of columns at `columns` or behind that can be allocated, or the largest.
    pub fn next(self, columns: u32, exclusive: bool) -> u32 {
        let next = if exclusive {
            columns.checked_next_multiple_of(Self::UNIT)
        } else {
            columns.checked_next_power_of_two()
        };
        let largest = self.largest(exclusive);
        next.unwrap_or(largest).clamp(Self::UNIT, largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(memory: TensorMemory, exclusive: bool) -> Vec<u32> {
        (0..=1024).chain([u32::MAX]).filter(|columns| memory.allocates(*columns, exclusive)).collect()
    }

    #[test]
    fn what_can_be_allocated() {
        for memory in [TensorMemory::BLACKWELL, TensorMemory::RUBIN] {
            assert_eq!(allocated(memory, false), [32, 64, 128, 256, 512]);
            assert!(allocated(memory, true).is_sorted_by(|one, next| one + 32 == *next));
        }
        let ends = |memory| (allocated(memory, true)[0], allocated(memory, true).last().copied());
        assert_eq!(ends(TensorMemory::BLACKWELL), (32, Some(512)));
        assert_eq!(ends(TensorMemory::RUBIN), (32, Some(576)));
    }

    #[test]
    fn the_next_that_can_be_allocated_is_the_nearest() {
        for memory in [TensorMemory::BLACKWELL, TensorMemory::RUBIN] {
            for exclusive in [false, true] {
                let all = allocated(memory, exclusive);
                for columns in (0..=1024).chain([u32::MAX - 1, u32::MAX]) {
                    let nearest = all.iter().find(|it| **it >= columns).or(all.last());
                    assert_eq!(Some(&memory.next(columns, exclusive)), nearest, "{columns}");
                }
            }
        }
    }
}
