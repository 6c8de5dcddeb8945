"""The matrix multiplications of quack."""

from pretend import case, cute_without_launch, torch_on_a_gpu

torch = torch_on_a_gpu()
cute_without_launch()

from quack import gemm_interface
from quack.gemm_config import GemmConfig

M, N, K = 1024, 2048, 512


def tensor(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


def config(m, n, cluster=(1, 1), **options):
    return GemmConfig(
        tile_m=m, tile_n=n, cluster_m=cluster[0], cluster_n=cluster[1], pingpong=False, device_capacity=10,
        max_swizzle_size=8, **options,
    )  # fmt: skip


TILES = [
    (128, 64, (1, 1)), (128, 128, (1, 1)), (128, 256, (1, 2)), (128, 160, (2, 1)), (256, 128, (2, 1)),
    (256, 192, (2, 1)), (256, 256, (2, 1)), (256, 224, (2, 2)), (256, 512, (2, 1)), (128, 32, (1, 1)),
]  # fmt: skip


def plain(a, b, out, configuration, **options):
    gemm_interface.gemm_tuned.fn(a, b, out, config=configuration, **options)


for m, n, cluster in TILES:
    with case(f"gemm_{m}_{n}_{cluster}"):
        plain(tensor(M, K), tensor(K, N), tensor(M, N), config(m, n, cluster))
for dtype in (torch.float16, torch.float8_e4m3fn, torch.float32):
    with case(f"gemm_{dtype}"):
        plain(tensor(M, K, dtype=dtype), tensor(N, K, dtype=dtype).T, tensor(M, N), config(256, 128, (2, 1)))
with case("gemm_static"):
    plain(tensor(M, K), tensor(K, N), tensor(M, N), config(256, 256, (2, 1), is_dynamic_persistent=False))
with case("gemm_swapped"):
    plain(tensor(M, K), tensor(K, N), tensor(M, N), config(128, 128, (1, 1), swap_ab=True))
with case("gemm_added"):
    plain(tensor(M, K), tensor(K, N), tensor(M, N), config(256, 256, (2, 1)), C=tensor(M, N), alpha=2.0, beta=0.5)
with case("gemm_bias"):
    plain(tensor(M, K), tensor(K, N), tensor(M, N), config(128, 256, (2, 1)), bias=tensor(N))
with case("gemm_groups"):
    starts = torch.tensor([0, 300, 1024], dtype=torch.int32)
    plain(tensor(M, K), tensor(2, K, N), tensor(M, N), config(256, 128, (2, 1)), cu_seqlens_m=starts)
with case("gemm_groups_k"):
    starts = torch.tensor([0, 200, 512], dtype=torch.int32)
    plain(tensor(K, M).T, tensor(K, N), tensor(2, M, N), config(256, 128, (2, 1)), cu_seqlens_k=starts)
with case("gemm_gathered"):
    starts = torch.tensor([0, 300, 1024], dtype=torch.int32)
    index = torch.arange(M, dtype=torch.int32)
    plain(tensor(M, K), tensor(2, K, N), tensor(M, N), config(128, 128, (1, 1)), cu_seqlens_m=starts, A_idx=index)
for activation in ("relu", "gelu_tanh_approx", "swiglu", "geglu"):
    for m, n in ((256, 256), (128, 128)):
        with case(f"act_{activation}_{m}"):
            chosen = config(m, n, (m // 128, 1))
            gemm_interface.gemm_act(tensor(M, K), tensor(K, N), activation=activation, config=chosen, tuned=False)
for activation in ("relu", "swiglu"):
    with case(f"dact_{activation}"):
        width = 2 * N if activation == "swiglu" else N
        gemm_interface.gemm_dact(
            tensor(M, K), tensor(K, N), tensor(M, width), activation=activation, config=config(256, 128, (2, 1)), tuned=False
        )
with case("symmetric"):
    gemm_interface.gemm_symmetric(tensor(M, K), tensor(K, M))
with case("norm_act"):
    gemm_interface.gemm_norm_act(
        tensor(M, K), tensor(K, N), tensor(M, dtype=torch.float32), activation="relu", config=config(256, 128, (2, 1)), tuned=False
    )
