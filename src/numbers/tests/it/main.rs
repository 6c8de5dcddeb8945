//! Tests of the arithmetic: against a plain reference, against what GPUs computed, and against a published model.

mod formats;
mod mmasim;
mod properties;
mod recorded;
mod reference;
mod refused;
