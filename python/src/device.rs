//! Devices, and launches on them.

use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use ptx_device::{Argument, Checks, Config, MemoryError, Options, Progress, Schedule};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::argument::Given;
use crate::errors::{LaunchError, launch_error};
use crate::module::Kernel;
use crate::run::Run;

/// How often somebody who waits is asked whether to stop.
const BETWEEN: Duration = Duration::from_millis(50);
/// What calls of functions take, in the thread of a run.
const STACK: usize = 16 << 20;

/// The memory of a device.
#[pyclass(frozen, module = "ptx_tc._core")]
pub(crate) struct Device {
    inner: ptx_device::Device,
}

/// Ranges of bytes.
type Ranges = Vec<(usize, usize)>;

/// Fills an array, and returns the ranges that are not known.
fn read(
    py: Python<'_>,
    mut data: PyReadwriteArray1<'_, u8>,
    fill: impl FnOnce(&mut [u8]) -> Result<Vec<Range<usize>>, MemoryError> + Send,
) -> PyResult<Ranges> {
    let data = data.as_slice_mut()?;
    let unknown = py.detach(|| fill(data)).map_err(|error| memory_error(&error))?;
    Ok(unknown.into_iter().map(|range| (range.start, range.end)).collect())
}

fn memory_error(error: &MemoryError) -> PyErr {
    LaunchError::new_err(error.to_string())
}

/// How a kernel is launched, and how that is simulated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GivenConfig {
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    dynamic_smem: u32,
    cooperative: bool,
    schedule: String,
    seed: u64,
    runs: u64,
    strict: bool,
    checks: String,
    records: bool,
    clusters: Option<(u32, u32)>,
    budget: Option<u64>,
    numbers: String,
}

impl GivenConfig {
    fn split(self) -> PyResult<(Config, Options)> {
        let mut config = Config::default();
        (config.grid, config.block, config.cluster) = (self.grid, self.block, self.cluster);
        config.dynamic_smem = self.dynamic_smem;
        config.cooperative = self.cooperative;
        let mut options = Options::default();
        options.schedule = match self.schedule.as_str() {
            "early" => Schedule::Early,
            "late" => Schedule::Late,
            "random" => Schedule::Random(self.seed),
            other => {
                return Err(LaunchError::new_err(format!(
                    "`{other}` is no schedule: there are early, late, random"
                )));
            }
        };
        options.runs = self.runs;
        options.strict = self.strict;
        options.checks = match self.checks.as_str() {
            "all" => Checks::All,
            "none" => Checks::None,
            other => return Err(LaunchError::new_err(format!("`checks` is `all` or `none`, not `{other}`"))),
        };
        options.records = self.records;
        options.clusters = self.clusters.map(|(start, end)| start..end);
        options.budget = self.budget.unwrap_or(options.budget);
        options.believes = match self.numbers.as_str() {
            "exact" => true,
            "measured" => false,
            other => {
                return Err(LaunchError::new_err(format!(
                    "`numbers` is `exact` or `measured`, not `{other}`"
                )));
            }
        };
        Ok((config, options))
    }
}

#[pymethods]
impl Device {
    #[new]
    fn new() -> Self {
        Self { inner: ptx_device::Device::new() }
    }

    /// Makes a buffer and returns its address.
    fn allocate(&self, py: Python<'_>, name: &str, bytes: u64) -> PyResult<u64> {
        let made = py.detach(|| self.inner.allocate(name, bytes));
        made.map(|it| it.address).map_err(|error| memory_error(&error))
    }

    /// Writes the bytes of an array.
    #[allow(clippy::needless_pass_by_value, reason = "as Python hands it over")]
    fn write(&self, py: Python<'_>, address: u64, data: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let data = data.as_slice()?;
        py.detach(|| self.inner.write(address, data)).map_err(|error| memory_error(&error))
    }

    /// The bytes of a tensor map, for kernels that find it in memory.
    #[allow(clippy::unused_self, reason = "as Python calls it")]
    fn map_bytes(&self, map: Given) -> PyResult<std::borrow::Cow<'static, [u8]>> {
        match map.argument()? {
            Argument::TensorMap(map) => Ok(map.map.encode().to_vec().into()),
            _ => Err(PyRuntimeError::new_err("this is no tensor map")),
        }
    }

    /// Reads bytes into an array, and returns the ranges that are not known.
    fn read(&self, py: Python<'_>, address: u64, data: PyReadwriteArray1<'_, u8>) -> PyResult<Ranges> {
        read(py, data, |data| self.inner.read(address, data))
    }

    /// The same for what kernels have written: where none wrote, the array may be left as it is.
    fn read_written(
        &self,
        py: Python<'_>,
        address: u64,
        data: PyReadwriteArray1<'_, u8>,
    ) -> PyResult<Ranges> {
        read(py, data, |data| self.inner.read_written(address, data))
    }

    /// Whether a kernel has written to the buffer at an address.
    fn is_written(&self, address: u64) -> bool {
        self.inner.is_written(address)
    }

    fn free(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        py.detach(|| self.inner.free(address)).map_err(|error| memory_error(&error))
    }

    /// Runs a kernel.
    fn launch(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        config: GivenConfig,
        arguments: Vec<Given>,
    ) -> PyResult<Run> {
        let arguments: Vec<_> = arguments.into_iter().map(Given::argument).collect::<PyResult<_>>()?;
        let (config, options) = config.split()?;
        let (kernel, device) = (&kernel.inner, &self.inner);
        let ran = py.detach(|| {
            watched(|progress| kernel.launch_watched(device, &config, &arguments, &options, progress))
        })?;
        Ok(Run { inner: ran.map_err(|error| launch_error(&error))? })
    }
}

/// Runs something in a thread of its own, and stops it when Python has a signal.
pub(crate) fn watched<T: Send>(work: impl FnOnce(&Progress) -> T + Send) -> PyResult<T> {
    let progress = Progress::default();
    thread::scope(|scope| {
        let (done, over) = mpsc::channel();
        let progress = &progress;
        let run = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
            let result = work(progress);
            // The receiver lives longer than this thread.
            let _ = done.send(());
            result
        });
        let run =
            run.map_err(|error| PyRuntimeError::new_err(format!("no thread can be started: {error}")))?;
        let mut interrupted = None;
        #[allow(
            clippy::redundant_closure_for_method_calls,
            reason = "lifetimes of methods are not general enough"
        )]
        let has_signal = || Python::attach(|py| py.check_signals());
        while over.recv_timeout(BETWEEN) == Err(RecvTimeoutError::Timeout) {
            if interrupted.is_none()
                && let Err(error) = has_signal()
            {
                progress.stop();
                interrupted = Some(error);
            }
        }
        let result = run.join().map_err(|_| PyRuntimeError::new_err("ptx-tc has a bug: the run panicked"))?;
        interrupted.map_or(Ok(result), Err)
    })
}
