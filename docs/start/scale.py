import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * 2, mask=at < n)


source = ASTSource(scale, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 256})
kernel = triton.compile(source, target=GPUTarget("cuda", 100, 32))
open("scale.ptx", "w").write(kernel.asm["ptx"])
