//! One run of one cluster: what the machine starts with, and what is reported of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::array::ArrayOf;
use super::assumed::{Assumption, Hypothesis, Shown, once_for_each_cause};
use super::launch::{self, Argument, Launch, LaunchError, MOST_SHARED};
use super::machine::{
    BoxSizes, Buffer, Bytes, Conditions, Contents, Extents, Fill, Global, Machine, Outcome, Print, Results,
    Shape, Slot,
};
use super::program::{self, windows};
use super::report::{Printed, verdict};
use super::tensor_map::TensorMap;
use super::{Checks, Keeps, Kernel, KernelReport, Output, Reason, Settings, Verdict};
use crate::diagnostic::{Code, Diagnostic};
use crate::findings::Finding;
use crate::words::plural;

/// What became of one run, and what it shows about the launch.
pub(super) struct Run {
    pub(super) report: KernelReport,
    /// Whether the kernel ended it itself.
    pub(super) traps: bool,
    /// Whether the budget was used up.
    pub(super) is_exhausted: bool,
    /// CTAs that a cluster has to have for what it addresses to be there.
    pub(super) addressed_ctas: u32,
    /// By finding: where and when it showed.
    pub(super) shown: Vec<Shown>,
    /// By step: how often it was executed, if the launch is assumed.
    pub(super) visits: Vec<u32>,
    /// How far tensor copies with unknown maps reach.
    pub(super) extents: Extents,
    /// The parameters that choose the paths of threads: their first bytes.
    pub(super) leading: BTreeSet<u64>,
    /// The boxes of tensor maps that are assumed.
    pub(super) boxes: BoxSizes,
    /// The results of multiplies, and which of them are read.
    pub(super) results: Results,
    /// The launch, if it is assumed.
    pub(super) hypothesis: Option<Hypothesis>,
}

/// Nothing reads the result of a multiply.
pub(super) fn unread_result(step: u32) -> Finding {
    Finding::new(
        Code::ResultUnread,
        step,
        "nothing reads the result of this multiply",
        "no `tcgen05.ld` and no other multiply reads these columns of Tensor Memory after it",
    )
    .help("load the result, or leave the multiply out; the address of D or of the load may be wrong")
}

impl Kernel<'_> {
    /// A run that knows how far tensor copies with unknown maps reach: if it does not, it shows that, and
    /// another one follows.
    pub(super) fn run(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<Assumption>,
        extents: &mut Extents,
    ) -> Result<Run, LaunchError> {
        let run = self.run_once(launch, settings, assumes, extents)?;
        if run.is_exhausted || run.extents == *extents {
            return Ok(run);
        }
        extents.clone_from(&run.extents);
        self.run_once(launch, settings, assumes, extents)
    }

    fn run_once(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<Assumption>,
        extents: &Extents,
    ) -> Result<Run, LaunchError> {
        let clusters = clusters(launch);
        if u64::from(settings.cluster_index) >= clusters {
            return Err(LaunchError(format!("the grid has {}", plural(clusters as usize, "cluster"))));
        }
        let shape = self.shape(launch, settings.cluster_index, assumes.is_some())?;
        if let Some(report) = self.too_large(launch, &shape) {
            return Ok(Run {
                report,
                traps: false,
                is_exhausted: false,
                addressed_ctas: 1,
                shown: Vec::new(),
                visits: Vec::new(),
                extents: Extents::new(),
                boxes: BoxSizes::default(),
                leading: BTreeSet::new(),
                results: Results::default(),
                hypothesis: None,
            });
        }
        let (global, mut parameters, places) = self.memory(launch);
        if let Some((word, number)) = assumes.and_then(|assumption| assumption.other) {
            let is_there = |it: &&program::Parameter| {
                (it.offset.into()..u64::from(it.offset + it.bytes)).contains(&word)
            };
            let of = self.program.parameters.iter().find(is_there);
            let bytes = of.map_or(4, |it| if it.is_array { 4 } else { it.bytes.min(8) as usize });
            parameters.write(word, bytes, number, false);
        }
        let conditions = self.conditions(launch, settings, assumes);
        let machine = Machine::new(&self.program, shape, conditions, global, parameters).reaching(extents);
        let mut outcome = machine.run();
        let global = std::mem::take(&mut outcome.global);
        let mut run = self.reported(launch, settings, outcome, assumes.is_some());
        run.hypothesis = assumes.map(|assumption| Hypothesis { launch: launch.clone(), assumption });
        run.report.outputs = self.outputs(launch, (&global, false), &places);
        Ok(run)
    }

    /// The shape of a cluster of a launch.
    pub(super) fn shape(&self, launch: &Launch, index: u32, is_assumed: bool) -> Result<Shape, LaunchError> {
        if self.shared_end(launch) > self.most_shared() && !is_assumed {
            return Err(LaunchError(format!(
                "the kernel has {} bytes of static shared memory: with {} dynamic ones that is too much",
                self.program.static_shared - program::windows::RESERVED,
                launch.dynamic_smem
            )));
        }
        let function = &self.unit.module.functions[self.function as usize];
        let threads: u32 = launch.block.iter().product();
        let said = launch::Directives::of(self.unit, function).registers;
        let fair = ((1 << 16) / threads.max(1).next_multiple_of(128)) / 8 * 8;
        Ok(Shape {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            index,
            dynamic_shared: launch.dynamic_smem,
            registers: launch.registers.or(said).unwrap_or(fair).clamp(24, 256),
        })
    }

    /// Bytes of shared memory that a CTA has, and that it may have.
    pub(super) fn shared_end(&self, launch: &Launch) -> u64 {
        let align = self.program.dynamic_align.max(16);
        u64::from(self.program.static_shared).next_multiple_of(align.into()) + u64::from(launch.dynamic_smem)
    }

    fn most_shared(&self) -> u64 {
        u64::from(MOST_SHARED + program::windows::RESERVED + self.program.dynamic_align)
    }

    pub(super) fn conditions(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<Assumption>,
    ) -> Conditions<'_> {
        Conditions {
            schedule: settings.schedule,
            strict: settings.strict,
            budget: settings.budget,
            is_assumed: assumes.is_some(),
            assumes: assumes.or_else(|| launch.assume_zeros.then(Assumption::zeros)),
            features: self.features,
            target: self.target,
            records: settings.records,
            checks: settings.checks,
            specials: settings.specials,
            keeps_state: settings.keeps == Keeps::State,
            until: settings.until.and_then(|line| self.line(line)),
            believes: launch.believes,
            is_cooperative: launch.cooperative,
            is_one_of_several: false,
            progress: self.progress.inspect(|progress| {
                progress.runs.fetch_add(1, Ordering::Relaxed);
            }),
        }
    }

    /// The bytes of a line of the text, from 1.
    fn line(&self, line: u32) -> Option<(u32, u32)> {
        let text = self.unit.source.text();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        let mut starts = std::iter::once(0).chain(ends).skip((line as usize).checked_sub(1)?);
        let start = starts.next()?;
        Some((start, starts.next().unwrap_or(text.len() as u32)))
    }

    /// What is said of a cluster that takes more memory than there is.
    pub(super) fn too_large(&self, launch: &Launch, shape: &Shape) -> Option<KernelReport> {
        let bytes = Machine::bytes(&self.program, shape);
        let (text, help) = if self.shared_end(launch) > self.most_shared() {
            (
                format!(
                    "the static variables in shared memory need {} bytes, and a CTA has at most {MOST_SHARED}",
                    self.program.static_shared
                ),
                "no launch changes this: the variables have to become smaller",
            )
        } else if bytes > MOST_BYTES {
            (
                format!(
                    "the threads of a cluster and their memory need {} MB, and a run has at most {} MB",
                    bytes >> 20,
                    MOST_BYTES >> 20
                ),
                "make `block` or `cluster` smaller in the launch file, or by `--block` and `--cluster`",
            )
        } else {
            return None;
        };
        Some(self.not_run(launch, text, help))
    }

    /// What is said of a run.
    pub(super) fn reported(
        &self,
        launch: &Launch,
        settings: &Settings,
        outcome: Outcome,
        is_assumed: bool,
    ) -> Run {
        let program = &self.program;
        let mut found: Vec<(Diagnostic, Shown)> = outcome
            .findings
            .into_iter()
            .zip(outcome.shown)
            .map(|(finding, visits)| {
                let shown = Shown::new(&finding, visits);
                (finding.diagnostic(&program.spans), shown)
            })
            .collect();
        // Which results are read may depend on what is assumed.
        if is_assumed && outcome.leading.is_empty() && outcome.stop.is_none() && found.is_empty() {
            let visits = |step: u32| [outcome.visits.get(step as usize).copied().unwrap_or(0), 0];
            found.extend(outcome.results.unread().into_iter().map(|step| {
                let finding = unread_result(step);
                let shown = Shown::new(&finding, visits(step));
                (finding.diagnostic(&program.spans), shown)
            }));
        }
        // The first that shows is most likely the cause.
        found.dedup_by(|one, other| one.0 == other.0);
        // What several runs show is compared first.
        if !is_assumed {
            found = once_for_each_cause(found);
        }
        let (diagnostics, shown): (Vec<Diagnostic>, Vec<Shown>) = found.into_iter().unzip();
        let span = |step: u32| program.spans.get(step as usize).copied();
        let traps = outcome.stop.as_ref().is_some_and(|stop| {
            program.steps.get(stop.step as usize).is_some_and(|step| step.action.traps())
        });
        let reasons: Vec<Reason> = outcome
            .stop
            .into_iter()
            .map(|stop| self.stopped(launch, settings, is_assumed, span(stop.step), &stop.reason))
            .collect();
        let mut assumed = launch.assumed.clone();
        if settings.checks == Checks::None {
            assumed
                .push("no two accesses race, and all that is read was written: `--checks none`".to_owned());
        }
        assumed.extend(outcome.assumed.into_iter().map(|(_, what)| what.to_owned()));
        let report = KernelReport {
            kernel: self.name().to_owned(),
            verdict: verdict(&diagnostics, &reasons),
            reasons,
            assumed,
            diagnostics,
            tried: Vec::new(),
            shown_by: None,
            clusters: 1,
            warp_instructions: outcome.executed,
            operations: outcome.performed,
            outputs: Vec::new(),
            memory: None,
            states: outcome.states,
            unprinted: outcome.prints.others,
            printed: outcome
                .prints
                .kept
                .into_iter()
                .map(|Print { text, step, cta, thread }| Printed { text, span: span(step), cta, thread })
                .collect(),
            record: outcome.record,
        };
        let (is_exhausted, addressed_ctas) = (outcome.is_exhausted, outcome.addressed_ctas);
        let (visits, extents, leading) = (outcome.visits, outcome.extents, outcome.leading);
        let (boxes, hypothesis) = (outcome.boxes, None);
        Run {
            report,
            traps,
            is_exhausted,
            addressed_ctas,
            shown,
            visits,
            extents,
            leading,
            boxes,
            results: outcome.results,
            hypothesis,
        }
    }

    /// What is said of a launch that is too large.
    pub(super) fn not_run(&self, launch: &Launch, text: String, help: &str) -> KernelReport {
        KernelReport {
            kernel: self.name().to_owned(),
            verdict: Verdict::Incomplete,
            reasons: vec![Reason { span: None, text, help: Some(help.to_owned()) }],
            assumed: launch.assumed.clone(),
            diagnostics: Vec::new(),
            tried: Vec::new(),
            shown_by: None,
            clusters: 0,
            warp_instructions: 0,
            operations: 0,
            outputs: Vec::new(),
            memory: None,
            states: Vec::new(),
            printed: Vec::new(),
            unprinted: 0,
            record: None,
        }
    }

    /// Global memory and the parameters of a launch; and the buffers of its arguments.
    pub(super) fn memory(&self, launch: &Launch) -> (Global, Bytes, Vec<Placed>) {
        let mut global = launch.memory.global.clone();
        global.begin();
        for variable in &self.program.globals {
            if global.has_variable(variable.address) {
                continue;
            }
            let data = || Fill::Data(Arc::new(variable.data.clone()));
            let fill = if variable.is_external { Fill::Unknown } else { data() };
            let mut buffer = Buffer::new(format!("`{}`", variable.name), variable.bytes, fill);
            buffer.unknown.clone_from(&variable.unknown);
            global.add_variable(variable.address, buffer);
        }
        if launch.cooperative && self.program.uses_workspace() && !global.has_variable(windows::WORKSPACE) {
            let zeros = Fill::Data(Arc::new(Vec::new()));
            let workspace = Buffer::new(
                "the workspace of the cooperative launch".to_owned(),
                windows::WORKSPACE_BYTES,
                zeros,
            );
            global.add_variable(windows::WORKSPACE, workspace);
        }
        let mut parameters = Bytes::new(self.program.parameter_bytes as usize);
        let mut places: Vec<Placed> = Vec::new();
        for (index, argument) in launch.arguments.iter().enumerate() {
            // A program may have names of its own for what it passes.
            let is_own = |it: &&ArrayOf| (it.argument, it.field) == (index, None);
            let own = match argument {
                Argument::Placed { .. } => launch.arrays.iter().find(is_own).and_then(|it| it.data.as_ref()),
                _ => None,
            };
            let name = match own.or_else(|| Some(&self.program.parameters.get(index)?.name)) {
                Some(name) => format!("argument {index} (`{name}`)"),
                None => format!("argument {index}"),
            };
            places.extend(place(&mut global, argument, (index, None), name.clone()));
            if let Argument::Struct(fields) | Argument::Pointer { fields, .. } = argument {
                for (field, (.., argument)) in fields.iter().enumerate() {
                    let name = format!("field {field} of argument {index}");
                    places.extend(place(&mut global, argument, (index, Some(field)), name));
                }
            }
            if let Argument::Pointer { bytes, fields } = argument {
                let mut data = Vec::new();
                for (field, (offset, size, argument)) in fields.iter().enumerate() {
                    let (start, size) = (*offset as usize, *size as usize);
                    data.resize(data.len().max(start + size), 0);
                    let own = address_in(&places, index, Some(field));
                    // What is no field of a buffer is refused where it is read.
                    let held = encoded(argument, own, &places).unwrap_or_default();
                    let held = &held[..held.len().min(size)];
                    data[start..start + held.len()].copy_from_slice(held);
                }
                let address = global.add(Buffer::new(name, *bytes, Fill::Data(Arc::new(data))));
                places.push(Placed { argument: index, field: None, address, bytes: *bytes });
            }
        }
        let address = |argument: usize, field: Option<usize>| address_in(&places, argument, field);
        let bytes = |argument: &Argument, own: u64| encoded(argument, own, &places);
        for (index, (argument, parameter)) in
            launch.arguments.iter().zip(&self.program.parameters).enumerate()
        {
            let (at, len) = (u64::from(parameter.offset), parameter.bytes as usize);
            if let Argument::Struct(fields) = argument {
                // What is between its fields is nothing that is read, or is assumed like the rest.
                if launch.assumes.is_none() {
                    parameters.fill(at, len, Some(&[]));
                }
                for (field, (offset, size, argument)) in fields.iter().enumerate() {
                    let known = bytes(argument, address(index, Some(field)));
                    parameters.fill(at + u64::from(*offset), *size as usize, known.as_deref());
                }
                continue;
            }
            parameters.fill(at, len, bytes(argument, address(index, None)).as_deref());
        }
        (global, parameters, places)
    }

    /// What the buffers hold that the launch writes to files. If all of memory is kept, it is said only where something
    /// was stored that is not known.
    pub(super) fn outputs(
        &self,
        launch: &Launch,
        (global, is_kept): (&Global, bool),
        places: &[Placed],
    ) -> Vec<Output> {
        let is_wanted =
            |it: &&Placed| launch.outs.iter().any(|out| (out.argument, out.field) == (it.argument, it.field));
        let output = |it: &Placed| {
            let few = usize::try_from(it.bytes).ok().filter(|bytes| *bytes <= launch::MOST_WRITTEN)?;
            let few = if is_kept { 0 } else { few };
            let Contents { bytes, unknown } = global.contents(it.address, few)?;
            let lost = global.lost(it.address);
            let lost = lost.and_then(|(step, at)| Some((*self.program.spans.get(step as usize)?, at)));
            Some(Output { argument: it.argument, field: it.field, bytes, unknown, lost })
        };
        places.iter().filter(is_wanted).filter_map(output).collect()
    }
}

/// A buffer of an argument, or of a field of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) argument: usize,
    pub(super) field: Option<usize>,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// Where the buffer of an argument, or of a field of one, is; 0 if it has none.
fn address_in(places: &[Placed], argument: usize, field: Option<usize>) -> u64 {
    let is_it = |it: &&Placed| (it.argument, it.field) == (argument, field);
    places.iter().find(is_it).map_or(0, |it| it.address)
}

/// The bytes that stand for an argument whose buffer has the address `own`; nothing if these are not known.
fn encoded(argument: &Argument, own: u64, places: &[Placed]) -> Option<Vec<u8>> {
    match argument {
        Argument::Buffer { .. } | Argument::Pointer { .. } | Argument::Placed { map: None, .. } => {
            Some(own.to_le_bytes().to_vec())
        }
        Argument::Placed { map: Some(map), .. } => {
            Some(TensorMap { base: own, ..map.clone() }.encode().to_vec())
        }
        Argument::Bytes(bytes) => Some(bytes.clone()),
        Argument::TensorMap { map, base, .. } => {
            let base = base.map_or(own, |base| address_in(places, base, None));
            Some(TensorMap { base, ..map.clone() }.encode().to_vec())
        }
        Argument::Struct(_) | Argument::Opaque => None,
    }
}

/// Makes the buffer that an argument names, if it names one of its own.
fn place(
    global: &mut Global,
    argument: &Argument,
    (index, field): (usize, Option<usize>),
    name: String,
) -> Option<Placed> {
    let filled = |data: &Option<Vec<u8>>| {
        data.as_ref().map_or(Fill::Unknown, |data| Fill::Data(Arc::new(data.clone())))
    };
    let (bytes, fill) = match argument {
        Argument::Buffer { bytes, data } | Argument::TensorMap { base: None, bytes, data, .. } => {
            (*bytes, filled(data))
        }
        Argument::Placed { address, bytes, .. } => {
            if let Ok((slot @ Slot::Buffer(_), 0)) = global.locate(*address, 0)
                && let Some(buffer) = global.buffer_mut(slot)
            {
                buffer.name = name;
            }
            return Some(Placed { argument: index, field, address: *address, bytes: *bytes });
        }
        Argument::TensorMap { .. }
        | Argument::Bytes(_)
        | Argument::Struct(_)
        // Its fields come first.
        | Argument::Pointer { .. }
        | Argument::Opaque => return None,
    };
    let address = global.add(Buffer::new(name, bytes, fill));
    Some(Placed { argument: index, field, address, bytes })
}

/// Clusters in a grid.
pub(super) fn clusters(launch: &Launch) -> u64 {
    let product = |of: [u32; 3]| of.iter().map(|size| u64::from(*size)).product::<u64>();
    (product(launch.grid) / product(launch.cluster).max(1)).max(1)
}

/// What needs more memory is not run: 16 CTAs of 1024 threads with 5000 registers each take half of it.
const MOST_BYTES: u64 = 3 << 29;
