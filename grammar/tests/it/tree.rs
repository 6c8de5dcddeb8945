//! A syntax tree as text, without the indices and offsets that depend on what stands before.

use ptx_syntax::Source;
use ptx_syntax::ast::{Declaration, Function, Inlined, Location, Module, Operand, Slice, StatementKind};
use ptx_syntax::source::Span;

/// Writes statements of a module: two that write the same are the same tree.
pub(crate) struct Writer<'a> {
    pub(crate) source: &'a Source,
    pub(crate) module: &'a Module,
}

impl Writer<'_> {
    fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// One line for each top-level item: everything from its first statement to its last.
    pub(crate) fn items(&self) -> Vec<String> {
        let mut items = Vec::new();
        let mut depth = 0;
        for index in 0..self.module.statements.len() {
            if depth == 0 {
                items.push(String::new());
            }
            if let Some(item) = items.last_mut() {
                *item += &self.statement(index);
            }
            match self.module.statements[index].kind() {
                StatementKind::FunctionOpen(_)
                | StatementKind::UnknownFunctionOpen
                | StatementKind::BlockOpen => depth += 1,
                StatementKind::FunctionClose | StatementKind::BlockClose => depth -= 1,
                _ => {}
            }
        }
        items
    }

    /// One statement with all that belongs to it.
    pub(crate) fn statement(&self, index: usize) -> String {
        let statement = self.module.statements[index];
        let text = self.text(statement.span);
        let payload = match statement.kind() {
            StatementKind::Instruction(index) => {
                let raw = self.module.instructions[index as usize];
                let guard = self.module.guard(&raw).map(|guard| (guard.negated, self.text(guard.name)));
                format!("{guard:?} {} {}", self.text(raw.opcode), self.operands(raw.operands))
            }
            StatementKind::Declaration(index) => self.declaration(&self.module.declarations[index as usize]),
            StatementKind::FunctionOpen(index)
            | StatementKind::Prototype(index)
            | StatementKind::CallPrototype(index) => self.function(&self.module.functions[index as usize]),
            StatementKind::Alias(names)
            | StatementKind::BranchTargets(names)
            | StatementKind::CallTargets(names)
            | StatementKind::Pragma(names) => self.operands(self.module.list(names)),
            StatementKind::File(index) => {
                let file = self.module.files[index as usize];
                format!("{} {} {:?}", file.index, self.text(file.name), file.stamp)
            }
            StatementKind::Loc(index) => {
                let Location { file, line, column, inlined } = self.module.locations[index as usize];
                let inlined = inlined.map(|index| {
                    let Inlined { function_name, offset, file, line, column } =
                        self.module.inlined[index as usize];
                    let name = function_name.map(|name| self.text(name));
                    format!("{name:?} {offset} {file} {line} {column}")
                });
                format!("{file} {line} {column} {inlined:?}")
            }
            StatementKind::Section(index) => {
                let section = self.module.sections[index as usize];
                format!("{} {:?}", self.text(section.name), self.text(section.data))
            }
            StatementKind::Version => self.header(&self.module.versions, index),
            StatementKind::Target => self.header(&self.module.targets, index),
            StatementKind::AddressSize => self.header(&self.module.address_sizes, index),
            StatementKind::Label
            | StatementKind::UnknownFunctionOpen
            | StatementKind::FunctionClose
            | StatementKind::BlockOpen
            | StatementKind::BlockClose
            | StatementKind::Broken => String::new(),
        };
        let kind = format!("{:?}", statement.kind());
        let kind = kind.split('(').next().unwrap_or_default();
        format!("{kind} {text:?} {payload}\n")
    }

    fn header(&self, headers: &[ptx_syntax::ast::Header], statement: usize) -> String {
        let found: Vec<_> = headers.iter().filter(|it| it.statement as usize == statement).collect();
        assert_eq!(found.len(), 1);
        format!("{} {}", self.text(found[0].keyword), self.operands(found[0].operands))
    }

    fn operands(&self, slice: Slice) -> String {
        let operands = self.module.operands(slice).iter();
        operands.map(|operand| self.operand(operand)).collect::<Vec<_>>().join("; ")
    }

    fn operand(&self, operand: &Operand) -> String {
        let parts: Vec<_> = self.module.parts(operand).iter().map(|part| self.operand(part)).collect();
        let kind = format!("{:?}", operand.kind());
        let kind = kind.split("Slice").next().unwrap_or_default();
        format!("{kind} {:?} {parts:?}", self.text(operand.span()))
    }

    fn declaration(&self, declaration: &Declaration) -> String {
        let Declaration { linkage, space, ty, vector, align, pointer, declarators } = *declaration;
        let mut text = format!("{linkage:?} {space:?} {ty:?} {vector} {align:?} {pointer:?}:");
        for declarator in &self.module.declarators[declarators.range()] {
            let initializer =
                declarator.initializer.map(|index| self.operand(&self.module.operands[index as usize]));
            let name = self.text(declarator.name);
            let dimensions = self.operands(declarator.dimensions);
            text += &format!(" {name} {:?} {dimensions} {initializer:?}", declarator.count);
        }
        text
    }

    fn function(&self, function: &Function) -> String {
        let declarations = |slice: Slice| -> Vec<String> {
            self.module.declarations[slice.range()].iter().map(|it| self.declaration(it)).collect()
        };
        let directives: Vec<_> = self.module.directives[function.directives.range()]
            .iter()
            .map(|directive| (self.text(directive.name), self.operands(directive.operands)))
            .collect();
        format!(
            "{} {:?} {} {:?} {:?} {directives:?} {}",
            function.is_entry,
            function.linkage,
            self.text(function.name),
            declarations(function.returns),
            declarations(function.parameters),
            function.body.len
        )
    }
}
