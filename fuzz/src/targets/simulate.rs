//! A run ends with a verdict or says why there is none, whatever the kernel and the launch; its findings lie
//! within the text; running it again, or keeping what happens, changes nothing.

use fastrand::Rng;
use ptx_check::{Source, Unit};
use ptx_render::simulation::Simulated;
use ptx_render::{timeline, trace};
use ptx_simulation::launch::{LaunchError, LaunchFile};
use ptx_simulation::slice::Element;
use ptx_simulation::{Kernel, KernelReport, Schedule, Settings, kernels};

use crate::Case;

/// Warp instructions of a run: enough to come to the end of what is not changed.
const BUDGET: u64 = 30_000;
/// The same for clusters of many threads, each of which takes a part.
const LARGE_BUDGET: u64 = 60_000;

/// Shapes that a launch may have.
const SIZES: &[u32] =
    &[0, 1, 2, 3, 4, 8, 16, 31, 32, 33, 64, 100, 128, 192, 256, 1024, 1025, 65536, u32::MAX];

/// What numbers of a launch are changed to.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "16",
    "255",
    "256",
    "257",
    "4096",
    "65536",
    "1048577",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "1e300",
    "nan",
    "[]",
    "[1]",
    "[1, 1, 1, 1]",
    "[4294967295, 4294967295, 4294967295]",
    "\"f32\"",
    "true",
];

/// Lines that launches may have more.
const LINES: &[&str] = &[
    "[[arg]]",
    "type = \"buffer\"",
    "type = \"u32\"",
    "type = \"u64\"",
    "type = \"f16\"",
    "type = \"opaque\"",
    "type = \"tensor_map\"",
    "bytes = 17179869184",
    "fill = 0",
    "fill = 255",
    "value = 7",
    "base = 0",
    "base = 99",
    "strides_bytes = [9223372036854775807]",
    "interleave = \"32B\"",
    "swizzle = \"32B\"",
    "box = [256, 256]",
    "dims = [4294967295, 4294967295, 4294967295, 4294967295, 4294967295]",
    "registers = 4294967295",
    "cluster = [16]",
    "grid = [64]",
    "block = [1024]",
    "dynamic_smem = 232448",
    "hex = \"00112233\"",
];

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let Ok(source) = Source::from_bytes("fuzz.ptx", case.text.clone()) else { return Ok(()) };
    let unit = Unit::new(&source);
    // The command runs nothing of a text with syntax errors; the library may be asked to.
    if !unit.syntax_errors.is_empty() && random.u8(..) < 192 {
        return Ok(());
    }
    let names = kernels(&unit);
    let Some(name) = random.choice(&names).copied() else { return Ok(()) };
    let Some(kernel) = Kernel::new(&unit, name) else { return Err(format!("no kernel `{name}`")) };
    let schedule = match random.u8(..4) {
        0 | 1 => Schedule::Early,
        2 => Schedule::Late,
        _ => Schedule::Random(random.u64(..)),
    };
    let is_large = random.u8(..) < 8;
    let settings = Settings {
        schedule,
        strict: random.u8(..) < 64,
        budget: if is_large { LARGE_BUDGET } else { BUDGET },
        cluster_index: if random.u8(..) < 16 { random.u32(..) } else { 0 },
        records: false,
        ..Settings::default()
    };
    let shape = shape(&mut random, is_large);
    let launch = if random.bool() { None } else { launch(&kernel, &mut random) };
    let all = random.u8(..) < 32;
    let run = |settings: &Settings| match &launch {
        None => shape.shape().and_then(|shape| kernel.simulate_assumed(&shape, settings)),
        Some(file) => {
            let mut no_data = |name: &str| Err(LaunchError(format!("no file `{name}`")));
            let launch = kernel.launch(file, &mut no_data)?;
            if all { kernel.simulate_all(&launch, settings) } else { kernel.simulate(&launch, settings) }
        }
    };
    let first = run(&settings);
    if let Ok(report) = &first {
        is_sound(&source, report)?;
    }
    if let Some(file) = launch.as_ref().filter(|_| random.u8(..) < 32) {
        explain(&kernel, file, &settings, &mut random);
    }
    if random.u8(..) < 48 {
        let records = random.bool();
        let second = run(&Settings { records, ..settings });
        same(&first, &second)
            .map_err(|difference| format!("run again (recorded: {records}): {difference}"))?;
        if let Ok(report) = second
            && let Some(record) = &report.record
        {
            let look = timeline::Look { color: random.bool(), width: random.usize(..300) };
            let mut out = Vec::new();
            timeline::render(&source, record, look, &mut out).map_err(|error| error.to_string())?;
            let simulated = [Simulated::new(report, Vec::new(), 0.0)];
            trace::render(&source, &simulated, &mut out).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Asks what some bytes of a buffer come from.
fn explain(kernel: &Kernel<'_>, file: &LaunchFile, settings: &Settings, random: &mut Rng) {
    let file = LaunchFile { assume: None, ..file.clone() };
    let mut no_data = |name: &str| Err(LaunchError(format!("no file `{name}`")));
    let Ok(launch) = kernel.launch(&file, &mut no_data) else { return };
    let element = Element {
        argument: random.usize(..=launch.arguments.len()),
        field: None,
        offset: random.u64(..1024),
        bytes: 1 << random.u32(..4),
    };
    let _ = kernel.explain(&launch, settings, 0..launch.clusters().min(4), element);
}

/// What options may say of the shape; mostly nothing.
fn shape(random: &mut Rng, is_large: bool) -> LaunchFile {
    let mut size = || -> Option<Vec<u32>> {
        (random.u8(..) < 32)
            .then(|| (0..random.usize(..4)).filter_map(|_| random.choice(SIZES).copied()).collect())
    };
    let (grid, block, cluster) = (size(), size(), size());
    if is_large {
        return LaunchFile {
            block: Some(vec![1024]),
            cluster: Some(vec![16]),
            grid: Some(vec![16]),
            ..LaunchFile::default()
        };
    }
    LaunchFile { grid, block, cluster, ..LaunchFile::default() }
}

/// The printed launch, changed; nothing if that cannot be read.
fn launch(kernel: &Kernel<'_>, random: &mut Rng) -> Option<LaunchFile> {
    let text = kernel.launch_template();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.u32(..).trailing_zeros() * 2 {
        if lines.is_empty() {
            break;
        }
        let at = random.usize(..lines.len());
        match random.u8(..6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, random.choice(LINES)?.to_string()),
            2 => {
                let other = random.usize(..lines.len());
                lines.swap(at, other);
            }
            3 => lines.insert(at, lines[at].clone()),
            _ => {
                if let Some((key, _)) = lines[at].split_once('=') {
                    lines[at] = format!("{key}= {}", random.choice(NUMBERS)?);
                }
            }
        }
    }
    toml::from_str(&lines.join("\n")).ok()
}

/// That what is said of the text lies in it.
fn is_sound(source: &Source, report: &KernelReport) -> Result<(), String> {
    for finding in &report.diagnostics {
        for label in std::iter::once(&finding.primary).chain(&finding.labels) {
            if label.span.start > label.span.end || source.text().get(label.span.range()).is_none() {
                return Err(format!(
                    "{} has a place that is none in the text: {:?}",
                    finding.code, label.span
                ));
            }
        }
    }
    for reason in &report.reasons {
        if reason.text.is_empty() {
            return Err("a reason says nothing".to_owned());
        }
        if let Some(span) = reason.span
            && source.text().get(span.range()).is_none()
        {
            return Err(format!("`{}` has a place that is none in the text: {span:?}", reason.text));
        }
    }
    Ok(())
}

fn same(
    one: &Result<KernelReport, LaunchError>,
    other: &Result<KernelReport, LaunchError>,
) -> Result<(), String> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            if let Some(difference) = super::difference(&one.diagnostics, &other.diagnostics) {
                return Err(difference);
            }
            if (one.verdict, &one.reasons, one.warp_instructions, one.operations)
                != (other.verdict, &other.reasons, other.warp_instructions, other.operations)
            {
                return Err(format!(
                    "{:?}, {:?}, {} and {:?}, {:?}, {}",
                    one.verdict,
                    one.reasons,
                    one.warp_instructions,
                    other.verdict,
                    other.reasons,
                    other.warp_instructions
                ));
            }
            Ok(())
        }
        (Err(one), Err(other)) if one == other => Ok(()),
        _ => Err("a launch, and none".to_owned()),
    }
}
