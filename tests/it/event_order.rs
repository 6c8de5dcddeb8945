//! The rules about order against brute force: random small kernels, and a direct interpreter that
//! explores every path and state. A hazard that a path has is found, and nothing is found that no
//! path has.
//!
//! The interpreter knows the rules' conditions, but neither blocks nor dataflow: it walks from
//! instruction to instruction with everything that it has seen. Some branches may go either way each
//! time, others test a parameter of the kernel: a path that no value of it takes is no path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use ptx_tc::diagnostic::Severity;
use ptx_tc::{Options, Source, check};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Alloc(u32),
    Dealloc,
    Relinquish,
    Ld(usize),
    Use(usize),
    /// The same, through a copy.
    UseCopy(usize),
    St,
    WaitLd,
    WaitSt,
    Mma,
    Cp,
    Commit,
    MbarrierWait,
    Arrive,
    Barrier,
    FenceBefore,
    SharedStore,
    ProxyFence,
    /// To the operation with this number, or on.
    Branch(usize),
    /// The same, where the kernel's parameter passes a test.
    Test(Test, usize),
    Jump(usize),
    Exit,
}

/// What is asked of the kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Is(u32),
    IsNot(u32),
    Below(u32),
    /// Whether its lowest bit is set.
    Odd,
}

impl Test {
    fn passes(self, parameter: u32) -> bool {
        match self {
            Self::Is(value) => parameter == value,
            Self::IsNot(value) => parameter != value,
            Self::Below(value) => parameter < value,
            Self::Odd => parameter % 2 == 1,
        }
    }

    /// A branch of the operation with this number.
    fn text(self, index: usize, to: usize) -> String {
        match self {
            Self::Is(value) => format!("setp.eq.u32 p{index}, n, {value}; @p{index} bra L{to};"),
            Self::IsNot(value) => format!("setp.eq.s32 p{index}, n, {value}; @!p{index} bra L{to};"),
            Self::Below(value) => format!("setp.ge.u32 p{index}, n, {value}; @!p{index} bra L{to};"),
            Self::Odd => format!("and.b32 s, n, 1; setp.ne.u32 p{index}, s, 0; @p{index} bra L{to};"),
        }
    }
}

/// What the kernel's parameter may be.
const PARAMETERS: [u32; 4] = [0, 1, 2, 3];

const REGISTERS: usize = 2;

impl Op {
    /// The text of the operation with this number; each branch has a predicate of its own.
    fn text(self, index: usize) -> String {
        match self {
            Self::Alloc(size) => {
                format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {size};")
            }
            Self::Dealloc => "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;".to_owned(),
            Self::Relinquish => "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;".to_owned(),
            Self::Ld(r) => format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r{r}}}, [taddr];"),
            Self::Use(r) => format!("st.global.b32 [out], r{r};"),
            Self::UseCopy(r) => format!("mov.b32 copy, r{r}; st.global.b32 [out], copy;"),
            Self::St => "tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {s};".to_owned(),
            Self::WaitLd => "tcgen05.wait::ld.sync.aligned;".to_owned(),
            Self::WaitSt => "tcgen05.wait::st.sync.aligned;".to_owned(),
            Self::Mma => "@e tcgen05.mma.cta_group::1.kind::f16 [taddr], d, d, 0x08200490, 0;".to_owned(),
            Self::Cp => "@e tcgen05.cp.cta_group::1.128x256b [taddr], d;".to_owned(),
            Self::Commit => {
                "@e tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];".to_owned()
            }
            // Who does not look at what it returns has not waited.
            Self::MbarrierWait => {
                "mbarrier.try_wait.parity.shared::cta.b64 q, [mbar], 0; selp.b32 w, 1, 0, q; st.global.b32 [out], w;".to_owned()
            }
            Self::Arrive => "mbarrier.arrive.shared::cta.b64 _, [mbar];".to_owned(),
            Self::Barrier => "bar.sync 0;".to_owned(),
            Self::FenceBefore => "tcgen05.fence::before_thread_sync;".to_owned(),
            Self::SharedStore => "st.shared.b32 [tile], s;".to_owned(),
            Self::ProxyFence => "fence.proxy.async.shared::cta;".to_owned(),
            Self::Branch(to) => format!(
                "ld.volatile.global.u32 c, [out]; setp.eq.u32 p{index}, c, {index}; @p{index} bra L{to};"
            ),
            Self::Test(test, to) => test.text(index, to),
            Self::Jump(to) => format!("bra L{to};"),
            Self::Exit => "ret;".to_owned(),
        }
    }
}

const PROLOGUE: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n\
    .visible .entry k(.param .u64 o, .param .u64 a, .param .u32 m)\n{\n\
    .reg .pred p<32>, q, e;\n.reg .b32 r<4>, s, taddr, c, n, copy, w;\n.reg .b64 d, out;\n\
    .shared .b32 slot, tile[64];\n.shared .b64 mbar;\n\
    ld.param.u64 out, [o];\nld.param.u64 d, [a];\nld.param.u32 c, [m];\nld.param.u32 n, [m];\n\
    and.b32 n, n, 3;\nmov.u32 s, c;\nmov.u32 r0, c;\nmov.u32 r1, c;\n\
    elect.sync _|e, -1;\nbar.sync 0;\nld.shared.b32 taddr, [slot];\n";

/// The module; operation `i` stands in line `FIRST + i`.
fn module(program: &[Op]) -> String {
    let mut text = PROLOGUE.to_owned();
    for (index, op) in program.iter().enumerate() {
        writeln!(text, "L{index}: {}", op.text(index)).unwrap();
    }
    writeln!(text, "L{}: ret;\n}}", program.len()).unwrap();
    text
}

/// What can follow an operation: whatever tests say, if no parameter is given.
fn successors_for(program: &[Op], at: usize, parameter: Option<u32>) -> Vec<usize> {
    match (program.get(at), parameter) {
        (None | Some(Op::Exit), _) => Vec::new(),
        (Some(Op::Jump(to)), _) => vec![*to],
        (Some(Op::Branch(to)), _) | (Some(Op::Test(_, to)), None) => vec![at + 1, *to],
        (Some(Op::Test(test, to)), Some(parameter)) => {
            vec![if test.passes(parameter) { *to } else { at + 1 }]
        }
        (Some(_), _) => vec![at + 1],
    }
}

fn successors(program: &[Op], at: usize) -> Vec<usize> {
    successors_for(program, at, None)
}

/// Everything that has happened on a path and matters later.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    relinquished: bool,
    /// The smallest allocation so far.
    smallest: Option<u32>,
    /// Columns since the last `dealloc`.
    total: u32,
    deallocated: bool,
    /// Loads since the last `wait::ld` whose register nothing has read.
    loading: [bool; REGISTERS],
    /// The same, but an `alloc` ends them, too.
    loading_here: [bool; REGISTERS],
    /// Whether the last store is pending: there was no `wait::st`, and nothing used what a load
    /// behind it read. Stores before it are complete if it is.
    storing: bool,
    /// Whether no load is behind it.
    last: bool,
    /// The registers that were loaded behind it and not read since.
    read_back: [bool; REGISTERS],
    /// Accesses with neither wait nor barrier since.
    racing_ld: bool,
    racing_st: bool,
    racing_mma: bool,
    unfenced: bool,
}

impl State {
    /// The stores are complete.
    fn stored(&mut self) {
        self.storing = false;
        self.racing_st = false;
        self.read_back = [false; REGISTERS];
    }

    fn after(mut self, op: Op) -> Self {
        match op {
            Op::Alloc(size) => {
                self.smallest = Some(self.smallest.map_or(size, |smallest| smallest.min(size)));
                self.total = (self.total + size).min(1024);
                self.deallocated = false;
                self.loading_here = [false; REGISTERS];
            }
            Op::Dealloc => {
                self.total = 0;
                self.deallocated = true;
            }
            Op::Relinquish => self.relinquished = true,
            Op::Ld(r) => {
                self.loading[r] = true;
                self.loading_here[r] = true;
                self.racing_ld = true;
                self.last = false;
                self.read_back[r] = true;
            }
            Op::Use(r) | Op::UseCopy(r) => {
                self.loading[r] = false;
                self.loading_here[r] = false;
                if self.read_back[r] {
                    self.stored();
                }
            }
            Op::St => {
                self.storing = true;
                self.last = true;
                self.read_back = [false; REGISTERS];
                self.racing_st = true;
            }
            Op::WaitLd => {
                self.loading = [false; REGISTERS];
                self.loading_here = [false; REGISTERS];
                self.racing_ld = false;
                if self.read_back.contains(&true) {
                    self.stored();
                }
            }
            Op::WaitSt => self.stored(),
            Op::Mma | Op::Cp => self.racing_mma = true,
            Op::MbarrierWait | Op::Barrier => {
                self.racing_ld = false;
                self.racing_st = false;
                self.racing_mma = false;
            }
            Op::SharedStore => self.unfenced = true,
            Op::ProxyFence => self.unfenced = false,
            Op::Commit
            | Op::Arrive
            | Op::FenceBefore
            | Op::Branch(_)
            | Op::Test(..)
            | Op::Jump(_)
            | Op::Exit => {}
        }
        self
    }
}

/// Whether a path from behind `at` reads `register` before it is loaded again.
fn is_live(program: &[Op], at: usize, register: usize, parameter: Option<u32>) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = successors_for(program, at, parameter);
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        match program.get(at) {
            Some(Op::Use(r) | Op::UseCopy(r)) if *r == register => return true,
            Some(Op::Ld(r)) if *r == register => {}
            _ => work.extend(successors_for(program, at, parameter)),
        }
    }
    false
}

/// Whether a `dealloc` that can be reached is followed by a use or another `dealloc` whatever the
/// branches do, and by no `alloc` before. A loop comes to its end, if it has one.
fn used_for_certain(program: &[Op]) -> bool {
    let reached = followers(program, 0);
    let ends = |at: usize| program.get(at).is_none_or(|op| *op == Op::Exit);
    if reached.iter().any(|at| !ends(*at) && !followers(program, *at).into_iter().any(ends)) {
        return false;
    }
    let is_dealloc = |at: &usize| program[*at] == Op::Dealloc && (*at == 0 || reached.contains(at));
    let uses = |op: Op| matches!(op, Op::Dealloc | Op::Ld(_) | Op::St | Op::Mma | Op::Cp);
    let is_last = |op: Option<&Op>| matches!(op, None | Some(Op::Exit | Op::Alloc(_)));
    (0..program.len()).filter(is_dealloc).any(|freed| {
        (0..program.len()).filter(|at| uses(program[*at])).any(|used| {
            // Everything that can follow without the use goes on.
            let mut seen = BTreeSet::new();
            let mut work = successors(program, freed);
            let mut certain = true;
            let mut arrives = false;
            while let Some(at) = work.pop() {
                if at == used {
                    arrives = true;
                } else if seen.insert(at) {
                    certain &= !is_last(program.get(at));
                    work.extend(successors(program, at));
                }
            }
            certain && arrives
        })
    })
}

/// Whether a `wait::ld` may still make good for a fence before it: no jump leads away between them, or to there.
fn is_made_good(program: &[Op], fence: usize) -> bool {
    let is_target = |at: usize| {
        program.iter().any(|op| matches!(op, Op::Branch(to) | Op::Test(_, to) | Op::Jump(to) if *to == at))
    };
    let mut behind = (fence + 1..program.len()).take_while(|at| {
        !is_target(*at) && !matches!(program[*at], Op::Branch(_) | Op::Test(..) | Op::Jump(_) | Op::Exit)
    });
    behind.any(|at| program[at] == Op::WaitLd)
}

/// Whether the way to a `fence::before_thread_sync` always leads through a load, and may go on from
/// there without another load, a wait, and a use.
fn loaded_for_certain(program: &[Op]) -> bool {
    let fences =
        (0..program.len()).filter(|at| program[*at] == Op::FenceBefore && !is_made_good(program, *at));
    let pairs = fences.flat_map(|fence| (0..program.len()).map(move |load| (load, fence)));
    pairs.into_iter().any(|(load, fence)| {
        let Op::Ld(register) = program[load] else { return false };
        let reaches = |from: Vec<usize>, passes: &dyn Fn(usize) -> bool| {
            let mut seen = BTreeSet::new();
            let mut work = from;
            while let Some(at) = work.pop() {
                if at == fence {
                    return true;
                }
                if passes(at) && seen.insert(at) {
                    work.extend(successors(program, at));
                }
            }
            false
        };
        let is_reached = fence == 0 || followers(program, 0).contains(&fence);
        let pending = |at: usize| match program.get(at) {
            Some(Op::Ld(_) | Op::WaitLd) => false,
            Some(Op::Use(r) | Op::UseCopy(r)) => *r != register,
            _ => true,
        };
        is_reached && !reaches(vec![0], &|at| at != load) && reaches(successors(program, load), &pending)
    })
}

/// Operations that can follow `at`.
fn followers(program: &[Op], at: usize) -> BTreeSet<usize> {
    followers_for(program, at, None)
}

fn followers_for(program: &[Op], at: usize, parameter: Option<u32>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut work = successors_for(program, at, parameter);
    while let Some(at) = work.pop() {
        if seen.insert(at) {
            work.extend(successors_for(program, at, parameter));
        }
    }
    seen
}

/// Rules about what one thread does. To others it matters what any thread does: which of those are in a
/// role together, the interpreter does not know.
const OF_ONE_THREAD: &[&str] = &["TC701", "TC702", "TC706", "TC709"];

/// Where each rule may have a reason, and which of them certainly have one.
fn hazards(program: &[Op]) -> (BTreeMap<&'static str, BTreeSet<usize>>, BTreeSet<&'static str>) {
    let Hazards { mut found, mut certain, races } = hazards_for(program, None);
    if !program.iter().any(|op| matches!(op, Op::Test(..))) {
        return (found, certain);
    }
    found.retain(|rule, _| !OF_ONE_THREAD.contains(rule));
    // Which of them have a rule of their own depends on what one thread does.
    found.entry("TC309").or_default().extend(races.into_keys());
    certain.clear();
    for parameter in PARAMETERS {
        let hazards = hazards_for(program, Some(parameter));
        for (rule, places) in hazards.found {
            found.entry(rule).or_default().extend(places);
        }
        certain.extend(hazards.certain.into_iter().filter(|rule| *rule != "TC309"));
        certain.extend(hazards.races.values().any(|races| races.contains("mma")).then_some("TC309"));
    }
    (found, certain)
}

struct Hazards {
    /// By rule, where.
    found: BTreeMap<&'static str, BTreeSet<usize>>,
    /// Rules that have certainly a reason somewhere.
    certain: BTreeSet<&'static str>,
    /// By `dealloc`, what may still be under way.
    races: BTreeMap<usize, BTreeSet<&'static str>>,
}

fn hazards_for(program: &[Op], parameter: Option<u32>) -> Hazards {
    let mut found: BTreeMap<&'static str, BTreeSet<usize>> = BTreeMap::new();
    let mut certain: BTreeSet<&'static str> = BTreeSet::new();
    let mut seen: BTreeSet<(usize, State)> = BTreeSet::new();
    let mut work = vec![(0, State::default())];
    let mut races: BTreeMap<usize, BTreeSet<&'static str>> = BTreeMap::new();
    while let Some((at, state)) = work.pop() {
        if !seen.insert((at, state.clone())) {
            continue;
        }
        let Some(op) = program.get(at) else { continue };
        let mut hazard = |rule: &'static str, holds: bool, perhaps: bool| {
            if holds {
                found.entry(rule).or_default().insert(at);
                if !perhaps {
                    certain.insert(rule);
                }
            }
        };
        let waits_for = |loading: &[bool; REGISTERS]| {
            (0..REGISTERS).any(|register| loading[register] && is_live(program, at, register, None))
        };
        // Whether a register is read, the graph says.
        let reads_surely = |loading: &[bool; REGISTERS]| {
            (0..REGISTERS).any(|register| loading[register] && is_live(program, at, register, parameter))
        };
        match op {
            Op::Alloc(size) => {
                hazard("TC303", state.relinquished, false);
                hazard("TC302", state.smallest.is_some_and(|smallest| smallest < *size), false);
                hazard("TC306", state.total + size > 512, false);
            }
            Op::Dealloc => {
                hazard("TC308", state.deallocated, true);
                hazard("TC701", waits_for(&state.loading_here), !reads_surely(&state.loading_here));
                hazard("TC702", state.storing, !state.last);
                let races = races.entry(at).or_default();
                races.extend(state.racing_ld.then_some("ld"));
                races.extend(state.racing_st.then_some("st"));
                races.extend(state.racing_mma.then_some("mma"));
            }
            Op::Ld(_) | Op::St => hazard("TC308", state.deallocated, true),
            Op::Mma | Op::Cp => {
                hazard("TC308", state.deallocated, true);
                hazard("TC701", waits_for(&state.loading_here), !reads_surely(&state.loading_here));
                hazard("TC702", state.storing, !state.last);
                hazard("TC707", state.unfenced, false);
            }
            Op::Commit => hazard("TC702", state.storing, !state.last),
            Op::FenceBefore => {
                let loading = state.loading.contains(&true);
                hazard("TC706", state.storing || loading, !(state.storing && state.last));
            }
            Op::Arrive => {
                let loading = waits_for(&state.loading);
                let surely = reads_surely(&state.loading) || state.storing && state.last;
                hazard("TC709", state.storing || loading, !surely);
            }
            _ => {}
        }
        let after = state.after(*op);
        work.extend(successors_for(program, at, parameter).into_iter().map(|next| (next, after.clone())));
    }
    let reached: BTreeSet<usize> = seen.into_iter().map(|(at, _)| at).collect();
    // A race that is certain is reported as that.
    races.retain(|_, races| !races.is_empty());
    for (&at, races) in &races {
        let is = |rule: &str| found.get(rule).is_some_and(|places| places.contains(&at));
        let left = races.contains("mma")
            || (races.contains("ld") && !is("TC701"))
            || (races.contains("st") && !is("TC702"));
        if left {
            found.entry("TC309").or_default().insert(at);
            certain.insert("TC309");
        }
    }
    // A barrier completes nothing: a thread has to have waited before it, if any does at all.
    let mut in_graph = followers(program, 0);
    in_graph.insert(0);
    let waited_at: Vec<usize> =
        in_graph.into_iter().filter(|at| program.get(*at) == Some(&Op::MbarrierWait)).collect();
    let passes_on = |at: usize| {
        waited_at.is_empty() || waited_at.iter().any(|wait| followers(program, *wait).contains(&at))
    };
    let is_operation = |at: &usize| matches!(program.get(*at), Some(Op::Mma | Op::Cp));
    for at in reached.iter().copied().filter(is_operation) {
        let after = followers(program, at);
        let copies = program.get(at) == Some(&Op::Cp);
        let tracks = |op| op == Op::Commit || copies && op == Op::FenceBefore;
        if !after.iter().any(|at| program.get(*at).copied().is_some_and(tracks)) {
            found.entry("TC704").or_default().insert(at);
            certain.insert("TC704");
        }
        // In a loop, none may follow the last time.
        let mut commits = after.iter().filter(|at| program.get(**at) == Some(&Op::Commit));
        if !copies && commits.all(|commit| !ends_without(program, *commit, at)) {
            found.entry("TC704").or_default().insert(at);
        }
        let waits = after.iter().filter(|at| match program.get(**at) {
            Some(Op::MbarrierWait) => true,
            Some(Op::Barrier) => passes_on(**at),
            _ => false,
        });
        let waited: BTreeSet<usize> = waits.flat_map(|wait| followers(program, *wait)).collect();
        for access in followers_for(program, at, parameter).difference(&waited) {
            if matches!(program.get(*access), Some(Op::Ld(_) | Op::St)) && reached.contains(access) {
                found.entry("TC703").or_default().insert(*access);
                certain.insert("TC703");
            }
        }
        // In a loop, what is waited for behind the access is waited for too late.
        for access in after.iter().copied().filter(|access| reached.contains(access)) {
            if matches!(program.get(access), Some(Op::Ld(_) | Op::St))
                && is_first_reached_unwaited(program, at, access, &waited_at, &passes_on)
            {
                found.entry("TC703").or_default().insert(access);
            }
        }
    }
    // Where conditions are known, that is something else.
    if parameter.is_none() && loaded_for_certain(program) {
        certain.insert("TC706");
    }
    // What no run may do is not reported, even if the graph has a path.
    if parameter.is_none() && used_for_certain(program) {
        certain.insert("TC308");
    }
    Hazards { found, certain, races }
}

/// Whether a path leads from an operation to the end and does not pass another one.
fn ends_without(program: &[Op], from: usize, other: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = successors(program, from);
    while let Some(at) = work.pop() {
        match program.get(at) {
            None | Some(Op::Exit) => return true,
            Some(_) if at == other || !seen.insert(at) => {}
            Some(_) => work.extend(successors(program, at)),
        }
    }
    false
}

/// Whether paths lead from an operation to an access, and none of them past a wait before it comes there,
/// or to the operation again.
fn is_first_reached_unwaited(
    program: &[Op],
    from: usize,
    to: usize,
    waits: &[usize],
    passes_on: &impl Fn(usize) -> bool,
) -> bool {
    let mut seen: BTreeSet<(usize, bool)> = BTreeSet::new();
    let mut work: Vec<(usize, bool)> =
        successors_for(program, from, None).into_iter().map(|next| (next, false)).collect();
    while let Some((at, waited)) = work.pop() {
        if at == from || !seen.insert((at, waited)) || at == to {
            continue;
        }
        let is_barrier = program.get(at) == Some(&Op::Barrier) && passes_on(at);
        let waited = waited || waits.contains(&at) || is_barrier;
        work.extend(successors_for(program, at, None).into_iter().map(|next| (next, waited)));
    }
    seen.contains(&(to, false)) && !seen.contains(&(to, true))
}

/// Whether a path leads from an operation of the tensor core to an access, past no wait, and past no barrier that
/// may follow a wait: a barrier alone completes nothing.
fn is_reached_unwaited(program: &[Op], to: usize) -> bool {
    let is_after_wait: BTreeSet<usize> = program
        .iter()
        .enumerate()
        .filter(|(_, op)| **op == Op::MbarrierWait)
        .flat_map(|(wait, _)| followers(program, wait))
        .collect();
    let is_issued = |op: &Op| matches!(op, Op::Mma | Op::Cp);
    let issued = program.iter().enumerate().filter(|(_, op)| is_issued(op)).map(|(at, _)| at);
    let mut seen = BTreeSet::new();
    let mut work: Vec<usize> = issued.flat_map(|from| successors(program, from)).collect();
    while let Some(at) = work.pop() {
        let waits = match program.get(at) {
            None | Some(Op::MbarrierWait) => true,
            Some(Op::Barrier) => is_after_wait.contains(&at),
            Some(_) => false,
        };
        if at == to {
            return true;
        }
        if !waits && seen.insert(at) {
            work.extend(successors(program, at));
        }
    }
    false
}

/// The key of findings that a wait is skipped where a parameter says so.
const SKIPPED: &str = "TC703, by a parameter";

/// Rules that the programs are about.
const RULES: &[&str] = &[
    "TC302", "TC303", "TC306", "TC308", "TC309", "TC701", "TC702", "TC703", "TC704", "TC706", "TC707",
    "TC709",
];

fn findings(program: &[Op]) -> BTreeMap<&'static str, BTreeSet<usize>> {
    let first = PROLOGUE.lines().count() + 1;
    let source = Source::new("k.ptx", module(program)).unwrap();
    let mut found: BTreeMap<&'static str, BTreeSet<usize>> = BTreeMap::new();
    for finding in check(&source, &Options::default()).diagnostics {
        let code = finding.code.as_str();
        assert!(!code.starts_with("TC0") && !code.starts_with("TC1"), "{code} {}", finding.message);
        if RULES.contains(&code) {
            let line = source.position(finding.primary.span.start).line as usize;
            let is_skipped = code == "TC703" && finding.severity == Severity::Warning;
            found.entry(if is_skipped { SKIPPED } else { code }).or_default().insert(line - first);
        }
    }
    found
}

fn compare(program: &[Op]) -> Result<(), TestCaseError> {
    let (hazards, certain) = hazards(program);
    let findings = findings(program);
    for access in findings.get(SKIPPED).into_iter().flatten() {
        prop_assert!(is_reached_unwaited(program, *access), "{SKIPPED} at {access}:\n{}", module(program));
    }
    for rule in RULES {
        let none = BTreeSet::new();
        let due = hazards.get(rule).unwrap_or(&none);
        let found = findings.get(rule).unwrap_or(&none);
        prop_assert!(
            found.is_subset(due),
            "{rule} found at {found:?}, but only {due:?} have a path to it:\n{}",
            module(program)
        );
        // What has the same cause is reported once, and a store that the same thread goes on with only as that.
        let is_said = *rule == "TC706" && findings.contains_key("TC702");
        prop_assert!(
            !found.is_empty() || !certain.contains(rule) || is_said,
            "{} at {:?}, found at {:?}:\n{}",
            rule,
            due,
            found,
            module(program)
        );
    }
    Ok(())
}

fn test() -> impl Strategy<Value = Test> {
    prop_oneof![
        (0u32..4).prop_map(Test::Is),
        (0u32..4).prop_map(Test::IsNot),
        (0u32..4).prop_map(Test::Below),
        Just(Test::Odd),
    ]
}

fn op(len: usize) -> impl Strategy<Value = Op> {
    let target = 0..=len;
    prop_oneof![
        2 => prop_oneof![Just(128u32), Just(256), Just(512)].prop_map(Op::Alloc),
        2 => Just(Op::Dealloc),
        1 => Just(Op::Relinquish),
        4 => (0..REGISTERS).prop_map(Op::Ld),
        3 => (0..REGISTERS).prop_map(Op::Use),
        2 => Just(Op::St),
        2 => Just(Op::WaitLd),
        2 => Just(Op::WaitSt),
        1 => (0..REGISTERS).prop_map(Op::UseCopy),
        4 => Just(Op::Mma),
        1 => Just(Op::Cp),
        2 => Just(Op::Commit),
        2 => Just(Op::MbarrierWait),
        1 => Just(Op::Arrive),
        2 => Just(Op::Barrier),
        1 => Just(Op::FenceBefore),
        1 => Just(Op::SharedStore),
        1 => Just(Op::ProxyFence),
        5 => target.clone().prop_map(Op::Branch),
        3 => (test(), target.clone()).prop_map(|(test, to)| Op::Test(test, to)),
        1 => target.prop_map(Op::Jump),
        1 => Just(Op::Exit),
    ]
}

fn programs() -> impl Strategy<Value = Vec<Op>> {
    (1usize..16).prop_flat_map(|len| prop::collection::vec(op(len), len))
}

proptest! {
    #![proptest_config(ProptestConfig {
        // `PROPTEST_CASES` asks for more.
        cases: ProptestConfig::default().cases.max(3000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_analysis_agrees_with_every_path(program in programs()) {
        compare(&program)?;
    }
}

/// The programs are not all sound, nor all unsound: each rule fires on some and not on others.
#[test]
fn programs_have_every_hazard() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let total = 2000;
    for _ in 0..total {
        let program = programs().new_tree(&mut runner).unwrap().current();
        for rule in hazards(&program).0.into_keys() {
            *counts.entry(rule).or_default() += 1;
        }
    }
    println!("of {total} programs: {counts:?}");
    for rule in RULES {
        let count = counts.get(rule).copied().unwrap_or_default();
        assert!(count > total / 100 && count < total * 9 / 10, "{rule} in {count} of {total} programs");
    }
}
