//! Control flow.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const fn name(name: &'static str, role: Role) -> OperandSlot {
    OperandSlot::new(name, role, TypeRule::Any, Form::Name)
}

const fn list(name: &'static str, role: Role) -> OperandSlot {
    OperandSlot::new(name, role, TypeRule::Any, Form::List).optional()
}

rows! { "Control Flow Instructions";
    Bra "bra" [{Flag: Uni}] (name("tgt", Role::Label)) {control: Control::Branch}
    BrxIdx "brx.idx" [{Flag: Uni}] (src("index", B32), name("tlist", Role::Label))
        {control: Control::IndexedBranch}
    Call "call" [{Flag: Uni}]
        (list("ret-param", Role::Results), name("func", Role::Callee), list("param-list", Role::Arguments),
         name("flist", Role::Prototype).optional())
        {control: Control::Call, lanes: Lanes::Differ}
    Ret "ret" [{Flag: Uni}] () {control: Control::Return}
    Exit "exit" [] () {control: Control::Exit}
}
