//! Integer arithmetic.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Integer Arithmetic Instructions";
    Add "add" [{Flag: Sat} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Add)}
    Sub "sub" [{Flag: Sat} (Type: U16 U32 U64 S16 S32 S64 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Subtract)}
    Mul "mul" [(Part: Hi Lo Wide) (Type: U16 U32 U64 S16 S32 S64)]
        (d(TypeRule::Product), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Multiply)}
    Mad "mad" [(Part: Hi Lo Wide) {Flag: Sat} (Type: U16 U32 U64 S16 S32 S64)]
        (d(TypeRule::Product), a(T1), b(T1), c(TypeRule::Product)) {computes: Computation::Arithmetic(Arithmetic::MultiplyAdd)}
    Clmad "clmad" [(Part: Hi Lo) (Type: U64)] (d(T1), a(T1), b(T1), c(T1)) {}
    Mul24 "mul24" [(Part: Hi Lo) (Type: U32 S32)] (d(T1), a(T1), b(T1)) {}
    Mad24 "mad24" [(Part: Hi Lo) {Flag: Sat} (Type: U32 S32)] (d(T1), a(T1), b(T1), c(T1)) {}
    Sad "sad" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1), c(T1)) {}
    Div "div" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Divide)}
    Rem "rem" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Remainder)}
    Abs "abs" [(Type: S16 S32 S64)] (d(T1), a(T1)) {}
    Neg "neg" [(Type: S16 S32 S64 S8x4)] (d(T1), a(T1)) {computes: Computation::Arithmetic(Arithmetic::Negate)}
    Min "min" [{Flag: Relu} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Minimum)}
    Max "max" [{Flag: Relu} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Maximum)}
    Popc "popc" [(Type: B32 B64)] (d(B32), a(T1)) {}
    Clz "clz" [(Type: B32 B64)] (d(B32), a(T1)) {}
    Bfind "bfind" [{Flag: Shiftamt} (Type: U32 U64 S32 S64)] (d(B32), a(T1)) {}
    Fns "fns" [(Type: B32)] (d(T1), src("mask", ANY32), src("base", ANY32), src("offset", ANY32)) {}
    Brev "brev" [(Type: B32 B64)] (d(T1), a(T1)) {computes: Computation::Bits(Bits::Reverse)}
    Bfe "bfe" [(Type: U32 U64 S32 S64)] (d(T1), a(T1), b(B32), c(B32)) {computes: Computation::Bits(Bits::Extract)}
    Bfi "bfi" [(Type: B32 B64)]
        (dst("f", T1), a(T1), b(T1), c(B32), src("d", B32)) {computes: Computation::Bits(Bits::Insert)}
    Szext "szext" [(Overflow: Clamp Wrap) (Type: U32 S32)] (d(T1), a(T1), b(B32)) {}
    Bmsk "bmsk" [(Overflow: Clamp Wrap) (Type: B32)] (d(T1), a(B32), b(B32)) {}
    Dp4a "dp4a" [(Type: U32 S32) (Type: U32 S32)] (d(B32), a(T1), b(T2), c(B32)) {}
    Dp2a "dp2a" [(Part: Lo Hi) (Type: U32 S32) (Type: U32 S32)] (d(B32), a(T1), b(T2), c(B32)) {}
}
