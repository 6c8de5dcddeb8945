//! How long runs take: with all checks, one core unless two are named. Time of processors is counted beside
//! that of the clock: other work on the machine does not change it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::{LaunchError, LaunchFile};
use ptx_simulation::{Kernel, KernelReport, Settings, kernels};

use crate::{Result, root};

/// A launch of a kernel of fixtures/kernels.
struct Run {
    module: PathBuf,
    /// A launch file; without one launches are assumed.
    launch: String,
}

impl Run {
    fn report(&self, all: bool) -> Result<KernelReport> {
        let source = Source::from_bytes("bench.ptx", fs::read(&self.module)?)?;
        let unit = Unit::new(&source);
        let file: LaunchFile = toml::from_str(&self.launch)?;
        let first = kernels(&unit).first().copied().unwrap_or_default();
        let kernel = Kernel::new(&unit, file.kernel.as_deref().unwrap_or(first)).ok_or("no kernel")?;
        let settings = Settings { budget: u64::MAX, ..Settings::default() };
        if self.launch.is_empty() {
            return Ok(kernel.simulate_assumed(&file.shape()?, &settings)?);
        }
        let launch = kernel.launch(&file, &mut |name| Err(LaunchError(name.to_owned())))?;
        Ok(if all { kernel.simulate_all(&launch, &settings) } else { kernel.simulate(&launch, &settings) }?)
    }

    /// Seconds, with reading the module: the medians; and what came out.
    fn seconds(&self, runs: usize, all: bool) -> Result<(Seconds, KernelReport)> {
        let (mut clock, mut processors) = (Vec::new(), Vec::new());
        let mut report = None;
        for _ in 0..runs.max(1) {
            let start = Start::now()?;
            report = Some(self.report(all)?);
            let took = start.until_now()?;
            clock.push(took.clock);
            processors.push(took.processors);
        }
        let median = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let seconds = Seconds { clock: median(clock), processors: median(processors) };
        Ok((seconds, report.ok_or("no run")?))
    }
}

/// Time by the clock, and what processors spent.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    clock: f64,
    processors: f64,
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
struct Start {
    clock: Instant,
    processors: f64,
}

impl Start {
    fn now() -> Result<Self> {
        Ok(Self { clock: Instant::now(), processors: processors()? })
    }

    fn until_now(self) -> Result<Seconds> {
        let processors = processors()? - self.processors;
        Ok(Seconds { clock: self.clock.elapsed().as_secs_f64(), processors })
    }
}

/// Seconds that processors have spent on this process so far.
fn processors() -> Result<f64> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir("/proc/self/task")?.flatten() {
        // Those that have ended are none of the pools'.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
        nanoseconds += text.split_whitespace().next().and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanoseconds / 1e9)
}

/// The launch that a fixture says, changed.
fn fixture(name: &str, changes: &[(&str, &str)]) -> Result<Run> {
    let launches = root().join("fixtures/simulation/launches");
    let mut launch = fs::read_to_string(launches.join(format!("{name}.toml")))?;
    for (from, to) in changes {
        if !launch.contains(from) {
            return Err(format!("`{name}` has no `{from}`").into());
        }
        launch = launch.replace(from, to);
    }
    let module = name.split('.').next().unwrap_or(name);
    Ok(Run { module: root().join(format!("fixtures/kernels/{module}.ptx")), launch })
}

const GEMM: &str = "gemm_f16_tma_sm100a.gemm_f16_128x256";
const ATTENTION: &str = "attention_sm100a.attention_forward_f16";
const PAIR: &str = "gemm_cta_pair_sm100a.gemm_pair_f16_128x256";

pub(super) fn run(runs: usize, once: bool) -> Result<bool> {
    let pair = fixture(PAIR, &[])?;
    if once {
        let before = super::peak_memory()?;
        pair.report(false)?;
        println!("{}", super::peak_memory()?.saturating_sub(before));
        return Ok(true);
    }
    let [one_core, two_cores] =
        [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let (one_core, two_cores) = (one_core?, two_cores?);
    println!("median of {runs} runs, with reading and lowering; all checks on");
    println!("{:<58}{:>8} {:>11} {:>10}", "", "clock", "processors", "");
    let show = |what: &str, (seconds, report): (Seconds, KernelReport)| {
        println!(
            "{what:<58}{:>7.3} s{:>10.3} s{:>10} instructions{:>7.2} million/s   {:?}",
            seconds.clock,
            seconds.processors,
            report.warp_instructions,
            report.warp_instructions as f64 / seconds.processors / 1e6,
            report.verdict
        );
    };
    // 128 x 256 x 1024: 16 steps of 64.
    let gemm = fixture(GEMM, &[("384", "1024"), ("value = 6\n", "value = 16\n")])?;
    show("GEMM 128x256x64, 16 K-steps, one CTA", one_core.install(|| gemm.seconds(runs, false))?);
    // 8 blocks of 128 keys for two tiles of 128 queries.
    let attention = fixture(ATTENTION, &[("value = 4\n", "value = 8\n")])?;
    show("attention forward, 8 KV blocks, one CTA", one_core.install(|| attention.seconds(runs, false))?);
    show("GEMM by a pair of CTAs", one_core.install(|| pair.seconds(runs, false))?);
    let grid = fixture(
        GEMM,
        &[("384", "1024"), ("value = 6\n", "value = 16\n"), ("grid = [1, 1, 1]", "grid = [8, 1, 1]")],
    )?;
    let alone = one_core.install(|| grid.seconds(runs, true))?;
    let together = two_cores.install(|| grid.seconds(runs, true))?;
    let factor = alone.0.clock / together.0.clock;
    show("8 clusters of the first", alone);
    show(&format!("  on two cores ({factor:.2} times as fast)"), together);
    let mut launches: Vec<PathBuf> =
        fs::read_dir(root().join("fixtures/simulation/launches"))?.flatten().map(|it| it.path()).collect();
    launches.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    launches.sort();
    let start = Start::now()?;
    let mut instructions = 0;
    for path in &launches {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_known = Path::new(&root().join("fixtures/kernels"))
            .join(format!("{}.ptx", name.split('.').next().unwrap_or_default()))
            .exists();
        if is_known {
            instructions += one_core.install(|| fixture(&name, &[])?.report(false))?.warp_instructions;
        }
    }
    let seconds = start.until_now()?;
    println!(
        "{:<58}{:>7.3} s{:>10.3} s{instructions:>10} instructions",
        format!("all {} launches of fixtures", launches.len()),
        seconds.clock,
        seconds.processors
    );
    let output = Command::new(std::env::current_exe()?).args(["bench", "--simulate", "--once"]).output()?;
    let grown: usize = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    println!("peak memory of the pair of CTAs{:>33.1} MB, the module included", grown as f64 / 1e6);
    Ok(true)
}
