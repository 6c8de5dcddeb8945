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

/// A package whose kernels are compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What compiles its kernels, for the report.
    pub(crate) about: &'static str,
    /// The driver, a file of `compile`, and the architectures that it compiles for.
    pub(crate) driver: &'static str,
    pub(crate) architectures: &'static [&'static str],
    /// Packages that are put before those of the environment, which has them in another version or not at all.
    pub(crate) beside: &'static [&'static str],
}

const fn compiled(
    name: &'static str,
    version: &'static str,
    about: &'static str,
    driver: &'static str,
    architectures: &'static [&'static str],
) -> Compiled {
    Compiled { name, version, about, driver, architectures, beside: &[] }
}

impl Compiled {
    const fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }
}

/// What kernels are written for first.
const FIRST: &[&str] = &["sm_100a"];
/// That, and what some of them are compiled for, too.
const MOST: &[&str] = &["sm_100a", "sm_110a", "sm_107a"];

/// In the order of the report. What two of them compile counts for the first.
pub(crate) const COMPILED: &[Compiled] = &[
    compiled("opengemm", "0.1.4", "nvcc", "opengemm_modules.py", MOST),
    compiled("sgl-deep-gemm", "0.2.5", "nvcc", "deep_gemm_modules.py", &["sm_100a", "sm_110a"]),
    compiled("flashinfer-python", "0.7.2.post1", "nvcc", "flashinfer_modules.py", &["sm_100a", "sm_103a"]),
    compiled("tirx-kernels", "0.1.2.post1", "TVM, nvcc", "tirx_modules.py", FIRST),
    compiled("flash-attn-4", "4.0.0b36", "CuTe DSL", "cute_flash_attention.py", FIRST),
    compiled("quack-kernels", "0.6.5", "CuTe DSL", "cute_quack.py", &["sm_100a", "sm_110a"]),
    compiled("nvidia-cudnn-frontend", "1.32.0", "CuTe DSL", "cute_cudnn.py", FIRST),
    compiled("tokenspeed-mla", "2.0.4", "CuTe DSL", "cute_tokenspeed.py", FIRST),
    compiled("flash-linear-attention", "0.6.0", "Triton", "triton_fla.py", FIRST),
    compiled("attn-gym", "0.0.17", "CuTe DSL, Triton", "cute_attn_gym.py", FIRST),
    compiled("kernel-fun", "0.2.0", "CuTe DSL, Triton", "cute_kernel_fun.py", FIRST),
    compiled("triton", "3.9.0", "Gluon", "gluon_kernels.py", MOST),
    compiled("tilelang", "0.1.15", "tilelang, nvcc", "tilelang_kernels.py", FIRST).beside(&[
        "apache-tvm-ffi==0.1.12",
        "tilelang==0.1.15",
        "z3-solver==4.15.4.0",
    ]),
    compiled("jax", "0.10.2", "Mosaic GPU", "jax_mosaic.py", FIRST).beside(&[
        "jax==0.10.2",
        "jaxlib==0.10.2",
        "jax-cuda13-plugin==0.10.2",
        "jax-cuda13-pjrt==0.12.0.1",
        "nvidia-nvjitlink==13.5.37",
        "absl-py==2.5.1",
        "opt_einsum==3.4.0",
        "scipy==1.17.1",
    ]),
    compiled("fbtriton", "3.7.4", "Triton, TLX", "triton_tlx.py", FIRST).beside(&["fbtriton==3.7.4"]),
];

/// What the virtual environment has: the packages, their compilers, and what these import.
pub(crate) const ENVIRONMENT: &[&str] = &[
    "apache-tvm-ffi==0.1.15.post2",
    "apache-tvm==0.27.0.post1",
    "apache-tvm_ffi_orcjit==0.1.3",
    "attn_gym==0.0.17",
    "cloudpickle==3.1.2",
    "cuda-bindings==13.5.0",
    "cuda-pathfinder==1.9.0",
    "cuda-python==13.4.4",
    "einops==0.8.2",
    "filelock==4.2.11",
    "fla-core==0.6.0",
    "flash-attn-4==4.0.0b36",
    "flash-linear-attention==0.6.0",
    "flashinfer-python==0.7.2.post1",
    "fsspec==2026.9.0",
    "iniconfig==2.3.1",
    "Jinja2==3.1.6",
    "kernel-fun==0.2.0",
    "MarkupSafe==3.0.4",
    "ml_dtypes==0.6.0",
    "mpmath==1.4.1",
    "networkx==3.6.1",
    "numpy==2.4.6",
    "nvidia-cudnn-frontend==1.32.0",
    "nvidia-cutlass-dsl-libs-base==4.8.1",
    "nvidia-cutlass-dsl-libs-core==4.8.1",
    "nvidia-cutlass-dsl-libs-cu13==4.8.1",
    "nvidia-cutlass-dsl==4.8.1",
    "opengemm==0.1.4",
    "packaging==26.3",
    "pluggy==1.7.0",
    "psutil==7.2.2",
    "Pygments==2.21.0",
    "pytest==9.2.0",
    "PyYAML==6.0.3",
    "quack-kernels==0.6.5",
    "sgl-deep-gemm==0.2.5",
    "sympy==1.14.0",
    "tirx-kernels==0.1.2.post1",
    "tokenspeed-mla==2.0.4",
    "torch==2.15.0",
    "torch_c_dlpack_ext==0.1.5",
    "tqdm==4.70.1",
    "triton==3.9.0",
    "typing_extensions==4.16.0",
];
