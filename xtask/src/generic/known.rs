//! Differences between the table and the assembler that are understood.

use ptx_tc::isa::generic::{Modifier, Operation, Space, Type};

/// Why no statement with this word is accepted that the search can make.
pub(crate) fn never_accepted(operation: Operation, word: Option<Modifier>) -> Option<&'static str> {
    match (operation, word) {
        (
            Operation::FabricTryGetTensor | Operation::FabricTryPutTensor | Operation::FabricTryRedTensor,
            _,
        )
        | (_, Some(Modifier::Override(_))) => Some("the address has parts that the search does not make"),
        (Operation::Cvta, Some(Modifier::Type(Type::U32))) => Some("addresses of 32 bits are of the past"),
        (Operation::Ld, Some(Modifier::Space(Space::ParamFunc)))
        | (Operation::St, Some(Modifier::Space(Space::Param))) => {
            Some("only between a call and its parameters")
        }
        _ => None,
    }
}

/// Why the assembler takes a word that the ISA does not have in an instruction.
pub(crate) fn accepted_by_accident(name: &str, word: &str) -> Option<&'static str> {
    Some(match (name, word) {
        // Words of few instructions, which the assembler looks at in these alone.
        (_, "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal") => "testp",
        (
            _,
            "box_dim" | "element_stride" | "elemtype" | "fill_mode" | "global_address" | "global_dim"
            | "global_stride" | "interleave_layout" | "rank" | "swizzle_atomicity" | "swizzle_mode",
        ) => "tensormap.replace",
        (_, "texref" | "samplerref" | "surfref") => "istypep",
        (_, "b8x16" | "b6x16_p32" | "b4x16_p64") => "ldmatrix",
        (_, "acc::f16" | "acc::f32") => "multimem.ld_reduce",
        (_, "b2" | "u2" | "s2" | "b4" | "u4" | "s4") => "cvt.pack, spcompress",
        (_, "pred") => "a second type is not looked at",
        (_, "row" | "col") => "wmma",
        (_, "uni") => "bra",
        ("mma" | "mma.sp" | "wmma.mma", "and" | "xor" | "popc") => "the same word twice",
        ("barrier.red", "all" | "any") => "vote",
        (name, "b128") if name.contains("async.bulk") => "fabric.try_put",
        ("movmatrix", "b1") => "wmma",
        ("fence.proxy", "sync_restrict::shared::cta" | "sync_restrict::shared::cluster")
        | ("fence.mbarrier_init", "async") => "words of other fences",
        ("ldmatrix" | "stmatrix", "x8" | "x16" | "x32" | "x64" | "x128") => "only the registers count",
        (
            "cp.async.bulk"
            | "cp.async.bulk.tensor"
            | "cp.reduce.async.bulk"
            | "cp.reduce.async.bulk.tensor"
            | "st.async"
            | "red.async",
            "cta" | "cluster" | "gpu" | "sys" | "weak" | "relaxed" | "release",
        ) => "semantics and scope are not looked at",
        ("fence" | "fence.proxy", "async" | "shared" | "shared::cta" | "shared::cluster" | "global") => {
            "words of other fences"
        }
        _ => return None,
    })
}
