//! Which files an invocation means, and reading them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ptx_check::host::Language;
use ptx_check::source::{Source, SourceError};
use ptx_check::words::list_words;

/// Stands for standard input among the paths.
const STDIN: &str = "-";

/// Something to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

/// Why an input cannot be checked.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum InputError {
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
    #[error("cannot read `{path}`: it is not PTX, nor of a language that PTX is looked for in")]
    #[diagnostic(help(
        "those are {}; a file with PTX is called `.ptx`, or begins with `.version`",
        list_words(Language::names(), "and")
    ))]
    Unknown { path: String },
    #[error("cannot format `{path}`: only PTX has a layout")]
    NotPtx { path: String },
    #[error("cannot format `{path}`: syntax error in line {line}, column {column}")]
    #[diagnostic(help("`ptx-tc check` says what is wrong; a file that does not parse is left alone"))]
    Broken { path: String, line: u32, column: u32 },
    #[error("cannot write `{path}`")]
    Unwritable {
        path: String,
        #[source]
        error: io::Error,
    },
    #[error("no file with PTX below `{path}`")]
    #[diagnostic(help(
        "directories are searched for PTX, and for {}, without hidden files and without what `.gitignore` names \
         (`--no-ignore` searches that, too)",
        list_words(Language::names(), "and")
    ))]
    NothingBelow { path: String },
    #[error("no PTX file below {}", list_words(paths.iter().map(|path| format!("`{path}`")), "and"))]
    #[diagnostic(help(
        "directories are searched for `*.ptx`, without hidden files and without what `.gitignore` names (`--no-ignore` \
         searches that, too)"
    ))]
    NoPtxBelow { paths: Vec<String> },
}

/// The inputs that `paths` name; directories are walked in the order of their names, without what ignore files name
/// or with it.
pub(crate) fn find(paths: &[PathBuf], no_ignore: bool) -> (Vec<Input>, Vec<InputError>) {
    let mut inputs = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        if is_stdin(path) {
            inputs.push(Input::Stdin);
        } else if path.is_dir() {
            let before = inputs.len();
            walk(path, no_ignore, &mut inputs, &mut errors);
            if inputs.len() == before && errors.is_empty() {
                errors.push(InputError::NothingBelow { path: path.display().to_string() });
            }
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    (inputs, errors)
}

/// Whether the path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

fn walk(directory: &Path, no_ignore: bool, inputs: &mut Vec<Input>, errors: &mut Vec<InputError>) {
    let mut walker = ignore::WalkBuilder::new(directory);
    walker.sort_by_file_name(Ord::cmp).require_git(false);
    if no_ignore {
        // Hidden files stay hidden.
        walker.ignore(false).parents(false).git_ignore(false).git_global(false).git_exclude(false);
    }
    for entry in walker.build() {
        match entry {
            Ok(entry) => {
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && may_have_ptx(entry.path()) {
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

/// Whether a file's name says that it may have PTX in it.
fn may_have_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx") || Language::of(path).is_some()
}

/// Whether a text that is called like something else than PTX begins as that does all the same: a module with another
/// name, or what a tool printed. What is no text at all is refused as such, with what it is.
fn looks_like_ptx(path: &Path, bytes: &[u8]) -> bool {
    /// Tools print less in front of a module.
    const NEAR: usize = 4096;
    let is_version = |line: &[u8]| {
        let behind = line.trim_ascii_start().strip_prefix(b".version");
        behind.is_some_and(|behind| behind.first().is_some_and(u8::is_ascii_whitespace))
    };
    let Some(extension) = path.extension() else { return true };
    let is_of_tools = || ["txt", "log", "out"].iter().any(|it| extension == *it);
    let near = &bytes[..bytes.len().min(NEAR)];
    memchr::memchr(0, bytes).is_some()
        || is_version(behind_comments(bytes))
        || is_of_tools() && near.split(|byte| *byte == b'\n').any(is_version)
}

/// A text of PTX without the comments that it begins with.
fn behind_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end = match text {
            [b'/', b'/', ..] => memchr::memchr(b'\n', text),
            [b'/', b'*', inside @ ..] => memchr::memmem::find(inside, b"*/").map(|at| at + 4),
            _ => return text,
        };
        text = &text[end.unwrap_or(text.len())..];
    }
}

impl Input {
    /// What it is called in messages; `stdin_name` is standard input's name.
    pub(crate) fn name(&self, stdin_name: &str) -> String {
        match self {
            Self::Stdin => stdin_name.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The absolute path, without `..` and links in the directories, to find a configuration by.
    pub(crate) fn location(&self, stdin_name: &str) -> PathBuf {
        let path = match self {
            Self::Stdin => Path::new(stdin_name),
            Self::File(path) => path,
        };
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match (path.parent().map(fs::canonicalize), path.file_name()) {
            (Some(Ok(directory)), Some(name)) => directory.join(name),
            _ => path,
        }
    }

    /// Reads the bytes; `name` is for messages.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, InputError> {
        let bytes = match self {
            Self::Stdin => {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            Self::File(path) => read(path),
        };
        let bytes = bytes.map_err(|error| InputError::Unreadable { path: name.to_owned(), error })?;
        match self {
            Self::File(path) if !may_have_ptx(path) && path.is_file() && !looks_like_ptx(path, &bytes) => {
                Err(InputError::Unknown { path: name.to_owned() })
            }
            Self::Stdin | Self::File(_) => Ok(bytes),
        }
    }

    /// Reads the text; `stdin_name` is what standard input is called.
    pub(crate) fn read(&self, stdin_name: &str) -> Result<Source, InputError> {
        let name = self.name(stdin_name);
        let bytes = self.bytes(&name)?;
        source(&name, bytes)
    }
}

/// Reads a file: a long one in pieces, side by side where there are several threads.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    #[cfg(unix)]
    {
        use std::io::{Seek, SeekFrom};
        use std::os::unix::fs::FileExt;

        use rayon::prelude::*;

        /// Bytes that are worth a thread.
        const WORTH: usize = 1 << 20;
        let threads = rayon::current_num_threads();
        let metadata = fs::metadata(path)?;
        let length = usize::try_from(metadata.len()).unwrap_or_default();
        if threads > 1 && metadata.is_file() && length / threads >= WORTH {
            let mut file = fs::File::open(path)?;
            let piece = length.div_ceil(threads);
            let mut bytes = vec![0; length];
            let pieces = bytes.par_chunks_mut(piece).enumerate();
            let whole = pieces.map(|(index, bytes)| file.read_exact_at(bytes, (index * piece) as u64));
            // A file that others write to at the moment can be shorter by now; then it is read anew.
            if whole.collect::<io::Result<()>>().is_ok() {
                file.seek(SeekFrom::Start(length as u64))?;
                file.read_to_end(&mut bytes)?;
                return Ok(bytes);
            }
        }
    }
    fs::read(path)
}

/// The bytes as a text.
pub(crate) fn source(name: &str, bytes: Vec<u8>) -> Result<Source, InputError> {
    Source::from_bytes(name, bytes).map_err(|error| InputError::NoText { path: name.to_owned(), error })
}
