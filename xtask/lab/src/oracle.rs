//! The assembler as the judge.
//!
//! Statements are made from the instruction table ([`enumerate`]) and bent ([`mutate`]), both by a
//! fixed seed; ptxas ([`assembler`]) and ptx-tc say of each whether it is accepted; every
//! difference that is not among the [`known`] ones is a defect of ptx-tc.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use ptx_check::diagnostic::{Diagnostic, Ptxas, Severity};
use ptx_check::isa::targets::{PtxVersion, TARGETS, TENSOR_TARGETS, Target, VERSIONS};
use ptx_check::{Options, Source, check};

use crate::Result;

pub(crate) mod assembler;
mod enumerate;
mod known;
mod messages;
mod mutate;
pub(crate) mod record;

use assembler::Assembler;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of statements to ask about.
    #[arg(long, default_value_t = 6_000)]
    statements: usize,
    /// Seed of the enumeration and the mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write fixtures/ptxas/ instead of comparing.
    #[arg(long)]
    record: bool,
    /// Print the messages of both for an example of each rule.
    #[arg(long)]
    messages: bool,
    /// Succeed, loudly, where the assembler cannot be installed.
    #[arg(long)]
    optional: bool,
    /// How many differences to list for each cause.
    #[arg(long, default_value_t = 3)]
    examples: usize,
}

/// A statement and what it is assembled for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Case {
    /// One statement, possibly with a guard, on one line.
    pub(crate) statement: String,
    pub(crate) target: Target,
    pub(crate) version: PtxVersion,
}

const MODULE: &str = include_str!("../../../fixtures/ptxas/module.ptx");

impl Case {
    /// The module with this statement alone.
    pub(crate) fn module(&self) -> String {
        module(MODULE, self.version, self.target, std::iter::once(self.statement.as_str()))
    }

    /// The operation, for the tally.
    fn operation(&self) -> String {
        let words = self.statement.split_once("tcgen05.").map_or("", |(_, words)| words);
        let word = words.split(['.', ' ', ';']).next().unwrap_or_default();
        let known = ptx_check::isa::tensor::INSTRUCTIONS
            .iter()
            .any(|form| form.operation.name().split('.').next() == Some(word));
        if known { word.to_owned() } else { "(none)".to_owned() }
    }

    /// What ptx-tc finds.
    pub(crate) fn check(&self) -> Vec<Diagnostic> {
        // The module is far shorter than a source may be.
        Source::new("case.ptx", self.module())
            .map(|source| check(&source, &Options::default()).diagnostics)
            .unwrap_or_default()
    }
}

/// A module with one kernel for each statement.
pub(crate) fn module<'a>(
    template: &str,
    version: PtxVersion,
    target: Target,
    statements: impl Iterator<Item = &'a str>,
) -> String {
    // Older versions do not have the widest registers.
    let old: String;
    let template = if version < PtxVersion::new(8, 3) {
        old =
            template.lines().filter(|line| !line.contains(".b128")).map(|line| format!("{line}\n")).collect();
        old.as_str()
    } else {
        template
    };
    let (head, kernel) = template.split_at(template.find(".visible").unwrap_or_default());
    let mut text = head.replace("{version}", &version.to_string()).replace("{target}", &target.to_string());
    for (number, statement) in statements.enumerate() {
        text += &kernel.replace("{number}", &number.to_string()).replace("{statement}", statement);
    }
    text
}

/// Whether ptx-tc says that the assembler accepts it.
pub(crate) fn predicts_acceptance(findings: &[Diagnostic]) -> bool {
    !findings.iter().any(|finding| finding.severity == Severity::Error && finding.ptxas == Ptxas::Rejects)
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let assembler = match Assembler::install() {
        Ok(assembler) => assembler,
        Err(error) if arguments.optional => {
            println!("WARNING: NVIDIA's assembler cannot be installed here: {error}");
            println!("WARNING: the live comparison did NOT run; only recorded verdicts hold.");
            return Ok(true);
        }
        Err(error) => return Err(error),
    };
    if arguments.messages {
        return messages::print(&assembler);
    }
    if arguments.record {
        return record::write(&assembler, arguments.seed);
    }
    let cases = cases(arguments.statements, arguments.seed);
    compare(&assembler, &cases, arguments.examples)
}

/// `count` statements: about a third as the table has them, the rest bent.
pub(crate) fn cases(count: usize, seed: u64) -> Vec<Case> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut cases = BTreeSet::new();
    // Some forms have few variants; give up when nothing new comes any more.
    let mut attempts = 0;
    while cases.len() < count && attempts < count * 20 {
        attempts += 1;
        let (target, version) = place(&mut random);
        let mut form = enumerate::form(&mut random);
        if random.u8(..3) > 0 {
            mutate::mutate(&mut form, &mut random);
        }
        cases.insert(Case { statement: form.text(), target, version });
    }
    cases.into_iter().collect()
}

/// A target and version; mostly ones that have nearly everything, so that the form decides.
fn place(random: &mut fastrand::Rng) -> (Target, PtxVersion) {
    if random.u8(..4) > 0 {
        let target = [Target::a(100), Target::a(103), Target::a(107), Target::a(110)][random.usize(..4)];
        return (target, PtxVersion::LATEST);
    }
    let versions: Vec<PtxVersion> =
        VERSIONS.iter().copied().filter(|version| *version >= PtxVersion::new(8, 6)).collect();
    let version = versions[random.usize(..versions.len())];
    let target = if random.u8(..8) == 0 {
        let recent: Vec<Target> =
            TARGETS.iter().map(|&(target, _)| target).filter(|it| it.sm >= 90).collect();
        recent[random.usize(..recent.len())]
    } else {
        TENSOR_TARGETS[random.usize(..TENSOR_TARGETS.len())]
    };
    (target, version)
}

fn compare(assembler: &Assembler, cases: &[Case], examples: usize) -> Result<bool> {
    let start = Instant::now();
    let verdicts = assembler.ask(cases)?;
    let mut tally: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut differences: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut explained: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, accepted) in cases.iter().zip(verdicts) {
        tally.entry(case.operation()).or_default()[usize::from(!accepted)] += 1;
        let findings = case.check();
        if predicts_acceptance(&findings) == accepted {
            continue;
        }
        if let Some(reason) = known::reason(case, &findings, accepted) {
            *explained.entry(reason).or_default() += 1;
            continue;
        }
        let codes: BTreeSet<String> = findings.iter().map(|finding| finding.code.to_string()).collect();
        let cause = if accepted {
            format!("ptxas accepts, ptx-tc finds {}", codes.into_iter().collect::<Vec<_>>().join(" "))
        } else {
            "ptxas refuses, ptx-tc finds nothing".to_owned()
        };
        let line = format!("{} {} | {}", case.target, case.version, case.statement);
        differences.entry(cause).or_default().push(line);
    }
    println!("{:<28} {:>8} {:>8}", "operation", "accepted", "refused");
    let mut sum = [0, 0];
    for (operation, [accepted, refused]) in &tally {
        println!("{operation:<28} {accepted:>8} {refused:>8}");
        sum = [sum[0] + accepted, sum[1] + refused];
    }
    println!("{:<28} {:>8} {:>8}", "all", sum[0], sum[1]);
    for (reason, count) in &explained {
        println!("explained: {count} × {reason}");
    }
    let unexplained: usize = differences.values().map(Vec::len).sum();
    for (cause, lines) in &mut differences {
        lines.sort_by_key(String::len);
        println!("DIFFERENCE, {} ×: {cause}", lines.len());
        for line in lines.iter().take(examples) {
            println!("    {line}");
        }
    }
    println!(
        "{} statements compared with {} in {:.0} s, {unexplained} unexplained differences",
        cases.len(),
        assembler.version(),
        start.elapsed().as_secs_f64()
    );
    println!("{} passed, {unexplained} failed", cases.len() - unexplained);
    Ok(unexplained == 0)
}
