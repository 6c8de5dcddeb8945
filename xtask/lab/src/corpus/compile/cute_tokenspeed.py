"""Multi-head latent attention of tokenspeed-mla."""

import sys

from pretend import case, cute_without_launch, torch_on_a_gpu, triton_without_launch

torch = torch_on_a_gpu()
sys.modules["tokenspeed_triton"] = triton_without_launch()  # A copy under another name.
sys.modules["tokenspeed_triton.language"] = sys.modules["triton.language"]
cute_without_launch()

import tokenspeed_mla

BRAIN, EIGHT = torch.bfloat16, torch.float8_e4m3fn


def tensor(*shape, dtype=BRAIN):
    return torch.zeros(shape, dtype=torch.float32).to(dtype)


for dtype in (BRAIN, EIGHT):
    for causal in (True, False):
        for lse in (True, False):
            with case(f"prefill_{dtype}_{causal}_{lse}"):
                lengths = torch.tensor([512, 512], dtype=torch.int32)
                starts = torch.tensor([0, 512, 1024], dtype=torch.int32)
                tokenspeed_mla.tokenspeed_mla_prefill(
                    tensor(1024, 16, 192, dtype=dtype), tensor(1024, 16, 192, dtype=dtype), tensor(1024, 16, 128, dtype=dtype),
                    lengths, starts, 512, 2, 0.1, is_causal=causal, return_lse=lse,
                )  # fmt: skip
    for heads in (128, 64, 32, 16):
        for queries in (1, 2, 4):
            for page in (32, 64, 128):
                with case(f"decode_{dtype}_{heads}_{queries}_{page}"):
                    pages = 2048 // page
                    tokenspeed_mla.tokenspeed_mla_decode(
                        tensor(4, queries, heads, 576, dtype=dtype), tensor(4 * pages, page, 576, dtype=dtype),
                        torch.zeros(256 << 20, dtype=torch.int8), 512, 64,
                        torch.zeros(4, pages, dtype=torch.int32), torch.full((4,), 2048, dtype=torch.int32), 2048, 0.1,
                    )  # fmt: skip
