//! The statements of a kernel, and what may be done to its text.

use std::ops::Range;

use ptx_check::Unit;
use ptx_check::syntax::ast::StatementKind;

/// Text to put in place of a range.
pub(crate) type Edit = (Range<usize>, String);

/// The statements of a kernel.
pub(crate) struct Body<'a> {
    pub(crate) text: &'a str,
    pub(crate) statements: Vec<Statement<'a>>,
}

/// An instruction.
pub(crate) struct Statement<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) text: &'a str,
    pub(crate) opcode: &'a str,
    /// Where its operands stand in the module.
    pub(crate) operands: Vec<Range<usize>>,
}

/// What a wait is for, by what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// A free stage, before it is filled.
    Stage,
    /// What a multiply reads.
    Operands,
    /// What a multiply has written.
    Result,
}

impl<'a> Statement<'a> {
    pub(crate) fn is(&self, opcode: &str) -> bool {
        self.opcode.starts_with(opcode)
    }

    pub(crate) fn operand(&self, at: usize, text: &'a str) -> Option<&'a str> {
        self.operands.get(at).map(|range| &text[range.clone()])
    }

    pub(crate) fn delete(&self) -> Vec<Edit> {
        vec![(self.range.clone(), String::new())]
    }

    pub(crate) fn replace(&self, text: impl Into<String>) -> Vec<Edit> {
        vec![(self.range.clone(), text.into())]
    }

    pub(crate) fn before(&self, text: &str) -> Vec<Edit> {
        vec![(self.range.start..self.range.start, format!("{text} "))]
    }

    pub(crate) fn after(&self, text: &str) -> Vec<Edit> {
        vec![(self.range.end..self.range.end, format!(" {text}"))]
    }

    pub(crate) fn again(&self) -> Vec<Edit> {
        self.after(self.text)
    }

    /// The statement with something else in place of an operand.
    pub(crate) fn with(&self, at: usize, other: &str) -> Option<Vec<Edit>> {
        Some(vec![(self.operands.get(at)?.clone(), other.to_owned())])
    }

    /// The statement with an operand that is computed from its own: lines that call them `WORD` and `OLD`.
    pub(crate) fn computed(&self, at: usize, ty: &str, lines: &str, text: &str) -> Option<Vec<Edit>> {
        let old = self.operand(at, text)?;
        let range = self.operands.get(at)?;
        let (from, to) = (range.start - self.range.start, range.end - self.range.start);
        let lines = lines.replace("OLD", old).replace("WORD", "injected_word");
        let changed = format!("{}injected_word{}", &self.text[..from], &self.text[to..]);
        Some(self.replace(format!("{{ .reg .{ty} injected_word; {lines} {changed} }}")))
    }

    /// The statement with an address that lies so many bytes further on.
    pub(crate) fn moved(&self, at: usize, by: i64, text: &str) -> Option<Vec<Edit>> {
        self.with(at, &moved(self.operand(at, text)?, by)?)
    }
}

/// An address in brackets, so many bytes further on.
pub(crate) fn moved(address: &str, by: i64) -> Option<String> {
    let inner = address.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = match inner.rsplit_once('+') {
        Some((base, offset)) => (base.trim(), offset.trim().parse::<i64>().ok()?),
        None => (inner.trim(), 0),
    };
    Some(format!("[{base}+{}]", offset + by))
}

impl<'a> Body<'a> {
    pub(crate) fn new(unit: &'a Unit, kernel: &str) -> Option<Self> {
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

    pub(crate) fn all<'s>(&'s self, opcode: &'s str) -> impl Iterator<Item = &'s Statement<'a>> {
        self.statements.iter().filter(move |it| it.is(opcode))
    }

    /// Arrivals of threads that do not expect bytes, and whose state nobody waits for.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("mbarrier.arrive").filter(|it| {
            let gives_state = it.operand(0, self.text).is_some_and(|it| !it.starts_with(['_', '[']));
            !it.opcode.contains("expect_tx") && !gives_state
        })
    }

    pub(crate) fn expecting(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("mbarrier") && it.opcode.contains("expect_tx"))
    }

    /// Those at an mbarrier of the CTA's own.
    pub(crate) fn expecting_here(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.expecting().filter(|it| !it.opcode.contains("shared::cluster"))
    }

    /// Copies of `cp.async`, which threads make for themselves.
    pub(crate) fn own_copies(&self) -> impl Iterator<Item = &Statement<'a>> {
        ["cp.async.ca", "cp.async.cg"].into_iter().flat_map(|opcode| self.all(opcode))
    }

    /// Whether a branch leads past a statement.
    pub(crate) fn leads_past(&self, branch: &Statement<'a>, statement: &Statement<'a>) -> bool {
        let label = branch.operand(0, self.text).unwrap_or_default();
        let place = self.text[statement.range.end..].find(&format!("\n{label}:"));
        let is_near = |place: usize| !self.text[statement.range.end..][..place].contains(".entry");
        !label.is_empty() && place.is_some_and(is_near)
    }

    /// A statement as it is, but executed behind another one: the next of those that are given.
    pub(crate) fn put_off(
        &self,
        statement: &Statement<'a>,
        behind: impl Fn(&Statement<'a>) -> bool,
    ) -> Option<Vec<Edit>> {
        let mut after = self.statements.iter().filter(|it| it.range.start > statement.range.start);
        // Behind a branch other threads execute it.
        let later = after.find(|it| it.is("bra") || behind(it)).filter(|it| !it.is("bra"))?;
        Some([statement.delete(), later.after(statement.text)].concat())
    }

    /// Tensor copies into shared memory.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("cp.async.bulk.tensor").filter(|it| it.opcode.contains("mbarrier"))
    }

    pub(crate) fn multiplies(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("tcgen05.mma")
    }

    pub(crate) fn barriers(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_one = |it: &&Statement<'_>| {
            (it.is("bar.sync") || it.is("barrier.sync") || it.is("barrier.cta")) && !it.is("bar.warp")
        };
        self.statements.iter().filter(is_one)
    }

    pub(crate) fn waits(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("mbarrier.try_wait") || it.is("mbarrier.test_wait"))
    }

    /// Barriers of the CTA behind which it depends on nobody but them that threads know of each other: no other
    /// barrier follows at once.
    pub(crate) fn barriers_alone(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_fence = |it: &Statement<'_>| it.is("tcgen05.fence") || it.is("fence");
        let is_barrier =
            |it: &Statement<'_>| it.is("bar.sync") || it.is("barrier.sync") || it.is("barrier.cluster");
        self.barriers().filter(move |barrier| {
            let mut behind = self.statements.iter().filter(|it| it.range.start > barrier.range.start);
            !behind.find(|it| !is_fence(it)).is_some_and(is_barrier)
        })
    }

    /// Barriers of the cluster, before or behind which something of another CTA is used: arrivals with their
    /// waits.
    pub(crate) fn cluster_barriers(&self) -> impl Iterator<Item = (&Statement<'a>, &Statement<'a>)> {
        let is_remote = |it: &Statement<'_>| {
            let is_collective = it.is("tcgen05.alloc") || it.is("tcgen05.relinquish");
            let is_other = it.is("mapa") || it.is("st.async") || it.opcode.contains("multicast");
            is_other || it.opcode.contains("cta_group::2") && !is_collective
        };
        let arrivals: Vec<&Statement<'a>> = self.all("barrier.cluster.arrive").collect();
        let waits: Vec<&Statement<'a>> = self.all("barrier.cluster.wait").collect();
        let pairs: Vec<(&Statement<'a>, &Statement<'a>)> = arrivals.into_iter().zip(waits).collect();
        let matters = |at: usize| {
            let from = at.checked_sub(1).map_or(0, |before| pairs[before].1.range.end);
            let to = pairs.get(at + 1).map_or(usize::MAX, |(next, _)| next.range.start);
            self.statements.iter().any(|it| it.range.start >= from && it.range.end <= to && is_remote(it))
        };
        let chosen: Vec<_> = (0..pairs.len()).filter(|at| matters(*at)).map(|at| pairs[at]).collect();
        chosen.into_iter()
    }

    /// Fences between what threads store and what the async proxy reads next. That it has read or written
    /// something is seen by a wait, behind which no fence is needed.
    pub(crate) fn fences_of_stores(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_store = |it: &Statement<'_>| {
            it.is("st.shared") || it.is("stmatrix") || it.is("cp.async.ca") || it.is("cp.async.cg")
        };
        let is_asynchronous = |it: &&Statement<'_>| {
            it.is("tcgen05.mma") || it.is("tcgen05.cp") || it.is("cp.async.bulk") && it.operands.len() > 1
        };
        let is_wait = |it: &Statement<'_>| it.is("mbarrier.try_wait") || it.is("mbarrier.test_wait");
        let fences = self.statements.iter().enumerate().filter(|(_, it)| it.is("fence.proxy.async"));
        fences
            .filter(move |(at, _)| {
                let before = self.statements[..*at].iter().rev();
                let stores = before.take_while(|it| !is_wait(it) && !is_asynchronous(it)).any(is_store);
                let next = self.statements[*at..].iter().find(is_asynchronous);
                stores && next.is_some_and(|it| !it.opcode.contains("mbarrier"))
            })
            .map(|(_, it)| it)
    }

    /// Waits for stores to Tensor Memory that multiplies read. What the same threads load next is in order
    /// without a wait.
    pub(crate) fn waits_for_stores(&self) -> impl Iterator<Item = &Statement<'a>> {
        let base = |it: &Statement<'a>, at: usize| {
            let address = it.operand(at, self.text)?.strip_prefix('[')?;
            address.split(['+', ']']).next().map(str::trim)
        };
        let has_multiplies = self.multiplies().next().is_some();
        self.all("tcgen05.wait::st").filter(move |wait| {
            let stored = self.all("tcgen05.st").filter(|it| it.range.start < wait.range.start).last();
            let stored = stored.and_then(|it| base(it, 0));
            let next = self.statements.iter().filter(|it| it.range.start > wait.range.start).find_map(|it| {
                let address = match it.opcode {
                    opcode if opcode.starts_with("tcgen05.ld") => base(it, 1),
                    opcode if opcode.starts_with("tcgen05.st") => base(it, 0),
                    _ => None,
                };
                (address.is_some() && address == stored).then(|| it.is("tcgen05.ld"))
            });
            let behind = self.statements.iter().filter(|it| it.range.start > wait.range.start);
            let is_next = |it: &&Statement<'_>| it.is("tcgen05.mma") || it.is("tcgen05.wait::st");
            let is_covered = behind.clone().find(is_next).is_some_and(|it| it.is("tcgen05.wait::st"));
            has_multiplies && next != Some(true) && !is_covered
        })
    }

    /// The last barrier before something uses an mbarrier that was initialised; the next one, if there is none.
    pub(crate) fn barrier_before_use(&self, init: &Statement<'a>) -> Option<&Statement<'a>> {
        let behind = || self.statements.iter().filter(|it| it.range.start > init.range.start);
        let is_barrier =
            |it: &&Statement<'_>| it.is("bar.sync") || it.is("barrier.sync") || it.is("barrier.cluster.wait");
        let is_use = |it: &Statement<'_>| it.opcode.contains("mbarrier") && !it.opcode.contains("init");
        let place = init.operand(0, self.text);
        let is_named =
            |it: &Statement<'_>| (0..it.operands.len()).any(|at| it.operand(at, self.text) == place);
        let is_known = behind().any(|it| is_use(it) && is_named(it));
        let is_its = |it: &Statement<'_>| is_use(it) && (!is_known || is_named(it));
        let last = behind().take_while(|it| !is_its(it)).filter(is_barrier).last();
        let chosen = last.or_else(|| behind().find(is_barrier))?;
        // In a loop it would be initialised again and again.
        let between = &self.text[init.range.end..chosen.range.start];
        let is_again = |it: &Statement<'a>| {
            let label = it.operand(0, self.text).unwrap_or_default();
            it.is("bra") && between.contains(&format!("\n{label}:"))
        };
        let is_in_loop = behind().any(|it| it.range.start > chosen.range.start && is_again(it));
        (!is_in_loop).then_some(chosen)
    }

    /// Which operand of a multiply says whether it adds to what is there.
    pub(crate) fn enables_input(multiply: &Statement<'a>, text: &'a str) -> Option<usize> {
        let is_predicate = |at: &usize| {
            let name = multiply.operand(*at, text).unwrap_or_default().trim_start_matches(['!', '%']);
            name.starts_with('p')
        };
        (0..multiply.operands.len()).rev().find(is_predicate)
    }

    /// Waits for one thing.
    pub(crate) fn waits_for(&self, what: WaitsFor) -> Vec<&Statement<'a>> {
        // Where control does not go on to, they wait for nothing.
        let leaves = |it: &Statement<'a>| {
            let is_end = it.is("ret") || it.is("exit") || it.is("bra") && self.leads_past(it, it);
            is_end && !it.text.starts_with('@')
        };
        let next = |at: usize| {
            self.statements[at..].iter().take_while(|it| !leaves(it)).find_map(|it| match it.opcode {
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
    pub(crate) fn number(&self, operand: &str) -> Option<i64> {
        if let Ok(number) = operand.parse() {
            return Some(number);
        }
        let mut writes = self.statements.iter().filter(|it| it.operand(0, self.text) == Some(operand));
        let (Some(only), None) = (writes.next(), writes.next()) else { return None };
        only.is("mov").then(|| only.operand(1, self.text)?.parse().ok())?
    }

    pub(crate) fn first(&self) -> Option<&Statement<'a>> {
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

/// Edits that end a run where it matters what was changed: where a statement is executed, or where an operand is
/// another number than the one in its place.
pub(crate) fn probes(body: &Body<'_>, edits: &[Edit]) -> Vec<Edit> {
    let probe = |(range, new): &Edit| {
        let statement =
            body.statements.iter().find(|it| it.range.start <= range.start && range.start <= it.range.end)?;
        let is_operand = statement.operands.contains(range) && !new.starts_with('[');
        let old = &body.text[range.clone()];
        Some(if is_operand {
            let guard = guard(statement);
            statement.before(&format!(
                "{{ .reg .pred injected_is; setp.ne.b32 injected_is, 0, 0; \
                 {guard}setp.ne.b32 injected_is, {old}, {new}; @injected_is trap; }}"
            ))
        } else {
            statement.before(&format!("{}trap;", guard(statement)))
        })
    };
    // What is put elsewhere matters where it is missing.
    let is_change = |(range, _): &&Edit| !range.is_empty();
    let has_changes = edits.iter().any(|edit| is_change(&edit));
    let mut all: Vec<Edit> =
        edits.iter().filter(|edit| !has_changes || is_change(edit)).filter_map(probe).flatten().collect();
    all.dedup();
    all
}

/// Makes a wait pass at once.
pub(crate) fn passed<'a>(waits: impl IntoIterator<Item = &'a Statement<'a>>, text: &str) -> Vec<Vec<Edit>> {
    let change = |it: &Statement<'_>| {
        Some(it.replace(format!("setp.eq.u32 {}, 0, 0;", &text[it.operands.first()?.clone()])))
    };
    waits.into_iter().filter_map(change).collect()
}

/// Lines for one warp, or one thread, in braces of their own.
pub(crate) fn by_threads(first: u32, count: u32, line: &str) -> String {
    format!(
        "{{ .reg .pred injected_is; .reg .b32 injected_tid; mov.u32 injected_tid, %tid.x; \
         sub.u32 injected_tid, injected_tid, {first}; setp.lt.u32 injected_is, injected_tid, {count}; \
         @injected_is {line} }}"
    )
}

/// Only by the first 16 lanes.
pub(crate) fn by_half_a_warp(statement: &Statement<'_>) -> Vec<Edit> {
    statement.replace(format!(
        "{{ .reg .pred injected_is; .reg .b32 injected_lane; mov.u32 injected_lane, %laneid; \
         setp.lt.u32 injected_is, injected_lane, 16; @injected_is {} }}",
        statement.text
    ))
}

/// The guard in front of the opcode.
pub(crate) fn guard<'a>(statement: &Statement<'a>) -> &'a str {
    statement.text.split_once(statement.opcode).map_or("", |(guard, _)| guard)
}

/// Without its guard.
pub(crate) fn unguarded<'a>(statement: &Statement<'a>) -> &'a str {
    let at = statement.text.find(statement.opcode).unwrap_or_default();
    &statement.text[at..]
}
