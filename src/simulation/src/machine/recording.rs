//! What a machine tells whoever records it. Nothing of this runs while nobody does.

use super::operation::{Kind, Operation};
use super::tensor::Region;
use super::tensor_core::Work;
use super::warp::{Strand, Wait};
use super::{Flow, Machine};
use crate::Schedule;
use crate::findings::Finding;
use crate::program::{Action, BarrierKind, MbarrierKind, Tensor};
use crate::record::{Activity, Barrier, Column, Context, Event, Record, Recorder, Who};

impl Machine<'_> {
    /// A strand is about to do something.
    pub(super) fn record_turn(&mut self, strand: &Strand) {
        let warp = &self.warps[strand.warp as usize];
        let (cta, index, is_whole) = (warp.cta, warp.index, strand.mask == warp.live);
        if let Some(recorder) = &mut self.recorder {
            recorder.at(cta, index, strand.first_lane(), is_whole, self.executed);
        }
    }

    /// It does no more for a while.
    pub(super) fn record_pause(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.leave(self.executed);
        }
    }

    /// What became of a step of a strand.
    pub(super) fn record_step(&mut self, strand: &Strand, step: u32, flow: Flow) {
        let program = self.program;
        let Some(known) = program.steps.get(step as usize) else { return };
        let executed = self.executed;
        let cta = self.warps[strand.warp as usize].cta;
        let waits = matches!(flow, Flow::Blocked | Flow::Waiting);
        match &known.action {
            Action::Barrier { kind, .. } => {
                self.record_named(strand, step, *kind == BarrierKind::Arrive, waits);
                return;
            }
            Action::Exit | Action::Return if strand.mask == 0 => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.exit(step, executed);
                }
                self.record_released(cta, step);
                return;
            }
            _ => {}
        }
        let asked = strand.asked;
        let generation = self.warps[strand.warp as usize].cluster_generation;
        let Some(recorder) = &mut self.recorder else { return };
        if waits {
            if let Some(what) = activity(&strand.wait) {
                recorder.wait(what, step, executed);
            }
            return;
        }
        match &known.action {
            Action::Mbarrier(instruction) => {
                if let (MbarrierKind::Wait { .. }, Flow::Yield) = (instruction.kind, flow)
                    && asked.0 == step
                    && let Some(barrier) = self.mbarriers.get(asked.1 as usize)
                {
                    let what = Activity::Mbarrier { barrier: asked.1 as u32, phase: barrier.phase };
                    recorder.wait(what, step, executed);
                }
            }
            Action::ClusterArrive { .. } => recorder.come_to_cluster(generation, executed),
            Action::ClusterWait { .. } => {
                let until = recorder.cluster_over(generation);
                recorder.pass(Some((Activity::Cluster, step)), until, executed);
            }
            Action::BulkWait { .. } | Action::CopyWait { .. } => {
                let until = recorder.own_over(Activity::Copied);
                recorder.pass(Some((Activity::Copied, step)), until, executed);
            }
            Action::CopyAsync { .. } | Action::Bulk(_) | Action::TryCancel { .. } => {
                recorder.mark(Event::Copy, step, executed);
            }
            Action::Tensor(tensor) => match **tensor {
                Tensor::Alloc { .. } => recorder.mark(Event::Alloc, step, executed),
                Tensor::Dealloc { .. } => recorder.mark(Event::Dealloc, step, executed),
                Tensor::Load { .. } => recorder.moves(cta, Activity::Load, step, executed),
                Tensor::Store { .. } => recorder.moves(cta, Activity::Store, step, executed),
                Tensor::WaitLoad | Tensor::WaitStore => {
                    let until = recorder.own_over(Activity::Moved);
                    recorder.pass(Some((Activity::Moved, step)), until, executed);
                }
                Tensor::Copy { .. } | Tensor::Shift { .. } | Tensor::Multiply(_) => {
                    recorder.mark(Event::Tensor, step, executed);
                }
                Tensor::Commit { .. } => recorder.mark(Event::Commit, step, executed),
                Tensor::Relinquish | Tensor::FenceBefore | Tensor::FenceAfter => {}
            },
            _ => {}
        }
    }

    /// Something is done to Tensor Memory.
    pub(super) fn record_columns(&mut self, what: Column, regions: &[Region], step: u32) {
        if self.recorder.is_none() {
            return;
        }
        let mut ctas: Vec<u32> = regions.iter().map(|region| region.cta).collect();
        ctas.dedup();
        for cta in ctas {
            let own = regions.iter().filter(|region| region.cta == cta);
            let columns = own.map(|region| (region.column, region.columns)).collect();
            if let Some(recorder) = &mut self.recorder {
                recorder.touch((cta, what), columns, step, self.executed);
            }
        }
    }

    /// Threads came to a barrier of their CTA.
    fn record_named(&mut self, strand: &Strand, step: u32, only_arrive: bool, waits: bool) {
        let executed = self.executed;
        let cta = self.warps[strand.warp as usize].cta;
        let Action::Barrier { id, .. } = &self.program.steps[step as usize].action else { return };
        let lane = strand.first_lane() as usize;
        let Some(id) = self.value_at(strand, *id, lane) else { return };
        let id = id as u32;
        let Some(recorder) = &mut self.recorder else { return };
        if only_arrive {
            recorder.mark(Event::NamedArrive(id), step, executed);
        }
        recorder.come(cta, id, executed);
        if waits {
            recorder.wait(Activity::Named(id), step, executed);
            return;
        }
        if !only_arrive {
            // It is the last one.
            let until = recorder.come(cta, id, executed);
            recorder.pass(Some((Activity::Named(id), step)), until, executed);
        }
        self.record_released(cta, step);
    }

    /// Those who waited at a barrier of the CTA, and wait no more, have seen all others come.
    fn record_released(&mut self, cta: u32, _step: u32) {
        let executed = self.executed;
        let Some(recorder) = &self.recorder else { return };
        for (who, id, _) in recorder.waiting_at(cta) {
            let Who::Warp { index, lane } = who else { continue };
            let still = self.strands.iter().any(|strand| {
                let warp = &self.warps[strand.warp as usize];
                strand.wait == Wait::Named { id }
                    && warp.cta == cta
                    && warp.index == index
                    && strand.first_lane() == lane
            });
            if let (false, Some(recorder)) = (still, &mut self.recorder) {
                let until = recorder.come(cta, id, executed);
                recorder.released(cta, who, until);
            }
        }
        for id in 0..16 {
            if self.ctas[cta as usize].named[id as usize].warps.is_empty()
                && let Some(recorder) = &mut self.recorder
            {
                recorder.gone(cta, id);
            }
        }
    }

    /// An operation takes effect.
    pub(super) fn record_operation(&mut self, operation: &Operation) -> Context {
        let cta = self.warps[operation.warp as usize].cta;
        let (unit, what) = match &operation.kind {
            Kind::Copies(copies) => {
                let bytes = copies.iter().map(|(_, _, bytes, _)| *bytes).sum();
                (Who::Copies, Activity::Copy { bytes: Some(bytes), stores: false })
            }
            Kind::Arrivals(_) => (Who::Copies, Activity::Commit),
            Kind::Bulk(transfer) => {
                let stores = transfer.writes.is_empty();
                (Who::Tma, Activity::Copy { bytes: transfer.bytes, stores })
            }
            Kind::Tensor(Work::Commit(_)) => (Who::TensorCore, Activity::Commit),
            Kind::Tensor(Work::Compute { .. }) => {
                let is_multiply = |tensor: &Tensor| matches!(tensor, Tensor::Multiply(_));
                let what = match self.program.steps.get(operation.step as usize).map(|step| &step.action) {
                    Some(Action::Tensor(tensor)) if is_multiply(tensor) => Activity::Multiply,
                    _ => Activity::Rearrange,
                };
                (Who::TensorCore, what)
            }
            Kind::Stores(stores) => {
                let bytes = stores.iter().map(|store| store.bytes).sum();
                (Who::Copies, Activity::Copy { bytes: Some(bytes), stores: false })
            }
            Kind::Cancel { .. } => (Who::Tma, Activity::Grant),
        };
        let is_late = self.schedule == Schedule::Late;
        match &mut self.recorder {
            Some(recorder) => {
                recorder.operate((operation.id, cta, operation.step), (unit, what), is_late, self.executed)
            }
            None => Context::Nobody,
        }
    }

    /// Someone arrives at an mbarrier, or bytes come to it.
    pub(super) fn record_arrival(&mut self, number: u32, step: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.arrive(number, self.mbarriers[number as usize].phase, step, self.executed);
        }
    }

    /// A phase of an mbarrier is over.
    pub(super) fn record_phase(&mut self, number: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.phase_over(number, self.mbarriers[number as usize].phase, self.executed);
        }
    }

    /// Threads see that a phase of an mbarrier is over.
    pub(super) fn record_seen(&mut self, number: u32, step: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.see(number, self.mbarriers[number as usize].phase, step, self.executed);
        }
    }

    /// Something is found.
    pub(super) fn record_finding(&mut self, finding: &Finding) {
        if let Some(recorder) = &mut self.recorder {
            let others: Vec<u32> = finding.labels.iter().map(|(step, _)| *step).collect();
            recorder.found(finding.code, finding.step, &others, self.executed);
        }
    }

    /// All that happened.
    pub(super) fn recorded(&mut self) -> Option<Record> {
        let recorder: Recorder = *self.recorder.take()?;
        let spans = &self.program.spans;
        let barriers = self.mbarriers.iter().map(|barrier| Barrier {
            name: self.place_name(barrier.cta, barrier.offset),
            cta: barrier.cta,
            offset: barrier.offset,
            count: barrier.count,
            phases: barrier.phase,
            lacks: (barrier.pending, barrier.transactions),
            init: spans.get(barrier.init as usize).copied().unwrap_or(crate::source::Span::new(0, 0)),
        });
        let left = self.strands.iter().filter(|strand| strand.mask != 0).map(|strand| {
            let warp = &self.warps[strand.warp as usize];
            let who = Who::Warp { index: warp.index, lane: strand.first_lane() };
            let words = match strand.wait {
                Wait::None => "goes on here".to_owned(),
                _ => self.explain(&strand.wait, false),
            };
            (warp.cta, who, strand.step, words)
        });
        Some(recorder.finish(barriers.collect(), left.collect(), spans, self.executed))
    }
}

/// What someone does who waits.
fn activity(wait: &Wait) -> Option<Activity> {
    Some(match wait {
        Wait::None | Wait::Unknown => return None,
        Wait::Mbarrier { barrier, phase, .. } => Activity::Mbarrier { barrier: *barrier, phase: *phase },
        Wait::Named { id } => Activity::Named(*id),
        Wait::Cluster { .. } => Activity::Cluster,
        Wait::Warp { .. } => Activity::Warp,
        Wait::Bulk { .. } | Wait::Copies { .. } => Activity::Copied,
        Wait::Alloc { columns, .. } => Activity::Columns(*columns),
        Wait::Registers { count } => Activity::Registers(*count),
        Wait::Change => Activity::Memory,
    })
}
