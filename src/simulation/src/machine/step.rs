//! One instruction of threads that go the same way.

use super::warp::{RegisterChange, Strand, Wait, Warp, lanes};
use super::{Flow, Machine, Stop, operation};
use crate::arithmetic::Lanes;
use crate::clock::Clock;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Action, Address, MbarrierKind, NOWHERE, Operand, Slice, Tensor, Where};

/// Bytes of the answer to a request for other work, and its alignment.
pub(super) const ANSWER: u32 = 16;

/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

impl Machine<'_> {
    /// The lanes that execute a step.
    pub(super) fn active(&mut self, strand: &Strand, guard: Option<(u32, bool)>) -> Result<u32, Stop> {
        let Some((register, negated)) = guard else { return Ok(strand.mask) };
        let warp = &self.warps[strand.warp as usize];
        let index = (strand.base + register) as usize;
        let unknown = warp.unknown[index] & strand.mask;
        let bits = &warp.bits[index];
        let holds = lanes(strand.mask).fold(0u32, |all, lane| all | u32::from(bits[lane] & 1 != 0) << lane);
        if unknown != 0 {
            let action = &self.program.steps[strand.step as usize].action;
            match action {
                // Whether it happens or not, what it writes is not known, or not known to matter.
                Action::Compute { destinations, .. } | Action::Opaque { destinations } => {
                    let destinations = *destinations;
                    self.set_unknown(strand, destinations, unknown);
                }
                Action::Mma(mma) => {
                    let destinations = mma.d;
                    self.set_unknown(strand, destinations, unknown);
                }
                Action::Load(access) if access.space == Where::Global => {
                    let destinations = access.registers;
                    self.set_unknown(strand, destinations, unknown);
                }
                Action::Store(access) if access.space == Where::Global => {
                    self.assume(strand.step, "stores to global memory under a condition that is not known change nothing that is read");
                }
                Action::Nothing | Action::Fence(_) => {}
                _ => {
                    return Err(Self::stop(
                        strand,
                        "it depends on a value that is not known whether this is executed",
                    ));
                }
            }
        }
        let active = if negated { strand.mask & !holds } else { holds };
        Ok(active & !unknown)
    }

    pub(super) fn step(&mut self, strand: &mut Strand) -> Result<Flow, Stop> {
        let program = self.program;
        let Some(step) = program.steps.get(strand.step as usize) else {
            return Err(Self::stop(strand, "a jump leads nowhere"));
        };
        let active = self.active(strand, step.guard)?;
        if let Some(influence) = &mut self.influence {
            influence.step(program, strand, step);
            self.visits[strand.step as usize] += u32::from(active != 0);
        }
        if active == 0 {
            return Ok(Flow::Next);
        }
        if active != strand.mask && may_block(&step.action) {
            // The others wait behind it.
            strand.join = self.new_join(strand.warp, strand.mask, strand.step + 1, strand.join);
            let mut other = strand.clone();
            other.mask &= !active;
            other.step += 1;
            strand.mask = active;
            if !self.meet(&mut other) {
                self.fresh.push(other);
            }
        }
        if self.has_loaded(strand.warp) {
            self.uses(strand, step);
        }
        self.global.step = strand.step;
        if let Some(trace) = &mut self.trace {
            trace.tick();
        }
        match &step.action {
            Action::Compute { arithmetic, sources, destinations, depends } => {
                if program.arithmetics[*arithmetic as usize].is_exchange()
                    && let Some(flow) = self.gather(strand, *sources, active)?
                {
                    return Ok(flow);
                }
                self.compute(strand, *arithmetic, (*sources, *destinations), *depends, active);
                Ok(Flow::Next)
            }
            Action::Opaque { destinations } => {
                self.set_unknown(strand, *destinations, active);
                Ok(Flow::Next)
            }
            Action::Mma(mma) => {
                self.mma(strand, mma, active);
                Ok(Flow::Next)
            }
            Action::WarpMatrix(matrix) => {
                self.warp_matrix(strand, matrix, active)?;
                Ok(Flow::Next)
            }
            Action::Nothing => Ok(Flow::Next),
            Action::Fence(strength) => {
                self.fence(strand, *strength);
                Ok(Flow::Next)
            }
            Action::InitFence => {
                self.fence_initialisations(strand);
                Ok(Flow::Next)
            }
            Action::Sleep => Ok(Flow::Yield),
            Action::Branch { target, join } => {
                self.part(strand, active, *target, *join);
                Ok(Flow::Jumped)
            }
            Action::IndexedBranch { index, targets, join } => {
                self.indexed_branch(strand, *index, *targets, *join, active)?;
                Ok(Flow::Jumped)
            }
            Action::Call { callee, results, arguments } => {
                self.call(strand, *callee, (*results, *arguments), active)?;
                Ok(Flow::Jumped)
            }
            Action::Return => {
                let ends = strand.frames.is_empty();
                self.end_threads(strand, active, ends);
                Ok(if strand.mask == 0 { Flow::Jumped } else { Flow::Next })
            }
            Action::Exit => {
                self.end_threads(strand, active, true);
                Ok(if strand.mask == 0 { Flow::Jumped } else { Flow::Next })
            }
            Action::Trap => Err(Self::stop(strand, "the kernel traps")),
            Action::Print { results, arguments } => {
                self.print(strand, (*results, *arguments), active);
                Ok(Flow::Next)
            }
            Action::Assert { arguments } => Err(self.fail_assertion(strand, *arguments, active)),
            Action::Load(access) => self.load(strand, access, active),
            Action::Store(access) => {
                self.store(strand, access, active)?;
                Ok(Flow::Next)
            }
            Action::Atomic(atomic) => self.atomic(strand, atomic, active),
            Action::Convert { to_generic, space, source, destination } => {
                self.convert(strand, (*to_generic, *space), (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::IsInSpace { space, source, destination } => {
                self.is_in_space(strand, *space, (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::MapAddress { source, rank, destination } => {
                self.map_address(strand, (*source, *rank), *destination, active);
                Ok(Flow::Next)
            }
            Action::RankOf { source, destination } => {
                self.rank_of(strand, (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::Barrier { id, count, kind, aligned } => {
                self.barrier(strand, (*id, *count), *kind, *aligned, active)
            }
            Action::WarpBarrier { mask } => {
                let lane = active.trailing_zeros() as usize & 31;
                let Some(mask) = self.value_at(strand, *mask, lane) else {
                    return Err(Self::stop(strand, "the mask of a warp barrier is not known"));
                };
                let flow = self.wait_for_warp(strand, mask as u32, NOWHERE);
                if flow == Flow::Next {
                    self.synchronise_lanes(strand.warp, mask as u32);
                }
                Ok(flow)
            }
            Action::ClusterArrive { release, aligned } => {
                self.check_aligned(strand, *aligned, active);
                self.cluster_arrive(strand, *release, active);
                Ok(Flow::Next)
            }
            Action::ClusterWait { aligned } => {
                self.check_aligned(strand, *aligned, active);
                self.synchronise_lanes(strand.warp, u32::MAX);
                Ok(self.cluster_wait(strand))
            }
            Action::Mbarrier(instruction) => self.mbarrier(strand, instruction, active),
            Action::ProxyFence(fence) => {
                self.fence_proxies(strand, *fence);
                Ok(Flow::Next)
            }
            Action::CopyAsync { destination, source, bytes, read } => {
                self.copy_async(strand, (*destination, *source), *bytes, *read, active)?;
                Ok(Flow::Next)
            }
            Action::CopyCommit => {
                self.copy_commit(strand);
                Ok(Flow::Next)
            }
            Action::CopyWait { left } => Ok(self.copy_wait(strand, *left)),
            Action::CopyArrive { space, address, counts } => {
                self.copy_arrive(strand, (*space, *address), *counts, active)?;
                Ok(Flow::Next)
            }
            Action::StoreAsync { address, barrier, registers, bytes, reduction } => {
                self.store_async(strand, (*address, *barrier), (*registers, *bytes), *reduction, active)?;
                Ok(Flow::Next)
            }
            Action::Bulk(bulk) => {
                self.bulk(strand, bulk, active)?;
                Ok(Flow::Next)
            }
            Action::BulkCommit => {
                self.bulk_commit(strand, active);
                Ok(Flow::Next)
            }
            Action::BulkWait { left, for_reads } => Ok(self.bulk_wait(strand, (*left, *for_reads), active)),
            Action::SetRegisters { count, up } => Ok(self.set_registers(strand, *count, *up, active)),
            Action::TryCancel { destination, barrier, multicast } => {
                self.try_cancel(strand, (*destination, *barrier), *multicast, active)?;
                Ok(Flow::Next)
            }
            Action::IsCanceled { response, destination } => {
                let response = self.operands(*response);
                let mut doubt = 0;
                let mut granted: Lanes = [0; 32];
                for part in response {
                    let (value, unknown) = self.value(strand, part);
                    doubt |= unknown;
                    for (all, value) in granted.iter_mut().zip(value) {
                        *all |= u64::from(value != 0);
                    }
                }
                self.set(strand, *destination, active, &granted, doubt);
                Ok(Flow::Next)
            }
            Action::FirstCta { response, destinations, axis } => {
                let response = self.operands(*response);
                let destinations = self.operands(*destinations);
                for (index, destination) in destinations.iter().enumerate() {
                    let which = axis.map_or(index, usize::from);
                    let (value, unknown) = match response.first() {
                        Some(first) => self.value(strand, *first),
                        None => ([0; 32], u32::MAX),
                    };
                    let part = value.map(|value| value >> (which * 16) & 0xFFFF);
                    self.set(strand, *destination, active, &part, unknown);
                }
                Ok(Flow::Next)
            }
            Action::Matrix { store, address, space, rows, row_bytes, registers, fragments } => {
                self.check_aligned(strand, true, active);
                self.synchronise_lanes(strand.warp, active);
                self.matrix(
                    strand,
                    *store,
                    (*address, *space),
                    (*rows, *row_bytes),
                    (*registers, *fragments),
                )?;
                Ok(Flow::Next)
            }
            Action::ReplaceTensorMap { address, space, field, ordinal, value } => {
                self.replace_tensor_map(strand, (*space, *address), (*field, *ordinal), *value, active)?;
                Ok(Flow::Next)
            }
            Action::CopyTensorMap { destination, source } => {
                // It fences the proxy of tensor maps, not the async proxy.
                self.copy_tensor_map(strand, *destination, *source, active)?;
                Ok(Flow::Next)
            }
            Action::Fill { address, bytes } => {
                self.fill(strand, *address, *bytes, active)?;
                Ok(Flow::Next)
            }
            Action::Tensor(tensor) => {
                let flow = self.tensor(strand, tensor, active)?;
                Ok(flow)
            }
            Action::Unknown(text) => {
                let text = &program.texts[*text as usize];
                Err(Self::stop(strand, format!("the machine does not know {text}")))
            }
        }
    }

    pub(super) fn check_aligned(&mut self, strand: &Strand, aligned: bool, active: u32) {
        let live = self.warps[strand.warp as usize].live;
        if aligned && active != live {
            self.not_aligned(strand, active, live);
        }
    }

    pub(super) fn indexed_branch(
        &mut self,
        strand: &mut Strand,
        index: Operand,
        targets: Slice,
        join: u32,
        active: u32,
    ) -> Result<(), Stop> {
        let (value, unknown) = self.value(strand, index);
        if unknown & active != 0 {
            return Err(Self::stop(strand, "the index of a jump is not known"));
        }
        let targets = &self.program.targets[targets.range()];
        let mut left = active;
        let skips = strand.mask & !active;
        if skips != 0 || lanes(active).any(|lane| value[lane] != value[active.trailing_zeros() as usize & 31])
        {
            // Each goes its way from a strand of its own.
            if join != NOWHERE {
                strand.join = self.new_join(strand.warp, strand.mask, join, strand.join);
            }
        }
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let same =
                lanes(left).filter(|other| value[*other] == value[lane]).fold(0u32, |all, it| all | 1 << it);
            left &= !same;
            let Some(target) = targets.get(value[lane] as usize) else {
                return Err(Self::stop(strand, "the index of a jump is too large"));
            };
            if left == 0 && skips == 0 {
                strand.mask = same;
                self.go(strand, *target);
                return Ok(());
            }
            let mut other = strand.clone();
            other.mask = same;
            self.go(&mut other, *target);
            if !self.meet(&mut other) {
                self.fresh.push(other);
            }
        }
        strand.mask = skips;
        strand.step += 1;
        Ok(())
    }

    /// Threads return or end.
    pub(super) fn end_threads(&mut self, strand: &mut Strand, leaving: u32, ends: bool) {
        self.leave(strand, leaving, ends);
        if ends {
            self.epoch += 1;
            let cta = self.warps[strand.warp as usize].cta;
            // Those who remain may be all that barriers wait for.
            for id in 0..16 {
                self.end_barrier(cta, id);
            }
            self.end_cluster_barrier();
            if self.warps.iter().all(|warp| warp.cta != cta || warp.live == 0) {
                self.end_cta(cta, strand.step);
            }
        }
    }

    /// A CTA has ended.
    pub(super) fn end_cta(&mut self, cta: u32, step: u32) {
        // It takes effect all the same.
        while let Some(index) = (0..self.pending.len())
            .find(|index| self.is_ready(*index) && self.warps[self.pending[*index].warp as usize].cta == cta)
        {
            self.perform(index);
        }
        let mut known = Clock::default();
        for warp in self.warps.iter().filter(|warp| warp.cta == cta) {
            known.join(&warp.clock);
        }
        let unseen =
            self.unseen.iter().filter(|((of, agent), (tick, _))| *of == cta && known.of(*agent) < *tick);
        let mut unseen: Vec<u32> = unseen.map(|(_, (_, step))| *step).collect();
        unseen.sort_unstable();
        unseen.dedup();
        for at in unseen {
            self.outlives(at, step);
        }
        self.ctas[cta as usize].end = Some(step);
        self.check_freed(cta);
        self.check_transactions_at_exit(cta);
        self.check_warpgroups(cta);
    }

    /// Reports an access to the memory of a CTA that may have ended.
    pub(super) fn outlives(&mut self, at: u32, end: u32) {
        let (message, remark) = match &self.program.steps[at as usize].action {
            Action::Load(_)
            | Action::Store(_)
            | Action::Atomic(_)
            | Action::Matrix { .. }
            | Action::WarpMatrix(_)
            | Action::Mbarrier(_) => (
                "a CTA ends while another one may access its shared memory",
                "no thread of the CTA whose memory this accesses has waited for it",
            ),
            _ => (
                "a CTA ends while asynchronous work on its memory may be under way",
                "no thread of the CTA has waited for the end of this",
            ),
        };
        let finding = Finding::new(Code::WorkOutstandingAtExit, at, message, remark)
            .label(end, "the last thread of the CTA ends here");
        let doubt = self.doubt_of_clusters();
        self.report(finding.doubted(doubt));
    }

    pub(super) fn registers_ready(&self, strand: &Strand, count: u32) -> bool {
        let warp = &self.warps[strand.warp as usize];
        self.ctas[warp.cta as usize].registers >= count.saturating_sub(warp.register_count) * 32
    }

    /// `setmaxnreg`
    pub(super) fn set_registers(&mut self, strand: &mut Strand, count: u32, up: bool, active: u32) -> Flow {
        self.check_aligned(strand, true, active);
        if up && !self.registers_ready(strand, count) {
            strand.wait = Wait::Registers { count };
            return Flow::Blocked;
        }
        let warp = &mut self.warps[strand.warp as usize];
        let pool = &mut self.ctas[warp.cta as usize].registers;
        if up {
            *pool -= count.saturating_sub(warp.register_count) * 32;
            warp.register_count = warp.register_count.max(count);
        } else {
            *pool += warp.register_count.saturating_sub(count) * 32;
            warp.register_count = warp.register_count.min(count);
        }
        warp.register_changes.push(RegisterChange { step: strand.step, count, up });
        self.compare_registers(strand.warp);
        self.epoch += 1;
        Flow::Next
    }

    /// Compares the last change of a warp with those that others of its warpgroup make there: all have to execute
    /// the same `setmaxnreg` (PTX ISA, "setmaxnreg"), though not at the same place.
    fn compare_registers(&mut self, warp: u32) {
        let Warp { cta, index, ref register_changes, .. } = self.warps[warp as usize];
        let Some((last, before)) = register_changes.split_last() else { return };
        let (last, nth, group) = (*last, before.len(), index as usize / WARPGROUP);
        let other = self.warps.iter().find_map(|other| {
            let is_partner = other.cta == cta && other.index as usize / WARPGROUP == group;
            let change = *other.register_changes.get(nth).filter(|_| is_partner)?;
            ((change.count, change.up) != (last.count, last.up)).then_some((change, other.index))
        });
        let Some((change, partner)) = other else { return };
        let partner =
            self.warps.iter().position(|it| it.cta == cta && it.index == partner).unwrap_or(0) as u32;
        let (role, partner) = (self.role(warp), self.role(partner));
        let words = |change: RegisterChange| {
            format!("{} to {}", if change.up { "increases" } else { "decreases" }, change.count)
        };
        let finding = Finding::new(
            Code::RegistersNeverGranted,
            last.step,
            "warps of a warpgroup execute different `setmaxnreg`",
            format!("{role} {} registers here", words(last)),
        )
        .label(change.step, format!("{partner} of the same warpgroup {}", words(change)));
        self.report(finding);
    }

    /// Says of which warpgroups some warps have changed their registers and others have not.
    fn check_warpgroups(&mut self, cta: u32) {
        let members: Vec<u32> =
            (0..self.warps.len() as u32).filter(|warp| self.warps[*warp as usize].cta == cta).collect();
        for group in members.chunks(WARPGROUP) {
            let changes = |warp: &u32| self.warps[*warp as usize].register_changes.len();
            let most = group.iter().map(changes).max().unwrap_or(0);
            let some: Vec<u32> = group.iter().copied().filter(|warp| changes(warp) == most).collect();
            let others: Vec<u32> = group.iter().copied().filter(|warp| changes(warp) != most).collect();
            let (Some(first), false) = (some.first(), others.is_empty()) else { continue };
            let last = self.warps[*first as usize].register_changes.last();
            let step = last.map_or(NOWHERE, |change| change.step);
            let verb = if some.len() == 1 { "executes" } else { "execute" };
            let lack = if others.len() == 1 { "does" } else { "do" };
            let (some, others) = (self.roles(&some), self.roles(&others));
            let finding = Finding::new(
                Code::RegistersNeverGranted,
                step,
                "a part of a warpgroup executes `setmaxnreg`",
                format!("{some} {verb} it, and {others} of the same warpgroup {lack} not"),
            );
            self.report(finding);
        }
    }

    /// Asks for a CTA that has not started.
    pub(super) fn try_cancel(
        &mut self,
        strand: &Strand,
        (destination, barrier): (Address, Address),
        multicast: bool,
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            let Some(to) = self.address_at(strand, destination, lane) else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let Some((cta, offset)) = self.shared_place(strand, Where::SharedCluster, to, ANSWER, true)
            else {
                continue;
            };
            if !offset.is_multiple_of(ANSWER) {
                let finding = Finding::new(
                    Code::Misaligned,
                    strand.step,
                    "the answer to a request for other work must be at a multiple of 16 bytes",
                    format!("{} is {offset:#x} in shared memory", self.place_name(cta, offset)),
                );
                self.report(finding);
            }
            let Some((barrier_cta, barrier_offset)) =
                self.barrier_place(strand, Where::SharedCluster, barrier, lane)?
            else {
                continue;
            };
            let targets: Vec<(u32, u32)> = if multicast {
                (0..self.ctas.len() as u32).map(|cta| (cta, cta)).collect()
            } else {
                vec![(cta, barrier_cta)]
            };
            let (mut places, mut mbarriers) = (Vec::new(), Vec::new());
            for (cta, barrier_cta) in targets {
                places.push((cta, offset));
                if let Some(number) = self.usable_mbarrier(strand, (barrier_cta, barrier_offset)) {
                    self.mbarriers[number as usize].under_way += 1;
                    mbarriers.push(number);
                }
            }
            self.start(strand, operation::Kind::Cancel { places, mbarriers }, None);
        }
        Ok(())
    }
}

/// Whether threads may have to wait in a step.
fn may_block(action: &Action) -> bool {
    match action {
        Action::Barrier { .. }
        | Action::WarpBarrier { .. }
        | Action::ClusterWait { .. }
        | Action::CopyWait { .. }
        | Action::BulkWait { .. }
        | Action::SetRegisters { .. }
        | Action::Load(_)
        | Action::Atomic(_) => true,
        Action::Mbarrier(instruction) => {
            matches!(instruction.kind, MbarrierKind::Wait { .. })
        }
        Action::Tensor(tensor) => matches!(**tensor, Tensor::Alloc { .. }),
        _ => false,
    }
}
