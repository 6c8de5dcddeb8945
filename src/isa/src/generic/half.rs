//! Half-precision floating point.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Half Precision Floating-Point Instructions";
    AddHalf "add" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            (Flag: Sat) excludes(Type: Bf16 Bf16x2);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    SubHalf "sub" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            (Flag: Sat) excludes(Type: Bf16 Bf16x2);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    MulHalf "mul" [{Rounding: Rn} {Flag: Ftz} {Flag: Sat} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            (Flag: Sat) excludes(Type: Bf16 Bf16x2);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    FmaHalf "fma"
        [(Rounding: Rn) {Flag: Ftz} {Flag: Sat} {Flag: Oob} {Flag: Relu} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            (Flag: Oob) excludes(Flag: Ftz);
            (Flag: Relu) excludes(Flag: Sat);
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            (Flag: Sat) excludes(Type: Bf16 Bf16x2);
            (Flag: Oob) since(8, 1);
            (Flag: Relu) since(7, 0);
            (Type: Bf16 Bf16x2) since(7, 0);
            (Flag: Oob) from(90);
            (Flag: Relu) from(80);
            (Type: Bf16 Bf16x2) from(80);
        ]}
    NegHalf "neg" [{Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            (Type: Bf16 Bf16x2) since(7, 0);
            (Type: Bf16 Bf16x2) from(80);
        ]}
    AbsHalf "abs" [{Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            since(6, 5);
            (Type: Bf16 Bf16x2) since(7, 0);
            (Type: Bf16 Bf16x2) from(80);
        ]}
    MinHalf "min" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Xorsign) needs(Flag: Abs);
            (Flag: Abs) needs(Flag: Xorsign);
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            since(7, 0);
            (Flag: Xorsign) since(7, 2);
            (Flag: Abs) since(7, 2);
            from(80);
            (Flag: Xorsign) from(86);
            (Flag: Abs) from(86);
        ]}
    MaxHalf "max" [{Flag: Ftz} {Flag: Nan} {Flag: Xorsign} {Flag: Abs} (Type: F16 F16x2 Bf16 Bf16x2)]
        (d(T1), a(T1), b(T1)) {constraints: constraints![
            (Flag: Xorsign) needs(Flag: Abs);
            (Flag: Abs) needs(Flag: Xorsign);
            (Flag: Ftz) excludes(Type: Bf16 Bf16x2);
            since(7, 0);
            (Flag: Xorsign) since(7, 2);
            (Flag: Abs) since(7, 2);
            from(80);
            (Flag: Xorsign) from(86);
            (Flag: Abs) from(86);
        ]}
    TanhHalf "tanh" [(Precision: Approx) (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {constraints: constraints![
            since(7, 0);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
        ]}
    Ex2Half "ex2" [(Precision: Approx) {Flag: Ftz} (Type: F16 F16x2 Bf16 Bf16x2)] (d(T1), a(T1)) {constraints: constraints![
            (Flag: Ftz) excludes(Type: F16 F16x2);
            (Type: Bf16 Bf16x2) needs(Flag: Ftz);
            since(7, 0);
            (Flag: Ftz) since(7, 8);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Flag: Ftz) from(90);
            (Type: Bf16 Bf16x2) from(90);
        ]}
}
