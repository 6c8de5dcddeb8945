//! What was found in the packages, judged: who is wrong, and why.

use std::collections::BTreeMap;

use ptx_tc::diagnostic::Severity;

use super::Tally;
use super::packages::Package;

/// A kind of finding in a package.
pub(crate) struct Judgement {
    package: &'static str,
    /// The code of a rule, or [`MISSED`] or [`UNKNOWN`].
    pub(crate) what: &'static str,
    /// How many there are.
    pub(crate) count: usize,
    /// Who is wrong, and why.
    pub(crate) verdict: &'static str,
}

/// Statements that only the other reading has.
const MISSED: &str = "only counted";
/// Instructions whose opcode no table has.
const UNKNOWN: &str = "unknown operation";

const JUDGED: &[Judgement] = &[];

/// The judgements about a package.
pub(crate) fn of(package: &Package) -> Vec<&'static Judgement> {
    JUDGED.iter().filter(|it| it.package == package.name).collect()
}

/// Whether everything that was found in a package is judged, and what is judged still found; says what
/// is not.
pub(crate) fn holds(package: &Package, tally: &Tally) -> bool {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for ((severity, code), places) in &tally.findings {
        if *severity >= Severity::Warning {
            *found.entry(code).or_default() += places.len();
        }
    }
    for (what, count) in [(MISSED, tally.missed.len()), (UNKNOWN, tally.unknown_instructions())] {
        if count > 0 {
            found.insert(what, count);
        }
    }
    let judged: BTreeMap<&str, usize> = of(package).iter().map(|it| (it.what, it.count)).collect();
    for what in found.keys().chain(judged.keys().filter(|what| !found.contains_key(*what))) {
        let (count, known) = (found.get(what), judged.get(what));
        if count != known {
            let number = |it: Option<&usize>| it.copied().unwrap_or_default();
            println!(
                "NOT JUDGED: {what} in {}: {} found, {} judged",
                package.name,
                number(count),
                number(known)
            );
        }
    }
    found == judged
}
