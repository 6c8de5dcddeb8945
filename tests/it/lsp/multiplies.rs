//! Multiplies in files of other languages: what they multiply is shown behind them, and drawn where hovers show images.

use serde_json::{Value, json};

use super::client::{Client, cursor};

/// 128 x 128 x 16 of bf16.
const DESCRIPTOR: &str = "0x8200490";
const LABEL: &str = "128×128×16, bf16 × bf16 → f32";

/// The labels of the hints of a file, each with the text in front of it in its line.
fn hints(uri: &str, text: &str) -> Vec<(String, String)> {
    let mut client = Client::start();
    client.open_as(uri, text);
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 999, "character": 0 } });
    let params = json!({ "textDocument": { "uri": uri }, "range": range });
    let hints = client.request("textDocument/inlayHint", params);
    client.stop();
    let hint = |hint: &Value| {
        let line = text.lines().nth(hint["position"]["line"].as_u64().unwrap() as usize).unwrap();
        let line: Vec<u16> = line.encode_utf16().collect();
        let before = &line[..hint["position"]["character"].as_u64().unwrap() as usize];
        (hint["label"].as_str().unwrap().to_owned(), String::from_utf16(before).unwrap())
    };
    hints.as_array().unwrap().iter().map(hint).collect()
}

/// A statement of CUDA whose descriptor is written so, or is the operand with this value.
fn cuda(written: &str, operand: &str) -> String {
    format!(
        "__device__ void f(unsigned d, unsigned long long a, unsigned long long b, unsigned n) {{\n  \
         asm volatile(\"{{\\n\\t.reg .pred p;\\n\\tsetp.ne.b32 p, %4, 0;\\n\\t\"\n    \
         \"tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, {written}, p;\\n\\t}}\"\n    \
         :: \"r\"(d), \"l\"(a), \"l\"(b), {operand}, \"r\"(n));\n}}\n"
    )
}

#[test]
fn descriptors_in_cuda() {
    let known = [
        ("", cuda(DESCRIPTOR, "\"r\"(0)")),
        ("", cuda("%3", "\"n\"(0x8200490)")),
        ("", cuda("%3", "\"r\"(0x8200490u)")),
        ("#define IDESC 0x8200490\n", cuda("%3", "\"r\"(IDESC)")),
        ("#define IDESC \"0x8200490\"\n", cuda("\" IDESC \"", "\"r\"(0)")),
        ("constexpr uint32_t kIdesc = 0x8200490;\n", cuda("%3", "\"n\"(kIdesc)")),
        (
            "constexpr int M = 128;\nstatic constexpr uint32_t kIdesc =\n    \
             (1u << 4) | (1u << 7) | (1u << 10) | (uint32_t(M / 8) << 17) | ((M / 16) << 24);\n",
            cuda("%3", "\"r\"(kIdesc)"),
        ),
        ("", cuda("%3", "\"r\"(1 << 4 | 1 << 7 | 1 << 10 | 128 / 8 << 17 | 128 / 16 << 24)")),
    ];
    for (before, statement) in known {
        let text = format!("{before}{statement}");
        let hints = hints("file:///project/k.cu", &text);
        let [(label, written)] = &hints[..] else { panic!("{text}{hints:?}") };
        assert_eq!(label, LABEL, "{text}");
        assert!(
            written.contains("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, ")
                && written.ends_with(", p;")
        );
    }
}

/// A value that may be another has no hint.
#[test]
fn descriptors_that_are_not_known() {
    let unknown = [
        ("", cuda("%3", "\"r\"(n)")),
        ("", cuda("%3", "\"r\"(0x8200490 + n)")),
        ("", cuda("%3", "\"r\"(make(0x8200490))")),
        // The parameter is another than the constant.
        ("namespace other { constexpr unsigned n = 0x8200490; }\n", cuda("%3", "\"r\"(n)")),
        ("constexpr unsigned D = 0x8200490;\nconstexpr unsigned D = 0x8100490;\n", cuda("%3", "\"r\"(D)")),
        ("template <unsigned D> struct S {};\nconst unsigned D = 0x8200490;\n", cuda("%3", "\"r\"(D)")),
        ("const unsigned D = read();\n", cuda("%3", "\"r\"(D)")),
        // The template changes it, or it is written.
        ("", cuda("%3", "\"r\"(0x8200490)").replace("setp.ne", "ld.shared.b32 %3, [%0];\\n\\tsetp.ne")),
        ("", cuda("%3", "\"f\"(1)")),
        ("#define MMA(D) ", cuda("%3", "\"r\"(D)").replace('\n', " \\\n")),
    ];
    for (before, statement) in unknown {
        let text = format!("{before}{statement}");
        let hints = hints("file:///project/k.cu", &text);
        assert!(hints.is_empty(), "{text}{hints:?}");
    }
}

#[test]
fn descriptors_in_other_languages() {
    let template = |a: &str, b: &str, c: &str, idesc: &str| {
        format!("tcgen05.mma.cta_group::1.kind::f16 [{a}], {b}, {c}, {idesc}, p;")
    };
    let predicate = ".reg .pred p; setp.eq.b32 p, 0, 0;";
    let files = [
        (
            "k.py",
            format!(
                "def f(d, a, b):\n    cute.arch.inline_ptx(\"{{{{ {predicate} {} }}}}\",\n        \
                 read_only_args=[d, a, b])\n",
                template("{$r0}", "{$r1}", "{$r2}", DESCRIPTOR)
            ),
        ),
        // What holes are filled with need not be known for the rest.
        (
            "k.py",
            format!(
                "def f(d, a, b, pred):\n    llvm.inline_asm(None, [d, a, b], f\"{{{{ {predicate} {{pred}} {} }}}}\",\n        \
                 \"r,l,l\", has_side_effects=True)\n",
                template("$0", "$1", "$2", DESCRIPTOR)
            ),
        ),
        (
            "k.rs",
            format!(
                "fn f(d: u32, a: u64, b: u64) {{ unsafe {{\n    asm!(\"{{{{ {predicate}\", \"{} }}}}\",\n        \
                 d = in(reg32) d, a = in(reg64) a, b = in(reg64) b, i = in(reg32) 0x820_0490u32);\n}} }}\n",
                template("{d}", "{a}", "{b}", "{i}")
            ),
        ),
        (
            "k.ll",
            format!(
                "define void @k(i32 %d, i64 %a, i64 %b) {{\n  call void asm sideeffect \"{{ {predicate} {} }}\", \
                 \"r,l,l,r\"(i32 %d, i64 %a, i64 %b, i32 136316048) convergent\n  ret void\n}}\n",
                template("$0", "$1", "$2", "$3")
            ),
        ),
    ];
    for (name, text) in files {
        let hints = hints(&format!("file:///project/{name}"), &text);
        let labels: Vec<&str> = hints.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, [LABEL], "{name}: {text}");
        assert!(hints[0].1.ends_with(", p;"), "{name}: {hints:?}");
    }
}

/// Hover says the same, explains the fields of an operand, and draws.
#[test]
fn hover_draws_in_other_languages() {
    let mut client = Client::spawn();
    let info = json!({ "name": "Visual Studio Code" });
    client.request(
        "initialize",
        json!({ "processId": null, "rootUri": null, "capabilities": {}, "clientInfo": info }),
    );
    client.notify("initialized", json!({}));
    let load = "__device__ void f(unsigned d, unsigned t) {\n  \
        asm volatile(\"tcgen05.l$0d.sync.aligned.32x32b.x1.b32 {%0}, [%1];\" : \"=r\"(d) : \"r\"(t));\n}\n";
    let python = "def f(t):\n    return cute.arch.inline_ptx(\"tcgen05.l$0d.sync.aligned.32x32b.x1.b32 {{$w0}}, [{$r0}];\",\n        \
        write_only_types=[Int32], read_only_args=[Int32(t)])\n";
    let multiply = cuda("%3", "\"r\"(0x8200490)");
    let texts = [
        ("k.cu", multiply.replace("tcgen05.mma", "tcgen05.m$0ma"), LABEL),
        ("k.cu", multiply.replace("%2, %3", "%2, %$03"), "0x08200490"),
        ("k.cu", load.to_owned(), "32 lanes"),
        ("k.py", python.to_owned(), "32 lanes"),
    ];
    for (index, (name, text, says)) in texts.into_iter().enumerate() {
        let (text, position) = cursor(&text);
        let uri = format!("file:///{index}/{name}");
        client.open_as(&uri, &text);
        let answer = client
            .request("textDocument/hover", json!({ "textDocument": { "uri": uri }, "position": position }));
        let markdown = answer["contents"]["value"].as_str().unwrap_or_else(|| panic!("{text}: {answer}"));
        assert!(markdown.contains(says), "{says}: {markdown}");
        assert!(markdown.contains("](data:image/svg+xml;utf8,"), "{text}: {markdown}");
    }
    client.stop();
}
