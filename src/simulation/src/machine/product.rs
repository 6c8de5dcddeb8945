//! What a multiply computes: its operands in shared and Tensor Memory, and the accumulator.
//!
//! The arithmetic is that of `ptx_numbers`; where the elements lie is that of `addresses::Operand`, of
//! `isa::tensor_cells`, `isa::scale_vectors` and `isa::sparsity`. Not computed is what only `sm_107` has: B that goes through a
//! lookup table, `.kind::ti16`, and a longer K.

use std::ops::Range;

use ptx_numbers::{
    Accumulator, Evidence, Form, Format, Kind, Matrix as Codes, Multiply as Arithmetic, OldD, Target,
};

use super::bytes::Bytes;
use super::cells::{Cells, first_bit};
use super::specials::{Made, made_by_multiply};
use super::spread::{self, Lines};
use super::warp::Strand;
use super::{Cta, Machine};
use crate::addresses::{Operand as Place, Sixteen};
use crate::descriptor::idesc_check::Facts;
use crate::descriptor::zero_column_mask::ZeroColumnMask;
use crate::descriptor::{Features, Generation};
use crate::isa::datapath::DatapathLayout;
use crate::isa::element_types::{AccumulatorType, ElementType, ScaleType};
use crate::isa::scale_vectors;
use crate::isa::sparsity::{BITS_OF_CHUNK, Granularity, Indices, metadata_cell};
use crate::isa::vocabulary;
use crate::program::Multiply;
use crate::provenance::{Cell, Factors, Space};

/// Lanes of a CTA's Tensor Memory.
const LANES: u32 = crate::isa::tensor_memory::TensorMemory::LANES;

/// Lanes of a quarter, those of a warp.
const QUARTER: u32 = LANES / 4;

/// A multiply, all of whose operands are decoded.
pub(super) struct Decoded<'a> {
    pub(super) multiply: &'a Multiply,
    pub(super) facts: &'a Facts,
    pub(super) features: Features,
    pub(super) target: Target,
    pub(super) ctas: &'a [u32],
    pub(super) layout: &'static DatapathLayout,
    pub(super) n: u32,
    pub(super) k: u32,
    pub(super) a: Where,
    /// The descriptor of B.
    pub(super) b: u64,
    /// The lane and the column of D.
    pub(super) d: (u32, u32),
    pub(super) old: OldD,
    /// By CTA: lanes of D that are left alone.
    pub(super) disabled: [u128; 2],
    /// The zero-column mask.
    pub(super) mask: Option<u64>,
    /// The first column of the metadata of a sparse A.
    pub(super) metadata: Option<u32>,
    /// The first columns of the scale factors of A and B.
    pub(super) scales: Option<[u32; 2]>,
}

/// Where A lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    /// Its descriptor.
    Shared(u64),
    /// Its lane and column.
    Tensor(u32, u32),
}

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
    sparse: Option<Sparse>,
    /// The column of B that is the first one, and which of them count as zero.
    shift: u32,
    zeros: Vec<bool>,
}

/// Scale factors in Tensor Memory.
#[derive(Clone, Copy, Debug)]
struct Scales {
    /// How many each row and column has.
    count: u32,
    /// The first column of those of A, and their id; the same of B.
    a: (u32, u32),
    b: (u32, u32),
}

/// The metadata of a sparse A.
#[derive(Clone, Copy, Debug)]
struct Sparse {
    granularity: Granularity,
    /// The first column.
    column: u32,
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
    Tensor {
        lane: u32,
        column: u32,
        /// Bits of an element, and how many it takes.
        bits: (u32, u32),
    },
}

/// Elements, row by row or column by column, and which of these have some that are not known.
#[derive(Default)]
struct Elements {
    codes: Vec<u32>,
    lost: Vec<bool>,
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
    /// Where NaN or infinity is made, if that is asked: a row and a column of the part.
    pub(super) made: Option<Made>,
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

    /// What a multiply computes; nothing if that is not computed here, or if no source vouches for it and none is
    /// believed.
    pub(super) fn new(decoded: &Decoded<'_>, believes: bool) -> Option<Self> {
        Self::decoded(decoded).filter(|it| believes || it.is_vouched(decoded.multiply))
    }

    fn decoded(decoded: &Decoded<'_>) -> Option<Self> {
        let Decoded { multiply, facts, features, layout, n, k, .. } = *decoded;
        if multiply.is_looked_up {
            return None;
        }
        if decoded.ctas.len() as u32 != layout.ctas() || features.generation != Generation::Blackwell {
            return None;
        }
        let arithmetic = decoded.arithmetic()?;
        arithmetic.rule().ok()?;
        let (shift, zeros) = match decoded.mask {
            None => (0, Vec::new()),
            Some(word) => {
                let mask = ZeroColumnMask::decode(Some(layout.m), word).ok()?;
                (mask.shift.into(), mask.sub_masks(layout.m, n)?.concat())
            }
        };
        Some(Self {
            arithmetic,
            ctas: decoded.ctas.to_vec(),
            layout,
            n,
            k,
            a: match decoded.a {
                Where::Shared(word) => decoded.shared(word, facts.transpose_a?, facts.a?)?,
                Where::Tensor(lane, column) => {
                    let ty = facts.a?;
                    Source::Tensor { lane, column, bits: (ty.bits(), ty.container_bits(multiply.kind)) }
                }
            },
            b: decoded.shared(decoded.b, facts.transpose_b?, facts.b?)?,
            d: decoded.d,
            old: decoded.old,
            disabled: decoded.disabled,
            scales: match decoded.scales {
                Some(columns) => Some(decoded.scale_factors(columns)?),
                None if facts.scale.is_some() => return None,
                None => None,
            },
            sparse: if multiply.sparse { Some(decoded.sparse()?) } else { None },
            shift,
            zeros,
        })
    }

    /// Whether a source vouches for the arithmetic, which is not that of a plain multiply alone.
    fn is_vouched(&self, multiply: &Multiply) -> bool {
        // That metadata lie where half of the lanes are used as elsewhere no source says.
        let is_placed = self.sparse.is_none() || self.layout.lanes_of_group() == QUARTER;
        let is_exact = is_placed
            && self.arithmetic.rule().is_ok_and(|rule| rule.arithmetic == ptx_numbers::Arithmetic::Integer);
        let form = match multiply {
            Multiply { weight_stationary: true, .. } => Form::WeightStationary,
            Multiply { sparse: true, .. } => Form::Sparse,
            Multiply { pair: true, .. } => Form::CtaPair,
            _ if self.k == 96 => Form::OtherK,
            _ => Form::Plain,
        };
        // That A is multiplied before its rows move is what CUTLASS says; the ISA can be read otherwise.
        if multiply.ashift {
            return false;
        }
        let is_scaled_down = matches!(self.old, OldD::Read { scale: 1.. });
        let evidence = self.arithmetic.evidence(form);
        is_exact || !is_scaled_down && !matches!(evidence, Err(_) | Ok(Evidence::Assumed { .. }))
    }

    /// The columns that the scale factors of A and B lie in.
    pub(super) fn scale_columns(&self) -> Vec<Range<u32>> {
        let Some(Scales { count, a, b }) = self.scales else { return Vec::new() };
        let matrices = [(a, self.layout.rows()), (b, self.n / self.layout.parts())];
        let columns = matrices.into_iter().flat_map(|((first, id), lines)| {
            let columns = scale_vectors::columns(count, id, lines);
            columns.map(move |range| first + range.start..first + range.end)
        });
        columns.collect()
    }

    /// Elements of A that a row has.
    const fn k_of_a(&self) -> u32 {
        if self.sparse.is_some() { self.k / 2 } else { self.k }
    }

    /// Along K, where the elements of a sparse A are, row by row; and the rows of which that is not known. Each part of D
    /// has the metadata in its own lanes.
    fn read_metadata(&self, cells: &Cells, sparse: Sparse, part: u32) -> (Vec<u16>, Vec<bool>) {
        let Sparse { granularity, column } = sparse;
        let (rows, of_row) = (self.layout.rows(), granularity.bits_of_row(self.k));
        let (mut indices, mut lost) = (Vec::new(), vec![false; rows as usize]);
        for (row, chunk) in (0..rows).flat_map(|row| (0..of_row / BITS_OF_CHUNK).map(move |it| (row, it))) {
            let (lane, at, bit) = metadata_cell(row, chunk, of_row);
            // In lanes as those of A and D (9.7.16.10.8.5): where these use half of the lanes, sixteen rows of each warp.
            let cell = cells.get(self.d.0 + self.layout.lane(lane, part), column + at);
            let positions = |bits| granularity.positions(Indices::Listed, bits);
            // The first of these always means something.
            let known = cell.and_then(|cell| positions(cell >> bit & 0xF));
            lost[row as usize] |= known.is_none();
            let first = chunk * granularity.chunk();
            let positions = known.or_else(|| positions(0b0100)).into_iter().flatten();
            indices.extend(positions.map(|position| (first + position) as u16));
        }
        (indices, lost)
    }

    /// The scale factors of rows of A or columns of B. Each part of D has those of its own columns.
    fn read_scales(&self, cells: &Cells, (column, id): (u32, u32), lines: u32, part: u32) -> Elements {
        let count = self.scales.map_or(0, |scales| scales.count);
        let mut all = Elements { lost: vec![false; lines as usize], ..Elements::default() };
        let of_part = LANES / self.layout.parts();
        let first = part * of_part;
        for (line, number) in (0..lines).flat_map(|line| (0..count).map(move |number| (line, number))) {
            let (lane, at, byte) = scale_vectors::cell(line, number, id, lines);
            let factor = |lane: u32| Some(cells.get(lane, column + at)? >> (byte * 8) & 0xFF);
            // Each quarter of the lanes has all of them: no source says which quarter a row takes its own from.
            let own = factor(first + lane);
            let quarters = (lane % QUARTER..of_part).step_by(QUARTER as usize);
            let are_equal = quarters.map(|lane| factor(first + lane)).all(|other| other == own);
            all.lost[line as usize] |= own.is_none() || !are_equal;
            all.codes.push(own.unwrap_or_default());
        }
        all
    }

    /// What the cells of D hold afterwards; nothing if none of that is known. `matrices` are the bytes of shared memory
    /// that it reads, as CTAs, starts and ends.
    pub(super) fn compute(
        &self,
        ctas: &[Cta],
        matrices: impl Iterator<Item = (u32, u32, u32)>,
        specials: bool,
    ) -> Vec<Part> {
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
        let b = self.read_b(ctas);
        let rows = self.layout.rows();
        let mut parts = Vec::new();
        for (index, cta) in self.ctas.iter().enumerate() {
            let memory = &ctas[*cta as usize];
            let mut shared = None;
            for part in 0..self.layout.parts() {
                let read = |lane: &dyn Fn(u32) -> u32| self.a.read(memory, 0..rows, self.k_of_a(), lane);
                let a: &Elements = match &self.a {
                    Source::Shared { .. } => shared.get_or_insert_with(|| read(&|row| row)),
                    Source::Tensor { .. } => shared.insert(read(&|row| self.layout.lane(row, part))),
                };
                parts.push(self.part(a, &b, (index, part), (memory, *cta), specials));
            }
        }
        parts
    }

    /// The columns of B: of a pair, each CTA has half of them.
    fn read_b(&self, ctas: &[Cta]) -> Elements {
        let mut b = Elements::default();
        let columns = self.shift..self.shift + self.n / self.layout.ctas();
        for cta in &self.ctas {
            let part = self.b.read(&ctas[*cta as usize], columns.clone(), self.k, &|row| row);
            b.codes.extend(part.codes);
            b.lost.extend(part.lost);
        }
        let zeros = self.zeros.iter().enumerate().filter(|(_, is_zero)| **is_zero);
        for (column, _) in zeros {
            let k = self.k as usize;
            b.codes[column * k..][..k].fill(0);
            b.lost[column] = false;
        }
        b
    }

    /// A part of D in a CTA, the `index`-th of them.
    fn part(
        &self,
        a: &Elements,
        b: &Elements,
        (index, part): (usize, u32),
        (memory, cta): (&Cta, u32),
        specials: bool,
    ) -> Part {
        let cells = &memory.tensor.cells;
        let (rows, count) = (self.layout.rows(), self.n / self.layout.parts());
        let (k, columns) = (self.k as usize, (part * count) as usize..((part + 1) * count) as usize);
        let lanes: Vec<u32> = (0..rows).map(|row| (self.d.0 + self.layout.lane(row, part)) % LANES).collect();
        let left_alone = self.disabled[index];

        let mut lost_rows = a.lost.clone();
        let mut lost_columns = b.lost[columns.clone()].to_vec();
        let lose = |lines: &mut Vec<bool>, also: &[bool]| {
            lines.iter_mut().zip(also).for_each(|(line, also)| *line |= also);
        };
        let metadata = self.sparse.map(|sparse| self.read_metadata(cells, sparse, part));
        let scales = self.scales.map(|scales| {
            // Those of A lie in every quarter of the lanes.
            [self.read_scales(cells, scales.a, rows, 0), self.read_scales(cells, scales.b, count, part)]
        });
        let mut of_a = Codes::new(lanes.len(), self.k_of_a() as usize, &a.codes);
        let mut of_b = Codes::new(count as usize, k, &b.codes[columns.start * k..columns.end * k]);
        if let Some((indices, lost)) = &metadata {
            lose(&mut lost_rows, lost);
            of_a = of_a.selecting(indices);
        }
        if let Some([a, b]) = &scales {
            lose(&mut lost_rows, &a.lost);
            lose(&mut lost_columns, &b.lost);
            (of_a, of_b) = (of_a.scaled(&a.codes), of_b.scaled(&b.codes));
        }

        let count = count as usize;
        let mut values = vec![0; lanes.len() * count];
        let mut known = vec![false; values.len()];
        let of_d = self.d.1 as usize..self.d.1 as usize + count;
        let known_before = cells.known(of_d.clone());
        let all = lanes.iter().fold(0_u128, |all, lane| all | 1 << lane);
        let is_known = |known: &u128| known & all == all;
        // Mostly so: then nothing is asked element by element.
        let all_are_known = left_alone & all == 0
            && (self.old == OldD::Zero || known_before.len() == count && known_before.iter().all(is_known));
        if all_are_known {
            known.fill(true);
        }
        let each = values.chunks_mut(count.max(1)).zip(known.chunks_mut(count.max(1))).zip(&lanes);
        for ((values, known), lane) in each.filter(|(_, lane)| left_alone >> *lane & 1 == 0) {
            if self.old == OldD::Zero {
                known.fill(true);
                continue;
            }
            let row = cells.row(*lane, of_d.clone());
            values[..row.len()].copy_from_slice(row);
            if !all_are_known {
                for (known, before) in known.iter_mut().zip(known_before) {
                    *known = before >> lane & 1 != 0;
                }
            }
        }
        let a = Lines { matrix: of_a, lost: &lost_rows };
        let b = Lines { matrix: of_b, lost: &lost_columns };
        let before = if specials { values.clone() } else { Vec::new() };
        spread::multiply(&self.arithmetic, (&a, &b), &mut values, &mut known, self.old);
        let made = specials
            .then(|| made_by_multiply(&self.arithmetic, (&a, &b), (&before, &values), &known, self.old))
            .flatten();
        let mut by_column: Vec<(u128, u128)> =
            known_before.iter().map(|known| (0, known & left_alone)).collect();
        by_column.resize(count, (0, 0));
        if known.iter().all(|known| *known) {
            for (column, _) in &mut by_column {
                *column = all;
            }
        } else {
            for (known, lane) in known.chunks(count.max(1)).zip(&lanes) {
                for ((column, _), known) in by_column.iter_mut().zip(known) {
                    *column |= u128::from(*known) << lane;
                }
            }
        }
        Part { cta, column: self.d.1, lanes, values, known: by_column, made }
    }
}

impl Decoded<'_> {
    fn arithmetic(&self) -> Option<Arithmetic> {
        let facts = self.facts;
        let kind = match self.multiply.kind {
            vocabulary::Kind::F16 => Kind::F16,
            vocabulary::Kind::Tf32 => Kind::Tf32,
            vocabulary::Kind::F8f6f4 => Kind::F8f6f4,
            vocabulary::Kind::I8 => Kind::I8,
            vocabulary::Kind::Mxf8f6f4 => Kind::Mxf8f6f4,
            vocabulary::Kind::Mxf4 => Kind::Mxf4,
            vocabulary::Kind::Mxf4nvf4 => Kind::Mxf4nvf4,
            vocabulary::Kind::Ti16 => return None,
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
        Some(Arithmetic {
            scale,
            negate_a: facts.negate_a?,
            negate_b: facts.negate_b?,
            saturate: facts.saturates.unwrap_or(false),
            ..Arithmetic::tcgen05(kind, self.target, format(facts.a?)?, format(facts.b?)?, accumulator)
        })
    }

    /// A matrix in shared memory.
    fn shared(&self, word: u64, transposed: bool, ty: ElementType) -> Option<Source> {
        let place = place_of(word, transposed, self.features)?;
        Some(Source::Shared { place, bits: (ty.bits(), ty.container_bits(self.multiply.kind)) })
    }

    /// The scale factors from these columns on; nothing if what the descriptor says of them is wrong.
    fn scale_factors(&self, [a, b]: [u32; 2]) -> Option<Scales> {
        let kind = self.multiply.kind;
        let size = self.multiply.scale_vector_size.or_else(|| scale_vectors::default(kind))?;
        let (id_a, id_b) = self.facts.scale_ids?;
        let ids = scale_vectors::ids(kind, size, self.k, self.multiply.sparse)?;
        let scales = Scales { count: scale_vectors::count(kind, size, self.k), a: (a, id_a), b: (b, id_b) };
        (ids.contains(&id_a) && ids.contains(&id_b)).then_some(scales)
    }

    /// The metadata of a sparse A.
    fn sparse(&self) -> Option<Sparse> {
        // Where half of the lanes are used, A, D and the metadata have to start alike (9.7.16.10.8.5).
        let is_half = self.layout.lanes_of_group() < QUARTER;
        let is_allowed = |lane: u32| self.layout.lanes.contains(&(lane % QUARTER));
        let starts_alike = !matches!(self.a, Where::Tensor(lane, _) if lane != self.d.0);
        if is_half && !(starts_alike && is_allowed(self.d.0)) {
            return None;
        }
        let (granularity, column) = (Granularity::of_kind(self.multiply.kind), self.metadata?);
        // Of a pair of columns, the selector says which one if one is enough. No source says which pair an odd column is
        // in, and what other selectors mean.
        let selector = self.facts.selector.unwrap_or(0);
        let column = match granularity.bits_of_row(self.k) {
            ..=32 if column % 2 != 0 || selector > 1 => return None,
            ..=32 => column + selector,
            _ => column,
        };
        Some(Sparse { granularity, column })
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
        let along: Vec<u32> = match self.sparse {
            Some(sparse) => {
                let (all, _) = self.read_metadata(cells, sparse, part);
                let of_row = row as usize * k_of_a as usize..(row as usize + 1) * k_of_a as usize;
                all[of_row].iter().map(|at| u32::from(*at)).collect()
            }
            None => (0..k).collect(),
        };
        let lane = self.layout.lane(row, part);
        let a = (0..k_of_a).map(|at| self.a.cell((cluster, cta), row, at, lane)).collect();
        let is_zero = self.zeros.get(column as usize).copied().unwrap_or(false);
        let b = |at: &u32| self.b.cell((cluster, cta_of_b), self.shift + column % of_cta, *at, 0);
        let b = if is_zero { Vec::new() } else { along.iter().map(b).collect() };
        let of_part = self.n / self.layout.parts();
        let scales = |(first, id): (u32, u32), (line, lines): (u32, u32), part: u32| {
            let cell = |number: u32| {
                let (lane, at, byte) = scale_vectors::cell(line, number, id, lines);
                let lane = part * (LANES / self.layout.parts()) + lane;
                Cell::tensor(Space::Tensor { cluster, cta }, lane, first + at).part(byte, 1)
            };
            (0..self.scales.map_or(0, |scales| scales.count)).map(cell).collect()
        };
        let (of_a, of_b) = ((row, self.layout.rows()), (column % of_part, of_part));
        Factors {
            row: index as u32 * self.layout.rows() + row,
            column,
            a,
            b,
            scales_a: self.scales.map_or_else(Vec::new, |it| scales(it.a, of_a, 0)),
            scales_b: self.scales.map_or_else(Vec::new, |it| scales(it.b, of_b, part)),
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
            Self::Tensor { lane: first, column, bits: (_, container) } => {
                let bit = along * container;
                let cell = Cell::tensor(Space::Tensor { cluster, cta }, first + lane, column + bit / 32);
                cell.part(bit % 32 / 8, container.div_ceil(8))
            }
        }
    }

    /// The elements: some rows of A or columns of B, of `k` each. `lane` is where a row lies in Tensor Memory.
    fn read(&self, cta: &Cta, lines: Range<u32>, k: u32, lane: &dyn Fn(u32) -> u32) -> Elements {
        let count = lines.len();
        let mut elements = Elements { codes: vec![0; count * k as usize], lost: vec![false; count] };
        match *self {
            Self::Shared { place, bits } => elements.read_shared(&cta.shared, place, (lines, k), bits),
            Self::Tensor { lane: first, column, bits: (bits, container) } => {
                for (row, codes) in elements.codes.chunks_exact_mut(k as usize).enumerate() {
                    for (at, code) in codes.iter_mut().enumerate() {
                        let bit = at as u32 * container + first_bit(bits, container);
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
    fn read_shared(
        &mut self,
        memory: &Bytes,
        place: Place,
        (lines, k): (Range<u32>, u32),
        (bits, container): (u32, u32),
    ) {
        // Of elements of less bits than they take, sixteen lie in the first bytes of sixteen.
        let (each, bytes) = (128 / container, (16 * bits / container) as usize);
        let mut codes = [0; 32];
        for Sixteen { row, column, address } in place.sixteens(lines.clone(), k, container) {
            let read = memory.known(address.into(), bytes);
            if let Some(read) = read {
                unpack(read, bits, &mut codes);
            }
            let last = if place.is_k_major { row } else { row + each - 1 };
            for row in (row..=last).filter(|row| lines.contains(row)) {
                self.lost[(row - lines.start) as usize] |= read.is_none() && column < k;
            }
            if read.is_none() || column >= k {
                continue;
            }
            let place_of = |row: u32| ((row - lines.start) * k + column) as usize;
            if place.is_k_major && lines.contains(&row) {
                let count = each.min(k - column) as usize;
                self.codes[place_of(row)..][..count].copy_from_slice(&codes[..count]);
            } else if !place.is_k_major {
                for (row, code) in (row..row + each).zip(codes).filter(|(row, _)| lines.contains(row)) {
                    self.codes[place_of(row)] = code;
                }
            }
        }
    }
}

/// Elements of so many bits, one after the other.
fn unpack(bytes: &[u8], bits: u32, codes: &mut [u32; 32]) {
    match bits {
        8 => codes.iter_mut().zip(bytes).for_each(|(code, byte)| *code = (*byte).into()),
        16 => {
            for (code, half) in codes.iter_mut().zip(bytes.chunks_exact(2)) {
                *code = u16::from_le_bytes([half[0], half[1]]).into();
            }
        }
        _ => {
            for (index, code) in codes.iter_mut().enumerate().take(bytes.len() * 8 / bits as usize) {
                let bit = index * bits as usize;
                let mut word = [0; 4];
                let rest = &bytes[bit / 8..(bit / 8 + 4).min(bytes.len())];
                word[..rest.len()].copy_from_slice(rest);
                *code = u32::from_le_bytes(word) >> (bit % 8) & mask(bits);
            }
        }
    }
}

/// So many ones.
const fn mask(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// Where a descriptor says that a matrix lies, if it can say so.
pub(super) fn place_of(descriptor: u64, transposed: bool, features: Features) -> Option<Place> {
    let place = Place::of_descriptor(descriptor, !transposed)?;
    (features.absolute_stride || !place.is_absolute).then_some(place)
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
