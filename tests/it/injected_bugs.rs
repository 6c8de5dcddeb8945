//! Bugs put into every real kernel where they have a place: which are found, rule by rule, and that
//! nothing else is.
//!
//! `cargo test --test injected_bugs -- --nocapture` prints the table; the snapshot holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;

use ptx_tc::diagnostic::Severity;
use ptx_tc::instruction::Instruction;
use ptx_tc::instruction::decode::{Decoded, decode_all};
use ptx_tc::isa::vocabulary::{CtaGroup, Operation, Slot};
use ptx_tc::source::Span;
use ptx_tc::syntax::ast::StatementKind;
use ptx_tc::{Options, Source, Unit, check};

/// Text to put in place of a range.
type Edit = (Range<usize>, String);

/// A kind of bug.
struct Bug {
    name: &'static str,
    /// What finds it.
    expected: &'static [&'static str],
    /// Its edits in one function; none where it has no place.
    inject: fn(&Function<'_>) -> Vec<Edit>,
}

/// One function of a module with its statements.
struct Function<'a> {
    source: &'a Source,
    /// Spans of its instructions, their opcodes, and the tcgen05 instructions among them.
    instructions: Vec<(Span, &'a str, Option<&'a Decoded<'a>>)>,
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
}

fn n_cols(decoded: &Decoded<'_>) -> Option<Span> {
    match decoded.instruction.as_ref()? {
        Instruction::Alloc(it) => Some(it.n_cols.span()),
        Instruction::Dealloc(it) => Some(it.n_cols.span()),
        _ => None,
    }
}

const BUGS: &[Bug] = &[
    Bug {
        name: "wait::ld deleted",
        expected: &["TC701", "TC706", "TC709", "TC309"],
        inject: |function| function.delete(Operation::WaitLd),
    },
    Bug {
        name: "wait::st deleted",
        expected: &["TC702", "TC706", "TC709", "TC309"],
        inject: |function| function.delete(Operation::WaitSt),
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
            if function.operations(Operation::Alloc).next().is_none() {
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
        expected: &["TC802"],
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
        name: "multiply again, 8 columns on",
        expected: &["TC711", "TC406", "TC616"],
        inject: |function| {
            let multiplies = function.operations(Operation::Mma).filter_map(|(span, decoded)| {
                let Some(Instruction::Mma(mma)) = &decoded.instruction else { return None };
                let at = (mma.d.span.start - span.start) as usize..(mma.d.span.end - span.start) as usize;
                let mut copy = function.text(span).to_owned();
                let further = format!("{}+8]", copy[at.clone()].strip_suffix(']')?);
                (!further.contains("+8+8") && further.matches('+').count() == 1).then_some(())?;
                copy.replace_range(at, &further);
                Some((span.range().end..span.range().end, format!(" {copy}")))
            });
            multiplies.take(1).collect()
        },
    },
    Bug {
        name: "dealloc 32 columns on",
        expected: &["TC314"],
        inject: |function| {
            let freed = function.operations(Operation::Dealloc).filter_map(|(span, decoded)| {
                let Some(Instruction::Dealloc(dealloc)) = &decoded.instruction else { return None };
                let address = dealloc.taddr.span();
                let at = (address.start - span.start) as usize..(address.end - span.start) as usize;
                let mut text = function.text(span).to_owned();
                let old = text[at.clone()].to_owned();
                text.replace_range(at, "further");
                Some((span.range(), format!("{{ .reg .b32 further; add.u32 further, {old}, 32; {text} }}")))
            });
            freed.collect()
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
            if function.operations(Operation::Mma).next().is_none() {
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

#[derive(Default)]
struct Tally {
    placed: usize,
    caught: usize,
    by_rule: BTreeMap<&'static str, usize>,
}

#[test]
fn injected_bugs() {
    let mut tallies: Vec<Tally> = BUGS.iter().map(|_| Tally::default()).collect();
    let mut unexpected: BTreeSet<String> = BTreeSet::new();
    let mut paths: Vec<_> = fs::read_dir(crate::common::root().join("fixtures/kernels"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let source = Source::from_bytes(&name, fs::read(&path).unwrap()).unwrap();
        let unit = Unit::new(&source);
        let decoded = decode_all(&unit);
        let module = &unit.module;
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
                (start..end, Function { source: &source, instructions })
            })
            .collect();
        for (bug, tally) in BUGS.iter().zip(&mut tallies) {
            let mut edits = Vec::new();
            let mut places = Vec::new();
            for (range, function) in &functions {
                let injected = (bug.inject)(function);
                if !injected.is_empty() {
                    places.push(range.clone());
                    edits.extend(injected);
                }
            }
            if places.is_empty() {
                continue;
            }
            let (text, shifts) = apply(source.text(), edits);
            let moved = |offset: usize| {
                let at = shifts.partition_point(|(end, _)| *end <= offset);
                let shift = if at == 0 { 0 } else { shifts[at - 1].1 };
                usize::try_from(offset.cast_signed() + shift).unwrap()
            };
            let mutated = Source::new(&name, text).unwrap();
            let report = check(&mutated, &Options::default());
            let mut found: Vec<(usize, &'static str)> = Vec::new();
            for finding in &report.diagnostics {
                let code = finding.code.as_str();
                if bug.expected.contains(&code) {
                    found.push((finding.primary.span.range().start, code));
                    // A finding in a callee belongs to the kernels that its labels name, too.
                    found.extend(finding.labels.iter().map(|label| (label.span.range().start, code)));
                } else if finding.severity >= Severity::Warning {
                    unexpected.insert(format!("{}: {name}: {code} {}", bug.name, finding.message));
                }
            }
            for place in places {
                tally.placed += 1;
                let range = moved(place.start)..moved(place.end);
                let codes: BTreeSet<&'static str> =
                    found.iter().filter(|(at, _)| range.contains(at)).map(|(_, code)| *code).collect();
                tally.caught += usize::from(!codes.is_empty());
                for code in codes {
                    *tally.by_rule.entry(code).or_default() += 1;
                }
            }
        }
    }
    let mut table = String::from("bug                              placed  caught  by\n");
    for (bug, tally) in BUGS.iter().zip(&tallies) {
        let by: Vec<String> = tally.by_rule.iter().map(|(code, count)| format!("{code} {count}")).collect();
        writeln!(
            table,
            "{:<32} {:>6}  {:>5.1} %  {}",
            bug.name,
            tally.placed,
            100.0 * tally.caught as f64 / tally.placed.max(1) as f64,
            by.join(", ")
        )
        .unwrap();
    }
    println!("{table}");
    let unexpected: Vec<String> = unexpected.into_iter().collect();
    println!("{} unexpected: {:#?}", unexpected.len(), &unexpected[..unexpected.len().min(40)]);
    assert!(unexpected.is_empty());
    insta::assert_snapshot!("injected_bugs", table);
}
