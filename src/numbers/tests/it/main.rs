//! Tests of the arithmetic: against a plain reference, against what GPUs computed, and against a published model.

#![allow(clippy::cast_possible_wrap, reason = "bits are taken for numbers with a sign")]
#![allow(clippy::float_cmp, reason = "numbers here are exact")]
#![allow(clippy::many_single_char_names, reason = "matrices are called what the ISA calls them")]

mod formats;
mod mmasim;
mod properties;
mod recorded;
mod reference;
mod refused;
