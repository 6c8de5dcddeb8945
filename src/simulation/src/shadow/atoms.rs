//! The bytes of a memory, as atoms: sets of bytes that every access so far touched all together or not at all.
//!
//! All bytes of an atom have the same history, so one cell stands for them. An access that touches a part of an
//! atom splits it. A tile of a matrix that is copied as a whole and multiplied in four steps is four atoms, however
//! its swizzle scatters them: each copy visits four cells, and each multiply one.
//!
//! Memory is divided into granules, and a granule into bytes only where accesses do. Atoms are not merged again, but
//! where a granule that was divided is accessed as a whole, and its bytes have the same history from then on.
//!
//! Which atoms the bytes of a region are made of is remembered, and looked for again when one of them was split.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Cell, FRESH, Visit};

/// Bytes of a granule.
pub(crate) const GRANULE: u32 = 16;
/// The bit of a granule's atom that says that the rest is the number of a divided granule.
const DIVIDED: u32 = 1 << 31;
/// Regions whose atoms are remembered.
const MOST_REGIONS: usize = 1 << 12;

/// Bytes that are accessed together more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    /// From a start, so many bytes.
    Span(u32, u32),
    /// A matrix, by its number.
    Matrix(u32),
    /// Groups of lanes of columns of Tensor Memory: the groups, the first column, and how many.
    Cells(u8, u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Granule {
    /// Its atom, or which of the divided ones it is.
    atom: u32,
    /// The last access that touched it.
    mark: u32,
}

/// A granule whose bytes are of several atoms.
#[derive(Clone, Copy, Debug)]
struct Divided {
    atoms: [u32; GRANULE as usize],
    /// Which of the bytes the last access has touched.
    seen: u16,
}

#[derive(Clone, Copy, Debug)]
struct Atom {
    cell: Cell,
    /// How many bytes it has.
    bytes: u32,
    /// The last access that touched it, and how many bytes of it.
    mark: u32,
    covered: u32,
    /// What the bytes that this access touched are from now on.
    becomes: u32,
    /// How often a part was split off.
    splits: u32,
}

/// The atoms of a region.
#[derive(Debug)]
struct Known {
    /// How many accesses had merged atoms.
    merges: u32,
    /// Each with how often it had been split.
    atoms: Vec<(u32, u32)>,
}

/// The atoms of a memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    granules: Vec<Granule>,
    divided: Vec<Divided>,
    free: Vec<u32>,
    atoms: Vec<Atom>,
    free_atoms: Vec<u32>,
    regions: FxHashMap<Region, Known>,
    /// How many accesses there were, and how many of them merged atoms.
    accesses: u32,
    merges: u32,
    /// The atoms that an access touches, in its order.
    touched: Vec<u32>,
}

impl Atom {
    const fn new(cell: Cell, bytes: u32, mark: u32, number: u32) -> Self {
        Self { cell, bytes, mark, covered: bytes, becomes: number, splits: 0 }
    }
}

impl Shadow {
    /// The history of that many bytes, which nothing accessed yet.
    pub(crate) fn new(bytes: u32) -> Self {
        let count = bytes.div_ceil(GRANULE);
        Self {
            granules: vec![Granule { atom: 0, mark: 0 }; count as usize],
            atoms: vec![Atom::new(FRESH, count * GRANULE, 0, 0)],
            ..Self::default()
        }
    }

    /// Makes an access to bytes: starts and lengths. What lies outside is left out.
    pub(crate) fn access(&mut self, pieces: impl Iterator<Item = (u32, u32)> + Clone, visit: &mut Visit<'_>) {
        self.make(pieces, visit, false);
    }

    /// The same for bytes that are accessed together again.
    pub(crate) fn access_region(
        &mut self,
        region: Region,
        pieces: impl Iterator<Item = (u32, u32)> + Clone,
        visit: &mut Visit<'_>,
    ) {
        let known = self.regions.get(&region).filter(|known| {
            let is_whole = |(number, splits): &(u32, u32)| self.atoms[*number as usize].splits == *splits;
            known.merges == self.merges && known.atoms.iter().all(is_whole)
        });
        if let Some(known) = known {
            for (number, _) in &known.atoms {
                let cell = self.atoms[*number as usize].cell;
                let after = visit.visit(cell, || self.place_of(*number, pieces.clone()));
                self.atoms[*number as usize].cell = after;
            }
            return;
        }
        let is_kept = self.make(pieces, visit, true);
        if is_kept && (self.regions.len() < MOST_REGIONS || self.regions.contains_key(&region)) {
            let atoms = self.touched.iter().map(|number| (*number, self.atoms[*number as usize].splits));
            let known = Known { merges: self.merges, atoms: atoms.collect() };
            self.regions.insert(region, known);
        }
    }

    /// Makes an access. `touched` are the atoms of what it touched; with `splits`, these have no other bytes. Whether
    /// that is so: not where atoms were merged.
    fn make(
        &mut self,
        pieces: impl Iterator<Item = (u32, u32)> + Clone,
        visit: &mut Visit<'_>,
        splits: bool,
    ) -> bool {
        self.accesses += 1;
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        let mut is_divided = false;
        for piece in pieces.clone() {
            is_divided |= self.cover(piece, &mut touched);
        }
        let mut has_split = false;
        for number in &mut touched {
            let atom = self.atoms[*number as usize];
            let after = visit.visit(atom.cell, || self.place_of(*number, pieces.clone()));
            if atom.covered < atom.bytes && (after != atom.cell || splits) {
                *number = self.split(*number, after);
                has_split = true;
                continue;
            }
            let atom = &mut self.atoms[*number as usize];
            (atom.cell, atom.becomes) = (after, *number);
        }
        let merges = self.merges;
        if has_split || is_divided {
            let mut merged = SmallVec::new();
            for piece in pieces {
                self.assign(piece, &mut merged);
            }
        }
        self.touched = touched;
        merges == self.merges
    }

    /// Finds the atoms of some bytes. Whether a divided granule is touched as a whole.
    fn cover(&mut self, (start, bytes): (u32, u32), touched: &mut Vec<u32>) -> bool {
        let mut is_divided = false;
        for (index, from, to) in granules((start, bytes)) {
            let Some(granule) = self.granules.get_mut(index) else { break };
            let is_whole = to - from == GRANULE as usize;
            if granule.atom & DIVIDED == 0 {
                // What is touched twice, as by several lanes, is touched.
                if granule.mark == self.accesses {
                    continue;
                }
                if is_whole {
                    granule.mark = self.accesses;
                    touch(&mut self.atoms[granule.atom as usize], GRANULE, self.accesses, || {
                        touched.push(granule.atom);
                    });
                    continue;
                }
                let divided = Divided { atoms: [granule.atom; GRANULE as usize], seen: 0 };
                let number = if let Some(free) = self.free.pop() {
                    self.divided[free as usize] = divided;
                    free
                } else {
                    self.divided.push(divided);
                    self.divided.len() as u32 - 1
                };
                granule.atom = number | DIVIDED;
            }
            is_divided |= is_whole;
            let divided = &mut self.divided[(granule.atom & !DIVIDED) as usize];
            if granule.mark != self.accesses {
                granule.mark = self.accesses;
                divided.seen = 0;
            }
            for byte in from..to {
                if divided.seen >> byte & 1 == 0 {
                    divided.seen |= 1 << byte;
                    let number = divided.atoms[byte];
                    touch(&mut self.atoms[number as usize], 1, self.accesses, || touched.push(number));
                }
            }
        }
        is_divided
    }

    /// Splits what an access has touched off an atom.
    fn split(&mut self, number: u32, cell: Cell) -> u32 {
        let covered = self.atoms[number as usize].covered;
        let part = self.add(cell, covered);
        let atom = &mut self.atoms[number as usize];
        atom.bytes -= covered;
        atom.becomes = part;
        atom.splits += 1;
        part
    }

    fn add(&mut self, cell: Cell, bytes: u32) -> u32 {
        let number = self.free_atoms.pop().unwrap_or(self.atoms.len() as u32);
        let atom = Atom::new(cell, bytes, self.accesses, number);
        match self.atoms.get_mut(number as usize) {
            Some(free) => *free = atom,
            None => self.atoms.push(atom),
        }
        number
    }

    /// Gives bytes that an access has touched to the atoms that they belong to from now on. `merged` are those that
    /// it made of several.
    fn assign(&mut self, piece: (u32, u32), merged: &mut SmallVec<[u32; 4]>) {
        for (index, from, to) in granules(piece) {
            let Some(granule) = self.granules.get(index).copied() else { break };
            if granule.atom & DIVIDED == 0 {
                self.granules[index].atom = self.atoms[granule.atom as usize].becomes;
                continue;
            }
            let number = granule.atom & !DIVIDED;
            let atoms = &mut self.divided[number as usize].atoms;
            for atom in &mut atoms[from..to] {
                *atom = self.atoms[*atom as usize].becomes;
            }
            let atoms = *atoms;
            let cell = self.atoms[atoms[0] as usize].cell;
            if atoms.iter().all(|atom| *atom == atoms[0]) {
                self.granules[index].atom = atoms[0];
            } else if to - from == GRANULE as usize
                && atoms.iter().all(|atom| self.atoms[*atom as usize].cell == cell)
            {
                self.granules[index].atom = self.merge(&atoms, cell, merged);
            } else {
                continue;
            }
            self.free.push(number);
        }
    }

    /// One atom for the bytes of a granule, which have the same history now.
    fn merge(&mut self, atoms: &[u32], cell: Cell, merged: &mut SmallVec<[u32; 4]>) -> u32 {
        if merged.is_empty() {
            self.merges += 1;
        }
        for number in atoms {
            let atom = &mut self.atoms[*number as usize];
            atom.bytes -= 1;
            // The regions that it was part of are not known any more.
            if atom.bytes == 0 {
                self.free_atoms.push(*number);
            }
        }
        let known = merged.iter().copied().find(|number| self.atoms[*number as usize].cell == cell);
        let number = known.unwrap_or_else(|| self.add(cell, 0));
        if known.is_none() {
            merged.push(number);
        }
        self.atoms[number as usize].bytes += GRANULE;
        number
    }

    /// The first of some bytes that are of an atom.
    fn place_of(&self, atom: u32, mut pieces: impl Iterator<Item = (u32, u32)>) -> u32 {
        let place = pieces.find_map(|piece| {
            granules(piece).find_map(|(index, from, to)| {
                let granule = self.granules.get(index)?;
                let byte = if granule.atom & DIVIDED == 0 {
                    (granule.atom == atom).then_some(from)?
                } else {
                    let divided = &self.divided[(granule.atom & !DIVIDED) as usize];
                    (from..to).find(|byte| divided.atoms[*byte] == atom)?
                };
                Some(index as u32 * GRANULE + byte as u32)
            })
        });
        place.unwrap_or(0)
    }
}

/// An access touches bytes of an atom; if they are the first, `first`.
fn touch(atom: &mut Atom, bytes: u32, access: u32, first: impl FnOnce()) {
    if atom.mark != access {
        atom.mark = access;
        atom.covered = 0;
        first();
    }
    atom.covered += bytes;
}

/// The granules of some bytes: which, and from where to where in it.
fn granules((start, bytes): (u32, u32)) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = start.saturating_add(bytes);
    let behind = if bytes == 0 { 0 } else { end.div_ceil(GRANULE) };
    (start / GRANULE..behind).map(move |index| {
        let first = index * GRANULE;
        let (from, to) = (start.max(first) - first, end.min(first.saturating_add(GRANULE)) - first);
        (index as usize, from as usize, to as usize)
    })
}
