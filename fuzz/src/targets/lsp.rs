//! After any edits, the language server finds what a check of the same text finds, and it has an
//! answer to every request.

use fastrand::Rng;
use ptx_check::{Options, Source, check};
use ptx_lsp::local::Document;
use serde_json::{Value, json};

use super::{difference, lie_within};
use crate::Case;

const URI: &str = "file:///fuzz.ptx";

const REQUESTS: &[&str] = &[
    "textDocument/codeAction",
    "textDocument/completion",
    "textDocument/declaration",
    "textDocument/definition",
    "textDocument/diagnostic",
    "textDocument/documentHighlight",
    "textDocument/documentLink",
    "textDocument/codeLens",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/formatting",
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/prepareRename",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/signatureHelp",
];

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let mut text = String::from_utf8_lossy(&case.text).into_owned();
    let utf8 = random.bool();
    let mut document = Document::open(URI, text.clone(), utf8)?;
    for _ in 0..random.u32(1..12) {
        edit(&mut document, &mut text, utf8, &mut random)?;
        if random.u8(..) < 48 {
            document.check(&Options::default());
            request(&document, &text, &mut random)?;
        }
    }
    let found = document.check(&Options::default()).to_vec();
    lie_within(&text, &found)?;
    let source = Source::new(URI, text.clone()).map_err(|error| error.to_string())?;
    if let Some(difference) = difference(&found, &check(&source, &Options::default()).diagnostics) {
        return Err(format!("the server and a check: {difference}"));
    }
    for _ in 0..3 {
        request(&document, &text, &mut random)?;
    }
    Ok(())
}

/// Makes an edit in the document and in a copy of its text.
fn edit(document: &mut Document, text: &mut String, utf8: bool, random: &mut Rng) -> Result<(), String> {
    const PIECES: &[&str] = &[
        "",
        "\n",
        "\r",
        "\r\n",
        "x",
        ";",
        "{",
        "}",
        "é",
        "\u{1f600}",
        "//",
        "/*",
        "*/",
        "\"",
        "tcgen05.",
        ".sync",
        "\ntcgen05.wait::ld.sync.aligned;\n",
        "%r1, ",
        "\n\n\n",
    ];
    let mut boundary = |around: usize, reach: usize| {
        let at = (around + random.usize(..=reach)).min(text.len());
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
    };
    let start = boundary(0, text.len());
    let end = boundary(start, 60).max(start);
    let by = match random.u8(..8) {
        // Copied from elsewhere.
        0 => {
            let from = random.usize(..=text.len());
            let part = text.get(from..(from + random.usize(..200)).min(text.len()));
            part.unwrap_or_default().to_owned()
        }
        _ => random.choice(PIECES).copied().unwrap_or_default().to_owned(),
    };
    let (from, to) = (place(text, start, utf8), place(text, end, utf8));
    document.replace(from, to, &by);
    // A place between `\r` and `\n` is the end of its line.
    let (start, end) = (outside_of_line_end(text, start), outside_of_line_end(text, end));
    text.replace_range(start..end.max(start), &by);
    if document.text() == text {
        return Ok(());
    }
    Err(format!("an edit from {from:?} to {to:?} by {by:?} made another text"))
}

fn outside_of_line_end(text: &str, at: usize) -> usize {
    let splits = text[..at].ends_with('\r') && text[at..].starts_with('\n');
    at - usize::from(splits)
}

/// Line and column of a byte, as the protocol counts them; the slow and simple way.
fn place(text: &str, at: usize, utf8: bool) -> (u32, u32) {
    let (mut line, mut start) = (0, 0);
    let mut rest = text.char_indices().peekable();
    while let Some((index, character)) = rest.next() {
        let next = index + character.len_utf8();
        let ends = character == '\n' || character == '\r' && rest.peek().is_none_or(|it| it.1 != '\n');
        if next > at {
            break;
        }
        if ends {
            (line, start) = (line + 1, next);
        }
    }
    let before = &text[start..at];
    let column = if utf8 { before.len() } else { before.encode_utf16().count() };
    (line, column as u32)
}

/// Sends a request about a random place; a refusal is an answer, too.
fn request(document: &Document, text: &str, random: &mut Rng) -> Result<(), String> {
    let method = random.choice(REQUESTS).copied().unwrap_or_default();
    let place = |at: usize| {
        let (line, character) = document.place(at as u32);
        json!({ "line": line, "character": character })
    };
    let at = random.usize(..=text.len());
    let (position, end) = (place(at), place(at + random.usize(..2000)));
    let range = json!({ "start": position, "end": end });
    let params = json!({
        "textDocument": { "uri": URI },
        "position": position,
        "range": range,
        "context": { "diagnostics": [], "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false },
        "options": { "tabSize": 4, "insertSpaces": true },
        "newName": "renamed",
        "previousResultId": Value::Null,
    });
    match document.request(method, params) {
        Err(message) if message.starts_with("no method") || message.contains("missing field") => {
            Err(format!("{method}: {message}"))
        }
        _ => Ok(()),
    }
}
