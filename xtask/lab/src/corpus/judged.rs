//! What was found in the packages, judged: who is wrong, and why.

use std::collections::BTreeMap;

use ptx_check::diagnostic::Severity;

use super::Tally;
use super::compiled::Modules;
use super::packages::{Compiled, Package};

/// A kind of finding in a package.
pub(crate) struct Judgement {
    package: &'static str,
    /// The code of a rule, or [`MISSED`] or [`UNKNOWN`].
    pub(crate) what: &'static str,
    /// How many there are.
    pub(crate) count: usize,
    /// Who is wrong, and why.
    pub(crate) verdict: &'static str,
}

/// Statements that only the other reading has.
const MISSED: &str = "only counted";
/// Instructions whose opcode no table has.
const UNKNOWN: &str = "unknown operation";

const fn judged(package: &'static str, what: &'static str, count: usize, verdict: &'static str) -> Judgement {
    Judgement { package, what, count, verdict }
}

const JUDGED: &[Judgement] = &[
    judged(
        "nvidia-cuda-cccl",
        "TC959",
        3,
        "`for_each_canceled.h` opens a scope in one statement and closes it in another, on purpose: the registers of the first are for the second. True.",
    ),
    judged(
        "nvidia-cuda-runtime",
        "TC955",
        1,
        "`cooperative_groups/details/invoke.h`, `elect.sync` without `volatile`: the compiler may move it to where other threads are active, or leave it out. True.",
    ),
    judged(
        "nvidia-cutlass",
        "TC952",
        1,
        "an example lists an output that its `prefetch` does not write. True: the address is not kept as the comment says, it becomes undefined.",
    ),
    judged(
        "nvidia-cutlass",
        "TC123",
        2,
        "`dp2a.s32.s32` of `functional.h` lacks `.hi` or `.lo`. True: no program that uses it assembles.",
    ),
    judged(
        "nvidia-cutlass",
        "unknown operation",
        2,
        "`dp2a.s32.s32` of `functional.h`; ptxas: \"'.hi/.lo' modifier required\".",
    ),
    judged(
        "nvidia-cutlass-dsl-libs-core",
        "only counted",
        1,
        "a template that an `if` in an `if` decides about; it is not read.",
    ),
    judged(
        "nvidia-cudnn-frontend",
        "only counted",
        3,
        "templates that a program makes: joined from lists that are computed, and `%` with a name on its left. They are not read.",
    ),
    judged(
        "numba-cuda",
        "TC960",
        1,
        "`st.global` for llvmlite without `side_effect`. True; today's LLVM keeps the call for want of attributes, not for what the assembly says.",
    ),
    judged(
        "cupy-cuda13x",
        "TC124",
        13,
        "an older CCCL's loads of 128 bits, whose operands are exchanged: `ld.acquire.gpu.b128 [%2],_d`. True: ptxas refuses them, \"Arguments mismatch\".",
    ),
    judged(
        "cupy-cuda13x",
        "TC952",
        40,
        "an older CCCL's compare-and-swap of 128 bits, whose template names its operands one off: halves of what is compared and of what is stored are mixed. True.",
    ),
    judged("cupy-cuda13x", "TC959", 3, "as in CCCL, of which it has a copy."),
    judged("triton", "TC955", 1, "as in the headers of the runtime, of which it has a copy."),
    judged("triton", "only counted", 1, "a template made with `+=`. It is not read."),
    judged(
        "jax",
        "TC960",
        1,
        "reads shared memory, where the answer of the hardware arrives, without saying that it has effects: two reads of one answer are made one, also across the wait. True.",
    ),
    judged(
        "jax",
        "only counted",
        2,
        "an opcode that comes from the caller, and a wrapper's own call, of which the other count takes a value of another function.",
    ),
    judged("jax", "TC122", 1, "`tanh.approx.f64`, for AMD's GPUs, as its comment says. True of PTX."),
    judged(
        "jax",
        "unknown operation",
        1,
        "`tanh.approx.f64`: for AMD's GPUs, as its comment says. ptxas: \"Unexpected instruction types\".",
    ),
    judged(
        "helion",
        "only counted",
        4,
        "the compiler's own functions, whose templates are put together from values; they make the text of a kernel, and are no kernels.",
    ),
    judged(
        "tilelang",
        "TC001",
        16,
        "`asm volatile(\"trap\")` without `;` in `tcgen_05_ld.h` and `tcgen_05_st.h`. True: ptxas refuses a text with it.",
    ),
    judged(
        "tilelang",
        "TC122",
        4,
        "`red.acquire` and `red.acq_rel`, which ptxas refuses: \"Illegal modifier\". True.",
    ),
    judged("tilelang", "TC123", 2, "`dp2a.s32.s32` as in CUTLASS, of which it has a copy. True."),
    judged(
        "tilelang",
        "unknown operation",
        6,
        "`dp2a.s32.s32` as in CUTLASS, and `red.acquire` and `red.acq_rel`, which ptxas refuses: \"Illegal modifier\".",
    ),
    judged(
        "flashinfer-python",
        "TC501",
        3,
        "`tcgen05.mma` of `kind::mxf4nvf4` without its scale operands. True: ptxas refuses it.",
    ),
    judged(
        "flashinfer-python",
        "TC953",
        3,
        "a `wgmma` with an operand too many, so that `imm-trans-a` is a descriptor; and `cvta.to.shared.u32` with registers of 64 bits, twice. True: ptxas refuses each.",
    ),
    judged(
        "flashinfer-python",
        "TC952",
        3,
        "an operand that is read and written as `+r` and listed again; the `wgmma` above; and an example's output that nothing writes. True.",
    ),
    judged("flashinfer-python", "TC959", 3, "as in CCCL, of which it has a copy."),
    judged(
        "flashinfer-python",
        "TC960",
        32,
        "loads from shared memory, and loads with `.acquire`, with `has_side_effects=False`. True: LLVM may make two of them one, or move them over a store or a barrier. Some say in their documentation that they want that, as long as nothing writes in between.",
    ),
    judged(
        "flashinfer-python",
        "only counted",
        4,
        "three templates changed by `replace` and one that a program makes, which are not read.",
    ),
    judged(
        "flashinfer-python",
        "TC121",
        10,
        "no instructions of PTX: ptxas refuses each of them, `Not a name of any known instruction`. True.",
    ),
    judged(
        "flashinfer-python",
        "TC128",
        17,
        "accumulators of `mma` in `.f32` with two registers for four, `wgmma` with an `n` that its registers do not fit, `cp.async.bulk.tensor.2d` with three to five coordinates, `ldmatrix.x2` with one register, and A and B of `m16n8k16` in `.e5m2` twice as long as they are. ptxas refuses the `mma`s, the copies and `ldmatrix`, put into a module each; `n` of the `wgmma`s is plain to see. True.",
    ),
    judged(
        "flashinfer-python",
        "TC127",
        1,
        "`utils_hgmma.h` lists `desc_a`, which its `wgmma` does not have, so that `%7` is `desc_b` and no immediate. True, by reading: `wgmma` takes a number there.",
    ),
    judged(
        "flashinfer-python",
        "TC122",
        6,
        "words that their instructions do not have: ptxas refuses each of them, `Unknown modifier`. True.",
    ),
    judged(
        "flashinfer-python",
        "TC123",
        4,
        "`dp2a.s32.s32` as in CUTLASS, of which it has two copies. True.",
    ),
    judged(
        "flashinfer-python",
        "unknown operation",
        20,
        "no PTX: ptxas refuses each of them (`Unknown modifier`, `Not a name of any known instruction`, `'.hi/.lo' modifier required`).",
    ),
    judged("flash-attn-4", "only counted", 1, "a template made with `+=` in a loop. It is not read."),
    judged(
        "quack-kernels",
        "only counted",
        1,
        "a wrapper's own call, of which the other count takes a value of another function; the calls of the wrapper are read.",
    ),
    judged("sgl-kernel", "TC123", 2, "`dp2a.s32.s32` as in CUTLASS, of which it has a copy. True."),
    judged(
        "sgl-kernel",
        "TC128",
        2,
        "`nvls_device.hpp` of MSCCL++ writes the one register of `multimem.red` in braces. ptxas: \"Vector is not expected for argument 1 of instruction 'red'\". True.",
    ),
    judged("sgl-kernel", "unknown operation", 2, "`dp2a.s32.s32` as in CUTLASS, of which it has a copy."),
    judged("sglang", "TC960", 1, "a load from memory that others write, with `is_pure`. True."),
    judged("vllm", "TC952", 1, "a factor that the template has as a constant, too. True, and harmless."),
    judged(
        "vllm",
        "only counted",
        2,
        "wrappers' own calls, of which the other count takes a value of another function; the calls of the wrappers are read.",
    ),
    judged("vllm", "TC123", 4, "`dp2a.s32.s32` as in CUTLASS, of which it has two copies. True."),
    judged(
        "vllm",
        "TC126",
        2,
        "`mul.e4m3x4.e2m1x4.e4m3x4` with four values of `.e2m1` in a register of 32 bits: they have 16. True: the code switches this path off, as it \"triggers NVVM_ERROR_COMPILATION\".",
    ),
    judged("vllm", "unknown operation", 4, "`dp2a.s32.s32` as in CUTLASS, of which it has two copies."),
];

/// Modules that the assembler refuses.
const REFUSED: &str = "refused";
/// Modules of which the findings say another verdict than the assembler's.
const DIFFERS: &str = "verdict differs";

/// The same of what packages compile.
const JUDGED_COMPILED: &[Judgement] = &[
    judged(
        "opengemm",
        "TC603",
        4,
        "`nvfp4(2, 8)`, which no configuration of the package chooses: N = 8 with `.cta_group::2`, where Table 39 has \"N = {16, 32, … 256} steps of 16\". True.",
    ),
    judged(
        "flashinfer-python",
        "TC821",
        22,
        "`setmaxnreg` in kernels that say neither `.maxnreg` nor `.minnctapersm`. Of each ptxas says \"'setmaxnreg' ignored; unable to determine register count at entry\": true. Of the others, which load 64 or 128 registers at once with many threads, neither says anything.",
    ),
    judged(
        "flashinfer-python",
        "TC840",
        383,
        "the pipelines of the `cake` kernels signal the mbarriers of the first CTA of a pair with `mbarrier.arrive.release.cta.shared::cluster`, after stores to shared memory and reads of it that the multiplies of that CTA are ordered against by nothing else. True: the scope `.cta` is the CTA that arrives, and who waits is in the other one. Other kernels of the package write `.release.cluster` there.",
    ),
    judged(
        "flashinfer-python",
        "TC803",
        112,
        "the epilogues of `alphamoe_nvfp4_c386_up.cu` and `alphamoe_nvfp4_sm100.cu` add `row << 16` to the address that they load from, where the row is `consumer_warp * 32 + lane`: each thread gives a lane of its own. 9.7.16.8.3: \"All the threads in the warp must specify the same value of `taddr`, which must be the base address of the collective load operation. Otherwise, the behavior is undefined.\" True: `consumer_warp << 21` is the base address.",
    ),
    judged(
        "flashinfer-python",
        "TC707",
        24,
        "`msa_decode_nvfp4_specialized.cu` stores an operand into shared memory and multiplies it behind a barrier alone; 9.7.16.6.5: \"`fence.proxy.async` should be used to synchronize memory between generic proxy and the async proxy\". True: its twin for the prefill has the fence.",
    ),
    judged(
        "flashinfer-python",
        "TC706",
        2,
        "`cake_dsv4`: a load of four columns that nothing reads and nothing waits for before the fence and the `mbarrier.arrive` behind it; 9.7.16.6.4.4: a thread \"must explicitly wait for the instructions' completion before synchronizing with the consumer threads\". True; harmless, as nobody wants what is loaded.",
    ),
    judged(
        "flashinfer-python",
        "TC406",
        2,
        "`kda_cake_flashkda` and its twin: 256 columns are allocated, and a load of 32 starts at column 240 of them; 9.7.16.1.2: \"The allocation and deallocation of Tensor Memory is performed in terms of columns.\" True: the last 16 are not allocated, and are no columns at all where the allocation is the upper half. Nothing reads what is loaded from them.",
    ),
    judged(
        "flashinfer-python",
        "TC714",
        10,
        "eight times accumulators are loaded, and the `mbarrier.arrive` right behind the load lets the multiplying warp write the same columns, with no `wait::ld` before it, and before any register is read (`cake_fmha_cuda_decode_balanced`: the mbarrier at +136 or +272, whose wait stands before the first multiply of the next tile; `cake_fmha_cuda_decode_quant_nvfp4`: +224, the multiply follows the wait; `gdn_prefill`: +264); twice `gdn_prefill` stores A, waits for a load of other columns only, and arrives at +264, behind which A is multiplied. True; 9.7.16.6.4.4 has this very example with a wait.",
    ),
    judged(
        "flashinfer-python",
        "TC709",
        16,
        "loads and stores handed over by an `mbarrier.arrive` right behind them, without the wait that 9.7.16.6.4.4 wants (\"must explicitly wait for the instructions' completion before synchronizing\"). True in the letter of all; in most the compiler's use of the registers comes first.",
    ),
    judged(
        "tirx-kernels",
        "TC709",
        4,
        "the `mbarrier.arrive` gives shared memory back, not the columns that are still being loaded: the letter of 9.7.16.6.4.4 is not kept, and nothing is lost by it.",
    ),
    judged(
        "tirx-kernels",
        "TC809",
        2,
        "the even CTA deallocates for the pair behind a barrier of its own; 9.7.16.7.1 wants that both CTAs' warps synchronise before. True in this module alone; whether the tail of the last round does it is for the kernel's own protocol of mbarriers.",
    ),
    judged(
        "flash-attn-4",
        "TC822",
        8,
        "the warps 12 to 15 of the backward kernels change to different numbers of registers, on purpose. True: all warps of a warpgroup have to execute the same `setmaxnreg`.",
    ),
    judged(
        "quack-kernels",
        "TC709",
        1,
        "the `mbarrier.arrive` gives shared memory back, not the columns that are still being loaded.",
    ),
    judged(
        "nvidia-cudnn-frontend",
        "TC804",
        3,
        "`gemm_amax`: all four warps of the epilogue execute the `dealloc`, as `dense_blockscaled_gemm_persistent_amax.py` writes it; Table 46: \"Issue from a single warp in the current CTA\". True: the other kernels of the package ask for the first of those warps.",
    ),
    judged(
        "tokenspeed-mla",
        "TC709",
        55,
        "a correction factor is loaded, and the `mbarrier.arrive` behind it hands its columns back without `wait::ld`; 9.7.16.6.4.4: \"must explicitly wait for the instructions' completion before synchronizing\". True; today's ptxas waits for the registers first.",
    ),
    judged(
        "flash-attn-4",
        "TC622",
        7,
        "the backward kernel for heads of 256 places its tiles 256 and 384 bytes behind multiples of 1024, and says base offset 0. True in the letter of 9.7.16.4.1; hardware swizzles both by the address, which is why the rule only informs.",
    ),
    judged(
        "attn-gym",
        "TC622",
        10,
        "the tiles of the indexer lie 128 bytes behind a multiple of 1024; as in FlashAttention 4.",
    ),
    judged("attn-gym", "TC821", 2, "as in FlashInfer; ptxas says so."),
    judged("attn-gym", "TC822", 1, "as in FlashAttention 4, whose kernel it has."),
    judged(
        "attn-gym",
        "TC714",
        2,
        "`gather_cute`: the accumulators are scaled and stored again, and the `mbarrier.arrive` behind that lets the multiplying warp accumulate onto them; no `wait::st` is in the kernel at all. True; 9.7.16.6.4.4: \"must explicitly wait for the instructions' completion before synchronizing\".",
    ),
    judged(
        "attn-gym",
        "TC411",
        9,
        "`kda`, backward: every warp names lanes 0 to 31 and relies on getting its own. True in the letter; 9.7.16.8.1 does not promise it.",
    ),
    judged(
        "kernel-fun",
        "TC707",
        2,
        "`bwd_intra.py` stores the operands into shared memory and multiplies them behind a barrier, and has no `fence.proxy.async` at all (9.7.16.6.5). True.",
    ),
    judged(
        "triton",
        "TC901",
        52,
        "Triton writes `tcgen05.cp` with `.warpx4` before the shape. True; ptxas takes either order.",
    ),
    judged(
        "tilelang",
        "TC309",
        8,
        "`automatic`, and `matmul` with no stages: where tilelang's compiler gives loading and multiplying warps of their own, the first warp, which loads, deallocates as soon as it has issued its last copies; nothing lets it wait for the warps that multiply and load what they have accumulated. True; 9.7.16.7.1 wants accesses to be complete. What gives no warps of their own has a barrier there.",
    ),
    judged(
        "tirx-kernels",
        "TC309",
        2,
        "`gdn_cp_prefill_sm100`, the variants 3 and 4: warps 0 to 3 load the accumulators, and warp 0 deallocates as soon as its own loads are complete; it waits for the three others neither at a barrier nor on an mbarrier. True; 9.7.16.7.1 wants accesses to be complete.",
    ),
    judged(
        "jax",
        "TC611",
        432,
        "Mosaic's descriptors leave bits 46 to 48 at 0, of which Table 40 says \"Fixed constant value of 0b001\". True: `tcgen05.py` has a name for the bit, and nothing uses it.",
    ),
];

/// The judgements about a package.
pub(crate) fn of(package: &Package) -> Vec<&'static Judgement> {
    JUDGED.iter().filter(|it| it.package == package.name).collect()
}

/// The judgements about what a package compiles.
pub(crate) fn of_compiled(package: &Compiled) -> Vec<&'static Judgement> {
    JUDGED_COMPILED.iter().filter(|it| it.package == package.name).collect()
}

/// As [`holds`], for what a package compiles; infos are judged, too.
pub(crate) fn holds_compiled(package: &Compiled, modules: &Modules) -> bool {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for ((_, code), places) in &modules.findings {
        *found.entry(code).or_default() += places.len();
    }
    let unknown = modules.unknown.values().sum();
    for (what, count) in
        [(UNKNOWN, unknown), (REFUSED, modules.refused.len()), (DIFFERS, modules.differ.len())]
    {
        if count > 0 {
            found.insert(what, count);
        }
    }
    compare(package.name, &found, &of_compiled(package))
}

/// Whether everything that was found in a package is judged, and what is judged still found; says what
/// is not.
pub(crate) fn holds(package: &Package, tally: &Tally) -> bool {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for ((severity, code), places) in &tally.findings {
        if *severity >= Severity::Warning {
            *found.entry(code).or_default() += places.len();
        }
    }
    for (what, count) in [(MISSED, tally.missed.len()), (UNKNOWN, tally.unknown_instructions())] {
        if count > 0 {
            found.insert(what, count);
        }
    }
    compare(package.name, &found, &of(package))
}

fn compare(package: &str, found: &BTreeMap<&str, usize>, judgements: &[&Judgement]) -> bool {
    let judged: BTreeMap<&str, usize> = judgements.iter().map(|it| (it.what, it.count)).collect();
    for what in found.keys().chain(judged.keys().filter(|what| !found.contains_key(*what))) {
        let (count, known) = (found.get(what), judged.get(what));
        if count != known {
            let number = |it: Option<&usize>| it.copied().unwrap_or_default();
            println!("NOT JUDGED: {what} in {package}: {} found, {} judged", number(count), number(known));
        }
    }
    *found == judged
}
