//! Fuzzing: promises of ptx-tc, held against texts that nobody would write.
//!
//! It runs on stable Rust, in one process, without instrumentation: what makes it find things are
//! the texts. The [`corpus`] is every kernel and fixture of the repository, cut into pieces of some
//! 20 KB; [`mutate`] changes their tokens (operands, modifiers, numbers, statements, whole
//! functions) and their bytes. Each [`Target`] is a list of promises about one part of ptx-tc.
//!
//! A [`Case`] follows from the seed and its number alone, so that any case can be run again, and a
//! long run can go on where it was stopped:
//!
//! ```text
//! cargo run --release -p ptx-tc-fuzz -- check --seed 1 --cases 1000000 --jobs 2
//! cargo run --release -p ptx-tc-fuzz -- check --seed 1 --first 4711 --cases 1
//! ```
//!
//! [`bugs`] are mistakes put into kernels that have none, to see which the rules find; [`simulated`] are
//! those that are put into kernels that run. [`misread`] changes what kernels with known results tell the tensor core.
//!
//! [`shapes`] are texts of any size, each bad for one part of the checker: for the tests that count
//! steps, and for measurements.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

pub mod bugs;
pub mod corpus;
pub mod minimise;
pub mod misread;
pub mod mutate;
pub mod shapes;
pub mod simulated;
mod targets;

use corpus::Corpus;

/// A part of ptx-tc with its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Target {
    /// A check ends without a panic, says the same twice, and its findings lie within the text.
    Check,
    /// After any changes, a check that remembers the one before finds what a check of its own finds.
    Again,
    /// Fixing adds no syntax errors, and leaves nothing to fix.
    Fix,
    /// Formatting keeps every token, and formatting again changes nothing.
    Format,
    /// After any edits, the language server finds what a check of the same text finds.
    Lsp,
    /// In a file of another language, a check ends and its findings lie within the file; fixing breaks no
    /// PTX and leaves nothing to fix, and silencing leaves nothing to silence.
    Host,
    /// Kernels, started in any way, run to a verdict; running one again says the same.
    Simulate,
    /// Descriptors are what they were encoded from, and every word can be decoded and printed.
    Descriptors,
}

/// What a target is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The text; not used by [`Target::Descriptors`].
    pub text: Vec<u8>,
    /// Everything else follows from this: options, edits, words.
    pub choice: u64,
}

impl Case {
    /// The case with this number in the run of a seed.
    pub fn new(target: Target, corpus: &Corpus, seed: u64, number: u64) -> Self {
        // Neighbouring seeds make similar first numbers; a round of mixing parts them.
        let mixed = (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(23);
        let mut random = fastrand::Rng::with_seed(mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ number);
        let text = match target {
            Target::Simulate => mutate::kernel(corpus, &mut random),
            Target::Check | Target::Fix | Target::Format | Target::Lsp => mutate::text(corpus, &mut random),
            // Several functions, of which some stay as they are.
            Target::Again => (0..random.u32(1..5)).flat_map(|_| mutate::text(corpus, &mut random)).collect(),
            Target::Host => {
                let (language, text) = mutate::host(corpus, &mut random);
                return Self { text, choice: (random.u64(..) << 8) | u64::from(language) };
            }
            Target::Descriptors => Vec::new(),
        };
        Self { text, choice: random.u64(..) }
    }
}

impl Target {
    /// Runs one case; says which promise was broken. Panics where ptx-tc does.
    ///
    /// # Errors
    /// A broken promise, in words.
    pub fn run(self, case: &Case) -> Result<(), String> {
        match self {
            Self::Check => targets::check::run(case),
            Self::Again => targets::again::run(case),
            Self::Fix => targets::fix::run(case),
            Self::Format => targets::format::run(case),
            Self::Lsp => targets::lsp::run(case),
            Self::Host => targets::host::run(case),
            Self::Simulate => targets::simulate::run(case),
            Self::Descriptors => targets::descriptors::run(case),
        }
    }

    /// Runs one case; a panic is a broken promise, too.
    ///
    /// # Errors
    /// A broken promise, in words.
    pub fn judge(self, case: &Case) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.run(case))).unwrap_or_else(|payload| {
            let text = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("of no text")))
        })
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
