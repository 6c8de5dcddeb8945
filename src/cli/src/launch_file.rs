//! Reading launch files, and showing where they are wrong.

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
pub(crate) struct LaunchText {
    pub(crate) file: LaunchFile,
    path: PathBuf,
    text: String,
}

/// Why a launch file cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum LaunchFileError {
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
        text: Arc<NamedSource<String>>,
        #[label("{label}")]
        span: SourceSpan,
        label: String,
        #[help]
        help: Option<String>,
    },
}

/// What to do about a file that is no launch file at all.
const HOW_TO_START: &str = "`ptx-tc simulate FILE --print-launch` writes a launch file to start from";

impl LaunchText {
    /// Reads a launch file.
    pub(crate) fn read(path: &Path) -> Result<Self, LaunchFileError> {
        let unreadable = |error| LaunchFileError::Unreadable { path: path.display().to_string(), error };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(path, text)
    }

    /// Reads the text of one.
    pub(crate) fn parse(path: &Path, text: String) -> Result<Self, LaunchFileError> {
        match toml::from_str::<LaunchFile>(&text) {
            Ok(file) => Ok(Self { file, path: path.to_owned(), text }),
            Err(error) => {
                let is_toml = DeTable::parse(&text).is_ok();
                let help = if text.trim_start().starts_with('{') {
                    format!("a launch file is TOML, not JSON; {HOW_TO_START}")
                } else if is_toml {
                    "`docs/simulation/reference.md` lists the keys of a launch file".to_owned()
                } else {
                    HOW_TO_START.to_owned()
                };
                let what = if is_toml { "is no launch file" } else { "is not TOML" };
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

    /// The directory that the paths in it start from.
    pub(crate) fn directory(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).to_owned()
    }

    /// Says which value of it contradicts the kernel.
    pub(crate) fn misfit(&self, Misfit { error: LaunchError(why), keys, help }: Misfit) -> LaunchFileError {
        let message = format!("the kernel cannot be launched like this: {why}");
        let document = DeTable::parse(&self.text).ok();
        let (span, is_value) = document.map_or((0..0, false), |document| find(document.get_ref(), &keys));
        let label = if is_value { "this value" } else { "here" };
        invalid(&self.path, &self.text, message, span, label.to_owned(), help)
    }
}

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
