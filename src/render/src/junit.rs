//! Findings as a report of tests (the XML of `JUnit`), which every build server reads.
//!
//! A file is a suite. Each finding is a test of it, which has failed when the finding is an error, as
//! the exit status says; the others have passed and only say something. A file in which nothing was
//! found has one test, which has passed.

use std::io::{self, Write};

use ptx_check::diagnostic::{Diagnostic, Omitted, Severity};
use ptx_check::rules::Code;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use rustc_hash::FxHashMap;

use crate::place::Place;
use crate::{Checked, slashed};

/// A test of a suite.
struct Case {
    name: String,
    /// The file to look at.
    path: String,
    /// Where it is there, if at one place.
    line: Option<u32>,
    finding: Option<Said>,
}

/// What a finding says.
struct Said {
    code: Code,
    severity: Severity,
    headline: String,
    text: String,
}

/// Writes one document for all files.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    let mut suites: Vec<(String, Vec<Case>)> = Vec::with_capacity(files.len());
    for file in files {
        suites.push((slashed(file.source.name()), cases(file)));
    }
    let all = suites.iter().flat_map(|(_, cases)| cases);
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let (tests, failures) = (all.clone().count(), all.filter(|case| case.has_failed()).count());
    writer
        .create_element("testsuites")
        .with_attribute(("name", "ptx-tc"))
        .with_attribute(("tests", tests.to_string().as_str()))
        .with_attribute(("failures", failures.to_string().as_str()))
        .with_attribute(("errors", "0"))
        .write_inner_content(|writer| {
            suites.iter().try_for_each(|(path, cases)| suite(writer, path, cases))
        })?;
    writeln!(writer.into_inner())
}

fn suite(writer: &mut Writer<&mut dyn Write>, path: &str, cases: &[Case]) -> io::Result<()> {
    let failures = cases.iter().filter(|case| case.has_failed()).count();
    let path = legal(path);
    writer
        .create_element("testsuite")
        .with_attribute(("name", path.as_str()))
        .with_attribute(("tests", cases.len().to_string().as_str()))
        .with_attribute(("failures", failures.to_string().as_str()))
        .with_attribute(("errors", "0"))
        .with_attribute(("skipped", "0"))
        .write_inner_content(|writer| cases.iter().try_for_each(|case| case.write(writer, &path)))?;
    Ok(())
}

/// The tests of a file.
fn cases(file: &Checked) -> Vec<Case> {
    let mut names = Names::default();
    let mut cases: Vec<Case> = Vec::new();
    for finding in &file.report.diagnostics {
        let position = file.source.position(finding.primary.span.start);
        let place = file.place(finding);
        cases.push(Case {
            name: names.next(format!("{} {}:{}", title(finding.code), position.line, position.column)),
            path: slashed(place.path),
            line: Some(place.line),
            finding: Some(said(finding, &place)),
        });
    }
    for Omitted { code, severity, count, .. } in Omitted::by_code(&file.report.omitted) {
        let headline = format!("and {count} more of {} in this file", code.name());
        cases.push(Case {
            name: format!("{} and more", title(code)),
            path: slashed(file.source.name()),
            line: None,
            finding: Some(Said { code, severity, text: headline.clone(), headline }),
        });
    }
    if cases.is_empty() {
        let (name, path) = ("nothing found".to_owned(), slashed(file.source.name()));
        cases.push(Case { name, path, line: None, finding: None });
    }
    cases
}

fn title(code: Code) -> String {
    format!("{code} {}", code.name())
}

fn said(finding: &Diagnostic, place: &Place<'_>) -> Said {
    let message = place.message(finding);
    let column = place.column.map_or(String::new(), |column| format!(":{column}"));
    Said {
        code: finding.code,
        severity: finding.severity,
        headline: finding.message.clone(),
        text: format!("{}:{}{column}: {}: {message}", place.path, place.line, finding.severity),
    }
}

/// Readers take tests of the same name for one.
#[derive(Default)]
struct Names {
    seen: FxHashMap<String, usize>,
}

impl Names {
    fn next(&mut self, name: String) -> String {
        let seen = self.seen.entry(name.clone()).or_default();
        *seen += 1;
        if *seen == 1 { name } else { format!("{name} ({seen})") }
    }
}

impl Case {
    fn has_failed(&self) -> bool {
        self.finding.as_ref().is_some_and(|said| said.severity == Severity::Error)
    }

    fn write(&self, writer: &mut Writer<&mut dyn Write>, path: &str) -> io::Result<()> {
        let mut element = writer
            .create_element("testcase")
            .with_attribute(("name", self.name.as_str()))
            .with_attribute(("classname", path))
            .with_attribute(("file", legal(&self.path).as_str()));
        if let Some(line) = self.line {
            element = element.with_attribute(("line", line.to_string().as_str()));
        }
        let Some(said) = &self.finding else { return element.write_empty().map(|_| ()) };
        element.write_inner_content(|writer| {
            let text = legal(&said.text);
            if self.has_failed() {
                writer
                    .create_element("failure")
                    .with_attribute(("message", legal(&said.headline).as_str()))
                    .with_attribute(("type", said.code.as_str()))
                    .write_text_content(BytesText::new(&text))?;
            } else {
                writer.create_element("system-out").write_text_content(BytesText::new(&text))?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Without the control characters that XML cannot even escape.
fn legal(text: &str) -> String {
    let is_illegal = |c: char| {
        c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r') || matches!(c, '\u{FFFE}' | '\u{FFFF}')
    };
    text.replace(is_illegal, "\u{FFFD}")
}
