//! How often each rule found something, and which parts of the module are not understood.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ptx_check::diagnostic::Severity;
use ptx_check::rules::Code;
use ptx_check::words::plural;
use serde::Serialize;

use crate::{Checked, Summary};

#[derive(Serialize)]
struct Document {
    schema: u32,
    statistics: Vec<Entry>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown_operations: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unknown_modifiers: BTreeMap<String, usize>,
    summary: Summary,
}

#[derive(Serialize)]
struct Entry {
    code: Code,
    name: &'static str,
    severity: Severity,
    count: usize,
    fixable: usize,
}

/// Writes a table, the most frequent rule first, or a JSON document.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], json: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut entries: BTreeMap<(Code, Severity), Entry> = BTreeMap::new();
    let mut add = |code: Code, severity, count, fixable| {
        let entry = entries.entry((code, severity)).or_insert_with(|| Entry {
            code,
            name: code.name(),
            severity,
            count: 0,
            fixable: 0,
        });
        entry.count += count;
        entry.fixable += fixable;
    };
    for finding in files.iter().flat_map(|file| &file.report.diagnostics) {
        add(finding.code, finding.severity, 1, usize::from(finding.fix.is_some()));
    }
    for omitted in files.iter().flat_map(|file| &file.report.omitted) {
        add(omitted.code, omitted.severity, omitted.count, omitted.fixable);
    }
    let mut statistics: Vec<Entry> = entries.into_values().collect();
    statistics.sort_by_key(|entry| std::cmp::Reverse(entry.count));
    let summary = Summary::of(files);
    let (unknown_operations, unknown_modifiers) = (unknown(files, true), unknown(files, false));
    if json {
        let document = Document { schema: 1, statistics, unknown_operations, unknown_modifiers, summary };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        return writeln!(out);
    }
    let width = statistics.first().map_or(1, |entry| entry.count.to_string().len());
    for Entry { code, name, severity, count, fixable } in &statistics {
        let fixes = match fixable {
            0 => String::new(),
            all if all == count => ", fixable".to_owned(),
            some => format!(", {some} fixable"),
        };
        writeln!(out, "{count:width$}  {code}  {name} ({severity}{fixes})")?;
    }
    writeln!(out, "{}", super::human::totals(&summary))?;
    for (what, opcodes) in [("operation", unknown_operations), ("modifier", unknown_modifiers)] {
        if !opcodes.is_empty() {
            let instructions = plural(opcodes.values().sum(), "instruction");
            let of = if what == "operation" { "of" } else { "with" };
            let unknown = plural(opcodes.len(), &format!("unknown {what}"));
            let names: Vec<&str> = opcodes.keys().map(String::as_str).take(NAMED).collect();
            let more = if opcodes.len() > NAMED { ", ..." } else { "" };
            writeln!(out, "{instructions} {of} {unknown}: {}{more}", names.join(", "))?;
        }
    }
    Ok(())
}

/// Unknown opcodes that are named.
const NAMED: usize = 10;

/// The opcodes that are unknown by their operation, or by one of their modifiers, and how many
/// instructions have them.
fn unknown(files: &[Checked], by_operation: bool) -> BTreeMap<String, usize> {
    let mut opcodes = BTreeMap::new();
    for opcode in files.iter().flat_map(|file| &file.report.unknown_opcodes) {
        if opcode.is_operation == by_operation {
            // An opcode may be written over several lines.
            let text = opcode.text.split_whitespace().collect::<Vec<_>>().join(" ");
            *opcodes.entry(text).or_default() += opcode.count;
        }
    }
    opcodes
}
