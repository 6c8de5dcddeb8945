//! A run for a picture: what happened is kept, and nothing is written.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;
use ptx_check::Unit;
use ptx_check::diagnostic::selection::RuleSettings;
use ptx_check::source::Source;
use ptx_simulation::launch::LaunchError;
use ptx_simulation::names::kernels_are;
use ptx_simulation::{KernelReport, Kernels};

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
        let error = LaunchError(error.to_string());
        SimulateError::Launch(error.into())
    })?;
    let source = read(path)?;
    let unit = Unit::new(&source);
    let file = simulate.launch_file()?;
    let wanted = kernel.or_else(|| file.as_ref().and_then(|it| it.file.kernel.as_deref()));
    let name = kernel_of(&unit, source.name(), wanted)?;
    let all = Kernels::new(&unit);
    let kernel =
        all.kernel(&name).ok_or_else(|| SimulateError::NoKernels { path: source.name().to_owned() })?;
    let settings = simulate.options(&RuleSettings::default()).settings();
    let Some(text) = &file else {
        let report = kernel
            .simulate_assumed(&simulate.shape(), &settings)
            .map_err(|error| SimulateError::Launch(error.into()))?;
        return Ok(Ran { source, report });
    };
    let launch = kernel.fitting_launch(&text.file, &mut |name| text.data(name));
    let launch = launch.map_err(|misfit| SimulateError::File(text.misfit(misfit)))?;
    let report =
        kernel.simulate_all(&launch, &settings).map_err(|error| SimulateError::Launch(error.into()))?;
    Ok(Ran { source, report })
}

/// A file with PTX, which has to parse.
pub(crate) fn read(path: &Path) -> miette::Result<Source> {
    let input = if is_stdin(path) { Input::Stdin } else { Input::File(path.to_owned()) };
    if let Input::File(path) = &input {
        refuse_sources(path)?;
    }
    let source = input.read(STDIN)?;
    let unit = Unit::new(&source);
    if let Some(error) = unit.syntax_errors.first() {
        let at = source.position(error.span().start);
        let path = source.name().to_owned();
        return Err(SimulateError::Broken { path, line: at.line, column: at.column }.into());
    }
    Ok(source)
}

/// The kernel that is named, or the only one.
pub(crate) fn kernel_of(unit: &Unit, path: &str, name: Option<&str>) -> miette::Result<String> {
    let all = ptx_simulation::kernels(unit);
    let path = path.to_owned();
    if name.is_none() && all.len() > 1 {
        return Err(SimulateError::OneKernel { path, help: kernels_are(&all) }.into());
    }
    let mut chosen = chosen(&path, &all, name, false)?;
    Ok(chosen.pop().ok_or(SimulateError::NoKernels { path })?)
}
