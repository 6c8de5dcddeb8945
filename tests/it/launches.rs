//! What the kernels of `fixtures/simulation/launches` compute, against references: those that `results.rs` does not have.
//! The last test lists all of them.

#![allow(clippy::many_single_char_names, reason = "matrices and their sizes are called so")]

use std::collections::BTreeSet;
use std::fs;

use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc::simulation::{Kernel, Settings, Verdict};
use ptx_tc::{Source, Unit};

use crate::common::root;
use crate::multiplied::{self, E4M3, F16, F32, Random, S8, Type, map, product};

/// What a kernel leaves in the one buffer that it writes to a file: its words, those that are not known being `None`.
fn words(module: &str, name: &str, launch: &str, files: &[(&str, Vec<u8>)]) -> Vec<Option<u32>> {
    let path = root().join(format!("fixtures/kernels/{module}.ptx"));
    let source = Source::from_bytes(module, fs::read(path).unwrap()).unwrap();
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, name).unwrap();
    let file: LaunchFile = toml::from_str(launch).unwrap();
    let mut data = |name: &str| Ok(files.iter().find(|(file, _)| *file == name).unwrap().1.clone());
    let launch = kernel.launch(&file, &mut data).unwrap();
    let report = kernel.simulate_all(&launch, &Settings::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Clean, "{name}: {:?} {:?}", report.diagnostics, report.reasons);
    let [output] = &report.outputs[..] else { panic!("{name} has several results") };
    let is_known = |at: usize| !output.unknown.iter().any(|range| range.start < at + 4 && at < range.end);
    let word = |(at, bytes): (usize, &[u8])| {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        is_known(at * 4).then_some(word)
    };
    output.bytes.chunks(4).enumerate().map(word).collect()
}

fn buffer(bytes: usize, rest: &str) -> String {
    format!("[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\n{rest}\n")
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The names of launches, each of a module and a kernel.
fn launches() -> BTreeSet<String> {
    let folder = fs::read_dir(root().join("fixtures/simulation/launches")).unwrap();
    folder.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// What a shape stores, it loads again.
#[test]
fn round_trips() {
    let mut random = Random(20);
    for launch in launches().iter().filter(|name| name.starts_with("tmem_shapes")) {
        let (module, name) = launch.split_once('.').unwrap();
        let (shape, repeat) = name["round_trip_".len()..].split_once("_x").unwrap();
        let each = match shape {
            "16x128b" => 2,
            "16x256b" => 4,
            _ => 1,
        };
        let count = repeat.parse::<usize>().unwrap() * each;
        let data: Vec<u32> = (0..count * 32).map(|_| random.below(1 << 31) as u32).collect();
        let launch = buffer(count * 128, "data = \"data.bin\"\nout = \"data.bin\"");
        let found = words(module, name, &launch, &[("data.bin", bytes(&data))]);
        let wanted = (0..count * 32).map(|at| Some(data[at] ^ data[(count - 1 - at / 32) * 32 + at % 32]));
        assert!(found.into_iter().eq(wanted), "{name}");
    }
    let data: Vec<u32> = (0..64).map(|_| random.below(1 << 31) as u32).collect();
    let launch = format!("block = [32]\n{}", buffer(256, "data = \"data.bin\"\nout = \"data.bin\""));
    let found = words("tmem_tiny_sm110f", "tmem_round_trip", &launch, &[("data.bin", bytes(&data))]);
    assert!(found.into_iter().eq(data[32..].iter().chain(&data[..32]).map(|it| Some(*it))));
}

/// Loads that reduce: what they reduce and what they load. No source says how `.16x32bx2` is reduced.
#[test]
fn loads_that_reduce() {
    let mut random = Random(21);
    let mut run = |module: &str, name: &str, ty: Type, words_of_row: usize| {
        let k = 1024 / ty.bits as usize;
        let (a, b) = (random.matrix(128, k, ty), random.matrix(128, k, ty));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 200000\n{}{}{}",
            map("a.bin", ty, [k, 128], [k, 128], "128B"),
            map("b.bin", ty, [k, 128], [k, 128], "128B"),
            buffer(128 * words_of_row * 4, "out = \"c.bin\"")
        );
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        (product(&a, &b, k), words(module, name, &launch, &files))
    };
    for module in ["tmem_reduce_sm103a", "tmem_reduce_sm110a"] {
        let is_integer = module.contains("110");
        let (sums, found) = run(module, "row_softmax", F16, 128);
        for (row, found) in sums.chunks(128).zip(found.chunks(128)) {
            let top = row.iter().copied().fold(f64::MIN, f64::max);
            let total: f64 = row.iter().map(|value| (value - top).exp2()).sum();
            for (value, found) in row.iter().zip(found) {
                let (found, wanted) =
                    (f64::from(f32::from_bits(found.unwrap())), (value - top).exp2() / total);
                assert!((found - wanted).abs() <= 1e-6 * wanted + 1e-37, "{found}, not {wanted}");
            }
        }

        let (sums, found) = run(module, "row_ranges", F16, 4);
        for (lane, found) in found.chunks(4).enumerate() {
            let row = &sums[lane * 128..][..128];
            let least = row[..16].iter().copied().fold(f64::MAX, f64::min);
            let most = row[16..80].iter().map(|value| value.abs()).fold(0.0, f64::max);
            // Threads 16 to 31 load lanes 0 to 15, sixteen columns further on.
            let pair = &sums[(lane / 32 * 32 + lane % 16) * 128 + 96 + lane % 32 / 16 * 16..][..2];
            let sum: f64 = row[..88].iter().chain(pair).sum();
            let bits = |value: f64| Some(F32.encode(if value == 0.0 { 0.0 } else { value }));
            assert_eq!(found, [bits(least), bits(most), None, bits(sum)], "{module}, lane {lane}");
        }

        let ty = if is_integer { S8 } else { E4M3 };
        let (sums, found) = run(module, "row_bits", ty, 4);
        let of_d = if is_integer { Type { bits: 32, ..S8 } } else { F32 };
        let bits = |value: &f64| of_d.encode(if *value == 0.0 { 0.0 } else { *value });
        for (lane, found) in found.chunks(4).enumerate() {
            let row = &sums[lane * 128..][..32];
            let least = row.iter().map(bits).min();
            let any = row.iter().map(bits).fold(0, |any, bits| any | bits);
            let split = &sums[(lane / 32 * 32 + lane % 16) * 128 + 32 + lane % 32 / 16 * 32..][..16];
            let any = split.iter().map(bits).fold(any, |any, bits| any ^ bits);
            assert_eq!(found, [least, None, Some(any), Some(0)], "{module}, lane {lane}");
        }
    }
}

/// Attention of two tiles of 128 queries, within what halves and the card's approximation of `ex2` make of it.
#[test]
fn attention_of_nvcc() {
    let (length, width) = (256, 128);
    let mut random = Random(22);
    let mut matrix =
        || -> Vec<f64> { (0..length * width).map(|_| (random.below(512) as f64 - 256.0) / 128.0).collect() };
    let (q, k, v) = (matrix(), matrix(), matrix());
    let scale = 1.0 / (width as f64).sqrt();
    let wanted = multiplied::attention([&q, &k, &v], width, scale);
    let array = |file: &str| {
        format!(
            "[[arg]]\ntype = \"tensor_map\"\nelement = \"f16\"\ndims = [128, {length}, 1]\nbox = [64, 128, 1]\n\
             swizzle = \"128B\"\ndata = \"{file}\"\n"
        )
    };
    let launch = format!(
        "grid = [1]\ndynamic_smem = 232000\n{}{}{}{}[[arg]]\ntype = \"struct\"\n\
         [[arg.fields]]\ntype = \"i32\"\nvalue = {}\n[[arg.fields]]\ntype = \"f32\"\nvalue = {}\n",
        array("q.bin"),
        array("k.bin"),
        array("v.bin"),
        map("c.bin", F16, [width, length], [64, 128], "128B").replace("data = ", "out = "),
        length / 128,
        scale * std::f64::consts::LOG2_E
    );
    let files = [("q.bin", F16.bytes(&q)), ("k.bin", F16.bytes(&k)), ("v.bin", F16.bytes(&v))];
    for module in ["attention_sm100a", "attention_debug_sm100a", "attention_lineinfo_sm103a"] {
        let found = words(module, "attention_forward_f16", &launch, &files);
        let halves = found.iter().flat_map(|word| {
            let word = word.unwrap();
            [word as u16, (word >> 16) as u16].map(multiplied::half)
        });
        let largest = halves.zip(&wanted).map(|(found, wanted)| (found - wanted).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-3, "{module}: {largest}");
    }
}

/// `y += a * x` in three types.
#[test]
fn sums_of_products_by_threads() {
    for module in ["ptx_variety_sm100a", "ptx_variety_relocatable_sm110a"] {
        let x: Vec<i16> = (0..128).map(|at| at * 3 - 100).collect();
        let y: Vec<i16> = (0..128).map(|at| 50 - at).collect();
        let run = |name: &str, argument: &str, encode: &dyn Fn(i16) -> Vec<u8>, count: usize| {
            let encoded =
                |all: &[i16]| -> Vec<u8> { all[..count].iter().flat_map(|it| encode(*it)).collect() };
            let wanted: Vec<i16> = x.iter().zip(&y).map(|(x, y)| 5 * x + y).collect();
            let launch = format!(
                "block = [32]\n{}{}{argument}",
                buffer(encoded(&y).len(), "data = \"y.bin\"\nout = \"y.bin\""),
                buffer(encoded(&x).len(), "data = \"x.bin\"")
            );
            let files = [("y.bin", encoded(&y)), ("x.bin", encoded(&x))];
            let found = words(module, name, &launch, &files);
            let wanted = encoded(&wanted);
            let found: Vec<u8> = found.iter().flat_map(|word| word.unwrap().to_le_bytes()).collect();
            assert_eq!(found, wanted, "{name}");
        };
        let number = |ty: &str, value: &str| format!("[[arg]]\ntype = \"{ty}\"\nvalue = {value}\n");
        run(
            "_Z4axpyIdLi2EEvPT_PKS0_S0_",
            &number("f64", "5.0"),
            &|it| f64::from(it).to_le_bytes().into(),
            64,
        );
        run(
            "_Z4axpyIfLi4EEvPT_PKS0_S0_",
            &number("f32", "5.0"),
            &|it| f32::from(it).to_le_bytes().into(),
            128,
        );
        run("_Z4axpyIsLi3EEvPT_PKS0_S0_", &number("i16", "5"), &|it| it.to_le_bytes().into(), 96);
    }
}

/// The elements and the swizzling mode of the tensor maps of a launch file. Names of one format are the same.
fn tensor_maps(text: &str) -> Vec<(String, String)> {
    let file: toml::Table = toml::from_str(text).unwrap();
    let arguments = file.get("arg").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let word = |argument: &toml::Value, key: &str| {
        argument.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let maps = arguments.iter().filter(|argument| word(argument, "type") == "tensor_map");
    let element = |name: String| match &*name {
        "e4m3" | "e5m2" | "s8" => "u8".to_owned(),
        "e2m1" => "b4x16".to_owned(),
        _ => name,
    };
    maps.map(|map| (element(word(map, "element")), word(map, "swizzle"))).collect()
}

/// The launches read and write matrices as the references of their kernels do.
#[test]
fn launches_have_the_tensor_maps_of_their_references() {
    let (mut compared, mut differing) = (0, Vec::new());
    for case in multiplied::all() {
        let module = case.module.strip_suffix(".ptx").unwrap();
        let path = root().join(format!("fixtures/simulation/launches/{module}.{}.toml", case.name));
        let Ok(text) = fs::read_to_string(path) else { continue };
        let (own, reference) = (tensor_maps(&text), tensor_maps(&case.launch));
        compared += usize::from(!own.is_empty());
        if own != reference {
            differing.push(format!("{module}.{}: {own:?}, not {reference:?}", case.name));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert!(compared > 60, "{compared}");
}

/// Launches whose results are not compared here, and why.
const NOT_COMPARED: &[(&str, &str)] = &[
    (
        "conv_activation_stationary_sm100a.conv_three_taps_f16",
        "`tcgen05.cp.4x256b` is not computed: the ISA does not say which lanes it writes",
    ),
    (
        "intrinsics_sm100a.",
        "functions of CUDA's headers, one after the other: `fixtures/hardware` has what an H100 computes for each",
    ),
    (
        "ptx_variety_",
        "statements of all kinds that compute nothing together: `fixtures/hardware` has the instructions",
    ),
];

/// Each launch is compared with a reference, or a reason says why it is not.
#[test]
fn every_launch_has_a_reference_or_a_reason() {
    let mut compared: BTreeSet<String> = multiplied::all()
        .iter()
        .map(|case| format!("{}.{}", case.module.strip_suffix(".ptx").unwrap(), case.name))
        .collect();
    let all = launches();
    let by_test = ["tmem_shapes", "tmem_tiny", "tmem_reduce", "attention_", "triton_attention"];
    let is_tested =
        |name: &String| by_test.iter().any(|it| name.starts_with(it)) || name.contains("._Z4axpy");
    compared.extend(all.iter().filter(|name| is_tested(name)).cloned());
    let has_reason = |name: &String| NOT_COMPARED.iter().any(|(start, _)| name.starts_with(start));
    let missing: Vec<&String> = all.difference(&compared).filter(|name| !has_reason(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    println!("{} of {} launches are compared", all.intersection(&compared).count(), all.len());
    let idle: Vec<_> =
        NOT_COMPARED.iter().filter(|(start, _)| !all.iter().any(|it| it.starts_with(start))).collect();
    assert!(idle.is_empty(), "{idle:?}");
}
