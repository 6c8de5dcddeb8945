"""FlashAttention 4."""

import itertools
import os

os.environ["FLASH_ATTENTION_ARCH"] = os.environ.get("CORPUS_ARCH", "sm_100a")

from pretend import ARCH, case, cute_without_launch, torch_on_a_gpu

torch = torch_on_a_gpu()
cute_without_launch()

from flash_attn.cute import interface
from torch._subclasses.fake_tensor import FakeTensorMode

HALF, BRAIN, EIGHT = torch.float16, torch.bfloat16, torch.float8_e4m3fn


def tensor(*shape, dtype=BRAIN):
    return torch.empty(shape, dtype=dtype, device="cuda")


def forward(name, heads=8, groups=1, dim=128, dim_v=None, length=512, length_k=1024, dtype=BRAIN, **options):
    with case(f"forward_{name}"), FakeTensorMode():
        q = tensor(2, length, heads, dim, dtype=dtype)
        k = tensor(2, length_k, heads // groups, dim, dtype=dtype)
        v = tensor(2, length_k, heads // groups, dim_v or dim, dtype=dtype)
        interface._flash_attn_fwd(q, k, v, **options)


def backward(name, heads=8, groups=1, dim=128, dim_v=None, length=512, dtype=BRAIN, **options):
    with case(f"backward_{name}"), FakeTensorMode():
        q = tensor(2, length, heads, dim, dtype=dtype)
        k = tensor(2, length, heads // groups, dim, dtype=dtype)
        v = tensor(2, length, heads // groups, dim_v or dim, dtype=dtype)
        out = tensor(2, length, heads, dim_v or dim, dtype=dtype)
        lse = tensor(2, heads, length, dtype=torch.float32)
        interface._flash_attn_bwd(q, k, v, out, tensor(*out.shape, dtype=dtype), lse, **options)


if __name__ == "__main__":
    forward("plain")
    forward("causal", causal=True)
    forward("half_64", dim=64, dtype=HALF)
    forward("96", dim=96, causal=True)
    forward("groups", groups=4, causal=True)
    forward("packed", groups=8, causal=True, pack_gqa=True)
    forward("192_128", dim=192, dim_v=128, causal=True)
    forward("256", dim=256)
    forward("window", window_size_left=128, window_size_right=0)
    forward("softcap", softcap=30.0)
    forward("splits", length=64, length_k=8192, num_splits=4)
    forward("eight", dtype=EIGHT)
    forward("short", length=64)
    backward("plain")
    backward("causal", causal=True)
    backward("half_64", dim=64, dtype=HALF)
    backward("groups", groups=4, causal=True)
    backward("deterministic", causal=True, deterministic=True)
    backward("192_128", dim=192, dim_v=128, causal=True)
    backward("window", window_size_left=128, window_size_right=0)
    backward("256", dim=256, causal=True)
