//! The zero-column mask descriptor: which columns of B count as zero (9.7.16.4.3).
//!
//! A sub-mask covers `N * M / 128` columns: all of them for M = 128, a half for 64, a quarter for
//! 32. Its bits alternate between runs of `use span + 1` zeros and `skip span + 1` ones, starting
//! with the ones when its first-span bit is set, and its first `start count` bits are dropped.
//! Table 45 describes the two spans the wrong way round; its four examples hold (errata E6).

use std::sync::LazyLock;

use super::field::{Bits, Field, Known, Layout, RESERVED, Value, Values};
use super::instruction::DescriptorError;
use super::{Check, Problem, Reason, check_fields};

const fn field(
    bits: &'static [Bits],
    name: &'static str,
    short: &'static str,
    meaning: &'static str,
    values: Values,
) -> Field {
    Field { name, short, bits, meaning, values, check: Check::ZeroColumnMask }
}

const START_COUNTS: [&str; 4] = ["sc0", "sc1", "sc2", "sc3"];
const FIRST_SPANS: [&str; 4] = ["fs0", "fs1", "fs2", "fs3"];
const NON_ZERO: &str = "non-zero";
const SKIP_SPAN: &str = "skip-span";
const USE_SPAN: &str = "use-span";
const SHIFT: &str = "shift";

/// Table 45.
#[rustfmt::skip]
const FIELDS: &[Field] = &[
    field(&[Bits::new( 0,  7)], START_COUNTS[0], "sc0",   "bits of sub-mask 0 that are dropped", Values::Number(255)),
    field(&[Bits::new( 8, 15)], START_COUNTS[1], "sc1",   "bits of sub-mask 1 that are dropped", Values::Number(255)),
    field(&[Bits::new(16, 23)], START_COUNTS[2], "sc2",   "bits of sub-mask 2 that are dropped", Values::Number(255)),
    field(&[Bits::new(24, 31)], START_COUNTS[3], "sc3",   "bits of sub-mask 3 that are dropped", Values::Number(255)),
    field(&[Bits::bit(32)],     FIRST_SPANS[0],  "f0",    "sub-mask 0 starts with ones",         Values::Number(1)),
    field(&[Bits::bit(33)],     FIRST_SPANS[1],  "f1",    "sub-mask 1 starts with ones",         Values::Number(1)),
    field(&[Bits::bit(34)],     FIRST_SPANS[2],  "f2",    "sub-mask 2 starts with ones",         Values::Number(1)),
    field(&[Bits::bit(35)],     FIRST_SPANS[3],  "f3",    "sub-mask 3 starts with ones",         Values::Number(1)),
    field(&[Bits::new(36, 38)], RESERVED,        "-",     "must be 0",                           Values::Fixed(0)),
    field(&[Bits::bit(39)],     NON_ZERO,        "nz",    "generate a mask",                     Values::Flag),
    field(&[Bits::new(40, 47)], SKIP_SPAN,       "skip span", "columns in a run of ones (zeroed), less one", Values::Number(255)),
    field(&[Bits::new(48, 55)], USE_SPAN,        "use span",  "columns in a run of zeros (used), less one", Values::Number(255)),
    field(&[Bits::new(56, 61)], SHIFT,           "shift", "columns by which B is shifted",       Values::Number(63)),
    field(&[Bits::new(62, 63)], RESERVED,        "-",     "must be 0",                           Values::Fixed(0)),
];

/// The fields of a zero-column mask descriptor.
pub fn layout() -> &'static Layout {
    static LAYOUT: LazyLock<Layout> =
        LazyLock::new(|| Layout::new("the zero-column mask descriptor", "Table 45", 64, FIELDS));
    &LAYOUT
}

/// A zero-column mask descriptor in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroColumnMask {
    /// For each sub-mask, how many of its low bits are dropped.
    pub start_count: [u8; 4],
    /// For each sub-mask, whether it starts with ones.
    pub first_span: [bool; 4],
    /// Whether there is a mask; without it all columns are used.
    pub non_zero: bool,
    /// Columns in a run of ones, less one.
    pub skip_span: u8,
    /// Columns in a run of zeros, less one.
    pub use_span: u8,
    /// Columns by which B is shifted: at most 16 for M = 32, 32 otherwise.
    pub shift: u8,
}

impl ZeroColumnMask {
    /// The word, if the descriptor is right for this M, where M is known.
    ///
    /// # Errors
    /// When the shift is too large.
    pub fn encode(&self, m: Option<u32>) -> Result<u64, DescriptorError> {
        let layout = layout();
        let number = |value: u8| Value::Number(value.into());
        let mut values = vec![
            (NON_ZERO, Value::Flag(self.non_zero)),
            (SKIP_SPAN, number(self.skip_span)),
            (USE_SPAN, number(self.use_span)),
            (SHIFT, number(self.shift)),
        ];
        values.extend(START_COUNTS.into_iter().zip(self.start_count.map(number)));
        values.extend(FIRST_SPANS.into_iter().zip(self.first_span.map(Value::Flag)));
        let word = values
            .into_iter()
            .try_fold(layout.blank(), |word, (name, value)| layout.set(word, name, value))
            .map_err(DescriptorError::Field)?;
        let problems = check(m, word.into());
        if problems.is_empty() { Ok(word) } else { Err(DescriptorError::Problems(problems)) }
    }

    /// The descriptor that `word` is.
    ///
    /// # Errors
    /// When the word is wrong for this M, where M is known.
    pub fn decode(m: Option<u32>, word: u64) -> Result<Self, Vec<Problem>> {
        let problems = check(m, word.into());
        if !problems.is_empty() {
            return Err(problems);
        }
        let raw = |name: &str| layout().field(name).map_or(0, |field| field.get(word)) as u8;
        Ok(Self {
            start_count: START_COUNTS.map(raw),
            first_span: FIRST_SPANS.map(|name| raw(name) != 0),
            non_zero: raw(NON_ZERO) != 0,
            skip_span: raw(SKIP_SPAN),
            use_span: raw(USE_SPAN),
            shift: raw(SHIFT),
        })
    }

    /// The sub-masks, each from its lowest column on; `true` where the column counts as zero.
    ///
    /// `None` when `m` is not 32, 64 or 128, or `n` does not divide among the sub-masks.
    pub fn sub_masks(&self, m: u32, n: u32) -> Option<Vec<Vec<bool>>> {
        let count = match m {
            128 => 1,
            64 => 2,
            32 => 4,
            _ => return None,
        };
        if !n.is_multiple_of(count) {
            return None;
        }
        let columns = (n / count) as usize;
        let sub_masks = self.start_count.iter().zip(self.first_span).take(count as usize);
        Some(sub_masks.map(|(&start, first)| self.sub_mask(start, first).take(columns).collect()).collect())
    }

    /// The endless sequence that a sub-mask is the beginning of.
    fn sub_mask(&self, start: u8, first: bool) -> impl Iterator<Item = bool> + use<> {
        let ones = usize::from(self.skip_span) + 1;
        let zeros = usize::from(self.use_span) + 1;
        let (length, non_zero) = (if first { ones } else { zeros }, self.non_zero);
        (usize::from(start)..).map(move |bit| {
            let in_first = bit % (ones + zeros) < length;
            non_zero && in_first == first
        })
    }
}

/// What is wrong with the known bits of a word, in the order of the bits; M where it is known.
pub fn check(m: Option<u32>, word: Known) -> Vec<Problem> {
    let layout = layout();
    let mut problems = check_fields(layout, word);
    let last = if m == Some(32) { 16 } else { 32 };
    if let Some((field, raw)) = layout.known(SHIFT, word)
        && raw > last
    {
        let reason = Reason::ColumnShift { m, last };
        problems.push(Problem { check: Check::ZeroColumnMask, field, raw, reason, reference: layout.table });
    }
    problems.sort_by_key(|problem| problem.field.bits.iter().map(|bits| bits.low).min());
    problems
}
