//! Floating-point arithmetic that is exact but for one rounding.

use super::doubles;
use super::format::{Exact, Format, Number, Overflow};
use super::lanes::{each, packed};
use super::special::Elements;
use super::{Decoded, FOREIGN_TYPE, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use ptx_isa::generic::{Flag, Modifier, NumberClass, Operation, Rounding, Type};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    /// The format of the result.
    format: Format,
    count: u32,
    /// The formats of the sources.
    sources: [Format; 3],
    rounding: Rounding,
    options: Options,
}

/// The words behind an operation.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of its own")]
struct Options {
    /// Subnormal numbers are zero.
    flushes: bool,
    /// The result is between 0 and 1.
    saturates: bool,
    /// Numbers below zero are zero.
    relu: bool,
    /// What is no number decides.
    nan: bool,
    /// The sign is that of the product.
    xor_sign: bool,
    /// Magnitudes are compared.
    absolute: bool,
    /// A factor that stands for what is out of bounds makes the result zero.
    out_of_bounds: bool,
    /// A result that is too large becomes the largest.
    finite: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Add,
    Subtract,
    Multiply,
    MultiplyAdd,
    Divide,
    Reciprocal,
    SquareRoot,
    Absolute,
    Negate,
    Minimum,
    Maximum,
    CopySign,
    Test(NumberClass),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let ty = |index: usize| opcode.types.get(index).copied();
        let first: Type = ty(0).ok_or(UNTYPED)?;
        let (format, count) = Format::elements(first).ok_or(FOREIGN_TYPE)?;
        let element = |index: usize| {
            let ty = ty(index).ok_or(UNTYPED)?;
            Format::elements(ty).map(|(format, _)| format).ok_or(FOREIGN_TYPE)
        };
        let mut sources = [format; 3];
        let function = match operation {
            Operation::AddFloat | Operation::AddHalf => Function::Add,
            Operation::SubFloat | Operation::SubHalf => Function::Subtract,
            Operation::MulFloat | Operation::MulHalf => Function::Multiply,
            Operation::Fma | Operation::FmaHalf | Operation::MadFloat => Function::MultiplyAdd,
            Operation::AddMixed | Operation::AddPacked => {
                sources[0] = element(1)?;
                Function::Add
            }
            Operation::SubMixed | Operation::SubPacked => {
                sources[0] = element(1)?;
                Function::Subtract
            }
            Operation::FmaMixed => {
                sources = [element(1)?, element(1)?, format];
                Function::MultiplyAdd
            }
            Operation::FmaPacked => {
                sources[0] = element(1)?;
                Function::MultiplyAdd
            }
            Operation::MulNarrow => {
                sources = [element(1)?, element(2)?, format];
                Function::Multiply
            }
            Operation::FmaNarrow => {
                sources = [element(1)?, element(2)?, format];
                Function::MultiplyAdd
            }
            Operation::DivFloat => Function::Divide,
            Operation::Rcp => Function::Reciprocal,
            Operation::Sqrt => Function::SquareRoot,
            Operation::AbsFloat | Operation::AbsHalf => Function::Absolute,
            Operation::NegFloat | Operation::NegHalf => Function::Negate,
            Operation::MinFloat | Operation::MinHalf => Function::Minimum,
            Operation::MaxFloat | Operation::MaxHalf => Function::Maximum,
            Operation::Copysign => Function::CopySign,
            Operation::Testp => Function::Test(class(opcode)?),
            _ => return Err(NOT_HERE),
        };
        let options = Options {
            flushes: opcode.has_flag(Flag::Ftz),
            saturates: opcode.has_flag(Flag::Sat),
            relu: opcode.has_flag(Flag::Relu),
            nan: opcode.has_flag(Flag::Nan),
            xor_sign: opcode.has_flag(Flag::Xorsign),
            absolute: opcode.has_flag(Flag::Abs),
            out_of_bounds: opcode.has_flag(Flag::Oob),
            finite: opcode.has_flag(Flag::Satfinite),
        };
        let rounding = rounding(opcode).unwrap_or(Rounding::Rn);
        Ok(Self { function, format, count, sources, rounding, options })
    }

    /// The elements of its sources, and those of its result; nothing if it makes no number.
    pub(super) fn elements(&self) -> Option<([Option<Elements>; 3], Elements)> {
        if let Function::Test(_) = self.function {
            return None;
        }
        let of = |format| Some(Elements::packed(format, self.count));
        Some((self.sources.map(of), Elements::packed(self.format, self.count)))
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, rest @ ..], [d, ..]) = (sources, destinations) else { return };
        let b = rest.first().unwrap_or(a);
        let c = rest.get(1);
        let flushes = self.options.flushes;
        if self.is_plain_single() {
            return self.execute_singles(active, sources, d);
        }
        let is_extreme = matches!(self.function, Function::Minimum | Function::Maximum);
        if is_extreme && self.format == Format::F32 && self.is_plain_extreme() && c.is_none() {
            let is_minimum = self.function == Function::Minimum;
            return each(active, |lane| d[lane] = extreme_single(is_minimum, a[lane] as u32, b[lane] as u32));
        }
        if let Function::Test(class) = self.function {
            return each(active, |lane| d[lane] = u64::from(is_in_class(self.format, class, a[lane])));
        }
        let bits = self.format.bits();
        let places = self.sources.map(|format| if self.count == 1 { 0 } else { format.bits() });
        each(active, |lane| {
            let element = |index: usize, register: &Lanes, at: u32| {
                let bits = register[lane] >> (at * places[index]) & self.sources[index].mask();
                if flushes { self.sources[index].flushed(bits) } else { bits }
            };
            d[lane] = packed(bits, self.count, |at| {
                let at = at / bits;
                let elements = (element(0, a, at), element(1, b, at), c.map(|c| element(2, c, at)));
                let result = self.compute(elements.0, elements.1, elements.2);
                self.limited(if flushes { self.flushed(result, elements) } else { result })
            });
        });
    }

    /// Whether only the numbers count.
    const fn is_plain_extreme(&self) -> bool {
        let Options { flushes, nan, xor_sign, absolute, .. } = self.options;
        !(flushes || nan || xor_sign || absolute)
    }

    /// Whether it is what the processor computes in the same way.
    fn is_plain_single(&self) -> bool {
        let is_arithmetic = !matches!(
            self.function,
            Function::Absolute
                | Function::Negate
                | Function::Minimum
                | Function::Maximum
                | Function::CopySign
                | Function::Test(_)
        );
        self.format == Format::F32
            && self.sources == [Format::F32; 3]
            && self.rounding == Rounding::Rn
            && !self.options.saturates
            && is_arithmetic
    }

    /// What is computed at every turn.
    fn execute_singles(&self, active: u32, sources: &[&Lanes], d: &mut Lanes) {
        let [a, rest @ ..] = sources else { return };
        let (b, c) = (rest.first().unwrap_or(a), rest.get(1).unwrap_or(a));
        let operands = [*a, *b, *c];
        match self.function {
            Function::Add => self.each_single(active, operands, d, |a, b, _| a + b),
            Function::Subtract => self.each_single(active, operands, d, |a, b, _| a - b),
            Function::Multiply => self.each_single(active, operands, d, |a, b, _| a * b),
            Function::MultiplyAdd => self.each_single(active, operands, d, multiply_add),
            Function::Divide => self.each_single(active, operands, d, |a, b, _| a / b),
            Function::Reciprocal => self.each_single(active, operands, d, |a, _, _| 1.0 / a),
            Function::SquareRoot => self.each_single(active, operands, d, |a, _, _| a.sqrt()),
            Function::Absolute
            | Function::Negate
            | Function::Minimum
            | Function::Maximum
            | Function::CopySign
            | Function::Test(_) => {}
        }
    }

    #[inline]
    fn each_single(
        &self,
        active: u32,
        operands: [&Lanes; 3],
        d: &mut Lanes,
        compute: impl Fn(f32, f32, f32) -> f32,
    ) {
        // Each operand by itself: mapping an array is a call for each element of it.
        let plain = |a: u64, b: u64, c: u64| {
            let value = compute(single(a), single(b), single(c));
            u64::from(if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() })
        };
        let flush = |bits: u64| Format::F32.flushed(bits & Format::F32.mask());
        let flushing = |a: u64, b: u64, c: u64| {
            let (a, b, c) = (flush(a), flush(b), flush(c));
            self.flushed(plain(a, b, c), (a, b, Some(c)))
        };
        let [a, b, c] = operands;
        match (self.options.flushes, self.count) {
            (false, 1) => each(active, |at| d[at] = plain(a[at], b[at], c[at])),
            (true, 1) => each(active, |at| d[at] = flushing(a[at], b[at], c[at])),
            (false, _) => each(active, |at| {
                d[at] = plain(a[at], b[at], c[at]) | plain(a[at] >> 32, b[at] >> 32, c[at] >> 32) << 32;
            }),
            (true, _) => each(active, |at| {
                d[at] = flushing(a[at], b[at], c[at]) | flushing(a[at] >> 32, b[at] >> 32, c[at] >> 32) << 32;
            }),
        }
    }

    /// One element.
    fn compute(&self, a: u64, b: u64, c: Option<u64>) -> u64 {
        let [first, second, third] = self.sources;
        let format = self.format;
        let number = |format: Format, bits: u64| format.decode(bits);
        if format == Format::F64
            && let Some(result) = self.compute_double(a, b, c)
        {
            return result;
        }
        if self.options.out_of_bounds && (is_out_of_bounds(a) || is_out_of_bounds(b)) {
            return 0;
        }
        let overflow = if self.options.finite { Overflow::Saturate } else { Overflow::Infinity };
        if format.fraction <= Format::F32.fraction
            && let Some(value) = self.compute_narrow(a, b, c)
        {
            return format.encode_double(value, self.rounding, overflow);
        }
        let result = match self.function {
            Function::Add => number(first, a).add(number(second, b), self.rounding),
            Function::Subtract => number(first, a).add(number(second, b).negated(), self.rounding),
            Function::Multiply => number(first, a).multiply(number(second, b)),
            Function::MultiplyAdd => {
                let c = c.unwrap_or_default();
                number(first, a).multiply(number(second, b)).add(number(third, c), self.rounding)
            }
            Function::Divide => number(first, a).divide(number(second, b)),
            Function::Reciprocal => Number::Finite(Exact::ONE).divide(number(first, a)),
            Function::SquareRoot => number(first, a).square_root(),
            Function::Absolute | Function::Negate if format.is_nan(a) => return format.nan_of(a),
            Function::Absolute => return a & !format.sign(),
            Function::Negate => return a ^ format.sign(),
            Function::CopySign => return b & !format.sign() | a & format.sign(),
            Function::Minimum | Function::Maximum => {
                let result = self.extreme(a, b);
                return c.map_or(result, |c| self.extreme(result, c));
            }
            // Answered before.
            Function::Test(_) => return 0,
        };
        format.encode_number(result, self.rounding, overflow)
    }

    /// What is not a double, as one, rounded to odd.
    fn compute_narrow(&self, a: u64, b: u64, c: Option<u64>) -> Option<f64> {
        let [first, second, third] = self.sources;
        let (a, b) = (first.to_f64(a), second.to_f64(b));
        let (x, y) = match self.function {
            Function::Add => (a, b),
            Function::Subtract => (a, -b),
            Function::Multiply => return Some(a * b),
            Function::MultiplyAdd => (a * b, third.to_f64(c.unwrap_or_default())),
            Function::Divide
            | Function::Reciprocal
            | Function::SquareRoot
            | Function::Absolute
            | Function::Negate
            | Function::Minimum
            | Function::Maximum
            | Function::CopySign
            | Function::Test(_) => return None,
        };
        let sum = doubles::add(x, y);
        let is_negative = x.is_sign_negative() || y.is_sign_negative();
        Some(if sum == 0.0 && is_negative && self.rounding == Rounding::Rm { -0.0 } else { sum })
    }

    /// A double where the processor has the instruction.
    fn compute_double(&self, a: u64, b: u64, c: Option<u64>) -> Option<u64> {
        // Doubles keep what is no number as it came; of several, the second goes first.
        let mut sources = [self.takes_second().then_some(b), c, Some(a)];
        if self.function == Function::Divide {
            sources.swap(0, 2);
        }
        let is_computed = !matches!(
            self.function,
            Function::Absolute
                | Function::Negate
                | Function::CopySign
                | Function::Minimum
                | Function::Maximum
                | Function::Test(_)
        );
        let nan = sources.into_iter().flatten().find(|bits| Format::F64.is_nan(*bits));
        if let Some(nan) = nan
            && is_computed
        {
            return Some(Format::F64.nan_of(nan));
        }
        if self.rounding != Rounding::Rn {
            return None;
        }
        let [a, b] = [a, b].map(f64::from_bits);
        let result = match self.function {
            Function::Add => a + b,
            Function::Subtract => a - b,
            Function::Multiply => a * b,
            Function::MultiplyAdd => a.mul_add(b, f64::from_bits(c?)),
            Function::Divide => a / b,
            Function::Reciprocal => 1.0 / a,
            Function::SquareRoot => a.sqrt(),
            Function::Absolute
            | Function::Negate
            | Function::CopySign
            | Function::Minimum
            | Function::Maximum
            | Function::Test(_) => return None,
        };
        Some(if result.is_nan() { Format::F64.nan() } else { result.to_bits() })
    }

    const fn takes_second(&self) -> bool {
        match self.function {
            Function::Reciprocal | Function::SquareRoot | Function::Absolute | Function::Negate => false,
            Function::Add
            | Function::Subtract
            | Function::Multiply
            | Function::MultiplyAdd
            | Function::Divide
            | Function::Minimum
            | Function::Maximum
            | Function::CopySign
            | Function::Test(_) => true,
        }
    }

    /// The smaller or larger of two.
    fn extreme(&self, a: u64, b: u64) -> u64 {
        let Self { format, options, .. } = *self;
        let sign = (a ^ b) & format.sign();
        let magnitude = |bits: u64| if options.absolute { bits & !format.sign() } else { bits };
        let (a, b) = (magnitude(a), magnitude(b));
        let result = match (format.is_nan(a), format.is_nan(b)) {
            (true, true) => return format.nan_of(b),
            (true, false) | (false, true) if options.nan => return format.nan(),
            (true, false) => b,
            (false, true) => a,
            // In the order of the numbers, and -0 before 0.
            (false, false) => {
                let key = |bits: u64| {
                    let magnitude = (bits & !format.sign()) as i64;
                    if bits & format.sign() == 0 { magnitude } else { -magnitude - 1 }
                };
                if (key(a) <= key(b)) == (self.function == Function::Minimum) { a } else { b }
            }
        };
        if options.xor_sign { result & !format.sign() | sign } else { result }
    }

    /// With zero instead of a result that would be subnormal. Whether it is, is asked before it is
    /// rounded to the few bits of a subnormal number: what then becomes the smallest normal one is.
    fn flushed(&self, bits: u64, (a, b, c): (u64, u64, Option<u64>)) -> u64 {
        let Self { format, rounding, .. } = *self;
        let smallest = 1 << format.fraction;
        if bits & !format.sign() != smallest {
            return format.flushed(bits);
        }
        let [first, second, third] = self.sources;
        let product = match self.function {
            Function::Multiply => first.decode(a).multiply(second.decode(b)),
            Function::MultiplyAdd => {
                first.decode(a).multiply(second.decode(b)).add(third.decode(c.unwrap_or_default()), rounding)
            }
            Function::Divide => first.decode(a).divide(second.decode(b)),
            Function::Add
            | Function::Subtract
            | Function::Reciprocal
            | Function::SquareRoot
            | Function::Absolute
            | Function::Negate
            | Function::Minimum
            | Function::Maximum
            | Function::CopySign
            | Function::Test(_) => return bits,
        };
        let Number::Finite(exact) = product else { return bits };
        // The same in the middle of the range.
        let shift = 1 << (format.exponent - 2);
        let moved = Exact { exponent: exact.exponent + shift, ..exact };
        let rounded = format.round(Number::Finite(moved), rounding);
        let is_tiny = rounded & !format.sign() < smallest + ((shift as u64) << format.fraction);
        if is_tiny { bits & format.sign() } else { bits }
    }

    /// Within what `.sat` and `.relu` ask for.
    fn limited(&self, bits: u64) -> u64 {
        let Self { format, options, .. } = *self;
        let is_negative = bits & format.sign() != 0;
        if options.saturates {
            return if format.is_nan(bits) || is_negative { 0 } else { bits.min(format.one()) };
        }
        if options.relu && is_negative && !format.is_nan(bits) { 0 } else { bits }
    }
}

/// The smaller or larger of two singles; of what is no number, the other.
#[inline]
fn extreme_single(is_minimum: bool, a: u32, b: u32) -> u64 {
    // In the order of the numbers, and -0 before 0.
    let key = |bits: u32| (bits ^ ((bits as i32 >> 31) as u32 >> 1)) as i32;
    let (first, second) = (f32::from_bits(a), f32::from_bits(b));
    let takes_first = second.is_nan() || !first.is_nan() && (key(a) <= key(b)) == is_minimum;
    let result = if takes_first { a } else { b };
    u64::from(if first.is_nan() && second.is_nan() { 0x7FFF_FFFF } else { result })
}

#[inline]
/// The single in the lower half of a register.
const fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    doubles::multiply_add(f64::from(a), f64::from(b), f64::from(c)) as f32
}

/// Whether a half is what tensors are filled with out of bounds, if not with zero.
const fn is_out_of_bounds(bits: u64) -> bool {
    bits & 0x7FFF == 0x7FF7
}

/// How an opcode rounds, if it says so.
pub(super) fn rounding(opcode: &Opcode<'_>) -> Option<Rounding> {
    opcode.modifier(|modifier| match modifier {
        Modifier::Rounding(rounding) => Some(rounding),
        _ => None,
    })
}

fn class(opcode: &Opcode<'_>) -> Decoded<NumberClass> {
    let word = opcode.modifier(|modifier| match modifier {
        Modifier::NumberClass(class) => Some(class),
        _ => None,
    });
    word.ok_or(super::INCOMPLETE)
}

fn is_in_class(format: Format, class: NumberClass, bits: u64) -> bool {
    let (is_nan, is_infinite) = (format.is_nan(bits), format.is_infinite(bits));
    match class {
        NumberClass::Finite => !is_nan && !is_infinite,
        NumberClass::Infinite => is_infinite,
        NumberClass::Number => !is_nan,
        NumberClass::NotANumber => is_nan,
        NumberClass::Normal => {
            // The hardware takes zero for one of them.
            !is_nan && !is_infinite && !format.is_subnormal(bits)
        }
        NumberClass::Subnormal => format.is_subnormal(bits),
    }
}
