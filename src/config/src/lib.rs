//! `ptx-tc.toml`, or the table `[tool.ptx-tc]` of a `pyproject.toml`: what holds for the files below the directory
//! that it stands in. And [launch files](launch).
//!
//! The file is read by hand and not by serde: a key or a value that cannot be meant is shown where
//! it stands, with what was probably meant.

#![warn(missing_docs)]

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use miette::{NamedSource, SourceSpan};
use patterns::Pattern;
use ptx_check::Options;
use ptx_check::diagnostic::Severity;
use ptx_check::diagnostic::selection::{Layer, RuleSettings, Selector, UnknownRule};
use ptx_check::isa::targets::{PtxVersion, Target};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub mod launch;
mod patterns;
mod schema;

pub use patterns::Patterns;
pub use schema::schema;

/// What the file is called.
pub const FILE_NAME: &str = "ptx-tc.toml";

/// The file of Python projects that may have a table for this program.
pub const PYPROJECT: &str = "pyproject.toml";

/// What the table is called there.
const PYPROJECT_TABLE: [&str; 2] = ["tool", "ptx-tc"];

/// How many findings of one rule in one file are shown when nobody says otherwise.
pub const MAX_FINDINGS: usize = 100;

/// A configuration that was read.
#[derive(Debug, Default)]
pub struct Config {
    /// The file that it was read from.
    path: PathBuf,
    /// The directory that patterns are relative to.
    root: PathBuf,
    targets: Vec<Target>,
    ptx_version: Option<PtxVersion>,
    rules: Layer,
    /// Without a pattern, all files.
    include: Patterns,
    exclude: Patterns,
    per_file_ignores: Vec<(Patterns, Vec<Selector>)>,
    max_findings: Option<usize>,
    /// The keys that it has, with the line that each stands in, from 1.
    lines: Vec<(Key, usize)>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum ConfigError {
    #[error("cannot read `{path}`")]
    Unreadable {
        path: String,
        #[source]
        error: io::Error,
    },
    #[error("`{path}` has no table `[tool.ptx-tc]`")]
    #[diagnostic(help("write one, or name a `ptx-tc.toml`"))]
    NoTable { path: String },
    #[error("{message}")]
    Invalid {
        message: String,
        #[source_code]
        text: std::sync::Arc<NamedSource<String>>,
        #[label("{label}")]
        span: SourceSpan,
        label: String,
        #[help]
        help: Option<String>,
    },
}

/// Which configuration a file has.
#[derive(Debug)]
pub enum Configs {
    /// The one that was given for all.
    Given(Arc<Config>),
    /// The nearest above each file; remembered for each directory.
    Nearest(HashMap<PathBuf, Option<Arc<Config>>>),
}

impl Configs {
    /// The configuration that `given` names, or those that are found.
    pub fn new(given: Option<&Path>) -> miette::Result<Self> {
        match given {
            Some(path) => Ok(Self::Given(Arc::new(Config::read(path)?))),
            None => Ok(Self::Nearest(HashMap::new())),
        }
    }

    /// The configuration for the file with this absolute path.
    pub fn of(&mut self, file: &Path) -> miette::Result<Option<Arc<Config>>> {
        match self {
            Self::Given(config) => Ok(Some(Arc::clone(config))),
            Self::Nearest(known) => file.parent().map_or(Ok(None), |directory| nearest(known, directory)),
        }
    }
}

fn nearest(
    known: &mut HashMap<PathBuf, Option<Arc<Config>>>,
    directory: &Path,
) -> miette::Result<Option<Arc<Config>>> {
    if let Some(found) = known.get(directory) {
        return Ok(found.clone());
    }
    let found = match Config::of_directory(directory)? {
        Some(config) => Some(Arc::new(config)),
        None => match directory.parent() {
            Some(parent) => nearest(known, parent)?,
            None => None,
        },
    };
    known.insert(directory.to_owned(), found.clone());
    Ok(found)
}

impl Config {
    /// The configuration that stands in a directory: `ptx-tc.toml`, or else the table of a `pyproject.toml`.
    fn of_directory(directory: &Path) -> miette::Result<Option<Self>> {
        let own = directory.join(FILE_NAME);
        if own.is_file() {
            return Self::read(&own).map(Some);
        }
        let shared = directory.join(PYPROJECT);
        if shared.is_file() { Self::read_pyproject(&shared) } else { Ok(None) }
    }

    /// Reads a configuration that somebody names.
    fn read(path: &Path) -> miette::Result<Self> {
        if path.file_name().is_some_and(|name| name == PYPROJECT) {
            let config = Self::read_pyproject(path)?;
            return config.ok_or_else(|| ConfigError::NoTable { path: path.display().to_string() }.into());
        }
        let text = text_of(path)?;
        let reader = Reader { name: path.display().to_string(), text: &text };
        Ok(Self { path: path.to_owned(), ..reader.read(root_of(path)?).map_err(|it| reader.error(*it))? })
    }

    /// Reads the table of a `pyproject.toml`, if it has one.
    fn read_pyproject(path: &Path) -> miette::Result<Option<Self>> {
        let text = text_of(path)?;
        // Nearly all of them have none, and what is wrong with them is for others to say.
        if !text.contains(PYPROJECT_TABLE[1]) {
            return Ok(None);
        }
        let reader = Reader { name: path.display().to_string(), text: &text };
        let config = reader.read_pyproject(root_of(path)?).map_err(|problem| reader.error(*problem))?;
        Ok(config.map(|config| Self { path: path.to_owned(), ..config }))
    }

    /// The file that it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line of its file that a key stands in, from 1; none where it has it not.
    pub fn line(&self, key: Key) -> Option<usize> {
        self.lines.iter().find(|(known, _)| *known == key).map(|(_, line)| *line)
    }

    /// What it says of rules.
    pub fn rules(&self) -> &Layer {
        &self.rules
    }

    /// The files that it names to be checked, and those not to be checked.
    pub fn patterns(&self) -> (&Patterns, &Patterns) {
        (&self.include, &self.exclude)
    }

    /// The patterns of files in which rules are ignored, with the rules; for all files.
    pub fn per_file_ignores(&self) -> impl Iterator<Item = (&Patterns, &[Selector])> {
        self.per_file_ignores.iter().map(|(patterns, selectors)| (patterns, selectors.as_slice()))
    }

    /// Whether one of these patterns of it means the file with this absolute path.
    pub fn is_match(&self, patterns: &Patterns, file: &Path) -> bool {
        file.strip_prefix(&self.root).is_ok_and(|path| patterns.is_match(path))
    }

    /// The pattern by which the file with this absolute path is not to be checked.
    pub fn excluded_by(&self, file: &Path) -> Option<&str> {
        self.exclude.matching(file.strip_prefix(&self.root).ok()?)
    }

    /// Whether the file with this absolute path is not to be checked.
    pub fn excludes(&self, file: &Path) -> bool {
        self.excluded_by(file).is_some()
    }

    /// Whether the file with this absolute path is checked where it is found in a directory.
    pub fn includes(&self, file: &Path) -> bool {
        self.include.is_empty() || self.is_match(&self.include, file)
    }

    /// The rules that are ignored for the file with this absolute path.
    fn ignored_in(&self, file: &Path) -> Vec<Selector> {
        let matching = self.per_file_ignores.iter().filter(|(patterns, _)| self.is_match(patterns, file));
        matching.flat_map(|(_, selectors)| selectors.iter().cloned()).collect()
    }
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable { path: path.display().to_string(), error };
    fs::read_to_string(path).map_err(unreadable)
}

/// The absolute directory of a file.
fn root_of(path: &Path) -> Result<PathBuf, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable { path: path.display().to_string(), error };
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    Ok(absolute.parent().map(Path::to_path_buf).unwrap_or_default())
}

/// What was asked for beside the configuration, by arguments or by an editor. It wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Check for these targets.
    pub targets: Vec<Target>,
    /// Check for this version.
    pub ptx_version: Option<PtxVersion>,
    /// What to change about the rules.
    pub rules: Layer,
    /// How many findings of one rule to report in one file.
    pub max_findings: Option<usize>,
}

impl Wishes {
    /// How to check the file with this absolute path, which has this configuration.
    pub fn options(&self, config: Option<&Config>, path: &Path) -> Options {
        let mut options = Options {
            ptx_version: self.ptx_version,
            targets: self.targets.clone(),
            rules: RuleSettings::default(),
            ..Options::default()
        };
        if let Some(config) = config {
            options.ptx_version = options.ptx_version.or(config.ptx_version);
            if options.targets.is_empty() {
                options.targets.clone_from(&config.targets);
            }
            options.rules = options.rules.with(&config.rules).with(&self.rules);
            // A rule that does not suit a file does not suit it whatever else is selected.
            let ignore = config.ignored_in(path);
            options.rules = options.rules.with(&Layer { ignore, ..Layer::default() });
        } else {
            options.rules = options.rules.with(&self.rules);
        }
        let max_findings = self.max_findings.or(config.and_then(|config| config.max_findings));
        options.max_findings = Some(max_findings.unwrap_or(MAX_FINDINGS));
        options
    }
}

/// A key or value that is wrong.
#[derive(Debug)]
struct Problem {
    message: String,
    span: Range<usize>,
    label: String,
    help: Option<String>,
}

type Result<T, E = Box<Problem>> = std::result::Result<T, E>;

/// What the file can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "named as in the file")]
pub enum Key {
    Targets,
    PtxVersion,
    Select,
    Ignore,
    Severity,
    Include,
    Exclude,
    PerFileIgnores,
    MaxFindings,
}

/// What a severity is called.
const LEVELS: &[&str] = &["off", "info", "warning", "error"];

struct Reader<'t> {
    name: String,
    text: &'t str,
}

impl Reader<'_> {
    fn error(&self, problem: Problem) -> ConfigError {
        ConfigError::Invalid {
            message: problem.message,
            text: std::sync::Arc::new(NamedSource::new(&self.name, self.text.to_owned())),
            span: problem.span.into(),
            label: problem.label,
            help: problem.help,
        }
    }

    fn read(&self, root: PathBuf) -> Result<Config> {
        self.table(self.document()?.get_ref(), root)
    }

    /// The table of a `pyproject.toml`, if it has one.
    fn read_pyproject(&self, root: PathBuf) -> Result<Option<Config>> {
        let document = self.document()?;
        let [tool, own] = PYPROJECT_TABLE;
        let tool = document.get_ref().get(tool).and_then(|tool| tool.get_ref().as_table());
        match tool.and_then(|tool| tool.get(own)) {
            Some(own) => self.table(table(own)?, root).map(Some),
            None => Ok(None),
        }
    }

    fn document(&self) -> Result<Spanned<DeTable<'_>>> {
        Ok(DeTable::parse(self.text).map_err(|error| {
            problem("the configuration is not TOML", error.span().unwrap_or_default(), error.message())
        })?)
    }

    /// The line that a byte of the text is in, from 1.
    fn line(&self, byte: usize) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.text.as_bytes()[..byte.min(self.text.len())]).count()
    }

    fn table(&self, table_of_keys: &DeTable<'_>, root: PathBuf) -> Result<Config> {
        let mut config = Config { root, ..Config::default() };
        for (key, value) in table_of_keys {
            let Ok(known) = key.get_ref().parse() else {
                let unknown = key.get_ref();
                let keys: Vec<&str> = Key::iter().map(Into::into).collect();
                let nearest = closest(unknown, &keys);
                return Err(problem(format!("unknown key `{unknown}`"), key.span(), "no such key")
                    .help(format!("did you mean `{nearest}`? the keys are {}", keys.join(", ")))
                    .into());
            };
            config.lines.push((known, self.line(key.span().start)));
            match known {
                Key::Targets => config.targets = strings(value, target)?,
                Key::PtxVersion => config.ptx_version = Some(version(value)?),
                Key::Select => config.rules.select = Some(strings(value, selector)?),
                Key::Ignore => config.rules.ignore = strings(value, selector)?,
                Key::Severity => {
                    for (rule, level) in table(value)? {
                        let rule = selector(rule.get_ref(), rule.span())?;
                        let level = severity(string(level)?, level.span())?;
                        config.rules.severity.push((rule, level));
                    }
                }
                Key::Include => config.include = Patterns::new(strings(value, pattern)?),
                Key::Exclude => config.exclude = Patterns::new(strings(value, pattern)?),
                Key::PerFileIgnores => {
                    for (files, rules) in table(value)? {
                        let files = Patterns::new([pattern(files.get_ref(), files.span())?]);
                        config.per_file_ignores.push((files, strings(rules, selector)?));
                    }
                }
                Key::MaxFindings => config.max_findings = Some(count(value)?),
            }
        }
        Ok(config)
    }
}

fn problem(message: impl Into<String>, span: Range<usize>, label: impl Into<String>) -> Problem {
    Problem { message: message.into(), span, label: label.into(), help: None }
}

impl Problem {
    fn help(self, help: String) -> Self {
        Self { help: Some(help), ..self }
    }
}

fn closest<'a>(wanted: &str, among: &[&'a str]) -> &'a str {
    let distance = |name: &&&str| strsim::damerau_levenshtein(name, wanted);
    among.iter().min_by_key(distance).copied().unwrap_or_default()
}

type Value<'t> = Spanned<DeValue<'t>>;

fn wrong_type(value: &Value<'_>, wanted: &str) -> Problem {
    problem(
        format!("{wanted} is expected here"),
        value.span(),
        format!("this is {}", value.get_ref().type_str()),
    )
}

fn string<'v>(value: &'v Value<'_>) -> Result<&'v str> {
    Ok(value.get_ref().as_str().ok_or_else(|| wrong_type(value, "a string"))?)
}

fn table<'v, 't>(value: &'v Value<'t>) -> Result<&'v DeTable<'t>> {
    Ok(value.get_ref().as_table().ok_or_else(|| wrong_type(value, "a table"))?)
}

fn strings<T>(value: &Value<'_>, read: impl Fn(&str, Range<usize>) -> Result<T>) -> Result<Vec<T>> {
    let array = value.get_ref().as_array().ok_or_else(|| wrong_type(value, "an array of strings"))?;
    array.iter().map(|item| read(string(item)?, item.span())).collect()
}

fn selector(text: &str, span: Range<usize>) -> Result<Selector> {
    Ok(text.parse().map_err(|unknown: UnknownRule| {
        problem(format!("there is no rule `{text}`"), span, "not a code, a name or a family")
            .help(format!("did you mean `{}`? `ptx-tc rules` lists all", unknown.nearest))
    })?)
}

fn severity(text: &str, span: Range<usize>) -> Result<Severity> {
    Ok(Severity::from_str(text).map_err(|_| {
        let (nearest, levels) = (closest(text, LEVELS), LEVELS.join(", "));
        problem(format!("unknown severity `{text}`"), span, "no severity")
            .help(format!("did you mean `{nearest}`? the severities are {levels}"))
    })?)
}

fn target(text: &str, span: Range<usize>) -> Result<Target> {
    Ok(Target::known(text).map_err(|_| {
        problem(format!("unknown target `{text}`"), span, "no target")
            .help("targets are written as in PTX: `sm_100a`".to_owned())
    })?)
}

/// `"9.0"`, or 9.0 without quotes: it looks like a number, after all.
fn version(value: &Value<'_>) -> Result<PtxVersion> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.as_ref(),
        DeValue::Float(number) => number.as_str(),
        _ => return Err(wrong_type(value, "a version such as \"9.0\"").into()),
    };
    let unknown = |_| problem(format!("unknown PTX ISA version `{text}`"), value.span(), "no version");
    Ok(PtxVersion::released(text).map_err(unknown)?)
}

fn count(value: &Value<'_>) -> Result<usize> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    Ok(number.ok_or_else(|| wrong_type(value, "a number of findings"))?)
}

fn pattern(text: &str, span: Range<usize>) -> Result<Pattern> {
    Ok(text.parse().map_err(|error: globset::Error| {
        problem(format!("cannot read the pattern `{text}`"), span, error.kind().to_string())
    })?)
}

/// What `ptx-tc init` writes.
pub const TEMPLATE: &str = "\
#:schema https://ptx-tc.github.io/ptx-tc.schema.json

# Configuration of ptx-tc for the files below this directory. Options of the command line win over it.
# In a pyproject.toml the same stands in the table [tool.ptx-tc].

# Check for these targets instead of each module's own, and against this version of the PTX ISA.
# targets = [\"sm_100a\", \"sm_103a\"]
# ptx-version = \"9.0\"

# Rules are named by code, name, or the start of the code: \"TC301\", \"ncols-invalid\", \"TC3\".
# `select` runs these rules and no others. `ptx-tc rules` lists all.
# select = [\"TC\"]
# ignore = [\"qualifier-order\"]

# Files that are checked where a directory is; without this, PTX, C++, CUDA, Python, LLVM IR, MLIR, Rust and Mojo.
# include = [\"*.ptx\", \"csrc\"]

# Files that are not checked, as in `.gitignore`.
# exclude = [\"build\", \"*.generated.ptx\"]

# Show at most so many findings of one rule in one file, and count the others. 0 shows all.
# max-findings = 100

# How much findings matter: off, info, warning or error.
[severity]
# unused-suppression = \"error\"
# A rule that is off by default runs when it has a severity.
# family-portability = \"info\"

# Rules to ignore in some files.
[per-file-ignores]
# \"tests/broken/*.ptx\" = [\"TC1\"]
";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        Reader { name: FILE_NAME.to_owned(), text }.read(PathBuf::from("/project"))
    }

    #[test]
    fn the_template_names_the_schema() {
        assert_eq!(TEMPLATE.lines().next(), Some(format!("#:schema {}", schema::URL).as_str()));
    }

    #[test]
    fn the_template_is_valid_as_it_is_and_without_its_comment_marks() {
        assert!(read(TEMPLATE).is_ok());
        let languages = ptx_check::words::list_words(ptx_check::host::Language::names(), "and");
        assert!(TEMPLATE.contains(&format!("PTX, {languages}.")), "the languages");
        let set: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|it| it.contains(" = ")).unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        let config = read(&set).unwrap();
        assert_eq!(config.targets.len(), 2);
        assert_eq!(config.rules.severity.len(), 2);
        let including = read("include = [\"*.cuh\", \"csrc\"]").unwrap();
        for (path, is_included) in [("a/k.cuh", true), ("csrc/a.py", true), ("tests/a.py", false)] {
            assert_eq!(including.includes(&Path::new("/project").join(path)), is_included, "{path}");
        }
        assert!(read("").unwrap().includes(Path::new("/project/a/k.py")));
        assert!(config.excludes(Path::new("/project/build/a/k.ptx")));
        assert!(config.excludes(Path::new("/project/a/k.generated.ptx")));
        assert!(!config.excludes(Path::new("/project/a/k.ptx")));
        assert!(!config.excludes(Path::new("/elsewhere/build/k.ptx")));
        assert_eq!(config.ignored_in(Path::new("/project/tests/broken/k.ptx")).len(), 1);
        assert!(config.ignored_in(Path::new("/project/tests/k.ptx")).is_empty());
    }

    #[test]
    fn patterns_are_those_of_gitignore() {
        for (pattern, path, matches) in [
            ("k.ptx", "a/b/k.ptx", true),
            ("/k.ptx", "k.ptx", true),
            ("/k.ptx", "a/k.ptx", false),
            ("a/*.ptx", "a/k.ptx", true),
            ("a/*.ptx", "a/b/k.ptx", false),
            ("./a/**/*.ptx", "a/b/c/k.ptx", true),
            ("build/", "a/build/k.ptx", true),
            ("build", "builder/k.ptx", false),
        ] {
            let config = read(&format!("exclude = [\"{pattern}\"]")).unwrap();
            assert_eq!(config.excludes(&Path::new("/project").join(path)), matches, "{pattern} {path}");
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, at, help) in [
            ("ignroe = []", "ignroe", "`ignore`"),
            ("select = [\"TC301\", \"ncols-invald\"]", "\"ncols-invald\"", "`ncols-invalid`"),
            ("[severity]\nTC301 = \"waring\"", "\"waring\"", "`warning`"),
            ("targets = [\"sm_1\"]", "\"sm_1\"", "sm_100a"),
            ("ptx-version = 9.77", "9.77", ""),
            ("select = \"TC301\"", "\"TC301\"", ""),
            ("exclude = [\"a[\"]", "\"a[\"", ""),
            ("[per-file-ignores]\n\"*.ptx\" = [\"TC777\"]", "\"TC777\"", "TC"),
            ("ignore = [", "", ""),
        ] {
            let problem = read(text).unwrap_err();
            assert!(text[problem.span.clone()].contains(at), "{text}: {problem:?}");
            assert!(problem.help.clone().unwrap_or_default().contains(help), "{text}: {problem:?}");
        }
    }
}
