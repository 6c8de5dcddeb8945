//! Floating point.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

/// Of what only two numbers are compared.
const WITHOUT_THIRD: &[Modifier] = &[Modifier::Type(Type::F64), Modifier::Flag(Flag::Xorsign)];

rows! { "Floating-Point Instructions";
    Testp "testp" [(NumberClass: Finite Infinite Number NotANumber Normal Subnormal) (Type: F32 F64)]
        (dst("p", PRED), a(T1)) {}
    Copysign "copysign" [(Type: F32 F64)] (d(T1), a(T1), b(T1)) {}
    AddFloat "add" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Sat) excludes(Type: F32x2 F64);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F32x2) since(8, 6);
            (Type: F32x2) from(100);
        ]}
    SubFloat "sub" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Sat) excludes(Type: F32x2 F64);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F32x2) since(8, 6);
            (Type: F32x2) from(100);
        ]}
    MulFloat "mul" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Sat) excludes(Type: F32x2 F64);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F32x2) since(8, 6);
            (Type: F32x2) from(100);
        ]}
    Fma "fma" [(Rounding: Rn Rz Rm Rp) {Flag: Ftz} {Flag: Sat} (Type: F32 F32x2 F64)]
        (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            (Flag: Sat) excludes(Type: F32x2 F64);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F32x2) since(8, 6);
            (Type: F32x2) from(100);
        ]}
    MadFloat "mad" [{Rounding: Rn Rz Rm Rp} {Flag: Ftz} {Flag: Sat} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: F64);
            (Flag: Sat) excludes(Type: F64);
            needs(Rounding: Rn Rz Rm Rp);
        ]}
    DivFloat "div" [{Precision: Approx Full} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Type: F64) excludes(Precision: Approx Full);
            (Precision: Approx Full) excludes(Rounding: Rn Rz Rm Rp);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F64) needs(Rounding: Rn Rz Rm Rp);
            (no Precision: Approx Full) needs(Rounding: Rn Rz Rm Rp);
        ]}
    AbsFloat "abs" [{Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: F64);
        ]}
    NegFloat "neg" [{Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: F64);
        ]}
    MinFloat "min" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1).optional_unless(WITHOUT_THIRD)) {constraints: constraints![
            (Flag: Xorsign) needs(Flag: Abs);
            (Type: F64) excludes(Flag: Ftz Nan Xorsign Abs);
            (Flag: Nan) since(7, 0);
            (Flag: Xorsign) since(7, 2);
            (Flag: Nan) from(80);
            (Flag: Xorsign) from(86);
        ]}
    MaxFloat "max" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F32 F64)]
        (d(T1), a(T1), b(T1), c(T1).optional_unless(WITHOUT_THIRD)) {constraints: constraints![
            (Flag: Xorsign) needs(Flag: Abs);
            (Type: F64) excludes(Flag: Ftz Nan Xorsign Abs);
            (Flag: Nan) since(7, 0);
            (Flag: Xorsign) since(7, 2);
            (Flag: Nan) from(80);
            (Flag: Xorsign) from(86);
        ]}
    Rcp "rcp" [{Precision: Approx} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {constraints: constraints![
            (Precision: Approx) excludes(Rounding: Rn Rz Rm Rp);
            (no Precision: Approx) needs(Rounding: Rn Rz Rm Rp);
            (Precision: Approx) (Type: F64) needs(Flag: Ftz);
        ]}
    Sqrt "sqrt" [{Precision: Approx} {Rounding: Rn Rz Rm Rp} {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {constraints: constraints![
            (Precision: Approx) excludes(Rounding: Rn Rz Rm Rp);
            (Flag: Ftz) excludes(Type: F64);
            (Type: F64) needs(Rounding: Rn Rz Rm Rp);
            (no Precision: Approx) needs(Rounding: Rn Rz Rm Rp);
        ]}
    Rsqrt "rsqrt" [(Precision: Approx) {Flag: Ftz} (Type: F32 F64)] (d(T1), a(T1)) {}
    Sin "sin" [(Precision: Approx) {Flag: Ftz} {Flag: TwoPi} (Type: F32)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: TwoPi) needs(Flag: Ftz);
            (Flag: TwoPi) since(9, 5);
        ]}
    Cos "cos" [(Precision: Approx) {Flag: Ftz} {Flag: TwoPi} (Type: F32)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: TwoPi) needs(Flag: Ftz);
            (Flag: TwoPi) since(9, 5);
        ]}
    Lg2 "lg2" [(Precision: Approx) {Flag: Ftz} (Type: F32)] (d(T1), a(T1)) {}
    Ex2 "ex2" [(Precision: Approx) {Flag: Ftz} (Type: F32)] (d(T1), a(T1)) {}
    Tanh "tanh" [(Precision: Approx) (Type: F32)] (d(T1), a(T1)) {constraints: constraints![
            since(7, 0);
        ]}
}
