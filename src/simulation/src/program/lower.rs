//! From the tree to steps.

use std::cell::OnceCell;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::arguments::Operands;
use super::variables::{self, Storage};
use super::{
    Action, Address, Atomic, BarrierKind, Depends, Fragments, Function, Mbarrier, MbarrierKind, NOWHERE,
    Operand, Passed, Program, Reduction, Scope, Slice, Step, Strength, Where, pointers, reconvergence,
};
use crate::instruction::decode::{Decoded, Decoder};
use crate::ir::Computing;
use crate::ir::argument::bits_of_register;
use crate::isa::generic::{
    BooleanOperator, Count, FirstCtaid, Flag, Modifier, OperandSlot, Operation, ReductionOperator,
    RegisterChange, Scope as WrittenScope, Semantics, Type,
};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::resolve::unit::Unit;
use crate::source::Span;
use crate::syntax::ast::{self, Declaration, Declarator, StateSpace, StatementKind};

/// What belongs to a module, and is the same for all of its kernels.
pub(crate) struct Shared<'a> {
    unit: &'a Unit,
    /// By the start of the name: what is declared there.
    declared: FxHashMap<u32, (&'a Declaration, &'a Declarator)>,
    /// By the name where it is declared: which symbol it is.
    symbols: OnceCell<FxHashMap<Span, (SymbolId, SymbolKind)>>,
    /// By the start of the name: the address of a variable in global memory.
    globals: OnceCell<FxHashMap<u32, u64>>,
    /// The functions that have a body.
    bodies: FxHashSet<u32>,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(unit: &'a Unit) -> Self {
        let module = &unit.module;
        let declared = module
            .declarations
            .iter()
            .flat_map(|declaration| {
                let declarators = &module.declarators[declaration.declarators.range()];
                declarators.iter().map(move |declarator| (declarator.name.start, (declaration, declarator)))
            })
            .collect();
        let bodies = module.bodies().map(|(function, _)| function).collect();
        Self { unit, declared, symbols: OnceCell::new(), globals: OnceCell::new(), bodies }
    }

    /// The address of the variable in global memory whose name starts there.
    pub(super) fn address_of_global(&self, start: u32) -> Option<u64> {
        self.globals.get_or_init(|| variables::addresses_of_globals(self.unit)).get(&start).copied()
    }

    /// The symbol that a name declares.
    fn symbol(&self, name: Span) -> Option<(SymbolId, SymbolKind)> {
        let symbols = self.symbols.get_or_init(|| {
            let mut known = FxHashMap::default();
            for (id, symbol) in self.unit.symbols.all() {
                known.entry(symbol.span).or_insert((id, symbol.kind));
            }
            known
        });
        symbols.get(&name).copied()
    }
}

/// Lowers a kernel, an index into the module's functions, with all that it calls.
pub(crate) fn lower(shared: &Shared<'_>, kernel: u32) -> Program {
    let mut lowering = Lowering {
        unit: shared.unit,
        shared,
        decoder: Decoder::new(shared.unit),
        program: Program { dynamic_align: 16, static_shared: super::windows::RESERVED, ..Program::default() },
        storage: FxHashMap::default(),
        parameters: FxHashMap::default(),
        constants: FxHashMap::default(),
        numbers: FxHashMap::default(),
        waiting: VecDeque::new(),
        registers: FxHashMap::default(),
        register_count: 0,
        local_bytes: 0,
        is_kernel: true,
        carry: None,
        fixups: Vec::new(),
        tables: FxHashMap::default(),
        computed: Vec::new(),
        tensor: FxHashMap::default(),
    };
    lowering.kernel_parameters(kernel);
    lowering.function_number(kernel);
    while let Some(function) = lowering.waiting.pop_front() {
        lowering.function(function);
        lowering.is_kernel = false;
    }
    lowering.program
}

/// What lowering knows.
pub(super) struct Lowering<'a> {
    pub(super) unit: &'a Unit,
    decoder: Decoder<'a>,
    pub(super) program: Program,
    pub(super) shared: &'a Shared<'a>,
    pub(super) storage: FxHashMap<SymbolId, Storage>,
    /// By the start of the name: where the kernel's parameters are.
    pub(super) parameters: FxHashMap<u32, u32>,
    pub(super) constants: FxHashMap<u64, u32>,
    /// By function of the module: its number in the program.
    numbers: FxHashMap<u32, u32>,
    waiting: VecDeque<u32>,
    // Of the function at hand:
    pub(super) registers: FxHashMap<RegisterId, u32>,
    pub(super) register_count: u32,
    pub(super) local_bytes: u32,
    pub(super) is_kernel: bool,
    carry: Option<u32>,
    /// Steps that jump, and where to.
    fixups: Vec<(u32, Jump)>,
    /// By where a list of labels starts: their statements, if all of them are labels. Very many jumps may have
    /// one list.
    tables: FxHashMap<u32, Option<Vec<u32>>>,
    /// Steps that compute something, and by which instruction.
    computed: Vec<(u32, Operation)>,
    /// By instruction: those of tcgen05.
    pub(super) tensor: FxHashMap<u32, Decoded<'a>>,
}

/// A function that CUDA has for every module.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuntimeFunction {
    /// `int vprintf(const char *format, void *arguments)`
    Print,
    /// `void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t charsize)`
    AssertFail,
}

/// Where a step jumps to.
#[derive(Clone, Copy)]
enum Jump {
    /// To the label that is this statement.
    To(u32),
    /// To one of the labels of the list that starts there.
    OneOf(u32),
}

/// An operand of an instruction and the position it fills.
pub(super) struct Filled {
    pub(super) slot: &'static OperandSlot,
    /// In [`ast::Module::operands`].
    pub(super) index: u32,
}

impl<'a> Lowering<'a> {
    /// The number of a function in the program, which it then becomes part of; functions without a
    /// body have none.
    pub(super) fn function_number(&mut self, function: u32) -> Option<u32> {
        if let Some(known) = self.numbers.get(&function) {
            return Some(*known);
        }
        if !self.shared.bodies.contains(&function) {
            return None;
        }
        let number = self.program.functions.len() as u32;
        self.program.functions.push(Function { entry: NOWHERE, ..Function::default() });
        self.numbers.insert(function, number);
        self.waiting.push_back(function);
        Some(number)
    }

    /// What a function without a body is, if CUDA has it for every module.
    pub(super) fn runtime_function(&self, function: u32) -> Result<RuntimeFunction, String> {
        let name = self.unit.source.slice(self.unit.module.functions[function as usize].name);
        match name {
            "vprintf" => Ok(RuntimeFunction::Print),
            "__assertfail" => Ok(RuntimeFunction::AssertFail),
            _ => Err("the function has no body here".to_owned()),
        }
    }

    fn function(&mut self, function: u32) {
        self.registers.clear();
        (self.register_count, self.local_bytes, self.carry) = (0, 0, None);
        let unit = self.unit;
        let module = &unit.module;
        let raw = &module.functions[function as usize];
        let entry = self.program.steps.len() as u32;
        let parameters = if self.is_kernel { Slice::default() } else { self.formals(raw.parameters) };
        let returns = self.formals(raw.returns);
        self.tensor = self.decoder.decode(&[function]).into_iter().map(|it| (it.index, it)).collect();
        let mut labels: FxHashMap<u32, u32> = FxHashMap::default();
        let mut targets: FxHashMap<u32, ast::Slice> = FxHashMap::default();
        let mut pending = Vec::new();
        for index in raw.body.range() {
            let statement = &module.statements[index];
            match statement.kind() {
                StatementKind::Label => {
                    labels.insert(index as u32, self.program.steps.len() as u32);
                    pending.push(index as u32);
                }
                StatementKind::BranchTargets(names) => {
                    targets.extend(pending.drain(..).map(|label| (label, module.list(names))));
                }
                StatementKind::Instruction(instruction) => {
                    pending.clear();
                    self.instruction(instruction, statement.span, &targets);
                }
                _ => {}
            }
        }
        // Whoever falls out of a function returns.
        self.program.steps.push(Step { guard: None, action: Action::Return });
        self.program.spans.push(Span::new(raw.name.start, raw.name.end));
        let at = |statement: u32| labels.get(&statement).copied().unwrap_or(NOWHERE);
        let mut laid_out: FxHashMap<u32, Slice> = FxHashMap::default();
        for (step, jump) in std::mem::take(&mut self.fixups) {
            match (&mut self.program.steps[step as usize].action, jump) {
                (Action::Branch { target, .. }, Jump::To(statement)) => *target = at(statement),
                (Action::IndexedBranch { targets, .. }, Jump::OneOf(list)) => {
                    let all = &mut self.program.targets;
                    *targets = *laid_out.entry(list).or_insert_with(|| {
                        let start = all.len() as u32;
                        all.extend(self.tables.get(&list).into_iter().flatten().flatten().map(|it| at(*it)));
                        Slice { start, len: all.len() as u32 - start }
                    });
                }
                _ => {}
            }
        }
        self.tables.clear();
        let end = self.program.steps.len() as u32;
        let blocks = reconvergence::Blocks::new(&self.program, entry..end);
        reconvergence::join(&mut self.program, &blocks);
        self.program.loops.add(&blocks);
        pointers::mark(&mut self.program, entry..end, &std::mem::take(&mut self.computed));
        if let Some(number) = self.numbers.get(&function) {
            let lowered = &mut self.program.functions[*number as usize];
            lowered.entry = entry;
            lowered.registers = self.register_count;
            lowered.local_bytes = self.local_bytes;
            lowered.parameters = parameters;
            lowered.returns = returns;
        }
    }

    /// What a function receives or returns.
    fn formals(&mut self, declarations: ast::Slice) -> Slice {
        let unit = self.unit;
        let mut all = Vec::new();
        for declaration in &unit.module.declarations[declarations.range()] {
            for declarator in &unit.module.declarators[declaration.declarators.range()] {
                let symbol = self.shared.symbol(declarator.name);
                let (bytes, _) = self.size(declaration, declarator);
                all.push(match symbol {
                    Some((_, SymbolKind::Register { first, .. })) if declaration.space == StateSpace::Reg => {
                        Passed::Value(Operand::Register(self.register(first)))
                    }
                    Some((id, SymbolKind::Variable { .. })) => match self.storage(id) {
                        Storage::Local(offset) => {
                            Passed::Memory { offset, bytes: bytes.unwrap_or(0).min(1 << 16) as u32 }
                        }
                        _ => Passed::Value(Operand::Sink),
                    },
                    _ => Passed::Value(Operand::Sink),
                });
            }
        }
        self.passed(&all)
    }

    pub(super) fn passed(&mut self, all: &[Passed]) -> Slice {
        let start = self.program.passed.len() as u32;
        self.program.passed.extend_from_slice(all);
        Slice { start, len: all.len() as u32 }
    }

    /// Looks up a list of labels; nothing if something in it is none.
    fn table(&mut self, list: ast::Slice) -> Option<()> {
        let known = self.tables.get(&list.start).map(Option::is_some);
        let is_known = known.unwrap_or_else(|| {
            let labels = list.range().map(|index| self.label(ast::Slice { start: index as u32, len: 1 }));
            let labels: Option<Vec<u32>> = labels.collect();
            let is_known = labels.is_some();
            self.tables.insert(list.start, labels);
            is_known
        });
        is_known.then_some(())
    }

    /// What is declared where this name starts.
    pub(super) fn declared(&self, start: u32) -> Option<(&'a Declaration, &'a Declarator)> {
        self.shared.declared.get(&start).copied()
    }

    fn text(&mut self, text: String) -> u32 {
        self.program.texts.push(text);
        self.program.texts.len() as u32 - 1
    }

    fn instruction(&mut self, index: u32, span: Span, targets: &FxHashMap<u32, ast::Slice>) {
        let unit = self.unit;
        let raw = &unit.module.instructions[index as usize];
        let opcode = unit.operations.of(index);
        let mut guard = None;
        let mut failed = None;
        if let Some(written) = unit.module.guard(raw) {
            match unit.symbols.guard(index) {
                Resolution::Register(id) => guard = Some((self.register(id), written.negated)),
                _ => failed = Some("a guard that is no predicate".to_owned()),
            }
        }
        let action = match failed {
            Some(why) => Err(why),
            None => self.action(index, opcode, targets),
        };
        let action = action.unwrap_or_else(|why| {
            let name = unit.source.slice(raw.opcode);
            Action::Unknown(self.text(if why.is_empty() {
                format!("`{name}`")
            } else {
                format!("`{name}`: {why}")
            }))
        });
        self.program.steps.push(Step { guard, action });
        self.program.spans.push(span);
    }

    /// What an instruction does; or why that is not known.
    fn action(
        &mut self,
        index: u32,
        opcode: &Opcode,
        targets: &FxHashMap<u32, ast::Slice>,
    ) -> Result<Action, String> {
        let unit = self.unit;
        let raw = &unit.module.instructions[index as usize];
        let Some(operation) = opcode.operation() else { return Err(String::new()) };
        if operation == Operation::Tensor {
            return self.tensor(index).ok_or_else(String::new);
        }
        if !opcode.unknown.is_empty() {
            return Err(String::new());
        }
        if let Some(computing) = Computing::of(unit, index) {
            return self.compute(opcode, &computing);
        }
        let slots = opcode
            .assign(&unit.module, raw.operands)
            .map_err(|_| "its operands are not those of the instruction".to_owned())?;
        let filled: Vec<Filled> = slots
            .iter()
            .zip(raw.operands.range())
            .map(|(slot, index)| Filled { slot, index: index as u32 })
            .collect();
        let mut it = Operands { lowering: self, opcode, filled: &filled };
        let space = |nth: usize| Where::of(opcode.spaces().nth(nth));
        let missing = || "an operand that is not understood".to_owned();
        let acquires = || {
            opcode.has(Modifier::Semantics(Semantics::Acquire))
                || opcode.has(Modifier::Semantics(Semantics::AcqRel))
        };
        let releases = || {
            opcode.has(Modifier::Semantics(Semantics::Release))
                || opcode.has(Modifier::Semantics(Semantics::AcqRel))
        };
        let is_relaxed = opcode.has(Modifier::Semantics(Semantics::Relaxed));
        let is_volatile = opcode.has(Modifier::Semantics(Semantics::Volatile)) || opcode.has_flag(Flag::Mmio);
        let is_strong = is_relaxed || acquires() || releases() || is_volatile;
        let strength = || Strength {
            // What is volatile is so for everybody.
            scope: match opcode.modifier(|it| match it {
                Modifier::Scope(scope) if !is_volatile => Some(scope),
                _ => None,
            }) {
                Some(WrittenScope::Cta) => Scope::Cta,
                Some(WrittenScope::Cluster) => Scope::Cluster,
                Some(WrittenScope::Gpu | WrittenScope::Gl | WrittenScope::Sys) | None => Scope::Wide,
            },
            acquires: acquires(),
            releases: releases(),
        };
        let aligned = opcode.is_aligned();
        Ok(match operation {
            Operation::Bra => {
                let label = it.lowering.label(raw.operands).ok_or_else(missing)?;
                let step = it.lowering.program.steps.len() as u32;
                it.lowering.fixups.push((step, Jump::To(label)));
                Action::Branch { target: NOWHERE, join: NOWHERE }
            }
            Operation::BrxIdx => {
                let label = it.lowering.label(raw.operands).ok_or_else(missing)?;
                let list = targets.get(&label).copied().ok_or_else(missing)?;
                let step = it.lowering.program.steps.len() as u32;
                it.lowering.table(list).ok_or_else(missing)?;
                it.lowering.fixups.push((step, Jump::OneOf(list.start)));
                let index = it.value("index").ok_or_else(missing)?;
                Action::IndexedBranch { index, targets: Slice::default(), join: NOWHERE }
            }
            Operation::Call => it.call()?,
            Operation::Ret => Action::Return,
            Operation::Exit => Action::Exit,
            Operation::Trap => Action::Trap,
            Operation::Ld | Operation::LdGlobalNc | Operation::LdReadonly | Operation::Ldu => {
                let ty = *opcode.types.first().ok_or_else(missing)?;
                let registers = it.values("d").ok_or_else(missing)?;
                let address = it.address("a").ok_or_else(missing)?;
                let extend = if ty.is_signed() { it.slot("d").map_or(64, |it| bits_of_register(unit, it.index)) as u8 } else { 0 };
                let space = it.space("a");
                Action::Load(it.access(space, address, ty, &registers, extend, is_strong.then(strength)))
            }
            Operation::St => {
                let ty = *opcode.types.first().ok_or_else(missing)?;
                let registers = it.values("b").ok_or_else(missing)?;
                let address = it.address("a").ok_or_else(missing)?;
                let space = it.space("a");
                Action::Store(it.access(space, address, ty, &registers, 0, is_strong.then(strength)))
            }
            // Nothing says when the last one is over; it takes effect at once.
            Operation::Atom | Operation::Red | Operation::RedAsyncRelease => {
                let ty = *opcode.types.first().ok_or_else(missing)?;
                let address = it.address("a").ok_or_else(missing)?;
                let operator = opcode
                    .modifier(|it| match it {
                        Modifier::ReductionOperator(operator) => Some(operator),
                        _ => None,
                    })
                    .ok_or_else(missing)?;
                let mut sources = it.values("b").ok_or_else(missing)?;
                if operator == ReductionOperator::Cas {
                    sources.extend(it.values("c").ok_or_else(missing)?);
                }
                let destinations = it.values("d").unwrap_or_default();
                let bits = ty.bits().ok_or_else(missing)?;
                let space = it.space("a");
                let (sources, destinations) = (it.lowering.keep(&sources), it.lowering.keep(&destinations));
                Action::Atomic(Atomic {
                    space,
                    address,
                    reduction: Reduction { operator, ty, noftz: opcode.has_flag(Flag::Noftz) },
                    bytes: bits.div_ceil(8).min(8) as u8,
                    sources,
                    destinations,
                    strength: strength(),
                })
            }
            Operation::Cvta => Action::Convert {
                to_generic: !opcode.has_flag(Flag::To),
                space: space(0),
                source: it.value("a").ok_or_else(missing)?,
                destination: it.value("p").ok_or_else(missing)?,
            },
            Operation::Isspacep => Action::IsInSpace {
                space: space(0),
                source: it.value("a").ok_or_else(missing)?,
                destination: it.value("p").ok_or_else(missing)?,
            },
            Operation::Mapa => Action::MapAddress {
                source: it.value("a").ok_or_else(missing)?,
                rank: it.value("b").ok_or_else(missing)?,
                destination: it.value("d").ok_or_else(missing)?,
            },
            Operation::Getctarank => Action::RankOf {
                source: it.value("a").ok_or_else(missing)?,
                destination: it.value("d").ok_or_else(missing)?,
            },
            Operation::CreatepolicyRange | Operation::CreatepolicyFractional | Operation::CreatepolicyCvt => {
                let destinations = it.destinations();
                Action::Opaque { destinations }
            }
            Operation::BarrierSync | Operation::BarrierArrive => Action::Barrier {
                id: it.value("a").ok_or_else(missing)?,
                count: it.value("b"),
                kind: if operation == Operation::BarrierSync { BarrierKind::Sync } else { BarrierKind::Arrive },
                aligned,
            },
            Operation::BarrierPopc | Operation::BarrierPredicate => {
                let value = it.value("c").ok_or_else(missing)?;
                let destination = it.value("d").or_else(|| it.value("p")).ok_or_else(missing)?;
                Action::Barrier {
                    id: it.value("a").ok_or_else(missing)?,
                    count: it.value("b"),
                    kind: match opcode.boolean_operator() {
                        Some(BooleanOperator::And) => BarrierKind::And { value, destination },
                        Some(BooleanOperator::Or | BooleanOperator::Xor) => BarrierKind::Or { value, destination },
                        None => BarrierKind::Count { value, destination },
                    },
                    aligned,
                }
            }
            Operation::BarWarpSync => Action::WarpBarrier { mask: it.value("membermask").ok_or_else(missing)? },
            Operation::BarrierClusterArrive => Action::ClusterArrive { release: !is_relaxed, aligned },
            Operation::BarrierClusterWait => Action::ClusterWait { aligned },
            Operation::Membar | Operation::Fence | Operation::FenceRestricted | Operation::FenceAliasRead => {
                let Strength { scope, .. } = strength();
                // Without a word it does both, and `.sc` does more than that.
                let has = |it| opcode.has(Modifier::Semantics(it));
                let (acquires, releases) = (!has(Semantics::Release), !has(Semantics::Acquire));
                Action::Fence(Strength { scope, acquires, releases })
            }
            Operation::FenceMbarrierInit => Action::InitFence,
            Operation::MembarProxy
            | Operation::FenceProxy
            | Operation::FenceProxyAlias
            | Operation::FenceProxyTensormap
            | Operation::FenceProxyAsyncGeneric => it.proxy_fence(),
            Operation::MbarrierInit
            | Operation::MbarrierInval
            | Operation::MbarrierExpectTx
            | Operation::MbarrierCompleteTx
            | Operation::MbarrierArrive
            | Operation::MbarrierArriveDrop
            | Operation::MbarrierTestWait
            | Operation::MbarrierTryWait => it.mbarrier(operation, is_relaxed).ok_or_else(missing)?,
            Operation::MbarrierPendingCount => {
                let zero = it.lowering.constant(0);
                Action::Mbarrier(Mbarrier {
                    space: Where::Shared,
                    address: Address { base: zero, offset: 0 },
                    kind: MbarrierKind::PendingCount {
                        state: it.value("state").ok_or_else(missing)?,
                        destination: it.value("count").ok_or_else(missing)?,
                    },
                    mask: None,
                })
            }
            Operation::StAsync | Operation::RedAsync => {
                let ty = *opcode.types.first().ok_or_else(missing)?;
                let registers = it.values("b").ok_or_else(missing)?;
                let operator = opcode.modifier(|it| match it {
                    Modifier::ReductionOperator(operator) => Some(operator),
                    _ => None,
                });
                Action::StoreAsync {
                    address: it.address("a").ok_or_else(missing)?,
                    barrier: it.address("mbar").ok_or_else(missing)?,
                    registers: it.lowering.keep(&registers),
                    bytes: ty.bits().ok_or_else(missing)?.div_ceil(8).min(8) as u8,
                    reduction: operator.map(|operator| Reduction { operator, ty, noftz: false }),
                }
            }
            Operation::CpAsync => {
                let bytes = it.value("cp-size").ok_or_else(missing)?;
                Action::CopyAsync {
                    destination: it.address("dst").ok_or_else(missing)?,
                    source: it.address("src").ok_or_else(missing)?,
                    bytes: it.lowering.number(bytes).ok_or_else(missing)? as u32,
                    read: it.read_of_copy().ok_or_else(missing)?,
                }
            }
            Operation::CpAsyncCommitGroup => Action::CopyCommit,
            Operation::CpAsyncWaitGroup => {
                let left = it.value("n").ok_or_else(missing)?;
                Action::CopyWait { left: it.lowering.number(left).ok_or_else(missing)? as u32 }
            }
            // Also what belongs to no group yet is waited for.
            Operation::CpAsyncWaitAll => Action::CopyWait { left: u32::MAX },
            Operation::CpAsyncMbarrierArrive => Action::CopyArrive {
                space: it.space("addr"),
                address: it.address("addr").ok_or_else(missing)?,
                counts: !opcode.has_flag(Flag::Noinc),
            },
            Operation::CpAsyncBulkLoad
            | Operation::CpAsyncBulkCluster
            | Operation::CpAsyncBulkStore
            | Operation::CpReduceAsyncBulkCluster
            | Operation::CpReduceAsyncBulkStore
            | Operation::CpAsyncBulkTensorLoad
            | Operation::CpAsyncBulkTensorStore
            | Operation::CpReduceAsyncBulkTensor => it.bulk(operation).ok_or_else(missing)?,
            Operation::CpAsyncBulkCommitGroup => Action::BulkCommit,
            Operation::CpAsyncBulkWaitGroup => {
                let left = it.value("N").ok_or_else(missing)?;
                Action::BulkWait {
                    left: it.lowering.number(left).ok_or_else(missing)? as u32,
                    for_reads: opcode.has_flag(Flag::Read),
                }
            }
            Operation::Prefetch
            | Operation::PrefetchEviction
            | Operation::PrefetchValid
            | Operation::PrefetchTensormap
            | Operation::Prefetchu
            | Operation::Applypriority
            | Operation::ApplypriorityAsyncBulk
            | Operation::ApplypriorityAsyncBulkTensor
            | Operation::Discard
            | Operation::CpAsyncBulkPrefetch
            | Operation::CpAsyncBulkPrefetchTensor
            | Operation::Brkpt
            | Operation::Pmevent
            // There is no other grid.
            | Operation::Griddepcontrol => Action::Nothing,
            Operation::Nanosleep => Action::Sleep,
            Operation::Setmaxnreg => {
                let count = it.value("imm-reg-count").ok_or_else(missing)?;
                Action::SetRegisters {
                    // More than a CTA has is as good as any number of them.
                    count: it.lowering.number(count).ok_or_else(missing)?.min(1 << 16) as u32,
                    up: opcode.has(Modifier::RegisterChange(RegisterChange::Inc)),
                }
            }
            Operation::ClusterlaunchcontrolTryCancel => Action::TryCancel {
                destination: it.address("addr").ok_or_else(missing)?,
                barrier: it.address("mbar").ok_or_else(missing)?,
                multicast: opcode.has(Modifier::Multicast(crate::isa::generic::Multicast::All)),
            },
            Operation::ClusterlaunchcontrolIsCanceled => {
                let response = it.values("try_cancel_response").ok_or_else(missing)?;
                Action::IsCanceled {
                    response: it.lowering.keep(&response),
                    destination: it.value("pred").ok_or_else(missing)?,
                }
            }
            Operation::ClusterlaunchcontrolFirstCtaid => {
                let response = it.values("try_cancel_response").ok_or_else(missing)?;
                let destinations = it.values("xdim").or_else(|| it.values("dim")).ok_or_else(missing)?;
                let axis = opcode.modifier(|it| match it {
                    Modifier::FirstCtaid(axis) => Some(axis),
                    _ => None,
                });
                Action::FirstCta {
                    response: it.lowering.keep(&response),
                    destinations: it.lowering.keep(&destinations),
                    axis: match axis {
                        Some(FirstCtaid::X) => Some(0),
                        Some(FirstCtaid::Y) => Some(1),
                        Some(FirstCtaid::Z) => Some(2),
                        Some(FirstCtaid::All) | None => None,
                    },
                }
            }
            Operation::Ldmatrix
            | Operation::LdmatrixUnpack
            | Operation::LdmatrixSigned
            | Operation::Stmatrix => {
                let store = operation == Operation::Stmatrix;
                let registers = it.values("r").ok_or_else(missing)?;
                let count = opcode.modifier(|it| match it {
                    Modifier::Count(count) => Some(count),
                    _ => None,
                });
                let matrices = match count {
                    Some(Count::X1) => 1,
                    Some(Count::X2) => 2,
                    Some(Count::X4) => 4,
                    _ => return Err(missing()),
                };
                let is_large = opcode.has(Modifier::TileShape(crate::isa::generic::TileShape::M16n16));
                Action::Matrix {
                    store,
                    address: it.address("p").ok_or_else(missing)?,
                    space: it.space("p"),
                    rows: (matrices * if is_large { 16 } else { 8 }).min(32),
                    // Sixteen numbers of 4 bits are not padded.
                    row_bytes: if operation == Operation::LdmatrixSigned { 8 } else { 16 },
                    registers: it.lowering.keep(&registers),
                    fragments: match (opcode.types.first(), opcode.has_flag(Flag::Trans)) {
                        _ if operation == Operation::LdmatrixSigned => {
                            Some(Fragments::Expanded { bits: 4, signed: true, transposed: false })
                        }
                        _ if operation == Operation::LdmatrixUnpack => {
                            let bits = match opcode.types.get(1) {
                                Some(Type::B4x16P64) => 4,
                                Some(Type::B6x16P32) => 6,
                                _ => return Err(missing()),
                            };
                            Some(Fragments::Expanded { bits, signed: false, transposed: is_large })
                        }
                        (Some(Type::B16), false) => Some(Fragments::Rows),
                        (Some(Type::B16), true) => Some(Fragments::Columns),
                        (Some(Type::B8), true) if store => Some(Fragments::StoredBytes),
                        (Some(Type::B8), true) if is_large => Some(Fragments::Bytes),
                        _ => None,
                    },
                }
            }
            Operation::Mma | Operation::MmaSp | Operation::WmmaMma => {
                it.mma(unit.source.slice(raw.opcode)).ok_or_else(missing)?
            }
            Operation::WmmaLoad | Operation::WmmaStore => {
                it.warp_matrix(unit.source.slice(raw.opcode)).ok_or_else(missing)?
            }
            Operation::TensormapReplace => {
                let field = opcode.modifier(|it| match it {
                    Modifier::TensormapField(field) => Some(field),
                    _ => None,
                });
                let ordinal = it.value("ord").and_then(|ordinal| it.lowering.number(ordinal));
                Action::ReplaceTensorMap {
                    address: it.address("addr").ok_or_else(missing)?,
                    space: it.space("addr"),
                    field: field.ok_or_else(missing)?,
                    ordinal: ordinal.unwrap_or(0) as u32,
                    value: it.value("new_val").ok_or_else(missing)?,
                }
            }
            Operation::TensormapCpFenceproxy => Action::CopyTensorMap {
                destination: it.address("dst").ok_or_else(missing)?,
                source: it.address("src").ok_or_else(missing)?,
            },
            Operation::StBulk => Action::Fill {
                address: it.address("a").ok_or_else(missing)?,
                bytes: it.value("size").ok_or_else(missing)?,
            },
            _ => return Err(String::new()),
        })
    }

    /// An instruction that makes registers from registers.
    fn compute(&mut self, opcode: &Opcode, computing: &Computing) -> Result<Action, String> {
        let (mut sources, mut destinations) = (Vec::new(), Vec::new());
        if !self.take(computing.sources(), &mut sources) || !self.take(computing.results(), &mut destinations)
        {
            return Err("an operand that is not understood".to_owned());
        }
        let destinations = self.keep(&destinations);
        let Some(arithmetic) = computing.arithmetic else { return Ok(Action::Opaque { destinations }) };
        let (sources, operation) = (self.keep(&sources), computing.operation);
        if opcode.slots.last().is_some_and(|slot| slot.name == "membermask") {
            self.program.masked.insert(self.program.steps.len() as u32);
        }
        self.program.arithmetics.push(arithmetic);
        self.computed.push((self.program.steps.len() as u32, operation));
        Ok(Action::Compute {
            arithmetic: self.program.arithmetics.len() as u32 - 1,
            sources,
            destinations,
            depends: match operation {
                Operation::Selp => Depends::Choice,
                Operation::And => Depends::And,
                Operation::Or if opcode.types.first() == Some(&Type::Pred) => Depends::Or,
                _ => Depends::All,
            },
        })
    }

    /// The carry flag is a register of the frame.
    pub(super) fn carry(&mut self) -> Operand {
        let next = self.register_count;
        let carry = *self.carry.get_or_insert(next);
        if carry == next {
            self.register_count += 1;
        }
        Operand::Register(carry)
    }

    /// The number that a constant is.
    pub(super) fn number(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Constant(index) => Some(self.program.constants[index as usize][0]),
            _ => None,
        }
    }

    /// The statement of the label that the last operand names.
    fn label(&self, operands: ast::Slice) -> Option<u32> {
        let last = operands.range().next_back()?;
        let Resolution::Symbol(id) = self.unit.symbols.operand(last as u32) else { return None };
        match self.unit.symbols.symbol(id).kind {
            SymbolKind::Label { statement } => Some(statement),
            _ => None,
        }
    }
}
