//! The forms of instructions that the hardware is asked about.

use std::fmt::Write;

use ptx_check::isa::generic::{Form as Looks, Modifier, OperandSlot, Pair, Part, Role, Type, TypeRule};
use ptx_check::resolve::operations::Opcode;

/// A form of an instruction: what stands in the program, and which registers it reads and writes.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// What names it, and what `Arithmetic` is asked for.
    pub(crate) opcode: String,
    /// The statements, with `$d0` and `$s0` for the registers.
    pub(crate) text: String,
    /// Sources that are numbers in the text; they follow the registers in the order of the operands.
    pub(crate) sources: Vec<Source>,
    pub(crate) destinations: Vec<Type>,
    /// The lanes of each warp that execute it.
    pub(crate) active: u32,
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Type),
    Immediate(u64),
}

impl Form {
    /// A form whose operands are those of the table.
    fn new(opcode: &str, immediates: &[u64]) -> Self {
        let decoded = Opcode::new(opcode);
        let mut form = Self {
            opcode: opcode.to_owned(),
            text: String::new(),
            sources: vec![],
            destinations: vec![],
            active: u32::MAX,
        };
        let mut immediates = immediates.iter();
        let mut operands = Vec::new();
        for slot in &decoded.slots {
            let ty = type_of(&decoded, slot);
            let mut text = String::new();
            if slot.role == Role::Destination {
                let _ = write!(text, "$d{}", form.destinations.len());
                form.destinations.push(ty);
                let is_shuffle_or_comparison = slot.pair != Pair::None && wants_pair(opcode);
                if is_shuffle_or_comparison {
                    let _ = write!(text, "|$d{}", form.destinations.len());
                    form.destinations.push(Type::Pred);
                }
            } else {
                let is_third_of_minimum = slot.presence == ptx_check::isa::generic::Presence::Optional;
                if is_third_of_minimum {
                    continue;
                }
                match immediates.next() {
                    Some(value) if slot.form == Looks::Immediate || *value != REGISTER => {
                        let _ = write!(text, "{value}");
                        form.sources.push(Source::Immediate(*value));
                    }
                    _ => {
                        let _ = write!(text, "$s{}", form.sources.len());
                        form.sources.push(Source::Register(ty));
                    }
                }
            }
            operands.push(text);
        }
        form.text = format!("{opcode} {};", operands.join(", "));
        form
    }

    /// A form with statements of its own.
    fn written(opcode: &str, text: &str, sources: &[Type], destinations: &[Type]) -> Self {
        Self {
            opcode: opcode.to_owned(),
            text: text.to_owned(),
            sources: sources.iter().map(|ty| Source::Register(*ty)).collect(),
            destinations: destinations.to_vec(),
            active: u32::MAX,
        }
    }
}

/// Among the numbers of a form: that a register stands here.
const REGISTER: u64 = u64::MAX;

fn wants_pair(opcode: &str) -> bool {
    let is_half = matches!(opcode.rsplit('.').next(), Some("f16" | "bf16"));
    opcode.starts_with("setp") && !is_half
        || opcode.starts_with("shfl")
        || ["match.all", "lop3", "elect"].iter().any(|name| opcode.starts_with(name))
}

fn type_of(opcode: &Opcode, slot: &OperandSlot) -> Type {
    let nth = |index: usize| opcode.types.get(index).copied().unwrap_or(Type::B32);
    match slot.ty {
        TypeRule::Nth(index) => nth(usize::from(index)),
        TypeRule::Fixed(ty) | TypeRule::Integer(ty) => ty,
        TypeRule::Product if opcode.has(Modifier::Part(Part::Wide)) => match nth(0) {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::U32 => Type::U64,
            _ => Type::S64,
        },
        TypeRule::Product => nth(0),
        TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => Type::B32,
    }
}

/// Every combination of words, one of each list; an empty word leaves its dot out.
fn combinations(lists: &[&[&str]]) -> Vec<String> {
    lists.iter().fold(vec![String::new()], |opcodes, words| {
        let with = |opcode: &String| {
            let opcode = opcode.clone();
            words.iter().map(move |word| match (opcode.is_empty(), word.is_empty()) {
                (true, _) => (*word).to_owned(),
                (_, true) => opcode.clone(),
                _ => format!("{opcode}.{word}"),
            })
        };
        opcodes.iter().flat_map(with).collect()
    })
}

const INTEGERS: &[&str] = &["u16", "u32", "u64", "s16", "s32", "s64"];
const ROUNDINGS: &[&str] = &["rn", "rz", "rm", "rp"];
const ALL_INTEGERS: &[&str] = &["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

/// The opcodes whose operands are those of the table.
fn opcodes() -> Vec<String> {
    let lists: &[&[&[&str]]] = &[
        &[
            &["add", "sub", "mul.lo", "mul.hi", "mad.lo", "mad.hi", "sad", "div", "rem", "min", "max"],
            INTEGERS,
        ],
        &[&["mul.wide", "mad.wide"], &["u16", "u32", "s16", "s32"]],
        &[&["abs", "neg"], &["s16", "s32", "s64"]],
        &[&["add.sat", "sub.sat", "mad.hi.sat", "mad24.hi.sat", "min.relu", "max.relu"], &["s32"]],
        &[&["add", "min", "max"], &["u16x2", "s16x2"]],
        &[&["min.relu", "max.relu"], &["s16x2"]],
        &[&["mul24", "mad24"], &["lo", "hi"], &["u32", "s32"]],
        &[&["popc", "clz", "brev"], &["b32", "b64"]],
        &[&["bfind"], &["", "shiftamt"], &["u32", "s32", "u64", "s64"]],
        &[&["fns.b32", "bmsk.clamp.b32", "bmsk.wrap.b32"]],
        &[&["bfe"], &["u32", "s32", "u64", "s64"]],
        &[&["bfi"], &["b32", "b64"]],
        &[&["szext"], &["clamp", "wrap"], &["u32", "s32"]],
        &[&["dp4a", "dp2a.lo", "dp2a.hi"], &["u32", "s32"], &["u32", "s32"]],
        &[&["and", "or", "xor", "not"], &["pred", "b16", "b32", "b64"]],
        &[&["cnot"], &["b16", "b32", "b64"]],
        &[&["shf"], &["l", "r"], &["clamp", "wrap"], &["b32"]],
        &[&["shl"], &["b16", "b32", "b64"]],
        &[&["shr"], &["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"]],
        &[&["prmt.b32"], &["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]],
        &[&["setp"], &["eq", "lt", "ge"], INTEGERS],
        &[&["setp"], &["ne", "le", "gt"], &["s32", "u64", "b64"]],
        &[&["setp"], &["lo", "ls", "hi", "hs"], &["u32"]],
        &[&["setp"], &["eq", "lt"], &["and", "or", "xor"], &["s32", "f32", "f16x2"]],
        &[
            &["setp"],
            &["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"],
            &["f32", "f64", "f16"],
        ],
        &[&["setp"], &["lt", "gtu", "nan"], &["bf16", "bf16x2", "f16x2"]],
        &[&["setp"], &["eq", "lt"], &["ftz"], &["f32", "f16", "f16x2"]],
        &[&["set"], &["lt", "neu"], &["u32", "s32", "f32"], &["s32", "u64", "f32", "f64", "f16"]],
        &[&["set"], &["lt", "neu"], &["f16.f16", "f16x2.f16x2", "u32.f16x2", "s32.f16x2"]],
        &[&["set"], &["lt", "neu"], &["bf16.bf16", "bf16x2.bf16x2", "u16.f16", "u32.bf16x2", "u16.u16"]],
        &[&["set.eq.and.f32.f32", "set.lt.ftz.u32.f32", "set.gt.xor.u32.s32", "set.lt.or.f16.f16"]],
        &[&["selp"], &["b16", "b32", "b64", "f32", "f64"]],
        &[&["slct"], &["b16", "b32", "u64", "f64"], &["s32", "f32"]],
        &[&["slct.ftz"], &["b32"], &["f32"]],
        // Floating point.
        &[&["add", "sub", "mul", "fma"], ROUNDINGS, &["", "ftz", "sat", "ftz.sat"], &["f32"]],
        &[&["add", "sub", "mul", "fma", "div"], ROUNDINGS, &["f64"]],
        &[&["div", "rcp", "sqrt"], ROUNDINGS, &["", "ftz"], &["f32"]],
        &[&["rcp", "sqrt"], ROUNDINGS, &["f64"]],
        &[&["add", "sub", "mul", "fma"], &["rn"], &["", "ftz", "sat", "ftz.sat"], &["f16", "f16x2"]],
        &[&["add", "sub", "mul", "fma"], &["rn"], &["bf16", "bf16x2"]],
        &[&["fma.rn"], &["relu", "ftz.relu", "oob", "oob.relu"], &["f16", "f16x2", "bf16", "bf16x2"]],
        &[&["abs", "neg"], &["", "ftz"], &["f32", "f16", "f16x2"]],
        &[&["abs", "neg"], &["f64", "bf16", "bf16x2"]],
        &[&["min", "max"], &["", "ftz"], &["", "NaN"], &["", "xorsign.abs"], &["f32", "f16", "f16x2"]],
        &[&["min", "max"], &["", "NaN"], &["", "xorsign.abs"], &["bf16", "bf16x2"]],
        &[&["min.f64", "max.f64"]],
        &[
            &["testp"],
            &["finite", "infinite", "number", "notanumber", "normal", "subnormal"],
            &["f32", "f64"],
        ],
        &[&["copysign"], &["f32", "f64"]],
        &[
            &[
                "div.approx",
                "div.full",
                "rcp.approx",
                "sqrt.approx",
                "rsqrt.approx",
                "sin.approx",
                "cos.approx",
            ],
            &["", "ftz"],
            &["f32"],
        ],
        &[&["lg2.approx", "ex2.approx"], &["", "ftz"], &["f32"]],
        &[&["tanh.approx"], &["f32", "f16", "f16x2", "bf16", "bf16x2"]],
        &[&["ex2.approx"], &["f16", "f16x2", "ftz.bf16", "ftz.bf16x2"]],
        &[&["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"]],
        // Conversion.
        &[&["cvt"], ALL_INTEGERS, &["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]],
        &[&["cvt.sat"], &["u8", "s8", "s16", "u32", "s32"], &["s32", "u32", "s64", "u16"]],
        &[&["cvt.rzi"], ALL_INTEGERS, &["f16", "f32", "f64"]],
        &[&["cvt"], &["rni", "rmi", "rpi"], &["s32", "u16", "s64"], &["f16", "f32", "f64"]],
        &[&["cvt"], &["rni", "rzi"], &["u32", "s8"], &["bf16"]],
        &[&["cvt"], &["rzi", "rpi"], &["ftz"], &["s32"], &["f32"]],
        &[&["cvt.rn"], &["f16", "f32", "f64"], ALL_INTEGERS],
        &[&["cvt"], &["rz", "rm", "rp"], &["f32"], &["s32", "u32", "s64", "u64"]],
        &[&["cvt"], &["rz", "rm", "rp"], &["f16", "f64"], &["u32", "s64"]],
        &[&["cvt"], &["rn"], &["bf16"], &["u8", "s16", "u32", "s64"]],
        &[&["cvt"], &["rn", "rz", "rm", "rp"], &["", "sat", "ftz"], &["f32"], &["f64"]],
        &[&["cvt"], &["rn", "rz", "rm", "rp"], &["", "sat", "ftz"], &["f16"], &["f32"]],
        &[&["cvt"], &["rn", "rz", "rm", "rp"], &["f16"], &["f64"]],
        &[&["cvt"], &["rn", "rz", "rm", "rp"], &["", "relu"], &["bf16"], &["f32"]],
        &[&["cvt"], &["rn", "rz"], &["relu"], &["f16"], &["f32"]],
        &[&["cvt"], &["", "sat", "ftz"], &["f32"], &["f16", "f32"]],
        &[&["cvt"], &["f32", "f64"], &["bf16"]],
        &[&["cvt"], &["", "sat"], &["f64"], &["f16", "f32", "f64"]],
        &[&["cvt"], &["f32.bf16", "f16.f16", "rn.f16.bf16", "rn.bf16.f16", "rn.bf16.f64", "bf16.bf16"]],
        &[&["cvt"], &["rni", "rzi", "rmi", "rpi"], &["", "sat"], &["f32.f32", "f64.f64", "f16.f16"]],
        &[&["cvt"], &["rni", "rpi"], &["bf16.bf16", "ftz.f32.f32"]],
        &[&["cvt"], &["rna", "rn", "rz"], &["", "relu"], &["tf32.f32"]],
        &[&["cvt"], &["rna.satfinite"], &["tf32.f32"]],
        &[&["cvt"], &["rn", "rz"], &["", "relu"], &["f16x2", "bf16x2"], &["f32"]],
        &[&["cvt"], &["rn.satfinite"], &["", "relu"], &["e4m3x2", "e5m2x2"], &["f32", "f16x2"]],
        &[&["cvt"], &["rn"], &["", "relu"], &["f16x2"], &["e4m3x2", "e5m2x2"]],
        &[&["cvt.pack.sat"], &["u16", "s16"], &["s32"]],
        &[&["cvt.pack.sat"], &["u8", "s8", "u4", "s4", "u2", "s2"], &["s32.b32"]],
        // Video.
        &[
            &["vadd", "vsub", "vabsdiff", "vmin", "vmax"],
            &["u32", "s32"],
            &["u32", "s32"],
            &["s32", "u32.sat"],
        ],
        &[
            &["vadd", "vmin", "vabsdiff"],
            &["u32", "s32"],
            &["s32"],
            &["u32"],
            &["add", "min", "max", "sat.add"],
        ],
        &[&["vshl", "vshr"], &["u32", "s32"], &["u32", "s32"], &["u32.clamp", "u32.wrap"]],
        &[&["vset"], &["u32", "s32"], &["u32", "s32"], &["lt", "ge", "eq"]],
        &[
            &[
                "vadd2",
                "vsub2",
                "vavrg2",
                "vabsdiff2",
                "vmin2",
                "vmax2",
                "vadd4",
                "vsub4",
                "vavrg4",
                "vabsdiff4",
                "vmin4",
                "vmax4",
            ],
            &[
                "u32.u32.u32",
                "s32.s32.s32",
                "s32.u32.s32",
                "u32.u32.u32.sat",
                "s32.s32.s32.sat",
                "u32.u32.u32.add",
                "s32.s32.s32.add",
            ],
        ],
        &[&["vset2", "vset4"], &["u32.u32.lt", "s32.u32.ge", "s32.s32.eq.add"]],
        // The lanes of a warp.
        &[&["vote.sync"], &["all.pred", "any.pred", "uni.pred", "ballot.b32"]],
        &[&["match.any.sync", "match.all.sync"], &["b32", "b64"]],
        &[&["redux.sync"], &["add", "min", "max"], &["u32", "s32"]],
        &[&["redux.sync"], &["and", "or", "xor"], &["b32"]],
        &[&["activemask.b32", "elect.sync", "movmatrix.sync.aligned.m8n8.trans.b16"]],
    ];
    lists.iter().flat_map(|lists| combinations(lists)).collect()
}

/// All forms.
pub(crate) fn all() -> Vec<Form> {
    let is_collective =
        |opcode: &str| ["vote", "match", "redux", "elect"].iter().any(|name| opcode.starts_with(name));
    let mut forms: Vec<Form> = opcodes()
        .iter()
        .map(|opcode| match opcode.as_str() {
            // The mask of all threads is a number.
            name if name.starts_with("elect") => Form::new(name, &[0xFFFF_FFFF]),
            name if is_collective(name) => Form::new(name, &[REGISTER, 0xFFFF_FFFF]),
            name => Form::new(name, &[]),
        })
        .collect();
    for table in [0x00, 0x80, 0xE8, 0x96, 0x1B, 0xFE] {
        forms.push(Form::new("lop3.b32", &[REGISTER, REGISTER, REGISTER, table]));
    }
    for opcode in ["lop3.or.b32", "lop3.and.b32"] {
        forms.push(Form::new(opcode, &[REGISTER, REGISTER, REGISTER, 0x96]));
    }
    for mode in ["up", "down", "bfly", "idx"] {
        let opcode = format!("shfl.sync.{mode}.b32");
        for (offset, clamp) in
            [(1, 0), (1, 31), (3, 0x1F), (5, 0x181F), (9, 0x1C03), (16, 0x0010), (31, 0x1000)]
        {
            forms.push(Form::new(&opcode, &[REGISTER, offset, clamp, 0xFFFF_FFFF]));
        }
        forms.push(Form::new(&opcode, &[REGISTER, REGISTER, 0x1F, 0xFFFF_FFFF]));
        forms.push(Form::new(&opcode, &[REGISTER, REGISTER, REGISTER, 0xFFFF_FFFF]));
    }
    // Some lanes only. What a shuffle takes from others is undefined.
    for active in [0xAAAA_AAAA, 0x0001_FF00, 0x8000_0000] {
        let mask = u64::from(active);
        for opcode in [
            "vote.sync.all.pred",
            "vote.sync.any.pred",
            "vote.sync.uni.pred",
            "vote.sync.ballot.b32",
            "match.any.sync.b32",
            "match.all.sync.b32",
            "redux.sync.add.u32",
            "redux.sync.min.s32",
            "redux.sync.xor.b32",
        ] {
            forms.push(Form { active, ..Form::new(opcode, &[REGISTER, mask]) });
        }
        forms.push(Form { active, ..Form::new("elect.sync", &[mask]) });
        forms.push(Form { active, ..Form::new("activemask.b32", &[]) });
    }
    for (mode, offset) in [("bfly", 6), ("idx", 3), ("down", 2), ("up", 4)] {
        let clamp = if mode == "up" { 0x1000 } else { 0x101F };
        let form = Form::new(&format!("shfl.sync.{mode}.b32"), &[REGISTER, offset, clamp, 0xAAAA_AAAA]);
        forms.push(Form { active: 0xAAAA_AAAA, ..form });
    }
    forms.extend(written());
    forms
}

/// Those with operands that the table does not show: packing and carries.
fn written() -> Vec<Form> {
    use Type::{B16, B32, B64};
    let mut forms = vec![
        Form::written("mov.b32", "mov.b32 $d0, {$s0, $s1};", &[B16, B16], &[B32]),
        Form::written("mov.b32", "mov.b32 {$d0, $d1}, $s0;", &[B32], &[B16, B16]),
        Form::written("mov.b64", "mov.b64 $d0, {$s0, $s1};", &[B32, B32], &[B64]),
        Form::written("mov.b64", "mov.b64 {$d0, $d1}, $s0;", &[B64], &[B32, B32]),
        Form::written("mov.b64", "mov.b64 $d0, {$s0, $s1, $s2, $s3};", &[B16; 4], &[B64]),
        Form::written("mov.b64", "mov.b64 {$d0, $d1, $d2, $d3}, $s0;", &[B64], &[B16; 4]),
    ];
    let primaries = ["evict_last", "evict_normal", "evict_first", "evict_unchanged"];
    for primary in primaries {
        for secondary in ["", ".L2::evict_first", ".L2::evict_unchanged"] {
            let opcode = format!("createpolicy.fractional.L2::{primary}{secondary}.b64");
            forms.push(Form::written(&opcode, &format!("{opcode} $d0;"), &[], &[B64]));
            for fraction in [0x3F80_0000, 0x3F00_0000, 0x3E99_999A, 0x3D00_0000] {
                let text = format!("{opcode} $d0, 0f{fraction:08X};");
                let mut form = Form::written(&opcode, &text, &[], &[B64]);
                form.sources.push(Source::Immediate(fraction));
                forms.push(form);
            }
        }
    }
    for ty in ["u32", "s32", "u64", "s64"] {
        let register = if ty.ends_with("64") { B64 } else { B32 };
        let one = |text: &str| text.replace("TY", ty);
        let set = one("add.cc.TY $t0, $c, -1; ");
        let set_borrow = one("sub.cc.TY $t0, 0, $c; ");
        let get = one(" addc.TY $d1, 0, 0;");
        let get_borrow = one(" subc.TY $d1, 0, 0; and.bBITS $d1, $d1, 1;").replace("BITS", &ty[1..]);
        for (name, sources, before, after) in [
            ("add.cc", 2, "", get.as_str()),
            ("addc", 2, set.as_str(), ""),
            ("addc.cc", 2, set.as_str(), get.as_str()),
            ("sub.cc", 2, "", get_borrow.as_str()),
            ("subc", 2, set_borrow.as_str(), ""),
            ("subc.cc", 2, set_borrow.as_str(), get_borrow.as_str()),
            ("mad.lo.cc", 3, "", get.as_str()),
            ("mad.hi.cc", 3, "", get.as_str()),
            ("madc.lo.cc", 3, set.as_str(), get.as_str()),
            ("madc.hi.cc", 3, set.as_str(), get.as_str()),
            ("madc.hi", 3, set.as_str(), ""),
        ] {
            let operands: Vec<String> = (0..sources).map(|index| format!("$s{index}")).collect();
            let takes = !before.is_empty();
            let gives = !after.is_empty();
            let before = before.replace("$c", &format!("$s{sources}"));
            let text = format!("{before}{name}.{ty} $d0, {};{after}", operands.join(", "));
            // The carry is a number of the same width here, 0 or 1.
            let mut types = vec![register; sources];
            types.extend(takes.then_some(Type::Pred));
            let mut form = Form::written(&format!("{name}.{ty}"), &text, &types, &[register]);
            form.destinations.extend(gives.then_some(register));
            forms.push(form);
        }
    }
    forms
}
