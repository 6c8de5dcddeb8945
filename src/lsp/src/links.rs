//! Links into the ISA's online documentation.

use ptx_check::source::Span;

use crate::snapshot::Snapshot;

/// The page that holds all of the ISA.
const ISA: &str = "https://docs.nvidia.com/cuda/parallel-thread-execution/";

/// A place in the ISA.
pub(crate) fn url(anchor: &str) -> String {
    format!("{ISA}#{anchor}")
}

/// A word of the text that leads somewhere.
pub(crate) struct Link {
    pub(crate) span: Span,
    pub(crate) url: String,
    pub(crate) title: String,
}

/// The name of each tcgen05 instruction leads to its section.
pub(crate) fn links(snapshot: &Snapshot) -> Vec<Link> {
    snapshot
        .tcgen05(Span::new(0, u32::MAX))
        .filter_map(|decoded| {
            let form = decoded.form?;
            let title = format!("PTX ISA {}: tcgen05.{}", form.section, form.operation);
            Some(Link { span: decoded.name, url: url(form.anchor), title })
        })
        .collect()
}
