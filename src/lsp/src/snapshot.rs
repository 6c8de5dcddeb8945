//! What is known of one version of a document.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptx_check::analysis::definitions::RegisterSet;
use ptx_check::analysis::description::{self, Description};
use ptx_check::analysis::descriptors::{self, Descriptors};
use ptx_check::analysis::functions::FunctionFacts;
use ptx_check::descriptor::{Features, idesc_check};
use ptx_check::diagnostic::{Applicability, Diagnostic, Fix, Omitted};
use ptx_check::instruction::Instruction;
use ptx_check::instruction::decode::{self, Decoded, Decoder, Value};
use ptx_check::resolve::environment::Environment;
use ptx_check::resolve::symbols::Resolution;
use ptx_check::source::Span;
use ptx_check::syntax::ast::{Operand, OperandKind, Slice, Statement, StatementKind};
use ptx_check::{Document, Memory, Options, Report, Unit};
use ptx_sources::Sources;
use rustc_hash::FxHashMap;

use crate::runs::{Ran, Run, Wish};
use crate::text::Text;
use crate::values;

/// One version of a document, parsed and resolved.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) text: Text,
    /// The PTX in it, and where in the text that stands.
    pub(crate) document: Document,
    /// What the module is checked against instead of its own word.
    pub(crate) options: Options,
    /// The file, if the document is one.
    file: Option<PathBuf>,
    /// The findings, once they are known.
    checked: OnceLock<Report>,
    /// The sources that these name, if it is PTX that was compiled.
    sources: OnceLock<Sources>,
    /// The analyses of functions that were asked for. Locked, because they remember what they are
    /// asked.
    functions: Mutex<FxHashMap<u32, FunctionFacts>>,
    /// The runs of its kernels.
    runs: Mutex<BTreeMap<Wish, Run>>,
}

impl Snapshot {
    /// Parses and resolves; `None` when the text is longer than spans can say.
    pub(crate) fn new(name: &str, file: Option<PathBuf>, mut text: Text, options: Options) -> Option<Self> {
        let source = text.share(name)?;
        Some(Self {
            text,
            document: Document::new(&source),
            options,
            file,
            checked: OnceLock::new(),
            sources: OnceLock::new(),
            functions: Mutex::default(),
            runs: Mutex::default(),
        })
    }

    /// Finds what there is to find, unless `cancelled` says meanwhile that nobody wants to know. What
    /// was found in an earlier version need not be found again.
    pub(crate) fn check(&self, memory: &mut Memory, cancelled: &(dyn Fn() -> bool + Sync)) -> bool {
        let options = Options {
            fixes_of_omitted: Some(Applicability::Safe),
            locate: self.file.is_some(),
            ..self.options.clone()
        };
        let Some(report) = self.document.check_again(&options, memory, cancelled) else { return false };
        if let Some(file) = &self.file {
            let _ = self.sources.set(ptx_sources::find(file, &report.diagnostics));
        }
        self.checked.set(report).is_ok()
    }

    /// The sources that findings name; none before [`Snapshot::check`].
    pub(crate) fn sources(&self) -> Option<&Sources> {
        self.sources.get()
    }

    /// The findings; none before [`Snapshot::check`].
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        self.checked.get().map(|report| report.diagnostics.as_slice()).unwrap_or_default()
    }

    /// The number of those that are too many to be among them.
    pub(crate) fn omitted(&self) -> &[Omitted] {
        self.checked.get().map(|report| report.omitted.as_slice()).unwrap_or_default()
    }

    /// The safe fixes of those.
    pub(crate) fn omitted_fixes(&self) -> &[Fix] {
        self.checked.get().map(|report| report.omitted_fixes.as_slice()).unwrap_or_default()
    }

    /// The file, if the document is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<Wish, Run>> {
        // Nothing that panics runs while it is held.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a run, if there is one.
    pub(crate) fn run(&self, wish: &Wish) -> Option<Run> {
        self.runs().get(wish).cloned()
    }

    /// Says what is known of a run.
    pub(crate) fn set_run(&self, wish: &Wish, run: Option<Run>) {
        match run {
            Some(run) => self.runs().insert(wish.clone(), run),
            None => self.runs().remove(wish),
        };
    }

    /// The runs that have ended.
    pub(crate) fn ran(&self) -> Vec<(Wish, Arc<Ran>)> {
        let ran = |(wish, run): (&Wish, &Run)| match run {
            Run::Ended(ran) => Some((wish.clone(), Arc::clone(ran))),
            Run::Started => None,
        };
        self.runs().iter().filter_map(ran).collect()
    }

    /// Asks the analyses of a function, which are made when it is asked about for the first time.
    pub(crate) fn facts<T>(&self, function: u32, ask: impl FnOnce(&FunctionFacts) -> Option<T>) -> Option<T> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = functions.entry(function).or_insert_with(|| {
            let instructions = Decoder::new(&self.document.unit).decode(&[function]);
            FunctionFacts::new(
                &self.document.unit,
                function,
                &instructions,
                &mut RegisterSet::default(),
                None,
            )
        });
        ask(facts)
    }

    /// What is known of a multiply or copy.
    pub(crate) fn describe(&self, decoded: &Decoded<'_>) -> Option<Description> {
        let environment = self.environment();
        self.facts(decoded.function?, |facts| {
            let (instructions, functions) = (slice::from_ref(decoded), slice::from_ref(facts));
            let mut found = descriptors::find(&self.document.unit, instructions, functions, &environment);
            let features = environment.features();
            for found in &mut found {
                fill(&self.document.unit, decoded, facts, features, found);
            }
            description::describe(&self.document.unit, instructions, functions, &found, features).pop()
        })
    }

    /// Whether the findings are known.
    pub(crate) fn is_checked(&self) -> bool {
        self.checked.get().is_some()
    }

    /// The place in the PTX for one in the text; none where that is not PTX.
    pub(crate) fn inside(&self, offset: u32) -> Option<u32> {
        self.document.host.as_ref().map_or(Some(offset), |host| host.map.text(offset))
    }

    /// The place in the text for one in the PTX.
    pub(crate) fn outside(&self, span: Span) -> Span {
        self.document.host.as_ref().map_or(span, |host| host.map.host(span))
    }

    /// Whether the text has just this at that place: it is not put together from pieces.
    pub(crate) fn is_written(&self, span: Span) -> bool {
        let host = self.document.host.as_ref();
        host.is_none_or(|host| host.source.slice(host.map.host(span)) == self.slice(span))
    }

    /// The name of a kernel, where it has its body.
    pub(crate) fn kernel(&self, name: &str) -> Option<Span> {
        let unit = &self.document.unit;
        let mut kernels = unit.module.bodies().filter(|(_, it)| it.is_entry).map(|(_, it)| it.name);
        kernels.find(|it| self.slice(*it) == name)
    }

    /// The text that `span` covers.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.document.unit.source.slice(span)
    }

    /// The statement at `offset`, or that ends there, with its index.
    pub(crate) fn statement(&self, offset: u32) -> Option<(u32, &Statement)> {
        let statements = &self.document.unit.module.statements;
        let behind = statements.partition_point(|statement| statement.span.start <= offset);
        // Of two that touch, the one that starts there counts.
        let index = behind.checked_sub(1)?;
        let statement = &statements[index];
        (offset <= statement.span.end).then_some((index as u32, statement))
    }

    /// The instruction at `offset`: the index of its statement, and its own.
    pub(crate) fn instruction(&self, offset: u32) -> Option<(u32, u32)> {
        let (index, statement) = self.statement(offset)?;
        let StatementKind::Instruction(instruction) = statement.kind() else { return None };
        Some((index, instruction))
    }

    /// The function that a statement stands in.
    pub(crate) fn function_of(&self, statement: u32) -> Option<u32> {
        let place = self.document.unit.module.statements.get(statement as usize)?.span.start;
        let functions = &self.document.unit.module.functions;
        let before = functions.partition_point(|function| function.name.start <= place);
        // The nearest that has a body: prototypes may stand between.
        let at = functions[..before].iter().rposition(|function| function.body.len > 0)?;
        functions[at].body.range().contains(&(statement as usize)).then_some(at as u32)
    }

    /// Decodes the instruction of a statement, if it is one of tcgen05.
    pub(crate) fn decode(&self, statement: u32) -> Option<Decoded<'_>> {
        let function = self.function_of(statement);
        decode::decode_statement(&self.document.unit, statement, function)
    }

    /// The tcgen05 instructions that `span` touches.
    pub(crate) fn tcgen05(&self, span: Span) -> impl Iterator<Item = Decoded<'_>> {
        self.statements(span).filter_map(|(index, statement)| {
            let StatementKind::Instruction(instruction) = statement.kind() else { return None };
            // Most instructions of a module are others; they need not be decoded to see that.
            self.document.unit.operations.is_tensor(instruction).then(|| self.decode(index)).flatten()
        })
    }

    /// What the module is checked against.
    pub(crate) fn environment(&self) -> Environment {
        Environment::new(&self.document.unit, self.options.ptx_version, &self.options.targets)
    }

    /// The name at `offset` and what it means, whether it is used there or declared.
    pub(crate) fn name(&self, offset: u32) -> Option<(Span, Resolution)> {
        self.used_name(offset).or_else(|| {
            let (id, symbol) = self
                .document
                .unit
                .symbols
                .all()
                .find(|(_, symbol)| symbol.span.start <= offset && offset <= symbol.span.end)?;
            Some((symbol.span, Resolution::Symbol(id)))
        })
    }

    /// The name at `offset` and what it means, in an operand or a guard.
    pub(crate) fn used_name(&self, offset: u32) -> Option<(Span, Resolution)> {
        let (_, statement) = self.statement(offset)?;
        let operands = match statement.kind() {
            StatementKind::Instruction(index) => {
                let instruction = &self.document.unit.module.instructions[index as usize];
                if let Some(guard) = self.document.unit.module.guard(instruction)
                    && guard.name.start <= offset
                    && offset <= guard.name.end
                {
                    return Some((guard.name, self.document.unit.symbols.guard(index)));
                }
                instruction.operands
            }
            StatementKind::BranchTargets(names)
            | StatementKind::CallTargets(names)
            | StatementKind::Alias(names) => self.document.unit.module.list(names),
            StatementKind::Declaration(index) => {
                let declarators = self.document.unit.module.declarations[index as usize].declarators;
                let initializers = self.document.unit.module.declarators[declarators.range()].iter();
                return initializers
                    .filter_map(|it| it.initializer)
                    .find_map(|start| self.name_in(Slice { start, len: 1 }, offset));
            }
            _ => return None,
        };
        self.name_in(operands, offset)
    }

    fn name_in(&self, operands: Slice, offset: u32) -> Option<(Span, Resolution)> {
        let (index, operand) = self.operand(operands, offset)?;
        (operand.kind() == OperandKind::Name)
            .then(|| (operand.span(), self.document.unit.symbols.operand(index)))
    }

    /// The line that `span` stands in, without the blanks around it.
    pub(crate) fn line_with(&self, span: Span) -> String {
        let line = self.text.line(self.text.line_of(span.start));
        self.slice(line).trim().trim_end_matches([',', ';']).to_owned()
    }

    /// The statements that `span` touches, with the index of each.
    pub(crate) fn statements(&self, span: Span) -> impl Iterator<Item = (u32, &Statement)> {
        let statements = &self.document.unit.module.statements;
        let first = statements.partition_point(|it| it.span.start <= span.start).saturating_sub(1);
        statements[first..]
            .iter()
            .enumerate()
            .map(move |(at, statement)| ((first + at) as u32, statement))
            .take_while(move |(_, statement)| statement.span.start <= span.end)
    }

    /// The innermost operand at `offset` among `operands`, with its index.
    pub(crate) fn operand(&self, operands: Slice, offset: u32) -> Option<(u32, &Operand)> {
        let index = operands.range().find(|&index| {
            let operand = &self.document.unit.module.operands[index];
            let span = operand.span();
            span.start <= offset && (offset <= span.end || operand.is_long())
        })?;
        let operand = &self.document.unit.module.operands[index];
        parts(operand).and_then(|parts| self.operand(parts, offset)).or(Some((index as u32, operand)))
    }

    /// Calls `visit` with every leaf of `operands`, in source order where the tree has it.
    pub(crate) fn leaves(&self, operands: Slice, visit: &mut dyn FnMut(u32, &Operand)) {
        for index in operands.range() {
            let operand = &self.document.unit.module.operands[index];
            match parts(operand) {
                Some(parts) => self.leaves(parts, visit),
                None => visit(index as u32, operand),
            }
        }
    }
}

/// Adds to descriptors what a statement of another language gives as constants.
fn fill(
    unit: &Unit,
    decoded: &Decoded<'_>,
    facts: &FunctionFacts,
    features: Features,
    found: &mut Descriptors,
) {
    for descriptor in found.descriptors.iter_mut().filter(|it| it.word.mask == 0) {
        let bound = decoded.operands.iter().find(|bound| bound.span == descriptor.span);
        let Some(Value::Scalar(scalar)) = bound.map(|bound| &bound.value) else { continue };
        let Some(known) = values::given(unit, facts, scalar) else { continue };
        descriptor.word = known;
        if descriptor.name == "idesc"
            && let Some(Instruction::Mma(mma)) = &decoded.instruction
        {
            found.facts = idesc_check::facts(mma.kind.value, features.generation, known);
        }
    }
}

/// Where the parts of an operand are.
fn parts(operand: &Operand) -> Option<Slice> {
    match operand.kind() {
        OperandKind::Name
        | OperandKind::Integer
        | OperandKind::Float
        | OperandKind::String
        | OperandKind::Sink => None,
        OperandKind::Vector(_)
        | OperandKind::Address(_)
        | OperandKind::List(_)
        | OperandKind::Unary(..)
        | OperandKind::Binary(..)
        | OperandKind::Conditional(_)
        | OperandKind::Cast(..)
        | OperandKind::Apply(_)
        | OperandKind::Element(_) => Some(operand.parts()),
    }
}
