//! The analyses of one function, made once and shared by all rules.

use std::cell::{OnceCell, RefCell};

use rustc_hash::FxBuildHasher;
use strum::EnumCount;

use super::allocated::Slots;
use super::arguments::Arguments;
use super::budget::Budget;
use super::calls::{CallGraph, Component};
use super::cfg::Cfg;
use super::constants::{Constants, Known};
use super::decided;
use super::definitions::{Definitions, RegisterSet};
use super::events::{Action, Events};
use super::executing::FoundOut;
use super::footprint::KnownColumns;
use super::function::Function;
use super::given::{self, Given, Passing, Plan};
use super::handovers::Handover;
use super::loads;
use super::mbarriers::{Several, Use, Used};
use super::paths::Paths;
use super::places::KnownPlaces;
use super::ranges::Ranges;
use super::sums::Sums;
use super::uniformity::Uniformity;
use super::waits;
use super::warp_lanes::FoundLanes;
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Base, Instruction, Scalar};
use crate::ir::Lowered;
use crate::isa::generic::Control;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;
use crate::source::Span;

/// A function with tcgen05 instructions and what is known of it.
#[derive(Debug)]
pub struct FunctionFacts {
    /// Its index in [`Module::functions`](crate::syntax::ast::Module).
    pub function: u32,
    /// Its control flow.
    pub cfg: Cfg,
    /// Its definitions of registers.
    pub definitions: Definitions,
    /// The known bits of what its tcgen05 instructions read.
    pub constants: Constants,
    /// How much the questions about its order may still cost.
    pub budget: Budget,
    /// Its instructions, lowered as they are asked for.
    pub lowered: Lowered,
    /// Who executes what; found when it is first asked for.
    pub uniformity: OnceCell<Box<Uniformity>>,
    /// Which threads execute what, as far as it was asked for.
    pub executing: OnceCell<Box<FoundOut>>,
    /// What it does with mbarriers; found when it is first asked for.
    pub mbarriers: OnceCell<Vec<Used>>,
    /// By what is done with them: the mbarriers of it and of what it calls, as far as they were asked for.
    pub all_mbarriers: [OnceCell<Option<Several<()>>>; Use::COUNT],
    /// Which paths a run can take; found when it is first asked for.
    pub paths: OnceCell<Box<Paths>>,
    /// Whether a load is pending where that matters; found when it is first asked for.
    pub pending_loads: OnceCell<bool>,
    /// Where it keeps addresses of allocations; found when it is first asked for.
    pub slots: OnceCell<Box<Slots>>,
    /// Where it signals too early; found when it is first asked for.
    pub handovers: OnceCell<Vec<Handover>>,
    /// What registers hold where instructions read them as addresses, as far as it was asked for.
    pub places: RefCell<KnownPlaces>,
    /// Which numbers registers can hold, as far as it was asked for.
    pub ranges: Ranges,
    /// What addresses add up, as far as it was asked for.
    pub sums: Sums,
    /// Which columns its tcgen05 instructions touch, as far as it was asked for.
    pub columns: RefCell<KnownColumns>,
    /// Which lanes its warps name, as far as it was asked for.
    pub lanes: RefCell<FoundLanes>,
    /// What it gives to functions that it calls, as far as it was asked for.
    pub arguments: Arguments,
    /// What other functions give it, if something is known of that.
    pub given: Option<Box<Given>>,
    /// What it stores for others and loads from them, where functions call each other.
    pub passing: Option<Box<Passing>>,
    /// The same function for single calls of it that give it something else than others: for what it computes, and
    /// which way it takes.
    pub by_call: Vec<(u32, FunctionFacts)>,
    /// Whether it is here for its results alone: no instruction of tcgen05 is in it, or in what it calls.
    pub is_helper: bool,
}

/// How often dead edges are looked for. Compilers remove their own; two iterations are rare.
const ROUNDS: usize = 4;

impl FunctionFacts {
    /// [All](Self::all) functions of a component, and the events that happen in them: those that nothing executes, and
    /// waits of which nobody reads the result, are left out.
    pub fn with_events(
        unit: &Unit,
        (calls, component, elsewhere): (&CallGraph, &Component, Option<&[u32]>),
        instructions: &[Decoded<'_>],
        events: &mut Events,
        limit: Option<u64>,
    ) -> Vec<Self> {
        let functions = Self::all(unit, (calls, component, elsewhere), instructions, events, limit);
        let unread = waits::unread(unit, events, &functions);
        if !unread.is_empty() || functions.iter().any(|facts| !facts.is_executed_whole()) {
            *events = Events::new(unit, component, instructions, &|function, instruction| {
                let facts = functions.iter().find(|facts| facts.function == function);
                !unread.contains(&instruction) && facts.is_none_or(|facts| facts.is_executed(instruction))
            });
        }
        functions
    }

    /// Analyses every function of a component that has tcgen05 instructions or calls one that has, or gives
    /// one of these a result; in the order of the module. `limit` is the budget of each, if it is not the one
    /// for its size. Of a component without tcgen05 instructions, all functions matter but those that are looked at
    /// `elsewhere`.
    pub fn all(
        unit: &Unit,
        (calls, component, elsewhere): (&CallGraph, &Component, Option<&[u32]>),
        instructions: &[Decoded<'_>],
        events: &Events,
        limit: Option<u64>,
    ) -> Vec<Self> {
        let mut watched = RegisterSet::default();
        for decoded in instructions {
            if let Some(Instruction::Ld(ld)) = &decoded.instruction {
                loads::loaded_registers(ld).for_each(|register| watched.insert(register));
            }
        }
        let is_tensor = |function: u32| {
            let happens = events.summary(function).map_or(&[][..], |summary| &summary.events);
            happens.iter().any(|event| matches!(event.action, Action::Tensor { .. }))
        };
        let own = |function: u32| {
            let range = Cfg::instruction_range(&unit.module, unit.module.functions[function as usize].body);
            let start = instructions.partition_point(|decoded| decoded.index < range.start);
            let end = instructions.partition_point(|decoded| decoded.index < range.end);
            &instructions[start..end]
        };
        let matters = |function: u32| match elsewhere {
            Some(elsewhere) => {
                unit.module.functions[function as usize].body.len > 0 && !elsewhere.contains(&function)
            }
            None => !own(function).is_empty() || is_tensor(function),
        };
        if events.are_without_calls() {
            let functions = events.functions().filter(|it| matters(*it));
            let facts = |function| Self::new(unit, function, own(function), &mut watched, limit);
            return functions.map(facts).collect();
        }
        let mut make =
            |function, plan| Self::planned(unit, function, own(function), &mut watched, (limit, Some(plan)));
        given::Finder::find(unit, calls, component, events, &matters, &mut make)
    }

    /// Analyses one function with its tcgen05 instructions. `watched` are the registers whose reads
    /// matter; copies of them are added.
    pub fn new(
        unit: &Unit,
        function: u32,
        instructions: &[Decoded<'_>],
        watched: &mut RegisterSet,
        limit: Option<u64>,
    ) -> Self {
        Self::planned(unit, function, instructions, watched, (limit, None))
    }

    fn planned(
        unit: &Unit,
        function: u32,
        instructions: &[Decoded<'_>],
        watched: &mut RegisterSet,
        (limit, plan): (Option<u64>, Option<Plan>),
    ) -> Self {
        let body = unit.module.functions[function as usize].body;
        let instructions_of_body = Cfg::instruction_range(&unit.module, body);
        let size = instructions_of_body.len() as u64;
        let lowered = Lowered::new(&instructions_of_body);
        let budget = limit.map_or_else(|| Budget::for_function(size), Budget::new);
        budget.take(size);
        let mut uses: Vec<(u32, RegisterId)> = Vec::with_capacity(4 * instructions.len());
        for decoded in instructions {
            uses.extend(decoded.registers.iter().map(|register| (decoded.index, *register)));
        }
        let (given, passing, is_helper) = match plan {
            None => (None, None, false),
            Some(Plan { given, passing, uses: given_away, is_helper }) => {
                uses.extend(given_away);
                (given.map(Box::new), Some(Box::new(passing)), is_helper)
            }
        };
        let mut cfg = Cfg::new(unit, body);
        let mut definitions = Definitions::new(unit, &cfg, watched);
        // What is dead may have kept something else alive.
        let mut iterations = ROUNDS;
        let constants = loop {
            let given = given.as_deref();
            let view = Function {
                unit,
                cfg: &cfg,
                definitions: &definitions,
                budget: &budget,
                lowered: &lowered,
                given,
            };
            let guards = if iterations > 0 { decided::candidates(&view) } else { Vec::new() };
            let computed = guards.iter().filter(|guard| guard.holds.is_none());
            let predicates = computed.map(|guard| (guard.instruction, guard.register));
            let constants = Constants::new(&view, uses.iter().copied().chain(predicates));
            let Some(decided) = decided::decide(&view, &guards, &constants) else { break constants };
            iterations -= 1;
            budget.take(size);
            cfg = Cfg::with_decided(unit, body, decided);
            definitions = Definitions::new(unit, &cfg, watched);
        };
        Self {
            function,
            cfg,
            definitions,
            constants,
            budget,
            lowered,
            uniformity: OnceCell::new(),
            executing: OnceCell::new(),
            mbarriers: OnceCell::new(),
            all_mbarriers: Default::default(),
            paths: OnceCell::new(),
            pending_loads: OnceCell::new(),
            handovers: OnceCell::new(),
            slots: OnceCell::new(),
            places: RefCell::new(KnownPlaces::with_capacity_and_hasher(instructions.len(), FxBuildHasher)),
            ranges: Ranges::default(),
            sums: Sums::default(),
            lanes: RefCell::default(),
            columns: RefCell::new(KnownColumns::with_capacity_and_hasher(instructions.len(), FxBuildHasher)),
            arguments: Arguments::default(),
            given,
            passing,
            by_call: Vec::new(),
            is_helper,
        }
    }

    /// Whether an instruction can be executed: with what at least one of the calls gives, where these differ.
    pub fn is_executed(&self, instruction: u32) -> bool {
        self.cfg.is_executed(instruction)
            && (self.by_call.is_empty()
                || self.by_call.iter().any(|(_, facts)| facts.cfg.is_executed(instruction)))
    }

    /// Whether every instruction can be executed.
    pub fn is_executed_whole(&self) -> bool {
        self.cfg.is_executed_whole() && self.by_call.iter().all(|(_, facts)| facts.cfg.is_executed_whole())
    }

    /// Whether an instruction can be executed with what a call of the function gives it.
    pub fn is_executed_in(&self, call: u32, instruction: u32) -> bool {
        let of_call = self.by_call.iter().find(|(it, _)| *it == call).map(|(_, facts)| facts);
        of_call.unwrap_or(self).cfg.is_executed(instruction)
    }

    /// The function as evaluation wants to see it.
    pub fn view<'a>(&'a self, unit: &'a Unit) -> Function<'a> {
        let Self { cfg, definitions, budget, lowered, given, .. } = self;
        Function { unit, cfg, definitions, budget, lowered, given: given.as_deref() }
    }

    /// Whether control leaves its text only where an instruction says so.
    pub(super) fn ends_with_return(&self, unit: &Unit) -> bool {
        let last = self.cfg.instructions().next_back();
        last.is_some_and(|last| {
            unit.module.guard(&unit.module.instructions[last as usize]).is_none()
                && match unit.operations.of(last).control() {
                    Control::Return | Control::Exit | Control::Trap | Control::Branch => true,
                    Control::Next | Control::IndexedBranch | Control::Call => false,
                }
        })
    }

    /// The known bits of an operand of a tcgen05 instruction. What is never executed reads nothing.
    pub fn value(&self, unit: &Unit, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Known {
        match scalar {
            Scalar::Immediate(immediate) => Known::from(immediate.value() as u64),
            Scalar::Register(register) if register.component || !self.is_executed(decoded.index) => {
                Known::new(0, 0)
            }
            Scalar::Register(register) => {
                let base = self.constants.at(&self.view(unit), decoded.index, register.id);
                match register.plus {
                    None => base,
                    // Only operands of 32 bits take it.
                    Some(plus) => base.plus(plus as u64 & u64::from(u32::MAX), 32),
                }
            }
            Scalar::Variable(_) | Scalar::Float(_) | Scalar::Special(_) => Known::new(0, 0),
        }
    }

    /// The known bits of an address in Tensor Memory, its offset included.
    pub fn address(&self, unit: &Unit, decoded: &Decoded<'_>, address: &Address<'_>) -> Known {
        let Base::Register(register) = address.base else { return Known::new(0, 0) };
        if !self.is_executed(decoded.index) {
            return Known::new(0, 0);
        }
        let base = self.constants.at(&self.view(unit), decoded.index, register.id);
        base.plus(address.offset as u64 & u64::from(u32::MAX), 32)
    }

    /// Where the value of a descriptor of a matrix was made, but for its address.
    pub fn origins_beside_address(
        &self,
        unit: &Unit,
        decoded: &Decoded<'_>,
        scalar: &Scalar<'_>,
    ) -> Vec<Span> {
        match scalar {
            Scalar::Register(register) => self.view(unit).origins_beside_address(decoded.index, register.id),
            _ => Vec::new(),
        }
    }

    /// Where the value of an operand was made.
    pub fn origins(&self, unit: &Unit, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Vec<Span> {
        match scalar {
            Scalar::Register(register) => self.view(unit).origins(decoded.index, register.id),
            _ => Vec::new(),
        }
    }
}
