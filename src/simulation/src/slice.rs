//! Why a number is what it is: the instructions and the elements of arrays that an element of a buffer comes from.
//!
//! It is a dynamic backward slice (Korel and Laski, "Dynamic Program Slicing", 1988): what was executed, not what might
//! be, and only what values are computed from, not the addresses and conditions that led there. The run is repeated
//! until no question is left; it is the same run, as its schedule is.

use std::cell::{Cell as Counter, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;

use ptx_numbers::{Accumulator, Format};
use smallvec::SmallVec;

use super::arithmetic::Lanes;
use super::array::ArrayOf;
use super::grid::Asked;
use super::launch::{Launch, LaunchError};
use super::machine::Extents;
use super::program::{Program, Variable};
use super::provenance::{Cell, Chain, Computed, Factors, Question, Source, Space, Thread, Trace, Write};
use super::run::Placed;
use super::{Checks, Kernel, Settings};
use crate::source::Span;

mod element;
mod unwritten;

use element::index_of;
pub use element::{Element, element, is_kept, value};

/// Runs that answer questions.
const MOST_RUNS: u32 = 16;
/// Places that are shown.
const MOST_PLACES: u32 = 400;
/// Threads whose registers are followed.
const MOST_THREADS: usize = 128;

/// What a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The instruction that wrote it; nothing where it was there from the start.
    pub span: Option<Span>,
    /// Who that was, and where: in plain words.
    pub text: String,
    /// The value, where it is a number that is known.
    pub value: Option<String>,
    /// The elements of arrays that it is made of, in their order: `a.npy[17, 0..16]`.
    pub elements: Vec<String>,
    /// The instructions that copied these from there.
    pub through: Vec<Span>,
    /// What that was made from.
    pub from: Vec<Self>,
    /// Memory of the GPU that nothing had written.
    pub unwritten: Option<Unwritten>,
}

/// Memory of the GPU that nothing has written: what it holds is left over from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// Shared memory.
    Shared,
    /// Tensor Memory.
    Tensor,
}

impl Origin {
    fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Kernel<'_> {
    /// What an element of a buffer comes from, in the end of a launch.
    ///
    /// # Errors
    /// When there is no such launch, or no such element.
    pub fn explain(
        &self,
        launch: &Launch,
        settings: &Settings,
        clusters: Range<u32>,
        element: Element,
    ) -> Result<Origin, LaunchError> {
        if launch.assumes.is_some() {
            return Err(LaunchError(
                "values are explained under launches that assume nothing: remove `assume`".to_owned(),
            ));
        }
        let (_, _, places) = self.memory(launch);
        let is_it = |it: &&Placed| (it.argument, it.field) == (element.argument, element.field);
        let place = places.iter().find(is_it);
        let place = place.filter(|it| element.offset + u64::from(element.bytes) <= it.bytes);
        let place = place.ok_or_else(|| LaunchError("the buffer has no such element".to_owned()))?;
        let question =
            Question { cell: Cell::global(place.address + element.offset, element.bytes), before: u64::MAX };
        let settings = Settings { records: false, checks: Checks::None, ..*settings };
        let mut traces = Vec::new();
        for run in 0..=MOST_RUNS {
            let slice = Slice {
                program: &self.program,
                launch,
                places: &places,
                traces: &traces,
                asked: RefCell::new(BTreeSet::new()),
                shown: RefCell::default(),
                left: Counter::new(MOST_PLACES),
            };
            let origin = slice.origin(question);
            let asked = slice.asked.into_inner();
            if asked.is_empty() || run == MOST_RUNS {
                return Ok(origin);
            }
            let mut asked = Asked { trace: Some(Box::new(Trace::new(asked))), ..Asked::default() };
            self.run_clusters(launch, &settings, clusters.clone(), &Extents::new(), &mut asked)?;
            traces.extend(asked.trace);
        }
        Ok(Origin::default())
    }
}

/// A slice under construction.
struct Slice<'s> {
    program: &'s Program,
    launch: &'s Launch,
    places: &'s [Placed],
    traces: &'s [Box<Trace>],
    /// What no run has answered yet.
    asked: RefCell<BTreeSet<Question>>,
    /// What is shown already.
    shown: RefCell<BTreeSet<Question>>,
    /// Places that may still be shown.
    left: Counter<u32>,
}

/// Where bytes were before anything wrote them, and the instructions that brought them from there.
struct Leaf {
    what: Start,
    /// The first of the bytes in the element.
    part: u64,
    through: Vec<u32>,
}

impl Leaf {
    fn said(text: &str, through: Vec<u32>) -> Self {
        Self { what: Start::Said(text.to_owned()), part: 0, through }
    }

    /// Whether it is another part of the same element.
    fn continues(&self, before: &Self) -> bool {
        matches!(self.what, Start::Array(..)) && self.what == before.what && before.part < self.part
    }
}

/// Where the way back ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    /// At an element of an array: which place, and the element.
    Array(usize, u64),
    Said(String),
}

impl Slice<'_> {
    /// Who wrote some bytes; nothing if that is not known yet.
    fn writes(&self, question: Question) -> Option<Chain> {
        let known = self.traces.iter().rev().find_map(|trace| trace.answer(question));
        if known.is_none() {
            self.asked.borrow_mut().insert(question);
        }
        known
    }

    fn is_global(&self, question: Question) -> bool {
        let is_in = |it: &Placed| (it.address..it.address + it.bytes).contains(&question.cell.at);
        question.cell.space == Space::Global && self.places.iter().any(is_in)
    }

    /// Whether the registers of a thread may be asked for.
    fn follows(&self, thread: Thread) -> bool {
        let of = |question: &Question| match question.cell.space {
            Space::Registers(thread) | Space::Local(thread) => Some(thread),
            Space::Global | Space::Shared { .. } | Space::Tensor { .. } => None,
        };
        if self.traces.iter().any(|trace| trace.knows(thread)) {
            return true;
        }
        let asked: BTreeSet<Thread> = self.asked.borrow().iter().filter_map(of).collect();
        let known: usize = self.traces.iter().map(|trace| trace.threads()).sum();
        asked.contains(&thread) || asked.len() + known < MOST_THREADS
    }

    /// What some bytes come from.
    fn origin(&self, question: Question) -> Origin {
        if !self.shown.borrow_mut().insert(question) {
            return Origin::said("as above");
        }
        let Some(left) = self.left.get().checked_sub(1) else {
            return Origin::said("more values go into this; they are left out");
        };
        self.left.set(left);
        if let Space::Registers(thread) | Space::Local(thread) = question.cell.space
            && !self.follows(thread)
        {
            return Origin::said("registers of other threads, which are not followed");
        }
        let Some(Chain { writes, left_out }) = self.writes(question) else { return Origin::default() };
        match writes.as_slice() {
            [] if question.before == u64::MAX && self.is_global(question) => {
                Origin::said("nothing was stored there")
            }
            [] => match self.start(question.cell).0 {
                Start::Said(text) => {
                    let unwritten = match question.cell.space {
                        Space::Shared { .. } => Some(Unwritten::Shared),
                        Space::Tensor { .. } => Some(Unwritten::Tensor),
                        Space::Global | Space::Registers(_) | Space::Local(_) => None,
                    };
                    Origin { text, unwritten, ..Origin::default() }
                }
                array @ Start::Array(..) => {
                    Origin { elements: vec![self.named(&array)], ..Origin::default() }
                }
            },
            [write] if !write.source.adds() => self.of_write(write, question),
            [first, others @ ..] => {
                let is_multiply = |write: &Write| matches!(write.source, Source::Multiplied(_));
                let added = if first.source.adds() { &writes[..] } else { others };
                let what = if added.iter().all(is_multiply) { "multiply" } else { "reduction" };
                let count = added.len() as u64 + left_out;
                let added = match (count, what) {
                    (1, what) => format!("1 {what}"),
                    (count, "multiply") => format!("{count} multiplies"),
                    (count, _) => format!("{count} reductions"),
                };
                let mut from = Vec::new();
                let text = if first.source.adds() {
                    let (start, _) = self.start(question.cell);
                    from.push(Origin { elements: vec![self.named(&start)], ..Origin::default() });
                    format!("what was there at the start, and {added}, in their order")
                } else if is_multiply(first) && what == "multiply" {
                    format!("the sum of {} multiplies, in their order", count + 1)
                } else {
                    format!("what was stored first, and {added}, in their order")
                };
                from.extend(self.shared_among(writes.iter(), |write| self.of_write(write, question)));
                Origin { text, from, ..Origin::default() }
            }
        }
    }

    /// What some things come from: each may take an equal share of the places that are left.
    fn shared_among<T>(
        &self,
        all: impl ExactSizeIterator<Item = T>,
        origin: impl Fn(T) -> Origin,
    ) -> Vec<Origin> {
        let count = all.len() as u32;
        let of_one = |(index, one): (usize, T)| {
            let left = self.left.get();
            let share = left / (count - index as u32);
            self.left.set(share);
            let origin = origin(one);
            self.left.set(left - (share - self.left.get()));
            origin
        };
        all.enumerate().map(of_one).collect()
    }

    fn of_write(&self, write: &Write, question: Question) -> Origin {
        let before = write.now;
        let span = self.program.spans.get(write.step as usize).copied();
        let mut text = self.who(write, question.cell.space);
        let (mut from, mut value) = (Vec::new(), None);
        match &write.source {
            Source::Copied(cell) => from.push(self.origin(Question { cell: *cell, before })),
            Source::Reduced(cell) => {
                text += ", reduced into what was there";
                match cell {
                    Some(cell) => from.push(self.origin(Question { cell: *cell, before })),
                    None => text += ": a constant",
                }
            }
            Source::Combined(cells) => {
                from = self.shared_among(cells.iter(), |cell| self.origin(Question { cell: *cell, before }));
            }
            Source::Computed(computed) => {
                let cells = sensitive(self.program, computed, question.cell.bytes);
                if cells.is_empty() {
                    text += ": from constants and special registers";
                }
                from = self.shared_among(cells.into_iter(), |cell| self.origin(Question { cell, before }));
            }
            Source::Multiplied(factors) => {
                let Factors { row, column, .. } = **factors;
                if let Space::Tensor { .. } = question.cell.space {
                    let (lane, at) = question.cell.lane_and_column();
                    text += &format!(", lane {lane} and column {at} of Tensor Memory");
                }
                text += &format!(": D[{row}, {column}]");
                value = write.value.zip(factors.format).map(|(bits, format)| number(format, bits as u32));
                let matrices = [
                    ("A", &factors.a),
                    ("B", &factors.b),
                    ("scales of A", &factors.scales_a),
                    ("scales of B", &factors.scales_b),
                ];
                for (name, cells) in matrices.into_iter().filter(|(_, cells)| !cells.is_empty()) {
                    from.push(self.elements(name, cells, before));
                }
                if let Some(cell) = factors.old {
                    from.push(self.origin(Question { cell, before }));
                }
            }
            Source::End(what) => text += &format!(": {what}"),
        }
        Origin { span, text, value, from, ..Origin::default() }
    }

    /// Who has written something.
    fn who(&self, write: &Write, to: Space) -> String {
        let Launch { grid, cluster, block, .. } = self.launch;
        let warps = block.iter().product::<u32>().div_ceil(32).max(1);
        let rank = write.warp / warps;
        let clusters: [u32; 3] = std::array::from_fn(|axis| (grid[axis] / cluster[axis].max(1)).max(1));
        let place = |index: u32, size: [u32; 3]| {
            [index % size[0], index / size[0] % size[1], index / size[0] / size[1]]
        };
        let (outer, inner) = (place(write.cluster, clusters), place(rank, *cluster));
        let id: [u32; 3] = std::array::from_fn(|axis| outer[axis] * cluster[axis] + inner[axis]);
        let mut text = format!("warp {}", write.warp % warps);
        if let Space::Registers(thread) | Space::Local(thread) = to {
            text += &format!(", lane {}", thread.lane);
        }
        if grid.iter().product::<u32>() > 1 {
            text += &format!(" of CTA ({}, {}, {})", id[0], id[1], id[2]);
        }
        text
    }

    /// Where bytes are that nothing has written, and which of an element is the first.
    fn start(&self, cell: Cell) -> (Start, u64) {
        let said = |text: &str| (Start::Said(text.to_owned()), 0);
        let at = match cell.space {
            Space::Global => cell.at,
            Space::Shared { .. } => return said("shared memory that was not written"),
            Space::Tensor { .. } => return said("Tensor Memory that was not written"),
            Space::Registers(_) => return said("a register that was not written"),
            Space::Local(_) => return said("local memory that was not written"),
        };
        let found = self.places.iter().position(|it| (it.address..it.address + it.bytes).contains(&at));
        if let Some(index) = found {
            let from = at - self.places[index].address;
            let size = self.array(index).map_or(1, |array| array.form.dtype.bytes as u64);
            return (Start::Array(index, from / size.max(1)), from % size.max(1));
        }
        let is_in = |it: &&Variable| (it.address..it.address + it.bytes).contains(&at);
        match self.program.globals.iter().find(is_in) {
            Some(variable) => said(&format!("the variable `{}`", variable.name)),
            None => said("global memory outside of all buffers"),
        }
    }

    /// What an argument is an array of, if the launch says that.
    fn array(&self, place: usize) -> Option<&ArrayOf> {
        let Placed { argument, field, .. } = self.places[place];
        self.launch.arrays.iter().find(|it| (it.argument, it.field) == (argument, field))
    }

    fn array_name(&self, place: usize) -> String {
        let Placed { argument, field, .. } = self.places[place];
        let named = self.array(place).and_then(|array| array.data.clone().or_else(|| array.out.clone()));
        named.unwrap_or_else(|| match (self.program.parameters.get(argument), field) {
            (Some(parameter), None) => parameter.name.clone(),
            (Some(parameter), Some(field)) => format!("{}.{field}", parameter.name),
            (None, _) => format!("argument {argument}"),
        })
    }

    fn named(&self, start: &Start) -> String {
        match start {
            Start::Array(place, element) => {
                let name = self.array_name(*place);
                let shape = self.array(*place).map_or(&[][..], |array| &array.form.shape);
                let index = index_of(shape, *element);
                let index: Vec<String> = index.iter().map(u64::to_string).collect();
                let unknown = if self.is_given(*place) { "" } else { ", whose contents are not given" };
                format!("{name}[{}]{unknown}", index.join(", "))
            }
            Start::Said(text) => text.clone(),
        }
    }

    /// Whether the launch says what a buffer begins with.
    fn is_given(&self, place: usize) -> bool {
        self.array(place).is_some_and(|array| array.is_given)
    }

    /// Follows bytes as long as they are copied only.
    fn leaf(&self, question: Question) -> Leaf {
        let (mut question, mut through) = (question, Vec::new());
        // Copies of copies: longer chains are not worth reading.
        for _ in 0..64 {
            if let Space::Registers(thread) | Space::Local(thread) = question.cell.space
                && !self.follows(thread)
            {
                return Leaf::said("registers of other threads", through);
            }
            let Some(chain) = self.writes(question) else { break };
            let Some(write) = chain.writes.last() else {
                let (what, part) = self.start(question.cell);
                return Leaf { what, part, through };
            };
            through.push(write.step);
            match &write.source {
                Source::Copied(cell) => question = Question { cell: *cell, before: write.now },
                Source::Computed(computed) => {
                    match sensitive(self.program, computed, question.cell.bytes).as_slice() {
                        [one] => question = Question { cell: *one, before: write.now },
                        _ => return Leaf::said("computed values", through),
                    }
                }
                Source::End(what) => return Leaf::said(what, through),
                Source::Reduced(_) => return Leaf::said("reductions", through),
                Source::Combined(_) => return Leaf::said("an exchange", through),
                Source::Multiplied(_) => return Leaf::said("a multiply", through),
            }
        }
        Leaf::said("", through)
    }

    /// The elements that some bytes come from, in their order: `A: a.npy[17, 0..16]`.
    fn elements(&self, name: &str, cells: &[Cell], before: u64) -> Origin {
        // Two elements of four bits are in one byte.
        let mut cells = cells.to_vec();
        cells.dedup();
        let leaf = |cell: Cell| self.leaf(Question { cell, before });
        let mut leaves: Vec<Leaf> = cells.into_iter().map(leaf).collect();
        leaves.dedup_by(|next, before| {
            let continues = next.continues(before);
            before.part = if continues { next.part } else { before.part };
            continues
        });
        let mut pieces: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(leaf) = leaves.get(at) {
            let count = match leaf.what {
                Start::Array(place, element) => {
                    let size = |at: usize| self.array(place).and_then(|it| it.form.shape.get(at)).copied();
                    let rank = self.array(place).map_or(1, |it| it.form.shape.len().max(1));
                    let run = |by: u64| {
                        let is_next = |(index, leaf): (usize, &Leaf)| {
                            leaf.what == Start::Array(place, element + index as u64 * by)
                        };
                        leaves[at..]
                            .iter()
                            .enumerate()
                            .take_while(|(index, leaf)| is_next((*index, leaf)))
                            .count()
                    };
                    // Along the last axis, or along the one before it.
                    let last = size(rank - 1).unwrap_or(usize::MAX) as u64;
                    let along = run(1).min((last - element % last) as usize);
                    let across = if rank > 1 { run(last) } else { 0 };
                    let shape = self.array(place).map_or(&[][..], |array| &array.form.shape);
                    let mut index: Vec<String> =
                        index_of(shape, element).iter().map(u64::to_string).collect();
                    let axis = if across > along { rank.checked_sub(2) } else { rank.checked_sub(1) };
                    let count = along.max(across).max(1);
                    if count > 1
                        && let Some(first) = axis.and_then(|axis| index.get_mut(axis))
                    {
                        let from: u64 = first.parse().unwrap_or(0);
                        *first = format!("{from}..{}", from + count as u64);
                    }
                    let unknown = if self.is_given(place) { "" } else { " (not given)" };
                    pieces.push(format!("{}[{}]{unknown}", self.array_name(place), index.join(", ")));
                    count
                }
                Start::Said(ref text) => {
                    let count = leaves[at..].iter().take_while(|it| it.what == leaf.what).count();
                    pieces.push(if count == leaves.len() {
                        text.clone()
                    } else {
                        format!("{count} x {text}")
                    });
                    count
                }
            };
            at += count;
        }
        let mut through: Vec<Span> = Vec::new();
        for step in leaves.iter().flat_map(|leaf| &leaf.through) {
            let span = self.program.spans.get(*step as usize);
            through.extend(span.filter(|span| !through.contains(span)));
        }
        Origin { text: name.to_owned(), elements: pieces, through, ..Origin::default() }
    }
}

/// A number of D, as people write it.
fn number(format: Accumulator, bits: u32) -> String {
    match format {
        Accumulator::F32 => f32::from_bits(bits).to_string(),
        Accumulator::F16 => Format::F16.decode(bits).to_string(),
        Accumulator::S32 => bits.cast_signed().to_string(),
    }
}

/// The sources that some bytes of a result depend on: those whose bits change it, one at a time.
fn sensitive(program: &Program, computed: &Computed, bytes: u32) -> Vec<Cell> {
    let Computed { arithmetic, position, destinations, sources, from } = computed;
    let arithmetic = &program.arithmetics[*arithmetic as usize];
    let wanted = (u64::MAX >> (64 - 8 * bytes.clamp(1, 8))).checked_shl(8 * from).unwrap_or(0);
    let broadcast: SmallVec<[Lanes; 3]> = sources.iter().map(|(_, value)| [*value; 32]).collect();
    let result = |values: &[Lanes]| {
        let mut results = vec![[0; 32]; destinations.len as usize];
        let values: SmallVec<[&Lanes; 3]> = values.iter().collect();
        arithmetic.execute(u32::MAX, &values, &mut results.iter_mut().collect::<SmallVec<[&mut Lanes; 2]>>());
        results.get(*position as usize).map_or([0; 32], |all| all.map(|value| value & wanted))
    };
    let now = result(&broadcast)[0];
    let mut cells = Vec::new();
    for (index, (cell, value)) in sources.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let mut bits = 0_u64;
        for half in [0, 32] {
            let mut values = broadcast.clone();
            for (lane, it) in values[index].iter_mut().enumerate() {
                *it = value ^ 1 << (half + lane);
            }
            for (lane, other) in result(&values).into_iter().enumerate() {
                bits |= u64::from(other != now) << (half + lane);
            }
        }
        // A condition is not followed.
        if bits == 0 || bits == 1 && *value <= 1 && sources.len() > 1 {
            continue;
        }
        let (first, last) = (bits.trailing_zeros() / 8, bits.ilog2() / 8);
        let size =
            (1..=8).find(|size: &u32| size.is_power_of_two() && first / size == last / size).unwrap_or(8);
        cells.push(cell.part(first / size * size, size));
    }
    cells
}
