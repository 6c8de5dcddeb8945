//! Links into the ISA's online documentation.

use super::snapshot::Snapshot;
use crate::source::Span;

/// The page that holds all of the ISA.
const ISA: &str = "https://docs.nvidia.com/cuda/parallel-thread-execution/";

/// A place in the ISA.
pub(super) fn url(anchor: &str) -> String {
    format!("{ISA}#{anchor}")
}

/// A word of the text that leads somewhere.
pub(super) struct Link {
    pub(super) span: Span,
    pub(super) url: String,
    pub(super) title: String,
}

/// The name of each tcgen05 instruction leads to its section.
pub(super) fn links(snapshot: &Snapshot) -> Vec<Link> {
    snapshot
        .tcgen05(Span::new(0, u32::MAX))
        .filter_map(|decoded| {
            let form = decoded.form?;
            let title = format!("PTX ISA {}: tcgen05.{}", form.section, form.operation);
            Some(Link { span: decoded.name, url: url(form.anchor), title })
        })
        .collect()
}
