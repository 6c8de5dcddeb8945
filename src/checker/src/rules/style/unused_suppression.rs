use crate::diagnostic::Findings;
use crate::rules::{Checker, rule};

rule! {
    /// ## What it does
    /// Finds suppression comments that suppress nothing, name no rule, or cannot be parsed.
    ///
    /// ## Why is this bad?
    /// A suppression that is no longer needed hides the next mistake on its line. A suppression with a
    /// misspelled name has never worked.
    ///
    /// ## Example
    /// ```ptx
    /// // ptx-tc: allow(TC301)
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// none: the assembler sees only a comment
    UnusedSuppression Module check
}

/// The findings come from `suppression`, which alone knows what the comments did.
fn check(_: &Checker<'_>, _: &mut Findings<'_>) {}
