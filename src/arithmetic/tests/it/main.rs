//! What instructions compute, where the ISA says it in so many words.

use ptx_arithmetic::known_bits::{Known, KnownBits};
use ptx_arithmetic::{Lanes, Special};
use ptx_isa::generic::{Operation, Role};
use ptx_resolve::operations::Opcode;

/// What an instruction writes in lane 0, the sources being the same in all lanes.
fn compute(opcode: &str, sources: &[u64], destinations: usize) -> Vec<u64> {
    let arithmetic = Opcode::new(opcode).arithmetic().unwrap().unwrap();
    let sources: Vec<Lanes> = sources.iter().map(|value| [*value; 32]).collect();
    let mut results = vec![[0xDEAD_BEEF; 32]; destinations];
    arithmetic.execute(
        u32::MAX,
        &sources.iter().collect::<Vec<_>>(),
        &mut results.iter_mut().collect::<Vec<_>>(),
    );
    results.iter().map(|lanes| lanes[0]).collect()
}

/// What is no finite number is told where it is made, not where it is passed on.
#[test]
fn specials_are_told_where_they_are_made() {
    const ONE: u64 = 0x3F80_0000;
    const LARGE: u64 = 0x7F00_0000;
    const INFINITE: u64 = 0x7F80_0000;
    const NAN: u64 = 0x7FC0_0000;
    for (opcode, sources, expected) in [
        ("mul.f32", &[LARGE, LARGE][..], Some(Special::Infinity)),
        ("mul.f32", &[ONE, LARGE], None),
        ("mul.f32", &[INFINITE, ONE], None),
        ("mul.f32", &[INFINITE, 0], Some(Special::Nan)),
        ("sub.f32", &[INFINITE, INFINITE], Some(Special::Nan)),
        ("sub.f32", &[NAN, INFINITE], None),
        ("fma.rn.f32", &[LARGE, LARGE, ONE], Some(Special::Infinity)),
        ("div.rn.f32", &[0, 0], Some(Special::Nan)),
        ("rcp.approx.f32", &[0], Some(Special::Infinity)),
        ("lg2.approx.f32", &[0], Some(Special::Infinity)),
        ("ex2.approx.f32", &[LARGE], Some(Special::Infinity)),
        ("ex2.approx.f32", &[INFINITE | 1 << 31], None),
        ("max.f32", &[INFINITE | 1 << 31, ONE], None),
        ("add.f16x2", &[0x7BFF_0000, 0x7BFF_0000], Some(Special::Infinity)),
        ("cvt.rn.f16.f32", &[LARGE], Some(Special::Infinity)),
        ("cvt.rn.f16x2.f32", &[ONE, LARGE], Some(Special::Infinity)),
        ("cvt.rn.satfinite.e4m3x2.f32", &[ONE, LARGE], None),
        ("cvt.rni.s32.f32", &[LARGE], None),
        ("testp.infinite.f32", &[INFINITE], None),
        ("add.s32", &[INFINITE, 1], None),
    ] {
        let arithmetic = Opcode::new(opcode).arithmetic().unwrap().unwrap();
        let registers: Vec<Lanes> = sources.iter().map(|value| [*value; 32]).collect();
        let operands: Vec<&Lanes> = registers.iter().collect();
        let mut result = [0; 32];
        arithmetic.execute(0x30, &operands, &mut [&mut result]);
        let made = arithmetic.makes_special(0x30, &operands, &[result]);
        assert_eq!(made, expected.map(|special| (4, special)), "{opcode} {sources:x?}");
    }
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
    let arithmetic = Opcode::new("vote.sync.ballot.b32").arithmetic().unwrap().unwrap();
    let mut result = [7; 32];
    arithmetic.execute(0b1010, &[&[1; 32], &[0xFFFF_FFFF; 32]], &mut [&mut result]);
    assert_eq!(result[..4], [7, 0b1010, 7, 0b1010]);
}

#[test]
fn shuffles_stay_in_their_segment() {
    let arithmetic = Opcode::new("shfl.sync.bfly.b32").arithmetic().unwrap().unwrap();
    let lanes: Lanes = std::array::from_fn(|lane| lane as u64);
    let (mut value, mut is_in_range) = ([0; 32], [0; 32]);
    let sources = [&lanes, &[8; 32], &[0x001F; 32], &[0xFFFF_FFFF; 32]];
    arithmetic.execute(u32::MAX, &sources, &mut [&mut value, &mut is_in_range]);
    assert_eq!((value[0], is_in_range[0]), (8, 1));
    let sources = [&lanes, &[8; 32], &[0x181F; 32], &[0xFFFF_FFFF; 32]];
    arithmetic.execute(u32::MAX, &sources, &mut [&mut value, &mut is_in_range]);
    assert_eq!((value[0], is_in_range[0]), (0, 0));
}

/// What no GPU has been asked about: forms that Hopper does not have.
#[test]
fn narrow_numbers() {
    let float = |value: f32| u64::from(value.to_bits());
    let [quarter, three, many, minus] = [0.25, 3.0, 1e9, -0.75].map(float);
    for (opcode, sources, expected) in [
        // 4 bits: 6 is the largest, 0.25 is half of the smallest, and 0.75 is between 0.5 and 1.
        ("cvt.rn.satfinite.e2m1x2.f32", &[many, quarter][..], 0x70),
        ("cvt.rn.satfinite.e2m1x2.f32", &[minus, three], 0xA5),
        ("cvt.rn.satfinite.relu.e2m1x2.f32", &[minus, three], 0x05),
        ("cvt.rn.satfinite.e3m2x2.f32", &[many, three], 0x1F12),
        ("cvt.rn.satfinite.e2m3x2.f32", &[many, minus], 0x1F26),
        ("cvt.rz.satfinite.ue8m0x2.f32", &[many, three], 0x9C80),
        ("cvt.rp.satfinite.ue8m0x2.f32", &[quarter, three], 0x7D81),
        ("cvt.rn.f16x2.e2m1x2", &[0xA5], 0xBC00_4200),
        ("cvt.rn.bf16x2.ue8m0x2", &[0x7F80], 0x3F80_4000),
        ("cvt.rn.satfinite.e4m3x2.bf16x2", &[0x4040_BF40], 0x44B4),
        // Below the last bit that stays: half of it and as much again from the random bits.
        ("cvt.rs.bf16x2.f32", &[0x3F80_8000, 0x3F80_8000, 0x8000_7FFF], 0x3F81_3F80),
        ("add.rn.f32x2", &[three << 32 | quarter, quarter << 32 | three], float(3.25) << 32 | float(3.25)),
        ("add.f32.f16", &[0x4200, quarter], float(3.25)),
        ("fma.rn.f32.bf16", &[0x4040, 0x4040, quarter], float(9.25)),
        ("max.f32", &[quarter, three, many], many),
    ] {
        assert_eq!(compute(opcode, sources, 1), [expected], "{opcode} {sources:x?}");
    }
}

#[test]
fn what_is_no_arithmetic_is_not_computed() {
    for opcode in
        ["ld.global.b32", "bra", "mbarrier.init.b64", "tcgen05.ld.sync.aligned.32x32b.x1.b32", "nothing"]
    {
        assert!(Opcode::new(opcode).arithmetic().is_none(), "{opcode}");
    }
    let refused = Opcode::new("sin.approx.2pi.f32").arithmetic().unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "Sin: it is not computed yet");
}

/// Whatever is known of the sources, what the domain of known bits says of the result is what the machine computes,
/// for every number that the sources can be.
#[test]
fn known_bits_are_those_that_the_machine_computes() {
    let mut random = 7_u64;
    let mut next = || {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        random ^ random >> 29
    };
    let (mut judged, mut known) = (0_u64, 0_u64);
    for row in ptx_isa::generic::rows() {
        for _ in 0..200 {
            let mut text = row.name().to_owned();
            for group in row.modifiers {
                if group.required || next() % 3 == 0 {
                    text.push('.');
                    text += &group.words[next() as usize % group.words.len()].spelling();
                }
            }
            let opcode = Opcode::new(&text);
            let Some(Ok(arithmetic)) = opcode.arithmetic() else { continue };
            if !arithmetic.is_followed() || arithmetic.is_exchange() {
                continue;
            }
            // The carry flag is no operand.
            let carries = [Operation::AddCarryIn, Operation::SubBorrowIn, Operation::MadCarryIn];
            let sources = opcode.slots.iter().filter(|slot| slot.role != Role::Destination).count()
                + usize::from(carries.contains(&row.operation));
            let results = if row.operation == Operation::Lop3Predicate { 2 } else { 1 };
            // Shifts, fields and small numbers are met more often than chance has it.
            let mut bits = || match next() % 4 {
                0 => next() % 70,
                1 => next() & 0xFFFF_0000_FFFF,
                _ => next(),
            };
            let numbers: Vec<u64> = (0..sources).map(|_| bits()).collect();
            let masks: Vec<u64> = (0..sources)
                .map(|_| match next() % 4 {
                    0 => u64::MAX,
                    1 => next() | 0xFFFF_FF00,
                    2 => next() & next(),
                    _ => next(),
                })
                .collect();
            let values: Vec<Known> =
                numbers.iter().zip(&masks).map(|(bits, mask)| Known::new(*mask, *bits)).collect();
            let result = arithmetic.transfer(&mut KnownBits, &values, 0, results);
            let width = arithmetic.result_bits(0, results);
            let claimed = result.mask & (u64::MAX >> (64 - width));
            for _ in 0..8 {
                let full: Vec<u64> =
                    numbers.iter().zip(&masks).map(|(bits, mask)| bits & mask | next() & !mask).collect();
                let computed = compute(&text, &full, results)[0];
                let wrong = (computed ^ result.value) & claimed;
                assert_eq!(
                    wrong, 0,
                    "{text} of {full:x?} is {computed:#x}, claimed {result:x?} of {values:x?}"
                );
                judged += u64::from(width);
                known += u64::from(claimed.count_ones());
            }
        }
    }
    assert!(judged > 1_000_000 && known * 6 > judged, "{known} of {judged} bits are known");
}

/// Any operands for any opcode that the table has: nothing panics.
#[test]
fn operands_that_do_not_fit_do_no_harm() {
    let lanes: Lanes = std::array::from_fn(|lane| 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(lane as u64));
    let mut random = 1_usize;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (random >> 33) % bound
    };
    let mut computed = 0;
    for row in ptx_isa::generic::rows() {
        for _ in 0..300 {
            let mut text = row.name().to_owned();
            for group in row.modifiers {
                if group.required && below(20) > 0 || below(2) == 0 {
                    text.push('.');
                    text += &group.words[below(group.words.len())].spelling();
                }
            }
            let Some(Ok(arithmetic)) = Opcode::new(&text).arithmetic() else { continue };
            for (sources, destinations) in [(0, 1), (1, 0), (1, 1), (2, 2), (3, 1), (5, 3)] {
                let mut results = vec![[0; 32]; destinations];
                let mut results: Vec<&mut Lanes> = results.iter_mut().collect();
                arithmetic.execute(0xFFFF_0001, &vec![&lanes; sources], &mut results);
                arithmetic.widened(8).execute(u32::MAX, &vec![&[u64::MAX; 32]; sources], &mut results);
                for known in [Known::new(0, 0), Known::new(0xFFFF, 0x1234), Known::from(u64::MAX)] {
                    arithmetic.transfer(
                        &mut KnownBits,
                        &vec![known; sources],
                        destinations.saturating_sub(1),
                        destinations,
                    );
                }
                computed += 1;
            }
        }
    }
    assert!(computed > 100_000, "{computed}");
}
