//! Logic and shifts.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const COMBINED: &[Modifier] =
    &[Modifier::BooleanOperator(BooleanOperator::And), Modifier::BooleanOperator(BooleanOperator::Or)];

rows! { "Logic and Shift Instructions";
    And "and" [(Type: Pred B16 B32 B64)] (d(T1), a(T1), b(T1)) {computes: Computation::And}
    Or "or" [(Type: Pred B16 B32 B64)] (d(T1), a(T1), b(T1)) {computes: Computation::Or}
    Xor "xor" [(Type: Pred B16 B32 B64)] (d(T1), a(T1), b(T1)) {computes: Computation::Xor}
    Not "not" [(Type: Pred B16 B32 B64)] (d(T1), a(T1)) {computes: Computation::Not}
    Cnot "cnot" [(Type: B16 B32 B64)] (d(T1), a(T1)) {}
    Lop3 "lop3" [(Type: B32)]
        (d(T1).sinks(), a(T1), b(T1), c(T1), immediate("immLut", B32)) {computes: Computation::Bits(Bits::Lop3)}
    Lop3Predicate "lop3" [(COMBINED) (Type: B32)]
        (d(T1).pair(Pair::Required).sinks(), a(T1), b(T1), c(T1), immediate("immLut", B32), predicate("q")) {constraints: constraints![
            since(8, 2);
        ]}
    Shf "shf" [(Direction: Left Right) (Overflow: Clamp Wrap) (Type: B32)]
        (d(T1), a(T1), b(T1), c(B32)) {computes: Computation::Bits(Bits::FunnelShift), constraints: constraints![
            leads(Direction: Left Right);
        ]}
    Shl "shl" [(Type: B16 B32 B64)] (d(T1), a(T1), b(B32)) {computes: Computation::Bits(Bits::ShiftLeft)}
    Shr "shr" [(Type: B16 B32 B64 U16 U32 U64 S16 S32 S64)]
        (d(T1), a(T1), b(B32)) {computes: Computation::Bits(Bits::ShiftRight)}
}
