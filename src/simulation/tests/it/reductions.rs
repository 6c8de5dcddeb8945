//! Atomic operations and reductions, compared with what an H200 leaves in memory: fixtures/hardware/reductions.txt.

use std::collections::BTreeMap;
use std::fs;

use ptx_simulation::launch::Argument;
use ptx_simulation::tensor_map::{ElementType, Fill, Interleave, Swizzle, TensorMap};

use crate::{buffer, left, root};

/// A kernel that reduces element `t` of `v` into element `t` of `m`, for each thread `t`.
fn kernel(place: &str, operation: &str, bytes: usize, count: usize) -> String {
    let ty = format!("b{}", bytes * 8);
    let bulk = |copy: String| {
        format!(
            "st.shared.{ty} [s], b; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 z, t, 0; @z ret; \
             mov.u32 s, x; {copy} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        )
    };
    let body = match place {
        "global" => format!("red.global.{operation} [p], b;"),
        "shared" => format!(
            "ld.global.{ty} a, [p]; st.shared.{ty} [s], a; bar.sync 0; red.shared.{operation} [s], b; \
             bar.sync 0; ld.shared.{ty} a, [s]; st.global.{ty} [p], a;"
        ),
        "vector" => format!(
            "and.b32 w, t, 1; setp.ne.u32 z, w, 0; @z ret; ld.global.v2.{ty} {{b, a}}, [q]; \
             red.global.{operation} [p], {{b, a}};"
        ),
        "bulk" => bulk(format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [p], [s], {};",
            count * bytes
        )),
        "tensor" => {
            let (operation, _) = operation.split_once('.').unwrap();
            bulk(format!(
                "mov.u64 o, map; cvta.param.u64 o, o; \
                 cp.reduce.async.bulk.tensor.1d.global.shared::cta.{operation}.tile.bulk_group [o, {{0}}], [s];"
            ))
        }
        other => panic!("{other}"),
    };
    let map = if place == "tensor" { ", .param .align 64 .b8 map[128]" } else { "" };
    format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 m, .param .u64 v{map}) {{\n\
         .reg .u64 p, q, o; .reg .u32 t, s, w; .reg .{ty} a, b; .reg .pred z;\n\
         .shared .align 128 .b8 x[2048];\n\
         ld.param.u64 p, [m]; ld.param.u64 q, [v]; mov.u32 t, %tid.x; mul.wide.u32 o, t, {bytes};\n\
         add.u64 p, p, o; add.u64 q, q, o; cvt.u32.u64 w, o; mov.u32 s, x; add.u32 s, s, w;\n\
         ld.global.{ty} b, [q];\n{body}\nret;\n}}\n"
    )
}

fn element_type(name: &str) -> ElementType {
    match name {
        "u32" => ElementType::U32,
        "s32" => ElementType::S32,
        "u64" => ElementType::U64,
        "s64" => ElementType::S64,
        "f16" => ElementType::F16,
        "bf16" => ElementType::Bf16,
        "f32" => ElementType::F32,
        "f32_ftz" => ElementType::F32Ftz,
        "tf32" => ElementType::Tf32,
        "tf32_ftz" => ElementType::Tf32Ftz,
        "f64" => ElementType::F64,
        other => panic!("{other}"),
    }
}

#[test]
fn memory_is_reduced_as_the_hardware_does() {
    let text = fs::read_to_string(root().join("fixtures/hardware/reductions.txt")).unwrap();
    let mut values: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let (mut lines, mut forms) = (text.lines(), 0);
    while let Some(line) = lines.next() {
        if let Some(line) = line.strip_prefix("values ") {
            let (class, words) = line.split_once(' ').unwrap();
            values.insert(class, words.split(' ').map(number).collect());
        }
        let Some(form) = line.strip_prefix("> ") else { continue };
        let [place, operation, class] = form.split(' ').collect::<Vec<_>>()[..] else { panic!("{form}") };
        let results = lines.next().unwrap();
        let values = &values[class];
        let bytes = class.trim_start_matches(char::is_alphabetic).parse::<usize>().unwrap() / 8;
        let count = values.len() * values.len();
        let packed = |value: &dyn Fn(usize) -> u64| -> Vec<u8> {
            (0..count).flat_map(|at| value(at).to_le_bytes()[..bytes].to_vec()).collect()
        };
        let old = packed(&|at| values[at / values.len()]);
        let operands = packed(&|at| values[at % values.len()]);
        let mut arguments = vec![buffer(old), buffer(operands)];
        if place == "tensor" {
            let map = TensorMap {
                element: element_type(operation.split_once('.').unwrap().1),
                base: 0,
                dims: vec![count as u32],
                strides: Vec::new(),
                box_dims: vec![count as u32],
                swizzle: Swizzle::None,
                interleave: Interleave::None,
                steps: vec![1],
                fill: Fill::Zero,
                window: None,
            };
            arguments.push(Argument::TensorMap { map, base: Some(0), bytes: 0, data: None });
        }
        let output = left(&kernel(place, operation, bytes, count), arguments, count as u32);
        forms += 1;
        if results == "failed" {
            let unknown: usize = output.unknown.iter().map(ExactSizeIterator::len).sum();
            assert_eq!(unknown, count * bytes, "{form}");
            continue;
        }
        assert!(output.unknown.is_empty(), "{form}: {:?}", output.unknown);
        let results: Vec<u64> = results.split(' ').map(number).collect();
        assert_eq!(results.len(), count);
        for (at, expected) in results.into_iter().enumerate() {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&output.bytes[at * bytes..][..bytes]);
            let (old, b, got) =
                (values[at / values.len()], values[at % values.len()], u64::from_le_bytes(word));
            assert_eq!(got, expected, "{form} of {old:x} and {b:x}: {got:x}, not {expected:x}");
        }
    }
    assert!(forms > 100, "{forms} forms");
}

#[test]
fn sums_with_what_is_not_known_are_not_known() {
    let text = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 m) {\n\
                .reg .b64 p; .reg .b32 a, unknown; ld.param.u64 p, [m]; mov.b32 a, 0x3F800000;\n\
                red.global.add.f32 [p], unknown; red.global.add.f32 [p+4], a; ret;\n}\n";
    let output = left(text, vec![buffer(vec![0; 8])], 1);
    let unknown: Vec<usize> = output.unknown.into_iter().flatten().collect();
    assert_eq!(unknown, [0, 1, 2, 3]);
    assert_eq!(output.bytes[4..], 1_f32.to_le_bytes());
}
