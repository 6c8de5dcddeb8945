//! Reading launch files, showing where they are wrong, and finding those of a module.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{NamedSource, SourceSpan};
use ptx_simulation::launch::{Key, LaunchError, LaunchFile, Misfit};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A launch file, with the text that it was read from.
#[derive(Debug)]
pub struct LaunchText {
    /// What it says.
    pub file: LaunchFile,
    path: PathBuf,
    text: String,
}

/// Why a launch file cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LaunchFileError {
    /// There is no such file, or it is no text.
    #[error("cannot read `{path}`")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is no launch file, or contradicts the kernel.
    #[error("{message}")]
    Invalid {
        /// What is wrong.
        message: String,
        /// The file.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where in it.
        #[label("{label}")]
        span: SourceSpan,
        /// What is there.
        label: String,
        /// What to do.
        #[help]
        help: Option<String>,
    },
}

/// What to do about a file that is no launch file at all.
const HOW_TO_START: &str = "`ptx-tc simulate FILE --print-launch` writes a launch file to start from";

impl LaunchText {
    /// Reads a launch file.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, LaunchFileError> {
        let unreadable = |error| LaunchFileError::Unreadable { path: path.display().to_string(), error };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(path, text)
    }

    /// Reads the text of one.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(path: &Path, text: String) -> Result<Self, LaunchFileError> {
        match toml::from_str::<LaunchFile>(&text) {
            Ok(file) => Ok(Self { file, path: path.to_owned(), text }),
            Err(error) => {
                let is_toml = DeTable::parse(&text).is_ok();
                let help = if text.trim_start().starts_with('{') {
                    format!("a launch file is TOML, not JSON; {HOW_TO_START}")
                } else if is_toml {
                    "https://ptx-tc.github.io/simulation/reference/ lists the keys of a launch file"
                        .to_owned()
                } else {
                    HOW_TO_START.to_owned()
                };
                let what = if is_toml { "is no launch file" } else { "is not TOML" };
                let help = nearest_name(error.message())
                    .map_or(help.clone(), |nearest| format!("did you mean `{nearest}`? {help}"));
                let span = error.span().unwrap_or_default();
                Err(invalid(
                    path,
                    &text,
                    format!("`{}` {what}", path.display()),
                    span,
                    error.message().to_owned(),
                    Some(help),
                ))
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that the paths in it start from.
    pub fn directory(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).to_owned()
    }

    /// The contents of a file that it names.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn data(&self, name: &str) -> Result<Vec<u8>, LaunchError> {
        fs::read(self.directory().join(name)).map_err(|error| LaunchError(format!("`{name}`: {error}")))
    }

    /// Says which value of it contradicts the kernel.
    pub fn misfit(&self, Misfit { error: LaunchError(why), keys, help }: Misfit) -> LaunchFileError {
        let message = format!("the kernel cannot be launched like this: {why}");
        let document = DeTable::parse(&self.text).ok();
        let (span, is_value) = document.map_or((0..0, false), |document| find(document.get_ref(), &keys));
        let label = if is_value { "this value" } else { "here" };
        invalid(&self.path, &self.text, message, span, label.to_owned(), help)
    }
}

/// What an unknown key or value may have been meant to be. The message names it, and then those that there are, all in
/// backticks.
fn nearest_name(message: &str) -> Option<&str> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    let (nearest, distance) = names
        .map(|name| (name, strsim::damerau_levenshtein(name, unknown)))
        .min_by_key(|(_, distance)| *distance)?;
    (distance <= 2.max(unknown.len() / 3) && distance < nearest.len()).then_some(nearest)
}

/// The launch files in the directory of a module that can be for it, in the order of their names. Such a file names its
/// kernel, or is called like the module: `gemm.toml` is for the only kernel of `gemm.ptx`.
pub fn beside(module: &Path) -> Vec<LaunchText> {
    let Some(entries) = module.parent().and_then(|directory| fs::read_dir(directory).ok()) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
    let mut paths: Vec<PathBuf> = paths.filter(is_toml).take(MOST_BESIDE).collect();
    paths.sort();
    let launches = paths.into_iter().filter_map(|path| {
        let is_small = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= LONGEST_BESIDE);
        let launch = is_small.then(|| LaunchText::read(&path).ok()).flatten()?;
        let is_its = launch.file.kernel.is_some() || path.file_stem() == module.file_stem();
        is_its.then_some(launch)
    });
    launches.collect()
}

/// A directory with more files than that is no place where launch files are looked for one by one.
const MOST_BESIDE: usize = 200;

/// Launch files name the files with their data, so that they are short.
const LONGEST_BESIDE: u64 = 1 << 18;

fn invalid(
    path: &Path,
    text: &str,
    message: String,
    span: Range<usize>,
    label: String,
    help: Option<String>,
) -> LaunchFileError {
    let name = path.display().to_string();
    // A missing key at the end of the file is shown at its last character.
    let start = span.start.min(text.len().saturating_sub(1));
    let end = span.end.clamp(start, text.len());
    LaunchFileError::Invalid {
        message,
        text: Arc::new(NamedSource::new(name, text.to_owned())),
        span: (start..end).into(),
        label,
        help,
    }
}

/// Where a value is, and whether it is one: if it is missing, the table that it is missing from.
fn find(table: &DeTable<'_>, keys: &[Key]) -> (Range<usize>, bool) {
    let mut found: Option<&Spanned<DeValue<'_>>> = None;
    for (index, key) in keys.iter().enumerate() {
        let next = match (key, found.map(Spanned::get_ref)) {
            (Key::Name(name), None) if index == 0 => table.get(*name),
            (Key::Name(name), Some(DeValue::Table(table))) => table.get(*name),
            (Key::Index(at), Some(DeValue::Array(array))) => array.get(*at),
            (Key::Name(_) | Key::Index(_), _) => None,
        };
        match next {
            Some(next) => found = Some(next),
            None => return (found.map_or(0..0, Spanned::span), false),
        }
    }
    let is_table = match keys.last() {
        Some(Key::Name("arg" | "fields") | Key::Index(_)) | None => true,
        Some(Key::Name(_)) => false,
    };
    (found.map_or(0..0, Spanned::span), !is_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_module_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("k.ptx", "");
        write("k.toml", "grid = [1]\n");
        write("large.toml", "kernel = \"k\"\n");
        // It can be for any module, is no launch file, is no TOML, or is no file.
        write("other.toml", "grid = [1]\n");
        write("Cargo.toml", "[package]\nname = \"k\"\n");
        write("broken.toml", "kernel = \n");
        fs::create_dir(directory.path().join("directory.toml")).unwrap();
        let names = |module: &str| -> Vec<String> {
            let found = beside(&directory.path().join(module));
            found.iter().map(|it| it.path().file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("k.ptx"), ["k.toml", "large.toml"]);
        assert_eq!(names("l.ptx"), ["large.toml"]);
        assert_eq!(names("nowhere/l.ptx"), [""; 0]);
    }
}
