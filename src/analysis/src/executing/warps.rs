//! Which warps of a block execute an instruction, whatever threads of them do.

use super::Executes;
use super::threads::Holds;

/// The warps that execute an instruction, one bit each. Far fewer of these differ than instructions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Warps {
    /// Those of which some thread certainly does.
    certain: u32,
    /// Those of which some thread may.
    possible: u32,
}

impl Warps {
    /// Those that certainly execute it, one bit each.
    pub fn certain(self) -> u32 {
        self.certain
    }

    /// Those that may.
    pub fn possible(self) -> u32 {
        self.possible
    }

    /// Whether some warp may execute it.
    pub fn are_some(self) -> bool {
        self.possible != 0
    }

    /// Whether no warp can execute both.
    pub fn are_others_than(self, other: Self) -> bool {
        self.possible & other.possible == 0
    }

    /// Whether a warp executes it that certainly does not execute the other one.
    pub fn are_more_than(self, other: Self) -> bool {
        self.certain & !other.possible != 0
    }

    /// Those of these warps that execute something in a run in which others execute the other instruction, if
    /// there are such runs for certain: these, or the others, execute it always. In a block that may be smaller
    /// than it can be (`is_exact` is false), each warp of several may be missing.
    pub fn beside(self, other: Self, is_exact: bool) -> Option<Self> {
        let are_apart = self.are_others_than(other);
        let certain = self.certain & !other.possible;
        if certain != 0 && (is_exact || are_apart) {
            return Some(Self { certain, possible: certain });
        }
        (are_apart && self.are_some() && other.certain != 0).then_some(self)
    }

    /// Whether one of the first may execute the one and one of the second the other instruction where both
    /// access the same lanes of Tensor Memory: those of their rank among four.
    pub fn share_lanes_with(self, other: Self) -> bool {
        let ranks = |warps: u32| (0..u32::BITS).step_by(4).fold(0, |ranks, by| ranks | (warps >> by) & 0xF);
        ranks(self.possible) & ranks(other.possible) != 0
    }
}

impl Executes {
    /// The warps that execute it.
    pub fn by_warps(&self) -> Warps {
        let Holds { yes, no, .. } = self.holds;
        Warps { certain: yes.and(self.all).some_of_warps(), possible: self.all.without(no).some_of_warps() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warps(certain: u32, possible: u32) -> Warps {
        Warps { certain, possible }
    }

    #[test]
    fn warps_that_are_others() {
        let (first, second) = (warps(0b01, 0b01), warps(0b10, 0b10));
        assert!(first.are_others_than(second) && first.are_more_than(second));
        assert!(!first.are_others_than(warps(0, 0b11)) && !first.are_more_than(warps(0, 0b11)));
        assert!(warps(0b11, 0b11).are_more_than(first) && !first.are_more_than(warps(0b11, 0b11)));
        assert!(first.are_some() && !warps(0, 0).are_some());
    }

    #[test]
    fn warps_that_certainly_go_beside_others() {
        let (all, first, second) = (warps(0b11, 0b11), warps(0b01, 0b01), warps(0b10, 0b10));
        assert_eq!(all.beside(first, true), Some(second));
        // There may be one warp only.
        assert_eq!(all.beside(first, false), None);
        assert_eq!(second.beside(first, false), Some(second));
        let perhaps = warps(0, 0b10);
        assert_eq!(perhaps.beside(first, false), Some(perhaps));
        assert_eq!(perhaps.beside(warps(0, 0b01), true), None);
        assert_eq!(perhaps.beside(all, true), None);
    }

    #[test]
    fn warps_of_the_same_rank_share_lanes() {
        let of = |warp: u32| warps(1 << warp, 1 << warp);
        assert!(of(1).share_lanes_with(of(5)) && of(3).share_lanes_with(of(31)));
        assert!(!of(1).share_lanes_with(of(2)));
    }
}
