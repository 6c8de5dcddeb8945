//! Finding sources on this machine.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ptx_check::diagnostic::Diagnostic;
use ptx_check::resolve::provenance::Frame;
use ptx_check::source::Source;

use crate::{Outdated, SourceFile, Sources};

/// No source that somebody wrote is longer.
const MAX_BYTES: u64 = 1 << 26;

/// Finds the sources that findings in a file of PTX name, and reads them.
pub fn find<'a>(module: &Path, findings: impl IntoIterator<Item = &'a Diagnostic>) -> Sources {
    let labels =
        findings.into_iter().flat_map(|finding| std::iter::once(&finding.primary).chain(&finding.labels));
    let frames =
        labels.filter_map(|label| label.provenance.as_ref()).flat_map(|provenance| &provenance.frames);
    let wanted: BTreeSet<(Arc<str>, Option<u64>)> =
        frames.map(|Frame { path, size, .. }| (path.clone(), *size)).collect();
    let mut sources = Sources::default();
    if wanted.is_empty() {
        return sources;
    }
    let compiled = fs::metadata(module).ok();
    let directory = module.parent().unwrap_or(Path::new(""));
    for (recorded, size) in wanted {
        let found = candidates(&recorded, directory).find(|path| path.is_file());
        if let Some(path) = found {
            let source = read(&path, size, compiled.as_ref());
            sources.insert(recorded, SourceFile { path: name(&path), source });
        }
    }
    sources
}

/// Where a file may be that was compiled as `recorded`: there, beside the PTX, or, when it was compiled
/// elsewhere, at the same place below this directory as below another.
fn candidates<'a>(recorded: &'a str, module: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let path = Path::new(recorded);
    let rests = recorded.match_indices(['/', '\\']).map(|(at, _)| &recorded[at + 1..]);
    let rests = rests.filter(|rest| !rest.is_empty()).map(PathBuf::from);
    let base = recorded.rsplit(['/', '\\']).next().unwrap_or(recorded);
    [path.to_owned(), module.join(path)].into_iter().chain(rests).chain([module.join(base)])
}

/// The text, unless it is not what was compiled.
fn read(path: &Path, size: Option<u64>, compiled: Option<&Metadata>) -> Result<Source, Outdated> {
    let metadata = fs::metadata(path).map_err(|_| Outdated::Changed)?;
    let bytes = metadata.len();
    if bytes > MAX_BYTES || size.is_some_and(|size| size != bytes) {
        return Err(Outdated::Changed);
    }
    if compiled.is_some_and(|compiled| is_newer(&metadata, compiled)) {
        return Err(Outdated::Newer);
    }
    let text = fs::read(path).map_err(|_| Outdated::Changed)?;
    Source::from_bytes(name(path), text).map_err(|_| Outdated::Changed)
}

/// Whether a source was changed after it was compiled.
fn is_newer(source: &Metadata, compiled: &Metadata) -> bool {
    /// Who copies files, or checks them out, writes them in any order, one right after the other.
    const TOGETHER: Duration = Duration::from_secs(1);
    let (Ok(changed), Ok(compiled)) = (source.modified(), compiled.modified()) else { return false };
    let Ok(later) = changed.duration_since(compiled) else { return false };
    let is_copy = later < TOGETHER && source.created().is_ok_and(|created| created >= compiled);
    !later.is_zero() && !is_copy
}

/// The path as people call it: from this directory, if it is below.
fn name(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).map(Path::to_owned).ok());
    below.unwrap_or_else(|| path.to_owned()).display().to_string()
}
