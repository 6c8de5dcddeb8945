//! Extended-precision integer arithmetic: what carries a bit from one instruction to the next.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Extended-Precision Integer Arithmetic Instructions";
    AddCarryOut "add" [(Flag: Cc) (Type: U32 S32 U64 S64)] (d(T1), a(T1), b(T1)) {title: Some("add.cc")}
    AddCarryIn "addc" [{Flag: Cc} (Type: U32 S32 U64 S64)] (d(T1), a(T1), b(T1)) {}
    SubBorrowOut "sub" [(Flag: Cc) (Type: U32 S32 U64 S64)] (d(T1), a(T1), b(T1)) {title: Some("sub.cc")}
    SubBorrowIn "subc" [{Flag: Cc} (Type: U32 S32 U64 S64)] (d(T1), a(T1), b(T1)) {}
    MadCarryOut "mad" [(Part: Hi Lo) (Flag: Cc) (Type: U32 S32 U64 S64)]
        (d(T1), a(T1), b(T1), c(T1)) {title: Some("mad.cc"), constraints: constraints![
            leads(Part: Hi Lo);
        ]}
    MadCarryIn "madc" [(Part: Hi Lo) {Flag: Cc} (Type: U32 S32 U64 S64)] (d(T1), a(T1), b(T1), c(T1)) {constraints: constraints![
            leads(Part: Hi Lo);
        ]}
}
