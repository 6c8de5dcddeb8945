//! What is known of values: constants in registers, descriptors, multiplies.

use std::fmt::Write;

use serde_json::{Value, json};

use super::client::{Client, at, cursor, document, kernel};

/// A multiply whose descriptors are made in registers; the start address of A comes from memory.
const MULTIPLY: &str = "\
\tmov.b32 %r1, 0x8400010;
\tmov.b64 %rd0, 0x4000404000010000;
\tld.param.b64 %rd1, [out];
\tand.b64 %rd1, %rd1, 0x3fff;
\tor.b64 %rd2, %rd1, 0x4000404000010000;
\ttcgen05.mma.cta_group::1.kind::f16 [%r0], %rd2, %rd0, %r1, %p0;
\tmov.b32 %r2, 256;
\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, %r2;
\tret;";

fn hover(body: &str) -> String {
    let (text, position) = cursor(&kernel(body));
    let mut client = Client::start();
    client.open(&text);
    let hover = client.request("textDocument/hover", at(&position));
    hover["contents"]["value"].as_str().unwrap_or("nothing").to_owned()
}

#[test]
fn hover_follows_constants_through_registers() {
    let mut all = String::new();
    for (name, place) in [
        ("the multiply", MULTIPLY.replace("tcgen05.mma", "tcgen05.m$0ma")),
        ("the instruction descriptor", MULTIPLY.replace("%r1, %p0", "%r$01, %p0")),
        ("a descriptor with unknown bits", MULTIPLY.replace("%rd2, %rd0", "%rd$02, %rd0")),
        ("a register that is written", MULTIPLY.replace("mov.b32 %r2", "mov.b32 %r$02")),
        ("a register that is read", MULTIPLY.replace("%rd1, 0x4000", "%rd$01, 0x4000")),
        ("a register without a value", MULTIPLY.replace("[%r0]", "[%r$00]")),
    ] {
        writeln!(all, "==== {name}\n{}", hover(&place)).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn shapes_are_those_of_the_kind() {
    let sparse = hover(
        "\ttcgen05.m$0ma.sp.cta_group::2.kind::mxf8f6f4.block_scale \
         [%r0], %rd0, %rd1, [%r1], %r2, [%r3], [%r4], %p0;",
    );
    assert!(sparse.contains("| 256 | 16 to 256 in steps of 16 | 64 |"), "{sparse}");
}

#[test]
fn hints_follow_constants_through_registers() {
    let mut client = Client::start();
    client.open(&kernel(MULTIPLY));
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints = client.request("textDocument/inlayHint", params);
    let labels: Vec<&Value> = hints.as_array().unwrap().iter().map(|hint| &hint["label"]).collect();
    assert_eq!(labels, ["128×256×16, f16 × f16 → f32", "256 columns"]);
    assert!(hints[0]["tooltip"]["value"].as_str().unwrap().contains("swizzle 128b"), "{hints}");
    client.stop();
}
