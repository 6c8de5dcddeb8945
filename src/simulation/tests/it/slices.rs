//! Where results come from: each way that a value can take, one at a time. Whole kernels are in the repository's
//! `tests/it/results.rs`.

use ptx_check::{Source, Unit};
use ptx_simulation::slice::{self, Origin};
use ptx_simulation::{Kernel, Settings};

/// What `out[index]` comes from: a line for each instruction, with its first word, and a line for each end. What has
/// several sources has them set off. The arguments are `out` and `in`, each 64 words.
fn origin(variables: &str, body: &str, index: usize) -> String {
    let source = module(variables, body);
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch = kernel.launch(&toml::from_str(FILE).unwrap(), &mut |_| unreachable!("no file is named"));
    let launch = launch.unwrap();
    let (element, _) = slice::element(&kernel, &launch, &format!("out[{index}]")).unwrap();
    let origin = kernel.explain(&launch, &Settings::default(), 0..1, element).unwrap();
    let mut lines = String::new();
    print(&origin, &source, 0, &mut lines);
    lines
}

const FILE: &str = "grid = [1]\n[[arg]]\ntype = \"buffer\"\ndtype = \"u32\"\nshape = [64]\nfill = 0\nout = \"out\"\n\
                    [[arg]]\ntype = \"buffer\"\ndtype = \"u32\"\nshape = [64]\nfill = 1\nbytes = 256\n";

/// A kernel with these instructions, and before it variables and functions.
fn module(variables: &str, body: &str) -> Source {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n{variables}\n\
         .visible .entry k(.param .u64 out, .param .u64 in) .reqntid 32 {{\n\
         .reg .b32 %r<40>; .reg .b64 %d<9>; .reg .pred %p<4>; .reg .f32 %f<9>; .reg .b16 %h<9>;\n\
         ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in];\n\
         mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;\n\
         {body}\nret; }}\n"
    );
    let source = Source::new("kernel.ptx", &text).unwrap();
    assert!(Unit::new(&source).syntax_errors.is_empty(), "{text}");
    source
}

fn print(origin: &Origin, source: &Source, depth: usize, lines: &mut String) {
    let indent = "  ".repeat(depth);
    let code = origin.span.map(|span| source.slice(span).split_whitespace().next().unwrap().to_owned());
    let end = if origin.from.is_empty() {
        format!("{} {}", origin.text, origin.elements.join(" "))
    } else {
        String::new()
    };
    let line = format!("{} {}", code.unwrap_or_default(), end.trim());
    if !line.trim().is_empty() {
        *lines += &format!("{indent}{}\n", line.trim());
    }
    let deeper = depth + usize::from(origin.from.len() > 1);
    for from in &origin.from {
        print(from, source, deeper, lines);
    }
}

#[test]
fn words_are_put_together_and_taken_apart() {
    // The upper half of the word before, and the lower half of the own one: the first byte is of the first.
    let body = "ld.global.u32 %r1, [%d4]; ld.global.u32 %r2, [%d4+4]; mov.b32 {%h1, %h2}, %r1;\n\
                mov.b32 {%h3, %h4}, %r2; mov.b32 %r3, {%h2, %h2}; mov.b32 %r4, {%h3, %h2};\n\
                prmt.b32 %r5, %r4, %r3, 0x5410; st.global.u32 [%d3], %r5;";
    insta::assert_snapshot!(origin("", body, 3), @r"
    st.global.u32
    prmt.b32
      mov.b32
      mov.b32
      ld.global.u32
      in[4]
      mov.b32
      mov.b32
      ld.global.u32
      in[3]
    ");
}

#[test]
fn a_shuffle_leads_to_another_thread() {
    let body =
        "ld.global.u32 %r1, [%d4]; shfl.sync.bfly.b32 %r2, %r1, 5, 31, 0xffffffff; st.global.u32 [%d3], %r2;";
    insta::assert_snapshot!(origin("", body, 3), @r"
    st.global.u32
    shfl.sync.bfly.b32
    ld.global.u32
    in[6]
    ");
}

#[test]
fn a_choice_leads_to_what_was_chosen() {
    let body = "ld.global.u32 %r1, [%d4]; ld.global.u32 %r2, [%d4+128]; setp.lt.u32 %p1, %r0, 3;\n\
                selp.b32 %r3, %r1, %r2, %p1; @!%p1 add.u32 %r3, %r3, 0; st.global.u32 [%d3], %r3;";
    insta::assert_snapshot!(origin("", body, 3), @r"
    st.global.u32
    @!%p1
    selp.b32
    ld.global.u32
    in[35]
    ");
}

#[test]
fn reductions_add_to_each_other() {
    // Threads 2, 18 and so on add to word 2.
    let body = "and.b32 %r1, %r0, 15; mul.wide.u32 %d5, %r1, 4; add.u64 %d5, %d0, %d5; ld.global.u32 %r2, [%d4];\n\
                red.global.add.u32 [%d5], %r2;";
    insta::assert_snapshot!(origin("", body, 2), @r"
    out[2]
    red.global.add.u32
    ld.global.u32
    in[2]
    red.global.add.u32
    ld.global.u32
    in[18]
    ");
}

#[test]
fn atomic_operations_of_a_warp_come_one_after_the_other() {
    // Lane 1 gets what lane 0 made of the first word.
    let body = "ld.global.u32 %r2, [%d4]; atom.global.add.u32 %r3, [%d0], %r2; setp.eq.u32 %p1, %r0, 1;\n\
                @%p1 st.global.u32 [%d0+128], %r3;";
    insta::assert_snapshot!(origin("", body, 32), @r"
    @%p1
    atom.global.add.u32
      out[0]
      atom.global.add.u32
      ld.global.u32
      in[0]
    ");
    let constant = "red.global.add.u32 [%d0], 1;";
    insta::assert_snapshot!(origin("", &format!("setp.lt.u32 %p1, %r0, 2;\n@%p1 {constant}"), 0), @r"
    out[0]
    @%p1 warp 0, reduced into what was there: a constant
    @%p1 warp 0, reduced into what was there: a constant
    ");
}

#[test]
fn what_is_compared_is_not_what_is_stored() {
    let body = "ld.global.u32 %r2, [%d4]; atom.global.cas.b32 %r3, [%d3], 0, %r2; ld.global.u32 %r4, [%d4+4];\n\
                atom.global.cas.b32 %r5, [%d3], 77, %r4;";
    insta::assert_snapshot!(origin("", body, 3), @r"
    atom.global.cas.b32
    ld.global.u32
    in[3]
    ");
}

#[test]
fn shared_and_local_memory_are_followed() {
    let body = "mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; ld.global.u32 %r3, [%d4];\n\
                st.shared.u32 [%r1], %r3; bar.sync 0; xor.b32 %r2, %r2, 124; mov.u32 %r4, tile; add.u32 %r4, %r4, %r2;\n\
                ld.shared.u32 %r5, [%r4]; mov.u64 %d6, stack; st.local.u32 [%d6], %r5; ld.local.u32 %r6, [%d6];\n\
                st.global.u32 [%d3], %r6;";
    let variables = ".shared .align 4 .b8 tile[128];";
    insta::assert_snapshot!(origin(variables, &format!(".local .align 4 .b8 stack[8];\n{body}"), 3), @r"
    st.global.u32
    ld.local.u32
    st.local.u32
    ld.shared.u32
    st.shared.u32
    ld.global.u32
    in[28]
    ");
}

#[test]
fn calls_are_followed() {
    let variables = ".func (.param .b32 result) twice(.param .b32 x) {\n.reg .b32 %r<3>;\n\
                     ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }";
    let body = "ld.global.u32 %r1, [%d4];\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;\n\
                call.uni (y), twice, (x); ld.param.b32 %r2, [y]; }\nst.global.u32 [%d3], %r2;";
    insta::assert_snapshot!(origin(variables, body, 3), @r"
    st.global.u32
    ld.param.b32
    ret;
    st.param.b32
    add.u32
      ld.param.b32
      call.uni
      st.param.b32
      ld.global.u32
      in[3]
      as above
    ");
}

#[test]
fn a_multiply_of_registers_has_a_row_and_a_column() {
    // A is rows of 16 halves in words 0 to 31 (the lower half is loaded twice), B the words after these.
    let body = "ld.global.u32 %r1, [%d4]; ld.global.u32 %r2, [%d4+128];\n\
                mov.f32 %f1, 0f00000000;\n\
                mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1}, {%r2}, \
                {%f1, %f1, %f1, %f1};\nst.global.f32 [%d3], %f3;";
    insta::assert_snapshot!(origin("", body, 6), @r"
    st.global.f32
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
      A in[4..8]
      B in[52..56]
      mov.f32 warp 0, lane 6: from constants and special registers
    ");
}

#[test]
fn copies_are_followed() {
    let body = "mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;\n\
                cp.async.ca.shared.global [%r1], [%d4], 4; cp.async.wait_all; bar.sync 0;\n\
                setp.eq.u32 %p1, %r0, 0; fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r3, tile;\n\
                @%p1 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r3], 128;\n\
                @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;";
    insta::assert_snapshot!(origin(".shared .align 128 .b8 tile[128];", body, 3), @r"
    @%p1
    cp.async.ca.shared.global
    in[3]
    ");
}

#[test]
fn what_nothing_wrote_is_said() {
    insta::assert_snapshot!(origin("", "", 3), @"nothing was stored there");
    let body = "ld.shared.u32 %r1, [tile]; st.global.u32 [%d3], %r1;";
    insta::assert_snapshot!(origin(".shared .align 4 .b8 tile[128];", body, 3), @r"
    st.global.u32
    ld.shared.u32
    shared memory that was not written
    ");
    let body = "mov.u32 %r1, 7; add.u32 %r1, %r1, %r0; st.global.u32 [%d3], %r1;";
    insta::assert_snapshot!(origin("", body, 3), @r"
    st.global.u32
    add.u32
      mov.u32 warp 0, lane 3: from constants and special registers
      mov.u32 warp 0, lane 3: from constants and special registers
    ");
}

/// What the findings of a run with `body` say, and where.
fn findings(variables: &str, body: &str) -> Vec<String> {
    let source = module(variables, body);
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch =
        kernel.launch(&toml::from_str(FILE).unwrap(), &mut |_| unreachable!("no file is named")).unwrap();
    let report = kernel.simulate_all(&launch, &Settings::default()).unwrap();
    let said = report.diagnostics.iter().map(|it| {
        let code = source.slice(it.primary.span).split_whitespace().next().unwrap();
        format!("{code}: {}", it.primary.message)
    });
    said.collect()
}

#[test]
fn a_result_of_memory_that_nothing_wrote_is_a_finding() {
    // Of 32 words the last is not written; thread 30 reads it.
    let body = "mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %r0, 31;\n\
                @%p1 st.shared.u32 [%r1], %r0; bar.sync 0; setp.lt.u32 %p2, %r0, LAST;\n\
                mov.u32 %r5, 0; @%p2 ld.shared.u32 %r5, [%r1+4]; st.global.u32 [%d3], %r5;";
    let tile = ".shared .align 4 .b8 tile[256];";
    let found = findings(tile, &body.replace("LAST", "31"));
    assert_eq!(found, ["@%p2: `out[30]` is made from what this reads"]);
    assert_eq!(findings(tile, &body.replace("LAST", "30")), Vec::<String>::new());
    // What is read and not used is nothing.
    let unused = body.replace("LAST", "31").replace("st.global.u32 [%d3], %r5", "st.global.u32 [%d3], %r0");
    assert_eq!(findings(tile, &unused), Vec::<String>::new());
}
