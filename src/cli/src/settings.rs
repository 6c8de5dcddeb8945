//! `ptx-tc check --show-settings`: what holds for files, and who says so.
//!
//! It is written as a `ptx-tc.toml` that says the same, with comments. Files for which the same holds are shown
//! together.

use std::collections::HashSet;
use std::io::{self, Write};

use ptx_check::diagnostic::selection::{Layer, Selector};
use ptx_check::rules::Code;
use ptx_check::words::plural;
use ptx_config::{Config, Key, MAX_FINDINGS, Patterns, Wishes};

use crate::files::{FileArguments, Wanted};
use crate::from_here;

/// Shows the settings of files.
pub(crate) fn show(
    wanted: &[Wanted],
    wishes: &Wishes,
    arguments: &FileArguments,
    stdin_name: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The text of each, with the first file and the number of all.
    let mut shown: Vec<(String, String, usize)> = Vec::new();
    for it in wanted {
        let text = Settings { wanted: it, wishes, arguments }.to_string();
        match shown.iter_mut().find(|(known, ..)| *known == text) {
            Some((.., count)) => *count += 1,
            None => shown.push((text, it.input.name(stdin_name), 1)),
        }
    }
    for (index, (text, name, count)) in shown.iter().enumerate() {
        let others = match count - 1 {
            0 => String::new(),
            others => format!(" and {}", plural(others, "other file")),
        };
        let gap = if index > 0 { "\n" } else { "" };
        write!(out, "{gap}# {name}{others}\n{text}")?;
    }
    Ok(())
}

/// The settings of one file.
struct Settings<'a> {
    wanted: &'a Wanted,
    wishes: &'a Wishes,
    arguments: &'a FileArguments,
}

impl std::fmt::Display for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { wishes, .. } = self;
        let config = self.config();
        match config {
            Some(config) => writeln!(f, "# configuration: {}", from_here(config.path()))?,
            None => writeln!(f, "# configuration: none")?,
        }
        let options = wishes.options(config, &self.wanted.location);
        let default = |is_default: bool| is_default.then_some("default".to_owned());

        if options.targets.is_empty() {
            writeln!(f, "# targets: each module's own (default)")?;
        } else {
            let targets = list(options.targets.iter().map(ToString::to_string));
            let given = (!wishes.targets.is_empty()).then(|| "--target".to_owned());
            writeln!(f, "targets = {targets}{}", origin([given.or_else(|| self.line(Key::Targets))]))?;
        }
        match options.ptx_version {
            None => writeln!(f, "# ptx-version: each module's own (default)")?,
            Some(version) => {
                let given = wishes.ptx_version.map(|_| "--ptx-version".to_owned());
                let origin = origin([given.or_else(|| self.line(Key::PtxVersion))]);
                writeln!(f, "ptx-version = \"{version}\"{origin}")?;
            }
        }

        let nothing = Layer::default();
        let (first, second) = (config.map_or(&nothing, Config::rules), &wishes.rules);
        match second.select.as_ref().or(first.select.as_ref()) {
            None => writeln!(f, "# select: the rules that are on by default (default)")?,
            Some(select) => {
                let given = second.select.as_ref().map(|_| "--select".to_owned());
                let origin = origin([given.or_else(|| self.line(Key::Select))]);
                writeln!(f, "select = {}{origin}", list(select.iter().map(name)))?;
            }
        }
        let mut ignored: Vec<&str> = first.ignore.iter().chain(&second.ignore).map(name).collect();
        let mut met = HashSet::new();
        ignored.retain(|it| met.insert(*it));
        let option = (!second.ignore.is_empty()).then(|| "--ignore".to_owned());
        let origins = [self.line(Key::Ignore), option];
        let is_default = default(origins.iter().all(Option::is_none));
        let origins = origin(origins.into_iter().chain([is_default]));
        writeln!(f, "ignore = {}{origins}", list(ignored))?;

        self.patterns(f)?;
        let given = wishes.max_findings.map(|_| "--max-findings".to_owned());
        let given = given.or_else(|| self.line(Key::MaxFindings));
        let max_findings = options.max_findings.unwrap_or(MAX_FINDINGS);
        writeln!(f, "max-findings = {max_findings}{}", origin([given.or_else(|| default(true))]))?;

        if !first.severity.is_empty() || !second.severity.is_empty() {
            writeln!(f, "\n[severity]")?;
            // A key stands once in a table: of the same, the later decides.
            let all = || first.severity.iter().chain(&second.severity);
            for (index, (selector, severity)) in all().enumerate() {
                if all().skip(index + 1).any(|(other, _)| other == selector) {
                    continue;
                }
                let of_config = index < first.severity.len();
                let given = if of_config { self.line(Key::Severity) } else { Some("--severity".to_owned()) };
                writeln!(f, "{} = \"{}\"{}", name(selector), <&str>::from(*severity), origin([given]))?;
            }
        }
        self.per_file_ignores(f)?;
        let off: Vec<&str> =
            Code::all().filter(|code| !options.rules.runs(*code)).map(Code::as_str).collect();
        let running = Code::all().count() - off.len();
        let but = if off.is_empty() { String::new() } else { format!(", but not {}", off.join(", ")) };
        writeln!(f, "\n# {} run{but}", plural(running, "rule"))
    }
}

impl Settings<'_> {
    fn config(&self) -> Option<&Config> {
        self.wanted.config.as_deref()
    }

    /// The place of a key in the configuration.
    fn line(&self, key: Key) -> Option<String> {
        let config = self.config()?;
        Some(format!("{}:{}", from_here(config.path()), config.line(key)?))
    }

    /// Which files are looked at.
    fn patterns(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (none, (include, exclude)) =
            (Patterns::default(), (self.arguments.included(), self.arguments.excluded()));
        let (first_include, first_exclude) = self.config().map_or((&none, &none), Config::patterns);
        if include.is_empty() && first_include.is_empty() {
            writeln!(f, "# include: all files that may have PTX (default)")?;
        } else if include.is_empty() {
            let origin = origin([self.line(Key::Include)]);
            writeln!(f, "include = {}{origin}", list(first_include.written()))?;
        } else {
            writeln!(f, "include = {} # --include", list(include.written()))?;
        }
        let option = (!exclude.is_empty()).then(|| "--exclude".to_owned());
        let mut origins = vec![self.line(Key::Exclude), option];
        if origins.iter().all(Option::is_none) {
            origins.push(Some("default".to_owned()));
        }
        writeln!(f, "exclude = {}{}", list(first_exclude.written().chain(exclude.written())), origin(origins))
    }

    /// Which rules are ignored in which files, and whether this is one.
    fn per_file_ignores(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(config) = self.config() else { return Ok(()) };
        let location = &self.wanted.location;
        for (index, (patterns, selectors)) in config.per_file_ignores().enumerate() {
            if index == 0 {
                writeln!(f, "\n[per-file-ignores]{}", origin([self.line(Key::PerFileIgnores)]))?;
            }
            let matches = if config.is_match(patterns, location) { "matches" } else { "does not match" };
            for pattern in patterns.written() {
                let rules = list(selectors.iter().map(name));
                writeln!(f, "{} = {rules} # {matches}", quoted(pattern))?;
            }
        }
        Ok(())
    }
}

/// A comment with who says it.
fn origin(origins: impl IntoIterator<Item = Option<String>>) -> String {
    let origins: Vec<String> = origins.into_iter().flatten().collect();
    if origins.is_empty() { String::new() } else { format!(" # {}", origins.join(", ")) }
}

/// An array of strings of TOML.
fn list<I>(words: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let words: Vec<String> = words.into_iter().map(|word| quoted(word.as_ref())).collect();
    format!("[{}]", words.join(", "))
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

fn name(selector: &Selector) -> &str {
    match selector {
        Selector::Rule(code) => code.as_str(),
        Selector::Family(prefix) => prefix,
    }
}
