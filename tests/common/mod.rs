//! What several tests need. Each uses a part of it.
#![allow(dead_code, unreachable_pub, reason = "a module of several test programs")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptx_tc::Options;
use ptx_tc::diagnostic::Severity;
use ptx_tc::rules::Code;
use ptx_tc::rules::selection::{Layer, RuleSettings, Selector};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn ptx_tc(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-tc"));
    command.args(arguments).current_dir(root()).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

pub fn run(arguments: &[&str]) -> Output {
    ptx_tc(arguments).output().unwrap()
}

pub fn with_stdin(arguments: &[&str], text: &[u8]) -> Output {
    let mut child = ptx_tc(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A directory of its own for one test.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// How to check the fixtures of a rule: the rule runs even if it is off by default; style is a
/// matter of its own rules' fixtures only.
pub fn options(code: &str) -> Options {
    let selector = |text: &str| text.parse::<Selector>().unwrap();
    let is_off = Code::parse(code).unwrap().rule().severity == Severity::Off;
    let layer = Layer {
        severity: if is_off { vec![(selector(code), Severity::Warning)] } else { Vec::new() },
        ignore: if code.starts_with("TC9") { Vec::new() } else { vec![selector("TC9")] },
        ..Layer::default()
    };
    Options { rules: RuleSettings::default().with(&layer), ..Options::default() }
}

/// The paths of all fixtures of rules, and the codes.
pub fn fixtures() -> Vec<(String, PathBuf)> {
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
