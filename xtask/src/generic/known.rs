//! Differences between the table and the assembler that are understood.

use ptx_tc::isa::generic::{Modifier, Operation, Space, Type};

/// Why no statement with this word is accepted that the search can make.
pub(crate) fn never_accepted(operation: Operation, word: Option<Modifier>) -> Option<&'static str> {
    match (operation, word?) {
        (Operation::Cvta, Modifier::Type(Type::U32)) => Some("addresses of 32 bits are of the past"),
        (Operation::Ld, Modifier::Space(Space::ParamFunc))
        | (Operation::St, Modifier::Space(Space::Param)) => Some("only between a call and its parameters"),
        _ => None,
    }
}

/// Why the assembler takes a word that the ISA does not have there.
pub(crate) fn accepted_by_accident(word: &str) -> Option<&'static str> {
    match word {
        // Words of few instructions, which the assembler looks at in these alone.
        "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal" => Some("testp"),
        "box_dim" | "element_stride" | "elemtype" | "fill_mode" | "global_address" | "global_dim"
        | "global_stride" | "interleave_layout" | "rank" | "swizzle_atomicity" | "swizzle_mode" => {
            Some("tensormap.replace")
        }
        "texref" | "samplerref" | "surfref" => Some("istypep"),
        "b8x16" | "b6x16_p32" | "b4x16_p64" => Some("ldmatrix"),
        "acc::f16" | "acc::f32" => Some("multimem.ld_reduce"),
        "b2" | "u2" | "s2" => Some("cvt.pack, spcompress"),
        "pred" => Some("a second type is not looked at"),
        "row" | "col" => Some("wmma"),
        _ => None,
    }
}
