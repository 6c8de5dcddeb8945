//! Files of other languages: what is said lies in the file, and what is changed stays sound.

use std::collections::BTreeSet;

use fastrand::Rng;
use ptx_check::diagnostic::Applicability;
use ptx_check::source::Span;
use ptx_check::{Document, Source, check};
use ptx_fix::allow;

use super::{is_sound, lie_within, options, syntax_errors};
use crate::Case;
use crate::corpus::HOSTS;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let name = format!("fuzz.{}", HOSTS[case.choice as usize % HOSTS.len()]);
    let Ok(source) = Source::from_bytes(name.clone(), case.text.clone()) else { return Ok(()) };
    let options = options(&mut random);
    let report = check(&source, &options);
    is_sound(&mut random, &source, &options, &report)?;
    if random.bool() {
        let allowed = allow::allow(&name, case.text.clone(), &options).map_err(|it| it.to_string())?;
        lie_within(allowed.source.text(), &allowed.report.diagnostics)?;
        let more = allow::allow(&name, allowed.bytes, &options).map_err(|it| it.to_string())?;
        return match more.silenced {
            0 => Ok(()),
            more => Err(format!("{more} findings more are silent the second time")),
        };
    }
    let allowed = if random.bool() { Applicability::Safe } else { Applicability::Unsafe };
    let fixed = ptx_fix::fix(&name, case.text.clone(), &options, allowed).map_err(|it| it.to_string())?;
    lie_within(fixed.source.text(), &fixed.report.diagnostics)?;
    if fixed.applied == 0 {
        return if fixed.bytes == case.text { Ok(()) } else { Err("changed without a fix".to_owned()) };
    }
    let (before, behind) = (shape(&source), shape(&fixed.source));
    if behind.written != before.written || behind.all < before.all || behind.errors > before.errors {
        return Err(format!("before fixing: {before:?}, behind it: {behind:?}"));
    }
    let again = ptx_fix::fix(&name, fixed.bytes, &options, allowed).map_err(|it| it.to_string())?;
    match again.applied {
        0 => Ok(()),
        more => Err(format!("{} fixes ({allowed}), and {more} more the second time", fixed.applied)),
    }
}

/// What a file has of PTX.
#[derive(Debug)]
struct Shape {
    /// Statements and modules where they are written.
    written: usize,
    /// With the uses of macros that have statements: they may be more once the definitions of a macro agree.
    all: usize,
    errors: usize,
}

fn shape(source: &Source) -> Shape {
    let document = Document::new(source);
    let used = document.unit.fragments.iter().filter_map(|fragment| fragment.used);
    let used: BTreeSet<Span> = used.collect();
    let all = document.host.as_ref().map_or(0, |host| host.statements.len());
    let modules = document.modules.iter().map(|module| &module.unit.source);
    let errors = modules.chain([&document.unit.source]).map(syntax_errors).sum();
    Shape { written: all - used.len(), all, errors }
}
