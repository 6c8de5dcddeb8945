//! Bugs put into kernels that run clean, and which of them running the kernel finds.
//!
//! Each [`Bug`] is one mistake of those that cost days: a wait that is missing, a parity, a count, an
//! address. It is put into a kernel in one place at a time, and the kernel is run under its launch. A bug
//! counts as found if anything is found; whether what is reported first names the cause is counted beside
//! it, and so is whether the checker alone, which runs nothing, says something new.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc::simulation::{Kernel, Settings, Verdict};
use ptx_tc::syntax::ast::StatementKind;
use ptx_tc::{Options, Source, Unit, check};

/// Text to put in place of a range.
type Edit = (Range<usize>, String);

/// A kind of bug.
#[derive(Debug)]
pub struct Bug {
    /// What was done to the kernel.
    pub name: &'static str,
    /// The findings that name it.
    pub names: &'static [&'static str],
    /// Its places in one kernel, each with the edits that put it there.
    inject: fn(&Body<'_>) -> Vec<Vec<Edit>>,
}

/// The statements of a kernel.
struct Body<'a> {
    text: &'a str,
    statements: Vec<Statement<'a>>,
}

/// An instruction.
struct Statement<'a> {
    range: Range<usize>,
    text: &'a str,
    opcode: &'a str,
    /// Where its operands stand in the module.
    operands: Vec<Range<usize>>,
}

/// What a wait is for, by what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    /// A free stage, before it is filled.
    Stage,
    /// What a multiply reads.
    Operands,
    /// What a multiply has written.
    Result,
}

impl<'a> Statement<'a> {
    fn is(&self, opcode: &str) -> bool {
        self.opcode.starts_with(opcode)
    }

    fn operand(&self, at: usize, text: &'a str) -> Option<&'a str> {
        self.operands.get(at).map(|range| &text[range.clone()])
    }

    fn delete(&self) -> Vec<Edit> {
        vec![(self.range.clone(), String::new())]
    }

    fn replace(&self, text: impl Into<String>) -> Vec<Edit> {
        vec![(self.range.clone(), text.into())]
    }

    fn before(&self, text: &str) -> Vec<Edit> {
        vec![(self.range.start..self.range.start, format!("{text} "))]
    }

    fn after(&self, text: &str) -> Vec<Edit> {
        vec![(self.range.end..self.range.end, format!(" {text}"))]
    }

    fn again(&self) -> Vec<Edit> {
        self.after(self.text)
    }

    /// The statement with something else in place of an operand.
    fn with(&self, at: usize, other: &str) -> Option<Vec<Edit>> {
        Some(vec![(self.operands.get(at)?.clone(), other.to_owned())])
    }

    /// The statement with an operand that is computed from its own: lines that call them `WORD` and `OLD`.
    fn computed(&self, at: usize, ty: &str, lines: &str, text: &str) -> Option<Vec<Edit>> {
        let old = self.operand(at, text)?;
        let range = self.operands.get(at)?;
        let (from, to) = (range.start - self.range.start, range.end - self.range.start);
        let lines = lines.replace("OLD", old).replace("WORD", "injected_word");
        let changed = format!("{}injected_word{}", &self.text[..from], &self.text[to..]);
        Some(self.replace(format!("{{ .reg .{ty} injected_word; {lines} {changed} }}")))
    }

    /// The statement with an address that lies so many bytes further on.
    fn moved(&self, at: usize, by: i64, text: &str) -> Option<Vec<Edit>> {
        self.with(at, &moved(self.operand(at, text)?, by)?)
    }
}

/// An address in brackets, so many bytes further on.
fn moved(address: &str, by: i64) -> Option<String> {
    let inner = address.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = match inner.rsplit_once('+') {
        Some((base, offset)) => (base.trim(), offset.trim().parse::<i64>().ok()?),
        None => (inner.trim(), 0),
    };
    Some(format!("[{base}+{}]", offset + by))
}

impl<'a> Body<'a> {
    fn new(unit: &'a Unit, kernel: &str) -> Option<Self> {
        let text = unit.source.text();
        let module = &unit.module;
        let (_, function) =
            module.bodies().find(|(_, it)| it.is_entry && unit.source.slice(it.name) == kernel)?;
        let statements = module.statements[function.body.range()].iter().filter_map(|statement| {
            let StatementKind::Instruction(index) = statement.kind() else { return None };
            let raw = &module.instructions[index as usize];
            let range = statement.span.range();
            Some(Statement {
                text: &text[range.clone()],
                opcode: unit.source.slice(raw.opcode),
                operands: operands(text, raw.opcode.range().end..range.end),
                range,
            })
        });
        Some(Self { text, statements: statements.collect() })
    }

    fn all<'s>(&'s self, opcode: &'s str) -> impl Iterator<Item = &'s Statement<'a>> {
        self.statements.iter().filter(move |it| it.is(opcode))
    }

    /// Arrivals of threads that do not expect bytes.
    fn arrivals(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("mbarrier.arrive").filter(|it| !it.opcode.contains("expect_tx"))
    }

    fn expecting(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("mbarrier") && it.opcode.contains("expect_tx"))
    }

    /// Those at an mbarrier of the CTA's own.
    fn expecting_here(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.expecting().filter(|it| !it.opcode.contains("shared::cluster"))
    }

    /// Copies of `cp.async`, which threads make for themselves.
    fn own_copies(&self) -> impl Iterator<Item = &Statement<'a>> {
        ["cp.async.ca", "cp.async.cg"].into_iter().flat_map(|opcode| self.all(opcode))
    }

    /// Whether a branch leads past a statement.
    fn leads_past(&self, branch: &Statement<'a>, statement: &Statement<'a>) -> bool {
        let label = branch.operand(0, self.text).unwrap_or_default();
        let place = self.text[statement.range.end..].find(&format!("\n{label}:"));
        let is_near = |place: usize| !self.text[statement.range.end..][..place].contains(".entry");
        !label.is_empty() && place.is_some_and(is_near)
    }

    /// A statement as it is, but executed behind another one: the next of those that are given.
    fn put_off(
        &self,
        statement: &Statement<'a>,
        behind: impl Fn(&Statement<'a>) -> bool,
    ) -> Option<Vec<Edit>> {
        let later = self.statements.iter().find(|it| it.range.start > statement.range.start && behind(it))?;
        Some([statement.delete(), later.after(statement.text)].concat())
    }

    /// Tensor copies into shared memory.
    fn loads(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("cp.async.bulk.tensor").filter(|it| it.opcode.contains("mbarrier"))
    }

    fn multiplies(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("tcgen05.mma")
    }

    fn barriers(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_one = |it: &&Statement<'_>| {
            (it.is("bar.sync") || it.is("barrier.sync") || it.is("barrier.cta")) && !it.is("bar.warp")
        };
        self.statements.iter().filter(is_one)
    }

    fn waits(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("mbarrier.try_wait") || it.is("mbarrier.test_wait"))
    }

    /// Waits for one thing.
    fn waits_for(&self, what: WaitsFor) -> Vec<&Statement<'a>> {
        let next = |at: usize| {
            self.statements[at..].iter().find_map(|it| match it.opcode {
                opcode if opcode.contains("expect_tx") => Some(WaitsFor::Stage),
                opcode if opcode.starts_with("tcgen05.mma") => Some(WaitsFor::Operands),
                opcode if opcode.starts_with("tcgen05.ld") => Some(WaitsFor::Result),
                _ => None,
            })
        };
        let waits = self.statements.iter().enumerate();
        waits
            .filter(|(at, it)| it.is("mbarrier.try_wait") && next(*at) == Some(what))
            .map(|(_, it)| it)
            .collect()
    }

    /// The number that an operand is, as far as one `mov` says it.
    fn number(&self, operand: &str) -> Option<i64> {
        if let Ok(number) = operand.parse() {
            return Some(number);
        }
        let mut writes = self.statements.iter().filter(|it| it.operand(0, self.text) == Some(operand));
        let (Some(only), None) = (writes.next(), writes.next()) else { return None };
        only.is("mov").then(|| only.operand(1, self.text)?.parse().ok())?
    }

    fn first(&self) -> Option<&Statement<'a>> {
        self.statements.first()
    }
}

/// Where operands stand, separated by commas outside of brackets.
fn operands(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0, range.start);
    for (at, character) in text[range.clone()].char_indices().map(|(at, it)| (at + range.start, it)) {
        match character {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' | ';' if depth == 0 => {
                let part = &text[start..at];
                let from = start + part.len() - part.trim_start().len();
                let trimmed = part.trim();
                if !trimmed.is_empty() {
                    found.push(from..from + trimmed.len());
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Makes a wait pass at once.
fn passed<'a>(waits: impl IntoIterator<Item = &'a Statement<'a>>, text: &str) -> Vec<Vec<Edit>> {
    let change = |it: &Statement<'_>| {
        Some(it.replace(format!("setp.eq.u32 {}, 0, 0;", &text[it.operands.first()?.clone()])))
    };
    waits.into_iter().filter_map(change).collect()
}

/// Lines for one warp, or one thread, in braces of their own.
fn by_threads(first: u32, count: u32, line: &str) -> String {
    format!(
        "{{ .reg .pred injected_is; .reg .b32 injected_tid; mov.u32 injected_tid, %tid.x; \
         sub.u32 injected_tid, injected_tid, {first}; setp.lt.u32 injected_is, injected_tid, {count}; \
         @injected_is {line} }}"
    )
}

/// Only by the first 16 lanes.
fn by_half_a_warp(statement: &Statement<'_>) -> Vec<Edit> {
    statement.replace(format!(
        "{{ .reg .pred injected_is; .reg .b32 injected_lane; mov.u32 injected_lane, %laneid; \
         setp.lt.u32 injected_is, injected_lane, 16; @injected_is {} }}",
        statement.text
    ))
}

/// The guard in front of the opcode.
fn guard<'a>(statement: &Statement<'a>) -> &'a str {
    statement.text.split_once(statement.opcode).map_or("", |(guard, _)| guard)
}

/// Without its guard.
fn unguarded<'a>(statement: &Statement<'a>) -> &'a str {
    let at = statement.text.find(statement.opcode).unwrap_or_default();
    &statement.text[at..]
}

/// The bugs.
#[rustfmt::skip]
pub const BUGS: &[Bug] = &[
    // Barriers of threads and operations.
    Bug { name: "mbarrier not initialised", names: &["SIM401"],
        inject: |body| body.all("mbarrier.init").map(Statement::delete).collect() },
    Bug { name: "mbarrier expects an arrival more", names: &["SIM101"],
        inject: |body| body.all("mbarrier.init").filter_map(|it| it.computed(1, "b32", "add.u32 WORD, OLD, 1;", body.text)).collect() },
    Bug { name: "mbarrier expects an arrival less", names: &["SIM403", "SIM405", "SIM201", "SIM202"],
        inject: |body| {
            let is_more = |it: &&Statement<'_>| it.operand(1, body.text).and_then(|count| body.number(count)).is_some_and(|count| count > 1);
            body.all("mbarrier.init").filter(is_more).filter_map(|it| it.computed(1, "b32", "sub.u32 WORD, OLD, 1;", body.text)).collect()
        } },
    Bug { name: "mbarrier initialised again in use", names: &["SIM402"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}mbarrier.init.shared::cta.b64 {barrier}, 1;")))
        }).collect() },
    Bug { name: "mbarrier invalidated in use", names: &["SIM402", "SIM401"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}mbarrier.inval.shared::cta.b64 {barrier};")))
        }).collect() },
    Bug { name: "mbarrier overwritten in use", names: &["SIM402"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}st.shared.b64 {barrier}, 0;")))
        }).collect() },
    Bug { name: "arrival missing", names: &["SIM101"],
        inject: |body| body.arrivals().map(Statement::delete).collect() },
    Bug { name: "arrival twice", names: &["SIM403", "SIM405"],
        inject: |body| body.arrivals().map(Statement::again).collect() },
    Bug { name: "arrival on the next mbarrier", names: &["SIM101", "SIM401", "SIM403", "SIM405"],
        inject: |body| body.arrivals().filter_map(|it| it.moved(it.operands.iter().position(|range| body.text[range.clone()].starts_with('['))?, 8, body.text)).collect() },
    Bug { name: "bytes not expected", names: &["SIM404"],
        inject: |body| body.expecting().filter(|it| it.is("mbarrier.arrive")).filter_map(|it| {
            let end = it.operands.len().checked_sub(2)?;
            let text = it.text.replace(".expect_tx", "");
            let cut = text.rfind(',')?;
            (end > 0).then(|| it.replace(format!("{};", &text[..cut])))
        }).collect() },
    Bug { name: "too many bytes expected", names: &["SIM404"],
        inject: |body| body.expecting().filter_map(|it| it.computed(it.operands.len() - 1, "b32", "add.u32 WORD, OLD, 1024;", body.text)).collect() },
    Bug { name: "too few bytes expected", names: &["SIM404"],
        inject: |body| body.expecting().filter_map(|it| it.computed(it.operands.len() - 1, "b32", "sub.u32 WORD, OLD, 1024;", body.text)).collect() },
    // It arrives there, too.
    Bug { name: "bytes expected on the next mbarrier", names: &["SIM404", "SIM101", "SIM401", "SIM403"],
        inject: |body| body.expecting().filter_map(|it| it.moved(it.operands.len() - 2, 8, body.text)).collect() },
    Bug { name: "copy missing", names: &["SIM404"],
        inject: |body| body.loads().map(Statement::delete).collect() },
    Bug { name: "copy twice", names: &["SIM404", "SIM201"],
        inject: |body| body.loads().map(Statement::again).collect() },
    Bug { name: "copy signals the next mbarrier", names: &["SIM404", "SIM401"],
        inject: |body| body.loads().filter_map(|it| it.moved(2, 8, body.text)).collect() },
    Bug { name: "commit missing", names: &["SIM101"],
        inject: |body| body.all("tcgen05.commit").map(Statement::delete).collect() },
    Bug { name: "commit twice", names: &["SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").map(Statement::again).collect() },
    Bug { name: "commit to the next mbarrier", names: &["SIM101", "SIM401", "SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").filter_map(|it| it.moved(0, 8, body.text)).collect() },
    Bug { name: "stage filled again too early", names: &["SIM201", "SIM403", "SIM404", "SIM405"],
        inject: |body| passed(body.waits_for(WaitsFor::Stage), body.text) },
    Bug { name: "operands read before they are there", names: &["SIM201", "SIM202", "SIM505"],
        inject: |body| passed(body.waits_for(WaitsFor::Operands), body.text) },
    Bug { name: "result read before it is there", names: &["SIM202", "SIM306"],
        inject: |body| passed(body.waits_for(WaitsFor::Result), body.text) },
    Bug { name: "the other parity", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM306", "SIM505"],
        inject: |body| body.waits().filter(|it| it.opcode.contains("parity")).filter_map(|it| it.computed(2, "b32", "xor.b32 WORD, OLD, 1;", body.text)).collect() },
    Bug { name: "always parity 0", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM306", "SIM505"],
        inject: |body| {
            let is_other = |it: &&Statement<'_>| it.operand(2, body.text).is_some_and(|parity| body.number(parity) != Some(0));
            body.waits().filter(|it| it.opcode.contains("parity")).filter(is_other).filter_map(|it| it.with(2, "0")).collect()
        } },
    Bug { name: "wait for the next mbarrier", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM401", "SIM505", "SIM306"],
        inject: |body| body.waits().filter_map(|it| it.moved(1, 8, body.text)).collect() },
    Bug { name: "mbarrier initialised behind the barrier", names: &["SIM401"],
        inject: |body| {
            let is_barrier = |it: &Statement<'_>| it.is("bar.sync") || it.is("barrier.sync") || it.is("barrier.cluster.wait");
            body.all("mbarrier.init").filter_map(|it| {
                let later = body.statements.iter().find(|other| other.range.start > it.range.start && is_barrier(other))?;
                Some([it.delete(), later.after(&by_threads(0, 1, unguarded(it)))].concat())
            }).collect()
        } },
    // Barriers of the CTA, the cluster and the warp.
    Bug { name: "barrier missing", names: &["SIM201", "SIM202", "SIM203", "SIM401", "SIM101", "SIM302", "SIM301"],
        inject: |body| body.barriers().map(Statement::delete).collect() },
    Bug { name: "barrier 16", names: &["SIM406"],
        inject: |body| body.barriers().filter_map(|it| it.computed(0, "b32", "mov.u32 WORD, 16;", body.text)).collect() },
    Bug { name: "barrier of a warp less", names: &["SIM406", "SIM101", "SIM104"],
        inject: |body| body.barriers().filter(|it| it.operands.len() == 2).filter_map(|it| it.computed(1, "b32", "sub.u32 WORD, OLD, 32;", body.text)).collect() },
    Bug { name: "barrier of a warp more", names: &["SIM406", "SIM101"],
        inject: |body| body.barriers().filter(|it| it.operands.len() == 2).filter_map(|it| it.computed(1, "b32", "add.u32 WORD, OLD, 32;", body.text)).collect() },
    // As if it was missing: nobody waits for another warp.
    Bug { name: "barrier for one warp of the CTA", names: &["SIM406", "SIM101", "SIM201", "SIM202", "SIM203", "SIM401", "SIM302", "SIM301"],
        inject: |body| body.barriers().filter(|it| it.operands.len() == 1).map(|it| it.replace(it.text.replacen(';', ", 32;", 1))).collect() },
    Bug { name: "cluster does not arrive", names: &["SIM101"],
        inject: |body| body.all("barrier.cluster.arrive").map(Statement::delete).collect() },
    Bug { name: "cluster does not wait", names: &["SIM101", "SIM401", "SIM402", "SIM406", "SIM102", "SIM104"],
        inject: |body| body.all("barrier.cluster.wait").map(Statement::delete).collect() },
    Bug { name: "cluster does not synchronise", names: &["SIM401", "SIM102", "SIM101", "SIM202", "SIM501"],
        inject: |body| {
            let arrivals: Vec<_> = body.all("barrier.cluster.arrive").collect();
            let waits: Vec<_> = body.all("barrier.cluster.wait").collect();
            arrivals.iter().zip(waits).map(|(arrive, wait)| [arrive.delete(), wait.delete()].concat()).collect()
        } },
    // Who executes.
    // The first that races says that several threads issue it.
    Bug { name: "multiply by all threads of a warp", names: &["SIM403", "SIM405", "SIM202", "SIM104", "SIM201"],
        inject: |body| body.multiplies().filter(|it| it.text.starts_with('@')).map(|it| it.replace(unguarded(it))).collect() },
    Bug { name: "commit by all threads of a warp", names: &["SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").filter(|it| it.text.starts_with('@')).map(|it| it.replace(unguarded(it))).collect() },
    Bug { name: "load by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.ld").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "store by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.st").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "wait by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.wait").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "allocated by one thread", names: &["SIM104"],
        inject: |body| body.all("tcgen05.alloc").filter(|it| !it.text.starts_with('@')).map(|it| it.replace(format!(
            "{{ .reg .pred injected_is; .reg .b32 injected_lane; mov.u32 injected_lane, %laneid; \
             setp.eq.u32 injected_is, injected_lane, 0; @injected_is {} }}", it.text))).collect() },
    Bug { name: "the end of the kernel instead of the wait for the result", names: &["SIM102", "SIM302", "SIM202"],
        inject: |body| body.waits_for(WaitsFor::Result).into_iter().map(|it| it.before("exit;")).collect() },
    Bug { name: "registers changed by one warp of four", names: &["SIM103"],
        inject: |body| {
            let has_warps = body.barriers().next().is_some() && body.multiplies().next().is_some();
            body.first().filter(|_| has_warps).map(|it| it.before(&by_threads(0, 32, "setmaxnreg.dec.sync.aligned.u32 24;"))).into_iter().collect()
        } },
    Bug { name: "more registers than there are", names: &["SIM103", "SIM101"],
        inject: |body| {
            let last = body.all("setmaxnreg.dec").last();
            last.map(|it| it.replace(it.text.replace(".dec", ".inc").replacen(it.operand(0, body.text).unwrap_or_default(), "256", 1))).into_iter().collect()
        } },
    // Proxies and groups.
    Bug { name: "fence between proxies missing", names: &["SIM203"],
        inject: |body| body.all("fence.proxy.async").map(Statement::delete).collect() },
    Bug { name: "fence between proxies before the stores", names: &["SIM203"],
        inject: |body| {
            let Some(first) = body.first() else { return Vec::new() };
            let fences = body.all("fence.proxy.async").filter(|it| !it.text.starts_with('@'));
            fences.map(|it| [first.before(it.text), it.delete()].concat()).collect()
        } },
    // Tensor Memory.
    Bug { name: "allocated after the right to is given up", names: &["SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(|it| {
            let group = if it.opcode.contains("cta_group::2") { 2 } else { 1 };
            it.before(&format!("{}tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;", guard(it)))
        }).collect() },
    Bug { name: "allocated by all warps", names: &["SIM302", "SIM304", "SIM201", "SIM303"],
        inject: |body| body.all("tcgen05.alloc").filter_map(|it| {
            if it.text.starts_with('@') {
                return Some(it.replace(unguarded(it)));
            }
            // The branch that leads past it, if what falls through gets there.
            let mut before = body.statements.iter().rev().skip_while(|other| other.range.start >= it.range.start);
            let is_guarded = |other: &Statement<'_>| other.text.starts_with('@');
            let decides = |other: &&Statement<'_>| {
                if is_guarded(other) {
                    other.is("bra") && body.leads_past(other, it)
                } else {
                    ["bra", "ret", "exit"].iter().any(|name| other.is(name))
                }
            };
            before.find(decides).filter(|other| is_guarded(other)).map(Statement::delete)
        }).collect() },
    Bug { name: "scale factors or metadata never copied", names: &["SIM306"],
        inject: |body| {
            let has_some = body.multiplies().any(|it| it.opcode.contains("block_scale") || it.opcode.contains(".sp."));
            let copies = ["tcgen05.cp", "tcgen05.st"].map(|opcode| body.all(opcode).flat_map(Statement::delete).collect::<Vec<_>>());
            copies.into_iter().find(|it| has_some && !it.is_empty()).into_iter().collect()
        } },
    Bug { name: "stores not waited for", names: &["SIM202", "SIM306"],
        inject: |body| {
            let waits = body.all("tcgen05.wait::st").filter(|_| body.multiplies().next().is_some());
            waits.map(Statement::delete).collect()
        } },
    Bug { name: "stores waited for too late", names: &["SIM202", "SIM306"],
        inject: |body| {
            let waits = body.all("tcgen05.wait::st").filter(|_| body.multiplies().next().is_some());
            waits.filter_map(|it| body.put_off(it, |later| later.is("tcgen05.mma"))).collect()
        } },
    Bug { name: "allocated twice", names: &["SIM302", "SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(Statement::again).collect() },
    Bug { name: "all columns allocated once more", names: &["SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(|it| it.after(&match it.operand(1, body.text) {
            Some(columns) => it.text.replacen(columns, "512", 1),
            None => it.text.to_owned(),
        })).collect() },
    // What is freed is more, then.
    Bug { name: "too few columns allocated", names: &["SIM301", "SIM303"],
        inject: |body| body.all("tcgen05.alloc").filter_map(|it| it.with(1, "32")).collect() },
    Bug { name: "not deallocated", names: &["SIM302"],
        inject: |body| body.all("tcgen05.dealloc").map(Statement::delete).collect() },
    Bug { name: "too few columns deallocated", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").filter_map(|it| it.with(1, "32")).collect() },
    Bug { name: "another address deallocated", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").filter_map(|it| it.computed(0, "b32", "add.u32 WORD, OLD, 32;", body.text)).collect() },
    Bug { name: "deallocated twice", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").map(Statement::again).collect() },
    Bug { name: "deallocated before it is loaded", names: &["SIM301", "SIM202", "SIM303"],
        inject: |body| {
            let (Some(load), Some(dealloc)) = (body.all("tcgen05.ld").next(), body.all("tcgen05.dealloc").next()) else { return Vec::new() };
            let slot = body.all("tcgen05.alloc").next().and_then(|it| it.operand(0, body.text));
            let columns = dealloc.operand(1, body.text).and_then(|columns| body.number(columns));
            let (Some(slot), Some(columns)) = (slot, columns) else { return Vec::new() };
            // What it is to free is in a register then, or where the allocation has put it.
            let register = dealloc.operand(0, body.text).unwrap_or_default();
            let is_set = body.statements.iter().any(|it| it.range.start < load.range.start && it.operand(0, body.text) == Some(register));
            let freed = if is_set {
                format!("{} {register}, {columns};", dealloc.opcode)
            } else {
                format!("ld.shared.b32 injected_tid, {slot}; @injected_is {} injected_tid, {columns};", dealloc.opcode)
            };
            vec![load.before(&by_threads(0, 32, &freed))]
        } },
    Bug { name: "loaded from other lanes", names: &["SIM305"],
        inject: |body| body.all("tcgen05.ld").filter_map(|it| it.moved(1, 32 << 16, body.text)).collect() },
    Bug { name: "stored to other lanes", names: &["SIM305"],
        inject: |body| body.all("tcgen05.st").filter_map(|it| it.moved(0, 32 << 16, body.text)).collect() },
    Bug { name: "loaded past the allocation", names: &["SIM301"],
        inject: |body| body.all("tcgen05.ld").filter_map(|it| it.moved(1, 512, body.text)).collect() },
    Bug { name: "multiplied past the allocation", names: &["SIM301"],
        inject: |body| body.multiplies().filter_map(|it| it.moved(0, 512, body.text)).collect() },
    Bug { name: "accumulated onto nothing", names: &["SIM306"],
        inject: |body| body.multiplies().take(1).filter_map(|it| it.computed(it.operands.len() - 1, "pred", "setp.eq.u32 WORD, 0, 0;", body.text)).collect() },
    // Where the accumulator ends with the allocation, its last column is past that.
    Bug { name: "multiply again, one column on", names: &["SIM202", "SIM301"],
        inject: |body| body.multiplies().filter_map(|it| {
            let address = moved(it.operand(0, body.text)?, 1)?;
            Some(it.after(&it.text.replacen(it.operand(0, body.text)?, &address, 1)))
        }).collect() },
    // Addresses.
    Bug { name: "copy past the end of shared memory", names: &["SIM501"],
        inject: |body| body.loads().filter_map(|it| it.moved(0, 240 << 10, body.text)).collect() },
    Bug { name: "copy to an address that is not aligned", names: &["SIM502"],
        inject: |body| body.loads().filter_map(|it| it.moved(0, 8, body.text)).collect() },
    Bug { name: "stage one row too far", names: &["SIM201", "SIM503", "SIM505"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "add.u64 WORD, OLD, 2048;", body.text)).collect() },
    Bug { name: "matrix past the end of shared memory", names: &["SIM503"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "or.b64 WORD, OLD, 0x3FFF;", body.text)).collect() },
    Bug { name: "rows of a matrix too far apart", names: &["SIM503"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "or.b64 WORD, OLD, 0x3FFF00000000;", body.text)).collect() },
    Bug { name: "the swizzle of another matrix for A", names: &["SIM504", "SIM505"],
        inject: |body| {
            let has_one = |it: &&Statement<'_>| it.operand(1, body.text).is_some_and(|it| !it.starts_with('['));
            body.multiplies().filter(has_one).filter_map(|it| it.computed(1, "b64", "xor.b64 WORD, OLD, 0xC000000000000000;", body.text)).collect()
        } },
    Bug { name: "the swizzle of another matrix for B", names: &["SIM504", "SIM505"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "xor.b64 WORD, OLD, 0xC000000000000000;", body.text)).collect() },
    Bug { name: "operands never copied", names: &["SIM505"],
        inject: |body| {
            let copies: Vec<Edit> = body.own_copies().flat_map(Statement::delete).collect();
            if copies.is_empty() { Vec::new() } else { vec![copies] }
        } },
    Bug { name: "operands never stored", names: &["SIM505"],
        inject: |body| {
            if body.loads().next().is_some() || body.own_copies().next().is_some() || body.multiplies().next().is_none() {
                return Vec::new();
            }
            let stores: Vec<Edit> = body.all("st.shared.v4").flat_map(Statement::delete).collect();
            if stores.is_empty() { Vec::new() } else { vec![stores] }
        } },
    Bug { name: "store past the end of shared memory", names: &["SIM501"],
        inject: |body| body.first().map(|it| it.before("st.shared.b32 [0x3FFF0], 0;")).into_iter().collect() },
    Bug { name: "store that is not aligned", names: &["SIM502"],
        inject: |body| body.all("st.shared").filter(|it| it.opcode.ends_with("32") || it.opcode.contains(".v")).take(1).filter_map(|it| it.moved(0, 2, body.text)).collect() },
    Bug { name: "store past the end of a buffer", names: &["SIM501"],
        inject: |body| body.all("st.global").filter_map(|it| it.moved(0, 1 << 30, body.text)).collect() },
    Bug { name: "mbarrier that is not aligned", names: &["SIM502"],
        inject: |body| body.all("mbarrier.init").filter_map(|it| it.moved(0, 4, body.text)).collect() },
];

/// What became of a bug in one place.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The line that was changed first.
    pub line: u32,
    /// What running it found, in this order.
    pub found: Vec<&'static str>,
    /// What became of the run.
    pub verdict: Verdict,
    /// Why it was not judged to the end.
    pub reason: Option<String>,
    /// What the checker alone says that it does not say of the kernel itself.
    pub checked: BTreeSet<&'static str>,
}

/// How many of a class were found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// In how many places it was put.
    pub placed: usize,
    /// In how many of them running the kernel found something.
    pub found: usize,
    /// In how many of them what was reported first names the cause.
    pub named: usize,
    /// In how many of them the checker alone says something.
    pub checked: usize,
    /// What was reported first, and how often.
    pub first: BTreeMap<String, usize>,
    /// Where nothing was found: the kernel, the line, and what became of it.
    pub missed: Vec<String>,
    /// Where what was reported first does not name it: the kernel, the line, and what that was.
    pub misnamed: Vec<String>,
}

/// All classes together.
#[derive(Clone, Debug)]
pub struct Tallies {
    /// One for each of [`BUGS`].
    pub tallies: Vec<Tally>,
}

impl Default for Tallies {
    fn default() -> Self {
        Self { tallies: vec![Tally::default(); BUGS.len()] }
    }
}

/// Which bugs are put where.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// Only classes whose name contains this.
    pub class: &'a str,
    /// At most this many places of a class in a kernel, spread over it.
    pub places: usize,
    /// Warp instructions after which a run ends, unless the kernel itself takes more than half of them.
    pub budget: u64,
}

impl Tallies {
    /// Puts the bugs into a kernel, one at a time, and runs it.
    ///
    /// # Errors
    /// If there is no such kernel, or no such launch.
    pub fn add(&mut self, source: &Source, launch: &LaunchFile, choice: &Choice<'_>) -> Result<(), String> {
        let unit = Unit::new(source);
        let name = launch.kernel.as_deref().ok_or("a launch without a kernel")?;
        let body = Body::new(&unit, name).ok_or("no such kernel")?;
        let own: BTreeSet<(&str, String)> = codes(source).into_iter().collect();
        let budget = choice.budget.max(2 * instructions(&unit, name, launch)?);
        for (bug, tally) in BUGS.iter().zip(&mut self.tallies) {
            if !bug.name.contains(choice.class) {
                continue;
            }
            let places = (bug.inject)(&body);
            for edits in spread(places, choice.places) {
                let trial = try_one(source, name, launch, edits, &own, budget)?;
                tally.placed += 1;
                tally.checked += usize::from(!trial.checked.is_empty());
                let Some(first) = trial.found.first() else {
                    let what = match trial.reason {
                        Some(reason) => format!("incomplete: {reason}"),
                        None => "clean".to_owned(),
                    };
                    tally.missed.push(format!("{name}:{} {what}", trial.line));
                    continue;
                };
                tally.found += 1;
                if bug.names.contains(first) {
                    tally.named += 1;
                } else {
                    tally.misnamed.push(format!("{name}:{} says {}", trial.line, trial.found.join(" ")));
                }
                *tally.first.entry((*first).to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (tally, more) in self.tallies.iter_mut().zip(other.tallies) {
            tally.placed += more.placed;
            tally.found += more.found;
            tally.named += more.named;
            tally.checked += more.checked;
            for (code, count) in more.first {
                *tally.first.entry(code).or_default() += count;
            }
            tally.missed.extend(more.missed);
            tally.misnamed.extend(more.misnamed);
        }
        self
    }

    /// The shares, class by class.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "bug                                      placed    found    named  by check  reported first\n",
        );
        for (bug, tally) in BUGS.iter().zip(&self.tallies).filter(|(_, tally)| tally.placed > 0) {
            let first: Vec<String> =
                tally.first.iter().map(|(code, count)| format!("{code} {count}")).collect();
            let share = |count: usize| 100.0 * count as f64 / tally.placed as f64;
            let row = format!(
                "{:<40} {:>6}  {:>5.1} %  {:>5.1} %   {:>5.1} %  {}",
                bug.name,
                tally.placed,
                share(tally.found),
                share(tally.named),
                share(tally.checked),
                first.join(", ")
            );
            table.push_str(row.trim_end());
            table.push('\n');
        }
        let sum = |count: fn(&Tally) -> usize| self.tallies.iter().map(count).sum::<usize>();
        table.push_str(&format!(
            "{} placed, {} found, what is reported first names the cause of {}, {} found by check\n",
            sum(|it| it.placed),
            sum(|it| it.found),
            sum(|it| it.named),
            sum(|it| it.checked)
        ));
        table
    }
}

/// How much a kernel takes of a budget as it is.
///
/// # Errors
/// If there is no such kernel, or no such launch.
pub fn instructions(unit: &Unit, kernel: &str, launch: &LaunchFile) -> Result<u64, String> {
    let kernel = Kernel::new(unit, kernel).ok_or("no such kernel")?;
    let launch = kernel.launch(launch, &mut |_| Ok(Vec::new())).map_err(|error| error.to_string())?;
    let report = kernel.simulate(&launch, &Settings::default()).map_err(|error| error.to_string())?;
    // What goes on beside the threads takes of a budget, too.
    Ok(report.warp_instructions + 16 * report.operations)
}

/// Some of many, the first and the last among them.
fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let wanted: BTreeSet<usize> = match most {
        0 | 1 => [0].into(),
        _ => (0..most).map(|at| at * (count - 1) / (most - 1)).collect(),
    };
    all.into_iter().enumerate().filter(|(at, _)| wanted.contains(at)).map(|(_, it)| it).collect()
}

fn codes(source: &Source) -> Vec<(&'static str, String)> {
    let report = check(source, &Options { max_findings: None, ..Options::default() });
    report.diagnostics.iter().map(|it| (it.code.as_str(), it.message.clone())).collect()
}

fn try_one(
    source: &Source,
    kernel: &str,
    launch: &LaunchFile,
    mut edits: Vec<Edit>,
    own: &BTreeSet<(&str, String)>,
    budget: u64,
) -> Result<Trial, String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let line = edits.first().map_or(0, |(range, _)| source.position(range.start as u32).line);
    let mut text = String::with_capacity(source.text().len() + 1000);
    let mut at = 0;
    for (range, new) in &edits {
        text.push_str(&source.text()[at..range.start]);
        text.push_str(new);
        at = range.end;
    }
    text.push_str(&source.text()[at..]);
    let changed = Source::new(source.name(), text).map_err(|error| error.to_string())?;
    let checked = codes(&changed);
    let checked = checked.into_iter().filter(|it| !own.contains(it)).map(|(code, _)| code).collect();
    let unit = Unit::new(&changed);
    if let Some(error) = unit.syntax_errors.first() {
        return Err(format!("line {line} is no PTX any more: {error:?}"));
    }
    let kernel = Kernel::new(&unit, kernel).ok_or("no such kernel")?;
    let launch = kernel.launch(launch, &mut |_| Ok(Vec::new())).map_err(|error| error.to_string())?;
    let settings = Settings { budget, ..Settings::default() };
    let report = kernel.simulate(&launch, &settings).map_err(|error| error.to_string())?;
    let mut found: Vec<&'static str> = Vec::new();
    for finding in &report.diagnostics {
        let code = finding.code.as_str();
        if !found.contains(&code) {
            found.push(code);
        }
    }
    let reason = report.reasons.first().map(|reason| reason.text.clone());
    Ok(Trial { line, found, verdict: report.verdict, reason, checked })
}
