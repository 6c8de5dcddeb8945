//! `mma`, `mma.sp` and `wmma` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"): the matrices are in the
//! registers of a warp.
//!
//! The arithmetic is that of `ptx_numbers`; where the elements are is that of `isa::mma_fragments`, and what metadata
//! say is that of `isa::sparsity`.

#![allow(
    clippy::many_single_char_names,
    reason = "matrices and their sizes are called what the ISA calls them"
)]

use ptx_numbers::{Accumulator, Evidence, Form, Format, Matrix, Multiply, OldD};

use super::access::{ASSUMED_RESULTS, Expected};
use super::places::Place;
use super::specials::{Made, made_by_multiply};
use super::spread::{self, Lines};
use super::warp::{Strand, lanes};
use super::{Machine, Stop};
use crate::arithmetic::Lanes;
use crate::isa::mma_fragments::{Factor, Sum, scale_lane_of_a, scale_lane_of_b};
use crate::isa::sparsity::{BITS_OF_CHUNK, metadata_lane};
use crate::program::{Metadata, Mma, ScaleFactors, Slice, Sums, WarpFragment, WarpMatrix};

/// The elements of A by rows or of B by columns, and which of these have some that are not known.
struct Elements {
    codes: Vec<u64>,
    lost: Vec<bool>,
}

/// D by rows, and which elements are known.
struct Results {
    values: Vec<u64>,
    known: Vec<bool>,
    /// Where NaN or infinity is made, if that is asked.
    made: Option<Made>,
}

impl Machine<'_> {
    pub(super) fn mma(&mut self, strand: &Strand, mma: &Mma, active: u32) {
        self.check_aligned(strand, true, active);
        self.synchronise_lanes(strand.warp, active);
        if self.trace.is_some() {
            self.trace_mma(strand, mma);
        }
        let guesses = self.is_assumed && self.assumes.is_some();
        let results = if guesses || active != u32::MAX { None } else { self.product(strand, mma) };
        let Some(Results { values, known, made }) = results else {
            self.set_unknown(strand, mma.d, active);
            return;
        };
        if let Some((row, column, special)) = made {
            self.report_special(strand.step, special, &format!("D[{row}, {column}]"));
        }
        let (per_register, bits) = mma.parts_of_d();
        for (index, operand) in self.operands(mma.d).iter().enumerate() {
            let (mut value, mut unknown): (Lanes, u32) = ([0; 32], 0);
            for lane in 0..32 {
                for part in 0..per_register {
                    let at = place(mma.sum, lane, index as u32 * per_register + part);
                    value[lane as usize] |= values[at] << (bits * part);
                    unknown |= u32::from(!known[at]) << lane;
                }
            }
            if let Some(assumption) = self.assumes.filter(|_| unknown != 0) {
                self.assume(strand.step, ASSUMED_RESULTS);
                for lane in lanes(std::mem::take(&mut unknown)) {
                    value[lane] = assumption.result();
                }
            }
            self.set(strand, *operand, active, &value, unknown);
        }
    }

    /// Nothing if that is not computed.
    fn product(&self, strand: &Strand, mma: &Mma) -> Option<Results> {
        let mut a = self.elements(strand, mma.a, mma.factors[0]);
        let mut b = self.elements(strand, mma.b, mma.factors[1]);
        let mut d = self.accumulator(strand, mma);
        match mma.sums {
            Sums::Narrow { instruction, kind, formats, accumulator, saturates } => {
                for ((elements, format), factor) in [&mut a, &mut b].into_iter().zip(formats).zip(mma.factors)
                {
                    // One of 4 bits is in the middle of its byte, and one of 6 bits in the lower part. Other bits may
                    // count, too, if they are not zero.
                    let (used, shift) = match (format, factor.bits) {
                        (Format::E2m1, 8) => (0x3C, 2),
                        (Format::E3m2 | Format::E2m3, 8) => (0x3F, 0),
                        _ => continue,
                    };
                    for (at, code) in elements.codes.iter_mut().enumerate() {
                        elements.lost[at / factor.k as usize] |= *code & !used != 0;
                        *code = (*code & used) >> shift;
                    }
                }
                let arithmetic = Multiply {
                    instruction,
                    scale: mma.scales.map(|(_, format)| format),
                    saturate: saturates,
                    ..Multiply::mma_sync(kind, self.target, formats[0], formats[1], accumulator)
                };
                let evidence = arithmetic.evidence(Form::Plain).ok()?;
                if !self.believes && matches!(evidence, Evidence::Assumed { .. }) {
                    return None;
                }
                self.narrow(strand, mma, &arithmetic, (a, b), &mut d);
            }
            Sums::Double { fma } => self.doubles(fma, mma, (&a, &b), &mut d),
            Sums::Bits { both } => bits(both, mma, (&a, &b), &mut d),
        }
        d.known.contains(&true).then_some(d)
    }

    /// What `ptx_numbers` computes.
    fn narrow(
        &self,
        strand: &Strand,
        mma: &Mma,
        arithmetic: &Multiply,
        (mut a, mut b): (Elements, Elements),
        d: &mut Results,
    ) {
        let [of_a, of_b] = mma.factors;
        let narrow = |codes: &[u64]| codes.iter().map(|code| *code as u32).collect::<Vec<u32>>();
        let (codes_a, codes_b) = (narrow(&a.codes), narrow(&b.codes));
        let indices = mma.metadata.map(|metadata| self.indices(strand, mma, metadata, &mut a.lost));
        let scales = mma.scales.map(|([first, second], _)| {
            let of_a = self.scale_factors(strand, first, scale_lane_of_a, &mut a.lost);
            (of_a, self.scale_factors(strand, second, scale_lane_of_b, &mut b.lost))
        });
        let mut values = narrow(&d.values);
        let old = OldD::Read { scale: 0 };
        let before = if self.specials { values.clone() } else { Vec::new() };
        let count = mma.sum.multiplies() as usize;
        let (rows, columns) = (of_a.lines as usize / count, of_b.lines as usize / count);
        for at in 0..count {
            let part = |lines: usize| at * lines..(at + 1) * lines;
            let matrix = |codes, lines, k: u32| Matrix::new(lines, k as usize, codes);
            let mut matrix_a = matrix(&codes_a[part(rows * of_a.k as usize)], rows, of_a.k);
            let mut matrix_b = matrix(&codes_b[part(columns * of_b.k as usize)], columns, of_b.k);
            // No form that is several multiplies has these.
            if let Some(indices) = &indices {
                matrix_a = matrix_a.selecting(indices);
            }
            if let Some((of_a, of_b)) = &scales {
                (matrix_a, matrix_b) = (matrix_a.scaled(of_a), matrix_b.scaled(of_b));
            }
            let a = Lines { matrix: matrix_a, lost: &a.lost[part(rows)] };
            let b = Lines { matrix: matrix_b, lost: &b.lost[part(columns)] };
            let (sums, known) = (&mut values[part(rows * columns)], &mut d.known[part(rows * columns)]);
            spread::multiply(arithmetic, (&a, &b), sums, known, old);
            if self.specials && d.made.is_none() {
                let before = &before[part(rows * columns)];
                let made = made_by_multiply(arithmetic, (&a, &b), (before, sums), known, old);
                d.made = made.map(|(row, column, special)| (at * rows + row, column, special));
            }
        }
        d.values = values.into_iter().map(u64::from).collect();
    }

    /// Sums of doubles: each product is added by a fused multiply-add, in the order of K, to the old D.
    fn doubles(&self, fma: u32, mma: &Mma, (a, b): (&Elements, &Elements), d: &mut Results) {
        let fma = &self.program.arithmetics[fma as usize];
        let (n, k) = (mma.sum.n as usize, mma.factors[0].k as usize);
        for (start, (values, known)) in d.values.chunks_mut(32).zip(d.known.chunks_mut(32)).enumerate() {
            let place = |lane: usize| ((start * 32 + lane) / n, (start * 32 + lane) % n);
            let mut sums: Lanes = std::array::from_fn(|lane| values.get(lane).copied().unwrap_or(0));
            for at in 0..k {
                let of = |elements: &Elements, line: usize| elements.codes[line * k + at];
                let first: Lanes = std::array::from_fn(|lane| of(a, place(lane).0));
                let second: Lanes = std::array::from_fn(|lane| of(b, place(lane).1));
                let old = sums;
                fma.execute(u32::MAX, &[&first, &second, &old], &mut [&mut sums]);
            }
            for (lane, (value, known)) in values.iter_mut().zip(known).enumerate() {
                *value = sums[lane];
                *known &= !(a.lost[place(lane).0] | b.lost[place(lane).1]);
            }
        }
    }

    /// The old D.
    fn accumulator(&self, strand: &Strand, mma: &Mma) -> Results {
        let count = (mma.sum.m * mma.sum.n) as usize;
        let mut d = Results { values: vec![0; count], known: vec![false; count], made: None };
        let (per_register, bits) = mma.parts_of_d();
        for (index, operand) in self.operands(mma.c).iter().enumerate() {
            let (value, unknown) = self.value(strand, *operand);
            for lane in 0..32 {
                for part in 0..per_register {
                    let at = place(mma.sum, lane, index as u32 * per_register + part);
                    d.values[at] = value[lane as usize] >> (bits * part) & ones(bits);
                    d.known[at] = unknown >> lane & 1 == 0;
                }
            }
        }
        d
    }

    /// The elements that registers hold.
    fn elements(&self, strand: &Strand, registers: Slice, factor: Factor) -> Elements {
        let Factor { lines, k, bits, .. } = factor;
        let mut elements =
            Elements { codes: vec![0; (lines * k) as usize], lost: vec![false; lines as usize] };
        for (register, operand) in self.operands(registers).iter().enumerate() {
            let (value, unknown) = self.value(strand, *operand);
            for lane in 0..32 {
                for at in 0..factor.per_register() {
                    let (line, along) = factor.place(lane, register as u32, at);
                    let code = value[lane as usize] >> (at * bits) & ones(bits);
                    elements.codes[(line * k + along) as usize] = code;
                    elements.lost[line as usize] |= unknown >> lane & 1 != 0;
                }
            }
        }
        elements
    }

    /// Along K, where the elements of a sparse A are, row by row. Rows of which that is not known are lost.
    fn indices(&self, strand: &Strand, mma: &Mma, metadata: Metadata, lost: &mut [bool]) -> Vec<u16> {
        let Metadata { granularity, indices, register, selector } = metadata;
        let (value, unknown) = self.value(strand, register);
        let of_row = granularity.bits_of_row(mma.factors[1].k);
        let mut all = Vec::new();
        for (row, lost) in lost.iter_mut().enumerate() {
            for chunk in 0..of_row / BITS_OF_CHUNK {
                let form = (of_row, mma.factors[0].bits);
                let (lane, bit) = metadata_lane(row as u32, chunk, form, selector);
                let is_known = unknown >> lane & 1 == 0;
                let bits = (value[lane as usize] >> bit & 0xF) as u32;
                let positions = granularity.positions(indices, bits).filter(|_| is_known);
                *lost |= positions.is_none();
                // The first of these always means something.
                let positions = positions.or_else(|| granularity.positions(indices, 0b0100));
                let first = chunk * granularity.chunk();
                all.extend(positions.into_iter().flatten().map(|position| (first + position) as u16));
            }
        }
        all
    }

    /// The scale factors of rows of A or columns of B. What is not known of them is lost.
    fn scale_factors(
        &self,
        strand: &Strand,
        factors: ScaleFactors,
        lane_of: fn(u32, u32) -> u32,
        lost: &mut [bool],
    ) -> Vec<u32> {
        let ScaleFactors { count, register, byte, thread } = factors;
        let (value, unknown) = self.value(strand, register);
        let ((bytes, no_byte), (threads, no_thread)) = (self.value(strand, byte), self.value(strand, thread));
        let mut all = Vec::new();
        for (line, lost) in lost.iter_mut().enumerate() {
            let lane = lane_of(line as u32, threads[0] as u32) as usize;
            let first = bytes[0] as u32 & 3;
            *lost |= (unknown >> lane | no_byte | no_thread) & 1 != 0 || first + count > 4;
            all.extend((0..count).map(|at| (value[lane] >> ((first + at) % 4 * 8) & 0xFF) as u32));
        }
        all
    }

    /// `wmma.load`, `wmma.store`: what each register of each lane has of the matrix is where in memory.
    pub(super) fn warp_matrix(
        &mut self,
        strand: &Strand,
        matrix: &WarpMatrix,
        active: u32,
    ) -> Result<(), Stop> {
        self.check_aligned(strand, true, active);
        self.synchronise_lanes(strand.warp, active);
        let (addresses, no_address) = self.addresses(strand, matrix.address);
        let stride = match matrix.stride {
            Some(stride) => self.value(strand, stride),
            None => ([matrix.length().into(); 32], 0),
        };
        if (no_address | stride.1) & active != 0 {
            return Err(Self::stop(strand, "an address is not known"));
        }
        let pieces = matrix.pieces();
        let (mut shared, mut global, mut changed) = (Vec::new(), Vec::new(), false);
        let mut is_unknown = false;
        for (register, operand) in self.operands(matrix.registers).iter().enumerate() {
            let (mut value, mut unknown) =
                if matrix.store { self.value(strand, *operand) } else { ([0; 32], 0) };
            is_unknown |= unknown & active != 0;
            for lane in lanes(active) {
                for piece in &pieces {
                    let (major, minor) = matrix.place(lane as u32, register as u32, piece.element);
                    let at =
                        (u64::from(major) * stride.0[lane] + u64::from(minor)) * u64::from(matrix.bits) / 8;
                    let address = addresses[lane].wrapping_add(at);
                    let Some(place) = self.place(strand, matrix.space, address, piece.bytes, matrix.store)
                    else {
                        unknown |= 1 << lane;
                        continue;
                    };
                    match place {
                        Place::Shared { cta, offset } => shared.push((cta, offset, piece.bytes)),
                        Place::Global(address) => global.push((address, piece.bytes)),
                        Place::Local(_) | Place::Const(_) | Place::Parameter(_) => {}
                    }
                    if self.trace.is_some() {
                        let moved = (piece.bit / 8, piece.bytes);
                        self.trace_piece(strand, matrix.store, (*operand, lane, moved), place);
                    }
                    if matrix.store {
                        let part = value[lane] >> piece.bit & ones(piece.bytes * 8);
                        let is_lost = unknown >> lane & 1 != 0;
                        changed |= self.write(strand, place, lane, piece.bytes, (part, is_lost))?;
                    } else {
                        let read = self.read(strand, place, lane, (piece.bytes, Expected::Number))?;
                        value[lane] |= read.value << piece.bit;
                        unknown |= u32::from(read.unknown) << lane;
                    }
                }
            }
            if !matrix.store {
                self.set(strand, *operand, active, &value, unknown);
            }
        }
        if !shared.is_empty() {
            self.touch(strand, &shared, (matrix.store, matrix.store && !changed), None, active);
        }
        self.touch_global(
            strand,
            &global,
            (matrix.store, matrix.store && !changed, is_unknown),
            None,
            active,
        );
        self.epoch += u64::from(changed);
        Ok(())
    }
}

/// Elements of a register that lie together in memory.
struct Together {
    /// The number of the first one.
    element: u32,
    /// Its lowest bit in the register.
    bit: u32,
    bytes: u32,
}

impl Mma {
    /// Elements of C and D in a register, and the bits of one.
    pub(super) const fn parts_of_d(&self) -> (u32, u32) {
        match self.sums {
            Sums::Narrow { accumulator: Accumulator::F16, .. } => (2, 16),
            Sums::Narrow { .. } | Sums::Bits { .. } => (1, 32),
            Sums::Double { .. } => (1, 64),
        }
    }
}

impl WarpMatrix {
    /// The elements of a row or a column that is contiguous.
    fn length(&self) -> u32 {
        match (self.matrix, self.by_rows) {
            (WarpFragment::A(a), true) => a.k,
            (WarpFragment::A(a), false) => a.lines,
            (WarpFragment::B(b), true) => b.lines,
            (WarpFragment::B(b), false) => b.k,
            (WarpFragment::Sum(sum), true) => sum.n,
            (WarpFragment::Sum(sum), false) => sum.m,
        }
    }

    /// Which elements of a register lie together.
    fn pieces(&self) -> Vec<Together> {
        let bits = self.bits;
        let (count, along) = match self.matrix {
            WarpFragment::A(a) => (a.per_register(), self.by_rows),
            WarpFragment::B(b) => (b.per_register(), !self.by_rows),
            WarpFragment::Sum(_) => (if bits == 16 { 2 } else { 1 }, false),
        };
        if along {
            return vec![Together { element: 0, bit: 0, bytes: count * bits / 8 }];
        }
        (0..count).map(|element| Together { element, bit: element * bits, bytes: bits.div_ceil(8) }).collect()
    }

    /// Which row or column an element is in, of those that are contiguous, and where in it.
    fn place(&self, lane: u32, register: u32, element: u32) -> (u32, u32) {
        // Registers beyond those that a factor needs repeat it.
        let of = |factor: Factor| factor.place(lane, register % factor.registers(), element);
        let (row, column) = match self.matrix {
            WarpFragment::A(a) => of(a),
            WarpFragment::B(b) => {
                let (column, row) = of(b);
                (row, column)
            }
            WarpFragment::Sum(sum) => {
                let count = if self.bits == 16 { 2 } else { 1 };
                let at = sum.place(lane, register * count + element);
                (at.row, at.column)
            }
        };
        if self.by_rows { (row, column) } else { (column, row) }
    }
}

/// Sums of single bits.
fn bits(both: bool, mma: &Mma, (a, b): (&Elements, &Elements), d: &mut Results) {
    let (n, k) = (mma.sum.n as usize, mma.factors[0].k as usize);
    for (at, (value, known)) in d.values.iter_mut().zip(&mut d.known).enumerate() {
        let (row, column) = (at / n, at % n);
        let pairs = a.codes[row * k..][..k].iter().zip(&b.codes[column * k..][..k]);
        let count: u64 = pairs.map(|(a, b)| if both { a & b } else { a ^ b }).sum();
        *value = u64::from((*value as u32).wrapping_add(count as u32));
        *known &= !(a.lost[row] | b.lost[column]);
    }
}

/// So many ones.
const fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Where an element of D is, row by row.
const fn place(sum: Sum, lane: u32, element: u32) -> usize {
    let element = sum.place(lane, element);
    (element.row * sum.n + element.column) as usize
}
