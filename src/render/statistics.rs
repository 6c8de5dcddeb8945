//! How often each rule found something.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Checked, Summary};
use crate::diagnostic::Severity;
use crate::rules::Code;

#[derive(Serialize)]
struct Document {
    schema: u32,
    statistics: Vec<Entry>,
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
    if json {
        serde_json::to_writer_pretty(&mut *out, &Document { schema: 1, statistics, summary })?;
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
    writeln!(out, "{}", super::human::totals(&summary))
}
