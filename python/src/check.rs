//! Checks of texts.

use std::path::Path;

use ptx_check::Options;
use ptx_check::diagnostic::Severity;
use ptx_check::diagnostic::selection::{Layer, RuleSettings, Selector};
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_check::source::Source;
use ptx_render::{Checked, Format};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::run::text;

/// What the check of a text found.
#[pyclass(frozen, module = "ptx_tc._core")]
pub(crate) struct Report {
    checked: [Checked; 1],
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(words: &[String]) -> PyResult<Vec<T>> {
    read(words, str::parse)
}

fn read<T, E: std::fmt::Display>(words: &[String], parse: fn(&str) -> Result<T, E>) -> PyResult<Vec<T>> {
    let one = |word: &String| parse(word).map_err(|error| PyValueError::new_err(error.to_string()));
    words.iter().map(one).collect()
}

#[pymethods]
impl Report {
    /// Checks a text.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "as Python hands it over")]
    fn new(
        py: Python<'_>,
        name: &str,
        text: &str,
        targets: Vec<String>,
        version: Option<String>,
        select: Option<Vec<String>>,
        ignore: Vec<String>,
    ) -> PyResult<Self> {
        let layer = Layer {
            select: select.as_deref().map(parsed::<Selector>).transpose()?,
            ignore: parsed(&ignore)?,
            severity: Vec::<(Selector, Severity)>::new(),
        };
        let options = Options {
            targets: read(&targets, Target::known)?,
            ptx_version: read(version.as_slice(), PtxVersion::released)?.pop(),
            rules: RuleSettings::default().with(&layer),
            locate: true,
            ..Options::default()
        };
        let source = Source::new(name, text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        py.detach(|| {
            let report = ptx_check::check(&source, &options);
            let sources = ptx_sources::find(Path::new(name), &report.diagnostics);
            Ok(Self { checked: [Checked { source, report, sources }] })
        })
    }

    /// The JSON document that the program writes.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| text(|out| ptx_render::render(&self.checked, Format::Json, false, out)))
    }

    /// What the program shows people.
    fn text(&self, py: Python<'_>, color: bool) -> PyResult<String> {
        py.detach(|| text(|out| ptx_render::render(&self.checked, Format::Human, color, out)))
    }

    /// What the program shows people of one finding.
    fn finding(&self, index: usize) -> PyResult<String> {
        let [Checked { source, report, .. }] = &self.checked;
        let Some(finding) = report.diagnostics.get(index) else {
            return Err(PyIndexError::new_err("there is no such finding"));
        };
        one(source, finding)
    }
}

/// What the program shows people of one finding.
pub(crate) fn one(source: &Source, finding: &ptx_check::diagnostic::Diagnostic) -> PyResult<String> {
    let sources = ptx_sources::find(Path::new(source.name()), [finding]);
    let mut report = ptx_check::Report::default();
    report.diagnostics.push(finding.clone());
    let checked = Checked { source: source.clone(), report, sources };
    text(|out| ptx_render::findings(&checked, false, out))
}
