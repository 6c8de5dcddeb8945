//! Mixed-precision floating point: one operand narrower than the result, or of another format.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Mixed Precision Floating-Point Instructions";
    AddMixed "add" [{Rounding: Rn Rz Rm Rp} {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), c(T1)) {constraints: constraints![
            since(8, 6);
            from(100);
        ]}
    SubMixed "sub" [{Rounding: Rn Rz Rm Rp} {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), c(T1)) {constraints: constraints![
            since(8, 6);
            from(100);
        ]}
    FmaMixed "fma" [(Rounding: Rn Rz Rm Rp) {Flag: Sat} (Type: F32) (Type: F16 Bf16)]
        (d(T1), a(T2), b(T2), c(T1)) {constraints: constraints![
            since(8, 6);
            from(100);
        ]}
    AddPacked "add" [{Rounding: Rn Rz Rm Rp} (Type: F32x2) (Type: F16x2 Bf16x2) (Type: F32x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            needs(Type[0]: F32x2);
            since(9, 4);
            on(RUBIN);
        ]}
    SubPacked "sub" [{Rounding: Rn Rz Rm Rp} (Type: F32x2) (Type: F16x2 Bf16x2) (Type: F32x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            needs(Type[0]: F32x2);
            since(9, 4);
            on(RUBIN);
        ]}
    FmaPacked "fma" [
            (Rounding: Rn Rz Rm Rp) (Type: F32x2) (Type: F16x2 Bf16x2) (Type: F32x2) (Type: F32x2)
        ]
        (d(T1), a(T2), b(T3), c(TypeRule::Nth(3))) {constraints: constraints![
            needs(Type[0]: F32x2);
            since(9, 4);
            on(RUBIN);
        ]}
    AddDown "add" [{Rounding: Rz} {Flag: Ftz} (Type: Bf16x2 F16x2) (Type: F32x2) (Type: F32x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            needs(Type[0]: F16x2 Bf16x2);
            (Type: Bf16x2) excludes(Flag: Ftz);
            (Type: F16x2) needs(Flag: Ftz);
            since(9, 4);
            on(RUBIN);
        ]}
    SubDown "sub" [{Rounding: Rz} {Flag: Ftz} (Type: Bf16x2 F16x2) (Type: F32x2) (Type: F32x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            needs(Type[0]: F16x2 Bf16x2);
            (Type: Bf16x2) excludes(Flag: Ftz);
            (Type: F16x2) needs(Flag: Ftz);
            since(9, 4);
            on(RUBIN);
        ]}
    MulDown "mul" [(Rounding: Rz) {Flag: Ftz} (Type: Bf16x2 F16x2) (Type: F32x2) (Type: F32x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            needs(Type[0]: F16x2 Bf16x2);
            needs(Rounding: Rz);
            (Type: Bf16x2) excludes(Flag: Ftz);
            (Type: F16x2) needs(Flag: Ftz);
            since(9, 4);
            on(RUBIN);
        ]}
    MulHalves "mul" [(Type: F16x2 Bf16x2) (Type: F16x2 Bf16x2) (Type: F16x2 Bf16x2)]
        (d(T1), a(T2), c(T3)) {constraints: constraints![
            (Type[0]: F16x2) needs(Type[1]: F16x2);
            (Type[0]: Bf16x2) needs(Type[1]: Bf16x2);
            (Type[0]: F16x2) needs(Type[2]: Bf16x2);
            (Type[0]: Bf16x2) needs(Type[2]: F16x2);
            since(9, 4);
            on(RUBIN);
        ]}
    MulNarrow "mul" [
            {Rounding: Rn} {Flag: Satfinite} (Type: E4m3x4 E5m2x4)
            (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1x4 E2m1p4x4) (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1p4x4)
        ]
        (d(T1), a(T2), b(T3)) {constraints: constraints![
            since(9, 4);
            on(A_100_103);
        ]}
    FmaNarrow "fma" [
            {Rounding: Rn} {Flag: Satfinite} (Type: E4m3x4 E5m2x4)
            (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1x4 E2m1p4x4) (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1p4x4)
        ]
        (d(T1), a(T2), b(T3), c(T1)) {constraints: constraints![
            since(9, 4);
            on(A_100_103);
        ]}
}
