//! The table of generic instructions before the assembler.
//!
//! Three claims are put to ptxas. *Each word of each row is one*: for every word there is a statement
//! with it that is accepted; it is looked for among statements made from the row. *No word is
//! missing*: what is accepted when a word of another row is added to such a statement, or put in
//! place of one of its words, is known to the table as well. *No operand is*: what is accepted when a word
//! or an operand is left out, or an operand is given twice or another look, the table has as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptx_check::Source;
use ptx_check::isa::generic::{
    self, Form, Geometry, Modifier, OperandSlot, Operation, Pair, Role, Row, Shape, Space, SpaceRule, Type,
    TypeRule,
};
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_check::resolve::operations::Opcode;
use ptx_check::resolve::unit::Unit;

use crate::oracle::Case;
use crate::oracle::assembler::Assembler;
use crate::{Result, root};

mod known;
mod mistakes;
mod tirx;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Seed of the statements.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often a statement is looked for that has a certain word and is accepted.
    #[arg(long, default_value_t = 14)]
    rounds: usize,
    /// How many foreign words are tried on each row.
    #[arg(long, default_value_t = 60)]
    foreign: usize,
    /// How many of the ways in which an accepted statement can lose something, or get another operand, are tried.
    #[arg(long, default_value_t = 4)]
    misfits: usize,
    /// Take the statements that are accepted from fixtures/ptxas/generic.tsv instead of looking for them, and
    /// look at the third claim alone.
    #[arg(long)]
    recorded: bool,
    /// Only the rows whose name starts with this.
    #[arg(long, default_value = "")]
    only: String,
    /// Write fixtures/ptxas/generic.tsv instead of comparing; with `--recorded`, misfits.tsv beside it; with
    /// `--mistakes`, mistakes.tsv.
    #[arg(long)]
    record: bool,
    /// Succeed, loudly, where the assembler cannot be installed.
    #[arg(long)]
    optional: bool,
    #[command(flatten)]
    mistakes: mistakes::Arguments,
    #[command(flatten)]
    tirx: tirx::Arguments,
}

const MODULE: &str = include_str!("../../../fixtures/ptxas/generic.ptx");

/// Numbers that operands are made of.
const INTEGERS: &[&str] = &["0", "1", "-1", "2", "4", "8", "16", "24", "64", "128"];

/// Statements that are asked for one word in one round.
const TRIES: usize = 8;

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let assembler = match Assembler::install() {
        Ok(assembler) => assembler.with_template(if arguments.mistakes.mistakes || arguments.tirx.tirx {
            mistakes::MODULE
        } else {
            MODULE
        }),
        Err(error) if arguments.optional => {
            println!("WARNING: NVIDIA's assembler cannot be installed here: {error}");
            return Ok(true);
        }
        Err(error) => return Err(error),
    };
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    if arguments.tirx.tirx {
        return tirx::run(&assembler, &arguments.tirx, &arguments.only, arguments.seed);
    }
    if arguments.mistakes.mistakes {
        return mistakes::run(
            &assembler,
            &arguments.mistakes,
            &arguments.only,
            arguments.record,
            &mut random,
        );
    }
    if arguments.recorded {
        return fits(&assembler, &recorded_as_accepted()?, arguments, &mut random);
    }
    let rows: Vec<&'static Row> = generic::rows()
        .filter(|row| row.operation != Operation::Tensor && row.name().starts_with(&arguments.only))
        .collect();
    let accepted = accepted(&assembler, &rows, arguments.rounds, &mut random)?;
    let mut is_sound = true;
    for (index, row) in rows.iter().enumerate() {
        let missing: Vec<String> = words_of(row)
            .filter(|word| !accepted.contains_key(&(index, *word)))
            .filter(|word| known::never_accepted(row.operation, word.1).is_none())
            .map(|(group, word)| format!("{group}:.{}", word.map_or("(none)".to_owned(), Modifier::spelling)))
            .collect();
        if !missing.is_empty() {
            is_sound = false;
            println!("NEVER ACCEPTED: {} ({:?}): {}", row.name(), row.operation, missing.join(" "));
        }
    }
    let foreign = foreign(&rows, &accepted, arguments.foreign, &mut random);
    let verdicts = assembler.ask(&foreign)?;
    let mut surprises: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut refused = Vec::new();
    for (case, accepted) in foreign.iter().zip(verdicts) {
        match (accepted, judge(case)) {
            (false, _) => refused.push(case.clone()),
            (true, Ok(())) => {}
            (true, Err(reason)) => surprises.entry(reason).or_default().push(case.statement.clone()),
        }
    }
    tell("ACCEPTED, BUT UNKNOWN", &surprises);
    println!(
        "{} rows, {} words accepted by {}; {} foreign words tried, {} refused, {} surprises",
        rows.len(),
        accepted.len(),
        assembler.version(),
        foreign.len(),
        refused.len(),
        surprises.len()
    );
    let accepted: BTreeSet<Case> = accepted.into_values().collect();
    is_sound &= fits(&assembler, &accepted, arguments, &mut random)?;
    if arguments.record {
        random.shuffle(&mut refused);
        refused.truncate(2_000);
        record(&assembler, "generic.tsv", &accepted, &refused.into_iter().collect())?;
    }
    Ok(is_sound && surprises.is_empty())
}

/// Each group of a row with each of its words; `None` stands for a row without words.
fn words_of(row: &'static Row) -> impl Iterator<Item = (usize, Option<Modifier>)> {
    let words = row.modifiers.iter().enumerate();
    let words = words.flat_map(|(group, it)| it.words.iter().map(move |word| (group, Some(*word))));
    std::iter::once((0, None)).chain(words)
}

type Accepted = BTreeMap<(usize, (usize, Option<Modifier>)), Case>;

/// For each word of each row a statement that ptxas accepts.
fn accepted(
    assembler: &Assembler,
    rows: &[&'static Row],
    rounds: usize,
    random: &mut fastrand::Rng,
) -> Result<Accepted> {
    let mut found = Accepted::new();
    for round in 0..rounds {
        let mut wanted = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            for word in words_of(row).filter(|word| !found.contains_key(&(index, *word))) {
                // Later rounds try harder.
                for _ in 0..TRIES << (round / 3) {
                    let base = found.get(&(index, (0, None)));
                    wanted.push((index, word, statement(row, word, base, random)));
                }
            }
        }
        if wanted.is_empty() {
            break;
        }
        let mut cases: Vec<Case> = wanted.iter().map(|(_, _, case)| case.clone()).collect();
        cases.sort_unstable();
        cases.dedup();
        let verdicts: BTreeMap<&Case, bool> = cases.iter().zip(assembler.ask(&cases)?).collect();
        let mut new = 0;
        for (index, word, case) in wanted {
            if verdicts.get(&case) == Some(&true) && judge(&case).is_ok() {
                found.entry((index, word)).or_insert_with(|| {
                    new += 1;
                    case
                });
            }
        }
        println!("round {round}: {} statements, {new} new words", cases.len());
    }
    Ok(found)
}

/// Targets and versions that between them have every instruction; mostly those that have this one.
fn place(operation: Operation, random: &mut fastrand::Rng) -> (Target, PtxVersion) {
    let preferred = match operation {
        Operation::WgmmaMmaAsync
        | Operation::WgmmaMmaAsyncSp
        | Operation::WgmmaFence
        | Operation::WgmmaCommitGroup
        | Operation::WgmmaWaitGroup => Some(90),
        Operation::Mma | Operation::MmaSp => Some(120),
        Operation::Spcompress | Operation::Spdecompress => Some(107),
        _ => None,
    };
    if let Some(sm) = preferred.filter(|_| random.u8(..4) > 0) {
        return (Target::a(sm), PtxVersion::LATEST);
    }
    match random.u8(..10) {
        0..4 => (Target::a(100), PtxVersion::LATEST),
        4 => (Target::a(90), PtxVersion::LATEST),
        5 => (Target::a(120), PtxVersion::LATEST),
        6..8 => (Target::a(107), PtxVersion::LATEST),
        8 => (Target::a(103), PtxVersion::LATEST),
        // The last one with shuffles and votes that do not synchronise.
        _ => (Target::plain(75), PtxVersion::new(6, 3)),
    }
}

/// A statement of a row with a word, and others by chance.
fn statement(
    row: &'static Row,
    (group, word): (usize, Option<Modifier>),
    base: Option<&Case>,
    random: &mut fastrand::Rng,
) -> Case {
    let (mut target, mut version) = place(row.operation, random);
    if let Some(base) = base.filter(|_| random.bool()) {
        (target, version) = (base.target, base.version);
    }
    let typical = typical(row.operation, word, random);
    // Most statements have few words that they need not have.
    let optional: Vec<usize> =
        (0..row.modifiers.len()).filter(|index| !row.modifiers[*index].required).collect();
    let extra: Vec<usize> =
        (0..random.usize(..4)).filter_map(|_| random.choice(&optional).copied()).collect();
    let mut opcode = random.choice(row.names).copied().unwrap_or_default().to_owned();
    let mut chosen: Vec<Modifier> = Vec::new();
    let mut typical_words = typical.split('.').filter(|word| !word.is_empty()).peekable();
    for (index, candidates) in row.modifiers.iter().enumerate() {
        let hinted = typical_words
            .peek()
            .and_then(|word| candidates.words.iter().find(|modifier| modifier.spelling() == **word));
        let modifier = match (word, hinted) {
            (Some(word), _) if index == group => {
                if hinted.is_some() {
                    typical_words.next();
                }
                Some(word)
            }
            (_, Some(hinted)) => {
                typical_words.next();
                Some(*hinted)
            }
            _ if candidates.required || extra.contains(&index) => {
                // Operands of one kind often have one type.
                let same = chosen.last().filter(|it| candidates.words.contains(it) && random.u8(..3) > 0);
                same.or_else(|| random.choice(candidates.words)).copied()
            }
            _ => None,
        };
        if let Some(modifier) = modifier {
            opcode += &format!(".{}", modifier.spelling());
            chosen.push(modifier);
        }
    }
    let known = Opcode::new(&opcode);
    let mut operands = Vec::new();
    // The first few of those that may be left out, or any of them.
    let (by_prefix, mut optionals) = (random.bool(), random.usize(..5));
    for slot in &known.slots {
        let is_optional =
            matches!(slot.presence, generic::Presence::Optional | generic::Presence::OptionalUnless(_));
        if !is_optional || if by_prefix { optionals > 0 } else { random.bool() } {
            optionals = optionals.saturating_sub(usize::from(is_optional));
            operands.push(operand(&known, slot, operands.len(), random));
        }
    }
    let statement =
        if operands.is_empty() { format!("{opcode};") } else { format!("{opcode} {};", operands.join(", ")) };
    Case { statement, target, version }
}

/// Words that go together, where words by chance hardly ever do; in the order of the row.
fn typical(operation: Operation, word: Option<Modifier>, random: &mut fastrand::Rng) -> &'static str {
    const CVT: &[&str] = &[
        "rn.f16.f32",
        "rz.bf16.f32",
        "rn.tf32.f32",
        "rna.tf32.f32",
        "rn.relu.f16.f32",
        "rn.satfinite.bf16.f32",
        "rn.pzo.f16.f32",
        "",
        "",
        "",
    ];
    const PAIR: &[&str] =
        &["rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32", "rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32", "", ""];
    const PACKED: &[&str] = &[
        "rn.satfinite.scaled::n1::ue8m0.e4m3x2.bf16x2",
        "rp.ue5m3x2.bf16x2",
        "rn.f16x2.e3m2x2",
        "rn.satfinite.e3m2x2.f16x2",
        "rn.scaled::n2::ue8m0.bf16x2.e2m3x2",
        "rn.bf16x2.ue8m0x2",
        "rp.satfinite.ue8m0x2.bf16x2",
        "",
        "",
    ];
    const MEMORY: &[&str] =
        &["relaxed.sys", "relaxed.mmio.sys.global", "release.cta", "acquire.cta", "", "", ""];
    const WMMA: &[&str] = &[
        "row.col.m16n16k16.f16.f16",
        "row.col.m16n16k16.f32.f32",
        "row.col.m8n32k16.f16.f32",
        "row.col.m32n8k16.f32.f16",
        "row.col.m16n16k16.f32.f16.satfinite",
        "row.col.m16n16k16.f32.bf16.bf16.f32",
        "row.col.m8n32k16.f32.bf16.bf16.f32",
        "row.col.m16n16k8.f32.tf32.tf32.f32",
        "row.col.m8n8k4.rn.f64.f64.f64.f64",
        "row.col.m8n8k4.rz.f64.f64.f64.f64",
        "row.col.m8n8k4.rp.f64.f64.f64.f64",
        "row.col.m8n8k4.rm.f64.f64.f64.f64",
        "row.col.m16n16k16.s32.s8.s8.s32",
        "row.col.m16n16k16.s32.u8.u8.s32",
        "row.col.m8n32k16.s32.s8.s8.s32.satfinite",
        "row.col.m8n8k32.s32.s4.s4.s32",
        "row.col.m8n8k32.s32.u4.u4.s32",
        "and.popc.row.col.m8n8k128.s32.b1.b1.s32",
        "xor.popc.row.col.m8n8k128.s32.b1.b1.s32",
    ];
    const MMA: &[&str] = &[
        "m8n8k4.row.col.f16.f16.f16.f16",
        "m8n8k4.row.col.f32.f16.f16.f32",
        "m16n8k8.row.col.f16.f16.f16.f16",
        "m16n8k16.row.col.f32.f16.f16.f32",
        "m16n8k4.row.col.f32.tf32.tf32.f32",
        "m16n8k8.row.col.f32.bf16.bf16.f32",
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        "m16n8k16.row.col.f32.e4m3.e5m2.f32",
        "m16n8k32.row.col.f16.e5m2.e4m3.f16",
        "m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32",
        "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0",
        "m8n8k4.row.col.f64.f64.f64.f64",
        "m16n8k4.row.col.f64.f64.f64.f64",
        "m16n8k8.row.col.f64.f64.f64.f64",
        "m16n8k16.row.col.f64.f64.f64.f64",
        "m8n8k16.row.col.s32.u8.s8.s32",
        "m16n8k16.row.col.s32.s8.u8.s32",
        "m16n8k32.row.col.satfinite.s32.u8.u8.s32",
        "m8n8k32.row.col.s32.u4.s4.s32",
        "m16n8k32.row.col.s32.s4.u4.s32",
        "m16n8k64.row.col.s32.u4.u4.s32",
        "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
        "m16n8k128.row.col.s32.b1.b1.s32.and.popc",
        "m16n8k256.row.col.s32.b1.b1.s32.and.popc",
    ];
    const SPARSE: &[&str] = &[
        "m16n8k16.row.col.f16.f16.f16.f16",
        "m16n8k32.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.f32.bf16.bf16.f32",
        "m16n8k8.row.col.f32.tf32.tf32.f32",
        "m16n8k16.row.col.f32.tf32.tf32.f32",
        "m16n8k64.row.col.f32.e4m3.e5m2.f32",
        "m16n8k64.row.col.f16.e5m2.e4m3.f16",
        "m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32",
        "m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
        "m16n8k64.row.col.kind::f8f6f4.f32.e2m3.e2m1.f32",
        "m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0",
        "m16n8k32.row.col.s32.u8.s8.s32",
        "m16n8k64.row.col.satfinite.s32.s8.u8.s32",
        "m16n8k64.row.col.s32.u4.s4.s32",
        "m16n8k128.row.col.s32.s4.u4.s32",
    ];
    const SPARSE_WARPGROUP: &[&str] = &[
        "m64n8k32.f16.f16.f16",
        "m64n8k32.f32.bf16.bf16",
        "m64n8k16.f32.tf32.tf32",
        "m64n8k64.f16.e4m3.e5m2",
        "m64n8k64.f32.e5m2.e4m3",
        "m64n8k64.satfinite.s32.u8.s8",
        "m64n8k64.s32.s8.u8",
    ];
    const WARPGROUP: &[&str] = &[
        "m64n8k16.f16.f16.f16",
        "m64n16k16.f32.f16.f16",
        "m64n8k16.f32.bf16.bf16",
        "m64n8k8.f32.tf32.tf32",
        "m64n8k32.f16.e4m3.e5m2",
        "m64n8k32.f32.e5m2.e4m3",
        "m64n8k32.s32.s8.u8",
        "m64n8k32.s32.u8.s8",
        "m64n8k32.satfinite.s32.u8.s8",
        "m64n8k256.s32.b1.b1.and.popc",
    ];
    let choices = match operation {
        Operation::Cvt => CVT,
        Operation::CvtPair => PAIR,
        Operation::CvtPacked => PACKED,
        Operation::Ld | Operation::St => MEMORY,
        Operation::WmmaMma => WMMA,
        Operation::Mma => MMA,
        Operation::MmaSp => SPARSE,
        Operation::WmmaLoad => &["row.m8n8k32.s4", "col.m8n8k32.u4", "row.m8n8k128.b1", "", "", ""],
        Operation::WgmmaMmaAsync => WARPGROUP,
        Operation::WgmmaMmaAsyncSp => SPARSE_WARPGROUP,
        Operation::Atom => &["global.add.noftz.v8.f16", "", "", ""],
        Operation::CpAsyncBulkTensorLoad => &["2d.tile::gather4", "", ""],
        Operation::CpAsyncBulkTensorStore => &["2d.tile::scatter4", "", ""],
        Operation::CpAsyncBulkPrefetchTensor => &["2d.tile::gather4", "", ""],
        _ => &[],
    };
    // Best those with the word that is looked for.
    let spelling = word.map(Modifier::spelling).unwrap_or_default();
    let with: Vec<&&str> =
        choices.iter().filter(|words| words.split('.').any(|word| word == spelling)).collect();
    let choice = random.choice(&with).map(|choice| **choice);
    choice.or_else(|| random.choice(choices).copied()).unwrap_or_default()
}

/// Something that may stand in a position.
fn operand(opcode: &Opcode, slot: &OperandSlot, position: usize, random: &mut fastrand::Rng) -> String {
    let ty = type_of(opcode, slot.ty, random);
    let vector = opcode.modifier(|it| match it {
        Modifier::Vector(vector) => Some(vector.elements()),
        _ => None,
    });
    let operand = match slot.form {
        Form::Address => address(opcode, slot, random),
        Form::List => match slot.role {
            Role::Results => "(px)".to_owned(),
            _ => "(pa)".to_owned(),
        },
        Form::Name => match slot.role {
            Role::Callee => ["f", "g"][random.usize(..2)].to_owned(),
            Role::Label if slot.name == "tlist" => "T".to_owned(),
            _ => "L".to_owned(),
        },
        Form::Predicate => ["p3", "!p3"][random.usize(..2)].to_owned(),
        Form::Sink => "_".to_owned(),
        Form::Immediate => {
            if slot.name == "membermask" {
                return "0xFFFFFFFF".to_owned();
            }
            if slot.name.starts_with("imm-scale") {
                return ["1", "-1"][random.usize(..2)].to_owned();
            }
            if slot.name.starts_with("imm-trans") || matches!(slot.name, "sp-sel" | "f") {
                return ["0", "1"][random.usize(..2)].to_owned();
            }
            random.choice(INTEGERS).copied().unwrap_or_default().to_owned()
        }
        Form::Elements(count) => vector_of(ty, u32::from(count), position),
        Form::Vector => match vector {
            Some(len) => vector_of(ty, len, position),
            None => register(ty, position),
        },
        Form::Fragment
            if slot.name == "a" && random.bool() && opcode.operation() >= Some(Operation::WgmmaMmaAsync) =>
        {
            "d3".to_owned()
        }
        Form::Fragment => {
            let count = fragment(opcode, slot, random);
            let ty = if ty == Type::F64 { ty } else { narrow(ty) };
            if count == 1 && random.bool() { register(ty, position) } else { vector_of(ty, count, position) }
        }
        Form::Register if slot.name == "state" && random.bool() => "_".to_owned(),
        Form::Packed | Form::Register => register(ty, position),
        Form::Value => match random.u8(..8) {
            0 if ty.is_float() => "0f3F000000".to_owned(),
            0 | 1 if ty != Type::Pred => "1".to_owned(),
            _ => register(ty, position),
        },
    };
    let paired = match slot.pair {
        Pair::None => false,
        Pair::Optional => random.bool(),
        Pair::Required => true,
    };
    if paired { format!("{operand}|p5") } else { operand }
}

/// What a fragment is made of when it is not doubles.
fn narrow(ty: Type) -> Type {
    match ty.bits() {
        Some(..=16) => Type::B16,
        _ => Type::B32,
    }
}

fn type_of(opcode: &Opcode, rule: TypeRule, random: &mut fastrand::Rng) -> Type {
    let nth = |index: usize| opcode.types.get(index).copied().unwrap_or(Type::B32);
    match rule {
        TypeRule::Nth(index) => nth(usize::from(index)),
        TypeRule::Product if opcode.has(Modifier::Part(generic::Part::Wide)) => match nth(0).bits() {
            Some(16) => Type::B32,
            _ => Type::B64,
        },
        TypeRule::Product => nth(0),
        TypeRule::Fixed(ty) | TypeRule::Integer(ty) => ty,
        TypeRule::Pointer => Type::B64,
        TypeRule::Fragment if opcode.types.contains(&Type::F64) => Type::F64,
        TypeRule::Fragment => Type::B32,
        TypeRule::Any => [Type::Pred, Type::B32][random.usize(..2)],
    }
}

fn register(ty: Type, position: usize) -> String {
    let (class, number) = match ty.bits() {
        None => ("p", position),
        Some(..=8) => ("c", position),
        Some(9..=16) => ("h", position),
        Some(17..=32) => ("r", position),
        Some(33..=64) => ("d", position),
        Some(_) => ("q", position),
    };
    format!("{class}{number}")
}

fn vector_of(ty: Type, count: u32, position: usize) -> String {
    let class = register(ty, 0);
    let class = class.trim_end_matches('0');
    let start = if count <= 8 { 0 } else { position as u32 * count % 160 };
    let most = if class == "r" { 299 } else { 8 };
    let elements: Vec<String> =
        (start..start + count).map(|number| format!("{class}{}", number % (most + 1))).collect();
    format!("{{{}}}", elements.join(", "))
}

/// How many registers of a thread hold part of a matrix, or how many coordinates there are.
fn fragment(opcode: &Opcode, slot: &OperandSlot, random: &mut fastrand::Rng) -> u32 {
    let shape = opcode.modifier(|it| match it {
        Modifier::Shape(shape) => Some(shape),
        _ => None,
    });
    let count = opcode.modifier(|it| match it {
        Modifier::Count(count) => format!("{count:?}").trim_start_matches('X').parse::<u32>().ok(),
        _ => None,
    });
    let any = [1, 2, 3, 4, 8][random.usize(..5)];
    if let Some(count) = count {
        let factor = opcode.modifier(|it| match it {
            Modifier::SparsityFactor(_) => {
                let spelling = it.spelling();
                let (kept, all) = spelling.trim_start_matches("sp::").split_once(':')?;
                Some((kept.parse::<u32>().ok()?, all.parse::<u32>().ok()?))
            }
            _ => None,
        });
        let Some((kept, all)) = factor else { return count * [1, 2][random.usize(..2)] };
        let bits = |index: usize| opcode.types.get(index).and_then(|ty| ty.bits()).unwrap_or(8);
        let compresses = opcode.operation() == Some(Operation::Spcompress);
        return match slot.name {
            "mdata" if compresses => (count * bits(1)).div_ceil(bits(0)),
            "cdata" if compresses => count,
            "data" if compresses => 2 * count,
            "mdata" => (kept * bits(1) * count).div_ceil(32),
            "cdata" => (kept * bits(0) * count).div_ceil(32),
            _ => (all * bits(0) * count).div_ceil(32),
        };
    }
    let Some(Shape { m, n, k }) = shape else { return any };
    if opcode.operation() == Some(Operation::WmmaMma) && opcode.types.len() == 2 {
        // The old form: A and B are halves, and each of their elements is in two threads.
        let width = |index: usize| opcode.types.get(index).and_then(|ty| ty.bits()).unwrap_or(32);
        return match slot.name {
            "a" | "b" => 8,
            "c" => width(1) / 4,
            _ => width(0) / 4,
        };
    }
    let threads = if opcode.operation().is_some_and(|it| it >= Operation::WgmmaMmaAsync) { 128 } else { 32 };
    let types = &opcode.types;
    let ty = |index: usize| types.get(index).or(types.first()).and_then(|ty| ty.bits()).unwrap_or(32);
    let (elements, bits) = match slot.name {
        "a" => (u32::from(m) * u32::from(k), ty(1)),
        "b" => (u32::from(n) * u32::from(k), ty(2)),
        "c" => (u32::from(m) * u32::from(n), ty(3)),
        "r" => return [1, 2, 4, 8][random.usize(..4)],
        _ => (u32::from(m) * u32::from(n), ty(0)),
    };
    let width = if types.contains(&Type::F64) { 64 } else { 32 };
    // Formats narrower than a byte are stored in bytes by the kinds with several of them.
    let bits = if bits == 4 && random.bool() && types.iter().any(|ty| ty.is_float()) { 8 } else { bits };
    let exact = (elements * bits).div_ceil(threads * width).max(1);
    // A sparse A is half as large, an old fragment of halves twice.
    let halved =
        slot.name == "a" && matches!(opcode.operation(), Some(Operation::MmaSp | Operation::WgmmaMmaAsyncSp));
    match random.u8(..16) {
        0 => exact.div_ceil(2),
        1 => exact * 2,
        2.. if halved => exact.div_ceil(2),
        _ => exact,
    }
}

/// `[...]`
fn address(opcode: &Opcode, slot: &OperandSlot, random: &mut fastrand::Rng) -> String {
    let Role::Address(_, space) = slot.role else { return "[d1]".to_owned() };
    let geometry = opcode.modifier(|it| match it {
        Modifier::Geometry(geometry) => Some(geometry),
        _ => None,
    });
    let dimensions = geometry.map_or(0, |geometry| match geometry {
        Geometry::D1 => 1,
        Geometry::D2 | Geometry::A1d => 2,
        Geometry::D3 => 3,
        Geometry::D4
        | Geometry::A2d
        | Geometry::Cube
        | Geometry::Acube
        | Geometry::D2ms
        | Geometry::A2dms => 4,
        Geometry::D5 => 5,
    });
    let coordinates = |random: &mut fastrand::Rng| {
        let count = match random.u8(..4) {
            0 => random.u32(1..6),
            1 if geometry == Some(Geometry::D3) => 4,
            _ => dimensions,
        };
        vector_of(Type::B32, count, 0)
    };
    match space {
        SpaceRule::Opaque => {
            let name =
                if opcode.row.is_some_and(|row| row.chapter.starts_with("Surface")) { "sf" } else { "tx" };
            let base = if random.bool() { name } else { "d2" };
            if geometry.is_some() {
                format!("[{base}, {}]", coordinates(random))
            } else {
                format!("[{base}]")
            }
        }
        SpaceRule::Fabric => {
            let counted = opcode.has_flag(generic::Flag::CountedBytes);
            if counted { "[r1, d1, d2]".to_owned() } else { "[r1, d1]".to_owned() }
        }
        SpaceRule::Nth(_) | SpaceRule::Fixed(_) if slot.name == "tensorMap" => {
            format!("[d1, {}]", coordinates(random))
        }
        SpaceRule::Nth(index) => match opcode.spaces().nth(usize::from(index)) {
            Some(Space::Param | Space::ParamEntry) if opcode.operation() != Some(Operation::St) => {
                "[kp]".to_owned()
            }
            Some(Space::Param | Space::ParamEntry | Space::ParamFunc) => "[pa]".to_owned(),
            _ => ["[d1]", "[d1+16]"][random.usize(..2)].to_owned(),
        },
        SpaceRule::Fixed(_) => "[d1]".to_owned(),
    }
}

/// Accepted statements with a word of another row added to the opcode, or in place of one of its own.
fn foreign(rows: &[&'static Row], accepted: &Accepted, each: usize, random: &mut fastrand::Rng) -> Vec<Case> {
    let all: Vec<Modifier> = Modifier::all().collect();
    let mut cases = BTreeSet::new();
    for (index, row) in rows.iter().enumerate() {
        let own: Vec<&Case> =
            accepted.iter().filter(|((of, _), _)| *of == index).map(|(_, case)| case).collect();
        let others: Vec<Modifier> = all
            .iter()
            .copied()
            .filter(|word| !row.modifiers.iter().any(|group| group.words.contains(word)))
            .collect();
        for _ in 0..each {
            let (Some(case), Some(word)) = (random.choice(&own), random.choice(&others)) else { break };
            let (opcode, rest) = case.statement.split_once([' ', ';']).unwrap_or((&case.statement, ""));
            let end = if case.statement.contains(' ') { " " } else { ";" };
            let mut words: Vec<String> = opcode.split('.').map(str::to_owned).collect();
            let named = row.name().split('.').count();
            if random.bool() && words.len() > named {
                let at = random.usize(named..words.len());
                words[at] = word.spelling();
            } else {
                let at = random.usize(named..=words.len());
                words.insert(at, word.spelling());
            }
            cases.insert(Case { statement: format!("{}{end}{rest}", words.join(".")), ..(*case).clone() });
        }
    }
    cases.into_iter().collect()
}

/// The statements that are recorded as accepted.
fn recorded_as_accepted() -> Result<BTreeSet<Case>> {
    let text = fs::read_to_string(root().join("fixtures/ptxas/generic.tsv"))?;
    let mut cases = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let [target, version, "accepts", "agrees", statement] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            continue;
        };
        let (target, version) = (target.parse()?, version.parse()?);
        cases.insert(Case { statement: statement.to_owned(), target, version });
    }
    Ok(cases)
}

/// Whether the table has all that is accepted when a statement loses something, or gets another operand.
fn fits(
    assembler: &Assembler,
    accepted: &BTreeSet<Case>,
    arguments: &Arguments,
    random: &mut fastrand::Rng,
) -> Result<bool> {
    let cases: BTreeSet<Case> = accepted
        .iter()
        .flat_map(|case| {
            let mut all = misfits(case);
            random.shuffle(&mut all);
            all.truncate(arguments.misfits);
            all
        })
        .filter(|case| !accepted.contains(case))
        .collect();
    let cases: Vec<Case> = cases.into_iter().collect();
    let verdicts = assembler.ask(&cases)?;
    if arguments.recorded && arguments.record {
        let with = |wanted: bool, random: &mut fastrand::Rng| {
            let both = cases.iter().zip(&verdicts).filter(|(_, accepted)| **accepted == wanted);
            let mut some: Vec<Case> = both.map(|(case, _)| case.clone()).collect();
            random.shuffle(&mut some);
            some.truncate(2_000);
            some.into_iter().collect()
        };
        record(assembler, "misfits.tsv", &with(true, random), &with(false, random))?;
    }
    let (mut refused, mut fitting) = (0, 0);
    let mut surprises: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (case, accepted) in cases.iter().zip(verdicts) {
        match (accepted, judge(case)) {
            (false, verdict) => {
                refused += 1;
                fitting += usize::from(verdict.is_ok());
            }
            (true, Ok(())) => {}
            (true, Err(reason)) => surprises.entry(reason).or_default().push(case.statement.clone()),
        }
    }
    tell("ACCEPTED, BUT DOES NOT FIT", &surprises);
    println!(
        "{} statements with something missing or another operand, {refused} refused, {fitting} of them fit the \
         table; {} surprises",
        cases.len(),
        surprises.len()
    );
    Ok(surprises.is_empty())
}

/// Lists statements by what surprises in them.
fn tell(what: &str, surprises: &BTreeMap<String, Vec<String>>) {
    for (reason, statements) in surprises {
        println!("{what} ({} ×): {reason}", statements.len());
        for statement in statements.iter().take(2) {
            println!("    {statement}");
        }
    }
}

/// A statement without one of its words or operands, with one more, or with one that looks otherwise: all of these.
fn misfits(case: &Case) -> Vec<Case> {
    let statement = case.statement.trim_end_matches(';');
    let (opcode, rest) = statement.split_once(' ').unwrap_or((statement, ""));
    let words: Vec<&str> = opcode.split('.').collect();
    let operands = operands_of(rest);
    let mut found = Vec::new();
    let mut add = |words: &[&str], operands: &[String]| {
        let space = if operands.is_empty() { "" } else { " " };
        let statement = format!("{}{space}{};", words.join("."), operands.join(", "));
        found.push(Case { statement, ..case.clone() });
    };
    for at in 1..words.len() {
        add(&[&words[..at], &words[at + 1..]].concat(), &operands);
    }
    add(&words, &[&operands[..], &["r0".to_owned()]].concat());
    for (at, operand) in operands.iter().enumerate() {
        let (before, after) = (&operands[..at], &operands[at + 1..]);
        add(&words, &[before, after].concat());
        add(&words, &[before, &[operand.clone(), operand.clone()], after].concat());
        let bare = operand.strip_prefix(['[', '{', '(']).and_then(|it| it.strip_suffix([']', '}', ')']));
        let others = [
            Some(format!("{{{operand}}}")),
            Some(format!("[{operand}]")),
            Some(format!("({operand})")),
            bare.map(str::to_owned),
            Some("1".to_owned()),
            Some("{r0, r1}".to_owned()),
            Some("[d1]".to_owned()),
        ];
        for other in others.into_iter().flatten() {
            add(&words, &[before, &[other], after].concat());
        }
    }
    found
}

/// Operands between commas that stand in no brackets.
fn operands_of(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut operands = vec![String::new()];
    for c in text.chars() {
        depth += i32::from("[{(".contains(c)) - i32::from("]})".contains(c));
        match operands.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => operands.push(String::new()),
        }
    }
    operands.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// Whether the rules about instructions outside tcgen05 have nothing against a statement.
fn judge(case: &Case) -> std::result::Result<(), String> {
    let text = format!(".entry k() {{ {} }}", case.statement);
    let source = Source::new("case.ptx", text).map_err(|error| error.to_string())?;
    let unit = Unit::new(&source);
    let [instruction] = unit.module.instructions[..] else { return Err("does not parse".to_owned()) };
    let opcode = unit.operations.of(0);
    let Some(row) = opcode.row else { return Err("nothing".to_owned()) };
    let name = row.name();
    if let Some((_, word)) = opcode.refused_words(source.slice(instruction.opcode)).next() {
        return Err(format!("{name}: .{word}"));
    }
    if opcode.is_refused_as_incomplete() {
        return Err(format!("{name}: a word is missing"));
    }
    match opcode.refused(&unit.module, instruction.operands, source.slice(instruction.opcode)) {
        Some((misfit, _)) if opcode.is_known() => Err(format!("{name}: {misfit:?}")),
        _ => Ok(()),
    }
}

fn record(
    assembler: &Assembler,
    file: &str,
    accepted: &BTreeSet<Case>,
    refused: &BTreeSet<Case>,
) -> Result<()> {
    let mut text = format!(
        "# Verdicts of {} on statements in generic.ptx; written by `cargo xtask generic --record`.\n\
         # target, version, verdict, whether the table is known to differ, statement\n",
        assembler.version()
    );
    for (verdict, cases) in [("accepts", accepted), ("rejects", refused)] {
        for case in cases {
            let agrees = judge(case).is_ok() == (verdict == "accepts");
            let agreement = if agrees { "agrees" } else { "differs" };
            text +=
                &format!("{}\t{}\t{verdict}\t{agreement}\t{}\n", case.target, case.version, case.statement);
        }
    }
    fs::write(root().join("fixtures/ptxas").join(file), text)?;
    println!("wrote fixtures/ptxas/{file}");
    Ok(())
}
