"""Linear and sparse attention of attn-gym, forward and backward, in CuTe DSL and Triton."""

from pretend import case, cute_without_launch, torch_on_a_gpu, triton_without_launch

torch = torch_on_a_gpu()
triton_without_launch(every_configuration=2)
cute_without_launch()

import torch.nn.functional as F
from attn_gym.linear.gdn import api as gdn
from attn_gym.linear.kda import api as kda
from attn_gym.sparse.gather_attn import api as gather
from attn_gym.sparse.indexer import api as indexer


def tensor(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()


def both(name, function, *args, **kwargs):
    with case(name):
        out = function(*args, **kwargs)
        out = out[0] if isinstance(out, tuple) else out
        with case(f"{name}_backward"):
            out.backward(torch.ones_like(out))


B, T, H, D = 1, 1024, 4, 128
for final in (False, True):
    q, k, v = (tensor(B, T, H, D) for _ in range(3))
    beta = torch.rand(B, T, H, device="cuda").requires_grad_()
    decay = F.logsigmoid(torch.randn(B, T, H, D, device="cuda")).requires_grad_()
    decay_of_head = F.logsigmoid(torch.randn(B, T, H, device="cuda")).requires_grad_()
    state = torch.randn(B, H, D, D, device="cuda").requires_grad_() if final else None
    both(f"kda_{final}", kda.chunk_kda, q, k, v, decay, beta, state, output_final_state=final, autotune=False)
    both(f"gdn_{final}", gdn.chunk_gdn, q, k, v, decay_of_head, beta, state, output_final_state=final)
for dim in (64, 128):
    for causal in (False, True):
        with case(f"indexer_{dim}_{causal}"):
            q, k = tensor(1, 2048, 32, dim), tensor(1, 2048, dim)
            indexer.lightning_indexer(q, k, tensor(1, 2048, 32), 512, causal=causal)
for backend in ("cute", "triton"):
    index = torch.randint(0, 512, (1, 512, 128), dtype=torch.int32)
    both(
        f"gather_{backend}", gather.gather_attn, tensor(1, 64, 512, 512), tensor(1, 1, 512, 512), tensor(1, 1, 512, 512), index,
        sliding_window_size=128, kernel_options={"backend": backend},
    )  # fmt: skip
