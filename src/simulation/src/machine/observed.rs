//! What a run shows about the boxes of tensor maps that are assumed.
//!
//! A tensor map is not in the PTX. But a kernel shows how large its boxes are: multiplies read what loads have brought,
//! and an mbarrier expects so many bytes of all the loads that it awaits. In a correct kernel both agree, and all phases
//! of all mbarriers agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Machine;
use super::box_sizes::{Equation, solve};
use super::extents::Extents;
use super::layouts::{ReadAs, Reader};
use super::tensor_core::Footprint;
use crate::addresses::Swizzle;
use crate::isa::generic::LoadMode;
use crate::program::{TensorCopy, windows};
use crate::shadow::GRANULE;

/// Bytes that lie together in a box: loads start at multiples of them.
const LINE: u32 = 128;

/// A box as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxSize {
    pub(crate) dimensions: u32,
    /// Bytes that a copy moves: without the padding of elements in shared memory.
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
    /// Why no boxes explain what the run did.
    pub(crate) contradiction: Option<Contradiction>,
}

/// Why no boxes explain what a run did: something is missing in the kernel, or counted wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// What mbarriers expect of the loads at these two steps: no boxes have so many bytes.
    Expected([(u32, u32); 2]),
    /// The load at this step would have to bring both matrices of a multiply.
    BothMatrices(u32),
    /// An mbarrier expects so many bytes of the load at a step and of others, and multiplies read fewer.
    Unread(u32, (u32, u32)),
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
    read: BTreeMap<u32, Vec<Option<Read>>>,
    seen: FxHashSet<(u32, u32, ReadAs)>,
    /// The loads that an mbarrier awaits together: by their maps and the bytes that it expects.
    awaited: BTreeMap<(Vec<u64>, u32), Awaited>,
}

/// Loads that an mbarrier awaits together.
#[derive(Clone, Debug)]
struct Awaited {
    /// The step of one of them.
    step: u32,
    /// Where they go: CTA and start.
    places: Vec<(u32, u32)>,
}

/// How multiplies read a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    reader: Reader,
    /// As which matrices.
    matrices: [bool; ReadAs::COUNT],
}

/// What multiplies read of a load.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    bytes: u32,
    /// The same with what is left out of lines of 128 bytes: the last columns of a matrix may fill a part of its lines.
    bytes_of_lines: u32,
    /// How, if all of it is read alike.
    reader: Option<Reader>,
    /// Whether some of it is read as A only, and some as B only.
    is_of_both: bool,
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

    /// What multiplies read from a start on, up to the next one.
    fn read_from(&self, (cta, start): (u32, u32)) -> Part {
        let next = self.loads.range((cta, start + 1)..).next().filter(|((other, _), _)| *other == cta);
        let end = next.map_or(u32::MAX, |((_, next), _)| *next);
        let read = self.read.get(&cta).map_or(&[][..], Vec::as_slice);
        let own = read.get((start / GRANULE) as usize..).unwrap_or_default();
        let most = ((end - start) / GRANULE) as usize;
        let lines = own[..most.min(own.len())].chunks((LINE / GRANULE) as usize);
        let lines = lines.take_while(|line| line.iter().any(Option::is_some)).count() as u32;
        let own: Vec<Read> = own.iter().take(most).map_while(|read| *read).collect();
        let first = own.first().map(|read| read.reader);
        let is_only = |it: &Read, matrix: ReadAs| {
            ReadAs::ALL.iter().all(|other| it.matrices[*other as usize] == (*other == matrix))
        };
        Part {
            bytes: own.len() as u32 * GRANULE,
            bytes_of_lines: lines * LINE,
            reader: first.filter(|first| own.iter().all(|read| read.reader == *first)),
            is_of_both: own.iter().any(|it| is_only(it, ReadAs::A))
                && own.iter().any(|it| is_only(it, ReadAs::B)),
        }
    }

    /// What mbarriers expect of tensor maps that are parameters: these do not change in a run.
    fn equations(&self) -> Vec<Equation> {
        let is_constant = |map: &u64| map >> windows::BITS == windows::PARAM;
        let of_constants = self.awaited.iter().filter(|((maps, _), _)| maps.iter().all(is_constant));
        of_constants
            .map(|((maps, bytes), Awaited { step, .. })| Equation {
                maps: maps.clone(),
                bytes: *bytes,
                step: *step,
            })
            .collect()
    }

    /// Why no boxes explain it.
    fn contradiction(&self) -> Option<Contradiction> {
        if let Err(both) = solve(&self.equations()) {
            return Some(Contradiction::Expected(both));
        }
        for ((_, bytes), Awaited { step, places }) in &self.awaited {
            let parts: Vec<Part> = places.iter().map(|place| self.read_from(*place)).collect();
            if parts.iter().any(|part| part.is_of_both) {
                return Some(Contradiction::BothMatrices(*step));
            }
            let read: u32 = parts.iter().map(|part| part.bytes_of_lines).sum();
            if read < *bytes && parts.iter().all(|part| part.bytes > 0) {
                return Some(Contradiction::Unread(*step, (read, *bytes)));
            }
        }
        None
    }

    /// The boxes, as far as all that a run does agrees.
    pub(super) fn sizes(&self, extents: &Extents) -> BoxSizes {
        let mut read: BTreeMap<u64, (u32, Option<Reader>)> = BTreeMap::new();
        for (place, map) in &self.loads {
            let Part { bytes, reader, .. } = self.read_from(*place);
            let bytes = reader.map_or(bytes, |reader| bytes / 16 * reader.bytes_of_sixteen());
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
        let mut all = BoxSizes { contradiction: self.contradiction(), ..BoxSizes::default() };
        let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
        let phases: BTreeSet<(&Vec<u64>, u32)> =
            self.awaited.keys().map(|(maps, bytes)| (maps, *bytes)).collect();
        for (maps, bytes) in &phases {
            // Bytes that differ from phase to phase have several meanings.
            if phases.iter().any(|(other, of_other)| other == maps && of_other != bytes) {
                continue;
            }
            let known: u32 = maps.iter().filter_map(|map| read.get(map)).map(|(bytes, _)| bytes).sum();
            let unread: Vec<u64> = maps.iter().copied().filter(|map| !read.contains_key(map)).collect();
            // Of elements with padding, a load may bring rows that no multiply reads to their end.
            let is_padded = maps.iter().filter_map(|map| read.get(map)?.1).any(|it| it.bits.0 < it.bits.1);
            if is_padded && known != *bytes {
                continue;
            }
            if known > *bytes {
                all.missing.get_or_insert((known, *bytes));
            } else if let Some(first) = unread.first()
                && unread.iter().all(|map| map == first)
                && (bytes - known).is_multiple_of(unread.len() as u32)
            {
                expected.insert(*first, (bytes - known) / unread.len() as u32);
            } else if maps.iter().all(|map| *map == maps[0]) && bytes.is_multiple_of(maps.len() as u32) {
                expected.insert(maps[0], bytes / maps.len() as u32);
            } else if known == *bytes {
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
    pub(super) fn note_awaited(&mut self, step: u32, places: &[(u32, u32)], bytes: u32) {
        let Some(influence) = &mut self.influence else { return };
        let observed = &mut influence.observed;
        let maps: Option<Vec<u64>> = places.iter().map(|place| observed.loads.get(place).copied()).collect();
        if let Some(mut maps) = maps {
            maps.sort_unstable();
            observed
                .awaited
                .entry((maps, bytes))
                .or_insert_with(|| Awaited { step, places: places.to_vec() });
        }
    }

    /// Notes a matrix that a multiply reads.
    pub(super) fn note_read(&mut self, cta: u32, matrix: &Footprint, reader: Reader) {
        let Self { influence: Some(influence), ctas, .. } = self else { return };
        let observed = &mut influence.observed;
        if observed.loads.is_empty() || !observed.seen.insert((matrix.number, cta, reader.read_as)) {
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
                let known = read[index].get_or_insert(Read { reader, matrices: [false; ReadAs::COUNT] });
                known.reader = reader;
                known.matrices[reader.read_as as usize] = true;
            }
        }
    }
}
