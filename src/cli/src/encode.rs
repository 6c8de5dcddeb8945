//! `ptx-tc encode`

use std::io::Write;

use ptx_workbench::{Encoding, encode};

use crate::decode::{Descriptor, Format, write_json, write_masks};
use crate::words::in_words;
use crate::{Outcome, output_error};

/// Make the word of a descriptor.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  ptx-tc encode idesc kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=256
  ptx-tc encode idesc kind=mxf4nvf4 scale=ue4m3 m=256 n=128 k=96 scale-vec=block16 cta-group=2
  ptx-tc encode smem start=0x400 lbo=16 sbo=1024 swizzle=128b
  ptx-tc encode smem --matrix bf16 128x64 k-major swizzle=128b start=0x400
  ptx-tc encode zero-mask non-zero=yes skip-span=2 use-span=3 m=128 n=64

Besides the fields, `idesc` takes what is known of the multiply: kind, ws, cta-group, sp, ashift,
scale-vec, target and version. Offsets, addresses and strides are in bytes. `ptx-tc decode` lists
the fields of a word.")]
pub(crate) struct Encode {
    /// The descriptor.
    #[arg(value_enum)]
    descriptor: Descriptor,
    /// Compute the strides of a packed matrix: TYPE SIZE k-major|mn-major [swizzle=MODE] [start=ADDRESS].
    #[arg(long)]
    matrix: bool,
    /// How to write the word.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The fields; what is left out is zero.
    #[arg(value_name = "FIELD=VALUE")]
    expression: Vec<String>,
}

impl Encode {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        if self.matrix && self.descriptor != Descriptor::Smem {
            return Err(MatrixElsewhere.into());
        }
        let encoding = if self.matrix { Encoding::Matrix } else { Encoding::Fields(self.descriptor.into()) };
        let (judged, note) = encode(encoding, &self.expression).map_err(in_words)?;
        match self.format {
            Format::Human => writeln!(out, "{}", judged.hexadecimal())
                .and_then(|()| note.map_or(Ok(()), |note| writeln!(out, "{note}")))
                .and_then(|()| write_masks(&judged, out)),
            Format::Json => write_json(&judged, self.descriptor, out),
        }
        .map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}

/// `--matrix` with another descriptor.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("`--matrix` computes the strides of a shared memory descriptor")]
#[diagnostic(help("write `ptx-tc encode smem --matrix ...`"))]
struct MatrixElsewhere;
