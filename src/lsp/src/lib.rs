//! The language server: `ptx-tc lsp`.
//!
//! ```text
//! stdin ─► transport ─► main_loop ─► document (text, lines, versions)
//!                          │  ▲              │
//!                          │  ├── worker ◄───┤   Source ─► Snapshot ─► findings
//!                          │  └── runs ◄─────┘   Snapshot ─► simulator ─► findings
//!                          ▼
//!                       handlers ─► hover, completion, navigation, ... ─► to_proto ─► stdout
//! ```
//!
//! The server differs from the command line only before `Source` and behind the findings.
//!
//! - The main thread owns the documents. It never parses one: after a change it hands the new text
//!   to the `worker`, which makes a `snapshot::Snapshot` (tree and names) first and the
//!   findings behind it. A newer version supersedes an older one at the next step. What was found in
//!   functions whose text is as it was is not looked for again.
//! - A request is answered from the snapshot of exactly the version that it was asked about. One
//!   that comes while that snapshot is being made waits for it; if the text changes meanwhile it
//!   fails with `ContentModified`. No answer is ever stale. Completion in a large text that has just
//!   changed is the one exception: the place is that of the new text, the names those of the last
//!   snapshot.
//! - The user may ask for a run of a kernel. `runs` makes it on a third thread. Its findings are kept in the
//!   snapshot, and go with it when the text changes; what still runs then is stopped.
//! - The features know spans and text, nothing of the protocol. `handlers` calls them and
//!   `to_proto` turns what they say into the protocol's types.

#![warn(missing_docs)]

mod actions;
mod completion;
mod configuration;
mod context;
mod described;
mod descriptors;
mod document;
mod handlers;
mod hints;
mod hover;
mod lenses;
mod links;
pub mod local;
mod main_loop;
mod navigation;
mod outline;
mod pictures;
mod runs;
mod scope;
mod settings;
mod signature;
mod snapshot;
mod text;
mod to_proto;
mod tokens;
mod transport;
mod values;
mod worker;

pub use main_loop::run;
