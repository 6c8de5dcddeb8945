//! Mistakes of kinds that are fixed, made in sound statements of real modules.
//!
//! A mistake is a statement that somebody may have meant as the sound one: with a register of another class, a
//! number out of range, a vector that is too short, a word too few or too many, for a target that does not have it.
//! ptxas says whether it is one. Of those that it refuses, how many are found is told by kind and by what it says;
//! what it accepts must have no finding.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ptx_check::diagnostic::{Ptxas, Severity};
use ptx_check::isa::generic::{Row, rows_starting_with};
use ptx_check::isa::special_registers::Special;
use ptx_check::isa::targets::{PtxVersion, TARGETS, Target, VERSIONS};
use ptx_check::resolve::operations::Opcode;
use ptx_check::resolve::symbols::{Resolution, SymbolKind};
use ptx_check::resolve::unit::Unit;
use ptx_check::syntax::ast::{OperandKind, RawInstruction, StateSpace, Type};
use ptx_check::{Options, Source, check};
use rayon::prelude::*;

use crate::oracle::assembler::{Assembler, CRASH, Verdict};
use crate::oracle::{Case, module};
use crate::{Result, root};

/// The module that statements are put into.
pub(super) const MODULE: &str = include_str!("../../../../fixtures/ptxas/mistakes.ptx");

#[derive(Debug, clap::Args)]
#[group(id = "making-mistakes")]
pub(crate) struct Arguments {
    /// Make mistakes of fixed kinds in statements of modules, and count which are found.
    #[arg(long)]
    pub(super) mistakes: bool,
    /// Modules, or folders of them, whose statements are taken besides those of fixtures/kernels.
    #[arg(long, num_args = 1.., requires = "mistakes")]
    modules: Vec<PathBuf>,
    /// Only the statements of these modules.
    #[arg(long, requires = "modules")]
    alone: bool,
    /// How many mistakes of each kind are made in each statement.
    #[arg(long, default_value_t = 2, requires = "mistakes")]
    each: usize,
    /// How many statements are taken at most, by chance.
    #[arg(long, default_value_t = usize::MAX, requires = "mistakes")]
    statements: usize,
    /// Only these kinds.
    #[arg(long, value_delimiter = ',', requires = "mistakes")]
    kinds: Vec<Kind>,
    /// How many of the causes are listed that are missed most.
    #[arg(long, default_value_t = 40, requires = "mistakes")]
    top: usize,
    /// Write every statement with both verdicts to this file.
    #[arg(long, requires = "mistakes")]
    dump: Option<PathBuf>,
}

/// What kind of mistake is made.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum, strum::EnumIter, strum::Display,
)]
#[strum(serialize_all = "lowercase")]
enum Kind {
    /// None.
    Sound,
    /// A register of another class, somewhere among the operands.
    Register,
    /// Another number, or one where a register is.
    Immediate,
    /// A vector of another length, or with an element of another class.
    Vector,
    /// One word less.
    Dropped,
    /// One word twice.
    Doubled,
    /// A word of a sister instruction.
    Exchanged,
    /// A special register misspelt, or where it does not belong.
    Special,
    /// One operand less, one twice, or two exchanged.
    Operand,
    /// An older version.
    Version,
    /// Another target.
    Target,
}

/// The classes of registers in the template, by their prefixes.
const CLASSES: &[&str] =
    &["p", "c", "h", "uh", "sh", "fh", "r", "ur", "sr", "fr", "xr", "d", "ud", "sd", "fd", "q"];

/// Targets that mistakes are assembled for.
const OLDEST: Target = Target::plain(75);

/// A statement in its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parts {
    words: Vec<String>,
    operands: Vec<String>,
    target: Target,
    version: PtxVersion,
}

impl Parts {
    fn of(case: &Case) -> Self {
        let statement = case.statement.trim_end_matches(';');
        let (opcode, rest) = statement.split_once(' ').unwrap_or((statement, ""));
        Self {
            words: opcode.split('.').map(str::to_owned).collect(),
            operands: super::operands_of(rest),
            target: case.target,
            version: case.version,
        }
    }

    fn case(&self) -> Case {
        let space = if self.operands.is_empty() { "" } else { " " };
        let statement = format!("{}{space}{};", self.words.join("."), self.operands.join(", "));
        Case { statement, target: self.target, version: self.version }
    }

    /// What statements have in common that differ in numbers alone.
    fn shape(&self) -> String {
        let operands: Vec<String> = self
            .operands
            .iter()
            .map(|operand| {
                let mut shape = operand.clone();
                for (range, token) in tokens(operand).into_iter().rev() {
                    if token == Token::Integer {
                        shape.replace_range(range, "#");
                    }
                }
                shape
            })
            .collect();
        format!("{} {}", self.words.join("."), operands.join(", "))
    }

    fn name(&self) -> &'static str {
        Opcode::new(&self.words.join(".")).row.map_or("(none)", Row::name)
    }

    /// The same with other words.
    fn with_words(&self, change: impl FnOnce(&mut Vec<String>)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.words);
        changed
    }

    /// The same with other operands.
    fn with_operands(&self, change: impl FnOnce(&mut Vec<String>)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.operands);
        changed
    }

    /// The same with something else in a part of an operand.
    fn with(&self, operand: usize, range: Range<usize>, new: &str) -> Self {
        self.with_operands(|operands| operands[operand].replace_range(range, new))
    }
}

/// What a piece of an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// By its place in [`CLASSES`].
    Register(usize),
    Integer,
    Float,
    Special,
    Other,
}

/// The names and numbers of an operand.
fn tokens(operand: &str) -> Vec<(Range<usize>, Token)> {
    let bytes = operand.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let starts_name = |byte: u8| byte.is_ascii_alphabetic() || b"_%$".contains(&byte);
        let start = at;
        if bytes[at].is_ascii_digit() {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                at += 1;
            }
            let text = &operand[start..at];
            let is_float = text.contains('.')
                || (text.starts_with("0f") || text.starts_with("0d") || text.starts_with("0F"))
                || text.starts_with("0D");
            found.push((start..at, if is_float { Token::Float } else { Token::Integer }));
        } else if starts_name(bytes[at]) {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b"_%$.:".contains(&bytes[at])) {
                at += 1;
            }
            let text = &operand[start..at];
            let class = text.trim_end_matches(|c: char| c.is_ascii_digit());
            let token = match CLASSES.iter().position(|it| *it == class) {
                Some(class) if class_end(text) < text.len() => Token::Register(class),
                _ if text.starts_with('%') || text == "WARP_SZ" => Token::Special,
                _ => Token::Other,
            };
            found.push((start..at, token));
        } else {
            at += 1;
        }
    }
    found
}

fn class_end(register: &str) -> usize {
    register.trim_end_matches(|c: char| c.is_ascii_digit()).len()
}

pub(super) fn run(
    assembler: &Assembler,
    arguments: &Arguments,
    only: &str,
    is_recorded: bool,
    random: &mut fastrand::Rng,
) -> Result<bool> {
    let wants = |kind: Kind| arguments.kinds.is_empty() || arguments.kinds.contains(&kind);
    let mut bases = statements(arguments, random)?;
    bases.retain(|parts| parts.words.join(".").starts_with(only));
    random.shuffle(&mut bases);
    bases.truncate(arguments.statements);
    let sound: Vec<Case> = bases.iter().map(Parts::case).collect();
    let verdicts = assembler.explain(&sound)?;
    let mut judged: Vec<Judged> = Vec::new();
    let mut asked: BTreeSet<(Kind, Case)> = BTreeSet::new();
    let mut accepted = Vec::new();
    for ((parts, case), verdict) in bases.iter().zip(&sound).zip(&verdicts) {
        if verdict.is_none() {
            accepted.push(parts);
            asked.insert((Kind::Sound, case.clone()));
        }
    }
    println!("{} statements of different shape, {} accepted by themselves", sound.len(), accepted.len());
    for parts in accepted {
        for kind in <Kind as strum::IntoEnumIterator>::iter().filter(|kind| wants(*kind)) {
            let mut all = mistakes(kind, parts, random);
            random.shuffle(&mut all);
            let all = all.into_iter().map(|it| it.case()).take(arguments.each);
            asked.extend(all.map(|case| (kind, case)));
        }
    }
    let (kinds, cases): (Vec<Kind>, Vec<Case>) = asked.into_iter().unzip();
    let verdicts = assembler.explain(&cases)?;
    let ours: Vec<Ours> = cases.par_iter().map(judge).collect();
    judged.extend(
        kinds.into_iter().zip(cases).zip(verdicts).zip(ours).map(|(((kind, case), verdict), ours)| Judged {
            kind,
            case,
            verdict,
            ours,
        }),
    );
    if let Some(path) = &arguments.dump {
        dump(path, &judged)?;
    }
    if is_recorded {
        record(&judged, assembler.version(), random)?;
    }
    Ok(report(&judged, arguments.top))
}

/// A statement with what both say.
struct Judged {
    kind: Kind,
    case: Case,
    verdict: Verdict,
    ours: Ours,
}

/// The codes of what is found.
#[derive(Debug, Default)]
struct Ours {
    /// Errors that the assembler is said to refuse.
    refuses: BTreeSet<String>,
    /// Errors that it is said to accept.
    others: BTreeSet<String>,
}

fn judge(case: &Case) -> Ours {
    let text = module(MODULE, case.version, case.target, std::iter::once(case.statement.as_str()));
    let mut ours = Ours::default();
    // The module is far shorter than a source may be.
    let report = Source::new("case.ptx", text).map(|source| check(&source, &Options::default()));
    for finding in report.map(|report| report.diagnostics).unwrap_or_default() {
        if finding.severity == Severity::Error {
            let codes = if finding.ptxas == Ptxas::Rejects { &mut ours.refuses } else { &mut ours.others };
            codes.insert(finding.code.to_string());
        }
    }
    ours
}

/// The codes of all errors that are found in a statement.
pub(super) fn errors(case: &Case) -> BTreeSet<String> {
    let Ours { refuses, others } = judge(case);
    refuses.into_iter().chain(others).collect()
}

/// One statement of each shape.
fn statements(arguments: &Arguments, random: &mut fastrand::Rng) -> Result<Vec<Parts>> {
    let mut by_shape: BTreeMap<String, Vec<Parts>> = BTreeMap::new();
    let mut files = Vec::new();
    if !arguments.alone {
        modules_in(&root().join("fixtures/kernels"), &mut files)?;
        for case in super::recorded_as_accepted()? {
            let parts = Parts::of(&case);
            by_shape.entry(parts.shape()).or_default().push(parts);
        }
    }
    for path in &arguments.modules {
        modules_in(path, &mut files)?;
    }
    files.sort();
    let read = |path: &PathBuf| -> BTreeMap<String, Parts> {
        let source =
            fs::read(path).ok().and_then(|it| Source::from_bytes(path.display().to_string(), it).ok());
        source.map(|source| of_module(&source)).unwrap_or_default()
    };
    let found: Vec<BTreeMap<String, Parts>> = files.par_iter().map(read).collect();
    println!("{} modules read", files.len());
    for (shape, parts) in found.into_iter().flatten() {
        by_shape.entry(shape).or_default().push(parts);
    }
    Ok(by_shape.into_values().filter_map(|all| random.choice(all)).collect())
}

fn modules_in(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if path.is_dir() || path.extension().is_some_and(|it| it == "ptx") {
                modules_in(&path, found)?;
            }
        }
    } else {
        found.push(path.to_owned());
    }
    Ok(())
}

/// The statements of a module, outside tcgen05, in names of the template: one of each shape.
fn of_module(source: &Source) -> BTreeMap<String, Parts> {
    let unit = Unit::new(source);
    let mut found = BTreeMap::new();
    let first = |headers: &[ptx_check::syntax::ast::Header]| {
        let header = headers.first()?;
        let operand = unit.module.operands(header.operands).first()?;
        Some(source.slice(operand.span()).trim().to_owned())
    };
    let target = first(&unit.module.targets).and_then(|it| it.parse::<Target>().ok());
    let version = first(&unit.module.versions).and_then(|it| it.parse::<PtxVersion>().ok());
    let (Some(target), Some(version)) = (target, version) else { return found };
    // The assembler does not know older ones any more.
    let target = if target.sm < OLDEST.sm { OLDEST } else { target };
    let Some(since) = target.since().filter(|_| target.renamed().is_none()) else { return found };
    let version = version.max(since);
    if !version.exists() {
        return found;
    }
    for (index, instruction) in (0..).zip(&unit.module.instructions) {
        if !unit.operations.is_tensor(index)
            && let Some((words, operands)) = renamed(&unit, instruction)
        {
            let parts = Parts { words, operands, target, version };
            found.entry(parts.shape()).or_insert(parts);
        }
    }
    found
}

/// The words and operands of an instruction, with the names of the template.
fn renamed(unit: &Unit, instruction: &RawInstruction) -> Option<(Vec<String>, Vec<String>)> {
    let opcode: String =
        unit.source.slice(instruction.opcode).chars().filter(|c| !c.is_ascii_whitespace()).collect();
    if opcode.contains('/') || opcode.starts_with("call") {
        return None;
    }
    let is_store = opcode.starts_with("st.param");
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut operands = Vec::new();
    for index in instruction.operands.range() {
        let operand = unit.module.operands[index];
        let span = operand.span();
        let mut text = unit.source.slice(span).to_owned();
        let mut changes = Vec::new();
        let mut pending = vec![index];
        while let Some(index) = pending.pop() {
            let operand = &unit.module.operands[index];
            if operand.has_parts() {
                pending.extend(operand.parts().range());
                continue;
            }
            if operand.kind() != OperandKind::Name {
                continue;
            }
            let place = operand.span();
            let written = unit.source.slice(place);
            let new = match unit.symbols.operand(index as u32) {
                Resolution::Special(_) => written.to_owned(),
                Resolution::Undeclared => return None,
                Resolution::Register(id) => {
                    let SymbolKind::Register { ty, vector: 1, .. } = unit.symbols.register(id).kind else {
                        return None;
                    };
                    if written.contains('.') {
                        return None;
                    }
                    let class = class_of(ty?)?;
                    let number = names.get(written).cloned();
                    number.unwrap_or_else(|| {
                        let count = counts.entry(class).or_default();
                        let name = format!("{class}{count}");
                        *count += 1;
                        names.insert(written.to_owned(), name.clone());
                        name
                    })
                }
                Resolution::Symbol(id) => match unit.symbols.symbol(id).kind {
                    SymbolKind::Register { .. } => return None,
                    SymbolKind::Variable { ty: Some(Type::Texref), .. } => "tx".to_owned(),
                    // A module has samplers only where its target says so.
                    SymbolKind::Variable { ty: Some(Type::Samplerref), .. } => return None,
                    SymbolKind::Variable { ty: Some(Type::Surfref), .. } => "sf".to_owned(),
                    SymbolKind::Variable { space, .. } => match space {
                        StateSpace::Shared => "sv".to_owned(),
                        StateSpace::Global => "gv".to_owned(),
                        StateSpace::Const => "cv".to_owned(),
                        StateSpace::Local => "lv".to_owned(),
                        StateSpace::Param if is_store => "pb".to_owned(),
                        StateSpace::Param => "kp".to_owned(),
                        StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => return None,
                    },
                    SymbolKind::Label { .. } if opcode.starts_with("brx") => "T".to_owned(),
                    SymbolKind::Label { .. } => "L".to_owned(),
                    SymbolKind::Function { .. } => "f".to_owned(),
                },
            };
            changes.push((place.start - span.start, place.end - span.start, new));
        }
        // Parts are met from the last to the first, or within each other never.
        changes.sort();
        for (start, end, new) in changes.into_iter().rev() {
            text.replace_range(start as usize..end as usize, &new);
        }
        if text.contains("//") || text.contains("/*") {
            return None;
        }
        operands.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Some((opcode.split('.').map(str::to_owned).collect(), operands))
}

/// The registers of the template that are declared with a type.
fn class_of(ty: Type) -> Option<&'static str> {
    Some(match ty {
        Type::Pred => "p",
        Type::B8 | Type::U8 | Type::S8 => "c",
        Type::B16 => "h",
        Type::U16 => "uh",
        Type::S16 => "sh",
        Type::F16 => "fh",
        Type::B32 => "r",
        Type::U32 => "ur",
        Type::S32 => "sr",
        Type::F32 => "fr",
        Type::F16x2 => "xr",
        Type::B64 => "d",
        Type::U64 => "ud",
        Type::S64 => "sd",
        Type::F64 => "fd",
        Type::B128 => "q",
        _ => return None,
    })
}

/// All mistakes of a kind that a statement is given; of those without end some by chance.
fn mistakes(kind: Kind, parts: &Parts, random: &mut fastrand::Rng) -> Vec<Parts> {
    match kind {
        Kind::Sound => Vec::new(),
        Kind::Register => registers(parts),
        Kind::Immediate => immediates(parts, random),
        Kind::Vector => vectors(parts),
        Kind::Dropped => {
            let places = 1..parts.words.len();
            places.map(|at| parts.with_words(|words| drop(words.remove(at)))).collect()
        }
        Kind::Doubled => (1..parts.words.len())
            .flat_map(|at| {
                let word = &parts.words[at];
                [at + 1, parts.words.len()].map(|to| parts.with_words(|it| it.insert(to, word.clone())))
            })
            .collect(),
        Kind::Exchanged => exchanged(parts),
        Kind::Special => specials(parts, random),
        Kind::Operand => operands(parts),
        Kind::Version => versions(parts),
        Kind::Target => {
            let others =
                targets().filter(|(target, since)| *target != parts.target && *since <= parts.version);
            others.map(|(target, _)| Parts { target, ..parts.clone() }).collect()
        }
    }
}

/// The targets that the assembler has, under the names that they have today.
fn targets() -> impl Iterator<Item = (Target, PtxVersion)> {
    TARGETS.iter().copied().filter(|(target, _)| target.sm >= OLDEST.sm && target.renamed().is_none())
}

fn registers(parts: &Parts) -> Vec<Parts> {
    let mut found = Vec::new();
    for (at, operand) in parts.operands.iter().enumerate() {
        for (range, token) in tokens(operand) {
            let Token::Register(class) = token else { continue };
            for other in CLASSES.iter().filter(|other| **other != CLASSES[class]) {
                found.push(parts.with(at, range.clone(), &format!("{other}9")));
            }
        }
    }
    found
}

/// Numbers at the bounds of what fits so many bits, and of other looks.
fn number(random: &mut fastrand::Rng) -> String {
    let power = 1i128 << random.u32(0..65);
    match random.u8(..12) {
        0..3 => power.to_string(),
        3..5 => (power - 1).to_string(),
        5..7 => (power + 1).to_string(),
        7 => format!("-{power}"),
        8 => format!("-{}", power + 1),
        9 => "0f3F800000".to_owned(),
        10 => "0d3FF0000000000000".to_owned(),
        _ => ["1.5", "0", "-1", "3", "WARP_SZ"][random.usize(..5)].to_owned(),
    }
}

fn immediates(parts: &Parts, random: &mut fastrand::Rng) -> Vec<Parts> {
    let mut found = Vec::new();
    for (at, operand) in parts.operands.iter().enumerate() {
        for (range, token) in tokens(operand) {
            let times = match token {
                Token::Integer | Token::Float => 12,
                Token::Register(_) => 2,
                Token::Special | Token::Other => 0,
            };
            // The sign belongs to the number.
            let sign = usize::from(times == 12 && operand[..range.start].ends_with('-'));
            for _ in 0..times {
                found.push(parts.with(at, range.start - sign..range.end, &number(random)));
            }
        }
    }
    found
}

fn vectors(parts: &Parts) -> Vec<Parts> {
    let mut found = Vec::new();
    for (at, operand) in parts.operands.iter().enumerate() {
        let mut end = 0;
        while let Some(start) = operand[end..].find('{').map(|it| end + it) {
            end = operand[start..].find('}').map_or(operand.len(), |it| start + it);
            let inner = &operand[start + 1..end];
            let elements: Vec<&str> = inner.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
            let Some(last) = elements.last() else { continue };
            let mut counts = vec![elements.len() - 1, elements.len() + 1, 0, 1, 3, 16];
            counts.retain(|count| *count != elements.len());
            for count in counts {
                let some: Vec<&str> =
                    elements.iter().copied().chain(std::iter::repeat(*last)).take(count).collect();
                found.push(parts.with(at, start + 1..end, &some.join(", ")));
            }
            for (place, element) in elements.iter().enumerate() {
                let class = &element[..class_end(element)];
                for other in CLASSES.iter().filter(|other| **other != class) {
                    let name = format!("{other}9");
                    let mut changed = elements.clone();
                    changed[place] = &name;
                    found.push(parts.with(at, start + 1..end, &changed.join(", ")));
                }
            }
            // The first element alone.
            found.push(parts.with(at, start..(end + 1).min(operand.len()), last));
        }
        if let [(range, Token::Register(_))] = &tokens(operand)[..]
            && *range == (0..operand.len())
        {
            found.push(parts.with(at, range.clone(), &format!("{{{operand}}}")));
            found.push(parts.with(at, range.clone(), &format!("{{{operand}, {operand}}}")));
        }
    }
    found
}

/// With a word of another instruction of the same first word.
fn exchanged(parts: &Parts) -> Vec<Parts> {
    let rows = rows_starting_with(&parts.words[0]);
    let mut words: BTreeSet<String> = BTreeSet::new();
    for (name, row) in rows {
        words.extend(name.split('.').skip(1).map(str::to_owned));
        words.extend(row.modifiers.iter().flat_map(|group| group.words).map(|word| word.spelling()));
    }
    let places = 1..parts.words.len();
    places
        .flat_map(|at| {
            let others = words.iter().filter(move |word| **word != parts.words[at]);
            others.map(move |word| parts.with_words(|words| words[at].clone_from(word)))
        })
        .collect()
}

fn specials(parts: &Parts, random: &mut fastrand::Rng) -> Vec<Parts> {
    let all: Vec<String> = Special::all().map(|(name, _)| name).collect();
    let mut found = Vec::new();
    for (at, operand) in parts.operands.iter().enumerate() {
        for (range, token) in tokens(operand) {
            let written = &operand[range.clone()];
            match token {
                Token::Special => {
                    let base = written.split('.').next().unwrap_or_default();
                    let mut others: Vec<String> = ["x", "y", "z", "w", "q", "r"]
                        .map(|component| format!("{base}.{component}"))
                        .into_iter()
                        .chain([base.to_owned(), format!("{written}.x"), format!("{written}0")])
                        .collect();
                    for place in 1..written.len() {
                        others.push(format!("{}{}", &written[..place], &written[place + 1..]));
                        others.push(format!("{}{}", &written[..=place], &written[place..]));
                        others.push(format!("{}x{}", &written[..place], &written[place + 1..]));
                    }
                    // Names of other registers of the machine, half of all.
                    others.extend((0..others.len()).filter_map(|_| random.choice(&all).cloned()));
                    others.retain(|other| other != written);
                    found.extend(others.iter().map(|other| parts.with(at, range.clone(), other)));
                }
                // What is written is seldom meant to be a special register.
                Token::Register(_) if at > 0 || random.u8(..8) == 0 => {
                    for _ in 0..3 {
                        let other = random.choice(&all).map_or("", String::as_str);
                        found.push(parts.with(at, range.clone(), other));
                    }
                }
                Token::Register(_) | Token::Integer | Token::Float | Token::Other => {}
            }
        }
    }
    found
}

fn operands(parts: &Parts) -> Vec<Parts> {
    let count = parts.operands.len();
    let dropped = (0..count).map(|at| parts.with_operands(|operands| drop(operands.remove(at))));
    let doubled =
        (0..count).map(|at| parts.with_operands(|operands| operands.insert(at, operands[at].clone())));
    let exchanged = (1..count).map(|at| parts.with_operands(|operands| operands.swap(at - 1, at)));
    dropped.chain(doubled).chain(exchanged).collect()
}

/// Of the statement's target, and of those that were the first of their kind.
fn versions(parts: &Parts) -> Vec<Parts> {
    let first = [Target::plain(75), Target::plain(80), Target::plain(90), Target::a(90), Target::a(100)];
    let mut found = BTreeSet::new();
    for target in std::iter::once(parts.target).chain(first) {
        let since = target.since().unwrap_or(PtxVersion::LATEST).max(PtxVersion::new(6, 0));
        for &version in VERSIONS.iter().filter(|it| (since..parts.version).contains(it)) {
            found.insert(Parts { target, version, ..parts.clone() });
        }
    }
    found.into_iter().collect()
}

/// A message without the names and numbers in it.
fn cause(message: &str) -> String {
    let mut text = String::new();
    for (index, piece) in message.split('\'').enumerate() {
        text.push_str(if index % 2 == 1 { "'X'" } else { piece });
    }
    let mut cause = String::new();
    let mut is_number = false;
    for c in text.chars() {
        if c.is_ascii_digit() {
            if !is_number {
                cause.push('N');
            }
            is_number = true;
        } else {
            is_number = false;
            cause.push(c);
        }
    }
    cause.replace("N.N", "N").replace("sm_Na", "sm_N").replace("sm_Nf", "sm_N").trim().to_owned()
}

#[derive(Default)]
struct Tally {
    refused: usize,
    found: usize,
}

impl Tally {
    fn add(&mut self, is_found: bool) {
        self.refused += 1;
        self.found += usize::from(is_found);
    }

    fn missed(&self) -> usize {
        self.refused - self.found
    }

    fn share(&self) -> f64 {
        100.0 * self.found as f64 / self.refused.max(1) as f64
    }
}

/// Tells what is found, and whether nothing is where nothing should be.
fn report(judged: &[Judged], top: usize) -> bool {
    let mut kinds: BTreeMap<Kind, (usize, Tally)> = BTreeMap::new();
    let mut causes: BTreeMap<String, Tally> = BTreeMap::new();
    let mut missed: BTreeMap<(&str, String), Vec<&Judged>> = BTreeMap::new();
    let mut false_alarms: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
    let mut others: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
    let crashes = judged.iter().filter(|it| it.verdict.as_deref() == Some(CRASH)).count();
    for it in judged.iter().filter(|it| it.verdict.as_deref() != Some(CRASH)) {
        let (count, tally) = kinds.entry(it.kind).or_default();
        *count += 1;
        let is_found = !it.ours.refuses.is_empty();
        if let Some(message) = &it.verdict {
            let cause = cause(message);
            tally.add(is_found);
            causes.entry(cause.clone()).or_default().add(is_found);
            if !is_found {
                missed.entry((Parts::of(&it.case).name(), cause)).or_default().push(it);
            }
        } else {
            for code in &it.ours.refuses {
                let name = Parts::of(&it.case).name();
                false_alarms.entry(format!("{code} {name}")).or_default().push(it);
            }
            for code in &it.ours.others {
                others.entry(code.clone()).or_default().push(it);
            }
        }
    }
    println!(
        "\n{:<12} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "kind", "asked", "accepted", "refused", "missed", "found"
    );
    let mut all = (0, Tally::default());
    for (kind, (count, tally)) in &kinds {
        line(&kind.to_string(), *count, tally);
        all.0 += count;
        all.1.refused += tally.refused;
        all.1.found += tally.found;
    }
    line("all", all.0, &all.1);
    let mut causes: Vec<(String, Tally)> = causes.into_iter().collect();
    causes.sort_by_key(|(cause, tally)| (std::cmp::Reverse(tally.missed()), cause.clone()));
    println!("\n{:>8} {:>8} {:>8}  what the assembler says", "refused", "missed", "found");
    for (cause, tally) in causes.iter().take(top) {
        println!("{:>8} {:>8} {:>6.1} %  {cause}", tally.refused, tally.missed(), tally.share());
    }
    let rest: usize = causes.iter().skip(top).map(|(_, tally)| tally.missed()).sum();
    println!("{rest} missed of {} other causes", causes.len().saturating_sub(top));
    println!("\nmissed most:");
    let mut missed: Vec<_> = missed.into_iter().collect();
    missed.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    for ((name, cause), all) in missed.iter().take(top) {
        println!("{:>6} × {name}: {cause}", all.len());
        examples(all);
    }
    for (code, all) in &others {
        println!("\n{} × accepted, an error of another kind: {code}", all.len());
        examples(all);
    }
    for (code, all) in &false_alarms {
        println!("\nFALSE ALARM, {} ×: {code}", all.len());
        examples(all);
    }
    let alarms: usize = false_alarms.values().map(Vec::len).sum();
    println!("\n{crashes} crashes of the assembler, which say nothing\n{alarms} false alarms");
    false_alarms.is_empty()
}

fn line(kind: &str, count: usize, tally: &Tally) {
    println!(
        "{kind:<12} {count:>9} {:>9} {:>9} {:>9} {:>5.1} %",
        count - tally.refused,
        tally.refused,
        tally.missed(),
        tally.share()
    );
}

/// Two of the statements, the shortest.
fn examples(all: &[&Judged]) {
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|it| (it.case.statement.len(), &it.case));
    for it in sorted.iter().take(2) {
        let said = it.verdict.as_deref().map(|said| format!("  ({said})")).unwrap_or_default();
        println!("           {} {} | {}{said}", it.case.target, it.case.version, it.case.statement);
    }
}

/// Writes some verdicts of each kind down, for the test that holds them.
fn record(judged: &[Judged], version: &str, random: &mut fastrand::Rng) -> Result<()> {
    const ACCEPTED: usize = 150;
    const REFUSED: usize = 250;
    let mut text = format!(
        "# Verdicts of {version} on statements in mistakes.ptx; written by `cargo xtask generic --mistakes --record`.\n\
         # kind, target, version, verdict, whether an error was found, statement\n"
    );
    for kind in <Kind as strum::IntoEnumIterator>::iter() {
        let mut lines = Vec::new();
        for (is_accepted, count) in [(true, ACCEPTED), (false, REFUSED)] {
            let mut some: Vec<&Judged> = judged
                .iter()
                .filter(|it| it.kind == kind && it.verdict.is_none() == is_accepted)
                .filter(|it| it.verdict.as_deref() != Some(CRASH))
                .collect();
            random.shuffle(&mut some);
            some.truncate(count);
            let verdict = if is_accepted { "accepts" } else { "rejects" };
            lines.extend(some.into_iter().map(|it| {
                let Case { statement, target, version } = &it.case;
                let found = if it.ours.refuses.is_empty() { "silent" } else { "found" };
                format!("{kind}\t{target}\t{version}\t{verdict}\t{found}\t{statement}\n")
            }));
        }
        lines.sort();
        text.extend(lines);
    }
    fs::write(root().join("fixtures/ptxas/mistakes.tsv"), text)?;
    println!("wrote fixtures/ptxas/mistakes.tsv");
    Ok(())
}

fn dump(path: &Path, judged: &[Judged]) -> Result<()> {
    let mut text = String::from("# kind, target, version, ptxas, ours, statement, message\n");
    for it in judged {
        let verdict = if it.verdict.is_none() { "accepts" } else { "rejects" };
        let codes: Vec<&str> = it.ours.refuses.iter().map(String::as_str).collect();
        let codes = if codes.is_empty() { "-".to_owned() } else { codes.join(" ") };
        let Case { statement, target, version } = &it.case;
        let said = it.verdict.as_deref().unwrap_or_default();
        writeln!(text, "{}\t{target}\t{version}\t{verdict}\t{codes}\t{statement}\t{said}", it.kind)?;
    }
    fs::write(path, text)?;
    println!("wrote {}", path.display());
    Ok(())
}
