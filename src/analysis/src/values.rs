//! What a register holds where it is read, as values that are few: what one definition made, or a
//! join of what several made.
//!
//! A register that is written once needs nothing of this. For another one that is asked for, joins
//! are laid where definitions meet, as in static single assignment form (Cytron and others), and
//! only for that register. Sets of definitions would be as long as there are definitions, at each
//! place where one is read; a join is one value, however many reach it and wherever it is read, so
//! that an analysis looks at each once. A guarded definition joins what it makes with what was there
//! before. Joins that feed each other are one, and short ones name their definitions directly, so
//! that what is the same has one number.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::budget::Budget;
use super::cfg::{BlockId, Cfg};
use super::definitions::DefinitionId;
use super::dominance::DominatorTree;
use crate::resolve::symbols::RegisterId;

/// What a register holds somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueId {
    /// What a definition made.
    Definition(DefinitionId),
    /// One of several values.
    Join(JoinId),
}

/// Index of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinId(pub u32);

/// Joins of no more definitions name them all. Those of compilers do.
const SHORT: usize = 16;

/// The values of the registers of one function that are written more than once, as far as they were
/// asked for.
#[derive(Debug, Default)]
pub(super) struct Values {
    paths: OnceCell<Paths>,
    webs: RefCell<FxHashMap<RegisterId, Arc<Web>>>,
    joins: RefCell<Joins>,
}

/// A definition as its web sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) id: DefinitionId,
    pub(super) block: BlockId,
    pub(super) guarded: bool,
}

impl Values {
    /// What a join is one of: definitions, and other joins that do not lead back to it.
    pub(super) fn joined(&self, join: JoinId) -> Arc<[ValueId]> {
        Arc::clone(&self.joins.borrow().inputs[join.0 as usize])
    }

    /// The web of a register, whose definitions `written` lists in the order of the instructions;
    /// `None` when the `budget` is not enough for it.
    pub(super) fn web(
        &self,
        cfg: &Cfg,
        register: RegisterId,
        written: impl FnOnce() -> Vec<Written>,
        budget: &Budget,
    ) -> Option<Arc<Web>> {
        if let Some(known) = self.webs.borrow().get(&register) {
            return Some(Arc::clone(known));
        }
        let paths = if let Some(paths) = self.paths.get() {
            paths
        } else {
            let paths = Paths::new(cfg, budget)?;
            self.paths.get_or_init(|| paths)
        };
        let web = Arc::new(Web::new(cfg, paths, &written(), &mut self.joins.borrow_mut(), budget)?);
        self.webs.borrow_mut().insert(register, Arc::clone(&web));
        Some(web)
    }

    /// What a register holds where a block is entered.
    pub(super) fn entering(&self, web: &Web, block: BlockId) -> Option<ValueId> {
        self.paths.get().and_then(|paths| web.at(paths.tree.position(block.0)?))
    }
}

/// All joins of a function.
#[derive(Debug, Default)]
struct Joins {
    inputs: Vec<Arc<[ValueId]>>,
    known: FxHashMap<Arc<[ValueId]>, JoinId>,
}

impl Joins {
    /// One of these values; nothing, if there is none.
    fn of(&mut self, mut values: SmallVec<[ValueId; 8]>) -> Option<ValueId> {
        values.sort_unstable();
        values.dedup();
        if let [] | [_] = values[..] {
            return values.first().copied();
        }
        if let Some(all) = self.definitions(&values) {
            values = all;
        }
        let values: Arc<[ValueId]> = values[..].into();
        let join = *self.known.entry(Arc::clone(&values)).or_insert_with(|| {
            self.inputs.push(values);
            JoinId(self.inputs.len() as u32 - 1)
        });
        Some(ValueId::Join(join))
    }

    /// The definitions behind values, if these are few.
    fn definitions(&self, values: &[ValueId]) -> Option<SmallVec<[ValueId; 8]>> {
        let mut all = SmallVec::new();
        for value in values {
            match value {
                ValueId::Definition(_) => all.push(*value),
                ValueId::Join(join) => {
                    let inputs = &self.inputs[join.0 as usize];
                    // A short one names no other.
                    if inputs.iter().any(|it| matches!(it, ValueId::Join(_))) {
                        return None;
                    }
                    all.extend_from_slice(inputs);
                }
            }
            if all.len() > SHORT {
                all.sort_unstable();
                all.dedup();
                if all.len() > SHORT {
                    return None;
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Some(all)
    }
}

/// Which blocks lie on all paths to which, and where those paths meet others. Blocks that no path
/// leads to are taken to be entered as the function is.
#[derive(Debug)]
struct Paths {
    tree: DominatorTree,
    /// By block: the nearest blocks that paths from it share with others, its dominance frontier.
    frontiers: Vec<SmallVec<[u32; 2]>>,
}

impl Paths {
    fn new(cfg: &Cfg, budget: &Budget) -> Option<Self> {
        let start = cfg.len() as u32;
        let starts = cfg.starts();
        let begins = |block: u32| starts.binary_search(&block).is_ok();
        let tree = DominatorTree::new(
            cfg.len() + 1,
            start,
            |node| {
                let (all, after): (&[u32], &[BlockId]) =
                    if node == start { (&starts, &[]) } else { (&[], &cfg.block(BlockId(node)).successors) };
                all.iter().copied().chain(after.iter().map(|block| block.0))
            },
            |node| {
                let before = if node == start { &[][..] } else { &cfg.block(BlockId(node)).predecessors };
                begins(node).then_some(start).into_iter().chain(before.iter().map(|block| block.0))
            },
        );
        let mut frontiers = vec![SmallVec::<[u32; 2]>::new(); cfg.len()];
        for (block, content) in cfg.blocks() {
            let predecessors = &content.predecessors;
            if predecessors.len() + usize::from(begins(block.0)) < 2 {
                continue;
            }
            let stop = tree.immediate(block.0);
            for from in predecessors {
                let mut runner = Some(from.0);
                while let Some(node) = runner.filter(|node| Some(*node) != stop && *node != start) {
                    let frontier = &mut frontiers[node as usize];
                    // What stands above has been met as well.
                    if frontier.last() == Some(&block.0) {
                        break;
                    }
                    if !budget.take(1) {
                        return None;
                    }
                    frontier.push(block.0);
                    runner = tree.immediate(node);
                }
            }
        }
        Some(Self { tree, frontiers })
    }
}

/// Most registers are written in fewer blocks.
const FEW: usize = 8;

/// What one register holds, wherever that is.
#[derive(Debug)]
pub(super) struct Web {
    /// By place in a walk over the dominator tree: what the register holds from there on where a
    /// block is entered.
    entering: Vec<(u32, Option<ValueId>)>,
    /// By definition: what the register holds behind it.
    behind: Vec<Option<ValueId>>,
}

/// A value before it is known which joins are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draft {
    Nothing,
    Definition(DefinitionId),
    /// The meeting with this number.
    Meeting(u32),
}

/// A block where a register is written, or where several values of it meet.
#[derive(Clone, Copy, Debug)]
struct Stop {
    block: BlockId,
    /// Its place in a walk over the dominator tree, and where that leaves it.
    range: (u32, u32),
    entering: Draft,
    leaving: Draft,
}

impl Web {
    /// What the register holds behind the definition with this number.
    pub(super) fn behind(&self, definition: usize) -> Option<ValueId> {
        self.behind.get(definition).copied().flatten()
    }

    fn at(&self, position: u32) -> Option<ValueId> {
        let after = self.entering.partition_point(|(from, _)| *from <= position);
        self.entering.get(after.checked_sub(1)?)?.1
    }

    fn new(
        cfg: &Cfg,
        paths: &Paths,
        written: &[Written],
        joins: &mut Joins,
        budget: &Budget,
    ) -> Option<Self> {
        let mut meets: FxHashMap<BlockId, u32> = FxHashMap::default();
        let mut stops: SmallVec<[BlockId; FEW]> = written.iter().map(|it| it.block).collect();
        stops.dedup();
        let mut work = stops.clone();
        while let Some(block) = work.pop() {
            let frontier = &paths.frontiers[block.index()];
            if !budget.take(1 + frontier.len() as u64) {
                return None;
            }
            for block in frontier.iter().map(|block| BlockId(*block)) {
                let next = meets.len() as u32;
                meets.entry(block).or_insert_with(|| {
                    work.push(block);
                    stops.push(block);
                    next
                });
            }
        }
        stops.sort_unstable_by_key(|block| paths.tree.position(block.0));
        stops.dedup();
        // What each meeting is made of; those of blocks first, then those of guarded definitions.
        let mut meetings: Vec<SmallVec<[Draft; 2]>> = vec![SmallVec::new(); meets.len()];
        let mut behind: SmallVec<[Draft; FEW]> = SmallVec::from_elem(Draft::Nothing, written.len());
        let mut drafts: SmallVec<[(u32, Draft); 2 * FEW]> = SmallVec::new();
        let mut above: SmallVec<[Stop; FEW]> = SmallVec::new();
        let mut passed: SmallVec<[Stop; FEW]> = SmallVec::with_capacity(stops.len());
        let leave = |above: &mut SmallVec<[Stop; FEW]>, drafts: &mut SmallVec<[(u32, Draft); 2 * FEW]>| {
            if let Some(stop) = above.pop() {
                drafts.push((stop.range.1, above.last().map_or(Draft::Nothing, |it| it.leaving)));
            }
        };
        for block in stops {
            let Some(range) = paths.tree.range(block.0) else { continue };
            while above.last().is_some_and(|stop| stop.range.1 <= range.0) {
                leave(&mut above, &mut drafts);
            }
            let entering = match meets.get(&block) {
                Some(meeting) => Draft::Meeting(*meeting),
                None => above.last().map_or(Draft::Nothing, |stop| stop.leaving),
            };
            let mut leaving = entering;
            let first = written.partition_point(|it| it.block < block);
            for (index, it) in written.iter().enumerate().skip(first).take_while(|(_, it)| it.block == block)
            {
                leaving = if it.guarded && leaving != Draft::Nothing {
                    meetings.push(SmallVec::from_buf([Draft::Definition(it.id), leaving]));
                    Draft::Meeting(meetings.len() as u32 - 1)
                } else {
                    Draft::Definition(it.id)
                };
                behind[index] = leaving;
            }
            let stop = Stop { block, range, entering, leaving };
            drafts.extend([(range.0, stop.entering), (range.0 + 1, stop.leaving)]);
            above.push(stop);
            passed.push(stop);
        }
        while !above.is_empty() {
            leave(&mut above, &mut drafts);
        }
        for (block, meeting) in &meets {
            let predecessors = &cfg.block(*block).predecessors;
            if !budget.take(predecessors.len() as u64) {
                return None;
            }
            meetings[*meeting as usize] = predecessors
                .iter()
                .filter_map(|from| {
                    let position = paths.tree.position(from.0)?;
                    if let Ok(at) = passed.binary_search_by_key(&position, |stop| stop.range.0) {
                        return Some(passed[at].leaving);
                    }
                    let after = drafts.partition_point(|(from, _)| *from <= position);
                    Some(drafts.get(after.checked_sub(1)?)?.1)
                })
                .collect();
        }
        debug_assert!(passed.iter().all(|stop| paths.tree.position(stop.block.0) == Some(stop.range.0)));
        let values = resolve(&meetings, joins);
        let value = |draft: Draft| match draft {
            Draft::Nothing => None,
            Draft::Definition(id) => Some(ValueId::Definition(id)),
            Draft::Meeting(meeting) => values[meeting as usize],
        };
        Some(Self {
            entering: drafts.into_iter().map(|(from, draft)| (from, value(draft))).collect(),
            behind: behind.into_iter().map(value).collect(),
        })
    }
}

/// The values of meetings: those that feed each other have one (Tarjan's components, which come in
/// the order in which each needs those before it).
fn resolve(meetings: &[SmallVec<[Draft; 2]>], joins: &mut Joins) -> Vec<Option<ValueId>> {
    const NEW: u32 = u32::MAX;
    let mut values: Vec<Option<ValueId>> = vec![None; meetings.len()];
    let mut found: Vec<u32> = vec![NEW; meetings.len()];
    let mut least: Vec<u32> = vec![NEW; meetings.len()];
    let mut settled = vec![false; meetings.len()];
    let mut open: Vec<u32> = Vec::new();
    let mut count = 0;
    for root in 0..meetings.len() as u32 {
        if found[root as usize] != NEW {
            continue;
        }
        let mut stack: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((meeting, next)) = stack.last_mut() {
            let at = *meeting as usize;
            if *next == 0 && found[at] == NEW {
                (found[at], least[at]) = (count, count);
                count += 1;
                open.push(*meeting);
            }
            if let Some(input) = meetings[at].get(*next) {
                *next += 1;
                if let Draft::Meeting(input) = *input {
                    let from = input as usize;
                    if found[from] == NEW {
                        stack.push((input, 0));
                    } else if !settled[from] {
                        least[at] = least[at].min(found[from]);
                    }
                }
                continue;
            }
            stack.pop();
            if let Some((above, _)) = stack.last() {
                least[*above as usize] = least[*above as usize].min(least[at]);
            }
            if least[at] != found[at] {
                continue;
            }
            let first = open.iter().rposition(|it| *it as usize == at).unwrap_or_default();
            let circle = open.split_off(first);
            let inputs = circle.iter().flat_map(|member| &meetings[*member as usize]);
            let outside = inputs.filter_map(|input| match *input {
                Draft::Nothing => None,
                Draft::Definition(id) => Some(ValueId::Definition(id)),
                // Those of the circle have no value yet.
                Draft::Meeting(input) => values[input as usize],
            });
            let value = joins.of(outside.collect());
            for member in circle {
                values[member as usize] = value;
                settled[member as usize] = true;
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::definitions::{Definitions, RegisterSet};
    use crate::resolve::symbols::Resolution;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// One line of a kernel that writes and reads `r`.
    #[derive(Clone, Copy, Debug)]
    enum Line {
        Write,
        WritePerhaps,
        Read,
        Branch(usize),
        BranchPerhaps(usize),
        Leave,
    }

    fn line() -> impl Strategy<Value = Line> {
        prop_oneof![
            2 => Just(Line::Write),
            2 => Just(Line::WritePerhaps),
            3 => Just(Line::Read),
            1 => (0usize..40).prop_map(Line::Branch),
            4 => (0usize..40).prop_map(Line::BranchPerhaps),
            1 => Just(Line::Leave),
        ]
    }

    /// By line that reads: the lines whose values it can see, found by carrying each on until nothing
    /// changes; nothing for lines that are never executed.
    fn expected(lines: &[Line]) -> Vec<Option<BTreeSet<usize>>> {
        let mut before = vec![None; lines.len() + 1];
        before[0] = Some(BTreeSet::new());
        loop {
            let mut changed = false;
            for (at, line) in lines.iter().enumerate() {
                let Some(mut after) = before[at].clone() else { continue };
                let next: &[usize] = match *line {
                    Line::Write => {
                        after = BTreeSet::from([at]);
                        &[at + 1]
                    }
                    Line::WritePerhaps => {
                        after.insert(at);
                        &[at + 1]
                    }
                    Line::Read => &[at + 1],
                    Line::Branch(to) => &[to % lines.len()],
                    Line::BranchPerhaps(to) => &[to % lines.len(), at + 1],
                    Line::Leave => &[],
                };
                for next in next {
                    changed |= before[*next].is_none();
                    let known = before[*next].get_or_insert_default();
                    let held = known.len();
                    known.extend(&after);
                    changed |= known.len() > held;
                }
            }
            if !changed {
                return before;
            }
        }
    }

    proptest! {
        #[test]
        fn a_value_comes_from_the_definitions_that_reach_it(lines in prop::collection::vec(line(), 1..40)) {
            let mut body = String::new();
            for (at, line) in lines.iter().enumerate() {
                let _ = match line {
                    Line::Write => write!(body, "L{at}: mov.b32 r, {at}; "),
                    Line::WritePerhaps => write!(body, "L{at}: @p mov.b32 r, {at}; "),
                    Line::Read => write!(body, "L{at}: mov.b32 s, r; "),
                    Line::Branch(to) => write!(body, "L{at}: bra L{}; ", to % lines.len()),
                    Line::BranchPerhaps(to) => write!(body, "L{at}: @p bra L{}; ", to % lines.len()),
                    Line::Leave => write!(body, "L{at}: ret; "),
                };
            }
            let text = format!(
                ".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r, s; {body} }}"
            );
            let source = Source::new("t", text).unwrap();
            let unit = Unit::new(&source);
            let (_, function) = unit.module.bodies().next().unwrap();
            let cfg = Cfg::new(&unit, function.body);
            let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
            let budget = Budget::default();
            let expected = expected(&lines);
            // Equal sets of a few definitions have one number.
            let mut known: FxHashMap<ValueId, Vec<u32>> = FxHashMap::default();
            for (at, line) in lines.iter().enumerate() {
                let (Line::Read, Some(wanted)) = (line, &expected[at]) else { continue };
                let operand = unit.module.instructions[at].operands.start + 1;
                let Resolution::Register(register) = unit.symbols.operand(operand) else {
                    panic!("{text:?}", text = source.text())
                };
                let value = definitions.value(&cfg, at as u32, register, &budget);
                let all = value.and_then(|value| definitions.all(value, &budget)).unwrap_or_default();
                let found: Vec<u32> = all.iter().map(|id| definitions.get(*id).instruction).collect();
                let wanted: Vec<u32> = wanted.iter().map(|at| *at as u32).collect();
                // What is written once is taken to be written wherever it is read.
                if definitions.of(register).len() > 1 {
                    prop_assert_eq!(&found, &wanted, "{} in {}", at, source.text());
                    prop_assert_eq!(value.is_none(), wanted.is_empty());
                    if let Some(value) = value.filter(|_| wanted.len() <= SHORT) {
                        let same = known.entry(value).or_insert_with(|| wanted.clone());
                        prop_assert_eq!(&*same, &wanted);
                    }
                }
            }
            let mut sets: Vec<&Vec<u32>> = known.values().collect();
            sets.sort();
            sets.dedup();
            prop_assert_eq!(sets.len(), known.len(), "{}", source.text());
        }
    }
}
