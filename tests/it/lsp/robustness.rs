//! Whatever a client sends: an answer or an error, never a crash.

use serde_json::{Value, json};

use super::client::{Client, URI, at, capabilities, document, kernel};

const REQUESTS: &[&str] = &[
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/documentLink",
    "textDocument/codeLens",
    "textDocument/diagnostic",
];

#[test]
fn a_session_ends_as_the_protocol_says() {
    let mut client = Client::start();
    client.open("");
    client.request("shutdown", Value::Null);
    assert_eq!(client.error("textDocument/hover", at(&json!({ "line": 0, "character": 0 })))["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit().code(), Some(0));
    let mut impolite = Client::start();
    impolite.notify("exit", Value::Null);
    assert_eq!(impolite.exit().code(), Some(1));
    let mut vanished = Client::start();
    assert_eq!(vanished.exit().code(), Some(1), "the input is closed");
}

#[test]
fn nothing_is_done_before_initialize() {
    let mut client = Client::spawn();
    assert_eq!(client.error("textDocument/hover", json!({}))["code"], -32002);
    client.notify("textDocument/didOpen", json!({}));
    assert_eq!(client.error("initialize", json!("nonsense"))["code"], -32602);
    client.request("initialize", json!({ "capabilities": capabilities() }));
    client.stop();
}

#[test]
fn garbage_gets_an_error() {
    let mut client = Client::start();
    client.raw("{ this is no JSON");
    assert_eq!(client.wait(|it| it["error"]["code"] == -32700)["id"], Value::Null);
    client.raw(r#"{"id": 77, "neither": "request nor response"}"#);
    client.wait(|it| it["id"] == 77 && it["error"]["code"] == -32600);
    client.bytes(b"Content-Length: many\r\n\r\nNo-Header\r\n\r\n");
    client.raw("[]");
    client.wait(|it| it["error"]["code"] == -32600);
    assert_eq!(client.error("no/such/method", json!({}))["code"], -32601);
    assert_eq!(client.error("textDocument/hover", json!({}))["code"], -32602);
    assert_eq!(client.error("textDocument/hover", json!({ "textDocument": { "uri": URI } }))["code"], -32602);
    client.open("");
    assert_eq!(client.error("textDocument/hover", json!({ "textDocument": { "uri": URI } }))["code"], -32602);
    let negative = at(&json!({ "line": -1, "character": 0 }));
    assert_eq!(client.error("textDocument/hover", negative)["code"], -32602);
    client.notify("no/such/notification", json!({}));
    client.notify("textDocument/didChange", json!({ "textDocument": 7 }));
    assert!(client.notification("window/logMessage")["message"].as_str().unwrap().contains("didChange"));
    client.notify("textDocument/didClose", document());
    client.change(2, json!([]));
    assert!(client.notification("window/logMessage")["message"].as_str().unwrap().contains("not open"));
    client.stop();
}

#[test]
fn every_request_at_every_place() {
    for text in [
        String::new(),
        "\n".to_owned(),
        "\u{feff}.version".to_owned(),
        "/*".to_owned(),
        "\"\0".to_owned(),
        "tcgen05.".to_owned(),
        ".entry k() { tcgen05.mma.cta_group::1.kind:: [".to_owned(),
        ".entry k() { @".to_owned(),
        ".entry k() { tcgen05.ld {{{{ }".to_owned(),
        ".target\n.version 9".to_owned(),
        kernel("\ttcgen05.ld .sync\n.aligned /* \u{1f600} */ .32x32b.x1.b32 {%r0}, [%r1"),
    ] {
        let mut client = Client::start();
        client.open(&text);
        for line in 0..=text.matches('\n').count() + 1 {
            for character in [0, 1, 5, 9, 17, 1000, u32::MAX] {
                for method in REQUESTS {
                    client.request(method, at(&json!({ "line": line, "character": character })));
                }
            }
        }
        client.stop();
    }
}

#[test]
fn edits_at_impossible_places_are_moved_inside() {
    let mut client = Client::start();
    client.open("ab\ncd");
    let edit = |sl: u32, sc: u32, el: u32, ec: u32| json!([{ "range": { "start": { "line": sl, "character": sc }, "end": { "line": el, "character": ec } }, "text": "x" }]);
    client.change(2, edit(0, 99, 0, 99));
    client.change(3, edit(99, 0, 99, 0));
    client.change(4, edit(1, 2, 0, 1));
    client.change(5, edit(u32::MAX, u32::MAX, u32::MAX, u32::MAX));
    client.request("textDocument/hover", at(&json!({ "line": 0, "character": 0 })));
    assert!(!client.pushed(5).as_array().unwrap().is_empty());
    for place in ["99:0 to 99:0", "1:2 to 0:1", "4294967295:4294967295"] {
        let logged = client.notification("window/logMessage");
        assert!(logged["message"].as_str().unwrap().contains(place), "{logged}");
    }
    assert!(
        client.inbox.iter().all(|it| it["method"] != "window/logMessage"),
        "behind a line's end is allowed"
    );
    client.stop();
}

#[test]
fn a_huge_document_and_a_cancelled_request() {
    let mut text = kernel(&"\tmov.b32 %r1, %r2; // to fill the line a bit\n".repeat(200_000));
    text.push_str("// the end\n");
    let mut client = Client::start();
    client.open(&text);
    let id = client.send("textDocument/codeAction", {
        let mut params = document();
        params["range"] =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
        params["context"] = json!({ "diagnostics": [] });
        params
    });
    client.notify("$/cancelRequest", json!({ "id": id }));
    let response = client.response(id);
    // Either it was too late, or it was cancelled.
    assert!(response.get("result").is_some() || response["error"]["code"] == -32800, "{response}");
    let hover = client.request("textDocument/hover", at(&json!({ "line": 100_000, "character": 10 })));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("%r<10>"));
    assert_eq!(client.pushed(1), json!([]));
    client.stop();
}

/// A module of about this size, with one finding in its last line but two.
fn large(megabytes: usize) -> String {
    let line = "\tadd.s32 %r1, %r2, %r3;\n";
    kernel(&(line.repeat(megabytes * 1_000_000 / line.len()) + "\ttcgen05.wait::ld.sync;\n\tret;"))
}

#[test]
fn closing_during_a_check() {
    let mut client = Client::start();
    client.open(&large(4));
    let hover = client.send("textDocument/hover", at(&json!({ "line": 0, "character": 0 })));
    client.notify("textDocument/didClose", document());
    assert_eq!(client.response(hover)["error"]["code"], -32801, "the content was modified");
    let cleared = client.notification("textDocument/publishDiagnostics");
    assert_eq!(cleared, json!({ "uri": URI, "diagnostics": [] }));
    client.open(&kernel("\ttcgen05.wait::ld.sync;"));
    assert_eq!(client.pushed(1)[0]["range"]["start"]["line"], 9, "of the second document");
    client.stop();
}

#[test]
fn a_document_of_100_megabytes_is_checked() {
    let mut client = Client::start();
    let text = large(100);
    client.open(&text);
    let found = client.pushed(1);
    assert_eq!(found[0]["code"], "TC104");
    let place = json!({ "line": text.lines().count() - 3, "character": 12 });
    let hover = client.request("textDocument/hover", at(&place));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("tcgen05.wait::ld"), "{hover}");
    client.stop();
}
