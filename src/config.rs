//! `ptx-tc.toml`: what holds for the files below the directory that it stands in.
//!
//! The file is read by hand and not by serde: a key or a value that cannot be meant is shown where
//! it stands, with what was probably meant.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use miette::{NamedSource, SourceSpan};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Options;
use crate::diagnostic::Severity;
use crate::diagnostic::selection::{Layer, RuleSettings, Selector, UnknownRule};
use crate::isa::targets::{PtxVersion, Target};

mod schema;

pub use schema::schema;

/// What the file is called.
pub(crate) const FILE_NAME: &str = "ptx-tc.toml";

/// How many findings of one rule in one file are shown when nobody says otherwise.
const MAX_FINDINGS: usize = 100;

/// A configuration that was read.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The directory that patterns are relative to.
    root: PathBuf,
    targets: Vec<Target>,
    ptx_version: Option<PtxVersion>,
    rules: Layer,
    /// Without a pattern, all files.
    include: GlobSet,
    exclude: GlobSet,
    per_file_ignores: Vec<(GlobSet, Vec<Selector>)>,
    max_findings: Option<usize>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum ConfigError {
    #[error("cannot read `{path}`")]
    Unreadable {
        path: String,
        #[source]
        error: io::Error,
    },
    #[error("{message}")]
    Invalid {
        message: String,
        #[source_code]
        text: NamedSource<String>,
        #[label("{label}")]
        span: SourceSpan,
        label: String,
        #[help]
        help: Option<String>,
    },
}

/// Which configuration a file has.
#[derive(Debug)]
pub(crate) enum Configs {
    /// The one that was given for all.
    Given(Arc<Config>),
    /// The nearest above each file; remembered for each directory.
    Nearest(HashMap<PathBuf, Option<Arc<Config>>>),
}

impl Configs {
    /// The configuration that `given` names, or those that are found.
    pub(crate) fn new(given: Option<&Path>) -> miette::Result<Self> {
        match given {
            Some(path) => Ok(Self::Given(Arc::new(Config::read(path)?))),
            None => Ok(Self::Nearest(HashMap::new())),
        }
    }

    /// The configuration for the file with this absolute path.
    pub(crate) fn of(&mut self, file: &Path) -> miette::Result<Option<Arc<Config>>> {
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
    let path = directory.join(FILE_NAME);
    let found = if path.is_file() {
        Some(Arc::new(Config::read(&path)?))
    } else {
        match directory.parent() {
            Some(parent) => nearest(known, parent)?,
            None => None,
        }
    };
    known.insert(directory.to_owned(), found.clone());
    Ok(found)
}

impl Config {
    fn read(path: &Path) -> miette::Result<Self> {
        let unreadable = |error| ConfigError::Unreadable { path: path.display().to_string(), error };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let root = absolute.parent().map(Path::to_path_buf).unwrap_or_default();
        let reader = Reader { name: path.display().to_string(), text: &text };
        reader.read(root).map_err(|problem| reader.error(*problem).into())
    }

    /// Whether the file with this absolute path is not to be checked.
    pub(crate) fn excludes(&self, file: &Path) -> bool {
        file.strip_prefix(&self.root).is_ok_and(|path| self.exclude.is_match(path))
    }

    /// Whether the file with this absolute path is checked where it is found in a directory.
    pub(crate) fn includes(&self, file: &Path) -> bool {
        self.include.is_empty() || file.strip_prefix(&self.root).is_ok_and(|path| self.include.is_match(path))
    }

    /// The rules that are ignored for the file with this absolute path.
    fn ignored_in(&self, file: &Path) -> Vec<Selector> {
        let Ok(path) = file.strip_prefix(&self.root) else { return Vec::new() };
        let matching = self.per_file_ignores.iter().filter(|(globs, _)| globs.is_match(path));
        matching.flat_map(|(_, selectors)| selectors.iter().cloned()).collect()
    }
}

/// What was asked for beside the configuration, by arguments or by an editor. It wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) targets: Vec<Target>,
    pub(crate) ptx_version: Option<PtxVersion>,
    pub(crate) rules: Layer,
    pub(crate) max_findings: Option<usize>,
}

impl Wishes {
    /// How to check the file with this absolute path, which has this configuration.
    pub(crate) fn options(&self, config: Option<&Config>, path: &Path) -> Options {
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
#[derive(Clone, Copy, Debug, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
enum Key {
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
            text: NamedSource::new(&self.name, self.text.to_owned()),
            span: problem.span.into(),
            label: problem.label,
            help: problem.help,
        }
    }

    fn read(&self, root: PathBuf) -> Result<Config> {
        let document = DeTable::parse(self.text).map_err(|error| {
            problem("the configuration is not TOML", error.span().unwrap_or_default(), error.message())
        })?;
        let mut config = Config { root, ..Config::default() };
        for (key, value) in document.get_ref() {
            let Ok(known) = key.get_ref().parse() else {
                let unknown = key.get_ref();
                let keys: Vec<&str> = Key::iter().map(Into::into).collect();
                let nearest = closest(unknown, &keys);
                return Err(problem(format!("unknown key `{unknown}`"), key.span(), "no such key")
                    .help(format!("did you mean `{nearest}`? the keys are {}", keys.join(", ")))
                    .into());
            };
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
                Key::Include => {
                    let patterns = strings(value, |text, span| Ok((text.to_owned(), span)))?;
                    config.include = globs(&patterns)?;
                }
                Key::Exclude => {
                    let patterns = strings(value, |text, span| Ok((text.to_owned(), span)))?;
                    config.exclude = globs(&patterns)?;
                }
                Key::PerFileIgnores => {
                    for (pattern, rules) in table(value)? {
                        let pattern = (pattern.get_ref().to_string(), pattern.span());
                        let rules = strings(rules, selector)?;
                        config.per_file_ignores.push((globs(&[pattern])?, rules));
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
    let target = text.parse::<Target>().ok().filter(|target| target.since().is_some());
    Ok(target.ok_or_else(|| {
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
    let version = text.parse::<PtxVersion>().ok().filter(|version| version.exists());
    let unknown = || problem(format!("unknown PTX ISA version `{text}`"), value.span(), "no version");
    Ok(version.ok_or_else(unknown)?)
}

fn count(value: &Value<'_>) -> Result<usize> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    Ok(number.ok_or_else(|| wrong_type(value, "a number of findings"))?)
}

/// Patterns as `.gitignore` has them: a pattern without a slash means that name at any depth, and
/// a directory means all below it.
fn globs(patterns: &[(String, Range<usize>)]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for (pattern, span) in patterns {
        let bare = pattern.trim_end_matches('/').trim_start_matches("./");
        let anywhere = if bare.contains('/') { "" } else { "**/" };
        for form in [format!("{anywhere}{bare}"), format!("{anywhere}{bare}/**")] {
            let glob = GlobBuilder::new(form.trim_start_matches('/')).literal_separator(true).build();
            let glob = glob.map_err(|error| {
                let message = format!("cannot read the pattern `{pattern}`");
                problem(message, span.clone(), error.kind().to_string())
            })?;
            set.add(glob);
        }
    }
    Ok(set.build().map_err(|error| problem("cannot use the patterns", 0..0, error.to_string()))?)
}

/// What `ptx-tc init` writes.
pub(super) const TEMPLATE: &str = "\
#:schema https://ptx-tc.github.io/ptx-tc.schema.json

# Configuration of ptx-tc for the files below this directory. Options of the command line win over it.

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
        let languages = crate::words::list_words(crate::host::Language::names(), "and");
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
