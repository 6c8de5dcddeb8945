//! Launches that are assumed, for a kernel that comes without one.
//!
//! ```text
//! hypothesis (what is assumed) ─► generator (the launches that are tried) ─► judgement (what they show together)
//! ```
//!
//! A launch file says what a kernel is launched with. Without one, the parameters, the contents of buffers and the
//! shape of the grid are assumed. A single assumption may show what no real launch does, so several are tried, and only
//! what none of them contradicts is a finding.

mod differing;
mod generator;
mod hypothesis;
mod judgement;
mod maps;
mod printed;

pub(crate) use hypothesis::{Assumption, Hypothesis};
pub(crate) use judgement::{Shown, once_for_each_cause};
