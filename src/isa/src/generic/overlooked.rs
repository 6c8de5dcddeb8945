//! What the assembler does not look at: words that it takes though the ISA does not have them there, words that it
//! does not miss, and operands that may look otherwise. Whoever writes so writes no error. `cargo xtask generic`
//! asks it.

use super::{Flag, Group, Modifier, Operation, ReductionOperator, Scaled, Type, Words};

/// Why the assembler takes a word that the ISA does not have in an instruction of this name, if it does: whoever
/// writes it writes no error, and nothing that means something.
pub fn why_overlooked(
    operation: Operation,
    name: &str,
    word: &str,
    has: impl Fn(fn(&Modifier) -> bool) -> bool,
) -> Option<&'static str> {
    let first = name.split('.').next().unwrap_or_default();
    Some(match (name, word) {
        // Words of few instructions, which the assembler looks at in these alone.
        ("testp", "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal") => return None,
        (_, "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal") => "testp",
        ("tensormap.replace", "rank") => return None,
        (
            _,
            "box_dim" | "element_stride" | "elemtype" | "fill_mode" | "global_address" | "global_dim"
            | "global_stride" | "interleave_layout" | "rank" | "swizzle_atomicity" | "swizzle_mode",
        ) => "tensormap.replace",
        (_, "texref" | "samplerref" | "surfref") => "istypep",
        (_, "b8x16" | "b6x16_p32" | "b4x16_p64") => "ldmatrix",
        (_, "acc::f16" | "acc::f32") => "multimem.ld_reduce",
        (_, "u2" | "s2" | "b4" | "u4" | "s4") if matches!(first, "mma" | "movmatrix") => {
            "cvt.pack, spcompress"
        }
        (_, "b2") if !takes_types_of_bytes(first) || matches!(first, "mul" | "multimem") => {
            "cvt.pack, spcompress"
        }
        (_, "pred") if takes_types_of_bytes(first) || name == "cp.reduce.async.bulk" => {
            "a second type is not looked at"
        }
        (_, "row" | "col") if matches!(first, "ldmatrix" | "movmatrix" | "stmatrix" | "wgmma") => "wmma",
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
        // But for two of a kind.
        (_, "cta" | "cluster" | "gpu" | "sys") if has(|it| matches!(it, Modifier::Scope(_))) => return None,
        (_, "weak" | "relaxed" | "release") if has(|it| matches!(it, Modifier::Semantics(_))) => return None,
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

/// Whether instructions whose names start so have types of a byte or less, among which the assembler looks for theirs.
fn takes_types_of_bytes(first: &str) -> bool {
    matches!(
        first,
        "abs"
            | "add"
            | "atom"
            | "cos"
            | "cvt"
            | "ex2"
            | "fabric"
            | "fma"
            | "ldmatrix"
            | "lg2"
            | "max"
            | "min"
            | "mul"
            | "multimem"
            | "neg"
            | "rcp"
            | "red"
            | "rsqrt"
            | "set"
            | "setp"
            | "sin"
            | "spcompress"
            | "spdecompress"
            | "sqrt"
            | "sub"
            | "tanh"
            | "wgmma"
            | "wmma"
    )
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

/// Whether the assembler takes so many operands more than an instruction with these words has; fewer, if negative.
pub fn may_count_otherwise(words: &Words<'_>, more: isize) -> bool {
    let has = |wanted: fn(&Modifier) -> bool| words.modifiers.iter().any(wanted);
    match (words.name, more) {
        // Without the mbarrier that is told of its end.
        ("st.async" | "red.async", -1) => {
            has(|it| matches!(it, Modifier::Completion(_))) && !has(|it| matches!(it, Modifier::Vector(_)))
        }
        // As if it were compared with one.
        ("atom", 1) => {
            has(|it| {
                matches!(
                    it,
                    Modifier::ReductionOperator(
                        ReductionOperator::And
                            | ReductionOperator::Or
                            | ReductionOperator::Xor
                            | ReductionOperator::Exch
                    )
                )
            }) && has(|it| matches!(it, Modifier::Type(Type::B32 | Type::B128)))
        }
        _ => false,
    }
}

/// Whether a single value may stand in braces in a position of an instruction of this name: the assembler does not
/// look for braces where few forms have an operand.
pub fn takes_values_in_braces(words: &Words<'_>, slot: &str) -> bool {
    let is_scaled = || words.modifiers.iter().any(|it| matches!(it, Modifier::Scaled(Scaled::N1)));
    match (words.operation, slot) {
        (Operation::ClusterlaunchcontrolFirstCtaid, "try_cancel_response") => true,
        (Operation::CvtPacked, "a") => is_scaled(),
        (Operation::MbarrierArrive | Operation::MbarrierArriveDrop, "count") => true,
        (_, "scale-a-data" | "scale-b-data") => true,
        (Operation::MmaSp, "e") | (Operation::WgmmaMmaAsyncSp, "sp-meta") => true,
        (Operation::Tex | Operation::Txq, "lod" | "e" | "f") => true,
        (Operation::FabricTryPut, "bytemask") => true,
        (_, "byteMask" | "ctaMask") => matches!(words.name, "cp.async.bulk" | "multimem.cp.async.bulk"),
        _ => false,
    }
}

/// Whether an address may stand without its brackets there.
pub fn takes_bare_address(name: &str, slot: &str) -> bool {
    let has = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match slot {
        "tensorMap" => false,
        "mbar" => has(&["cp.async.bulk", "cp.reduce.async.bulk", "fabric."]),
        _ => has(&["cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "fabric."]),
    }
}
