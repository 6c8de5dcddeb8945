//! The bugs that are put into functions, and what finds them.

use ptx_check::instruction::Instruction;
use ptx_check::isa::vocabulary::{CtaGroup, Operation, Slot};
use ptx_check::source::Span;

use super::function::{Edit, Function, n_cols};

/// A kind of bug.
#[derive(Debug)]
pub struct Bug {
    /// What was done to the kernel.
    pub name: &'static str,
    /// The rules that find it.
    pub expected: &'static [&'static str],
    /// Its edits in one function; none where it has no place.
    pub(super) inject: fn(&Function<'_>) -> Vec<Edit>,
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
            if waits.iter().all(|wait| function.reads_all_loads(*wait)) {
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
            let others = sizes.filter(|size| function.text(*size) != "32");
            others.map(|size| (size.range(), "32".to_owned())).collect()
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
            // All of them: some stand where no thread gets to.
            let deallocs = function.operations(Operation::Dealloc);
            deallocs
                .map(|(span, _)| (span.range().end..span.range().end, format!(" {}", function.text(span))))
                .collect()
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
        expected: &["TC710", "TC703", "TC309", "TC312", "TC711", "TC713", "TC715"],
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
        expected: &["TC802", "TC806", "TC838"],
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
        expected: &["TC806", "TC802", "TC838"],
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
        name: "wait for copies deleted",
        expected: &["TC715"],
        inject: |function| {
            if function.operations(Operation::Mma).next().is_none() {
                return Vec::new();
            }
            function.delete_opcodes(|opcode| opcode.starts_with("cp.async.wait_"))
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
        expected: &["TC806", "TC802", "TC838"],
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
        expected: &["TC310", "TC704", "TC808"],
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
        expected: &["TC406", "TC409", "TC412"],
        inject: |function| {
            let Some((span, decoded)) = function.operations(Operation::Ld).next() else { return Vec::new() };
            let Some(Instruction::Ld(ld)) = &decoded.instruction else { return Vec::new() };
            function.with_offset(span, &ld.taddr, 512)
        },
    },
    Bug {
        name: "multiply into a column past the last",
        expected: &["TC406", "TC409", "TC616", "TC716"],
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
        expected: &["TC831", "TC838"],
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
