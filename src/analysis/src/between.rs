//! What lies between an instruction and the next time that control comes to another one.
//!
//! Behind a loop's back edge, nearly everything is between nearly everything. What matters between an
//! operation and its result is only what is passed before the result is read for the first time, and before
//! the operation is issued again.

use smallvec::{SmallVec, smallvec};

use super::budget::Budget;
use super::cfg::{Cfg, Direction};
use super::reach::PassedWithout;

/// From one instruction to another one.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Whether the first instruction begins another one wherever control comes to it again.
    pub begins_again: bool,
}

impl Between {
    /// Whether a path goes past one of these instructions, which are in the order of the text; it does
    /// where that is too much to find out.
    pub fn passes(self, cfg: &Cfg, budget: &Budget, instructions: &[u32]) -> bool {
        if cfg.block_of(self.from).is_none() {
            return true;
        }
        let mut ends: SmallVec<[u32; 2]> = smallvec![self.to];
        ends.extend(self.begins_again.then_some(self.from));
        ends.sort_unstable();
        let passed = |direction, from| PassedWithout::new(cfg, direction, from, &ends, budget);
        let after = passed(Direction::Forward, self.from);
        let (Some(after), Some(before)) = (after, passed(Direction::Backward, self.to)) else { return true };
        let is_between = |at: &u32| !ends.contains(at) && after.has(cfg, *at) && before.has(cfg, *at);
        instructions.iter().any(is_between)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Whether a path from `membar.gl` to `membar.sys` goes past `membar.cta`.
    fn passes(body: &str, begins_again: bool) -> bool {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p<3>; .reg .b32 r; {body} ret; }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let (_, function) = unit.module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        let find = |opcode: &str| {
            unit.module.instructions.iter().position(|it| source.slice(it.opcode) == opcode).unwrap() as u32
        };
        let between = Between { from: find("membar.gl"), to: find("membar.sys"), begins_again };
        between.passes(&cfg, &Budget::default(), &[find("membar.cta")])
    }

    #[test]
    fn what_is_passed_first() {
        assert!(passes("membar.gl; membar.cta; membar.sys;", true));
        assert!(!passes("membar.gl; membar.sys; membar.cta;", true));
        assert!(passes("membar.gl; @p0 bra L; membar.cta; L: membar.sys;", true));
    }

    #[test]
    fn rounds_of_a_loop() {
        assert!(!passes("L: membar.gl; membar.sys; membar.cta; @p0 bra L;", true));
        assert!(!passes("L: @p1 bra M; membar.gl; M: membar.sys; membar.cta; @p0 bra L;", true));
        assert!(!passes("L: membar.cta; membar.gl; @p0 bra L; membar.sys;", true));
        assert!(
            passes("L: membar.cta; @p1 membar.gl; @p0 bra L; membar.sys;", false),
            "it may not begin again"
        );
        assert!(passes("L: membar.sys; membar.gl; membar.cta; @p0 bra L;", true));
        assert!(passes("L: @p1 bra M; membar.sys; M: membar.gl; membar.cta; @p0 bra L;", true));
    }
}
