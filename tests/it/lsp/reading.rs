//! What helps to read: hover, navigation, symbols, colours, hints, links.

use std::fmt::Write;

use serde_json::{Value, json};

use super::client::{Client, at, capabilities, cursor, document, kernel};

fn hover(body: &str) -> String {
    let (text, position) = cursor(&kernel(body));
    let mut client = Client::start();
    client.open(&text);
    let result = client.request("textDocument/hover", at(&position));
    client.stop();
    result["contents"]["value"].as_str().unwrap_or("nothing").to_owned()
}

#[test]
fn hover_explains() {
    let ld = "\ttcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2];";
    let mma = "\ttcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, 0x08200490, %p0;";
    let mut all = String::new();
    for (name, body) in [
        ("operation", ld.replace("ld.sync", "l$0d.sync")),
        ("qualifier", ld.replace("32x32b", "32x$032b")),
        ("gated qualifier", mma.replace("kind::f16", "kind::i$08")),
        ("register", ld.replace("[%r2]", "[%r$02]")),
        ("descriptor", mma.replace("0x0820", "0x0$0820")),
        ("variable", "\tmov.u64 %rd0, ba$0r;".to_owned()),
        ("special register", "\tmov.u32 %r0, %tid$0.x;".to_owned()),
        ("label", "L:\n\tbra L$0;".to_owned()),
        ("other opcode", "\tmo$0v.u32 %r0, 1;".to_owned()),
        ("declared", "\t.reg .f32 %f$0<3>;".to_owned()),
    ] {
        writeln!(all, "==== {name}\n{}", hover(&body)).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn hover_on_the_header() {
    let mut client = Client::start();
    client.open(".version 9.0\n.target sm_101a\n");
    let value = |result: Value| result["contents"]["value"].as_str().unwrap().to_owned();
    let version = client.request("textDocument/hover", at(&json!({ "line": 0, "character": 10 })));
    assert_eq!(value(version), "PTX ISA 9.0 has tcgen05.\n");
    let target = client.request("textDocument/hover", at(&json!({ "line": 1, "character": 10 })));
    assert!(value(target).contains("Since PTX ISA 9.0 it is `sm_110a`"));
    client.stop();
}

const NAMES: &str = ".version 9.0\n.target sm_100a\n.func helper(.param .b32 x);\n.global .u32 g;\n.entry k()\n{\n\
    \t.reg .b32 %r<4>;\n\t.reg .pred p;\n\t.reg .v2 .b32 v;\n\t{\n\t.reg .b32 x;\n\tmov.b32 x, %r1;\n\t}\n\
    \tmov.b32 v.x, %r1;\n\tld.global.u32 %r2, [g];\n\tcall helper, (%r2);\nL:\n\t@p bra L;\n}\n\
    .func helper(.param .b32 x)\n{\n\tret;\n}\n";

/// `line:character-character` of each range.
fn ranges(locations: &Value) -> Vec<String> {
    let range = |it: &Value| {
        let range = it.get("range").unwrap_or(it);
        let number = |side: &str, part: &str| range[side][part].as_u64().unwrap();
        format!("{}:{}-{}", number("start", "line"), number("start", "character"), number("end", "character"))
    };
    match locations {
        Value::Array(all) => all.iter().map(range).collect(),
        Value::Null => Vec::new(),
        one => vec![range(one)],
    }
}

/// The place of the nth occurrence of `word`.
fn place(text: &str, word: &str, nth: usize) -> Value {
    let (at_byte, _) = text.match_indices(word).nth(nth).unwrap();
    let before = &text[..at_byte];
    json!({ "line": before.matches('\n').count(), "character": before.rsplit('\n').next().unwrap().len() })
}

#[test]
fn names_lead_to_their_declarations_and_uses() {
    let mut client = Client::start();
    client.open(NAMES);
    let mut all = String::new();
    for (word, nth) in [
        ("%r1", 0),
        ("%r<", 0),
        ("x, %r1", 0),
        ("v.x", 0),
        ("g]", 0),
        ("helper, (", 0),
        ("L;", 0),
        ("p bra", 0),
    ] {
        let place = place(NAMES, word, nth);
        let definition = client.request("textDocument/definition", at(&place));
        let mut params = at(&place);
        params["context"] = json!({ "includeDeclaration": true });
        let with = client.request("textDocument/references", params.clone());
        params["context"] = json!({ "includeDeclaration": false });
        let without = client.request("textDocument/references", params);
        let highlights = client.request("textDocument/documentHighlight", at(&place));
        assert_eq!(ranges(&with), ranges(&highlights));
        writeln!(all, "{word}: {:?} {:?} {:?}", ranges(&definition), ranges(&with), ranges(&without))
            .unwrap();
    }
    insta::assert_snapshot!(all);
    client.stop();
}

#[test]
fn symbols_folds_and_links() {
    let mut client = Client::start();
    let text = NAMES.replace("\tret;", "\t// one\n\t// two\n\ttcgen05.wait::ld.sync.aligned;\n\tret;");
    client.open(&text);
    insta::assert_json_snapshot!(
        "document_symbols",
        client.request("textDocument/documentSymbol", document())
    );
    insta::assert_json_snapshot!("folds", client.request("textDocument/foldingRange", document()));
    insta::assert_json_snapshot!("links", client.request("textDocument/documentLink", document()));
    client.open_as("file:///other.ptx", &kernel("\tret;"));
    // The symbols of documents that are parsed; a request to the new one says that it is.
    client.request("textDocument/foldingRange", json!({ "textDocument": { "uri": "file:///other.ptx" } }));
    let found = client.request("workspace/symbol", json!({ "query": "K" }));
    let names: Vec<_> = found.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["k", "k"]);
    client.stop();
    let mut flat = capabilities();
    flat["textDocument"]["documentSymbol"] = json!({});
    let mut client = Client::start_with(flat, Value::Null);
    client.open(NAMES);
    let symbols = client.request("textDocument/documentSymbol", document());
    assert_eq!(symbols[3]["containerName"], "k", "{symbols}");
    client.stop();
}

/// The words of the text with their types.
fn tokens(legend: &Value, text: &str, data: &Value) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut line, mut character) = (0, 0);
    let mut shown = String::new();
    for token in data.as_array().unwrap().chunks(5) {
        let number = |at: usize| token[at].as_u64().unwrap() as usize;
        if number(0) > 0 {
            line += number(0);
            character = 0;
            shown.push('\n');
        }
        character += number(1);
        let word = &lines[line][character..character + number(2)];
        write!(shown, "{word}:{} ", legend[number(3)].as_str().unwrap()).unwrap();
    }
    shown
}

#[test]
fn words_have_colours() {
    let mut client = Client::spawn();
    let result = client.request("initialize", json!({ "capabilities": capabilities() }));
    let legend = &result["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"];
    let text = kernel(
        "L:\t@!%p1 bra L;\n\ttcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2+16]; // note\n\tcall k, (bar, 1.5);",
    );
    client.open(&text);
    let full = client.request("textDocument/semanticTokens/full", document());
    insta::assert_snapshot!(tokens(legend, &text, &full["data"]));
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 10, "character": 0 }, "end": { "line": 10, "character": 99 } });
    let part = client.request("textDocument/semanticTokens/range", params);
    let shown = tokens(legend, &text, &part["data"]);
    assert!(
        shown.trim().starts_with("tcgen05:macro .ld:enumMember") && shown.trim().ends_with("16:number"),
        "{shown}"
    );
    client.stop();
}

#[test]
fn hints_say_what_follows() {
    let mut client = Client::start();
    client.open(&kernel(
        "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 0x40;\n\
         \ttcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2];\n\
         \ttcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, 0x08200490, %p0;\n\
         \ttcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [bar], 0x3;",
    ));
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints = client.request("textDocument/inlayHint", params);
    let shown: Vec<String> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{}:{} {}", it["position"]["line"], it["position"]["character"], it["label"]))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    client.stop();
}

/// Images for clients that show them, and for no others.
#[test]
fn hover_has_pictures_where_they_are_shown() {
    let bodies = [
        "tcgen05.l$0d.sync.aligned.16x256b.x1.b32 {%r1, %r2, %r3, %r4}, [%r5];",
        "tcgen05.s$0t.sync.aligned.32x32b.x2.b32 [%r5], {%r1, %r2};",
        "tcgen05.c$0p.cta_group::1.32x128b.warpx4 [%r5], %rd1;",
        "tcgen05.m$0ma.cta_group::1.kind::f16 [%r5], %rd1, %rd2, 0x08200490, %p1;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd1, %rd2, 0x0820$00490, %p1;",
    ];
    let hover = |client: &mut Client, text: &str, uri: &str| {
        let (text, position) = cursor(text);
        client.open_as(uri, &text);
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        let answer = client.request("textDocument/hover", params);
        answer["contents"]["value"].as_str().unwrap_or_else(|| panic!("{text}: {answer}")).to_owned()
    };
    for (name, shows) in [(Some("Visual Studio Code"), true), (Some("Neovim"), false), (None, false)] {
        let mut client = Client::spawn();
        let info = name.map(|name| json!({ "name": name }));
        client.request(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": {}, "clientInfo": info }),
        );
        client.notify("initialized", json!({}));
        for (index, body) in bodies.iter().enumerate() {
            let markdown = hover(&mut client, &kernel(body), &format!("file:///{index}.ptx"));
            let images: Vec<&str> = markdown.lines().filter(|line| line.contains("data:image")).collect();
            assert_eq!(images.len(), usize::from(shows), "{name:?}: {body}\n{markdown}");
            for image in images {
                // An address of Markdown, in which nothing ends it early, and an image that is whole.
                let (title, address) = image.strip_prefix("![").unwrap().split_once("](").unwrap();
                let address = address.strip_suffix(')').unwrap();
                assert!(!title.contains(']') && !address.contains(['(', ')', ' ', '<', '>', '"', '#']));
                let data = address.strip_prefix("data:image/svg+xml;utf8,").unwrap();
                let mut bytes = data.bytes();
                let mut svg = Vec::new();
                while let Some(byte) = bytes.next() {
                    svg.push(if byte == b'%' {
                        let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                        u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                    } else {
                        byte
                    });
                }
                let svg = String::from_utf8(svg).unwrap();
                assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
                assert!(data.len() < 60_000, "{}", data.len());
            }
        }
        client.stop();
    }
}
