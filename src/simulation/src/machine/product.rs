//! What a multiply computes: its operands in shared and Tensor Memory, and the accumulator.
//!
//! The arithmetic is that of `ptx_numbers`; where the elements lie is that of `addresses::Operand` and of
//! `isa::tensor_cells`. What is not known stays so: an element of A makes a row of D unknown, one of B a column. Sparse
//! multiplies, K = 96, moved patterns, absolute strides and elements of less than 8 bits in Tensor Memory are not
//! computed.

use ptx_numbers::{Accumulator, Format, Kind, Matrix as Codes, Multiply as Arithmetic, OldD, Target};

use super::cells::Cells;
use super::memory::Bytes;
use super::warp::Strand;
use super::{Cta, Machine};
use crate::addresses::{Operand as Place, Swizzle};
use crate::descriptor::Generation;
use crate::descriptor::idesc_check::Facts;
use crate::isa::datapath::DatapathLayout;
use crate::isa::element_types::{AccumulatorType, ElementType};
use crate::isa::vocabulary;
use crate::program::Multiply;

/// A multiply that is computed when it takes effect.
#[derive(Debug)]
pub(super) struct Product {
    arithmetic: Arithmetic,
    ctas: Vec<u32>,
    layout: &'static DatapathLayout,
    n: u32,
    k: u32,
    a: Source,
    b: Source,
    /// The lane and the column of D.
    d: (u32, u32),
    old: OldD,
    /// By CTA: lanes of D that are left alone.
    disabled: [u128; 2],
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug)]
enum Source {
    Shared {
        place: Place,
        /// Bits of an element, and how many it takes.
        bits: (u32, u32),
    },
    /// The lane and the column.
    Tensor { lane: u32, column: u32, bits: u32 },
}

/// Elements, row by row or column by column, and which of these have some that are not known.
struct Elements {
    codes: Vec<u32>,
    lost: Vec<bool>,
}

/// What D is, cell by cell: CTA, lane, column, value.
pub(super) type Results = Vec<(u32, u32, u32, Option<u32>)>;

impl Product {
    /// What a multiply computes; nothing if that is not computed here.
    pub(super) fn new(
        multiply: &Multiply,
        facts: &Facts,
        (generation, target): (Generation, Target),
        (layout, n, k): (&'static DatapathLayout, u32, u32),
        ctas: &[u32],
    ) -> Option<Self> {
        if multiply.sparse || multiply.ashift || multiply.zero_column_mask.is_some() || multiply.is_looked_up
        {
            return None;
        }
        if ctas.len() as u32 != layout.ctas() || generation != Generation::Blackwell {
            return None;
        }
        let kind = match multiply.kind {
            vocabulary::Kind::F16 => Kind::F16,
            vocabulary::Kind::Tf32 => Kind::Tf32,
            vocabulary::Kind::F8f6f4 => Kind::F8f6f4,
            vocabulary::Kind::I8 => Kind::I8,
            vocabulary::Kind::Mxf8f6f4
            | vocabulary::Kind::Mxf4
            | vocabulary::Kind::Mxf4nvf4
            | vocabulary::Kind::Ti16 => return None,
        };
        let accumulator = match facts.d? {
            AccumulatorType::F16 => Accumulator::F16,
            AccumulatorType::F32 => Accumulator::F32,
            AccumulatorType::S32 => Accumulator::S32,
        };
        let arithmetic = Arithmetic {
            negate_a: facts.negate_a?,
            negate_b: facts.negate_b?,
            saturate: facts.saturates.unwrap_or(false),
            ..Arithmetic::tcgen05(kind, target, format(facts.a?)?, format(facts.b?)?, accumulator)
        };
        arithmetic.rule().ok()?;
        let nothing = Source::Tensor { lane: 0, column: 0, bits: 0 };
        Some(Self {
            arithmetic,
            ctas: ctas.to_vec(),
            layout,
            n,
            k,
            a: nothing,
            b: nothing,
            d: (0, 0),
            old: OldD::Zero,
            disabled: [0; 2],
        })
    }

    /// With A in shared memory: its descriptor, whether it is M-major, the bits of an element, and how many it takes.
    #[must_use]
    pub(super) fn a_at(self, descriptor: u64, transposed: bool, bits: (u32, u32)) -> Option<Self> {
        Some(Self { a: shared(descriptor, transposed, bits)?, ..self })
    }

    /// With A in Tensor Memory.
    #[must_use]
    pub(super) fn a_in(self, (lane, column): (u32, u32), (bits, container): (u32, u32)) -> Option<Self> {
        // How less than 8 bits lie in their byte is not said.
        let is_plain = bits == container || self.arithmetic.a == Format::Tf32;
        is_plain.then_some(Self { a: Source::Tensor { lane, column, bits: container }, ..self })
    }

    /// With B in shared memory.
    #[must_use]
    pub(super) fn b_at(self, descriptor: u64, transposed: bool, bits: (u32, u32)) -> Option<Self> {
        Some(Self { b: shared(descriptor, transposed, bits)?, ..self })
    }

    /// With D from a lane and a column on, what becomes of the old one, and lanes that are left alone.
    #[must_use]
    pub(super) fn d_at(self, d: (u32, u32), old: OldD, disabled: [u128; 2]) -> Self {
        Self { d, old, disabled, ..self }
    }

    /// What the cells of D hold afterwards.
    pub(super) fn compute(&self, ctas: &[Cta]) -> Results {
        let (rows, k) = (self.layout.rows(), self.k);
        let columns_of_cta = self.n / self.layout.ctas();
        let columns_of_part = self.n / self.layout.parts();
        let mut results = Results::new();
        let mut b = Elements { codes: Vec::new(), lost: Vec::new() };
        for cta in &self.ctas {
            let part = self.b.read(&ctas[*cta as usize], columns_of_cta, k, |row| row);
            b.codes.extend(part.codes);
            b.lost.extend(part.lost);
        }
        for (index, cta) in self.ctas.iter().enumerate() {
            let memory = &ctas[*cta as usize];
            let mut shared = None;
            for part in 0..self.layout.parts() {
                let a = match &self.a {
                    Source::Shared { .. } => {
                        shared.get_or_insert_with(|| self.a.read(memory, rows, k, |row| row))
                    }
                    Source::Tensor { .. } => {
                        shared.insert(self.a.read(memory, rows, k, |row| self.layout.lane(row, part)))
                    }
                };
                let columns = part * columns_of_part..(part + 1) * columns_of_part;
                self.part(a, &b, columns, (index, *cta), &memory.tensor.cells, part, &mut results);
            }
        }
        results
    }

    /// Some columns of D in a CTA.
    #[allow(clippy::too_many_arguments, reason = "each says where")]
    fn part(
        &self,
        a: &Elements,
        b: &Elements,
        columns: std::ops::Range<u32>,
        (index, cta): (usize, u32),
        cells: &Cells,
        part: u32,
        results: &mut Results,
    ) {
        let (rows, k) = (self.layout.rows(), self.k as usize);
        let count = columns.len();
        let codes = &b.codes[columns.start as usize * k..columns.end as usize * k];
        let lost = &b.lost[columns.start as usize..columns.end as usize];
        let mut d = vec![0; rows as usize * count];
        let mut unknown = vec![false; d.len()];
        let place =
            |row: u32, column: usize| (self.d.0 + self.layout.lane(row, part), self.d.1 + column as u32);
        for (at, (d, unknown)) in d.iter_mut().zip(&mut unknown).enumerate() {
            let (row, column) = (at / count, at % count);
            *unknown = a.lost[row] || lost[column];
            if self.old != OldD::Zero && !*unknown {
                let (lane, column) = place(row as u32, column);
                match cells.get(lane, column) {
                    Some(value) => *d = value,
                    None => *unknown = true,
                }
            }
        }
        let is_any_known = !unknown.iter().all(|it| *it);
        let computed = is_any_known && self.execute(&a.codes, codes, count, &mut d).is_ok();
        for (at, (value, unknown)) in d.into_iter().zip(unknown).enumerate() {
            let (lane, column) = place((at / count) as u32, at % count);
            let value = if self.disabled[index] >> (lane % 128) & 1 != 0 {
                cells.get(lane, column)
            } else {
                (computed && !unknown).then_some(value)
            };
            results.push((cta, lane, column, value));
        }
    }

    fn execute(&self, a: &[u32], b: &[u32], columns: usize, d: &mut [u32]) -> Result<(), ptx_numbers::Error> {
        let k = self.k as usize;
        let a = self.arithmetic.rows(&Codes::new(self.layout.rows() as usize, k, a))?;
        let b = self.arithmetic.columns(&Codes::new(columns, k, b))?;
        self.arithmetic.execute(&a, &b, d, self.old)
    }
}

impl Source {
    /// The elements: `count` rows of A or columns of B, each of `k`. `lane` is where a row lies in Tensor Memory.
    fn read(&self, cta: &Cta, count: u32, k: u32, lane: impl Fn(u32) -> u32) -> Elements {
        let mut elements =
            Elements { codes: vec![0; (count * k) as usize], lost: vec![false; count as usize] };
        match *self {
            Self::Shared { place, bits } => elements.read_shared(&cta.shared, place, (count, k), bits),
            Self::Tensor { lane: first, column, bits } => {
                for (row, codes) in elements.codes.chunks_exact_mut(k as usize).enumerate() {
                    for (at, code) in codes.iter_mut().enumerate() {
                        let bit = at as u32 * bits;
                        match cta.tensor.cells.get(first + lane(row as u32), column + bit / 32) {
                            Some(cell) => *code = cell >> (bit % 32) & mask(bits),
                            None => elements.lost[row] = true,
                        }
                    }
                }
            }
        }
        elements
    }
}

impl Elements {
    /// Sixteen bytes after the other: these stay together in every mode.
    fn read_shared(&mut self, memory: &Bytes, place: Place, (count, k): (u32, u32), bits: (u32, u32)) {
        let (bits, container) = bits;
        let in_sixteen = 128 / container;
        // Of elements of less bits than they take, sixteen lie in the first bytes of sixteen.
        let bytes = (16 * bits / container) as usize;
        let (lines, length) = if place.is_k_major { (count, k) } else { (k, count) };
        for (line, from) in
            (0..lines).flat_map(|line| (0..length).step_by(in_sixteen as usize).map(move |at| (line, at)))
        {
            let byte = from / in_sixteen * 16;
            let at =
                if place.is_k_major { place.address(line, byte, 1) } else { place.address(byte, line, 1) };
            let read = memory.known(at.into(), bytes);
            for index in 0..in_sixteen.min(length - from) {
                let (row, column) =
                    if place.is_k_major { (line, from + index) } else { (from + index, line) };
                let Some(read) = read else {
                    self.lost[row as usize] = true;
                    continue;
                };
                let bit = (index * bits) as usize;
                let mut word = [0; 4];
                let rest = &read[bit / 8..(bit / 8 + 4).min(read.len())];
                word[..rest.len()].copy_from_slice(rest);
                self.codes[(row * k + column) as usize] = u32::from_le_bytes(word) >> (bit % 8) & mask(bits);
            }
        }
    }
}

/// So many ones.
const fn mask(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// Where a descriptor says that a matrix lies, unless its pattern is moved or its stride absolute.
pub(super) fn place_of(descriptor: u64, transposed: bool) -> Option<Place> {
    let field = |low: u32| (((descriptor >> low) & 0x3FFF) as u32) << 4;
    let is_moved = descriptor >> 49 & 7 != 0;
    let is_absolute = descriptor >> 52 & 1 != 0;
    (!is_moved && !is_absolute).then(|| Place {
        start: field(0),
        leading: field(16),
        stride: field(32),
        swizzle: Swizzle::of_descriptor(descriptor),
        is_k_major: !transposed,
    })
}

fn shared(descriptor: u64, transposed: bool, (bits, container): (u32, u32)) -> Option<Source> {
    // Elements of tf32 take 32 bits.
    let bits = if container == 32 { container } else { bits };
    Some(Source::Shared { place: place_of(descriptor, transposed)?, bits: (bits, container) })
}

/// The format of elements.
const fn format(ty: ElementType) -> Option<Format> {
    Some(match ty {
        ElementType::F16 => Format::F16,
        ElementType::Bf16 => Format::Bf16,
        ElementType::Tf32 => Format::Tf32,
        ElementType::E4m3 => Format::E4m3,
        ElementType::E5m2 => Format::E5m2,
        ElementType::E2m3 => Format::E2m3,
        ElementType::E3m2 => Format::E3m2,
        ElementType::E2m1 => Format::E2m1,
        ElementType::U8 => Format::U8,
        ElementType::S8 => Format::S8,
        ElementType::S1z4m11 => return None,
    })
}

impl Machine<'_> {
    /// The lanes of D that a multiply leaves alone, by CTA; nothing if they are not known.
    pub(super) fn disabled_lanes(
        &self,
        strand: &Strand,
        multiply: &Multiply,
        lane: usize,
    ) -> Option<[u128; 2]> {
        let mut disabled = [0; 2];
        for (index, operand) in self.operands(multiply.disabled).iter().enumerate() {
            let word = self.value_at(strand, *operand, lane)? as u32;
            disabled[(index / 4).min(1)] |= u128::from(word) << (index % 4 * 32);
        }
        Some(disabled)
    }
}
