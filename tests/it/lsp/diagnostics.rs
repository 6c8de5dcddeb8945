//! Findings: pushed, pulled, after edits, with settings.

use serde_json::{Value, json};

use super::client::{Client, URI, capabilities, document, kernel};

const BAD: &str = "\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 48;\n\ttcgen05.wait::ld.sync;";

fn codes(diagnostics: &Value) -> Vec<&str> {
    diagnostics.as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect()
}

fn pulling() -> Value {
    let mut capabilities = capabilities();
    capabilities["textDocument"]["diagnostic"] = json!({});
    capabilities
}

#[test]
fn are_pushed_on_open_and_change() {
    let mut client = Client::start();
    client.open(&kernel(BAD));
    let pushed = client.pushed(1);
    insta::assert_json_snapshot!(pushed);
    // `48` becomes `64`, in the middle of the text.
    let range = json!({ "start": { "line": 9, "character": 52 }, "end": { "line": 9, "character": 54 } });
    client.change(2, json!([{ "range": range, "text": "64" }]));
    assert_eq!(codes(&client.pushed(2)), ["TC104"]);
    client.notify("textDocument/didClose", document());
    let closed = client.notification("textDocument/publishDiagnostics");
    assert_eq!(closed, json!({ "uri": URI, "diagnostics": [] }));
    client.stop();
}

#[test]
fn are_what_the_command_line_finds() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules")).unwrap() {
        let mut client = Client::start();
        for (number, file) in std::fs::read_dir(entry.unwrap().path()).unwrap().enumerate() {
            let Ok(text) = std::fs::read_to_string(file.unwrap().path()) else { continue };
            let source = ptx_tc::Source::new("kernel.ptx", text.clone()).unwrap();
            let report = ptx_tc::check(&source, &ptx_tc::Options::default());
            let expected: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
            let version = i32::try_from(number).unwrap() + 2;
            client.open("");
            client.change(version, json!([{ "text": text }]));
            assert_eq!(codes(&client.pushed(version)), expected);
        }
    }
}

#[test]
fn are_counted_where_they_are_too_many() {
    let mut client = Client::start();
    client.open(&kernel(&"\ttcgen05.wait::ld.sync;\n".repeat(150)));
    let pushed = client.pushed(1);
    let pushed = pushed.as_array().unwrap();
    assert_eq!(pushed.len(), 101);
    assert_eq!(pushed[100]["message"], "Findings that are not shown: 50 of TC104 (missing-qualifier)");
    assert_eq!(pushed[100]["severity"], 1);
    // The repair of all of them is the repair of all.
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } });
    let context = json!({ "diagnostics": [], "only": ["source.fixAll.ptx-tc"] });
    let wanted = json!({ "textDocument": { "uri": URI }, "range": range, "context": context });
    let actions = client.request("textDocument/codeAction", wanted);
    let edits = actions[0]["edit"].to_string();
    assert_eq!(edits.matches(".aligned").count(), 150, "{edits}");
    client.stop();
}

#[test]
fn are_pulled_by_clients_that_can() {
    let mut client = Client::start_with(pulling(), Value::Null);
    client.open(&kernel(BAD));
    let report = client.request("textDocument/diagnostic", document());
    assert_eq!(report["kind"], "full");
    assert_eq!(codes(&report["items"]), ["TC301", "TC104"]);
    assert!(client.inbox.is_empty(), "nothing is pushed as well: {:?}", client.inbox);
    client.stop();
}

#[test]
fn of_an_old_version_are_never_sent() {
    let mut client = Client::start_with(pulling(), Value::Null);
    client.open(&kernel(&BAD.repeat(2000)));
    let mut requests = Vec::new();
    for version in 2..20 {
        requests.push(client.send("textDocument/diagnostic", document()));
        let start = json!({ "line": 0, "character": 0 });
        client.change(version, json!([{ "range": { "start": start, "end": start }, "text": "\n" }]));
    }
    requests.push(client.send("textDocument/diagnostic", document()));
    let mut answered = 0;
    for (version, id) in requests.into_iter().enumerate() {
        let response = client.response(id);
        if let Some(error) = response.get("error") {
            assert_eq!(error["code"], -32802, "{error}");
            assert_eq!(error["data"]["retriggerRequest"], true);
        } else {
            answered += 1;
            let line = response["result"]["items"][0]["range"]["start"]["line"].as_u64();
            assert_eq!(line, Some(9 + version as u64), "of the version that was asked about");
        }
    }
    assert!(answered >= 1, "the last one is always answered");
    client.stop();
}

#[test]
fn count_columns_as_negotiated() {
    let text = kernel("\t/* \u{1f600}\u{e4} */ tcgen05.wait::ld.sync;");
    for (encodings, name, column) in [
        (json!(["utf-16"]), "utf-16", 27),
        (json!(["utf-8", "utf-16"]), "utf-8", 30),
        (json!([]), "utf-16", 27),
    ] {
        let mut client = Client::spawn();
        let mut capabilities = capabilities();
        capabilities["general"]["positionEncodings"] = encodings;
        let result = client.request("initialize", json!({ "capabilities": capabilities }));
        assert_eq!(result["capabilities"]["positionEncoding"], name);
        client.open(&text);
        assert_eq!(client.pushed(1)[0]["range"]["end"]["character"], column, "{name}");
        client.stop();
    }
}

#[test]
fn follow_the_settings() {
    let body = "\ttcgen05.shift.cta_group::1.down [%r1];";
    let mut client = Client::start_with(capabilities(), json!({ "targets": ["sm_100f"] }));
    client.open(&kernel(body));
    assert!(codes(&client.pushed(1)).contains(&"TC202"));
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "ptx-tc": { "ptxVersion": "8.5" } } }),
    );
    assert!(codes(&client.pushed(1)).contains(&"TC204"));
    client.notify("workspace/didChangeConfiguration", json!({ "settings": {} }));
    assert!(codes(&client.pushed(1)).iter().all(|code| !code.starts_with("TC2")));
    client.notify("workspace/didChangeConfiguration", json!({ "settings": { "targets": ["sm_x"] } }));
    let message = client.notification("window/showMessage");
    assert!(message["message"].as_str().unwrap().contains("`sm_x` is not a target"), "{message}");
    client.stop();
}

/// Findings in PTX lead to what it was compiled from.
#[test]
fn lead_to_the_sources() {
    let directory = crate::common::scratch("lsp_sources");
    let fixture = |name: &str| crate::common::root().join("fixtures/provenance").join(name);
    for name in ["pipeline.cu", "pipeline.ptx"] {
        std::fs::copy(fixture(name), directory.join(name)).unwrap();
    }
    let uri = format!("file://{}/pipeline.ptx", directory.display());
    let text = std::fs::read_to_string(fixture("pipeline.ptx")).unwrap();
    let mismatch = |client: &mut Client, version: i32| {
        let pushed = client.pushed(version);
        let all = pushed.as_array().unwrap();
        let finding = all.iter().find(|it| it["code"] == "TC305").unwrap();
        let mut related = finding["relatedInformation"].clone();
        for it in related.as_array_mut().unwrap() {
            let uri = it["location"]["uri"].as_str().unwrap();
            it["location"]["uri"] = uri.rsplit('/').next().unwrap().into();
        }
        related
    };
    let mut client = Client::start();
    client.open_as(&uri, &text);
    insta::assert_json_snapshot!("lsp_sources", mismatch(&mut client, 1));
    client.stop();

    let source = std::fs::File::options().append(true).open(directory.join("pipeline.cu")).unwrap();
    source.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(3600)).unwrap();
    let mut client = Client::start();
    client.open_as(&uri, &text);
    let related = mismatch(&mut client, 1).to_string();
    assert!(related.contains("inlined here (the file is newer than the PTX)"), "{related}");
    client.stop();
}
