//! Mixed-precision floating point: one operand narrower than the result.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Mixed Precision Floating-Point Instructions";
    AddMixed "add" [{Rounding: Rn Rz Rm Rp} {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), c(T1)) {}
    SubMixed "sub" [{Rounding: Rn Rz Rm Rp} {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), c(T1)) {}
    FmaMixed "fma" [(Rounding: Rn Rz Rm Rp) {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), b(T2), c(T1)) {}
}
