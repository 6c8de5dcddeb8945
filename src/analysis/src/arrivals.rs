//! How many arrivals come together at an mbarrier, and how many it expects.
//!
//! An instruction that all lanes of a warp execute arrives 32 times. One that several warps execute arrives
//! once more for each, where nothing tells these warps apart: then all of them get there as often, and name the
//! same mbarrier each time.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cfg::Direction;
use super::executing::Executes;
use super::flow::Flow;
use super::mbarriers::{Mbarrier, Use, Used};
use super::reach::PassedWithout;
use super::walks::Walk;
use crate::isa::generic::{Computation, Flag, Lanes, Operation, Space, Synchronization};
use crate::isa::hierarchy::{THREADS_OF_WARP, WARPS_OF_CTA};
use crate::isa::special_registers::{Extent, Lasting};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

/// More arrivals that come together than a phase has.
#[derive(Clone, Copy, Debug)]
pub struct Surplus {
    /// The instruction that arrives.
    pub arrival: Used,
    /// The first that makes one of the mbarriers that it may be.
    pub initialised: Used,
    /// How many arrivals these expect at most.
    pub expected: u64,
    /// How many come at least.
    pub come: u64,
    /// How many threads these are of.
    pub threads: u32,
    /// How many warps those are of; one, if it is not known that there are more.
    pub warps: u32,
}

/// Fewer arrivals than a phase waits for.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    /// The instruction that waits for the phase.
    pub wait: Used,
    /// The one that makes the mbarrier.
    pub initialised: Used,
    /// How many arrivals it expects.
    pub expected: u64,
    /// How many come at most.
    pub come: u64,
}

impl Flow<'_> {
    /// Arrivals of which more come together than the mbarriers expect, whichever it is.
    pub fn surplus_arrivals(&self) -> Vec<Surplus> {
        let used = self.mbarriers();
        let mut found = Vec::new();
        if !used.iter().any(|it| it.how.arrives()) {
            return found;
        }
        let Some(initialised) = self.expected_arrivals() else { return found };
        let mut known: FxHashMap<Mbarrier, Option<(Used, u64)>> = FxHashMap::default();
        for arrival in used.iter().filter(|it| it.how.arrives()) {
            let (Some(mbarrier), Some(each)) = (arrival.mbarrier, self.arrivals_of_each(arrival)) else {
                continue;
            };
            let most = known.entry(mbarrier).or_insert_with(|| self.most_expected(&mbarrier, &initialised));
            let Some((initialised, expected)) = *most else { continue };
            let Some((threads, warps)) = self.arrive_together(arrival, expected / each) else { continue };
            let come = u64::from(threads) * each;
            // Of a `commit` that a whole warp executes, other rules say it.
            let is_elected = arrival.how != Use::Commits || threads == warps;
            if come > expected && is_elected {
                found.push(Surplus { arrival: *arrival, initialised, expected, come, threads, warps });
            }
        }
        found
    }

    /// How many arrivals those expect at most that an mbarrier may be, and what makes the first of them.
    pub(super) fn most_expected(
        &self,
        mbarrier: &Mbarrier,
        initialised: &[(Used, Option<u64>)],
    ) -> Option<(Used, u64)> {
        let mut most: Option<(Used, u64)> = None;
        for (init, count) in initialised {
            if init.mbarrier.is_some_and(|it| self.may_be_same(&it, mbarrier)) {
                let (first, known) = most.unwrap_or((*init, 0));
                most = Some((first, known.max((*count)?)));
            }
        }
        most
    }

    /// Waits for the first phase of an mbarrier that expects more arrivals than can come before it is over: each
    /// thread arrives once at most by each of the instructions that there are, as it has to wait for that phase
    /// before it gets to one again. For each mbarrier the first.
    pub fn missing_arrivals(&self) -> Vec<Shortage> {
        /// More arrivals at one mbarrier are not followed.
        const MOST: usize = 16;
        /// Nor is looked at more waits.
        const MOST_WAITS: usize = 64;
        let used = self.mbarriers();
        let mut found: Vec<Shortage> = Vec::new();
        let expects_several = |(_, count): &(Used, Option<u64>)| count.is_some_and(|count| count > 1);
        let Some(initialised) = self.expected_arrivals().filter(|all| all.iter().any(expects_several)) else {
            return found;
        };
        let Some(of_callees) = self.mbarriers_of_callees(Use::arrives) else { return found };
        // Only those which are for one alone, and certainly for its first phase, hold anybody up.
        let mut gates: FxHashMap<Mbarrier, SmallVec<[Used; 4]>> = FxHashMap::default();
        for wait in used.iter().filter(|it| it.how == Use::Waits).take(MOST_WAITS) {
            let Some(mbarrier) = wait.mbarrier.filter(Mbarrier::is_one) else { continue };
            if self.event_at(wait.instruction).is_some() && self.parity_at_first(wait) == Some(false) {
                gates.entry(mbarrier).or_default().push(*wait);
            }
        }
        for (init, expected) in &initialised {
            let (Some(mbarrier), Some(expected @ 2..)) = (init.mbarrier, *expected) else { continue };
            let Some(waits) = gates.get(&mbarrier) else { continue };
            let is_this = |it: &Used| it.mbarrier.is_none_or(|it| self.may_be_same(&it, &mbarrier));
            let is_made_once = || initialised.iter().filter(|(it, _)| is_this(it)).count() == 1;
            if !is_made_once() {
                continue;
            }
            if of_callees.iter().any(|it| self.may_be_same(it, &mbarrier)) {
                continue;
            }
            let arrivals = used.iter().filter(|it| it.how.arrives() && is_this(it));
            if arrivals.clone().count() > MOST {
                continue;
            }
            let come = arrivals.map(|it| self.most_arrivals(it, waits)).sum::<Option<u64>>();
            // Where nothing arrives, that is another matter.
            if let Some(come) = come.filter(|come| (1..expected).contains(come)) {
                found.push(Shortage { wait: waits[0], initialised: *init, expected, come });
            }
        }
        found
    }

    /// How many arrivals an instruction makes at most before some thread gets past one of the `gates`; nothing if
    /// that is not known.
    fn most_arrivals(&self, arrival: &Used, gates: &[Used]) -> Option<u64> {
        arrival.mbarrier?;
        let opcode = self.unit.operations.of(arrival.instruction);
        let mut each = 1;
        match opcode.synchronization() {
            Synchronization::AsyncCopyArrive if !opcode.has_flag(Flag::Noinc) => return Some(0),
            Synchronization::MbarrierArrive => {
                if opcode.operation() == Some(Operation::MbarrierArriveDrop) {
                    return None;
                }
                if !opcode.has_flag(Flag::ExpectTx)
                    && let Some(count) = self.count_operand(arrival)
                {
                    each = self.written(arrival.instruction, count)?;
                }
            }
            _ => {}
        }
        if self.comes_again(arrival.instruction, gates) {
            return None;
        }
        let bounds = self.unit.launch_bounds(&self.unit.module.functions[self.facts.function as usize]);
        // Where rows of threads may be short, several have the same number.
        let most = bounds.threads().or_else(|| bounds.most_in_a_row())?.value;
        let warps = most.div_ceil(THREADS_OF_WARP.into()).min(WARPS_OF_CTA.into()) as usize;
        let threads = self.executing(None).of(arrival.instruction)?.most_threads(warps);
        // What others of the cluster do, comes on top.
        let may_be_remote = arrival.is_in_cluster || opcode.names_other_ctas();
        let ctas = if may_be_remote { bounds.cluster()?.ctas } else { 1 };
        u64::from(threads).checked_mul(each)?.checked_mul(ctas)
    }

    /// Whether a thread can get from an instruction back to it without executing one of the `gates`; it can if the
    /// budget does not suffice to find out.
    fn comes_again(&self, instruction: u32, gates: &[Used]) -> bool {
        let cfg = self.cfg();
        let Some(own) = cfg.block_of(instruction) else { return true };
        if !cfg.is_in_loop(own) {
            return false;
        }
        // Where gates stand under conditions, no thread is held up for certain.
        let is_closed =
            |at: &u32| self.unit.module.guard(&self.unit.module.instructions[*at as usize]).is_none();
        let mut closed: SmallVec<[u32; 4]> =
            gates.iter().map(|gate| gate.instruction).filter(is_closed).collect();
        closed.sort_unstable();
        let passed = PassedWithout::new(cfg, Direction::Forward, instruction, &closed, &self.facts.budget);
        passed.is_none_or(|passed| passed.has(cfg, instruction))
    }

    /// The operand that says how many arrivals an instruction makes.
    fn count_operand(&self, arrival: &Used) -> Option<u32> {
        let operands = self.unit.module.instructions[arrival.instruction as usize].operands;
        let count = operands.range().skip_while(|at| *at != arrival.operand() as usize).nth(1)?;
        u32::try_from(count).ok()
    }

    /// The instructions that make mbarriers, with how many arrivals these expect, as far as that is known; nothing
    /// where it is not known which mbarriers are made.
    pub(super) fn expected_arrivals(&self) -> Option<Vec<(Used, Option<u64>)>> {
        /// Each is compared with all that arrives: no kernel has more.
        const MOST: usize = 64;
        if !self.mbarriers_of_callees(|how| how == Use::Initialises)?.is_empty() {
            return None;
        }
        let made = self.mbarriers().iter().filter(|it| it.how == Use::Initialises);
        if made.clone().count() > MOST {
            return None;
        }
        made.map(|init| {
            init.mbarrier?;
            let operands = self.unit.module.instructions[init.instruction as usize].operands;
            let count = operands.range().nth(1);
            Some((*init, count.and_then(|count| self.written(init.instruction, count as u32))))
        })
        .collect()
    }

    /// A number that is written in an instruction, or moved to the register that it reads.
    fn written(&self, instruction: u32, operand: u32) -> Option<u64> {
        /// Longer chains are not followed.
        const DEEP: usize = 8;
        let view = self.facts.view(self.unit);
        let (mut at, mut operand) = (instruction, operand);
        for _ in 0..DEEP {
            let found = self.unit.module.operands.get(operand as usize)?;
            if let Some(number) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                return u64::try_from(number).ok();
            }
            let Resolution::Register(register) = self.unit.symbols.operand(operand) else { return None };
            let definition = *view.definitions.get(view.only(at, register)?);
            let made = definition.instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            let is_moved = self.unit.operations.of(made).computes() == Computation::Move;
            if definition.guarded || !is_moved || operands.len != 2 || made == at {
                return None;
            }
            (at, operand) = (made, operands.start + 1);
        }
        None
    }

    /// How often each thread arrives that executes an instruction, at least; nothing where it changes how many are
    /// expected, or completes no phase.
    fn arrivals_of_each(&self, arrival: &Used) -> Option<u64> {
        let opcode = self.unit.operations.of(arrival.instruction);
        if opcode.has_flag(Flag::NoComplete) || opcode.operation() == Some(Operation::MbarrierArriveDrop) {
            return None;
        }
        match opcode.synchronization() {
            // What arrives otherwise was expected for itself just before.
            Synchronization::AsyncCopyArrive => opcode.has_flag(Flag::Noinc).then_some(1),
            Synchronization::MbarrierArrive if !opcode.has_flag(Flag::ExpectTx) => {
                let count = self.count_operand(arrival);
                let count = count.and_then(|count| self.written(arrival.instruction, count));
                Some(count.unwrap_or(1).max(1))
            }
            _ => Some(1),
        }
    }

    /// How many threads certainly arrive together wherever one does, and of how many warps they are; only as far as
    /// needed where more than `enough` are.
    fn arrive_together(&self, arrival: &Used, enough: u64) -> Option<(u32, u32)> {
        let executes = self.executing(None).of(arrival.instruction)?;
        let of_warp = executes.threads_of_warp().unwrap_or(0);
        if u64::from(of_warp) > enough && of_warp > 1 && self.is_one_in_warp(arrival) {
            return Some((of_warp, 1));
        }
        // Most often one warp does, and that is soon said.
        let (_, warps) = executes.warp_sets();
        if warps.count_ones() > 1 { self.warps_together(arrival, enough) } else { None }
    }

    /// Whether all threads of a warp name the same mbarrier.
    fn is_one_in_warp(&self, arrival: &Used) -> bool {
        is_here(arrival)
            || self.address_register(arrival).is_some_and(|register| {
                let view = self.facts.view(self.unit);
                self.uniformity().agrees(&view, arrival.instruction, register)
            })
    }

    /// The same of all warps that get to an instruction, where these are several which nothing tells apart.
    fn warps_together(&self, arrival: &Used, enough: u64) -> Option<(u32, u32)> {
        let function = &self.unit.module.functions[self.facts.function as usize];
        let bounds = self.unit.launch_bounds(function);
        let exact = bounds.threads();
        let all = exact.or_else(|| bounds.most_in_a_row())?.value.div_ceil(THREADS_OF_WARP.into());
        let executes = self.executing(None).of_those_there(arrival.instruction, Extent::Cta)?;
        let there = |warp: &usize| (*warp as u64) < all;
        let warps = executes.certain_warps().filter(there).count() as u64;
        let threads: u32 = executes
            .certain_warps()
            .filter(there)
            .map(|warp| executes.certain_lanes(warp).count_ones())
            .sum();
        // Where no roles are parted, there may be fewer warps.
        let is_enough = warps > 1 && u64::from(threads) > enough && (exact.is_some() || warps < all);
        if !is_enough || !self.is_one_for_all(arrival, &executes) || self.waits_apart(&executes) {
            return None;
        }
        Some((threads, warps as u32))
    }

    /// Whether all threads that execute an arrival or a wait name the same mbarrier.
    fn is_one_for_all(&self, used: &Used, executes: &Executes) -> bool {
        is_here(used)
            || self
                .address_register(used)
                .is_some_and(|register| self.is_same_for(used.instruction, register, executes))
    }

    /// Whether some of these threads may wait for something else than the others: then they may take turns.
    fn waits_apart(&self, executes: &Executes) -> bool {
        let executing = self.executing(None);
        self.mbarriers().iter().filter(|it| it.how == Use::Waits).any(|wait| {
            let Some(waiting) = executing.of(wait.instruction) else { return true };
            if waiting.is_of_other_warps(executes) {
                return false;
            }
            let parity = wait.parity().and_then(|operand| self.register_at(operand));
            !self.is_one_for_all(wait, executes)
                || parity.is_some_and(|parity| !self.is_same_for(wait.instruction, parity, executes))
        })
    }

    /// Whether all of some threads that go together read the same from a register: what it is made of is, and each
    /// instruction that has part in it is executed by all of them or by none.
    fn is_same_for(&self, instruction: u32, register: RegisterId, executes: &Executes) -> bool {
        /// More definitions are not looked at.
        const MOST: usize = 64;
        let view = self.facts.view(self.unit);
        let unit = self.unit;
        let executing = self.executing(None);
        let Some(value) = view.value(instruction, register) else { return false };
        let mut values = Walk::new(view.budget, [value]).at_most(MOST);
        while let Some(id) = values.pop_definition(view.definitions) {
            let made = view.definitions.get(id).instruction;
            // Whether a guard holds, what it is made of says.
            let makes = executing.of_those_at(made, Extent::Cta);
            if !makes.is_some_and(|makes| makes.is_by_all_or_none(executes)) {
                return false;
            }
            let opcode = unit.operations.of(made);
            if opcode.computes() == Computation::Load {
                let is_same = |space: Space| matches!(space, Space::Param | Space::ParamEntry | Space::Const);
                if !opcode.spaces().next().is_some_and(is_same) {
                    return false;
                }
            } else if opcode.lanes() != Lanes::AsSources || opcode.computes() == Computation::Other {
                return false;
            }
            let mut reads: SmallVec<[RegisterId; 4]> = SmallVec::new();
            if let Resolution::Register(guard) = unit.symbols.guard(made) {
                reads.push(guard);
            }
            for index in unit.module.instructions[made as usize].operands.range().skip(1) {
                let operand = &unit.module.operands[index];
                if literal::evaluate(&unit.source, &unit.module, operand).is_some() {
                    continue;
                }
                let name = match operand.kind() {
                    OperandKind::Name => index as u32,
                    OperandKind::Address(_) => match unit.module.base_of(index as u32) {
                        Some(base) => base,
                        None => return false,
                    },
                    _ => return false,
                };
                match unit.symbols.operand(name) {
                    Resolution::Register(register) => reads.push(register),
                    Resolution::Special(special) => {
                        let facts = special.facts();
                        if facts.same_in < Extent::Cta || facts.lasting != Lasting::Always {
                            return false;
                        }
                    }
                    Resolution::Symbol(_) => {}
                    Resolution::Undeclared => return false,
                }
            }
            for register in reads {
                let Some(value) = view.value(made, register) else { return false };
                values.extend([value]);
            }
        }
        values.is_complete()
    }

    fn address_register(&self, used: &Used) -> Option<RegisterId> {
        self.register_at(self.unit.module.base_of(used.operand())?)
    }
}

/// Whether it is known which mbarrier of which CTA is meant. Threads may name that of another CTA each.
fn is_here(used: &Used) -> bool {
    !used.is_in_cluster && used.mbarrier.is_some_and(|it| it.is_one())
}
