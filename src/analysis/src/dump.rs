//! What the analyses know, as text. It shows what a rule saw when it made a false alarm.
//!
//! `ptx-tc debug ir|cfg|values|facts FILE [--line N]` prints it. The text is for people: its form may change.

use std::collections::BTreeMap;
use std::fmt::Write;

use smallvec::SmallVec;
use strum::{EnumString, IntoStaticStr};

use super::calls::CallGraph;
use super::cfg::BlockId;
use super::constants::Known;
use super::descriptors;
use super::events::{Action, Event, Events};
use super::flow::{Flow, Together};
use super::functions::FunctionFacts;
use super::places::{Place, Root};
use super::ranges::{Base, Counted, Numbers};
use super::registers::{self, Access};
use super::values::ValueId;
use crate::instruction::decode::Decoder;
use crate::ir::{Argument, Computing, Placed, argument};
use crate::isa::generic::Role;
use crate::resolve::environment::Environment;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum What {
    /// The instructions, lowered.
    Ir,
    /// The blocks of each function, and where control goes.
    Cfg,
    /// What the registers hold that an instruction reads, in each domain.
    Values,
    /// Who executes an instruction, and what can have happened before it.
    Facts,
}

/// Prints what is known of the instructions on a line, counted from 1; without one, of all instructions, but values
/// and facts of those of tcgen05 alone.
pub fn dump(unit: &Unit, what: What, line: Option<u32>) -> String {
    let dump = Dump { unit, line };
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = match what {
        What::Ir => dump.ir(&mut out),
        What::Cfg => dump.cfg(&mut out),
        What::Values => dump.of_flows(&mut out, Dump::values),
        What::Facts => dump.of_flows(&mut out, Dump::facts),
    };
    out
}

type Result = std::fmt::Result;

struct Dump<'a> {
    unit: &'a Unit,
    line: Option<u32>,
}

impl Dump<'_> {
    fn line_of(&self, instruction: u32) -> u32 {
        self.unit.source.position(self.unit.module.instructions[instruction as usize].opcode.start).line
    }

    fn is_wanted(&self, instruction: u32) -> bool {
        self.line.is_none_or(|line| self.line_of(instruction) == line)
    }

    /// The instruction as it stands, without line breaks.
    fn text(&self, instruction: u32) -> String {
        let raw = &self.unit.module.instructions[instruction as usize];
        let last = raw.operands.range().last().map(|last| self.unit.module.operands[last].span().end);
        let end = last.unwrap_or(raw.opcode.end).max(raw.opcode.end);
        let text = self.unit.source.text().get(raw.opcode.start as usize..end as usize).unwrap_or_default();
        let guard = self.unit.module.guard(raw).map_or_else(String::new, |guard| {
            format!("@{}{} ", if guard.negated { "!" } else { "" }, self.unit.source.slice(guard.name))
        });
        let text: Vec<&str> = text.split_whitespace().collect();
        format!("{guard}{}", text.join(" "))
    }

    fn register(&self, id: RegisterId, operand: Option<u32>) -> String {
        match operand.and_then(|operand| self.unit.module.operands.get(operand as usize)) {
            Some(operand) if operand.is_name() => self.unit.source.slice(operand.span()).to_owned(),
            _ => format!("register {}", id.0),
        }
    }

    fn argument(&self, placed: &Placed) -> String {
        let register = |id| self.register(id, Some(placed.operand));
        match placed.argument {
            Argument::Constant(value) if value > 0xFFFF => format!("{value:#x}"),
            Argument::Constant(value) => value.to_string(),
            Argument::Register { id, part: 0 } => register(id),
            Argument::Register { id, part } => format!("{}[{part}]", register(id)),
            Argument::Not(id) => format!("!{}", register(id)),
            Argument::Special(_) => {
                self.unit.source.slice(self.unit.module.operands[placed.operand as usize].span()).to_owned()
            }
            Argument::Symbol { id, offset, generic } => {
                let name = self.unit.source.slice(self.unit.symbols.symbol(id).span);
                let by = if offset == 0 { String::new() } else { format!("{offset:+}") };
                if generic { format!("generic({name}){by}") } else { format!("&{name}{by}") }
            }
            Argument::Carry => "carry".to_owned(),
            Argument::Sink => "_".to_owned(),
            Argument::Opaque => "?".to_owned(),
        }
    }

    fn ir(&self, out: &mut String) -> Result {
        let Unit { module, source, operations, .. } = self.unit;
        for (function, body) in module.bodies() {
            let name = source.slice(module.functions[function as usize].name);
            writeln!(out, "function {name}")?;
            for at in super::cfg::Cfg::instruction_range(module, body.body).filter(|at| self.is_wanted(*at)) {
                let raw = &module.instructions[at as usize];
                let opcode = operations.of(at);
                write!(
                    out,
                    "  {:>5}  {}",
                    self.line_of(at),
                    source.slice(module.opcodes[operations.number(at) as usize])
                )?;
                let list = |all: &[Placed]| {
                    all.iter().map(|placed| self.argument(placed)).collect::<Vec<_>>().join(", ")
                };
                if let Some(computing) = Computing::of(self.unit, at) {
                    let how = if computing.arithmetic.is_some() { "=" } else { "= opaque" };
                    writeln!(out, "  {} {how} {}", list(computing.results()), list(computing.sources()))?;
                    continue;
                }
                for (position, index) in raw.operands.range().enumerate() {
                    let index = index as u32;
                    if let Some(address) = argument::address(self.unit, index)
                        .filter(|_| module.operands[index as usize].is_address())
                    {
                        write!(out, "  [{} {:+}]", self.argument(&address.base), address.offset)?;
                        continue;
                    }
                    let mut all = argument::Arguments::new();
                    argument::flatten(self.unit, index, None, &mut all);
                    let slot = opcode.slots.get(position).filter(|_| opcode.has_all());
                    let writes = slot.is_some_and(|slot| slot.role == Role::Destination);
                    write!(out, "  {}{}", list(&all), if writes { " :=" } else { "" })?;
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn cfg(&self, out: &mut String) -> Result {
        let Unit { module, source, .. } = self.unit;
        for (function, body) in module.bodies() {
            let name = source.slice(module.functions[function as usize].name);
            let cfg = super::cfg::Cfg::new(self.unit, body.body);
            writeln!(out, "function {name}: {} blocks", cfg.len())?;
            for (id, block) in cfg.blocks() {
                let lines = match (block.instructions.clone().next(), block.instructions.clone().last()) {
                    (Some(first), Some(last)) => {
                        format!("lines {}-{}", self.line_of(first), self.line_of(last))
                    }
                    _ => "empty".to_owned(),
                };
                let list = |all: &[BlockId]| {
                    let all: Vec<String> = all.iter().map(|it| format!("b{}", it.0)).collect();
                    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
                };
                let dominator = cfg
                    .dominating(id)
                    .find(|it| *it != id)
                    .map_or_else(|| "-".to_owned(), |it| format!("b{}", it.0));
                write!(
                    out,
                    "  b{}: {lines}; to {}; from {}; dominator {dominator}",
                    id.0,
                    list(&block.successors),
                    list(&block.predecessors)
                )?;
                let marks = [
                    (cfg.is_in_loop(id), "in a loop"),
                    (block.leaves, "may leave"),
                    (!cfg.is_reachable(id), "not reachable"),
                ];
                marks.iter().filter(|(holds, _)| *holds).try_for_each(|(_, mark)| write!(out, "; {mark}"))?;
                writeln!(out)?;
            }
        }
        Ok(())
    }

    /// Analyses each component, as a check does, and prints something of each function.
    fn of_flows(&self, out: &mut String, print: fn(&Self, &mut String, &Flow<'_>, u32) -> Result) -> Result {
        let unit = self.unit;
        let calls = CallGraph::new(unit);
        let mut decoder = Decoder::for_checks(unit);
        let roots: Vec<u32> = unit.module.bodies().map(|(function, _)| function).collect();
        let environment = Environment::new(unit, None, &[]);
        for component in calls.components(&roots) {
            let instructions = decoder.decode(&component.functions);
            let mut events = Events::new(unit, &component, &instructions, &|_, _| true);
            let of = (&calls, &component, None);
            let functions = FunctionFacts::with_events(unit, of, &instructions, &mut events, None);
            let descriptors = descriptors::find(unit, &instructions, &functions, &environment);
            let together = Together {
                unit,
                instructions: &instructions,
                calls: &calls,
                all: &events,
                functions: &functions,
                descriptors: &descriptors,
            };
            for flow in together.flows() {
                let name = unit.source.slice(unit.module.functions[flow.function() as usize].name);
                let all = flow.instructions_of(flow.function());
                let is_shown =
                    |at: &u32| self.is_wanted(*at) && (self.line.is_some() || unit.operations.is_tensor(*at));
                let shown: Vec<u32> = all.filter(is_shown).collect();
                if shown.is_empty() {
                    continue;
                }
                writeln!(out, "function {name}")?;
                for at in shown {
                    writeln!(out, "{}: {}", self.line_of(at), self.text(at))?;
                    print(self, out, &flow, at)?;
                }
            }
        }
        Ok(())
    }

    fn values(&self, out: &mut String, flow: &Flow<'_>, at: u32) -> Result {
        let view = flow.facts.view(self.unit);
        let mut read: SmallVec<[(RegisterId, u32); 8]> = SmallVec::new();
        registers::accesses(self.unit, at, &mut |register, operand, access| {
            if access == Access::Read && read.iter().all(|(known, _)| *known != register) {
                read.push((register, operand));
            }
        });
        for (register, operand) in read {
            writeln!(out, "  {}", self.register(register, Some(operand)))?;
            let made = match view.value(at, register) {
                None => "by nothing here".to_owned(),
                Some(ValueId::Definition(id)) => {
                    let made = view.definitions.get(id).instruction;
                    format!("line {}: {}", self.line_of(made), self.text(made))
                }
                Some(ValueId::Join(join)) => format!("phi of {} values", view.definitions.joined(join).len()),
            };
            writeln!(out, "    made       {made}")?;
            let known = flow.known(&[(at, register)]).first().copied();
            writeln!(out, "    bits       {}", known.map_or_else(|| "?".to_owned(), bits))?;
            let counted = flow.facts.ranges.at(&view, at, register);
            writeln!(out, "    interval   {}", self.counted(counted))?;
            writeln!(out, "    place      {}", self.place(&flow.places().of(at, register)))?;
            if let Some(few) = flow.one_of(at, register) {
                writeln!(out, "    one of     {few:?}")?;
            }
            let iterations = flow.in_iterations(at, register).values;
            if !iterations.is_empty() {
                let first: Vec<String> = iterations.iter().take(8).map(|it| self.place(it)).collect();
                writeln!(
                    out,
                    "    iterations {}{}",
                    first.join("; "),
                    if iterations.len() > 8 { "; ..." } else { "" }
                )?;
            }
            if let Some(warps) = flow.executing(None).in_warps(at, register) {
                let first: Vec<String> = warps.iter().take(8).map(u64::to_string).collect();
                writeln!(out, "    by warp    {} ...", first.join(", "))?;
            }
        }
        Ok(())
    }

    fn counted(&self, counted: Counted) -> String {
        let base = match counted.base {
            Base::Nothing => String::new(),
            Base::Variable(id) => {
                format!("&{} + ", self.unit.source.slice(self.unit.symbols.symbol(id).span))
            }
            Base::Made(id) => format!("definition {} + ", id.0),
            Base::Unknown => return "?".to_owned(),
        };
        let lanes = if counted.lanes { " + lanes" } else { "" };
        format!("{base}{}{lanes}", numbers(counted.numbers))
    }

    fn place(&self, place: &Place) -> String {
        let root = match place.root {
            Root::Literal => String::new(),
            Root::Variable(id) => {
                format!("&{} + ", self.unit.source.slice(self.unit.symbols.symbol(id).span))
            }
            Root::Slot(slot) => format!("{slot:?} + "),
            Root::Parameter(parameter) => format!("{parameter:?} + "),
            Root::Register(id) => format!("register {} + ", id.0),
        };
        format!("{root}{}", bits(place.offset))
    }

    fn facts(&self, out: &mut String, flow: &Flow<'_>, at: u32) -> Result {
        let cfg = flow.cfg();
        if let Some(block) = cfg.block_of(at) {
            let mark = |holds: bool, mark: &'static str| if holds { mark } else { "" };
            let (in_loop, dead) =
                (mark(cfg.is_in_loop(block), ", in a loop"), mark(!cfg.is_executed(at), ", never executed"));
            writeln!(out, "  block      b{}{in_loop}{dead}", block.0)?;
        }
        let executing = flow.executing(None);
        match executing.of(at) {
            Some(executes) => {
                let (certain, possible) = executes.warp_sets();
                writeln!(out, "  warps      certainly {certain:#010x}, possibly {possible:#010x}")?;
                writeln!(
                    out,
                    "  lanes      warp 0 certainly {:#010x}, possibly {:#010x}",
                    executes.certain_lanes(0),
                    executes.possible_lanes(0)
                )?;
            }
            None => writeln!(out, "  warps      not known")?,
        }
        if let Some(event) = flow.event_at(at) {
            let mut before: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            let is_before =
                |it: &&Event| it.instruction != at && flow.is_own(**it) && flow.leads_to(it.instruction, at);
            for it in flow.events().iter().filter(is_before) {
                before.entry(happens(*it)).or_default().push(self.line_of(it.instruction));
            }
            writeln!(out, "  event      {}; it may follow", happens(event))?;
            for (action, lines) in before {
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                writeln!(out, "    {action}: {}", lines.join(", "))?;
            }
        }
        Ok(())
    }
}

/// What happens, in a word.
fn happens(event: Event) -> String {
    match event.action {
        Action::Tensor { operation, .. } => format!("tcgen05.{operation}"),
        other => format!("{other:?}"),
    }
}

/// From the highest bit that is not a known 0 down: `?` where a bit is not known.
fn bits(known: Known) -> String {
    if let Some(number) = known.constant(64) {
        return format!("{number} ({number:#x})");
    }
    if known.mask == 0 {
        return "?".to_owned();
    }
    let top = 64 - (!known.mask | known.value).leading_zeros();
    let bit = |at: u32| match (known.mask >> at & 1, known.value >> at & 1) {
        (0, _) => '?',
        (_, 0) => '0',
        (_, _) => '1',
    };
    let digits: String = (0..top).rev().map(bit).collect();
    let bytes: Vec<&str> =
        digits.as_bytes().rchunks(8).rev().filter_map(|it| std::str::from_utf8(it).ok()).collect();
    format!("0b{}", bytes.join("_"))
}

fn numbers(numbers: Numbers) -> String {
    if let Some(single) = numbers.single() {
        return single.to_string();
    }
    let end = |value: Option<i64>| value.map_or_else(|| "..".to_owned(), |value| value.to_string());
    match (numbers.first(), numbers.count()) {
        (None, _) if numbers.last().is_none() => "any".to_owned(),
        (first, Some(count)) => format!("[{}, {}], {count} numbers", end(first), end(numbers.last())),
        (first, None) => format!("[{}, {}]", end(first), end(numbers.last())),
    }
}
