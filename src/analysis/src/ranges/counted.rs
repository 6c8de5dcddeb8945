//! The domain of strided intervals that are counted from a base.
//!
//! An element is a [`Base`] and [`Numbers`] that are added to it: `{4, 8, 12}` behind a variable. Two with
//! different bases join to unknown. May: a value is one of those that are said, as long as no sum has
//! wrapped around, which an address cannot. Numbers have a sign, whatever the type: what is added to an
//! address may be written as the complement of two.

use super::Numbers;
use crate::arithmetic::Integer;
use crate::arithmetic::domain::{Domain, Function};
use crate::definitions::DefinitionId;
use crate::isa::special_registers::Special;
use crate::resolve::symbols::SymbolId;

/// What a value is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Nothing: it is the number.
    Nothing,
    /// The address of a variable.
    Variable(SymbolId),
    /// What a definition made.
    Made(DefinitionId),
    /// It may be several things.
    Unknown,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// What it is counted from.
    pub base: Base,
    /// What is added to that.
    pub numbers: Numbers,
    /// Whether lanes of Tensor Memory are added as well, from bit 16 on.
    pub lanes: bool,
}

/// More bytes of shared memory than there are.
const SHARED: i64 = 1 << 18;

/// Where the lane of an address in Tensor Memory begins.
const LANE: u32 = 16;

impl Counted {
    pub(super) const UNKNOWN: Self = Self { base: Base::Unknown, numbers: Numbers::ANY, lanes: false };

    pub(super) fn of(numbers: Numbers) -> Self {
        Self { base: Base::Nothing, numbers, lanes: false }
    }

    pub(super) fn made(id: DefinitionId) -> Self {
        Self { base: Base::Made(id), numbers: Numbers::from(0), lanes: false }
    }

    /// The number, where it is counted from nothing.
    pub(super) fn number(self) -> Numbers {
        if self.base == Base::Nothing && !self.lanes { self.numbers } else { Numbers::ANY }
    }

    pub(super) fn or(self, other: Self) -> Self {
        if self.base == other.base && self.base != Base::Unknown {
            let numbers = self.numbers.or(other.numbers);
            Self { base: self.base, numbers, lanes: self.lanes || other.lanes }
        } else {
            Self::UNKNOWN
        }
    }

    /// The sum, if at most one of them is counted from something.
    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let ((Base::Nothing, base) | (base, Base::Nothing)) = (self.base, other.base) else { return None };
        // What is too large for an address in shared memory is of lanes, and so is a multiple of them.
        let is_lanes = |it: Self| {
            it.base == Base::Nothing
                && it.numbers.low_bits(LANE).single() == Some(0)
                && it.numbers.last().is_some_and(|last| last >= SHARED)
        };
        if is_lanes(self) || is_lanes(other) {
            let of = if is_lanes(self) { other } else { self };
            let numbers = if is_lanes(of) { Numbers::from(0) } else { of.numbers };
            return Some(Self { base, numbers, lanes: true });
        }
        let mut sum =
            Self { base, numbers: self.numbers.plus(other.numbers), lanes: self.lanes || other.lanes };
        // Lanes of an address do not matter to its column.
        let columns = sum.numbers.low_bits(LANE);
        if matches!(base, Base::Made(_)) && sum.numbers.single().is_none() && columns.single().is_some() {
            sum = Self { base, numbers: columns, lanes: true };
        }
        Some(sum)
    }

    pub(super) fn negated(self) -> Option<Self> {
        (self.base == Base::Nothing).then(|| Self { numbers: self.numbers.negated(), ..self })
    }
}

/// The domain. Where a result is nothing that it knows, it is `None`: then it is a base itself.
pub(super) struct Intervals;

impl Domain for Intervals {
    type Value = Option<Counted>;

    fn unknown(&mut self) -> Option<Counted> {
        None
    }

    fn number(&mut self, bits: u64) -> Option<Counted> {
        Some(Counted::of(Numbers::from(bits.cast_signed())))
    }

    // Numbers are counted on beyond their type: nothing is executed.
    fn known(&mut self, _: &Option<Counted>, _: u32) -> Option<u64> {
        None
    }

    fn apply(&mut self, function: Function, ty: Integer, sources: &[Option<Counted>]) -> Option<Counted> {
        let Integer { bits: width, signed } = ty;
        let source = |position: usize| sources.get(position).copied().flatten();
        let a = source(0)?;
        let single = |counted: Counted| counted.number().single();
        match function {
            Function::Add => a.plus(source(1)?),
            Function::Subtract => a.plus(source(1)?.negated()?),
            Function::Multiply => product(a, source(1)?),
            // All of a long product is there, and what is written without a sign has none.
            Function::MultiplyWide => {
                let b = source(1)?;
                let is_positive = |it: Counted| it.number().first().is_some_and(|first| first >= 0);
                let is_word = signed || is_positive(a) && b.numbers.fits(width);
                if is_word { product(a, b) } else { None }
            }
            Function::MultiplyHigh if width == 32 && !signed => {
                let by = single(source(1)?)?;
                Some(Counted::of(a.number().high(by as u32)))
            }
            Function::Divide | Function::Remainder => {
                let by = single(source(1)?).filter(|by| *by > 0)?;
                let number = a.number();
                if signed && !number.fits(width - 1) {
                    return None;
                }
                if function == Function::Divide {
                    return (width <= 32).then(|| Counted::of(number.divided(by, width)));
                }
                let below = number.last().filter(|last| number.fits(width) && *last < by);
                Some(Counted::of(if below.is_some() { number } else { Numbers::between(0, by - 1) }))
            }
            Function::And => {
                let b = source(1)?;
                let (of, mask) = match (single(a), single(b)) {
                    (_, Some(mask)) => (a, mask),
                    (Some(mask), None) => (b, mask),
                    (None, None) => return None,
                };
                // What is rounded down is where something begins.
                if is_rounded(of, mask.into(), width) { None } else { masked(of, mask.into(), width) }
            }
            Function::Or => joined(a, source(1)?, width),
            Function::Xor => {
                // No bit is set above the highest of either.
                let bits = |it: Counted| (0..32).find(|bits| it.number().fits(*bits));
                let (a, b) = (bits(a)?, bits(source(1)?)?);
                Some(Counted::of(Numbers::between(0, (1 << a.max(b)) - 1)))
            }
            Function::ShiftLeft => {
                let by = single(source(1)?).filter(|by| (0..i64::from(width.min(32))).contains(by))?;
                (a.base == Base::Nothing).then(|| Counted { numbers: a.numbers.times(1 << by), ..a })
            }
            Function::ShiftRight => {
                let by = single(source(1)?).filter(|by| (0..i64::from(width)).contains(by) && *by < 48)?;
                let fits = |width: u32| a.number().fits(width);
                let is_word = (!signed || fits(width - 1)) && (width <= 32 || fits(width));
                is_word.then(|| Counted::of(a.number().divided(1 << by, width)))
            }
            Function::Extract if !signed => {
                let at = single(source(1)?)?;
                let len = single(source(2)?).filter(|len| (1..32).contains(len))?;
                let low = if at == 0 { a.number().low_bits(len as u32) } else { Numbers::between(0, (1 << len) - 1) };
                Some(Counted::of(low))
            }
            Function::Extend(to) => {
                // What is cut is something else, and so is what has a sign and gets longer.
                let keeps = to >= width.min(32) && (to <= width || a.numbers.fits(48) || signed);
                (keeps && a.base != Base::Unknown).then_some(a)
            }
            // Of what another lane has, the same is known.
            Function::Exchange => {
                (matches!(a.base, Base::Nothing | Base::Variable(_)) && !a.lanes).then_some(a)
            }
            Function::MultiplyHigh
            | Function::Minimum
            | Function::Maximum
            | Function::Not
            | Function::Lookup
            | Function::Funnel
            | Function::Extract
            | Function::Insert
            | Function::Permute
            | Function::Reverse
            | Function::Compare(_)
            // The solver knows more of a choice.
            | Function::Select => None,
        }
    }
}

fn product(a: Counted, b: Counted) -> Option<Counted> {
    let (of, factor) = match (a.number().single(), b.number().single()) {
        (_, Some(factor)) => (a, factor),
        (Some(factor), None) => (b, factor),
        (None, None) => return None,
    };
    (of.base == Base::Nothing).then(|| Counted { numbers: of.numbers.times(factor), ..of })
}

/// `a & mask`
pub(super) fn masked(of: Counted, mask: i128, width: u32) -> Option<Counted> {
    let all = if width == 64 { i128::from(u64::MAX) } else { (1 << width) - 1 };
    let mask = u64::try_from(mask & all).ok()?;
    let numbers = of.number();
    if mask.wrapping_add(1).is_power_of_two() {
        return Some(Counted::of(numbers.low_bits(mask.count_ones())));
    }
    // The bits that stay lie together.
    let low = mask.trailing_zeros();
    if low < 40 && mask < 1 << 40 && (mask >> low).wrapping_add(1).is_power_of_two() {
        let cut = numbers.low_bits(64 - mask.leading_zeros());
        return Some(Counted::of(cut.divided(1 << low, 48).times(1 << low)));
    }
    (mask < 1 << 40).then(|| Counted::of(Numbers::between(0, mask.cast_signed())))
}

/// Whether a mask of so many bits makes an address a multiple of something, up to what shared memory is aligned to.
pub fn rounds_down(mask: i128, width: u32) -> bool {
    /// No pattern of shared memory is larger.
    const LARGEST: i128 = 1 << 16;
    let cleared = !mask & ((1 << width) - 1);
    cleared < LARGEST && (cleared + 1).count_ones() == 1
}

/// Whether `a & mask` is the address of a variable, rounded to a multiple.
pub(super) fn is_rounded(of: Counted, mask: i128, width: u32) -> bool {
    matches!(of.base, Base::Variable(_)) && rounds_down(mask, width)
}

/// `a | b`, where no bit is in both.
pub(super) fn joined(a: Counted, b: Counted, width: u32) -> Option<Counted> {
    /// An allocation begins in a column that is a multiple of this.
    const ALIGNED: i64 = 32;
    let parts = |number: Counted| {
        let known = number.numbers.bits(width);
        !(known.mask & !known.value)
    };
    match (a.base, b.base) {
        (Base::Nothing, Base::Nothing) => {
            let all = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
            (parts(a) & parts(b) & all == 0).then(|| a.plus(b)).flatten()
        }
        (Base::Nothing, Base::Made(_)) | (Base::Made(_), Base::Nothing) => {
            let (base, by) = if a.base == Base::Nothing { (b, a) } else { (a, b) };
            let is_small = base.numbers.single() == Some(0)
                && by.numbers.low_bits(LANE).last().is_some_and(|last| last < ALIGNED);
            is_small.then(|| base.plus(by)).flatten()
        }
        _ => None,
    }
}

/// What a special register can hold.
pub(super) fn special(special: Special) -> Counted {
    let values =
        special.values().and_then(|it| Some((i64::try_from(it.first).ok()?, i64::try_from(it.last).ok()?)));
    match values {
        // What can be more than an address in shared memory is no part of one.
        Some((first, last)) if last < SHARED => Counted::of(Numbers::between(first, last)),
        Some(_) | None => Counted::UNKNOWN,
    }
}
