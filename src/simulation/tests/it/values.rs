//! What single instructions compute, seen by kernels that trap if something else comes out: parts of registers, copies
//! that leave something out, and values of which a part is known.

use ptx_simulation::{Schedule, Verdict};

use crate::simulate;

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
    ("vadd.s32.s32.u32.max d,a.h0,b.b0,c", [0xF9DBA1DB, 0xF5CB2AFC, 0xBAC0D757], 0xFFFFA2D7),
    ("vadd.u32.u32.s32 d,a,b.h1", [0xE488B6C8, 0xC68DEB5D, 0x96FABB7B], 0xE4887D55),
    ("vadd.u32.u32.s32.max d,a.h1,b.h1,c", [0x43CDC356, 0xB0DDB48B, 0xF4F6717C], 0xFFFFF4AA),
    ("vadd.s32.s32.s32.sat d,a.b0,b.b1", [0xFFFF, 0x3E5429DF, 0xC82B12A6], 0x28),
    ("vadd.s32.u32.s32 d,a.b3,b.h0", [0xB83D5F7B, 0x6AA87C09, 0xFFFFFFFF], 0x7CC1),
    ("vadd.s32.s32.s32.sat.max d,a.b3,b.b1,c", [0xDDCC78DE, 0x80FF7F01, 0xF6E0FF05], 0x5C),
    ("vsub.u32.u32.s32.sat d,a,b.h1", [0x84366826, 0x6BB906C9, 0xFFFF], 0x8435FC6D),
    ("vsub.u32.s32.s32.sat d,a.h0,b.b0", [0xE6A16A3B, 0x100, 0x3F1F65A8], 0x6A3B),
    ("vsub.u32.u32.u32.sat d,a.b1,b.b3", [0x49516704, 0x0, 0x10000], 0x67),
    ("vsub.s32.u32.u32 d.b1,a.b1,b.b1,c", [0x43CDC356, 0xB0DDB48B, 0xF4F6717C], 0xF4F60F7C),
    ("vsub.u32.s32.s32 d.b3,a.b3,b.b0,c", [0x68916D08, 0x80FF7F01, 0x80FF7F01], 0x67FF7F01),
    ("vsub.s32.s32.u32 d,a.b0,b.h0", [0x73EC28D0, 0x7F, 0xF453324E], 0xFFFFFF51),
    ("vabsdiff.u32.u32.s32 d.b0,a.b0,b.b1,c", [0x7F80FF00, 0x61C12C05, 0x10000], 0x1002C),
    ("vabsdiff.u32.s32.s32.min d,a.b0,b,c", [0x3ED91BB9, 0xFFFFFFFF, 0x7FFF], 0x46),
    ("vabsdiff.s32.s32.u32 d.b1,a.b1,b,c", [0xFFFF, 0x3E5429DF, 0xC82B12A6], 0xC82BE0A6),
    ("vabsdiff.u32.u32.s32.sat.min d,a.h0,b.h1,c", [0xA6523995, 0x80FF7F01, 0xFFFF], 0xB896),
    ("vabsdiff.s32.u32.u32.sat d,a.h0,b.b3", [0xA309B1A6, 0x0, 0x10000], 0xB1A6),
    ("vabsdiff.u32.u32.u32 d,a.b3,b.b3", [0xFFFF, 0x3E5429DF, 0xC82B12A6], 0x3E),
    ("vmin.s32.s32.s32.add d,a.b1,b,c", [0xE51EE6FF, 0xFFFFFFFF, 0xFF], 0xE5),
    ("vmin.u32.u32.u32 d,a.h0,b.b3", [0x8000, 0xF7CEA56E, 0x1], 0xF7),
    ("vmin.u32.s32.s32.sat.max d,a.h0,b.b1,c", [0xBDE5C099, 0x80000000, 0xBD69FE29], 0xBD69FE29),
    ("vmin.u32.s32.s32.add d,a.b0,b.b0,c", [0xFFFF, 0x3E5429DF, 0xC82B12A6], 0xC82B1285),
    ("vmin.u32.u32.u32 d,a.b3,b.b3", [0xBDE5C099, 0x80000000, 0xBD69FE29], 0x80),
    ("vmin.u32.s32.s32 d,a.b3,b", [0x8000, 0xF7CEA56E, 0x1], 0xF7CEA56E),
    ("vmax.s32.u32.s32.sat.min d,a,b.b0,c", [0x1, 0x35B7399, 0x687C966C], 0x1),
    ("vmax.s32.s32.u32 d,a.b1,b.h1", [0xE42D43C, 0xA36939EF, 0x8000], 0xA369),
    ("vmax.u32.s32.s32.sat d,a.b1,b", [0xE6A16A3B, 0x100, 0x3F1F65A8], 0x100),
    ("vmax.s32.u32.u32 d.h0,a.h0,b.h0,c", [0x7F80FF00, 0x61C12C05, 0x10000], 0x1FF00),
    ("vmax.s32.u32.s32 d.h0,a.b3,b,c", [0x49516704, 0x0, 0x10000], 0x10049),
    ("vmax.u32.u32.s32.sat d.b3,a.b3,b.h0,c", [0xA07657D6, 0x80000000, 0x8000], 0xA0008000),
    ("vshl.u32.u32.u32.clamp d.b0,a,b.b1,c", [0x1, 0x83E2C328, 0xDE0D0FC5], 0xDE0D0F00),
    ("vshl.s32.u32.u32.clamp d,a.b0,b.b0", [0x49516704, 0x0, 0x10000], 0x4),
    ("vshl.s32.s32.u32.clamp d,a.b3,b.h1", [0x7F0DE0A1, 0x0, 0xFF], 0x7F),
    ("vshl.u32.s32.u32.clamp.add d,a.b1,b.b3,c", [0x7F0DE0A1, 0x0, 0xFF], 0xDF),
    ("vshl.u32.s32.u32.clamp d.b3,a.b0,b.b1,c", [0xC277AF32, 0xFFFF, 0x47E5EB8D], 0xE5EB8D),
    ("vshl.u32.s32.u32.clamp.add d,a.h0,b.h0,c", [0x7F0DE0A1, 0x0, 0xFF], 0xFFFFE1A0),
    ("vshr.s32.u32.u32.wrap.add d,a.b3,b.b0,c", [0x87B0B125, 0x8000, 0x3FC1EA36], 0x3FC1EABD),
    ("vshr.u32.s32.u32.sat.wrap d,a.h1,b.b0", [0x1027E5D3, 0xC65FB8A2, 0x10000], 0x409),
    ("vshr.u32.s32.u32.sat.wrap d,a.b0,b.h1", [0x49516704, 0x0, 0x10000], 0x4),
    ("vshr.s32.s32.u32.wrap.min d,a.h1,b.b1,c", [0x2D1634B4, 0x0, 0x5B8E8FB2], 0x2D16),
    ("vshr.u32.u32.u32.wrap.min d,a.h0,b.h1,c", [0xE488B6C8, 0xC68DEB5D, 0x96FABB7B], 0x5),
    ("vshr.s32.s32.u32.wrap d.b3,a.b3,b.h1,c", [0x7F80FF00, 0x61C12C05, 0x10000], 0x3F010000),
    ("vset.s32.u32.gt d,a,b.h1", [0x68916D08, 0x80FF7F01, 0x80FF7F01], 0x1),
    ("vset.u32.s32.ne.max d,a.b0,b,c", [0x100, 0x7B8FBA72, 0x0], 0x1),
    ("vset.s32.u32.ge d.h0,a.h0,b,c", [0x49516704, 0x0, 0x10000], 0x10001),
    ("vset.u32.s32.eq.max d,a.b1,b.h0,c", [0xBDE5C099, 0x80000000, 0xBD69FE29], 0xBD69FE29),
    ("vset.s32.u32.ge d,a.b0,b.h1", [0x10000, 0xFF, 0x56E12B56], 0x1),
    ("vset.s32.s32.le d,a.b0,b.b3", [0xA46D8BD9, 0x77AC435F, 0x10000], 0x1),
    ("vmad.u32.u32.u32.shr7 d,a.b1,b.h0,-c", [0x1, 0x35B7399, 0x687C966C], 0xFF2F06D3),
    ("vmad.s32.u32.s32.po.shr7 d,a.b0,b.h1,c", [0x3ED91BB9, 0xFFFFFFFF, 0x7FFF], 0xFE),
    ("vmad.s32.s32.s32.shr15 d,a.b3,b.b1,c", [0xE42D43C, 0xA36939EF, 0x8000], 0x1),
    ("vmad.s32.s32.u32.sat.shr7 d,a.h1,b.b1,-c", [0xF9E324DE, 0x100, 0x8782D4D5], 0xF0FA4A),
    ("vmad.s32.u32.s32.sat d,-a.b3,b.b0,c", [0xE42D43C, 0xA36939EF, 0x8000], 0x80EE),
    ("vmad.s32.u32.u32.sat.shr7 d,a.h1,b.b3,-c", [0xFC893150, 0x39EB08E4, 0x7F80FF00], 0xFF016E77),
    ("vadd2.s32.s32.s32 d,a,b.h31,c", [0x4A012E8, 0x6B384309, 0x10000], 0x6FD81788),
    ("vadd2.s32.u32.s32 d.h0,a,b.h31,c", [0x59E1ADC4, 0x10000, 0x80], 0x7A5),
    ("vsub2.u32.u32.s32.sat d.h0,a,b,c", [0xA66E1277, 0xFFFFFFFF, 0xA1806108], 0xA1801278),
    ("vsub2.s32.s32.u32.sat d.h1,a.h11,b,c", [0xA6523995, 0x80FF7F01, 0xFFFF], 0x8000FFFF),
    ("vavrg2.u32.s32.s32.sat d.h10,a,b,c", [0xFFFFFFFF, 0x7F, 0x4A0FE75D], 0x3F),
    ("vavrg2.u32.u32.u32 d.h10,a,b,c", [0x8000, 0x7F, 0x492582C0], 0x4040),
    ("vabsdiff2.s32.s32.u32 d.h0,a.h32,b.h03,c", [0xC277AF32, 0xFFFF, 0x47E5EB8D], 0x47E50001),
    ("vabsdiff2.u32.s32.s32.sat d,a.h23,b,c", [0x10000, 0x206F5C66, 0x80FF7F01], 0x3BF73BF7),
    ("vmin2.u32.s32.s32.add d.h0,a,b.h23,c", [0x68916D08, 0x80FF7F01, 0x80FF7F01], 0x80FF0000),
    ("vmin2.s32.u32.u32.add d.h0,a,b,c", [0x4A012E8, 0x6B384309, 0x10000], 0x112E8),
    ("vmax2.s32.u32.u32.add d,a,b.h03,c", [0x8A17AA7B, 0x7FFFFFFF, 0x907599C8], 0x9076EEBE),
    ("vmax2.s32.s32.s32.sat d.h0,a,b,c", [0x8000, 0xF7CEA56E, 0x1], 0xA56E),
    ("vset2.u32.s32.eq d.h0,a,b.h22,c", [0xE6A16A3B, 0x100, 0x3F1F65A8], 0x3F1F0000),
    ("vset2.s32.s32.eq d.h0,a,b.h02,c", [0x10000, 0x84AA0116, 0x9A962848], 0x9A960000),
    ("vadd4.u32.u32.u32 d.b31,a,b,c", [0xA309B1A6, 0x0, 0x10000], 0xA301B100),
    ("vadd4.s32.s32.s32.add d.b0,a,b,c", [0x68916D08, 0x80FF7F01, 0x80FF7F01], 0x80FF7F0A),
    ("vsub4.u32.u32.u32.sat d.b21,a.b3425,b.b3772,c", [0xCC170C31, 0xFF, 0x1], 0xFF1701),
    ("vsub4.u32.s32.s32 d,a,b.b3530,c", [0xA6523995, 0x80FF7F01, 0xFFFF], 0xD39300),
    ("vavrg4.s32.s32.u32.add d.b210,a,b.b3352,c", [0x8B8E8F4E, 0x7FFFFFFF, 0x7F], 0x141),
    ("vavrg4.u32.s32.u32 d.b3,a,b.b4614,c", [0xBDE5C099, 0x80000000, 0xBD69FE29], 0xDE69FE29),
    ("vabsdiff4.u32.s32.u32.sat d.b0,a,b,c", [0xF9E324DE, 0x100, 0x8782D4D5], 0x8782D422),
    ("vabsdiff4.s32.s32.s32 d.b0,a,b.b7737,c", [0xA6523995, 0x80FF7F01, 0xFFFF], 0xFF15),
    ("vmin4.u32.u32.u32 d.b310,a.b6461,b,c", [0x4A012E8, 0x6B384309, 0x10000], 0x38013809),
    ("vmin4.u32.s32.s32.add d.b1,a.b1074,b,c", [0x43CDC356, 0xB0DDB48B, 0xF4F6717C], 0xF4F6712C),
    ("vmax4.u32.u32.u32 d.b210,a,b,c", [0x43CDC356, 0xB0DDB48B, 0xF4F6717C], 0xF4DDC38B),
    ("vmax4.u32.u32.u32.add d.b3210,a.b5407,b.b2504,c", [0x7F, 0x43892DFC, 0xFF], 0x3A3),
    ("vset4.s32.s32.eq.add d.b21,a,b.b2730,c", [0xFFFFFFFF, 0x80FF7F01, 0x58296818], 0x58296819),
    ("vset4.s32.u32.lt d.b21,a.b2470,b,c", [0x0, 0x10000, 0x67E84707], 0x67010007),
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
