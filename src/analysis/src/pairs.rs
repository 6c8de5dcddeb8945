//! What multicast commits signal in which pair of CTAs.
//!
//! A mask that is the same in all CTAs names the same CTAs in each pair of a cluster: a `commit` of the second pair then
//! signals the first one, and perhaps nobody signals the second.

use super::flow::Flow;
use super::mbarriers::{Use, Used};
use crate::instruction::Scalar;
use crate::isa::special_registers::Extent;
use crate::isa::vocabulary::{CtaGroup, Multicast};
use crate::resolve::launch_bounds::Cluster;

/// A `commit` of a pair that signals other pairs only, where the pair waits and nothing signals it.
#[derive(Clone, Copy, Debug)]
pub struct ForOthers<'a> {
    /// The `commit`.
    pub commit: Used,
    /// Its mask.
    pub operand: &'a Scalar<'a>,
    /// What that is.
    pub mask: u64,
    /// The wait.
    pub wait: Used,
    /// The rank of the first CTA of the pair.
    pub rank: u32,
    /// The cluster.
    pub cluster: Cluster,
}

/// The rank of the first CTA of the second pair.
const SECOND: u32 = 2;

impl<'a> Flow<'a> {
    /// Commits of the second pair of a cluster that signal an mbarrier in other pairs only, where the second pair waits
    /// for it and nothing signals it there.
    pub fn commits_for_other_pairs(&self) -> Vec<ForOthers<'a>> {
        let mut found = Vec::new();
        let function = &self.unit.module.functions[self.function() as usize];
        let cluster = self.unit.launch_bounds(function).cluster();
        let Some(cluster) = cluster.filter(|it| it.exact && it.ctas > u64::from(SECOND)) else {
            return found;
        };
        let used = self.mbarriers();
        let known: Vec<(Used, Option<(&'a Scalar<'a>, u64)>)> =
            used.iter().filter(|it| it.how.signals()).map(|it| (*it, self.pair_mask(it))).collect();
        let pair = 0b11 << SECOND;
        let is_for_others = |mask: u64| mask != 0 && mask & pair == 0;
        if !known.iter().any(|(_, mask)| mask.is_some_and(|(_, mask)| is_for_others(mask))) {
            return found;
        }
        let Some(of_callees) = self.mbarriers_of_callees(Use::signals) else { return found };
        for (commit, mask) in &known {
            let (Some(mbarrier), Some((operand, mask))) = (commit.mbarrier, *mask) else { continue };
            if !is_for_others(mask) || !self.is_executed_by(commit.instruction, SECOND) {
                continue;
            }
            // Whatever may signal it, signals other pairs.
            let may_be_this = |it: &Used| it.mbarrier.is_none_or(|it| self.may_be_same(&it, &mbarrier));
            let signals_others = |(it, mask): &(Used, Option<(_, u64)>)| {
                !may_be_this(it) || mask.is_some_and(|(_, mask)| is_for_others(mask))
            };
            if !known.iter().all(signals_others)
                || of_callees.iter().any(|it| self.may_be_same(it, &mbarrier))
            {
                continue;
            }
            let is_waited_for = |it: &&Used| {
                let is_it = it.mbarrier.is_some_and(|it| it == mbarrier || it.is_of_same_ring(&mbarrier));
                it.how == Use::Waits && is_it && self.event_at(it.instruction).is_some()
            };
            let in_pair = |it: &&Used| {
                [SECOND, SECOND + 1].iter().any(|rank| self.is_executed_by(it.instruction, *rank))
            };
            if let Some(wait) = used.iter().filter(is_waited_for).find(in_pair) {
                found.push(ForOthers { commit: *commit, operand, mask, wait: *wait, rank: SECOND, cluster });
            }
        }
        found
    }

    /// The mask of a multicast `commit` of a pair, if all of it is known.
    fn pair_mask(&self, used: &Used) -> Option<(&'a Scalar<'a>, u64)> {
        let commit = self.commit(self.event_at(used.instruction)?)?;
        let decoded = self.decoded(self.event_at(used.instruction)?)?;
        if decoded.cta_group != Some(CtaGroup::Two) {
            return None;
        }
        let operand = commit.cta_mask.as_ref()?;
        let width = if commit.multicast.as_ref()?.value == Multicast::Cluster32b { 32 } else { 16 };
        Some((operand, self.facts.value(self.unit, decoded, operand).constant(width)?))
    }

    /// Whether a CTA of this rank executes an instruction, where its cluster gets there at all.
    fn is_executed_by(&self, at: u32, rank: u32) -> bool {
        let executes = self.executing(Some(rank)).of_those_there(at, Extent::Cluster);
        executes.is_some_and(|executes| executes.certain_warps().next().is_some())
    }
}
