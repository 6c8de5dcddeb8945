//! Boxes of tensors that the hardware copies into shared memory, and what mbarriers are put through.
//!
//! Each case is a line: what the tensor map says, where the box starts, where it goes. `run_copies.py`
//! finds out where each byte of it came from.

use std::fmt::Write;

use super::inputs::Random;

/// The cases, one a line.
pub(crate) fn cases() -> String {
    let mut text = String::new();
    let mut tile = |ty: &str, sizes: &str, strides: &str, box_sizes: &str, steps: &str, rest: &str| {
        let _ = writeln!(
            text,
            "tile {ty} | sizes {sizes} | strides {strides} | box {box_sizes} | steps {steps} | {rest}"
        );
    };
    let swizzles = ["none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"];
    for swizzle in swizzles {
        for (ty, bytes) in
            [("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8), ("f16", 2), ("bf16", 2), ("f32", 4), ("f64", 8)]
        {
            let span = match swizzle {
                "32B" => 32,
                "64B" => 64,
                _ => 128,
            };
            let inner = span / bytes;
            let sizes = format!("{},40", 3 * inner);
            let strides = format!("{}", 4 * span);
            let at = format!("swizzle {swizzle} | fill zero | at {},5 | to 0", inner / 2);
            tile(ty, &sizes, &strides, &format!("{inner},8"), "1,1", &at);
        }
        // Rows shorter than the pattern, and patterns that do not start with the box.
        for inner in [8, 16, 32, 64] {
            let rest = format!("swizzle {swizzle} | fill zero | at 0,0 | to 0");
            tile("u16", "256,40", "512", &format!("{inner},16"), "1,1", &rest);
        }
        for to in [128, 256, 384, 512, 896] {
            let inner = if swizzle == "32B" {
                16
            } else if swizzle == "64B" {
                32
            } else {
                64
            };
            let rest = format!("swizzle {swizzle} | fill zero | at 64,3 | to {to}");
            tile("bf16", "256,40", "512", &format!("{inner},8"), "1,1", &rest);
        }
    }
    // Out of bounds on every side.
    for (swizzle, at) in [
        ("128B", "-8,-3"),
        ("128B", "72,-2"),
        ("128B", "80,36"),
        ("none", "-8,38"),
        ("64B", "-32,0"),
        ("none", "200,0"),
    ] {
        let inner = if swizzle == "64B" { 32 } else { 64 };
        for (ty, fill) in [("u16", "zero"), ("f16", "nan"), ("bf16", "nan")] {
            let rest = format!("swizzle {swizzle} | fill {fill} | at {at} | to 0");
            tile(ty, "100,40", "256", &format!("{inner},8"), "1,1", &rest);
        }
    }
    for (ty, inner) in [("f32", 32), ("f64", 16), ("u8", 128)] {
        let fill = if ty == "u8" { "zero" } else { "nan" };
        let rest = format!("swizzle 128B | fill {fill} | at -16,37 | to 0");
        tile(ty, "20,40", "256", &format!("{inner},8"), "1,1", &rest);
    }
    // Boxes start in steps of 16 bytes.
    tile("u16", "100,40", "256", "64,8", "1,1", "swizzle none | fill zero | at 3,0 | to 0");
    tile("f32", "20,40", "256", "32,8", "1,1", "swizzle 128B | fill zero | at -2,0 | to 0");
    // Ranks.
    tile("u16", "1000", "-", "64", "1", "swizzle none | fill zero | at 32 | to 0");
    tile("u16", "1000", "-", "64", "1", "swizzle 128B | fill zero | at -8 | to 128");
    tile("u16", "1000", "-", "256", "1", "swizzle none | fill zero | at 904 | to 0");
    for (swizzle, inner) in [("none", 8), ("none", 24), ("32B", 16), ("64B", 32), ("128B", 64)] {
        let rest = |at: &str| format!("swizzle {swizzle} | fill zero | at {at} | to 0");
        tile("u16", "80,7,5", "256,2048", &format!("{inner},3,2"), "1,1,1", &rest("16,5,1"));
        tile("f32", "40,7,5", "256,2048", &format!("{},3,2", inner / 2), "1,1,1", &rest("-4,-1,4"));
        tile("u16", "70,5,4,3", "160,1024,8192", &format!("{inner},2,2,2"), "1,1,1,1", &rest("8,4,-1,1"));
        tile(
            "u8",
            "130,5,4,3,3",
            "160,1024,8192,32768",
            &format!("{},2,1,2,2", 2 * inner),
            "1,1,1,1,1",
            &rest("16,1,2,2,-1"),
        );
    }
    // Steps.
    for swizzle in ["none", "64B"] {
        let rest = |at: &str| format!("swizzle {swizzle} | fill zero | at {at} | to 0");
        tile("u16", "80,30", "256", "32,8", "1,2", &rest("0,1"));
        tile("u16", "80,30", "256", "32,7", "1,2", &rest("16,-2"));
        tile("u16", "80,30", "256", "32,9", "1,3", &rest("0,24"));
        tile("u16", "80,30", "256", "32,8", "2,1", &rest("8,1"));
        tile("u16", "80,30,6", "256,8192", "32,8,4", "1,4,2", &rest("8,2,1"));
    }
    let mut im2col = |ty: &str, sizes: &str, strides: &str, corners: &str, box_sizes: &str, rest: &str| {
        let rank = sizes.split(',').count();
        let steps = vec!["1"; rank].join(",");
        let _ = writeln!(
            text,
            "im2col {ty} | sizes {sizes} | strides {strides} | corners {corners} | box {box_sizes} | steps {steps} | {rest}"
        );
    };
    for (swizzle, channels) in [("none", 16), ("128B", 64), ("64B", 32), ("32B", 16)] {
        let rest = |at: &str, offsets: &str| {
            format!("swizzle {swizzle} | fill zero | at {at} | offsets {offsets} | to 0")
        };
        im2col("f16", "64,9,4", "128,2048", "0;0", &format!("{channels},16"), &rest("0,5,1", "0"));
        im2col("f16", "64,9,4", "128,2048", "-1;-1", &format!("{channels},12"), &rest("16,-1,0", "2"));
        im2col(
            "u16",
            "64,7,6,3",
            "128,1024,8192",
            "-1,-1;-1,-1",
            &format!("{channels},24"),
            &rest("0,4,2,0", "1,2"),
        );
        im2col(
            "u16",
            "64,7,6,3",
            "128,1024,8192",
            "0,0;-2,-2",
            &format!("{channels},24"),
            &rest("0,0,0,1", "2,1"),
        );
        im2col(
            "u16",
            "64,7,6,3",
            "128,1024,8192",
            "-1,-1;1,1",
            &format!("{channels},32"),
            &rest("32,-1,-1,1", "0,0"),
        );
        im2col(
            "u16",
            "64,5,4,3,2",
            "128,768,3072,16384",
            "-1,-1,-1;-1,-1,-1",
            &format!("{channels},24"),
            &rest("0,3,2,1,0", "2,0,1"),
        );
    }
    text.push_str(&interleaved());
    text
}

/// Boxes of tensors with interleaved channels: the dimensions are W, H and D, slices of channels, images.
fn interleaved() -> String {
    let mut text = String::new();
    for (interleave, swizzles, strides) in [
        (
            "16B",
            &["none", "32B", "64B", "128B"][..],
            ["1024,16384", "640,8192,65536", "256,2048,16384,65536"],
        ),
        ("32B", &["32B"][..], ["1024,8192", "1024,8192,65536", "512,4096,16384,65536"]),
    ] {
        let mut case = |of: &str, sizes: &str, fields: &str, steps: Option<&str>, rest: &str| {
            let rank = sizes.split(',').count();
            let steps = steps.map_or_else(|| vec!["1"; rank].join(","), ToOwned::to_owned);
            let strides = strides[rank - 3];
            let _ = writeln!(
                text,
                "{of} | sizes {sizes} | strides {strides} | {fields} | steps {steps} | {rest} | interleave {interleave}"
            );
        };
        for swizzle in swizzles {
            let rest = |at: &str| format!("swizzle {swizzle} | fill zero | at {at} | to 0");
            case("tile u16", "30,6,4", "box 8,8,2", None, &rest("5,1,1"));
            case("tile u32", "30,7,6,2", "box 4,3,4,2", None, &rest("5,1,2,0"));
            case("tile u64", "30,7,6,2", "box 2,3,2,2", None, &rest("27,-1,1,1"));
            case("tile u8", "14,7,4,4,2", "box 16,2,2,16,1", None, &rest("-3,1,1,2,1"));
            case(
                "im2col f16",
                "30,7,6,2",
                "corners 0,0;-2,-2 | box 8,24",
                None,
                &rest("26,1,2,0 | offsets 1,1"),
            );
            case(
                "im2col u16",
                "30,7,6,2",
                "corners -1,-1;1,1 | box 32,40",
                None,
                &rest("-1,6,1,0 | offsets 0,0"),
            );
        }
        // The slices are out of bounds, and steps.
        for at in ["5,5,1", "5,6,1", "5,-1,1"] {
            let rest = format!("swizzle 32B | fill nan | at {at} | to 0");
            case("tile f16", "30,6,4", "box 8,8,1", None, &rest);
        }
        let rest = |at: &str| format!("swizzle 32B | fill zero | at {at}");
        case("tile u16", "30,7,6,2", "box 16,4,8,1", Some("2,3,4,1"), &rest("1,0,1,0 | to 0"));
        case(
            "im2col u16",
            "14,7,4,4,2",
            "corners -1,-1,-1;-1,-1,-1 | box 8,24",
            None,
            &rest("4,2,1,1,0 | offsets 2,0,1 | to 0"),
        );
        case("im2col u16", "30,5,2", "corners -1;-1 | box 8,24", None, &rest("9,1,0 | offsets 2 | to 0"));
        case(
            "im2col u16",
            "30,7,6,2",
            "corners 0,0;0,0 | box 8,20",
            Some("2,3,1,1"),
            &rest("1,0,1,0 | offsets 0,0 | to 0"),
        );
        case("tile u16", "30,6,4", "box 8,8,2", None, &rest("1,1,1 | to 256"));
    }
    text
}

/// Descriptors of operands, one a line: major, swizzle, offsets and start in bytes, and the base offset if there is one.
pub(crate) const OPERANDS: &str = "\
k none lbo=2048 sbo=128 start=0
k none lbo=128 sbo=256 start=0
k none lbo=512 sbo=1024 start=256
k 32B lbo=0 sbo=256 start=0
k 32B lbo=16 sbo=512 start=1024
k 64B lbo=0 sbo=512 start=0
k 64B lbo=0 sbo=512 start=32
k 64B lbo=16 sbo=1024 start=2080
k 128B lbo=0 sbo=1024 start=0
k 128B lbo=0 sbo=1024 start=32
k 128B lbo=16 sbo=1024 start=64
k 128B lbo=0 sbo=2048 start=96
mn none lbo=2048 sbo=128 start=0
mn none lbo=128 sbo=256 start=0
mn none lbo=512 sbo=1024 start=128
mn 32B lbo=512 sbo=256 start=0
mn 32B lbo=256 sbo=2048 start=0
mn 64B lbo=1024 sbo=512 start=0
mn 64B lbo=512 sbo=2048 start=1024
mn 128B lbo=2048 sbo=1024 start=0
mn 128B lbo=1024 sbo=2048 start=0
mn 128B lbo=4096 sbo=1024 start=2048
k 128B lbo=0 sbo=1024 start=128 base=1
k 128B lbo=0 sbo=1024 start=288 base=2
k 128B lbo=0 sbo=2048 start=1952 base=7
k 128B lbo=0 sbo=1024 start=0 base=3
k 128B lbo=0 sbo=1024 start=640 base=0
k 64B lbo=0 sbo=512 start=128 base=1
k 64B lbo=0 sbo=512 start=800 base=6
k 64B lbo=0 sbo=1024 start=384 base=3
k 32B lbo=0 sbo=256 start=128 base=1
k 32B lbo=0 sbo=512 start=896 base=7
k none lbo=128 sbo=256 start=128 base=1
mn 128B lbo=2048 sbo=1024 start=384 base=3
mn 128B lbo=4096 sbo=1024 start=1152 base=1
mn 64B lbo=1024 sbo=512 start=128 base=1
mn 32B lbo=512 sbo=256 start=128 base=1
mn 32B lbo=256 sbo=2048 start=640 base=5
";

/// What an mbarrier is put through: for each script the steps `what:number`.
pub(crate) fn scripts() -> String {
    let mut random = Random::new("mbarrier");
    let mut text = String::new();
    for _ in 0..60 {
        let mut count = 1 + random.next() % 6;
        let mut pending = count;
        let mut transactions: i64 = 0;
        let mut steps = vec![format!("0:{count}")];
        // Of the arrivals: the step and the phase. Only those of this phase and of the last one may be
        // asked about.
        let mut states: Vec<(usize, u64)> = Vec::new();
        let mut phase = 0;
        for step in 1..28 {
            let phase_ends = |pending: u64, transactions: i64| pending == 0 && transactions == 0;
            let (what, number) = match random.next() % 14 {
                0 | 1 if pending > 0 => {
                    pending -= 1;
                    (1, 0)
                }
                2 if pending > 1 => {
                    let number = 1 + random.next() % pending;
                    pending -= number;
                    (2, number)
                }
                3 if pending > 1 => {
                    let number = 1 + random.next() % (pending - 1);
                    pending -= number;
                    (3, number)
                }
                4 if pending > 0 && count > 1 => {
                    pending -= 1;
                    count -= 1;
                    (4, 0)
                }
                5 if pending > 1 && count > 2 => {
                    let number = 1 + random.next() % (pending - 1).min(count - 1);
                    pending -= number;
                    count -= number;
                    (5, number)
                }
                6 | 7 => {
                    let number = 16 * (1 + random.next() % 5);
                    transactions += number.cast_signed();
                    (6, number)
                }
                8 if transactions > 0 => {
                    let number =
                        if random.next().is_multiple_of(3) { transactions / 2 } else { transactions };
                    transactions -= number;
                    (7, number as u64)
                }
                9 if pending > 0 => {
                    let number = 8 * (1 + random.next() % 9);
                    transactions += number.cast_signed();
                    pending -= 1;
                    (8, number)
                }
                10 if !states.is_empty() => {
                    (9, states[states.len() - 1 - (random.next() % 3) as usize % states.len()].0 as u64)
                }
                11 if !states.is_empty() => (11, states[states.len() - 1].0 as u64),
                12 => (13, random.next() & 1),
                _ => (10, random.next() & 1),
            };
            if [1, 2, 3, 4, 5, 8].contains(&what) {
                states.push((step, phase));
            }
            if phase_ends(pending, transactions) {
                pending = count;
                phase += 1;
            }
            states.retain(|(_, of)| of + 1 >= phase);
            steps.push(format!("{what}:{number}"));
        }
        let _ = writeln!(text, "{}", steps.join(" "));
    }
    text
}
