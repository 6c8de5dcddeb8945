//! Numbers of the threads of a block, kept as short as they can be said.

use std::sync::Arc;

use super::threads::Holds;
use crate::isa::generic::{Arithmetic, Bits, Computation};

/// A number in each thread, as short as it can be said: most are the same for a whole warp, or count
/// its lanes.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    /// The same in all threads.
    Same(u64),
    /// One in all threads of a warp.
    Warps(Arc<[u64]>),
    /// That of the first lane of each warp, and one more in each lane behind it. None wraps around.
    Lanes(Arc<[u64]>),
    /// One of two: `mov r, 0; @elected mov r, 1`.
    Chosen(Arc<Chosen>),
    /// One in each thread.
    Threads(Arc<[u64]>),
}

/// One number where something is true, and another where it is false; of all threads it is known which.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) by: Holds,
    pub(super) yes: u64,
    pub(super) no: u64,
}

/// For how many threads something has to be said on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grain {
    All,
    Warp,
    Thread,
}

impl Numbers {
    pub(super) fn grain(&self) -> Grain {
        match self {
            Self::Same(_) => Grain::All,
            Self::Warps(_) => Grain::Warp,
            Self::Lanes(_) | Self::Chosen(_) | Self::Threads(_) => Grain::Thread,
        }
    }

    /// The number at a place of a list with this grain, which is at least as fine.
    pub(super) fn at(&self, grain: Grain, place: usize) -> u64 {
        match self {
            Self::Same(number) => *number,
            Self::Warps(numbers) if grain == Grain::Thread => numbers[place / 32],
            Self::Lanes(firsts) => firsts[place / 32] + place as u64 % 32,
            Self::Chosen(chosen) if chosen.by.yes.contains(place) => chosen.yes,
            Self::Chosen(chosen) => chosen.no,
            Self::Warps(numbers) | Self::Threads(numbers) => numbers[place],
        }
    }

    pub(super) fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        match self {
            Self::Same(number) => holds(*number),
            Self::Warps(numbers) | Self::Threads(numbers) => numbers.iter().all(|number| holds(*number)),
            Self::Lanes(firsts) => firsts.iter().all(|first| (*first..first + 32).all(&holds)),
            Self::Chosen(chosen) => holds(chosen.yes) && holds(chosen.no),
        }
    }

    /// Those of the first lanes, where the others count on without leaving the numbers of this width.
    pub(super) fn firsts(&self, width: u32) -> Option<&[u64]> {
        match self {
            Self::Lanes(firsts)
                if firsts.iter().all(|first| (first + 31).checked_shr(width).is_none_or(|it| it == 0)) =>
            {
                Some(firsts)
            }
            Self::Lanes(_) | Self::Same(_) | Self::Warps(_) | Self::Chosen(_) | Self::Threads(_) => None,
        }
    }
}

/// What an operation makes of numbers that count lanes and numbers that are the same for a warp, where
/// that is of one of these kinds again.
pub(super) fn of_lanes(computes: Computation, a: &Numbers, b: &Numbers, width: u32) -> Option<Numbers> {
    let cut = |value: u64| if width == 64 { value } else { value & ((1 << width) - 1) };
    // Of a whole number of warps.
    let aligned = |numbers: &Numbers| {
        let firsts = numbers.firsts(width - 1)?;
        firsts.iter().all(|first| first.is_multiple_of(32)).then(|| firsts.to_vec())
    };
    let same = |numbers: &Numbers| match numbers {
        Numbers::Same(number) => Some(cut(*number)),
        Numbers::Warps(_) | Numbers::Lanes(_) | Numbers::Chosen(_) | Numbers::Threads(_) => None,
    };
    let each = |firsts: Vec<u64>, number: &dyn Fn(u64) -> u64| firsts.into_iter().map(number).collect();
    match computes {
        Computation::And => {
            let (firsts, mask) = aligned(a).zip(same(b)).or_else(|| aligned(b).zip(same(a)))?;
            match mask % 32 {
                0 => Some(Numbers::Warps(each(firsts, &|first| first & mask))),
                31 => Some(Numbers::Lanes(each(firsts, &|first| first & mask))),
                _ => None,
            }
        }
        Computation::Bits(Bits::ShiftRight) => {
            let by = same(b).filter(|by| (5..u64::from(width)).contains(by))?;
            Some(Numbers::Warps(each(aligned(a)?, &|first| first >> by)))
        }
        Computation::Arithmetic(Arithmetic::Divide) => {
            let by = same(b).filter(|by| *by > 0 && by.is_multiple_of(32))?;
            Some(Numbers::Warps(each(aligned(a)?, &|first| first / by)))
        }
        Computation::Arithmetic(Arithmetic::Remainder) => {
            let by = same(b).filter(|by| *by > 0 && by.is_multiple_of(32))?;
            Some(Numbers::Lanes(each(aligned(a)?, &|first| first % by)))
        }
        Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => {
            let adds = computes == Computation::Arithmetic(Arithmetic::Add);
            let (lanes, other) = if adds && b.firsts(width).is_some() { (b, a) } else { (a, b) };
            let firsts = lanes.firsts(width).filter(|_| other.grain() < Grain::Thread)?;
            let moved = firsts.iter().enumerate().map(|(warp, first)| {
                let other = other.at(Grain::Warp, warp);
                cut(if adds { first.wrapping_add(other) } else { first.wrapping_sub(other) })
            });
            let moved = Numbers::Lanes(moved.filter(|first| first.checked_add(31).is_some()).collect());
            let is_whole = matches!(&moved, Numbers::Lanes(all) if all.len() == firsts.len());
            (is_whole && moved.firsts(width).is_some()).then_some(moved)
        }
        // What is not as short is found number by number.
        _ => None,
    }
}
