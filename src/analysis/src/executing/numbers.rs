//! Numbers of the threads of a block, kept as short as they can be said.

use std::sync::Arc;

use super::threads::Holds;

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

    /// One for each thread, as short as it can be said.
    pub(super) fn of_threads(numbers: Vec<u64>) -> Self {
        let steps_by = |step: u64| {
            numbers.chunks(32).all(|warp| {
                let counted = (0..).map(|lane| warp[0].checked_add(lane * step));
                warp.iter().zip(counted).all(|(number, counted)| Some(*number) == counted)
                    && warp[0].checked_add(31).is_some()
            })
        };
        let firsts = || numbers.iter().copied().step_by(32).collect();
        if steps_by(0) {
            Self::Warps(firsts())
        } else if steps_by(1) {
            Self::Lanes(firsts())
        } else {
            Self::Threads(numbers.into())
        }
    }
}
