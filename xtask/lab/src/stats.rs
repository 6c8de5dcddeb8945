//! How much is known of the descriptors that real kernels use.

use std::fs;
use std::path::PathBuf;

use ptx_check::description::Word;
use ptx_check::{Options, Source, check};

use crate::{Result, root};

/// Kernels that are made alike, by the start of their names; the first that fits counts.
const FAMILIES: &[(&str, &[&str])] = &[
    ("Triton and Gluon", &["triton_", "gluon_"]),
    // One function for each wrapper: descriptors are its parameters.
    ("wrappers and other PTX, nvcc", &["cuda_ptx_", "ptx_variety_"]),
    // The helpers of unoptimised code get descriptors as parameters, too.
    ("debug builds, nvcc -G", &["gemm_bf16_persistent_debug_", "attention_debug_"]),
    ("kernels, nvcc", &[""]),
];

/// Words of one sort, by how much is known of them.
#[derive(Clone, Copy, Default)]
struct Tally {
    fully: usize,
    partly: usize,
    unknown: usize,
}

impl Tally {
    /// Counts a word of which the bits from `low` on matter.
    fn count(&mut self, word: &Word, low: u32) {
        if word.is_known_from(low) {
            self.fully += 1;
        } else if word.known.mask >> low != 0 {
            self.partly += 1;
        } else {
            self.unknown += 1;
        }
    }

    fn add(&mut self, other: Self) {
        self.fully += other.fully;
        self.partly += other.partly;
        self.unknown += other.unknown;
    }

    fn shares(self) -> String {
        let all = self.fully + self.partly + self.unknown;
        if all == 0 {
            return format!("{:>6}{:>24}", 0, "-");
        }
        let share = |count: usize| format!("{:>7.1}%", 100.0 * count as f64 / all as f64);
        format!("{all:>6}{}{}{}", share(self.fully), share(self.partly), share(self.unknown))
    }
}

/// The sorts of words, and from which bit on they are constants of the kernel: the low word of a
/// shared-memory descriptor has the address.
const SORTS: [(&str, u32); 4] = [("idesc", 0), ("a-desc", 32), ("b-desc", 32), ("s-desc", 32)];

#[derive(Clone, Copy, Default)]
struct Family {
    files: usize,
    multiplies: usize,
    words: [Tally; SORTS.len()],
}

impl Family {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.multiplies += other.multiplies;
        for (mine, other) in self.words.iter_mut().zip(other.words) {
            mine.add(other);
        }
    }

    fn print(&self, name: &str) {
        println!("{name}: {} modules, {} mma", self.files, self.multiplies);
        for ((sort, low), tally) in SORTS.iter().zip(self.words) {
            let part = if *low == 0 { "" } else { ", high word" };
            println!("    {:<20}{}", format!("{sort}{part}"), tally.shares());
        }
    }
}

pub(crate) fn run() -> Result<bool> {
    let mut families = [Family::default(); FAMILIES.len()];
    for path in kernels()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let starts = |(_, starts): &(_, &[&str])| starts.iter().any(|start| name.starts_with(start));
        let family = FAMILIES.iter().position(starts).unwrap_or(FAMILIES.len() - 1);
        families[family].add(&measure(&Source::from_bytes(name, fs::read(path)?)?));
    }
    println!("{:<24}{:>6}{:>8}{:>8}{:>8}", "", "number", "fully", "partly", "not");
    let mut total = Family::default();
    for ((name, _), family) in FAMILIES.iter().zip(&families) {
        family.print(name);
        total.add(family);
    }
    total.print("all");
    Ok(true)
}

fn kernels() -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root().join("fixtures/kernels"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn measure(source: &Source) -> Family {
    let options = Options { describe: true, ..Options::default() };
    let mut family = Family { files: 1, ..Family::default() };
    for description in check(source, &options).descriptors.unwrap_or_default() {
        family.multiplies += usize::from(description.multiply.is_some());
        for word in &description.words {
            if let Some(sort) = SORTS.iter().position(|(name, _)| *name == word.name) {
                family.words[sort].count(word, SORTS[sort].1);
            }
        }
    }
    family
}
