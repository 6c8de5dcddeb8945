//! Sizes of boxes that satisfy what all mbarriers expect.
//!
//! Each phase of an mbarrier is an equation: the bytes of the boxes that it awaits add up to what it expects.
//!
//! ```text
//! A + B = 32768      the loads of a stage
//!     B = 32768      a stage whose load of A is missing: then A has no bytes
//! ```

use std::collections::BTreeMap;

/// Equations that are looked at; kernels have a few.
const MOST: usize = 64;
/// The first dimension of a box is a multiple of 16 bytes (`cuTensorMapEncodeTiled`).
const MULTIPLE: u32 = 16;

/// What an mbarrier expects of loads that it awaits together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Equation {
    /// The addresses of their maps in ascending order: as often as there are loads with them.
    pub(super) maps: Vec<u64>,
    pub(super) bytes: u32,
    /// The step of one of the loads.
    pub(super) step: u32,
}

/// An equation that follows from others: from those of two steps.
#[derive(Clone, Debug)]
struct Derived {
    maps: Vec<u64>,
    bytes: i64,
    from: [(u32, u32); 2],
}

/// The sizes of boxes, as far as the equations tell.
///
/// # Errors
/// The steps of two equations, and what these expect, if no sizes satisfy them.
pub(super) fn solve(equations: &[Equation]) -> Result<BTreeMap<u64, u32>, [(u32, u32); 2]> {
    let mut all: Vec<Derived> = Vec::new();
    let mut waiting: Vec<Derived> = equations
        .iter()
        .map(|it| Derived { maps: it.maps.clone(), bytes: it.bytes.into(), from: [(it.step, it.bytes); 2] })
        .collect();
    while let Some(next) = waiting.pop() {
        if next.has_no_solution() {
            return Err(next.from);
        }
        let is_known = all.iter().any(|it| it.maps == next.maps && it.bytes == next.bytes);
        if next.maps.is_empty() || is_known || all.len() == MOST {
            continue;
        }
        for other in &all {
            waiting.extend(next.minus(other));
            waiting.extend(other.minus(&next));
        }
        all.push(next);
    }
    Ok(all.iter().filter_map(Derived::solution).collect())
}

impl Derived {
    /// What is left of it without all that is in another one.
    fn minus(&self, other: &Self) -> Option<Self> {
        let mut maps = self.maps.clone();
        for map in &other.maps {
            let at = maps.iter().position(|it| it == map)?;
            maps.remove(at);
        }
        Some(Self { maps, bytes: self.bytes - other.bytes, from: [self.from[0], other.from[0]] })
    }

    fn count(&self) -> i64 {
        i64::from(self.maps.len() as u32)
    }

    fn has_no_solution(&self) -> bool {
        let is_one = self.maps.iter().all(|map| *map == self.maps[0]);
        match self.count() {
            0 => self.bytes != 0,
            count if is_one => self.bytes <= 0 || self.bytes % (count * i64::from(MULTIPLE)) != 0,
            _ => self.bytes <= 0 || self.bytes % i64::from(MULTIPLE) != 0,
        }
    }

    fn solution(&self) -> Option<(u64, u32)> {
        let first = *self.maps.first()?;
        let is_one = self.maps.iter().all(|map| *map == first);
        is_one.then(|| (first, (self.bytes / self.count()) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::{Equation, solve};

    fn equation(step: u32, maps: &[u64], bytes: u32) -> Equation {
        Equation { maps: maps.to_vec(), bytes, step }
    }

    #[test]
    fn sizes_follow_from_sums() {
        let equations =
            [equation(1, &[1, 2], 49152), equation(2, &[1], 16384), equation(3, &[3, 3, 3, 3], 8192)];
        let sizes = solve(&equations).unwrap();
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [(1, 16384), (2, 32768), (3, 2048)]);
        assert!(solve(&[equation(1, &[1, 2], 49152)]).unwrap().is_empty());
    }

    #[test]
    fn a_load_that_is_missing_in_one_stage_contradicts_the_others() {
        let error = solve(&[equation(1, &[1, 2], 32768), equation(2, &[2], 32768)]).unwrap_err();
        assert!(error == [(1, 32768), (2, 32768)] || error == [(2, 32768), (1, 32768)]);
    }

    #[test]
    fn the_same_loads_have_the_same_bytes() {
        assert!(solve(&[equation(1, &[1, 2], 32768), equation(2, &[1, 2], 33792)]).is_err());
        assert!(solve(&[equation(1, &[1, 2], 32768), equation(2, &[1, 2], 32768)]).is_ok());
    }

    #[test]
    fn bytes_that_no_box_has() {
        assert!(solve(&[equation(1, &[1], 1000)]).is_err());
        assert!(solve(&[equation(1, &[1, 1, 1], 16384)]).is_err());
    }
}
