//! The command line: arguments in, text and an exit status out.
//!
//! Findings go to standard output. The tool's own trouble (bad usage, an unreadable file) goes to
//! standard error as a miette report. The exit status is 0 when nothing of severity error was
//! found, 1 when something was, 2 when the tool itself failed, 3 when `simulate` could not judge all.

#![warn(missing_docs)]

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

mod ast;
mod check;
mod debug;
mod decode;
mod draw;
mod encode;
mod explain;
mod files;
mod format;
mod init;
mod input;
#[cfg(feature = "lsp")]
mod lsp;
mod patch;
mod repair;
mod settings;
mod simulate;
mod words;

/// Checks PTX for the tcgen05 instructions of Blackwell GPUs.
#[derive(Debug, Parser)]
#[command(name = "ptx-tc", version, long_version = long_version(), max_term_width = 100)]
struct Arguments {
    /// Whether to write with colours; `auto`: on a terminal, unless the environment has `NO_COLOR`.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", display_order = 1000)]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// Whether to write with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal, and not where `NO_COLOR` says no.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// What the command line says of colours.
static COLOR: OnceLock<Color> = OnceLock::new();

#[derive(Debug, Subcommand)]
enum Command {
    /// Check PTX files.
    Check(check::Check),
    /// Run kernels without a GPU, and find hangs and races.
    Simulate(simulate::Simulate),
    /// Lay out PTX files.
    Format(format::Format),
    /// Write a configuration with comments.
    Init(init::Init),
    /// Explain a rule.
    Explain(explain::Explain),
    /// List the rules.
    Rules(explain::Rules),
    /// Make the word of a descriptor.
    Encode(encode::Encode),
    /// Show the fields of a descriptor, and what is wrong with it.
    Decode(decode::Decode),
    /// Draw descriptors, layouts, kernels and runs.
    Draw(draw::Draw),
    /// Print the typed syntax tree of a file as JSON.
    Ast(ast::Ast),
    /// Print what the analyses know of a file.
    #[command(hide = true)]
    Debug(debug::Debug),
    /// Serve an editor: the Language Server Protocol on standard input and output.
    #[cfg(feature = "lsp")]
    Lsp(lsp::Lsp),
    /// Print the manual page.
    #[command(long_about = "Print the manual page, as `man` reads it: `ptx-tc man | man -l -`.")]
    Man,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What the exit status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing of severity error.
    Clean,
    /// At least one error was found.
    Findings,
    /// The tool itself failed.
    Trouble,
    /// Nothing was found, but not all could be judged.
    Incomplete,
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Clean => 0,
            Outcome::Findings => 1,
            Outcome::Trouble => 2,
            Outcome::Incomplete => 3,
        }
    }
}

fn long_version() -> String {
    use ptx_check::isa::targets::{TARGETS, TENSOR_TARGETS, VERSIONS};
    let first = TENSOR_TARGETS
        .iter()
        .filter_map(|target| TARGETS.iter().find(|(known, _)| known == target))
        .map(|&(_, since)| since)
        .min();
    let versions: Vec<String> =
        VERSIONS.iter().filter(|version| Some(**version) >= first).map(ToString::to_string).collect();
    format!("{}\nPTX ISA versions with tcgen05: {}", env!("CARGO_PKG_VERSION"), versions.join(", "))
}

/// Runs the command line with the arguments of the process.
pub fn main() -> ExitCode {
    ExitCode::from(main_with(std::env::args_os()))
}

/// Runs the command line with these arguments, the first of which is the name of the program, and returns the exit
/// status.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let trouble = error.use_stderr();
            // Nothing is left to report to when this fails.
            let _ = error.print();
            return if trouble { Outcome::Trouble.into() } else { Outcome::Clean.into() };
        }
    };
    let color = *COLOR.get_or_init(|| arguments.color);
    how_trouble_is_shown(color);
    #[cfg(feature = "lsp")]
    if let Command::Lsp(_) = arguments.command {
        // Its writer has the lock on standard output.
        return lsp::run();
    }
    // Standard output by itself writes each line for itself.
    let out = &mut io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = run(arguments.command, out);
    let flushed = out.flush().map_err(output_error);
    let result = result.and_then(|outcome| flushed.map(|()| outcome));
    match result {
        Ok(outcome) => outcome.into(),
        // The reader has seen enough (`| head`).
        Err(report) if is_broken_pipe(&report) => Outcome::Clean.into(),
        Err(report) => {
            report_trouble(&report);
            Outcome::Trouble.into()
        }
    }
}

/// What a command writes to standard output.
///
/// # Errors
/// When the arguments are none, or the command itself fails: what it says about that.
pub fn output_of(arguments: &[&str]) -> Result<String, String> {
    let arguments = iter::once("ptx-tc").chain(arguments.iter().copied());
    let arguments = Arguments::try_parse_from(arguments).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    run(arguments.command, &mut out).map_err(|report| {
        let help = report.help().map(|help| format!(": {help}")).unwrap_or_default();
        format!("{report}{help}")
    })?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// Runs a command.
fn run(command: Command, out: &mut dyn Write) -> miette::Result<Outcome> {
    match command {
        Command::Check(check) => check.run(out),
        Command::Simulate(simulate) => simulate.run(out),
        Command::Format(format) => format.run(out),
        Command::Init(init) => init.run(out),
        Command::Explain(explain) => explain.run(out),
        Command::Rules(rules) => rules.run(out),
        Command::Encode(encode) => encode.run(out),
        Command::Decode(decode) => decode.run(out),
        Command::Draw(draw) => draw.run(out),
        Command::Ast(ast) => ast.run(out),
        Command::Debug(debug) => debug.run(out),
        #[cfg(feature = "lsp")]
        Command::Lsp(_) => Ok(Outcome::Clean),
        Command::Man => man(out).map_err(output_error).map(|()| Outcome::Clean),
        Command::Completions { shell } => {
            let mut out = out;
            clap_complete::generate(shell, &mut Arguments::command(), "ptx-tc", &mut out);
            Ok(Outcome::Clean)
        }
    }
}

/// The manual page, with the options of each command.
fn man(out: &mut dyn Write) -> io::Result<()> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        writeln!(out, ".SH {}", subcommand.get_name().to_uppercase())?;
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_description_section(out)?;
        page.render_options_section(out)?;
    }
    Ok(())
}

/// Lines are wrapped for the eyes of people only: what is read by a program, or looked through with `grep`, must not
/// depend on how long a path is. Colours are as everywhere.
fn how_trouble_is_shown(color: Color) {
    let is_watched = io::stderr().is_terminal();
    if is_watched && color == Color::Auto {
        return;
    }
    // Nobody but this function sets one.
    let _ = miette::set_hook(Box::new(move |_| {
        let mut options = miette::MietteHandlerOpts::new();
        if !is_watched {
            options = options.wrap_lines(false);
        }
        match color {
            Color::Auto => {}
            Color::Always => options = options.color(true),
            Color::Never => options = options.color(false),
        }
        Box::new(options.build())
    }));
}

/// Shows the tool's own trouble.
fn report_trouble(report: &miette::Report) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{report:?}");
}

/// Trouble with standard output.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot write the output")]
struct OutputError(#[source] io::Error);

fn output_error(error: io::Error) -> miette::Report {
    OutputError(error).into()
}

/// As the command line says; else on a terminal only, and not where the user has said no (<https://no-color.org>).
fn use_color(is_terminal: bool) -> bool {
    match COLOR.get() {
        Some(Color::Always) => return true,
        Some(Color::Never) => return false,
        Some(Color::Auto) | None => {}
    }
    let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    forced || is_terminal && !refused
}

/// The path as people call it: from this directory, if it is below.
fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).map(Path::to_owned).ok());
    below.as_deref().unwrap_or(path).display().to_string()
}

fn is_broken_pipe(report: &miette::Report) -> bool {
    // Whoever renders may have wrapped what the operating system said.
    let is_broken = |error: &(dyn Error + 'static)| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    let output = report.downcast_ref::<OutputError>();
    output.is_some_and(|error| {
        iter::successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source()).any(is_broken)
    })
}
