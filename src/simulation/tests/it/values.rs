//! What single instructions compute, seen by kernels that trap if something else comes out: parts of registers, copies
//! that leave something out, and values of which a part is known.

use ptx_simulation::{Schedule, Verdict};

use crate::{buffer, launched, simulate};

/// Runs a body, which traps if it is wrong.
fn run(body: &str) -> Verdict {
    let text = format!(
        ".version 9.4
.target sm_100a
.address_size 64
.global .align 16 .b8 data[16] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
.global .align 16 .b8 there[32];
.visible .entry k(.param .u64 pointer)
.reqntid 32
{{
    .reg .pred p, q, yes, no;
    .reg .b16 h;
    .reg .b32 a, b, c, d, e, lane, unknown;
    .reg .b64 w, x, from, to, out, nothing;
    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b64 bar;

    mov.u32 lane, %laneid;
    setp.eq.u32 yes, lane, lane;
    setp.ne.u32 no, lane, lane;
    mov.u64 from, data;
    mov.u64 to, there;
    ld.param.u64 out, [pointer];
    {body}
    ret;
}}
"
    );
    let report = simulate(&text, Schedule::Early);
    assert!(report.diagnostics.is_empty(), "{body}: {:?}", report.diagnostics);
    report.verdict
}

/// The body computes what it says.
fn holds(body: &str) {
    assert_eq!(run(body), Verdict::Clean, "{body}");
}

/// Whether `d` is a number.
fn is(number: u64) -> String {
    format!("setp.ne.u32 p, d, {number}; @p trap;")
}

/// Instructions of parts of registers: with `a`, `b` and `c`, and what becomes of `d`. An H200 computes the same.
const PARTS: &[(&str, [u32; 3], u32)] = &[
    ("vadd.s32.s32.u32.max d,a.h0,b.b0,c", [0xF9DB_A1DB, 0xF5CB_2AFC, 0xBAC0_D757], 0xFFFF_A2D7),
    ("vadd.u32.u32.s32 d,a,b.h1", [0xE488_B6C8, 0xC68D_EB5D, 0x96FA_BB7B], 0xE488_7D55),
    ("vadd.u32.u32.s32.max d,a.h1,b.h1,c", [0x43CD_C356, 0xB0DD_B48B, 0xF4F6_717C], 0xFFFF_F4AA),
    ("vadd.s32.s32.s32.sat d,a.b0,b.b1", [0xFFFF, 0x3E54_29DF, 0xC82B_12A6], 0x28),
    ("vadd.s32.u32.s32 d,a.b3,b.h0", [0xB83D_5F7B, 0x6AA8_7C09, 0xFFFF_FFFF], 0x7CC1),
    ("vadd.s32.s32.s32.sat.max d,a.b3,b.b1,c", [0xDDCC_78DE, 0x80FF_7F01, 0xF6E0_FF05], 0x5C),
    ("vsub.u32.u32.s32.sat d,a,b.h1", [0x8436_6826, 0x6BB9_06C9, 0xFFFF], 0x8435_FC6D),
    ("vsub.u32.s32.s32.sat d,a.h0,b.b0", [0xE6A1_6A3B, 0x100, 0x3F1F_65A8], 0x6A3B),
    ("vsub.u32.u32.u32.sat d,a.b1,b.b3", [0x4951_6704, 0x0, 0x0001_0000], 0x67),
    ("vsub.s32.u32.u32 d.b1,a.b1,b.b1,c", [0x43CD_C356, 0xB0DD_B48B, 0xF4F6_717C], 0xF4F6_0F7C),
    ("vsub.u32.s32.s32 d.b3,a.b3,b.b0,c", [0x6891_6D08, 0x80FF_7F01, 0x80FF_7F01], 0x67FF_7F01),
    ("vsub.s32.s32.u32 d,a.b0,b.h0", [0x73EC_28D0, 0x7F, 0xF453_324E], 0xFFFF_FF51),
    ("vabsdiff.u32.u32.s32 d.b0,a.b0,b.b1,c", [0x7F80_FF00, 0x61C1_2C05, 0x0001_0000], 0x0001_002C),
    ("vabsdiff.u32.s32.s32.min d,a.b0,b,c", [0x3ED9_1BB9, 0xFFFF_FFFF, 0x7FFF], 0x46),
    ("vabsdiff.s32.s32.u32 d.b1,a.b1,b,c", [0xFFFF, 0x3E54_29DF, 0xC82B_12A6], 0xC82B_E0A6),
    ("vabsdiff.u32.u32.s32.sat.min d,a.h0,b.h1,c", [0xA652_3995, 0x80FF_7F01, 0xFFFF], 0xB896),
    ("vabsdiff.s32.u32.u32.sat d,a.h0,b.b3", [0xA309_B1A6, 0x0, 0x0001_0000], 0xB1A6),
    ("vabsdiff.u32.u32.u32 d,a.b3,b.b3", [0xFFFF, 0x3E54_29DF, 0xC82B_12A6], 0x3E),
    ("vmin.s32.s32.s32.add d,a.b1,b,c", [0xE51E_E6FF, 0xFFFF_FFFF, 0xFF], 0xE5),
    ("vmin.u32.u32.u32 d,a.h0,b.b3", [0x8000, 0xF7CE_A56E, 0x1], 0xF7),
    ("vmin.u32.s32.s32.sat.max d,a.h0,b.b1,c", [0xBDE5_C099, 0x8000_0000, 0xBD69_FE29], 0xBD69_FE29),
    ("vmin.u32.s32.s32.add d,a.b0,b.b0,c", [0xFFFF, 0x3E54_29DF, 0xC82B_12A6], 0xC82B_1285),
    ("vmin.u32.u32.u32 d,a.b3,b.b3", [0xBDE5_C099, 0x8000_0000, 0xBD69_FE29], 0x80),
    ("vmin.u32.s32.s32 d,a.b3,b", [0x8000, 0xF7CE_A56E, 0x1], 0xF7CE_A56E),
    ("vmax.s32.u32.s32.sat.min d,a,b.b0,c", [0x1, 0x035B_7399, 0x687C_966C], 0x1),
    ("vmax.s32.s32.u32 d,a.b1,b.h1", [0x0E42_D43C, 0xA369_39EF, 0x8000], 0xA369),
    ("vmax.u32.s32.s32.sat d,a.b1,b", [0xE6A1_6A3B, 0x100, 0x3F1F_65A8], 0x100),
    ("vmax.s32.u32.u32 d.h0,a.h0,b.h0,c", [0x7F80_FF00, 0x61C1_2C05, 0x0001_0000], 0x0001_FF00),
    ("vmax.s32.u32.s32 d.h0,a.b3,b,c", [0x4951_6704, 0x0, 0x0001_0000], 0x0001_0049),
    ("vmax.u32.u32.s32.sat d.b3,a.b3,b.h0,c", [0xA076_57D6, 0x8000_0000, 0x8000], 0xA000_8000),
    ("vshl.u32.u32.u32.clamp d.b0,a,b.b1,c", [0x1, 0x83E2_C328, 0xDE0D_0FC5], 0xDE0D_0F00),
    ("vshl.s32.u32.u32.clamp d,a.b0,b.b0", [0x4951_6704, 0x0, 0x0001_0000], 0x4),
    ("vshl.s32.s32.u32.clamp d,a.b3,b.h1", [0x7F0D_E0A1, 0x0, 0xFF], 0x7F),
    ("vshl.u32.s32.u32.clamp.add d,a.b1,b.b3,c", [0x7F0D_E0A1, 0x0, 0xFF], 0xDF),
    ("vshl.u32.s32.u32.clamp d.b3,a.b0,b.b1,c", [0xC277_AF32, 0xFFFF, 0x47E5_EB8D], 0x00E5_EB8D),
    ("vshl.u32.s32.u32.clamp.add d,a.h0,b.h0,c", [0x7F0D_E0A1, 0x0, 0xFF], 0xFFFF_E1A0),
    ("vshr.s32.u32.u32.wrap.add d,a.b3,b.b0,c", [0x87B0_B125, 0x8000, 0x3FC1_EA36], 0x3FC1_EABD),
    ("vshr.u32.s32.u32.sat.wrap d,a.h1,b.b0", [0x1027_E5D3, 0xC65F_B8A2, 0x0001_0000], 0x409),
    ("vshr.u32.s32.u32.sat.wrap d,a.b0,b.h1", [0x4951_6704, 0x0, 0x0001_0000], 0x4),
    ("vshr.s32.s32.u32.wrap.min d,a.h1,b.b1,c", [0x2D16_34B4, 0x0, 0x5B8E_8FB2], 0x2D16),
    ("vshr.u32.u32.u32.wrap.min d,a.h0,b.h1,c", [0xE488_B6C8, 0xC68D_EB5D, 0x96FA_BB7B], 0x5),
    ("vshr.s32.s32.u32.wrap d.b3,a.b3,b.h1,c", [0x7F80_FF00, 0x61C1_2C05, 0x0001_0000], 0x3F01_0000),
    ("vset.s32.u32.gt d,a,b.h1", [0x6891_6D08, 0x80FF_7F01, 0x80FF_7F01], 0x1),
    ("vset.u32.s32.ne.max d,a.b0,b,c", [0x100, 0x7B8F_BA72, 0x0], 0x1),
    ("vset.s32.u32.ge d.h0,a.h0,b,c", [0x4951_6704, 0x0, 0x0001_0000], 0x0001_0001),
    ("vset.u32.s32.eq.max d,a.b1,b.h0,c", [0xBDE5_C099, 0x8000_0000, 0xBD69_FE29], 0xBD69_FE29),
    ("vset.s32.u32.ge d,a.b0,b.h1", [0x0001_0000, 0xFF, 0x56E1_2B56], 0x1),
    ("vset.s32.s32.le d,a.b0,b.b3", [0xA46D_8BD9, 0x77AC_435F, 0x0001_0000], 0x1),
    ("vmad.u32.u32.u32.shr7 d,a.b1,b.h0,-c", [0x1, 0x035B_7399, 0x687C_966C], 0xFF2F_06D3),
    ("vmad.s32.u32.s32.po.shr7 d,a.b0,b.h1,c", [0x3ED9_1BB9, 0xFFFF_FFFF, 0x7FFF], 0xFE),
    ("vmad.s32.s32.s32.shr15 d,a.b3,b.b1,c", [0x0E42_D43C, 0xA369_39EF, 0x8000], 0x1),
    ("vmad.s32.s32.u32.sat.shr7 d,a.h1,b.b1,-c", [0xF9E3_24DE, 0x100, 0x8782_D4D5], 0x00F0_FA4A),
    ("vmad.s32.u32.s32.sat d,-a.b3,b.b0,c", [0x0E42_D43C, 0xA369_39EF, 0x8000], 0x80EE),
    ("vmad.s32.u32.u32.sat.shr7 d,a.h1,b.b3,-c", [0xFC89_3150, 0x39EB_08E4, 0x7F80_FF00], 0xFF01_6E77),
    ("vadd2.s32.s32.s32 d,a,b.h31,c", [0x04A0_12E8, 0x6B38_4309, 0x0001_0000], 0x6FD8_1788),
    ("vadd2.s32.u32.s32 d.h0,a,b.h31,c", [0x59E1_ADC4, 0x0001_0000, 0x80], 0x7A5),
    ("vsub2.u32.u32.s32.sat d.h0,a,b,c", [0xA66E_1277, 0xFFFF_FFFF, 0xA180_6108], 0xA180_1278),
    ("vsub2.s32.s32.u32.sat d.h1,a.h11,b,c", [0xA652_3995, 0x80FF_7F01, 0xFFFF], 0x8000_FFFF),
    ("vavrg2.u32.s32.s32.sat d.h10,a,b,c", [0xFFFF_FFFF, 0x7F, 0x4A0F_E75D], 0x3F),
    ("vavrg2.u32.u32.u32 d.h10,a,b,c", [0x8000, 0x7F, 0x4925_82C0], 0x4040),
    ("vabsdiff2.s32.s32.u32 d.h0,a.h32,b.h03,c", [0xC277_AF32, 0xFFFF, 0x47E5_EB8D], 0x47E5_0001),
    ("vabsdiff2.u32.s32.s32.sat d,a.h23,b,c", [0x0001_0000, 0x206F_5C66, 0x80FF_7F01], 0x3BF7_3BF7),
    ("vmin2.u32.s32.s32.add d.h0,a,b.h23,c", [0x6891_6D08, 0x80FF_7F01, 0x80FF_7F01], 0x80FF_0000),
    ("vmin2.s32.u32.u32.add d.h0,a,b,c", [0x04A0_12E8, 0x6B38_4309, 0x0001_0000], 0x0001_12E8),
    ("vmax2.s32.u32.u32.add d,a,b.h03,c", [0x8A17_AA7B, 0x7FFF_FFFF, 0x9075_99C8], 0x9076_EEBE),
    ("vmax2.s32.s32.s32.sat d.h0,a,b,c", [0x8000, 0xF7CE_A56E, 0x1], 0xA56E),
    ("vset2.u32.s32.eq d.h0,a,b.h22,c", [0xE6A1_6A3B, 0x100, 0x3F1F_65A8], 0x3F1F_0000),
    ("vset2.s32.s32.eq d.h0,a,b.h02,c", [0x0001_0000, 0x84AA_0116, 0x9A96_2848], 0x9A96_0000),
    ("vadd4.u32.u32.u32 d.b31,a,b,c", [0xA309_B1A6, 0x0, 0x0001_0000], 0xA301_B100),
    ("vadd4.s32.s32.s32.add d.b0,a,b,c", [0x6891_6D08, 0x80FF_7F01, 0x80FF_7F01], 0x80FF_7F0A),
    ("vsub4.u32.u32.u32.sat d.b21,a.b3425,b.b3772,c", [0xCC17_0C31, 0xFF, 0x1], 0x00FF_1701),
    ("vsub4.u32.s32.s32 d,a,b.b3530,c", [0xA652_3995, 0x80FF_7F01, 0xFFFF], 0x00D3_9300),
    ("vavrg4.s32.s32.u32.add d.b210,a,b.b3352,c", [0x8B8E_8F4E, 0x7FFF_FFFF, 0x7F], 0x141),
    ("vavrg4.u32.s32.u32 d.b3,a,b.b4614,c", [0xBDE5_C099, 0x8000_0000, 0xBD69_FE29], 0xDE69_FE29),
    ("vabsdiff4.u32.s32.u32.sat d.b0,a,b,c", [0xF9E3_24DE, 0x100, 0x8782_D4D5], 0x8782_D422),
    ("vabsdiff4.s32.s32.s32 d.b0,a,b.b7737,c", [0xA652_3995, 0x80FF_7F01, 0xFFFF], 0xFF15),
    ("vmin4.u32.u32.u32 d.b310,a.b6461,b,c", [0x04A0_12E8, 0x6B38_4309, 0x0001_0000], 0x3801_3809),
    ("vmin4.u32.s32.s32.add d.b1,a.b1074,b,c", [0x43CD_C356, 0xB0DD_B48B, 0xF4F6_717C], 0xF4F6_712C),
    ("vmax4.u32.u32.u32 d.b210,a,b,c", [0x43CD_C356, 0xB0DD_B48B, 0xF4F6_717C], 0xF4DD_C38B),
    ("vmax4.u32.u32.u32.add d.b3210,a.b5407,b.b2504,c", [0x7F, 0x4389_2DFC, 0xFF], 0x3A3),
    ("vset4.s32.s32.eq.add d.b21,a,b.b2730,c", [0xFFFF_FFFF, 0x80FF_7F01, 0x5829_6818], 0x5829_6819),
    ("vset4.s32.u32.lt d.b21,a.b2470,b,c", [0x0, 0x0001_0000, 0x67E8_4707], 0x6701_0007),
];

/// The same where programs of the driver deviate from the text of the ISA, and it is the text that counts.
const BY_THE_ISA: &[(&str, [u32; 3], u32)] = &[
    ("vadd.u32.u32.u32 d.h1,a.b1,b.h1,c", [0x0011_0200, 0x0011_0000, 0xAAAA_BBBB], 0x0013_BBBB),
    ("vsub.s32.s32.s32.sat d.b2,a,b.b0,c", [0xFFFF_0000, 0x01, 0x1111_1111], 0x1180_1111),
    ("vmin.u32.s32.u32.sat d.h0,a.h0,b,c", [0xFFFF, 7, 0x1234_5678], 0x1234_0000),
    ("vmad.u32.u32.u32.po d,a.b0,b.b1,c", [0xFF, 0xFF00, 1], 0xFE03),
    ("vmad.s32.s32.s32.shr7 d,-a.b0,b.h0,c", [0x80, 0x100, 0x80], 0x101),
    ("vmad.s32.u32.u32.sat d,a,b,-c", [1, 1, 2], 0xFFFF_FFFF),
];

#[test]
fn parts_of_registers() {
    for (text, [a, b, c], result) in PARTS.iter().chain(BY_THE_ISA) {
        let sources = format!("mov.b32 a, {a}; mov.b32 b, {b}; mov.b32 c, {c};");
        holds(&format!("{sources} {text}; {}", is((*result).into())));
    }
    assert_ne!(run(&format!("mov.b32 a, 513; vadd.u32.u32.u32 d, a.b1, 0; {}", is(513))), Verdict::Clean);
}

#[test]
fn copies_that_ignore_their_source_write_zeros() {
    let copy = |last: &str, low: u32, high: u32| {
        holds(&format!(
            "setp.ne.u32 q, lane, 0; @q ret; mov.b32 a, 5; st.shared.v2.b32 [tile], {{lane, lane}}; \
             cp.async.ca.shared.global [tile], [from], 8{last}; cp.async.wait_all; \
             ld.shared.v2.b32 {{d, e}}, [tile]; {} mov.b32 d, e; {}",
            is(low.into()),
            is(high.into())
        ));
    };
    copy("", 0x0403_0201, 0x0807_0605);
    copy(", no", 0x0403_0201, 0x0807_0605);
    copy(", yes", 0, 0);
    copy(", !yes", 0x0403_0201, 0x0807_0605);
    copy(", !no", 0, 0);
    copy(", 4", 0x0403_0201, 0);
    copy(", a", 0x0403_0201, 5);
    copy(", 0", 0, 0);
}

#[test]
fn masked_copies_write_what_the_mask_names() {
    holds(&format!(
        "setp.ne.u32 q, lane, 0; @q ret; mov.b32 a, 0x11111111; mov.b32 b, 0x22222222; \
         st.shared.v4.b32 [tile], {{a, a, a, a}}; st.shared.v4.b32 [tile+16], {{b, b, b, b}}; \
         fence.proxy.async.shared::cta; mov.b16 h, 0x8421; \
         cp.async.bulk.global.shared::cta.bulk_group.cp_mask [to], [tile], 32, h; \
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; \
         ld.global.b32 d, [there]; {} ld.global.b32 d, [there+4]; {} ld.global.b32 d, [there+12]; {} \
         ld.global.b32 d, [there+28]; {}",
        is(0x11),
        is(0x1100),
        is(0x1100_0000),
        is(0x2200_0000)
    ));
}

#[test]
fn what_is_known_of_a_register_stays_known() {
    // Half of a register, taken out in several ways.
    for (made, taken) in [
        ("mov.b64 w, {lane, unknown};", "mov.b64 {d, _}, w;"),
        ("mov.b64 w, {lane, unknown};", "cvt.u32.u64 d, w;"),
        ("mov.b64 w, {unknown, lane};", "mov.b64 {_, d}, w;"),
        ("mov.b64 w, {unknown, lane};", "shr.u64 w, w, 32; cvt.u32.u64 d, w;"),
        ("mov.b64 w, {unknown, lane};", "mov.b64 x, w; mov.b64 {e, d}, x;"),
        ("mov.b64 w, {lane, unknown};", "add.s64 w, w, 16; cvt.u32.u64 d, w; sub.u32 d, d, 16;"),
        ("mov.b64 w, {lane, unknown};", "and.b64 w, w, 0xFFFFFFFF; cvt.u32.u64 d, w;"),
        (
            "cvt.u64.u32 w, lane; mov.b64 x, {e, unknown}; and.b64 x, x, 0xFFFFFFFF00000000; or.b64 w, w, x;",
            "cvt.u32.u64 d, w;",
        ),
        ("mov.b64 w, {lane, unknown};", "st.shared.b64 [tile], w; ld.shared.b32 d, [tile];"),
        (
            "mov.b64 w, {lane, unknown};",
            "st.shared.b64 [tile], w; ld.shared.b64 x, [tile]; cvt.u32.u64 d, x;",
        ),
        (
            "mov.b64 w, {lane, unknown};",
            "st.shared.v2.b64 [tile], {w, nothing}; ld.shared.v2.b64 {x, nothing}, [tile]; mov.b64 {d, e}, x;",
        ),
        ("shl.b32 a, unknown, 8; or.b32 a, a, lane;", "and.b32 d, a, 0xFF;"),
    ] {
        let only = "setp.ne.u32 q, lane, 3; @q ret;";
        holds(&format!("{only} {made} {taken} {}", is(3)));
    }
    // The other half stays unknown.
    for taken in ["mov.b64 {_, d}, w;", "shr.u64 w, w, 32; cvt.u32.u64 d, w;"] {
        let verdict = run(&format!("mov.b64 w, {{lane, unknown}}; {taken} {}", is(3)));
        assert_eq!(verdict, Verdict::Incomplete, "{taken}");
    }
    // Another lane's knowledge is not one's own, and what is written later is not what was there.
    let other = "setp.ne.u32 q, lane, 0; mov.b64 w, {unknown, lane}; @q mov.b64 w, {unknown, unknown}; \
                 mov.b64 {_, d}, w;";
    assert_eq!(run(&format!("{other} {}", is(0))), Verdict::Incomplete);
}

#[test]
fn sums_of_floating_point() {
    let one = "setp.ne.u32 q, lane, 0; @q ret;";
    // What was there comes back: 0, 1.5, 3.
    holds(&format!(
        "{one} mov.b32 a, 0x3FC00000; atom.global.add.f32 d, [to], a; {} atom.global.add.f32 d, [to], a; {} \
         ld.global.b32 d, [to]; {}",
        is(0),
        is(0x3FC0_0000),
        is(0x4040_0000)
    ));
    // 32 lanes add one each.
    holds(&format!(
        "setp.eq.u32 q, lane, 0; mov.b32 a, 0; @q st.shared.b32 [tile], a; bar.warp.sync -1; \
         mov.b32 a, 0x3F800000; red.shared.add.f32 [tile], a; bar.warp.sync -1; ld.shared.b32 d, [tile]; {}",
        is(0x4200_0000)
    ));
    // Halves: (1, -1) + (2, 1), and the same of singles of 16 bits.
    for (ty, old, b, sum) in [
        ("f16x2", 0x3C00_BC00_u32, 0x4000_3C00_u32, 0x4200_0000_u32),
        ("bf16x2", 0x3F80_BF80, 0x4000_3F80, 0x4040_0000),
    ] {
        holds(&format!(
            "{one} mov.b32 a, {old}; st.shared.b32 [tile], a; mov.b32 b, {b}; \
             red.shared.add.noftz.{ty} [tile], b; ld.shared.b32 d, [tile]; {}",
            is(sum.into())
        ));
    }
    // Numbers below the normal range: global memory flushes them, if not told otherwise.
    for (form, sum) in [("add", 0), ("add.noftz", 3)] {
        holds(&format!(
            "{one} mov.b32 a, 3; red.global.{form}.f32 [to], a; ld.global.b32 d, [to]; {}",
            is(sum)
        ));
    }
    holds(&format!(
        "{one} mov.b32 a, 0x3F800000; mov.b32 b, 0x40000000; mov.b32 c, 0xBF800000; \
         red.global.add.v4.f32 [to], {{a, b, c, a}}; red.global.add.v4.f32 [to], {{b, b, a, b}}; \
         ld.global.v4.b32 {{d, e, b, c}}, [to]; {} mov.b32 d, e; {} mov.b32 d, b; {} mov.b32 d, c; {}",
        is(0x4040_0000),
        is(0x4080_0000),
        is(0),
        is(0x4040_0000)
    ));
}

#[test]
fn sixteen_bytes_are_compared_as_a_whole() {
    holds(&format!(
        "setp.ne.u32 q, lane, 0; @q ret; .reg .b128 old, expected, new; mov.b64 w, 0; mov.b64 x, 1; \
         mov.b128 expected, {{w, x}}; mov.b64 x, 7; mov.b128 new, {{x, x}}; \
         atom.global.cas.b128 old, [to], expected, new; ld.global.b32 d, [to]; {} \
         mov.b128 expected, {{w, w}}; atom.global.cas.b128 old, [to], expected, new; \
         ld.global.b32 d, [to]; {} ld.global.b32 d, [to+8]; {}",
        is(0),
        is(7),
        is(7)
    ));
}

#[test]
fn reductions_that_an_mbarrier_awaits() {
    let wait = |bytes: u32, starts: &str| {
        format!(
            "mbarrier.init.shared::cta.b64 [bar], 1; fence.proxy.async.shared::cta; \
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes}; {starts} \
             again: mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0; @!q bra again;"
        )
    };
    let start = "setp.ne.u32 q, lane, 0; @q ret; mov.b32 a, 5; mov.b32 b, -7; \
                 st.shared.v4.b32 [tile], {a, b, a, b}; st.shared.v4.b32 [tile+64], {b, b, a, a};";
    // 5 and -7 with -7 and -7, and with 5 and 5.
    for (operation, results) in [
        ("add.u32", [-2, -14, 10, -2]),
        ("min.s32", [-7, -7, 5, -7]),
        ("max.u32", [-7, -7, 5, -7]),
        ("xor.b32", [5 ^ -7, 0, 0, 5 ^ -7]),
    ] {
        let copy = format!(
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation} \
             [tile+64], [tile], 16, [bar];"
        );
        let mut body = format!("{start} {}", wait(16, &copy));
        for (at, result) in results.into_iter().enumerate() {
            let result: i32 = result;
            body +=
                &format!(" ld.shared.b32 d, [tile+{}]; {}", 64 + 4 * at, is(result.cast_unsigned().into()));
        }
        holds(&body);
    }
    let reduce =
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [tile], b, [bar];";
    holds(&format!(
        "{start} {} ld.shared.b32 d, [tile]; {}",
        wait(4, reduce),
        is((-7_i32).cast_unsigned().into())
    ));
}

/// A kernel that synchronises its grid counts in a workspace that only a cooperative launch has.
#[test]
fn the_workspace_of_a_cooperative_launch() {
    let text = "
.version 9.4
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 32
{
    .reg .pred p;
    .reg .b32 upper, lower, count;
    .reg .b64 workspace;
    mov.u32 upper, %envreg1;
    mov.u32 lower, %envreg2;
    mov.b64 workspace, {lower, upper};
    setp.eq.u64 p, workspace, 0;
    @p trap;
    atom.global.add.u32 count, [workspace+4], 1;
    setp.ge.u32 p, count, 32;
    @p trap;
    ret;
}
";
    let report = simulate(text, Schedule::Early);
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.reasons);
    let report = launched(text, vec![buffer(vec![0; 4])], 32);
    let help = report.reasons[0].help.as_deref().unwrap();
    assert!(help.contains("`cooperative = true`"), "{help}");
}

/// Threads of a warp may call different functions through an address: each group on its own, and all go on together.
#[test]
fn calls_of_different_functions_through_an_address() {
    let text = "
.version 9.4
.target sm_100a
.address_size 64
.func (.reg .b32 result) twice(.reg .b32 x) { add.u32 result, x, x; ret; }
.func (.reg .b32 result) more(.reg .b32 x) { add.u32 result, x, 100; ret; }
.visible .entry k(.param .u64 out)
.reqntid 32
{
    .reg .pred p;
    .reg .b32 lane, odd, one, other, wanted;
    .reg .b64 first, second, which;
    mov.u32 lane, %laneid;
    and.b32 odd, lane, 1;
    setp.eq.u32 p, odd, 1;
    mov.u64 first, twice;
    mov.u64 second, more;
    selp.b64 which, first, second, p;
    prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);
    call (one), which, (lane), prototype;
    shfl.sync.bfly.b32 other, one, 1, 31, -1;
    xor.b32 lane, lane, 1;
    add.u32 wanted, lane, 100;
    @!p add.u32 wanted, lane, lane;
    setp.ne.u32 p, other, wanted;
    @p trap;
    ret;
}
";
    for schedule in [Schedule::Early, Schedule::Late, Schedule::Random(3)] {
        let report = simulate(text, schedule);
        assert_eq!(report.verdict, Verdict::Clean, "{:?} {:?}", report.diagnostics, report.reasons);
    }
}

#[test]
fn memory_of_several_devices_is_named() {
    for instruction in [
        "multimem.ld_reduce.relaxed.gpu.global.add.f32 f, [p];",
        "multimem.ld_reduce.weak.global.add.v4.f32 {f, f, f, f}, [p];",
        "multimem.st.relaxed.sys.global.f32 [p], f;",
        "multimem.red.release.gpu.global.add.u32 [p], n;",
        "multimem.red.relaxed.gpu.global.add.v2.f16x2 [p], {n, n};",
        "multimem.cp.async.bulk.global.shared::cta.bulk_group [p], [tile], 16;",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [p], [tile], 16;",
    ] {
        let text = format!(
            ".version 9.1\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 m)\n.reqntid 1\n{{\n\
             .reg .b64 p; .reg .b32 n; .reg .f32 f; .shared .align 16 .b8 tile[16];\n\
             ld.param.b64 p, [m]; mov.b32 n, 0; mov.f32 f, 0f00000000;\n{instruction}\nret;\n}}\n"
        );
        let report = launched(&text, vec![buffer(vec![0; 64])], 1);
        assert_eq!(report.verdict, Verdict::Incomplete, "{instruction}");
        let reason = &report.reasons[0];
        assert!(reason.text.contains(instruction.split(' ').next().unwrap()), "{}", reason.text);
        assert!(reason.help.as_deref().is_some_and(|help| help.contains("several devices")), "{instruction}");
    }
}
