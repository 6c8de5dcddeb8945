//! `mma.sync` (PTX ISA, "Warp-level matrix instructions"): the matrices are in the registers of a warp.
//!
//! The arithmetic is that of `ptx_numbers`; where the elements are is that of `isa::mma_fragments`. What is not known
//! stays so: an element of A makes a row of D unknown, one of B a column.

use ptx_numbers::{Accumulator, Evidence, Form, Matrix, Multiply, OldD};

use super::Machine;
use super::access::ASSUMED_RESULTS;
use super::warp::{Strand, lanes};
use crate::arithmetic::Lanes;
use crate::isa::mma_fragments::{Element, Fragments};
use crate::program::{Mma, Slice};

/// Columns of B and D.
const N: usize = 8;

/// The elements of A by rows or of B by columns, and which of these have some that are not known.
struct Factor {
    codes: Vec<u32>,
    lost: Vec<bool>,
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
        let Some((d, lost)) = results else {
            self.set_unknown(strand, mma.d, active);
            return;
        };
        let is_packed = mma.accumulator == Accumulator::F16;
        let per_register = if is_packed { 2 } else { 1 };
        for (index, operand) in self.operands(mma.d).iter().enumerate() {
            let (mut value, mut unknown): (Lanes, u32) = ([0; 32], 0);
            for lane in 0..32 {
                for part in 0..per_register {
                    let element = mma.fragments.d(lane, index as u32 * per_register + part);
                    let at = place(element);
                    value[lane as usize] |= u64::from(d[at]) << (16 * part);
                    unknown |= u32::from(lost[at]) << lane;
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

    /// D by rows, and which elements are not known; nothing if that is not computed.
    fn product(&self, strand: &Strand, mma: &Mma) -> Option<(Vec<u32>, Vec<bool>)> {
        let Mma { kind, formats: [first, second], accumulator, fragments, saturates, .. } = *mma;
        let arithmetic = Multiply {
            saturate: saturates,
            ..Multiply::mma_sync(kind, self.target, first, second, accumulator)
        };
        let evidence = arithmetic.evidence(Form::Plain).ok()?;
        if !self.believes && matches!(evidence, Evidence::Assumed { .. }) {
            return None;
        }
        let (m, k) = (fragments.m as usize, fragments.k as usize);
        let rows = self.factor(strand, (mma.a, m), fragments, |lane, register, at| {
            let Element { row, column } = fragments.a(lane, register, at);
            (row, column)
        });
        let columns = self.factor(strand, (mma.b, N), fragments, |lane, register, at| {
            let Element { row, column } = fragments.b(lane, register, at);
            (column, row)
        });
        let (mut d, mut lost) = (vec![0; m * N], vec![false; m * N]);
        let is_packed = accumulator == Accumulator::F16;
        let per_register = if is_packed { 2 } else { 1 };
        for (index, operand) in self.operands(mma.c).iter().enumerate() {
            let (value, unknown) = self.value(strand, *operand);
            for lane in 0..32 {
                for part in 0..per_register {
                    let at = place(fragments.d(lane, index as u32 * per_register + part));
                    let bits = (value[lane as usize] >> (16 * part)) as u32;
                    d[at] = if is_packed { bits & 0xFFFF } else { bits };
                    lost[at] = unknown >> lane & 1 != 0;
                }
            }
        }
        for (at, lost) in lost.iter_mut().enumerate() {
            *lost |= rows.lost[at / N] || columns.lost[at % N];
        }
        let rows = arithmetic.rows(&Matrix::new(m, k, &rows.codes)).ok()?;
        let columns = arithmetic.columns(&Matrix::new(N, k, &columns.codes)).ok()?;
        arithmetic.execute(&rows, &columns, &mut d, OldD::Read { scale: 0 }).ok()?;
        Some((d, lost))
    }

    /// The elements that registers hold: `place` says the row or column, and where in it.
    fn factor(
        &self,
        strand: &Strand,
        (registers, count): (Slice, usize),
        fragments: Fragments,
        place: impl Fn(u32, u32, u32) -> (u32, u32),
    ) -> Factor {
        let k = fragments.k as usize;
        let mut factor = Factor { codes: vec![0; count * k], lost: vec![false; count] };
        let mask = u64::MAX >> (64 - fragments.bits);
        for (register, operand) in self.operands(registers).iter().enumerate() {
            let (value, unknown) = self.value(strand, *operand);
            for lane in 0..32 {
                for at in 0..fragments.per_register() {
                    let (line, along) = place(lane, register as u32, at);
                    let code = value[lane as usize] >> (at * fragments.bits) & mask;
                    factor.codes[line as usize * k + along as usize] = code as u32;
                    factor.lost[line as usize] |= unknown >> lane & 1 != 0;
                }
            }
        }
        factor
    }
}

/// Where an element of D is, row by row.
const fn place(element: Element) -> usize {
    element.row as usize * N + element.column as usize
}
