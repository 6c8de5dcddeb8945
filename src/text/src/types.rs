//! Words that declarations, the tables of the ISA and host languages share.

use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

/// Where a declared name lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, strum::Display, Serialize)]
#[allow(missing_docs, reason = "the ISA's names")]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum StateSpace {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

/// A type of PTX: fundamental, opaque, or one that only instructions know, such as the packed and
/// the narrow ones.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    EnumString,
    IntoStaticStr,
    strum::Display,
    strum::EnumIter,
    Serialize,
)]
#[allow(missing_docs, reason = "the ISA's names")]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Pred,
    B1,
    B8,
    B16,
    B32,
    B64,
    B128,
    U4,
    U8,
    U8x4,
    U16,
    U16x2,
    U32,
    U64,
    S4,
    S8,
    S8x4,
    S16,
    S16x2,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
    E2m1,
    E2m1x2,
    E2m1x4,
    E2m3,
    E2m3x2,
    E2m3x4,
    E3m2,
    E3m2x2,
    E3m2x4,
    E4m3,
    E4m3x2,
    E4m3x4,
    E5m2,
    E5m2x2,
    E5m2x4,
    Ue4m3,
    Ue4m3x2,
    Ue8m0,
    Ue8m0x2,
    S2f6x2,
    Texref,
    Samplerref,
    Surfref,
}

impl Type {
    /// Width in bits: of a packed type that of all its elements; `None` for predicates and opaque
    /// types. Elements of 6 bits occupy 8 each in packed types; alone they are 6 bits wide.
    pub const fn bits(self) -> Option<u32> {
        Some(match self {
            Self::B1 => 1,
            Self::U4 | Self::S4 | Self::E2m1 => 4,
            Self::E2m3 | Self::E3m2 => 6,
            Self::B8 | Self::U8 | Self::S8 | Self::E4m3 | Self::E5m2 | Self::Ue4m3 | Self::Ue8m0 => 8,
            Self::E2m1x2 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 16,
            Self::E2m3x2 | Self::E3m2x2 | Self::E4m3x2 | Self::E5m2x2 => 16,
            Self::E2m1x4 | Self::Ue4m3x2 | Self::Ue8m0x2 | Self::S2f6x2 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::Tf32 => 32,
            Self::U16x2 | Self::S16x2 | Self::F16x2 | Self::Bf16x2 | Self::U8x4 | Self::S8x4 => 32,
            Self::E2m3x4 | Self::E3m2x4 | Self::E4m3x4 | Self::E5m2x4 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 64,
            Self::B128 => 128,
            Self::Pred | Self::Texref | Self::Samplerref | Self::Surfref => return None,
        })
    }

    /// How many elements a packed type has; 1 for all others.
    pub const fn elements(self) -> u32 {
        match self {
            Self::U16x2 | Self::S16x2 | Self::F16x2 | Self::Bf16x2 | Self::F32x2 => 2,
            Self::E2m1x2 | Self::E2m3x2 | Self::E3m2x2 | Self::E4m3x2 | Self::E5m2x2 => 2,
            Self::Ue4m3x2 | Self::Ue8m0x2 | Self::S2f6x2 => 2,
            Self::U8x4 | Self::S8x4 => 4,
            Self::E2m1x4 | Self::E2m3x4 | Self::E3m2x4 | Self::E4m3x4 | Self::E5m2x4 => 4,
            Self::Pred | Self::B1 | Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128 => 1,
            Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64 => 1,
            Self::S4 | Self::S8 | Self::S16 | Self::S32 | Self::S64 => 1,
            Self::F16 | Self::Bf16 | Self::Tf32 | Self::F32 | Self::F64 => 1,
            Self::E2m1 | Self::E2m3 | Self::E3m2 | Self::E4m3 | Self::E5m2 | Self::Ue4m3 | Self::Ue8m0 => 1,
            Self::Texref | Self::Samplerref | Self::Surfref => 1,
        }
    }
}
