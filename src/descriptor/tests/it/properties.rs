//! Promises that hold for every descriptor and every word.

use proptest::prelude::*;
use ptx_descriptor::field::{Known, Layout};
use ptx_descriptor::idesc_check::{self, Multiply};
use ptx_descriptor::instruction::{Format, InstructionDescriptor};
use ptx_descriptor::shared_memory::{self, Matrix, SharedMemoryDescriptor};
use ptx_descriptor::zero_column_mask::{self, ZeroColumnMask};
use ptx_descriptor::{Features, Generation};
use ptx_isa::element_types::{AccumulatorType, ElementType, ScaleType};
use ptx_isa::targets::{PtxVersion, Target};
use ptx_isa::vocabulary::Kind;
use strum::{IntoEnumIterator, VariantArray};

fn features() -> [Features; 2] {
    [Features::ANY, Features::of(Target::a(107), PtxVersion::new(9, 4))]
}

fn layouts() -> Vec<&'static Layout> {
    let formats = Kind::iter().flat_map(|kind| {
        Generation::iter().flat_map(move |generation| {
            [false, true].map(|sparse| Format { kind, generation, sparse }.layout())
        })
    });
    formats
        .chain([shared_memory::layout(false), shared_memory::layout(true), zero_column_mask::layout()])
        .collect()
}

fn any_descriptor() -> impl Strategy<Value = (InstructionDescriptor, Features)> {
    let choices = (
        prop::sample::select(Kind::VARIANTS),
        prop::sample::select(features().to_vec()),
        prop::sample::select(ElementType::VARIANTS),
        prop::sample::select(ElementType::VARIANTS),
        prop::option::of(prop::sample::select(AccumulatorType::VARIANTS)),
        prop::option::of(prop::sample::select(ScaleType::VARIANTS)),
        prop::option::of(prop::sample::select(vec![32, 64, 96, 128, 192])),
    );
    let numbers = (
        prop::sample::select(vec![32, 64, 128, 256]),
        (0u32..=33).prop_map(|n| 8 * n),
        0u8..4,
        prop::sample::select(vec![0u8, 8, 16, 32]),
        0u8..4,
        0u8..4,
        0u8..2,
    );
    (choices, numbers, any::<[bool; 7]>()).prop_map(
        |(
            (kind, features, a, b, dtype, scale, k),
            (m, n, selector, max_shift, sfa_id, sfb_id, version),
            flags,
        )| {
            let [sparse, saturate, negate_a, negate_b, transpose_a, transpose_b, lanes] = flags;
            let scaled = kind.is_block_scaled();
            let new = InstructionDescriptor::new(kind, features.generation, m, n);
            let fits = |element: ElementType| {
                let layout = Format { kind, generation: features.generation, sparse }.layout();
                layout.field("a").unwrap().choices().contains(&element.name())
            };
            // Steers towards valid ones, or hardly any would be.
            let descriptor = InstructionDescriptor {
                a: if fits(a) { a } else { new.a },
                b: if fits(b) { b } else { new.b },
                dtype: if kind == Kind::F8f6f4 { dtype } else { new.dtype },
                scale: if kind == Kind::Mxf4nvf4 { scale } else { new.scale },
                k: if new.k.is_some() { k } else { None },
                sparse,
                selector: if scaled || sparse { 0 } else { selector },
                saturate: saturate && kind == Kind::I8,
                negate_a: negate_a && kind != Kind::I8,
                negate_b: negate_b && kind != Kind::I8,
                transpose_a: transpose_a && kind == Kind::F16,
                transpose_b: transpose_b && kind == Kind::F16,
                max_shift: if scaled { 0 } else { max_shift },
                sfa_id: if scaled { sfa_id } else { 0 },
                sfb_id: if scaled { sfb_id } else { 0 },
                sparsity_version: if new.k.is_some() && kind != Kind::F8f6f4 { version } else { 0 },
                scale_a_128_lanes: lanes && scaled && features.generation == Generation::Rubin,
                ..new
            };
            (descriptor, features)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn idesc_decodes_what_it_encodes((descriptor, features) in any_descriptor()) {
        let multiply = Multiply::any(descriptor.kind, features);
        if let Ok(word) = descriptor.encode(&multiply) {
            prop_assert_eq!(InstructionDescriptor::decode(&multiply, word), Ok(descriptor));
        }
    }

    #[test]
    fn any_word_decodes_or_says_why(word: u32, kind in prop::sample::select(Kind::VARIANTS), late: bool, known: u32) {
        let multiply = Multiply::any(kind, features()[usize::from(late)]);
        match InstructionDescriptor::decode(&multiply, word) {
            Ok(descriptor) => prop_assert_eq!(descriptor.encode(&multiply), Ok(word)),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(!problem.to_string().is_empty());
                }
            }
        }
        // Half a word is wrong only where the whole is; perhaps for a more telling reason.
        let part = idesc_check::check(&multiply, Known::new(known.into(), word.into()));
        let whole = idesc_check::check(&multiply, word.into());
        for problem in part {
            prop_assert!(
                whole.iter().any(|other| other.field == problem.field || other.check == problem.check),
                "{problem} is no problem of the whole word"
            );
        }
    }

    #[test]
    fn smem_round_trips(word: u64, wide: bool, mend: bool) {
        let matrix = Matrix::any(Features { wide_addresses: wide, ..Features::ANY });
        let layout = shared_memory::layout(wide);
        let word = layout.fields.iter().filter(|field| mend && field.is_fixed())
            .fold(word, |word, field| word & !field.mask()) | if mend { layout.blank() } else { 0 };
        match SharedMemoryDescriptor::decode(&matrix, word) {
            Ok(descriptor) => prop_assert_eq!(descriptor.encode(&matrix), Ok(word)),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }

    #[test]
    fn zero_column_mask_round_trips(word: u64, m in prop::sample::select(vec![None, Some(32), Some(64), Some(128)])) {
        match ZeroColumnMask::decode(m, word & !(7 << 36 | 3 << 62)) {
            Ok(descriptor) => {
                prop_assert_eq!(descriptor.encode(m), Ok(word & !(7 << 36 | 3 << 62)));
                for n in [8, 64, 256] {
                    if let Some(masks) = descriptor.sub_masks(m.unwrap_or(128), n) {
                        prop_assert_eq!(masks.concat().len(), n as usize);
                    }
                }
            }
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }

    #[test]
    fn fields_give_back_what_they_took(word: u64, index in prop::sample::select((0..layouts().len()).collect::<Vec<_>>())) {
        let layout = layouts()[index];
        let word = word & (u64::MAX >> (64 - layout.width));
        let together = layout.values(word).iter().fold(0, |sum, value| sum | value.field.put(value.raw));
        prop_assert_eq!(together, word);
    }
}
