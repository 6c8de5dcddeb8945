"""The kernels of cuDNN's frontend that are in CuTe DSL."""

from pretend import case, cute_without_launch, torch_on_a_gpu

torch = torch_on_a_gpu()
cute_without_launch()

BRAIN, EIGHT, FOUR = torch.bfloat16, torch.float8_e4m3fn, torch.float4_e2m1fn_x2
E8M0 = torch.float8_e8m0fnu
M, N, K = 512, 512, 512


def major(rows, columns, dtype=BRAIN):
    """A matrix with a third dimension of one, whose columns are next to each other."""
    if dtype is FOUR:
        return torch.zeros(1, rows, columns // 2, dtype=torch.uint8).view(FOUR).permute(1, 2, 0)
    return torch.zeros(1, rows, columns).to(dtype).permute(1, 2, 0)


def factors(rows, columns, size, dtype):
    shape = (1, -(-rows // 128), -(-columns // size // 4), 32, 4, 4)
    return torch.zeros(shape, dtype=torch.uint8).view(dtype).permute(3, 4, 1, 5, 2, 0)


def dense():
    from cudnn.gemm.cutedsl.dense.amax.api import gemm_amax_wrapper_sm100
    from cudnn.gemm.cutedsl.dense.dsrelu.api import gemm_dsrelu_wrapper_sm100
    from cudnn.gemm.cutedsl.dense.srelu.api import gemm_srelu_wrapper_sm100
    from cudnn.gemm.cutedsl.dense.swiglu.api import gemm_swiglu_wrapper_sm100

    for tile, cluster in [((128, 128), (1, 1)), ((256, 128), (2, 1)), ((256, 256), (2, 1)), ((128, 256), (1, 2))]:
        with case(f"swiglu_{tile}"):
            gemm_swiglu_wrapper_sm100(major(M, K), major(N, K), mma_tiler_mn=tile, cluster_shape_mn=cluster)
        for name, dtype, size, scale in (("mxfp8", EIGHT, 32, E8M0), ("nvfp4", FOUR, 16, EIGHT)):
            operands = (major(M, K, dtype), major(N, K, dtype))
            scales = (factors(M, K, size, scale), factors(N, K, size, scale))
            prob = torch.ones(M, 1, 1)
            with case(f"amax_{name}_{tile}"):
                gemm_amax_wrapper_sm100(*operands, *scales, mma_tiler_mn=tile, cluster_shape_mn=cluster, sf_vec_size=size)
            with case(f"swiglu_{name}_{tile}"):
                gemm_swiglu_wrapper_sm100(
                    *operands, sfa_tensor=scales[0], sfb_tensor=scales[1], mma_tiler_mn=tile, cluster_shape_mn=cluster,
                    sf_vec_size=size, ab12_dtype=BRAIN, c_dtype=BRAIN,
                )  # fmt: skip
            with case(f"srelu_{name}_{tile}"):
                gemm_srelu_wrapper_sm100(*operands, *scales, prob, mma_tiler_mn=tile, cluster_shape_mn=cluster, sf_vec_size=size)
            with case(f"dsrelu_{name}_{tile}"):
                gemm_dsrelu_wrapper_sm100(
                    *operands, major(M, N), *scales, prob, mma_tiler_mn=tile, cluster_shape_mn=cluster, sf_vec_size=size
                )


if __name__ == "__main__":
    dense()
