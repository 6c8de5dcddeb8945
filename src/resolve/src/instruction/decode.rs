//! From raw instructions to typed ones.
//!
//! The opcode is split at its dots into words with spans, the words are matched against the
//! instruction table, the operands are aligned with the positions that the qualifiers leave, and
//! the result is a typed [`Instruction`] or a list of [`Problem`]s. Nothing here knows a
//! particular instruction but the constructors.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::form::{Problem, Qualifiers};
use super::gates::gated_operands;
use super::{Address, Base, Immediate, Instruction, Name, Register, Scalar, Variable, Vector, types};
use crate::isa::tensor::{Condition, InstructionForm, OperandClass, OperandSlot};
use crate::isa::vocabulary::CtaGroup;
use crate::operations::Operations;
use crate::source::{Source, Span};
use crate::symbols::{RegisterId, Resolution, SymbolKind, Symbols};
use crate::syntax::ast::{
    BinaryOperator, Function, Module, Operand, OperandKind, Slice, StatementKind, Type, UnaryOperator,
};
use crate::syntax::literal;
use crate::unit::Unit;

mod align;
mod construct;
mod exchanged;
mod opcode;
mod open;

use align::{Step, accepts, align, operand_counts};
use construct::construct;
pub use opcode::insertion_point;
use opcode::{operation, qualifiers, similar_operations, split_opcode};

/// A tcgen05 instruction and what is known of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decoded<'s> {
    /// Its statement in the module.
    pub statement: u32,
    /// Its place in [`Module::instructions`].
    pub index: u32,
    /// The function that it stands in.
    pub function: Option<u32>,
    /// All of it.
    pub span: Span,
    /// The opcode with its qualifiers.
    pub opcode: Span,
    /// `tcgen05` and the words of the operation.
    pub name: Span,
    /// Its row of the table, if it has one.
    pub form: Option<&'static InstructionForm>,
    /// Its qualifiers as written.
    pub qualifiers: Qualifiers,
    /// Its operands and the positions they fill. [`Decoder::for_checks`] keeps them only where something about them
    /// is to be said; what a sound instruction has is in `instruction`, too.
    pub operands: Vec<Bound<'s>>,
    /// What is wrong with its form.
    pub problems: Vec<Problem>,
    /// The typed instruction; none when the form is broken.
    pub instruction: Option<Instruction<'s>>,
    /// The registers that are operands by themselves, or that addresses start from.
    pub registers: SmallVec<[RegisterId; 6]>,
    /// Its `.cta_group`.
    pub cta_group: Option<CtaGroup>,
    /// Whether its qualifiers stand in the order of its form.
    pub is_in_order: bool,
    /// Whether it has registers of a wrong type, or vectors that are not simply registers of one type, each
    /// written once.
    pub has_odd_registers: bool,
}

/// An operand in its position.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bound<'s> {
    /// The position.
    pub slot: &'static OperandSlot,
    /// The operand.
    pub value: Value<'s>,
    /// Where.
    pub span: Span,
    /// Whether the position takes an operand of this kind.
    pub fits: bool,
    /// Whether the position takes registers of its types, as far as these are known.
    pub is_typed: bool,
}

impl Bound<'_> {
    /// The register that it is, or that it starts from.
    fn register(&self) -> Option<RegisterId> {
        match &self.value {
            Value::Scalar(Scalar::Register(register))
            | Value::Address(Address { base: Base::Register(register), .. }) => Some(register.id),
            _ => None,
        }
    }
}

/// An operand before its position gives it a type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value<'s> {
    /// A register, immediate or variable.
    Scalar(Scalar<'s>),
    /// `!p`
    Not(Register<'s>),
    /// `[base+offset]`
    Address(Address<'s>),
    /// `{a, b}`
    Vector(Vector<'s>),
    /// Something else; how to call it.
    Other(&'static str),
}

/// How an operand with an undeclared name in it is called. The name has a finding of its own, so
/// that nothing else is said about the operand.
const UNDECLARED: &str = "an undeclared name";

/// How an operand is called that is not known: the host language decides what it is.
const UNKNOWN: &str = "an unknown operand";

/// Decodes every tcgen05 instruction of the module.
pub fn decode_all(unit: &Unit) -> Vec<Decoded<'_>> {
    let mut decoder = Decoder::new(unit);
    let functions: Vec<u32> = unit.module.bodies().map(|(function, _)| function).collect();
    let mut all = decoder.decode(&functions);
    all.extend(decoder.outside_functions());
    all.sort_by_key(|decoded| decoded.index);
    all
}

/// What a sound opcode says, wherever it stands.
#[derive(Debug)]
struct Opcode {
    /// Where it was read.
    span: Span,
    name: Span,
    form: &'static InstructionForm,
    qualifiers: Qualifiers,
    cta_group: Option<CtaGroup>,
    is_in_order: bool,
}

impl Opcode {
    fn of(decoded: &Decoded<'_>) -> Option<Self> {
        let Decoded { opcode, name, form, ref qualifiers, cta_group, is_in_order, .. } = *decoded;
        let qualifiers = qualifiers.clone();
        Some(Self { span: opcode, name, form: form?, qualifiers, cta_group, is_in_order })
    }

    /// The same in another place.
    fn at<'s>(&self, opcode: Span) -> Decoded<'s> {
        let moved = |span: Span| {
            let start = opcode.start + (span.start - self.span.start);
            Span::new(start, start + span.len())
        };
        let mut qualifiers = self.qualifiers.clone();
        qualifiers.move_spans(moved);
        Decoded {
            name: moved(self.name),
            form: Some(self.form),
            qualifiers,
            cta_group: self.cta_group,
            is_in_order: self.is_in_order,
            ..Decoded::unknown(opcode)
        }
    }
}

impl Decoded<'_> {
    /// An instruction of which nothing is known but where its opcode stands.
    fn unknown(opcode: Span) -> Self {
        Self {
            statement: 0,
            index: 0,
            function: None,
            span: opcode,
            opcode,
            name: opcode,
            form: None,
            qualifiers: Qualifiers::default(),
            operands: Vec::new(),
            problems: Vec::new(),
            instruction: None,
            registers: SmallVec::new(),
            cta_group: None,
            is_in_order: false,
            has_odd_registers: false,
        }
    }

    fn find_odd_registers(&self) -> bool {
        let mut written = 0;
        self.operands.iter().any(|bound| {
            let is_written = matches!(
                bound.slot.class,
                OperandClass::LoadVector | OperandClass::MetadataVector | OperandClass::ReductionResult
            );
            written += u32::from(is_written);
            let is_odd = match &bound.value {
                Value::Vector(vector) => !vector.is_uniform || is_written && !vector.is_ascending,
                _ => false,
            };
            // Of several operands that are written, a register may be in each.
            is_odd || !bound.is_typed || written > 1
        })
    }

    /// Whether a rule may want to know where one of its operands stands.
    fn has_operand_of_interest(&self) -> bool {
        // Which targets have the instruction may depend on an operand.
        let is_gated = |bound: &Bound<'_>| gated_operands().contains(&bound.slot.name);
        !self.problems.is_empty() || self.has_odd_registers || self.operands.iter().any(is_gated)
    }
}

/// Decodes the instruction of one statement in a function, if it is one of tcgen05.
pub fn decode_statement(unit: &Unit, statement: u32, function: Option<u32>) -> Option<Decoded<'_>> {
    let StatementKind::Instruction(index) = unit.module.statements.get(statement as usize)?.kind() else {
        return None;
    };
    let mut decoder = Decoder::new(unit);
    let mut decoded = decoder.opcode(unit.module.instructions[index as usize].opcode)?;
    decoder.complete(&mut decoded, (statement, index, function));
    Some(decoded)
}

/// Decodes tcgen05 instructions.
#[derive(Debug)]
pub struct Decoder<'s> {
    unit: &'s Unit,
    source: &'s Source,
    module: &'s Module,
    symbols: &'s Symbols,
    operations: &'s Operations,
    /// Where the elements of a vector are collected.
    elements: RefCell<Vec<Scalar<'s>>>,
    /// By the number of an opcode, its place below: a module has thousands of instructions, but only a few dozen of
    /// these.
    known: FxHashMap<u32, u32>,
    opcodes: Vec<Opcode>,
    /// Whether the operands of every instruction are kept.
    keeps_operands: bool,
    /// Where the operands of an instruction are that are not kept.
    bound: Vec<Bound<'s>>,
    /// Where the operands of an instruction are collected.
    values: Vec<(Value<'s>, Span)>,
    /// The registers that were last asked for: they are declared together, and mostly stand together.
    last: Cell<Declared>,
}

/// Scalar registers of one declaration.
#[derive(Clone, Copy, Debug, Default)]
struct Declared {
    first: u32,
    count: u32,
    ty: Option<Type>,
}

impl Declared {
    /// No more of them are known together.
    const MOST: u32 = 1 << 16;
}

/// How the elements of a vector are alike so far.
#[derive(Clone, Copy, Debug)]
struct Alike {
    last: Option<(RegisterId, Option<Type>)>,
    is_uniform: bool,
    is_ascending: bool,
}

impl Default for Alike {
    fn default() -> Self {
        Self { last: None, is_uniform: true, is_ascending: true }
    }
}

impl Alike {
    /// One of them is no register.
    const NOT: Self = Self { last: None, is_uniform: false, is_ascending: false };

    fn add(&mut self, register: &Register<'_>) {
        let Register { id, ty, component, plus, .. } = *register;
        if component || plus.is_some() {
            *self = Self::NOT;
        } else if let Some((last, type_of_last)) = self.last.replace((id, ty)) {
            self.is_uniform &= type_of_last == ty;
            self.is_ascending &= last < id;
        }
    }
}

impl<'s> Decoder<'s> {
    /// A decoder for the instructions of a unit.
    pub fn new(unit: &'s Unit) -> Self {
        let Unit { source, module, symbols, operations, .. } = unit;
        Self {
            unit,
            source,
            module,
            symbols,
            operations,
            elements: RefCell::default(),
            known: FxHashMap::default(),
            opcodes: Vec::new(),
            keeps_operands: true,
            bound: Vec::new(),
            values: Vec::new(),
            last: Cell::default(),
        }
    }

    /// One that keeps [`Decoded::operands`] only where something is wrong with the instruction or odd about it.
    pub fn for_checks(unit: &'s Unit) -> Self {
        Self { keeps_operands: false, ..Self::new(unit) }
    }

    /// The functions that have tcgen05 instructions, in the order of the module.
    pub fn functions(&self) -> Vec<u32> {
        let has_some = |(index, function): (u32, &Function)| {
            (!self.operations.tensor_within(function.body.range()).is_empty()).then_some(index)
        };
        self.module.bodies().filter_map(has_some).collect()
    }

    /// Decodes the tcgen05 instructions of some functions, which are in the order of the module.
    pub fn decode(&mut self, functions: &[u32]) -> Vec<Decoded<'s>> {
        let body = |function: u32| self.module.functions[function as usize].body.range();
        let count = functions.iter().map(|it| self.operations.tensor_within(body(*it)).len()).sum();
        let mut all = Vec::with_capacity(count);
        for function in functions {
            let body = self.module.functions[*function as usize].body.range();
            self.decode_range(body, Some(*function), &mut all);
        }
        all
    }

    /// Decodes the tcgen05 instructions that stand in no function.
    pub fn outside_functions(&mut self) -> Vec<Decoded<'s>> {
        let mut all = Vec::new();
        let mut next = 0;
        let module = self.module;
        for (_, function) in module.bodies() {
            let body = function.body.range();
            self.decode_range(next..body.start, None, &mut all);
            next = body.end.max(next);
        }
        self.decode_range(next..module.statements.len(), None, &mut all);
        all
    }

    fn decode_range(&mut self, statements: Range<usize>, function: Option<u32>, all: &mut Vec<Decoded<'s>>) {
        let within = self.operations.tensor_within(statements);
        all.reserve(within.len());
        for &(statement, instruction) in within {
            let raw = &self.module.instructions[instruction as usize];
            let number = self.operations.number(instruction);
            if let Some(same) = self.known.get(&number) {
                all.push(self.opcodes[*same as usize].at(raw.opcode));
            } else {
                let Some(decoded) = self.opcode(raw.opcode) else { continue };
                if decoded.problems.is_empty()
                    && let Some(opcode) = Opcode::of(&decoded)
                {
                    self.known.insert(number, self.opcodes.len() as u32);
                    self.opcodes.push(opcode);
                }
                all.push(decoded);
            }
            if let Some(decoded) = all.last_mut() {
                self.complete(decoded, (statement, instruction, function));
            }
        }
    }

    /// What the opcode says by itself, if it is one of tcgen05.
    fn opcode(&self, opcode: Span) -> Option<Decoded<'s>> {
        let words = split_opcode(self.source, opcode);
        let (first, words) = words.split_first()?;
        if first.value != "tcgen05" {
            return None;
        }
        let mut decoded = Decoded { name: first.span, ..Decoded::unknown(opcode) };
        // White space may stand before a qualifier, but not within the name.
        if let Some(word) = words.first()
            && word.span.start != first.span.end
            && let Some((operation, used)) = operation(words)
        {
            let span = first.span.to(words[used - 1].span);
            decoded.problems.push(Problem::SplitName { span, operation });
            return Some(decoded);
        }
        let Some((operation, used)) = operation(words) else {
            let named = words.first().map_or(first.span, |word| word.span);
            let similar = similar_operations(words.first().map_or("", |word| word.value));
            decoded.problems.push(Problem::UnknownInstruction { span: named, similar });
            return Some(decoded);
        };
        let form = InstructionForm::of(operation);
        decoded.form = Some(form);
        decoded.name = words[..used].last().map_or(first.span, |word| first.span.to(word.span));
        qualifiers(&mut decoded, form, &words[used..]);
        decoded.cta_group = decoded.qualifiers.get::<CtaGroup>().map(|group| group.value);
        let mut slots = form.qualifiers.iter();
        decoded.is_in_order =
            decoded.qualifiers.iter().all(|it| slots.any(|slot| slot.slot == it.value.slot()));
        Some(decoded)
    }

    /// Adds where the instruction stands - its statement, itself, its function - and what stands
    /// before the opcode and behind it.
    fn complete(&mut self, decoded: &mut Decoded<'s>, place: (u32, u32, Option<u32>)) {
        (decoded.statement, decoded.index, decoded.function) = place;
        decoded.span = self.module.statements[decoded.statement as usize].span;
        let raw = &self.module.instructions[decoded.index as usize];
        if let Some(guard) = self.module.guard(raw)
            && let Some(problem) = self.guard(guard.name, self.symbols.guard(decoded.index))
        {
            decoded.problems.insert(0, problem);
        }
        let Some(form) = decoded.form else { return };
        if !self.keeps_operands {
            decoded.operands = std::mem::take(&mut self.bound);
        }
        self.operands(decoded, form, raw.operands);
        if decoded.problems.iter().all(|problem| problem.is_harmless(form)) {
            decoded.instruction = construct(form.operation, &decoded.qualifiers, &decoded.operands);
        }
        decoded.registers = decoded.operands.iter().filter_map(Bound::register).collect();
        decoded.has_odd_registers = decoded.find_odd_registers();
        if !self.keeps_operands && !decoded.has_operand_of_interest() {
            self.bound = std::mem::take(&mut decoded.operands);
            self.bound.clear();
        }
    }

    /// What is wrong with a guard.
    fn guard(&self, span: Span, resolution: Resolution) -> Option<Problem> {
        let (found, declaration) = match resolution {
            Resolution::Undeclared => return Some(Problem::Undeclared { span, guard: true }),
            Resolution::Special(_) => ("a special register".to_owned(), None),
            Resolution::Register(id) => {
                let symbol = self.symbols.register(id);
                match symbol.kind {
                    SymbolKind::Register { ty: Some(Type::Pred), vector: 1, .. } => return None,
                    SymbolKind::Register { ty: Some(ty), vector: 1, .. } => {
                        (format!("a `.{ty}` register"), Some(symbol.span))
                    }
                    _ => ("a vector register".to_owned(), Some(symbol.span)),
                }
            }
            Resolution::Symbol(id) => {
                let symbol = self.symbols.symbol(id);
                let found = match symbol.kind {
                    SymbolKind::Variable { .. } => "a variable",
                    SymbolKind::Label { .. } => "a label",
                    SymbolKind::Function { .. } => "a function",
                    SymbolKind::Register { .. } => "a register",
                };
                (found.to_owned(), Some(symbol.span))
            }
        };
        Some(Problem::Guard { span, found, declaration })
    }

    /// Aligns the operands with the positions of the form.
    fn operands(&mut self, decoded: &mut Decoded<'s>, form: &'static InstructionForm, operands: Slice) {
        let mut values = std::mem::take(&mut self.values);
        values.extend(operands.range().map(|index| {
            let operand = &self.module.operands[index];
            (self.value(index, operand, &mut decoded.problems), operand.span())
        }));
        let open = decoded.problems.iter().find_map(|problem| match problem {
            Problem::UnknownQualifier { span, .. } if self.unit.holes.has_unknown(*span) => Some(*span),
            _ => None,
        });
        match open.filter(|_| self.unit.has_open_qualifiers(decoded.opcode.start)) {
            Some(word) => open::bind(decoded, form, word.start == decoded.name.end, &values),
            None => Self::bind(decoded, form, &mut values),
        }
        values.clear();
        self.values = values;
    }

    /// Aligns values with the positions of the form.
    fn bind(decoded: &mut Decoded<'s>, form: &'static InstructionForm, values: &mut Vec<(Value<'s>, Span)>) {
        let Some(alignment) = align(form, &decoded.qualifiers, values) else {
            let (least, most) = operand_counts(form, &decoded.qualifiers);
            let span = match (values.first(), values.last()) {
                (Some((_, first)), Some((_, last))) => first.to(*last),
                _ => Span::at(decoded.opcode.end),
            };
            decoded.problems.push(Problem::Count { span, found: values.len(), least, most });
            return;
        };
        decoded.operands.reserve(values.len());
        let mut values = values.drain(..);
        let mut last = Span::at(decoded.opcode.end);
        for step in alignment {
            match step {
                Step::Absent(slot) => {
                    decoded.problems.push(Problem::Absent { span: Span::at(last.end), slot });
                }
                Step::Take(slot) => {
                    let Some((value, span)) = values.next() else { break };
                    last = span;
                    let problem = if slot.when.holds(&decoded.qualifiers.words()) {
                        accepts(slot, &decoded.qualifiers, &value, span).err()
                    } else {
                        Some(Problem::Unexpected { span, slot })
                    };
                    let (fits, is_typed) = (problem.is_none(), types::fit(slot, &value));
                    decoded.problems.extend(problem);
                    decoded.operands.push(Bound { slot, value, span, fits, is_typed });
                }
            }
        }
        exchanged::find(decoded);
    }

    /// Reads one operand.
    fn value(&self, index: usize, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        if let Some(register) = self.plain_register(index, operand) {
            return Value::Scalar(Scalar::Register(register));
        }
        let parts = self.module.parts(operand);
        match operand.kind() {
            OperandKind::Address(parts) => self.address(parts, operand.span(), problems),
            OperandKind::Vector(parts) => self.vector(parts, operand.span(), problems),
            OperandKind::Unary(UnaryOperator::Not, inner) => {
                match self.value(inner.start as usize, &parts[0], problems) {
                    Value::Scalar(Scalar::Register(register)) => {
                        Value::Not(Register { span: operand.span(), ..register })
                    }
                    _ => self.scalar(index, operand, problems),
                }
            }
            _ => self.scalar(index, operand, problems),
        }
    }

    /// The register that an operand is, if it is one of no special sort: most operands are.
    #[inline]
    fn plain_register(&self, index: usize, operand: &Operand) -> Option<Register<'s>> {
        // Whatever else is called `WARP_SZ`, it is a number.
        if !operand.is_plain_name() {
            return None;
        }
        let Resolution::Register(id) = self.symbols.operand(index as u32) else { return None };
        let Declared { ty, .. } = self.declared(id)?;
        let span = operand.span();
        let name = Name::new(self.source, span);
        Some(Register { name, span, ty, id, component: false, plus: None })
    }

    /// How a register is declared, if that is no vector.
    #[inline]
    fn declared(&self, register: RegisterId) -> Option<Declared> {
        let last = self.last.get();
        if register.0.wrapping_sub(last.first) < last.count {
            return Some(last);
        }
        let SymbolKind::Register { ty, vector: 1, count, first } = self.symbols.register(register).kind
        else {
            return None;
        };
        let found = Declared { first: first.0, count: count.unwrap_or(1).min(Declared::MOST), ty };
        self.last.set(found);
        Some(found)
    }

    fn scalar(&self, index: usize, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        if let Some(value) = literal::evaluate(self.source, self.module, operand) {
            return Value::Scalar(Scalar::Immediate(Immediate::new(value, operand.span())));
        }
        match operand.kind() {
            OperandKind::Name => self.name(index, operand, problems),
            OperandKind::Float => Value::Scalar(Scalar::Float(operand.span())),
            OperandKind::String => Value::Other("a string"),
            OperandKind::Sink => Value::Other("`_`"),
            OperandKind::Binary(BinaryOperator::Or, parts) => {
                self.visit(parts, problems);
                Value::Other("a pair `p|q`")
            }
            OperandKind::Binary(BinaryOperator::Add, parts) => self.sum(parts, operand, problems),
            OperandKind::List(parts) => {
                self.visit(parts, problems);
                Value::Other("a list in parentheses")
            }
            OperandKind::Element(_) | OperandKind::Apply(_) => Value::Other("an element of a variable"),
            OperandKind::Unary(_, parts)
            | OperandKind::Binary(_, parts)
            | OperandKind::Conditional(parts)
            | OperandKind::Cast(_, parts) => {
                self.visit(parts, problems);
                Value::Other("an expression that is not constant")
            }
            OperandKind::Integer => Value::Other("a number of more than 64 bits"),
            OperandKind::Address(_) | OperandKind::Vector(_) => Value::Other("a nested operand"),
        }
    }

    /// Reports the undeclared names within an operand that is wrong anyway.
    fn visit(&self, parts: Slice, problems: &mut Vec<Problem>) {
        for index in parts.range() {
            self.value(index, &self.module.operands[index], problems);
        }
    }

    fn name(&self, index: usize, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        let text = self.source.slice(operand.span());
        match self.symbols.operand(index as u32) {
            Resolution::Register(id) => self.register(id, text, operand.span()),
            Resolution::Symbol(id) => {
                let symbol = self.symbols.symbol(id);
                match symbol.kind {
                    SymbolKind::Variable { space, .. } => Value::Scalar(Scalar::Variable(Variable {
                        name: text,
                        span: operand.span(),
                        space,
                        id,
                        plus: None,
                    })),
                    SymbolKind::Label { .. } => Value::Other("a label"),
                    SymbolKind::Function { .. } => Value::Other("a function"),
                    SymbolKind::Register { .. } => Value::Other("a register"),
                }
            }
            Resolution::Special(_) => Value::Scalar(Scalar::Special(operand.span())),
            Resolution::Undeclared if self.has_unknown(operand) => Value::Other(UNKNOWN),
            Resolution::Undeclared => {
                problems.push(Problem::Undeclared { span: operand.span(), guard: false });
                Value::Other(UNDECLARED)
            }
        }
    }

    fn register(&self, id: RegisterId, name: &'s str, span: Span) -> Value<'s> {
        let symbol = self.symbols.register(id);
        let SymbolKind::Register { ty, vector, .. } = symbol.kind else {
            return Value::Other("a name");
        };
        let component = name.split_once('.').map(|(_, component)| component);
        let name = Name::new(self.source, span);
        let selects = |it| matches!((it, vector), ("x" | "y" | "r" | "g", _) | ("z" | "w" | "b" | "a", 3..));
        let is_component = component.is_some_and(selects);
        match (vector, component) {
            (1, None) => {
                Value::Scalar(Scalar::Register(Register { name, span, ty, id, component: false, plus: None }))
            }
            (1, Some(_)) => Value::Other("a component of a register that is not a vector"),
            (_, None) => Value::Other("a vector register"),
            (_, Some(_)) if is_component => {
                Value::Scalar(Scalar::Register(Register { name, span, ty, id, component: true, plus: None }))
            }
            (_, Some(_)) => Value::Other("no component of a vector register"),
        }
    }

    /// `%r+4` without brackets.
    fn sum(&self, parts: Slice, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        let [left, right] = self.module.operands(parts) else {
            return Value::Other("an expression");
        };
        // Addresses are counted modulo 2^64.
        let constant = literal::evaluate(self.source, self.module, right).map(|value| value as i64);
        match (self.value(parts.start as usize, left, problems), constant) {
            (Value::Scalar(Scalar::Register(register)), Some(plus)) => {
                Value::Scalar(Scalar::Register(Register {
                    span: operand.span(),
                    plus: Some(plus),
                    ..register
                }))
            }
            (Value::Scalar(Scalar::Variable(variable)), Some(plus)) => {
                Value::Scalar(Scalar::Variable(Variable {
                    span: operand.span(),
                    plus: Some(plus),
                    ..variable
                }))
            }
            (Value::Other(UNKNOWN), _) => Value::Other(UNKNOWN),
            _ if self.has_unknown(right) => Value::Other(UNKNOWN),
            _ => Value::Other("an expression that is not constant"),
        }
    }

    fn address(&self, parts: Slice, span: Span, problems: &mut Vec<Problem>) -> Value<'s> {
        let [inner] = self.module.operands(parts) else {
            return Value::Other("an address of several parts");
        };
        if let OperandKind::Binary(BinaryOperator::Subtract, _) = inner.kind() {
            self.visit(parts, problems);
            return Value::Other("a difference; PTX only adds: write `+-` for `-`");
        }
        let (base_index, base, offset) = match inner.kind() {
            OperandKind::Binary(BinaryOperator::Add, sum) => {
                let [left, right] = self.module.operands(sum) else {
                    return Value::Other("an address");
                };
                (sum.start as usize, left, literal::evaluate(self.source, self.module, right))
            }
            _ => (parts.start as usize, inner, Some(0)),
        };
        let base = if base.kind() == OperandKind::Name {
            self.value(base_index, base, problems)
        } else {
            self.visit(parts, problems);
            Value::Other("an expression")
        };
        let base = match base {
            Value::Scalar(Scalar::Register(register)) if !register.component => Base::Register(register),
            Value::Scalar(Scalar::Variable(variable)) => Base::Variable(variable),
            Value::Other(found @ (UNDECLARED | UNKNOWN)) => return Value::Other(found),
            _ if self.has_unknown(inner) => return Value::Other(UNKNOWN),
            _ => {
                return Value::Other(
                    "an address that is neither `[register+constant]` nor `[variable+constant]`",
                );
            }
        };
        match offset {
            Some(offset) => Value::Address(Address { base, offset: offset as i64, span }),
            None if self.has_unknown(inner) => Value::Other(UNKNOWN),
            None => Value::Other("an address with an offset that is not constant"),
        }
    }

    fn vector(&self, parts: Slice, span: Span, problems: &mut Vec<Problem>) -> Value<'s> {
        let mut elements = self.elements.take();
        let (mut is_unknown, mut alike) = (false, Alike::default());
        for index in parts.range() {
            let part = &self.module.operands[index];
            if let Some(register) = self.plain_register(index, part) {
                alike.add(&register);
                elements.push(Scalar::Register(register));
                continue;
            }
            let found = match self.value(index, part, problems) {
                Value::Scalar(scalar) => {
                    match &scalar {
                        Scalar::Register(register) => alike.add(register),
                        _ => alike = Alike::NOT,
                    }
                    elements.push(scalar);
                    continue;
                }
                // Its name is reported already.
                Value::Other(UNDECLARED) => continue,
                Value::Other(UNKNOWN) => {
                    is_unknown = true;
                    continue;
                }
                Value::Other(found) => found,
                Value::Not(_) => "a negated predicate",
                Value::Address(_) => "an address",
                Value::Vector(_) => "a vector",
            };
            problems.push(Problem::Element { span: part.span(), found });
        }
        let Alike { is_uniform, is_ascending, .. } = alike;
        let vector = Vector { elements: elements.as_slice().into(), span, is_uniform, is_ascending };
        elements.clear();
        self.elements.replace(elements);
        if is_unknown { Value::Other(UNKNOWN) } else { Value::Vector(vector) }
    }

    /// Whether a part of an operand is not known.
    fn has_unknown(&self, operand: &Operand) -> bool {
        self.unit.holes.has_unknown(operand.span())
    }
}

/// Whether an operand slot belongs to block scaling.
pub fn is_scale(slot: &OperandSlot) -> bool {
    slot.when == Condition::BlockScaled && slot.class == OperandClass::MmaAddress
}
