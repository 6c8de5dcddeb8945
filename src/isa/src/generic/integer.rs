//! Integer arithmetic.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Integer Arithmetic Instructions";
    Add "add" [{Flag: Sat} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Add),
         constraints: constraints![
            (Flag: Sat) excludes(Type: U16 U64 S16 S64);
            (Type: U16x2 S16x2) since(8, 0);
            (Type: U8x4 S8x4) since(9, 2);
            (Flag: Sat) (Type: U32 U16x2 S16x2) since(9, 2);
            (Type: U16x2 S16x2) from(90);
            (Type: U8x4 S8x4) on(RUBIN_AND_CONSUMER);
            (Flag: Sat) (Type: U32 U16x2 S16x2) on(RUBIN_AND_CONSUMER);
        ]}
    Sub "sub" [{Flag: Sat} (Type: U16 U32 U64 S16 S32 S64 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Subtract),
         constraints: constraints![
            (Flag: Sat) excludes(Type: U16 U32 U64 S16 S64);
            (Type: U8x4 S8x4) since(9, 2);
            (Type: U8x4 S8x4) on(RUBIN_AND_CONSUMER);
        ]}
    Mul "mul" [(Part: Hi Lo Wide) (Type: U16 U32 U64 S16 S32 S64)]
        (d(TypeRule::Product), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Multiply),
         constraints: constraints![
            leads(Part: Hi Lo Wide);
            (Part: Wide) excludes(Type: U64 S64);
        ]}
    Mad "mad" [(Part: Hi Lo Wide) {Flag: Sat} (Type: U16 U32 U64 S16 S32 S64)]
        (d(TypeRule::Product), a(T1), b(T1), c(TypeRule::Product)) {computes: Computation::Arithmetic(Arithmetic::MultiplyAdd),
         constraints: constraints![
            leads(Part: Hi Lo Wide);
            (Flag: Sat) excludes(Type: U16 U32 U64 S16 S64);
            (Part: Wide) excludes(Type: U64 S64);
            (Flag: Sat) excludes(Part: Lo Wide);
        ]}
    Clmad "clmad" [(Part: Hi Lo) (Type: U64)] (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            since(9, 3);
            from(80);
        ]}
    Mul24 "mul24" [(Part: Hi Lo) (Type: U32 S32)] (d(T1), a(T1), b(T1)) {constraints: constraints![
            leads(Part: Hi Lo);
        ]}
    Mad24 "mad24" [(Part: Hi Lo) {Flag: Sat} (Type: U32 S32)] (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            leads(Part: Hi Lo);
            (Part: Lo) excludes(Flag: Sat);
            (Type: U32) excludes(Flag: Sat);
        ]}
    Sad "sad" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1), c(T1)) {}
    Div "div" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Divide)}
    Rem "rem" [(Type: U16 U32 U64 S16 S32 S64)] (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Remainder)}
    Abs "abs" [(Type: S16 S32 S64)] (d(T1), a(T1)) {}
    Neg "neg" [(Type: S16 S32 S64 S8x4)] (d(T1), a(T1)) {computes: Computation::Arithmetic(Arithmetic::Negate),
         constraints: constraints![
            (Type: S8x4) since(9, 2);
            (Type: S8x4) on(RUBIN_AND_CONSUMER);
        ]}
    Min "min" [{Flag: Relu} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Minimum),
         constraints: constraints![
            (Flag: Relu) excludes(Type: U16 U32 U64 S16 S64 U16x2 U8x4);
            (Flag: Relu) since(8, 0);
            (Type: U16x2 S16x2) since(8, 0);
            (Type: U8x4 S8x4) since(9, 2);
            (Flag: Relu) from(80);
            (Type: U16x2 S16x2) from(90);
            (Flag: Relu) (Type: S32) from(90);
            (Type: U8x4 S8x4) on(RUBIN_AND_CONSUMER);
        ]}
    Max "max" [{Flag: Relu} (Type: U16 U32 U64 S16 S32 S64 U16x2 S16x2 U8x4 S8x4)]
        (d(T1), a(T1), b(T1)) {computes: Computation::Arithmetic(Arithmetic::Maximum),
         constraints: constraints![
            (Flag: Relu) excludes(Type: U16 U32 U64 S16 S64 U16x2 U8x4);
            (Flag: Relu) since(8, 0);
            (Type: U16x2 S16x2) since(8, 0);
            (Type: U8x4 S8x4) since(9, 2);
            (Flag: Relu) from(80);
            (Type: U16x2 S16x2) from(90);
            (Flag: Relu) (Type: S32) from(90);
            (Type: U8x4 S8x4) on(RUBIN_AND_CONSUMER);
        ]}
    Popc "popc" [(Type: B32 B64)] (d(B32), a(T1)) {}
    Clz "clz" [(Type: B32 B64)] (d(B32), a(T1)) {}
    Bfind "bfind" [{Flag: Shiftamt} (Type: U32 U64 S32 S64)] (d(B32), a(T1)) {}
    Fns "fns" [(Type: B32)] (d(T1), src("mask", ANY32), src("base", ANY32), src("offset", ANY32)) {}
    Brev "brev" [(Type: B32 B64)] (d(T1), a(T1)) {computes: Computation::Bits(Bits::Reverse)}
    Bfe "bfe" [(Type: U32 U64 S32 S64)] (d(T1), a(T1), b(B32).from(0, 255), c(B32).from(0, 255))
        {computes: Computation::Bits(Bits::Extract)}
    Bfi "bfi" [(Type: B32 B64)]
        (dst("f", T1), a(T1), b(T1), c(B32).from(0, 255), src("d", B32).from(0, 255)) {computes: Computation::Bits(Bits::Insert)}
    Szext "szext" [(Overflow: Clamp Wrap) (Type: U32 S32)] (d(T1), a(T1), b(B32)) {constraints: constraints![
            since(7, 6);
        ]}
    Bmsk "bmsk" [(Overflow: Clamp Wrap) (Type: B32)] (d(T1), a(B32), b(B32)) {constraints: constraints![
            since(7, 6);
        ]}
    Dp4a "dp4a" [(Type: U32 S32) (Type: U32 S32)] (d(B32), a(T1), b(T2), c(B32)) {}
    Dp2a "dp2a" [(Part: Lo Hi) (Type: U32 S32) (Type: U32 S32)] (d(B32), a(T1), b(T2), c(B32)) {constraints: constraints![
            leads(Part: Lo Hi);
        ]}
}
