//! Which restrictions of the ISA are enforced by what: the page made of `coverage.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptx_check::diagnostic::{Code, Ptxas};
use toml::de::{DeTable, DeValue};

use crate::Result;

/// How a row is enforced, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// By rules alone.
    Rules,
    /// By rules, as far as they go.
    Partly,
    Simulation,
    NotObservable,
    Missing,
}

pub(super) fn page() -> Result<String> {
    let coverage = DeTable::parse(include_str!("coverage.toml"))?;
    let coverage = coverage.get_ref();
    let mut counts: BTreeMap<Standing, usize> = BTreeMap::new();
    let mut silent = 0;
    let mut tables = String::new();
    for section in list(coverage, "section")? {
        let section = section.as_table().ok_or("a section is a table")?;
        let (number, title) = (text(section, "number")?, text(section, "title")?);
        let _ = write!(tables, "\n## {number} {title}\n\n| restriction | enforced by |\n|---|---|\n");
        for row in list(section, "rows")? {
            let row = row.as_array().into_iter().flat_map(|row| row.iter());
            let row: Vec<&str> = row.filter_map(|entry| entry.get_ref().as_str()).collect();
            let [restriction, enforced @ ..] = row.as_slice() else {
                return Err(format!("{number} has an empty row").into());
            };
            let mut cells = Vec::new();
            let mut rules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            let mut reason = None;
            for entry in enforced {
                if let Some((code, fixture)) = rule(entry) {
                    rules.entry(code).or_default().push(fixture);
                } else {
                    let (word, why) =
                        entry.split_once(": ").ok_or_else(|| format!("{number}: `{entry}`?"))?;
                    reason = Some(match word {
                        "simulation" => Standing::Simulation,
                        "not observable" => Standing::NotObservable,
                        "missing" => Standing::Missing,
                        _ => return Err(format!("{number}: `{word}` is no reason").into()),
                    });
                    cells.push(format!("*{word}*: {why}"));
                }
            }
            let parsed: Vec<Code> = rules.keys().filter_map(|code| Code::parse(code)).collect();
            if !parsed.is_empty() && parsed.iter().all(|code| code.ptxas() == Ptxas::Silent) {
                silent += 1;
            }
            let linked = rules.iter().map(|(code, fixtures)| {
                let shown = fixtures
                    .iter()
                    .map(|name| {
                        let short = name.strip_prefix("invalid_").unwrap_or(name).replace('_', " ");
                        format!("[{short}](../fixtures/rules/{code}/{name}.ptx)")
                    })
                    .collect::<Vec<_>>();
                format!("[{code}](rules/{code}.md) ({})", shown.join(", "))
            });
            let cells: Vec<String> = linked.chain(cells).collect();
            let _ = writeln!(tables, "| {} | {} |", escaped(restriction), escaped(&cells.join("; ")));
            let standing = match (rules.is_empty(), reason) {
                (false, None) => Standing::Rules,
                (false, Some(_)) => Standing::Partly,
                (true, Some(reason)) => reason,
                (true, None) => return Err(format!("{number}: nothing enforces `{restriction}`").into()),
            };
            *counts.entry(standing).or_default() += 1;
        }
    }
    let count = |standing| counts.get(&standing).copied().unwrap_or_default();
    let total: usize = counts.values().sum();
    let mut page = String::from(
        "# What of the ISA is enforced\n\n\
         Generated from `xtask/src/generate/coverage.toml` by `cargo xtask generate`. Every sentence of the PTX ISA's \
         chapter on\ntcgen05 that restricts a program has a row: the restriction in short, the rules that enforce it, \
         and for each a fixture\nthat breaks this restriction and nothing else (a test checks that the rule finds it). \
         Sections and tables are numbered as in\nPTX ISA 9.0, where the chapter is 9.7.16.\n\n\
         A rule checks values as far as they are known: constants, and the bits that follow from them. It never \
         guesses a value\nof the run time.\n\n\
         | standing | restrictions |\n|---|---|\n",
    );
    for (what, standing) in [
        ("enforced by rules", Standing::Rules),
        ("enforced by rules in part", Standing::Partly),
        ("*simulation*: needs the run of a whole kernel", Standing::Simulation),
        ("*not observable*: the text of a program does not show it", Standing::NotObservable),
        ("*missing*: no rule yet", Standing::Missing),
    ] {
        let _ = writeln!(page, "| {what} | {} |", count(standing));
    }
    let _ = write!(
        page,
        "| all | {total} |\n\nNVIDIA's assembler accepts programs that break {silent} of those that rules enforce.\n{tables}"
    );
    page.push_str("\n## Beyond the chapter\n\n| rule | what it holds |\n|---|---|\n");
    let beyond = coverage.get("beyond").and_then(|beyond| beyond.get_ref().as_table());
    for (code, why) in beyond.into_iter().flatten() {
        let (code, why) = (code.get_ref(), why.get_ref().as_str().unwrap_or_default());
        let _ = writeln!(page, "| [{code}](rules/{code}.md) | {} |", escaped(why));
    }
    Ok(page)
}

fn list<'a>(table: &'a DeTable<'a>, name: &str) -> Result<impl Iterator<Item = &'a DeValue<'a>>> {
    let list = table.get(name).and_then(|list| list.get_ref().as_array());
    Ok(list.ok_or_else(|| format!("no {name}"))?.iter().map(toml::Spanned::get_ref))
}

fn text<'a>(table: &'a DeTable<'a>, name: &str) -> Result<&'a str> {
    let text = table.get(name).and_then(|text| text.get_ref().as_str());
    Ok(text.ok_or_else(|| format!("no {name}"))?)
}

/// The code and the fixture of an entry that names a rule.
fn rule(entry: &str) -> Option<(&str, &str)> {
    entry.split_once(' ').filter(|(code, _)| Code::parse(code).is_some())
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
