//! What several tests need.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptx_check::rules::{RULES, Rule, Scope};
use ptx_tc::diagnostic::Code;
use ptx_tc::diagnostic::selection::{Layer, RuleSettings, Selector};
use ptx_tc::diagnostic::{Ptxas, Severity};
use ptx_tc::simulation::launch::LaunchShape;
use ptx_tc::simulation::{Kernel, KernelReport, Schedule, Settings};
use ptx_tc::{Options, Source, Unit};

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

pub(crate) fn simulate_command(arguments: &[&str]) -> Output {
    ptx_tc(&[&["simulate"], arguments].concat()).env("COLUMNS", "100").output().unwrap()
}

/// What a run of the kernel `k` of a module shows, on a launch that is assumed.
pub(crate) fn simulate(text: &str, schedule: Schedule) -> KernelReport {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let settings = Settings { schedule, budget: 100_000, specials: true, ..Settings::default() };
    kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap()
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

/// Whether a rule looks at the ways through a function, or at a whole kernel, as the assembler never
/// does.
fn is_about_kernels(rule: &Rule) -> bool {
    matches!(rule.scope, Scope::Function | Scope::Kernel) && rule.code.ptxas() == Ptxas::Silent
}

fn codes(which: impl Fn(&Rule) -> bool) -> Vec<Code> {
    RULES.iter().filter(|rule| which(rule)).map(|rule| rule.code).collect()
}

/// How to check the fixtures of a rule: the rule runs even if it is off by default; style is a
/// matter of its own rules' fixtures only. The fixtures of rules about one instruction are kernels
/// of little more than that instruction, which the rules about whole kernels have nothing to say of.
pub(crate) fn options(code: &str) -> Options {
    let rule = Code::parse(code).unwrap().rule();
    options_without(rule, &if is_about_kernels(rule) { Vec::new() } else { codes(is_about_kernels) })
}

/// How to check an excerpt of a kernel in the documentation of a rule: what it lacks, nobody misses.
pub(crate) fn excerpt_options(code: &str) -> Options {
    let rule = Code::parse(code).unwrap().rule();
    let mut ignored = if is_about_kernels(rule) {
        codes(|other| other.scope == Scope::Kernel)
    } else {
        codes(is_about_kernels)
    };
    ignored.retain(|other| *other != rule.code);
    options_without(rule, &ignored)
}

fn options_without(rule: &Rule, ignored: &[Code]) -> Options {
    let code = rule.code;
    let is_style = code.as_str().starts_with("TC9");
    let style = (!is_style).then(|| Selector::Family("TC9".to_owned()));
    let layer = Layer {
        severity: if code.severity() == Severity::Off {
            vec![(Selector::Rule(code), Severity::Warning)]
        } else {
            Vec::new()
        },
        ignore: ignored.iter().copied().map(Selector::Rule).chain(style).collect(),
        ..Layer::default()
    };
    // No example is as large as the real limit.
    let analysis_budget = (code == Code::AnalysisLimit).then_some(20);
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

/// Kernels that are about something else, and all of whose CTAs write their results to the same place.
pub(crate) const RACING: [&str; 3] = [
    "intrinsics_sm100a.groups",
    "ptx_variety_relocatable_sm110a._Z8clustersPf",
    "ptx_variety_sm100a._Z8clustersPf",
];
