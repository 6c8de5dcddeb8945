//! Bugs put into kernels that have none, and which of them the checker finds.
//!
//! Each [`Bug`] is one kind of mistake: a statement that is missing, another number, another thread. It
//! is put into each function that has a place for it; a bug counts as found if a rule that is meant for
//! it says something in that function that it did not say before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptx_tc::descriptor::shared_memory::SwizzleMode;
use ptx_tc::diagnostic::Severity;
use ptx_tc::instruction::decode::{Decoded, decode_all};
use ptx_tc::instruction::{Address, Base, Instruction, Mma};
use ptx_tc::isa::vocabulary::{CtaGroup, Operation, Slot};
use ptx_tc::source::Span;
use ptx_tc::syntax::ast::{StatementKind, Type};
use ptx_tc::{Options, Source, Unit, check};

/// Text to put in place of a range.
type Edit = (Range<usize>, String);

/// A kind of bug.
#[derive(Debug)]
pub struct Bug {
    /// What was done to the kernel.
    pub name: &'static str,
    /// The rules that find it.
    pub expected: &'static [&'static str],
    /// Its edits in one function; none where it has no place.
    inject: fn(&Function<'_>) -> Vec<Edit>,
}

/// One function of a module with its statements.
struct Function<'a> {
    source: &'a Source,
    name: &'a str,
    /// Spans of its instructions, their opcodes, and the tcgen05 instructions among them.
    instructions: Vec<(Span, &'a str, Option<&'a Decoded<'a>>)>,
    /// Where its multiplies name a matrix B that is known not to be swizzled.
    unswizzled: &'a BTreeSet<u32>,
}

impl Function<'_> {
    fn operations(&self, operation: Operation) -> impl Iterator<Item = (Span, &Decoded<'_>)> {
        self.instructions.iter().filter_map(move |(span, _, decoded)| {
            let decoded = (*decoded)?;
            (decoded.form?.operation == operation).then_some((*span, decoded))
        })
    }

    fn delete(&self, operation: Operation) -> Vec<Edit> {
        self.operations(operation).map(|(span, _)| (span.range(), String::new())).collect()
    }

    fn delete_opcodes(&self, is_one: impl Fn(&str) -> bool) -> Vec<Edit> {
        self.instructions
            .iter()
            .filter(|(_, opcode, _)| is_one(opcode))
            .map(|(span, ..)| (span.range(), String::new()))
            .collect()
    }

    /// Puts the predicate that a statement writes to true instead.
    fn make_true(
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

    fn text(&self, span: Span) -> &str {
        self.source.slice(span)
    }

    /// The text of a statement with another text in place of one of its operands.
    fn with(&self, statement: Span, operand: Span, other: &str) -> String {
        let at = (operand.start - statement.start) as usize..(operand.end - statement.start) as usize;
        let mut text = self.text(statement).to_owned();
        text.replace_range(at, other);
        text
    }

    /// Puts a register in place of an operand, and before the statement what gives it a value: lines of
    /// PTX that call the register `WORD` and the operand `OLD`.
    fn with_word(&self, statement: Span, operand: Span, ty: &str, lines: &str) -> Vec<Edit> {
        let lines = lines.replace("OLD", self.text(operand)).replace("WORD", "injected_word");
        let text = self.with(statement, operand, "injected_word");
        vec![(statement.range(), format!("{{ .reg .{ty} injected_word; {lines} {text} }}"))]
    }

    /// Puts the sum of a register and a number in place of the register that an address starts from.
    fn with_offset(&self, statement: Span, address: &Address<'_>, offset: u32) -> Vec<Edit> {
        let Base::Register(register) = &address.base else { return Vec::new() };
        let ty = register.ty.and_then(Type::bits).filter(|bits| *bits == 64).map_or("b32", |_| "b64");
        let add = format!("add.{} WORD, OLD, {offset};", ty.replace('b', "u"));
        self.with_word(statement, register.span, ty, &add)
    }

    /// The first statement of an operation that no guard keeps from being executed.
    fn first_unguarded(&self, operation: Operation) -> Option<(Span, &Decoded<'_>)> {
        self.operations(operation).find(|(span, _)| !self.text(*span).starts_with('@'))
    }

    fn multiply(&self) -> Option<(Span, &Mma<'_>)> {
        [Operation::Mma, Operation::MmaWs]
            .into_iter()
            .flat_map(|operation| self.operations(operation))
            .find_map(|(span, decoded)| match decoded.instruction.as_ref()? {
                Instruction::Mma(mma) => Some((span, &**mma)),
                _ => None,
            })
    }

    /// Changes the instruction descriptor of the first multiply.
    fn with_idesc(&self, lines: &str) -> Vec<Edit> {
        let Some((span, mma)) = self.multiply() else { return Vec::new() };
        self.with_word(span, mma.idesc.span(), "b32", lines)
    }

    /// Changes the descriptor of B of the first multiply.
    fn with_b(&self, lines: &str) -> Vec<Edit> {
        let Some((span, mma)) = self.multiply() else { return Vec::new() };
        self.with_word(span, mma.b.span(), "b64", lines)
    }

    /// The first statement whose opcode is one of these, and its operands.
    fn first_of(&self, is_one: impl Fn(&str) -> bool) -> Option<(Span, Vec<Span>)> {
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
    fn is_parameter(&self, operand: Span) -> bool {
        let register = self.text(operand);
        self.instructions.iter().any(|(span, opcode, _)| {
            let destination = || self.text(*span).split_once(opcode).map(|(_, rest)| rest);
            opcode.starts_with("ld.param")
                && destination().and_then(|rest| rest.split('[').next()).is_some_and(|to| names(to, register))
        })
    }

    /// The places of its `wait::ld`.
    fn waits_for_loads(&self) -> impl Iterator<Item = usize> {
        let is_wait = |(_, _, decoded): &(Span, &str, Option<&Decoded<'_>>)| {
            decoded.and_then(|it| it.form).is_some_and(|form| form.operation == Operation::WaitLd)
        };
        self.instructions.iter().enumerate().filter(move |(_, it)| is_wait(it)).map(|(at, _)| at)
    }

    /// Whether instructions right behind a `wait::ld` read every register that it waits for, before control
    /// parts, and before anything that another thread or operation could notice.
    fn reads_all_loads(&self, wait: usize) -> bool {
        /// What something else could notice, or where control parts.
        const ENDS: &[&str] = &[
            "bra", "brx", "ret", "exit", "call", "bar", "mbarrier", "tcgen05", "fence", "membar", "red",
            "atom", "cp", "elect", "cluster",
        ];
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
            if ENDS.iter().any(|end| opcode.split('.').next().is_some_and(|it| it.starts_with(end))) {
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
        open.is_empty() || others.all(|(span, ..)| words(self.text(*span)).is_disjoint(&open))
    }

    /// Whether the threads meet at a barrier behind an instruction before Tensor Memory is freed.
    fn meets_before_dealloc(&self, from: usize) -> bool {
        let is_barrier = |opcode: &str| opcode.starts_with("bar") && !opcode.starts_with("bar.warp");
        let is_dealloc = |opcode: &str| opcode.starts_with("tcgen05.dealloc");
        let mut behind = self.instructions[from..].iter().map(|(_, opcode, _)| *opcode);
        behind.find(|opcode| is_barrier(opcode) || is_dealloc(opcode)).is_none_or(is_barrier)
    }

    /// Whether it stores to Tensor Memory only what it loads itself before anybody is told.
    fn loads_all_stores_itself(&self) -> bool {
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
fn names(text: &str, register: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.match_indices(register).any(|(at, _)| {
        !text.as_bytes().get(at + register.len()).is_some_and(is_part)
            && !at.checked_sub(1).and_then(|at| text.as_bytes().get(at)).is_some_and(is_part)
    })
}

fn n_cols(decoded: &Decoded<'_>) -> Option<Span> {
    match decoded.instruction.as_ref()? {
        Instruction::Alloc(it) => Some(it.n_cols.span()),
        Instruction::Dealloc(it) => Some(it.n_cols.span()),
        _ => None,
    }
}

/// The bugs, each with what finds it.
pub const BUGS: &[Bug] = &[
    Bug {
        // "Intra-thread ordering through true register dependency will be respected regardless of the presence or
        // absence of other forms of synchronization" (PTX ISA, 9.7.16.6.4.5): where every register is read
        // before anything else can matter, and a barrier comes before the columns are freed, it is no bug.
        name: "wait::ld deleted",
        expected: &["TC701", "TC706", "TC709", "TC714", "TC309"],
        inject: |function| {
            let waits: Vec<usize> = function.waits_for_loads().collect();
            let is_harmless =
                |wait: &usize| function.reads_all_loads(*wait) && function.meets_before_dealloc(*wait);
            if waits.iter().all(is_harmless) {
                return Vec::new();
            }
            function.delete(Operation::WaitLd)
        },
    },
    Bug {
        // A load of what was stored is ordered behind the store: where nothing but loads follows, and nobody is
        // told, it is no bug.
        name: "wait::st deleted",
        expected: &["TC702", "TC706", "TC709", "TC714", "TC309"],
        inject: |function| {
            if function.loads_all_stores_itself() { Vec::new() } else { function.delete(Operation::WaitSt) }
        },
    },
    Bug {
        name: "dealloc deleted",
        expected: &["TC304"],
        inject: |function| function.delete(Operation::Dealloc),
    },
    Bug {
        name: "size of dealloc changed to 32",
        expected: &["TC305"],
        inject: |function| {
            let sizes = function.operations(Operation::Dealloc).filter_map(|(_, decoded)| n_cols(decoded));
            sizes.map(|size| (size.range(), "32".to_owned())).collect()
        },
    },
    Bug {
        name: "second, larger allocation",
        expected: &["TC302", "TC306"],
        inject: |function| {
            let Some((span, decoded)) = function.operations(Operation::Alloc).next() else {
                return Vec::new();
            };
            let Some(size) = n_cols(decoded) else { return Vec::new() };
            let text = function.text(span);
            let at = (size.start - span.start) as usize..(size.end - span.start) as usize;
            let mut copy = text.to_owned();
            copy.replace_range(at, "512");
            vec![(span.range().end..span.range().end, format!(" {copy}"))]
        },
    },
    Bug {
        name: "alloc behind relinquish",
        expected: &["TC303"],
        inject: |function| {
            let Some((alloc, _)) = function.operations(Operation::Alloc).next() else { return Vec::new() };
            let Some((relinquish, _)) = function.operations(Operation::RelinquishAllocPermit).next() else {
                return Vec::new();
            };
            let moved = format!("{} ", function.text(relinquish));
            vec![(alloc.range().start..alloc.range().start, moved), (relinquish.range(), String::new())]
        },
    },
    Bug {
        name: "dealloc twice",
        expected: &["TC308"],
        inject: |function| {
            let Some((span, _)) = function.operations(Operation::Dealloc).next() else { return Vec::new() };
            vec![(span.range().end..span.range().end, format!(" {}", function.text(span)))]
        },
    },
    Bug {
        name: "barriers deleted",
        expected: &["TC312", "TC309", "TC703"],
        inject: |function| {
            // Where each warp that there is allocates for itself, no other one has to know.
            let first = |is_one: &dyn Fn(&str) -> bool| {
                function.instructions.iter().position(|(_, opcode, _)| is_one(opcode))
            };
            let alloc = first(&|opcode| opcode.starts_with("tcgen05.alloc"));
            let branch = first(&|opcode| opcode.starts_with("bra"));
            let Some(alloc) = alloc else { return Vec::new() };
            let is_guarded = function.text(function.instructions[alloc].0).starts_with('@');
            if !is_guarded && branch.is_none_or(|branch| alloc < branch) {
                return Vec::new();
            }
            function.delete_opcodes(|opcode| {
                (opcode.starts_with("bar.") || opcode.starts_with("barrier.")) && !opcode.contains("arrive")
            })
        },
    },
    Bug {
        name: "commit deleted",
        expected: &["TC704", "TC833"],
        inject: |function| function.delete(Operation::Commit),
    },
    Bug {
        name: "mbarrier waits deleted",
        expected: &["TC710", "TC703", "TC309", "TC312", "TC711"],
        inject: |function| {
            if function.operations(Operation::Commit).next().is_none() {
                return Vec::new();
            }
            function.make_true(
                |opcode| opcode.starts_with("mbarrier.try_wait") || opcode.starts_with("mbarrier.test_wait"),
                |operands| operands.split(',').next(),
            )
        },
    },
    Bug {
        name: "election removed",
        expected: &["TC802", "TC806"],
        inject: |function| {
            let issues = [Operation::Mma, Operation::MmaWs, Operation::Cp, Operation::Commit];
            if !issues.iter().any(|operation| function.operations(*operation).next().is_some()) {
                return Vec::new();
            }
            function.make_true(
                |opcode| opcode.starts_with("elect.sync"),
                |operands| operands.split(['|', ',']).nth(1),
            )
        },
    },
    Bug {
        name: "aligned instruction under elect",
        expected: &["TC801"],
        inject: |function| {
            let aligned = function.instructions.iter().rfind(|(span, _, decoded)| {
                decoded.is_some_and(|it| it.qualifiers.in_slot(Slot::Aligned).is_some())
                    && !function.text(*span).starts_with('@')
            });
            let Some((span, ..)) = aligned else { return Vec::new() };
            let text = function.text(*span);
            vec![(
                span.range(),
                format!("{{ .reg .pred only_one; elect.sync _|only_one, -1; @only_one {text} }}"),
            )]
        },
    },
    Bug {
        name: "aligned instruction in half a warp",
        expected: &["TC805"],
        inject: |function| {
            let aligned = function.instructions.iter().rfind(|(span, _, decoded)| {
                decoded.is_some_and(|it| it.qualifiers.in_slot(Slot::Aligned).is_some())
                    && !function.text(*span).starts_with('@')
            });
            let Some((span, ..)) = aligned else { return Vec::new() };
            let text = function.text(*span);
            vec![(
                span.range(),
                format!(
                    "{{ .reg .pred half; .reg .b32 lane; mov.u32 lane, %laneid; setp.lt.u32 half, lane, 16; \
                     @half {text} }}"
                ),
            )]
        },
    },
    Bug {
        name: "election inverted",
        expected: &["TC806", "TC802"],
        inject: |function| {
            let issues = [Operation::Mma, Operation::MmaWs, Operation::Cp, Operation::Commit];
            if !issues.iter().any(|operation| function.operations(*operation).next().is_some()) {
                return Vec::new();
            }
            let elections = function.instructions.iter().filter(|(_, opcode, _)| *opcode == "elect.sync");
            elections
                .filter_map(|(span, ..)| {
                    let elected = function.text(*span).split(['|', ',']).nth(1)?.trim();
                    let end = span.range().end;
                    Some((end..end, format!(" not.pred {elected}, {elected};")))
                })
                .collect()
        },
    },
    Bug {
        // Every accumulator has two columns or more: whatever the shape is, both have one in common.
        name: "multiply again, one column on",
        expected: &["TC711", "TC406", "TC616"],
        inject: |function| {
            let multiply = function.operations(Operation::Mma).find_map(|(span, decoded)| {
                let Some(Instruction::Mma(mma)) = &decoded.instruction else { return None };
                Some((span, mma))
            });
            let Some((span, mma)) = multiply else { return Vec::new() };
            let end = span.range().end;
            let again = function.with_offset(span, &mma.d, 1).into_iter();
            again.map(|(_, text)| (end..end, format!(" {text}"))).collect()
        },
    },
    Bug {
        name: "one CTA of a pair allocates",
        expected: &["TC807", "TC808"],
        inject: |function| {
            let allocs = function.operations(Operation::Alloc).filter_map(|(span, decoded)| {
                let is_pair = decoded.qualifiers.get::<CtaGroup>()?.value == CtaGroup::Two;
                let text = function.text(span);
                (is_pair && !text.starts_with('@')).then(|| {
                    (
                        span.range(),
                        format!(
                            "{{ .reg .pred leads; .reg .b32 rank; mov.u32 rank, %cluster_ctarank; \
                             and.b32 rank, rank, 1; setp.eq.u32 leads, rank, 0; @leads {text} }}"
                        ),
                    )
                })
            });
            allocs.collect()
        },
    },
    Bug {
        name: "proxy fence deleted",
        expected: &["TC707"],
        inject: |function| {
            // Where the matrices come by bulk copies, the fence is for what is stored in bulk, which is no
            // instruction of tcgen05.
            let loads = |opcode: &str| opcode.starts_with("cp.async.bulk") && opcode.contains("mbarrier");
            let is_loaded = function.instructions.iter().any(|(_, opcode, _)| loads(opcode));
            if is_loaded || function.operations(Operation::Mma).next().is_none() {
                return Vec::new();
            }
            function.delete_opcodes(|opcode| opcode.starts_with("fence.proxy.async"))
        },
    },
    Bug {
        name: "collector never filled",
        expected: &["TC507"],
        inject: |function| {
            let mut edits = Vec::new();
            let mut used = false;
            for (_, _, decoded) in &function.instructions {
                let Some(decoded) = decoded else { continue };
                for qualifier in decoded.qualifiers.iter() {
                    let spelling = qualifier.value.spelling();
                    used |= spelling.starts_with("collector") && spelling.ends_with("use");
                    if spelling.starts_with("collector") && spelling.ends_with("::fill") {
                        let discard = spelling.replace("::fill", "::discard");
                        edits.push((qualifier.span.range(), format!(".{discard}")));
                    }
                }
            }
            if used { edits } else { Vec::new() }
        },
    },
    Bug {
        name: "alloc by one thread",
        expected: &["TC801"],
        inject: |function| {
            let Some((span, _)) = function.first_unguarded(Operation::Alloc) else { return Vec::new() };
            let text = function.text(span);
            vec![(
                span.range(),
                format!("{{ .reg .pred only_one; elect.sync _|only_one, -1; @only_one {text} }}"),
            )]
        },
    },
    Bug {
        name: "multiply by two threads",
        expected: &["TC806", "TC802"],
        inject: |function| {
            if function.multiply().is_none() {
                return Vec::new();
            }
            // Which of them elects the thread that multiplies, is not for the bug to know.
            let elections = function.instructions.iter().filter(|(_, opcode, _)| *opcode == "elect.sync");
            elections
                .filter_map(|(span, ..)| {
                    let elected = function.text(*span).split(['|', ',']).nth(1)?.trim();
                    Some((
                        span.range(),
                        format!(
                            "{{ .reg .b32 its_lane; mov.u32 its_lane, %laneid; \
                             setp.lt.u32 {elected}, its_lane, 2; }}"
                        ),
                    ))
                })
                .collect()
        },
    },
    Bug {
        name: "dealloc by one CTA of a pair",
        expected: &["TC807", "TC808"],
        inject: |function| {
            let Some((span, decoded)) = function.first_unguarded(Operation::Dealloc) else {
                return Vec::new();
            };
            let text = function.text(span);
            if !matches!(&decoded.instruction, Some(Instruction::Dealloc(_)))
                || !text.contains("cta_group::2")
            {
                return Vec::new();
            }
            let lines = "mov.u32 its_rank, %cluster_ctarank; setp.eq.u32 chosen, its_rank, 0;";
            vec![(
                span.range(),
                format!("{{ .reg .b32 its_rank; .reg .pred chosen; {lines} @chosen {text} }}"),
            )]
        },
    },
    Bug {
        name: "commit of another CTA group",
        expected: &["TC310", "TC704"],
        inject: |function| {
            let Some((span, _)) = function.operations(Operation::Commit).next() else { return Vec::new() };
            let text = function.text(span);
            let other = if text.contains("cta_group::1") {
                text.replace("cta_group::1", "cta_group::2")
            } else {
                text.replace("cta_group::2", "cta_group::1")
            };
            vec![(span.range(), other)]
        },
    },
    Bug {
        name: "scale factors copied twice",
        expected: &["TC711"],
        inject: |function| {
            let Some((span, _)) = function.operations(Operation::Cp).next() else { return Vec::new() };
            vec![(span.range().end..span.range().end, format!(" {}", function.text(span)))]
        },
    },
    Bug {
        name: "too few columns allocated",
        expected: &["TC406", "TC616"],
        inject: |function| {
            // All of them; a kernel that needs no more than 32 is a place in vain, and so is one of which nobody
            // knows what it needs: its parameters say N.
            let sizes = [Operation::Alloc, Operation::Dealloc].into_iter().flat_map(|operation| {
                function.operations(operation).filter_map(|(_, decoded)| n_cols(decoded))
            });
            let sizes: Vec<Span> = sizes.collect();
            let is_open = function.multiply().is_none_or(|(_, mma)| function.is_parameter(mma.idesc.span()));
            if is_open || sizes.iter().any(|size| function.text(*size) == "32") {
                return Vec::new();
            }
            sizes.into_iter().map(|size| (size.range(), "32".to_owned())).collect()
        },
    },
    Bug {
        name: "dealloc one column further on",
        expected: &["TC314"],
        inject: |function| {
            let Some((span, decoded)) = function.operations(Operation::Dealloc).next() else {
                return Vec::new();
            };
            let Some(Instruction::Dealloc(dealloc)) = &decoded.instruction else { return Vec::new() };
            function.with_word(span, dealloc.taddr.span(), "b32", "add.u32 WORD, OLD, 1;")
        },
    },
    Bug {
        name: "ld behind dealloc",
        expected: &["TC308", "TC309", "TC410"],
        inject: |function| {
            let Some((span, decoded)) = function.operations(Operation::Dealloc).next() else {
                return Vec::new();
            };
            let Some(Instruction::Dealloc(dealloc)) = &decoded.instruction else { return Vec::new() };
            let taddr = function.text(dealloc.taddr.span());
            let end = span.range().end;
            vec![(
                end..end,
                format!(
                    " {{ .reg .b32 late; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{late}}, [{taddr}]; \
                     tcgen05.wait::ld.sync.aligned; }}"
                ),
            )]
        },
    },
    Bug {
        name: "ld from a column past the last",
        expected: &["TC406", "TC409"],
        inject: |function| {
            let Some((span, decoded)) = function.operations(Operation::Ld).next() else { return Vec::new() };
            let Some(Instruction::Ld(ld)) = &decoded.instruction else { return Vec::new() };
            function.with_offset(span, &ld.taddr, 512)
        },
    },
    Bug {
        name: "multiply into a column past the last",
        expected: &["TC406", "TC409", "TC616"],
        inject: |function| {
            let Some((span, mma)) = function.multiply() else { return Vec::new() };
            function.with_offset(span, &mma.d, 512)
        },
    },
    Bug {
        name: "N is 264",
        expected: &["TC603"],
        inject: |function| {
            function.with_idesc("and.b32 WORD, OLD, 0xFF81FFFF; or.b32 WORD, WORD, 0x00420000;")
        },
    },
    Bug {
        name: "a reserved bit of the idesc set",
        expected: &["TC601"],
        inject: |function| function.with_idesc("or.b32 WORD, OLD, 0x40;"),
    },
    Bug {
        name: "a type of A that there is none",
        expected: &["TC602"],
        inject: |function| function.with_idesc("or.b32 WORD, OLD, 0x380;"),
    },
    Bug {
        name: "a matrix descriptor without version",
        expected: &["TC611"],
        inject: |function| function.with_b("and.b64 WORD, OLD, 0xFFFFBFFFFFFFFFFF;"),
    },
    Bug {
        name: "a swizzle that there is none",
        expected: &["TC612"],
        inject: |function| function.with_b("or.b64 WORD, OLD, 0xE000000000000000;"),
    },
    Bug {
        name: "the stride of another swizzle",
        expected: &["TC619"],
        inject: |function| {
            // Where a parameter says the swizzle, any stride is that of some; where there is none, any is right.
            let is_bug = function.multiply().is_some_and(|(_, mma)| {
                let b = mma.b.span();
                !function.is_parameter(b) && !function.unswizzled.contains(&b.start)
            });
            if !is_bug {
                return Vec::new();
            }
            function.with_b("and.b64 WORD, OLD, 0xFFFFC000FFFFFFFF; or.b64 WORD, WORD, 0x0000000300000000;")
        },
    },
    Bug {
        name: "an mbarrier that counts to 0",
        expected: &["TC831"],
        inject: |function| {
            let Some((span, operands)) = function.first_of(|opcode| opcode.starts_with("mbarrier.init"))
            else {
                return Vec::new();
            };
            let Some(count) = operands.get(1) else { return Vec::new() };
            function.with_word(span, *count, "b32", "mov.u32 WORD, 0;")
        },
    },
    Bug {
        name: "barrier 16",
        expected: &["TC832"],
        inject: |function| {
            let Some((span, operands)) = function.first_of(|opcode| opcode.starts_with("bar.sync")) else {
                return Vec::new();
            };
            let Some(id) = operands.first() else { return Vec::new() };
            function.with_word(span, *id, "b32", "mov.u32 WORD, 16;")
        },
    },
    Bug {
        name: "commit to where no mbarrier is",
        expected: &["TC834", "TC833", "TC710", "TC704"],
        inject: |function| {
            let mut edits = Vec::new();
            for (span, decoded) in function.operations(Operation::Commit) {
                let Some(Instruction::Commit(commit)) = &decoded.instruction else { return Vec::new() };
                edits.extend(function.with_offset(span, &commit.mbar, 4096));
            }
            edits
        },
    },
];

fn apply(text: &str, mut edits: Vec<Edit>) -> (String, Vec<(usize, isize)>) {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 1000);
    let mut shifts = Vec::new();
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
        shifts.push((range.end, out.len().cast_signed() - at.cast_signed()));
    }
    out.push_str(&text[at..]);
    (out, shifts)
}

/// How many of a kind of bug had a place, and were found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// In how many functions it had a place.
    pub placed: usize,
    /// In how many of those it was found.
    pub caught: usize,
    /// Which rules found it, and in how many.
    pub by_rule: BTreeMap<&'static str, usize>,
    /// Where it was not found.
    pub missed: Vec<Missed>,
}

/// A place where a bug was put and not found.
#[derive(Clone, Debug)]
pub struct Missed {
    /// The module.
    pub module: String,
    /// The function.
    pub function: String,
    /// The lines of the module that were changed.
    pub lines: Vec<u32>,
}

/// Which bugs are put where.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only classes whose name contains this.
    pub class: String,
    /// At most this many functions of a module for each class; 0 for all.
    pub places: usize,
}

/// What was found of all bugs, in all modules so far.
#[derive(Debug)]
pub struct Tallies {
    /// One for each of [`BUGS`].
    pub tallies: Vec<Tally>,
    /// What was found besides, that the modules do not have by themselves.
    pub unexpected: BTreeSet<String>,
    choice: Choice,
}

impl Default for Tallies {
    fn default() -> Self {
        Self::of(Choice::default())
    }
}

impl Tallies {
    /// Nothing yet.
    pub fn of(choice: Choice) -> Self {
        let tallies = BUGS.iter().map(|_| Tally::default()).collect();
        Self { tallies, unexpected: BTreeSet::new(), choice }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (tally, more) in self.tallies.iter_mut().zip(other.tallies) {
            tally.placed += more.placed;
            tally.caught += more.caught;
            for (code, count) in more.by_rule {
                *tally.by_rule.entry(code).or_default() += count;
            }
            tally.missed.extend(more.missed);
        }
        self.unexpected.extend(other.unexpected);
        self
    }

    /// Puts every bug into a module, one kind at a time, and counts what is found.
    ///
    /// # Errors
    /// If a changed module is too large to be checked.
    pub fn add(&mut self, source: &Source) -> Result<(), ptx_tc::source::SourceError> {
        let unit = Unit::new(source);
        let decoded = decode_all(&unit);
        let module = &unit.module;
        let report = check(source, &Options { describe: true, ..Options::default() });
        let own: BTreeSet<(&str, String)> = report
            .diagnostics
            .iter()
            .map(|finding| (finding.code.as_str(), finding.message.clone()))
            .collect();
        let unswizzled: BTreeSet<u32> = report
            .descriptors
            .iter()
            .flatten()
            .filter(|it| {
                it.multiply.as_ref().is_some_and(|multiply| multiply.b.swizzle == Some(SwizzleMode::None))
            })
            .flat_map(|it| it.words.iter().filter(|word| word.name == "b-desc").map(|word| word.span.start))
            .collect();
        let functions: Vec<(Range<usize>, Function<'_>)> = module
            .bodies()
            .map(|(_, function)| {
                let statements = &module.statements[function.body.range()];
                let instructions = statements
                    .iter()
                    .filter_map(|statement| match statement.kind() {
                        StatementKind::Instruction(index) => {
                            let found = decoded.binary_search_by_key(&index, |it| it.index).ok();
                            let opcode = source.slice(module.instructions[index as usize].opcode);
                            Some((statement.span, opcode, found.map(|at| &decoded[at])))
                        }
                        _ => None,
                    })
                    .collect();
                let start = function.name.range().start;
                let end = statements.last().map_or(start, |last| last.span.range().end);
                let name = source.slice(function.name);
                (start..end, Function { source, name, instructions, unswizzled: &unswizzled })
            })
            .collect();
        for (bug, tally) in BUGS.iter().zip(&mut self.tallies) {
            if !bug.name.contains(&self.choice.class) {
                continue;
            }
            let mut edits = Vec::new();
            let mut places = Vec::new();
            for (range, function) in &functions {
                let injected = (bug.inject)(function);
                if !injected.is_empty() {
                    let line = |edit: &Edit| source.position(edit.0.start as u32).line;
                    let lines: Vec<u32> = injected.iter().map(line).collect();
                    places.push((range.clone(), function.name, lines));
                    edits.extend(injected);
                    if places.len() == self.choice.places {
                        break;
                    }
                }
            }
            if places.is_empty() {
                continue;
            }
            let (text, shifts) = apply(source.text(), edits);
            let moved = |offset: usize| {
                let at = shifts.partition_point(|(end, _)| *end <= offset);
                let shift = if at == 0 { 0 } else { shifts[at - 1].1 };
                offset.saturating_add_signed(shift)
            };
            let mutated = Source::new(source.name(), text)?;
            // All of them: what is in the first hundred functions is in the others, too.
            let report = check(&mutated, &Options { max_findings: None, ..Options::default() });
            let mut found: Vec<(usize, &'static str)> = Vec::new();
            for finding in &report.diagnostics {
                let code = finding.code.as_str();
                if own.contains(&(code, finding.message.clone())) {
                    continue;
                }
                if bug.expected.contains(&code) {
                    found.push((finding.primary.span.range().start, code));
                    // A finding in a callee belongs to the kernels that its labels name, too.
                    found.extend(finding.labels.iter().map(|label| (label.span.range().start, code)));
                } else if finding.severity >= Severity::Warning {
                    self.unexpected.insert(format!(
                        "{}: {}: {code} {}",
                        bug.name,
                        source.name(),
                        finding.message
                    ));
                }
            }
            for (place, name, lines) in places {
                tally.placed += 1;
                let range = moved(place.start)..moved(place.end);
                let codes: BTreeSet<&'static str> =
                    found.iter().filter(|(at, _)| range.contains(at)).map(|(_, code)| *code).collect();
                tally.caught += usize::from(!codes.is_empty());
                if codes.is_empty() {
                    let (module, function) = (source.name().to_owned(), name.to_owned());
                    tally.missed.push(Missed { module, function, lines });
                }
                for code in codes {
                    *tally.by_rule.entry(code).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    /// The share that was found of each kind.
    pub fn table(&self) -> String {
        let mut table = String::from("bug                                  placed  caught  by\n");
        for (bug, tally) in BUGS.iter().zip(&self.tallies) {
            let by: Vec<String> =
                tally.by_rule.iter().map(|(code, count)| format!("{code} {count}")).collect();
            let share = 100.0 * tally.caught as f64 / tally.placed.max(1) as f64;
            let row = format!("{:<36} {:>6}  {share:>5.1} %  {}", bug.name, tally.placed, by.join(", "));
            table.push_str(row.trim_end());
            table.push('\n');
        }
        table
    }
}
