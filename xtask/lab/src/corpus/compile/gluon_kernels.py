"""Kernels of ours in Gluon, of the kinds that people write: what its compiler makes of them."""

from pretend import ARCH, case, torch_on_a_gpu, triton_without_launch

torch = torch_on_a_gpu()
triton_without_launch()

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    clc,
    cluster,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def barriers(count: gl.constexpr, arrivals: gl.constexpr):
    found = gl.allocate_shared_memory(gl.int64, [count, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(count):
        mbarrier.init(found.index(i), count=arrivals)
    return found


@gluon.jit
def offsets(rows: gl.constexpr, columns: gl.constexpr, stride, layout: gl.constexpr):
    row = gl.arange(0, rows, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, columns, layout=gl.SliceLayout(0, layout))
    return row[:, None] * stride + column[None, :]


# One tile, whose operands come through registers.


@gluon.jit
def tile(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, steps, FROM_TENSOR_MEMORY: gl.constexpr, START: gl.constexpr):
    warps: gl.constexpr = gl.num_warps()
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [warps, 1], [1, 0])
    dtype: gl.constexpr = a.dtype.element_ty
    bits: gl.constexpr = dtype.primitive_bitwidth
    b_shared = gl.allocate_shared_memory(dtype, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], dtype))
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([min(M, 128), N], col_stride=1))
    acc_layout: gl.constexpr = acc.get_reg_layout()
    if FROM_TENSOR_MEMORY:
        a_memory = allocate_tensor_memory(dtype, [M, K], TensorMemoryLayout([min(M, 128), K], col_stride=1))
    else:
        a_memory = gl.allocate_shared_memory(dtype, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], dtype))
    done = barriers(1, 1)
    if START:
        acc.store(gl.full([M, N], 1.0, gl.float32, acc_layout))
    phase = 0
    for step in range(steps):
        a_value = gl.load(a + step * K + offsets(M, K, K * steps, layout))
        b_value = gl.load(b + step * K * N + offsets(K, N, N, layout))
        if FROM_TENSOR_MEMORY:
            a_memory.store(gl.convert_layout(a_value, a_memory.get_reg_layout()))
        else:
            a_memory.store(a_value)
        b_shared.store(b_value)
        fence_async_shared()
        tcgen05_mma(a_memory, b_shared, acc, use_acc=(step > 0) | START)
        tcgen05_commit(done.index(0))
        mbarrier.wait(done.index(0), phase)
        phase ^= 1
    mbarrier.invalidate(done.index(0))
    out = gl.convert_layout(acc.load(acc_layout), layout)
    gl.store(c + offsets(M, N, N, layout), out.to(c.dtype.element_ty))


# A pipeline of one group of warps.


@gluon.jit
def pipelined(a, b, c, STAGES: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[0]
    a_buffers = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, N, K], b.layout)
    full, empty = barriers(STAGES, 1), barriers(STAGES, 1)
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    steps = gl.cdiv(a.shape[1], K)
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(full.index(i), a.block_type.nbytes + b.block_type.nbytes, pred=i < steps)
        tma.async_load(a, [row, i * K], full.index(i), a_buffers.index(i), pred=i < steps)
        tma.async_load(b, [column, i * K], full.index(i), b_buffers.index(i), pred=i < steps)
    for step in range(steps):
        slot = step % STAGES
        mbarrier.wait(full.index(slot), step // STAGES & 1)
        tcgen05_mma(a_buffers.index(slot), b_buffers.index(slot).permute((1, 0)), acc, use_acc=step > 0, mbarriers=[empty.index(slot)])
        ahead = step + STAGES - 1
        other = ahead % STAGES
        mbarrier.wait(empty.index(other), ahead // STAGES - 1 & 1, pred=(step > 0) & (ahead < steps))
        mbarrier.expect(full.index(other), a.block_type.nbytes + b.block_type.nbytes, pred=ahead < steps)
        tma.async_load(a, [row, ahead * K], full.index(other), a_buffers.index(other), pred=ahead < steps)
        tma.async_load(b, [column, ahead * K], full.index(other), b_buffers.index(other), pred=ahead < steps)
    last = steps - 1
    mbarrier.wait(empty.index(last % STAGES), last // STAGES & 1)
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(i))
        mbarrier.invalidate(empty.index(i))
    c_shared = gl.allocate_shared_memory(c.dtype, [M, N], c.layout)
    c_shared.store(acc.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [row, column], c_shared)
    tma.store_wait(0)


# A persistent kernel, each part of which has warps of its own.


@gluon.jit
def load_part(a, b, c, a_buffers, b_buffers, load_bars, acc, acc_bars, TILES: gl.constexpr, STAGES: gl.constexpr):
    full, empty = load_bars
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[0]
    columns = gl.cdiv(c.shape[1], N)
    count = 0
    for number in range(gl.program_id(0), gl.cdiv(c.shape[0], M) * columns, gl.num_programs(0)):
        for k in range(0, a.shape[1], K):
            slot = count % STAGES
            mbarrier.wait(empty.index(slot), count // STAGES & 1 ^ 1)
            mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
            tma.async_load(a, [number // columns * M, k], full.index(slot), a_buffers.index(slot))
            tma.async_load(b, [number % columns * N, k], full.index(slot), b_buffers.index(slot))
            count += 1


@gluon.jit
def multiply_part(a, b, c, a_buffers, b_buffers, load_bars, acc, acc_bars, TILES: gl.constexpr, STAGES: gl.constexpr):
    full, empty = load_bars
    acc_full, acc_empty = acc_bars
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[0]
    count = 0
    turn = 0
    for _ in range(gl.program_id(0), gl.cdiv(c.shape[0], M) * gl.cdiv(c.shape[1], N), gl.num_programs(0)):
        place = turn % TILES
        mbarrier.wait(acc_empty.index(place), turn // TILES & 1 ^ 1)
        use_acc = False
        for _k in range(0, a.shape[1], K):
            slot = count % STAGES
            mbarrier.wait(full.index(slot), count // STAGES & 1)
            tcgen05_mma(a_buffers.index(slot), b_buffers.index(slot).permute((1, 0)), acc.index(place), use_acc=use_acc)
            tcgen05_commit(empty.index(slot))
            use_acc = True
            count += 1
        tcgen05_commit(acc_full.index(place))
        turn += 1


@gluon.jit
def store_part(a, b, c, a_buffers, b_buffers, load_bars, acc, acc_bars, TILES: gl.constexpr, STAGES: gl.constexpr):
    acc_full, acc_empty = acc_bars
    M: gl.constexpr = a.block_type.shape[0]
    N: gl.constexpr = b.block_type.shape[0]
    W: gl.constexpr = c.block_type.shape[1]
    columns = gl.cdiv(c.shape[1], N)
    c_shared = gl.allocate_shared_memory(c.dtype, [M, W], c.layout)
    turn = 0
    for number in range(gl.program_id(0), gl.cdiv(c.shape[0], M) * columns, gl.num_programs(0)):
        place = turn % TILES
        mbarrier.wait(acc_full.index(place), turn // TILES & 1)
        for i in gl.static_range(N // W):
            part = acc.index(place).slice(i * W, W).load().to(c.dtype)
            tma.store_wait(0)
            c_shared.store(part)
            if i == N // W - 1:
                mbarrier.arrive(acc_empty.index(place), count=1)
            fence_async_shared()
            tma.async_store(c, [number // columns * M, number % columns * N + i * W], c_shared)
        turn += 1
    tma.store_wait(0)


@gluon.jit
def specialized(a, b, c, TILES: gl.constexpr, STAGES: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[0]
    a_buffers = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, N, K], b.layout)
    load_bars = barriers(STAGES, 1), barriers(STAGES, 1)
    acc = allocate_tensor_memory(gl.float32, [TILES, M, N], TensorMemoryLayout([M, N], col_stride=1))
    acc_bars = barriers(TILES, 1), barriers(TILES, 1)
    args = (a, b, c, a_buffers, b_buffers, load_bars, acc, acc_bars, TILES, STAGES)
    gl.warp_specialize([(store_part, args), (load_part, args), (multiply_part, args)], [1, 1], [24, 24])


# Operands with scale factors, which `tcgen05.cp` or registers bring.


@gluon.jit
def scaled(a, b, a_scales, b_scales, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, A: gl.constexpr, B: gl.constexpr,
           SIZE: gl.constexpr, COPIED: gl.constexpr):  # fmt: skip
    layout: gl.constexpr = gl.BlockedLayout([1, 16], [8, 4], [gl.num_warps(), 1], [1, 0])
    a_packed: gl.constexpr = 2 if A == "e2m1" else 1
    b_packed: gl.constexpr = 2 if B == "e2m1" else 1
    a_padded: gl.constexpr = A == "e2m1" and B != "e2m1"
    b_padded: gl.constexpr = B == "e2m1" and A != "e2m1"
    a_type: gl.constexpr = a.dtype.element_ty
    b_type: gl.constexpr = b.dtype.element_ty
    a_shared = gl.allocate_shared_memory(
        a_type, [M, K // a_packed], gl.NVMMASharedLayout.get_default_for([M, K // a_packed], a_type, fp4_padded=a_padded)
    )
    b_shared = gl.allocate_shared_memory(
        b_type, [N, K // b_packed], gl.NVMMASharedLayout.get_default_for([N, K // b_packed], b_type, fp4_padded=b_padded)
    )
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    factors: gl.constexpr = K // SIZE
    a_factors = allocate_tensor_memory(a_scales.dtype.element_ty, [M, factors], TensorMemoryScalesLayout())
    b_factors = allocate_tensor_memory(b_scales.dtype.element_ty, [N, factors], TensorMemoryScalesLayout())
    done = barriers(1, 1)
    a_shared.store(gl.load(a + offsets(M, K // a_packed, K // a_packed, layout)))
    b_shared.store(gl.load(b + offsets(N, K // b_packed, K // b_packed, layout)))
    if COPIED:
        flat: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
        swizzle: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=5)
        a_raw = gl.allocate_shared_memory(a_scales.dtype.element_ty, [1, M // 128, factors // 4, 2, 256], swizzle)
        b_raw = gl.allocate_shared_memory(b_scales.dtype.element_ty, [1, N // 128, factors // 4, 2, 256], swizzle)
        a_raw.reshape([M // 128 * factors // 4 * 2, 256]).store(
            gl.load(a_scales + offsets(M // 128 * factors // 4 * 2, 256, 256, flat))
        )
        b_raw.reshape([N // 128 * factors // 4 * 2, 256]).store(
            gl.load(b_scales + offsets(N // 128 * factors // 4 * 2, 256, 256, flat))
        )
        fence_async_shared()
        tcgen05_copy(unpacked(a_raw, M, factors), a_factors)
        tcgen05_copy(unpacked(b_raw, N, factors), b_factors)
    else:
        a_layout: gl.constexpr = a_factors.get_reg_layout()
        b_layout: gl.constexpr = b_factors.get_reg_layout()
        a_factors.store(gl.load(a_scales + offsets(M, factors, factors, a_layout)))
        b_factors.store(gl.load(b_scales + offsets(N, factors, factors, b_layout)))
        fence_async_shared()
    tcgen05_mma_scaled(a_shared, b_shared.permute((1, 0)), acc, a_factors, b_factors, A, B, use_acc=False)
    tcgen05_commit(done.index(0))
    mbarrier.wait(done.index(0), 0)
    out: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    gl.store(c + offsets(M, N, N, out), gl.convert_layout(acc.load(), out))


@gluon.jit
def unpacked(raw, rows: gl.constexpr, factors: gl.constexpr):
    return raw.reshape([rows // 128, factors // 4, 32, 4, 4]).permute((0, 3, 2, 1, 4)).reshape([rows, factors])


# Copies from shared into tensor memory, read and multiplied.


@gluon.jit
def copied(a, c, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    shared = gl.allocate_shared_memory(gl.float32, [M, N], gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=32, rank=2))
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    done = barriers(1, 1)
    shared.store(gl.load(a + offsets(M, N, N, layout)))
    fence_async_shared()
    tcgen05_copy(shared, memory)
    tcgen05_commit(done.index(0))
    mbarrier.wait(done.index(0), 0)
    gl.store(c + offsets(M, N, N, layout), gl.convert_layout(memory.load(), layout))


# The maximum of each row, by the load itself.


@gluon.jit
def row_maximum(a, b, c, maxima, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, ABS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    a_shared = gl.allocate_shared_memory(gl.bfloat16, [M, K], gl.NVMMASharedLayout.get_default_for([M, K], gl.bfloat16))
    b_shared = gl.allocate_shared_memory(gl.bfloat16, [K, N], gl.NVMMASharedLayout.get_default_for([K, N], gl.bfloat16))
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    done = barriers(1, 1)
    a_shared.store(gl.load(a + offsets(M, K, K, layout)))
    b_shared.store(gl.load(b + offsets(K, N, N, layout)))
    fence_async_shared()
    tcgen05_mma(a_shared, b_shared, acc, use_acc=False, mbarriers=[done.index(0)])
    mbarrier.wait(done.index(0), 0)
    values, found = acc.load_max(abs=ABS)
    gl.store(c + offsets(M, N, N, layout), gl.convert_layout(values, layout))
    row: gl.constexpr = gl.SliceLayout(1, layout)
    gl.store(maxima + gl.arange(0, M, layout=row), gl.convert_layout(found, row))


# Attention: one part loads, one multiplies, one has the softmax, one corrects what is summed.


@gluon.jit
def attention_load(q, k, v, out, memories, bars, steps, STAGES: gl.constexpr, scale):
    q_shared, k_shared, v_shared, scores, weights, sums = memories
    q_full, kv_full, kv_empty, s_full, p_full, o_done, o_ready = bars
    head = gl.program_id(1) * k.shape[0]
    mbarrier.expect(q_full.index(0), q.block_type.nbytes)
    tma.async_load(q, [gl.program_id(0) * q.block_type.shape[0], 0], q_full.index(0), q_shared)
    for i in range(steps):
        slot = i % STAGES
        mbarrier.wait(kv_empty.index(slot), i // STAGES & 1 ^ 1)
        mbarrier.expect(kv_full.index(slot), k.block_type.nbytes + v.block_type.nbytes)
        tma.async_load(k, [head + i * k.block_type.shape[0], 0], kv_full.index(slot), k_shared.index(slot))
        tma.async_load(v, [head + i * v.block_type.shape[0], 0], kv_full.index(slot), v_shared.index(slot))


@gluon.jit
def attention_multiply(q, k, v, out, memories, bars, steps, STAGES: gl.constexpr, scale):
    q_shared, k_shared, v_shared, scores, weights, sums = memories
    q_full, kv_full, kv_empty, s_full, p_full, o_done, o_ready = bars
    mbarrier.wait(q_full.index(0), 0)
    for i in range(steps):
        slot = i % STAGES
        mbarrier.wait(kv_full.index(slot), i // STAGES & 1)
        tcgen05_mma(q_shared, k_shared.index(slot).permute((1, 0)), scores, use_acc=False, mbarriers=[s_full.index(0)])
        mbarrier.wait(p_full.index(0), i & 1)
        tcgen05_mma(weights, v_shared.index(slot), sums, use_acc=i > 0, mbarriers=[kv_empty.index(slot), o_done.index(0)])
    tcgen05_commit(o_ready.index(0))


@gluon.jit
def attention_softmax(q, k, v, out, memories, bars, steps, STAGES: gl.constexpr, scale):
    q_shared, k_shared, v_shared, scores, weights, sums = memories
    q_full, kv_full, kv_empty, s_full, p_full, o_done, o_ready = bars
    M: gl.constexpr = q.block_type.shape[0]
    N: gl.constexpr = k.block_type.shape[0]
    s_layout: gl.constexpr = scores.get_reg_layout()
    o_layout: gl.constexpr = sums.get_reg_layout()
    row: gl.constexpr = gl.SliceLayout(1, s_layout)
    maximum = gl.full([M], -float("inf"), gl.float32, row)
    total = gl.full([M], 0.0, gl.float32, row)
    for i in range(steps):
        mbarrier.wait(s_full.index(0), i & 1)
        values = scores.load(s_layout) * scale
        larger = gl.maximum(maximum, gl.max(values, 1))
        factor = gl.exp2(maximum - larger)
        probability = gl.exp2(values - larger[:, None])
        total = total * factor + gl.sum(probability, 1)
        maximum = larger
        if i > 0:
            mbarrier.wait(o_done.index(0), i & 1 ^ 1)
            kept = sums.load(o_layout)
            sums.store(kept * gl.convert_layout(factor, gl.SliceLayout(1, o_layout))[:, None])
        weights.store(gl.convert_layout(probability.to(q.dtype), weights.get_reg_layout()))
        mbarrier.arrive(p_full.index(0), count=1)
    mbarrier.wait(o_ready.index(0), 0)
    result = sums.load(o_layout) / gl.convert_layout(total, gl.SliceLayout(1, o_layout))[:, None]
    q_shared.store(result.to(q.dtype))
    fence_async_shared()
    tma.async_store(out, [gl.program_id(0) * M, 0], q_shared)
    tma.store_wait(0)


@gluon.jit
def attention(q, k, v, out, scale, SHARED: gl.constexpr, STAGES: gl.constexpr):
    M: gl.constexpr = q.block_type.shape[0]
    D: gl.constexpr = q.block_type.shape[1]
    N: gl.constexpr = k.block_type.shape[0]
    q_shared = gl.allocate_shared_memory(q.dtype, [M, D], q.layout)
    k_shared = gl.allocate_shared_memory(q.dtype, [STAGES, N, D], k.layout)
    v_shared = gl.allocate_shared_memory(q.dtype, [STAGES, N, D], v.layout)
    scores = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    if SHARED:
        # The weights lie where the scores lay.
        weights = scores.slice(0, N // 2).reinterpret(q.dtype, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    else:
        weights = allocate_tensor_memory(q.dtype, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    sums = allocate_tensor_memory(gl.float32, [M, D], TensorMemoryLayout([M, D], col_stride=1))
    bars = (barriers(1, 1), barriers(STAGES, 1), barriers(STAGES, 1), barriers(1, 1), barriers(1, 1), barriers(1, 1), barriers(1, 1))
    memories = (q_shared, k_shared, v_shared, scores, weights, sums)
    args = (q, k, v, out, memories, bars, k.shape[0] // N, STAGES, scale)
    gl.warp_specialize([(attention_softmax, args), (attention_load, args), (attention_multiply, args)], [1, 1], [24, 24])


# A pair of CTAs.


@gluon.jit
def pair(a, b, c, STAGES: gl.constexpr, MULTICAST: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[1]
    a_buffers = gl.allocate_shared_memory(a.dtype, [STAGES, M, K], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, K, N], b.layout)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    full = mbarrier.allocate_mbarrier(batch=STAGES, two_ctas=True)
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    acc = allocate_tensor_memory(
        gl.float32, [M, N], TensorMemoryLayout([M // 2, N], col_stride=1, cga_layout=[[1, 0]], two_ctas=True)
    )
    cluster.barrier(relaxed=True)
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    steps = gl.cdiv(a.shape[1], K)
    phase = 0
    for step in range(steps):
        slot = step % STAGES
        mbarrier.expect(full.index(slot), (a.block_type.nbytes + b.block_type.nbytes) // 2)
        tma.async_load(a, [row, step * K], full.index(slot), a_buffers.index(slot))
        tma.async_load(b, [step * K, column], full.index(slot), b_buffers.index(slot))
        mbarrier.wait(full.index(slot), step // STAGES & 1, deps=[a_buffers.index(slot), b_buffers.index(slot)])
        tcgen05_mma(a_buffers.index(slot), b_buffers.index(slot), acc, use_acc=step > 0, mbarriers=[empty.index(slot)])
        mbarrier.wait(empty.index(slot), step // STAGES & 1)
    c_shared = gl.allocate_shared_memory(c.dtype, [M, N], c.layout)
    c_shared.store(acc.load().to(c.dtype))
    fence_async_shared()
    tma.async_store(c, [row, column], c_shared)
    tma.store_wait(0)


# Tiles that the hardware hands out.


@gluon.jit
def handed_out(a, b, c, columns):
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    N: gl.constexpr = b.block_type.shape[0]
    a_shared = gl.allocate_shared_memory(a.dtype, [M, K], a.layout)
    b_shared = gl.allocate_shared_memory(b.dtype, [N, K], b.layout)
    c_shared = gl.allocate_shared_memory(c.dtype, [M, N], c.layout)
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bars = barriers(3, 1)
    acc = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    number = gl.program_id(0)
    goes_on = True
    turn = 0
    count = 0
    while goes_on:
        mbarrier.expect(bars.index(2), 16)
        clc.try_cancel(answer, bars.index(2))
        row, column = number // columns * M, number % columns * N
        use_acc = False
        for k in range(0, a.shape[1], K):
            mbarrier.expect(bars.index(0), a.block_type.nbytes + b.block_type.nbytes)
            tma.async_load(a, [row, k], bars.index(0), a_shared)
            tma.async_load(b, [column, k], bars.index(0), b_shared)
            mbarrier.wait(bars.index(0), count & 1)
            tcgen05_mma(a_shared, b_shared.permute((1, 0)), acc, use_acc=use_acc, mbarriers=[bars.index(1)])
            mbarrier.wait(bars.index(1), count & 1)
            use_acc = True
            count += 1
        tma.store_wait(0)
        c_shared.store(acc.load().to(c.dtype))
        fence_async_shared()
        tma.async_store(c, [row, column], c_shared)
        mbarrier.wait(bars.index(2), turn & 1)
        found = clc.load_result(answer)
        goes_on = found.is_canceled()
        number = found.program_id(0)
        turn += 1
    tma.store_wait(0)


BRAIN, HALF, EIGHT, SINGLE = torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float32
KINDS = {BRAIN: gl.bfloat16, HALF: gl.float16, EIGHT: gl.float8e4nv, SINGLE: gl.float32}


def tensor(*shape, dtype=BRAIN):
    return torch.zeros(shape, dtype=SINGLE).to(dtype)


def described(matrix, block, **options):
    layout = gl.NVMMASharedLayout.get_default_for(block, KINDS[matrix.dtype], **options)
    return TensorDescriptor.from_tensor(matrix, block, layout)


def tiles():
    for dtype, m, n, k, warps in (
        (BRAIN, 128, 128, 64, 4), (HALF, 64, 32, 64, 4), (EIGHT, 128, 256, 128, 4),
        (BRAIN, 128, 16, 16, 4), (BRAIN, 128, 128, 64, 8), (HALF, 256, 64, 64, 8), (BRAIN, 64, 256, 128, 8),
    ):  # fmt: skip
        for memory in (False, True):
            for start in (False, True):
                with case(f"tile_{dtype}_{m}_{n}_{k}_{warps}_{memory}_{start}"):
                    tile[(1,)](
                        tensor(m, 4 * k, dtype=dtype), tensor(4 * k, n, dtype=dtype), tensor(m, n, dtype=SINGLE), m, n, k, 4, memory, start,
                        num_warps=warps,
                    )  # fmt: skip


def matrices():
    size = 1024
    for dtype, m, n, k, stages in ((BRAIN, 128, 256, 64, 4), (HALF, 128, 64, 128, 3), (EIGHT, 128, 128, 128, 2), (BRAIN, 64, 128, 64, 4), (SINGLE, 128, 128, 32, 3)):
        a, b, c = (tensor(size, size, dtype=it) for it in (dtype, dtype, HALF))
        operands = described(a, [m, k]), described(b, [n, k])
        for warps in (4, 8):
            with case(f"pipelined_{dtype}_{m}_{n}_{stages}_{warps}"):
                pipelined[(8, 8)](*operands, described(c, [m, n]), stages, num_warps=warps)
            for accumulators in (1, 2):
                with case(f"specialized_{dtype}_{m}_{n}_{stages}_{warps}_{accumulators}"):
                    specialized[(148,)](*operands, described(c, [m, n // 2]), accumulators, stages, num_warps=warps, maxnreg=128)
        with case(f"handed_out_{dtype}_{m}_{n}"):
            handed_out[(64,)](*operands, described(c, [m, n]), size // n)


def factors():
    byte = torch.uint8
    for name, a, b, size, scale in (
        ("mxfp8", "e4m3", "e4m3", 32, byte), ("mxfp8_5", "e5m2", "e4m3", 32, byte), ("mxfp4", "e2m1", "e2m1", 32, byte),
        ("nvfp4", "e2m1", "e2m1", 16, EIGHT), ("mixed", "e4m3", "e2m1", 32, byte),
    ):  # fmt: skip
        for n in (128, 256):
            for was_copied in (False, True):
                with case(f"scaled_{name}_{n}_{was_copied}"):
                    types = {"e4m3": EIGHT, "e5m2": torch.float8_e5m2, "e2m1": byte}
                    scaled[(1,)](
                        tensor(128, 128, dtype=types[a]), tensor(n, 128, dtype=types[b]), tensor(128, 8, dtype=scale), tensor(n, 8, dtype=scale),
                        tensor(128, n, dtype=SINGLE), 128, n, 128, a, b, size, was_copied,
                    )  # fmt: skip


def others():
    for n in (32, 64, 128):
        with case(f"copied_{n}"):
            copied[(1,)](tensor(128, n, dtype=SINGLE), tensor(128, n, dtype=SINGLE), 128, n)
    if ARCH != "sm_100a":
        for absolute in (False, True):
            with case(f"row_maximum_{absolute}"):
                row_maximum[(1,)](
                    tensor(128, 64), tensor(64, 128), tensor(128, 128, dtype=SINGLE), tensor(128, dtype=SINGLE), 128, 128, 64, absolute
                )
    for dim, keys, is_shared in ((64, 128, False), (128, 128, False), (64, 64, True), (128, 128, True)):
        for warps in (4, 8):
            with case(f"attention_{dim}_{keys}_{is_shared}_{warps}"):
                q, k, v, out = (tensor(1024, dim) for _ in range(4))
                attention[(8, 1)](
                    described(q, [128, dim]), described(k, [keys, dim]), described(v, [keys, dim]), described(out, [128, dim]), 0.1, is_shared,
                    2, num_warps=warps, maxnreg=128,
                )  # fmt: skip
    for n, stages in ((64, 2), (128, 3), (256, 2)):
        with case(f"pair_{n}_{stages}"):
            a, b, c = (tensor(1024, 1024) for _ in range(3))
            rows, columns = ((1, 0),), ((0, 1),)
            pair[(4, 4)](
                described(a, [256, 64], cga_layout=rows), described(b, [64, n], cga_layout=columns), described(c, [256, n], cga_layout=rows),
                stages, False, num_warps=4, num_ctas=2,
            )  # fmt: skip


if __name__ == "__main__":
    tiles()
    matrices()
    factors()
    others()
