//! A check ends, says the same twice, and its findings lie within the text.

use fastrand::Rng;
use ptx_check::{Source, check};
use ptx_render::{Checked, Format};

use super::{is_sound, options};
use crate::Case;

/// Findings are shown only where that is cheap.
const SHOWN: usize = 50;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let Ok(source) = Source::from_bytes("fuzz.ptx", case.text.clone()) else { return Ok(()) };
    let options = options(&mut random);
    let report = check(&source, &options);
    is_sound(&mut random, &source, &options, &report)?;
    if report.diagnostics.len() <= SHOWN {
        let formats = [Format::Human, Format::Concise, Format::Json, Format::Sarif, Format::Github];
        let format = random.choice(formats).unwrap_or(Format::Human);
        let mut out = Vec::new();
        let files = [Checked::new(source, report)];
        ptx_render::render(&files, format, random.bool(), &mut out).map_err(|error| error.to_string())?;
    }
    Ok(())
}
