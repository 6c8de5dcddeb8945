//! Which files an invocation means, and reading them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::source::{Source, SourceError};

/// Stands for standard input among the paths.
const STDIN: &str = "-";

/// Something to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Stdin,
    File(PathBuf),
}

/// Why an input cannot be checked.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum InputError {
    #[error("cannot read `{path}`")]
    Unreadable {
        path: String,
        #[source]
        error: io::Error,
    },
    #[error("cannot check `{path}`")]
    #[diagnostic(help("ptx-tc reads PTX text; get it with `nvcc --ptx` or `cuobjdump --dump-ptx`"))]
    NoText {
        path: String,
        #[source]
        error: SourceError,
    },
    #[error("no PTX file below `{path}`")]
    #[diagnostic(help("directories are searched for `*.ptx`, without what `.gitignore` names"))]
    NothingBelow { path: String },
}

/// The inputs that `paths` name; directories are walked in the order of their names.
pub(super) fn find(paths: &[PathBuf]) -> (Vec<Input>, Vec<InputError>) {
    let mut inputs = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = inputs.len();
            walk(path, &mut inputs, &mut errors);
            if inputs.len() == before && errors.is_empty() {
                errors.push(InputError::NothingBelow { path: path.display().to_string() });
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    (inputs, errors)
}

fn walk(directory: &Path, inputs: &mut Vec<Input>, errors: &mut Vec<InputError>) {
    let walker = ignore::WalkBuilder::new(directory).sort_by_file_name(Ord::cmp).require_git(false).build();
    for entry in walker {
        match entry {
            Ok(entry) => {
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && entry.path().extension().is_some_and(|extension| extension == "ptx") {
                    inputs.push(Input::File(entry.into_path()));
                }
            }
            Err(error) => errors.push(InputError::Unreadable {
                path: directory.display().to_string(),
                error: io::Error::other(error),
            }),
        }
    }
}

impl Input {
    /// Reads the text; `stdin_name` is what standard input is called.
    pub(super) fn read(&self, stdin_name: &str) -> Result<Source, InputError> {
        let (name, bytes) = match self {
            Self::Stdin => {
                let mut bytes = Vec::new();
                (stdin_name.to_owned(), io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes))
            }
            Self::File(path) => (path.display().to_string(), fs::read(path)),
        };
        let bytes = bytes.map_err(|error| InputError::Unreadable { path: name.clone(), error })?;
        Source::from_bytes(name.clone(), bytes).map_err(|error| InputError::NoText { path: name, error })
    }
}
