//! The stack.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Stack Manipulation Instructions";
    Stacksave "stacksave" [(Type: U32 U64)] (d(T1)) {lanes: Lanes::Differ,
         constraints: constraints![
            since(7, 3);
        ]}
    Stackrestore "stackrestore" [(Type: U32 U64)] (a(T1).form(Form::Register)) {constraints: constraints![
            since(7, 3);
        ]}
    Alloca "alloca" [(Type: U32 U64)] (dst("ptr", T1), src("size", T1), immediate("immAlign", B32).optional())
        {lanes: Lanes::Differ,
         constraints: constraints![
            since(7, 3);
        ]}
}
