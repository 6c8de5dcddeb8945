//! Tensor copies of kernels, compared with the bytes that an H100 has in shared memory afterwards:
//! fixtures/hardware/copies.txt.

use std::fs;

use ptx_check::diagnostic::Code;
use ptx_simulation::launch::Argument;
use ptx_simulation::tensor_map::{ElementType, Fill, Interleave, Swizzle, TensorMap, Wide, Window};

use crate::{buffer, launched, left, root};

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
    kernel_in(if offsets.is_some() { ".im2col" } else { ".tile" }, at, offsets, to, bytes)
}

/// The same in any mode.
fn kernel_in(mode: &str, at: &[i32], offsets: Option<&str>, to: u32, bytes: usize) -> String {
    let coordinates: Vec<String> = at.iter().map(ToString::to_string).collect();
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
    let (mut copied, mut columns, mut filled, mut interleaved) = (0, 0, 0, 0);
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
            Window { lower: numbers(lower), upper: numbers(upper), channels, pixels, wide: None }
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
            interleave: match field(line, "interleave") {
                "-" => Interleave::None,
                "16B" => Interleave::Bytes16,
                "32B" => Interleave::Bytes32,
                other => panic!("{other}"),
            },
        };
        map.check().unwrap();
        interleaved += usize::from(map.is_interleaved());
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
        copied > 100 && columns > 20 && filled > 10 && interleaved == 46,
        "{copied} boxes, {columns} columns, {filled} filled, {interleaved} with interleaved channels"
    );
}

/// Pixels along W alone, as the ISA says of them: W from a coordinate on, within the box, then the next image.
#[test]
fn columns_along_w_stay_in_their_line() {
    let tensor: Vec<u8> = (0..2 * TENSOR).map(byte).collect();
    // Channels, W, H, images; bytes from one to the next.
    let (dims, strides) = ([64_u32, 7, 5, 40], [128_u64, 1024, 5 * 1024]);
    for (mode, wide, taken) in [(".im2col::w", Wide::W, 40), (".im2col::w::128", Wide::W128, 128)] {
        for (at, offset, (lower, upper), step) in [
            ([0, 3, 2, 5], 0, (0, 0), 1),
            ([0, -1, 1, 0], 0, (-1, 0), 2),
            ([0, -1, 1, 0], 1, (-1, 0), 2),
            ([0, -1, 4, 1], 2, (-1, -1), 3),
            ([32, -2, 0, 0], 0, (0, -2), 1),
        ] {
            let map = TensorMap {
                element: ElementType::U16,
                base: 0,
                dims: dims.to_vec(),
                strides: strides.to_vec(),
                box_dims: Vec::new(),
                steps: vec![1, step, 1, 1],
                fill: Fill::Zero,
                window: Some(Window {
                    lower: vec![lower],
                    upper: vec![upper],
                    channels: 32,
                    pixels: 40,
                    wide: Some(wide),
                }),
                swizzle: Swizzle::Bytes64,
                interleave: Interleave::None,
            };
            map.check().unwrap();
            let mut expected = vec![None; SHARED];
            let (mut w, mut image) = (at[1], at[3]);
            for pixel in 0..taken {
                let x = w + offset;
                let is_inside = (0..7).contains(&x) && (0..40).contains(&image);
                for channel in 0..64_usize {
                    let place = at[0] as usize * 2
                        + channel
                        + (x * 128 + at[2] * 1024 + image * 5 * 1024) as usize * usize::from(is_inside);
                    // 16 bytes of a row of 128 change places with those of the row's number.
                    let to = pixel * 64 + channel;
                    let to = to ^ (to >> 7 & 3) << 4;
                    expected[to] = Some(if is_inside { byte(place) } else { 0 });
                }
                w += step.cast_signed();
                if w > 6 + upper {
                    (w, image) = (lower, image + 1);
                }
            }
            let text = kernel_in(mode, &at, Some(&format!("0, {offset}")), 0, taken * 64);
            let arguments = || {
                vec![
                    Argument::Buffer { bytes: SHARED as u64, data: None },
                    Argument::TensorMap {
                        map: map.clone(),
                        base: None,
                        bytes: 2 * TENSOR as u64,
                        data: Some(tensor.clone()),
                    },
                ]
            };
            let output = left(&text, arguments(), 1);
            let mut got: Vec<Option<u8>> = output.bytes.iter().copied().map(Some).collect();
            for range in &output.unknown {
                got[range.clone()].fill(None);
            }
            let wrong = (0..SHARED).find(|place| got[*place] != expected[*place]);
            assert_eq!(wrong, None, "{mode}, {at:?}, {offset}, {step}");
            // What a halo is the ISA does not say in words: as many bytes come as are awaited, and none is known.
            let text = kernel_in(mode, &at, Some(&format!("2, {offset}")), 0, (taken + 2) * 64);
            let output = left(&text, arguments(), 1);
            assert!(output.unknown.len() == 1 && output.unknown[0] == (0..SHARED));
        }
    }
}

/// A map over halves: 64 channels, nine columns, seven rows, four images.
fn images(lower: [i32; 2], upper: [i32; 2]) -> TensorMap {
    TensorMap {
        box_dims: Vec::new(),
        window: Some(Window {
            lower: lower.to_vec(),
            upper: upper.to_vec(),
            channels: 64,
            pixels: 16,
            wide: None,
        }),
        ..TensorMap::tiled(ElementType::F16, 0, vec![64, 9, 7, 4], vec![64, 1, 1, 1])
    }
}

/// What a kernel with a copy shows, and what it leaves.
fn copied(text: &str, map: TensorMap) -> (Vec<String>, Vec<u8>) {
    let bytes = map.bytes();
    let arguments = vec![
        Argument::Buffer { bytes: SHARED as u64, data: None },
        Argument::TensorMap { map, base: None, bytes, data: Some(vec![1; bytes as usize]) },
    ];
    let mut report = launched(text, arguments, 1);
    assert!(report.reasons.is_empty(), "{:?}", report.reasons);
    // Only some of the shared memory is copied to.
    report.retain(|it| it.code != Code::SharedMemoryUninitialized);
    let codes = report.diagnostics.iter().map(|it| it.code.to_string()).collect();
    (codes, report.outputs.into_iter().next().unwrap().bytes)
}

#[test]
fn a_filter_starts_within_its_bounding_box() {
    // Columns -1 to 7, rows -1 to 5.
    let (lower, upper) = ([-1, -1], [-1, -1]);
    let columns = [(-2, false), (-1, true), (7, true), (8, false)];
    let rows = [(-2, false), (-1, true), (5, true), (6, false)];
    for ((column, fits), (row, also_fits)) in columns.into_iter().flat_map(|it| rows.map(|other| (it, other)))
    {
        for offsets in ["0, 0", "2, 2"] {
            let text = kernel(&[0, column, row, 0], Some(offsets), 0, 16 * 128);
            let (codes, _) = copied(&text, images(lower, upper));
            let expected: &[&str] = if fits && also_fits { &[] } else { &["SIM501"] };
            assert_eq!(codes, expected, "({column}, {row})");
        }
    }
    // Channels and images are start coordinates as of a tile.
    for at in [[64, 0, 0, 0], [-64, 0, 0, 0], [0, 0, 0, 4], [0, 0, 0, -1]] {
        let (codes, bytes) = copied(&kernel(&at, Some("0, 0"), 0, 16 * 128), images(lower, upper));
        assert!(codes.is_empty() && bytes[..16 * 128].iter().all(|byte| *byte == 0), "{at:?}: {codes:?}");
    }
}

/// "Elements in the Bounding Box which fall outside of the tensor boundary are set to 0": also if these are all.
#[test]
fn a_box_outside_of_its_tensor_is_filled() {
    let map = || TensorMap::tiled(ElementType::F16, 0, vec![64, 40], vec![64, 4]);
    for at in [[64, 0], [-64, 0], [0, 40], [0, -4], [1 << 20, 1 << 20], [0, i32::MAX], [-1 << 28, i32::MIN]] {
        let (codes, bytes) = copied(&kernel(&at, None, 0, 4 * 128), map());
        assert!(codes.is_empty() && bytes[..4 * 128].iter().all(|byte| *byte == 0), "{at:?}: {codes:?}");
    }
    let map = || TensorMap::tiled(ElementType::F16, 0, vec![64, 40], vec![64, 1]);
    for (at, inside) in [([0, 40, 41, 80, -1], [false; 4]), ([0, 39, 40, 0, -7], [true, false, true, false])]
    {
        let text = kernel_in(".tile::gather4", &at, None, 0, 4 * 128).replace("tensor.5d", "tensor.2d");
        let (codes, bytes) = copied(&text, map());
        let rows: Vec<bool> =
            bytes[..4 * 128].chunks(128).map(|row| row.iter().all(|byte| *byte == 1)).collect();
        assert!(codes.is_empty() && rows == inside, "{at:?}: {codes:?}, {rows:?}");
    }
}

#[test]
fn padded_elements_lie_in_the_first_bytes_of_sixteen() {
    for (element, used) in [(ElementType::B4x16P64, 8), (ElementType::B6x16P32, 12)] {
        let row = 8 * used;
        let map = TensorMap::tiled(element, 0, vec![128, 8], vec![128, 8]);
        let tensor: Vec<u8> = (0..8 * row).map(byte).collect();
        let arguments = vec![
            Argument::Buffer { bytes: SHARED as u64, data: None },
            Argument::TensorMap { map, base: None, bytes: 8 * row as u64, data: Some(tensor.clone()) },
        ];
        let output = left(&kernel(&[0, 0], None, 0, 8 * row), arguments, 1);
        let is_known = |at: usize| !output.unknown.iter().any(|range| range.contains(&at));
        for at in 0..8 * 128 {
            let place = at / 16 * used + at % 16;
            let expected = (at % 16 < used).then(|| tensor[place]);
            assert_eq!(is_known(at).then(|| output.bytes[at]), expected, "{element:?}: {at}");
        }
    }
}

/// An mbarrier counts the bytes of elements, without the padding that they have in shared memory.
#[test]
fn padding_is_not_counted() {
    for (element, bytes) in [(ElementType::B4x16P64, 64), (ElementType::B6x16P32, 96), (ElementType::U8, 128)]
    {
        let map = || TensorMap::tiled(element, 0, vec![128, 40], vec![128, 8]);
        let (codes, _) = copied(&kernel(&[0, 0], None, 0, 8 * bytes), map());
        assert!(codes.is_empty(), "{element:?}: {codes:?}");
        for wrong in [8 * 48, 8 * 80, 8 * 64, 8 * 96, 8 * 128] {
            if wrong != 8 * bytes {
                let (codes, _) = copied(&kernel(&[0, 0], None, 0, wrong), map());
                assert!(
                    codes.iter().any(|code| code == "SIM404" || code == "SIM101"),
                    "{element:?}: {codes:?}"
                );
            }
        }
    }
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
    assert_eq!(
        map.window,
        Some(Window { lower: vec![-1], upper: vec![1], channels: 16, pixels: 12, wide: None })
    );
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
        (&|map| (column(map), map.wide = Some(Wide::W)).0, "boxes are swizzled", "swizzle"),
        (
            &|map| {
                column(map);
                map.dims = Some(vec![64, 9, 5, 4]);
                (map.wide, map.swizzle) = (Some(Wide::W), Some(Swizzle::Bytes64));
                map.upper_corner = Some(vec![1, 1]);
            },
            "one number, for W,",
            "upper_corner",
        ),
        (
            &|map| {
                column(map);
                map.dims = Some(vec![64, 9, 5, 4]);
                (map.wide, map.swizzle) = (Some(Wide::W128), Some(Swizzle::Bytes64));
                map.pixels_per_column = None;
            },
            "",
            "",
        ),
        (
            &|map| {
                column(map);
                (map.wide, map.swizzle) = (Some(Wide::W), Some(Swizzle::Bytes64));
                map.interleave = Some(Interleave::Bytes16);
            },
            "not interleaved where pixels are taken along W alone",
            "interleave",
        ),
        (&|map| (tiled(map), map.wide = Some(Wide::W)).0, "`channels_per_pixel`", ""),
        (&|map| (tiled(map), map.interleave = Some(Interleave::Bytes16)).0, "", ""),
        (
            &|map| (map.box_dims = Some(vec![4, 5, 2]), map.interleave = Some(Interleave::Bytes16)).0,
            "a multiple of 16 bytes, not 8",
            "box",
        ),
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

/// A buffer that holds pointers, numbers and tensor maps, as a struct has them.
#[test]
fn buffers_hold_fields() {
    let text = ".version 9.0\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 all)\n.reqntid 1\n{\n\
         .reg .b64 p, a, v; .reg .b32 n; .reg .pred q;\n\
         .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;\n\
         ld.param.b64 p, [out]; ld.param.b64 a, [all];\n\
         ld.global.b64 v, [a]; ld.global.b32 n, [v+4]; st.global.b32 [p], n;\n\
         ld.global.b32 n, [a+8]; st.global.b32 [p+4], n;\n\
         mbarrier.init.shared::cta.b64 [bar], 1; fence.proxy.async.shared::cta;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256; add.u64 a, a, 64;\n\
         cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [a, {0, 1}], [bar];\n\
         again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0; @!q bra again;\n\
         ld.shared.b64 v, [tile]; st.global.b64 [p+8], v;\nret;\n}\n";
    let map = TensorMap::tiled(ElementType::U8, 0, vec![128, 4], vec![128, 2]);
    let tensor: Vec<u8> = (0..512).map(|at| (at / 128 * 16 + at % 16) as u8).collect();
    let fields = vec![
        (0, 8, buffer(vec![0, 0, 0, 0, 7, 0, 0, 0])),
        (8, 4, Argument::Bytes(vec![9, 0, 0, 0])),
        (64, 128, Argument::TensorMap { map, base: None, bytes: 512, data: Some(tensor) }),
    ];
    let arguments = vec![buffer(vec![0; 16]), Argument::Pointer { bytes: 192, fields }];
    let output = left(text, arguments, 1);
    assert!(output.unknown.is_empty());
    assert_eq!(output.bytes, [7, 0, 0, 0, 9, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23]);
}

#[test]
fn launch_files_say_what_a_buffer_holds() {
    use ptx_check::{Source, Unit};
    use ptx_simulation::Kernel;
    use ptx_simulation::launch::{ArgumentFile, Key, LaunchFile, Misfit};

    type Change<'c> = &'c dyn Fn(&mut ArgumentFile);

    let text =
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 all)\n{\nret;\n}\n";
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch = |change: &dyn Fn(&mut ArgumentFile)| {
        let field = |ty: &str| ArgumentFile { ty: ty.to_owned(), ..ArgumentFile::default() };
        let fields = vec![
            ArgumentFile { bytes: Some(64), ..field("buffer") },
            ArgumentFile {
                element: Some("f16".to_owned()),
                dims: Some(vec![64, 8]),
                box_dims: Some(vec![64, 8]),
                ..field("tensor_map")
            },
        ];
        let mut all = ArgumentFile { fields, ..field("buffer") };
        change(&mut all);
        let file = LaunchFile { arguments: vec![all], ..LaunchFile::default() };
        let launch = kernel.fitting_launch(&file, &mut |_| Ok(Vec::new()))?;
        match launch.arguments.into_iter().next() {
            Some(Argument::Pointer { bytes, fields }) => Ok::<_, Misfit>((
                bytes,
                fields.iter().map(|(offset, bytes, _)| (*offset, *bytes)).collect::<Vec<_>>(),
            )),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(launch(&|_| {}).unwrap(), (192, vec![(0, 8), (64, 128)]));
    assert_eq!(launch(&|all| all.bytes = Some(4096)).unwrap().0, 4096);
    let refused: &[(Change<'_>, &str, &[Key])] = &[
        (&|all| all.bytes = Some(100), "`bytes` is 100", &[Key::Name("bytes")]),
        (&|all| all.fill = Some(0), "no `fill`", &[Key::Name("fill")]),
        (&|all| all.data = Some("a.npy".to_owned()), "no `data`", &[Key::Name("data")]),
        (
            &|all| all.fields[1].offset = Some(u32::MAX - 200),
            "at most 67108864 bytes",
            &[Key::Name("fields")],
        ),
        (
            &|all| all.fields[1].offset = Some(4),
            "before it ends",
            &[Key::Name("fields"), Key::Index(1), Key::Name("offset")],
        ),
        (
            &|all| all.fields[0].fields = all.fields.clone(),
            "has no `fields`",
            &[Key::Name("fields"), Key::Index(0), Key::Name("fields")],
        ),
        (
            &|all| all.fields[0].ty = "opaque".to_owned(),
            "no field of a struct",
            &[Key::Name("fields"), Key::Index(0), Key::Name("type")],
        ),
    ];
    for (change, message, key) in refused {
        let Misfit { error, keys, .. } = launch(*change).unwrap_err();
        assert!(error.0.contains(message), "{error}: {message}");
        assert_eq!(keys[2..], **key, "{error}");
    }
}
