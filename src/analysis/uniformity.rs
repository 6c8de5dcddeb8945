//! Who executes: conditions that hold for one thread of a warp, and conditions that might.
//!
//! Two questions with opposite cautions. *Does only one thread of a warp get here?* is answered
//! yes only for the idioms of election that are proved: `elect.sync`, a comparison of `%laneid` or
//! `%tid.x` with a constant, and what is computed from them. *Can a condition on the way have
//! selected one thread?* is answered no only where every condition is the same for a whole warp.
//! A third one, *can one run execute both of these?*, compares the conditions themselves.

use std::cell::{OnceCell, RefCell};

use rustc_hash::{FxHashMap, FxHashSet};

use super::bit_set::BitSet;
use super::budget::Budget;
use super::cfg::BlockId;
use super::control::{Branches, Deciding};
use super::definitions::DefinitionId;
use super::function::Function;
use super::registers::{self, Access};
use super::values::{JoinId, ValueId};
use crate::isa::generic::{BooleanOperator, Comparison, Computation, Control, Modifier, Type};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::{BinaryOperator, Guard, Operand, OperandKind, RawInstruction, UnaryOperator};
use crate::syntax::literal;

mod conditions;
mod lanes;
mod selection;
mod truth;

use conditions::Conditions;
use lanes::{comparison, constant, identifies_lane};
use selection::Selection;
use truth::{Selects, Truth};

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
    truths: FxHashMap<ValueId, Truth>,
    /// What may differ between the threads of a warp, as far as it was asked for.
    selection: OnceCell<RefCell<Selection>>,
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
        let truths = FxHashMap::default();
        let selection = OnceCell::new();
        let known_conditions = RefCell::default();
        let one_thread = vec![None; cfg.len()];
        let mut this =
            Self { one_thread, control, deciding: OnceCell::new(), truths, selection, known_conditions };
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
        this.find_truths(function, roots.collect());
        this.find_one_thread(function, &branches);
        this
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
            match self.guard(function, instruction, guard).yes {
                Selects::One(cause) => Some(cause),
                _ => None,
            }
        });
        by_guard.or_else(|| self.one_thread[function.cfg.block_of(instruction)?.index()])
    }

    /// What the guard of an instruction selects, its negation included.
    fn guard(&self, function: &Function<'_>, instruction: u32, guard: Guard) -> Truth {
        match function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.at(function, instruction, register).not_if(guard.negated),
            _ => Truth::UNKNOWN,
        }
    }

    fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Truth {
        function.value(instruction, register).map_or(Truth::UNKNOWN, |value| self.truth(function, value))
    }

    /// What a value selects, as far as that was found out.
    fn truth(&self, function: &Function<'_>, value: ValueId) -> Truth {
        match (self.truths.get(&value), value) {
            (Some(truth), _) => *truth,
            (None, ValueId::Definition(_)) => Truth::UNKNOWN,
            (None, ValueId::Join(join)) => self.joined(function, join),
        }
    }

    /// What one of several values selects.
    fn joined(&self, function: &Function<'_>, join: JoinId) -> Truth {
        let of = |value: &ValueId| self.truths.get(value).copied().unwrap_or(Truth::UNKNOWN);
        let inputs = function.definitions.joined(join);
        function.budget.take(inputs.len() as u64);
        inputs.iter().fold(Truth::TOP, |truth, value| truth.join(of(value)))
    }

    /// Starts from the assumption that everything selects one thread, and takes back what is not
    /// so until nothing changes.
    fn find_truths(&mut self, function: &Function<'_>, roots: Vec<(u32, RegisterId)>) {
        let mut work: Vec<ValueId> = Vec::new();
        for (instruction, register) in roots {
            work.extend(function.value(instruction, register));
        }
        let mut waiting = Vec::new();
        let mut dependents: FxHashMap<ValueId, Vec<ValueId>> = FxHashMap::default();
        while let Some(id) = work.pop() {
            if self.truths.insert(id, Truth::TOP).is_none() {
                waiting.push(id);
                for source in truth_sources(function, id) {
                    dependents.entry(source).or_default().push(id);
                    work.push(source);
                }
            }
        }
        // Taken from the end: in the order of the instructions at first.
        waiting.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let mut queued: FxHashSet<ValueId> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            queued.remove(&id);
            if !function.budget.take(VISIT) {
                // What has not settled selects nobody for certain.
                self.truths.values_mut().for_each(|truth| *truth = Truth::UNKNOWN);
                return;
            }
            let old = self.truths[&id];
            let new = old.join(match id {
                ValueId::Definition(id) => self.evaluate(function, id),
                ValueId::Join(join) => self.joined(function, join),
            });
            if new != old {
                self.truths.insert(id, new);
                let affected = dependents.get(&id).into_iter().flatten().copied();
                waiting.extend(affected.filter(|dependent| queued.insert(*dependent)));
            }
        }
    }

    fn evaluate(&self, function: &Function<'_>, id: DefinitionId) -> Truth {
        let definition = function.definitions.get(id);
        let instruction = definition.instruction;
        let raw = &function.unit.module.instructions[instruction as usize];
        if let Some(guard) = function.unit.module.guard(raw)
            && let selects @ (Selects::One(_) | Selects::Vacuous) =
                self.guard(function, instruction, guard).yes
        {
            // Only that thread has what is written here.
            return Truth { yes: selects, no: selects };
        }
        let opcode = function.unit.operations.of(instruction);
        let is_predicate = opcode.types.last() == Some(&Type::Pred);
        let operand = |position: u32| {
            if position < raw.operands.len {
                self.operand(function, instruction, raw.operands.start + position)
            } else {
                Truth::UNKNOWN
            }
        };
        match opcode.computes() {
            Computation::Elect => {
                let pair = function.unit.module.operands(raw.operands).first().map(Operand::kind);
                match pair {
                    Some(OperandKind::Binary(BinaryOperator::Or, parts))
                        if definition.operand == parts.start + 1 =>
                    {
                        Truth { yes: Selects::One(instruction), no: Selects::Several }
                    }
                    _ => Truth::UNKNOWN,
                }
            }
            Computation::Move | Computation::Convert => operand(1),
            Computation::Not if is_predicate => operand(1).not(),
            Computation::And => Truth { yes: operand(1).yes.or(operand(2).yes), no: Selects::Several },
            Computation::Or => Truth { yes: Selects::Several, no: operand(1).no.or(operand(2).no) },
            Computation::Xor if is_predicate => match constant(function, raw.operands, 2) {
                Some(value) => operand(1).not_if(value != 0),
                None => Truth::UNKNOWN,
            },
            Computation::Select => {
                let (a, b, p) = (operand(1), operand(2), operand(3));
                Truth { yes: a.yes.or(p.yes).and(b.yes.or(p.no)), no: a.no.or(p.yes).and(b.no.or(p.no)) }
            }
            Computation::Compare => self.compare(function, instruction, raw, opcode, definition.operand),
            Computation::Other
            | Computation::ConvertAddress
            | Computation::Not
            | Computation::Xor
            | Computation::Lop3
            | Computation::ShiftLeft
            | Computation::ShiftRight
            | Computation::Add
            | Computation::Subtract
            | Computation::Negate
            | Computation::Multiply
            | Computation::MultiplyAdd
            | Computation::Divide
            | Computation::Remainder
            | Computation::ExtractBits
            | Computation::InsertBits
            | Computation::Permute
            | Computation::Shuffle
            | Computation::Load => Truth::UNKNOWN,
        }
    }

    fn compare(
        &self,
        function: &Function<'_>,
        instruction: u32,
        raw: &RawInstruction,
        opcode: &Opcode,
        written: u32,
    ) -> Truth {
        let Some(comparison) = comparison(opcode) else { return Truth::UNKNOWN };
        let (left, right, comparison) =
            match (constant(function, raw.operands, 1), constant(function, raw.operands, 2)) {
                (_, Some(right)) => (1, right, comparison),
                (Some(left), None) => (2, left, mirrored(comparison)),
                (None, None) => {
                    return self.combined(function, instruction, raw, opcode, written, Truth::UNKNOWN);
                }
            };
        let value = self.operand(function, instruction, raw.operands.start + left);
        let is_lane = identifies_lane(function, instruction, raw.operands.start + left);
        let one = Selects::One(instruction);
        let several = Selects::Several;
        // Exactly one value passes, or is left out.
        let passes = Truth { yes: one, no: several };
        let is_left_out = Truth { yes: several, no: one };
        let truth = match (comparison, right) {
            (Comparison::Eq, _) if is_lane => passes,
            (Comparison::Lt | Comparison::Lo, 1) | (Comparison::Le | Comparison::Ls, 0) if is_lane => passes,
            (Comparison::Ne, _) if is_lane => is_left_out,
            (Comparison::Ge | Comparison::Hs, 1) | (Comparison::Gt | Comparison::Hi, 0) if is_lane => {
                is_left_out
            }
            (Comparison::Eq, 0) | (Comparison::Lo, 1) => value.not(),
            (Comparison::Ne | Comparison::Hi, 0) | (Comparison::Hs, 1) => value,
            (Comparison::Eq, _) | (Comparison::Gt, 0..) | (Comparison::Ge, 1..) => {
                Truth { yes: value.yes, no: several }
            }
            (Comparison::Ne, _) => Truth { yes: several, no: value.yes },
            _ => Truth::UNKNOWN,
        };
        self.combined(function, instruction, raw, opcode, written, truth)
    }

    /// `setp.eq.and p|q, a, b, c`: the comparison with a predicate, and its negation with it.
    fn combined(
        &self,
        function: &Function<'_>,
        instruction: u32,
        raw: &RawInstruction,
        opcode: &Opcode,
        written: u32,
        truth: Truth,
    ) -> Truth {
        let first = function.unit.module.operands(raw.operands).first().map(Operand::kind);
        let negated = matches!(
            first,
            Some(OperandKind::Binary(BinaryOperator::Or, parts)) if written == parts.start + 1
        );
        let truth = truth.not_if(negated);
        let with = || self.operand(function, instruction, raw.operands.start + 3);
        let combination = opcode.modifier(|modifier| match modifier {
            Modifier::BooleanOperator(operator) => Some(operator),
            _ => None,
        });
        match combination {
            Some(BooleanOperator::And) => Truth { yes: truth.yes.or(with().yes), no: Selects::Several },
            Some(BooleanOperator::Or) => Truth { yes: Selects::Several, no: truth.no.or(with().no) },
            Some(BooleanOperator::Xor) => Truth::UNKNOWN,
            None => truth,
        }
    }

    fn operand(&self, function: &Function<'_>, instruction: u32, index: u32) -> Truth {
        let operand = &function.unit.module.operands[index as usize];
        if let Some(value) = literal::evaluate(&function.unit.source, &function.unit.module, operand) {
            return Truth::constant(value);
        }
        match operand.kind() {
            OperandKind::Name => match function.unit.symbols.operand(index) {
                Resolution::Register(register) => self.at(function, instruction, register),
                _ => Truth::UNKNOWN,
            },
            OperandKind::Unary(UnaryOperator::Not, part) if part.len == 1 => {
                self.operand(function, instruction, part.start).not()
            }
            _ => Truth::UNKNOWN,
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
            let truth = self.guard(function, branch, guard);
            let next = BlockId(block.0 + 1);
            let leaves = match function.unit.operations.of(branch).control() {
                Control::Branch | Control::IndexedBranch => false,
                Control::Next | Control::Call | Control::Return | Control::Exit | Control::Trap => true,
            };
            for &successor in &cfg.block(block).successors {
                let selects = if successor != next {
                    truth.yes
                } else if leaves || cfg.block(block).successors.len() > 1 {
                    truth.no
                } else {
                    Selects::Several
                };
                if let Selects::One(cause) = selects {
                    edges.insert((block, successor), cause);
                }
            }
        }
        if edges.is_empty() {
            return;
        }
        let order = cfg.reverse_post_order();
        let mut position = vec![0; cfg.len()];
        for (at, block) in order.iter().enumerate() {
            position[block.index()] = at;
        }
        let mut states = vec![Selects::Vacuous; cfg.len()];
        states[0] = Selects::Several;
        // States only rise, so that this ends: each block changes twice at most.
        let mut waiting = BitSet::full(order.len());
        let mut from = 0;
        while let Some(at) = waiting.first_from(from) {
            waiting.remove(at);
            from = at + 1;
            let block = order[at];
            if block == BlockId(0) {
                continue;
            }
            let predecessors = &cfg.block(block).predecessors;
            if !function.budget.take(1 + predecessors.len() as u64) {
                return;
            }
            let state = predecessors.iter().fold(Selects::Vacuous, |state, from| {
                state.and(match edges.get(&(*from, block)) {
                    Some(cause) => Selects::One(*cause),
                    None => states[from.index()],
                })
            });
            if state != states[block.index()] {
                states[block.index()] = state;
                for successor in &cfg.block(block).successors {
                    waiting.insert(position[successor.index()]);
                    from = from.min(position[successor.index()]);
                }
            }
        }
        for (state, found) in states.iter().zip(&mut self.one_thread) {
            if let Selects::One(cause) = state {
                *found = Some(*cause);
            }
        }
    }
}

/// The comparison with its sides exchanged.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        Comparison::Lo => Comparison::Hi,
        Comparison::Ls => Comparison::Hs,
        Comparison::Hi => Comparison::Lo,
        Comparison::Hs => Comparison::Ls,
        Comparison::Ltu => Comparison::Gtu,
        Comparison::Leu => Comparison::Geu,
        Comparison::Gtu => Comparison::Ltu,
        Comparison::Geu => Comparison::Leu,
        Comparison::Eq
        | Comparison::Ne
        | Comparison::Equ
        | Comparison::Neu
        | Comparison::Num
        | Comparison::Nan => comparison,
    }
}

/// Whether the truth of a result is made of that of its operands.
fn has_truth(computes: Computation) -> bool {
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
        | Computation::Lop3
        | Computation::ShiftLeft
        | Computation::ShiftRight
        | Computation::Add
        | Computation::Subtract
        | Computation::Negate
        | Computation::Multiply
        | Computation::MultiplyAdd
        | Computation::Divide
        | Computation::Remainder
        | Computation::ExtractBits
        | Computation::InsertBits
        | Computation::Permute
        | Computation::Shuffle
        | Computation::Load
        | Computation::Elect => false,
    }
}

/// The values whose truth that of a value is made of.
fn truth_sources(function: &Function<'_>, id: ValueId) -> Vec<ValueId> {
    let id = match id {
        ValueId::Definition(id) => id,
        ValueId::Join(join) => return function.definitions.joined(join).to_vec(),
    };
    let instruction = function.definitions.get(id).instruction;
    let raw = &function.unit.module.instructions[instruction as usize];
    let mut sources = Vec::new();
    if function.unit.module.guard(raw).is_some()
        && let Resolution::Register(register) = function.unit.symbols.guard(instruction)
    {
        sources.extend(function.value(instruction, register));
    }
    if has_truth(function.unit.operations.of(instruction).computes()) {
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
    use crate::analysis::cfg::Cfg;
    use crate::analysis::definitions::{Definitions, RegisterSet};
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
        let function = Function { unit: &unit, cfg: &cfg, definitions: &definitions, budget: &budget };
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
        let (_, perhaps) = trap(
            "elect.sync r0|p0, -1; mov.u32 r1, 0; @!p0 bra M; mov.u32 r1, 1; M: setp.ne.s32 p1, r1, 0; @p1 trap;",
        );
        assert!(perhaps);
    }
}
