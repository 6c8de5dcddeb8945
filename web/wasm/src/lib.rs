//! ptx-tc for a page: what `check`, `decode`, `encode`, `draw`, `simulate` and the language server do, as WebAssembly.
//!
//! Everything that crosses into JavaScript is a text, most of it JSON: of requests and answers of the Language Server
//! Protocol in [`editor`], of the documents that the program writes in [`workbench`] and [`runner`]. A function that
//! refuses what it is given returns an error, whose text is for people. Nothing here keeps time or reads files.

#![warn(missing_docs)]

pub mod editor;
pub mod runner;
pub mod workbench;

use wasm_bindgen::prelude::*;

/// Makes panics readable in the console of the browser. A panic ends the instance.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// The version of ptx-tc.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A document as JSON. What is written here has no maps with keys that JSON cannot have.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
