//! What helps to write: completion, signatures, renaming, actions, layout.

use serde_json::{Value, json};

use super::client::{Client, URI, at, cursor, document, kernel};

fn complete_in(text: &str) -> Vec<Value> {
    let (text, position) = cursor(text);
    let mut client = Client::start();
    client.open(&text);
    let mut list = client.request("textDocument/completion", at(&position));
    client.stop();
    match list["items"].take() {
        Value::Array(items) => items,
        other => panic!("{other}"),
    }
}

fn labels(items: &[Value]) -> Vec<&str> {
    items.iter().map(|it| it["label"].as_str().unwrap()).collect()
}

fn complete(body: &str) -> String {
    labels(&complete_in(&kernel(body))).join(" ")
}

#[test]
fn completion_knows_the_position() {
    let list = [
        "\ttcgen05.$0",
        "\ttcgen05.ld.$0",
        "\ttcgen05.ld.sync.aligned.16x256b.$0",
        "\ttcgen05.ld.sync.aligned.16x256b.x$0.b32 {%r0}, [%r1];",
        "\ttcgen05.cp.cta_group::1.64x128b.$0\n\tret;",
        "\ttcgen05.mma.cta_group::1.kind::mxf4.$0",
        "\ttcgen05.mma.ws.cta_group::1.kind::f16.$0",
        "\ttcgen05.wait::ld.sync.$0",
        "\ttcgen05.wait::ld.sync.aligned.$0",
        "\ttcgen05.st.sync.aligned.32x32b.x1.b32 $0",
        "\ttcgen05.st.sync.aligned.32x32b.x1.b32 [$0",
        "\ttcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {$0",
        "\ttcgen05.alloc.cta_group::1.sync.aligned.b32 [$0], 32;",
        "\ttcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, $0",
        "\ttcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd1, %r1, $0",
        "\t@$0",
        "\t@!%p$0",
        "L:\n\tbra $0\nM:\n\t{ inner: }",
        "\t.$0",
        "\t// tcgen05.$0",
        "\t/* tcgen05.$0 */",
        "\tmov.u32 \"$0",
        "\tadd.u32 %r0, $0, 1;",
    ];
    let shown: Vec<String> =
        list.iter().map(|body| format!("{}\n    {}", body.trim(), complete(body))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn completion_of_the_header() {
    let targets = complete_in(".version 9.0\n.target $0\n");
    assert_eq!(labels(&targets)[0], "sm_100f");
    assert_eq!(labels(&complete_in(".version $0"))[0], "9.5");
    assert!(labels(&complete_in("$0")).contains(&".visible"));
}

#[test]
fn completion_of_special_registers() {
    let items = complete_in(&kernel("\tmov.u32 %r1, %cluster_$0"));
    let ranks: Vec<_> = labels(&items).into_iter().filter(|label| label.contains("ctar")).collect();
    assert_eq!(ranks, ["%cluster_ctarank", "%cluster_nctarank"]);
    assert!(!labels(&complete_in(&kernel("\tmov.u32 %r1, $0"))).contains(&"%tid.x"));
}

#[test]
fn completion_follows_the_target() {
    let shift = |target: &str| {
        let text = kernel("\ttcgen05.$0").replace("sm_100a", target);
        labels(&complete_in(&text)).contains(&"shift")
    };
    assert!(shift("sm_100a") && !shift("sm_100f"));
}

#[test]
fn completion_of_an_operation_is_a_skeleton() {
    let items = complete_in(&kernel("\ttcgen05.l$0"));
    let skeleton = items.iter().find(|it| it["insertTextFormat"] == 2).unwrap();
    insta::assert_json_snapshot!(skeleton);
    let operands = complete_in(&kernel("\ttcgen05.ld.sync.aligned.32x32b.x2.b32 $0"));
    assert_eq!(operands[0]["textEdit"]["newText"], "{${1:r0}, ${2:r1}\\}, [${3:taddr}]");
}

#[test]
fn signatures() {
    let (text, position) = cursor(&kernel("\ttcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r0], 4, $0"));
    let mut client = Client::start();
    client.open(&text);
    insta::assert_json_snapshot!(client.request("textDocument/signatureHelp", at(&position)));
    let outside = client.request("textDocument/signatureHelp", at(&json!({ "line": 5, "character": 8 })));
    assert_eq!(outside, Value::Null);
    client.stop();
}

/// The text with the edits of a workspace edit or a list of edits.
fn applied(text: &str, edit: &Value) -> String {
    let edits = edit.pointer("/changes").map_or(edit, |changes| &changes[URI]);
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |place: &Value| {
        let line = lines.get(place["line"].as_u64().unwrap() as usize).copied().unwrap_or(text.len());
        line + place["character"].as_u64().unwrap() as usize
    };
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let range = &it["range"];
            (offset(&range["start"]), offset(&range["end"]), it["newText"].as_str().unwrap())
        })
        .collect();
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, by) in edits.into_iter().rev() {
        text.replace_range(start..end, by);
    }
    text
}

fn rename(body: &str, name: &str) -> Result<String, String> {
    let (text, position) = cursor(&kernel(body));
    let mut client = Client::start();
    client.open(&text);
    let mut params = at(&position);
    params["newName"] = name.into();
    let id = client.send("textDocument/rename", params);
    let response = client.response(id);
    client.stop();
    match response.get("result") {
        Some(edit) => Ok(applied(&text, edit)),
        None => Err(response["error"]["message"].as_str().unwrap().to_owned()),
    }
}

#[test]
fn renaming() {
    let body = |name: &str, inner: &str| {
        kernel(&format!(
            "\t.reg .b32 {name};\n\tmov.b32 {name}, 1;\n\t{{ .reg .b64 {inner}; mov.b64 {inner}, 2; }}"
        ))
    };
    let marked = "\t.reg .b32 a;\n\tmov.b32 a$0, 1;\n\t{ .reg .b64 a; mov.b64 a, 2; }";
    assert_eq!(rename(marked, "b").unwrap(), body("b", "a"), "the inner one is another");
    let clash = rename("\t.reg .b32 a$0, c;\n\tmov.b32 a, c;", "c").unwrap_err();
    assert!(clash.contains("clash") || clash.contains("declared already"), "{clash}");
    let captured = rename("\t.reg .b32 a$0;\n\t{ .reg .b32 c; mov.b32 a, c; }", "c").unwrap_err();
    assert!(captured.contains("clash"), "{captured}");
    assert!(rename("\t.reg .b32 a$0;", "1a").unwrap_err().contains("not a name"));
    assert!(rename("\tmov.u32 %r0, %ti$0d.x;", "x").unwrap_err().contains("special register"));
    let member = rename("\tmov.u32 %r$05, 1;", "x").unwrap_err();
    assert!(member.contains("`%r` at its declaration"), "{member}");
    let family = rename("\t.reg .f32 %f$0<3>;\n\tmov.f32 %f1, %f2;", "%float").unwrap();
    assert!(family.contains(".reg .f32 %float<3>;\n\tmov.f32 %float1, %float2;"), "{family}");
    let vector = rename("\t.reg .v2 .b32 v;\n\tmov.b32 v$0.x, v.y;", "w").unwrap();
    assert!(vector.contains(".v2 .b32 w;\n\tmov.b32 w.x, w.y;"), "{vector}");
    let label = rename("L:\n\tbra L$0;", "loop").unwrap();
    assert!(label.contains("loop:\n\tbra loop;"), "{label}");
    let guard = rename("\t.reg .pred q;\n\t@!q$0 ret;", "done").unwrap();
    assert!(guard.contains("@!done ret;"), "{guard}");
}

#[test]
fn prepare_rename_says_what_can_be_renamed() {
    let (text, position) = cursor(&kernel("L:\n\tbra L$0;"));
    let mut client = Client::start();
    client.open(&text);
    let range = client.request("textDocument/prepareRename", at(&position));
    assert_eq!(range["start"], json!({ "line": 10, "character": 5 }));
    let error = client.error("textDocument/prepareRename", at(&json!({ "line": 10, "character": 2 })));
    assert_eq!(error["message"], "there is no name here");
    client.stop();
}

const BROKEN: &str =
    "\ttcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48;\n\ttcgen05.wait::ld.sync;";

fn actions(client: &mut Client, only: &Value) -> Vec<Value> {
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 10, "character": 3 }, "end": { "line": 10, "character": 3 } });
    params["context"] = json!({ "diagnostics": [] });
    if !only.is_null() {
        params["context"]["only"] = only.clone();
    }
    let Value::Array(actions) = client.request("textDocument/codeAction", params) else { panic!() };
    actions
}

#[test]
fn actions_repair_suppress_and_explain() {
    let text = kernel(BROKEN);
    let mut client = Client::start();
    client.open(&text);
    let all = actions(&mut client, &Value::Null);
    let titles: Vec<&str> = all.iter().map(|it| it["title"].as_str().unwrap()).collect();
    insta::assert_snapshot!(titles.join("\n"));
    let by = |start: &str| all.iter().find(|it| it["title"].as_str().unwrap().starts_with(start)).unwrap();
    assert!(applied(&text, &by("Insert")["edit"]).contains("wait::ld.sync.aligned;"));
    assert!(by("Insert")["isPreferred"].as_bool().unwrap());
    let suppressed = applied(&text, &by("Suppress")["edit"]);
    assert!(suppressed.contains("\t// ptx-tc: allow(TC104)\n\ttcgen05.wait::ld.sync;"), "{suppressed}");
    let command = &by("Explain")["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    let explained = client.request("workspace/executeCommand", params);
    assert!(explained.as_str().unwrap().contains("## Why is this bad?"));
    assert!(client.notification("window/showMessage")["message"].as_str().unwrap().starts_with("TC104"));
    let kinds = actions(&mut client, &json!(["source.fixAll"]));
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert_eq!(kinds[0]["kind"], "source.fixAll.ptx-tc");
    client.change(2, json!([{ "text": applied(&text, &kinds[0]["edit"]) }]));
    let left = client.pushed(2);
    assert!(left.as_array().unwrap().iter().all(|it| it["code"] != "TC104"), "fixed: {left}");
    client.change(3, json!([{ "text": suppressed }]));
    let left = client.pushed(3);
    assert!(left.as_array().unwrap().iter().all(|it| it["code"] != "TC104"), "suppressed: {left}");
    let error = client.error("workspace/executeCommand", json!({ "command": "no.such" }));
    assert_eq!(error["code"], -32602);
    client.stop();
}

#[test]
fn a_second_suppression_joins_the_first() {
    let text = kernel(&BROKEN.replace("\ttcgen05.wait", "\t// ptx-tc: allow(TC999)\n\ttcgen05.wait"));
    let mut client = Client::start();
    client.open(&text);
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 11, "character": 3 }, "end": { "line": 11, "character": 3 } });
    params["context"] = json!({ "diagnostics": [] });
    let found = client.request("textDocument/codeAction", params);
    let suppress = found.as_array().unwrap().iter().find(|it| it["title"] == "Suppress TC104 here").unwrap();
    assert!(applied(&text, &suppress["edit"]).contains("// ptx-tc: allow(TC999, TC104)\n"));
    client.stop();
}

#[test]
fn layout() {
    let text = kernel("mov.b32 %r1,%r2;   ret;");
    let mut client = Client::start();
    client.open(&text);
    let mut params = document();
    params["options"] = json!({ "tabSize": 2, "insertSpaces": true });
    let edits = client.request("textDocument/formatting", params.clone());
    let formatted = applied(&text, &edits);
    insta::assert_snapshot!(formatted);
    client.change(2, json!([{ "text": formatted }]));
    assert_eq!(client.request("textDocument/formatting", params.clone()), json!([]), "it is stable");
    client.change(3, json!([{ "text": "{ broken" }]));
    assert_eq!(
        client.request("textDocument/formatting", params),
        json!([]),
        "what does not parse is left alone"
    );
    client.stop();
}

#[test]
fn completion_in_a_large_text_does_not_wait_and_says_the_same() {
    let filler = "\tadd.s32 %r1, %r2, %r3;\n".repeat(100_000);
    let mut client = Client::start();
    client.open(&kernel(&format!("\t.reg .b32 early;\n{filler}\t{{ .reg .b32 inner; }}\n\tret;")));
    client.pushed(1);
    let insert = |line: u32, text: &str| {
        let place = json!({ "line": line, "character": 0 });
        json!([{ "range": { "start": place, "end": place }, "text": text }])
    };
    client.change(2, insert(9, "\tret;\n\tret;\n"));
    client.change(3, insert(100_012, "\tadd.s32 %r1, ea\n"));
    let place = json!({ "line": 100_012, "character": 16 });
    let at_once = client.request("textDocument/completion", at(&place));
    client.pushed(3);
    let later = client.request("textDocument/completion", at(&place));
    assert_eq!(at_once, later);
    let Value::Array(items) = &later["items"] else { panic!("{later}") };
    let names = labels(items);
    assert!(names.contains(&"early") && names.contains(&"%r9") && !names.contains(&"inner"), "{names:?}");
    client.stop();
}
