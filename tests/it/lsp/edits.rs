//! Edits one by one against the text from scratch.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::{Client, capabilities, document};

const START: &str = ".version 9.0\n.target sm_100a\n.entry k()\n{\n\t.reg .b32 %r<4>;\n\
    \ttcgen05.wait::ld.sync; // \u{1f600}\n\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];\r\n\tret;\n}\n";

fn edit() -> impl Strategy<Value = (u32, u32, u32, u32, &'static str)> {
    let words =
        &["", "\n", "\r\n", "\u{1f600}\u{e4}", "}", "{", ".aligned", "bra L;\nL:", "//", "tcgen05."][..];
    (0u32..10, 0u32..30, 0u32..3, 0u32..12, proptest::sample::select(words))
}

/// What the server says of the document, and how it is laid out.
fn everything(client: &mut Client) -> Vec<Value> {
    let mut format = document();
    format["options"] = json!({ "tabSize": 4, "insertSpaces": false });
    vec![
        client.request("textDocument/diagnostic", document()),
        client.request("textDocument/documentSymbol", document()),
        client.request("textDocument/semanticTokens/full", document()),
        client.request("textDocument/formatting", format),
    ]
}

/// The text as the server has it: the client's own bookkeeping, by the words of the protocol.
fn replaced(text: &str, range: [(u32, u32); 2], by: &str) -> String {
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let [start, end] = range.map(|(line, character)| {
        let Some(&start) = lines.get(line as usize) else { return text.len() };
        let line = text[start..].split(['\n', '\r']).next().unwrap();
        let mut units = 0;
        let within = line.char_indices().find(|(_, it)| {
            units += it.len_utf16() as u32;
            units > character
        });
        start + within.map_or(line.len(), |(at, _)| at)
    });
    format!("{}{by}{}", &text[..start], &text[end..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn the_edited_document_is_the_text_from_scratch(edits in proptest::collection::vec(edit(), 1..20)) {
        let mut wanted = capabilities();
        wanted["textDocument"]["diagnostic"] = json!({});
        let mut client = Client::start_with(wanted, Value::Null);
        client.open(START);
        let mut text = START.to_owned();
        for (index, (line, character, lines, characters, by)) in edits.into_iter().enumerate() {
            let end = (line + lines, if lines == 0 { character + characters } else { characters });
            let place = |(line, character): (u32, u32)| json!({ "line": line, "character": character });
            let range = json!({ "start": place((line, character)), "end": place(end) });
            client.change(i32::try_from(index).unwrap() + 2, json!([{ "range": range, "text": by }]));
            text = replaced(&text, [(line, character), end], by);
        }
        let edited = everything(&mut client);
        client.notify("textDocument/didClose", document());
        client.open(&text);
        prop_assert_eq!(edited, everything(&mut client), "{}", text);
    }
}
