//! From raw instructions to typed ones.
//!
//! The opcode is split at its dots into words with spans, the words are matched against the
//! instruction table, the operands are aligned with the positions that the qualifiers leave, and
//! the result is a typed [`Instruction`] or a list of [`Problem`]s. Nothing here knows a
//! particular instruction but the constructors at the end.

use std::cell::RefCell;

use super::form::{Problem, Qualifiers};
use super::{
    Address, Alloc, Base, Commit, Cp, Dealloc, Fence, Immediate, Instruction, Ld, MatrixA, Mma, Predicate,
    Reduction, Register, RelinquishAllocPermit, Scalar, Shift, St, Variable, Vector, Wait,
};
use crate::analysis::symbols::{RegisterId, Resolution, SymbolKind, Symbols};
use crate::isa::instructions::{Condition, InstructionForm, OperandClass, OperandSlot, QualifierSlot, Shape};
use crate::isa::vocabulary::{Operation, Qualifier, Slot};
use crate::rules::Code;
use crate::source::{Source, Span, Spanned};
use crate::syntax::ast::{
    BinaryOperator, Module, Operand, OperandKind, RawInstruction, Slice, StatementKind, Type, UnaryOperator,
};
use crate::syntax::literal;
use rustc_hash::FxHashMap;
use strum::IntoEnumIterator;

/// A tcgen05 instruction and what is known of it.
#[derive(Clone, Debug)]
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
    /// Its operands and the positions they fill.
    pub operands: Vec<Bound<'s>>,
    /// What is wrong with its form.
    pub problems: Vec<Problem>,
    /// The typed instruction; none when the form is broken.
    pub instruction: Option<Instruction<'s>>,
}

/// An operand in its position.
#[derive(Clone, Debug)]
pub struct Bound<'s> {
    /// The position.
    pub slot: &'static OperandSlot,
    /// The operand.
    pub value: Value<'s>,
    /// Where.
    pub span: Span,
    /// Whether the position takes an operand of this kind.
    pub fits: bool,
}

/// An operand before its position gives it a type.
#[derive(Clone, Debug)]
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
/// that nothing else is said of the operand.
const UNDECLARED: &str = "an undeclared name";

/// Decodes every tcgen05 instruction of the module.
pub fn decode_all<'s>(source: &'s Source, module: &'s Module, symbols: &Symbols) -> Vec<Decoded<'s>> {
    let decoder = Decoder { source, module, symbols, elements: RefCell::default() };
    // A module has thousands of instructions, but only a few dozen opcodes.
    let mut known: FxHashMap<&str, Decoded<'s>> = FxHashMap::default();
    let is_tensor =
        |raw: &RawInstruction| source.text().as_bytes()[raw.opcode.range()].starts_with(b"tcgen05");
    // They are large, so that a vector that grows would move megabytes.
    let mut all = Vec::with_capacity(module.instructions.iter().filter(|raw| is_tensor(raw)).count());
    let mut function = None;
    for (index, statement) in module.statements.iter().enumerate() {
        match statement.kind {
            StatementKind::FunctionOpen(index) => function = Some(index),
            StatementKind::FunctionClose => function = None,
            StatementKind::Instruction(instruction) => {
                let raw = &module.instructions[instruction as usize];
                if !is_tensor(raw) {
                    continue;
                }
                let text = source.slice(raw.opcode);
                let mut decoded = if let Some(same) = known.get(text) {
                    same.with_opcode_at(raw.opcode)
                } else {
                    let Some(decoded) = decoder.opcode(raw.opcode) else { continue };
                    if decoded.problems.is_empty() {
                        known.insert(text, decoded.clone());
                    }
                    decoded
                };
                decoder.complete(&mut decoded, (index as u32, instruction, function));
                all.push(decoded);
            }
            _ => {}
        }
    }
    all
}

impl Decoded<'_> {
    /// What a sound opcode says, of the same opcode in another place.
    fn with_opcode_at(&self, opcode: Span) -> Self {
        let moved = |span: Span| {
            let start = opcode.start + (span.start - self.opcode.start);
            Span::new(start, start + span.len())
        };
        let mut same = self.clone();
        same.opcode = opcode;
        same.name = moved(self.name);
        same.qualifiers.move_spans(moved);
        same
    }
}

/// Decodes the instruction of one statement in a function, if it is one of tcgen05.
pub fn decode_statement<'s>(
    source: &'s Source,
    module: &'s Module,
    symbols: &Symbols,
    statement: u32,
    function: Option<u32>,
) -> Option<Decoded<'s>> {
    let StatementKind::Instruction(index) = module.statements.get(statement as usize)?.kind else {
        return None;
    };
    let decoder = Decoder { source, module, symbols, elements: RefCell::default() };
    let mut decoded = decoder.opcode(module.instructions[index as usize].opcode)?;
    decoder.complete(&mut decoded, (statement, index, function));
    Some(decoded)
}

struct Decoder<'a, 's> {
    source: &'s Source,
    module: &'s Module,
    symbols: &'a Symbols,
    /// Where the elements of a vector are collected.
    elements: RefCell<Vec<Scalar<'s>>>,
}

impl<'s> Decoder<'_, 's> {
    /// What the opcode says by itself, if it is one of tcgen05.
    fn opcode(&self, opcode: Span) -> Option<Decoded<'s>> {
        let words = split_opcode(self.source, opcode);
        let (first, words) = words.split_first()?;
        if first.value != "tcgen05" {
            return None;
        }
        let mut decoded = Decoded {
            statement: 0,
            index: 0,
            function: None,
            span: opcode,
            opcode,
            name: first.span,
            form: None,
            qualifiers: Qualifiers::default(),
            operands: Vec::new(),
            problems: Vec::new(),
            instruction: None,
        };
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
        Some(decoded)
    }

    /// Adds where the instruction stands - its statement, itself, its function - and what stands
    /// before the opcode and behind it.
    fn complete(&self, decoded: &mut Decoded<'s>, place: (u32, u32, Option<u32>)) {
        (decoded.statement, decoded.index, decoded.function) = place;
        decoded.span = self.module.statements[decoded.statement as usize].span;
        let raw = &self.module.instructions[decoded.index as usize];
        if let Some(guard) = raw.guard
            && let Some(problem) = self.guard(guard.name, self.symbols.guard(decoded.index))
        {
            decoded.problems.insert(0, problem);
        }
        let Some(form) = decoded.form else { return };
        self.operands(decoded, form, raw.operands);
        if decoded.problems.iter().all(|problem| problem.is_harmless(form)) {
            decoded.instruction = construct(form.operation, &decoded.qualifiers, &decoded.operands);
        }
    }

    /// What is wrong with a guard.
    fn guard(&self, span: Span, resolution: Resolution) -> Option<Problem> {
        let (found, declaration) = match resolution {
            Resolution::Undeclared => return Some(Problem::Undeclared { span, guard: true }),
            Resolution::Special => ("a special register".to_owned(), None),
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
    fn operands(&self, decoded: &mut Decoded<'s>, form: &'static InstructionForm, operands: Slice) {
        let values: Vec<(Value<'s>, Span)> = operands
            .range()
            .map(|index| {
                let operand = &self.module.operands[index];
                (self.value(index, operand, &mut decoded.problems), operand.span)
            })
            .collect();
        let Some(alignment) = align(form, &decoded.qualifiers, &values) else {
            let (least, most) = operand_counts(form, &decoded.qualifiers);
            let span = match (values.first(), values.last()) {
                (Some((_, first)), Some((_, last))) => first.to(*last),
                _ => Span::at(decoded.opcode.end),
            };
            decoded.problems.push(Problem::Count { span, found: values.len(), least, most });
            return;
        };
        decoded.operands.reserve_exact(values.len());
        let mut values = values.into_iter();
        let mut last = Span::at(decoded.opcode.end);
        for step in alignment {
            match step {
                Step::Absent(slot) => {
                    decoded.problems.push(Problem::Absent { span: Span::at(last.end), slot });
                }
                Step::Take(slot) => {
                    let Some((value, span)) = values.next() else { break };
                    last = span;
                    let problem = if slot.when.holds(&decoded.qualifiers) {
                        accepts(slot, &decoded.qualifiers, &value, span).err()
                    } else {
                        Some(Problem::Unexpected { span, slot })
                    };
                    let fits = problem.is_none();
                    decoded.problems.extend(problem);
                    decoded.operands.push(Bound { slot, value, span, fits });
                }
            }
        }
    }

    /// Reads one operand.
    fn value(&self, index: usize, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        let parts = self.module.parts(operand);
        match operand.kind {
            OperandKind::Address(parts) => self.address(parts, operand.span, problems),
            OperandKind::Vector(parts) => self.vector(parts, operand.span, problems),
            OperandKind::Unary(UnaryOperator::Not, inner) => {
                match self.value(inner.start as usize, &parts[0], problems) {
                    Value::Scalar(Scalar::Register(register)) => {
                        Value::Not(Register { span: operand.span, ..register })
                    }
                    _ => self.scalar(index, operand, problems),
                }
            }
            _ => self.scalar(index, operand, problems),
        }
    }

    fn scalar(&self, index: usize, operand: &Operand, problems: &mut Vec<Problem>) -> Value<'s> {
        if let Some(value) = literal::evaluate(self.source, self.module, operand) {
            return Value::Scalar(Scalar::Immediate(Immediate::new(value, operand.span)));
        }
        match operand.kind {
            OperandKind::Name => self.name(index, operand, problems),
            OperandKind::Float => Value::Scalar(Scalar::Float(operand.span)),
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
            | OperandKind::Cast(parts) => {
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
        let text = self.source.slice(operand.span);
        match self.symbols.operand(index as u32) {
            Resolution::Register(id) => self.register(id, text, operand.span),
            Resolution::Symbol(id) => {
                let symbol = self.symbols.symbol(id);
                match symbol.kind {
                    SymbolKind::Variable { space, .. } => Value::Scalar(Scalar::Variable(Variable {
                        name: text,
                        span: operand.span,
                        space,
                        id,
                        plus: None,
                    })),
                    SymbolKind::Label { .. } => Value::Other("a label"),
                    SymbolKind::Function { .. } => Value::Other("a function"),
                    SymbolKind::Register { .. } => Value::Other("a register"),
                }
            }
            Resolution::Special => Value::Scalar(Scalar::Special(operand.span)),
            Resolution::Undeclared => {
                problems.push(Problem::Undeclared { span: operand.span, guard: false });
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
        let selects = |it| matches!((it, vector), ("x" | "y" | "r" | "g", _) | ("z" | "w" | "b" | "a", 3..));
        let is_component = component.is_some_and(selects);
        match (vector, component) {
            (1, None) => {
                Value::Scalar(Scalar::Register(Register { name, span, ty, id, component: false, plus: None }))
            }
            (1, Some(_)) => Value::Other("a component of a register that is no vector"),
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
                Value::Scalar(Scalar::Register(Register { span: operand.span, plus: Some(plus), ..register }))
            }
            (Value::Scalar(Scalar::Variable(variable)), Some(plus)) => {
                Value::Scalar(Scalar::Variable(Variable { span: operand.span, plus: Some(plus), ..variable }))
            }
            _ => Value::Other("an expression that is not constant"),
        }
    }

    fn address(&self, parts: Slice, span: Span, problems: &mut Vec<Problem>) -> Value<'s> {
        let [inner] = self.module.operands(parts) else {
            return Value::Other("an address of several parts");
        };
        if let OperandKind::Binary(BinaryOperator::Subtract, _) = inner.kind {
            self.visit(parts, problems);
            return Value::Other("a difference; PTX only adds: write `+-` for `-`");
        }
        let (base_index, base, offset) = match inner.kind {
            OperandKind::Binary(BinaryOperator::Add, sum) => {
                let [left, right] = self.module.operands(sum) else {
                    return Value::Other("an address");
                };
                (sum.start as usize, left, literal::evaluate(self.source, self.module, right))
            }
            _ => (parts.start as usize, inner, Some(0)),
        };
        let base = if base.kind == OperandKind::Name {
            self.value(base_index, base, problems)
        } else {
            self.visit(parts, problems);
            Value::Other("an expression")
        };
        let base = match base {
            Value::Scalar(Scalar::Register(register)) if !register.component => Base::Register(register),
            Value::Scalar(Scalar::Variable(variable)) => Base::Variable(variable),
            Value::Other(UNDECLARED) => return Value::Other(UNDECLARED),
            _ => {
                return Value::Other(
                    "an address that is neither `[register+constant]` nor `[variable+constant]`",
                );
            }
        };
        match offset {
            Some(offset) => Value::Address(Address { base, offset: offset as i64, span }),
            None => Value::Other("an address with an offset that is not constant"),
        }
    }

    fn vector(&self, parts: Slice, span: Span, problems: &mut Vec<Problem>) -> Value<'s> {
        let mut elements = self.elements.take();
        for index in parts.range() {
            let part = &self.module.operands[index];
            let found = match self.value(index, part, problems) {
                Value::Scalar(scalar) => {
                    elements.push(scalar);
                    continue;
                }
                // Its name is reported already.
                Value::Other(UNDECLARED) => continue,
                Value::Other(found) => found,
                Value::Not(_) => "a negated predicate",
                Value::Address(_) => "an address",
                Value::Vector(_) => "a vector",
            };
            problems.push(Problem::Element { span: part.span, found });
        }
        let vector = Vector { elements: elements.as_slice().into(), span };
        elements.clear();
        self.elements.replace(elements);
        Value::Vector(vector)
    }
}

/// The words of an opcode, each with the span from its dot on. White space and comments may stand
/// before a dot.
fn split_opcode(source: &Source, opcode: Span) -> Vec<Spanned<&str>> {
    let text = source.slice(opcode);
    let mut words = Vec::new();
    let mut rest = 0;
    while rest < text.len() {
        let tail = &text[rest..];
        // What stands between two words of a spaced-out opcode.
        let skipped = blank(tail);
        if skipped > 0 {
            rest += skipped;
            continue;
        }
        let body = usize::from(tail.starts_with('.'));
        let len = tail[body..]
            .find(|c: char| c == '.' || c.is_ascii_whitespace() || c == '/')
            .map_or(tail.len(), |at| at + body);
        let span = Span::new(opcode.start + rest as u32, opcode.start + (rest + len) as u32);
        words.push(Spanned::new(&tail[body..len], span));
        rest += len.max(1);
    }
    words
}

/// Length of the white space or comment that `text` starts with.
fn blank(text: &str) -> usize {
    let space = text.len() - text.trim_ascii_start().len();
    if space > 0 {
        return space;
    }
    if text.starts_with("//") {
        return text.find('\n').map_or(text.len(), |at| at + 1);
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |at| at + 2);
    }
    usize::from(text.starts_with('/'))
}

/// The operation that the words start with, and how many of them name it.
fn operation(words: &[Spanned<&str>]) -> Option<(Operation, usize)> {
    let mut longest = None;
    let mut name = String::new();
    for (count, word) in words.iter().enumerate().take(3) {
        if count > 0 {
            // The words of an operation stand directly behind each other.
            if words[count - 1].span.end != word.span.start {
                break;
            }
            name.push('.');
        }
        name.push_str(word.value);
        if let Ok(operation) = name.parse() {
            longest = Some((operation, count + 1));
        }
    }
    longest
}

fn similar_operations(word: &str) -> Vec<Operation> {
    let head = word.split("::").next().unwrap_or_default();
    let mut similar: Vec<(usize, Operation)> = Operation::iter()
        .filter_map(|operation| {
            let name = operation.name();
            let distance = if !head.is_empty() && name.starts_with(head) {
                0
            } else {
                strsim::damerau_levenshtein(name, word)
            };
            (distance <= 1 + name.len() / 4).then_some((distance, operation))
        })
        .collect();
    similar.sort();
    similar.into_iter().map(|(_, operation)| operation).take(2).collect()
}

/// Sorts the qualifiers into the slots of the form.
fn qualifiers(decoded: &mut Decoded<'_>, form: &'static InstructionForm, words: &[Spanned<&str>]) {
    let mut ignored = Vec::new();
    for word in words {
        let Some(value) = Qualifier::parse(word.value) else {
            let problem = unknown_word(form, word, &mut ignored);
            decoded.problems.push(problem);
            continue;
        };
        let qualifier = Spanned::new(value, word.span);
        if form.ignores(value.slot()) {
            // Not pushed: it has no meaning here.
            let code = Code::QualifierNotAllowed;
            decoded.problems.push(Problem::NotAllowed { qualifier, reason: None, code });
            continue;
        }
        if let Some(first) = decoded.qualifiers.in_slot(value.slot()) {
            decoded.problems.push(Problem::Repeated { qualifier, first });
            continue;
        }
        if !form.takes(value) {
            let misfit = form.misfits.iter().find(|misfit| misfit.matches.contains(value));
            decoded.problems.push(Problem::NotAllowed {
                qualifier,
                reason: misfit.map(|misfit| misfit.reason),
                code: misfit.map_or(Code::QualifierNotAllowed, |misfit| misfit.code),
            });
            // It fills its slot all the same: that the slot is empty, too, would be said twice.
        }
        decoded.qualifiers.push(qualifier);
    }
    for slot in form.qualifiers {
        if slot.required && decoded.qualifiers.in_slot(slot.slot).is_none() {
            let choices = slot.choices();
            // An unknown word close to one of the choices was meant to fill the slot.
            let meant = decoded.problems.iter().any(|problem| match problem {
                Problem::UnknownQualifier { similar, .. } => {
                    similar.iter().any(|choice| choice.slot() == slot.slot)
                }
                _ => false,
            });
            if !meant {
                let insert_at = insertion_point(decoded, form, slot.slot);
                decoded.problems.push(Problem::Missing { slot: slot.slot, choices, insert_at });
            }
        }
    }
}

/// Where a qualifier of `slot` stands in the canonical order: behind the last one that precedes it.
pub fn insertion_point(decoded: &Decoded<'_>, form: &InstructionForm, slot: Slot) -> u32 {
    form.qualifiers
        .iter()
        .take_while(|it| it.slot != slot)
        .filter_map(|it| decoded.qualifiers.in_slot(it.slot))
        .map(|qualifier| qualifier.span.end)
        .max()
        .unwrap_or(decoded.name.end)
}

/// A word that is no qualifier of any tcgen05 instruction.
fn unknown_word(form: &InstructionForm, word: &Spanned<&str>, ignored: &mut Vec<&'static str>) -> Problem {
    // `.ws` and `.red` are words of an operation; they mean nothing further back.
    let operation = Operation::iter().find(|operation| {
        let name = operation.name();
        name.strip_suffix(word.value).is_some_and(|head| head.ends_with('.'))
            && name.starts_with(form.operation.name())
    });
    if let Some(operation) = operation {
        return Problem::Misplaced { span: word.span, operation };
    }
    let ignored_by_ptxas = match foreign(form.operation, word.value) {
        Foreign::Refused => false,
        Foreign::Ignored => true,
        Foreign::IgnoredOnce(group) => {
            let first = !ignored.contains(&group);
            ignored.push(group);
            first
        }
    };
    Problem::UnknownQualifier {
        span: word.span,
        similar: similar_qualifiers(form, word.value),
        ignored_by_ptxas,
    }
}

/// What the assembler does with a word that is no qualifier of tcgen05.
enum Foreign {
    /// It refuses it.
    Refused,
    /// It takes it, as often as it stands there, without a meaning.
    Ignored,
    /// It takes one word of this group without a meaning.
    IgnoredOnce(&'static str),
}

/// What the assembler does with a word of another instruction.
fn foreign(operation: Operation, word: &str) -> Foreign {
    Foreign::IgnoredOnce(match (operation, word) {
        (
            Operation::Ld
            | Operation::LdRed
            | Operation::LdSpcompress
            | Operation::LdRedSpcompress
            | Operation::St
            | Operation::Cp,
            "row" | "col",
        ) => return Foreign::Ignored,
        (Operation::Commit, "sync_restrict::shared::cta" | "sync_restrict::shared::cluster") => {
            "sync_restrict"
        }
        (_, "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal") => "testp",
        (_, "acc::f32") => "acc",
        (_, "box_dim") => "box_dim",
        (_, "element_stride") => "element_stride",
        (_, "elemtype") => "elemtype",
        (_, "fill_mode") => "fill_mode",
        (_, "global_address") => "global_address",
        (_, "global_dim") => "global_dim",
        (_, "global_stride") => "global_stride",
        (_, "interleave_layout") => "interleave_layout",
        (_, "rank") => "rank",
        (_, "swizzle_atomicity") => "swizzle_atomicity",
        (_, "swizzle_mode") => "swizzle_mode",
        _ => return Foreign::Refused,
    })
}

/// The qualifiers of this form that `word` was probably meant to be: all that are equally near.
fn similar_qualifiers(form: &InstructionForm, word: &str) -> Vec<Qualifier> {
    let choices = || form.qualifiers.iter().flat_map(QualifierSlot::choices);
    // `.kind` alone stands for every kind.
    let group: Vec<Qualifier> =
        choices().filter(|choice| choice.spelling().split("::").next() == Some(word)).collect();
    if !group.is_empty() {
        return group;
    }
    // `.collector::a:fill` and `.cta_group.1` are one keystroke away; so is wrong case.
    let normal = |text: &str| text.to_ascii_lowercase().replace(':', "").replace(['_', '-'], "");
    let wanted = normal(word);
    let allowed = match wanted.len() {
        0 => return Vec::new(),
        1..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    let distance = |choice: &Qualifier| strsim::damerau_levenshtein(&normal(choice.spelling()), &wanted);
    let Some(least) = choices().map(|choice| distance(&choice)).min() else { return Vec::new() };
    if least > allowed || least >= wanted.len() {
        return Vec::new();
    }
    choices().filter(|choice| distance(choice) == least).collect()
}

/// One step of matching operands with positions.
enum Step {
    /// The next operand fills this position.
    Take(&'static OperandSlot),
    /// This position is not filled, though it should be.
    Absent(&'static OperandSlot),
}

/// The fewest and most operands that the form takes with these qualifiers.
fn operand_counts(form: &'static InstructionForm, qualifiers: &Qualifiers) -> (usize, usize) {
    let most = form.present(qualifiers).count();
    let optional = form.present(qualifiers).filter(|slot| slot.optional).count();
    (most - optional, most)
}

/// Finds the positions that fit the operands best.
///
/// Positions that may be empty, and positions that this combination has not but a related one
/// has, are tried in every subset: at most a few dozen, and only when the plain reading does not
/// fit. A reading is better the fewer wrong shapes it has, then the fewer positions it bends.
fn align(
    form: &'static InstructionForm,
    qualifiers: &Qualifiers,
    values: &[(Value<'_>, Span)],
) -> Option<Vec<Step>> {
    // What sound code looks like: each position that the form has, but perhaps the optional ones.
    let mut rest = values.iter().peekable();
    let mut plain = Vec::with_capacity(values.len());
    for slot in form.present(qualifiers) {
        match rest.peek() {
            Some((value, _)) if fits_shape(slot.class, value) => {
                plain.push(Step::Take(slot));
                rest.next();
            }
            _ if slot.optional => {}
            _ => break,
        }
    }
    let required = |step: &&Step| matches!(step, Step::Take(slot) if !slot.optional);
    let due = form.present(qualifiers).filter(|slot| !slot.optional).count();
    if rest.peek().is_none() && plain.iter().filter(required).count() == due {
        return Some(plain);
    }
    let flexible: Vec<(usize, bool)> = form
        .operands
        .iter()
        .enumerate()
        .filter_map(|(index, slot)| {
            let present = slot.when.holds(qualifiers);
            let bends = slot.code != Code::OperandCount;
            (if present { slot.optional || bends } else { bends })
                .then_some((index, present && !slot.optional))
        })
        .collect();
    let mut best: Option<(usize, usize, u32)> = None;
    for subset in 0u32..1 << flexible.len() {
        let filled = |index: usize, slot: &OperandSlot| match flexible.iter().position(|&(it, _)| it == index)
        {
            Some(bit) => subset & 1 << bit != 0,
            None => slot.when.holds(qualifiers),
        };
        let slots = || {
            form.operands
                .iter()
                .enumerate()
                .filter(|(index, slot)| filled(*index, slot))
                .map(|(_, slot)| slot)
        };
        if slots().count() != values.len() {
            continue;
        }
        let wrong = slots().zip(values).filter(|(slot, (value, _))| !fits_shape(slot.class, value)).count();
        let bent = flexible
            .iter()
            .enumerate()
            .filter(|&(bit, &(index, required))| {
                let taken = subset & 1 << bit != 0;
                let present = form.operands[index].when.holds(qualifiers);
                (required && !taken) || (taken && !present)
            })
            .count();
        if best.is_none_or(|(least_wrong, least_bent, _)| (wrong, bent) < (least_wrong, least_bent)) {
            best = Some((wrong, bent, subset));
        }
    }
    let (wrong, bent, subset) = best?;
    // Bending positions to fit operands of the wrong shape explains nothing.
    if bent > 0 && wrong > 0 {
        return None;
    }
    let mut steps = Vec::new();
    for (index, slot) in form.operands.iter().enumerate() {
        match flexible.iter().position(|&(it, _)| it == index) {
            Some(bit) if subset & 1 << bit != 0 => steps.push(Step::Take(slot)),
            Some(bit) if flexible[bit].1 => steps.push(Step::Absent(slot)),
            Some(_) => {}
            None if slot.when.holds(qualifiers) => steps.push(Step::Take(slot)),
            None => {}
        }
    }
    Some(steps)
}

/// Whether a value has the outer shape that a class wants.
fn fits_shape(class: OperandClass, value: &Value<'_>) -> bool {
    let facts = class.facts();
    match (facts.shape, value) {
        (Shape::Address | Shape::ValueOrAddress, Value::Address(_))
        | (Shape::Vector | Shape::ValueOrVector, Value::Vector(_)) => true,
        (Shape::Value | Shape::ValueOrVector | Shape::ValueOrAddress, Value::Scalar(scalar)) => {
            match scalar {
                Scalar::Register(_) => !facts.registers.is_empty(),
                Scalar::Immediate(_) => facts.immediate,
                Scalar::Variable(_) | Scalar::Float(_) | Scalar::Special(_) => false,
            }
        }
        (Shape::Value, Value::Not(_)) => class == OperandClass::EnableInputD,
        _ => false,
    }
}

/// Whether the position takes a value of this kind; types and ranges are other rules' business.
fn accepts(
    slot: &'static OperandSlot,
    qualifiers: &Qualifiers,
    value: &Value<'_>,
    span: Span,
) -> Result<(), Problem> {
    let class = slot.class;
    let facts = class.facts();
    let refuse = |found| Err(Problem::Kind { span, slot, found, wants_braces: false });
    match value {
        // Its name is reported already.
        Value::Other(UNDECLARED) => Ok(()),
        Value::Other(found) => refuse(found),
        Value::Not(_) if class == OperandClass::EnableInputD => Ok(()),
        Value::Not(_) => refuse("a negated predicate"),
        Value::Address(address) => match (facts.shape, address.base) {
            (Shape::Address | Shape::ValueOrAddress, Base::Register(_)) => Ok(()),
            (Shape::Address, Base::Variable(_)) if facts.variable => Ok(()),
            (Shape::Address | Shape::ValueOrAddress, Base::Variable(_)) => {
                refuse("the address of a variable")
            }
            _ => refuse("an address in brackets"),
        },
        Value::Vector(vector) => match facts.shape {
            Shape::Vector => Ok(()),
            Shape::ValueOrVector if vector.elements.len() == 1 => Ok(()),
            _ => refuse("a vector"),
        },
        Value::Scalar(scalar) => {
            let (found, right) = match scalar {
                Scalar::Register(Register { plus: Some(_), .. })
                | Scalar::Variable(Variable { plus: Some(_), .. }) => ("an expression", facts.sum),
                // The assembler copies the descriptor of a dense multiply with a plain `mov`.
                Scalar::Register(Register { component: true, .. })
                    if class == OperandClass::InstructionDescriptor
                        && qualifiers.in_slot(Slot::Sparse).is_none()
                        && qualifiers.in_slot(Slot::Decompress).is_none() =>
                {
                    ("a component of a vector register", false)
                }
                Scalar::Register(_) => ("a register", !facts.registers.is_empty()),
                Scalar::Immediate(_) => ("an immediate", facts.immediate),
                Scalar::Variable(_) => ("a variable", false),
                Scalar::Float(_) => ("a floating-point number", false),
                Scalar::Special(_) => ("a special register", false),
            };
            match facts.shape {
                Shape::Value | Shape::ValueOrAddress | Shape::ValueOrVector if right => Ok(()),
                Shape::Vector if matches!(scalar, Scalar::Register(_)) => {
                    Err(Problem::Kind { span, slot, found, wants_braces: true })
                }
                _ => refuse(found),
            }
        }
    }
}

/// Operands by the name of their position.
struct Fields<'a, 's>(&'a [Bound<'s>]);

impl<'s> Fields<'_, 's> {
    fn value(&self, name: &str) -> Option<&Value<'s>> {
        self.0.iter().find(|bound| bound.slot.name == name).map(|bound| &bound.value)
    }

    fn address(&self, name: &str) -> Option<Address<'s>> {
        match self.value(name)? {
            Value::Address(address) => Some(*address),
            _ => None,
        }
    }

    fn scalar(&self, name: &str) -> Option<Scalar<'s>> {
        match self.value(name)? {
            Value::Scalar(scalar) => Some(*scalar),
            Value::Vector(vector) => vector.elements.first().copied(),
            _ => None,
        }
    }

    fn vector(&self, name: &str) -> Option<Vector<'s>> {
        match self.value(name)? {
            Value::Vector(vector) => Some(vector.clone()),
            _ => None,
        }
    }

    fn predicate(&self, name: &str) -> Option<Predicate<'s>> {
        match self.value(name)? {
            Value::Scalar(value) => Some(Predicate { negated: false, value: *value }),
            Value::Not(register) => Some(Predicate { negated: true, value: Scalar::Register(*register) }),
            _ => None,
        }
    }

    fn matrix_a(&self) -> Option<MatrixA<'s>> {
        self.address("a").map(MatrixA::TensorMemory).or_else(|| self.scalar("a").map(MatrixA::Descriptor))
    }
}

/// Builds the typed instruction; `None` only when the form has problems.
fn construct<'s>(operation: Operation, q: &Qualifiers, operands: &[Bound<'s>]) -> Option<Instruction<'s>> {
    let f = Fields(operands);
    Some(match operation {
        Operation::Alloc => Instruction::Alloc(Alloc {
            cta_group: q.get()?,
            exclusive: q.get(),
            space: q.get(),
            dst: f.address("dst")?,
            n_cols: f.scalar("nCols")?,
        }),
        Operation::Dealloc => Instruction::Dealloc(Dealloc {
            cta_group: q.get()?,
            exclusive: q.get(),
            taddr: f.scalar("taddr")?,
            n_cols: f.scalar("nCols")?,
        }),
        Operation::RelinquishAllocPermit => {
            Instruction::RelinquishAllocPermit(RelinquishAllocPermit { cta_group: q.get()? })
        }
        Operation::Ld | Operation::LdRed | Operation::LdSpcompress | Operation::LdRedSpcompress => {
            let reduction = match operation {
                Operation::Ld => None,
                _ => Some(Reduction {
                    op: q.get()?,
                    abs: q.get(),
                    nan: q.get(),
                    ty: q.get()?,
                    result: f.scalar("redval"),
                }),
            };
            Instruction::Ld(Ld {
                shape: q.get()?,
                num: q.get()?,
                pack: q.get(),
                reduction: reduction.map(Box::new),
                metadata: f.vector("metadata"),
                r: f.vector("r")?,
                taddr: f.address("taddr")?,
                half_split_offset: f.scalar("immHalfSplitoff"),
            })
        }
        Operation::St => Instruction::St(St {
            shape: q.get()?,
            num: q.get()?,
            unpack: q.get(),
            taddr: f.address("taddr")?,
            half_split_offset: f.scalar("immHalfSplitoff"),
            r: f.vector("r")?,
        }),
        Operation::WaitLd | Operation::WaitSt => Instruction::Wait(Wait { operation }),
        Operation::Cp => Instruction::Cp(Cp {
            cta_group: q.get()?,
            shape: q.get()?,
            multicast: q.get(),
            dst_format: q.get(),
            src_format: q.get(),
            taddr: f.address("taddr")?,
            s_desc: f.scalar("s-desc")?,
        }),
        Operation::Shift => Instruction::Shift(Shift { cta_group: q.get()?, taddr: f.address("taddr")? }),
        Operation::Mma | Operation::MmaWs => Instruction::Mma(Box::new(Mma {
            weight_stationary: operation == Operation::MmaWs,
            sparse: q.get(),
            cta_group: q.get()?,
            kind: q.get()?,
            block_scale: q.get(),
            scale_vector_size: q.get(),
            ashift: q.get(),
            collector_a: q.get(),
            collector_b: q.get(),
            collector_ws: q.get(),
            decompress: q.get(),
            d: f.address("d-tmem")?,
            a: f.matrix_a()?,
            b: f.scalar("b-desc")?,
            b_meta: f.address("b-meta"),
            sparsity_metadata: f.address("sp-meta-tmem"),
            idesc: f.scalar("idesc")?,
            scales: f.address("scale-A-tmem").zip(f.address("scale-B-tmem")).map(|(a, b)| Box::new([a, b])),
            disable_output_lane: f.vector("disable-output-lane"),
            enable_input_d: f.predicate("enable-input-d")?,
            scale_input_d: f.scalar("scale-input-d"),
            zero_column_mask: f.scalar("zero-column-mask-desc"),
        })),
        Operation::Commit => Instruction::Commit(Commit {
            cta_group: q.get()?,
            sync_restrict: q.get(),
            space: q.get(),
            multicast: q.get(),
            mbar: f.address("mbar")?,
            cta_mask: f.scalar("ctaMask"),
        }),
        Operation::FenceBefore | Operation::FenceAfter => Instruction::Fence(Fence { operation }),
    })
}

/// Whether an operand slot belongs to block scaling.
pub(crate) fn is_scale(slot: &OperandSlot) -> bool {
    slot.when == Condition::BlockScaled && slot.class == OperandClass::MmaAddress
}
