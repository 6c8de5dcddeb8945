//! A run for a picture: what happened is kept, and nothing is written.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;
use ptx_check::diagnostic::selection::RuleSettings;
use ptx_check::source::Source;
use ptx_config::launch::LaunchText;
use ptx_device::{FileLaunch, Kernel, KernelReport, LaunchError, Module, ModuleError, Progress};
use ptx_simulation::names::kernels_are;

use super::error::SimulateError;
use super::kernels::chosen;
use super::{STDIN, Simulate, refuse_sources};
use crate::input::{Input, is_stdin};

/// The text that ran, and what became of the kernel.
pub(crate) struct Ran {
    pub(crate) source: Source,
    pub(crate) report: KernelReport,
}

/// The options of a run, all others left alone.
#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    simulate: Simulate,
}

/// Runs a kernel of a file once: the one that is named, or the only one.
pub(crate) fn recorded(path: &Path, kernel: Option<&str>, launch: Option<&Path>) -> miette::Result<Ran> {
    let mut words: Vec<OsString> = ["simulate", "--timeline"].map(OsString::from).to_vec();
    if let Some(kernel) = kernel {
        words.extend(["--kernel".into(), kernel.into()]);
    }
    if let Some(launch) = launch {
        words.extend(["--launch".into(), launch.into()]);
    }
    words.extend(["--".into(), path.into()]);
    let Options { simulate } = Options::try_parse_from(words).map_err(|error| {
        SimulateError::Launch(LaunchError::Shape { key: None, message: error.to_string(), help: None })
    })?;
    let source = read(path)?;
    let module = module(&source)?;
    let file = simulate.launch_file()?;
    let wanted = kernel.or_else(|| file.as_ref().and_then(|it| it.file.kernel.as_deref()));
    let name = kernel_of(&module.kernels(), source.name(), wanted)?;
    let kernel = module.kernel(&name).map_err(|error| SimulateError::Launch(error.into()))?;
    let options = simulate.options(&RuleSettings::default());
    let progress = Progress::default();
    let report = match &file {
        None => kernel.assume(&simulate.config()?, &options, &progress),
        Some(text) => launched(&kernel, text)?.run(&options, &progress).map(|run| run.report),
    };
    Ok(Ran { source, report: report.map_err(SimulateError::Launch)? })
}

/// The module of a text, which has to parse.
pub(super) fn module(source: &Source) -> Result<Module, SimulateError> {
    let path = source.name().to_owned();
    Module::new(source).map_err(|error| match error {
        ModuleError::Syntax { line, column, .. } => SimulateError::Broken { path, line, column },
        error => SimulateError::NoModule(error),
    })
}

/// The launch that a file says.
pub(super) fn launched(kernel: &Kernel, text: &LaunchText) -> Result<FileLaunch, SimulateError> {
    let launch = kernel.file_launch(&text.file, &mut |name| text.data(name));
    launch.map_err(|misfit| SimulateError::File(text.misfit(misfit)))
}

/// A file with PTX, which has to parse.
pub(crate) fn read(path: &Path) -> miette::Result<Source> {
    let input = if is_stdin(path) { Input::Stdin } else { Input::File(path.to_owned()) };
    if let Input::File(path) = &input {
        refuse_sources(path)?;
    }
    let source = input.read(STDIN)?;
    module(&source)?;
    Ok(source)
}

/// The kernel that is named, or the only one.
pub(crate) fn kernel_of(all: &[&str], path: &str, name: Option<&str>) -> miette::Result<String> {
    let path = path.to_owned();
    if name.is_none() && all.len() > 1 {
        return Err(SimulateError::OneKernel { path, help: kernels_are(all) }.into());
    }
    let mut chosen = chosen(&path, all, name, false)?;
    Ok(chosen.pop().ok_or(SimulateError::NoKernels { path })?)
}
