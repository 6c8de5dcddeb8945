//! A function with its statements, and what may be done to its text.

use std::collections::BTreeSet;
use std::ops::Range;

use ptx_check::Source;
use ptx_check::instruction::decode::Decoded;
use ptx_check::instruction::{Address, Base, Instruction, Mma};
use ptx_check::isa::vocabulary::Operation;
use ptx_check::source::Span;
use ptx_check::syntax::ast::Type;

/// Text to put in place of a range.
pub(super) type Edit = (Range<usize>, String);

/// One function of a module with its statements.
pub(super) struct Function<'a> {
    pub(super) source: &'a Source,
    pub(super) name: &'a str,
    /// Spans of its instructions, their opcodes, and the tcgen05 instructions among them.
    pub(super) instructions: Vec<(Span, &'a str, Option<&'a Decoded<'a>>)>,
    /// Where its multiplies name a matrix B that is known not to be swizzled.
    pub(super) unswizzled: &'a BTreeSet<u32>,
}

impl Function<'_> {
    pub(super) fn operations(&self, operation: Operation) -> impl Iterator<Item = (Span, &Decoded<'_>)> {
        self.instructions.iter().filter_map(move |(span, _, decoded)| {
            let decoded = (*decoded)?;
            (decoded.form?.operation == operation).then_some((*span, decoded))
        })
    }

    pub(super) fn delete(&self, operation: Operation) -> Vec<Edit> {
        self.operations(operation).map(|(span, _)| (span.range(), String::new())).collect()
    }

    pub(super) fn delete_opcodes(&self, is_one: impl Fn(&str) -> bool) -> Vec<Edit> {
        self.instructions
            .iter()
            .filter(|(_, opcode, _)| is_one(opcode))
            .map(|(span, ..)| (span.range(), String::new()))
            .collect()
    }

    /// Puts the predicate that a statement writes to true instead.
    pub(super) fn make_true(
        &self,
        is_one: impl Fn(&str) -> bool,
        destination: impl Fn(&str) -> Option<&str>,
    ) -> Vec<Edit> {
        self.instructions
            .iter()
            .filter(|(_, opcode, _)| is_one(opcode))
            .filter_map(|(span, opcode, _)| {
                let text = self.source.slice(*span);
                let operands = &text[text.find(opcode)? + opcode.len()..];
                let predicate = destination(operands)?.trim();
                Some((span.range(), format!("setp.eq.u32 {predicate}, 0, 0;")))
            })
            .collect()
    }

    pub(super) fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// The text of a statement with another text in place of one of its operands.
    pub(super) fn with(&self, statement: Span, operand: Span, other: &str) -> String {
        let at = (operand.start - statement.start) as usize..(operand.end - statement.start) as usize;
        let mut text = self.text(statement).to_owned();
        text.replace_range(at, other);
        text
    }

    /// Puts a register in place of an operand, and before the statement what gives it a value: lines of
    /// PTX that call the register `WORD` and the operand `OLD`.
    pub(super) fn with_word(&self, statement: Span, operand: Span, ty: &str, lines: &str) -> Vec<Edit> {
        let lines = lines.replace("OLD", self.text(operand)).replace("WORD", "injected_word");
        let text = self.with(statement, operand, "injected_word");
        vec![(statement.range(), format!("{{ .reg .{ty} injected_word; {lines} {text} }}"))]
    }

    /// Puts the sum of a register and a number in place of the register that an address starts from.
    pub(super) fn with_offset(&self, statement: Span, address: &Address<'_>, offset: u32) -> Vec<Edit> {
        let Base::Register(register) = &address.base else { return Vec::new() };
        let ty = register.ty.and_then(Type::bits).filter(|bits| *bits == 64).map_or("b32", |_| "b64");
        let add = format!("add.{} WORD, OLD, {offset};", ty.replace('b', "u"));
        self.with_word(statement, register.span, ty, &add)
    }

    /// The first statement of an operation that no guard keeps from being executed.
    pub(super) fn first_unguarded(&self, operation: Operation) -> Option<(Span, &Decoded<'_>)> {
        self.operations(operation).find(|(span, _)| !self.text(*span).starts_with('@'))
    }

    pub(super) fn multiply(&self) -> Option<(Span, &Mma<'_>)> {
        [Operation::Mma, Operation::MmaWs]
            .into_iter()
            .flat_map(|operation| self.operations(operation))
            .find_map(|(span, decoded)| match decoded.instruction.as_ref()? {
                Instruction::Mma(mma) => Some((span, &**mma)),
                _ => None,
            })
    }

    /// Changes the instruction descriptor of the first multiply.
    pub(super) fn with_idesc(&self, lines: &str) -> Vec<Edit> {
        let Some((span, mma)) = self.multiply() else { return Vec::new() };
        self.with_word(span, mma.idesc.span(), "b32", lines)
    }

    /// Changes the descriptor of B of the first multiply.
    pub(super) fn with_b(&self, lines: &str) -> Vec<Edit> {
        let Some((span, mma)) = self.multiply() else { return Vec::new() };
        self.with_word(span, mma.b.span(), "b64", lines)
    }

    /// The first statement whose opcode is one of these, and its operands.
    pub(super) fn first_of(&self, is_one: impl Fn(&str) -> bool) -> Option<(Span, Vec<Span>)> {
        let (span, opcode, _) = self.instructions.iter().find(|(_, opcode, _)| is_one(opcode))?;
        let text = self.text(*span);
        let start = text.find(opcode)? + opcode.len();
        let end = text.rfind(';')?;
        let mut operands = Vec::new();
        let mut at = start;
        for operand in text[start..end].split(',') {
            let trimmed = operand.trim_start();
            let from = at + operand.len() - trimmed.len();
            let part = |offset: usize| span.start + u32::try_from(offset).unwrap_or(0);
            operands.push(Span { start: part(from), end: part(from + trimmed.trim_end().len()) });
            at += operand.len() + 1;
        }
        Some((*span, operands))
    }
}

impl Function<'_> {
    /// Whether a register is loaded from a parameter.
    pub(super) fn is_parameter(&self, operand: Span) -> bool {
        let register = self.text(operand);
        self.instructions.iter().any(|(span, opcode, _)| {
            let destination = || self.text(*span).split_once(opcode).map(|(_, rest)| rest);
            opcode.starts_with("ld.param")
                && destination().and_then(|rest| rest.split('[').next()).is_some_and(|to| names(to, register))
        })
    }

    /// The places of its `wait::ld`.
    pub(super) fn waits_for_loads(&self) -> impl Iterator<Item = usize> {
        let is_wait = |(_, _, decoded): &(Span, &str, Option<&Decoded<'_>>)| {
            decoded.and_then(|it| it.form).is_some_and(|form| form.operation == Operation::WaitLd)
        };
        self.instructions.iter().enumerate().filter(move |(_, it)| is_wait(it)).map(|(at, _)| at)
    }

    /// Whether instructions right behind a `wait::ld` read every register that it waits for, before control
    /// parts, and before anything that another thread or operation could notice; and the threads meet at a
    /// barrier between that and where Tensor Memory is freed.
    pub(super) fn reads_all_loads(&self, wait: usize) -> bool {
        /// What something else could notice, or where control parts.
        const ENDS: &[&str] = &[
            "bra", "brx", "ret", "exit", "call", "bar", "mbarrier", "tcgen05", "fence", "membar", "red",
            "atom", "cp", "elect", "cluster",
        ];
        // At a barrier the others learn that they may go on: where nobody writes to Tensor Memory any more,
        // only what frees it matters.
        let is_last = self.is_behind_writes(wait);
        let ends = |opcode: &str| {
            let word = opcode.split('.').next().unwrap_or_default();
            !(is_last && word == "bar") && ENDS.iter().any(|end| word.starts_with(end))
        };
        let words = |text: &'_ str| -> BTreeSet<String> {
            let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '%' | '$');
            text.split(|it: char| !is_part(it)).filter(|it| !it.is_empty()).map(str::to_owned).collect()
        };
        let previous = self.waits_for_loads().take_while(|it| *it < wait).last();
        let mut open: BTreeSet<String> = BTreeSet::new();
        for (span, _, decoded) in &self.instructions[previous.map_or(0, |it| it + 1)..wait] {
            if let Some(Instruction::Ld(ld)) = decoded.and_then(|it| it.instruction.as_ref()) {
                open.extend(words(self.text(ld.r.span)));
                if self.text(*span).starts_with('@') {
                    return false;
                }
            }
        }
        let first = previous.map_or(0, |it| it + 1);
        let mut end = wait + 1;
        for (span, opcode, _) in &self.instructions[wait + 1..] {
            if open.is_empty() || ends(opcode) {
                break;
            }
            end += 1;
            let text = self.text(*span);
            if text.starts_with('@') || opcode.starts_with("mov") {
                continue;
            }
            let operands = &text[text.find(opcode).map_or(0, |at| at + opcode.len())..];
            let read = if opcode.starts_with("st") {
                Some(operands)
            } else {
                operands.split_once(',').map(|it| it.1)
            };
            for register in words(read.unwrap_or_default()) {
                open.remove(&register);
            }
        }
        // What is read nowhere does not matter.
        let mut others = self.instructions[..first].iter().chain(&self.instructions[end..]);
        (open.is_empty() || others.all(|(span, ..)| words(self.text(*span)).is_disjoint(&open)))
            && self.meets_before_dealloc(end)
    }

    /// Whether nothing behind an instruction, in the text or by a branch back, writes to Tensor Memory.
    fn is_behind_writes(&self, at: usize) -> bool {
        let start = self.instructions[at].0.range().start;
        self.instructions[at..].iter().all(|(span, opcode, decoded)| {
            let operation = decoded.and_then(|it| it.form).map(|form| form.operation);
            let writes = matches!(
                operation,
                Some(Operation::Mma | Operation::MmaWs | Operation::Cp | Operation::Shift | Operation::St)
            );
            let goes_back = opcode.starts_with("br") && {
                let target =
                    self.text(*span).trim_end_matches(';').rsplit([' ', '\t']).next().unwrap_or_default();
                let label = format!("\n{target}:");
                self.source.text().find(&label).is_none_or(|label| label < start)
            };
            !writes && !goes_back
        })
    }

    /// Whether the threads meet at a barrier behind an instruction before Tensor Memory is freed.
    fn meets_before_dealloc(&self, from: usize) -> bool {
        let is_barrier = |opcode: &str| opcode.starts_with("bar") && !opcode.starts_with("bar.warp");
        let is_dealloc = |opcode: &str| opcode.starts_with("tcgen05.dealloc");
        let mut behind = self.instructions[from..].iter().map(|(_, opcode, _)| *opcode);
        behind.find(|opcode| is_barrier(opcode) || is_dealloc(opcode)).is_none_or(is_barrier)
    }

    /// Whether it stores to Tensor Memory only what it loads itself before anybody is told.
    pub(super) fn loads_all_stores_itself(&self) -> bool {
        let last = |operation| self.operations(operation).map(|(span, _)| span.start).max();
        let tells = self.instructions.iter().any(|(_, opcode, decoded)| {
            let operation = decoded.and_then(|it| it.form).map(|form| form.operation);
            matches!(
                operation,
                Some(
                    Operation::Mma
                        | Operation::MmaWs
                        | Operation::Cp
                        | Operation::Shift
                        | Operation::FenceBefore
                        | Operation::Commit
                )
            ) || opcode.starts_with("mbarrier.arrive")
                || opcode.starts_with("bar.sync")
        });
        !tells && last(Operation::Ld) > last(Operation::St)
    }
}

/// Whether a register stands in a text.
pub(super) fn names(text: &str, register: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.match_indices(register).any(|(at, _)| {
        !text.as_bytes().get(at + register.len()).is_some_and(is_part)
            && !at.checked_sub(1).and_then(|at| text.as_bytes().get(at)).is_some_and(is_part)
    })
}

pub(super) fn n_cols(decoded: &Decoded<'_>) -> Option<Span> {
    match decoded.instruction.as_ref()? {
        Instruction::Alloc(it) => Some(it.n_cols.span()),
        Instruction::Dealloc(it) => Some(it.n_cols.span()),
        _ => None,
    }
}
