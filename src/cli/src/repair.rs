//! Fixing a file or silencing what is found in it, and showing what that would change.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ptx_check::Options;
use ptx_check::diagnostic::Applicability;
use ptx_fix::Fixed;
use ptx_fix::allow::Allowed;
use ptx_fix::changes::Change;
use ptx_render::Checked;

use crate::input::{self, InputError};
use crate::patch;

/// A text before and after.
#[derive(Debug)]
pub(crate) struct Repair {
    before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    changes: Vec<Change>,
    pub(crate) applied: usize,
}

/// Applies fixes; returns what is found after them or, with `keep`, before.
pub(crate) fn repair(
    name: &str,
    before: Vec<u8>,
    options: &Options,
    allowed: Applicability,
    keep: bool,
) -> Result<(Checked, Repair), InputError> {
    let fixed = ptx_fix::fix(name, before.clone(), options, allowed);
    let Fixed { bytes: after, changes, applied, source, report, .. } =
        fixed.map_err(|error| InputError::NoText { path: name.to_owned(), error })?;
    let repair = Repair { before, after, changes, applied };
    Ok((kept(name, Checked::new(source, report), &repair, options, keep)?, repair))
}

/// Silences what is found; returns what is found after that or, with `keep`, before.
pub(crate) fn allow(
    name: &str,
    before: Vec<u8>,
    options: &Options,
    keep: bool,
) -> Result<(Checked, Repair), InputError> {
    let allowed = ptx_fix::allow::allow(name, before.clone(), options);
    let Allowed { bytes: after, changes, silenced, source, report, .. } =
        allowed.map_err(|error| InputError::NoText { path: name.to_owned(), error })?;
    let repair = Repair { before, after, changes, applied: silenced };
    Ok((kept(name, Checked::new(source, report), &repair, options, keep)?, repair))
}

/// What is found after a change or, with `keep`, before.
fn kept(
    name: &str,
    after: Checked,
    repair: &Repair,
    options: &Options,
    keep: bool,
) -> Result<Checked, InputError> {
    if !keep || repair.applied == 0 {
        return Ok(after);
    }
    let source = input::source(name, repair.before.clone())?;
    let report = ptx_check::check(&source, options);
    Ok(Checked::new(source, report))
}

impl Repair {
    /// The change as a patch; empty when there is none.
    pub(crate) fn diff(&self, name: &str) -> Vec<u8> {
        patch::patch(name, &self.before, &self.after, &self.changes)
    }
}

/// Puts `bytes` in place of the file in one step: nobody sees half of it, and a crash leaves the
/// old one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one.
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".ptx-tc-").tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
