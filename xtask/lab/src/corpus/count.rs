//! A second reading: where assembly stands, found without anything of `src/host`.
//!
//! It is plain on purpose. C++ is a text with its comments blanked out, in which the word `asm` with a
//! parenthesis behind it starts a statement; Python is read by Python's own parser (`statements.py`);
//! in the other languages the word is enough.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ptx_check::host::Language;

use crate::Result;

/// Finds places in files of Python.
const STATEMENTS: &str = include_str!("statements.py");

/// What is found in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// In no order.
    pub(crate) statements: Vec<Counting>,
    /// Why the file's language does not take it.
    pub(crate) unreadable: Option<String>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Counting {
    /// Where the word stands that makes it one.
    pub(crate) at: u32,
    /// Its literals, joined.
    pub(crate) template: String,
    /// Whether that looks like PTX.
    pub(crate) is_ptx: bool,
}

impl Counting {
    fn new(at: usize, template: String) -> Self {
        Self { at: at as u32, is_ptx: looks_like_ptx(&template), template }
    }
}

/// What a byte of C++ belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    /// Inside of a string.
    Text,
    /// Inside of a character.
    Character,
}

/// The statements of a text of C++.
pub(crate) fn cpp(text: &str) -> Counted {
    let bytes = text.as_bytes();
    let mut parts = parts(bytes);
    leave_out(text, &mut parts);
    let code = |at: usize| bytes.get(at).copied().filter(|_| parts[at] == Part::Code);
    let is_name = |at: usize| code(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mut statements = Vec::new();
    for at in 0..bytes.len() {
        let starts = is_name(at) && (at == 0 || !is_name(at - 1));
        let Some(word) = ["__asm__", "__asm", "asm"]
            .into_iter()
            .find(|word| starts && bytes[at..].starts_with(word.as_bytes()) && !is_name(at + word.len()))
        else {
            continue;
        };
        let mut end = at + word.len();
        // Qualifiers, and what stands between words.
        while end < bytes.len()
            && (parts[end] == Part::Comment || is_name(end) || b" \t\r\n\\".contains(&bytes[end]))
        {
            end += 1;
        }
        let between = &text[at + word.len()..end];
        let qualifiers = ["volatile", "__volatile__", "__volatile", "inline", "goto"];
        let code_between: String = (at + word.len()..end)
            .map(|at| if parts[at] == Part::Comment { ' ' } else { char::from(bytes[at]) })
            .collect();
        let are_qualifiers = code_between
            .split([' ', '\t', '\r', '\n', '\\'])
            .all(|it| it.is_empty() || qualifiers.contains(&it));
        if code(end) != Some(b'(') || !are_qualifiers || between.len() > 1000 {
            continue;
        }
        let mut depth = 0;
        let mut template = Vec::new();
        while let Some(&byte) = bytes.get(end) {
            match (parts[end], byte) {
                (Part::Code, b'(' | b'[' | b'{') => depth += 1,
                (Part::Code, b')' | b']' | b'}') => depth -= 1,
                (Part::Text, byte) => template.push(byte),
                // Between literals.
                _ if template.last().is_some_and(|last| *last != b' ') => template.push(b' '),
                _ => {}
            }
            if depth == 0 || depth == 1 && parts[end] == Part::Code && byte == b':' {
                break;
            }
            end += 1;
        }
        statements.push(Counting::new(at, String::from_utf8_lossy(&template).into_owned()));
    }
    Counted { statements, unreadable: None }
}

/// What each byte of a text of C++ belongs to. Quotes and the signs of comments are code and comment.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::Code; bytes.len()];
    let mut at = 0;
    let mut state = Part::Code;
    let mut line_comment = false;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let mut len = 1;
        match state {
            Part::Code => {
                let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
                if rest.starts_with(b"//") || rest.starts_with(b"/*") {
                    state = Part::Comment;
                    line_comment = rest[1] == b'/';
                    len = 2;
                } else if rest[0] == b'"' && before == b'R' {
                    let name = rest[1..].iter().position(|byte| *byte == b'(').unwrap_or(0);
                    let end = [b")", &rest[1..=name], b"\""].concat();
                    let from = at + 2 + name;
                    let found =
                        bytes.get(from..).and_then(|it| it.windows(end.len()).position(|it| it == end));
                    let to = found.map_or(bytes.len(), |found| from + found);
                    parts[from.min(to)..to].fill(Part::Text);
                    at = to + end.len();
                    continue;
                } else if rest[0] == b'"' {
                    state = Part::Text;
                } else if rest[0] == b'\'' && !before.is_ascii_alphanumeric() {
                    state = Part::Character;
                }
                if state == Part::Comment {
                    parts[at..at + 2].fill(Part::Comment);
                }
            }
            Part::Comment => {
                let continued = bytes[..at].ends_with(b"\\") || bytes[..at].ends_with(b"\\\r");
                if line_comment && rest[0] == b'\n' && !continued {
                    state = Part::Code;
                } else if !line_comment && rest.starts_with(b"*/") {
                    parts[at..at + 2].fill(Part::Comment);
                    at += 2;
                    state = Part::Code;
                    continue;
                } else {
                    parts[at] = Part::Comment;
                }
            }
            Part::Text | Part::Character => {
                let quote = if state == Part::Text { b'"' } else { b'\'' };
                if rest[0] == b'\\' {
                    len = 2.min(rest.len());
                    parts[at..at + len].fill(state);
                } else if rest[0] == quote || rest[0] == b'\n' {
                    state = Part::Code;
                } else {
                    parts[at] = state;
                }
            }
        }
        at += len;
    }
    parts
}

/// Takes what stands behind `#if 0` for comments.
fn leave_out(text: &str, parts: &mut [Part]) {
    let mut open = 0_u32;
    // The condition that is never true: how many were open with it.
    let mut never = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let blanks = line.len() - line.trim_ascii_start().len();
        let directive =
            line.trim_ascii_start().strip_prefix('#').filter(|_| parts[range.start + blanks] == Part::Code);
        let words = directive.map(|it| it.split(|c: char| c.is_ascii_whitespace() || c == '/'));
        let mut words = words.into_iter().flatten().filter(|word| !word.is_empty());
        match words.next() {
            Some("if" | "ifdef" | "ifndef") => {
                open += 1;
                if never.is_none() && words.next() == Some("0") {
                    never = Some(open);
                }
            }
            Some("elif" | "else") if never == Some(open) => never = None,
            Some("endif") => {
                never = never.filter(|it| *it != open);
                open = open.saturating_sub(1);
            }
            _ if never.is_some() => parts[range].fill(Part::Comment),
            _ => {}
        }
    }
}

/// Whether one word of a template is an operation with its qualifiers, or an operation of PTX that has
/// none.
fn looks_like_ptx(template: &str) -> bool {
    let text = template.replace("\\n", " ").replace("\\t", " ");
    let is_opcode = |word: &str| {
        let word = word.trim_end_matches([';', ',']);
        let Some((name, rest)) = word.split_once('.') else { return false };
        let is_word =
            |it: &str| it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(&byte));
        // Where a part comes from elsewhere, a dot is the end.
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && is_word(name)
            && is_word(rest)
            && !rest.starts_with(|first: char| first.is_ascii_digit())
            // Intrinsics of LLVM.
            && name != "llvm"
    };
    let words = || text.split([' ', '\t', '\r', '\n', '{', '}', ';']).filter(|word| !word.is_empty());
    words().any(is_opcode)
        || words().all(|word| matches!(word, "trap" | "exit" | "brkpt")) && words().count() == 1
}

/// The statements of a text of a language in which the word is enough.
pub(crate) fn words(text: &str, language: Language) -> Counted {
    let (comment, words): (&str, &[&str]) = match language {
        Language::Llvm => (";", &["asm"]),
        Language::Mlir => ("//", &["inline_asm", "inline_ptx", "elementwise_inline_asm"]),
        Language::Rust => ("//", &["asm!"]),
        Language::Mojo => ("#", &["inlined_assembly["]),
        _ => return Counted::default(),
    };
    let mut statements = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with(comment)
            && let Some(at) = words.iter().filter_map(|word| line.find(word)).min()
        {
            statements.push(Counting::new(start + at, line.to_owned()));
        }
        start += line.len();
    }
    Counted { statements, unreadable: None }
}

/// The statements of all files of Python.
pub(crate) fn python(directory: &Path, paths: &[(PathBuf, Language)]) -> Result<HashMap<PathBuf, Counted>> {
    let mut child = Command::new("python3")
        .args(["-c", STATEMENTS])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("python3: {error}"))?;
    let names: String = paths
        .iter()
        .filter(|(_, language)| *language == Language::Python)
        .map(|(path, _)| format!("{}\n", path.display()))
        .collect();
    let mut input = child.stdin.take().ok_or("no input")?;
    let writer = std::thread::spawn(move || input.write_all(names.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the names of files could not be written")??;
    if !output.status.success() {
        return Err(format!("Python could not read {}", directory.display()).into());
    }
    let mut found: HashMap<PathBuf, Counted> = HashMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let [path, kind, start, end, text] = line.splitn(5, '\t').collect::<Vec<_>>()[..] else { continue };
        let (start, end): (usize, usize) = (start.parse()?, end.parse()?);
        let path = PathBuf::from(path);
        let counted = found.entry(path.clone()).or_default();
        match kind {
            "call" => counted.statements.push(Counting::new(start, text.to_owned())),
            "program" => {
                let bytes = std::fs::read(&path)?;
                let inside = String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default()).into_owned();
                let program = cpp(&inside);
                counted.statements.extend(
                    program.statements.into_iter().map(|it| Counting { at: it.at + start as u32, ..it }),
                );
            }
            _ => counted.unreadable = Some(text.to_owned()),
        }
    }
    Ok(found)
}
