//! TC2: what exists on which target and since which version.
//!
//! [`Gates`](crate::instruction::gates::Gates) answers the one question for an instruction and
//! everything that it uses; the rules only say which kind of answer they report.

use crate::instruction::decode::Decoded;
use crate::instruction::gates::Availability;
use crate::isa::targets::Target;
use crate::resolve::environment::Declared;
use crate::rules::Checker;
use crate::words::list_words;

pub(super) mod feature_unsupported_on_target;
pub(super) mod instruction_unsupported_on_target;
pub(super) mod target_needs_newer_version;
pub(super) mod unknown_target;
pub(super) mod version_too_old;

/// What each instruction lacks, for each set of targets.
fn unavailable<'c>(
    checker: &'c Checker<'_>,
) -> impl Iterator<Item = (&'c Decoded<'c>, Availability)> + use<'c> {
    checker.unavailable().flat_map(|decoded| {
        checker.gates.unavailable(decoded).map(move |availability| (decoded, availability))
    })
}

fn names(targets: &[Declared<Target>]) -> String {
    list_words(targets.iter().map(|target| target.value.to_string()), "and")
}
