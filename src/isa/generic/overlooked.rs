//! What the assembler does not look at: words that it takes though the ISA does not have them there, words that it
//! does not miss, and operands that may look otherwise. Whoever writes so writes no error. `cargo xtask generic`
//! asks it.

use super::{Flag, Group, Modifier, Operation};

/// Why the assembler takes a word that the ISA does not have in an instruction of this name, if it does: whoever
/// writes it writes no error, and nothing that means something.
pub fn why_overlooked(operation: Operation, name: &str, word: &str) -> Option<&'static str> {
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
        (_, "L1::32B") => "a size that is no hint",
        ("clmad", "s64") => "the sign means nothing",
        ("prefetch", "L2::evict_first" | "L2::evict_last" | "L2::evict_normal" | "L2::evict_unchanged") => {
            "ld"
        }
        ("st.async" | "red.async", "shared::cta") => "the space is known",
        ("fence.proxy", "acq_rel" | "async::generic") => "words of other fences",
        ("mbarrier.check_layout", "cta" | "cluster") => "other instructions of mbarriers",
        ("cp.async.bulk.wait_group" | "fence.proxy", word) if word.starts_with("sync_restrict::") => {
            "words of other fences"
        }
        ("mma" | "mma.sp" | "wmma.mma", "and" | "xor" | "popc") => "the same word twice",
        ("barrier.red", "all" | "any") => "vote",
        (name, "b128") if name.contains("async.bulk") => "fabric.try_put",
        ("movmatrix", "b1") => "wmma",
        ("fence.mbarrier_init", "async") => "words of other fences",
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
        ("fence" | "fence.proxy", "async") | ("fence", "mbarrier_init") => "words of other fences",
        // Where a state space would say what is ordered, it is looked at.
        ("fence.proxy", "shared" | "shared::cta" | "shared::cluster" | "global")
            if operation != Operation::FenceProxy =>
        {
            "words of other fences"
        }
        _ => return None,
    })
}

/// Whether the assembler takes a word twice that is there once: it only notes that it was there. Words of which one of
/// several is chosen it refuses.
pub fn may_stand_twice(word: &str) -> bool {
    matches!(word, "NaN" | "approx" | "cc" | "relu" | "sat" | "satfinite" | "shiftamt" | "sync" | "uni")
}

/// Whether the assembler does not miss a word of this group in an instruction of this name, though the ISA wants one.
pub fn may_lack(name: &str, group: &Group) -> bool {
    match group.words.first() {
        _ if name == "prefetch" => true,
        Some(Modifier::NumberClass(_)) => name == "testp",
        Some(Modifier::Semantics(_)) => name == "st.async" || name.starts_with("fabric."),
        Some(Modifier::Flag(Flag::Aligned)) => name.starts_with("wgmma."),
        Some(Modifier::Space(_) | Modifier::Geometry(_)) => name.starts_with("applypriority.async.bulk"),
        _ => false,
    }
}

/// Whether it takes one more operand than an instruction of this name has, or one less.
pub fn may_count_otherwise(name: &str) -> bool {
    matches!(name, "atom" | "red.async" | "st.async")
}

/// Whether a single value may stand in braces in an instruction of this name.
pub fn takes_values_in_braces(operation: Operation, name: &str) -> bool {
    match (operation, name) {
        // The assembler looks at each operand of the plain forms.
        (
            Operation::Fma
            | Operation::FmaHalf
            | Operation::FmaMixed
            | Operation::Mul
            | Operation::MulFloat
            | Operation::MulHalf
            | Operation::Cvt,
            _,
        ) => false,
        (_, "clusterlaunchcontrol.query_cancel" | "cvt" | "mbarrier.arrive" | "mbarrier.arrive_drop") => true,
        (_, "fma" | "mma" | "mma.sp" | "mul" | "mma.sp::ordered_metadata" | "tex" | "txq") => true,
        (_, name) => ["cp.async.bulk", "fabric.", "multimem.cp.async.bulk", "wgmma."]
            .iter()
            .any(|start| name.starts_with(start)),
    }
}

/// Whether addresses may stand without their brackets there.
pub fn takes_bare_addresses(name: &str) -> bool {
    ["cp.async.bulk", "cp.reduce.async.bulk", "fabric."].iter().any(|start| name.starts_with(start))
}
