//! Runs of kernels from outside: against recorded hardware, against all interleavings, and on launches that are assumed.

use std::path::{Path, PathBuf};

use ptx_check::diagnostic::Code;
use ptx_check::{Source, Unit};
use ptx_simulation::array::{Dtype, Form, OutFile};
use ptx_simulation::launch::{Argument, Launch, LaunchShape};
use ptx_simulation::memory::Memory;
use ptx_simulation::{Kernel, KernelReport, Output, Schedule, Settings};

mod assumed_launches;
mod async_readers;
mod copies;
mod early;
mod enumeration;
mod hardware;
mod hardware_runs;
mod lanes;
mod matrices;
mod mma;
mod mma_forms;
mod progress;
mod proxy_fences;
mod racing_reads;
mod reductions;
mod slices;
mod tensor_forms;
mod unread_rows;
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
    kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap()
}

/// What a run of the kernel `k` leaves in the buffer of its first argument. One cluster of one CTA runs, and has no
/// findings, but that some of the results are made from memory that nothing wrote.
fn left(text: &str, arguments: Vec<Argument>, threads: u32) -> Output {
    left_with(text, arguments, threads, true)
}

/// The same with a key `assume` of the launch file.
fn left_with(text: &str, arguments: Vec<Argument>, threads: u32, believes: bool) -> Output {
    let mut report = launched_with(text, arguments, threads, believes);
    report.retain(|it| it.code != Code::SharedMemoryUninitialized);
    assert!(report.diagnostics.is_empty(), "{:?}\n{text}", report.diagnostics);
    let reasons: Vec<_> = report.reasons.iter().map(|reason| &reason.text).collect();
    assert!(reasons.is_empty(), "{reasons:?}\n{text}");
    report.outputs.into_iter().next().unwrap()
}

/// A run of the kernel `k`, one cluster of one CTA, that keeps the buffer of its first argument.
fn launched(text: &str, arguments: Vec<Argument>, threads: u32) -> KernelReport {
    launched_with(text, arguments, threads, true)
}

fn launched_with(text: &str, arguments: Vec<Argument>, threads: u32, believes: bool) -> KernelReport {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let form = Form { dtype: Dtype::named("u8").unwrap(), shape: Vec::new() };
    let launch = Launch {
        grid: [1; 3],
        block: [threads, 1, 1],
        cluster: [1; 3],
        dynamic_smem: 0,
        registers: None,
        cooperative: false,
        assume_zeros: false,
        arguments,
        memory: Memory::default(),
        assumes: None,
        outs: vec![OutFile { argument: 0, field: None, name: "out".to_owned(), form }],
        arrays: Vec::new(),
        believes,
        assumed: Vec::new(),
    };
    kernel.simulate_all(&launch, &Settings::default()).unwrap()
}

/// A buffer with these contents.
fn buffer(data: Vec<u8>) -> Argument {
    Argument::Buffer { bytes: data.len() as u64, data: Some(data) }
}
