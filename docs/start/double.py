import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def double(x: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    i = b * 128 + t
    if i < n:
        x[i] = x[i] * 2.0


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    double(x, n).launch(grid=[(n + 127) // 128, 1, 1], block=[128, 1, 1])


x = make_fake_compact_tensor(cutlass.Float32, (cute.sym_int(),))
cute.compile(host, x, cutlass.Int32(0), options="--keep-ptx --gpu-arch sm_100a --dump-dir=.")
