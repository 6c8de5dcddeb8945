//! Which functions can call which, and which of them have to be looked at together.
//!
//! The graph is built once for a unit. From it come the [`Component`]s: functions between which
//! calls lead back and forth, so that what is known of one may matter to another. Every analysis
//! behind this one works on one component at a time, so that a module of a thousand kernels costs
//! no more memory than its largest, and components can be looked at side by side.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;

use super::cfg::Cfg;
use crate::isa::generic::Control;
use crate::resolve::symbols::{SymbolKind, Symbols};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Module, OperandKind, Slice, StatementKind};
use crate::syntax::threads;

/// The calls of a module, as the assembler sees them.
///
/// A function whose address is taken anywhere may be what any indirect call reaches, and the
/// assembler counts it as called by every kernel that takes an address or calls indirectly.
#[derive(Debug, Default)]
pub struct CallGraph {
    /// By function: the functions that it calls by name, each once.
    calls: FxHashMap<u32, SmallVec<[u32; 4]>>,
    /// Functions whose address is taken somewhere, each once.
    addressed: Vec<u32>,
    /// Functions that take an address or call through a register.
    indirect: FxHashSet<u32>,
}

/// Functions that are worth a thread.
const FUNCTIONS: usize = 64;

/// What a function names of others.
#[derive(Debug, Default)]
struct Named {
    /// What it calls, each once; nothing if it calls nothing.
    calls: Option<SmallVec<[u32; 4]>>,
    /// Those whose address it takes.
    addressed: SmallVec<[u32; 4]>,
    /// Whether it takes one, or calls through a register.
    is_indirect: bool,
}

impl Named {
    /// Reads the instructions of a body.
    fn of(unit: &Unit, body: Slice) -> Self {
        let Unit { module, symbols, operations, .. } = unit;
        let mut this = Self::default();
        let range = Cfg::instruction_range(module, body);
        let calls = |instruction: &u32| operations.of(*instruction).control() == Control::Call;
        if !symbols.may_name_functions(range.clone()) && !operations.others_within(range).iter().any(calls) {
            return this;
        }
        let mut called: FxHashSet<u32> = FxHashSet::default();
        for statement in &module.statements[body.range()] {
            let StatementKind::Instruction(index) = statement.kind() else { continue };
            let instruction = &module.instructions[index as usize];
            let mut named = functions_named(module, symbols, instruction.operands).peekable();
            if operations.of(index).control() == Control::Call {
                this.is_indirect |= named.peek().is_none();
                let calls = this.calls.get_or_insert_default();
                calls.extend(named.filter(|callee| called.insert(*callee)));
            } else if named.peek().is_some() {
                this.is_indirect = true;
                this.addressed.extend(named);
            }
        }
        this
    }
}

impl CallGraph {
    /// Reads the calls of every function body.
    pub fn new(unit: &Unit) -> Self {
        let Unit { module, symbols, .. } = unit;
        let mut graph = Self::default();
        // Kernels cannot be called: without functions there is nothing to find.
        if module.functions.iter().all(|function| function.is_entry || function.body.len == 0) {
            return graph;
        }
        let bodies: Vec<(u32, Slice)> = module.bodies().map(|(index, it)| (index, it.body)).collect();
        let named = |(function, body): &(u32, Slice)| (*function, Named::of(unit, *body));
        let all = threads::map(bodies.chunks(FUNCTIONS).collect(), |some: &[_]| -> Vec<(u32, Named)> {
            some.iter().map(named).collect()
        });
        let mut addressed = FxHashSet::default();
        for (function, Named { calls, addressed: taken, is_indirect }) in all.into_iter().flatten() {
            if is_indirect {
                graph.indirect.insert(function);
            }
            if let Some(calls) = calls {
                graph.calls.insert(function, calls);
            }
            addressed.extend(taken);
        }
        for initializer in module.declarators.iter().filter_map(|it| it.initializer) {
            addressed.extend(functions_within(module, symbols, Slice { start: initializer, len: 1 }));
        }
        graph.addressed = addressed.into_iter().collect();
        graph.addressed.sort_unstable();
        graph
    }

    /// The functions that a function calls by name.
    pub fn callees(&self, function: u32) -> &[u32] {
        self.calls.get(&function).map_or(&[], SmallVec::as_slice)
    }

    /// Whether a function may call what it has no name for.
    pub fn calls_indirectly(&self, function: u32) -> bool {
        self.indirect.contains(&function)
    }

    /// Functions whose address is taken somewhere.
    pub fn addressed(&self) -> &[u32] {
        &self.addressed
    }

    /// Parts the functions that matter to `roots` into components: these, what can call them by
    /// name, and what all of those can call. Functions that only an indirect call could connect are
    /// in one component. In the order of the module.
    pub fn components(&self, roots: &[u32]) -> Vec<Component> {
        if self.calls.is_empty() && self.indirect.is_empty() {
            return roots.iter().map(|function| Component::of(*function)).collect();
        }
        let mut callers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (caller, callees) in &self.calls {
            for callee in callees {
                callers.entry(*callee).or_default().push(*caller);
            }
        }
        let mut relevant: FxHashSet<u32> = FxHashSet::default();
        let mut work = roots.to_vec();
        while let Some(function) = work.pop() {
            if relevant.insert(function) {
                work.extend(callers.get(&function).into_iter().flatten());
            }
        }
        work.extend(&relevant);
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(function) = work.pop() {
            if seen.insert(function) {
                relevant.insert(function);
                work.extend(self.callees(function));
            }
        }
        let mut functions: Vec<u32> = relevant.into_iter().collect();
        functions.sort_unstable();
        self.part(&functions, roots)
    }

    /// Parts functions by the calls between them.
    fn part(&self, functions: &[u32], roots: &[u32]) -> Vec<Component> {
        let number = |function: u32| functions.binary_search(&function).ok();
        let mut together = UnionFind::<usize>::new(functions.len());
        let mut graph: DiGraph<u32, ()> = DiGraph::with_capacity(functions.len(), 0);
        for function in functions {
            graph.add_node(*function);
        }
        for (index, function) in functions.iter().enumerate() {
            for callee in self.callees(*function).iter().filter_map(|callee| number(*callee)) {
                graph.add_edge(NodeIndex::new(index), NodeIndex::new(callee), ());
                together.union(index, callee);
            }
        }
        // The assembler lets every kernel that has tcgen05 instructions call what has an address.
        let addressed: Vec<usize> = self.addressed.iter().filter_map(|it| number(*it)).collect();
        if let Some((first, more)) = addressed.split_first() {
            let roots: FxHashSet<u32> = roots.iter().copied().collect();
            let calls = |function: &&u32| self.indirect.contains(*function) || roots.contains(*function);
            let calling: Vec<usize> = functions.iter().filter(calls).filter_map(|it| number(*it)).collect();
            for other in more.iter().chain(&calling) {
                together.union(*first, *other);
            }
        }
        let labels = together.into_labeling();
        let mut place: FxHashMap<usize, usize> = FxHashMap::default();
        let mut components: Vec<Component> = Vec::new();
        for (index, function) in functions.iter().enumerate() {
            let at = *place.entry(labels[index]).or_insert_with(|| {
                components.push(Component::default());
                components.len() - 1
            });
            components[at].functions.push(*function);
        }
        // Callees come before their callers.
        for mut circle in kosaraju_scc(&graph) {
            circle.sort_unstable();
            let Some(first) = circle.first() else { continue };
            let at = place[&labels[first.index()]];
            components[at].callees_first.push(circle.into_iter().map(|node| graph[node]).collect());
        }
        components
    }
}

/// Functions that may matter to each other, because calls lead from one to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// The functions, in the order of the module.
    pub functions: Vec<u32>,
    /// The same in circles: functions that can call each other in turn. Callees stand first.
    pub callees_first: Vec<Vec<u32>>,
}

impl Component {
    /// One function by itself, whatever it calls.
    pub fn of(function: u32) -> Self {
        Self { functions: vec![function], callees_first: vec![vec![function]] }
    }
}

/// The functions that operands name, by their definition.
pub fn functions_named<'a>(
    module: &'a Module,
    symbols: &'a Symbols,
    operands: Slice,
) -> impl Iterator<Item = u32> + 'a {
    let start = operands.start as usize;
    // Nearly all are registers, and their text does not matter.
    symbols.symbol_operands(operands.range()).enumerate().filter_map(move |(at, id)| {
        let SymbolKind::Function { function } = symbols.symbol(id?).kind else { return None };
        (module.operands[start + at].kind() == OperandKind::Name).then_some(function)
    })
}

fn functions_within(module: &Module, symbols: &Symbols, slice: Slice) -> Vec<u32> {
    let mut found = Vec::new();
    let mut work = vec![slice];
    while let Some(slice) = work.pop() {
        found.extend(functions_named(module, symbols, slice));
        for operand in module.operands(slice) {
            match operand.kind() {
                OperandKind::Vector(parts) | OperandKind::Apply(parts) | OperandKind::Binary(_, parts) => {
                    work.push(parts);
                }
                _ => {}
            }
        }
    }
    found
}
