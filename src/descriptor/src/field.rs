//! Fields of a descriptor: which bits, which values, what they mean.
//!
//! A [`Layout`] is a list of [`Field`]s that covers every bit of a word exactly once. Encoding,
//! decoding, validation and the printed tables read it; none of them knows a bit position of its
//! own.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Check;
pub use ptx_arithmetic::known_bits::Known;

/// Adjacent bits of a word, both ends included, as the ISA writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// The lowest bit.
    pub low: u8,
    /// The highest bit.
    pub high: u8,
}

impl Bits {
    /// The bits `low` to `high`.
    pub const fn new(low: u8, high: u8) -> Self {
        Self { low, high }
    }

    /// A single bit.
    pub const fn bit(bit: u8) -> Self {
        Self::new(bit, bit)
    }

    /// How many bits.
    pub const fn width(self) -> u32 {
        (self.high - self.low) as u32 + 1
    }

    /// A word that has ones in these bits only.
    pub const fn mask(self) -> u64 {
        (u64::MAX >> (64 - self.width())) << self.low
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high {
            write!(f, "{}", self.low)
        } else {
            write!(f, "{}-{}", self.low, self.high)
        }
    }
}

/// What the bits of a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Nothing but these bits: a reserved field, or one that the kind has no use for.
    Fixed(u64),
    /// 0 for no, 1 for yes.
    Flag,
    /// One of several meanings, each with its bits.
    Named(&'static [(u64, &'static str)]),
    /// A number from 0 up to, and including, this one.
    Number(u64),
    /// A size without its low bits: the bits hold `size >> shift`.
    Scaled {
        /// How many low bits are left out; they have to be zero.
        shift: u32,
    },
    /// A byte address or byte offset in shared memory, in units of 16 bytes:
    /// matrix-descriptor-encode of 9.7.16.4.1.
    Address,
}

/// A value as a person means it, before it becomes bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number: a size, a count, an offset in bytes.
    Number(u64),
    /// The name of one of several meanings.
    Name(&'a str),
    /// Yes or no.
    Flag(bool),
}

/// One field of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in expressions and messages; `reserved` and `fixed` are not to be set.
    pub name: &'static str,
    /// Its name in a picture of the bits: fits three columns for each bit, less one.
    pub short: &'static str,
    /// Where it is: the ranges from the least significant part on (nearly always one).
    pub bits: &'static [Bits],
    /// What it says.
    pub meaning: &'static str,
    /// What it may hold.
    pub values: Values,
    /// Which check complains when it holds something else.
    pub check: Check,
}

/// Why a value is not possible for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The layout has no such field, or nobody may set it.
    NoSuchField {
        /// What was asked for.
        name: String,
        /// The fields that there are.
        known: Vec<&'static str>,
        /// The layout.
        layout: &'static str,
    },
    /// The layout has a field that was left out and that has no natural value.
    Missing {
        /// The field.
        field: &'static Field,
        /// The layout.
        layout: &'static str,
    },
    /// The field has a list of values, and this is none of them.
    NotAllowed {
        /// The field.
        field: &'static Field,
        /// The value.
        value: String,
        /// What it may be.
        allowed: Vec<String>,
        /// Where the ISA says so.
        table: &'static str,
    },
    /// The number does not fit.
    OutOfRange {
        /// The field.
        field: &'static Field,
        /// The value.
        value: u64,
        /// The largest that fits.
        last: u64,
        /// Where the ISA says so.
        table: &'static str,
    },
    /// The field leaves low bits out, and the value has some of them set.
    Misaligned {
        /// The field.
        field: &'static Field,
        /// The value.
        value: u64,
        /// What it has to be a multiple of.
        alignment: u64,
        /// Where the ISA says so.
        table: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchField { name, layout, .. } => write!(f, "{layout} has no field `{name}`"),
            Self::Missing { field, layout } => write!(f, "{layout} needs `{}`", field.name),
            Self::NotAllowed { field, value, .. } => write!(f, "`{}` cannot be `{value}`", field.name),
            Self::OutOfRange { field, value, last, .. } => {
                write!(
                    f,
                    "`{}` is {}, but at most {} fits",
                    field.name,
                    field.number(*value),
                    field.number(*last)
                )
            }
            Self::Misaligned { field, value, alignment, .. } => {
                write!(
                    f,
                    "`{}` is {}, which is not a multiple of {alignment}",
                    field.name,
                    field.number(*value)
                )
            }
        }
    }
}

impl std::error::Error for EncodeError {}

impl EncodeError {
    /// The name of the field that it is about.
    pub fn field(&self) -> &str {
        match self {
            Self::NoSuchField { name, .. } => name,
            Self::Missing { field, .. }
            | Self::NotAllowed { field, .. }
            | Self::OutOfRange { field, .. }
            | Self::Misaligned { field, .. } => field.name,
        }
    }
}

impl Field {
    /// Whether it always holds the same bits, so that it is not to be set.
    pub const fn is_fixed(&self) -> bool {
        matches!(self.values, Values::Fixed(_))
    }

    /// How many bits it has.
    pub fn width(&self) -> u32 {
        self.bits.iter().map(|bits| bits.width()).sum()
    }

    /// A word that has ones in its bits only.
    pub fn mask(&self) -> u64 {
        self.bits.iter().fold(0, |mask, bits| mask | bits.mask())
    }

    /// What it holds in a word, if all of its bits are known there.
    pub fn raw(&self, word: Known) -> Option<u64> {
        let mask = self.mask();
        (word.mask & mask == mask).then(|| self.get(word.value))
    }

    /// Its bits in `word`, moved down to bit 0.
    pub fn get(&self, word: u64) -> u64 {
        let mut raw = 0;
        let mut shift = 0;
        for bits in self.bits {
            raw |= ((word & bits.mask()) >> bits.low) << shift;
            shift += bits.width();
        }
        raw
    }

    /// A word with `raw` in its bits and zeros elsewhere; bits of `raw` that do not fit are lost.
    pub fn put(&self, raw: u64) -> u64 {
        let mut word = 0;
        let mut rest = raw;
        for bits in self.bits {
            word |= (rest << bits.low) & bits.mask();
            // No range of a field is 64 bits wide.
            rest >>= bits.width();
        }
        word
    }

    /// The largest number that its bits hold.
    fn last(&self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// Whether the field's own values allow these bits.
    pub fn permits(&self, raw: u64) -> bool {
        match self.values {
            Values::Fixed(fixed) => raw == fixed,
            Values::Named(named) => named.iter().any(|&(bits, _)| bits == raw),
            Values::Number(last) => raw <= last,
            Values::Flag | Values::Scaled { .. } | Values::Address => true,
        }
    }

    /// The number that the bits stand for: bytes of an address, rows of a size, a named number.
    pub fn number_of(&self, raw: u64) -> Option<u64> {
        match self.values {
            Values::Scaled { shift } => Some(raw << shift),
            Values::Address => Some(raw << 4),
            Values::Number(_) | Values::Fixed(_) => Some(raw),
            Values::Named(_) => self.name_of(raw)?.parse().ok(),
            Values::Flag => None,
        }
    }

    /// The name of the meaning that the bits have, where there are names.
    pub fn name_of(&self, raw: u64) -> Option<&'static str> {
        match self.values {
            Values::Named(named) => named.iter().find(|&&(bits, _)| bits == raw).map(|&(_, name)| name),
            Values::Flag => Some(if raw == 0 { "no" } else { "yes" }),
            Values::Fixed(_) | Values::Number(_) | Values::Scaled { .. } | Values::Address => None,
        }
    }

    /// What the bits mean, in a word.
    pub fn show(&self, raw: u64) -> String {
        match self.values {
            Values::Fixed(_) => self.binary(raw),
            Values::Flag | Values::Named(_) => {
                self.name_of(raw).map_or_else(|| format!("? ({raw})"), str::to_owned)
            }
            Values::Number(_) | Values::Scaled { .. } | Values::Address => {
                self.number(self.number_of(raw).unwrap_or(raw))
            }
        }
    }

    /// All bits of the field; a single one without prefix.
    pub(super) fn binary(&self, raw: u64) -> String {
        match self.width() {
            1 => raw.to_string(),
            width => format!("0b{raw:0width$b}", width = width as usize),
        }
    }

    /// A number as this field's numbers are written: addresses in hexadecimal.
    fn number(&self, number: u64) -> String {
        match self.values {
            Values::Address => format!("{number:#x}"),
            Values::Fixed(_)
            | Values::Flag
            | Values::Named(_)
            | Values::Number(_)
            | Values::Scaled { .. } => number.to_string(),
        }
    }

    /// What may be written for it; empty when that is a number from a range.
    pub fn choices(&self) -> Vec<&'static str> {
        match self.values {
            Values::Named(named) => named.iter().map(|&(_, name)| name).collect(),
            Values::Flag => vec!["no", "yes"],
            Values::Fixed(_) | Values::Number(_) | Values::Scaled { .. } | Values::Address => Vec::new(),
        }
    }

    /// What may be written for it, in words.
    pub fn expected(&self) -> String {
        match self.values {
            Values::Fixed(fixed) => self.binary(fixed),
            Values::Flag | Values::Named(_) => quoted(&self.choices()),
            Values::Number(last) => format!("a number from 0 to {last}"),
            Values::Scaled { shift } => {
                format!("a multiple of {}, at most {}", 1 << shift, self.last() << shift)
            }
            Values::Address => format!("a multiple of 16 bytes, at most {:#x}", self.last() << 4),
        }
    }

    /// The bits that stand for `value`.
    ///
    /// # Errors
    /// When the field has no such value; `table` names the table of the ISA in that case.
    pub fn encode(&'static self, value: Value<'_>, table: &'static str) -> Result<u64, EncodeError> {
        let scaled = |value: u64, shift: u32| {
            if !value.is_multiple_of(1 << shift) {
                Err(EncodeError::Misaligned { field: self, value, alignment: 1 << shift, table })
            } else if value >> shift > self.last() {
                Err(EncodeError::OutOfRange { field: self, value, last: self.last() << shift, table })
            } else {
                Ok(value >> shift)
            }
        };
        match (self.values, value) {
            (Values::Scaled { shift }, Value::Number(value)) => scaled(value, shift),
            (Values::Address, Value::Number(value)) => scaled(value, 4),
            (Values::Number(last), Value::Number(value)) if value > last => {
                Err(EncodeError::OutOfRange { field: self, value, last, table })
            }
            (Values::Number(_), Value::Number(value)) | (Values::Flag, Value::Number(value @ 0..=1)) => {
                Ok(value)
            }
            (Values::Flag | Values::Number(1), Value::Flag(value)) => Ok(u64::from(value)),
            // A kind without the field takes its absence.
            (Values::Fixed(fixed), Value::Flag(value)) if fixed == u64::from(value) => Ok(fixed),
            (Values::Fixed(fixed), Value::Number(value)) if fixed == value => Ok(fixed),
            (Values::Named(named), _) => {
                let wanted = value.to_string();
                let found = named.iter().find(|(_, name)| name.eq_ignore_ascii_case(&wanted));
                found.map(|&(bits, _)| bits).ok_or_else(|| self.refuse(wanted, table))
            }
            (Values::Flag, Value::Name(name)) if name.eq_ignore_ascii_case("yes") => Ok(1),
            (Values::Flag | Values::Fixed(0), Value::Name(name)) if name.eq_ignore_ascii_case("no") => Ok(0),
            (
                Values::Fixed(_) | Values::Flag | Values::Number(_) | Values::Scaled { .. } | Values::Address,
                Value::Number(_) | Value::Name(_) | Value::Flag(_),
            ) => Err(self.refuse(value.to_string(), table)),
        }
    }

    #[cold]
    fn refuse(&'static self, value: String, table: &'static str) -> EncodeError {
        let allowed = self.choices().into_iter().map(str::to_owned).collect();
        EncodeError::NotAllowed { field: self, value, allowed, table }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
        }
    }
}

/// Writes `` `a`, `b` or `c` ``.
pub fn quoted(words: &[&str]) -> String {
    match words {
        [] => String::from("nothing"),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

/// Where the bits of a field are, in words: `bits 7-9`, `bit 6`, `bits 31 and 3`.
pub fn place(bits: &[Bits]) -> String {
    let words: Vec<String> = bits.iter().map(ToString::to_string).collect();
    match bits {
        [only] if only.low == only.high => format!("bit {only}"),
        _ => format!("bits {}", words.join(" and ")),
    }
}

/// A descriptor's fields, from bit 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What has this layout, in words that follow `the` or stand alone.
    pub title: &'static str,
    /// The table of the ISA.
    pub table: &'static str,
    /// Bits of the word: 32 or 64.
    pub width: u32,
    /// The fields; together they cover every bit once.
    pub fields: Vec<Field>,
}

/// One field of a word with what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue<'a> {
    /// The field.
    pub field: &'a Field,
    /// Its bits, moved down to bit 0.
    pub raw: u64,
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            name: &'a str,
            bits: Vec<[u8; 2]>,
            raw: u64,
            value: String,
            meaning: &'a str,
        }
        let bits = self.field.bits.iter().map(|bits| [bits.low, bits.high]).collect();
        Shown {
            name: self.field.name,
            bits,
            raw: self.raw,
            value: self.field.show(self.raw),
            meaning: self.field.meaning,
        }
        .serialize(serializer)
    }
}

impl Layout {
    /// A layout whose fields are known beforehand.
    pub fn new(title: &'static str, table: &'static str, width: u32, fields: &[Field]) -> Self {
        Self { title, table, width, fields: fields.to_vec() }
    }

    /// The field of this name, unless it is fixed.
    pub fn settable(&self, name: &str) -> Option<&Field> {
        self.field(name).filter(|field| !matches!(field.name, RESERVED | FIXED))
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The names of the fields that can be set.
    pub fn names(&self) -> Vec<&'static str> {
        self.fields.iter().filter(|field| !field.is_fixed()).map(|field| field.name).collect()
    }

    /// What each field of `word` holds, from bit 0 on.
    pub fn values(&self, word: u64) -> Vec<FieldValue<'_>> {
        self.fields.iter().map(|field| FieldValue { field, raw: field.get(word) }).collect()
    }

    /// A word whose fixed fields are right and whose other fields are zero.
    pub fn blank(&self) -> u64 {
        self.fields.iter().fold(0, |word, field| match field.values {
            Values::Fixed(fixed) => word | field.put(fixed),
            _ => word,
        })
    }

    /// `word` with one field set.
    ///
    /// # Errors
    /// When there is no such field, or the field has no such value.
    pub fn set(&'static self, word: u64, name: &str, value: Value<'_>) -> Result<u64, EncodeError> {
        let field = self.settable(name).ok_or_else(|| EncodeError::NoSuchField {
            name: name.to_owned(),
            known: self.names(),
            layout: self.title,
        })?;
        let raw = field.encode(value, self.table)?;
        Ok(word & !field.mask() | field.put(raw))
    }

    /// The bits of the field `name` when all of them are known.
    pub fn known(&self, name: &str, word: Known) -> Option<(&Field, u64)> {
        let field = self.field(name)?;
        field.raw(word).map(|raw| (field, raw))
    }
}

/// The name of bits that must have a value that means nothing.
pub const RESERVED: &str = "reserved";
/// The name of bits that must have a certain value.
pub const FIXED: &str = "fixed";

/// matrix-descriptor-encode of 9.7.16.4.1: an address or offset in bytes in units of 16 bytes,
/// without what lies above the 256 KiB window of shared memory.
///
/// # Errors
/// The address itself when it is not a multiple of 16.
pub const fn matrix_descriptor_encode(bytes: u64) -> Result<u64, u64> {
    if bytes.is_multiple_of(16) { Ok((bytes & 0x3_FFFF) >> 4) } else { Err(bytes) }
}
