//! Half-precision floating point.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Half Precision Floating-Point Instructions";
    AddHalf "add" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {}
    SubHalf "sub" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {}
    MulHalf "mul" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {}
    FmaHalf "fma"
        [(Rounding: Rn) {Flag: Ftz} {Flag: Sat} {Flag: Oob} {Flag: Relu} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1), c(T1)) {}
    NegHalf "neg" [{Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {}
    AbsHalf "abs" [{Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {}
    MinHalf "min" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {}
    MaxHalf "max" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {}
    TanhHalf "tanh" [(Precision: Approx) (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {}
    Ex2Half "ex2" [(Precision: Approx) {Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {}
}
