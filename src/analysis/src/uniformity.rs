//! Who executes: conditions that hold for one thread of a warp, and conditions that might.
//!
//! Two questions with opposite cautions. *Does only one thread of a warp get here?* is answered
//! yes only for the idioms of election that are proved: `elect.sync`, a comparison of `%laneid` or
//! `%tid.x` with a constant, and what is computed from them. *Can a condition on the way have
//! selected one thread?* is answered no only where every condition is the same for a whole warp.
//! *Does this value differ between the threads of a warp?* is cautious in the same way as the first.
//! A last one, *can one run execute both of these?*, compares the conditions themselves.

use std::cell::{OnceCell, RefCell};

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::budget::Budget;
use super::cfg::BlockId;
use super::control::{Branches, Decides, Deciding};
use super::definitions::DefinitionId;
use super::function::Function;
use super::registers::{self, Access};
use super::values::{JoinId, ValueId};
use super::walks::Worklist;
use crate::isa::generic::{BooleanOperator, Comparison, Computation, Control, Type};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{BinaryOperator, Guard, Operand, OperandKind, RawInstruction, UnaryOperator};
use crate::syntax::literal;

mod agreement;
mod conditions;
mod lanes;
mod lattice;
mod selection;
mod spread;

use conditions::Conditions;
use lanes::{LaneRegister, constant, lane_register_of};
use lattice::{Partition, Threads};
use selection::Selection;
use spread::Spreads;

/// The instruction that elects: `elect.sync`, or the comparison with a constant.
type Cause = u32;

/// Who executes the blocks of one function.
#[derive(Debug)]
pub struct Uniformity {
    /// By block: what elected the one thread that gets there.
    one_thread: Vec<Option<Cause>>,
    /// Which branches decide whether which blocks run.
    control: Branches,
    /// The same by block, when that is first asked for.
    deciding: OnceCell<Deciding>,
    /// The same edge by edge, loops included.
    edges: OnceCell<Option<Vec<Vec<Decides>>>>,
    /// What questions about threads that are together may cost.
    agreement: OnceCell<Budget>,
    /// Whether the threads of a warp differ in `%tid.x`.
    rows_are_warps: bool,
    partitions: FxHashMap<ValueId, Partition>,
    /// What may differ between the threads of a warp, as far as it was asked for.
    selection: OnceCell<RefCell<Selection>>,
    /// What certainly differs between them.
    spreads: RefCell<Spreads>,
    /// What was found out about conditions, as far as it was asked for.
    known_conditions: RefCell<Conditions>,
}

/// What it takes to look at one more definition or condition, in steps of a budget.
const VISIT: u64 = 8;

impl Uniformity {
    /// Analyses a function; `interesting` are the blocks that will be asked about, and `guards` the
    /// guarded instructions.
    pub fn new(function: &Function<'_>, interesting: &[BlockId], guards: &[u32], budget: &Budget) -> Self {
        let cfg = function.cfg;
        let control = Branches::new(cfg, budget);
        let partitions = FxHashMap::default();
        let selection = OnceCell::new();
        let spreads = RefCell::default();
        let known_conditions = RefCell::default();
        let one_thread = vec![None; cfg.len()];
        let rows_are_warps =
            function.block_size().is_none_or(|[x, y, z]| x % 32 == 0 || y.saturating_mul(z) == 1);
        let mut this = Self {
            one_thread,
            control,
            deciding: OnceCell::new(),
            edges: OnceCell::new(),
            agreement: OnceCell::new(),
            rows_are_warps,
            partitions,
            selection,
            spreads,
            known_conditions,
        };
        let branches: Vec<u32> = {
            let mut blocks = this.conditions(interesting, budget);
            blocks.sort_unstable();
            blocks.into_iter().filter_map(|block| cfg.block(block).branch).collect()
        };
        let roots = branches.iter().chain(guards).filter_map(|instruction| {
            match function.unit.symbols.guard(*instruction) {
                Resolution::Register(register) => Some((*instruction, register)),
                _ => None,
            }
        });
        this.find_partitions(function, roots.collect());
        this.find_one_thread(function, &branches);
        this
    }

    /// Whether no two threads of a warp have the same value.
    fn identifies_lane(&self, function: &Function<'_>, instruction: u32, operand: u32) -> bool {
        match lane_register_of(function, instruction, operand) {
            Some(LaneRegister::Lane) => true,
            // Where rows of threads are short, a warp has several of them.
            Some(LaneRegister::Thread) => self.rows_are_warps,
            None => false,
        }
    }

    /// The blocks whose branches decide whether one of `blocks` runs, directly or through others; as
    /// many as the budget is enough for.
    fn conditions(&self, blocks: &[BlockId], budget: &Budget) -> Vec<BlockId> {
        let mut edges = self.control.edges();
        let mut seen = FxHashSet::default();
        let mut found = Vec::new();
        let mut work = blocks.to_vec();
        while let Some(block) = work.pop() {
            let mut decides = |branch: BlockId| {
                if seen.insert(branch) {
                    found.push(branch);
                    work.push(branch);
                }
            };
            if !edges.take(&self.control, block, budget, &mut decides) {
                break;
            }
        }
        found
    }

    /// What elected the one thread that executes `instruction`, if it is only one of a warp: by the
    /// instruction's guard, or on the way to its block.
    pub fn elected_by(&self, function: &Function<'_>, instruction: u32) -> Option<Cause> {
        let raw = &function.unit.module.instructions[instruction as usize];
        let by_guard = function.unit.module.guard(raw).and_then(|guard| {
            match self.guard(function, instruction, guard).if_true {
                Threads::One(cause) => Some(cause),
                _ => None,
            }
        });
        by_guard.or_else(|| self.one_thread[function.cfg.block_of(instruction)?.index()])
    }

    /// How the guard of an instruction divides a warp, its negation included.
    fn guard(&self, function: &Function<'_>, instruction: u32, guard: Guard) -> Partition {
        match function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.at(function, instruction, register).not_if(guard.negated),
            _ => Partition::TOP,
        }
    }

    fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Partition {
        function.value(instruction, register).map_or(Partition::TOP, |value| self.partition(function, value))
    }

    /// How a value divides a warp, as far as that was found out.
    fn partition(&self, function: &Function<'_>, value: ValueId) -> Partition {
        match (self.partitions.get(&value), value) {
            (Some(partition), _) => *partition,
            (None, ValueId::Definition(_)) => Partition::TOP,
            (None, ValueId::Join(join)) => self.joined(function, join),
        }
    }

    /// How one of several values does.
    fn joined(&self, function: &Function<'_>, join: JoinId) -> Partition {
        let of = |value: &ValueId| self.partitions.get(value).copied().unwrap_or(Partition::TOP);
        let inputs = function.definitions.joined(join);
        function.budget.take(inputs.len() as u64);
        inputs.iter().fold(Partition::BOTTOM, |partition, value| partition.join(of(value)))
    }

    /// Starts from the bottom, where no thread has any value, and rises until nothing changes.
    fn find_partitions(&mut self, function: &Function<'_>, roots: Vec<(u32, RegisterId)>) {
        let value = |(instruction, register)| function.value(instruction, register);
        let mut work: SmallVec<[ValueId; 16]> = roots.into_iter().filter_map(value).collect();
        let mut ids: Vec<ValueId> = Vec::with_capacity(2 * work.len());
        // A condition is made of one value or two.
        self.partitions.reserve(2 * work.len());
        // What is made of what.
        let mut dependents: Vec<(ValueId, ValueId)> = Vec::with_capacity(2 * work.len());
        while let Some(id) = work.pop() {
            if self.partitions.insert(id, Partition::BOTTOM).is_none() {
                ids.push(id);
                for source in partition_sources(function, id) {
                    dependents.push((source, id));
                    work.push(source);
                }
            }
        }
        dependents.sort_unstable();
        ids.sort_unstable();
        // Taken from the end: in the order of the instructions at first.
        let mut waiting: SmallVec<[usize; 32]> = (0..ids.len()).rev().collect();
        let mut is_queued: SmallVec<[bool; 32]> = SmallVec::from_elem(true, ids.len());
        while let Some(at) = waiting.pop() {
            is_queued[at] = false;
            let id = ids[at];
            if !function.budget.take(VISIT) {
                // What has not settled says nothing for certain.
                self.partitions.values_mut().for_each(|partition| *partition = Partition::TOP);
                return;
            }
            let old = self.partitions[&id];
            let new = old.join(match id {
                ValueId::Definition(id) => self.evaluate(function, id),
                ValueId::Join(join) => self.joined(function, join),
            });
            if new != old {
                self.partitions.insert(id, new);
                let start = dependents.partition_point(|(source, _)| *source < id);
                let affected = dependents[start..].iter().take_while(|(source, _)| *source == id);
                let places = affected.filter_map(|(_, dependent)| ids.binary_search(dependent).ok());
                waiting.extend(places.filter(|at| !std::mem::replace(&mut is_queued[*at], true)));
            }
        }
    }

    fn evaluate(&self, function: &Function<'_>, id: DefinitionId) -> Partition {
        let definition = function.definitions.get(id);
        let instruction = definition.instruction;
        let raw = &function.unit.module.instructions[instruction as usize];
        if let Some(guard) = function.unit.module.guard(raw)
            && let threads @ (Threads::One(_) | Threads::Bottom) =
                self.guard(function, instruction, guard).if_true
        {
            // Only that thread has what is written here.
            return Partition { if_true: threads, if_false: threads };
        }
        let opcode = function.unit.operations.of(instruction);
        let is_predicate = opcode.types.last() == Some(&Type::Pred);
        let operand = |position: u32| {
            if position < raw.operands.len {
                self.operand(function, instruction, raw.operands.start + position)
            } else {
                Partition::TOP
            }
        };
        match opcode.computes() {
            Computation::Elect => {
                let pair = function.unit.module.operands(raw.operands).first().map(Operand::kind);
                match pair {
                    Some(OperandKind::Binary(BinaryOperator::Or, parts))
                        if definition.operand == parts.start + 1 =>
                    {
                        Partition { if_true: Threads::One(instruction), if_false: Threads::Top }
                    }
                    _ => Partition::TOP,
                }
            }
            Computation::Move | Computation::Convert => operand(1),
            Computation::Not if is_predicate => operand(1).not(),
            Computation::And => {
                Partition { if_true: operand(1).if_true.meet(operand(2).if_true), if_false: Threads::Top }
            }
            Computation::Or => {
                Partition { if_true: Threads::Top, if_false: operand(1).if_false.meet(operand(2).if_false) }
            }
            Computation::Xor if is_predicate => match constant(function, raw.operands, 2) {
                Some(value) => operand(1).not_if(value != 0),
                None => Partition::TOP,
            },
            Computation::Select => {
                let (a, b, p) = (operand(1), operand(2), operand(3));
                Partition {
                    if_true: a.if_true.meet(p.if_true).join(b.if_true.meet(p.if_false)),
                    if_false: a.if_false.meet(p.if_true).join(b.if_false.meet(p.if_false)),
                }
            }
            Computation::Compare => self.compare(function, instruction, raw, opcode, definition.operand),
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Not
            | Computation::Xor
            | Computation::Bits(_)
            | Computation::Arithmetic(_)
            | Computation::Shuffle
            | Computation::Load => Partition::TOP,
        }
    }

    fn compare(
        &self,
        function: &Function<'_>,
        instruction: u32,
        raw: &RawInstruction,
        opcode: &Opcode,
        written: u32,
    ) -> Partition {
        let Some(comparison) = opcode.comparison() else { return Partition::TOP };
        let (left, right, comparison) =
            match (constant(function, raw.operands, 1), constant(function, raw.operands, 2)) {
                (_, Some(right)) => (1, right, comparison),
                (Some(left), None) => (2, left, comparison.mirrored()),
                (None, None) => {
                    return self.combined(function, instruction, raw, opcode, written, Partition::TOP);
                }
            };
        let value = self.operand(function, instruction, raw.operands.start + left);
        let is_lane = self.identifies_lane(function, instruction, raw.operands.start + left);
        // Exactly one value passes, or is left out.
        let passes = Partition { if_true: Threads::One(instruction), if_false: Threads::Top };
        let is_left_out = passes.not();
        let partition = match (comparison, right) {
            (Comparison::Eq, _) if is_lane => passes,
            (Comparison::Lt | Comparison::Lo, 1) | (Comparison::Le | Comparison::Ls, 0) if is_lane => passes,
            (Comparison::Ne, _) if is_lane => is_left_out,
            (Comparison::Ge | Comparison::Hs, 1) | (Comparison::Gt | Comparison::Hi, 0) if is_lane => {
                is_left_out
            }
            (Comparison::Eq, 0) | (Comparison::Lo, 1) => value.not(),
            (Comparison::Ne | Comparison::Hi, 0) | (Comparison::Hs, 1) => value,
            (Comparison::Eq, _) | (Comparison::Gt, 0..) | (Comparison::Ge, 1..) => {
                Partition { if_true: value.if_true, if_false: Threads::Top }
            }
            (Comparison::Ne, _) => Partition { if_true: Threads::Top, if_false: value.if_true },
            _ => Partition::TOP,
        };
        self.combined(function, instruction, raw, opcode, written, partition)
    }

    /// `setp.eq.and p|q, a, b, c`: the comparison with a predicate, and its negation with it.
    fn combined(
        &self,
        function: &Function<'_>,
        instruction: u32,
        raw: &RawInstruction,
        opcode: &Opcode,
        written: u32,
        partition: Partition,
    ) -> Partition {
        let first = function.unit.module.operands(raw.operands).first().map(Operand::kind);
        let negated = matches!(
            first,
            Some(OperandKind::Binary(BinaryOperator::Or, parts)) if written == parts.start + 1
        );
        let partition = partition.not_if(negated);
        let with = || self.operand(function, instruction, raw.operands.start + 3);
        let combination = opcode.boolean_operator();
        match combination {
            Some(BooleanOperator::And) => {
                Partition { if_true: partition.if_true.meet(with().if_true), if_false: Threads::Top }
            }
            Some(BooleanOperator::Or) => {
                Partition { if_true: Threads::Top, if_false: partition.if_false.meet(with().if_false) }
            }
            Some(BooleanOperator::Xor) => Partition::TOP,
            None => partition,
        }
    }

    fn operand(&self, function: &Function<'_>, instruction: u32, index: u32) -> Partition {
        let operand = &function.unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&function.unit.source, &function.unit.module, operand) {
            return Partition::constant(value);
        }
        match operand.kind() {
            OperandKind::Name => match function.unit.symbols.operand(index) {
                Resolution::Register(register) => self.at(function, instruction, register),
                _ => Partition::TOP,
            },
            OperandKind::Unary(UnaryOperator::Not, part) if part.len == 1 => {
                self.operand(function, instruction, part.start).not()
            }
            _ => Partition::TOP,
        }
    }

    /// A block is executed by one thread where every edge into it is.
    fn find_one_thread(&mut self, function: &Function<'_>, branches: &[u32]) {
        let cfg = function.cfg;
        let mut edges: FxHashMap<(BlockId, BlockId), Cause> = FxHashMap::default();
        for &branch in branches {
            let Some(block) = cfg.block_of(branch) else { continue };
            let Some(guard) = function.unit.module.guard(&function.unit.module.instructions[branch as usize])
            else {
                continue;
            };
            let partition = self.guard(function, branch, guard);
            let next = block.next();
            let leaves = match function.unit.operations.of(branch).control() {
                Control::Branch | Control::IndexedBranch => false,
                Control::Next | Control::Call | Control::Return | Control::Exit | Control::Trap => true,
            };
            for &successor in &cfg.block(block).successors {
                let threads = if successor != next {
                    partition.if_true
                } else if leaves || cfg.block(block).successors.len() > 1 {
                    partition.if_false
                } else {
                    Threads::Top
                };
                if let Threads::One(cause) = threads {
                    edges.insert((block, successor), cause);
                }
            }
        }
        if edges.is_empty() {
            return;
        }
        let mut states = vec![Threads::Bottom; cfg.len()];
        states[0] = Threads::Top;
        // States only rise, so that this ends: each block changes twice at most.
        let mut waiting = Worklist::full(cfg.len());
        while let Some(at) = waiting.pop() {
            let block = cfg.reverse_post_order()[at];
            if block == BlockId(0) {
                continue;
            }
            let predecessors = &cfg.block(block).predecessors;
            if !function.budget.take(1 + predecessors.len() as u64) {
                return;
            }
            let state = predecessors.iter().fold(Threads::Bottom, |state, from| {
                state.join(match edges.get(&(*from, block)) {
                    Some(cause) => Threads::One(*cause),
                    None => states[from.index()],
                })
            });
            if state != states[block.index()] {
                states[block.index()] = state;
                for successor in &cfg.block(block).successors {
                    waiting.add(cfg.position(*successor) as usize);
                }
            }
        }
        for (state, found) in states.iter().zip(&mut self.one_thread) {
            if let Threads::One(cause) = state {
                *found = Some(*cause);
            }
        }
    }
}

/// Calls `found` with each value that says where control goes behind a block which has several ways out, and
/// with the block where that is asked: the guard of its last instruction, the number of a label in a list;
/// false where one of them is not known.
fn tested(
    function: &Function<'_>,
    block: BlockId,
    budget: &Budget,
    found: &mut dyn FnMut(BlockId, ValueId),
) -> bool {
    let Function { unit, cfg, .. } = *function;
    let content = cfg.block(block);
    let Some(at) = content.instructions.clone().next_back() else {
        // Blocks that jump by the same list of labels meet in one without instructions.
        return budget.take(content.predecessors.len() as u64)
            && content.predecessors.iter().all(|from| {
                cfg.block(*from).instructions.start < cfg.block(*from).instructions.end
                    && tested(function, *from, budget, found)
            });
    };
    let raw = &unit.module.instructions[at as usize];
    let value = |resolution: Resolution| match resolution {
        Resolution::Register(register) => function.value(at, register),
        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
    };
    let guard = unit.module.guard(raw).map(|_| value(unit.symbols.guard(at)));
    let index = match unit.operations.of(at).control() {
        Control::IndexedBranch if constant(function, raw.operands, 0).is_none() => {
            Some(raw.operands.range().next().and_then(|index| value(unit.symbols.operand(index as u32))))
        }
        _ => None,
    };
    let asked = [guard, index];
    asked.iter().flatten().for_each(|value| value.iter().for_each(|value| found(block, *value)));
    asked.iter().any(Option::is_some) && asked.iter().flatten().all(Option::is_some)
}

/// Whether a result divides a warp as its operands do.
fn divides_like_operands(computes: Computation) -> bool {
    match computes {
        Computation::Move
        | Computation::Convert
        | Computation::Not
        | Computation::And
        | Computation::Or
        | Computation::Xor
        | Computation::Select
        | Computation::Compare => true,
        Computation::Other
        | Computation::ConvertAddress
        | Computation::Bits(_)
        | Computation::Arithmetic(_)
        | Computation::Shuffle
        | Computation::Load
        | Computation::Elect => false,
    }
}

/// The values whose partitions that of a value is made of.
fn partition_sources(function: &Function<'_>, id: ValueId) -> SmallVec<[ValueId; 4]> {
    let id = match id {
        ValueId::Definition(id) => id,
        ValueId::Join(join) => return function.definitions.joined(join).iter().copied().collect(),
    };
    let instruction = function.definitions.get(id).instruction;
    let raw = &function.unit.module.instructions[instruction as usize];
    let mut sources = SmallVec::new();
    if function.unit.module.guard(raw).is_some()
        && let Resolution::Register(register) = function.unit.symbols.guard(instruction)
    {
        sources.extend(function.value(instruction, register));
    }
    if divides_like_operands(function.unit.operations.of(instruction).computes()) {
        registers::accesses(function.unit, instruction, &mut |register, _, access| {
            if access == Access::Read {
                sources.extend(function.value(instruction, register));
            }
        });
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::Cfg;
    use crate::definitions::{Definitions, RegisterSet};
    use crate::ir::Lowered;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// For the instruction `trap`: whether one thread gets there, and whether one may be selected.
    fn trap(body: &str) -> (bool, bool) {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {{ .reg .pred p<9>; .reg .b32 r<9>; \
             .reg .b64 d<9>; {body} }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, body) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, body.body);
        let budget = Budget::default();
        let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
        let function = Function {
            unit: &unit,
            cfg: &cfg,
            definitions: &definitions,
            budget: &budget,
            lowered: &Lowered::new(&cfg.instructions()),
            given: None,
        };
        let at = module.instructions.iter().position(|it| source.slice(it.opcode) == "trap").unwrap() as u32;
        let block = cfg.block_of(at).unwrap();
        let uniformity = Uniformity::new(&function, &[block], &[at], &budget);
        (uniformity.elected_by(&function, at).is_some(), uniformity.may_be_selected(&function, at, &budget))
    }

    const ONE: (bool, bool) = (true, true);
    const ALL: (bool, bool) = (false, false);
    const PERHAPS: (bool, bool) = (false, true);

    #[test]
    fn elections() {
        assert_eq!(trap("elect.sync r0|p0, -1; @p0 trap; ret;"), ONE);
        assert_eq!(trap("elect.sync _|p0, -1; not.pred p1, p0; @p1 bra L; trap; L: ret;"), ONE);
        assert_eq!(trap("elect.sync r0|p0, -1; @!p0 bra L; trap; L: ret;"), ONE);
        assert_eq!(trap("elect.sync r0|p0, -1; @p0 bra L; trap; L: ret;"), PERHAPS);
        assert_eq!(
            trap(
                "mov.u32 r1, 0; mov.u32 r2, r1; { .reg .pred px; elect.sync r0|px, -1; @px mov.s32 r2, 1; } \
                 setp.eq.s32 p1, r2, 0; @p1 bra L; trap; L: ret;"
            ),
            ONE
        );
        assert_eq!(
            trap("elect.sync r0|p0, -1; selp.u32 r1, 1, 0, p0; setp.ne.s32 p1, r1, 0; @p1 trap;"),
            ONE
        );
        assert_eq!(
            trap(
                "mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 32; elect.sync r0|p0, -1; and.pred p2, p1, p0; @p2 trap;"
            ),
            ONE
        );
        assert_eq!(trap("elect.sync r0|p0, -1; @!p0 exit; trap;"), ONE);
        assert_eq!(trap("elect.sync r0|p0, -1; @p0 bra L; bar.sync 0; L: trap;"), ALL);
    }

    #[test]
    fn lanes() {
        assert_eq!(trap("mov.u32 r1, %tid.x; setp.eq.s32 p1, r1, 0; @p1 trap;"), ONE);
        assert_eq!(trap("mov.u32 r1, %tid.x; setp.ne.s32 p1, r1, 0; @p1 bra L; trap; L: ret;"), ONE);
        assert_eq!(trap("mov.u32 r1, %laneid; setp.eq.s32 p1, r1, 3; @p1 trap;"), ONE);
        assert_eq!(trap("mov.u32 r1, %tid.x; and.b32 r2, r1, 31; setp.eq.s32 p1, r2, 0; @p1 trap;"), ONE);
        assert_eq!(trap("mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 7; @p1 trap;"), PERHAPS);
        // All of `%tid` is a vector, of which only the first component counts lanes.
        let vector = ".reg .v4 .u32 v; mov.v4.u32 v, %tid;";
        assert_eq!(trap(&format!("{vector} setp.eq.s32 p1, v.z, 0; @p1 trap;")), PERHAPS);
    }

    #[test]
    fn warps() {
        assert_eq!(trap("trap;"), ALL);
        assert_eq!(trap("mov.u32 r1, %tid.x; shr.u32 r2, r1, 5; setp.eq.s32 p1, r2, 0; @p1 trap;"), ALL);
        assert_eq!(trap("mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 32; @p1 trap;"), ALL);
        assert_eq!(trap("mov.u32 r1, %tid.x; add.s32 r2, r1, -64; setp.gt.u32 p1, r2, 63; @!p1 trap;"), ALL);
        assert_eq!(
            trap("ld.param.u32 r1, [n]; L: add.s32 r1, r1, -1; setp.ne.s32 p1, r1, 0; trap; @p1 bra L;"),
            ALL
        );
        assert_eq!(trap("ld.global.u32 r1, [d0]; setp.ne.s32 p1, r1, 0; @p1 trap;"), PERHAPS);
        // What the whole warp finds out together, it knows together.
        let compare = "mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 7;";
        assert_eq!(trap(&format!("{compare} vote.sync.any.pred p2, p1, -1; @p2 trap;")), ALL);
        assert_eq!(trap(&format!("{compare} vote.sync.any.pred p2, p1, r2; @p2 trap;")), PERHAPS);
        assert_eq!(trap(&format!("{compare} vote.any.pred p2, p1; @p2 trap;")), PERHAPS);
        assert_eq!(trap(&format!("{compare} bar.red.or.pred p2, 0, p1; @p2 trap;")), ALL);
        let sum = "mov.u32 r1, %tid.x; redux.sync.add.s32 r2, r1, 0xFFFFFFFF; setp.ne.s32 p1, r2, 0;";
        assert_eq!(trap(&format!("{sum} @p1 trap;")), ALL);
        // Each thread has another part of a matrix.
        let matrix = "movmatrix.sync.aligned.m8n8.trans.b16 r2, 1; setp.ne.s32 p1, r2, 0;";
        assert_eq!(trap(&format!("{matrix} @p1 trap;")), PERHAPS);
        // What all of a warp load from one address is the same, unless it is polled.
        let load = "ld.param.u64 d1, [n]; ld.global.u32 r1, [d1]; setp.ne.s32 p1, r1, 0; @p1 trap;";
        assert_eq!(trap(load), ALL);
        assert_eq!(trap(&load.replace("ld.global", "ld.relaxed.gpu.global")), PERHAPS);
        assert_eq!(trap(&load.replace("ld.global", "ld.local")), PERHAPS);
        // So is the label that all of them find in a list.
        let list = "T: .branchtargets L, M; mov.u32 r1, %ctaid.x; brx.idx r1, T; M: trap; L: ret;";
        assert_eq!(trap(list), ALL);
        assert_eq!(trap(&list.replace("%ctaid.x", "%tid.x")), PERHAPS);
        let twice = "T: .branchtargets L, M; mov.u32 r1, %ctaid.x; elect.sync _|p1, -1; selp.u32 r2, 1, 0, p1; \
                     setp.eq.u32 p2, r1, 3; @p2 bra N; brx.idx r1, T; N: brx.idx r1, T; M: trap; L: ret;";
        assert_eq!(trap(twice), ALL);
        assert_eq!(trap(&twice.replace("N: brx.idx r1", "N: brx.idx r2")), PERHAPS);
        let (_, perhaps) = trap(
            "elect.sync r0|p0, -1; mov.u32 r1, 0; @!p0 bra M; mov.u32 r1, 1; M: setp.ne.s32 p1, r1, 0; @p1 trap;",
        );
        assert!(perhaps);
    }
}
