//! Comparison and selection.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const COMBINED: &[Modifier] = &[
    Modifier::BooleanOperator(BooleanOperator::And),
    Modifier::BooleanOperator(BooleanOperator::Or),
    Modifier::BooleanOperator(BooleanOperator::Xor),
];

rows! { "Comparison and Selection Instructions";
    Set "set" [
            (Comparison: Eq Ne Lt Le Gt Ge Lo Ls Hi Hs Equ Neu Ltu Leu Gtu Geu Num Nan)
            {BooleanOperator: And Or Xor} {Flag: Ftz}
            (Type: U32 S32 F32 U16 F16 F16x2 Bf16 Bf16x2)
            (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64 F16 F16x2 Bf16 Bf16x2)
        ]
        (d(T1), a(T2), b(T2), predicate("c").when(COMBINED)) {}
    SetPacked "set" [(Comparison: Eq Ne Lt Le Gt Ge Lo Ls Hi Hs) (Type: U8x4 S8x4 U16x2 S16x2)]
        (d(T1), a(T1), b(T1)) {title: Some("set")}
    Setp "setp" [
            (Comparison: Eq Ne Lt Le Gt Ge Lo Ls Hi Hs Equ Neu Ltu Leu Gtu Geu Num Nan)
            {BooleanOperator: And Or Xor} {Flag: Ftz}
            (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64 F16 F16x2 Bf16 Bf16x2)
        ]
        (dst("p", PRED).pair(Pair::Optional), a(T1), b(T1), predicate("c").when(COMBINED))
        {computes: Computation::Compare}
    Selp "selp" [(Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64)]
        (d(T1), a(T1), b(T1), predicate("c")) {computes: Computation::Select}
    Slct "slct" [{Flag: Ftz} (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64) (Type: S32 F32)]
        (d(T1), a(T1), b(T1), c(T2)) {}
}
