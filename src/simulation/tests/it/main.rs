//! Runs of kernels from outside: against recorded hardware, against all interleavings, and on launches that are assumed.

use std::path::{Path, PathBuf};

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchFile;
use ptx_simulation::{Kernel, KernelReport, Schedule, Settings};

mod assumed_launches;
mod async_readers;
mod enumeration;
mod hardware;
mod hardware_runs;
mod lanes;
mod proxy_fences;
mod values;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a run of the kernel `k` of a module shows, on a launch that is assumed.
fn simulate(text: &str, schedule: Schedule) -> KernelReport {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let settings = Settings { schedule, budget: 100_000, ..Settings::default() };
    kernel.simulate_assumed(&LaunchFile::default(), &settings).unwrap()
}
