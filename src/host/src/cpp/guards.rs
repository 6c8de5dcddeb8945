//! Conditions of the preprocessor that ask for machines.

use super::tokens::Directive;

/// The conditions of the preprocessor around a place.
#[derive(Debug, Default)]
pub(super) struct Guards {
    open: Vec<Guard>,
}

/// A condition, in the branch that is read.
#[derive(Clone, Copy, Debug)]
struct Guard {
    asks: Asks,
    /// What is asked for in its `#else`.
    otherwise: Asks,
}

/// What a condition asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asks {
    /// A GPU that runs PTX.
    for_gpu: bool,
    /// The host of one.
    for_host: bool,
    /// A machine that runs no PTX.
    for_another: bool,
}

/// Parts of what compilers define for machines that run no PTX.
const OTHER_MACHINES: &[&str] = &[
    "__x86_64",
    "__amd64",
    "__i386",
    "_M_X64",
    "_M_IX86",
    "_M_AMD64",
    "_M_ARM",
    "__aarch64",
    "__arm",
    "__ARM_",
    "__riscv",
    "__powerpc",
    "__ppc",
    "__PPC",
    "__s390",
    "__mips",
    "__loongarch",
    "__sparc",
    "__AMDGCN",
    "__HIP",
    "__gfx",
    "USE_ROCM",
    "WITH_ROCM",
    "USE_HIP",
    "WITH_HIP",
];

/// What HIP defines where it is made for PTX.
const HIP_OF_NVIDIA: [&str; 2] = ["__HIP_PLATFORM_NVIDIA", "__HIP_PLATFORM_NVCC"];

/// What compilers define for code of a GPU, and where there may be such code.
const OF_GPU: &[&str] = &["__CUDA_ARCH", "__NVPTX__"];
const OF_CUDA: &[&str] = &["__CUDACC__", "__NVCC__"];

impl Guards {
    /// Reads a line of the preprocessor, from behind its word on.
    pub(super) fn read(&mut self, directive: Directive, line: &str) {
        match directive {
            Directive::If | Directive::ElseIf => {
                let before = if directive == Directive::ElseIf { self.open.pop() } else { None };
                let mut guard = Guard::of(line);
                // What is left behind several conditions, nobody has said.
                if before.is_some() {
                    guard.otherwise = Asks::default();
                }
                self.open.push(guard);
            }
            Directive::Else => {
                if let Some(guard) = self.open.last_mut() {
                    guard.asks = std::mem::take(&mut guard.otherwise);
                }
            }
            Directive::EndIf => {
                self.open.pop();
            }
            Directive::Define | Directive::Undefine | Directive::Other => {}
        }
    }

    pub(super) fn ask_for_another_machine(&self) -> bool {
        self.open.iter().any(|guard| guard.asks.for_another)
    }

    pub(super) fn ask_for_host(&self) -> bool {
        self.open.iter().any(|guard| guard.asks.for_host)
    }

    pub(super) fn ask_for_gpu(&self) -> bool {
        self.open.iter().any(|guard| guard.asks.for_gpu)
    }
}

/// Whether a condition never holds: `#if 0`.
pub(super) fn is_never(line: &str) -> bool {
    let condition = line.trim_start().split([' ', '\t', '/', '\r']).next();
    condition == Some("0")
}

impl Guard {
    /// That of the line behind `#if`, `#elif`, or `#ifdef` and so on, of which the end is a part of the line.
    fn of(line: &str) -> Self {
        let line = line.split("//").next().unwrap_or_default();
        let (is_negated, line) = match line.strip_prefix("ndef") {
            Some(name) => (true, name),
            None => (false, line.strip_prefix("def").unwrap_or(line)),
        };
        let mut guard = Self { asks: Asks::default(), otherwise: Asks::default() };
        for condition in line.split("&&") {
            let asks = Asks::of(condition, is_negated);
            guard.asks.for_gpu |= asks.for_gpu;
            guard.asks.for_host |= asks.for_host;
            guard.asks.for_another |= asks.for_another;
        }
        if !line.contains("&&") && !line.contains("||") {
            guard.otherwise = Asks::of(line, !is_negated);
        }
        guard
    }
}

impl Asks {
    /// What a part of a condition between `&&` asks for.
    fn of(condition: &str, is_negated: bool) -> Self {
        let is_not = |it: &str| {
            let signs = it.matches('!').count() - it.matches("!=").count();
            (signs % 2 == 1) != is_negated
        };
        let has = |it: &str, words: &[&str]| words.iter().any(|word| it.contains(word));
        let alternatives = || condition.split("||");
        let is_cuda = |it: &str| has(it, OF_GPU) || has(it, OF_CUDA);
        let is_other = |it: &str| has(it, OTHER_MACHINES) && !has(it, &HIP_OF_NVIDIA);
        Self {
            for_gpu: alternatives().all(|it| has(it, OF_GPU) && !is_not(it)),
            for_host: alternatives().all(|it| is_cuda(it) && is_not(it)),
            // One that may hold on a GPU does not count.
            for_another: !alternatives().any(|it| is_cuda(it) && !is_not(it))
                && alternatives().any(|it| is_other(it) && !is_not(it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let gpu = Asks { for_gpu: true, ..Asks::default() };
        let host = Asks { for_host: true, ..Asks::default() };
        let another = Asks { for_another: true, ..Asks::default() };
        let nothing = Asks::default();
        let all = [
            ("def __CUDA_ARCH__", gpu, host),
            ("ndef __CUDA_ARCH__", host, gpu),
            (" defined(__CUDA_ARCH__)", gpu, host),
            (" !defined(__CUDA_ARCH__)", host, gpu),
            (" __CUDA_ARCH__ >= 900", gpu, host),
            (" defined(__CUDA_ARCH__) && (__CUDA_ARCH__ != 900)", gpu, nothing),
            (" !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900)", nothing, nothing),
            ("def __CUDACC__", nothing, host),
            ("ndef __CUDACC__", host, nothing),
            ("def USE_ROCM", another, nothing),
            ("ndef USE_ROCM", nothing, another),
            (" !USE_ROCM // a comment", nothing, another),
            (" defined(__x86_64__) || defined(_M_X64)", another, nothing),
            (" defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)", nothing, nothing),
            (" defined(__x86_64__) && !defined(__CUDA_ARCH__)", Asks { for_host: true, ..another }, nothing),
            ("def __HIP_PLATFORM_NVIDIA__", nothing, nothing),
            ("def SOMETHING", nothing, nothing),
        ];
        for (line, asks, otherwise) in all {
            let guard = Guard::of(line);
            assert_eq!((guard.asks, guard.otherwise), (asks, otherwise), "{line}");
        }
    }
}
