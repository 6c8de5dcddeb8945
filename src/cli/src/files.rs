//! Which files an invocation looks at, and which it leaves out.
//!
//! Paths that are named are looked at whatever they are called. Directories are searched without what ignore files
//! name, for files that may have PTX in them and that `include` takes. What `exclude` names is left out either way: a
//! hook of git names all files that a commit touches. Whoever names such a file is told.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_config::{Config, Configs, Patterns};

use crate::from_here;
use crate::input::{self, Input, InputError};

/// Which files are looked at.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileArguments {
    /// Leave these out as well as what the configuration excludes: patterns as in `.gitignore`, with commas
    /// between them.
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<Patterns>,
    /// Search directories for these only, whatever the configuration includes.
    #[arg(long, value_name = "PATTERNS")]
    include: Vec<Patterns>,
    /// Search directories for what `.gitignore` and other ignore files name, too.
    #[arg(long)]
    no_ignore: bool,
    /// Look at files that are named on the command line even if they are excluded.
    #[arg(long, overrides_with = "force_exclude")]
    no_force_exclude: bool,
    /// What is the default, for those who write it.
    #[arg(long, hide = true)]
    force_exclude: bool,
}

/// A file that is looked at.
pub(crate) struct Wanted {
    pub(crate) input: Input,
    /// Its absolute path.
    pub(crate) location: PathBuf,
    pub(crate) config: Option<Arc<Config>>,
}

/// The files that are looked at.
pub(crate) struct Files {
    pub(crate) wanted: Vec<Wanted>,
    /// What cannot be.
    pub(crate) errors: Vec<InputError>,
    /// What was named and is left out, with the reason, for people.
    left_out: Vec<String>,
}

impl Files {
    /// Says what was named and is left out.
    pub(crate) fn explain(&self) {
        /// Reasons that are read.
        const SHOWN: usize = 10;
        let mut stderr = io::stderr().lock();
        for reason in self.left_out.iter().take(SHOWN) {
            let _ = writeln!(stderr, "note: {reason}");
        }
        if self.left_out.len() > SHOWN {
            let _ = writeln!(stderr, "note: {} more are excluded", self.left_out.len() - SHOWN);
        }
    }
}

impl FileArguments {
    /// What the command line excludes.
    pub(crate) fn excluded(&self) -> Patterns {
        self.exclude.iter().cloned().collect()
    }

    /// What the command line includes.
    pub(crate) fn included(&self) -> Patterns {
        self.include.iter().cloned().collect()
    }

    /// The files below `paths` that are looked at; `may_be` says which of those that directories have.
    pub(crate) fn find(
        &self,
        paths: &[PathBuf],
        stdin_name: &str,
        config: Option<&Path>,
        may_be: impl Fn(&Path) -> bool,
    ) -> miette::Result<Files> {
        let (inputs, errors) = input::find(paths, self.no_ignore);
        let named: HashSet<&PathBuf> = paths.iter().collect();
        let mut configs = Configs::new(config)?;
        let here = Here::new(self);
        let mut files = Files { wanted: Vec::with_capacity(inputs.len()), errors, left_out: Vec::new() };
        for input in inputs {
            let location = input.location(stdin_name);
            let config = configs.of(&location)?;
            if let Input::File(path) = &input {
                // Who names a file means it.
                let is_named = named.contains(path);
                if let Some(reason) = here.excludes(config.as_deref(), &location)
                    && !(is_named && self.no_force_exclude)
                {
                    if is_named {
                        files.left_out.push(reason.of(path));
                    }
                    continue;
                }
                let is_wanted = || here.includes(config.as_deref(), &location) && may_be(path);
                if !is_named && !is_wanted() {
                    continue;
                }
            }
            files.wanted.push(Wanted { input, location, config });
        }
        // A directory that is excluded itself was named, too.
        for path in paths.iter().filter(|path| path.is_dir()) {
            let Ok(location) = fs::canonicalize(path) else { continue };
            let config = configs.of(&location)?;
            if let Some(reason) = here.excludes(config.as_deref(), &location) {
                files.left_out.push(reason.of(path));
            }
        }
        Ok(files)
    }
}

/// Why a file is left out.
enum Reason<'a> {
    CommandLine(&'a str),
    Configuration(&'a Config, &'a str),
}

impl Reason<'_> {
    fn of(&self, path: &Path) -> String {
        let path = path.display();
        let reason = match self {
            Self::CommandLine(pattern) => format!("`--exclude {pattern}`"),
            Self::Configuration(config, pattern) => {
                format!("`exclude = [\"{pattern}\"]` in {}", from_here(config.path()))
            }
        };
        format!("`{path}` is excluded by {reason}; with `--no-force-exclude` it counts that a file is named")
    }
}

/// The patterns of the command line, which are relative to the directory that it was written in.
struct Here {
    directory: PathBuf,
    exclude: Patterns,
    include: Patterns,
}

impl Here {
    fn new(arguments: &FileArguments) -> Self {
        let directory = std::env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
        Self { directory, exclude: arguments.excluded(), include: arguments.included() }
    }

    /// The path that patterns are held against. Where it is not below the directory, it is the whole one: a name
    /// counts at any depth.
    fn path<'p>(&self, file: &'p Path) -> &'p Path {
        file.strip_prefix(&self.directory).or_else(|_| file.strip_prefix("/")).unwrap_or(file)
    }

    fn excludes<'a>(&'a self, config: Option<&'a Config>, file: &Path) -> Option<Reason<'a>> {
        if let Some(pattern) = self.exclude.matching(self.path(file)) {
            return Some(Reason::CommandLine(pattern));
        }
        config.and_then(|config| Some(Reason::Configuration(config, config.excluded_by(file)?)))
    }

    fn includes(&self, config: Option<&Config>, file: &Path) -> bool {
        if self.include.is_empty() {
            return config.is_none_or(|config| config.includes(file));
        }
        self.include.is_match(self.path(file))
    }
}
