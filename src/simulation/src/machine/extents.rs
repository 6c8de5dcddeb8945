//! How far tensor copies reach that store, where nobody has said their tensor maps.
//!
//! A box lies in one piece from its start. Nobody writes to shared memory what nobody reads: what threads have
//! written behind the start of a copy, and nothing else reads, is for the copy, up to where the next one starts. So a
//! first run shows how far they reach, and a second one what else comes there.

use std::collections::{BTreeMap, BTreeSet};

use super::Machine;
use crate::program::{Action, Program};
use crate::shadow::{Access, GRANULE, Via};

/// By CTA and start: bytes.
pub(crate) type Extents = BTreeMap<(u32, u32), u32>;

/// What happens to the bytes that copies may read.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// By CTA and granule.
    granules: BTreeMap<u32, Vec<Use>>,
    /// Where copies start.
    starts: BTreeSet<(u32, u32)>,
    /// What an earlier run has shown.
    known: Extents,
}

/// What is done to a granule.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Threads write it.
    is_written: bool,
    /// Something reads it, or brings it.
    is_used: bool,
}

impl Stored {
    /// Where a kernel has such copies.
    pub(super) fn new(program: &Program, known: &Extents) -> Option<Box<Self>> {
        let stores = |action: &Action| matches!(action, Action::Bulk(bulk) if bulk.tensor.is_some() && bulk.barrier.is_none());
        let any = program.steps.iter().any(|step| stores(&step.action));
        any.then(|| Box::new(Self { known: known.clone(), ..Self::default() }))
    }

    /// Notes an access to some bytes of a CTA.
    pub(super) fn note(&mut self, access: &Access, cta: u32, start: u32, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let (first, last) = ((start / GRANULE) as usize, ((start + bytes - 1) / GRANULE) as usize);
        let granules = self.granules.entry(cta).or_default();
        if granules.len() <= last {
            granules.resize(last + 1, Use::default());
        }
        for granule in &mut granules[first..=last] {
            if access.writes && access.via == Via::Generic {
                granule.is_written = true;
            } else {
                granule.is_used = true;
            }
        }
    }

    /// How many bytes a copy is taken to read.
    pub(super) fn extent(&mut self, cta: u32, start: u32) -> u32 {
        self.starts.insert((cta, start));
        self.known.get(&(cta, start)).copied().unwrap_or(GRANULE)
    }

    /// How far the copies reach.
    pub(super) fn extents(&self) -> Extents {
        let mut starts = self.starts.iter().peekable();
        let mut extents = Extents::new();
        while let Some((cta, start)) = starts.next().copied() {
            let next = starts.peek().filter(|(other, _)| *other == cta).map_or(u32::MAX, |(_, next)| *next);
            let most = (next - start).div_ceil(GRANULE) as usize;
            let granules = self.granules.get(&cta).map_or(&[][..], Vec::as_slice);
            let behind = granules.get((start / GRANULE) as usize..).unwrap_or_default();
            let own = behind.iter().take(most).take_while(|it| it.is_written && !it.is_used).count();
            if own > 1 {
                extents.insert((cta, start), own as u32 * GRANULE);
            }
        }
        extents
    }
}

impl Machine<'_> {
    /// How many bytes a tensor copy is taken to read whose map nobody has said.
    pub(super) fn extent_of_store(&mut self, cta: u32, start: u32) -> u32 {
        self.stored.as_mut().map_or(GRANULE, |stored| stored.extent(cta, start))
    }
}
