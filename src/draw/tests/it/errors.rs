//! What cannot be drawn says why.

use ptx_descriptor::Features;
use ptx_draw::copies::{self, Copied};
use ptx_draw::mma::{self, Multiply, Shown};
use ptx_draw::opcode::Words;
use ptx_draw::registers::{self, Moved};
use ptx_draw::smem::{self, Operand};
use ptx_draw::window::{Numbers, Window};
use ptx_isa::element_types::ElementType;
use ptx_isa::vocabulary::{CpShape, CtaGroup, Kind, LdShape, Num, Operation};

const MULTIPLY: Multiply = Multiply {
    kind: Kind::F16,
    cta_group: CtaGroup::One,
    ws: false,
    sparse: false,
    m: 128,
    n: 128,
    k: None,
    a: None,
    scale_vector_size: None,
    scale_ids: (0, 0),
    selector: 0,
    lane: 0,
};

const OPERAND: Operand = Operand {
    word: 0x4000_4040_0001_0040,
    features: Features::ANY,
    element: ElementType::F16,
    kind: Kind::F16,
    is_k_major: true,
    rows: None,
    columns: None,
    access: None,
};

fn said<T: std::fmt::Debug>(result: Result<T, ptx_draw::DrawError>) -> String {
    let error = result.unwrap_err();
    format!("{error}; {}", error.help.clone().unwrap_or_default())
}

#[test]
fn multiplies_that_do_not_exist() {
    let draw = |multiply: Multiply| said(mma::picture(&multiply, None, &Window::default()));
    assert_eq!(draw(Multiply { m: 100, ..MULTIPLY }), "M cannot be 100 here; M is 64 or 128");
    assert_eq!(draw(Multiply { n: 12, ..MULTIPLY }), "N cannot be 12 here; N is 8 to 256 in steps of 8");
    assert_eq!(
        draw(Multiply { n: u32::MAX, ..MULTIPLY }),
        "N cannot be 4294967295 here; N is 8 to 256 in steps of 8"
    );
    assert_eq!(draw(Multiply { k: Some(0), ..MULTIPLY }), "K cannot be 0 here; K is 16");
    assert_eq!(draw(Multiply { lane: 16, ..MULTIPLY }), "the lane cannot be 16 here; the lane is 0");
    assert!(
        draw(Multiply { kind: Kind::Mxf4, ws: true, ..MULTIPLY })
            .starts_with("there is no weight-stationary")
    );
    assert!(
        draw(Multiply { kind: Kind::Mxf4nvf4, ..MULTIPLY }).starts_with("`.kind::mxf4nvf4` needs a scale")
    );
    let ids = Multiply { kind: Kind::Mxf4, scale_ids: (1, 0), ..MULTIPLY };
    assert_eq!(draw(ids), "sfa-id cannot be 1 here; sfa-id is 0 or 2");
    let show = |shown: Shown| said(mma::picture(&MULTIPLY, Some(shown), &Window::default()));
    assert!(show(Shown::A).starts_with("A lies in shared memory"));
    assert!(show(Shown::Metadata).starts_with("a dense multiply has no metadata"));
    assert!(show(Shown::ScalesB).contains("has no scale factors"));
}

#[test]
fn windows_that_show_nothing_or_too_much() {
    let draw = |n: u32, window: Window| said(mma::picture(&Multiply { n, ..MULTIPLY }, None, &window));
    assert!(draw(256, Window::ALL).starts_with("32768 cells are more than a picture shows"));
    let none = Window { lanes: Some(128..130), columns: None };
    assert_eq!(draw(128, none), "there is no lane 128; the lanes are 0 to 127");
    let none = Window { lanes: None, columns: Some(4_000_000_000..4_000_000_001) };
    assert_eq!(draw(128, none), "there is no column 4000000000; the columns are 0 to 127");
    assert_eq!("0-31".parse(), Ok(Numbers(0..32)));
    assert_eq!("7".parse(), Ok(Numbers(7..8)));
    for wrong in ["", "-", "3-", "5-4", "x", "0-4294967295", "99999999999"] {
        assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
    }
}

#[test]
fn descriptors_that_say_no_place() {
    let draw = |operand: Operand| said(smem::picture(&operand));
    assert!(draw(Operand { word: 3 << 61, ..OPERAND }).contains("3, which is no swizzling mode"));
    assert!(draw(Operand { word: 1 << 52, ..OPERAND }).contains("cannot be an address here"));
    assert!(draw(Operand { rows: Some(0), ..OPERAND }).contains("without rows"));
    let huge = Operand { rows: Some(u32::MAX), columns: Some(u32::MAX), ..OPERAND };
    assert!(draw(huge).contains("more than a picture shows"));
    // A stride of 256 KiB less 16 from the first group to the second.
    let far = Operand { word: 0x4000_7FFF_0001_3FFF, rows: Some(16), ..OPERAND };
    assert!(draw(far).contains("past all shared memory"));
    // Whatever the word is, there is an answer.
    for seed in 0..4096_u64 {
        let word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for is_k_major in [false, true] {
            let _ = smem::picture(&Operand { word, is_k_major, ..OPERAND });
        }
    }
}

#[test]
fn instructions_that_do_not_exist() {
    let moved = |shape, num| Moved { shape, num, packed: false, store: false, split: None };
    let draw = |shape, num| said(registers::picture(&moved(shape, num), &Window::default()));
    assert_eq!(
        draw(LdShape::S16x256b, Num::X64),
        "`.16x256b` has no `.x64`: a thread has at most 128 registers; the largest is `.x32`"
    );
    let copy = |shape, multicast| Copied { shape, multicast, decompressed: None, cta_group: CtaGroup::One };
    let draw = |copied| said(copies::picture(&copied, &Window::default()));
    assert!(
        draw(copy(CpShape::S64x128b, None)).starts_with("`.64x128b` needs a multicast; add `.warpx2::02_13`")
    );
    let warpx4 = Some(ptx_isa::vocabulary::WarpMulticast::Warpx4);
    assert_eq!(draw(copy(CpShape::S128x128b, warpx4)), "`.128x128b` has no `.warpx4`; leave it out");
}

#[test]
fn statements_are_read() {
    let words = |text: &str| Words::of_statement(text);
    let moved = |text: &str| words(text).unwrap().moved(None).unwrap();
    let ld = moved("tcgen05.ld.sync.aligned.16x256b.x4.b32");
    assert_eq!((ld.shape, ld.num, ld.packed, ld.store), (LdShape::S16x256b, Num::X4, false, false));
    let st = moved("@!p tcgen05.st.sync.aligned.16x64b.x2.unpack::16b.b32 [taddr], {r0, r1};");
    assert_eq!((st.shape, st.num, st.packed, st.store), (LdShape::S16x64b, Num::X2, true, true));
    let cp = words("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16.b6x16_p32 [taddr], desc;");
    let cp = cp.unwrap().copied().unwrap();
    assert_eq!((cp.cta_group, cp.decompressed), (CtaGroup::Two, Some(6)));
    let mma = words("tcgen05.mma.ws.sp.cta_group::1.kind::i8").unwrap().multiply().unwrap();
    assert_eq!((mma.kind, mma.ws, mma.sparse), (Some(Kind::I8), true, true));
    assert!(said(words("mov.b32 a, b;")).starts_with("this is no instruction of tcgen05"));
    assert_eq!(said(words("tcgen05.load.x4")), "there is no `tcgen05.load`; ");
    assert!(said(words("tcgen05.ld.16x512b.x4")).starts_with("`16x512b` is no word of tcgen05"));
    assert!(said(words("tcgen05.ld.x4").unwrap().moved(None)).starts_with("`tcgen05.ld` needs a shape"));
    let twice = Words::new(Operation::Ld, ["16x64b", "32x32b"].into_iter());
    assert_eq!(said(twice), "`.16x64b` and `.32x32b` exclude each other; ");
}
