//! Which declaration each name means.
//!
//! PTX names are scoped lexically, and real code repeats the same few names in thousands of
//! scopes. One walk over the statements keeps, for each spelling, the declaration that it means at
//! this point, and an undo log that takes declarations back where their scope closes. So each name
//! is looked up once, in constant time, and the result is kept beside the operand arena.
//!
//! A long module is walked in pieces, on several threads: each begins where a function does, and is told what
//! is declared outside of functions before it.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::register_index::RegisterIndex;
use crate::isa::generic::Class;
use crate::isa::special_registers::Special;
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, StateSpace, Type};
use crate::syntax::threads;

mod pieces;
mod resolver;

use pieces::{Piece, pieces};
use resolver::{Named, Own, Resolver};

/// Index of a declared name in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(super) u32);

/// Index of one register; registers of a module are numbered without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegisterId(pub u32);

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// What it names.
    pub kind: SymbolKind,
    /// Where it is declared.
    pub span: Span,
}

impl Symbol {
    /// Whether it is several registers: `%r<10>`.
    pub(super) const fn is_family(&self) -> bool {
        matches!(self.kind, SymbolKind::Register { count: Some(_), .. })
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// One register, or `count` of them for `%r<count>`.
    Register {
        /// The type, if it is known.
        ty: Option<Type>,
        /// Elements of a vector register; 1 for scalars.
        vector: u8,
        /// How many registers the declaration makes; `None` for a plain name.
        count: Option<u32>,
        /// The first of them.
        first: RegisterId,
    },
    /// A variable in memory.
    Variable {
        /// Where it lives.
        space: StateSpace,
        /// The type of its elements.
        ty: Option<Type>,
        /// Whether it is `.extern`: then its size is said elsewhere.
        is_external: bool,
    },
    /// A label.
    Label {
        /// The statement it stands at.
        statement: u32,
    },
    /// A function; an index into [`Module::functions`].
    Function {
        /// The definition, or the first declaration if it has none here.
        function: u32,
    },
}

/// What a name in an operand or a guard means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A register.
    Register(RegisterId),
    /// A variable, label or function.
    Symbol(SymbolId),
    /// A register of the machine, such as `%tid.x`.
    Special(Special),
    /// Nothing that is declared here.
    Undeclared,
}

/// Compact form of a [`Resolution`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Packed(u32);

impl Packed {
    const TAG: u32 = 3 << 30;
    const REGISTER: u32 = 2;
    const SYMBOL: u32 = 3;
    /// What is not declared.
    const NOTHING: Self = Self(0);

    fn pack(resolution: Resolution) -> Self {
        Self(match resolution {
            Resolution::Undeclared => Self::NOTHING.0,
            Resolution::Special(special) => 1 << 30 | special.to_bits(),
            Resolution::Register(RegisterId(index)) => Self::REGISTER << 30 | index & !Self::TAG,
            Resolution::Symbol(SymbolId(index)) => Self::SYMBOL << 30 | index & !Self::TAG,
        })
    }

    #[inline]
    fn unpack(self) -> Resolution {
        let index = self.0 & !Self::TAG;
        match self.0 >> 30 {
            0 => Resolution::Undeclared,
            1 => Special::of_bits(index).map_or(Resolution::Undeclared, Resolution::Special),
            Self::REGISTER => Resolution::Register(RegisterId(index)),
            _ => Resolution::Symbol(SymbolId(index)),
        }
    }
}

/// What names mean, by index. Each place is written by one thread only.
#[derive(Debug, Default)]
struct Meanings {
    packed: Vec<AtomicU32>,
    /// The class of each, by its number: so whoever compares types has no need to look for declarations.
    classes: Vec<AtomicU8>,
}

impl Meanings {
    fn new(count: usize) -> Self {
        // Memory that is zero as it comes: nothing is written before the first meaning is.
        const { assert!(Packed::NOTHING.0 == 0 && Class::Unknown as u8 == 0) };
        Self {
            packed: vec![0; count].into_iter().map(AtomicU32::new).collect(),
            classes: vec![0; count].into_iter().map(AtomicU8::new).collect(),
        }
    }

    #[inline]
    fn set(&self, index: usize, resolution: Resolution, class: Class) {
        self.packed[index].store(Packed::pack(resolution).0, Ordering::Relaxed);
        self.classes[index].store(class as u8, Ordering::Relaxed);
    }

    /// The numbers of the classes of neighbours.
    #[inline]
    fn classes(&self, range: Range<usize>) -> impl Iterator<Item = u8> + '_ {
        self.classes.get(range).unwrap_or_default().iter().map(|class| class.load(Ordering::Relaxed))
    }

    #[inline]
    fn class(&self, index: usize) -> u8 {
        self.classes.get(index).map_or(Class::Unknown as u8, |class| class.load(Ordering::Relaxed))
    }

    #[inline]
    fn get(&self, index: u32) -> Resolution {
        let packed = self.packed.get(index as usize).map(|packed| Packed(packed.load(Ordering::Relaxed)));
        packed.map_or(Resolution::Undeclared, Packed::unpack)
    }

    /// The same, where only registers matter.
    #[inline]
    fn register(&self, index: u32) -> Option<RegisterId> {
        self.packed.get(index as usize).and_then(register_of)
    }

    /// The same of neighbours.
    #[inline]
    fn registers(&self, range: Range<usize>) -> impl Iterator<Item = Option<RegisterId>> + '_ {
        self.packed.get(range).unwrap_or_default().iter().map(register_of)
    }

    /// The same, where only symbols matter.
    #[inline]
    fn symbols(&self, range: Range<usize>) -> impl Iterator<Item = Option<SymbolId>> + '_ {
        self.packed.get(range).unwrap_or_default().iter().map(symbol_of)
    }
}

/// The symbol that a place of [`Meanings`] means.
#[inline]
fn symbol_of(meaning: &AtomicU32) -> Option<SymbolId> {
    let packed = meaning.load(Ordering::Relaxed);
    (packed >> 30 == Packed::SYMBOL).then_some(SymbolId(packed & !Packed::TAG))
}

/// The register that a place of [`Meanings`] means.
#[inline]
fn register_of(meaning: &AtomicU32) -> Option<RegisterId> {
    let packed = meaning.load(Ordering::Relaxed);
    (packed >> 30 == Packed::REGISTER).then_some(RegisterId(packed & !Packed::TAG))
}

/// All declarations of a module and what each name in it means.
#[derive(Debug, Default)]
pub struct Symbols {
    declared: Declared,
    /// Beside [`Module::operands`].
    operands: Meanings,
    /// Beside [`Module::instructions`].
    guards: Meanings,
    /// What is named somewhere.
    named: Named,
}

/// What is declared.
#[derive(Debug, Default)]
struct Declared {
    symbols: Vec<Symbol>,
    /// The declaration of each group of registers.
    registers: RegisterIndex,
    register_count: u32,
}

impl Symbols {
    /// Resolves every name of the module.
    pub fn new(source: &Source, module: &Module) -> Self {
        let operands = Meanings::new(module.operands.len());
        let guards = Meanings::new(module.instructions.len());
        let walk = |piece: Piece| Resolver::new(source, module, &operands, &guards, piece).run();
        let parts: Vec<Own> = threads::map(pieces(module, threads::count()), walk);
        let mut declared = Declared::default();
        let mut all = Named::default();
        for Own { symbols, registers, register_count, named } in parts {
            all.labels.extend(named.labels);
            all.functions.extend(named.functions);
            all.undeclared.extend(named.undeclared);
            if declared.symbols.is_empty() {
                declared.symbols = symbols;
            } else {
                declared.symbols.extend(symbols);
            }
            for (first, symbol) in registers {
                declared.registers.push(first, symbol);
            }
            declared.register_count = register_count;
        }
        declared.registers.finish(declared.register_count);
        all.labels.sort_unstable();
        // What stands before the first instruction of a piece is counted to the first of all.
        all.functions.sort_unstable();
        Self { declared, operands, guards, named: all }
    }

    /// Whether something names the label that stands at a statement.
    pub fn is_named(&self, label: u32) -> bool {
        self.named.labels.binary_search(&label).is_ok()
    }

    /// Whether some of the instructions name functions; those that do not, certainly name none.
    pub fn may_name_functions(&self, instructions: Range<u32>) -> bool {
        let behind = self.named.functions.partition_point(|it| *it < instructions.start);
        self.named.functions.get(behind).is_some_and(|it| *it < instructions.end)
    }

    /// Where names stand that no declaration gives a meaning.
    pub fn undeclared(&self) -> &[Span] {
        &self.named.undeclared
    }

    /// The symbol with this index.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        self.declared.symbol(id)
    }

    /// Every declaration, in the order in which the walk over the module meets it.
    pub fn all(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.declared.symbols.iter().enumerate().map(|(index, symbol)| (SymbolId(index as u32), symbol))
    }

    /// The declaration that made a register.
    pub fn register(&self, id: RegisterId) -> &Symbol {
        self.symbol(self.register_symbol(id))
    }

    /// The declaration that made a register, by its index.
    pub fn register_symbol(&self, id: RegisterId) -> SymbolId {
        self.declared.registers.get(id)
    }

    /// Number of registers in the module.
    pub fn register_count(&self) -> u32 {
        self.declared.register_count
    }

    /// What the name at this index of the operand arena means.
    #[inline]
    pub fn operand(&self, index: u32) -> Resolution {
        self.operands.get(index)
    }

    /// The register that this operand names, if it names one.
    #[inline]
    pub fn register_operand(&self, index: u32) -> Option<RegisterId> {
        self.operands.register(index)
    }

    /// The same of operands that stand side by side.
    #[inline]
    pub fn register_operands(&self, range: Range<usize>) -> impl Iterator<Item = Option<RegisterId>> + '_ {
        self.operands.registers(range)
    }

    /// The variables, labels and functions that operands name which stand side by side.
    #[inline]
    pub fn symbol_operands(&self, range: Range<usize>) -> impl Iterator<Item = Option<SymbolId>> + '_ {
        self.operands.symbols(range)
    }

    /// The numbers of the classes of what operands name that stand side by side.
    #[inline]
    pub fn classes(&self, range: Range<usize>) -> impl Iterator<Item = u8> + '_ {
        self.operands.classes(range)
    }

    /// The number of the class of what an operand names.
    #[inline]
    pub fn class(&self, operand: usize) -> u8 {
        self.operands.class(operand)
    }

    /// The class of what the guard of this instruction names.
    pub fn guard_class(&self, instruction: u32) -> Class {
        Class::from_number(self.guards.class(instruction as usize))
    }

    /// What the guard of this instruction names.
    pub fn guard(&self, instruction: u32) -> Resolution {
        self.guards.get(instruction)
    }
}

impl Declared {
    fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "parallel")]
    use crate::isa::special_registers::SpecialRegister;
    use crate::syntax::parser::parse;

    /// What each name operand of the last instruction means, in words.
    fn last(body: &str) -> Vec<String> {
        let text = format!(".version 9.0\n.target sm_100a\n.entry k() {{ {body} }}");
        let source = Source::new("t", text).unwrap();
        let module = parse(&source).module;
        let symbols = Symbols::new(&source, &module);
        let instruction = module.instructions.last().unwrap();
        instruction
            .operands
            .range()
            .map(|index| match symbols.operand(index as u32) {
                Resolution::Register(id) => match symbols.register(id).kind {
                    SymbolKind::Register { ty: Some(ty), first, .. } => format!("{ty}+{}", id.0 - first.0),
                    other => format!("{other:?}"),
                },
                Resolution::Symbol(id) => source.slice(symbols.symbol(id).span).to_owned(),
                Resolution::Special(_) => "special".to_owned(),
                Resolution::Undeclared => "undeclared".to_owned(),
            })
            .collect()
    }

    #[test]
    fn parameterised_registers() {
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r0, %r9;"), ["b32+0", "b32+9"]);
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r10, %r;"), ["undeclared", "undeclared"]);
        assert_eq!(last(".reg .b32 %r<10>; .reg .b64 %r; mov.b32 %r5, %r;"), ["b32+5", "b64+0"]);
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r05, %r0009;"), ["b32+5", "b32+9"]);
        assert_eq!(last(".reg .b32 %r1<5>; .reg .b64 %r<9>; mov.b32 %r13, %r4;"), ["b32+3", "b64+4"]);
        assert_eq!(last(".reg .b32 %r1<5>; .reg .b64 %r<90>; mov.b64 %r13, %r1;"), ["b64+13", "b64+1"]);
        assert_eq!(
            last(".reg .b64 %r<9>; { .reg .b32 %r1<5>; } mov.b64 %r13, %r4;"),
            ["undeclared", "b64+4"]
        );
    }

    #[test]
    fn scopes_shadow_and_end() {
        assert_eq!(last(".reg .b32 x; { .reg .b64 x; mov.b64 x, x; }"), ["b64+0", "b64+0"]);
        assert_eq!(last(".reg .b32 x; { .reg .b64 x; } mov.b32 x, x;"), ["b32+0", "b32+0"]);
        assert_eq!(last("{ .reg .b64 x; } mov.b32 x, %tid.x;"), ["undeclared", "special"]);
        assert_eq!(last(".reg .b32 %r<4>; { .reg .b64 %r2; mov.b64 %r2, %r3; }"), ["b64+0", "b32+3"]);
    }

    #[test]
    fn labels_are_known_before_they_stand() {
        assert_eq!(last("bra L; L: { bra L; L: }"), ["L"]);
        assert_eq!(last("{ L: } bra L;"), ["undeclared"]);
    }

    /// What a long module's names mean does not depend on how many threads look them up.
    #[cfg(feature = "parallel")]
    #[test]
    fn threads_make_no_difference() {
        let function = |number: u32| {
            format!(
                ".global .u64 g{number} = g{};\n.reg .b32 %m{number}_<3>, n{number};\n\
                 .func f{number}() {{ .global .u64 t = f0; .reg .b32 %r<9>; .reg .pred p;\n\
                 L: {{ .reg .b64 %r<{number}>; .reg .b32 x; mov.b64 %r1, g{number}; @p bra L; }}\n\
                 mov.b32 %r8, x; call f{}; mov.b32 %r2, %tid.x;\n\
                 mov.b32 %m{}_1, n{}; }}\n",
                number / 2,
                number + 1,
                number / 3,
                number + 1
            )
        };
        let text = (0..4000).fold(".version 9.0\n".to_owned(), |text, number| text + &function(number));
        let source = Source::new("t", text).unwrap();
        let module = parse(&source).module;
        let meanings = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let symbols = pool.install(|| {
                assert_eq!(pieces(&module, threads).len() > 1, threads > 1);
                Symbols::new(&source, &module)
            });
            let operands: Vec<Resolution> =
                (0..module.operands.len() as u32).map(|index| symbols.operand(index)).collect();
            let guards: Vec<Resolution> =
                (0..module.instructions.len() as u32).map(|index| symbols.guard(index)).collect();
            let is_function = |operand: usize| match operands[operand] {
                Resolution::Symbol(id) => matches!(symbols.symbol(id).kind, SymbolKind::Function { .. }),
                _ => false,
            };
            for (index, instruction) in (0..).zip(&module.instructions) {
                let names = instruction.operands.range().any(is_function);
                assert!(!names || symbols.may_name_functions(index..index + 1), "{threads}: {index}");
            }
            let all: Vec<(SymbolKind, Span)> = symbols.all().map(|(_, it)| (it.kind, it.span)).collect();
            (operands, guards, all, symbols.register_count())
        };
        let one = meanings(1);
        assert!(
            one.0.contains(&Resolution::Special(Special::x(SpecialRegister::Tid)))
                && one.0.contains(&Resolution::Undeclared)
        );
        assert!(one == meanings(2) && one == meanings(5));
    }
}
