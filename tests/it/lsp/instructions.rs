//! What the editor knows of instructions outside tcgen05: hover, completion, signatures.

use std::fmt::Write;

use serde_json::{Value, json};

use super::client::{Client, cursor, document, kernel};

/// The answers to the same request at several places, each in a kernel of its own.
fn ask(method: &str, uri: &str, texts: &[String]) -> Vec<Value> {
    let mut client = Client::start();
    let answers = texts.iter().enumerate().map(|(index, text)| {
        let (text, position) = cursor(text);
        let uri = uri.replace('*', &index.to_string());
        client.open_as(&uri, &text);
        client.request(method, json!({ "textDocument": { "uri": uri }, "position": position }))
    });
    let answers: Vec<Value> = answers.collect();
    client.stop();
    answers
}

const PTX: &str = "file:///*.ptx";

fn hovers(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| kernel(body)).collect();
    let mut all = String::new();
    for (body, answer) in bodies.iter().zip(ask("textDocument/hover", PTX, &texts)) {
        let value = answer["contents"]["value"].as_str().unwrap_or("nothing");
        writeln!(all, "==== {}\n{value}", body.trim()).unwrap();
    }
    all
}

fn labels(answer: &Value) -> Vec<&str> {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|it| it["label"].as_str().unwrap()).collect()
}

fn completions(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| kernel(body)).collect();
    let answers = ask("textDocument/completion", PTX, &texts);
    let shown = bodies
        .iter()
        .zip(&answers)
        .map(|(body, answer)| format!("{}\n    {}\n", body.trim(), labels(answer).join(" ")));
    shown.collect()
}

#[test]
fn hover_explains_instructions() {
    insta::assert_snapshot!(hovers(&[
        "\tmbarrier.ar$0rive.expect_tx.shared::cta.b64 _, [bar], 64;",
        "\tmbarrier.init.shared.b64 [bar]$0, 1;",
        "\tcp.async.bulk.tens$0or.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [bar];",
        "\tfen$0ce.proxy.async.shared::cta;",
        "\tbar$0.sync 0;",
        "\tse$0tp.lt.and.s32 %p1, %r1, %r2, %p2;",
        "\tsetmaxnreg$0.inc.sync.aligned.u32 232;",
        "\tre$0t;",
        "\twgmma.mma_async.sy$0nc.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, 1, 1, 0, 0;",
    ]));
}

#[test]
fn hover_explains_words() {
    insta::assert_snapshot!(hovers(&[
        "\tmbarrier.arrive.release.clu$0ster.shared::cluster.b64 _, [%r1];",
        "\tld.ac$0quire.gpu.global.u32 %r1, [%rd1];",
        "\tcp.async.bulk.shared::cluster.global.mbarrier$0::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 64, [bar], 3;",
        "\tmul.wi$0de.u32 %rd1, %r1, %r2;",
        "\tcvt.rn.sat$0finite.e4m3x2.f32 %h1, %f1, %f2;",
        "\tmma.sync.aligned.m16n8k16$0.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "\twgmma.mma_async.sync.aligned.m64n8$0k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, 1, 1, 0, 0;",
        "\tmbarrier.arrive.bo$0gus.b64 _, [bar];",
        "\tbogu$0s.b32 %r1;",
    ]));
}

#[test]
fn hover_explains_operands() {
    insta::assert_snapshot!(hovers(&[
        "\tmbarrier.try_wait.parity.shared.b64 %p1, [bar], %r$01;",
        "\tmbarrier.try_wait.parity.shared.b64 %p1, [ba$0r], %r1;",
        "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 0x$040, [bar], 3;",
        "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 64, [bar], $03;",
        "\tshfl.sync.bfly.b32 %r1|%p$01, %r2, 1, 31, -1;",
        "\tshfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -$01;",
        "\t@%p$01 mov.u32 %r1, %r2;",
        "\tld.global.v2.u32 {%r1, %r$02}, [%rd1+8];",
        "\tmov.u32 %r1, %laneid$0;",
        "\tmov.u32 %r1;$0",
    ]));
}

#[test]
fn completion_offers_instructions() {
    let answers = ask("textDocument/completion", PTX, &[kernel("\tm$0"), kernel("\t$0")]);
    let all = labels(&answers[1]);
    for wanted in ["mov", "mbarrier.arrive", "tcgen05.ld", "bar.sync", "elect.sync", "ret", ".reg"] {
        assert!(all.contains(&wanted), "{wanted}: {all:?}");
    }
    assert!(all.iter().all(|it| *it != "tcgen05" && !it.is_empty()), "{all:?}");
    // Whatever an editor shows for an `m` is there.
    let begun = labels(&answers[0]);
    assert!(all.iter().filter(|it| it.contains('m')).all(|it| begun.contains(it)), "{begun:?}");
    assert!(!begun.contains(&"ret"), "{begun:?}");
    let item = |label: &str| {
        let items = answers[0]["items"].as_array().unwrap();
        items.iter().find(|it| it["label"] == label).unwrap().clone()
    };
    insta::assert_json_snapshot!([item("mbarrier.init"), item("mbarrier.init.b64")]);
    let inserted = |label: &str| item(label)["textEdit"]["newText"].as_str().unwrap().to_owned();
    assert_eq!(
        inserted("mul.hi.u32"),
        "mul.${1|hi,lo,wide|}.${2|u32,u16,u64,s16,s32,s64|} ${3:d}, ${4:a}, ${5:b};"
    );
    assert_eq!(inserted("mbarrier.inval"), "mbarrier.inval");
    // Outside of functions there are none.
    let outside = ask("textDocument/completion", PTX, &[".version 9.0\n.target sm_100a\nm$0".to_owned()]);
    assert!(!labels(&outside[0]).contains(&"mov"));
}

#[test]
fn completion_offers_words_that_fit() {
    insta::assert_snapshot!(completions(&[
        "\tmbarrier.$0",
        "\tmbarrier.arrive.$0",
        "\tmbarrier.arrive.expect_tx.$0.b64 _, [bar], 64;",
        "\tmbarrier.arrive.shared::cta.$0",
        "\tmbarrier.try_wait.parity.acq$0",
        "\tcp.async.bulk.$0",
        "\tcp.async.bulk.tensor.2d.$0",
        "\tcp.async.bulk.tensor.2d.shared::cluster.global.$0",
        "\tfence.$0",
        "\tfence.proxy.$0",
        "\tfence.acq_rel.$0",
        "\tadd.$0",
        "\tadd.rn.$0",
        "\tadd.bogus.$0",
        "\tld.global.$0",
        "\tld.global.nc.$0",
        "\tbarrier.cluster.$0",
        "\tsetmaxnreg.$0",
        "\tret.$0",
        "\tbogus.$0",
        "\t@%p1 bra.$0",
        "\tmbarrier..$0",
        "\tmbarrier /* a */ .arrive // b\n\t\t.expect_tx.$0 _, [bar], 64;",
    ]));
}

#[test]
fn completion_follows_target_and_version() {
    let offered = |body: &str, header: (&str, &str)| {
        let text = kernel(body).replace("9.0", header.0).replace("sm_100a", header.1);
        let answer = ask("textDocument/completion", PTX, &[text]).remove(0);
        labels(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let has = |body: &str, header, word: &str| offered(body, header).iter().any(|it| it == word);
    assert!(has("\tw$0", ("8.0", "sm_90a"), "wgmma.fence.sync.aligned"));
    assert!(!has("\tw$0", ("9.0", "sm_100a"), "wgmma.fence.sync.aligned"));
    assert!(has("\twgmma.fence.$0", ("8.0", "sm_90a"), "sync"));
    assert!(has("\tld.global.$0", ("8.8", "sm_100"), "v8"));
    assert!(!has("\tld.global.$0", ("8.7", "sm_100"), "v8"));
    assert!(!has("\tmbarrier.arrive.$0", ("7.0", "sm_80"), "expect_tx"));
    assert!(has("\tadd.sat.$0", ("9.0", "sm_100a"), "s32"));
    assert!(!has("\tadd.sat.$0", ("9.0", "sm_100a"), "u64"));
}

#[test]
fn completion_offers_operands() {
    insta::assert_snapshot!(completions(&[
        "\tmbarrier.init.shared.b64 $0",
        "\tmbarrier.init.shared.b64 [$0",
        "\tmbarrier.try_wait.parity.shared.b64 $0",
        "\tsetp.eq.u64 %p1, $0",
        "\tbra $0",
        "\tmov.b64 %rd1, %r$0",
    ]));
    let operands = ask(
        "textDocument/completion",
        PTX,
        &[
            kernel("\tcp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes $0"),
            kernel("\tld.global.v2.u32 $0"),
        ],
    );
    let first = |at: usize| operands[at]["items"][0]["textEdit"]["newText"].as_str().unwrap();
    assert_eq!(
        first(0),
        "[${1:dstMem}], [${2:tensorMap}, {${3:c0}, ${4:c1\\}}], [${5:mbar}]".replace("\\}}", "}\\}")
    );
    assert_eq!(first(1), "{${1:d0}, ${2:d1}\\}, [${3:a}]");
}

#[test]
fn signatures_of_instructions() {
    let texts = [
        "\tmbarrier.try_wait.parity.shared.b64 %p1, [bar], $0",
        "\tret $0",
        "\tbogus.b32 $0",
        "\tshfl.sync.idx.b32 %r1, $0",
    ];
    let texts: Vec<String> = texts.iter().map(|body| kernel(body)).collect();
    let answers = ask("textDocument/signatureHelp", PTX, &texts);
    insta::assert_json_snapshot!(answers);
}

#[test]
fn hints_count_the_ctas_of_a_multicast() {
    let mut client = Client::start();
    client.open(&kernel(
        "\tmov.b16 %h1, 7;\n\t.reg .b16 %h<2>;\n\
         \tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 64, [bar], 0x3;\n\
         \tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [bar];",
    ));
    let mut params = document();
    params["range"] =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints = client.request("textDocument/inlayHint", params);
    let shown: Vec<&str> = hints.as_array().unwrap().iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert_eq!(shown, ["2 CTAs"]);
    client.stop();
}

const CUDA: &str = "file:///project/*.cu";

fn cuda(statement: &str) -> String {
    format!("// \u{1f600}\n__device__ void f(unsigned a, unsigned b) {{\n  {statement}\n}}\n")
}

#[test]
fn host_files_have_all_of_it() {
    let hover = |statement: &str| {
        let answer = ask("textDocument/hover", CUDA, &[cuda(statement)]).remove(0);
        answer["contents"]["value"]
            .as_str()
            .unwrap_or("nothing")
            .lines()
            .find(|it| it.starts_with("**") || it.starts_with("`%"))
            .unwrap_or("nothing")
            .to_owned()
    };
    assert!(
        hover(r#"asm volatile("mbarrier.arr$0ive.shared.b64 _, [%0];" :: "r"(a) : "memory");"#)
            .starts_with("**`mbarrier.arrive`**")
    );
    assert!(hover(r#"asm volatile("mov.u32 %0, %%la$0neid;" : "=r"(a));"#).starts_with("`%laneid`"));
    assert!(
        hover(r#"asm volatile("{\n\tfence.proxy.as$0ync;\n\t}" ::: "memory");"#).starts_with("**`.async`**")
    );
    let texts = [
        r#"asm volatile("mov.u32 %0, %%cluster_$0;" : "=r"(a));"#,
        r#"asm volatile("mov.u32 %0, %%$0;" : "=r"(a));"#,
        r#"asm volatile("mov.u32 %$0, 1;" : "=r"(a));"#,
        r#"asm volatile("mbarrier.arrive.$0.b64 _, [%0];" :: "r"(a) : "memory");"#,
        r#"asm volatile("mov.u32 %0, 1;\n\tm$0" : "=r"(a));"#,
        r#"asm volatile("ld.global.v2.u32 $0;" : "=r"(a) : "l"(p));"#,
        r#"asm volatile("mov.u32 %0, 1;\n\tmov.u32 %0, %%$0" : "=r"(a));"#,
    ];
    let texts: Vec<String> = texts.iter().map(|statement| cuda(statement)).collect();
    let answers = ask("textDocument/completion", CUDA, &texts);
    let edit = |at: usize, label: &str| {
        let items = answers[at]["items"].as_array().unwrap_or_else(|| panic!("{at}: {}", answers[at]));
        let item = items.iter().find(|it| it["label"] == label);
        item.unwrap_or_else(|| panic!("{label}: {:?}", labels(&answers[at])))["textEdit"].clone()
    };
    let rank = edit(0, "%cluster_ctarank");
    assert_eq!(rank["newText"], "%%cluster_ctarank");
    let start = texts[0].lines().nth(2).unwrap().find("%%").unwrap();
    assert_eq!(rank["range"]["start"], json!({ "line": 2, "character": start }));
    assert_eq!(edit(1, "%tid.x")["newText"], "%%tid.x");
    assert_eq!(edit(2, "%0")["newText"], "%0");
    assert_eq!(edit(3, "expect_tx")["newText"], "expect_tx");
    assert!(edit(4, "mov.b32")["newText"].as_str().unwrap().starts_with("mov.${1|b32,pred,b16,"));
    assert_eq!(edit(5, "d, a")["newText"], "{${1:d0}, ${2:d1}\\}, [${3:a}]");
    assert_eq!(edit(6, "%laneid")["newText"], "%%laneid");
}

#[test]
fn rust_and_python_have_their_own_quotes() {
    let rust = "fn f(a: u64) {\n  unsafe { asm!(\"ld.global.v2.u32 $0;\", in(reg64) a) }\n}\n".to_owned();
    let answer = &ask("textDocument/completion", "file:///project/*.rs", &[rust])[0];
    let texts: Vec<&str> = answer["items"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(|it| it["textEdit"]["newText"].as_str())
        .collect();
    assert!(texts.iter().any(|text| text.starts_with("{{${1:d0}, ${2:d1}\\}\\}")), "{texts:?}");
}

/// Whoever moves the cursor through any text gets an answer or none, and never an error.
#[test]
fn odd_places() {
    let bodies = [
        "\tmbarrier.",
        "\tcp.async.bulk.tensor.2d.",
        "\tmbarrier /* a */ .arrive // b\n\t\t.shared .b64 _, [bar];",
        "\t// mbarrier.arrive",
        "\t/* mbarrier. */ \"mbarrier.\" 'x' \\\" ;",
        "\tmbarrier.\u{e9}.\u{1f600} %r\u{e9};",
        "\tld.global.u32.",
        "\t....;.;",
        "\t@%p1 @%p2 mov. [",
        "\tmov.u32 %r1, {{{{",
    ];
    let mut client = Client::start();
    for (index, body) in bodies.iter().enumerate() {
        for text in [kernel(body), kernel(body).trim_end_matches(['}', '\n']).to_owned()] {
            let uri = format!("file:///odd{index}.ptx");
            client.open_as(&uri, &text);
            let lines = text.lines().enumerate();
            for (line, content) in lines.filter(|(_, content)| body.contains(content.trim())) {
                for character in 0..=content.encode_utf16().count() {
                    for method in ["hover", "completion", "signatureHelp"] {
                        client.request(
                            &format!("textDocument/{method}"),
                            json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } }),
                        );
                    }
                }
            }
        }
    }
    client.stop();
}

#[test]
fn spaced_opcodes_are_explained() {
    let text = hovers(&[
        "\tmbarrier /* a */ .arr$0ive // b\n\t\t.shared .b64 _, [bar];",
        "\tmbarrier /* a */ .arrive // b\n\t\t.sha$0red .b64 _, [bar];",
    ]);
    assert!(text.contains("**`mbarrier.arrive`**") && text.contains("**`.shared`**"), "{text}");
}
