//! Operands, decoded once for all products they are part of.

use crate::format::{Factor, Format, ZERO_EXPONENT};
use crate::lanes::W;
use crate::multiply::Error;

/// The elements of A or B, as bits.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    pub(crate) count: usize,
    pub(crate) k: usize,
    pub(crate) codes: &'a [u32],
    pub(crate) scales: &'a [u32],
    pub(crate) indices: Option<&'a [u16]>,
}

impl<'a> Matrix<'a> {
    /// `count` rows of A or columns of B, of `k` elements each, one row or column after the other.
    pub const fn new(count: usize, k: usize, codes: &'a [u32]) -> Self {
        Self { count, k, codes, scales: &[], indices: None }
    }

    /// With scales: the same number for each row or column. Each scale applies to a block of elements; all blocks of
    /// a row or column have the same length.
    #[must_use]
    pub const fn scaled(self, scales: &'a [u32]) -> Self {
        Self { scales, ..self }
    }

    /// A sparse A: it has the elements that metadata selects, and `indices` has the index along K of each.
    ///
    /// A sparse multiply is the sum of these products only: so `mma.sp` of an H200 computes. That `tcgen05.mma.sp` does, too,
    /// is an assumption.
    #[must_use]
    pub const fn selecting(self, indices: &'a [u16]) -> Self {
        Self { indices: Some(indices), ..self }
    }

    /// The number of scales of a row or column.
    /// Whether the elements of a row or column, and its scales, are finite numbers in these formats.
    pub fn is_finite(&self, line: usize, format: Format, scale: Option<Format>) -> bool {
        let of = |codes: &[u32], count: usize, format: Format| {
            let codes = codes.get(line * count..(line + 1) * count).unwrap_or_default();
            codes.iter().all(|code| format.decode(*code).is_finite())
        };
        of(self.codes, self.k, format) && scale.is_none_or(|scale| of(self.scales, self.blocks(), scale))
    }

    fn blocks(&self) -> usize {
        self.scales.len().checked_div(self.count).unwrap_or(0)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let elements = self.count.checked_mul(self.k).ok_or(Error::Length)?;
        let blocks = self.blocks();
        let fits = self.codes.len() == elements
            && self.scales.len() == blocks * self.count
            && (blocks == 0 || self.k.is_multiple_of(blocks))
            && self.indices.is_none_or(|indices| indices.len() == elements);
        if fits { Ok(()) } else { Err(Error::Length) }
    }
}

/// The exponents of some numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exponents {
    /// Of those that are finite and not zero.
    lowest: i16,
    highest: i16,
    /// Whether all numbers are finite.
    finite: bool,
}

impl Exponents {
    const NONE: Self = Self { lowest: i16::MAX, highest: ZERO_EXPONENT, finite: true };

    fn add(&mut self, factor: Factor) {
        self.finite &= factor.value.is_finite();
        if factor.exponent > ZERO_EXPONENT {
            self.lowest = self.lowest.min(factor.exponent);
            self.highest = self.highest.max(factor.exponent);
        }
    }

    /// Whether all products of two lots of factors are exact in f32, and remain so when they are scaled.
    pub(crate) fn multiply_in_f32(self, other: Self) -> bool {
        let lowest = i32::from(self.lowest) + i32::from(other.lowest);
        let highest = i32::from(self.highest) + i32::from(other.highest);
        self.finite && other.finite && lowest >= -96 && highest <= 120
    }
}

/// The scale of a row, or those of a block of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales<const N: usize> {
    pub(crate) values: [f64; N],
    pub(crate) exponents: [i16; N],
    /// Whether all are numbers.
    pub(crate) finite: bool,
}

impl<const N: usize> Scales<N> {
    const ONE: Self = Self { values: [1.0; N], exponents: [0; N], finite: true };
}

/// A, decoded by [`crate::Multiply::rows`].
#[derive(Clone, Debug)]
pub struct Rows {
    pub(crate) format: Format,
    pub(crate) scale: Option<Format>,
    pub(crate) count: usize,
    pub(crate) k: usize,
    pub(crate) values: Vec<f32>,
    pub(crate) exponents: Vec<i16>,
    /// Of each row.
    pub(crate) ranges: Vec<Exponents>,
    /// Integers, or e2m1 in halves; empty if the kind does not need them.
    pub(crate) integers: Vec<i16>,
    pub(crate) blocks: usize,
    pub(crate) scales: Vec<Scales<1>>,
    /// Where in B the factor of each element is, if not in the same place.
    pub(crate) indices: Option<Vec<u16>>,
    /// Whether there are more elements of B than of A.
    pub(crate) is_sparse: bool,
}

/// B, decoded by [`crate::Multiply::columns`], in blocks of columns.
#[derive(Clone, Debug)]
pub struct Columns {
    pub(crate) format: Format,
    pub(crate) scale: Option<Format>,
    pub(crate) count: usize,
    pub(crate) k: usize,
    pub(crate) values: Vec<[f32; W]>,
    pub(crate) exponents: Vec<[i16; W]>,
    /// Of each block.
    pub(crate) ranges: Vec<Exponents>,
    pub(crate) integers: Vec<[i16; W]>,
    pub(crate) blocks: usize,
    pub(crate) scales: Vec<Scales<W>>,
}

/// What a kind needs of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Values and exponents.
    Floats,
    /// Twice the value, as an integer.
    Halves,
    /// The value, as an integer.
    Integers,
}

impl Needs {
    /// The integers of all patterns of a format, which has at most 8 bits. Empty for those that are not needed.
    fn integers(self, format: Format) -> Vec<i16> {
        let factor = match self {
            Self::Floats => return Vec::new(),
            Self::Halves => 2.0,
            Self::Integers => 1.0,
        };
        (0..1 << format.parameters().bits.min(8)).map(|bits| (format.decode(bits) * factor) as i16).collect()
    }
}

impl Rows {
    pub(crate) fn new(format: Format, scale: Option<Format>, matrix: &Matrix<'_>, needs: Needs) -> Self {
        let Matrix { count, k, codes, indices, .. } = *matrix;
        let mut rows = Self {
            format,
            scale,
            count,
            k,
            values: Vec::new(),
            exponents: Vec::new(),
            ranges: vec![Exponents::NONE; count],
            integers: Vec::new(),
            blocks: matrix.blocks(),
            scales: Vec::with_capacity(matrix.scales.len()),
            indices: indices.map(<[u16]>::to_vec),
            is_sparse: indices.is_some(),
        };
        let floats = if needs == Needs::Floats { codes.len() } else { 0 };
        rows.values.reserve_exact(floats);
        rows.exponents.reserve_exact(floats);
        rows.integers.reserve_exact(codes.len() - floats);
        let (decoder, integers) = (format.decoder(), needs.integers(format));
        for (row, range) in rows.ranges.iter_mut().enumerate() {
            let codes = &codes[row * k..][..k];
            if needs == Needs::Floats {
                for &code in codes {
                    let factor = decoder.unpack(code);
                    rows.values.push(factor.value);
                    rows.exponents.push(factor.exponent);
                    range.add(factor);
                }
            } else {
                rows.integers
                    .extend(codes.iter().map(|&code| integers[code as usize & (integers.len() - 1)]));
            }
        }
        if let Some(scale) = scale {
            let unpacked = matrix.scales.iter().map(|&code| scale.unpack(code));
            rows.scales.extend(unpacked.map(|Factor { value, exponent }| Scales {
                values: [f64::from(value)],
                exponents: [exponent],
                finite: value.is_finite(),
            }));
        }
        rows
    }
}

impl Columns {
    /// The same for the columns of B. Columns that fill the last block are zero.
    pub(crate) fn new(format: Format, scale: Option<Format>, matrix: &Matrix<'_>, needs: Needs) -> Self {
        let Matrix { count, k, codes, .. } = *matrix;
        let (blocks, all) = (matrix.blocks(), count.div_ceil(W));
        let (floats, integers) = if needs == Needs::Floats { (all * k, 0) } else { (0, all * k) };
        let mut columns = Self {
            format,
            scale,
            count,
            k,
            values: vec![[0.0; W]; floats],
            exponents: vec![[ZERO_EXPONENT; W]; floats],
            ranges: vec![Exponents::NONE; all],
            integers: vec![[0; W]; integers],
            blocks,
            scales: vec![Scales::ONE; all * blocks],
        };
        let (decoder, integers) = (format.decoder(), needs.integers(format));
        for column in 0..count {
            let (block, lane) = (column / W, column % W);
            let codes = &codes[column * k..][..k];
            if needs == Needs::Floats {
                let values = &mut columns.values[block * k..][..k];
                let exponents = &mut columns.exponents[block * k..][..k];
                let mut range = columns.ranges[block];
                for ((&code, values), exponents) in codes.iter().zip(values).zip(exponents) {
                    let factor = decoder.unpack(code);
                    values[lane] = factor.value;
                    exponents[lane] = factor.exponent;
                    range.add(factor);
                }
                columns.ranges[block] = range;
            } else {
                for (&code, places) in codes.iter().zip(&mut columns.integers[block * k..][..k]) {
                    places[lane] = integers[code as usize & (integers.len() - 1)];
                }
            }
            for at in 0..blocks {
                let Some(scale) = scale else { continue };
                let factor = scale.unpack(matrix.scales[column * blocks + at]);
                columns.scales[block * blocks + at].values[lane] = f64::from(factor.value);
                columns.scales[block * blocks + at].exponents[lane] = factor.exponent;
                columns.scales[block * blocks + at].finite &= factor.value.is_finite();
            }
        }
        columns
    }
}
