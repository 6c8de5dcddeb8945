//! Reads of global memory that race, and whether anything depends on what they read.
//!
//! Compilers let all warps execute the loads of a small block, and only some of them the stores:
//!
//! ```text
//!     ld.global.b32 v, [x];       warps 2 and 3 load what warps 0 and 1 load and overwrite
//! @p  st.global.b32 [x], w;       p holds in warps 0 and 1
//! ```
//!
//! What warps 2 and 3 load is not used. So a run in which loads race is repeated with the loaded values unknown. If nothing
//! that the kernel does depends on them, the race is not reported. But something has to depend on what other warps load
//! there: a load that is not used at all stands for one whose use was left out, as in a small example.

use std::collections::BTreeMap;

use super::Machine;
use super::warp::Strand;
use crate::program::Action;
use crate::shadow::Access;

/// Which values are taken for unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    #[default]
    None,
    /// Those that are read in a race; such races are no findings.
    Racing,
    /// All that the instructions load that have a part in one.
    All,
}

/// The reads that race: by cluster, warp and step the lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RacingReads {
    lanes: BTreeMap<(u32, u32, u32), u32>,
    /// Whose values are taken for unknown.
    pub(crate) unknown: Unknown,
    /// Whether some races are of another kind.
    has_others: bool,
}

impl RacingReads {
    /// Whether it may be that nothing depends on them.
    pub(crate) fn may_be_unused(&self) -> bool {
        !self.lanes.is_empty() && !self.has_others
    }

    /// The steps that read.
    pub(crate) fn steps(&self) -> impl Iterator<Item = u32> {
        let mut steps: Vec<u32> = self.lanes.keys().map(|(_, _, step)| *step).collect();
        steps.sort_unstable();
        steps.dedup();
        steps.into_iter()
    }

    fn contains(&self, access: &Access) -> bool {
        let lanes = self.lanes.get(&(access.cluster, access.warp, access.step)).copied().unwrap_or(0);
        !access.writes && access.mask & !lanes == 0
    }
}

impl Machine<'_> {
    /// Notes two accesses of global memory that race. Whether that is no finding.
    pub(super) fn note_racing(&mut self, own: &Access, other: &Access) -> bool {
        let Some(racing) = &mut self.racing else { return false };
        if racing.unknown != Unknown::None {
            return racing.contains(own) || racing.contains(other);
        }
        let program = self.program;
        let is_load = |access: &&Access| {
            let action = program.steps.get(access.step as usize).map(|step| &step.action);
            !access.writes && access.strong.is_none() && matches!(action, Some(Action::Load(_)))
        };
        match [own, other].into_iter().find(is_load) {
            Some(read) => {
                *racing.lanes.entry((read.cluster, read.warp, read.step)).or_default() |= read.mask;
            }
            None => racing.has_others = true,
        }
        false
    }

    /// The lanes of a load whose values are taken for unknown.
    pub(super) fn racing_lanes(&self, strand: &Strand) -> u32 {
        let Some(racing) = &self.racing else { return 0 };
        match racing.unknown {
            Unknown::None => 0,
            Unknown::Racing => {
                racing.lanes.get(&(self.shape.index, strand.warp, strand.step)).copied().unwrap_or(0)
            }
            Unknown::All if racing.lanes.keys().any(|(_, _, step)| *step == strand.step) => u32::MAX,
            Unknown::All => 0,
        }
    }
}
