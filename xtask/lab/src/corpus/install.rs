//! Packages by their names: downloaded, and their sources unpacked.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::packages::Package;
use crate::{Result, target_directory};

/// Unpacks an archive as far as its files are of interest.
const UNPACK: &str = include_str!("unpack.py");

/// Where the package lies; it is fetched if it is not there yet.
pub(crate) fn install(package: &Package) -> Result<PathBuf> {
    let home = target_directory().join("corpus");
    let directory = home.join(format!("{}-{}", package.directory(), package.version));
    if directory.is_dir() {
        return Ok(directory);
    }
    let wanted = format!("{}=={}", package.name, package.version);
    println!("installing {wanted} into {}", directory.display());
    let downloads = home.join(format!("{}.download", package.directory()));
    if downloads.exists() {
        fs::remove_dir_all(&downloads)?;
    }
    fs::create_dir_all(&downloads)?;
    command(
        Command::new("python3")
            .args(["-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"])
            // Nothing of a package is run.
            .args(["--only-binary", ":all:", "--dest"])
            .arg(&downloads)
            .arg(&wanted),
    )?;
    // A directory with the package's name holds all of it.
    let partial = home.join(format!("{}.partial", package.directory()));
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    command(Command::new("python3").args(["-c", UNPACK]).arg(&downloads).arg(&partial))?;
    fs::rename(&partial, &directory)?;
    fs::remove_dir_all(&downloads)?;
    Ok(directory)
}

fn command(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.trim().lines().last().unwrap_or("the command failed").to_owned().into())
}
