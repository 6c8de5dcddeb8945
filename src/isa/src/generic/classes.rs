//! What may stand in a position, as far as its declaration tells.
//!
//! The ISA lets a register of bits stand for one of any type of its size, and tells floats from integers; signed
//! integers and unsigned ones go together. Loads, stores and conversions take wider registers. What NVIDIA's
//! assembler takes besides is here, too.

use ptx_text::types;

use super::Type;

/// What stands in a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Something of which nothing is known.
    #[default]
    Unknown,
    /// A register that is declared as `.pred`; the next ones likewise.
    Pred,
    /// `.b8`
    B8,
    /// `.u8`
    U8,
    /// `.s8`
    S8,
    /// `.b16`
    B16,
    /// `.u16`
    U16,
    /// `.s16`
    S16,
    /// `.f16`
    F16,
    /// `.b32`
    B32,
    /// `.u32`
    U32,
    /// `.s32`
    S32,
    /// `.f32`
    F32,
    /// `.f16x2`
    F16x2,
    /// `.b64`
    B64,
    /// `.u64`
    U64,
    /// `.s64`
    S64,
    /// `.f64`
    F64,
    /// `.b128`
    B128,
    /// A special register of 32 bits.
    Special32,
    /// One of 64 bits.
    Special64,
    /// A component of a special register: `%tid.x`, of 32 bits.
    Component,
    /// One of several numbers: `%tid`.
    SpecialVector,
    /// A variable.
    Variable,
    /// A label.
    Label,
    /// An integer.
    Integer,
    /// A floating-point number, as a double: `1.0`, `0d3FF0000000000000`.
    Float,
    /// One in single precision: `0f3F800000`.
    Single,
    /// A component that a special register does not have.
    NoComponent,
    /// A special register that is a predicate.
    SpecialPred,
    /// One that has as many bits as who reads it wants, 16, 32 or 64: `%gridid`.
    SpecialAny,
}

impl Class {
    /// That of a register which is declared with a type.
    pub const fn of(ty: types::Type) -> Self {
        match ty {
            types::Type::Pred => Self::Pred,
            types::Type::B8 => Self::B8,
            types::Type::U8 => Self::U8,
            types::Type::S8 => Self::S8,
            types::Type::B16 => Self::B16,
            types::Type::U16 => Self::U16,
            types::Type::S16 => Self::S16,
            types::Type::F16 => Self::F16,
            types::Type::B32 => Self::B32,
            types::Type::U32 => Self::U32,
            types::Type::S32 => Self::S32,
            types::Type::F32 => Self::F32,
            types::Type::F16x2 => Self::F16x2,
            types::Type::B64 => Self::B64,
            types::Type::U64 => Self::U64,
            types::Type::S64 => Self::S64,
            types::Type::F64 => Self::F64,
            types::Type::B128 => Self::B128,
            _ => Self::Unknown,
        }
    }

    /// That of a special register with a type.
    pub const fn special(ty: Type) -> Self {
        match ty.bits() {
            Some(32) => Self::Special32,
            Some(64) => Self::Special64,
            _ if matches!(ty, Type::Pred) => Self::SpecialPred,
            _ => Self::Unknown,
        }
    }

    /// The type that registers of the class are declared with.
    pub const fn declared(self) -> Option<Type> {
        Some(match self {
            Self::Pred => Type::Pred,
            Self::B8 => Type::B8,
            Self::U8 => Type::U8,
            Self::S8 => Type::S8,
            Self::B16 => Type::B16,
            Self::U16 => Type::U16,
            Self::S16 => Type::S16,
            Self::F16 => Type::F16,
            Self::B32 => Type::B32,
            Self::U32 => Type::U32,
            Self::S32 => Type::S32,
            Self::F32 => Type::F32,
            Self::F16x2 => Type::F16x2,
            Self::B64 => Type::B64,
            Self::U64 => Type::U64,
            Self::S64 => Type::S64,
            Self::F64 => Type::F64,
            Self::B128 => Type::B128,
            Self::Unknown
            | Self::Special32
            | Self::Special64
            | Self::SpecialAny
            | Self::Component
            | Self::SpecialVector
            | Self::Variable
            | Self::Label
            | Self::Integer
            | Self::Float
            | Self::Single
            | Self::NoComponent
            | Self::SpecialPred => return None,
        })
    }

    /// That with a number.
    pub const fn from_number(number: u8) -> Self {
        let mut at = 0;
        while at < ALL.len() {
            if ALL[at] as u8 == number {
                return ALL[at];
            }
            at += 1;
        }
        Self::Unknown
    }

    /// What the assembler compares between the elements of a vector: neighbours of different kinds do not go
    /// together, and bits go with all.
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::U8
            | Self::S8
            | Self::U16
            | Self::S16
            | Self::U32
            | Self::S32
            | Self::U64
            | Self::S64
            | Self::Integer
            | Self::Special32
            | Self::Special64
            | Self::SpecialAny
            | Self::Component => Some(Kind::Integer),
            Self::F16 | Self::F32 | Self::F64 | Self::Float | Self::Single => Some(Kind::Float),
            Self::F16x2 => Some(Kind::Halves),
            Self::Pred | Self::SpecialPred => Some(Kind::Predicate),
            Self::B8
            | Self::B16
            | Self::B32
            | Self::B64
            | Self::B128
            | Self::Unknown
            | Self::SpecialVector
            | Self::Variable
            | Self::Label
            | Self::NoComponent => None,
        }
    }

    /// How many bits a register of the class has.
    pub const fn bits(self) -> Option<u32> {
        match self {
            Self::Special32 | Self::Component => Some(32),
            Self::Special64 => Some(64),
            _ => match self.declared() {
                Some(ty) => ty.bits(),
                None => None,
            },
        }
    }
}

/// What elements of a vector have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They are integers.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Pairs of halves.
    Halves,
    /// Predicates.
    Predicate,
}

const ALL: [Class; 31] = [
    Class::Unknown,
    Class::Pred,
    Class::B8,
    Class::U8,
    Class::S8,
    Class::B16,
    Class::U16,
    Class::S16,
    Class::F16,
    Class::B32,
    Class::U32,
    Class::S32,
    Class::F32,
    Class::F16x2,
    Class::B64,
    Class::U64,
    Class::S64,
    Class::F64,
    Class::B128,
    Class::Special32,
    Class::Special64,
    Class::Component,
    Class::SpecialVector,
    Class::Variable,
    Class::Label,
    Class::Integer,
    Class::Float,
    Class::Single,
    Class::NoComponent,
    Class::SpecialPred,
    Class::SpecialAny,
];

/// A set of classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes(u32);

impl Classes {
    /// Everything.
    pub const ALL: Self = Self(u32::MAX);
    /// What nothing is known of, which may always stand anywhere.
    pub const NONE: Self = Self(1);
    /// Not even what is not known.
    pub const NOTHING: Self = Self(0);
    /// Integers and bits of 8 bits, of 16, and so on.
    const INTEGERS: [Self; 4] = [
        Self::of(&[Class::B8, Class::U8, Class::S8]),
        Self::of(&[Class::B16, Class::U16, Class::S16]),
        Self::of(&[Class::B32, Class::U32, Class::S32]),
        Self::of(&[Class::B64, Class::U64, Class::S64]),
    ];
    /// What else has 16 bits, 32, and 64.
    const FLOATS: [Self; 4] =
        [Self::NONE, Self::of(&[Class::F16]), Self::of(&[Class::F32, Class::F16x2]), Self::of(&[Class::F64])];
    /// Special registers of 8 bits (there are none), 16, and so on. The assembler makes 16 bits of those of 32.
    const SPECIALS: [Self; 4] = [
        Self::NONE,
        Self::of(&[Class::Special32, Class::SpecialAny, Class::Component]),
        Self::of(&[Class::Special32, Class::SpecialAny, Class::Component]),
        Self::of(&[Class::Special64, Class::SpecialAny]),
    ];
    /// All special registers.
    pub const SPECIAL: Self = Self::of(&[
        Class::Special32,
        Class::Special64,
        Class::SpecialAny,
        Class::Component,
        Class::SpecialVector,
        Class::SpecialPred,
    ]);
    /// What may hold an address. The dot of a component is read as something else there.
    pub const ADDRESSES: Self = Self::INTEGERS[0]
        .and(Self::INTEGERS[1])
        .and(Self::INTEGERS[2])
        .and(Self::INTEGERS[3])
        .and(Self::of(&[Class::Special32, Class::Special64, Class::SpecialAny, Class::Variable]));
    /// What is written as a number.
    pub const LITERALS: Self = Self::of(&[Class::Integer, Class::Float, Class::Single]);
    /// Registers of 32 bits and of 64, as a generic address may be in.
    pub const POINTERS: Self = Self::INTEGERS[2].and(Self::INTEGERS[3]);
    /// Names of what is in memory.
    pub const NAMES: Self = Self::of(&[Class::Variable]);

    /// Those that are listed.
    pub const fn of(classes: &[Class]) -> Self {
        let mut set = Self::NONE.0;
        let mut at = 0;
        while at < classes.len() {
            set |= 1 << classes[at] as u8;
            at += 1;
        }
        Self(set)
    }

    /// Those in one or the other.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those in both.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0 | Self::NONE.0)
    }

    /// Whether a class is in it.
    #[inline]
    pub const fn has(self, class: Class) -> bool {
        self.has_number(class as u8)
    }

    /// Whether the class with a number is in it.
    #[inline]
    pub const fn has_number(self, number: u8) -> bool {
        self.0 >> (number & 31) & 1 != 0
    }

    /// The registers in it, in the order of their widths.
    pub fn registers(self) -> impl Iterator<Item = Type> {
        ALL.into_iter().filter(move |class| self.has(*class)).filter_map(Class::declared)
    }

    /// Integers of 8, 16, 32 and 64 bits by the place of their width; special registers of it.
    const fn place(bits: u32) -> Option<usize> {
        match bits {
            8 => Some(0),
            16 => Some(1),
            32 => Some(2),
            64 => Some(3),
            _ => None,
        }
    }

    /// Integers and bits of a width.
    pub const fn integers(bits: u32) -> Self {
        match (bits, Self::place(bits)) {
            (128, _) => Self::of(&[Class::B128]),
            (_, Some(place)) => Self::INTEGERS[place],
            (_, None) => Self::ALL,
        }
    }

    /// Special registers that are read as integers of a width.
    pub const fn specials(bits: u32) -> Self {
        match Self::place(bits) {
            Some(place) => Self::SPECIALS[place],
            None => Self::NONE,
        }
    }

    /// All of a width.
    pub const fn any(bits: u32) -> Self {
        match Self::place(bits) {
            Some(place) => Self::INTEGERS[place].and(Self::FLOATS[place]),
            None => Self::integers(bits),
        }
    }

    /// The registers that agree with a type.
    pub const fn agreeing(ty: Type) -> Self {
        match ty {
            // Pairs of halves pass for predicates.
            Type::Pred => Self::of(&[Class::Pred, Class::F16x2]),
            Type::F16 => Self::of(&[Class::B16, Class::F16]),
            Type::F32 => Self::of(&[Class::B32, Class::F32]),
            Type::F64 => Self::of(&[Class::B64, Class::F64]),
            // And for integers of their size.
            Type::U32 | Type::S32 => Self::INTEGERS[2].and(Self::of(&[Class::F16x2])),
            // In which the assembler does not look for a meaning.
            Type::S2f6x2 => Self::any(16),
            Type::F16x2 | Type::U16x2 | Type::S16x2 | Type::U8x4 | Type::S8x4 => {
                Self::of(&[Class::B32, Class::F16x2])
            }
            // What has no registers of its own is in registers of bits.
            _ if ty.is_float() => match ty.bits() {
                Some(8) => Self::of(&[Class::B8]),
                Some(16) => Self::of(&[Class::B16]),
                Some(32) => Self::of(&[Class::B32]),
                Some(64) => Self::of(&[Class::B64]),
                _ => Self::ALL,
            },
            _ => match (ty.bits(), ty.interpretation()) {
                (Some(bits), super::Interpretation::Bits) => Self::any(bits),
                (Some(bits), _) => Self::integers(bits),
                (None, _) => Self::ALL,
            },
        }
    }

    /// The same, and wider ones: what is read is cut, and what is written is extended.
    pub const fn wider(ty: Type) -> Self {
        let Some(bits) = ty.bits() else { return Self::agreeing(ty) };
        let mut set = Self::agreeing(ty);
        let is_float = match ty {
            Type::F16 | Type::F32 | Type::F64 | Type::F16x2 => true,
            // These have to be exact.
            _ if ty.is_float() => return set,
            _ => false,
        };
        let is_bits = matches!(ty.interpretation(), super::Interpretation::Bits);
        let wider: [(u32, Class); 4] =
            [(16, Class::B16), (32, Class::B32), (64, Class::B64), (128, Class::B128)];
        let mut at = 0;
        while at < wider.len() {
            let (width, class) = wider[at];
            if width > bits {
                set = set.and(if is_float {
                    Self::of(&[class])
                } else if is_bits {
                    Self::any(width)
                } else {
                    Self::integers(width)
                });
                if width == 32 && !is_float {
                    set = set.and(Self::of(&[Class::F16x2]));
                }
            }
            at += 1;
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_numbers() {
        for (number, class) in (0..).zip(ALL) {
            assert_eq!(class as u8, number);
            assert_eq!(Class::from_number(number), class);
        }
    }

    #[test]
    fn bits_go_with_all_of_their_size() {
        let names = |set: Classes| -> Vec<&'static str> { set.registers().map(Into::into).collect() };
        assert_eq!(names(Classes::agreeing(Type::B32)), ["b32", "u32", "s32", "f32", "f16x2"]);
        assert_eq!(names(Classes::agreeing(Type::F32)), ["b32", "f32"]);
        assert_eq!(names(Classes::agreeing(Type::Bf16x2)), ["b32"]);
        assert_eq!(names(Classes::wider(Type::F32)), ["b32", "f32", "b64", "b128"]);
        assert_eq!(names(Classes::wider(Type::S64)), ["b64", "u64", "s64", "b128"]);
        assert_eq!(names(Classes::wider(Type::Bf16)), ["b16"]);
        assert!(Classes::agreeing(Type::F64).has(Class::Unknown));
    }
}
