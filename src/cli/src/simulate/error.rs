//! Why kernels cannot be run.

use std::io;

use ptx_check::words::list_words;
use ptx_config::launch::LaunchFileError;
use ptx_device::{KernelError, LaunchError, ModuleError};

/// Why nothing could be run.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum SimulateError {
    #[error("{error}")]
    #[diagnostic(help("{help}"))]
    Kernel { error: KernelError, help: String },
    #[error("`{path}` has several kernels, and one is drawn at a time")]
    #[diagnostic(help("name one by `--kernel`: {help}"))]
    OneKernel { path: String, help: String },
    #[error("`{path}` has no kernel")]
    NoKernels { path: String },
    #[error("no PTX below {} has a kernel", list_words(paths.iter().map(|path| format!("`{path}`")), "and"))]
    NoKernelsBelow { paths: Vec<String> },
    #[error("a launch file is for one kernel, but `{path}` has {count}")]
    #[diagnostic(help("name it in the launch file (`kernel = \"...\"`) or by `--kernel`"))]
    SeveralKernels { path: String, count: usize },
    #[error("cannot simulate `{path}`: syntax error in line {line}, column {column}")]
    #[diagnostic(help("`ptx-tc check` says what is wrong"))]
    Broken { path: String, line: u32, column: u32 },
    #[error(transparent)]
    NoModule(ModuleError),
    #[error("cannot write `{path}`")]
    Unwritable {
        path: String,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(LaunchFileError),
    #[error("a launch number belongs to one kernel, but `{path}` has {count}")]
    #[diagnostic(help("name the kernel by `--kernel`"))]
    NumberOfSeveral { path: String, count: usize },
    #[error("`{kernel}` has no assumed launch {number}: {count} were tried")]
    #[diagnostic(help(
        "the number depends on `--schedule`, `--grid`, `--block` and `--cluster`; use the same ones"
    ))]
    NoSuchNumber { kernel: String, number: u32, count: usize },
    #[error("`{path}` is {language}, not PTX")]
    #[diagnostic(help("{help}"))]
    NotPtx { path: String, language: &'static str, help: String },
    #[error("the kernel cannot be launched like this: {0}")]
    Launch(LaunchError),
    #[error("what `--explain` says is in the formats `human` and `json` only")]
    #[diagnostic(help("leave out `--format`, or write `--format json`"))]
    ExplainedInFormat,
    #[error("nothing can be explained: {0}")]
    Unexplained(LaunchError),
    #[error("`{kernel}` of `{path}` cannot be launched like this: {error}")]
    LaunchOfSeveral { path: String, kernel: String, error: Box<LaunchError> },
    #[error("`{option}` is for one file, but {count} files are to run")]
    #[diagnostic(help("{help}"))]
    SeveralFiles { option: &'static str, count: usize, help: &'static str },
}
