//! Surfaces.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const fn surface(access: Access) -> OperandSlot {
    address("a", access).space(SpaceRule::Opaque)
}

rows! { "Surface Instructions";
    Suld "suld" [
            (SurfaceFormat: Bytes) (Geometry: D1 D2 D3 A1d A2d) {CacheOperator: Ca Cg Cs Cv} {Vector: V2 V4}
            (Type: B8 B16 B32 B64) (SurfaceOverflow: Trap Clamp Zero)
        ]
        (d(T1).form(Form::Vector).wider(), surface(Access::Read)) {lanes: Lanes::Memory, constraints: constraints![
            leads(SurfaceFormat: Bytes);
        ]}
    Sust "sust" [
            (SurfaceFormat: Bytes Samples) (Geometry: D1 D2 D3 A1d A2d) {CacheOperator: Wb Cg Cs Wt}
            {Vector: V2 V4} (Type: B8 B16 B32 B64) (SurfaceOverflow: Trap Clamp Zero)
        ]
        (surface(Access::Write), c(T1).form(Form::Vector).wider()) {constraints: constraints![
            leads(SurfaceFormat: Bytes Samples);
        ]}
    Sured "sured" [
            (SurfaceFormat: Bytes Samples) (ReductionOperator: Add Min Max And Or) (Geometry: D1 D2 D3)
            (Type: U32 U64 S32 B32 S64 B64) (SurfaceOverflow: Trap Clamp Zero)
        ]
        (surface(Access::ReadWrite), c(T1).wider()) {constraints: constraints![
            leads(SurfaceFormat: Bytes Samples);
            (ReductionOperator: And Or) excludes(Type: U32 U64 S32 S64);
        ]}
    Suq "suq" [
            (Query: Width Height Depth ChannelDataType ChannelOrder ArraySize MemoryLayout) (Type: B32)
        ]
        (d(T1), surface(Access::None)) {}
}
