"""Linear attention of kernel-fun, forward and backward, in CuTe DSL and Triton."""

import sys

from pretend import case, cute_without_launch, torch_on_a_gpu, triton_without_launch

sys.modules["tilelang"] = None  # It has kernels of its own.
torch = torch_on_a_gpu()
triton_without_launch(every_configuration=2)
cute_without_launch()

import torch.nn.functional as F
from kernel_fun.kda import ops

B, H = 4, 32
for length, dim_v, groups in ((1024, 128, 1), (1024, 256, 1), (1024, 128, 2)):
    with case(f"kda_{length}_{dim_v}_{groups}"):
        q, k = (torch.randn(B, length, H, 128).to(torch.bfloat16).requires_grad_() for _ in range(2))
        v = torch.randn(B, length, H * groups, dim_v).to(torch.bfloat16).requires_grad_()
        gate = F.logsigmoid(torch.randn(B, length, H * groups, 128)).requires_grad_()
        beta = torch.rand(B, length, H * groups).to(torch.bfloat16).requires_grad_()
        out, _ = ops.chunk_kda(q, k, v, gate, beta, use_qk_l2norm_in_kernel=True)
        with case(f"kda_backward_{length}_{dim_v}_{groups}"):
            out.backward(torch.ones_like(out))
