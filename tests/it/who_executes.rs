//! The rules about who executes against a simulation: random kernels without loops run on two warps,
//! thread by thread. What is said to be reached by one thread of a warp is never reached by two; what
//! is said to be issued by every thread is issued by all threads of a warp or by none; what is said to
//! be executed by a part of a warp, or by several of its threads, is, if it is executed at all.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use ptx_tc::{Options, Source, check};

const WARP: usize = 32;
const THREADS: usize = 2 * WARP;
const REGISTERS: usize = 4;

/// A register or predicate, by its number.
type Place = usize;

#[derive(Clone, Debug)]
enum Op {
    Elect(Place),
    ThreadIndex(Place),
    Lane(Place),
    Constant(Place, i64),
    Copy(Place, Place),
    /// `r = s op constant`
    Compute(&'static str, Place, Place, i64),
    /// Of global memory, from where each thread has its own.
    LoadGlobal(Place),
    /// Of one address of global memory, where nobody writes.
    LoadTogether(Place),
    /// Of a parameter: it does not.
    LoadParameter(Place),
    /// `setp.op p, r, constant`
    Compare(&'static str, Place, Place, i64),
    /// `setp.op.bool p, r, constant, q`
    CompareWith(&'static str, &'static str, Place, Place, i64, Place),
    Not(Place, Place),
    And(Place, Place, Place),
    Or(Place, Place, Place),
    /// `r = p ? a : b`
    Select(Place, i64, i64, Place),
    Branch(Option<(Place, bool)>, usize),
    Exit(Place, bool),
    Aligned,
    Issue,
}

/// An operation and its guard.
type Guarded = (Op, Option<(Place, bool)>);

fn text((op, guard): &Guarded) -> String {
    let prefix = |guard: &Option<(Place, bool)>| match guard {
        Some((p, true)) => format!("@p{p} "),
        Some((p, false)) => format!("@!p{p} "),
        None => String::new(),
    };
    let body = match op {
        Op::Elect(p) => format!("elect.sync _|p{p}, -1;"),
        Op::ThreadIndex(r) => format!("mov.u32 r{r}, %tid.x;"),
        Op::Lane(r) => format!("mov.u32 r{r}, %laneid;"),
        Op::Constant(r, value) => format!("mov.u32 r{r}, {value};"),
        Op::Copy(r, s) => format!("mov.u32 r{r}, r{s};"),
        Op::Compute(name, r, s, value) => {
            let ty = if matches!(*name, "and" | "or" | "xor") { "b32" } else { "u32" };
            format!("{name}.{ty} r{r}, r{s}, {value};")
        }
        Op::LoadGlobal(r) => format!("ld.global.u32 r{r}, [e];"),
        Op::LoadTogether(r) => format!("ld.global.u32 r{r}, [d];"),
        Op::LoadParameter(r) => format!("ld.param.u32 r{r}, [n];"),
        Op::Compare(name, p, r, value) => format!("setp.{name}.u32 p{p}, r{r}, {value};"),
        Op::CompareWith(name, bool, p, r, value, q) => {
            format!("setp.{name}.{bool}.u32 p{p}, r{r}, {value}, p{q};")
        }
        Op::Not(p, q) => format!("not.pred p{p}, p{q};"),
        Op::And(p, q, s) => format!("and.pred p{p}, p{q}, p{s};"),
        Op::Or(p, q, s) => format!("or.pred p{p}, p{q}, p{s};"),
        Op::Select(r, a, b, p) => format!("selp.u32 r{r}, {a}, {b}, p{p};"),
        Op::Branch(condition, to) => return format!("{}bra L{to};", prefix(condition)),
        Op::Exit(p, yes) => return format!("{}exit;", prefix(&Some((*p, *yes)))),
        Op::Aligned => "tcgen05.wait::ld.sync.aligned;".to_owned(),
        Op::Issue => {
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];".to_owned()
        }
    };
    format!("{}{body}", prefix(guard))
}

const PROLOGUE: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n\
    .visible .entry k(.param .u64 o, .param .u32 n)\n{\n\
    .reg .pred p<4>;\n.reg .u32 r<4>;\n.reg .b64 d, e;\n.shared .b64 mbar;\n\
    ld.param.u64 d, [o];\nmov.u32 r0, %tid.x;\nmul.wide.u32 e, r0, 4;\nadd.s64 e, d, e;\nld.param.u32 r0, [n];\nmov.u32 r1, r0;\nmov.u32 r2, r0;\nmov.u32 r3, r0;\n\
    mbarrier.init.shared::cta.b64 [mbar], 1;\n\
    setp.ne.u32 p0, r0, 0;\nmov.pred p1, p0;\nmov.pred p2, p0;\nmov.pred p3, p0;\n";

/// Half of the kernels say how many threads they have.
fn module(program: &[Guarded]) -> String {
    let mut module = PROLOGUE.to_owned();
    if program.len().is_multiple_of(2) {
        module = module.replace(".param .u32 n)\n", ".param .u32 n) .reqntid 64\n");
    }
    for (index, op) in program.iter().enumerate() {
        writeln!(module, "L{index}: {}", text(op)).unwrap();
    }
    writeln!(module, "L{}: ret;\n}}", program.len()).unwrap();
    module
}

#[derive(Clone, Debug, Default)]
struct Thread {
    registers: [u32; REGISTERS],
    predicates: [bool; REGISTERS],
    at: usize,
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

fn compare(name: &str, left: u32, right: u32) -> bool {
    match name {
        "eq" => left == right,
        "ne" => left != right,
        "lt" => left < right,
        "le" => left <= right,
        "gt" => left > right,
        "ge" => left >= right,
        _ => unreachable!(),
    }
}

/// By operation: the threads that execute it, when branches go forward only.
fn run(program: &[Guarded], seed: u64) -> Vec<[bool; THREADS]> {
    let mut random = Random(seed);
    let parameter = [0, 1, 2, 32][(random.next() % 4) as usize];
    let start = Thread { registers: [parameter; REGISTERS], predicates: [parameter != 0; REGISTERS], at: 0 };
    let mut threads = vec![start; THREADS];
    let mut executed = vec![[false; THREADS]; program.len()];
    for (index, (op, guard)) in program.iter().enumerate() {
        let holds = |thread: &Thread, (p, yes): (Place, bool)| thread.predicates[p] == yes;
        let here: Vec<usize> = (0..THREADS).filter(|it| threads[*it].at == index).collect();
        let active: Vec<usize> =
            here.iter().copied().filter(|it| guard.is_none_or(|guard| holds(&threads[*it], guard))).collect();
        for thread in &here {
            threads[*thread].at = index + 1;
        }
        for &thread in &active {
            executed[index][thread] = true;
        }
        // One of the threads of each warp that execute it.
        let elected: Vec<Option<usize>> = (0..2)
            .map(|warp| {
                let of_warp: Vec<usize> = active.iter().copied().filter(|it| it / WARP == warp).collect();
                (!of_warp.is_empty()).then(|| of_warp[random.next() as usize % of_warp.len()])
            })
            .collect();
        let together = (random.next() % 3) as u32;
        for &thread in &active {
            let loaded = (random.next() % 3) as u32;
            let it = &mut threads[thread];
            match op {
                Op::Elect(p) => it.predicates[*p] = elected[thread / WARP] == Some(thread),
                Op::ThreadIndex(r) => it.registers[*r] = thread as u32,
                Op::Lane(r) => it.registers[*r] = (thread % WARP) as u32,
                Op::Constant(r, value) => it.registers[*r] = *value as u32,
                Op::Copy(r, s) => it.registers[*r] = it.registers[*s],
                Op::Compute(name, r, s, value) => {
                    let (left, right) = (it.registers[*s], *value as u32);
                    it.registers[*r] = match *name {
                        "add" => left.wrapping_add(right),
                        "and" => left & right,
                        "or" => left | right,
                        "xor" => left ^ right,
                        "shr" => left >> right,
                        "rem" => left % right,
                        "div" => left / right,
                        _ => unreachable!(),
                    };
                }
                Op::LoadGlobal(r) => it.registers[*r] = loaded,
                Op::LoadTogether(r) => it.registers[*r] = together,
                Op::LoadParameter(r) => it.registers[*r] = parameter,
                Op::Compare(name, p, r, value) => {
                    it.predicates[*p] = compare(name, it.registers[*r], *value as u32);
                }
                Op::CompareWith(name, bool, p, r, value, q) => {
                    let result = compare(name, it.registers[*r], *value as u32);
                    let with = it.predicates[*q];
                    it.predicates[*p] = if *bool == "and" { result && with } else { result || with };
                }
                Op::Not(p, q) => it.predicates[*p] = !it.predicates[*q],
                Op::And(p, q, s) => it.predicates[*p] = it.predicates[*q] && it.predicates[*s],
                Op::Or(p, q, s) => it.predicates[*p] = it.predicates[*q] || it.predicates[*s],
                Op::Select(r, a, b, p) => {
                    it.registers[*r] = if it.predicates[*p] { *a as u32 } else { *b as u32 };
                }
                Op::Branch(condition, to) => {
                    if condition.is_none_or(|condition| holds(it, condition)) {
                        it.at = *to;
                    }
                }
                Op::Exit(p, yes) => {
                    if holds(it, (*p, *yes)) {
                        it.at = usize::MAX;
                    }
                }
                Op::Aligned | Op::Issue => {}
            }
        }
    }
    executed
}

/// The operations that the rules name.
fn findings(program: &[Guarded]) -> Vec<(&'static str, usize)> {
    let first = PROLOGUE.lines().count() + 1;
    let source = Source::new("k.ptx", module(program)).unwrap();
    let mut found = Vec::new();
    for finding in check(&source, &Options::default()).diagnostics {
        let code = finding.code.as_str();
        assert!(!code.starts_with("TC0") && !code.starts_with("TC1"), "{code} {}", finding.message);
        if code.starts_with("TC8") {
            let line = source.position(finding.primary.span.start).line as usize;
            found.push((code, line - first));
        }
    }
    found
}

fn op() -> impl Strategy<Value = Op> {
    let place = || 0..REGISTERS;
    let constant = || prop::sample::select(vec![0i64, 0, 1, 1, 2, 5, 31, 32, 33, 64]);
    let comparison = || prop::sample::select(vec!["eq", "eq", "ne", "ne", "lt", "le", "gt", "ge"]);
    let bool = prop::sample::select(vec!["and", "or"]);
    let compute = prop::sample::select(vec![
        ("add", 32),
        ("add", 1),
        ("and", 31),
        ("and", 1),
        ("and", 96),
        ("or", 1),
        ("xor", 1),
        ("shr", 5),
        ("shr", 1),
        ("rem", 32),
        ("rem", 8),
        ("div", 32),
    ]);
    prop_oneof![
        4 => place().prop_map(Op::Elect),
        3 => place().prop_map(Op::ThreadIndex),
        2 => place().prop_map(Op::Lane),
        2 => (place(), constant()).prop_map(|(r, value)| Op::Constant(r, value)),
        1 => (place(), place()).prop_map(|(r, s)| Op::Copy(r, s)),
        3 => (compute, place(), place()).prop_map(|((name, value), r, s)| Op::Compute(name, r, s, value)),
        1 => place().prop_map(Op::LoadGlobal),
        1 => place().prop_map(Op::LoadTogether),
        1 => place().prop_map(Op::LoadParameter),
        5 => (comparison(), place(), place(), constant())
            .prop_map(|(name, p, r, value)| Op::Compare(name, p, r, value)),
        2 => (comparison(), bool, place(), place(), constant(), place())
            .prop_map(|(name, bool, p, r, value, q)| Op::CompareWith(name, bool, p, r, value, q)),
        2 => (place(), place()).prop_map(|(p, q)| Op::Not(p, q)),
        1 => (place(), place(), place()).prop_map(|(p, q, s)| Op::And(p, q, s)),
        1 => (place(), place(), place()).prop_map(|(p, q, s)| Op::Or(p, q, s)),
        2 => (place(), constant(), constant(), place()).prop_map(|(r, a, b, p)| Op::Select(r, a, b, p)),
        5 => (prop::option::weighted(0.8, (place(), any::<bool>())), 1usize..6)
            .prop_map(|(condition, by)| Op::Branch(condition, by)),
        1 => (place(), any::<bool>()).prop_map(|(p, yes)| Op::Exit(p, yes)),
        5 => Just(Op::Aligned),
        4 => Just(Op::Issue),
    ]
}

fn programs() -> impl Strategy<Value = Vec<Guarded>> {
    let guarded = (op(), prop::option::weighted(0.25, (0..REGISTERS, any::<bool>())));
    prop::collection::vec(guarded, 4..24).prop_map(|mut program| {
        let len = program.len();
        for (index, (op, guard)) in program.iter_mut().enumerate() {
            // Branches go forward, and have their guard in them.
            if let Op::Branch(_, to) = op {
                *to = (index + *to).min(len);
            }
            if matches!(op, Op::Branch(..) | Op::Exit(..)) {
                *guard = None;
            }
        }
        program
    })
}

fn agrees(program: &[Guarded]) -> Result<(), TestCaseError> {
    let findings = findings(program);
    if findings.is_empty() {
        return Ok(());
    }
    for seed in 0..24 {
        let executed = run(program, seed * 7919 + 17);
        for (code, at) in &findings {
            let counts: Vec<usize> = executed[*at]
                .chunks(WARP)
                .map(|warp| warp.iter().filter(|executes| **executes).count())
                .collect();
            let nobody = counts.iter().all(|count| *count == 0);
            let right = match *code {
                "TC801" => counts.iter().all(|count| *count <= 1),
                "TC802" => counts.iter().all(|count| *count == 0 || *count == WARP),
                "TC805" => nobody || counts.iter().any(|count| *count > 0 && *count < WARP),
                "TC806" => nobody || counts.iter().any(|count| *count > 1),
                // How many arrive is not what is asked here.
                "TC838" => true,
                other => panic!("{other} is not expected here"),
            };
            prop_assert!(right, "{code}: {counts:?} threads execute L{at}:\n{}", module(program));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        // `PROPTEST_CASES` asks for more.
        cases: ProptestConfig::default().cases.max(3000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_analysis_agrees_with_the_threads(program in programs()) {
        agrees(&program)?;
    }
}

/// The rules have something to say of such programs, and do not say it of all.
#[test]
fn programs_have_findings() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let total = 1000;
    let rules = ["TC801", "TC802", "TC805", "TC806"];
    let mut counts = [0; 4];
    for _ in 0..total {
        let program = programs().new_tree(&mut runner).unwrap().current();
        let found = findings(&program);
        for (count, code) in counts.iter_mut().zip(rules) {
            *count += usize::from(found.iter().any(|(found, _)| *found == code));
        }
    }
    println!("of {total} programs: {rules:?} in {counts:?}");
    assert!(counts.iter().all(|count| *count >= total / 200 && *count < total * 9 / 10), "{counts:?}");
}
