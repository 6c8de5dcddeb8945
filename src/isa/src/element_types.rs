//! The types of matrix elements, accumulators and scale factors, as descriptors name them.

#![allow(missing_docs, reason = "the `into_str` that strum derives has no documentation")]

use serde::{Serialize, Serializer};
use strum::{Display, EnumIter, EnumString, IntoStaticStr, VariantArray};

use super::vocabulary::Kind;

/// Declares an enum of types whose names are also their serialised form.
macro_rules! types {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident { $( $(#[doc = $variant_doc:literal])+ $variant:ident = $spelling:literal, )+ }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(
                Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
                Display, EnumIter, EnumString, IntoStaticStr, VariantArray,
            )]
            #[strum(const_into_str, ascii_case_insensitive)]
            pub enum $name {
                $( $(#[doc = $variant_doc])+ #[strum(serialize = $spelling)] $variant, )+
            }

            impl $name {
                /// The name in lower case, as descriptors' fields show it.
                pub const fn name(self) -> &'static str {
                    self.into_str()
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.name())
                }
            }
        )+
    };
}

types! {
    /// The type of the elements of A or B (atype and btype of Tables 42 to 44).
    ElementType {
        /// IEEE half precision.
        F16 = "f16",
        /// The upper 16 bits of a single.
        Bf16 = "bf16",
        /// 19 bits of a single, kept in 32.
        Tf32 = "tf32",
        /// 4 bits of exponent, 3 of mantissa.
        E4m3 = "e4m3",
        /// 5 bits of exponent, 2 of mantissa.
        E5m2 = "e5m2",
        /// 2 bits of exponent, 3 of mantissa.
        E2m3 = "e2m3",
        /// 3 bits of exponent, 2 of mantissa.
        E3m2 = "e3m2",
        /// 2 bits of exponent, 1 of mantissa.
        E2m1 = "e2m1",
        /// An unsigned byte.
        U8 = "u8",
        /// A signed byte.
        S8 = "s8",
        /// A signed integer of 11 bits and sign, kept in 16 (PTX ISA 9.4).
        S1z4m11 = "s1z4m11",
    }
    /// The type of D (dtype of Table 42).
    AccumulatorType {
        /// IEEE half precision.
        F16 = "f16",
        /// IEEE single precision.
        F32 = "f32",
        /// 32-bit integers.
        S32 = "s32",
    }
    /// The type of the scale factors (Tables 43, 44 and 55).
    ScaleType {
        /// 8 bits of exponent: a power of two.
        Ue8m0 = "ue8m0",
        /// 4 bits of exponent, 3 of mantissa, no sign.
        Ue4m3 = "ue4m3",
        /// 5 bits of exponent, 3 of mantissa, no sign (PTX ISA 9.4, `sm_107`).
        Ue5m3 = "ue5m3",
    }
}

impl ElementType {
    /// Bits that carry the value.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Tf32 => 32,
            Self::F16 | Self::Bf16 | Self::S1z4m11 => 16,
            Self::E4m3 | Self::E5m2 | Self::U8 | Self::S8 => 8,
            Self::E2m3 | Self::E3m2 => 6,
            Self::E2m1 => 4,
        }
    }

    /// Bits that one element takes in shared memory under `kind` (9.7.16.10.4).
    ///
    /// The mixed 8-bit kinds keep 6- and 4-bit elements in containers of 8 bits (and padded, so
    /// that 16 of them take 16 bytes); `.kind::mxf4` and `.kind::mxf4nvf4` pack two to a byte.
    pub const fn container_bits(self, kind: Kind) -> u32 {
        match kind {
            Kind::F8f6f4 | Kind::Mxf8f6f4 => 8,
            Kind::F16 | Kind::Tf32 | Kind::I8 | Kind::Ti16 | Kind::Mxf4 | Kind::Mxf4nvf4 => self.bits(),
        }
    }
}
