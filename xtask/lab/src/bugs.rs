//! Bugs put into kernels that have none: which of them are found, and where not.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchFile;
use ptx_tc_fuzz::bugs::{BUGS, Choice, Tallies};
use ptx_tc_fuzz::simulated;
use rayon::prelude::*;

use crate::{Result, root, target_directory};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Modules, or directories of modules, instead of fixtures/kernels; launches, if they are run.
    paths: Vec<PathBuf>,
    /// Put them into what packages compile (target/corpus), too.
    #[arg(long)]
    corpus: bool,
    /// Instead: put other ones into the kernels of fixtures/simulation/launches, and run these.
    #[arg(long, conflicts_with = "corpus")]
    simulate: bool,
    /// Only classes of bugs with this in their name.
    #[arg(long, default_value = "")]
    class: String,
    /// At most so many functions of a module for each class; or so many places of a kernel that is run.
    #[arg(long, default_value_t = 0)]
    places: usize,
    /// List so many of the places of each class where the bug is not found, and of those where what running
    /// the kernel reports first does not name it.
    #[arg(long, default_value_t = 0)]
    missed: usize,
    /// Write the modules of those places here.
    #[arg(long, requires = "simulate")]
    write: Option<PathBuf>,
    /// Kernels that take more instructions of warps are not run.
    #[arg(long, default_value_t = 300_000)]
    most: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.simulate {
        return simulate(arguments);
    }
    let mut modules = Vec::new();
    if arguments.paths.is_empty() && !arguments.corpus {
        collect(&root().join("fixtures/kernels"), &mut modules)?;
    }
    if arguments.corpus {
        collect(&target_directory().join("corpus/ptx"), &mut modules)?;
    }
    for path in &arguments.paths {
        collect(path, &mut modules)?;
    }
    modules.sort();
    let choice = Choice { class: arguments.class.clone(), places: arguments.places };
    let tallies = modules
        .par_iter()
        .map(|path| {
            let mut tallies = Tallies::of(choice.clone());
            tallies.add(&Source::from_bytes(path.display().to_string(), fs::read(path)?)?)?;
            Ok(tallies)
        })
        .try_reduce(
            || Tallies::of(choice.clone()),
            |one, other| Ok::<_, Box<dyn std::error::Error + Send + Sync>>(one.and(other)),
        )?;
    println!("{} modules\n{}", modules.len(), tallies.table());
    for (bug, tally) in BUGS.iter().zip(&tallies.tallies) {
        for missed in tally.missed.iter().take(arguments.missed) {
            println!("{}: {}:{} {:?}", bug.name, missed.module, missed.function, missed.lines);
        }
    }
    println!("{} unexpected", tallies.unexpected.len());
    tallies.unexpected.iter().take(arguments.missed).for_each(|it| println!("    {it}"));
    Ok(true)
}

/// Runs kernels with bugs.
fn simulate(arguments: &Arguments) -> Result<bool> {
    let mut launches = arguments.paths.clone();
    if launches.is_empty() {
        for entry in fs::read_dir(root().join("fixtures/simulation/launches"))? {
            launches.push(entry?.path());
        }
    }
    launches.sort();
    let choice = simulated::Choice {
        class: &arguments.class,
        places: if arguments.places == 0 { usize::MAX } else { arguments.places },
        keeps: arguments.write.is_some(),
        alone: false,
        budget: 100_000,
    };
    let tallies = launches
        .par_iter()
        .map(|path| {
            let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
            let module = name.split('.').next().unwrap_or_default();
            let module = root().join("fixtures/kernels").join(format!("{module}.ptx"));
            let launch: LaunchFile = toml::from_str(&fs::read_to_string(path)?)?;
            let source = Source::from_bytes(name.clone(), fs::read(module)?)?;
            let mut tallies = simulated::Tallies::default();
            let kernel = launch.kernel.as_deref().unwrap_or_default();
            let instructions = simulated::instructions(&Unit::new(&source), kernel, &launch)
                .map_err(|error| format!("{name}: {error}"))?;
            if instructions > arguments.most {
                println!("{name} is left out: {instructions} warp instructions");
                return Ok(tallies);
            }
            tallies.add(&source, &launch, &choice).map_err(|error| format!("{name}: {error}"))?;
            Ok(tallies)
        })
        .try_reduce(simulated::Tallies::default, |one, other| {
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(one.and(other))
        })?;
    println!("{} kernels\n{}", launches.len(), tallies.table());
    for (bug, tally) in simulated::BUGS.iter().zip(&tallies.tallies) {
        for missed in tally.missed.iter().take(arguments.missed) {
            println!("{}: {missed}", bug.name);
        }
        for (name, text) in &tally.texts {
            let Some(directory) = &arguments.write else { break };
            fs::create_dir_all(directory)?;
            fs::write(directory.join(name).with_extension("ptx"), text)?;
        }
        for other in tally.misnamed.iter().take(arguments.missed) {
            println!("{}: {other}", bug.name);
        }
    }
    Ok(true)
}

/// A module, or those in a directory.
fn collect(path: &Path, modules: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        modules.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|it| it == "ptx") {
            collect(&path, modules)?;
        }
    }
    Ok(())
}
