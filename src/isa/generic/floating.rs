//! Floating point.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Floating-Point Instructions";
    Testp "testp" [(NumberClass: Finite Infinite Number NotANumber Normal Subnormal) (Type: F32 F64)]
        (dst("p", PRED), a(T1)) {}
    Copysign "copysign" [(Type: F32 F64)] (d(T1), a(T1), b(T1)) {}
    AddFloat "add" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {}
    SubFloat "sub" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {}
    MulFloat "mul" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {}
    Fma "fma" [(Rounding: Rn Rz Rm Rp) {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1), c(T1)) {}
    MadFloat "mad" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1)) {}
    DivFloat "div" [{Precision: Approx Full} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)]
        (d(T1), a(T1), b(T1)) {}
    AbsFloat "abs" [{Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    NegFloat "neg" [{Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    MinFloat "min" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1).optional()) {}
    MaxFloat "max" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1).optional()) {}
    Rcp "rcp" [{Precision: Approx} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    Sqrt "sqrt" [{Precision: Approx} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    Rsqrt "rsqrt" [(Precision: Approx) {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    Sin "sin" [(Precision: Approx) {Flag: Ftz} {Flag: TwoPi} (Type: F32)] (d(T1), a(T1)) {}
    Cos "cos" [(Precision: Approx) {Flag: Ftz} {Flag: TwoPi} (Type: F32)] (d(T1), a(T1)) {}
    Lg2 "lg2" [(Precision: Approx) {Flag: Ftz} (Type: F32)] (d(T1), a(T1)) {}
    Ex2 "ex2" [(Precision: Approx) {Flag: Ftz} (Type: F32)] (d(T1), a(T1)) {}
    Tanh "tanh" [(Precision: Approx) (Type: F32)] (d(T1), a(T1)) {}
}
