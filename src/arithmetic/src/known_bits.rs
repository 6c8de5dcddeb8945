//! Arithmetic on words of which some bits are known. A [`Known`] has no width of its own; bits
//! above the width of a value are known to be zero when they matter, and cut off by [`within`].

use ptx_isa::generic::Relation;

use crate::Integer;
use crate::domain::{Domain, Function};

/// A word of which perhaps not all bits are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// Ones where the bit is known.
    pub mask: u64,
    /// The known bits; zero elsewhere.
    pub value: u64,
}

impl Known {
    /// The bits of `value` that `mask` has ones for.
    pub const fn new(mask: u64, value: u64) -> Self {
        Self { mask, value: value & mask }
    }
}

impl From<u32> for Known {
    fn from(word: u32) -> Self {
        Self::new(u64::from(u32::MAX), u64::from(word))
    }
}

impl From<u64> for Known {
    fn from(word: u64) -> Self {
        Self::new(u64::MAX, word)
    }
}

/// Nothing is known.
pub const UNKNOWN: Known = Known::new(0, 0);

const fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// The low `width` bits; what is above is known to be zero.
pub fn cut(known: Known, width: u32) -> Known {
    Known::new(known.mask | !ones(width), known.value & ones(width))
}

/// The low `width` bits; nothing is known of what is above, unless the width is all.
pub fn within(known: Known, width: u32) -> Known {
    Known::new(known.mask & ones(width), known.value)
}

/// Extends a value of `width` bits by zeros or by its sign.
pub fn extend(known: Known, width: u32, signed: bool) -> Known {
    let low = cut(known, width);
    if !signed || width >= 64 {
        return low;
    }
    let sign = 1 << (width - 1);
    let above = !ones(width);
    match (known.mask & sign != 0, known.value & sign != 0) {
        (true, false) => low,
        (true, true) => Known::new(low.mask, low.value | above),
        (false, _) => Known::new(low.mask & !above, low.value),
    }
}

fn zeros(known: Known) -> u64 {
    known.mask & !known.value
}

fn ones_of(known: Known) -> u64 {
    known.value
}

fn of(zeros: u64, ones: u64) -> Known {
    Known::new(zeros | ones, ones)
}

/// The complement of each bit.
pub fn not(a: Known) -> Known {
    Known::new(a.mask, !a.value)
}

/// Bit by bit: known zeros decide.
pub fn and(a: Known, b: Known) -> Known {
    of(zeros(a) | zeros(b), ones_of(a) & ones_of(b))
}

/// Bit by bit: known ones decide.
pub fn or(a: Known, b: Known) -> Known {
    of(zeros(a) & zeros(b), ones_of(a) | ones_of(b))
}

/// Bit by bit: known where both are.
pub fn xor(a: Known, b: Known) -> Known {
    Known::new(a.mask & b.mask, a.value ^ b.value)
}

/// Any function of three bits, given as a table of its eight results.
pub fn lop3(a: Known, b: Known, c: Known, table: u64) -> Known {
    let (mut can_be_one, mut can_be_zero) = (0, 0);
    for row in 0..8u64 {
        // Where this row of the table can apply: each input is, or may be, the row's bit.
        let may = |input: Known, bit: u64| if bit == 1 { !zeros(input) } else { !ones_of(input) };
        let applies = may(a, row >> 2 & 1) & may(b, row >> 1 & 1) & may(c, row & 1);
        if table >> row & 1 == 1 {
            can_be_one |= applies;
        } else {
            can_be_zero |= applies;
        }
    }
    of(!can_be_one, !can_be_zero)
}

/// Shifted left by a number, in `width` bits; zeros come in.
pub fn shl(a: Known, by: u64, width: u32) -> Known {
    if by >= u64::from(width) {
        return Known::from(0u64);
    }
    let filled = ones(by as u32);
    cut(Known::new(a.mask << by | filled, a.value << by), width)
}

/// Shifted right by a number, in `width` bits; zeros come in, or copies of the sign.
pub fn shr(a: Known, by: u64, width: u32, signed: bool) -> Known {
    let extended = extend(a, width, signed);
    let by = by.min(u64::from(width));
    if by >= 64 {
        return if signed { shr(a, 63, width, true) } else { Known::from(0u64) };
    }
    let (mask, value) = if signed {
        // An unknown sign stays unknown in every bit that it fills.
        let arithmetic = |word: u64| (word.cast_signed() >> by).cast_unsigned();
        (arithmetic(extended.mask), arithmetic(extended.value))
    } else {
        (extended.mask >> by | !(u64::MAX >> by), extended.value >> by)
    };
    let result = Known::new(mask, value);
    cut(result, width)
}

/// The sum; a bit is known where both bits and the carry into it are.
pub fn add(a: Known, b: Known, carry: bool) -> Known {
    let carry = u64::from(carry);
    let least = ones_of(a).wrapping_add(ones_of(b)).wrapping_add(carry);
    let most = (!zeros(a)).wrapping_add(!zeros(b)).wrapping_add(carry);
    // The carry into a bit is known where the smallest and the largest operands agree on it.
    let carries_in_most = most ^ zeros(a) ^ zeros(b);
    let carries_in_least = least ^ ones_of(a) ^ ones_of(b);
    let carry_known = !(carries_in_most ^ carries_in_least);
    Known::new(carry_known & a.mask & b.mask, least)
}

/// The product of two values of `width` bits, twice as wide.
pub fn multiply(a: Known, b: Known, width: u32, signed: bool) -> Known {
    let (a, b) = (extend(a, width, signed), extend(b, width, signed));
    if a.mask == u64::MAX && b.mask == u64::MAX {
        return Known::from(a.value.wrapping_mul(b.value));
    }
    // What is certain: trailing zeros add up, and a product has as many bits as its factors.
    let trailing = ((!zeros(a)).trailing_zeros() + (!zeros(b)).trailing_zeros()).min(64);
    let bits = |known: Known| 64 - (!zeros(known)).leading_zeros();
    let significant = bits(a) + bits(b);
    let leading = if significant < 64 { !ones(significant) } else { 0 };
    Known::new(leading | ones(trailing), 0)
}

/// The quotient of two values of `width` bits. What the hardware makes of a division by zero is no matter of
/// arithmetic.
pub fn divide(a: Known, b: Known, width: u32, signed: bool) -> Known {
    let Some(by) = b.constant(width).filter(|by| *by != 0) else { return UNKNOWN };
    if !signed && by.is_power_of_two() {
        return shr(a, u64::from(by.trailing_zeros()), width, false);
    }
    let Some(of) = a.constant(width) else { return UNKNOWN };
    let quotient =
        if signed { number(of, width).wrapping_div(number(by, width)).cast_unsigned() } else { of / by };
    cut(Known::from(quotient), width)
}

/// What that division leaves; it has the sign of the first.
pub fn remainder(a: Known, b: Known, width: u32, signed: bool) -> Known {
    let Some(by) = b.constant(width).filter(|by| *by != 0) else { return UNKNOWN };
    if !signed && by.is_power_of_two() {
        return and(cut(a, width), Known::from(by - 1));
    }
    let Some(of) = a.constant(width) else { return UNKNOWN };
    let left =
        if signed { number(of, width).wrapping_rem(number(by, width)).cast_unsigned() } else { of % by };
    cut(Known::from(left), width)
}

/// What is known where it may be either of two.
pub const fn join(a: Known, b: Known) -> Known {
    Known::new(a.mask & b.mask & !(a.value ^ b.value), a.value)
}

/// The lesser or the greater of two values.
pub fn extreme(a: Known, b: Known, width: u32, signed: bool, is_least: bool) -> Known {
    let (Some(one), Some(other)) = (a.constant(width), b.constant(width)) else {
        return join(cut(a, width), cut(b, width));
    };
    let is_less = if signed { number(one, width) < number(other, width) } else { one < other };
    Known::from(if is_less == is_least { one } else { other })
}

/// A value of `width` bits as a number with a sign.
fn number(value: u64, width: u32) -> i64 {
    extend(Known::from(value), width, true).value.cast_signed()
}

/// The bits of a value in the opposite order.
pub fn reverse(a: Known, width: u32) -> Known {
    let by = 64 - width.min(64);
    let turn = |word: u64| word.reverse_bits() >> by;
    cut(Known::new(turn(a.mask), turn(a.value)), width)
}

/// 32 bits of two words, the first the lower one, from a bit on.
pub fn funnel(low: Known, high: Known, from: u64) -> Known {
    let both = Known::new(
        low.mask & ones(32) | high.mask << 32,
        low.value & ones(32) | (high.value & ones(32)) << 32,
    );
    cut(shr(both, from, 64, false), 32)
}

/// Where a field begins and how long it is. `bfe` and `bfi` take a byte of either; of words of 64 bits the hardware
/// takes all, where the ISA says nothing.
pub fn field(at: u64, len: u64, width: u32) -> Option<(u64, u64)> {
    const BYTE: u64 = 0xFF;
    (width <= 32 || at.max(len) <= BYTE).then_some((at & BYTE, len & BYTE))
}

/// A [`field`] of a word.
pub fn bfe(a: Known, (at, len): (u64, u64), width: u32, signed: bool) -> Known {
    if len == 0 {
        return Known::from(0u64);
    }
    // What lies above the value is its sign, or zero.
    let field = extend(shr(a, at, width, signed), len.min(u64::from(width)) as u32, signed);
    cut(field, width)
}

/// A word with another one in a [`field`].
pub fn bfi(insert: Known, base: Known, (at, len): (u64, u64), width: u32) -> Known {
    if at >= u64::from(width) || len == 0 {
        return base;
    }
    let field = (ones(len.min(64) as u32) << at) & ones(width);
    let inserted = Known::new(insert.mask << at, insert.value << at);
    Known::new(base.mask & !field | inserted.mask & field, base.value & !field | inserted.value & field)
}

/// Picks four of the eight bytes of two words; the high bit of a selector replicates the sign.
pub fn prmt(a: Known, b: Known, selector: u64) -> Known {
    let mask = a.mask & ones(32) | b.mask << 32;
    let value = a.value & ones(32) | b.value << 32;
    let mut result = UNKNOWN;
    for byte in 0..4 {
        let select = selector >> (byte * 4) & 0xF;
        let from = (select & 7) * 8;
        let (mut byte_mask, mut byte_value) = (mask >> from & 0xFF, value >> from & 0xFF);
        if select & 8 != 0 {
            byte_mask = if byte_mask & 0x80 != 0 { 0xFF } else { 0 };
            byte_value = if byte_value & 0x80 != 0 { 0xFF } else { 0 };
        }
        result.mask |= byte_mask << (byte * 8);
        result.value |= (byte_value & byte_mask) << (byte * 8);
    }
    result
}

/// Whether the high word is that of a shared-memory descriptor: all known, with the fixed bits
/// 46 to 48 that every descriptor has and no sign-extended number does.
pub fn is_descriptor(known: Known) -> bool {
    const FIXED: u64 = 0b111 << 46;
    known.mask >> 32 == 0xFFFF_FFFF && known.value & FIXED == 0b001 << 46
}

/// Whether the low `width` bits of two numbers compare in this way.
pub fn compare(relation: Relation, a: u64, b: u64, width: u32) -> bool {
    let turn = if relation.is_signed && width > 0 { 1 << (width - 1) } else { 0 };
    let low = |number: u64| if width < 64 { number & ((1 << width) - 1) } else { number };
    relation.holds((low(a) ^ turn).cmp(&(low(b) ^ turn)))
}

impl Known {
    /// The sum with a constant, in `width` bits.
    #[must_use]
    pub fn plus(self, constant: u64, width: u32) -> Self {
        let low = cut(within(self, width), width);
        within(add(low, Known::from(constant), false), width)
    }

    /// The sum of 64 bits.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        if other.mask == u64::MAX && other.value == 0 { self } else { add(self, other, false) }
    }

    /// What has to be added to make zero, in 64 bits.
    #[must_use]
    pub fn negated(self) -> Self {
        add(Self::from(0u64), Self::new(self.mask, !self.value), true)
    }

    /// The bits from `by` on.
    #[must_use]
    pub fn shifted_right(self, by: u32) -> Self {
        shr(self, u64::from(by), 64, false)
    }

    /// The value, if the low `width` bits are all known.
    pub fn constant(self, width: u32) -> Option<u64> {
        let all = cut(self, width);
        (all.mask == u64::MAX).then_some(all.value)
    }
}

/// The domain of single bits: each is known to be 0, known to be 1, or unknown. A join keeps the bits that both have.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownBits;

impl Domain for KnownBits {
    type Value = Known;

    const IS_EXACT: bool = true;

    fn unknown(&mut self) -> Known {
        UNKNOWN
    }

    fn number(&mut self, bits: u64) -> Known {
        Known::from(bits)
    }

    fn known(&mut self, value: &Known, bits: u32) -> Option<u64> {
        value.constant(bits)
    }

    fn apply(&mut self, function: Function, ty: Integer, sources: &[Known]) -> Known {
        let Integer { bits: width, signed } = ty;
        let source =
            |position: usize, bits: u32| cut(sources.get(position).copied().unwrap_or(UNKNOWN), bits);
        let (a, b) = (source(0, width), source(1, width));
        let word = |position: usize| source(position, 32).constant(32);
        let result = match function {
            Function::Add => add(a, b, false),
            Function::Subtract => add(a, Known::new(b.mask, !b.value), true),
            Function::Multiply => multiply(a, b, width, false),
            Function::MultiplyWide => return cut(multiply(a, b, width, signed), width * 2),
            Function::MultiplyHigh if width <= 32 => {
                shr(multiply(a, b, width, signed), width.into(), width * 2, signed)
            }
            Function::MultiplyHigh => match (a.constant(width), b.constant(width)) {
                (Some(a), Some(b)) if signed => {
                    let product = i128::from(a.cast_signed()) * i128::from(b.cast_signed());
                    Known::from((product >> width) as u64)
                }
                (Some(a), Some(b)) => Known::from(((u128::from(a) * u128::from(b)) >> width) as u64),
                _ => UNKNOWN,
            },
            Function::Divide => divide(a, b, width, signed),
            Function::Remainder => remainder(a, b, width, signed),
            Function::Minimum => extreme(a, b, width, signed, true),
            Function::Maximum => extreme(a, b, width, signed, false),
            Function::And => and(a, b),
            Function::Or => or(a, b),
            Function::Xor => xor(a, b),
            Function::Not => not(a),
            Function::Lookup => match word(3) {
                Some(table) => lop3(a, b, source(2, width), table),
                None => UNKNOWN,
            },
            Function::ShiftLeft => word(1).map_or(UNKNOWN, |by| shl(a, by, width)),
            Function::ShiftRight => word(1).map_or(UNKNOWN, |by| shr(a, by, width, signed)),
            Function::Funnel => word(2).map_or(UNKNOWN, |from| funnel(a, b, from)),
            Function::Extract => {
                let field = word(1).zip(word(2)).and_then(|(at, len)| field(at, len, width));
                field.map_or(UNKNOWN, |field| bfe(a, field, width, signed))
            }
            Function::Insert => {
                let field = word(2).zip(word(3)).and_then(|(at, len)| field(at, len, width));
                field.map_or(UNKNOWN, |field| bfi(a, b, field, width))
            }
            Function::Permute => word(2).map_or(UNKNOWN, |selector| prmt(a, b, selector)),
            Function::Reverse => reverse(a, width),
            Function::Extend(to) => return cut(extend(a, width, signed), to),
            Function::Compare(relation) => return compared(relation, a, b, ty),
            Function::Select => match source(2, 1).constant(1) {
                Some(0) => b,
                Some(_) => a,
                None => join(a, b),
            },
            // Whatever lane it comes from, what is known of it is so in all of them.
            Function::Exchange => a,
        };
        cut(result, width)
    }
}

/// What a comparison says of words of which some bits are known.
fn compared(relation: Relation, a: Known, b: Known, ty: Integer) -> Known {
    let differ = a.mask & b.mask & (a.value ^ b.value) != 0;
    let holds = match (a.constant(ty.bits), b.constant(ty.bits)) {
        (Some(a), Some(b)) => Some(compare(relation, a, b, ty.bits)),
        // Which is more is not known.
        _ => (differ && !relation.is_order()).then(|| relation.holds(std::cmp::Ordering::Less)),
    };
    holds.map_or(cut(UNKNOWN, 1), |holds| Known::from(u64::from(holds)))
}
