//! What each operation does, in a sentence or two.

use crate::generic::{Operation, Synchronization};

impl Operation {
    /// What it does.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Add => "Adds two integers: `d = a + b`.",
            Self::Sub => "Subtracts integers: `d = a - b`.",
            Self::Mul => {
                "Multiplies two integers; `.lo`, `.hi` or `.wide` says which bits of the product are the result."
            }
            Self::Mad => {
                "Multiplies two integers and adds a third: `d = a * b + c`; `.lo`, `.hi` or `.wide` says which bits \
                 of the product are added to."
            }
            Self::Clmad => {
                "Multiplies without carries, and adds a third without carries: the sums are exclusive ors."
            }
            Self::Mul24 => {
                "Multiplies the low 24 bits of two registers; the result is a half of the 48-bit product."
            }
            Self::Mad24 => {
                "Multiplies the low 24 bits of two registers and adds a third to a half of the product."
            }
            Self::Sad => "Adds the absolute difference of two integers to a third: `d = c + |a - b|`.",
            Self::Div => {
                "Divides integers: `d = a / b`, rounded towards zero. The result is unspecified if `b` is 0."
            }
            Self::Rem => "The remainder of a division of integers: `d = a % b`, with the sign of `a`.",
            Self::Abs => "The absolute value of an integer.",
            Self::Neg => "Negates an integer: `d = -a`.",
            Self::Min => "The smaller of two integers.",
            Self::Max => "The larger of two integers.",
            Self::Popc => "Counts the bits that are set.",
            Self::Clz => {
                "Counts the zeros before the most significant bit that is set: the width if none is."
            }
            Self::Bfind => {
                "The position of the most significant bit that is not the sign; 0xffffffff if there is none."
            }
            Self::Fns => {
                "The position of the n-th set bit of a mask, counted from a base upwards or downwards."
            }
            Self::Brev => "Reverses the order of the bits.",
            Self::Bfe => {
                "Extracts a field of bits: `c` bits of `a` from position `b` on; extended with its sign for signed \
                 types, else with zeros. Only the low 8 bits of `b` and `c` count."
            }
            Self::Bfi => {
                "Inserts a field of bits: the low `d` bits of `a` replace those of `b` from position `c` on. Only the \
                 low 8 bits of `c` and `d` count."
            }
            Self::Szext => "Extends the low `b` bits of `a` to the width of the type, with sign or zeros.",
            Self::Bmsk => "Makes a mask of `b` ones that starts at bit `a`.",
            Self::Dp4a => {
                "Multiplies the four bytes of `a` by those of `b`, and adds the four products to `c`."
            }
            Self::Dp2a => {
                "Multiplies the two halves of `a` by two bytes of `b`, the low or the high ones, and adds both products to `c`."
            }
            Self::AddCarryOut => "Adds two integers and writes the carry to `CC.CF`, for `addc` to read.",
            Self::AddCarryIn => "Adds two integers and the carry in `CC.CF`.",
            Self::SubBorrowOut => "Subtracts integers and writes the borrow to `CC.CF`, for `subc` to read.",
            Self::SubBorrowIn => "Subtracts integers and the borrow in `CC.CF`.",
            Self::MadCarryOut => {
                "Multiplies, adds, and writes the carry to `CC.CF`, for `madc` or `addc` to read."
            }
            Self::MadCarryIn => "Multiplies, adds, and adds the carry in `CC.CF`.",
            Self::Testp => "Tests which class of floating-point number a value is of.",
            Self::Copysign => "The value of `b` with the sign of `a`.",
            Self::AddFloat | Self::AddHalf => "Adds two floating-point numbers: `d = a + b`.",
            Self::SubFloat | Self::SubHalf => "Subtracts floating-point numbers: `d = a - b`.",
            Self::MulFloat | Self::MulHalf => "Multiplies two floating-point numbers: `d = a * b`.",
            Self::Fma | Self::FmaHalf => "Multiplies and adds with a single rounding: `d = a * b + c`.",
            Self::MadFloat => {
                "Multiplies and adds: `d = a * b + c`; with a single rounding, as `fma`, since sm_20."
            }
            Self::DivFloat => "Divides floating-point numbers: `d = a / b`.",
            Self::AbsFloat | Self::AbsHalf => "The absolute value of a floating-point number.",
            Self::NegFloat | Self::NegHalf => "Negates a floating-point number.",
            Self::MinFloat | Self::MinHalf => {
                "The smallest of its operands. A NaN loses against a number unless `.NaN` is given."
            }
            Self::MaxFloat | Self::MaxHalf => {
                "The largest of its operands. A NaN loses against a number unless `.NaN` is given."
            }
            Self::Rcp => "The reciprocal: `d = 1 / a`.",
            Self::Sqrt => "The square root.",
            Self::Rsqrt => "The reciprocal of the square root: `d = 1 / sqrt(a)`.",
            Self::Sin => "The sine of an angle in radians.",
            Self::Cos => "The cosine of an angle in radians.",
            Self::Lg2 => "The logarithm to base 2.",
            Self::Ex2 | Self::Ex2Half => "2 to the power of a number.",
            Self::Tanh | Self::TanhHalf => "The hyperbolic tangent.",
            Self::AddMixed | Self::AddPacked => {
                "Adds a narrower number to a wider one: `d = a + c`, in the wider format."
            }
            Self::SubMixed | Self::SubPacked => {
                "Subtracts a wider number from a narrower one: `d = a - c`, in the wider format."
            }
            Self::AddDown => "Adds two pairs of numbers and rounds the sums to a narrower format.",
            Self::SubDown => {
                "Subtracts two pairs of numbers and rounds the differences to a narrower format."
            }
            Self::MulDown => "Multiplies two pairs of numbers and rounds the products to a narrower format.",
            Self::MulHalves => "Multiplies two pairs of 16-bit floating-point numbers.",
            Self::FmaPacked => {
                "Multiplies two pairs of narrower numbers and adds a wider pair, with a single rounding."
            }
            Self::FmaMixed => "Multiplies two narrower numbers and adds a wider one, with a single rounding.",
            Self::MulNarrow => "Multiplies four pairs of 8-, 6- or 4-bit floating-point numbers.",
            Self::FmaNarrow => {
                "Multiplies four pairs of 8-, 6- or 4-bit floating-point numbers and adds a third."
            }
            Self::Set => {
                "Compares two values, joins the outcome with a predicate if `.and`, `.or` or `.xor` is given, and \
                 writes all ones or 1.0 for true, 0 for false."
            }
            Self::SetPacked => {
                "Compares packed integers: each element of `d` is all ones for true, 0 for false."
            }
            Self::Setp => {
                "Compares two values into a predicate; joined with another predicate if `.and`, `.or` or `.xor` is \
                 given. `q` of `p|q` gets the opposite outcome."
            }
            Self::Selp => "Selects by a predicate: `d = c ? a : b`.",
            Self::Slct => "Selects by a sign: `d = c >= 0 ? a : b`.",
            Self::And => "The bitwise and.",
            Self::Or => "The bitwise or.",
            Self::Xor => "The bitwise exclusive or.",
            Self::Not => "Inverts every bit.",
            Self::Cnot => "The logical not of C: 1 if `a` is 0, else 0.",
            Self::Lop3 => {
                "Any bitwise function of three values. `immLut` is its truth table: the same function of 0xF0 for \
                 `a`, 0xCC for `b` and 0xAA for `c`."
            }
            Self::Lop3Predicate => {
                "Any bitwise function of three values; `p` is whether its result is not 0, joined with `q`."
            }
            Self::Shf => "Shifts the 64 bits of `[b, a]` left or right; the result is the high or low half.",
            Self::Shl => "Shifts left and fills with zeros. A shift by the width or more gives 0.",
            Self::Shr => {
                "Shifts right and fills with the sign for signed types, else with zeros. A shift by more than the \
                 width counts as one by the width."
            }
            Self::Mov => {
                "Copies a register, a constant or the address of a variable; packs a vector into a register or \
                 unpacks one. For the address of a variable this is the address in its own state space."
            }
            Self::MovVector => "Copies a vector.",
            Self::Shfl => {
                "Reads the value of another lane of the warp. Without `.sync` it is deprecated and not available \
                 since sm_70."
            }
            Self::ShflSync => {
                "Reads the value of another lane of the warp. `p` of `d|p` is whether that lane is in range."
            }
            Self::Prmt => "Picks four of the eight bytes of `a` and `b`; each digit of `c` names one.",
            Self::PrmtMode => {
                "Picks bytes of `a` and `b` by one of the fixed patterns; `c` says which variant."
            }
            Self::Ld => "Loads from memory. Without a state space the address is generic.",
            Self::LdGlobalNc => {
                "Loads from global memory through the non-coherent cache: the data must not change while the kernel \
                 runs."
            }
            Self::LdReadonly => {
                "Loads through the read-only proxy: the data must not change while the kernel runs."
            }
            Self::Ldu => "Loads from an address that is the same for all threads of the warp.",
            Self::St => "Stores to memory. Without a state space the address is generic.",
            Self::StAsync => {
                "Starts a store into the shared memory of a CTA of the cluster. The mbarrier beside it counts the \
                 bytes when they have arrived."
            }
            Self::StAsyncRelease => "Starts a store that releases what the thread did before.",
            Self::StBulk => "Fills a region of shared memory with zeros.",
            Self::MultimemLdReduce => {
                "Loads from all addresses behind a multimem address, and reduces what was loaded."
            }
            Self::MultimemSt => "Stores to all addresses behind a multimem address.",
            Self::MultimemRed => "Reduces into all addresses behind a multimem address.",
            Self::MultimemStAsync => "Starts a store to all addresses behind a multimem address.",
            Self::MultimemRedAsync => "Starts a reduction into all addresses behind a multimem address.",
            Self::Prefetch | Self::PrefetchEviction | Self::PrefetchValid => {
                "Brings the line of an address into a cache."
            }
            Self::PrefetchTensormap => {
                "Brings a tensor map into the cache, for a `cp.async.bulk.tensor` to come."
            }
            Self::Prefetchu => "Brings the line of a generic address into the uniform cache.",
            Self::Applypriority => "Changes the eviction priority of a region in the L2 cache.",
            Self::Discard => {
                "Drops a region from the L2 cache without writing it back: its contents become undefined."
            }
            Self::CreatepolicyRange => {
                "Makes a cache policy for a range of addresses, for `.L2::cache_hint`."
            }
            Self::CreatepolicyFractional => {
                "Makes a cache policy for a fraction of accesses, for `.L2::cache_hint`."
            }
            Self::CreatepolicyCvt => {
                "Makes a cache policy from an access property of CUDA, for `.L2::cache_hint`."
            }
            Self::Isspacep => "Whether a generic address points into a state space.",
            Self::Cvta => {
                "Converts an address of a state space into a generic one; with `.to` a generic one into one of the \
                 state space."
            }
            Self::Cvt | Self::CvtPacked => "Converts a value from the last type to the first.",
            Self::CvtPair => {
                "Converts two values and packs them: `a` into the upper half of `d`, `b` into the lower."
            }
            Self::CvtStochastic => {
                "Converts two values with stochastic rounding and packs them: `a` into the upper half of `d`, `b` \
                 into the lower."
            }
            Self::CvtStochastic4 => "Converts four values with stochastic rounding and packs them.",
            Self::CvtPack => "Converts two integers to narrower ones with saturation and packs them.",
            Self::CvtPackMerge => {
                "Converts two integers to narrower ones with saturation and packs them below the low bits of `c`."
            }
            Self::Mapa => {
                "Maps an address in the shared memory of this CTA to the same place in the CTA of the cluster with \
                 rank `b`."
            }
            Self::Getctarank => "The rank of the CTA whose shared memory an address points into.",
            Self::Spcompress => {
                "Compresses a vector to a sparse one: the elements that are kept, and metadata."
            }
            Self::Spdecompress => "Expands a sparse vector with its metadata.",
            Self::CpAsync => {
                "Starts a copy of 4, 8 or 16 bytes from global to shared memory. What follows `src-size` is filled \
                 with zeros. Wait with `cp.async.wait_group` or an mbarrier."
            }
            Self::CpAsyncCommitGroup => "Makes a group of the thread's `cp.async` since the last group.",
            Self::CpAsyncWaitGroup => {
                "Waits until at most the `n` latest groups of `cp.async` are incomplete."
            }
            Self::CpAsyncWaitAll => "Waits for all `cp.async` of the thread.",
            Self::CpAsyncMbarrierArrive => {
                "Makes an mbarrier receive an arrival when all earlier `cp.async` of the thread are complete. Without \
                 `.noinc` the pending count is raised first, so that the arrival adds nothing."
            }
            Self::CpAsyncBulkLoad => {
                "Starts a bulk copy from global to shared memory. The mbarrier counts the bytes when they have \
                 arrived: an `expect_tx` has to announce them."
            }
            Self::CpAsyncBulkCluster => {
                "Starts a bulk copy from the shared memory of this CTA to that of a CTA of the cluster, whose \
                 mbarrier counts the bytes."
            }
            Self::CpAsyncBulkStore => {
                "Starts a bulk copy from shared to global memory. Wait with `cp.async.bulk.commit_group` and \
                 `cp.async.bulk.wait_group`. Writes of the threads need a `fence.proxy.async` before."
            }
            Self::CpReduceAsyncBulkCluster => {
                "Starts a bulk reduction from the shared memory of this CTA into that of a CTA of the cluster."
            }
            Self::CpReduceAsyncBulkStore => "Starts a bulk reduction from shared into global memory.",
            Self::CpAsyncBulkPrefetch => "Starts to bring a region of global memory into the L2 cache.",
            Self::MultimemCpAsyncBulk => {
                "Starts a bulk copy from shared memory to all addresses behind a multimem address."
            }
            Self::MultimemCpReduceAsyncBulk => {
                "Starts a bulk reduction from shared memory into all addresses behind a multimem address."
            }
            Self::CpAsyncBulkCommitGroup => "Makes a group of the thread's bulk copies since the last group.",
            Self::CpAsyncBulkWaitGroup => {
                "Waits until at most the `N` latest bulk groups of the thread are incomplete; with `.read` only until \
                 their sources have been read."
            }
            Self::CpAsyncBulkTensorLoad => {
                "Starts a copy (TMA) of a box of a tensor in global memory to shared memory. The mbarrier counts the \
                 bytes when they have arrived: an `expect_tx` has to announce them."
            }
            Self::CpAsyncBulkTensorStore => {
                "Starts a copy (TMA) of a box from shared memory to a tensor in global memory. Wait with \
                 `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group`. Writes of the threads need a \
                 `fence.proxy.async` before."
            }
            Self::CpReduceAsyncBulkTensor => {
                "Starts a reduction (TMA) of a box in shared memory into a tensor in global memory."
            }
            Self::CpAsyncBulkPrefetchTensor => "Starts to bring a box of a tensor into the L2 cache.",
            Self::ApplypriorityAsyncBulk => {
                "Starts to change the eviction priority of a region in the L2 cache."
            }
            Self::ApplypriorityAsyncBulkTensor => {
                "Starts to change the eviction priority of a box of a tensor in the L2 cache."
            }
            Self::TensormapReplace => {
                "Replaces a field of a tensor map in memory. A `fence.proxy.tensormap` or \
                 `tensormap.cp_fenceproxy` has to come before the map is used."
            }
            Self::TensormapQueryAllocClassLarge => {
                "Whether the address of a tensor map points into an allocation of the class `large`."
            }
            Self::TensormapCpFenceproxy => {
                "Copies a tensor map from shared to global memory, and makes it visible to the tensormap proxy."
            }
            Self::FabricTryGet => "Starts to read memory of another GPU through the fabric.",
            Self::FabricTryPut => "Starts to write memory of another GPU through the fabric.",
            Self::FabricTryRed => "Starts to reduce into memory of another GPU through the fabric.",
            Self::FabricTryPullred => {
                "Starts to read the same memory of several GPUs through the fabric, reduced."
            }
            Self::FabricTryAtom => "Starts an atomic operation on memory of another GPU through the fabric.",
            Self::FabricTryGetTensor => "Starts to read a box of a tensor of another GPU through the fabric.",
            Self::FabricTryPutTensor => {
                "Starts to write a box of a tensor of another GPU through the fabric."
            }
            Self::FabricTryRedTensor => {
                "Starts to reduce into a box of a tensor of another GPU through the fabric."
            }
            Self::FabricSubmit => "Submits the operations that the thread has started on the fabric.",
            Self::FabricSubmitCommitGroup => {
                "Makes a group of the fabric operations that the thread has submitted."
            }
            Self::FabricWait => "Waits for the fabric operations that the thread has submitted.",
            Self::Tex => "Reads a texture at coordinates, with filtering.",
            Self::Tld4 => "Reads one component of the four texels that a bilinear filter would take.",
            Self::Txq => "Asks for a property of a texture or a sampler.",
            Self::Istypep => "Whether a handle is one of a texture, a sampler or a surface.",
            Self::Suld => "Loads from a surface.",
            Self::Sust => "Stores to a surface.",
            Self::Sured => "Reduces into a surface.",
            Self::Suq => "Asks for a property of a surface.",
            Self::Bra => "Branches to a label. `.uni` promises that all active threads branch alike.",
            Self::BrxIdx => "Branches to the label of a `.branchtargets` list with the number `index`.",
            Self::Call => "Calls a function. `.uni` promises that all active threads call the same one.",
            Self::Ret => "Returns from a function; in a kernel it ends the thread.",
            Self::Exit => "Ends the thread.",
            Self::BarrierSync => {
                "Arrives at barrier `a` of the CTA and waits until all threads, or `b` of them, have arrived. Orders \
                 the memory accesses of those threads."
            }
            Self::BarrierArrive => {
                "Arrives at barrier `a` of the CTA and does not wait. `b` is the number of threads that take part, \
                 those that wait included."
            }
            Self::BarrierPopc => {
                "Waits at barrier `a` of the CTA as `barrier.sync` does; `d` is how many threads had a true predicate."
            }
            Self::BarrierPredicate => {
                "Waits at barrier `a` of the CTA as `barrier.sync` does; `p` is whether all, or any, threads had a \
                 true predicate."
            }
            Self::BarWarpSync => {
                "Waits until all threads of the mask have arrived. Orders the memory accesses of those threads."
            }
            Self::BarrierClusterArrive => {
                "Arrives at the barrier of the cluster and does not wait. `.release` is the default; `.relaxed` \
                 orders nothing."
            }
            Self::BarrierClusterWait => {
                "Waits until all threads of the cluster have arrived at its barrier. Acquires what they released."
            }
            Self::Membar => "Orders the memory accesses of the thread before it against those after it.",
            Self::MembarProxy | Self::FenceProxy => {
                "Orders accesses through different proxies: `.async` those of the thread against those of bulk \
                 copies, `wgmma` and `tcgen05`; `.alias` those through different virtual addresses."
            }
            Self::Fence => {
                "Orders the memory accesses of the thread before it against those after it, for the threads of a \
                 scope. `.acq_rel` is the default."
            }
            Self::FenceRestricted => "A fence that orders only accesses to shared memory of the cluster.",
            Self::FenceMbarrierInit => {
                "Makes the `mbarrier.init` of the thread visible to the other CTAs of the cluster."
            }
            Self::FenceAliasRead => "Orders reads through different virtual addresses of the same memory.",
            Self::FenceProxyAlias => {
                "Orders accesses through the fabric and generic ones to the same memory."
            }
            Self::FenceProxyTensormap => {
                "Orders changes of a tensor map against its use: `.release` after the change, `.acquire` with the \
                 map's address before the use."
            }
            Self::FenceProxyAsyncGeneric => {
                "Orders accesses of the async proxy against generic ones, for a kind of shared memory alone."
            }
            Self::Atom => {
                "Reads memory, computes with what stands there, and writes it, at once; `d` is what was there."
            }
            Self::Red => {
                "Reads memory, computes with what stands there, and writes it, at once. Nothing is returned."
            }
            Self::RedAsync => {
                "Starts a reduction into the shared memory of a CTA of the cluster, whose mbarrier counts the bytes."
            }
            Self::RedAsyncRelease => "Starts a reduction that releases what the thread did before.",
            Self::Vote | Self::VoteBallot => {
                "Votes across the warp. Without `.sync` it is deprecated and not available since sm_70."
            }
            Self::VoteSync => {
                "Whether a predicate is true in all, in any, or alike in all threads of the mask."
            }
            Self::VoteSyncBallot => "The mask of the lanes whose predicate is true.",
            Self::MatchAnySync => "The mask of the lanes that have the same value as this one.",
            Self::MatchAllSync => {
                "The mask if all its lanes have the same value, else 0; `p` of `d|p` says which."
            }
            Self::Activemask => "The mask of the lanes that are active at this moment.",
            Self::ReduxSync => "Reduces a value across the lanes of the mask; each gets the result.",
            Self::Griddepcontrol => {
                "Controls a programmatic dependent launch: `.launch_dependents` lets the next grid start, `.wait` \
                 waits until the grids before are complete and their writes visible."
            }
            Self::ElectSync => {
                "Elects one lane of the mask: `p` of `d|p` is true in that lane alone, and `d` is its number."
            }
            Self::MbarrierInit => {
                "Makes an mbarrier that expects `count` arrivals in each phase. It starts in phase 0. Other threads \
                 may use it after a barrier of the CTA; other CTAs of the cluster and bulk copies need a fence, too."
            }
            Self::MbarrierInval => "Ends an mbarrier: its memory may be used for something else.",
            Self::MbarrierExpectTx => {
                "Raises the number of bytes that the current phase of an mbarrier waits for."
            }
            Self::MbarrierCompleteTx => {
                "Lowers the number of bytes that the current phase of an mbarrier waits for, as a copy does when its \
                 bytes have arrived."
            }
            Self::MbarrierArrive => {
                "Arrives at an mbarrier: `count` arrivals, or one, of those that the phase waits for. The phase \
                 completes when no arrivals and no bytes are left. With `.expect_tx` the phase waits for `txCount` \
                 more bytes first. `state` can be `_`, and has to be for an mbarrier of another CTA."
            }
            Self::MbarrierArriveDrop => {
                "Arrives at an mbarrier, and lowers the number of arrivals that the later phases expect."
            }
            Self::MbarrierTestWait => {
                "Tests whether a phase of an mbarrier is complete, and does not wait. With `.parity` the phase is \
                 named by its parity: 0 for the first, 1 for the second, and so on."
            }
            Self::MbarrierTryWait => {
                "Tests whether a phase of an mbarrier is complete; the thread may be suspended for a limited time. It \
                 has to be tried again while the result is false. With `.parity` the phase is named by its parity: 0 \
                 for the first, 1 for the second, and so on."
            }
            Self::MbarrierPendingCount => {
                "The number of arrivals that were left, from a `state` that an arrival gave."
            }
            Self::MbarrierCheckLayout => "Whether an mbarrier has a layout.",
            Self::ClusterlaunchcontrolTryCancel => {
                "Asks to cancel the launch of a CTA or cluster that has not started, to do its work here. The answer \
                 of 16 bytes arrives in shared memory; the mbarrier counts them."
            }
            Self::ClusterlaunchcontrolIsCanceled => "Whether a request to cancel a launch succeeded.",
            Self::ClusterlaunchcontrolFirstCtaid => {
                "The `%ctaid` of the first CTA whose launch was cancelled."
            }
            Self::WmmaLoad => "Loads a matrix from memory into the fragments of a warp.",
            Self::WmmaStore => "Stores the fragments of a warp to memory as a matrix.",
            Self::WmmaMma => "Multiplies matrices held in the fragments of a warp: `D = A * B + C`.",
            Self::Mma => "Multiplies matrices held in the registers of a warp: `D = A * B + C`.",
            Self::MmaSp => {
                "Multiplies matrices held in the registers of a warp, where A is sparse: `D = A * B + C`. `e` is the \
                 metadata, `f` says which threads hold it."
            }
            Self::Ldmatrix => {
                "Loads matrices from shared memory into the registers of a warp, as `mma` wants them."
            }
            Self::LdmatrixUnpack => {
                "Loads matrices of 6- or 4-bit elements from shared memory, expanded to 8 bits each."
            }
            Self::LdmatrixSigned => {
                "Loads matrices of signed 4-bit elements from shared memory, expanded to 8 bits."
            }
            Self::Stmatrix => {
                "Stores matrices from the registers of a warp, as `mma` leaves them, to shared memory."
            }
            Self::Movmatrix => "Transposes a matrix held in the registers of a warp.",
            Self::WgmmaMmaAsync => {
                "Starts a multiplication of a warpgroup: `D = A * B + D`; A is in registers or shared memory, B in \
                 shared memory. `wgmma.fence` has to come before, `wgmma.commit_group` and `wgmma.wait_group` after."
            }
            Self::WgmmaMmaAsyncSp => {
                "Starts a multiplication of a warpgroup where A is sparse: `D = A * B + D`. `wgmma.fence` has to come \
                 before, `wgmma.commit_group` and `wgmma.wait_group` after."
            }
            Self::WgmmaFence => {
                "Orders accesses to the registers of `wgmma.mma_async` by the thread and by the multiplication."
            }
            Self::WgmmaCommitGroup => {
                "Makes a group of the warpgroup's `wgmma.mma_async` since the last group."
            }
            Self::WgmmaWaitGroup => {
                "Waits until at most the `N` latest groups of `wgmma.mma_async` are incomplete."
            }
            Self::Stacksave => "The stack pointer.",
            Self::Stackrestore => "Sets the stack pointer to one that `stacksave` gave.",
            Self::Alloca => "Allocates local memory on the stack; `ptr` is its address.",
            Self::Vadd => "Adds bytes, halves or words of registers, with an optional second operation.",
            Self::Vsub => "Subtracts bytes, halves or words of registers, with an optional second operation.",
            Self::Vabsdiff => {
                "The absolute difference of bytes, halves or words, with an optional second operation."
            }
            Self::Vmin => {
                "The smaller of bytes, halves or words of registers, with an optional second operation."
            }
            Self::Vmax => {
                "The larger of bytes, halves or words of registers, with an optional second operation."
            }
            Self::Vshl => "Shifts a byte, half or word left, with an optional second operation.",
            Self::Vshr => "Shifts a byte, half or word right, with an optional second operation.",
            Self::Vmad => "Multiplies bytes, halves or words of registers and adds a third value.",
            Self::Vset => "Compares bytes, halves or words of registers, with an optional second operation.",
            Self::Vadd2 => "Adds the two halves of registers.",
            Self::Vsub2 => "Subtracts the two halves of registers.",
            Self::Vavrg2 => "The averages of the two halves of registers.",
            Self::Vabsdiff2 => "The absolute differences of the two halves of registers.",
            Self::Vmin2 => "The smaller ones of the two halves of registers.",
            Self::Vmax2 => "The larger ones of the two halves of registers.",
            Self::Vset2 => "Compares the two halves of registers.",
            Self::Vadd4 => "Adds the four bytes of registers.",
            Self::Vsub4 => "Subtracts the four bytes of registers.",
            Self::Vavrg4 => "The averages of the four bytes of registers.",
            Self::Vabsdiff4 => "The absolute differences of the four bytes of registers.",
            Self::Vmin4 => "The smaller ones of the four bytes of registers.",
            Self::Vmax4 => "The larger ones of the four bytes of registers.",
            Self::Vset4 => "Compares the four bytes of registers.",
            Self::Brkpt => "Stops the thread for a debugger.",
            Self::Nanosleep => "Suspends the thread for about `t` nanoseconds.",
            Self::Pmevent => "Triggers a performance monitor event.",
            Self::Trap => "Aborts the grid and interrupts the host.",
            Self::Setmaxnreg => {
                "Changes how many registers each thread of the warpgroup may use: `.inc` waits until they are free, \
                 `.dec` gives some away. All warps of the warpgroup have to execute it alike."
            }
            Self::Tensor => "The instructions of the 5th generation of tensor cores.",
        }
    }
}

impl Synchronization {
    /// What has to be known of it by whoever writes the instruction, if something has.
    pub const fn explanation(self) -> Option<&'static str> {
        Some(match self {
            Self::WarpCollective => "The threads of the warp that take part execute it together.",
            Self::AsyncCopy
            | Self::BulkCopy
            | Self::AsyncStore
            | Self::FabricStart
            | Self::ClusterLaunch
            | Self::WarpgroupMultiply => {
                "Asynchronous: the instruction only starts the operation, and the thread goes on."
            }
            Self::WarpgroupFence | Self::WarpgroupCommit | Self::WarpgroupWait => {
                "All warps of the warpgroup execute it together."
            }
            Self::BarrierSync | Self::ClusterWait | Self::WarpBarrier => {
                "The thread waits here for the others."
            }
            Self::None
            | Self::BarrierArrive
            | Self::ClusterArrive
            | Self::MbarrierInit
            | Self::MbarrierInvalidate
            | Self::MbarrierExpectTransactions
            | Self::MbarrierCompleteTransactions
            | Self::MbarrierArrive
            | Self::MbarrierWait
            | Self::MbarrierQuery
            | Self::Fence
            | Self::MbarrierInitFence
            | Self::ProxyFence
            | Self::AsyncCopyCommit
            | Self::AsyncCopyWait
            | Self::AsyncCopyArrive
            | Self::BulkCommit
            | Self::BulkWait
            | Self::FabricSubmit
            | Self::FabricWait
            | Self::RegisterChange
            | Self::DependentGrids
            | Self::Tensor => return None,
        })
    }
}
