//! What the analyses know of a kernel and what a run of it told, as facts that [`ptx_draw`] draws.
//!
//! [`kernel`] needs no run: it says what is certain of every run, and lists the instructions of which too little is
//! known. [`run`] says what happened in one.

#![warn(missing_docs)]

pub mod kernel;
pub mod run;
