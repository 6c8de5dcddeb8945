//! What a multiply computes: its operands in shared and Tensor Memory, and the accumulator.
//!
//! The arithmetic is that of `ptx_numbers`; where the elements lie is that of `addresses::Operand` and of
//! `isa::tensor_cells`. What is not known stays so: an element of A makes a row of D unknown, one of B a column. Not
//! computed are sparse multiplies that use half of the lanes, K = 96, moved patterns, absolute strides, and elements of
//! less than 8 bits in Tensor Memory.

use std::ops::Range;

use ptx_numbers::{
    Accumulator, Evidence, Form, Format, Kind, Matrix as Codes, Multiply as Arithmetic, OldD, Target,
};

use super::cells::Cells;
use super::memory::Bytes;
use super::warp::Strand;
use super::{Cta, Machine};
use crate::addresses::Operand as Place;
use crate::descriptor::Generation;
use crate::descriptor::idesc_check::Facts;
use crate::isa::datapath::DatapathLayout;
use crate::isa::element_types::{AccumulatorType, ElementType, ScaleType};
use crate::isa::scale_vectors;
use crate::isa::tensor_cells::metadata_cell;
use crate::isa::vocabulary;
use crate::program::Multiply;
use crate::provenance::{Cell, Factors, Space};

/// Lanes of a CTA's Tensor Memory.
const LANES: u32 = crate::isa::tensor_memory::TensorMemory::LANES;

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
    scales: Option<Scales>,
    /// The first column of the metadata of a sparse A.
    metadata: Option<u32>,
}

/// Scale factors in Tensor Memory.
#[derive(Clone, Copy, Debug)]
struct Scales {
    /// How many each row and column has.
    count: u32,
    /// The first column of those of A, and the byte of the first; the same of B.
    a: (u32, u32),
    b: (u32, u32),
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
#[derive(Default)]
struct Elements {
    codes: Vec<u32>,
    lost: Vec<bool>,
    /// Of a sparse A: where they are along K.
    indices: Option<Vec<u16>>,
}

/// A part of D in one CTA.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) cta: u32,
    pub(super) column: u32,
    /// By row: its lane.
    pub(super) lanes: Vec<u32>,
    /// Row by row.
    pub(super) values: Vec<u32>,
    /// By column: the lanes whose values are known, and the lanes whose cells are left alone and were known.
    pub(super) known: Vec<(u128, u128)>,
}

impl Part {
    /// Whether some of its values are known.
    pub(super) fn is_computed(&self) -> bool {
        self.known.iter().any(|(known, _)| *known != 0)
    }
}

impl Product {
    /// How many products of elements are added.
    pub(super) fn products(&self) -> u64 {
        u64::from(self.layout.m) * u64::from(self.n) * u64::from(self.k)
    }

    /// What a multiply computes; nothing if that is not computed here.
    pub(super) fn new(
        multiply: &Multiply,
        facts: &Facts,
        (generation, target): (Generation, Target),
        (layout, n, k): (&'static DatapathLayout, u32, u32),
        ctas: &[u32],
    ) -> Option<Self> {
        if multiply.ashift || multiply.zero_column_mask.is_some() || multiply.is_looked_up {
            return None;
        }
        // Where only half of the lanes are used, the ISA does not say how metadata lie.
        if multiply.sparse && (layout.lanes_of_group() < 32 || layout.parts() > 1) {
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
            vocabulary::Kind::Mxf8f6f4 => Kind::Mxf8f6f4,
            vocabulary::Kind::Mxf4 if k != 96 => Kind::Mxf4,
            vocabulary::Kind::Mxf4nvf4 if k != 96 => Kind::Mxf4nvf4,
            vocabulary::Kind::Mxf4 | vocabulary::Kind::Mxf4nvf4 | vocabulary::Kind::Ti16 => return None,
        };
        let accumulator = match facts.d? {
            AccumulatorType::F16 => Accumulator::F16,
            AccumulatorType::F32 => Accumulator::F32,
            AccumulatorType::S32 => Accumulator::S32,
        };
        let scale = match facts.scale {
            Some(ScaleType::Ue8m0) => Some(Format::Ue8m0),
            Some(ScaleType::Ue4m3) => Some(Format::Ue4m3),
            Some(ScaleType::Ue5m3) => Some(Format::Ue5m3),
            None => None,
        };
        let arithmetic = Arithmetic {
            scale,
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
            scales: None,
            metadata: None,
        })
    }

    /// Whether a source vouches for the arithmetic, which is not that of a plain multiply alone.
    pub(super) fn is_vouched(&self, multiply: &Multiply) -> bool {
        let plain = ptx_numbers::Arithmetic::Integer;
        let is_exact = self.arithmetic.rule().is_ok_and(|rule| rule.arithmetic == plain);
        let form = match multiply {
            Multiply { weight_stationary: true, .. } => Form::WeightStationary,
            Multiply { sparse: true, .. } => Form::Sparse,
            Multiply { pair: true, .. } => Form::CtaPair,
            _ if self.k == 96 => Form::OtherK,
            _ => Form::Plain,
        };
        let is_scaled_down = matches!(self.old, OldD::Read { scale: 1.. });
        let evidence = self.arithmetic.evidence(form);
        is_exact || !is_scaled_down && !matches!(evidence, Err(_) | Ok(Evidence::Assumed { .. }))
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

    /// With the metadata of a sparse A from a column on. Of a pair of columns, `selector` says which if one is enough.
    #[must_use]
    pub(super) fn sparse(self, column: Option<u32>, selector: Option<u32>) -> Self {
        let column = column.map(|column| match self.metadata_bits() {
            32 => column / 2 * 2 + selector.unwrap_or(0) % 2,
            _ => column,
        });
        Self { metadata: column, ..self }
    }

    /// Bits of metadata that a row has.
    const fn metadata_bits(&self) -> u32 {
        match self.arithmetic.kind {
            Kind::Tf32 => 2 * self.k,
            Kind::F16 | Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => self.k,
            Kind::Mxf4 | Kind::Mxf4nvf4 => self.k / 2,
        }
    }

    /// Elements of A that a row has.
    const fn k_of_a(&self) -> u32 {
        if self.metadata.is_some() { self.k / 2 } else { self.k }
    }

    /// Along K, where the elements of a sparse A are, row by row; and the rows of which that is not known.
    fn read_metadata(&self, cells: &Cells, column: u32) -> (Vec<u16>, Vec<bool>) {
        let (rows, of_row) = (self.layout.rows(), self.metadata_bits());
        let (mut indices, mut lost) = (Vec::new(), vec![false; rows as usize]);
        for (row, chunk) in (0..rows).flat_map(|row| (0..of_row / 4).map(move |chunk| (row, chunk))) {
            let (lane, at, bit) = metadata_cell(row, chunk, of_row);
            let bits = cells.get(lane, column + at).map(|cell| (cell >> bit & 0xF) as u16);
            let (first, second) = bits.map_or((0, 1), |bits| (bits & 3, bits >> 2));
            // Other bits mean nothing.
            let is_lost = bits.is_none() || first >= second;
            lost[row as usize] |= is_lost;
            let (first, second) = if is_lost { (0, 1) } else { (first, second) };
            let chunk = chunk as u16;
            match self.arithmetic.kind {
                Kind::Tf32 => indices.push(chunk * 2 + first / 2),
                Kind::F16 | Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => {
                    indices.extend([chunk * 4 + first, chunk * 4 + second]);
                }
                Kind::Mxf4 | Kind::Mxf4nvf4 => {
                    for pair in [first, second] {
                        indices.extend([chunk * 8 + pair * 2, chunk * 8 + pair * 2 + 1]);
                    }
                }
            }
        }
        (indices, lost)
    }

    /// With scale factors of A and B from two columns on, if the multiply has some: their ids are the bytes that they
    /// begin in (9.7.16.10.7.2).
    pub(super) fn scaled(
        self,
        columns: Option<(u32, u32)>,
        multiply: &Multiply,
        facts: &Facts,
    ) -> Option<Self> {
        let Some((a, b)) = columns else { return self.arithmetic.scale.is_none().then_some(self) };
        let (id_a, id_b) = facts.scale_ids?;
        let count = scale_vectors::count(multiply.kind, multiply.scale_vector_size);
        let fits = id_a + count <= 4 && id_b + count <= 4 && self.arithmetic.scale.is_some();
        fits.then_some(Self { scales: Some(Scales { count, a: (a, id_a), b: (b, id_b) }), ..self })
    }

    /// The scale factors of rows of A or columns of B: 32 of them lie in the lanes of a column, the next in the next
    /// one (9.7.16.10.7). Each part of D has those of its own columns.
    fn read_scales(&self, cells: &Cells, (column, byte): (u32, u32), count: u32, part: u32) -> Elements {
        let each = self.scales.map_or(0, |scales| scales.count);
        let mut all = Elements { lost: vec![false; count as usize], ..Elements::default() };
        let first = part * (LANES / self.layout.parts());
        for index in 0..count {
            let cell = cells.get(first + index % 32, column + index / 32);
            all.lost[index as usize] = cell.is_none() && each > 0;
            let cell = cell.unwrap_or_default();
            all.codes.extend((0..each).map(|at| cell >> ((byte + at) * 8) & 0xFF));
        }
        all
    }

    /// What the cells of D hold afterwards; nothing if none of that is known. `matrices` are the bytes of shared memory
    /// that it reads, as CTAs, starts and ends.
    pub(super) fn compute(&self, ctas: &[Cta], matrices: impl Iterator<Item = (u32, u32, u32)>) -> Vec<Part> {
        // Where nothing of an operand is known, as where a launch says nothing of its arrays.
        let is_lost = |(cta, start, end): (u32, u32, u32)| {
            !ctas[cta as usize].shared.is_partly_known(start.into(), (end - start) as usize)
        };
        let (lost, known): (Vec<bool>, Vec<bool>) = matrices.map(is_lost).partition(|is_lost| *is_lost);
        // Of a pair, each CTA has its own rows of A and columns of B.
        let nothing_is_known = !lost.is_empty() && (self.ctas.len() == 1 || known.is_empty());
        if self.disabled == [0; 2] && nothing_is_known {
            return Vec::new();
        }
        let (rows, k, k_of_a) = (self.layout.rows(), self.k, self.k_of_a());
        let columns_of_cta = self.n / self.layout.ctas();
        let columns_of_part = self.n / self.layout.parts();
        let mut b = Elements::default();
        for cta in &self.ctas {
            let part = self.b.read(&ctas[*cta as usize], columns_of_cta, k, |row| row);
            b.codes.extend(part.codes);
            b.lost.extend(part.lost);
        }
        let mut parts = Vec::new();
        for (index, cta) in self.ctas.iter().enumerate() {
            let memory = &ctas[*cta as usize];
            let mut shared = None;
            for part in 0..self.layout.parts() {
                let a = match &self.a {
                    Source::Shared { .. } => {
                        shared.get_or_insert_with(|| self.a.read(memory, rows, k_of_a, |row| row))
                    }
                    Source::Tensor { .. } => {
                        shared.insert(self.a.read(memory, rows, k_of_a, |row| self.layout.lane(row, part)))
                    }
                };
                let columns = part * columns_of_part..(part + 1) * columns_of_part;
                let lanes = (0..rows).map(|row| (self.d.0 + self.layout.lane(row, part)) % LANES).collect();
                let cells = &memory.tensor.cells;
                if let Some(column) = self.metadata {
                    let (indices, lost) = self.read_metadata(cells, column);
                    a.lost.iter_mut().zip(lost).for_each(|(all, lost)| *all |= lost);
                    a.indices = Some(indices);
                }
                let scales = self.scales.map(|scales| {
                    // Those of A lie in every quarter of the lanes.
                    let of_a = self.read_scales(cells, scales.a, rows, 0);
                    [of_a, self.read_scales(cells, scales.b, columns_of_part, part)]
                });
                parts.push(self.part(a, &b, scales.as_ref(), columns, (index, *cta), lanes, cells));
            }
        }
        parts
    }

    /// Some columns of D in a CTA.
    #[allow(clippy::too_many_arguments, reason = "operands and places")]
    fn part(
        &self,
        a: &Elements,
        b: &Elements,
        scales: Option<&[Elements; 2]>,
        columns: Range<u32>,
        (index, cta): (usize, u32),
        lanes: Vec<u32>,
        cells: &Cells,
    ) -> Part {
        let k = self.k as usize;
        let columns = columns.start as usize..columns.end as usize;
        let count = columns.len();
        let of_rows = |is: &dyn Fn(usize) -> bool| {
            let rows = lanes.iter().enumerate().filter(|(row, _)| is(*row));
            rows.fold(0, |all, (_, lane)| all | 1_u128 << lane)
        };
        let left_alone = self.disabled[index];
        let is_lost = |which: usize, at: usize| scales.is_some_and(|scales| scales[which].lost[at]);
        let computed = of_rows(&|row| !a.lost[row] && !is_lost(0, row)) & !left_alone;
        let mut values = vec![0; lanes.len() * count];
        let mut known = Vec::with_capacity(count);
        for (at, lost) in b.lost[columns.clone()].iter().enumerate() {
            let old = cells.column(self.d.1 + at as u32);
            let mut here = if *lost || is_lost(1, at) { 0 } else { computed };
            if self.old != OldD::Zero {
                here &= old.map_or(0, |(_, known)| known);
                if let Some((old, _)) = old.filter(|_| here != 0) {
                    for (row, lane) in lanes.iter().enumerate() {
                        values[row * count + at] = old[*lane as usize];
                    }
                }
            }
            known.push((here, old.map_or(0, |(_, known)| known & left_alone)));
        }
        let codes = &b.codes[columns.start * k..columns.end * k];
        let is_any_known = known.iter().any(|(here, _)| *here != 0);
        let scales = scales.map_or((&[][..], &[][..]), |[a, b]| (&a.codes, &b.codes));
        let codes_of_a = Codes::new(lanes.len(), self.k_of_a() as usize, &a.codes).scaled(scales.0);
        let a = match &a.indices {
            Some(indices) => codes_of_a.selecting(indices),
            None => codes_of_a,
        };
        let b = Codes::new(count, k, codes).scaled(scales.1);
        if !is_any_known || self.execute(&a, &b, &mut values).is_err() {
            for (here, _) in &mut known {
                *here = 0;
            }
        }
        Part { cta, column: self.d.1, lanes, values, known }
    }

    fn execute(&self, a: &Codes<'_>, b: &Codes<'_>, d: &mut [u32]) -> Result<(), ptx_numbers::Error> {
        self.arithmetic.execute(&self.arithmetic.rows(a)?, &self.arithmetic.columns(b)?, d, self.old)
    }
}

/// An element of D: which of the CTAs, which part of the columns, and the row and the column of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementOfD {
    index: usize,
    part: u32,
    row: u32,
    column: u32,
}

impl Product {
    /// The element of D that a cell of a CTA holds, if it is written.
    pub(super) fn element_at(&self, cta: u32, lane: u32, column: u32) -> Option<ElementOfD> {
        let index = self.ctas.iter().position(|it| *it == cta)?;
        let of_part = self.n / self.layout.parts();
        let at = column.checked_sub(self.d.1).filter(|at| *at < of_part)?;
        let is_it =
            |(part, row): &(u32, u32)| (self.d.0 + self.layout.lane(*row, *part)) % LANES == lane % LANES;
        let rows =
            (0..self.layout.parts()).flat_map(|part| (0..self.layout.rows()).map(move |row| (part, row)));
        let (part, row) = rows.into_iter().find(is_it)?;
        let is_left_alone = self.disabled[index] >> (lane % LANES) & 1 != 0;
        (!is_left_alone).then_some(ElementOfD { index, part, row, column: part * of_part + at })
    }

    /// Where the factors of an element of D are.
    pub(super) fn factors(&self, ctas: &[Cta], cluster: u32, element: ElementOfD) -> Factors {
        let ElementOfD { index, part, row, column } = element;
        let cta = self.ctas[index];
        let cells = &ctas[cta as usize].tensor.cells;
        let of_cta = self.n / self.layout.ctas();
        let cta_of_b = self.ctas[(column / of_cta) as usize];
        let (k, k_of_a) = (self.k, self.k_of_a());
        // Of a sparse A, those elements of B that are multiplied.
        let along: Vec<u32> = match self.metadata {
            Some(first) => {
                let (all, _) = self.read_metadata(cells, first);
                let of_row = row as usize * k_of_a as usize..(row as usize + 1) * k_of_a as usize;
                all[of_row].iter().map(|at| u32::from(*at)).collect()
            }
            None => (0..k).collect(),
        };
        let lane = self.layout.lane(row, part);
        let a = (0..k_of_a).map(|at| self.a.cell((cluster, cta), row, at, lane)).collect();
        let b = along.iter().map(|at| self.b.cell((cluster, cta_of_b), column % of_cta, *at, 0)).collect();
        let scales = |(first, byte): (u32, u32), index: u32, part: u32| {
            let lane = part * (LANES / self.layout.parts()) + index % 32;
            let cell = Cell::tensor(Space::Tensor { cluster, cta }, lane, first + index / 32);
            let count = self.scales.map_or(0, |scales| scales.count);
            (0..count).map(|at| cell.part(byte + at, 1)).collect()
        };
        let in_part = column % (self.n / self.layout.parts());
        Factors {
            row: index as u32 * self.layout.rows() + row,
            column,
            a,
            b,
            scales_a: self.scales.map_or_else(Vec::new, |it| scales(it.a, row, 0)),
            scales_b: self.scales.map_or_else(Vec::new, |it| scales(it.b, in_part, part)),
            adds: self.old != OldD::Zero,
            old: None,
            format: Some(self.arithmetic.accumulator),
        }
    }
}

impl Source {
    /// Where an element is; of those of less than a byte, the byte. `lane` is that of the row, in Tensor Memory.
    fn cell(&self, (cluster, cta): (u32, u32), row: u32, along: u32, lane: u32) -> Cell {
        match *self {
            Self::Shared { place, bits: (bits, container) } => {
                let in_sixteen = 128 / container;
                let (line, from) = if place.is_k_major { (row, along) } else { (along, row) };
                let byte = from / in_sixteen * 16;
                let at = if place.is_k_major {
                    place.address(line, byte, 1)
                } else {
                    place.address(byte, line, 1)
                };
                let bit = from % in_sixteen * bits;
                Cell::shared(cluster, cta, at + bit / 8, bits.div_ceil(8))
            }
            Self::Tensor { lane: first, column, bits } => {
                let bit = along * bits;
                let cell = Cell::tensor(Space::Tensor { cluster, cta }, first + lane, column + bit / 32);
                cell.part(bit % 32 / 8, bits.div_ceil(8))
            }
        }
    }

    /// The elements: `count` rows of A or columns of B, each of `k`. `lane` is where a row lies in Tensor Memory.
    fn read(&self, cta: &Cta, count: u32, k: u32, lane: impl Fn(u32) -> u32) -> Elements {
        let mut elements = Elements {
            codes: vec![0; (count * k) as usize],
            lost: vec![false; count as usize],
            indices: None,
        };
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
    let is_moved = descriptor >> 49 & 7 != 0;
    let is_absolute = descriptor >> 52 & 1 != 0;
    (!is_moved && !is_absolute).then(|| Place::of_descriptor(descriptor, !transposed))
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
