//! PTX in files of other languages: the editor's answers are about the file that people see.

use serde_json::{Value, json};

use super::client::{Client, cursor};

const URI: &str = "file:///project/include/tmem.cuh";

const TEXT: &str = "#define GROUP \".cta_group::1\"\n\
    __device__ void f(unsigned slot, unsigned r, unsigned t) {\n  \
    // \u{1f600} nothing here is PTX\n  \
    asm volatile(\"tcgen05.alloc\" GROUP \".sync.aligned.shared::cta.b32 [%0], %1;\" :: \"r\"(slot), \"n\"(48) : \"memory\");\n  \
    asm volatile(\"{\\n\\ttcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\\n\\t}\" : \"=r\"(r) : \"r\"(t));\n\
    }\n";

fn here(position: &Value) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": position })
}

fn ask(method: &str, text: &str) -> Value {
    let (text, position) = cursor(text);
    let mut client = Client::start();
    client.open_as(URI, &text);
    let answer = client.request(method, here(&position));
    client.stop();
    answer
}

#[test]
fn findings_and_their_repairs() {
    let mut client = Client::start();
    client.open_as(URI, TEXT);
    let report = client.request("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
    let [finding] = &report["items"].as_array().unwrap()[..] else { panic!("{report:#}") };
    assert_eq!(finding["code"], "TC301");
    let line = TEXT.lines().nth(3).unwrap();
    let column = line.find("48").unwrap();
    let range = json!({
        "start": { "line": 3, "character": column }, "end": { "line": 3, "character": column + 2 },
    });
    assert_eq!(finding["range"], range);
    let actions = client.request(
        "textDocument/codeAction",
        json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [finding] } }),
    );
    let edits: Vec<&Value> = actions
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|action| action.pointer("/edit/changes")?.as_object()?.values().next()?.get(0))
        .collect();
    assert_eq!(edits[0], &json!({ "range": range, "newText": "64" }));
    assert_eq!(edits[1]["newText"], "  // ptx-tc: allow(TC301)\n");
    assert_eq!(edits[1]["range"]["start"], json!({ "line": 3, "character": 0 }));
    client.stop();
}

/// A comment of Python within a string would be text of the program that stands there.
#[test]
fn programs_in_strings_are_silenced_in_front_of_them() {
    const URI: &str = "file:///project/kernels.py";
    const TEXT: &str = "import cupy\nSOURCE = r'''\n__device__ void f(unsigned t) {\n  \
        asm volatile(\"tcgen05.dealloc.cta_group::1.sync.b32 %0, 64;\" :: \"r\"(t));\n}\n'''\n";
    let mut client = Client::start();
    client.open_as(URI, TEXT);
    let range = json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 3, "character": 80 } });
    let actions = client.request(
        "textDocument/codeAction",
        json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } }),
    );
    let is_suppression = |it: &&Value| it["title"].as_str().unwrap().starts_with("Suppress TC104");
    let action = actions.as_array().unwrap().iter().find(is_suppression).unwrap();
    let edit = action.pointer("/edit/changes").unwrap().as_object().unwrap().values().next().unwrap();
    assert_eq!(edit[0]["newText"], "# ptx-tc: allow(TC104)\n");
    assert_eq!(edit[0]["range"]["start"], json!({ "line": 1, "character": 0 }));
    client.stop();
}

#[test]
fn hover_inside_and_outside_of_templates() {
    let inside = ask("textDocument/hover", &TEXT.replace("32x32b.x1", "32x$032b.x1"));
    assert!(inside["contents"]["value"].as_str().unwrap().contains("32x32b"), "{inside:#}");
    let start = TEXT.lines().nth(4).unwrap().find(".32x32b").unwrap();
    assert_eq!(inside["range"]["start"], json!({ "line": 4, "character": start }));
    let macro_line = ask("textDocument/hover", &TEXT.replace(".cta_group::1\"", ".cta_$0group::1\""));
    assert_eq!(macro_line["range"]["start"], json!({ "line": 0, "character": 15 }));
    let outside = ask("textDocument/hover", &TEXT.replace("unsigned slot", "unsig$0ned slot"));
    assert_eq!(outside, Value::Null);
}

#[test]
fn an_operand_is_defined_where_it_is_listed() {
    let found = ask("textDocument/definition", &TEXT.replace("{%0}", "{%$00}"));
    let start = TEXT.lines().nth(4).unwrap().find("\"=r\"").unwrap();
    assert_eq!(found["range"]["start"], json!({ "line": 4, "character": start }));
}

#[test]
fn completion_in_an_opcode() {
    let found = ask("textDocument/completion", &TEXT.replace(".x1.b32", ".x$0"));
    let labels: Vec<&str> =
        found["items"].as_array().unwrap().iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.contains(&".x2") || labels.contains(&"x2"), "{labels:?}");
    let edit = &found["items"][0]["textEdit"]["range"];
    assert_eq!(edit["start"]["line"], 4);
    let outside = ask("textDocument/completion", &TEXT.replace("unsigned slot", "unsig$0ned slot"));
    assert_eq!(outside, Value::Null);
}

#[test]
fn colours_are_those_of_what_is_written() {
    let mut client = Client::start();
    client.open_as(URI, TEXT);
    let tokens =
        client.request("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": URI } }));
    let data: Vec<usize> =
        tokens["data"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap() as usize).collect();
    let (mut line, mut column) = (0, 0);
    let mut words = Vec::new();
    for token in data.chunks(5) {
        column = if token[0] == 0 { column + token[1] } else { token[1] };
        line += token[0];
        let text: Vec<u16> = TEXT.lines().nth(line).unwrap().encode_utf16().collect();
        words.push(String::from_utf16(&text[column..column + token[2]]).unwrap());
    }
    assert!(
        words.contains(&".32x32b".to_owned()) && words.contains(&".cta_group::1".to_owned()),
        "{words:?}"
    );
    assert!(words.iter().all(|word| !word.contains("func") && !word.contains("reg")), "{words:?}");
    client.stop();
}

#[test]
fn what_the_language_has_its_own_server_for() {
    let mut client = Client::start();
    client.open_as(URI, TEXT);
    for method in ["textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/documentLink"] {
        assert_eq!(client.request(method, json!({ "textDocument": { "uri": URI } })), json!([]), "{method}");
    }
    client.stop();
}

/// The same in a file of another language: a wrong number of columns and its repair, what hover says of
/// a qualifier, and what may stand in its place.
fn in_language(uri: &str, text: &str) {
    let document = || json!({ "uri": uri });
    let asked = |method: &str, text: &str| {
        let (text, position) = cursor(text);
        let mut client = Client::start();
        client.open_as(uri, &text);
        let answer = client.request(method, json!({ "textDocument": document(), "position": position }));
        client.stop();
        answer
    };
    let mut client = Client::start();
    client.open_as(uri, text);
    let report = client.request("textDocument/diagnostic", json!({ "textDocument": document() }));
    let [finding] = &report["items"].as_array().unwrap()[..] else { panic!("{uri}: {report:#}") };
    assert_eq!(finding["code"], "TC301", "{uri}");
    let (line, column) =
        text.lines().enumerate().find_map(|(line, text)| Some((line, text.find("48;")?))).unwrap();
    let range = json!({
        "start": { "line": line, "character": column }, "end": { "line": line, "character": column + 2 },
    });
    assert_eq!(finding["range"], range, "{uri}");
    let actions = client.request(
        "textDocument/codeAction",
        json!({ "textDocument": document(), "range": range, "context": { "diagnostics": [finding] } }),
    );
    let edit = actions[0]["edit"]["changes"][uri][0].clone();
    assert_eq!(edit, json!({ "range": range, "newText": "64" }), "{actions:#}");
    client.stop();
    let hover = asked("textDocument/hover", &text.replace("32x32b.x1", "32x$032b.x1"));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("32x32b"), "{uri}: {hover:#}");
    let found = asked("textDocument/completion", &text.replace(".x1.b32", ".x$0"));
    let labels: Vec<&str> =
        found["items"].as_array().unwrap().iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.contains(&".x2") || labels.contains(&"x2"), "{uri}: {labels:?}");
}

// No operand is `$0` here: that is the mark for the cursor.
#[test]
fn python() {
    in_language(
        "file:///project/kernel.py",
        "def kernel(slot, t):\n    \
         cute.arch.inline_ptx(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [{$r0}], 48;\",\n        \
         read_only_args=[Int32(slot)])\n    \
         return cute.arch.inline_ptx(\"tcgen05.ld.sync.aligned.32x32b.x1.b32 {{$w0}}, [{$r0}];\",\n        \
         write_only_types=[Int32], read_only_args=[Int32(t)])\n",
    );
}

#[test]
fn llvm_ir() {
    in_language(
        "file:///project/kernel.ll",
        "define void @kernel(i32 %slot, i32 %t) {\n  \
         call void asm sideeffect \"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [${0}], 48;\", \
         \"r,~{memory}\"(i32 %slot) convergent\n  \
         %r = call i32 asm sideeffect \"tcgen05.ld.sync.aligned.32x32b.x1.b32 {${0}}, [${1}];\", \
         \"=r,r\"(i32 %t) convergent\n  \
         ret void\n}\n",
    );
}
