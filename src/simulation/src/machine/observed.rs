//! What a run shows about the boxes of tensor maps that are assumed.
//!
//! A tensor map is not in the PTX. But a kernel shows how large its boxes are: multiplies read what loads have brought,
//! and an mbarrier expects so many bytes of all the loads that it awaits. In a correct kernel both agree.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Machine;
use super::extents::Extents;
use super::layouts::Reader;
use super::tensor_core::Footprint;
use crate::addresses::Swizzle;
use crate::isa::generic::LoadMode;
use crate::program::TensorCopy;
use crate::shadow::GRANULE;

/// A box as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxSize {
    pub(crate) dimensions: u32,
    /// Bytes in shared memory.
    pub(crate) bytes: u32,
    /// How multiplies read it, if they do.
    pub(crate) swizzle: Option<Swizzle>,
    /// Bits of an element, and how many it takes in shared memory.
    pub(crate) bits: Option<(u32, u32)>,
}

/// The boxes of the tensor maps that are assumed.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoxSizes {
    /// By the address of the map.
    pub(crate) sizes: BTreeMap<u64, BoxSize>,
    /// Bytes that multiplies read of what an mbarrier has awaited, and fewer bytes that it expected.
    pub(crate) missing: Option<(u32, u32)>,
}

/// What copies and multiplies do.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// By the address of a map: its dimensions; 0 if copies do not agree, or are not tiled.
    maps: BTreeMap<u64, u32>,
    /// By CTA and start: the map that a load brings it with.
    loads: BTreeMap<(u32, u32), u64>,
    stores: BTreeMap<(u32, u32), u64>,
    /// By CTA and granule: how multiplies read it.
    read: BTreeMap<u32, Vec<Option<Reader>>>,
    seen: FxHashSet<(u32, u32)>,
    /// The maps of loads that an mbarrier awaits together, and how many bytes it expects.
    awaited: BTreeMap<Vec<u64>, BTreeSet<u32>>,
}

impl Observed {
    fn load(&mut self, map: u64, dimensions: u32, is_load: bool, places: impl Iterator<Item = (u32, u32)>) {
        let known = self.maps.entry(map).or_insert(dimensions);
        if *known != dimensions {
            *known = 0;
        }
        for place in places {
            let starts = if is_load { &mut self.loads } else { &mut self.stores };
            let known = starts.entry(place).or_insert(map);
            if *known != map {
                // Whose bytes are read there is not known.
                let other = std::mem::replace(known, map);
                self.maps.insert(other, 0);
                self.maps.insert(map, 0);
            }
        }
    }

    /// Bytes that multiplies read from a start on, up to the next one, and how.
    fn read_from(&self, (cta, start): (u32, u32)) -> (u32, Option<Reader>) {
        let next = self.loads.range((cta, start + 1)..).next().filter(|((other, _), _)| *other == cta);
        let end = next.map_or(u32::MAX, |((_, next), _)| *next);
        let read = self.read.get(&cta).map_or(&[][..], Vec::as_slice);
        let own = read.get((start / GRANULE) as usize..).unwrap_or_default();
        let most = ((end - start) / GRANULE) as usize;
        let own: Vec<Reader> = own.iter().take(most).map_while(|reader| *reader).collect();
        let reader = own.first().copied().filter(|first| own.iter().all(|reader| reader == first));
        (own.len() as u32 * GRANULE, reader)
    }

    /// The boxes, as far as all that a run does agrees.
    pub(super) fn sizes(&self, extents: &Extents) -> BoxSizes {
        let mut read: BTreeMap<u64, (u32, Option<Reader>)> = BTreeMap::new();
        for (place, map) in &self.loads {
            let (bytes, reader) = self.read_from(*place);
            match read.get_mut(map) {
                // A part that nothing multiplies says nothing.
                _ if bytes == 0 => {}
                Some((known, how)) if *known != bytes || *how != reader => {
                    (*known, *how) = ((*known).max(bytes), how.filter(|how| Some(*how) == reader));
                }
                Some(_) => {}
                None => {
                    read.insert(*map, (bytes, reader));
                }
            }
        }
        let mut all = BoxSizes::default();
        let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
        for (maps, bytes) in &self.awaited {
            // Bytes that differ from phase to phase have several meanings.
            let Some(bytes) = bytes.first().copied().filter(|_| bytes.len() == 1) else { continue };
            let known: u32 = maps.iter().filter_map(|map| read.get(map)).map(|(bytes, _)| bytes).sum();
            let unread: Vec<u64> = maps.iter().copied().filter(|map| !read.contains_key(map)).collect();
            // Of elements with padding, a barrier may count the bytes with or without it.
            let is_padded = maps.iter().filter_map(|map| read.get(map)?.1).any(|it| it.bits.0 < it.bits.1);
            if is_padded && known != bytes {
                continue;
            }
            if known > bytes {
                all.missing.get_or_insert((known, bytes));
            } else if let Some(first) = unread.first()
                && unread.iter().all(|map| map == first)
                && (bytes - known).is_multiple_of(unread.len() as u32)
            {
                expected.insert(*first, (bytes - known) / unread.len() as u32);
            } else if maps.iter().all(|map| *map == maps[0]) && bytes.is_multiple_of(maps.len() as u32) {
                expected.insert(maps[0], bytes / maps.len() as u32);
            } else if known == bytes {
                expected.extend(maps.iter().filter_map(|map| Some((*map, read.get(map)?.0))));
            }
        }
        for (map, dimensions) in self.maps.iter().filter(|(_, dimensions)| **dimensions > 0) {
            let of_read = read.get(map).copied();
            let stored: BTreeSet<u32> = self
                .stores
                .iter()
                .filter(|(_, of)| *of == map)
                .map(|(place, _)| extents.get(place).copied().unwrap_or(0))
                .collect();
            // Where the two disagree, the multiplies are believed: they show what is missing.
            let bytes = match (of_read, expected.get(map), stored.first()) {
                (Some((bytes, _)), None, _) if all.missing.is_some() => bytes,
                (_, Some(bytes), _) => *bytes,
                (_, None, Some(bytes)) if stored.len() == 1 => *bytes,
                (_, None, _) => continue,
            };
            if bytes > 0 {
                let reader = of_read.and_then(|(_, reader)| reader);
                let size = BoxSize {
                    dimensions: *dimensions,
                    bytes,
                    swizzle: reader.and_then(|reader| reader.swizzle),
                    bits: reader.map(|reader| reader.bits),
                };
                all.sizes.insert(*map, size);
            }
        }
        all
    }
}

impl Machine<'_> {
    /// Notes a tensor copy whose map is assumed.
    pub(super) fn note_open_copy(
        &mut self,
        map: Option<u64>,
        tensor: &TensorCopy,
        is_load: bool,
        places: &[(u32, u32, u32)],
    ) {
        let (Some(influence), Some(map)) = (&mut self.influence, map) else { return };
        let dimensions = if tensor.mode == LoadMode::Tile { tensor.dimensions } else { 0 };
        influence.observed.load(map, dimensions, is_load, places.iter().map(|(cta, at, _)| (*cta, *at)));
    }

    /// Notes the loads that an mbarrier awaits together: where they go.
    pub(super) fn note_awaited(&mut self, places: &[(u32, u32)], bytes: u32) {
        let Some(influence) = &mut self.influence else { return };
        let observed = &mut influence.observed;
        let maps: Option<Vec<u64>> = places.iter().map(|place| observed.loads.get(place).copied()).collect();
        if let Some(mut maps) = maps {
            maps.sort_unstable();
            observed.awaited.entry(maps).or_default().insert(bytes);
        }
    }

    /// Notes a matrix that a multiply reads.
    pub(super) fn note_read(&mut self, cta: u32, matrix: &Footprint, reader: Reader) {
        let Self { influence: Some(influence), ctas, .. } = self else { return };
        let observed = &mut influence.observed;
        if observed.loads.is_empty() || !observed.seen.insert((matrix.number, cta)) {
            return;
        }
        let shared = &ctas[cta as usize].shared;
        let read = observed.read.entry(cta).or_default();
        for (start, bytes) in &matrix.pieces {
            for granule in start / GRANULE..(start + bytes).div_ceil(GRANULE) {
                // What threads or plain copies have written is not of a tensor copy.
                if shared.is_written((granule * GRANULE).into(), GRANULE as usize) {
                    continue;
                }
                let index = granule as usize;
                if read.len() <= index {
                    read.resize(index + 1, None);
                }
                read[index] = Some(reader);
            }
        }
    }
}
