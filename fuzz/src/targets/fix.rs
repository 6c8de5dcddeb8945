//! Fixing adds no syntax errors, and leaves nothing to fix.

use fastrand::Rng;
use ptx_check::Source;
use ptx_check::diagnostic::Applicability;

use super::{lie_within, options, syntax_errors};
use crate::Case;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let Ok(source) = Source::from_bytes("fuzz.ptx", case.text.clone()) else { return Ok(()) };
    let options = options(&mut random);
    let allowed = if random.bool() { Applicability::Safe } else { Applicability::Unsafe };
    let fixed =
        ptx_fix::fix("fuzz.ptx", case.text.clone(), &options, allowed).map_err(|it| it.to_string())?;
    lie_within(fixed.source.text(), &fixed.report.diagnostics)?;
    if fixed.applied == 0 {
        return if fixed.bytes == case.text { Ok(()) } else { Err("changed without a fix".to_owned()) };
    }
    let (before, behind) = (syntax_errors(&source), syntax_errors(&fixed.source));
    if behind > before {
        return Err(format!("{before} syntax errors before fixing, {behind} behind it"));
    }
    let again = ptx_fix::fix("fuzz.ptx", fixed.bytes, &options, allowed).map_err(|it| it.to_string())?;
    match again.applied {
        0 => Ok(()),
        more => Err(format!("{} fixes ({allowed}), and {more} more the second time", fixed.applied)),
    }
}
