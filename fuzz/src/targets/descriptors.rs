//! Descriptors are what they were encoded from, and every word can be decoded and printed.

use fastrand::Rng;
use ptx_check::descriptor::field::{Known, Layout};
use ptx_check::descriptor::idesc_check::{self, Multiply};
use ptx_check::descriptor::instruction::{Format, InstructionDescriptor};
use ptx_check::descriptor::shared_memory::{self, Matrix, SharedMemoryDescriptor};
use ptx_check::descriptor::zero_column_mask::{self, ZeroColumnMask};
use ptx_check::descriptor::{Features, Generation, Problem, tmem_address};
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_check::isa::vocabulary::Kind;
use strum::IntoEnumIterator;

use crate::Case;

/// Words in a case.
const WORDS: u32 = 200;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let kinds: Vec<Kind> = Kind::iter().collect();
    for _ in 0..WORDS {
        let target = random.choice([100, 103, 107]).unwrap_or(100);
        let features = Features::of(Target::a(target), PtxVersion::new(9, random.u8(..5)));
        let kind = *random.choice(&kinds).ok_or("no kind")?;
        let sparse = random.bool();
        let format = Format { kind, generation: features.generation, sparse };
        let word = word(format.layout(), &mut random);
        instruction(&Multiply::any(kind, features), word as u32, &mut random)?;
        shared(&Matrix::any(features), word64(features, &mut random))?;
        let layout = zero_column_mask::layout();
        zeroed(
            random.choice([None, Some(32), Some(64), Some(128)]).flatten(),
            self::word(layout, &mut random),
        )?;
        let address = random.u64(..);
        print(&tmem_address::check(Known::new(random.u64(..), address)));
        show(tmem_address::layout(), address)?;
    }
    Ok(())
}

fn word64(features: Features, random: &mut Rng) -> u64 {
    word(shared_memory::layout(features.wide_addresses), random)
}

/// A word whose fields are mostly ones that the layout has.
fn word(layout: &'static Layout, random: &mut Rng) -> u64 {
    if random.u8(..) < 32 {
        return random.u64(..);
    }
    let mut word = layout.blank();
    for field in layout.fields.iter().filter(|field| !field.is_fixed()) {
        let mut raw = random.u64(..);
        for _ in 0..8 {
            if field.permits(field.get(field.put(raw))) {
                break;
            }
            raw = random.u64(..) & random.u64(..);
        }
        word |= field.put(field.get(field.put(raw)));
    }
    if random.u8(..) < 64 {
        word ^= 1 << random.u8(..64);
    }
    word
}

fn instruction(multiply: &Multiply, word: u32, random: &mut Rng) -> Result<(), String> {
    match InstructionDescriptor::decode(multiply, word) {
        Ok(descriptor) => {
            if descriptor.encode(multiply) != Ok(word) {
                return Err(format!(
                    "{word:#x} is {descriptor:?}, which is {:?}",
                    descriptor.encode(multiply)
                ));
            }
        }
        Err(problems) if problems.is_empty() => return Err(format!("{word:#x} is refused for nothing")),
        Err(problems) => print(&problems),
    }
    // What is wrong with half a word is wrong with the whole.
    let whole = idesc_check::check(multiply, word.into());
    for problem in idesc_check::check(multiply, Known::new(random.u64(..), word.into())) {
        if !whole.iter().any(|other| other.field == problem.field || other.check == problem.check) {
            return Err(format!("{problem} is no problem of the whole word {word:#x}"));
        }
    }
    let generation = if random.bool() { Generation::Blackwell } else { Generation::Rubin };
    let known = Known::new(random.u64(..), word.into());
    show(Format::of(multiply.kind, generation, known).layout(), word.into())
}

fn shared(matrix: &Matrix, word: u64) -> Result<(), String> {
    match SharedMemoryDescriptor::decode(matrix, word) {
        Ok(descriptor) if descriptor.encode(matrix) != Ok(word) => {
            Err(format!("{word:#x} is {descriptor:?}, which is {:?}", descriptor.encode(matrix)))
        }
        Ok(_) => Ok(()),
        Err(problems) if problems.is_empty() => Err(format!("{word:#x} is refused for nothing")),
        Err(problems) => {
            print(&problems);
            Ok(())
        }
    }
}

fn zeroed(m: Option<u32>, word: u64) -> Result<(), String> {
    match ZeroColumnMask::decode(m, word) {
        Ok(descriptor) => {
            if descriptor.encode(m) != Ok(word) {
                return Err(format!("{word:#x} is {descriptor:?}, which is {:?}", descriptor.encode(m)));
            }
            for n in [8, 64, 256] {
                let masks = descriptor.sub_masks(m.unwrap_or(128), n);
                if masks.is_some_and(|masks| masks.concat().len() != n as usize) {
                    return Err(format!("{word:#x} makes no mask of {n} columns"));
                }
            }
        }
        Err(problems) if problems.is_empty() => return Err(format!("{word:#x} is refused for nothing")),
        Err(problems) => print(&problems),
    }
    show(zero_column_mask::layout(), word)
}

/// Whatever is wrong can be said.
fn print(problems: &[Problem]) {
    for problem in problems {
        drop(problem.to_string());
    }
}

/// All fields of a word, printed; put together they are the word.
fn show(layout: &'static Layout, word: u64) -> Result<(), String> {
    let word = word & u64::MAX >> (64 - layout.width);
    let mut together = 0;
    for value in layout.values(word) {
        if value.field.show(value.raw).is_empty() {
            return Err(format!("{word:#x}: nothing to show of {}", value.field.name));
        }
        together |= value.field.put(value.raw);
    }
    if together == word { Ok(()) } else { Err(format!("{word:#x} has fields that make {together:#x}")) }
}
