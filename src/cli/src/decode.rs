//! `ptx-tc decode`

use std::io::{self, Write};

use clap::ValueEnum;
use ptx_check::descriptor::Field;
use ptx_check::descriptor::field::Bits;
use ptx_workbench::{Judged, binary};

use crate::words::in_words;
use crate::{Outcome, output_error};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Descriptor {
    /// The instruction descriptor of a multiply, 32 bits.
    Idesc,
    /// The descriptor of a matrix in shared memory, 64 bits.
    Smem,
    /// The zero-column mask descriptor, 64 bits.
    ZeroMask,
}

impl From<Descriptor> for ptx_workbench::Descriptor {
    fn from(descriptor: Descriptor) -> Self {
        match descriptor {
            Descriptor::Idesc => Self::Idesc,
            Descriptor::Smem => Self::Smem,
            Descriptor::ZeroMask => Self::ZeroMask,
        }
    }
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
        let kind = self.kind.iter().map(|kind| format!("kind={kind}"));
        let context: Vec<String> = kind.chain(self.context.iter().cloned()).collect();
        let judged = ptx_workbench::decode(self.descriptor.into(), &self.word, &context).map_err(in_words)?;
        match self.format {
            Format::Human => ForPeople(&judged).write(out),
            Format::Json => write_json(&judged, self.descriptor, out),
        }
        .map_err(output_error)?;
        Ok(if judged.problems.is_empty() { Outcome::Clean } else { Outcome::Findings })
    }
}

/// Writes the word for programs.
pub(crate) fn write_json(judged: &Judged, descriptor: Descriptor, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &judged.document(descriptor.into()))?;
    writeln!(out)
}

/// Writes the word for people.
struct ForPeople<'a>(&'a Judged);

impl ForPeople<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Judged { layout, problems, .. } = self.0;
        let title = layout.title.trim_start_matches("the ");
        writeln!(out, "{} as {title} ({})\n", self.0.hexadecimal(), layout.table)?;
        for low in (0..self.0.layout.width as u8).step_by(32).rev() {
            self.write_picture(low, out)?;
        }
        self.write_table(out)?;
        writeln!(out)?;
        match problems.len() {
            0 => writeln!(out, "valid")?,
            1 => writeln!(out, "1 problem:")?,
            count => writeln!(out, "{count} problems:")?,
        }
        for problem in problems {
            writeln!(out, "  {problem} ({})", problem.reference)?;
        }
        write_masks(self.0, out)
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
            write!(out, "{} {}", if starting(bit).is_some() { '|' } else { ' ' }, self.0.word >> bit & 1)?;
        }
        writeln!(out, " |")?;
        for (part, field) in bits().filter_map(starting) {
            write!(out, "|{:<width$}", field.short, width = 3 * part.width() as usize - 1)?;
        }
        writeln!(out, " |\n")
    }

    fn parts(&self) -> impl Iterator<Item = (Bits, &'static Field)> {
        let fields = &self.0.layout.fields;
        fields.iter().flat_map(|field| field.bits.iter().map(move |&bits| (bits, field)))
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  {:<7} {:<16} {:<12} meaning", "bits", "field", "value")?;
        for value in self.0.layout.values(self.0.word) {
            let field = value.field;
            let bits: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
            let wrong = self.0.problems.iter().any(|problem| problem.field == field);
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
}

/// The masks as the ISA writes them, the lowest column rightmost, 64 columns to a line.
pub(crate) fn write_masks(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let mut first = 0;
    for (index, mask) in judged.masks.iter().flatten().enumerate() {
        for part in mask.chunks(64) {
            let last = (first + part.len()).saturating_sub(1);
            writeln!(out, "mask{index} columns {last:>3} to {first:>3}: 0b{}", binary(part))?;
            first += part.len();
        }
    }
    Ok(())
}
