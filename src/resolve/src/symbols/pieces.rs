//! A long module in pieces, the names of which are looked up side by side.
//!
//! What a name in a function means depends on the function, and on what is declared outside of functions in
//! front of it. So a piece begins where a function does, and is told what stands outside before it, and
//! how many declarations and registers there are until then, which are numbered through.

use std::ops::Range;

use crate::families;
use crate::syntax::ast::{Declaration, Module, Slice, StateSpace, StatementKind};
use crate::syntax::threads;

/// Statements that are looked at together, and what is declared before them.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// The statements.
    pub(super) own: Range<usize>,
    /// The declarations outside of functions before them.
    pub(super) outside: Vec<Outside>,
    /// How many things are declared before them, but for functions.
    pub(super) symbols: u32,
    /// How many registers.
    pub(super) registers: u64,
}

/// A declaration outside of functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outside {
    /// Its index in [`Module::declarations`].
    pub(super) declaration: u32,
    /// How many things are declared before it, but for functions.
    pub(super) symbols: u32,
    /// How many registers.
    pub(super) registers: u64,
}

/// The pieces of a module: all statements, in their order.
pub(super) fn pieces(module: &Module, threads: usize) -> Vec<Piece> {
    let all = 0..module.statements.len();
    let whole = || vec![Piece { own: all.clone(), ..Piece::default() }];
    let ranges = cut(module, threads);
    if ranges.len() < 2 {
        return whole();
    }
    let scans = threads::map(ranges.clone(), |own| Scan::of(module, own));
    let scans: Option<Vec<Scan>> = scans.into_iter().collect();
    // Where a piece begins within something, the whole is one.
    let Some(scans) = scans else { return whole() };
    let mut pieces = Vec::with_capacity(ranges.len());
    let mut before = Scan::default();
    for (own, scan) in ranges.into_iter().zip(scans) {
        let Scan { outside, symbols, registers } = &mut before;
        pieces.push(Piece { own, outside: outside.clone(), symbols: *symbols, registers: *registers });
        outside.extend(scan.outside.into_iter().map(|it| Outside {
            symbols: it.symbols + *symbols,
            registers: it.registers + *registers,
            ..it
        }));
        *symbols += scan.symbols;
        *registers += scan.registers;
    }
    pieces
}

/// Ranges of statements that begin where functions do, about equally long.
fn cut(module: &Module, threads: usize) -> Vec<Range<usize>> {
    /// Statements that are worth a thread.
    const WORTH: usize = 1 << 13;
    /// Pieces for each of several threads, which have other things to do beside.
    const EACH: usize = 3;
    let count = module.statements.len();
    let pieces = if threads > 1 { (EACH * threads).min(count / WORTH).max(1) } else { 1 };
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = 0;
    for piece in 1..pieces {
        let from = (count / pieces * piece).max(start + 1);
        let behind = module.statements.get(from..).unwrap_or_default();
        let opens = behind.iter().position(|it| matches!(it.kind(), StatementKind::FunctionOpen(_)));
        let Some(opens) = opens else { break };
        ranges.push(start..from + opens);
        start = from + opens;
    }
    ranges.push(start..count);
    ranges
}

/// What some statements declare.
#[derive(Debug, Default)]
struct Scan {
    outside: Vec<Outside>,
    symbols: u32,
    registers: u64,
}

impl Scan {
    /// Reads the statements; nothing if they close what they did not open, or leave something open.
    fn of(module: &Module, statements: Range<usize>) -> Option<Self> {
        let mut this = Self::default();
        let mut open = 0_usize;
        for statement in &module.statements[statements] {
            match statement.kind() {
                StatementKind::FunctionOpen(function) => {
                    open += 1;
                    let function = &module.functions[function as usize];
                    this.all(module, function.returns);
                    this.all(module, function.parameters);
                }
                StatementKind::UnknownFunctionOpen | StatementKind::BlockOpen => open += 1,
                StatementKind::FunctionClose | StatementKind::BlockClose => open = open.checked_sub(1)?,
                // Of those outside nobody takes note.
                StatementKind::Label => this.symbols += u32::from(open > 0),
                StatementKind::Declaration(declaration) => {
                    if open == 0 {
                        let Self { symbols, registers, .. } = this;
                        this.outside.push(Outside { declaration, symbols, registers });
                    }
                    this.one(module, &module.declarations[declaration as usize]);
                }
                _ => {}
            }
        }
        (open == 0).then_some(this)
    }

    fn all(&mut self, module: &Module, declarations: Slice) {
        for declaration in &module.declarations[declarations.range()] {
            self.one(module, declaration);
        }
    }

    fn one(&mut self, module: &Module, declaration: &Declaration) {
        self.symbols += declaration.declarators.len;
        if makes_registers(declaration) {
            let declarators = &module.declarators[declaration.declarators.range()];
            self.registers += declarators.iter().map(|it| u64::from(registers(it.count))).sum::<u64>();
        }
    }
}

/// Whether what a declaration names are registers.
pub(super) fn makes_registers(declaration: &Declaration) -> bool {
    matches!(declaration.space, StateSpace::Reg | StateSpace::Sreg)
}

/// How many registers a name with this count is.
pub(super) fn registers(count: Option<u32>) -> u32 {
    // A count over the limit is not worth a register number each.
    count.unwrap_or(1).min(families::MOST)
}
