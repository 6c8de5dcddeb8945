//! Statements bent: one to three things about a legal one are changed.

use ptx_check::isa::tensor::INSTRUCTIONS;
use ptx_check::isa::vocabulary::Qualifier;

use super::enumerate::Form;

/// Operands of every kind and type; what a position does with each is what is asked.
const OPERANDS: &[&str] = &[
    "r",
    "t",
    "i",
    "ur",
    "sr",
    "fr",
    "xr",
    "h",
    "uh",
    "sh",
    "fh",
    "d",
    "ud",
    "sd",
    "fd",
    "p",
    "q",
    "!p",
    "v2",
    "v4",
    "v4.x",
    "v2.y",
    "v4.q",
    "0",
    "1",
    "-1",
    "2",
    "15",
    "16",
    "31",
    "32",
    "33",
    "48",
    "64",
    "512",
    "1024",
    "65535",
    "65536",
    "0x20",
    "040",
    "0b100000",
    "32U",
    "16+16",
    "(32)",
    "1?32:64",
    "(.s64)32",
    "WARP_SZ",
    "~0",
    "4294967328",
    "0x100000000",
    "1.5",
    "0f3F800000",
    "0d3FF0000000000000",
    "_",
    "nope",
    "sv",
    "gv",
    "sv+4",
    "r+4",
    "h+1",
    "-r",
    "kp",
    "%tid.x",
    "%laneid",
    "{r}",
    "{r0, r1}",
    "{r0, r1, r2, r3}",
    "{r0, r0}",
    "{r0, _}",
    "{d}",
    "{h}",
    "{1}",
    "{1, 2}",
    "{r0, 5}",
    "{fr, r0}",
    "{fr, sr}",
    "{ur, sr}",
    "{xr, fr}",
    "{0f3F800000}",
    "{v4.x}",
    "{}",
    "[r]",
    "[t]",
    "[t+16]",
    "[t+-4]",
    "[t-4]",
    "[ur]",
    "[sr]",
    "[fr]",
    "[xr]",
    "[h]",
    "[d]",
    "[ud]",
    "[p]",
    "[sv]",
    "[sv+4]",
    "[gv]",
    "[lv]",
    "[cv]",
    "[kp]",
    "[0]",
    "[16]",
    "[nope]",
    "[t+t2]",
    "[t, r]",
    "[t+0x100000]",
    "[r+1.0]",
    "[_]",
];

/// Words that are no qualifiers of tcgen05, and misspelt ones.
const WORDS: &[&str] = &[
    "relaxed",
    "acquire",
    "cta",
    "gpu",
    "b16",
    "b128",
    "u64",
    "f64",
    "f16",
    "wait",
    "row",
    "SYNC",
    "Aligned",
    "up",
    "kind::fp16",
    "kind::bf16",
    "kind::f8",
    "kind::mxf8",
    "cta_group::3",
    "cta_group",
    "kind",
    "x3",
    "x256",
    "64x64b",
    "32x32",
    "collector::a:fill",
    "collector::a",
    "collector::b4::use",
    "scale_vec::3X",
    "scale_vec::2x",
    "block64",
    "warpx2",
    "warpx4::all",
    "pack::8b",
    "pack",
    "shared",
    "shared::cta::x",
    "multicast",
    "mbarrier::arrive",
    "mbarrier::arrive::two",
    "rank",
    "acc::f32",
    "number",
    "nan",
    "add",
    "ws",
    "red",
    "sp::2:4",
];

pub(crate) fn mutate(form: &mut Form, random: &mut fastrand::Rng) {
    let times = match random.u8(..10) {
        0..7 => 1,
        7..9 => 2,
        _ => 3,
    };
    for _ in 0..times {
        match random.u8(..10) {
            0..5 => qualifier(form, random),
            5..9 => operand(form, random),
            _ => other(form, random),
        }
    }
}

fn any_qualifier(random: &mut fastrand::Rng) -> String {
    let all: Vec<Qualifier> = Qualifier::all().collect();
    all[random.usize(..all.len())].spelling().to_owned()
}

fn qualifier(form: &mut Form, random: &mut fastrand::Rng) {
    let count = form.qualifiers.len();
    if count == 0 {
        form.qualifiers.push(any_qualifier(random));
        return;
    }
    let at = random.usize(..count);
    match random.u8(..8) {
        0 => {
            form.qualifiers.remove(at);
        }
        1 => {
            let again = form.qualifiers[at].clone();
            form.qualifiers.insert(random.usize(..=count), again);
        }
        2 => form.qualifiers.swap(at, random.usize(..count)),
        3 => random.shuffle(&mut form.qualifiers),
        4 => form.qualifiers[at] = any_qualifier(random),
        5 => {
            let new = any_qualifier(random);
            form.qualifiers.insert(random.usize(..=count), new);
        }
        6 => WORDS[random.usize(..WORDS.len())].clone_into(&mut form.qualifiers[at]),
        _ => {
            // A keystroke too few.
            let word = &mut form.qualifiers[at];
            if word.len() > 2 {
                word.remove(random.usize(1..word.len()));
            }
        }
    }
}

fn operand(form: &mut Form, random: &mut fastrand::Rng) {
    let count = form.operands.len();
    let new =
        || OPERANDS[fastrand::Rng::with_seed(random.clone().u64(..)).usize(..OPERANDS.len())].to_owned();
    let new = new();
    let choice = random.u8(..9);
    if count == 0 || choice == 0 {
        form.operands.insert(random.usize(..=count), new);
        return;
    }
    let at = random.usize(..count);
    match choice {
        1 => {
            form.operands.remove(at);
        }
        2 => {
            let again = form.operands[at].clone();
            form.operands.insert(at, again);
        }
        3 => form.operands.swap(at, random.usize(..count)),
        4 | 5 => element(form, random),
        _ => form.operands[at] = new,
    }
}

/// Changes one element of a vector: shorter, longer, another, the same again.
fn element(form: &mut Form, random: &mut fastrand::Rng) {
    const ELEMENTS: &[&str] = &[
        "r",
        "ur",
        "sr",
        "fr",
        "xr",
        "h",
        "d",
        "p",
        "_",
        "1",
        "0f3F800000",
        "v4.x",
        "v4",
        "[t]",
        "nope",
        "%tid.x",
        "r0",
        "sv",
        "r+4",
    ];
    let Some(vector) = form.operands.iter_mut().find(|operand| operand.starts_with('{')) else { return };
    let inner = vector.trim_matches(['{', '}']).to_owned();
    let mut elements: Vec<&str> = inner.split(", ").collect();
    let at = random.usize(..elements.len());
    let new = ELEMENTS[random.usize(..ELEMENTS.len())];
    match random.u8(..4) {
        0 => {
            elements.remove(at);
        }
        1 => elements.push(new),
        _ => elements[at] = new,
    }
    *vector = format!("{{{}}}", elements.join(", "));
}

fn other(form: &mut Form, random: &mut fastrand::Rng) {
    match random.u8(..4) {
        0 => form.guard = Some(["@r", "@nope", "@!p", "@v4", "@sv", "@h"][random.usize(..6)].to_owned()),
        1 => form.operation = INSTRUCTIONS[random.usize(..INSTRUCTIONS.len())].operation.to_string(),
        2 => {
            const NAMES: &[&str] =
                &["aloc", "mma.red", "ld.ws", "wait", "fence", "copy", "wait::mma", "st.red"];
            NAMES[random.usize(..NAMES.len())].clone_into(&mut form.operation);
        }
        _ => {
            let sp = "sp".to_owned();
            form.qualifiers.insert(random.usize(..=form.qualifiers.len()), sp);
        }
    }
}
