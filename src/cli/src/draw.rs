//! `ptx-tc draw`

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use ptx_draw::{svg, text};
use ptx_workbench::Drawn;

use crate::words::no_picture;
use crate::{Outcome, output_error, simulate, use_color};

mod files;

/// Draw descriptors, layouts, kernels and runs.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  ptx-tc draw smem 0x4000404000010040 --type bf16 --major k
  ptx-tc draw smem 0x4000404000010040 --type bf16 --major mn rows=64 columns=16 access=core
  ptx-tc draw idesc 0x08200490 --kind f16
  ptx-tc draw zero-mask 0x0003028000000000 m=128 n=64
  ptx-tc draw mma --kind f16 m=64 n=128
  ptx-tc draw mma --kind mxf4nvf4 m=128 n=128 scale-vec=block16 show=scales-a
  ptx-tc draw mma --kind f16 m=128 n=64 cta-group=2 lanes=0-15 columns=0-7
  ptx-tc draw ld 16x256b x4
  ptx-tc draw 'tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32'
  ptx-tc draw cp 64x128b warpx2::02_13
  ptx-tc draw tmem kernel.ptx
  ptx-tc draw barriers kernel.ptx --launch launch.toml
  ptx-tc draw timeline kernel.ptx --launch launch.toml --output run.svg

Beside the words, these say more:
  smem      rows, columns: how much of the matrix; access: line, core or column, whose bank conflicts
            are marked; kind: how elements of 4 and 6 bits are stored; target, version
  zero-mask m, n: which columns count as zero
  idesc     cta-group, ws, sp, ashift, scale-vec, target, version: as for `ptx-tc decode`
  mma       m, n, k, cta-group, ws, sp, scale-vec, sfa-id, sfb-id, selector; a: the type of A in Tensor
            Memory; lane: 16 for the upper half; idesc: all of what a word says; show: d, a, metadata,
            scales-a or scales-b
  ld, st    split: the distance of the second half of 16x32bx2
  mma, ld, st, cp
            lanes, columns: what is drawn cell by cell, such as lanes=0-15 columns=0-7

The exit status is 1 when something is wrong with a descriptor.")]
pub(crate) struct Draw {
    /// What: smem, idesc, zero-mask, mma, ld, st, cp, tmem, barriers or timeline; or a statement of PTX.
    #[arg(value_name = "WHAT")]
    what: String,
    /// The word of a descriptor, the words of an instruction, or a file; and what else is known.
    #[arg(value_name = "WORD | NAME=VALUE")]
    words: Vec<String>,
    /// The kind of the multiply: `kind=`.
    #[arg(long)]
    kind: Option<String>,
    /// The type of the elements: `type=`.
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<String>,
    /// Which dimension of the matrix is contiguous: `k` or `mn`.
    #[arg(long)]
    major: Option<String>,
    /// The kernel of the file: its symbol, or its name in C++.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// What the kernel is launched with; `tmem`, `barriers` and `timeline` then show the run.
    #[arg(short, long, value_name = "TOML")]
    launch: Option<PathBuf>,
    /// How to draw [default: svg into a file `*.svg`, else text].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write the picture to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// An image, for light and dark pages.
    Svg,
    /// Lines for a terminal.
    Text,
}

/// What can be drawn.
const WHATS: [&str; 10] =
    ["smem", "idesc", "zero-mask", "mma", "ld", "st", "cp", "tmem", "barriers", "timeline"];

/// The picture cannot be written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot write `{path}`")]
struct Unwritable {
    path: String,
    #[source]
    error: io::Error,
}

impl Draw {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let Drawn { picture, is_wrong } = self.draw()?;
        let format = self.format.unwrap_or_else(|| {
            let path = self.output.as_deref().and_then(|path| path.extension());
            if path.is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
                Format::Svg
            } else {
                Format::Text
            }
        });
        let drawn = match format {
            Format::Svg => svg::render(&picture),
            Format::Text => {
                let color = self.output.is_none() && use_color(io::stdout().is_terminal());
                text::render(&picture, text::Look { color, width: simulate::columns() })
            }
        };
        match &self.output {
            Some(path) => fs::write(path, drawn)
                .map_err(|error| Unwritable { path: path.display().to_string(), error })?,
            None => out.write_all(drawn.as_bytes()).map_err(output_error)?,
        }
        Ok(if is_wrong { Outcome::Findings } else { Outcome::Clean })
    }

    fn draw(&self) -> miette::Result<Drawn> {
        if matches!(self.what.as_str(), "tmem" | "barriers" | "timeline") {
            return self.draw_file();
        }
        let options = [("kind", &self.kind), ("type", &self.element), ("major", &self.major)];
        let options =
            options.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
        let words: Vec<String> = self.words.iter().cloned().chain(options).collect();
        match self.what.as_str() {
            what if WHATS.contains(&what) || ptx_draw::opcode::Words::is_statement(what) => {
                ptx_workbench::draw(what, &words).map_err(no_picture)
            }
            what => Err(no_picture(ptx_workbench::unknown(what, &WHATS))),
        }
    }
}
