//! `ptx-tc decode`

use std::io::{self, Write};

use clap::ValueEnum;
use ptx_check::descriptor::field::{Bits, FieldValue};
use ptx_check::descriptor::shared_memory::{self, Matrix};
use ptx_check::descriptor::{Field, Known, Layout, Problem, idesc_check, instruction, zero_column_mask};
use serde::Serialize;

use crate::expression::{self, Expression};
use crate::{Outcome, encode, output_error};

/// Show the fields of a descriptor, and what is wrong with it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  ptx-tc decode idesc 0x08200490 --kind f16
  ptx-tc decode idesc 0x08200490 --kind f16 cta-group=2 ws=no sp=no target=sm_100a
  ptx-tc decode smem 0x4000404000010040
  ptx-tc decode zero-mask 0x0003028000000000 m=128 n=64

The exit status is 1 when something is wrong with the word.")]
pub(crate) struct Decode {
    /// The descriptor.
    #[arg(value_enum)]
    descriptor: Descriptor,
    /// The word: `0x08200490`.
    word: String,
    /// The kind of the multiply; the layout of an `idesc` depends on it.
    #[arg(long)]
    kind: Option<String>,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// What else is known: cta-group, ws, sp, ashift, scale-vec, target, version; m and n of a mask.
    #[arg(value_name = "NAME=VALUE")]
    context: Vec<String>,
}

/// Which descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Descriptor {
    /// The instruction descriptor of a multiply, 32 bits.
    Idesc,
    /// The descriptor of a matrix in shared memory, 64 bits.
    Smem,
    /// The zero-column mask descriptor, 64 bits.
    ZeroMask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// One JSON document.
    Json,
}

impl Decode {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let shown = self.decode().map_err(|error| *error)?;
        match self.format {
            Format::Human => shown.write_human(out),
            Format::Json => shown.write_json(self.descriptor, out),
        }
        .map_err(output_error)?;
        Ok(if shown.problems.is_empty() { Outcome::Clean } else { Outcome::Findings })
    }

    fn decode(&self) -> Result<Shown, Box<expression::ExpressionError>> {
        let width = match self.descriptor {
            Descriptor::Idesc => 32,
            Descriptor::Smem | Descriptor::ZeroMask => 64,
        };
        let word = expression::number(&self.word)
            .filter(|word| word >> (width - 1) <= 1)
            .ok_or_else(|| expression::word_error(&self.word, width))?;
        let kind = self.kind.iter().map(|kind| format!("kind={kind}"));
        let words: Vec<String> = kind.chain(self.context.iter().cloned()).collect();
        let mut context = Expression::parse(&words, false)?;
        let shown = |layout, problems| Shown { layout, word, problems, masks: None };
        match self.descriptor {
            Descriptor::Idesc => {
                let kind = context.kind()?;
                let multiply = context.multiply(kind)?;
                context.finish(
                    "the multiply",
                    &["kind", "ws", "cta-group", "sp", "ashift", "scale-vec", "target", "version"],
                )?;
                let known: Known = (word as u32).into();
                let said = instruction::Format::of(kind, multiply.features.generation, known);
                Ok(shown(said.layout(), idesc_check::check(&multiply, known)))
            }
            Descriptor::Smem => {
                let features = context.features()?;
                context.finish("the matrix", &["target", "version"])?;
                let problems = shared_memory::check(&Matrix::any(features), word.into());
                Ok(shown(shared_memory::layout(features.wide_addresses), problems))
            }
            Descriptor::ZeroMask => {
                let (m, n) = (context.size("m")?, context.size("n")?);
                context.finish("the mask", &["m", "n"])?;
                let problems = zero_column_mask::check(m, word.into());
                let masks = encode::sub_masks(&context, word, m, n)?;
                Ok(Shown { masks, ..shown(zero_column_mask::layout(), problems) })
            }
        }
    }
}

/// A word with everything that is to be said about it.
pub(crate) struct Shown {
    pub(crate) layout: &'static Layout,
    pub(crate) word: u64,
    pub(crate) problems: Vec<Problem>,
    pub(crate) masks: Option<Vec<Vec<bool>>>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    descriptor: Descriptor,
    word: String,
    table: &'a str,
    valid: bool,
    fields: Vec<FieldValue<'a>>,
    problems: &'a [Problem],
    /// Each sub-mask with its lowest column last.
    #[serde(skip_serializing_if = "Option::is_none")]
    masks: Option<Vec<String>>,
}

impl Shown {
    /// The word with all of its digits.
    pub(crate) fn hexadecimal(&self) -> String {
        format!("{:#0digits$x}", self.word, digits = self.layout.width as usize / 4 + 2)
    }

    pub(crate) fn write_json(&self, descriptor: Descriptor, out: &mut dyn Write) -> io::Result<()> {
        let document = Document {
            schema: 1,
            descriptor,
            word: self.hexadecimal(),
            table: self.layout.table,
            valid: self.problems.is_empty(),
            fields: self.layout.values(self.word),
            problems: &self.problems,
            masks: self.masks.as_ref().map(|masks| masks.iter().map(|mask| binary(mask)).collect()),
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }

    fn write_human(&self, out: &mut dyn Write) -> io::Result<()> {
        let title = self.layout.title.trim_start_matches("the ");
        writeln!(out, "{} as {title} ({})\n", self.hexadecimal(), self.layout.table)?;
        for low in (0..self.layout.width as u8).step_by(32).rev() {
            self.write_picture(low, out)?;
        }
        self.write_table(out)?;
        writeln!(out)?;
        match self.problems.len() {
            0 => writeln!(out, "valid")?,
            1 => writeln!(out, "1 problem:")?,
            count => writeln!(out, "{count} problems:")?,
        }
        for problem in &self.problems {
            writeln!(out, "  {problem} ({})", problem.reference)?;
        }
        self.write_masks(out)
    }

    /// The bits from `low` to `low + 31`, three columns each, with the names of their fields below.
    fn write_picture(&self, low: u8, out: &mut dyn Write) -> io::Result<()> {
        let bits = || (low..low + 32).rev();
        let starting = |bit: u8| self.parts().find(|(part, _)| part.high == bit);
        for bit in bits() {
            write!(out, " {bit:>2}")?;
        }
        writeln!(out)?;
        for bit in bits() {
            write!(out, "{} {}", if starting(bit).is_some() { '|' } else { ' ' }, self.word >> bit & 1)?;
        }
        writeln!(out, " |")?;
        for (part, field) in bits().filter_map(starting) {
            write!(out, "|{:<width$}", field.short, width = 3 * part.width() as usize - 1)?;
        }
        writeln!(out, " |\n")
    }

    fn parts(&self) -> impl Iterator<Item = (Bits, &'static Field)> {
        let fields = &self.layout.fields;
        fields.iter().flat_map(|field| field.bits.iter().map(move |&bits| (bits, field)))
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  {:<7} {:<16} {:<12} meaning", "bits", "field", "value")?;
        for value in self.layout.values(self.word) {
            let field = value.field;
            let bits: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
            let wrong = self.problems.iter().any(|problem| problem.field == field);
            writeln!(
                out,
                "{} {:<7} {:<16} {:<12} {}",
                if wrong { '!' } else { ' ' },
                bits.join(","),
                field.name,
                field.show(value.raw),
                field.meaning
            )?;
        }
        Ok(())
    }

    /// The masks as the ISA writes them, the lowest column rightmost, 64 columns to a line.
    pub(crate) fn write_masks(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut first = 0;
        for (index, mask) in self.masks.iter().flatten().enumerate() {
            for part in mask.chunks(64) {
                let last = (first + part.len()).saturating_sub(1);
                writeln!(out, "mask{index} columns {last:>3} to {first:>3}: 0b{}", binary(part))?;
                first += part.len();
            }
        }
        Ok(())
    }
}

fn binary(mask: &[bool]) -> String {
    mask.iter().rev().map(|&zeroed| if zeroed { '1' } else { '0' }).collect()
}
