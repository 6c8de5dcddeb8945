//! `ptx-tc explain` and `ptx-tc rules`

use std::io::Write;

use clap::ValueEnum;
use ptx_check::diagnostic::selection::{self, Selector};
use ptx_check::diagnostic::{Ptxas, Severity};
use ptx_check::rules::{RULES, Rule};
use serde::Serialize;

use crate::{Outcome, output_error};

/// Explain a rule, or list the rules of a family.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Its code or its name: `TC301` or `ncols-invalid`. The start of codes, such as `TC3`, is a family.
    #[arg(value_name = "CODE|NAME|FAMILY")]
    rule: String,
}

/// List the rules.
#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    /// How to write the list.
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A table.
    Human,
    /// One JSON document.
    Json,
}

/// No such rule.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("there is no rule `{wanted}`")]
struct UnknownRule {
    wanted: String,
    #[help]
    help: String,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        match Selector::known(&self.rule).ok_or_else(|| unknown_rule(&self.rule))? {
            Selector::Rule(code) => page(code.rule(), out),
            family @ Selector::Family(_) => table(
                &RULES.iter().copied().filter(|rule| family.matches(rule.code)).collect::<Vec<_>>(),
                out,
            ),
        }
        .map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}

fn page(rule: &Rule, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{} {}\nseverity: {}; ptxas: {}\n\n{}\n{}",
        rule.code,
        rule.code.name(),
        rule.code.severity(),
        ptxas(rule.code.ptxas()),
        text(&rule.documentation()),
        rule.code.url()
    )
}

fn unknown_rule(wanted: &str) -> UnknownRule {
    let nearest = selection::UnknownRule::new(wanted).nearest;
    let distance = strsim::damerau_levenshtein(&nearest.to_lowercase(), &wanted.to_lowercase());
    let help = if distance <= 2.max(wanted.len() / 3) && distance < nearest.len() - 2 {
        format!("did you mean `{nearest}`? `ptx-tc rules` lists all")
    } else {
        "`ptx-tc rules` lists all".to_owned()
    };
    UnknownRule { wanted: wanted.to_owned(), help }
}

fn ptxas(ptxas: Ptxas) -> &'static str {
    match ptxas {
        Ptxas::Rejects => "rejects this, too",
        Ptxas::Silent => "accepts this silently",
    }
}

/// The documentation as plain text: headings without their marks, code indented.
fn text(docs: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in docs.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            code = !code;
        } else if let Some(heading) = line.strip_prefix("## ") {
            text.push_str(heading);
            text.push('\n');
        } else if line.is_empty() {
            text.push('\n');
        } else {
            text.push_str(if code { "      " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[derive(Serialize)]
struct RuleEntry {
    code: &'static str,
    name: &'static str,
    severity: Severity,
    ptxas: Ptxas,
    summary: String,
    url: String,
}

#[derive(Serialize)]
struct RuleList {
    schema: u32,
    rules: Vec<RuleEntry>,
}

impl Rules {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let result = match self.format {
            ListFormat::Human => table(RULES, out),
            ListFormat::Json => {
                let rules = RULES.iter().map(|rule| entry(rule)).collect();
                serde_json::to_writer_pretty(&mut *out, &RuleList { schema: 1, rules })
                    .map_err(Into::into)
                    .and_then(|()| writeln!(out))
            }
        };
        result.map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}

fn entry(rule: &Rule) -> RuleEntry {
    RuleEntry {
        code: rule.code.as_str(),
        name: rule.code.name(),
        severity: rule.code.severity(),
        ptxas: rule.code.ptxas(),
        summary: rule.summary(),
        url: rule.code.url(),
    }
}

fn table(rules: &[&Rule], out: &mut dyn Write) -> std::io::Result<()> {
    let width = rules.iter().map(|rule| rule.code.name().len()).max().unwrap_or_default();
    for rule in rules {
        writeln!(
            out,
            "{}  {:width$}  {:<7}  {}",
            rule.code,
            rule.code.name(),
            rule.code.severity().to_string(),
            rule.summary()
        )?;
    }
    Ok(())
}
