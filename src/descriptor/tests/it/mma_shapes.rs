//! Table 39, transcribed a second time and independently, against the table of the library.

use ptx_descriptor::idesc_check::{self, Multiply};
use ptx_descriptor::{Check, Features};
use ptx_isa::datapath;
use ptx_isa::mma_shapes::{self, Variant};
use ptx_isa::targets::{PtxVersion, Target};
use ptx_isa::vocabulary::{CtaGroup, Kind};
use strum::IntoEnumIterator;

/// What the table says of one variant: the values of M, whether N is one, and K.
///
/// Written as conditions where the library has rows, so that a slip in one shows in the other.
fn supported(kind: Kind, ws: bool, pair: bool, sparse: bool, m: u32, n: u32) -> bool {
    let fp4 = matches!(kind, Kind::Mxf4 | Kind::Mxf4nvf4);
    let scaled = fp4 || kind == Kind::Mxf8f6f4;
    if ws {
        // Invalid for two CTAs and for the kinds that scale.
        return !pair
            && !scaled
            && [32, 64, 128].contains(&m)
            && (n == 64 || n == 128 || (n == 256 && !sparse));
    }
    let m_fits = match (scaled, pair) {
        (false, false) => m == 64 || m == 128,
        (false, true) => m == 128 || m == 256,
        (true, false) => m == 128,
        (true, true) => m == 256 || (m == 128 && !sparse),
    };
    let n_fits = (1..=256).contains(&n)
        && match (kind, pair) {
            (Kind::I8, false) => n == 8 || n == 24 || n.is_multiple_of(16),
            (Kind::I8 | Kind::Ti16, true) => n.is_multiple_of(32),
            (Kind::Ti16, false) if m == 128 => n.is_multiple_of(16),
            (_, false) => n.is_multiple_of(8),
            (_, true) => n.is_multiple_of(16),
        };
    m_fits && n_fits
}

/// K of the dense multiply of a kind; a sparse one has twice that.
fn dense_k(kind: Kind) -> u32 {
    match kind {
        Kind::Tf32 => 8,
        Kind::F16 | Kind::Ti16 => 16,
        Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 => 32,
        Kind::Mxf4 | Kind::Mxf4nvf4 => 64,
    }
}

fn variants() -> impl Iterator<Item = Variant> {
    Kind::iter().flat_map(|kind| {
        [false, true].into_iter().flat_map(move |ws| {
            [CtaGroup::One, CtaGroup::Two].into_iter().flat_map(move |cta_group| {
                [false, true].into_iter().map(move |sparse| Variant { kind, ws, cta_group, sparse })
            })
        })
    })
}

#[test]
fn table_39_row_by_row() {
    let mut valid = 0;
    for variant in variants() {
        let Variant { kind, ws, cta_group, sparse } = variant;
        let pair = cta_group == CtaGroup::Two;
        let k = dense_k(kind) * if sparse { 2 } else { 1 };
        assert_eq!(mma_shapes::k(kind, sparse), Some(k), "{variant:?}");
        let ms = mma_shapes::allowed_m(variant, Some(k));
        for m in 0..=320 {
            let any_n = (0..=320).any(|n| supported(kind, ws, pair, sparse, m, n));
            assert_eq!(ms.contains(&m), any_n, "{variant:?} M = {m}");
            let ns = mma_shapes::allowed_n(variant, Some(m), Some(k));
            for n in 0..=320 {
                let expected = supported(kind, ws, pair, sparse, m, n);
                assert_eq!(ns.contains(&n), expected, "{variant:?} M = {m}, N = {n}");
                valid += u32::from(expected);
            }
        }
    }
    // Counted by hand, so that an empty table would not do.
    assert_eq!(valid, 1219);
}

/// The same walk through the validation of words, for every type of D that the kind has.
#[test]
fn words_have_the_shapes_of_table_39() {
    for variant in variants() {
        let Variant { kind, ws, cta_group, sparse } = variant;
        let pair = cta_group == CtaGroup::Two;
        let multiply = Multiply {
            ws: Some(ws),
            cta_group: Some(cta_group),
            sparse: Some(sparse),
            ..Multiply::any(kind, Features::ANY)
        };
        let impossible = mma_shapes::allowed_m(variant, None).is_empty();
        let (shift, step) = if kind.is_block_scaled() { (27, 128) } else { (24, 16) };
        let dtypes: &[u32] = match kind {
            Kind::F16 | Kind::F8f6f4 => &[0, 1],
            Kind::Tf32 => &[1],
            Kind::I8 | Kind::Ti16 => &[2],
            // Bits 4-5 are a scale factor id.
            Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4 => &[0],
        };
        for &dtype in dtypes {
            for m in (0..=3 * 128).step_by(step).filter(|m| m / step < 32) {
                for n in (0..=504).step_by(8) {
                    let word =
                        ((m / step) as u32) << shift | (n / 8) << 17 | dtype << 4 | u32::from(sparse) << 2;
                    let problems = idesc_check::check(&multiply, word.into());
                    let shape = problems.iter().any(|problem| problem.check == Check::Shape);
                    // An impossible combination of qualifiers is for other checks to report.
                    let expected = !impossible && !supported(kind, ws, pair, sparse, m as u32, n);
                    assert_eq!(shape, expected, "{variant:?} M = {m}, N = {n}");
                }
            }
        }
    }
}

/// K = 96: errata E10 and E11.
#[test]
fn k_96() {
    for kind in Kind::iter() {
        for cta_group in [CtaGroup::One, CtaGroup::Two] {
            let variant = Variant { kind, ws: false, cta_group, sparse: false };
            let fp4 = matches!(kind, Kind::Mxf4 | Kind::Mxf4nvf4);
            let expected: &[u32] = match (fp4, cta_group) {
                (true, CtaGroup::One) => &[128],
                (true, CtaGroup::Two) => &[256],
                (false, _) => &[],
            };
            assert_eq!(mma_shapes::allowed_m(variant, Some(96)), expected);
            let sparse = Variant { sparse: true, ..variant };
            assert!(mma_shapes::allowed_m(sparse, Some(96)).is_empty());
        }
    }
    for target in [Target::a(100), Target::f(100), Target::f(103), Target::f(107), Target::a(110)] {
        assert!(!Features::of(target, PtxVersion::LATEST).k96, "{target}");
    }
    for target in [Target::a(103), Target::a(107)] {
        assert!(Features::of(target, PtxVersion::LATEST).k96, "{target}");
    }
}

#[test]
fn sizes_are_written_as_people_write_them() {
    assert_eq!(mma_shapes::list(&[]), "none");
    assert_eq!(mma_shapes::list(&[128]), "128");
    assert_eq!(mma_shapes::list(&[64, 128]), "64 or 128");
    assert_eq!(mma_shapes::list(&[32, 64, 128]), "32, 64 or 128");
    let i8 = Variant { kind: Kind::I8, ws: false, cta_group: CtaGroup::One, sparse: false };
    assert_eq!(
        mma_shapes::list(&mma_shapes::allowed_n(i8, None, None)),
        "8, 16, 24 or 32 to 256 in steps of 16"
    );
    let f16 = Variant { kind: Kind::F16, ..i8 };
    assert_eq!(mma_shapes::list(&mma_shapes::allowed_n(f16, None, None)), "8 to 256 in steps of 8");
}

/// The table of 9.7.16.10.5, by letter.
#[test]
fn datapath_layouts() {
    const FULL: &[u32] = &[0];
    const HALF: &[u32] = &[0, 16];
    let lanes = |m, cta_group, sparse, ws| {
        datapath::layout(m, cta_group, sparse, ws).map(|layout| (layout.id, layout.lanes))
    };
    for sparse in [false, true] {
        assert_eq!(lanes(32, CtaGroup::One, sparse, true), Some(('G', FULL)));
        assert_eq!(lanes(64, CtaGroup::One, sparse, true), Some(('E', FULL)));
        assert_eq!(lanes(64, CtaGroup::One, sparse, false), Some(('F', HALF)));
        assert_eq!(lanes(128, CtaGroup::One, sparse, false), Some(('D', FULL)));
        assert_eq!(lanes(256, CtaGroup::Two, sparse, false), Some(('A', FULL)));
        assert_eq!(lanes(256, CtaGroup::One, sparse, false), None);
    }
    assert_eq!(lanes(128, CtaGroup::Two, false, false), Some(('B', FULL)));
    assert_eq!(lanes(128, CtaGroup::Two, true, false), Some(('C', HALF)));
}
