//! Runs the stages behind a [`Unit`]: what rules see, and who shows what they find.
//!
//! Functions between which no call leads know nothing of each other. So each [`Component`] of the
//! call graph is decoded, analysed, judged and forgotten by itself: a module of a thousand kernels
//! takes the memory of its tree and of its largest component, and components are looked at side by
//! side where there are several processors. Findings come out in source order either way.

mod call_labels;
mod document;
mod incremental;

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::analysis::calls::{CallGraph, Component};
use crate::analysis::cfg::Cfg;
use crate::analysis::description::{self, Description};
use crate::analysis::descriptors::{self, Descriptors};
use crate::analysis::events::Events;
use crate::analysis::flow::{Flow, Together};
use crate::analysis::functions::FunctionFacts;
use crate::diagnostic::{Code, Diagnostic, Findings, Found};
use crate::host::Host;
use crate::instruction::decode::{Decoded, Decoder};
use crate::instruction::gates::Gates;
use crate::instruction::index::Index;
use crate::isa::generic::{Operation, Synchronization};
use crate::resolve::environment::Environment;
use crate::resolve::operations::Opcode;
use crate::resolve::provenance::Provenance;
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Chosen, Scope};
use crate::source::Span;
use crate::suppression::Suppressions;
use crate::syntax::ast::{Function, Module};
use crate::syntax::threads;
use crate::{Options, Report};
use call_labels::CallLabels;
pub use document::Document;
use document::{in_host, is_certain};
pub use incremental::Memory;
use incremental::{Outline, Task};

/// Checks a module that is parsed and resolved already, or gives up (`None`) as soon as `cancelled`
/// says that nobody waits for the findings any more.
pub fn check_unit(unit: &Unit, options: &Options, cancelled: &(dyn Fn() -> bool + Sync)) -> Option<Report> {
    check((unit, None), &[], options, None, cancelled)
}

/// Checks a module like [`check_unit`], but looks only at what is not as it was in the check before.
/// The findings are the same, and the report counts the steps that are left.
pub fn check_unit_again(
    unit: &Unit,
    options: &Options,
    memory: &mut Memory,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Report> {
    // Descriptions are not remembered.
    check((unit, None), &[], options, Some(memory).filter(|_| !options.describe), cancelled)
}

/// Checks a unit, and the modules that stand in the same file.
fn check(
    (unit, host): (&Unit, Option<&Host>),
    modules: &[Document],
    options: &Options,
    mut memory: Option<&mut Memory>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Report> {
    let units = std::iter::once((unit, host)).chain(modules.iter().map(|it| (&it.unit, it.host.as_ref())));
    let units: SmallVec<[_; 1]> = units.collect();
    let about = |(unit, _): &(&Unit, _)| {
        (Environment::new(unit, options.ptx_version, &options.targets), CallGraph::new(unit))
    };
    // Comments silence what is found in either.
    let silences = || Suppressions::new(unit, host);
    let (suppressions, known): (_, SmallVec<[(Environment, CallGraph); 1]>) =
        threads::join(silences, || units.iter().map(about).collect());
    let gates: SmallVec<[Gates; 1]> = known.iter().map(|(environment, _)| Gates::new(environment)).collect();
    let mut found: Option<Worker> = None;
    for (((unit, host), (environment, calls)), gates) in units.iter().zip(&known).zip(&gates) {
        let memory = memory.take();
        let records = memory.is_some();
        let suppressions = &suppressions;
        let context =
            Context { unit, host: *host, options, environment, gates, suppressions, calls, records };
        let more = look_at_unit(context, memory, cancelled)?;
        found = Some(match found {
            Some(found) => found.and(more),
            None => more,
        });
    }
    let Worker { mut findings, mut descriptions, mut steps, .. } = found?;
    steps += units.iter().map(|(unit, _)| unit.steps()).sum::<u64>() + host.map_or(0, |host| host.steps);

    findings = findings.including_all();
    suppressions.complain(&options.rules, &mut findings);
    let Found { mut diagnostics, omitted, fixes: omitted_fixes } = findings.finish();
    if host.is_some() {
        // Several readings of a statement, and several uses of a macro, are wrong in the same way.
        let mut met: FxHashSet<(Span, Code, String)> = FxHashSet::default();
        diagnostics.retain(|it| met.insert((it.primary.span, it.code, it.message.clone())));
    }
    if unit.is_module {
        let mut labels = CallLabels::new(unit, &known[0].1);
        for finding in &mut diagnostics {
            labels.add(finding);
        }
    }
    if options.locate {
        locate(unit, &mut diagnostics);
    }
    let descriptors = options.describe.then(|| {
        descriptions.sort_by_key(|description| description.statement);
        descriptions
    });
    let unknown_opcodes = unit.unknown_opcodes();
    Some(Report { diagnostics, omitted, omitted_fixes, descriptors, steps, unknown_opcodes })
}

/// Looks at one unit, or gives up.
fn look_at_unit<'a>(
    context: Context<'a>,
    mut memory: Option<&mut Memory>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Option<Worker<'a>> {
    let Context { unit, options, calls, .. } = context;
    let decoder = Decoder::new(unit);
    let tensor = decoder.functions();
    let mut tasks: Vec<Task> = calls.components(&tensor).into_iter().map(Task::new).collect();
    tasks.extend(beside(unit, calls, &tasks));
    let outline = memory.as_mut().map(|memory| {
        let outline = Outline::new(unit, calls);
        memory.recall(unit, options, &outline, &mut tasks);
        outline
    });
    let look_at_text = || {
        let mut worker = Worker::new(context);
        worker.look_at_text(cancelled);
        worker
    };
    let (all, text) = threads::join(|| look_at_all(context, &mut tasks, cancelled), look_at_text);
    let whole = text.and(all);
    if let (Some(memory), Some(outline)) = (memory, outline) {
        memory.keep(unit, options, outline, tasks);
    }
    (!cancelled()).then_some(whole)
}

/// The components without tcgen05 instructions in which there is something to say of mbarriers, of bulk copies, of
/// barriers with numbers in registers, or of registers. What they share with others is looked at there.
fn beside(unit: &Unit, calls: &CallGraph, tasks: &[Task]) -> Vec<Task> {
    let Unit { module, operations, .. } = unit;
    // There are few opcodes.
    if !unit.is_module || !operations.opcodes().iter().any(Concern::may_be_of) {
        return Vec::new();
    }
    let elsewhere: FxHashSet<u32> =
        tasks.iter().flat_map(|task| &task.component.functions).copied().collect();
    let concerned = |function: &Function| {
        let range = Cfg::instruction_range(module, function.body);
        operations.others_within(range).iter().any(|instruction| Concern::of(unit, *instruction))
    };
    let roots: Vec<u32> = module
        .bodies()
        .filter(|(index, function)| !elsewhere.contains(index) && concerned(function))
        .map(|(index, _)| index)
        .collect();
    if roots.is_empty() {
        return Vec::new();
    }
    let components = calls.components(&roots).into_iter();
    components.map(|component| Task::beside(component, &elsewhere)).collect()
}

/// What rules have something to say of in kernels without tcgen05 instructions.
struct Concern;

impl Concern {
    /// Whether an instruction with this opcode may be one.
    fn may_be_of(opcode: &Opcode) -> bool {
        match opcode.synchronization() {
            Synchronization::MbarrierInit
            | Synchronization::MbarrierArrive
            | Synchronization::MbarrierWait
            | Synchronization::BulkCommit
            | Synchronization::RegisterChange => true,
            Synchronization::BarrierSync | Synchronization::BarrierArrive => opcode.types.is_empty(),
            // It may need more registers than there are.
            _ => matches!(opcode.operation(), Some(Operation::WgmmaMmaAsync | Operation::WgmmaMmaAsyncSp)),
        }
    }

    /// Whether an instruction is one.
    fn of(unit: &Unit, instruction: u32) -> bool {
        let opcode = unit.operations.of(instruction);
        let is_barrier =
            matches!(opcode.synchronization(), Synchronization::BarrierSync | Synchronization::BarrierArrive);
        // Of a barrier whose number is written, the assembler says it.
        let is_open = || {
            let number = unit.module.instructions[instruction as usize].operands.range().next();
            number.is_some_and(|at| matches!(unit.symbols.operand(at as u32), Resolution::Register(_)))
        };
        Self::may_be_of(opcode) && (!is_barrier || is_open())
    }
}

/// Says of each place which lines it was compiled from.
pub fn locate(unit: &Unit, diagnostics: &mut [Diagnostic]) {
    if !unit.is_module {
        return;
    }
    let labels =
        || diagnostics.iter().flat_map(|finding| std::iter::once(&finding.primary).chain(&finding.labels));
    let offsets: Vec<u32> = labels().map(|label| label.span.start).collect();
    let provenance = Provenance::of(unit, &offsets);
    let labels = diagnostics
        .iter_mut()
        .flat_map(|finding| std::iter::once(&mut finding.primary).chain(&mut finding.labels));
    for (label, provenance) in labels.zip(provenance) {
        label.provenance = provenance;
    }
}

/// How many statements are looked at together. The code of all rules is larger than the cache next to a processor,
/// so that one kernel alone would wait for it; but what is known of many kernels is larger than the next cache, which
/// others may use as well. This many take some 200 KB.
const TOGETHER: u32 = 2000;
/// At least so many, where there are so many.
const LEAST: u32 = 500;

/// Looks at the components, side by side if that is possible.
fn look_at_all<'a>(
    context: Context<'a>,
    tasks: &mut [Task],
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Worker<'a> {
    let batches = batches(&context.unit.module, tasks);
    let workers = threads::count().min(batches.len()).max(1);
    let batches = Mutex::new(batches.into_iter());
    let next = || batches.lock().unwrap_or_else(PoisonError::into_inner).next();
    // Whoever is done with a batch takes the next one: no thread waits for another that came late.
    let work = |mut worker: Worker<'a>| {
        while let Some(tasks) = next() {
            worker.work_on(tasks, cancelled);
        }
        worker
    };
    let workers = (0..workers).map(|_| Worker::new(context)).collect();
    threads::map(workers, work).into_iter().reduce(Worker::and).unwrap_or_else(|| Worker::new(context))
}

/// The components, as many of them at once as are looked at together.
fn batches<'t>(module: &Module, mut tasks: &'t mut [Task]) -> Vec<&'t mut [Task]> {
    let size = |task: &Task| -> u32 {
        let functions = task.component.functions.iter();
        functions.map(|it| module.functions[*it as usize].body.len).sum()
    };
    let mut left: u32 = tasks.iter().map(size).sum();
    let mut batches = Vec::new();
    while !tasks.is_empty() {
        // The last ones are small, so that all threads are done at about the same time.
        let together = match threads::count() as u32 {
            0 | 1 => TOGETHER,
            several => (left / (2 * several)).clamp(LEAST, TOGETHER),
        };
        let mut statements = 0;
        let fits = |task: &&Task| {
            let fits = statements < together;
            statements += if fits { size(task) } else { 0 };
            fits
        };
        let count = tasks.iter().take_while(fits).count();
        left -= statements;
        let (batch, others) = tasks.split_at_mut(count);
        batches.push(batch);
        tasks = others;
    }
    batches
}

/// What all workers share.
#[derive(Clone, Copy)]
struct Context<'a> {
    unit: &'a Unit,
    /// The file that people see, where that is not the unit's text.
    host: Option<&'a Host>,
    options: &'a Options,
    environment: &'a Environment,
    gates: &'a Gates,
    suppressions: &'a Suppressions<'a>,
    calls: &'a CallGraph,
    /// Whether someone wants to remember what is found.
    records: bool,
}

/// Looks at one component after the other.
struct Worker<'a> {
    context: Context<'a>,
    /// The rules about functions.
    rules: Vec<Chosen>,
    /// Those of them that are about functions without tcgen05 instructions as well.
    rules_beside: Vec<Chosen>,
    decoder: Decoder<'a>,
    findings: Findings<'a>,
    descriptions: Vec<Description>,
    steps: u64,
}

impl<'a> Worker<'a> {
    fn new(context: Context<'a>) -> Self {
        let Context { unit, host, options, suppressions, .. } = context;
        let findings = Findings::new(options.max_findings, options.fixes_of_omitted);
        // What holds goes back to the file, and there comments silence it. It does so before it is counted: of each
        // rule only the first findings are kept.
        let findings = match host {
            Some(host) => findings.through(move |finding| {
                let finding = is_certain(unit, &finding).then(|| in_host(unit, host, finding))?;
                (!suppressions.silence(&finding)).then_some(finding)
            }),
            None if !suppressions.is_empty() => findings.except(|finding| suppressions.silence(finding)),
            None => findings,
        };
        // A fragment is no excerpt of a kernel that says what happens before and after it.
        let scopes: &[Scope] = if unit.is_module {
            &[Scope::Statement, Scope::Function, Scope::Kernel]
        } else {
            &[Scope::Statement]
        };
        let rules = Chosen::of(&options.rules, scopes);
        let rules_beside = rules.iter().filter(|rule| rule.is_beside_tensor()).copied().collect();
        let decoder = if options.describe { Decoder::new(unit) } else { Decoder::for_checks(unit) };
        Self { context, rules, rules_beside, decoder, findings, descriptions: Vec::new(), steps: 0 }
    }

    /// Runs the rules about the text and the module as such, and those about statements on what
    /// stands in no function.
    fn look_at_text(&mut self, cancelled: &dyn Fn() -> bool) {
        let Context { unit, options, environment, gates, calls, .. } = self.context;
        let instructions = self.decoder.outside_functions();
        let checker = Checker {
            unit,
            instructions: &instructions,
            index: &Index::new(&instructions, gates),
            environment,
            gates,
            calls,
            component: &Component::default(),
            events: &Events::default(),
            flows: &[],
            descriptors: &[],
        };
        let scopes: &[Scope] = if unit.is_module {
            &[Scope::Text, Scope::Module, Scope::Statement]
        } else {
            &[Scope::Text, Scope::Fragment, Scope::Statement]
        };
        Checker::run(&[checker], &Chosen::of(&options.rules, scopes), &mut self.findings, cancelled);
    }

    /// Adds what is found in components; looks at those of which that is not known.
    fn work_on(&mut self, tasks: &mut [Task], cancelled: &dyn Fn() -> bool) {
        if !self.context.records {
            self.look_at(tasks, cancelled);
            return;
        }
        for task in tasks {
            if let Some(findings) = &task.findings {
                self.findings.extend(findings.iter().cloned());
                continue;
            }
            self.findings.start_record();
            self.look_at(std::slice::from_ref(task), cancelled);
            // What is cut short is not all.
            task.findings = self.findings.end_record().filter(|_| !cancelled());
        }
    }

    /// Runs all other rules on the functions of components. Each stage, and each rule, looks at one after
    /// the other: what takes the time with small kernels is to fetch the code of all rules for each.
    fn look_at(&mut self, tasks: &[Task], cancelled: &dyn Fn() -> bool) {
        let Context { unit, options, environment, gates, .. } = self.context;
        if cancelled() {
            return;
        }
        let context = self.context;
        let mut looked: Vec<Looked<'_>> = Vec::with_capacity(tasks.len());
        for Task { component, elsewhere, .. } in tasks {
            let instructions = self.decoder.decode(&component.functions);
            if !instructions.is_empty() || elsewhere.is_some() {
                looked.push(Looked {
                    component,
                    elsewhere: elsewhere.as_deref(),
                    index: Index::new(&instructions, gates),
                    instructions,
                    events: Events::default(),
                    functions: Vec::new(),
                    descriptors: Vec::new(),
                });
            }
        }
        for it in &mut looked {
            it.events = Events::new(unit, it.component, &it.instructions, &|_, _| true);
        }
        for it in &mut looked {
            it.analyse(&context);
        }
        for it in &mut looked {
            it.descriptors = descriptors::find(unit, &it.instructions, &it.functions, environment);
        }
        let together: Vec<Together<'_>> = looked.iter().map(|it| it.together(&context)).collect();
        let flows: Vec<Flow<'_>> = together.iter().flat_map(Together::flows).collect();
        let mut left = &flows[..];
        let mut checkers: Vec<Checker<'_>> = Vec::with_capacity(looked.len());
        let mut beside: Vec<Checker<'_>> = Vec::new();
        for it in &looked {
            let (own, others) = left.split_at(it.functions.len());
            left = others;
            let checkers = if it.elsewhere.is_some() { &mut beside } else { &mut checkers };
            checkers.push(it.checker(own, &context));
        }
        Checker::run(&checkers, &self.rules, &mut self.findings, cancelled);
        Checker::run(&beside, &self.rules_beside, &mut self.findings, cancelled);
        for Looked { instructions, functions, descriptors, .. } in &looked {
            let of_calls = |facts: &FunctionFacts| -> u64 {
                facts.by_call.iter().map(|(_, facts)| facts.budget.taken()).sum()
            };
            self.steps += functions.iter().map(|facts| facts.budget.taken() + of_calls(facts)).sum::<u64>();
            // What is described is told by its number in the file.
            if options.describe && (self.context.host.is_none() || !unit.is_module) {
                let features = environment.features();
                let described = description::describe(unit, instructions, functions, descriptors, features);
                self.descriptions.extend(described);
            }
        }
    }

    /// What both have found.
    fn and(mut self, other: Self) -> Self {
        self.findings.absorb(other.findings);
        self.descriptions.extend(other.descriptions);
        self.steps += other.steps;
        self
    }
}

/// What rules are told of one component.
struct Looked<'a> {
    component: &'a Component,
    /// Without tcgen05 instructions: the functions that are looked at with others.
    elsewhere: Option<&'a [u32]>,
    instructions: Vec<Decoded<'a>>,
    index: Index,
    events: Events,
    functions: Vec<FunctionFacts>,
    descriptors: Vec<Descriptors>,
}

impl Looked<'_> {
    /// Finds what holds in its functions, and leaves out the events that do not happen.
    fn analyse(&mut self, context: &Context<'_>) {
        let Context { unit, options, calls, .. } = *context;
        let Self { component, elsewhere, instructions, events, .. } = self;
        let of = (calls, *component, *elsewhere);
        self.functions = FunctionFacts::with_events(unit, of, instructions, events, options.analysis_budget);
    }

    /// What is known of its functions.
    fn together<'b>(&'b self, context: &'b Context<'_>) -> Together<'b> {
        let Context { unit, calls, .. } = *context;
        let Self { instructions, events, functions, descriptors, .. } = self;
        Together { unit, instructions, calls, all: events, functions, descriptors }
    }

    fn checker<'b>(&'b self, flows: &'b [Flow<'b>], context: &'b Context<'_>) -> Checker<'b> {
        let Context { unit, environment, gates, calls, .. } = *context;
        let Self { component, instructions, index, events, descriptors, .. } = self;
        Checker {
            unit,
            instructions,
            index,
            environment,
            gates,
            calls,
            component,
            events,
            flows,
            descriptors,
        }
    }
}
