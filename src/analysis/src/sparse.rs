//! One sparse solver: what is known of values, from what they are made of.
//!
//! Values are those of static single assignment form: what a definition makes, and phis. An [`Analysis`] says
//! what a value is made of, and what a definition makes of that in its [domain](crate::arithmetic::domain); this is
//! the fixpoint. Only values that somebody asks for are looked at, and what these are made of: sources first, and what
//! forms a cycle again until nothing changes. Elements only go up the lattice on the way, and
//! [`widen`](Analysis::widen) ends what would go up forever. (Sparse conditional constant propagation on value edges
//! alone: Wegman and Zadeck, 1991; what branches say enters through the sources of an analysis.)

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::definitions::DefinitionId;
use super::function::Function;
use super::values::ValueId;
use super::walks::Worklist;

/// What a solver needs to know of one kind of knowledge.
pub(super) trait Analysis {
    /// An element of the lattice. The bottom, of which nothing is known to get there, is `None`.
    type Value: Clone + PartialEq;

    /// What one visit takes, in steps of the budget.
    const VISIT: u64;
    /// Values that are made of more are not looked into.
    const MOST: usize;
    /// How often all values of a cycle are made once more in the end: what was widened may have an end.
    const NARROWINGS: u32;

    /// What was found out before of a value: it is not looked into.
    fn known(&self, value: ValueId) -> Option<Self::Value>;

    /// Calls `visit` with the values that a definition is made of, and the operands that read them.
    fn sources(&mut self, id: DefinitionId, visit: &mut dyn FnMut(u32, ValueId));

    /// What a definition makes; `None` while it has to wait for what it reads.
    fn make(&mut self, id: DefinitionId, reads: Reads<'_, Self::Value>) -> Option<Self::Value>;

    /// The least element that is above both.
    fn join(&mut self, one: &Self::Value, other: &Self::Value) -> Self::Value;

    /// An element that is not below `joined`, which `old` became; the value has changed so often.
    fn widen(&mut self, value: ValueId, old: &Self::Value, joined: Self::Value, changes: u32) -> Self::Value;
}

/// What a definition reads.
#[derive(Debug)]
pub(super) struct Reads<'a, V> {
    values: &'a [Option<V>],
    list: &'a [Read],
}

impl<V> Clone for Reads<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Reads<'_, V> {}

/// An operand and what it reads.
#[derive(Clone, Copy, Debug)]
struct Read {
    operand: u32,
    slot: u32,
}

impl<'a, V> Reads<'a, V> {
    /// Of what reads nothing.
    pub(super) const NOTHING: Self = Self { values: &[], list: &[] };

    /// Whether something that is read has no value yet.
    pub(super) fn are_missing(self) -> bool {
        self.list.iter().any(|read| self.values[read.slot as usize].is_none())
    }

    /// Whether the analysis visits what an operand reads.
    pub(super) fn is_read(self, operand: u32) -> bool {
        self.list.iter().any(|read| read.operand == operand)
    }

    /// What an operand reads: nothing yet, or nothing that the analysis visits.
    pub(super) fn of(self, operand: u32) -> Option<&'a V> {
        let read = self.list.iter().find(|read| read.operand == operand)?;
        self.values[read.slot as usize].as_ref()
    }

    /// Everything that an operand reads, if it is several values, in the order in which the analysis visited them.
    pub(super) fn all_of(self, operand: u32) -> impl Iterator<Item = Option<&'a V>> {
        let read = self.list.iter().filter(move |read| read.operand == operand);
        read.map(move |read| self.values[read.slot as usize].as_ref())
    }
}

/// What was found out: an element for each value that was looked at.
#[derive(Debug)]
pub(super) struct Solution<V> {
    slots: Slots,
    /// By slot.
    values: Vec<Option<V>>,
}

impl<V> Default for Solution<V> {
    fn default() -> Self {
        Self { slots: Slots::default(), values: Vec::new() }
    }
}

impl<V> Solution<V> {
    /// What is known of a value that was looked at.
    pub(super) fn of(&self, value: ValueId) -> Option<&V> {
        self.values.get(self.slots.of(value)? as usize)?.as_ref()
    }

    /// All values that were looked at one by one, not in a table.
    pub(super) fn all(&self) -> impl Iterator<Item = (ValueId, Option<&V>)> {
        self.slots.others.iter().map(|(value, slot)| (*value, self.values[*slot as usize].as_ref()))
    }

    /// Whether a value was looked at.
    pub(super) fn has(&self, value: ValueId) -> bool {
        self.slots.of(value).is_some()
    }
}

/// Which slot each value has.
#[derive(Debug, Default)]
struct Slots {
    /// By definition, where many are asked for: its slot, or [`NONE`].
    dense: Vec<u32>,
    others: FxHashMap<ValueId, u32>,
}

/// No slot.
const NONE: u32 = u32::MAX;

impl Slots {
    fn of(&self, value: ValueId) -> Option<u32> {
        match value {
            ValueId::Definition(id) if !self.dense.is_empty() => {
                self.dense.get(id.0 as usize).copied().filter(|slot| *slot != NONE)
            }
            ValueId::Definition(_) | ValueId::Join(_) => self.others.get(&value).copied(),
        }
    }

    fn insert(&mut self, value: ValueId, slot: u32) {
        match value {
            ValueId::Definition(id) if !self.dense.is_empty() => self.dense[id.0 as usize] = slot,
            ValueId::Definition(_) | ValueId::Join(_) => {
                self.others.insert(value, slot);
            }
        }
    }
}

/// Most values are made of fewer.
const FEW: usize = 16;

/// Why there is no solution: the values that were looked at until the budget was spent, or they were too many.
pub(super) struct TooMuch(pub(super) Vec<ValueId>);

/// Finds what is known of values, and of all that they are made of. `is_dense` says that these are many of the
/// function's definitions.
pub(super) fn solve<A: Analysis>(
    analysis: &mut A,
    function: &Function<'_>,
    roots: impl IntoIterator<Item = ValueId>,
    is_dense: bool,
) -> Result<Solution<A::Value>, TooMuch> {
    let mut graph = Graph {
        slots: Slots {
            dense: if is_dense { vec![NONE; function.definitions.len()] } else { Vec::new() },
            others: FxHashMap::default(),
        },
        order: SmallVec::new(),
        reads: SmallVec::new(),
        first: SmallVec::new(),
        places: SmallVec::new(),
        values: Vec::new(),
    };
    if graph.collect(analysis, function, roots).is_none() {
        return Err(TooMuch(graph.order.to_vec()));
    }
    match graph.iterate(analysis, function) {
        Some(()) => Ok(Solution { slots: graph.slots, values: graph.values }),
        None => Err(TooMuch(graph.order.to_vec())),
    }
}

/// Values, and the edges between them.
struct Graph<V> {
    slots: Slots,
    /// By slot.
    order: SmallVec<[ValueId; FEW]>,
    /// What they read, slot by slot.
    reads: SmallVec<[Read; FEW]>,
    /// By slot: where its reads begin.
    first: SmallVec<[u32; FEW]>,
    /// Slots, each after those that it is made of, but for cycles.
    places: SmallVec<[u32; FEW]>,
    values: Vec<Option<V>>,
}

impl<V: Clone + PartialEq> Graph<V> {
    /// Gives slots to values and to all that they are made of.
    fn collect<A: Analysis<Value = V>>(
        &mut self,
        analysis: &mut A,
        function: &Function<'_>,
        roots: impl IntoIterator<Item = ValueId>,
    ) -> Option<()> {
        enum Step {
            Enter(ValueId),
            /// All is found that the value in this slot is made of.
            Leave(u32),
        }
        // Sources by value, until all have slots.
        let mut sources: SmallVec<[(u32, ValueId); FEW]> = SmallVec::new();
        let mut work: SmallVec<[Step; FEW]> = smallvec![];
        for root in roots {
            work.push(Step::Enter(root));
            while let Some(step) = work.pop() {
                let value = match step {
                    Step::Enter(value) => value,
                    Step::Leave(slot) => {
                        self.places.push(slot);
                        continue;
                    }
                };
                if self.slots.of(value).is_some() {
                    continue;
                }
                let slot = self.order.len() as u32;
                let known = analysis.known(value);
                if known.is_none() && (self.order.len() >= A::MOST || !function.budget.take(A::VISIT)) {
                    return None;
                }
                self.slots.insert(value, slot);
                self.order.push(value);
                self.first.push(sources.len() as u32);
                let is_known = known.is_some();
                self.values.push(known);
                if is_known {
                    continue;
                }
                work.push(Step::Leave(slot));
                let from = sources.len();
                match value {
                    ValueId::Definition(id) => {
                        analysis.sources(id, &mut |operand, source| sources.push((operand, source)));
                    }
                    ValueId::Join(join) => {
                        let inputs = function.definitions.joined(join);
                        if !function.budget.take(inputs.len() as u64) {
                            return None;
                        }
                        sources.extend(inputs.iter().map(|input| (u32::MAX, *input)));
                    }
                }
                work.extend(sources[from..].iter().map(|(_, source)| Step::Enter(*source)));
            }
        }
        self.first.push(sources.len() as u32);
        let slot = |source: ValueId| self.slots.of(source).unwrap_or(NONE);
        self.reads =
            sources.iter().map(|(operand, source)| Read { operand: *operand, slot: slot(*source) }).collect();
        Some(())
    }

    fn reads(&self, slot: u32) -> &[Read] {
        &self.reads[self.first[slot as usize] as usize..self.first[slot as usize + 1] as usize]
    }

    /// What a value is by what others are so far.
    fn make<A: Analysis<Value = V>>(&self, analysis: &mut A, slot: u32) -> Option<V> {
        let reads = Reads { values: &self.values, list: self.reads(slot) };
        match self.order[slot as usize] {
            ValueId::Definition(id) => analysis.make(id, reads),
            ValueId::Join(_) => {
                let mut inputs = reads.all_of(u32::MAX).flatten();
                let first = inputs.next()?.clone();
                Some(inputs.fold(first, |all, input| analysis.join(&all, input)))
            }
        }
    }

    fn iterate<A: Analysis<Value = V>>(&mut self, analysis: &mut A, function: &Function<'_>) -> Option<()> {
        let feeds = Feeds::new(self);
        // By place in the order.
        let mut due = Worklist::full(self.places.len());
        let mut position: SmallVec<[u32; FEW]> = SmallVec::from_elem(NONE, self.order.len());
        for (place, slot) in self.places.iter().enumerate() {
            position[*slot as usize] = place as u32;
        }
        let mut changes: SmallVec<[u32; FEW]> = SmallVec::from_elem(0, self.order.len());
        let (position, changes) = (&mut position[..], &mut changes[..]);
        let (mut is_cyclic, mut is_first) = (false, true);
        while let Some(place) = due.pop() {
            let slot = self.places[place];
            if !is_first && !function.budget.take(A::VISIT) {
                return None;
            }
            is_first = false;
            let Some(new) = self.make(analysis, slot) else { continue };
            let new = match &self.values[slot as usize] {
                None => new,
                Some(old) => {
                    let joined = analysis.join(old, &new);
                    if joined == *old {
                        continue;
                    }
                    is_cyclic = true;
                    let changes = &mut changes[slot as usize];
                    *changes += 1;
                    let widened = analysis.widen(self.order[slot as usize], old, joined, *changes);
                    if widened == *old {
                        continue;
                    }
                    widened
                }
            };
            self.values[slot as usize] = Some(new);
            for fed in feeds.of(slot) {
                due.add(position[*fed as usize] as usize);
            }
        }
        for _ in 0..if is_cyclic { A::NARROWINGS } else { 0 } {
            for place in 0..self.places.len() {
                let slot = self.places[place];
                if let (Some(new), Some(old)) = (self.make(analysis, slot), &self.values[slot as usize])
                    && analysis.join(old, &new) == *old
                {
                    self.values[slot as usize] = Some(new);
                }
            }
        }
        Some(())
    }
}

/// By slot, those that read its value.
struct Feeds {
    first: SmallVec<[u32; FEW]>,
    fed: SmallVec<[u32; FEW]>,
}

impl Feeds {
    fn new<V: Clone + PartialEq>(graph: &Graph<V>) -> Self {
        let slots = graph.order.len();
        let mut first: SmallVec<[u32; FEW]> = SmallVec::from_elem(0, slots + 1);
        for read in &graph.reads {
            first[read.slot as usize + 1] += 1;
        }
        for slot in 0..slots {
            first[slot + 1] += first[slot];
        }
        let mut next = first.clone();
        let mut fed: SmallVec<[u32; FEW]> = SmallVec::from_elem(0, graph.reads.len());
        for slot in 0..slots as u32 {
            for read in graph.reads(slot) {
                let place = &mut next[read.slot as usize];
                fed[*place as usize] = slot;
                *place += 1;
            }
        }
        Self { first, fed }
    }

    fn of(&self, slot: u32) -> &[u32] {
        &self.fed[self.first[slot as usize] as usize..self.first[slot as usize + 1] as usize]
    }
}
