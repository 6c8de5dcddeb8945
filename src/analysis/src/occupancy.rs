//! Whether the assembler heeds the `setmaxnreg` of a kernel, which depends on how many CTAs fit on a multiprocessor.
//!
//! `setmaxnreg` changes the number of registers from what a thread starts with, and the assembler has to know that
//! number. It follows from `.maxnreg`; from the number of threads and CTAs (`.maxntid` with `.minnctapersm`); and
//! from the number of threads alone where a multiprocessor has no room for two of the CTAs, because they have too
//! many threads, too much shared memory that the module declares, or an instruction that needs too many registers
//! at once. In a kernel that calls through a pointer, or a function that calls itself, the assembler heeds none
//! whatever is said.

use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{CallGraph, Component};
use super::cfg::Cfg;
use super::pending::Pending;
use crate::isa::generic::Operation;
use crate::isa::multiprocessor::Multiprocessor;
use crate::isa::targets::Target;
use crate::resolve::launch_bounds::{LaunchBounds, known};
use crate::resolve::symbols::SymbolKind;
use crate::resolve::unit::Unit;
use crate::source::{Span, Spanned};
use crate::syntax::ast::{
    Declaration, Declarator, Operand, OperandKind, Slice, StateSpace, StatementKind, Type,
};
use crate::syntax::literal;

/// A kernel that leads to more functions than this, or a function with more shared variables, is not looked at.
const MANY: usize = 1000;

/// Why the assembler ignores the `setmaxnreg` of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Nothing says how many registers a thread starts with.
    NothingSaid,
    /// More CTAs are asked for than fit on a multiprocessor, so that this counts for nothing.
    TooManyCtas {
        /// The directive.
        span: Span,
        /// What it asks for.
        ctas: u32,
        /// How many threads each CTA has.
        threads: u64,
    },
    /// A function that the kernel leads to takes the address of one, or calls through a pointer.
    Pointer {
        /// The function, or the kernel.
        function: u32,
    },
    /// A function that the kernel leads to can call itself.
    Recursion {
        /// The function.
        function: u32,
    },
}

/// Answers for the kernels of a module.
pub struct Occupancy<'a> {
    unit: &'a Unit,
    calls: &'a CallGraph,
    component: &'a Component,
    targets: Vec<Target>,
    /// The most registers that one instruction of a function needs.
    needs: FxHashMap<u32, u64>,
    /// The shared variables that a function declares or names; nothing if there are very many.
    variables: FxHashMap<u32, Option<Vec<Variable>>>,
}

/// Where a variable is declared, and how large it is, if that is known.
type Variable = (u32, Option<Size>);

/// Bytes of a variable, and how many may have to be left free before it.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: u64,
    before: u64,
}

impl<'a> Occupancy<'a> {
    /// On multiprocessors of these targets.
    pub fn new(
        unit: &'a Unit,
        calls: &'a CallGraph,
        component: &'a Component,
        targets: impl Iterator<Item = Target>,
    ) -> Self {
        Self {
            unit,
            calls,
            component,
            targets: targets.collect(),
            needs: FxHashMap::default(),
            variables: FxHashMap::default(),
        }
    }

    /// Why the assembler certainly ignores every `setmaxnreg` of a kernel, if it does on all targets.
    pub fn ignored(&mut self, kernel: u32) -> Option<Ignored> {
        let functions = self.reached(kernel)?;
        if let Some(function) = functions.iter().find(|it| self.calls.calls_indirectly(**it)) {
            return Some(Ignored::Pointer { function: *function });
        }
        if let Some(function) = self.recursive(&functions) {
            return Some(Ignored::Recursion { function });
        }
        let bounds = *self.unit.launch_bounds(&self.unit.module.functions[kernel as usize]);
        if bounds.most_registers.is_some() {
            return None;
        }
        if bounds.required_threads.is_none() && bounds.most_threads.is_none() {
            return Some(Ignored::NothingSaid);
        }
        // A number of threads that is none is not known to the assembler, either: it refuses it.
        let threads = bounds.most()?;
        let targets = std::mem::take(&mut self.targets);
        let mut multiprocessors = targets.iter().map(|target| Multiprocessor::of(*target));
        let is_unknown = !targets.is_empty()
            && multiprocessors
                .all(|it| it.is_some_and(|it| self.is_unknown(it, bounds, threads, &functions)));
        self.targets = targets;
        is_unknown.then(|| match known(bounds.least_ctas) {
            Some(ctas) => Ignored::TooManyCtas { span: ctas.span, ctas: ctas.value, threads },
            None => Ignored::NothingSaid,
        })
    }

    /// Whether nothing tells how many registers a thread starts with.
    fn is_unknown(
        &mut self,
        multiprocessor: Multiprocessor,
        bounds: LaunchBounds,
        threads: u64,
        functions: &[u32],
    ) -> bool {
        let fits_asked = match bounds.least_ctas {
            None => false,
            Some(ctas) => ctas.value.is_none_or(|ctas| multiprocessor.fits_threads(ctas.into(), threads)),
        };
        !fits_asked
            && multiprocessor.fits_threads(2, threads)
            && self.needed(functions) <= Multiprocessor::registers(2, threads)
            && self.shared_memory(functions).is_some_and(|bytes| multiprocessor.fits_shared_memory(2, bytes))
    }

    /// The most registers that one instruction of these functions needs.
    fn needed(&mut self, functions: &[u32]) -> u64 {
        let unit = self.unit;
        let of = |function: u32| {
            let range = Cfg::instruction_range(&unit.module, unit.module.functions[function as usize].body);
            let others = unit.operations.others_within(range).iter();
            others.filter_map(|instruction| registers_needed(unit, *instruction)).max().unwrap_or(0)
        };
        let needs = &mut self.needs;
        functions.iter().map(|it| *needs.entry(*it).or_insert_with(|| of(*it))).max().unwrap_or(0)
    }

    /// The kernel and the functions that it calls by name, and so on.
    fn reached(&self, kernel: u32) -> Option<Vec<u32>> {
        let mut found = vec![kernel];
        let mut seen: FxHashSet<u32> = found.iter().copied().collect();
        let mut next = 0;
        while let Some(&function) = found.get(next) {
            next += 1;
            found.extend(self.calls.callees(function).iter().copied().filter(|callee| seen.insert(*callee)));
            if found.len() > MANY {
                return None;
            }
        }
        Some(found)
    }

    /// A function that calls itself, through others or not.
    fn recursive(&self, functions: &[u32]) -> Option<u32> {
        let circles = self.component.callees_first.iter().filter(|circle| {
            circle.len() > 1 || circle.first().is_some_and(|it| self.calls.callees(*it).contains(it))
        });
        let in_circles: FxHashSet<u32> = circles.flatten().copied().collect();
        functions.iter().copied().find(|function| in_circles.contains(function))
    }

    /// As many bytes of shared memory as these functions declare and use at most, if that is known.
    fn shared_memory(&mut self, functions: &[u32]) -> Option<u64> {
        let unit = self.unit;
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut sum = 0u64;
        let mut least_before: Option<u64> = None;
        for &function in functions {
            let body = unit.module.functions[function as usize].body;
            let variables = self.variables.entry(function).or_insert_with(|| shared_variables(unit, body));
            for (_, size) in variables.as_ref()?.iter().filter(|(name, _)| seen.insert(*name)) {
                let Size { bytes, before } = (*size)?;
                sum = sum.checked_add(bytes)?.checked_add(before)?;
                least_before = Some(least_before.map_or(before, |least| least.min(before)));
            }
        }
        // Before one of them there is nothing.
        Some(sum - least_before.unwrap_or(0))
    }
}

/// How many registers the assembler wants for one of the instructions that move or multiply many at once: those
/// that it names, and some for addresses and the like. C7602 says the number, "Try to compile with register target
/// of 146 or higher" (`fixtures/ptxas/setmaxnreg.tsv`).
pub fn registers_needed(unit: &Unit, instruction: u32) -> Option<u64> {
    let opcode = unit.operations.of(instruction);
    let raw = &unit.module.instructions[instruction as usize];
    let others = match (opcode.operation(), opcode.tensor) {
        (Some(Operation::WgmmaMmaAsync), _) => 26,
        (Some(Operation::WgmmaMmaAsyncSp), _) => 27,
        (_, Some(operation)) if matches!(Pending::of(operation), Some(Pending::Load | Pending::Store)) => 18,
        _ => return None,
    };
    let operands = unit.module.operands(raw.operands);
    let named = operands.iter().map(|operand| match operand.kind() {
        OperandKind::Vector(parts) => u64::from(parts.len),
        // What `tcgen05.ld.red` found.
        OperandKind::Name if opcode.is_tensor() => 1,
        _ => 0,
    });
    Some(named.sum::<u64>() + others)
}

/// How many registers a thread can have at most by what a kernel says, and what says so: `.maxnreg`, or the threads
/// of as many CTAs as shall run at once, whichever is less.
pub fn registers_at_most(target: Target, bounds: &LaunchBounds) -> Option<Spanned<u64>> {
    let multiprocessor = Multiprocessor::of(target)?;
    let said = known(bounds.most_registers)
        .map(|it| Spanned::new(u64::from(it.value), it.span))
        // More count for nothing.
        .filter(|it| it.value <= Multiprocessor::MOST_REGISTERS);
    let threads = bounds.most();
    let shared = known(bounds.least_ctas).and_then(|ctas| {
        let (count, threads) = (u64::from(ctas.value), threads?);
        // CTAs for which there is no room count for nothing.
        let fits = multiprocessor.fits_threads(count, threads);
        fits.then(|| Spanned::new(Multiprocessor::registers(count, threads), ctas.span))
    });
    match (said, shared) {
        (Some(said), Some(shared)) if shared.value < said.value => Some(shared),
        (said, shared) => said.or(shared),
    }
}

/// How many a thread can have where one CTA has the multiprocessor for itself, and what says how many threads there
/// are.
pub fn registers_of_one_cta(target: Target, bounds: &LaunchBounds) -> Option<Spanned<u64>> {
    let threads = bounds.most()?;
    let span = bounds.required_threads.or(bounds.most_threads)?.span;
    let fits = Multiprocessor::of(target)?.fits_threads(1, threads);
    fits.then(|| Spanned::new(Multiprocessor::registers(1, threads), span))
}

/// The shared variables that a body declares or names; nothing if there are very many.
fn shared_variables(unit: &Unit, body: Slice) -> Option<Vec<Variable>> {
    let Unit { module, symbols, .. } = unit;
    let mut found: Vec<Variable> = Vec::new();
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut add = |declaration: &Declaration, declarator: &Declarator| {
        if declaration.space == StateSpace::Shared && seen.insert(declarator.name.start) {
            found.push((declarator.name.start, size(unit, declaration, declarator)));
        }
        found.len() <= MANY
    };
    let mut work: Vec<Slice> = Vec::new();
    for statement in module.statements.get(body.range()).unwrap_or_default() {
        match statement.kind() {
            // The assembler keeps it, whether somebody names it or not.
            StatementKind::Declaration(index) => {
                let declaration = &module.declarations[index as usize];
                let mut declarators = module.declarators[declaration.declarators.range()].iter();
                if !declarators.all(|declarator| add(declaration, declarator)) {
                    return None;
                }
            }
            StatementKind::Instruction(index) => work.push(module.instructions[index as usize].operands),
            _ => {}
        }
        while let Some(slice) = work.pop() {
            for id in symbols.symbol_operands(slice.range()).flatten() {
                let symbol = symbols.symbol(id);
                if let SymbolKind::Variable { space: StateSpace::Shared, .. } = symbol.kind
                    && let Some((declaration, declarator)) = unit.declaration(symbol)
                    && !add(declaration, declarator)
                {
                    return None;
                }
            }
            work.extend(module.operands(slice).iter().map(Operand::parts).filter(|it| it.len > 0));
        }
    }
    Some(found)
}

/// The size of a variable; no bytes where the launch says how many there are.
fn size(unit: &Unit, declaration: &Declaration, declarator: &Declarator) -> Option<Size> {
    let bits = declaration.ty.and_then(Type::bits)?;
    let element = u64::from(bits.div_ceil(8)) * u64::from(declaration.vector.max(1));
    let before = declaration.align.map_or(element, u64::from).saturating_sub(1);
    let dimensions = unit.module.operands(declarator.dimensions);
    if dimensions.iter().any(|dimension| dimension.kind() == OperandKind::Sink) {
        return Some(Size { bytes: 0, before });
    }
    let count = |dimension| u64::try_from(literal::evaluate(&unit.source, &unit.module, dimension)?).ok();
    let bytes = dimensions.iter().try_fold(element, |bytes, it| bytes.checked_mul(count(it)?))?;
    Some(Size { bytes, before })
}
