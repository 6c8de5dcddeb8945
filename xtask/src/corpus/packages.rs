//! The packages that are read, and what is done with each.

/// A package of the Python package index.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What is of interest in it.
    pub(crate) contents: Contents,
    /// What its PTX is about, for the report.
    pub(crate) about: &'static str,
}

/// What is of interest in a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Sources with PTX in their assembly.
    Sources,
}

impl Package {
    /// Where it lies when it is unpacked.
    pub(crate) fn directory(&self) -> String {
        self.name.replace('-', "_")
    }
}

const fn sources(name: &'static str, version: &'static str, about: &'static str) -> Package {
    Package { name, version, contents: Contents::Sources, about }
}

/// In the order of the report: what NVIDIA ships, then what is built on it.
pub(crate) const PACKAGES: &[Package] = &[
    sources("nvidia-cuda-cccl", "13.3.5.0.6", "`cuda::ptx`, CUB, libcu++"),
    sources("nvidia-cuda-runtime", "13.5.37", "the headers of the runtime"),
    sources("nvidia-cutlass", "4.2.0.0", "CUTLASS and CuTe"),
    sources("nvidia-cutlass-dsl-libs-core", "4.8.1", "CuTe DSL"),
    sources("nvidia-nvshmem-cu13", "3.8.0", "NVSHMEM's device side"),
    sources("nvidia-cudnn-frontend", "1.32.0", "cuDNN's kernels in CuTe DSL"),
    sources("numba-cuda", "0.30.4", "CUDA in Python, compiled by Numba"),
    sources("cuda-tile", "1.7.0", "CUDA Tile"),
    sources("warp-lang", "1.19.0", "Warp"),
    sources("nvmath-python", "1.0.0", "NVIDIA's mathematical libraries from Python"),
    sources("transformer-engine-cu12", "2.20.2", "Transformer Engine"),
    sources("cupy-cuda13x", "14.2.0", "CuPy, with kernels in strings"),
    sources("triton", "3.9.0", "Triton and Gluon"),
    sources("jax", "0.10.2", "Pallas and Mosaic GPU"),
    sources("helion", "1.5.1", "kernels in Triton"),
    sources("liger-kernel", "0.8.5", "kernels in Triton"),
    sources("flash-linear-attention", "0.6.0", "kernels in Triton"),
    sources("tilus", "0.2.0", "a tile language"),
    sources("hidet", "0.6.1", "a compiler of kernels"),
    sources("tilelang", "0.1.15", "a tile language, with CUTLASS"),
    sources("flashinfer-python", "0.7.2.post1", "kernels of inference, with CUTLASS and TensorRT-LLM"),
    sources("flash-attn-4", "4.0.0b36", "FlashAttention in CuTe DSL"),
    sources("quack-kernels", "0.6.5", "kernels in CuTe DSL"),
    sources("sgl-kernel", "0.3.21", "SGLang's kernels, with DeepGEMM"),
    sources("sglang", "0.5.23", "SGLang"),
    sources("vllm", "0.33.0", "vLLM, with DeepGEMM"),
    sources("exllamav3", "1.6.5", "ExLlama"),
    sources("torchao", "0.18.0", "kernels of quantized models"),
];
