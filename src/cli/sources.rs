//! The sources that PTX was compiled from, on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::from_here;
use crate::render::Checked;
use crate::render::sources::SourceFile;
use crate::resolve::provenance::Frame;
use crate::source::Source;

/// No source that somebody wrote is longer.
const MAX_BYTES: u64 = 1 << 26;

/// Finds the sources that findings of a file name, and reads them.
pub(super) fn find(file: &mut Checked) {
    let labels = file
        .report
        .diagnostics
        .iter()
        .flat_map(|finding| std::iter::once(&finding.primary).chain(&finding.labels));
    let frames =
        labels.filter_map(|label| label.provenance.as_ref()).flat_map(|provenance| &provenance.frames);
    let wanted: BTreeSet<(Arc<str>, Option<u64>)> =
        frames.map(|Frame { path, size, .. }| (path.clone(), *size)).collect();
    if wanted.is_empty() {
        return;
    }
    let module = Path::new(file.source.name()).parent().unwrap_or(Path::new("")).to_owned();
    for (recorded, size) in wanted {
        let found = candidates(&recorded, &module).find(|path| path.is_file());
        if let Some(path) = found {
            let source = read(&path, size);
            file.sources.insert(recorded, SourceFile { path: from_here(&path), source });
        }
    }
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
fn read(path: &Path, size: Option<u64>) -> Option<Source> {
    let bytes = fs::metadata(path).ok()?.len();
    if bytes > MAX_BYTES || size.is_some_and(|size| size != bytes) {
        return None;
    }
    Source::from_bytes(from_here(path), fs::read(path).ok()?).ok()
}
