//! Speed and memory, on a module made of the real kernels.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use ptx_check::instruction::decode::decode_all;
use ptx_check::syntax::{lexer, parser};
use ptx_check::{Options, Source, check};

use ptx_tc_fuzz::shapes;

use crate::{Result, root, target_directory};

mod repository;
mod simulate;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct Arguments {
    /// Size of the module in MB.
    #[arg(long, default_value_t = 10)]
    megabytes: usize,
    /// How often each stage is measured; the median counts.
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Measure texts of growing size instead, each bad for one part of the checker.
    #[arg(long)]
    functions: bool,
    /// Measure a repository of files of other languages instead, and the search of a word in it.
    #[arg(long)]
    host: bool,
    /// The repository, instead of one that is made.
    #[arg(long, requires = "host")]
    from: Option<PathBuf>,
    /// Measure runs of kernels instead.
    #[arg(long)]
    simulate: bool,
    /// Only check the module once, for the measurement of memory.
    #[arg(long, hide = true)]
    once: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.host {
        return repository::run(arguments.from.as_deref(), arguments.runs);
    }
    if arguments.simulate {
        return simulate::run(arguments.runs, arguments.once);
    }
    if arguments.functions {
        return functions(arguments.runs.min(3));
    }
    let source = module(arguments.megabytes * 1_000_000)?;
    let bytes = source.text().len();
    let [one_core, two_cores] =
        [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let (one_core, two_cores) = (one_core?, two_cores?);
    if arguments.once {
        let before = peak_memory()?;
        black_box(check(&source, &Options::default()));
        println!("{}", peak_memory()?.saturating_sub(before));
        return Ok(true);
    }
    println!(
        "module of {:.1} MB, {} lines, median of {} runs; one core, unless two are named",
        bytes as f64 / 1e6,
        source.lines().count(),
        arguments.runs
    );
    let measure = |stage: &(dyn Fn() + Sync)| one_core.install(|| median(arguments.runs, bytes, stage));
    let lexing = measure(&|| {
        black_box(lexer::lex(source.text()).count());
    });
    let parsing = measure(&|| {
        black_box(parser::parse(&source));
    });
    let checking = measure(&|| {
        black_box(check(&source, &Options::default()));
    });
    let on_two = two_cores.install(|| {
        median(arguments.runs, bytes, &|| {
            black_box(check(&source, &Options::default()));
        })
    });
    let unit = ptx_check::Unit::new(&source);
    let resolving = measure(&|| {
        black_box(ptx_check::resolve::symbols::Symbols::new(&unit.source, &unit.module));
    });
    let decoding = measure(&|| {
        black_box(decode_all(&unit));
    });
    println!("{} tcgen05 instructions", decode_all(&unit).len());
    println!("lexing          {lexing:>8.1} MB/s");
    println!("parsing         {parsing:>8.1} MB/s   (with lexing)");
    println!("resolving names {resolving:>8.1} MB/s   (alone)");
    println!("decoding        {decoding:>8.1} MB/s   (alone)");
    println!("whole check     {checking:>8.1} MB/s");
    println!("  on two cores  {on_two:>8.1} MB/s   ({:.2} times as fast)", on_two / checking);
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", "--once", "--megabytes", &arguments.megabytes.to_string()])
        .output()?;
    let grown: usize = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    println!(
        "peak memory     {:>8.1} bytes per byte of input, the text itself included",
        1.0 + grown as f64 / bytes as f64
    );
    match program(&source, arguments.runs) {
        Ok([one, two]) => println!(
            "ptx-tc check    {one:>8.1} MB/s   (the program, from its start to its end; {two:.1} on two cores)"
        ),
        Err(error) => println!("ptx-tc check    not measured: {error}"),
    }
    match ptxas_front_end(&source) {
        Ok(speed) => {
            println!(
                "ptxas           {speed:>8.1} MB/s   (front end: it stops at an error in the last line; the whole \
                 check is {:.1} times as fast, {:.1} on two cores)",
                checking / speed,
                on_two / speed
            );
        }
        Err(error) => println!("ptxas           not measured: {error}"),
    }
    Ok(true)
}

/// Checks texts of growing size: the time for a byte has to stay the same.
fn functions(runs: usize) -> Result<bool> {
    const SIZES: [usize; 4] = [50_000, 200_000, 1_000_000, 4_000_000];
    /// Larger ones of a shape are left out when one took so many seconds.
    const LONG: f64 = 5.0;
    println!("check of one text, median of {runs} runs, one core: nanoseconds for each byte");
    println!(
        "{:<34}{}{:>12}",
        "",
        SIZES.map(|size| format!("{:>6} KB", size / 1000)).concat(),
        "last in all"
    );
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for shape in shapes::SHAPES {
        print!("{:<34}", shape.name);
        let mut seconds = 0.0;
        for size in SIZES {
            if seconds > LONG {
                print!("{:>9}", "-");
                continue;
            }
            let source = Source::new("bench.ptx", (shape.write)(size))?;
            let bytes = source.text().len();
            let speed = one_core.install(|| {
                median(runs, bytes, &|| {
                    black_box(check(&source, &Options::default()));
                })
            });
            seconds = bytes as f64 / 1e6 / speed;
            print!("{:>9.1}", seconds * 1e9 / bytes as f64);
            std::io::stdout().flush()?;
        }
        println!("{:>9.0} ms", seconds * 1e3);
    }
    Ok(true)
}

/// The real kernels, again and again, under one header, with names of their own.
pub(crate) fn module(size: usize) -> Result<Source> {
    let mut paths: Vec<_> =
        fs::read_dir(root().join("fixtures/kernels"))?.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Debug sections are fast; the module is meant to be like what compilers emit by default.
        path.extension().is_some_and(|it| it == "ptx") && !name.contains("debug") && !name.contains("variety")
    });
    paths.sort();
    let mut text = String::from(".version 9.5\n.target sm_100a\n.address_size 64\n");
    let mut copy = 0;
    while text.len() < size {
        for path in &paths {
            let kernel = fs::read_to_string(path)?;
            let body = kernel.split_once(".address_size 64").map_or(kernel.as_str(), |(_, body)| body);
            text += &body.replace(".entry ", &format!(".entry c{copy}_"));
            copy += 1;
            if text.len() >= size {
                break;
            }
        }
    }
    Ok(Source::new("bench.ptx", text)?)
}

fn median(runs: usize, bytes: usize, stage: &dyn Fn()) -> f64 {
    let mut speeds: Vec<f64> = (0..runs.max(1))
        .map(|_| {
            let start = Instant::now();
            stage();
            bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}

/// The most memory that this process ever held, in bytes.
fn peak_memory() -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kilobytes: usize = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kilobytes * 1024)
}

/// How fast the program checks the module, on one core and on two: what people wait for. The code is the same as
/// in here, but linked by itself it is laid out in another way, which matters.
fn program(source: &Source, runs: usize) -> Result<[f64; 2]> {
    let program = std::env::current_exe()?.with_file_name("ptx-tc");
    if !program.exists() {
        return Err("build it with the same profile".into());
    }
    let path = target_directory().join("bench.ptx");
    fs::write(&path, source.text())?;
    let check = |threads: usize| {
        let mut command = Command::new(&program);
        command.args(["check", "--quiet"]).arg(&path).env("RAYON_NUM_THREADS", threads.to_string()).output()
    };
    // The kernels share names, so that there is something to find.
    if check(1)?.status.code() != Some(1) {
        return Err(format!("`{}` failed", program.display()).into());
    }
    Ok([1, 2].map(|threads| median(runs, source.text().len(), &|| drop(check(threads)))))
}

/// How fast the assembler's front end reads the same text.
fn ptxas_front_end(source: &Source) -> Result<f64> {
    let program = fs::read_dir(target_directory().join("ptxas/lib"))
        .map_err(|_| "install it with `cargo xtask oracle`")?
        .flatten()
        .map(|entry| entry.path().join("site-packages/nvidia/cu13/bin/ptxas"))
        .find(|path| path.exists())
        .ok_or("install it with `cargo xtask oracle`")?;
    let path = target_directory().join("bench.ptx");
    fs::write(&path, format!("{}\n.visible .entry last() {{ mov.b32 nope, nope; }}\n", source.text()))?;
    let start = Instant::now();
    let output = Command::new(program).args(["-arch=sm_100a", "-o", "/dev/null"]).arg(&path).output()?;
    let seconds = start.elapsed().as_secs_f64();
    if output.status.success() {
        return Err("it did not stop".into());
    }
    Ok(source.text().len() as f64 / 1e6 / seconds)
}
