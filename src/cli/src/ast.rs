//! `ptx-tc ast`

use std::io::Write;
use std::path::PathBuf;

use ptx_check::analysis::description::Description;
use ptx_check::diagnostic::selection::{Layer, RuleSettings};
use ptx_check::instruction::decode::{self, Decoded};
use ptx_check::source::{Source, Span};
use ptx_check::syntax::ast::{
    Declaration, Function, Module, Operand, OperandKind, RawInstruction, Slice, Statement, StatementKind,
};
use ptx_check::{Options, Unit};
use serde_json::{Map, Value, json};

use crate::input::{self, Input};
use crate::{Outcome, output_error};

/// Print the typed syntax tree of a file as JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct Ast {
    /// The file, or `-` for standard input.
    #[arg(value_name = "FILE")]
    path: PathBuf,
}

impl Ast {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let (inputs, errors) = input::find(std::slice::from_ref(&self.path), false);
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        let input = inputs.into_iter().next().unwrap_or(Input::Stdin);
        let source = input.read("<stdin>")?;
        let unit = Unit::new(&source);
        let instructions = decode::decode_all(&unit);
        // No rule has to run for that.
        let nothing = Layer { select: Some(Vec::new()), ..Layer::default() };
        let options =
            Options { describe: true, rules: RuleSettings::default().with(&nothing), ..Options::default() };
        let checked = ptx_check::check_unit(&unit, &options, &|| false);
        let descriptors = checked.and_then(|report| report.descriptors).unwrap_or_default();
        let document = Printer {
            source: &source,
            module: &unit.module,
            instructions: &instructions,
            descriptors: &descriptors,
        }
        .document();
        serde_json::to_writer_pretty(&mut *out, &document)
            .map_err(Into::into)
            .and_then(|()| writeln!(out))
            .map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}

/// Operands nest as deep as the parser lets them; beyond this they are printed as text.
const MAX_DEPTH: usize = 100;

struct Printer<'a> {
    source: &'a Source,
    module: &'a Module,
    instructions: &'a [Decoded<'a>],
    /// In the order of the instructions.
    descriptors: &'a [Description],
}

impl Printer<'_> {
    fn document(&self) -> Value {
        let mut statements = self.module.statements.iter().enumerate();
        json!({ "schema": 1, "path": self.source.name(), "items": self.items(&mut statements) })
    }

    fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// Statements up to the end of the scope that is open.
    fn items(&self, statements: &mut dyn Iterator<Item = (usize, &Statement)>) -> Vec<Value> {
        let mut items = Vec::new();
        while let Some((index, statement)) = statements.next() {
            let mut item = match statement.kind() {
                StatementKind::BlockClose | StatementKind::FunctionClose => break,
                StatementKind::FunctionOpen(function) => {
                    let mut item = self.function(&self.module.functions[function as usize], "function");
                    item.insert("body".to_owned(), self.items(statements).into());
                    item
                }
                StatementKind::UnknownFunctionOpen => {
                    object("unknown_function", [("body", self.items(statements).into())])
                }
                StatementKind::BlockOpen => object("block", [("body", self.items(statements).into())]),
                StatementKind::Instruction(instruction) => {
                    self.instruction(index, &self.module.instructions[instruction as usize])
                }
                StatementKind::Declaration(declaration) => {
                    self.declaration(&self.module.declarations[declaration as usize])
                }
                StatementKind::Prototype(function) => {
                    self.function(&self.module.functions[function as usize], "prototype")
                }
                StatementKind::CallPrototype(function) => {
                    self.function(&self.module.functions[function as usize], "call_prototype")
                }
                StatementKind::Label => object("label", [("name", self.text(statement.span).into())]),
                StatementKind::Alias(names) => {
                    object("alias", [("names", self.operands(self.module.list(names), 0))])
                }
                StatementKind::BranchTargets(names) => {
                    object("branch_targets", [("labels", self.operands(self.module.list(names), 0))])
                }
                StatementKind::CallTargets(names) => {
                    object("call_targets", [("functions", self.operands(self.module.list(names), 0))])
                }
                StatementKind::Version => self.plain("version", statement),
                StatementKind::Target => self.plain("target", statement),
                StatementKind::AddressSize => self.plain("address_size", statement),
                StatementKind::File(_) => self.plain("file", statement),
                StatementKind::Loc(_) => self.plain("loc", statement),
                StatementKind::Section(section) => {
                    let name = self.module.sections[section as usize].name;
                    object("section", [("name", self.text(name).into())])
                }
                StatementKind::Pragma(_) => self.plain("pragma", statement),
                StatementKind::Broken => self.plain("broken", statement),
            };
            item.insert("span".to_owned(), span(statement.span));
            items.push(item.into());
        }
        items
    }

    fn plain(&self, kind: &str, statement: &Statement) -> Map<String, Value> {
        object(kind, [("text", self.text(statement.span).into())])
    }

    fn function(&self, function: &Function, kind: &str) -> Map<String, Value> {
        let parameters = |slice: Slice| -> Value {
            self.module.declarations[slice.range()]
                .iter()
                .map(|it| Value::from(self.declaration(it)))
                .collect()
        };
        let directives: Value = self.module.directives[function.directives.range()]
            .iter()
            .map(|directive| {
                json!({
                    "name": self.text(directive.name),
                    "values": self.operands(directive.operands, 0),
                })
            })
            .collect();
        object(
            kind,
            [
                ("entry", function.is_entry.into()),
                ("linkage", json!(function.linkage)),
                ("name", self.text(function.name).into()),
                ("returns", parameters(function.returns)),
                ("parameters", parameters(function.parameters)),
                ("directives", directives),
            ],
        )
    }

    fn declaration(&self, declaration: &Declaration) -> Map<String, Value> {
        let names: Value = self.module.declarators[declaration.declarators.range()]
            .iter()
            .map(|declarator| {
                let mut name = Map::new();
                name.insert("name".to_owned(), self.text(declarator.name).into());
                if let Some(count) = declarator.count {
                    name.insert("count".to_owned(), count.into());
                }
                if declarator.dimensions.len > 0 {
                    name.insert("dimensions".to_owned(), self.operands(declarator.dimensions, 0));
                }
                if let Some(initializer) = declarator.initializer {
                    name.insert("initializer".to_owned(), self.operand(initializer as usize, 0));
                }
                Value::from(name)
            })
            .collect();
        let mut item = object(
            "declaration",
            [
                ("space", json!(declaration.space)),
                ("linkage", json!(declaration.linkage)),
                ("type", json!(declaration.ty)),
                ("vector", declaration.vector.into()),
                ("align", json!(declaration.align)),
                ("names", names),
            ],
        );
        if let Some(pointer) = declaration.pointer {
            item.insert("pointer".to_owned(), json!({ "space": pointer.space, "align": pointer.align }));
        }
        item
    }

    fn instruction(&self, statement: usize, raw: &RawInstruction) -> Map<String, Value> {
        let guard = self
            .module
            .guard(raw)
            .map(|guard| json!({ "negated": guard.negated, "register": self.text(guard.name) }));
        let mut item = object(
            "instruction",
            [("guard", guard.unwrap_or_default()), ("opcode", self.text(raw.opcode).into())],
        );
        let decoded =
            self.instructions.binary_search_by_key(&(statement as u32), |decoded| decoded.statement);
        match decoded.ok().and_then(|index| self.instructions[index].instruction.as_ref()) {
            Some(instruction) => item.insert("tcgen05".to_owned(), json!(instruction)),
            None => item.insert("operands".to_owned(), self.operands(raw.operands, 0)),
        };
        let described = self.descriptors.binary_search_by_key(&(statement as u32), |it| it.statement);
        if let Ok(index) = described {
            item.insert("descriptors".to_owned(), json!(self.descriptors[index]));
        }
        item
    }

    fn operands(&self, slice: Slice, depth: usize) -> Value {
        slice.range().map(|index| self.operand(index, depth)).collect()
    }

    fn operand(&self, index: usize, depth: usize) -> Value {
        let operand: &Operand = &self.module.operands[index];
        let text = self.text(operand.span());
        if depth > MAX_DEPTH {
            return text.into();
        }
        let parts = |slice| self.operands(slice, depth + 1);
        match operand.kind() {
            OperandKind::Name
            | OperandKind::Integer
            | OperandKind::Float
            | OperandKind::String
            | OperandKind::Sink => text.into(),
            OperandKind::Vector(slice) => json!({ "vector": parts(slice) }),
            OperandKind::Address(slice) => json!({ "address": parts(slice) }),
            OperandKind::List(slice) => json!({ "list": parts(slice) }),
            OperandKind::Unary(operator, slice) => {
                json!({ "unary": <&str>::from(operator), "arguments": parts(slice) })
            }
            OperandKind::Binary(operator, slice) => {
                json!({ "binary": <&str>::from(operator), "arguments": parts(slice) })
            }
            OperandKind::Conditional(slice) => json!({ "conditional": parts(slice) }),
            OperandKind::Cast(ty, slice) => json!({ "cast": parts(slice), "type": ty }),
            OperandKind::Apply(slice) => json!({ "apply": parts(slice) }),
            OperandKind::Element(slice) => json!({ "element": parts(slice) }),
        }
    }
}

fn span(span: Span) -> Value {
    json!([span.start, span.end])
}

fn object<const N: usize>(kind: &str, fields: [(&str, Value); N]) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("kind".to_owned(), kind.into());
    map.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
    map
}
