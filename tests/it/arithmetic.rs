//! What instructions compute, where the ISA says it in so many words.

use ptx_tc::resolve::operations::Opcode;
use ptx_tc::simulation::arithmetic::{Arithmetic, Lanes};

/// What an instruction writes in lane 0, the sources being the same in all lanes.
fn compute(opcode: &str, sources: &[u64], destinations: usize) -> Vec<u64> {
    let arithmetic = Arithmetic::of(&Opcode::new(opcode)).unwrap().unwrap();
    let sources: Vec<Lanes> = sources.iter().map(|value| [*value; 32]).collect();
    let mut results = vec![[0xDEAD_BEEF; 32]; destinations];
    arithmetic.execute(
        u32::MAX,
        &sources.iter().collect::<Vec<_>>(),
        &mut results.iter_mut().collect::<Vec<_>>(),
    );
    results.iter().map(|lanes| lanes[0]).collect()
}

#[test]
fn integers() {
    for (opcode, sources, expected) in [
        ("add.s32", &[0xFFFF_FFFF, 2][..], 1),
        ("add.sat.s32", &[0x7FFF_FFFF, 2], 0x7FFF_FFFF),
        ("add.u16x2", &[0xFFFF_0001, 0x0001_0001], 2),
        ("sub.u16", &[0, 1], 0xFFFF),
        ("mul.wide.s16", &[0xFFFF, 3], 0xFFFF_FFFD),
        ("mul.wide.u32", &[0xFFFF_FFFF, 0xFFFF_FFFF], 0xFFFF_FFFE_0000_0001),
        ("mul.hi.u64", &[u64::MAX, u64::MAX], u64::MAX - 1),
        ("mul.hi.s64", &[u64::MAX, 1], u64::MAX),
        ("mad.lo.u32", &[7, 6, 0xFFFF_FFFF], 41),
        ("mad24.lo.s32", &[0xFF_FFFF, 2, 0], 0xFFFF_FFFE),
        ("sad.u32", &[3, 10, 1], 8),
        ("max.relu.s32", &[0xFFFF_FFFF, 0xFFFF_FFFE], 0),
        ("popc.b64", &[u64::MAX], 64),
        ("clz.b32", &[1], 31),
        ("bfind.s32", &[0xFFFF_FFFE], 0),
        ("bfind.shiftamt.u32", &[1], 31),
        ("bfe.s32", &[0x0000_0F00, 8, 4], 0xFFFF_FFFF),
        ("bfe.u32", &[0x0000_0F00, 4, 8], 0xF0),
        ("bfi.b32", &[0xA, 0, 4, 4], 0xA0),
        ("dp4a.s32.u32", &[0xFF, 2, 0], 0xFFFF_FFFE),
        ("shf.l.wrap.b32", &[0x8000_0000, 1, 33], 3),
        ("shr.s16", &[0x8000, 99], 0xFFFF),
        ("shl.b32", &[1, 32], 0),
        ("prmt.b32", &[0x3322_1180, 0x7766_5544, 0x0008], 0x8080_80FF),
        ("lop3.b32", &[0xFF00, 0xF0F0, 0xCCCC, 0xE8], 0xFCC0),
    ] {
        assert_eq!(compute(opcode, sources, 1), [expected], "{opcode} {sources:x?}");
    }
}

#[test]
fn carries() {
    assert_eq!(compute("add.cc.u32", &[0xFFFF_FFFF, 1], 2), [0, 1]);
    assert_eq!(compute("addc.u32", &[1, 2, 1], 1), [4]);
    assert_eq!(compute("sub.cc.u32", &[0, 1], 2), [0xFFFF_FFFF, 1]);
    assert_eq!(compute("subc.cc.u32", &[0, 0, 1], 2), [0xFFFF_FFFF, 1]);
    assert_eq!(compute("mad.hi.cc.u32", &[0x8000_0000, 2, 0xFFFF_FFFF], 2), [0, 1]);
}

#[test]
fn packing() {
    assert_eq!(compute("mov.b64", &[1, 2], 1), [0x0000_0002_0000_0001]);
    assert_eq!(compute("mov.b32", &[0x0403_0201], 4), [1, 2, 3, 4]);
    assert_eq!(compute("mov.b128", &[1, 2], 2), [1, 2]);
    assert_eq!(compute("mov.pred", &[1], 1), [1]);
}

#[test]
fn comparisons() {
    let nan = u64::from(f32::NAN.to_bits());
    assert_eq!(compute("setp.lt.s32", &[0xFFFF_FFFF, 0], 2), [1, 0]);
    assert_eq!(compute("setp.lt.u32", &[0xFFFF_FFFF, 0], 2), [0, 1]);
    assert_eq!(compute("setp.eq.and.s32", &[1, 1, 0], 2), [0, 0]);
    assert_eq!(compute("setp.ne.f32", &[nan, 0], 2), [0, 1]);
    assert_eq!(compute("setp.neu.f32", &[nan, 0], 1), [1]);
    assert_eq!(compute("setp.gt.f16x2", &[0x3C00_0000, 0], 2), [0, 1]);
    assert_eq!(compute("set.eq.f16.f16", &[0, 0x8000], 1), [0x3C00]);
    assert_eq!(compute("selp.b64", &[5, 6, 0], 1), [6]);
    assert_eq!(compute("slct.f32.s32", &[5, 6, 0x8000_0000], 1), [6]);
}

#[test]
fn an_inactive_lane_keeps_what_it_has() {
    let arithmetic = Arithmetic::of(&Opcode::new("vote.sync.ballot.b32")).unwrap().unwrap();
    let mut result = [7; 32];
    arithmetic.execute(0b1010, &[&[1; 32], &[0xFFFF_FFFF; 32]], &mut [&mut result]);
    assert_eq!(result[..4], [7, 0b1010, 7, 0b1010]);
}

#[test]
fn shuffles_stay_in_their_segment() {
    let arithmetic = Arithmetic::of(&Opcode::new("shfl.sync.bfly.b32")).unwrap().unwrap();
    let lanes: Lanes = std::array::from_fn(|lane| lane as u64);
    let (mut value, mut is_in_range) = ([0; 32], [0; 32]);
    let sources = [&lanes, &[8; 32], &[0x001F; 32], &[0xFFFF_FFFF; 32]];
    arithmetic.execute(u32::MAX, &sources, &mut [&mut value, &mut is_in_range]);
    assert_eq!((value[0], is_in_range[0]), (8, 1));
    let sources = [&lanes, &[8; 32], &[0x181F; 32], &[0xFFFF_FFFF; 32]];
    arithmetic.execute(u32::MAX, &sources, &mut [&mut value, &mut is_in_range]);
    assert_eq!((value[0], is_in_range[0]), (0, 0));
}
