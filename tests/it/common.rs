//! What several tests need.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptx_tc::Options;
use ptx_tc::diagnostic::Severity;
use ptx_tc::rules::Code;
use ptx_tc::rules::selection::{Layer, RuleSettings, Selector};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn ptx_tc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-tc"));
    command.args(arguments).current_dir(root()).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    ptx_tc(arguments).output().unwrap()
}

pub(crate) fn with_stdin(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = ptx_tc(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A directory of its own for one test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The rules that look at a kernel as a whole.
const WHOLE_KERNEL: &[&str] = &[
    "TC005", "TC302", "TC303", "TC304", "TC305", "TC306", "TC307", "TC308", "TC309", "TC311", "TC312",
    "TC313", "TC507", "TC7", "TC8",
];
/// Those of them that miss something in any excerpt of a kernel.
const WHOLE_KERNEL_PRESENCE: &[&str] = &["TC304", "TC307", "TC704", "TC710", "TC802"];

/// How to check the fixtures of a rule: the rule runs even if it is off by default; style is a
/// matter of its own rules' fixtures only. The fixtures of rules about one instruction are kernels
/// of little more than that instruction, which the rules about whole kernels have nothing to say of.
pub(crate) fn options(code: &str) -> Options {
    let is_about_kernels = WHOLE_KERNEL.iter().any(|prefix| code.starts_with(prefix));
    options_without(code, if is_about_kernels { &[] } else { WHOLE_KERNEL })
}

/// How to check an excerpt of a kernel in the documentation of a rule.
pub(crate) fn excerpt_options(code: &str) -> Options {
    let is_about_kernels = WHOLE_KERNEL.iter().any(|prefix| code.starts_with(prefix));
    let ignored = if is_about_kernels { WHOLE_KERNEL_PRESENCE } else { WHOLE_KERNEL };
    options_without(code, &ignored.iter().copied().filter(|it| *it != code).collect::<Vec<_>>())
}

fn options_without(code: &str, ignored: &[&str]) -> Options {
    let selector = |text: &str| text.parse::<Selector>().unwrap();
    let is_off = Code::parse(code).unwrap().rule().severity == Severity::Off;
    let style = (!code.starts_with("TC9")).then_some("TC9");
    let layer = Layer {
        severity: if is_off { vec![(selector(code), Severity::Warning)] } else { Vec::new() },
        ignore: ignored.iter().copied().chain(style).map(selector).collect(),
        ..Layer::default()
    };
    // No example is as large as the real limit.
    let analysis_budget = (code == "TC005").then_some(20);
    Options { rules: RuleSettings::default().with(&layer), analysis_budget, ..Options::default() }
}

/// The paths of all fixtures of rules, and the codes.
pub(crate) fn fixtures() -> Vec<(String, PathBuf)> {
    let mut fixtures = Vec::new();
    for rule in fs::read_dir(root().join("fixtures/rules")).unwrap() {
        let rule = rule.unwrap();
        for file in fs::read_dir(rule.path()).unwrap() {
            fixtures.push((rule.file_name().into_string().unwrap(), file.unwrap().path()));
        }
    }
    fixtures.sort();
    fixtures
}
