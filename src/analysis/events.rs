//! What happens in a function that matters to the order of tcgen05 operations: the instructions
//! themselves, waits, barriers, fences, stores to shared memory, and calls.

use super::calls::{self, CallGraph};
use super::cfg::Cfg;
use super::registers;
use crate::instruction::decode::Decoded;
use crate::isa::vocabulary::Operation;
use crate::resolve::unit::Unit;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction, an index into [`Module::instructions`](crate::syntax::ast::Module).
    pub instruction: u32,
    /// What it does.
    pub action: Action,
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A tcgen05 instruction.
    Tensor {
        /// Which of the decoded ones.
        index: u32,
        /// What it does.
        operation: Operation,
    },
    /// `mbarrier.try_wait` or `mbarrier.test_wait`, whatever becomes of its result.
    MbarrierWait,
    /// `mbarrier.arrive` or `mbarrier.arrive_drop`
    MbarrierArrive,
    /// `bar.sync`, `barrier.sync`, `bar.red`, `barrier.cluster.wait`
    Barrier,
    /// `bar.warp.sync`
    WarpBarrier,
    /// `fence.proxy.async`
    ProxyFence,
    /// A store to shared memory by the thread itself.
    SharedStore,
    /// `cp.async.bulk` into shared memory.
    BulkLoad,
    /// A call of a function with a body; an index into
    /// [`Module::functions`](crate::syntax::ast::Module).
    Call(u32),
    /// Anything may happen: a call of a function that is not known.
    Unknown,
}

/// What may happen while a function runs, in it and in what it calls; in no particular order.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The functions, it being the first.
    pub functions: Vec<u32>,
    /// What happens in them, calls left out.
    pub events: Vec<Event>,
    /// Whether one of them calls something unknown.
    pub unknown: bool,
}

/// The events of the functions of a module.
#[derive(Debug, Default)]
pub struct Events {
    /// By function: its events, if it was looked at.
    functions: Vec<Option<Vec<Event>>>,
    /// By function.
    summaries: Vec<Option<Summary>>,
}

impl Events {
    /// Finds the events of every function that has tcgen05 instructions, can reach one that has,
    /// or is called by one of these.
    pub fn new(unit: &Unit, instructions: &[Decoded<'_>]) -> Self {
        let count = unit.module.functions.len();
        let mut this = Self { functions: vec![None; count], summaries: Vec::with_capacity(count) };
        let mut work: Vec<u32> = Vec::new();
        for group in instructions.chunk_by(|a, b| a.function == b.function) {
            work.extend(group.first().and_then(|decoded| decoded.function));
        }
        // Callers matter where the instructions are in functions that can be called.
        if work.iter().any(|function| !unit.module.functions[*function as usize].is_entry) {
            work.extend(CallGraph::new(unit).callers(&work));
        }
        while let Some(function) = work.pop() {
            if this.functions[function as usize].is_some() {
                continue;
            }
            let events = events(unit, function, instructions);
            work.extend(events.iter().filter_map(|event| match event.action {
                Action::Call(callee) => Some(callee),
                _ => None,
            }));
            this.functions[function as usize] = Some(events);
        }
        for function in 0..count as u32 {
            let summary = this.functions[function as usize].is_some().then(|| this.summarize(function));
            this.summaries.push(summary);
        }
        this
    }

    /// The events of one function in the order of its instructions.
    pub fn of(&self, function: u32) -> &[Event] {
        self.functions.get(function as usize).and_then(Option::as_ref).map_or(&[], Vec::as_slice)
    }

    /// The functions that have events, in the order of the module.
    pub fn functions(&self) -> impl Iterator<Item = u32> + '_ {
        let has_events =
            |(function, events): (usize, &Option<Vec<Event>>)| events.is_some().then_some(function as u32);
        self.functions.iter().enumerate().filter_map(has_events)
    }

    /// What may happen while `function` runs; nothing is known of one that was not looked at.
    pub fn summary(&self, function: u32) -> Option<&Summary> {
        self.summaries.get(function as usize)?.as_ref()
    }

    fn summarize(&self, function: u32) -> Summary {
        let mut summary = Summary::default();
        let mut work = vec![function];
        while let Some(function) = work.pop() {
            if summary.functions.contains(&function) {
                continue;
            }
            summary.functions.push(function);
            for event in self.of(function) {
                match event.action {
                    Action::Call(callee) => work.push(callee),
                    Action::Unknown => summary.unknown = true,
                    _ => summary.events.push(*event),
                }
            }
        }
        summary
    }
}

/// The events of one function.
fn events(unit: &Unit, function: u32, instructions: &[Decoded<'_>]) -> Vec<Event> {
    let Unit { source, module, .. } = unit;
    let mut found = Vec::new();
    let range = Cfg::instruction_range(module, module.functions[function as usize].body);
    let mut tensor = instructions.partition_point(|decoded| decoded.index < range.start);
    for instruction in range {
        let raw = &module.instructions[instruction as usize];
        let opcode = source.slice(raw.opcode);
        let action = match opcode.as_bytes() {
            [b't', b'c', ..] => {
                let known = instructions.get(tensor).filter(|decoded| decoded.index == instruction);
                known.map(|decoded| {
                    tensor += 1;
                    decoded.form.map_or(Action::Unknown, |form| Action::Tensor {
                        index: tensor as u32 - 1,
                        operation: form.operation,
                    })
                })
            }
            [b'm', b'b', ..] => mbarrier(opcode),
            [b'b', b'a', b'r', ..] => barrier(opcode),
            [b'f', b'e', ..] => proxy_fence(opcode),
            [b's', b't', ..] => shared_store(opcode),
            [b'c', b'p', ..] => bulk_load(opcode),
            [b'c', b'a', b'l', b'l', ..] if calls::is_call(opcode) => {
                match calls::functions_named(module, &unit.symbols, raw.operands)[..] {
                    [callee] if module.functions[callee as usize].body.len > 0 => Some(Action::Call(callee)),
                    _ => Some(Action::Unknown),
                }
            }
            _ => None,
        };
        found.extend(action.map(|action| Event { instruction, action }));
    }
    found
}

/// The words of an opcode behind its first.
fn modifiers(opcode: &str) -> impl Iterator<Item = &str> {
    registers::words_of(opcode).skip(1)
}

fn mbarrier(opcode: &str) -> Option<Action> {
    match modifiers(opcode).next()? {
        "try_wait" | "test_wait" => Some(Action::MbarrierWait),
        "arrive" | "arrive_drop" => Some(Action::MbarrierArrive),
        _ => None,
    }
}

fn barrier(opcode: &str) -> Option<Action> {
    let mut warp = false;
    let mut waits = false;
    for word in modifiers(opcode) {
        warp |= word == "warp";
        waits |= matches!(word, "sync" | "red" | "wait");
    }
    waits.then_some(if warp { Action::WarpBarrier } else { Action::Barrier })
}

fn proxy_fence(opcode: &str) -> Option<Action> {
    let mut words = modifiers(opcode);
    let is_one = words.next() == Some("proxy") && words.next().is_some_and(|word| word.starts_with("async"));
    (is_one && words.all(|word| word != "global")).then_some(Action::ProxyFence)
}

fn shared_store(opcode: &str) -> Option<Action> {
    let (name, _) = opcode.split_once('.')?;
    let mut words = modifiers(opcode);
    let stores = match name.trim_end() {
        "st" => words.all(|word| word != "async") && modifiers(opcode).any(|word| word.starts_with("shared")),
        "stmatrix" => true,
        _ => false,
    };
    stores.then_some(Action::SharedStore)
}

fn bulk_load(opcode: &str) -> Option<Action> {
    let mut words = modifiers(opcode);
    let is_bulk = words.next() == Some("async") && words.next() == Some("bulk");
    let mut spaces = words.filter(|word| word.starts_with("shared") || *word == "global");
    (is_bulk && spaces.next().is_some_and(|space| space.starts_with("shared"))).then_some(Action::BulkLoad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes() {
        assert_eq!(mbarrier("mbarrier.try_wait.parity.shared::cta.b64"), Some(Action::MbarrierWait));
        assert_eq!(mbarrier("mbarrier.arrive.expect_tx.shared::cta.b64"), Some(Action::MbarrierArrive));
        assert_eq!(mbarrier("mbarrier.init.shared::cta.b64"), None);
        assert_eq!(barrier("bar.sync"), Some(Action::Barrier));
        assert_eq!(barrier("bar.warp.sync"), Some(Action::WarpBarrier));
        assert_eq!(barrier("barrier.cluster.wait.acquire.aligned"), Some(Action::Barrier));
        assert_eq!(barrier("barrier.cluster.arrive.release.aligned"), None);
        assert_eq!(proxy_fence("fence.proxy.async.shared::cta"), Some(Action::ProxyFence));
        assert_eq!(proxy_fence("fence.proxy.async"), Some(Action::ProxyFence));
        assert_eq!(proxy_fence("fence.proxy.async.global"), None);
        assert_eq!(proxy_fence("fence.acq_rel.gpu"), None);
        assert_eq!(shared_store("st.shared.v4.b32"), Some(Action::SharedStore));
        assert_eq!(shared_store("st.global.b32"), None);
        assert_eq!(bulk_load("cp.async.bulk.tensor.2d.shared::cluster.global.tile"), Some(Action::BulkLoad));
        assert_eq!(bulk_load("cp.async.bulk.global.shared::cta.bulk_group"), None);
    }
}
