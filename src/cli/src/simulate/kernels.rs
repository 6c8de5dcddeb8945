//! Which kernels of a file are run.

use ptx_device::{KernelError, named};
use ptx_simulation::names::{MOST_NAMED, described, kernels_are};

use super::error::SimulateError;

/// The one that is named, or all. A launch belongs to one.
pub(super) fn chosen(
    path: &str,
    all: &[&str],
    name: Option<&str>,
    has_launch: bool,
) -> Result<Vec<String>, SimulateError> {
    match name {
        Some(name) => match named(path, all, name) {
            Ok(symbol) => Ok(vec![symbol]),
            Err(error) => {
                let help = match &error {
                    KernelError::Ambiguous { candidates, .. } => {
                        let most = candidates.len().min(MOST_NAMED);
                        format!("write one of\n{}", described(&candidates[..most]).join("\n"))
                    }
                    _ => kernels_are(all),
                };
                Err(SimulateError::Kernel { error, help })
            }
        },
        None if all.is_empty() => Err(SimulateError::NoKernels { path: path.to_owned() }),
        None if has_launch && all.len() > 1 => {
            Err(SimulateError::SeveralKernels { path: path.to_owned(), count: all.len() })
        }
        None => Ok(all.iter().map(|it| (*it).to_owned()).collect()),
    }
}
