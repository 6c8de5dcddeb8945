"""The kernels of flash-linear-attention, compiled by calling its operations, forward and backward."""

import os
import sys

from pretend import case, torch_on_a_gpu, triton_without_launch

sys.modules["tilelang"] = None  # It has kernels of its own.
torch = torch_on_a_gpu()
triton_without_launch(every_configuration=2)

import torch.nn.functional as F

B, T, H, D = 2, 512, 4, 128


def tensor(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, dtype=dtype, device="cuda").requires_grad_()


def gate(*shape):
    return F.logsigmoid(torch.randn(*shape, dtype=torch.float32, device="cuda")).requires_grad_()


def both(name, function, *args, **kwargs):
    with case(name):
        out = function(*args, **kwargs)
        out = out[0] if isinstance(out, tuple) else out
        with case(f"{name}_backward"):
            out.backward(torch.ones_like(out))


def qkv(d=D, dv=None):
    return tensor(B, T, H, d), tensor(B, T, H, d), tensor(B, T, H, dv or d)


def operations():
    from fla.ops.attn import parallel_attn
    from fla.ops.forgetting_attn import parallel_forgetting_attn
    from fla.ops.delta_rule import chunk_delta_rule
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    from fla.ops.generalized_delta_rule import chunk_dplr_delta_rule
    from fla.ops.gla import chunk_gla
    from fla.ops.gsa import chunk_gsa
    from fla.ops.kda import chunk_kda
    from fla.ops.lightning_attn import chunk_lightning_attn
    from fla.ops.linear_attn import chunk_linear_attn
    from fla.ops.retention import chunk_retention, parallel_retention
    from fla.ops.rwkv6 import chunk_rwkv6
    from fla.ops.rwkv7 import chunk_rwkv7
    from fla.ops.simple_gla import chunk_simple_gla, parallel_simple_gla

    def beta():
        return torch.rand(B, T, H, dtype=torch.bfloat16, device="cuda").requires_grad_()

    yield "parallel_attn", parallel_attn, qkv()
    yield "forgetting_attn", parallel_forgetting_attn, (*qkv(), gate(B, T, H))
    yield "retention", chunk_retention, qkv()
    yield "retention_256", chunk_retention, qkv(256)
    yield "parallel_retention", parallel_retention, qkv()
    yield "simple_gla", chunk_simple_gla, (*qkv(), gate(B, T, H))
    yield "parallel_simple_gla", parallel_simple_gla, (*qkv(), gate(B, T, H))
    yield "linear_attn", chunk_linear_attn, qkv()
    yield "gla", chunk_gla, (*qkv(), gate(B, T, H, D))
    yield "delta_rule", chunk_delta_rule, (*qkv(), beta())
    yield "gated_delta_rule", chunk_gated_delta_rule, (*qkv(), gate(B, T, H), beta())
    yield "kda", chunk_kda, (*qkv(), gate(B, T, H, D), beta())
    yield "gsa", chunk_gsa, (*qkv(), tensor(B, T, H, 64), gate(B, T, H, 64))
    yield "dplr", chunk_dplr_delta_rule, (*qkv(64), tensor(B, T, H, 64), tensor(B, T, H, 64), gate(B, T, H, 64))
    yield "rwkv6", chunk_rwkv6, (*qkv(64), gate(B, T, H, 64), tensor(H, 64))
    yield "rwkv7", chunk_rwkv7, (tensor(B, T, H, 64), gate(B, T, H, 64), *(tensor(B, T, H, 64) for _ in range(4)))


only = os.environ.get("CORPUS_ONLY", "")
for name, function, args in operations():
    if only in name:
        both(name, function, *args)
