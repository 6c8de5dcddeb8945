//! The number formats of tensor-core operands, and what their bits mean.

/// A number format of PTX.
///
/// Bits are in the low part of a `u32`; higher bits are ignored. `Tf32` has 32 bits, of which it uses the upper 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// IEEE 754 binary16.
    F16,
    /// The upper 16 bits of `F32`.
    Bf16,
    /// The upper 19 bits of `F32`, in a register of 32 bits. The lower 13 bits are ignored.
    Tf32,
    /// IEEE 754 binary32.
    F32,
    /// 8 bits, no infinity, NaN only with all bits set.
    E4m3,
    /// 8 bits, with infinities and NaNs as in IEEE 754.
    E5m2,
    /// 6 bits, no infinity and no NaN.
    E3m2,
    /// 6 bits, no infinity and no NaN.
    E2m3,
    /// 4 bits, no infinity and no NaN.
    E2m1,
    /// A scale: a power of two, 2^(byte - 127). 255 is NaN. It has no zero.
    Ue8m0,
    /// A scale: `E4m3` without a sign. The sign bit of the byte is ignored.
    Ue4m3,
    /// A scale: 8 bits without a sign, NaN only with all bits set.
    Ue5m3,
    /// A signed byte.
    S8,
    /// An unsigned byte.
    U8,
    /// A signed integer of 4 bits.
    S4,
    /// An unsigned integer of 4 bits.
    U4,
}

/// The parameters of a [`Format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The format's name in PTX, without the dot.
    pub name: &'static str,
    /// Bits of a number, those included that are ignored.
    pub bits: u32,
    /// Bits of the exponent field; 0 for integers.
    pub exponent: u32,
    /// Bits of the fraction field; of integers, the bits of the magnitude.
    pub fraction: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Whether there is a sign bit.
    pub signed: bool,
    /// Which bit patterns are not finite numbers.
    pub specials: Specials,
}

/// Which bit patterns of a format are not finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// The largest exponent field: infinity if the fraction is 0, otherwise NaN.
    Ieee,
    /// All bits of exponent and fraction set: NaN. There is no infinity.
    OneNan,
    /// None: every pattern is a finite number.
    None,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 16] = [
        Self::F16,
        Self::Bf16,
        Self::Tf32,
        Self::F32,
        Self::E4m3,
        Self::E5m2,
        Self::E3m2,
        Self::E2m3,
        Self::E2m1,
        Self::Ue8m0,
        Self::Ue4m3,
        Self::Ue5m3,
        Self::S8,
        Self::U8,
        Self::S4,
        Self::U4,
    ];

    /// The parameters of this format.
    pub const fn parameters(self) -> Parameters {
        use Specials::{Ieee, None, OneNan};
        match self {
            //                        name   bits exp. frac. bias signed specials
            Self::F16 => row("f16", 16, 5, 10, 15, true, Ieee),
            Self::Bf16 => row("bf16", 16, 8, 7, 127, true, Ieee),
            Self::Tf32 => row("tf32", 32, 8, 10, 127, true, Ieee),
            Self::F32 => row("f32", 32, 8, 23, 127, true, Ieee),
            Self::E4m3 => row("e4m3", 8, 4, 3, 7, true, OneNan),
            Self::E5m2 => row("e5m2", 8, 5, 2, 15, true, Ieee),
            Self::E3m2 => row("e3m2", 6, 3, 2, 3, true, None),
            Self::E2m3 => row("e2m3", 6, 2, 3, 1, true, None),
            Self::E2m1 => row("e2m1", 4, 2, 1, 1, true, None),
            Self::Ue8m0 => row("ue8m0", 8, 8, 0, 127, false, OneNan),
            Self::Ue4m3 => row("ue4m3", 8, 4, 3, 7, false, OneNan),
            Self::Ue5m3 => row("ue5m3", 8, 5, 3, 15, false, OneNan),
            Self::S8 => row("s8", 8, 0, 7, 0, true, None),
            Self::U8 => row("u8", 8, 0, 8, 0, false, None),
            Self::S4 => row("s4", 4, 0, 3, 0, true, None),
            Self::U4 => row("u4", 4, 0, 4, 0, false, None),
        }
    }

    /// Whether this is an integer format.
    pub const fn is_integer(self) -> bool {
        self.parameters().exponent == 0
    }

    /// The exact value of a bit pattern: NaN, an infinity, or a finite number.
    ///
    /// ```
    /// use ptx_numbers::Format;
    ///
    /// assert_eq!(Format::E4m3.decode(0x38), 1.0);
    /// assert_eq!(Format::E4m3.decode(0x7E), 448.0);
    /// assert_eq!(Format::Ue8m0.decode(0), 2f32.powi(-127));
    /// ```
    pub fn decode(self, bits: u32) -> f32 {
        self.unpack(bits).value
    }

    /// The value of a bit pattern, with the exponent that the tensor core gives it.
    pub(crate) fn unpack(self, bits: u32) -> Factor {
        self.decoder().unpack(bits)
    }

    /// What decodes many numbers.
    pub(crate) fn decoder(self) -> Decoder {
        let Parameters { bits, exponent, fraction, bias, signed, specials, .. } = self.parameters();
        if exponent == 0 {
            return if signed { Decoder::Signed(32 - bits) } else { Decoder::Unsigned(32 - bits) };
        }
        if self == Self::Ue8m0 {
            return Decoder::PowerOfTwo;
        }
        let magnitude = (1 << (exponent + fraction)) - 1;
        let infinity = magnitude - ((1 << fraction) - 1);
        let ignored = if self == Self::Tf32 { 13 } else { 0 };
        Decoder::Float(Fields {
            ignored,
            magnitude,
            sign: if signed { 1 << (exponent + fraction) } else { 0 },
            to_sign: 31 - (exponent + fraction),
            fraction,
            bias: bias as i16,
            // 2^(127 - bias): the exponent field of f32 has another bias.
            factor: two_to(127 - bias),
            infinity: if specials == Specials::Ieee { infinity } else { u32::MAX },
            special: match specials {
                Specials::Ieee => infinity,
                Specials::OneNan => magnitude,
                Specials::None => u32::MAX,
            },
        })
    }
}

/// What decodes the numbers of a format.
#[derive(Clone, Copy)]
pub(crate) enum Decoder {
    Float(Fields),
    PowerOfTwo,
    /// Integers, above which a `u32` has that many bits.
    Signed(u32),
    Unsigned(u32),
}

/// The fields of a format of floating point.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// The number of low bits that are ignored.
    ignored: u32,
    /// The bits of exponent and fraction.
    magnitude: u32,
    /// The bit of the sign, and by how much it is shifted to be that of f32. 0 without a sign.
    sign: u32,
    to_sign: u32,
    fraction: u32,
    bias: i16,
    factor: f32,
    /// The magnitude of infinity.
    infinity: u32,
    /// From here on, magnitudes are no numbers.
    special: u32,
}

impl Decoder {
    #[inline(always)]
    pub(crate) fn unpack(&self, bits: u32) -> Factor {
        match self {
            Self::Float(fields) => fields.unpack(bits),
            Self::PowerOfTwo => power_of_two(bits & 0xFF),
            Self::Signed(above) => {
                Factor { value: ((bits << above).cast_signed() >> above) as f32, exponent: 0 }
            }
            Self::Unsigned(above) => Factor { value: (bits << above >> above) as f32, exponent: 0 },
        }
    }
}

impl Fields {
    #[inline(always)]
    fn unpack(&self, bits: u32) -> Factor {
        let bits = bits >> self.ignored;
        let magnitude = bits & self.magnitude;
        // Also exact for a subnormal number, which f32 takes for one, too.
        let value = f32::from_bits(magnitude << (23 - self.fraction)) * self.factor;
        let value = match magnitude {
            it if it < self.special => value,
            it if it == self.infinity => f32::INFINITY,
            _ => f32::NAN,
        };
        let exponent = ((magnitude >> self.fraction) as i16).max(1) - self.bias;
        let sign = (bits & self.sign) << self.to_sign;
        Factor {
            value: f32::from_bits(value.to_bits() | sign),
            exponent: if magnitude == 0 { ZERO_EXPONENT } else { exponent },
        }
    }
}

/// A decoded number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor {
    /// Its exact value.
    pub(crate) value: f32,
    /// The exponent of its significand: that of the field, the smallest normal one for a subnormal number, and
    /// [`ZERO_EXPONENT`] for zero.
    pub(crate) exponent: i16,
}

/// The exponent of a zero: so low that a product with it never has the largest exponent. Twice the value fits `i16`.
pub(crate) const ZERO_EXPONENT: i16 = -8192;

/// 2^`exponent`, of a normal number.
pub(crate) const fn two_to(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

const fn row(
    name: &'static str,
    bits: u32,
    exponent: u32,
    fraction: u32,
    bias: i32,
    signed: bool,
    specials: Specials,
) -> Parameters {
    Parameters { name, bits, exponent, fraction, bias, signed, specials }
}

/// A number of `Ue8m0`, whose field 0 has no special meaning.
fn power_of_two(field: u32) -> Factor {
    let value = match field {
        0xFF => f32::NAN,
        0 => f32::from_bits(1 << 22),
        field => f32::from_bits(field << 23),
    };
    Factor { value, exponent: field as i16 - 127 }
}
