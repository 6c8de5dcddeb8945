//! Which functions a kernel can reach.

use std::collections::{BTreeMap, BTreeSet};

use crate::resolve::symbols::{Resolution, SymbolKind, Symbols};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Module, OperandKind, Slice, StatementKind};

/// The calls of a module, as the assembler sees them.
///
/// A function whose address is taken anywhere may be what any indirect call reaches, and the
/// assembler counts it as called by every kernel that takes an address or calls indirectly.
#[derive(Debug, Default)]
pub struct CallGraph {
    calls: BTreeMap<u32, BTreeSet<u32>>,
    /// Functions whose address is taken somewhere.
    addressed: BTreeSet<u32>,
    /// Functions that take an address or call through a register.
    indirect: BTreeSet<u32>,
}

impl CallGraph {
    /// Reads the calls of every function body.
    pub fn new(unit: &Unit) -> Self {
        let Unit { source, module, symbols, .. } = unit;
        let mut graph = Self::default();
        let mut current = None;
        for statement in &module.statements {
            match statement.kind {
                StatementKind::FunctionOpen(function) => current = Some(function),
                StatementKind::FunctionClose => current = None,
                StatementKind::Instruction(index) => {
                    let Some(function) = current else { continue };
                    let instruction = &module.instructions[index as usize];
                    let is_call = is_call(source.slice(instruction.opcode));
                    let named = functions_named(module, symbols, instruction.operands);
                    if is_call {
                        if named.is_empty() {
                            graph.indirect.insert(function);
                        }
                        graph.calls.entry(function).or_default().extend(named);
                    } else if !named.is_empty() {
                        graph.indirect.insert(function);
                        graph.addressed.extend(named);
                    }
                }
                StatementKind::Declaration(index) => {
                    for declarator in
                        &module.declarators[module.declarations[index as usize].declarators.range()]
                    {
                        if let Some(initializer) = declarator.initializer {
                            let slice = Slice { start: initializer, len: 1 };
                            graph.addressed.extend(functions_within(module, symbols, slice));
                        }
                    }
                }
                _ => {}
            }
        }
        graph
    }

    /// Every function that `kernel` can reach, itself included. `counts` says whether the kernel
    /// itself does what makes address-taken functions count as called.
    pub fn reachable(&self, kernel: u32, counts: bool) -> BTreeSet<u32> {
        let mut reached = BTreeSet::new();
        let mut work = vec![kernel];
        if counts {
            work.extend(&self.addressed);
        }
        while let Some(function) = work.pop() {
            if !reached.insert(function) {
                continue;
            }
            work.extend(self.calls.get(&function).into_iter().flatten());
            if self.indirect.contains(&function) {
                work.extend(&self.addressed);
            }
        }
        reached
    }

    /// Every function that can reach one of `functions` by direct calls, these included.
    pub fn callers(&self, functions: &[u32]) -> BTreeSet<u32> {
        let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (caller, callees) in &self.calls {
            for callee in callees {
                callers.entry(*callee).or_default().push(*caller);
            }
        }
        let mut reached = BTreeSet::new();
        let mut work = functions.to_vec();
        while let Some(function) = work.pop() {
            if reached.insert(function) {
                work.extend(callers.get(&function).into_iter().flatten());
            }
        }
        reached
    }
}

/// Whether an opcode is that of a call.
pub(super) fn is_call(opcode: &str) -> bool {
    opcode
        .strip_prefix("call")
        .is_some_and(|rest| rest.is_empty() || !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// The functions that the operands name, by their definition.
pub(super) fn functions_named(module: &Module, symbols: &Symbols, operands: Slice) -> Vec<u32> {
    let mut found = Vec::new();
    for index in operands.range() {
        let operand = &module.operands[index];
        if operand.kind == OperandKind::Name
            && let Resolution::Symbol(id) = symbols.operand(index as u32)
            && let SymbolKind::Function { function } = symbols.symbol(id).kind
        {
            found.push(function);
        }
    }
    found
}

/// The functions that operands name, or parts of them.
fn functions_within(module: &Module, symbols: &Symbols, slice: Slice) -> Vec<u32> {
    let mut found = Vec::new();
    let mut work = vec![slice];
    while let Some(slice) = work.pop() {
        found.extend(functions_named(module, symbols, slice));
        for operand in module.operands(slice) {
            match operand.kind {
                OperandKind::Vector(parts) | OperandKind::Apply(parts) | OperandKind::Binary(_, parts) => {
                    work.push(parts);
                }
                _ => {}
            }
        }
    }
    found
}
