"""The kernels that Meta's Triton ships: written with its extensions, or specialised by its compiler."""

import importlib.util
import pathlib

from pretend import case, torch_on_a_gpu, triton_without_launch

torch = torch_on_a_gpu()
triton = triton_without_launch(every_configuration=2)

HOME = pathlib.Path(triton.__file__).parent / "language/extra/tlx/tutorials"


def module(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), HOME / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def tensor(*shape, dtype=torch.bfloat16, grad=False):
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


for name in ("blackwell_gemm_ws", "blackwell_gemm_clc", "blackwell_gemm_pipelined", "blackwell_gemm_2cta"):
    for dtype in (torch.float16, torch.bfloat16):
        with case(f"{name}_{dtype}"):
            module(name).matmul(tensor(4096, 4096, dtype=dtype), tensor(4096, 4096, dtype=dtype))
with case("blackwell_gemm_ws_columns"):
    module("blackwell_gemm_ws").matmul(tensor(4096, 1024).T.contiguous().T, tensor(2048, 1024).T)
for m, n, k in ((8192, 8192, 1024), (256, 16384, 4096), (1024, 256, 16384), (512, 512, 512)):
    with case(f"blackwell_gemm_ws_heuristic_{m}_{n}_{k}"):
        found = module("blackwell_gemm_ws")
        found.matmul(tensor(m, k), tensor(k, n), found.get_heuristic_config(m, n, k))

for name in (
    "blackwell_fa_ws", "blackwell_fa_ws_persistent", "blackwell_fa_ws_pipelined", "blackwell_fa_ws_pipelined_persistent", "blackwell_fa_clc",
):  # fmt: skip
    for dim in (64, 128):
        for causal in (False, True):
            if name == "blackwell_fa_ws" and causal:
                continue
            with case(f"{name}_{dim}_{causal}"):
                q, k, v = (tensor(1, 4, 1024, dim, dtype=torch.float16, grad=True) for _ in range(3))
                arguments = (0.5,) if name == "blackwell_fa_ws" else (0.5, causal)
                out = module(name).attention(q, k, v, *arguments)
                if name == "blackwell_fa_ws_pipelined_persistent":
                    with case(f"{name}_{dim}_{causal}_backward"):
                        out.backward(torch.ones_like(out))

# What its compiler specialises by itself.
for name in ("fused_attention_ws_device_tma", "fused_attention_ws_device_tma_dp"):
    for causal in (False, True):
        for variant in ("ws", "ws_persistent"):
            with case(f"{name}_{causal}_{variant}"):
                q, k, v = (tensor(1, 4, 1024, 128, dtype=torch.float16, grad=True) for _ in range(3))
                found = module(name)
                more = (False, 0, False) if name.endswith("tma") else ()
                out = found._attention_opt.apply(q, k, v, causal, 0.5, variant, *more)
                if name == "fused_attention_ws_device_tma":
                    with case(f"{name}_{causal}_{variant}_backward"):
                        out.backward(torch.ones_like(out))
