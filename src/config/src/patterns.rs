//! Patterns of files as `.gitignore` has them: a pattern without a slash means that name at any depth, and a directory
//! means all below it.

use std::path::Path;
use std::str::FromStr;

use globset::{Error, GlobBuilder, GlobMatcher};

/// A pattern of files.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    written: String,
    /// The files that are called so, and those below such a directory.
    matchers: [GlobMatcher; 2],
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bare = text.trim_end_matches('/').trim_start_matches("./");
        let anywhere = if bare.contains('/') { "" } else { "**/" };
        let matcher = |form: String| {
            let glob = GlobBuilder::new(form.trim_start_matches('/')).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
        };
        let matchers = [matcher(format!("{anywhere}{bare}"))?, matcher(format!("{anywhere}{bare}/**"))?];
        Ok(Self { written: text.to_owned(), matchers })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Pattern {}

/// Patterns, each of which stands for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(patterns: impl IntoIterator<Item = Pattern>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them matches a path, which is relative to where they stand.
    pub fn is_match(&self, path: &Path) -> bool {
        self.matching(path).is_some()
    }

    /// The first that matches a path.
    pub fn matching(&self, path: &Path) -> Option<&str> {
        let matches = |pattern: &&Pattern| pattern.matchers.iter().any(|it| it.is_match(path));
        self.0.iter().find(matches).map(|pattern| pattern.written.as_str())
    }

    /// As they are written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pattern| pattern.written.as_str())
    }
}

/// Patterns of the command line, with commas between them; those in braces belong to a pattern.
impl FromStr for Patterns {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut depth = 0_usize;
        let parts = text.split(|character: char| {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            character == ',' && depth == 0
        });
        let patterns = parts.map(str::trim).filter(|part| !part.is_empty()).map(str::parse);
        patterns.collect::<Result<Vec<_>, _>>().map(Self)
    }
}

impl FromIterator<Patterns> for Patterns {
    fn from_iter<I: IntoIterator<Item = Self>>(several: I) -> Self {
        Self(several.into_iter().flat_map(|patterns| patterns.0).collect())
    }
}
