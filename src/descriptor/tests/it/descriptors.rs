//! Descriptors against other encoders, the examples of the ISA and the words of real kernels.

use ptx_descriptor::canonical::{self, CanonicalLayout, Major, PackError, PackedMatrix};
use ptx_descriptor::field::{FIXED, Known, Layout, RESERVED, Value, Values};
use ptx_descriptor::idesc_check::{self, Multiply};
use ptx_descriptor::instruction::{Format, InstructionDescriptor};
use ptx_descriptor::shared_memory::{self, Matrix, SharedMemoryDescriptor, SwizzleMode};
use ptx_descriptor::tmem_address::{self, TensorMemoryAddress};
use ptx_descriptor::zero_column_mask::{self, ZeroColumnMask};
use ptx_descriptor::{Check, Features, Generation, matrix_descriptor_encode};
use ptx_isa::element_types::{ElementType, ScaleType};
use ptx_isa::targets::{PtxVersion, Target};
use ptx_isa::vocabulary::{CtaGroup, Kind, ScaleVectorSize};
use serde_json::Value as Json;
use strum::IntoEnumIterator;

fn rubin() -> Features {
    Features::of(Target::a(107), PtxVersion::new(9, 4))
}

fn layouts() -> Vec<&'static Layout> {
    let mut layouts = vec![
        shared_memory::layout(false),
        shared_memory::layout(true),
        zero_column_mask::layout(),
        tmem_address::layout(),
    ];
    for kind in Kind::iter() {
        for generation in Generation::iter() {
            for sparse in [false, true] {
                layouts.push(Format { kind, generation, sparse }.layout());
            }
        }
    }
    layouts
}

#[test]
fn fields_cover_every_bit_once() {
    for layout in layouts() {
        let mut seen = 0;
        for field in &layout.fields {
            assert_eq!(seen & field.mask(), 0, "{} {}", layout.title, field.name);
            seen |= field.mask();
            assert!(
                field.short.len() < 3 * field.bits[0].width() as usize,
                "{} {}",
                layout.title,
                field.name
            );
        }
        assert_eq!(seen, u64::MAX >> (64 - layout.width), "{}", layout.title);
    }
}

#[test]
fn settable_names_are_unique_and_values_distinct() {
    for layout in layouts() {
        let mut names = layout.names();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{}", layout.title);
        for field in &layout.fields {
            assert_eq!(layout.settable(field.name).is_none(), matches!(field.name, RESERVED | FIXED));
            if let Values::Named(named) = field.values {
                for (raw, name) in named {
                    assert!(raw >> field.width() == 0);
                    assert_eq!(field.encode(Value::Name(name), ""), Ok(*raw), "{} {name}", field.name);
                    assert_eq!(field.name_of(*raw), Some(*name));
                }
            }
        }
    }
}

/// A word from a reference vector, by the names of its file.
fn encode_vector(layout: &'static Layout, fields: &serde_json::Map<String, Json>) -> u64 {
    let mut word = layout.blank();
    let mut set = |name: &str, value: Value<'_>| word = layout.set(word, name, value).unwrap();
    if let Some(first) = layout.settable("a").and_then(|field| field.choices().first().copied()) {
        set("a", Value::Name(first));
        set("b", Value::Name(first));
    }
    for (key, value) in fields {
        let number = value.as_u64();
        let name = match key.as_str() {
            // The bits of K are written beside it, or alone where bit 31 chooses K = 96.
            "layout" | "note" | "isa" | "kind" | "k_bit3" | "k_bit29" => continue,
            // The version bits are the fixed ones.
            "version" => {
                assert_eq!(number, Some(1));
                continue;
            }
            "scale_a_layout" => {
                set("scale-a-lanes", Value::Number(128));
                continue;
            }
            "k_bit31" => {
                if number == Some(1) && !fields.contains_key("K") {
                    set("k", Value::Number(96));
                }
                continue;
            }
            "start_count" => {
                // From sc3 to sc0, as the ISA writes them in braces.
                for (index, count) in value.as_array().unwrap().iter().enumerate() {
                    set(&format!("sc{index}"), Value::Number(count.as_u64().unwrap()));
                }
                continue;
            }
            "first_span_bits_fs3..fs0" => {
                for index in 0..4 {
                    set(&format!("fs{index}"), Value::Number(number.unwrap() >> index & 1));
                }
                continue;
            }
            "max_shift" => {
                set("max-shift", Value::Number([0, 8, 16, 32][number.unwrap() as usize]));
                continue;
            }
            "lbo_mode" => {
                set("lbo-mode", Value::Name(["relative", "absolute"][number.unwrap() as usize]));
                continue;
            }
            "lut_k_segment" => {
                set("lut-segment", Value::Number(24 * number.unwrap()));
                continue;
            }
            "layout_type" => {
                let field = layout.field("swizzle").unwrap();
                set("swizzle", Value::Name(field.name_of(number.unwrap()).unwrap()));
                continue;
            }
            "atype" => "a",
            "btype" => "b",
            "stype" => "scale",
            "M" => "m",
            "N" => "n",
            "K" => "k",
            "transpose_a" => "transpose-a",
            "transpose_b" => "transpose-b",
            "negate_a" => "negate-a",
            "negate_b" => "negate-b",
            "sparsity_selector" => "selector",
            "sparsity_version" => "sparsity-version",
            "sfa_id" => "sfa-id",
            "sfb_id" => "sfb-id",
            "start_addr" => "start",
            "lbo_bytes" => "lbo",
            "sbo_bytes" => "sbo",
            "base_offset" => "base-offset",
            "non_zero_mask" => "non-zero",
            "skip_span" => "skip-span",
            "use_span" => "use-span",
            "column_shift" => "shift",
            same @ ("dtype" | "saturate" | "sparse") => same,
            other => panic!("unknown key {other}"),
        };
        match value {
            Json::String(text) => set(name, Value::Name(text)),
            value => set(name, Value::Number(value.as_u64().unwrap())),
        }
    }
    word
}

#[test]
fn reference_vectors_encode_and_decode() {
    let vectors = include_str!("../../../../fixtures/descriptors/vectors.tsv");
    let mut rows = 0;
    for line in vectors.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let fields: Json = serde_json::from_str(columns[1]).unwrap();
        let fields = fields.as_object().unwrap();
        let word = u64::from_str_radix(columns[2].trim_start_matches("0x"), 16).unwrap();
        let features = if fields.contains_key("isa") { rubin() } else { Features::ANY };
        match columns[0] {
            "idesc_dense_kinds" | "idesc_block_scaled" => {
                let name = fields["kind"].as_str().unwrap();
                let (name, ws) = name.split_once(' ').map_or((name, false), |(name, _)| (name, true));
                let kind: Kind = format!("kind::{name}").parse().unwrap();
                let sparse = fields.get("sparse").and_then(Json::as_u64) == Some(1);
                let layout = Format { kind, generation: features.generation, sparse }.layout();
                assert_eq!(encode_vector(layout, fields), word, "{line}");
                let multiply =
                    Multiply { ws: Some(ws), sparse: Some(sparse), ..Multiply::any(kind, features) };
                let descriptor = InstructionDescriptor::decode(&multiply, word as u32).expect(line);
                assert_eq!(descriptor.encode(&multiply), Ok(word as u32), "{line}");
                assert_eq!(u64::from(descriptor.m), fields["M"].as_u64().unwrap());
                assert_eq!(u64::from(descriptor.n), fields["N"].as_u64().unwrap());
                if let Some(name) = fields.get("atype") {
                    assert_eq!(descriptor.a.name(), name);
                }
                if let Some(name) = fields.get("stype") {
                    assert_eq!(descriptor.scale.map(ScaleType::name), name.as_str());
                }
            }
            "smem_desc" => {
                let layout = shared_memory::layout(features.wide_addresses);
                assert_eq!(encode_vector(layout, fields), word, "{line}");
                let matrix = Matrix::any(features);
                let descriptor = SharedMemoryDescriptor::decode(&matrix, word).expect(line);
                assert_eq!(descriptor.encode(&matrix), Ok(word), "{line}");
                assert_eq!(descriptor.start, fields["start_addr"].as_u64().unwrap());
                assert_eq!(descriptor.lbo, fields["lbo_bytes"].as_u64().unwrap());
                assert_eq!(descriptor.sbo, fields["sbo_bytes"].as_u64().unwrap());
                if let Some(name) = fields.get("layout").and_then(Json::as_str) {
                    assert_packed(name, &descriptor);
                }
            }
            "zero_column_mask" => {
                assert_eq!(encode_vector(zero_column_mask::layout(), fields), word, "{line}");
                let descriptor = ZeroColumnMask::decode(None, word).expect(line);
                assert_eq!(descriptor.encode(None), Ok(word), "{line}");
            }
            other => panic!("unknown descriptor {other}"),
        }
        rows += 1;
    }
    assert_eq!(rows, 60);
}

/// The strides of CUTLASS for a layout like `K-major 128B f16/bf16 128x64`.
fn assert_packed(name: &str, descriptor: &SharedMemoryDescriptor) {
    let [major, _, element, shape] = name.split(' ').collect::<Vec<_>>()[..] else { panic!("{name}") };
    let (mn, k) = shape.split_once('x').unwrap();
    let matrix = PackedMatrix {
        element_bits: match element {
            "tf32" => 32,
            "f16/bf16" => 16,
            "8-bit" => 8,
            "4-bit" => 4,
            other => panic!("{other}"),
        },
        mn: mn.parse().unwrap(),
        k: k.parse().unwrap(),
        major: major.parse().unwrap(),
        swizzle: descriptor.swizzle,
    };
    let layout = matrix.layout().unwrap();
    assert_eq!((layout.lbo, layout.sbo), (descriptor.lbo, descriptor.sbo), "{name}");
    assert_eq!(descriptor.start % layout.start_alignment, 0);
}

/// The examples of 9.7.16.3.3: type, layout, and what the ISA computes for LBO and SBO.
#[test]
fn canonical_layouts_of_the_isa() {
    let packed = |element_bits, mn, k, major, swizzle| {
        PackedMatrix { element_bits, mn, k, major, swizzle }.layout().unwrap()
    };
    // Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))
    let layout = packed(32, 16, 16, Major::K, SwizzleMode::None);
    assert_eq!((layout.lbo, layout.sbo), (64 * 4, 32 * 4));
    assert_eq!((matrix_descriptor_encode(layout.lbo), matrix_descriptor_encode(layout.sbo)), (Ok(16), Ok(8)));
    // Swizzle<1,4,3> o ((8,2),(4,2)):((8,64),(1,4)), as errata E8 has it.
    let layout = packed(32, 16, 8, Major::K, SwizzleMode::Bytes32);
    assert_eq!((layout.lbo, layout.sbo), (16, 64 * 4));
    assert_eq!((matrix_descriptor_encode(layout.lbo), matrix_descriptor_encode(layout.sbo)), (Ok(1), Ok(16)));
    // Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))
    let layout = packed(16, 16, 16, Major::Mn, SwizzleMode::None);
    assert_eq!((layout.lbo, layout.sbo), (128 * 2, 64 * 2));
    assert_eq!((matrix_descriptor_encode(layout.lbo), matrix_descriptor_encode(layout.sbo)), (Ok(16), Ok(8)));
    // Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))
    let layout = packed(16, 32, 16, Major::Mn, SwizzleMode::Bytes32);
    assert_eq!((layout.lbo, layout.sbo), (128 * 2, 256 * 2));
    assert_eq!(
        (matrix_descriptor_encode(layout.lbo), matrix_descriptor_encode(layout.sbo)),
        (Ok(16), Ok(32))
    );
    // Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))
    let layout = packed(16, 64, 16, Major::Mn, SwizzleMode::Bytes64);
    assert_eq!((layout.lbo, layout.sbo), (256 * 2, 512 * 2));
    assert_eq!(
        (matrix_descriptor_encode(layout.lbo), matrix_descriptor_encode(layout.sbo)),
        (Ok(32), Ok(64))
    );
}

#[test]
fn packing_refuses_what_does_not_fit() {
    let matrix = |element_bits, mn, k, major, swizzle| PackedMatrix { element_bits, mn, k, major, swizzle };
    assert_eq!(
        matrix(16, 128, 32, Major::K, SwizzleMode::Bytes128).layout(),
        Err(PackError::Contiguous { bytes: 64, span: 128 })
    );
    assert_eq!(
        matrix(16, 100, 64, Major::K, SwizzleMode::Bytes128).layout(),
        Err(PackError::Across { size: 100, step: 8 })
    );
    assert_eq!(
        matrix(32, 128, 32, Major::Mn, SwizzleMode::Bytes128).layout(),
        Err(PackError::Swizzle { element_bits: 32 })
    );
    assert_eq!(
        matrix(16, 128, 64, Major::K, SwizzleMode::Bytes128).layout(),
        Ok(CanonicalLayout { lbo: 16, sbo: 1024, atom: 1024, start_alignment: 1024, bytes: 16384 })
    );
    assert_eq!(matrix_descriptor_encode(0x408), Err(0x408));
    assert_eq!(matrix_descriptor_encode(0x7FF_0400), Ok(0x3040));
    assert_eq!(canonical::base_offset(0x400, SwizzleMode::Bytes128), 0);
    assert_eq!(canonical::base_offset(0x480, SwizzleMode::Bytes128), 1);
}

/// A sub-mask as the ISA writes it: the lowest column rightmost.
fn binary(mask: &[bool]) -> String {
    mask.iter().rev().map(|&zeroed| if zeroed { '1' } else { '0' }).collect()
}

#[test]
fn zero_column_masks_of_the_isa() {
    let mask = ZeroColumnMask { skip_span: 4, use_span: 3, ..ZeroColumnMask::default() };
    assert_eq!(mask.encode(Some(128)), Ok(0x0003_0400_0000_0000));
    assert!(mask.sub_masks(128, 256).unwrap().concat().iter().all(|zeroed| !zeroed));

    let mask = ZeroColumnMask { non_zero: true, skip_span: 2, use_span: 3, ..ZeroColumnMask::default() };
    let masks = mask.sub_masks(128, 128).unwrap();
    assert_eq!((masks.len(), masks[0].len()), (1, 128));
    assert!(binary(&masks[0]).ends_with("11100001110000"));

    let mask = ZeroColumnMask { first_span: [true, false, false, false], ..mask };
    let masks = mask.sub_masks(64, 128).unwrap();
    assert_eq!((masks.len(), masks[0].len()), (2, 64));
    assert!(binary(&masks[0]).ends_with("11100001110000111"));
    assert!(binary(&masks[1]).ends_with("000011100001110000"));

    // {sc3, sc2, sc1, sc0} = {1, 2, 1, 0}, {fs3, fs2, fs1, fs0} = {0, 0, 1, 1}
    let mask = ZeroColumnMask {
        start_count: [0, 1, 2, 1],
        first_span: [true, true, false, false],
        shift: 2,
        ..mask
    };
    let masks = mask.sub_masks(32, 128).unwrap();
    assert_eq!((masks.len(), masks[0].len()), (4, 32));
    assert!(binary(&masks[0]).ends_with("00001110000111"));
    assert!(binary(&masks[1]).ends_with("0000111000011"));
    assert!(binary(&masks[2]).ends_with("111000011100"));
    assert!(binary(&masks[3]).ends_with("1110000111000"));

    assert_eq!(mask.sub_masks(96, 128), None);
    assert_eq!(mask.sub_masks(32, 129), None);
}

fn checks(problems: &[ptx_descriptor::Problem]) -> Vec<Check> {
    problems.iter().map(|problem| problem.check).collect()
}

/// The checks that complain of a word, given the multiply.
fn idesc(multiply: &Multiply, word: u32) -> Vec<Check> {
    checks(&idesc_check::check(multiply, word.into()))
}

fn dense(kind: Kind) -> Multiply {
    Multiply {
        ws: Some(false),
        cta_group: Some(CtaGroup::One),
        sparse: Some(false),
        ..Multiply::any(kind, Features::ANY)
    }
}

/// bf16, M = 128, N = 256.
const BF16: u32 = 0x0840_0490;

#[test]
fn reserved_bits_are_those_of_the_kind() {
    let reserved = |kind, features: Features| {
        let multiply = Multiply::any(kind, features);
        (0..32).filter(|bit| idesc(&multiply, 1 << bit).contains(&Check::ReservedBits)).collect::<Vec<u32>>()
    };
    for kind in [Kind::F16, Kind::Tf32, Kind::F8f6f4, Kind::I8] {
        assert_eq!(reserved(kind, Features::ANY), [6, 23, 29], "{kind}");
    }
    assert_eq!(reserved(Kind::F8f6f4, rubin()), [6, 23]);
    assert_eq!(reserved(Kind::F16, rubin()), [6, 23, 29]);
    assert_eq!(reserved(Kind::Mxf8f6f4, Features::ANY), [0, 1, 3, 6, 24, 25, 26, 31]);
    assert_eq!(reserved(Kind::Mxf8f6f4, rubin()), [0, 1, 3, 6, 24, 25]);
    for kind in [Kind::Mxf4, Kind::Mxf4nvf4] {
        assert_eq!(reserved(kind, Features::ANY), [0, 1, 3, 6, 12, 24, 25, 26], "{kind}");
        assert_eq!(reserved(kind, rubin()), [0, 1, 6, 25], "{kind}");
    }
}

#[test]
fn idesc_problems() {
    let f16 = dense(Kind::F16);
    assert_eq!(idesc(&f16, BF16), []);
    assert_eq!(idesc(&f16, BF16 | 1 << 6), [Check::ReservedBits]);
    assert_eq!(idesc(&f16, BF16 | 7 << 7), [Check::Types]);
    // An f16 accumulator with bf16 elements is one mistake; with one that it takes, that is the other one.
    assert_eq!(idesc(&f16, BF16 & !(3 << 4)), [Check::Types]);
    assert_eq!(idesc(&f16, BF16 & !(3 << 4) & !(7 << 7)), [Check::Types]);
    assert_eq!(idesc(&f16, BF16 | 1 << 2), [Check::Sparsity]);
    assert_eq!(idesc(&f16, BF16 | 1 << 3), [Check::SaturateShift]);
    assert_eq!(idesc(&f16, BF16 | 1 << 30), [Check::SaturateShift]);
    assert_eq!(idesc(&Multiply { ws: Some(true), ..f16 }, BF16 | 1 << 30), []);
    // M = 256 for one CTA, N = 264.
    assert_eq!(idesc(&f16, BF16 & !(31 << 24) | 16 << 24), [Check::Shape]);
    assert_eq!(idesc(&f16, BF16 & !(63 << 17) | 33 << 17), [Check::Shape]);
    assert_eq!(idesc(&Multiply { ashift: true, ..f16 }, BF16 & !(31 << 24) | 4 << 24), [Check::AshiftM]);
    assert_eq!(idesc(&Multiply { ashift: true, ..f16 }, BF16), []);
    // A selector on a dense multiply means nothing, and on a sparse one of f16 it may be anything.
    assert_eq!(idesc(&f16, BF16 | 3), []);
    assert_eq!(idesc(&Multiply { sparse: Some(true), ..f16 }, BF16 | 7), []);
}

#[test]
fn idesc_problems_of_8_bit_kinds() {
    // e4m3, M = 128, N = 24, B transposed.
    let word = 0x0800_0010 | 3 << 17 | 1 << 16;
    assert_eq!(idesc(&dense(Kind::F8f6f4), word), [Check::TransposeNegate]);
    assert_eq!(idesc(&dense(Kind::F8f6f4), word & !(1 << 16)), []);
    // N = 16 is enough for one CTA, not for two.
    let word = 0x0800_0010 | 2 << 17 | 1 << 16;
    assert_eq!(idesc(&dense(Kind::F8f6f4), word), []);
    let pair = Multiply { cta_group: Some(CtaGroup::Two), ..dense(Kind::F8f6f4) };
    assert_eq!(idesc(&pair, word), [Check::TransposeNegate]);
    let sparse = Multiply { sparse: Some(true), ..dense(Kind::F8f6f4) };
    assert_eq!(idesc(&sparse, 0x0840_0015), [Check::SparsitySelector]);
    // i8 negates nothing.
    assert_eq!(idesc(&dense(Kind::I8), 0x0840_04a0 | 1 << 13), [Check::TransposeNegate]);
    assert_eq!(idesc(&dense(Kind::I8), 0x0840_04a0 | 1 << 3), []);
}

#[test]
fn idesc_problems_of_scaled_kinds() {
    let size = |kind, scale_vector_size| Multiply { scale_vector_size, ..dense(kind) };
    // M = 128, N = 128, ue4m3.
    let word = 0x0820_0480;
    let block16 = size(Kind::Mxf4nvf4, Some(ScaleVectorSize::Block16));
    let block32 = size(Kind::Mxf4nvf4, Some(ScaleVectorSize::Block32));
    assert_eq!(idesc(&block16, word), []);
    assert_eq!(idesc(&block16, word | 1 << 23), []);
    assert_eq!(idesc(&block32, word), [Check::Scale]);
    assert_eq!(idesc(&Multiply { features: rubin(), ..block32 }, word), []);
    assert_eq!(idesc(&block32, word | 1 << 23), []);
    for id in 0..4 {
        let ids = |multiply: &Multiply, word: u32| idesc(multiply, word | id << 29 | id << 4).is_empty();
        let ue8m0 = word | 1 << 23;
        let k96 = ue8m0 | 1 << 31;
        assert_eq!(ids(&block16, ue8m0), id == 0);
        assert_eq!(ids(&block32, ue8m0), id == 0 || id == 2);
        assert_eq!(ids(&size(Kind::Mxf4nvf4, None), ue8m0), id == 0 || id == 2);
        assert_eq!(ids(&size(Kind::Mxf4, None), ue8m0), id == 0 || id == 2);
        assert!(ids(&block32, k96));
        assert_eq!(ids(&block16, k96), id == 0 || id == 2);
        assert!(ids(&size(Kind::Mxf8f6f4, None), 0x08a0_0000));
    }
    // mxf4 has no ue4m3 and no transpose.
    assert_eq!(idesc(&size(Kind::Mxf4, None), word), [Check::Scale]);
    assert_eq!(idesc(&block16, word | 1 << 15), [Check::TransposeNegate]);
    // K = 96: neither sparse, nor on every target, nor with M = 128 of a CTA pair.
    let k96 = word | 1 << 31;
    assert_eq!(idesc(&block16, k96), []);
    let sparse = Multiply { sparse: Some(true), ..block16 };
    assert_eq!(idesc(&sparse, k96 | 1 << 2), [Check::K96]);
    let sm_100a = Features::of(Target::a(100), PtxVersion::new(9, 0));
    assert_eq!(idesc(&Multiply { features: sm_100a, ..block16 }, k96), [Check::K96]);
    let sm_103a = Features::of(Target::a(103), PtxVersion::new(9, 0));
    assert_eq!(idesc(&Multiply { features: sm_103a, ..block16 }, k96), []);
    let pair = Multiply { cta_group: Some(CtaGroup::Two), ..block16 };
    assert_eq!(idesc(&pair, k96), [Check::Shape]);
}

#[test]
fn unknown_bits_are_not_judged() {
    let wrong = BF16 | 1 << 6 | 7 << 7 | 1 << 2 | 1 << 3 | 33 << 17 | 1 << 30;
    let f16 = dense(Kind::F16);
    assert_eq!(idesc_check::check(&f16, Known::new(0, u64::from(wrong))), []);
    // Half of the type's bits say nothing; a reserved bit speaks for itself.
    let known = Known::new(3 << 7 | 1 << 29, u64::from(wrong | 1 << 29));
    assert_eq!(checks(&idesc_check::check(&f16, known)), [Check::ReservedBits]);
    let smem = shared_memory::check(&Matrix::any(Features::ANY), Known::new(0xFFFF_FFFF, 0x0001_0040));
    assert_eq!(smem, []);
}

#[test]
fn smem_problems() {
    const GOOD: u64 = 0x4000_4040_0001_0040;
    let check = |matrix: &Matrix, word: u64| checks(&shared_memory::check(matrix, word.into()));
    let any = Matrix::any(Features::ANY);
    assert_eq!(check(&any, GOOD), []);
    for bit in [14, 15, 30, 31, 46, 47, 48, 53, 60] {
        assert_eq!(check(&any, GOOD ^ 1 << bit), [Check::FixedBits], "{bit}");
    }
    let wide = Matrix::any(Features { wide_addresses: true, ..Features::ANY });
    for bit in [14, 30, 53] {
        assert_eq!(check(&wide, GOOD ^ 1 << bit), [], "{bit}");
    }
    for mode in 0..8 {
        let expected = if matches!(mode, 3 | 5 | 7) { vec![Check::Swizzle] } else { vec![] };
        assert_eq!(check(&any, GOOD & !(7 << 61) | mode << 61), expected, "{mode}");
    }
    let absolute = GOOD | 1 << 52;
    assert_eq!(check(&any, absolute), []);
    assert_eq!(check(&any, absolute | 1 << 49), [Check::AbsoluteStride]);
    assert_eq!(check(&any, absolute & !(7 << 61)), [Check::AbsoluteStride]);
    assert_eq!(check(&Matrix { transposed: Some(true), ..any }, absolute), [Check::AbsoluteStride]);
    let sm_100a = Features::of(Target::a(100), PtxVersion::new(9, 0));
    assert_eq!(check(&Matrix::any(sm_100a), absolute), [Check::AbsoluteStride]);
    // Never wrong: any LBO, no SBO, a base offset without swizzling.
    assert_eq!(check(&any, 0x0002_4000_0000_0040 & !(1 << 49) | 1 << 46), []);
    let transposed = |bits| Matrix { transposed: Some(true), element_bits: Some(bits), ..any };
    assert_eq!(check(&transposed(32), GOOD), [Check::SwizzleType]);
    assert_eq!(check(&transposed(16), GOOD), []);
    let atoms = GOOD & !(7 << 61) | 1 << 61;
    assert_eq!(check(&transposed(32), atoms), []);
    assert_eq!(check(&transposed(16), atoms), [Check::SwizzleType]);
    assert_eq!(check(&Matrix { transposed: Some(false), element_bits: Some(16), ..any }, atoms), []);
}

#[test]
fn zero_column_mask_problems() {
    let check = |m, word: u64| checks(&zero_column_mask::check(m, word.into()));
    for bit in [36, 37, 38, 62, 63] {
        assert_eq!(check(None, 1 << bit), [Check::ZeroColumnMask], "{bit}");
    }
    assert_eq!(check(None, 32 << 56), []);
    assert_eq!(check(None, 33 << 56), [Check::ZeroColumnMask]);
    assert_eq!(check(Some(32), 16 << 56), []);
    assert_eq!(check(Some(32), 17 << 56), [Check::ZeroColumnMask]);
}

#[test]
fn tensor_memory_addresses() {
    assert_eq!(TensorMemoryAddress { lane: 16, column: 32 }.encode(), Ok(0x0010_0020));
    assert_eq!(TensorMemoryAddress::from_bits(0x0010_0020), TensorMemoryAddress { lane: 16, column: 32 });
    assert!(TensorMemoryAddress { lane: 128, column: 0 }.encode().is_err());
    assert!(TensorMemoryAddress { lane: 0, column: 512 }.encode().is_err());
}

/// What the kernels of `fixtures/kernels` and their compilers hold right is right.
#[test]
fn words_of_real_kernels_have_no_problems() {
    let (mut instructions, mut matrices) = (0, 0);
    for line in include_str!("../../../../fixtures/descriptors/kernels.tsv").lines().skip(1) {
        let [descriptor, instruction, value, target] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let word = u64::from_str_radix(value.trim_start_matches("0x"), 16).unwrap();
        let features = Features::of(target.parse().unwrap(), PtxVersion::new(9, 0));
        if descriptor == "smem" {
            // The address in the low word comes at run time.
            let known = Known::new(0xFFFF_FFFF << 32, word);
            assert_eq!(shared_memory::check(&Matrix::any(features), known), [], "{line}");
            matrices += 1;
            continue;
        }
        let words: Vec<&str> = instruction.split('.').collect();
        let multiply = Multiply {
            kind: words.iter().find_map(|word| word.parse().ok()).unwrap(),
            ws: Some(words.contains(&"ws")),
            cta_group: words.iter().find_map(|word| word.parse().ok()),
            sparse: Some(words.contains(&"sp")),
            ashift: words.contains(&"ashift"),
            scale_vector_size: words.iter().find_map(|word| word.parse().ok()),
            features,
        };
        assert!(multiply.cta_group.is_some());
        assert_eq!(idesc_check::check(&multiply, Known::from(word as u32)), [], "{line}");
        instructions += 1;
    }
    assert!(instructions > 100 && matrices > 10, "{instructions} {matrices}");
}

#[test]
fn facts_of_a_word() {
    let facts = idesc_check::facts(Kind::F16, Generation::Blackwell, (BF16 | 1 << 16).into());
    assert_eq!((facts.m, facts.n, facts.k), (Some(128), Some(256), None));
    assert_eq!((facts.transpose_a, facts.transpose_b, facts.sparse), (Some(false), Some(true), Some(false)));
    assert_eq!((facts.a, facts.b), (Some(ElementType::Bf16), Some(ElementType::Bf16)));
    let unknown = idesc_check::facts(Kind::F16, Generation::Blackwell, Known::new(0, 0));
    assert_eq!(unknown, idesc_check::Facts::default());
}
