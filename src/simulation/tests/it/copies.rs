//! Tensor copies of kernels, compared with the bytes that an H100 has in shared memory afterwards:
//! fixtures/hardware/copies.txt.

use std::fs;

use ptx_simulation::launch::Argument;
use ptx_simulation::tensor_map::{ElementType, Fill, Interleave, Swizzle, TensorMap, Window};

use crate::{left, root};

/// Bytes of shared memory that are looked at.
const SHARED: usize = 1 << 14;
/// Bytes of the tensor.
const TENSOR: usize = 1 << 17;

/// What the tensor has somewhere.
fn byte(place: usize) -> u8 {
    (place.wrapping_mul(0x9E37_79B1) >> 13) as u8
}

/// What the line of a case says after a word.
fn field<'t>(line: &'t str, name: &str) -> &'t str {
    line.split(" | ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' ')).unwrap_or("-")
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    if text == "-" { vec![] } else { text.split(',').map(|word| word.parse().unwrap()).collect() }
}

/// A kernel that copies a box and then all of its shared memory to its first argument.
fn kernel(at: &[i32], offsets: Option<&str>, to: u32, bytes: usize) -> String {
    let coordinates: Vec<String> = at.iter().map(ToString::to_string).collect();
    let mode = if offsets.is_some() { ".im2col" } else { ".tile" };
    let offsets = offsets.map(|offsets| format!(", {{{}}}", offsets.replace(',', ", "))).unwrap_or_default();
    format!(
        ".version 8.6\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{{\n\
         .reg .b64 p, m; .reg .b32 t; .reg .pred q;\n\
         .shared .align 1024 .b8 tile[{SHARED}]; .shared .align 8 .b64 bar;\n\
         ld.param.b64 p, [out]; mov.u64 m, map; cvta.param.u64 m, m; mov.u32 t, tile;\n\
         mbarrier.init.shared::cta.b64 [bar], 1; fence.proxy.async.shared::cta;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};\n\
         cp.async.bulk.tensor.{}d.shared::cta.global{mode}.mbarrier::complete_tx::bytes \
         [tile+{to}], [m, {{{}}}], [bar]{offsets};\n\
         again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0; @!q bra again;\n\
         cp.async.bulk.global.shared::cta.bulk_group [p], [tile], {SHARED};\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}}\n",
        at.len(),
        coordinates.join(", ")
    )
}

fn element_type(name: &str) -> ElementType {
    match name {
        "u8" => ElementType::U8,
        "u16" => ElementType::U16,
        "u32" => ElementType::U32,
        "u64" => ElementType::U64,
        "f16" => ElementType::F16,
        "bf16" => ElementType::Bf16,
        "f32" => ElementType::F32,
        "f64" => ElementType::F64,
        other => panic!("{other}"),
    }
}

#[test]
fn kernels_copy_boxes_as_the_hardware_does() {
    let text = fs::read_to_string(root().join("fixtures/hardware/copies.txt")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let tensor: Vec<u8> = (0..TENSOR).map(byte).collect();
    let (mut copied, mut columns, mut filled) = (0, 0, 0);
    for case in lines.chunks(2) {
        let [line, outcome] = case else { panic!("{case:?}") };
        if outcome.starts_with("failed") {
            continue;
        }
        let (kind, ty) = line[2..].split(" | ").next().unwrap().split_once(' ').unwrap();
        let at: Vec<i32> = numbers(field(line, "at"));
        let to: u32 = field(line, "to").parse().unwrap();
        let box_dims: Vec<u32> = numbers(field(line, "box"));
        let fill = if field(line, "fill") == "nan" { Fill::Nan } else { Fill::Zero };
        let window = (kind == "im2col").then(|| {
            let (lower, upper) = field(line, "corners").split_once(';').unwrap();
            let (channels, pixels) = (box_dims[0], box_dims[1]);
            Window { lower: numbers(lower), upper: numbers(upper), channels, pixels }
        });
        let map = TensorMap {
            element: element_type(ty),
            base: 0,
            dims: numbers(field(line, "sizes")),
            strides: numbers(field(line, "strides")),
            box_dims: if window.is_some() { Vec::new() } else { box_dims },
            steps: numbers(field(line, "steps")),
            fill,
            window,
            swizzle: match field(line, "swizzle") {
                "none" => Swizzle::None,
                "32B" => Swizzle::Bytes32,
                "64B" => Swizzle::Bytes64,
                "128B" => Swizzle::Bytes128,
                other => panic!("{other}"),
            },
            interleave: Interleave::None,
        };
        let mut pattern = vec![0_u8];
        let mut expected: Vec<Option<u8>> = vec![None; SHARED];
        let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
        if let Some(fill) = outcome.split(' ').find_map(|run| run.strip_prefix("fill=")) {
            pattern = (0..fill.len()).step_by(2).map(|at| number(&fill[at..at + 2]) as u8).collect();
            filled += usize::from(pattern[0] != 0);
        }
        let mut bytes = 0;
        for run in outcome.split(' ').filter(|run| !run.starts_with("fill=")) {
            let parts: Vec<&str> = run.split(':').collect();
            let (start, len) = (number(parts[0]), number(parts[1]));
            bytes += len;
            for at in 0..len {
                // Elements are aligned, and so is the pattern.
                let value = if parts[2] == "fill" {
                    pattern[(start + at) % pattern.len()]
                } else {
                    byte(number(parts[2]) + at)
                };
                expected[start + at] = Some(value);
            }
        }
        let arguments = vec![
            Argument::Buffer { bytes: SHARED as u64, data: None },
            Argument::TensorMap { map, base: None, bytes: TENSOR as u64, data: Some(tensor.clone()) },
        ];
        let offsets = (kind == "im2col").then(|| field(line, "offsets"));
        let output = left(&kernel(&at, offsets, to, bytes), arguments, 1);
        let mut got: Vec<Option<u8>> = output.bytes.iter().copied().map(Some).collect();
        for range in &output.unknown {
            got[range.clone()].fill(None);
        }
        if let Some(place) = (0..SHARED).find(|place| got[*place] != expected[*place]) {
            panic!("{line}: at {place:x} is {:x?}, not {:x?}", got[place], expected[place]);
        }
        copied += 1;
        columns += usize::from(kind == "im2col");
    }
    assert!(
        copied > 100 && columns > 20 && filled > 10,
        "{copied} boxes, {columns} columns, {filled} filled"
    );
}

#[test]
fn launch_files_say_all_of_a_tensor_map() {
    use ptx_check::{Source, Unit};
    use ptx_simulation::Kernel;
    use ptx_simulation::launch::{ArgumentFile, Key, LaunchFile, Misfit};

    type Change<'c> = &'c dyn Fn(&mut ArgumentFile);

    let text = kernel(&[0, 0, 0], Some("0"), 0, 16);
    let source = Source::new("kernel.ptx", &text).unwrap();
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch = |change: &dyn Fn(&mut ArgumentFile)| {
        let mut map = ArgumentFile {
            ty: "tensor_map".to_owned(),
            element: Some("f16".to_owned()),
            dims: Some(vec![64, 9, 4]),
            ..ArgumentFile::default()
        };
        change(&mut map);
        let out = ArgumentFile { ty: "buffer".to_owned(), bytes: Some(64), ..ArgumentFile::default() };
        let file = LaunchFile { arguments: vec![out, map], ..LaunchFile::default() };
        let launch = kernel.fitting_launch(&file, &mut |_| unreachable!())?;
        match launch.arguments.into_iter().nth(1) {
            Some(Argument::TensorMap { map, .. }) => Ok::<_, Misfit>(map),
            other => panic!("{other:?}"),
        }
    };
    let column = |map: &mut ArgumentFile| {
        map.lower_corner = Some(vec![-1]);
        map.upper_corner = Some(vec![1]);
        map.channels_per_pixel = Some(16);
        map.pixels_per_column = Some(12);
    };
    let map = launch(&column).unwrap();
    assert_eq!(map.window, Some(Window { lower: vec![-1], upper: vec![1], channels: 16, pixels: 12 }));
    assert_eq!((map.box_bytes(), map.steps, map.fill), (16 * 12 * 2, vec![1; 3], Fill::Zero));
    let map = launch(&|map| {
        map.box_dims = Some(vec![16, 5, 2]);
        map.element_strides = Some(vec![1, 2, 1]);
        map.oob_fill = Some(Fill::Nan);
    })
    .unwrap();
    assert_eq!((map.box_bytes(), map.fill), (16 * 3 * 2 * 2, Fill::Nan));
    let tiled = |map: &mut ArgumentFile| map.box_dims = Some(vec![16, 5, 2]);
    // What is said, and the key that is wrong; none where one is missing.
    let refused: &[(Change<'_>, &str, &str)] = &[
        (&|_| {}, "has `box`", ""),
        (&|map| map.lower_corner = Some(vec![0]), "`channels_per_pixel`", ""),
        (&|map| (column(map), map.box_dims = Some(vec![1; 3])).0, "no `box`", "box"),
        (
            &|map| (column(map), map.lower_corner = Some(vec![0, 0])).0,
            "but the first and the last",
            "lower_corner",
        ),
        (&|map| (column(map), map.upper_corner = Some(vec![1 << 15])).0, "-32768 to 32767", "upper_corner"),
        (&|map| (column(map), map.upper_corner = Some(vec![-10])).0, "is empty", "upper_corner"),
        (&|map| (column(map), map.channels_per_pixel = Some(257)).0, "1 to 256", "channels_per_pixel"),
        (&|map| (column(map), map.pixels_per_column = Some(0)).0, "1 to 1024", "pixels_per_column"),
        (
            &|map| {
                column(map);
                map.channels_per_pixel = Some(32);
                map.swizzle = Some(Swizzle::Bytes32);
            },
            "room for 32",
            "channels_per_pixel",
        ),
        (&|map| (column(map), map.dims = Some(vec![64, 9])).0, "3 to 5", "dims"),
        (&|map| (column(map), map.element_strides = Some(vec![1, 9, 1])).0, "each 1 to 8", "element_strides"),
        (
            &|map| {
                column(map);
                map.element = Some("u16".to_owned());
                map.oob_fill = Some(Fill::Nan);
            },
            "floating point",
            "oob_fill",
        ),
        (&|map| (tiled(map), map.strides_bytes = Some(vec![128])).0, "2 strides, not 1", "strides_bytes"),
        (&|map| (tiled(map), map.strides_bytes = Some(vec![128, 9])).0, "multiples of 16", "strides_bytes"),
        (&|map| map.box_dims = Some(vec![4, 5, 2]), "a multiple of 16 bytes, not 8", "box"),
        (&|map| (tiled(map), map.swizzle = Some(Swizzle::Bytes32)).0, "", ""),
        (
            &|map| (map.box_dims = Some(vec![32, 1, 1]), map.swizzle = Some(Swizzle::Bytes32)).0,
            "room for 32",
            "box",
        ),
        (&|map| (tiled(map), map.element = Some("b6x16_p32".to_owned())).0, "a multiple of 128", "dims"),
    ];
    for (change, message, key) in refused {
        if message.is_empty() {
            launch(*change).unwrap();
            continue;
        }
        let Misfit { error, keys, .. } = launch(*change).unwrap_err();
        assert!(error.0.contains(message), "{error}: {message}");
        let wanted = [Key::Name("arg"), Key::Index(1), Key::Name(key)];
        assert_eq!(keys, wanted[..if key.is_empty() { 2 } else { 3 }], "{error}");
    }
}
