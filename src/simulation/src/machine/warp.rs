//! Warps: registers, and threads that go the same way together.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Machine;
use super::access::ASSUMED_RESULTS;
use super::bytes::Bytes;
use crate::arithmetic::known_bits::{Known, KnownBits};
use crate::arithmetic::{Arithmetic, Lanes};
use crate::clock::{Agent, Clock};
use crate::program::loops::SHORT;
use crate::program::{Action, Changing, Depends, NOWHERE, Operand, Slice, Step, windows};

/// No join.
pub(super) const NO_JOIN: u32 = u32::MAX;

/// 32 threads.
#[derive(Debug)]
pub(super) struct Warp {
    /// The rank of its CTA in the cluster.
    pub(super) cta: u32,
    /// Its number in the CTA.
    pub(super) index: u32,
    /// The lanes whose threads have not ended.
    pub(super) live: u32,
    /// Where the others have.
    pub(super) ends: SmallVec<[(u32, u32); 1]>,
    /// Registers of all frames, one after the other.
    pub(super) bits: Vec<Lanes>,
    /// By register: the lanes whose bits are not all known.
    pub(super) unknown: Vec<u32>,
    /// By register, if some lanes know some of these: which bits they know.
    pub(super) partly: FxHashMap<u32, Box<Lanes>>,
    /// What [`Operand::Fixed`] names.
    pub(super) fixed: Vec<Lanes>,
    /// By lane: the memory of its frames.
    pub(super) local: Vec<Bytes>,
    pub(super) joins: Vec<Join>,
    pub(super) agent: Agent,
    pub(super) clock: Clock,
    pub(super) fences: super::order::Fences,
    /// Arrivals at the barrier of the cluster: which lanes, and in which generation.
    pub(super) cluster_arrived: u32,
    pub(super) cluster_generation: u64,
    pub(super) unsynchronised: super::unsynchronised::Unsynchronised,
    pub(super) arrivals: super::early::Arrivals,
    /// Copies of the CTA's threads, see [`super::bulk`].
    pub(super) copies: super::bulk::Copies,
    pub(super) tensor: super::tensor::Pending,
    /// Registers of each thread, for `setmaxnreg`.
    pub(super) register_count: u32,
    /// How it has changed them, one after the other.
    pub(super) register_changes: SmallVec<[RegisterChange; 2]>,
    /// Where a `try_wait` has ended in vain, for the schedule that has operations end as late as they may.
    pub(super) answered: SmallVec<[u32; 4]>,
}

/// `setmaxnreg` that a warp has executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterChange {
    pub(super) step: u32,
    pub(super) count: u32,
    pub(super) up: bool,
}

/// Where threads that went different ways meet.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// Those who come.
    pub(super) mask: u32,
    /// Those who are there.
    pub(super) arrived: u32,
    /// The step; [`NOWHERE`] for the return of a function.
    pub(super) step: u32,
    pub(super) parent: u32,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) function: u32,
    /// The call, to go on behind it.
    pub(super) call: u32,
    /// Its first register.
    pub(super) base: u32,
    /// Its first byte in the thread's memory.
    pub(super) local: u32,
    /// The join of the threads that called together.
    pub(super) join: u32,
}

/// A loop that threads are in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Iteration {
    /// Where its iterations begin.
    pub(super) head: u32,
    /// In how many calls it is.
    pub(super) depth: u32,
    /// Iterations before this one.
    pub(super) count: u32,
}

/// Threads of a warp that go the same way.
#[derive(Clone, Debug)]
pub(super) struct Strand {
    pub(super) warp: u32,
    pub(super) mask: u32,
    pub(super) step: u32,
    /// Of the current frame.
    pub(super) base: u32,
    pub(super) local: u32,
    pub(super) frames: SmallVec<[Frame; 2]>,
    pub(super) join: u32,
    pub(super) wait: Wait,
    /// The loops that it is in, the innermost last.
    pub(super) iterations: SmallVec<[Iteration; 2]>,
    /// Questions in a row that were answered the same way while nothing happened.
    pub(super) idle: u32,
    pub(super) asked: (u32, u64),
    pub(super) epoch: u64,
    /// Whether a wait is to give up.
    pub(super) expired: bool,
    /// How often waits gave up since something happened.
    pub(super) gave_up: (u64, u32),
}

/// What threads wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    None,
    /// A phase of an mbarrier.
    Mbarrier { barrier: u32, phase: u64, may_give_up: bool },
    /// A barrier of the CTA.
    Named { id: u32 },
    /// The barrier of the cluster.
    Cluster { generation: u64 },
    /// Other threads of the warp.
    Warp { mask: u32, aligned_step: u32 },
    /// Copies in bulk.
    Bulk { left: u32 },
    /// Copies.
    Copies { left: u32 },
    /// Columns of Tensor Memory.
    Alloc { columns: u32, pair: bool },
    /// Registers.
    Registers { count: u32 },
    /// That something changes in memory.
    Change,
    /// Nothing that comes: what they do next is not known.
    Unknown,
}

impl Strand {
    pub(super) fn new(warp: u32, mask: u32, step: u32) -> Self {
        Self {
            warp,
            mask,
            step,
            base: 0,
            local: 0,
            frames: SmallVec::new(),
            join: NO_JOIN,
            wait: Wait::None,
            iterations: SmallVec::new(),
            idle: 0,
            asked: (NOWHERE, 0),
            epoch: 0,
            expired: false,
            gave_up: (0, 0),
        }
    }

    /// The lowest of its lanes.
    pub(super) fn first_lane(&self) -> u32 {
        self.mask.trailing_zeros().min(31)
    }
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

impl Warp {
    /// Some lanes of a register are written.
    #[cold]
    fn forget_bits(&mut self, index: usize, active: u32) {
        let Some(masks) = self.partly.get_mut(&(index as u32)) else { return };
        for lane in lanes(active) {
            masks[lane] = 0;
        }
        if masks.iter().all(|mask| *mask == 0) {
            self.partly.remove(&(index as u32));
        }
    }

    /// What a lane knows of a register.
    fn bits_of(&self, index: usize, lane: usize) -> Known {
        if self.unknown[index] >> lane & 1 == 0 {
            return Known::from(self.bits[index][lane]);
        }
        let mask = self.partly.get(&(index as u32)).map_or(0, |masks| masks[lane]);
        Known::new(mask, self.bits[index][lane])
    }

    /// Makes room for the registers of a frame.
    pub(super) fn reserve(&mut self, registers: usize) {
        if self.bits.len() < registers {
            self.bits.resize(registers, [0; 32]);
            self.unknown.resize(registers, u32::MAX);
        }
    }
}

impl Machine<'_> {
    /// The value of an operand, and the lanes in which it is not known.
    pub(super) fn value(&self, strand: &Strand, operand: Operand) -> (Lanes, u32) {
        let warp = &self.warps[strand.warp as usize];
        match operand {
            Operand::Register(number) => {
                let index = (strand.base + number) as usize;
                (warp.bits[index], warp.unknown[index])
            }
            Operand::Not(number) => {
                let index = (strand.base + number) as usize;
                (warp.bits[index].map(|bit| bit ^ 1), warp.unknown[index])
            }
            Operand::Constant(index) => (self.program.constants[index as usize], 0),
            Operand::Fixed(index) => (warp.fixed[index as usize], 0),
            Operand::Local(offset) => ([u64::from(strand.local + offset); 32], 0),
            Operand::Changing(changing) => ([self.changing(changing); 32], 0),
            Operand::Sink => ([0; 32], 0),
        }
    }

    fn changing(&self, changing: Changing) -> u64 {
        // As if each instruction of all warps took one cycle of a nanosecond.
        let now = self.executed;
        match changing {
            Changing::Clock | Changing::Timer => now,
            Changing::TimerLow => now & u64::from(u32::MAX),
            Changing::ClockHigh | Changing::TimerHigh => now >> 32,
        }
    }

    /// The value of an operand in one lane, if it is known.
    pub(super) fn value_at(&self, strand: &Strand, operand: Operand, lane: usize) -> Option<u64> {
        let warp = &self.warps[strand.warp as usize];
        if let Operand::Register(number) = operand {
            let index = (strand.base + number) as usize;
            return (warp.unknown[index] >> lane & 1 == 0).then(|| warp.bits[index][lane]);
        }
        let (value, unknown) = self.value(strand, operand);
        (unknown >> lane & 1 == 0).then(|| value[lane])
    }

    /// Writes some lanes of an operand.
    pub(super) fn set(
        &mut self,
        strand: &Strand,
        operand: Operand,
        active: u32,
        value: &Lanes,
        unknown: u32,
    ) {
        let Operand::Register(number) = operand else { return };
        let warp = &mut self.warps[strand.warp as usize];
        let index = (strand.base + number) as usize;
        if let Some(influence) = &mut self.influence {
            influence.write(strand.warp, index, active == warp.live);
        }
        let known = &mut warp.unknown[index];
        *known = *known & !active | unknown & active;
        if !warp.partly.is_empty() {
            warp.forget_bits(index, active);
        }
        let bits = &mut warp.bits[index];
        if active == u32::MAX {
            *bits = *value;
        } else {
            for lane in lanes(active) {
                bits[lane] = value[lane];
            }
        }
    }

    /// The bits that lanes know of an operand, where they do not know all; nothing if there are none.
    pub(super) fn partly(&self, strand: &Strand, operand: Operand) -> Option<&Lanes> {
        let Operand::Register(number) = operand else { return None };
        self.warps[strand.warp as usize].partly.get(&(strand.base + number)).map(|masks| &**masks)
    }

    /// Says which bits lanes know of a register that they have written without knowing all.
    pub(super) fn set_partly(&mut self, strand: &Strand, operand: Operand, active: u32, masks: &Lanes) {
        let Operand::Register(number) = operand else { return };
        let warp = &mut self.warps[strand.warp as usize];
        let index = strand.base + number;
        let unknown = warp.unknown[index as usize] & active;
        for lane in lanes(unknown).filter(|lane| masks[*lane] != 0) {
            warp.partly.entry(index).or_default()[lane] = masks[lane];
        }
    }

    /// Writes the same value to some lanes of an operand.
    pub(super) fn set_all(&mut self, strand: &Strand, operand: Operand, active: u32, value: u64) {
        self.set(strand, operand, active, &[value; 32], 0);
    }

    /// Marks some lanes of operands as not known, or gives them what is assumed.
    pub(super) fn set_unknown(&mut self, strand: &Strand, operands: Slice, active: u32) {
        let (value, unknown) = match self.assumes {
            Some(assumption) => {
                self.assume(strand.step, ASSUMED_RESULTS);
                if let Some(influence) = &mut self.influence {
                    influence.load_result();
                }
                ([assumption.result(); 32], 0)
            }
            None => ([0; 32], active),
        };
        for operand in &self.program.operands[operands.range()] {
            self.set(strand, *operand, active, &value, unknown);
        }
    }

    /// Computes registers from registers.
    pub(super) fn compute(
        &mut self,
        strand: &Strand,
        arithmetic: u32,
        (sources, destinations): (Slice, Slice),
        depends: Depends,
        active: u32,
    ) {
        if self.trace.is_some() {
            self.trace_arithmetic(strand, arithmetic, (sources, destinations), active);
        }
        let program = self.program;
        let arithmetic = &program.arithmetics[arithmetic as usize];
        if arithmetic.synchronises() {
            self.synchronise_lanes(strand.warp, active);
        }
        let sources = &program.operands[sources.range()];
        let destinations = &program.operands[destinations.range()];
        let mut results: SmallVec<[Lanes; 2]> = smallvec::smallvec![[0; 32]; destinations.len()];
        let mut special = None;
        let unknown = {
            let warp = &self.warps[strand.warp as usize];
            let mut made: SmallVec<[Lanes; 1]> = SmallVec::new();
            for source in sources {
                match source {
                    Operand::Register(_) | Operand::Constant(_) | Operand::Fixed(_) => {}
                    other => made.push(self.value(strand, *other).0),
                }
            }
            let mut made = made.iter();
            let mut values: SmallVec<[&Lanes; 6]> = SmallVec::new();
            let mut doubts: SmallVec<[u32; 6]> = SmallVec::new();
            for source in sources {
                let (value, doubt) = match source {
                    Operand::Register(number) => {
                        let index = (strand.base + number) as usize;
                        (Some(&warp.bits[index]), warp.unknown[index])
                    }
                    Operand::Constant(index) => (Some(&program.constants[*index as usize]), 0),
                    Operand::Fixed(index) => (Some(&warp.fixed[*index as usize]), 0),
                    Operand::Not(number) => (made.next(), warp.unknown[(strand.base + number) as usize]),
                    Operand::Local(_) | Operand::Changing(_) | Operand::Sink => (made.next(), 0),
                };
                if let Some(value) = value {
                    values.push(value);
                }
                doubts.push(doubt & active);
            }
            let mut places: SmallVec<[&mut Lanes; 2]> = results.iter_mut().collect();
            arithmetic.execute(active, &values, &mut places);
            drop(places);
            let any = doubts.iter().fold(0, |all, doubt| all | doubt);
            if self.specials {
                special = arithmetic.makes_special(active & !any, &values, &results);
            }
            if any == 0 {
                0
            } else if arithmetic.is_exchange() {
                active
            } else {
                depends.unknown(any, &values, &doubts)
            }
        };
        if let Some((lane, special)) = special {
            let warp = self.warps[strand.warp as usize].index;
            self.report_special(strand.step, special, &format!("the result of lane {lane} of warp {warp}"));
        }
        if unknown != 0 && self.may_be_partly_known(strand, arithmetic, sources) {
            let count = destinations.len();
            let partly: SmallVec<[_; 2]> = (0..count)
                .map(|at| {
                    self.bits_of_result(strand, arithmetic, sources, (at, count), unknown, &mut results[at])
                })
                .collect();
            for ((destination, result), (unknown, masks)) in destinations.iter().zip(&results).zip(partly) {
                self.set(strand, *destination, active, result, unknown);
                if let Some(masks) = masks {
                    self.set_partly(strand, *destination, active, &masks);
                }
            }
            return;
        }
        for (destination, result) in destinations.iter().zip(&results) {
            self.set(strand, *destination, active, result, unknown);
        }
    }

    /// Whether some bits of a result may be known if not all bits of the sources are: this is looked into where
    /// values are put together from parts and taken apart again, and where parts of a source are known.
    fn may_be_partly_known(&self, strand: &Strand, arithmetic: &Arithmetic, sources: &[Operand]) -> bool {
        let is_partly_known = || sources.iter().any(|source| self.partly(strand, *source).is_some());
        let is_unknown = |source: &Operand| match source {
            Operand::Register(number) => {
                self.warps[strand.warp as usize].unknown[(strand.base + number) as usize] == u32::MAX
            }
            _ => false,
        };
        arithmetic.is_followed()
            && !arithmetic.is_exchange()
            && (is_partly_known() || arithmetic.is_of_bits() && !sources.iter().all(is_unknown))
    }

    /// Which lanes do not know all of a result, of those that do not know all sources, and which bits they know:
    /// the numbers of the others are put into the result.
    fn bits_of_result(
        &self,
        strand: &Strand,
        arithmetic: &Arithmetic,
        sources: &[Operand],
        (position, count): (usize, usize),
        unknown: u32,
        result: &mut Lanes,
    ) -> (u32, Option<Box<Lanes>>) {
        let of_type = u64::MAX >> (64 - arithmetic.result_bits(position, count).clamp(1, 64));
        let warp = &self.warps[strand.warp as usize];
        let (mut left, mut all): (u32, Option<Box<Lanes>>) = (unknown, None);
        // Most often all lanes know the same.
        let mut last: Option<(SmallVec<[Known; 4]>, Known)> = None;
        for lane in lanes(unknown) {
            let known: SmallVec<[Known; 4]> = sources
                .iter()
                .map(|source| match source {
                    Operand::Register(number) => warp.bits_of((strand.base + number) as usize, lane),
                    other => {
                        let value = self.value_at(strand, *other, lane);
                        value.map_or(Known::new(0, 0), Known::from)
                    }
                })
                .collect();
            let bits = match &last {
                Some((same, bits)) if *same == known => *bits,
                _ => arithmetic.transfer(&mut KnownBits, &known, position, count),
            };
            last = Some((known, bits));
            if bits.mask == u64::MAX {
                result[lane] = bits.value;
                left &= !(1 << lane);
            } else if bits.mask & of_type != 0 {
                result[lane] = result[lane] & !bits.mask | bits.value;
                all.get_or_insert_default()[lane] = bits.mask;
            }
        }
        (left, all)
    }

    /// The address that an operand names in a lane.
    pub(super) fn address_at(
        &self,
        strand: &Strand,
        address: crate::program::Address,
        lane: usize,
    ) -> Option<u64> {
        Some(self.value_at(strand, address.base, lane)?.wrapping_add_signed(address.offset))
    }

    /// An address with all its lanes.
    pub(super) fn addresses(&self, strand: &Strand, address: crate::program::Address) -> (Lanes, u32) {
        let (mut value, unknown) = self.value(strand, address.base);
        if address.offset != 0 {
            for lane in &mut value {
                *lane = lane.wrapping_add_signed(address.offset);
            }
        }
        (value, unknown)
    }

    /// The rank and the offset that an address in shared memory has.
    pub(super) fn split_shared(address: u64) -> (u32, u32) {
        let address = address as u32;
        (address >> windows::RANK_SHIFT, address & ((1 << windows::RANK_SHIFT) - 1))
    }

    /// Goes to another step, which may be where the threads of a warp meet.
    pub(super) fn go(&self, strand: &mut Strand, step: u32) {
        if self.program.loops.begin(step) {
            self.begin_iteration(strand, step);
        }
        strand.step = step;
    }

    /// Goes to the next step.
    pub(super) fn go_behind(&self, strand: &mut Strand) {
        self.go(strand, strand.step + 1);
    }

    /// Threads come to where iterations of a loop begin: once more, or from outside.
    fn begin_iteration(&self, strand: &mut Strand, head: u32) {
        let loops = &self.program.loops;
        let depth = strand.frames.len() as u32;
        let known =
            strand.iterations.iter().position(|iteration| (iteration.head, iteration.depth) == (head, depth));
        let mut count = 0;
        if loops.contain(strand.step, head) {
            // What waits at its start begins no iteration.
            if (head..=head + SHORT).contains(&strand.step) {
                return;
            }
            count = known.map_or(0, |at| strand.iterations[at].count).saturating_add(1);
        }
        strand.iterations.truncate(known.unwrap_or(usize::MAX));
        while let Some(last) = strand.iterations.last()
            && (last.depth > depth || last.depth == depth && !loops.contain(head, last.head))
        {
            strand.iterations.pop();
        }
        strand.iterations.push(Iteration { head, depth, count });
    }

    /// How many iterations of the loop around it are over for threads: of one that calls the function they are in,
    /// where there is no other.
    pub(super) fn iterations(&self, strand: &Strand) -> u32 {
        let depth = strand.frames.len() as u32;
        let around = self.program.loops.around(strand.step);
        let is_around = |iteration: &&Iteration| match around {
            Some(head) => (iteration.head, iteration.depth) == (head, depth),
            None => iteration.depth < depth,
        };
        strand.iterations.iter().rev().find(is_around).map_or(0, |iteration| iteration.count)
    }

    /// Whether the threads are where they meet others: then they are parked, or go on with them.
    pub(super) fn meet(&mut self, strand: &mut Strand) -> bool {
        let warp = strand.warp as usize;
        while strand.join != NO_JOIN {
            let join = &mut self.warps[warp].joins[strand.join as usize];
            if join.step != strand.step {
                return false;
            }
            join.arrived |= strand.mask;
            if join.arrived != join.mask {
                strand.mask = 0;
                return true;
            }
            strand.mask = join.mask;
            let parent = join.parent;
            join.mask = 0;
            strand.join = parent;
        }
        false
    }

    /// Lets threads go on that wait where their warp comes together again, where others of the warp poll memory: all threads
    /// of a warp make progress, so that they may write what is waited for.
    pub(crate) fn go_on_apart(&mut self) -> bool {
        let polls = |strand: &Strand| strand.wait == Wait::Change;
        let found = self.strands.iter().filter(|strand| polls(strand)).find_map(|strand| {
            let joins = &self.warps[strand.warp as usize].joins;
            let own = std::iter::successors(Some(strand.join), |at| {
                joins.get(*at as usize).map(|join| join.parent)
            });
            let at = own.take_while(|at| *at != NO_JOIN).find(|at| joins[*at as usize].arrived != 0)?;
            self.program.writes_before_barrier(joins[at as usize].step).then(|| (strand.clone(), at))
        });
        let Some((strand, at)) = found else { return false };
        let released = self.release(&strand, at);
        self.strands.extend(released);
        true
    }

    /// Lets the threads that have come to a join go on from there, without the others; `strand` is one on the way to it.
    /// Nothing if they meet others at once.
    fn release(&mut self, strand: &Strand, at: u32) -> Option<Strand> {
        let join = &mut self.warps[strand.warp as usize].joins[at as usize];
        let (mask, step) = (std::mem::take(&mut join.arrived), join.step);
        join.mask &= !mask;
        let mut released = strand.clone();
        (released.mask, released.join) = (mask, join.parent);
        (released.wait, released.idle, released.asked) = (Wait::None, 0, (NOWHERE, 0));
        if step == NOWHERE {
            self.end_call(&mut released, at);
        } else {
            released.step = step;
            self.unwind(&mut released, at);
        }
        (!self.meet(&mut released)).then_some(released)
    }

    /// A join for threads that part.
    pub(super) fn new_join(&mut self, warp: u32, mask: u32, step: u32, parent: u32) -> u32 {
        let joins = &mut self.warps[warp as usize].joins;
        let join = Join { mask, arrived: 0, step, parent };
        // One that is over makes room.
        if let Some(free) = joins.iter().position(|old| old.mask == 0) {
            joins[free] = join;
            return free as u32;
        }
        joins.push(join);
        joins.len() as u32 - 1
    }

    /// Threads part: those of `taken` go to `step`, the others go on behind the branch.
    pub(super) fn part(&mut self, strand: &mut Strand, taken: u32, step: u32, join: u32) {
        if taken == strand.mask {
            self.go(strand, step);
            return;
        }
        if join != NOWHERE
            && (strand.join == NO_JOIN
                || self.warps[strand.warp as usize].joins[strand.join as usize].step != join)
        {
            strand.join = self.new_join(strand.warp, strand.mask, join, strand.join);
        }
        let mut other = strand.clone();
        other.mask = taken;
        strand.mask &= !taken;
        self.go(&mut other, step);
        self.go_behind(strand);
        // Threads that only end do so before the others come to a barrier, which waits for those that are there.
        for part in [&mut other, &mut *strand] {
            let (mask, is_outermost) = (part.mask, part.frames.is_empty());
            match self.program.steps.get(part.step as usize) {
                Some(Step { guard: None, action: Action::Exit }) => self.end_threads(part, mask, true),
                Some(Step { guard: None, action: Action::Return }) if is_outermost => {
                    self.end_threads(part, mask, true);
                }
                _ => {}
            }
        }
        if other.mask != 0 && !self.meet(&mut other) {
            self.fresh.push(other);
        }
    }

    /// Threads leave the function: those who wait for them further inside wait no more. They
    /// come to the join of the call, or end.
    pub(super) fn leave(&mut self, strand: &mut Strand, leaving: u32, ends: bool) {
        let warp = strand.warp;
        let until = if ends { NO_JOIN } else { strand.frames.last().map_or(NO_JOIN, |frame| frame.join) };
        let mut at = strand.join;
        while at != until && at != NO_JOIN {
            let join = &mut self.warps[warp as usize].joins[at as usize];
            join.mask &= !leaving;
            join.arrived &= !leaving;
            let (mask, arrived, parent) = (join.mask, join.arrived, join.parent);
            // Those who go on in this strand come later.
            if mask != 0 && mask == arrived {
                let released = self.release(strand, at);
                self.fresh.extend(released);
            }
            at = parent;
        }
        strand.mask &= !leaving;
        if ends {
            let step = strand.step;
            let warp = &mut self.warps[warp as usize];
            warp.live &= !leaving;
            match warp.ends.iter_mut().find(|(_, end)| *end == step) {
                Some((mask, _)) => *mask |= leaving,
                None => warp.ends.push((leaving, step)),
            }
            return;
        }
        // The join of the call.
        let frame = strand.frames.last().copied();
        let Some(frame) = frame else { return };
        let join = &mut self.warps[warp as usize].joins[frame.join as usize];
        join.arrived |= leaving;
        if join.arrived == join.mask {
            let mut returned = strand.clone();
            returned.mask = join.mask;
            returned.join = join.parent;
            join.mask = 0;
            self.end_call(&mut returned, frame.join);
            if !self.meet(&mut returned) {
                self.fresh.push(returned);
            }
        }
    }

    /// Goes back to the frame that a join belongs to.
    fn unwind(&mut self, strand: &mut Strand, join: u32) {
        // Joins of calls that are not over are further out.
        let is_open = |frame: &Frame| {
            let mut at = strand.join;
            let joins = &self.warps[strand.warp as usize].joins;
            while at != NO_JOIN {
                if at == frame.join {
                    return true;
                }
                at = joins[at as usize].parent;
            }
            false
        };
        let depth = strand.frames.iter().take_while(|frame| is_open(frame) && frame.join != join).count();
        while strand.frames.len() > depth {
            strand.frames.pop();
        }
        Self::enter_frame(strand);
    }

    fn enter_frame(strand: &mut Strand) {
        (strand.base, strand.local) = strand.frames.last().map_or((0, 0), |frame| (frame.base, frame.local));
    }

    /// Ends the call whose join this is, and goes on behind it.
    fn end_call(&mut self, strand: &mut Strand, join: u32) {
        while let Some(frame) = strand.frames.pop() {
            if frame.join == join {
                let (inner_base, inner_local) = (frame.base, frame.local);
                Self::enter_frame(strand);
                self.pass_results(strand, frame, (inner_base, inner_local));
                strand.step = frame.call + 1;
                return;
            }
        }
    }
}
