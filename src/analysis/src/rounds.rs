//! What lies between an instruction and the next time that control comes to another one.
//!
//! Behind a loop's back edge, nearly everything is between nearly everything. What matters between an
//! operation and its result is only what is passed before the result is read for the first time, and before
//! the operation is issued again.

use rustc_hash::FxHashSet;

use super::budget::Budget;
use super::cfg::{BlockId, Cfg};

/// From one instruction to another one.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Whether the first instruction begins another one wherever control comes to it again.
    pub begins_again: bool,
}

impl Round {
    /// Whether a path goes past one of these instructions, which are in the order of the text; it does
    /// where that is too much to find out.
    pub fn passes(self, cfg: &Cfg, budget: &Budget, instructions: &[u32]) -> bool {
        let Some(start) = cfg.block_of(self.from) else { return true };
        let mut seen: FxHashSet<(BlockId, bool)> = FxHashSet::default();
        let mut work = vec![(start, self.from + 1, false)];
        while let Some((block, at, passed)) = work.pop() {
            if !budget.take(1) {
                return true;
            }
            let content = cfg.block(block);
            let rest = at..content.instructions.end;
            let again = self.begins_again.then_some(self.from);
            let end = [Some(self.to), again].into_iter().flatten().filter(|it| rest.contains(it)).min();
            let until = end.unwrap_or(rest.end);
            let first = instructions.partition_point(|it| *it < at);
            let passed = passed || instructions.get(first).is_some_and(|it| *it < until);
            if end == Some(self.to) && passed {
                return true;
            }
            if end.is_some() {
                continue;
            }
            for &next in &content.successors {
                if seen.insert((next, passed)) {
                    work.push((next, cfg.block(next).instructions.start, passed));
                }
            }
        }
        false
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
        let round = Round { from: find("membar.gl"), to: find("membar.sys"), begins_again };
        round.passes(&cfg, &Budget::default(), &[find("membar.cta")])
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
