//! Formatting keeps every token and comment, and formatting again changes nothing.

use fastrand::Rng;
use ptx_check::Options;
use ptx_check::syntax::lexer::lex;
use ptx_lsp::local::Document;
use serde_json::json;

use crate::Case;

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    let text = String::from_utf8_lossy(&case.text).into_owned();
    let (size, spaces) = (random.u32(1..9), random.bool());
    // Without rules: the layout is the only question.
    let Some(once) = formatted(&text, size, spaces)? else { return Ok(()) };
    if !tokens(&text).eq(tokens(&once)) {
        return Err("formatting changed the tokens".to_owned());
    }
    if !comments(&text).eq(comments(&once)) {
        return Err("formatting changed the comments".to_owned());
    }
    match formatted(&once, size, spaces)? {
        None => Ok(()),
        Some(_) => Err("formatting twice is not formatting once".to_owned()),
    }
}

/// The text with another layout; `None` if it stays as it is.
fn formatted(text: &str, size: u32, spaces: bool) -> Result<Option<String>, String> {
    const URI: &str = "file:///fuzz.ptx";
    let mut document = Document::open(URI, text.to_owned(), true)?;
    document.parse(&Options::default());
    let params = json!({
        "textDocument": { "uri": URI },
        "options": { "tabSize": size, "insertSpaces": spaces },
    });
    let edits = document.request("textDocument/formatting", params)?;
    let Some(edit) = edits.as_array().and_then(|edits| edits.first()) else { return Ok(None) };
    let place = |which: &str| {
        let number = |key: &str| edit["range"][which][key].as_u64().and_then(|it| u32::try_from(it).ok());
        number("line").zip(number("character")).ok_or_else(|| format!("no place: {edit}"))
    };
    document.replace(place("start")?, place("end")?, edit["newText"].as_str().unwrap_or_default());
    Ok(Some(document.text().to_owned()))
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    lex(text).map(|(_, range)| &text[range])
}

/// What lies between the tokens, without blanks.
fn comments(text: &str) -> impl Iterator<Item = char> {
    let mut end = 0;
    let ranges = lex(text).map(|(_, range)| range).chain(std::iter::once(text.len()..text.len()));
    let gaps = ranges.map(move |range| &text[std::mem::replace(&mut end, range.end)..range.start]);
    gaps.flat_map(str::chars).filter(|it| !it.is_whitespace())
}
