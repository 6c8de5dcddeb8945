//! Above each kernel, what can be run, and the verdict of what has run.

use ptx_check::source::Span;

use crate::runs::{self, Run, Wish};
use crate::snapshot::Snapshot;

/// Something to run, above a place.
#[derive(Debug)]
pub(crate) struct Lens {
    pub(crate) span: Span,
    pub(crate) title: String,
    pub(crate) wish: Wish,
    /// Whether it is running: then it can be cancelled.
    pub(crate) is_running: bool,
}

/// Those of the kernels whose names touch a part of the text, in its order: one for assumed launches, and one for each
/// launch file of the kernel.
pub(crate) fn lenses(snapshot: &Snapshot, part: Span) -> Vec<Lens> {
    let touches = |name: Span| name.start <= part.end && part.start <= name.end;
    let entries = snapshot.document.unit.module.bodies().filter(|(_, it)| it.is_entry);
    let names: Vec<Span> = entries.map(|(_, it)| it.name).filter(|name| touches(*name)).collect();
    let kernels = runs::kernels(snapshot);
    // The directory is not read while the cursor moves elsewhere.
    if names.is_empty() || kernels.is_empty() {
        return Vec::new();
    }
    let launches = runs::launches(snapshot, &kernels);
    let mut lenses = Vec::new();
    for name in names {
        let kernel = snapshot.slice(name);
        let files = launches.iter().filter(|(_, of)| of == kernel).map(|(file, _)| Some(file.clone()));
        lenses.extend([None].into_iter().chain(files).map(|launch| {
            let wish = Wish { kernel: kernel.to_owned(), launch };
            let run = snapshot.run(&wish);
            let is_running = matches!(run, Some(Run::Started));
            Lens { span: name, title: title(&wish, run.as_ref()), wish, is_running }
        }));
    }
    lenses
}

fn title(wish: &Wish, run: Option<&Run>) -> String {
    match (run, &wish.launch) {
        (None, None) => "simulate".to_owned(),
        (None, Some(file)) => format!("simulate with {file}"),
        (Some(Run::Started), None) => "simulating ... (cancel)".to_owned(),
        (Some(Run::Started), Some(file)) => format!("simulating with {file} ... (cancel)"),
        (Some(Run::Ended(ran)), None) => format!("simulated: {}", ran.summary()),
        (Some(Run::Ended(ran)), Some(file)) => format!("{file}: {}", ran.summary()),
    }
}
