//! mbarriers: barriers in shared memory, and the places that they are at.

use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::diagnostic::Code;
use crate::simulation::arithmetic::Lanes;
use crate::simulation::clock::Clock;
use crate::simulation::findings::Finding;
use crate::simulation::program::{Address, Mbarrier as Instruction, MbarrierKind, Operand, Where, windows};

/// Transactions that an mbarrier can count (PTX ISA, "mbarrier").
const MOST_TRANSACTIONS: i64 = (1 << 20) - 1;

/// An mbarrier.
#[derive(Debug)]
pub(super) struct Mbarrier {
    pub(super) cta: u32,
    pub(super) offset: u32,
    /// Arrivals that a phase awaits.
    pub(super) count: u32,
    /// Those that the current phase still awaits.
    pub(super) pending: u32,
    /// Bytes that it still awaits.
    pub(super) transactions: i64,
    /// Phases that are over.
    pub(super) phase: u64,
    pub(super) is_valid: bool,
    /// Where it was initialised.
    pub(super) init: u32,
    /// What those who arrived in this phase know.
    arrived: Clock,
    /// What those know who see that the last phase is over.
    pub(super) released: Clock,
    /// Who has arrived, in any phase: the step, the role, the last phase, and how often.
    pub(super) senders: Vec<Sender>,
    /// By warp: how many phases it knows to be over.
    pub(super) seen: Vec<(u32, u64)>,
    /// Copies under way that will complete transactions of it.
    pub(super) under_way: u32,
    /// Arrivals that operations under way will make.
    pub(super) promised: u32,
}

impl Mbarrier {
    /// Whoever sees the current phase end knows what a clock knows.
    pub(super) fn learn(&mut self, clock: &Clock) {
        self.arrived.join(clock);
    }
}

/// Someone who arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) phase: u64,
    pub(super) times: u64,
}

impl Machine<'_> {
    /// The mbarrier at an address.
    pub(super) fn mbarrier_at(&self, cta: u32, offset: u32) -> Option<u32> {
        let slots = &self.ctas.get(cta as usize)?.mbarriers;
        let number = *slots.get(offset as usize / 8)?;
        (number != 0 && offset.is_multiple_of(8))
            .then(|| number - 1)
            .filter(|it| self.mbarriers[*it as usize].is_valid)
    }

    /// What people call a place in shared memory: the variable that it is in.
    pub(super) fn place_name(&self, cta: u32, offset: u32) -> String {
        let found = self.program.shared_names.iter().find(|(start, end, _)| (*start..*end).contains(&offset));
        let at = match found {
            Some((start, _, name)) if *start == offset => format!("`{name}`"),
            Some((start, _, name)) => format!("`{name}+{}`", offset - start),
            None if offset >= self.dynamic_start => {
                format!("dynamic shared memory + {}", offset - self.dynamic_start)
            }
            None => format!("shared memory at {offset}"),
        };
        if self.ctas.len() > 1 { format!("{at} of CTA {cta}") } else { at }
    }

    /// An mbarrier instruction.
    pub(super) fn mbarrier(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        active: u32,
    ) -> Result<Flow, Stop> {
        if let MbarrierKind::PendingCount { state, destination } = instruction.kind {
            let (state, unknown) = self.value(strand, state);
            self.set(strand, destination, active, &state.map(|state| state & 0xF_FFFF), unknown);
            return Ok(Flow::Next);
        }
        if let MbarrierKind::Wait { .. } = instruction.kind {
            return self.mbarrier_wait(strand, instruction, active);
        }
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, instruction.address, lane) else {
                return Err(Self::stop(strand, "the address of an mbarrier is not known"));
            };
            let Some((cta, offset)) = self.shared_place(strand, instruction.space, address, 8, true) else {
                continue;
            };
            let targets = match instruction.mask {
                Some(mask) => match self.value_at(strand, mask, lane) {
                    Some(mask) => mask as u32,
                    None => return Err(Self::stop(strand, "the mask of CTAs is not known")),
                },
                None => 1 << cta,
            };
            for cta in lanes(targets) {
                self.mbarrier_in(strand, instruction, lane, (cta as u32, offset))?;
            }
        }
        Ok(Flow::Next)
    }

    fn number(&mut self, strand: &Strand, operand: Operand, lane: usize) -> Result<u64, Stop> {
        match self.value_at(strand, operand, lane) {
            Some(value) => Ok(value),
            None => Err(Self::stop(strand, "a count of an mbarrier is not known")),
        }
    }

    fn mbarrier_in(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        lane: usize,
        (cta, offset): (u32, u32),
    ) -> Result<(), Stop> {
        if let MbarrierKind::Init { count } = instruction.kind {
            let count = self.number(strand, count, lane)?;
            self.mbarrier_init(strand, (cta, offset), count as u32);
            return Ok(());
        }
        let Some(number) = self.usable_mbarrier(strand, (cta, offset)) else { return Ok(()) };
        match instruction.kind {
            MbarrierKind::Invalidate => {
                self.in_use(strand, number, "invalidated");
                self.mbarriers[number as usize].is_valid = false;
                self.ctas[cta as usize].mbarriers[offset as usize / 8] = 0;
                self.epoch += 1;
            }
            MbarrierKind::Expect { bytes } => {
                let bytes = self.number(strand, bytes, lane)? as u32;
                self.mbarriers[number as usize].transactions += i64::from(bytes);
                self.check_transactions(strand.step, number);
                self.epoch += 1;
            }
            MbarrierKind::Complete { bytes } => {
                let bytes = self.number(strand, bytes, lane)? as u32;
                let warp = strand.warp as usize;
                let clock = std::mem::take(&mut self.warps[warp].clock);
                self.complete_transactions(number, i64::from(bytes), &clock, strand.step);
                self.warps[warp].clock = clock;
            }
            MbarrierKind::Arrive { count, bytes, drop, release, state } => {
                let count = match count {
                    Some(count) => self.number(strand, count, lane)? as u32,
                    None => 1,
                };
                if let Some(bytes) = bytes {
                    let bytes = self.number(strand, bytes, lane)? as u32;
                    self.mbarriers[number as usize].transactions += i64::from(bytes);
                    self.check_transactions(strand.step, number);
                }
                let barrier = &mut self.mbarriers[number as usize];
                let before = barrier.phase << 20 | u64::from(barrier.pending & 0xF_FFFF);
                if drop {
                    barrier.count = barrier.count.saturating_sub(count);
                }
                let warp = strand.warp as usize;
                if release {
                    let Self { mbarriers, warps, .. } = self;
                    mbarriers[number as usize].arrived.join(&warps[warp].clock);
                    let agent = warps[warp].agent;
                    warps[warp].clock.advance(agent);
                }
                self.arrive(number, count, (strand.step, strand.warp));
                if state != Operand::Sink {
                    self.set_all(strand, state, 1 << lane, before);
                }
            }
            MbarrierKind::Init { .. } | MbarrierKind::Wait { .. } | MbarrierKind::PendingCount { .. } => {}
        }
        Ok(())
    }

    fn mbarrier_init(&mut self, strand: &Strand, (cta, offset): (u32, u32), count: u32) {
        if let Some(old) = self.mbarrier_at(cta, offset) {
            self.in_use(strand, old, "initialised again");
            self.mbarriers[old as usize].is_valid = false;
        }
        self.mbarriers.push(Mbarrier {
            cta,
            offset,
            count,
            pending: count,
            transactions: 0,
            phase: 0,
            is_valid: true,
            init: strand.step,
            arrived: Clock::default(),
            released: Clock::default(),
            senders: Vec::new(),
            seen: Vec::new(),
            under_way: 0,
            promised: 0,
        });
        let number = self.mbarriers.len() as u32;
        self.ctas[cta as usize].mbarriers[offset as usize / 8] = number;
        self.ctas[cta as usize].shared.fill(offset.into(), 8, None);
        self.epoch += 1;
    }

    /// Says that a barrier ends while something needs it.
    fn in_use(&mut self, strand: &Strand, number: u32, what: &str) {
        let barrier = &self.mbarriers[number as usize];
        let waits = self.strands.iter().any(|strand| {
            matches!(strand.wait, Wait::Mbarrier { barrier, phase, .. }
                if barrier == number && phase == self.mbarriers[number as usize].phase)
        });
        let reason = if waits {
            "a thread waits for its phase"
        } else if barrier.under_way > 0 {
            "a copy under way will complete transactions of it"
        } else if barrier.promised > 0 {
            "a commit under way will arrive at it"
        } else {
            return;
        };
        let name = self.place_name(barrier.cta, barrier.offset);
        let finding = Finding::new(
            Code::BarrierReused,
            strand.step,
            "an mbarrier ends only when nobody needs it any more",
            format!("the mbarrier at {name} is {what} while {reason}"),
        )
        .label(barrier.init, "it is initialised here");
        self.report(finding);
    }

    /// The mbarrier at a place; its absence is a finding.
    pub(super) fn usable_mbarrier(&mut self, strand: &Strand, (cta, offset): (u32, u32)) -> Option<u32> {
        let found = self.mbarrier_at(cta, offset);
        if found.is_none() {
            self.no_mbarrier(strand.step, strand.warp, (cta, offset));
        }
        found
    }

    pub(super) fn no_mbarrier(&mut self, step: u32, warp: u32, (cta, offset): (u32, u32)) {
        let name = self.place_name(cta, offset);
        let role = self.role(warp);
        let finding = Finding::new(
            Code::BarrierUninitialized,
            step,
            "an mbarrier is used only between its `mbarrier.init` and its `mbarrier.inval`",
            format!("{role} uses the mbarrier at {name}, which is not initialised"),
        );
        self.report(finding);
    }

    fn check_transactions(&mut self, step: u32, number: u32) {
        let barrier = &self.mbarriers[number as usize];
        if barrier.transactions.abs() <= MOST_TRANSACTIONS {
            return;
        }
        let name = self.place_name(barrier.cta, barrier.offset);
        let finding = Finding::new(
            Code::TransactionMismatch,
            step,
            "an mbarrier counts at most 2^20 - 1 bytes in a phase",
            format!("the mbarrier at {name} is to count {} bytes", barrier.transactions),
        )
        .label(barrier.init, "it is initialised here");
        self.report(finding);
        // Once is enough.
        self.mbarriers[number as usize].transactions = 0;
    }

    /// Bytes have come, and whoever sees the phase end knows what `clock` knows.
    pub(super) fn complete_transactions(&mut self, number: u32, bytes: i64, clock: &Clock, step: u32) {
        let barrier = &mut self.mbarriers[number as usize];
        barrier.arrived.join(clock);
        barrier.transactions -= bytes;
        self.epoch += 1;
        self.record_arrival(number, step);
        let barrier = &mut self.mbarriers[number as usize];
        if barrier.pending == 0 && barrier.transactions < 0 {
            let (more, init) = (-barrier.transactions, barrier.init);
            barrier.transactions = 0;
            let name =
                self.place_name(self.mbarriers[number as usize].cta, self.mbarriers[number as usize].offset);
            let finding = Finding::new(
                Code::TransactionMismatch,
                step,
                "a phase of an mbarrier ends when as many bytes have come as it expects",
                format!("{more} bytes more come to the mbarrier at {name} than its phase expects"),
            )
            .label(init, "it is initialised here");
            self.report(finding);
        }
        self.check_transactions(step, number);
        self.end_phase(number);
    }

    /// Someone arrives.
    pub(super) fn arrive(&mut self, number: u32, count: u32, (step, warp): (u32, u32)) {
        let barrier = &mut self.mbarriers[number as usize];
        self.epoch += 1;
        let phase = barrier.phase;
        self.record_arrival(number, step);
        let barrier = &mut self.mbarriers[number as usize];
        match barrier.senders.iter_mut().find(|sender| sender.step == step && sender.warp == warp) {
            Some(sender) => (sender.phase, sender.times) = (phase, sender.times + 1),
            None => barrier.senders.push(Sender { step, warp, phase, times: 1 }),
        }
        if count > barrier.pending {
            let (init, awaited, pending) = (barrier.init, barrier.count, barrier.pending);
            barrier.pending = 0;
            let last =
                barrier.senders.iter().rev().find(|sender| sender.phase == phase && sender.step != step);
            let last = last.map(|sender| sender.step);
            let name =
                self.place_name(self.mbarriers[number as usize].cta, self.mbarriers[number as usize].offset);
            let role = self.role(warp);
            let missing = self.mbarriers[number as usize].transactions;
            let label = if pending == 0 && missing > 0 {
                format!(
                    "{role} arrives at the mbarrier at {name}, whose phase {phase} awaits {missing} bytes but no arrival"
                )
            } else {
                format!(
                    "{role} arrives with {count} at the mbarrier at {name}, whose phase {phase} awaits {pending} more"
                )
            };
            let mut finding = Finding::new(
                Code::ArrivalOverflow,
                step,
                "no more threads arrive at a phase of an mbarrier than it awaits",
                label,
            )
            .label(init, format!("it is initialised to await {awaited}"));
            if let Some(last) = last {
                finding = finding.label(last, "others arrive here");
            }
            self.report(finding);
        } else {
            barrier.pending -= count;
        }
        self.end_phase(number);
    }

    /// Ends the phase if all is there.
    fn end_phase(&mut self, number: u32) {
        let barrier = &mut self.mbarriers[number as usize];
        if barrier.pending > 0 || barrier.transactions != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending = barrier.count;
        let Mbarrier { arrived, released, phase, .. } = barrier;
        released.join(arrived);
        let phase = *phase;
        self.record_phase(number);
        // Whoever waits for the phase before this one has missed that it was over.
        let late = self.strands.iter().find(|strand| {
            matches!(strand.wait, Wait::Mbarrier { barrier, phase: waited, .. } if barrier == number && waited + 2 == phase)
        });
        if let Some(late) = late {
            let (step, warp) = (late.step, late.warp);
            self.overtaken(number, (step, warp), phase - 2);
        }
        self.epoch += 1;
    }

    /// Reports that phases may end before someone has seen the end of one.
    pub(super) fn overtaken(&mut self, number: u32, (step, warp): (u32, u32), phase: u64) {
        let barrier = &self.mbarriers[number as usize];
        let name = self.place_name(barrier.cta, barrier.offset);
        let role = self.role(warp);
        let mut finding = Finding::new(
            Code::PhaseOvertaken,
            step,
            "a phase of an mbarrier ends only after all have seen the end of the one before",
            format!(
                "{role} waits for phase {phase} of the mbarrier at {name}, and may see its parity again only after \
                 phase {} is over, too",
                phase + 1
            ),
        )
        .label(barrier.init, "it is initialised here");
        let last = barrier.senders.iter().rfind(|sender| sender.phase == phase + 1);
        if let Some(last) = last {
            finding = finding.label(last.step, format!("phase {} is ended by who arrives here", phase + 1));
        }
        self.report(finding);
    }

    fn mbarrier_wait(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        active: u32,
    ) -> Result<Flow, Stop> {
        let MbarrierKind::Wait { parity, value, may_suspend, acquire, destination } = instruction.kind else {
            return Ok(Flow::Next);
        };
        let mut passes = 0u64;
        let mut waits_for = None;
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, instruction.address, lane) else {
                return Err(Self::stop(strand, "the address of an mbarrier is not known"));
            };
            let Some(wanted) = self.value_at(strand, value, lane) else {
                return Err(Self::stop(strand, "the phase that is waited for is not known"));
            };
            let place = self.shared_place(strand, instruction.space, address, 8, false);
            let number = place.and_then(|place| self.usable_mbarrier(strand, place));
            let Some(number) = number else {
                passes |= 1 << lane;
                continue;
            };
            let barrier = &self.mbarriers[number as usize];
            let is_over = if parity { barrier.phase & 1 != wanted & 1 } else { barrier.phase > wanted >> 20 };
            if is_over {
                passes |= 1 << lane;
                let Mbarrier { phase, seen, .. } = &mut self.mbarriers[number as usize];
                match seen.iter_mut().find(|(warp, _)| *warp == strand.warp) {
                    Some((_, last)) => *last = *phase,
                    None => seen.push((strand.warp, *phase)),
                }
                if passes.is_power_of_two() {
                    self.record_seen(number, strand.step);
                }
                if acquire {
                    let Self { mbarriers, warps, .. } = self;
                    warps[strand.warp as usize].clock.join(&mbarriers[number as usize].released);
                }
            } else {
                waits_for.get_or_insert((number, barrier.phase));
            }
        }
        if passes == 0
            && !strand.expired
            && let Some((barrier, phase)) = waits_for
        {
            if may_suspend {
                strand.wait = Wait::Mbarrier { barrier, phase, may_give_up: true };
                return Ok(Flow::Blocked);
            }
            if self.ask(strand, strand.step, u64::from(barrier), 2) {
                strand.wait = Wait::Mbarrier { barrier, phase, may_give_up: false };
                return Ok(Flow::Blocked);
            }
        }
        strand.expired = false;
        if passes != 0 {
            strand.idle = 0;
        }
        let results: Lanes = std::array::from_fn(|lane| passes >> lane & 1);
        self.set(strand, destination, active, &results.map(u64::from), 0);
        Ok(if passes == 0 { Flow::Yield } else { Flow::Next })
    }

    /// Counts a question that is answered like the last one; whether it is vain to ask again before
    /// something happens.
    pub(super) fn ask(&self, strand: &mut Strand, step: u32, about: u64, most: u32) -> bool {
        if strand.asked == (step, about) && strand.epoch == self.epoch {
            strand.idle += 1;
        } else {
            (strand.asked, strand.epoch, strand.idle) = ((step, about), self.epoch, 0);
        }
        strand.idle >= most
    }

    /// The CTA and the offset of an address in shared memory; what is outside is a finding.
    pub(super) fn shared_place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: u64,
        bytes: u32,
        writes: bool,
    ) -> Option<(u32, u32)> {
        let own = self.warps[strand.warp as usize].cta;
        let address = match space {
            Where::Generic if address >> windows::BITS == windows::SHARED => address & u64::from(u32::MAX),
            Where::Generic => {
                self.outside(strand, &format!("the generic address {address:#x} is not in shared memory"));
                return None;
            }
            _ => address,
        };
        let (rank, offset) = Self::split_shared(address);
        let size = self.shared_bytes;
        if rank as usize >= self.ctas.len()
            || offset.saturating_add(bytes) > size
            || offset < windows::RESERVED
        {
            let verb = if writes { "write" } else { "read" };
            let what = if rank as usize >= self.ctas.len() {
                format!("there is no CTA {rank} in the cluster: the address is {address:#x}")
            } else {
                format!(
                    "{bytes} bytes at {offset} are {verb}, but the shared memory of the CTA ends at {size}"
                )
            };
            self.outside(strand, &what);
            return None;
        }
        if space == Where::Shared && rank != own {
            self.outside(
                strand,
                &format!("the address {address:#x} is in the shared memory of CTA {rank}, not of CTA {own}"),
            );
            return None;
        }
        Some((rank, offset))
    }

    /// The address of an mbarrier for an asynchronous operation of a thread.
    pub(super) fn barrier_place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: Address,
        lane: usize,
    ) -> Result<Option<(u32, u32)>, Stop> {
        let Some(address) = self.address_at(strand, address, lane) else {
            return Err(Self::stop(strand, "the address of an mbarrier is not known"));
        };
        Ok(self.shared_place(strand, space, address, 8, true))
    }
}
