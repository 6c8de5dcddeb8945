//! What became of launches.

use std::path::Path;

use ptx_depict::run::Told;
use ptx_device::Verdict;
use ptx_render::origin::Explained;
use ptx_render::simulation::{self, Look, Simulated, SimulatedFile};
use ptx_render::{Checked, Reader, timeline, trace};
use ptx_simulation::KernelReport;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::check::one;
use crate::device::watched;
use crate::errors::launch_error;

/// The memories of a CTA.
type State = (Vec<u8>, Vec<(usize, usize)>, Vec<u8>, Vec<u8>);

/// What became of a launch.
#[pyclass(frozen, module = "ptx_tc._core")]
pub(crate) struct Run {
    pub(crate) inner: ptx_device::Run,
}

impl Run {
    /// What writers of reports take.
    fn file(&self, report: KernelReport, explained: Option<Explained>) -> SimulatedFile {
        let source = self.inner.module.source().clone();
        let sources = ptx_sources::find(Path::new(source.name()), &report.diagnostics);
        let kernel = Simulated { explained, ..Simulated::new(report, Vec::new(), self.inner.seconds) };
        SimulatedFile {
            checked: Checked { source, report: ptx_check::Report::default(), sources },
            kernels: vec![kernel],
        }
    }
}

/// What is written, as text.
pub(crate) fn text(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> PyResult<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[pymethods]
impl Run {
    #[getter]
    fn verdict(&self) -> &'static str {
        match self.inner.report.verdict {
            Verdict::Clean => "clean",
            Verdict::Incomplete => "incomplete",
            Verdict::Findings => "findings",
        }
    }

    /// The JSON document that the program writes.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let file = self.file(self.inner.report.clone(), None);
            text(|out| simulation::json(&[file], out))
        })
    }

    /// What the program shows people.
    fn text(&self, py: Python<'_>, color: bool, most: usize) -> PyResult<String> {
        py.detach(|| {
            let mut file = self.file(self.inner.report.clone(), None);
            let look = Look { color, most, reader: Reader::Python, ..Look::default() };
            text(|out| simulation::human(std::slice::from_mut(&mut file), look, out))
        })
    }

    /// What the program shows people of one finding.
    fn finding(&self, index: usize) -> PyResult<String> {
        match self.inner.report.diagnostics.get(index) {
            Some(finding) => one(self.inner.module.source(), finding),
            None => Err(PyIndexError::new_err("there is no such finding")),
        }
    }

    /// What happened, drawn.
    fn timeline(&self, py: Python<'_>, width: usize, color: bool) -> PyResult<String> {
        let report =
            py.detach(|| watched(|_| self.inner.recorded()))?.map_err(|error| launch_error(&error))?;
        let Some(record) = &report.record else { return Ok(String::new()) };
        let look = timeline::Look { color, width };
        text(|out| timeline::render(self.inner.module.source(), record, look, out))
    }

    /// What happened, as an image in SVG.
    fn timeline_svg(&self, py: Python<'_>) -> PyResult<String> {
        let report =
            py.detach(|| watched(|_| self.inner.recorded()))?.map_err(|error| launch_error(&error))?;
        let Some(record) = &report.record else { return Ok(String::new()) };
        let told = Told { source: self.inner.module.source(), kernel: &report.kernel, record };
        Ok(ptx_draw::svg::render(&ptx_draw::timeline::picture(&told.timeline())))
    }

    /// What happened, as a Chrome trace.
    fn trace(&self, py: Python<'_>) -> PyResult<String> {
        let report =
            py.detach(|| watched(|_| self.inner.recorded()))?.map_err(|error| launch_error(&error))?;
        let file = self.file(report, None);
        text(|out| trace::render(&file.checked.source, &file.kernels, out))
    }

    /// The memories of a CTA of the grid, by its index: shared memory and which of its bytes are not known, cells of Tensor
    /// Memory and which of them are known.
    fn state(&self, py: Python<'_>, cta: [u32; 3], until: Option<u32>) -> PyResult<State> {
        let (cluster, grid) = self.inner.shape();
        if cta.iter().zip(grid).any(|(at, size)| *at >= size) {
            return Err(PyIndexError::new_err(format!("the grid has no CTA {cta:?}")));
        }
        let clusters: Vec<u32> = (0..3).map(|axis| grid[axis] / cluster[axis].max(1)).collect();
        let at: Vec<u32> = (0..3).map(|axis| cta[axis] / cluster[axis].max(1)).collect();
        let index = at[0] + clusters[0] * (at[1] + clusters[1] * at[2]);
        let states = py.detach(|| watched(|_| self.inner.states(index, until)))?;
        let states = states.map_err(|error| launch_error(&error))?;
        let state = states.into_iter().find(|it| it.index == cta);
        let state = state.ok_or_else(|| PyIndexError::new_err(format!("the grid has no CTA {cta:?}")))?;
        let unknown = state.shared_unknown.iter().map(|range| (range.start, range.end)).collect();
        let tensor = state.tensor.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let known = state.tensor_known.iter().map(|it| u8::from(*it)).collect();
        Ok((state.shared, unknown, tensor, known))
    }

    /// What an element of an array comes from.
    fn explain(&self, py: Python<'_>, element: &str, value: Option<String>) -> PyResult<String> {
        let origin = py.detach(|| watched(|_| self.inner.explain(element)))?;
        let origin = origin.map_err(|error| launch_error(&error))?;
        let is_kept = value.is_some();
        let explained = Explained { element: element.to_owned(), value, is_kept, origin };
        text(|out| explained.human(self.inner.module.source(), out))
    }
}
