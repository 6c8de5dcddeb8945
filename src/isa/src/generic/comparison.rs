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
        (d(T1), a(T2), b(T2), predicate("c").when(COMBINED)) {constraints: constraints![
            (Comparison: Equ Neu Ltu Leu Gtu Geu Num Nan) excludes(Type[1]: B16 B32 B64 U16 U32 U64 S16 S32 S64);
            (Comparison: Lt Le Gt Ge) excludes(Type[1]: B16 B32 B64);
            (Comparison: Lo Ls Hi Hs) needs(Type[1]: U16 U32 U64);
            (Type[1]: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64) excludes(Type[0]: U16 F16x2 Bf16x2);
            (Type[1]: Bf16) excludes(Type[0]: F32 F16 F16x2 Bf16x2);
            (Type[1]: F16) excludes(Type[0]: F32 F16x2 Bf16x2);
            (Type[1]: Bf16x2) excludes(Type[0]: F32 U16 F16 F16x2 Bf16);
            (Type[1]: F16x2) excludes(Type[0]: F32 U16 F16 Bf16 Bf16x2);
            (Flag: Ftz) needs(Type[1]: F32 F16 F16x2);
            (Flag: Ftz) excludes(Type[0]: Bf16 Bf16x2);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    SetPacked "set" [(Comparison: Eq Ne Lt Le Gt Ge Lo Ls Hi Hs) (Type: U8x4 S8x4 U16x2 S16x2)]
        (d(T1), a(T1), b(T1)) {title: Some("set"),
         constraints: constraints![
            (Type: S8x4 S16x2) excludes(Comparison: Lo Ls Hi Hs);
            since(9, 4);
            on(RUBIN);
        ]}
    Setp "setp" [
            (Comparison: Eq Ne Lt Le Gt Ge Lo Ls Hi Hs Equ Neu Ltu Leu Gtu Geu Num Nan)
            {BooleanOperator: And Or Xor} {Flag: Ftz}
            (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64 F16 F16x2 Bf16 Bf16x2)
        ]
        (dst("p", PRED).pair(Pair::Optional).sinks(), a(T1), b(T1), predicate("c").when(COMBINED))
        {computes: Computation::Compare,
         constraints: constraints![
            (Flag: Ftz) excludes(Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F64 Bf16 Bf16x2);
            (Type: B16 B32 B64) excludes(Comparison: Lt Le Gt Ge Lo Ls Hi Hs Equ Neu Ltu Leu Gtu Geu Num Nan);
            (Type: S16 S32 S64) excludes(Comparison: Lo Ls Hi Hs Equ Neu Ltu Leu Gtu Geu Num Nan);
            (Comparison: Lo Ls Hi Hs) excludes(Type: B16 B32 B64 S16 S32 S64 F32 F64 F16 F16x2 Bf16 Bf16x2);
            (Type: U16 U32 U64) excludes(Comparison: Equ Neu Ltu Leu Gtu Geu Num Nan);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    Selp "selp" [(Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64)]
        (d(T1), a(T1), b(T1), predicate("c")) {computes: Computation::Select}
    Slct "slct" [{Flag: Ftz} (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64) (Type: S32 F32)]
        (d(T1), a(T1), b(T1), c(T2)) {constraints: constraints![
            (Flag: Ftz) excludes(Type[1]: S32);
        ]}
}
