//! Control flow: the basic blocks of one function.
//!
//! A block is a run of instructions that is entered at its start and left at its end. Edges come
//! from `bra`, `brx.idx` with its targets, `ret`, `exit` and `trap`; a guarded one of them also
//! falls through. A label that is not known makes every labelled block a successor, so that the
//! graph has every path that there is.

use std::cell::OnceCell;
use std::ops::Range;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::budget::Budget;
use super::dominance::DominatorTree;
use super::walks::{Marks, Walk};
use crate::isa::generic::Control;
use crate::resolve::symbols::{Resolution, SymbolKind};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Module, Slice, StatementKind};

/// Index of a basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// As an index into vectors beside the blocks.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The block behind it in the text, where control gets to that does not branch away.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Most blocks have two neighbours at most.
type BlockIds = SmallVec<[BlockId; 2]>;

/// Something that is true or false of each block.
pub type OfBlocks = SmallVec<[bool; 64]>;

impl Marks<BlockId> for OfBlocks {
    fn mark(&mut self, block: BlockId) -> bool {
        !std::mem::replace(&mut self[block.index()], true)
    }
}

/// Which way paths are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With the flow: what has happened.
    Forward,
    /// Against it: what will happen.
    Backward,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// A basic block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its instructions, as indices into [`Module::instructions`].
    pub instructions: Range<u32>,
    /// Blocks that may run next.
    pub successors: BlockIds,
    /// Blocks that may have run before.
    pub predecessors: BlockIds,
    /// The last instruction, when it branches under a guard.
    pub branch: Option<u32>,
    /// Whether the function may end behind it.
    pub leaves: bool,
}

impl Block {
    /// The blocks that paths in a direction go on to.
    pub fn next(&self, direction: Direction) -> &[BlockId] {
        match direction {
            Direction::Forward => &self.successors,
            Direction::Backward => &self.predecessors,
        }
    }
}

/// A jump to one of the labels of a list, by its number in it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The instruction.
    pub instruction: u32,
    /// The blocks at the labels, in the order of the list.
    pub targets: Vec<BlockId>,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    body: Slice,
    /// Guards that hold always or never, by instruction.
    decided: Vec<(u32, bool)>,
    blocks: Vec<Block>,
    /// The block of each instruction, from the first instruction of the function on.
    block_of: Vec<BlockId>,
    first_instruction: u32,
    /// The blocks that end with a choice between listed labels, in their order.
    choices: Vec<(BlockId, Choice)>,
    /// Whether the function says nothing of other CTAs, once that was asked.
    alone: OnceCell<bool>,
    order: OnceCell<Vec<BlockId>>,
    positions: OnceCell<Vec<u32>>,
    reachable: OnceCell<OfBlocks>,
    /// See [`Cfg::find_rounds`].
    cycles: OnceCell<Vec<Range<BlockId>>>,
    /// By block: the circle that it is in, if it is in one.
    circles: OnceCell<Vec<Option<u32>>>,
    dominators: OnceCell<DominatorTree>,
    post_dominators: OnceCell<DominatorTree>,
}

/// How an instruction ends a block.
enum Transfer {
    /// It does not.
    None,
    /// To a label.
    Branch,
    /// To one of a list of labels.
    Indexed,
    /// Out of the function.
    Leave,
}

impl<M: Marks<BlockId>> Walk<'_, BlockId, M> {
    /// Follows all paths in a direction, through blocks that `goes_on` accepts; what they reach.
    pub fn follow(
        mut self,
        cfg: &Cfg,
        direction: Direction,
        mut goes_on: impl FnMut(BlockId) -> bool,
    ) -> Option<M> {
        while let Some(block) = self.pop() {
            if goes_on(block) {
                self.extend(cfg.block(block).next(direction).iter().copied());
            }
        }
        self.reached()
    }
}

impl Cfg {
    /// Builds the graph of the function with this body.
    pub fn new(unit: &Unit, body: Slice) -> Self {
        Self::with_decided(unit, body, Vec::new())
    }

    /// The same without the edges that are never taken: `decided` lists instructions whose guards hold
    /// always or never, in their order.
    pub fn with_decided(unit: &Unit, body: Slice, decided: Vec<(u32, bool)>) -> Self {
        Builder { unit, body, decided }.build()
    }

    /// Whether guards of the function hold always or never.
    pub fn is_pruned(&self) -> bool {
        !self.decided.is_empty()
    }

    /// Whether the guard of an instruction holds always or never.
    pub fn guard_holds(&self, instruction: u32) -> Option<bool> {
        holds(&self.decided, instruction)
    }

    /// The choice that a block ends with, where nothing guards it.
    pub fn choice(&self, block: BlockId) -> Option<&Choice> {
        let at = self.choices.binary_search_by_key(&block, |(block, _)| *block).ok()?;
        Some(&self.choices[at].1)
    }

    /// Whether an instruction of the function can be executed: a path leads to it, and its guard does not say
    /// that it never is.
    pub fn is_executed(&self, instruction: u32) -> bool {
        self.is_executed_whole()
            || self.guard_holds(instruction) != Some(false)
                && self.block_of(instruction).is_some_and(|block| self.is_reachable(block))
    }

    /// Whether every instruction of the function can be executed.
    pub fn is_executed_whole(&self) -> bool {
        !self.is_pruned() && self.is_reached_whole()
    }

    /// The statements of the function.
    pub fn body(&self) -> Slice {
        self.body
    }

    /// Whether the function says nothing of other CTAs; `find` finds it out, once.
    pub(super) fn is_alone(&self, find: impl FnOnce() -> bool) -> bool {
        *self.alone.get_or_init(find)
    }

    /// The instructions of a body, which are numbered without gaps.
    pub fn instruction_range(module: &Module, body: Slice) -> Range<u32> {
        let mut indices = module.statements[body.range()].iter().filter_map(|it| match it.kind() {
            StatementKind::Instruction(index) => Some(index),
            _ => None,
        });
        match (indices.next(), indices.next_back()) {
            (Some(first), Some(last)) => first..last + 1,
            (Some(only), None) => only..only + 1,
            _ => 0..0,
        }
    }

    /// The blocks; the first one is the entry.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.blocks.iter().enumerate().map(|(index, block)| (BlockId(index as u32), block))
    }

    /// Number of blocks; at least one.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Never: a function has an entry.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block with this index.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// The block that an instruction of the function stands in.
    pub fn block_of(&self, instruction: u32) -> Option<BlockId> {
        let index = instruction.checked_sub(self.first_instruction)?;
        self.block_of.get(index as usize).copied()
    }

    /// The instructions in the order of their blocks.
    pub fn instructions(&self) -> Range<u32> {
        self.first_instruction..self.first_instruction + self.block_of.len() as u32
    }

    /// The blocks in reverse post-order: each before its successors, but for loops.
    pub fn reverse_post_order(&self) -> &[BlockId] {
        self.order.get_or_init(|| self.find_order(&mut |_| {}))
    }

    /// The place of a block in that order.
    pub fn position(&self, block: BlockId) -> u32 {
        self.positions.get_or_init(|| {
            let mut positions = vec![0; self.blocks.len()];
            for (position, block) in self.reverse_post_order().iter().enumerate() {
                positions[block.index()] = position as u32;
            }
            positions
        })[block.index()]
    }

    /// Whether a path leads to every block with instructions.
    pub fn is_reached_whole(&self) -> bool {
        self.reachable().is_empty()
    }

    /// Whether a path leads to the block from the function's start.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.reachable().get(block.index()).is_none_or(|reachable| *reachable)
    }

    /// By block: whether a path leads there from the function's start; nothing if one leads to every block with
    /// instructions.
    fn reachable(&self) -> &[bool] {
        self.reachable.get_or_init(|| {
            let mut reachable = self.followed(Direction::Forward, [BlockId(0)]);
            let mut blocks = self.blocks.iter().zip(&reachable);
            if blocks.all(|(block, reachable)| *reachable || block.instructions.is_empty()) {
                reachable.clear();
            }
            reachable
        })
    }

    /// Takes away the edges from blocks that no path leads to any more.
    fn disconnect(&mut self) {
        let reached = self.followed(Direction::Forward, [BlockId(0)]);
        for (block, is_reached) in self.blocks.iter_mut().zip(&reached) {
            block.predecessors.retain(|from| reached[from.index()]);
            if !is_reached {
                block.successors.clear();
            }
        }
    }

    /// A walk over blocks that may reach all of them.
    pub fn walk<'b>(
        &self,
        budget: &'b Budget,
        from: impl IntoIterator<Item = BlockId>,
    ) -> Walk<'b, BlockId, OfBlocks> {
        Walk::with_marks(budget, smallvec![false; self.blocks.len()], from)
    }

    /// The blocks that paths in a direction get to from the start of some blocks, through blocks that `goes_on`
    /// accepts: the last one need not be. Nothing if the budget does not suffice.
    pub fn reached(
        &self,
        direction: Direction,
        from: impl IntoIterator<Item = BlockId>,
        budget: &Budget,
        goes_on: impl FnMut(BlockId) -> bool,
    ) -> Option<FxHashSet<BlockId>> {
        Walk::new(budget, from).follow(self, direction, goes_on)
    }

    /// Whether a path leads from a block back to it through blocks that `goes_on` accepts, or the budget does not suffice
    /// to find out.
    pub fn comes_back(&self, block: BlockId, budget: &Budget, goes_on: impl Fn(BlockId) -> bool) -> bool {
        let next = self.block(block).successors.iter().copied();
        let reached = self.reached(Direction::Forward, next, budget, |at| at != block && goes_on(at));
        reached.is_none_or(|reached| reached.contains(&block))
    }

    /// By block: whether a path in a direction leads there from one of these blocks, themselves included.
    fn followed(&self, direction: Direction, from: impl IntoIterator<Item = BlockId>) -> OfBlocks {
        self.walk(&Budget::new(u64::MAX), from).follow(self, direction, |_| true).unwrap_or_default()
    }

    /// By block: whether a path of one edge or more in a direction leads there from one of these.
    pub fn passed(&self, direction: Direction, blocks: impl Iterator<Item = BlockId>) -> OfBlocks {
        self.followed(direction, blocks.flat_map(|block| self.block(block).next(direction).iter().copied()))
    }

    /// Whether a path leads from the block back to it.
    pub fn is_in_loop(&self, block: BlockId) -> bool {
        self.circle(block).is_some()
    }

    /// Whether paths lead from each of two blocks to the other one, and on.
    pub fn share_circle(&self, one: BlockId, other: BlockId) -> bool {
        self.circle(one).is_some_and(|circle| self.circle(other) == Some(circle))
    }

    /// The number of the blocks that lead to each other, this one among them.
    fn circle(&self, block: BlockId) -> Option<u32> {
        // A cycle through a block goes back over it, or to it, in the order of the text.
        let cycles = self.cycles.get_or_init(|| self.find_cycles());
        let last = cycles.partition_point(|cycle| cycle.start <= block).checked_sub(1)?;
        if block > cycles[last].end {
            return None;
        }
        let circles = self.circles.get_or_init(|| {
            let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(self.blocks.len(), self.blocks.len() * 2);
            self.blocks.iter().for_each(|_| {
                graph.add_node(());
            });
            let node = |block: BlockId| NodeIndex::new(block.index());
            for (from, content) in self.blocks() {
                for to in &content.successors {
                    graph.add_edge(node(from), node(*to), ());
                }
            }
            let mut circles = vec![None; self.blocks.len()];
            for (number, together) in kosaraju_scc(&graph).into_iter().enumerate() {
                let is_circle = match together[..] {
                    [alone] => graph.contains_edge(alone, alone),
                    _ => true,
                };
                for node in together {
                    circles[node.index()] = is_circle.then_some(number as u32);
                }
            }
            circles
        });
        circles.get(block.index()).copied().flatten()
    }

    /// The stretches of the text that edges lead back over, apart and in their order, each with its first and its
    /// last block.
    fn find_cycles(&self) -> Vec<Range<BlockId>> {
        let edges = self.blocks().flat_map(|(from, it)| it.successors.iter().map(move |to| *to..from));
        let mut cycles: Vec<Range<BlockId>> = edges.filter(|cycle| cycle.start <= cycle.end).collect();
        cycles.sort_unstable_by_key(|cycle| (cycle.start, cycle.end));
        cycles.dedup_by(|next, before| {
            let is_part = next.start <= before.end;
            if is_part {
                before.end = before.end.max(next.end);
            }
            is_part
        });
        cycles
    }

    /// The first block, and blocks that together reach all those that it does not reach; in their
    /// order.
    pub(super) fn starts(&self) -> Vec<u32> {
        let mut starts = Vec::new();
        self.find_order(&mut |root| starts.push(root));
        starts
    }

    fn find_order(&self, start: &mut dyn FnMut(u32)) -> Vec<BlockId> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut visited = vec![false; self.blocks.len()];
        let mut stack = Vec::new();
        // Blocks that no edge reaches come last; their facts are of no consequence.
        for root in 0..self.blocks.len() {
            if std::mem::replace(&mut visited[root], true) {
                continue;
            }
            stack.push((BlockId(root as u32), 0));
            start(root as u32);
            let from = order.len();
            while let Some((block, next)) = stack.last_mut() {
                if let Some(&successor) = self.blocks[block.index()].successors.get(*next) {
                    *next += 1;
                    if !std::mem::replace(&mut visited[successor.index()], true) {
                        stack.push((successor, 0));
                    }
                } else {
                    order.push(*block);
                    stack.pop();
                }
            }
            order[from..].reverse();
        }
        order
    }

    /// Whether every path to `other` goes through `block`.
    pub fn dominates(&self, block: BlockId, other: BlockId) -> bool {
        self.dominators().dominates(block.0, other.0)
    }

    /// Whether every path to an instruction passes another one first.
    pub fn passes_before(&self, first: u32, then: u32) -> bool {
        let (Some(from), Some(to)) = (self.block_of(first), self.block_of(then)) else { return false };
        if from == to { first < then } else { self.dominates(from, to) }
    }

    /// The blocks that every path to a block goes through, from itself back to the entry.
    pub fn dominating(&self, block: BlockId) -> impl Iterator<Item = BlockId> {
        let tree = self.dominators();
        std::iter::successors(Some(block.0), |block| tree.immediate(*block)).map(BlockId)
    }

    fn dominators(&self) -> &DominatorTree {
        self.dominators.get_or_init(|| {
            DominatorTree::new(
                self.blocks.len(),
                0,
                |block| neighbours(&self.blocks[block as usize].successors),
                |block| neighbours(&self.blocks[block as usize].predecessors),
            )
        })
    }

    /// Whether every path from `other` to the end goes through `block`.
    pub fn post_dominates(&self, block: BlockId, other: BlockId) -> bool {
        self.post_dominators().dominates(block.0, other.0)
    }

    /// The tree of the reversed graph, with one node behind all ends, [`Cfg::len`].
    pub(super) fn post_dominators(&self) -> &DominatorTree {
        self.post_dominators.get_or_init(|| {
            let exit = self.blocks.len() as u32;
            let ends = self.ends();
            let ends_at = |block: u32| ends.binary_search(&block).is_ok();
            DominatorTree::new(
                self.blocks.len() + 1,
                exit,
                |node| {
                    let behind = if node == exit { ends.as_slice() } else { &[] };
                    let before = self.blocks.get(node as usize).map(|block| &block.predecessors);
                    behind.iter().copied().chain(before.into_iter().flat_map(|it| neighbours(it)))
                },
                |node| {
                    let leaves = (node != exit && ends_at(node)).then_some(exit);
                    let after = self.blocks.get(node as usize).map(|block| &block.successors);
                    leaves.into_iter().chain(after.into_iter().flat_map(|it| neighbours(it)))
                },
            )
        })
    }

    /// The blocks behind which the function may end, in their order. A loop without a way out is
    /// taken to have one at its last block.
    fn ends(&self) -> Vec<u32> {
        let mut ends = Vec::new();
        let budget = Budget::new(u64::MAX);
        let mut ending = self.walk(&budget, []);
        let leaving = |block: &Block| block.leaves || block.successors.is_empty();
        let (last, endless): (Vec<BlockId>, Vec<BlockId>) =
            self.reverse_post_order().iter().rev().partition(|block| leaving(self.block(**block)));
        for block in last.into_iter().chain(endless) {
            if ending.so_far()[block.index()] && !leaving(self.block(block)) {
                continue;
            }
            ends.push(block.0);
            ending.extend([block]);
            while let Some(block) = ending.pop() {
                ending.extend(self.block(block).predecessors.iter().copied());
            }
        }
        ends.sort_unstable();
        ends
    }
}

/// As the nodes of a tree.
fn neighbours(blocks: &[BlockId]) -> impl Iterator<Item = u32> + '_ {
    blocks.iter().map(|block| block.0)
}

fn holds(decided: &[(u32, bool)], instruction: u32) -> Option<bool> {
    let at = decided.binary_search_by_key(&instruction, |(instruction, _)| *instruction).ok()?;
    Some(decided[at].1)
}

/// The statements of labels, in their order, and the blocks that begin there.
#[derive(Default)]
struct Labels(Vec<(u32, BlockId)>);

impl Labels {
    fn get(&self, statement: u32) -> Option<BlockId> {
        let at = self.0.binary_search_by_key(&statement, |(statement, _)| *statement).ok()?;
        Some(self.0[at].1)
    }
}

/// Blocks that most functions have.
const BLOCKS: usize = 16;

struct Builder<'a> {
    unit: &'a Unit,
    body: Slice,
    decided: Vec<(u32, bool)>,
}

impl Builder<'_> {
    fn build(self) -> Cfg {
        let mut blocks = Vec::with_capacity(BLOCKS);
        blocks.push(Block::default());
        let mut block_of: Vec<BlockId> = Vec::with_capacity(self.body.len as usize);
        let mut first_instruction = None;
        let mut labels = Labels::default();
        let mut targets: FxHashMap<u32, Slice> = FxHashMap::default();
        let mut pending_labels = Vec::new();
        // What only computes leads nowhere else.
        let range = Cfg::instruction_range(&self.unit.module, self.body);
        let mut others = self.unit.operations.others_within(range).iter().peekable();
        // The instructions of the last block so far.
        let mut open = 0..0;
        let mut close = |blocks: &mut Vec<Block>, open: &mut Range<u32>| {
            let Range { start, end } = std::mem::take(open);
            let first = *first_instruction.get_or_insert(start);
            let id = BlockId(blocks.len() as u32 - 1);
            block_of.resize((start - first) as usize, BlockId(0));
            block_of.resize((end - first) as usize, id);
            blocks[id.index()].instructions = start..end;
        };
        for index in self.body.range() {
            match self.unit.module.statements[index].kind() {
                StatementKind::Label => {
                    pending_labels.push(index as u32);
                    if !open.is_empty() {
                        // What nothing names, such as the places that debuggers know, begins no block.
                        if !self.unit.symbols.is_named(index as u32) {
                            continue;
                        }
                        close(&mut blocks, &mut open);
                        blocks.push(Block::default());
                    }
                    labels.0.push((index as u32, BlockId(blocks.len() as u32 - 1)));
                }
                StatementKind::BranchTargets(names) => {
                    targets
                        .extend(pending_labels.drain(..).map(|label| (label, self.unit.module.list(names))));
                }
                StatementKind::Instruction(instruction) => {
                    pending_labels.clear();
                    if open.is_empty() {
                        open.start = instruction;
                    }
                    open.end = instruction + 1;
                    if others.next_if_eq(&&instruction).is_some()
                        && !matches!(self.transfer(instruction), Transfer::None)
                    {
                        close(&mut blocks, &mut open);
                        blocks.push(Block::default());
                    }
                }
                _ => {}
            }
        }
        if !open.is_empty() {
            close(&mut blocks, &mut open);
        }
        // What jumps to a list of labels that another jump has, too, goes there through one block
        // without instructions: edges from each jump to each label would be too many.
        let mut jumps_to: FxHashMap<u32, u32> = FxHashMap::default();
        for block in &blocks {
            let last = block.instructions.clone().next_back();
            if let Some(list) = last.and_then(|last| self.list(last, &targets)) {
                *jumps_to.entry(list.start).or_default() += 1;
            }
        }
        let mut hubs: FxHashMap<u32, BlockId> = FxHashMap::default();
        let mut choices = Vec::new();
        let count = blocks.len();
        for index in 0..count {
            let next = (index + 1 < count).then_some(BlockId(index as u32 + 1));
            let last = blocks[index].instructions.clone().next_back();
            let mut successors = BlockIds::new();
            let mut falls_through = true;
            let decided = last.and_then(|last| holds(&self.decided, last));
            if let Some(last) = last.filter(|_| decided != Some(false)) {
                let raw = &self.unit.module.instructions[last as usize];
                let transfer = self.transfer(last);
                if let Some(list) = self.list(last, &targets) {
                    let all = || self.blocks_of(list, &labels);
                    if jumps_to[&list.start] < 2 {
                        let targets = all();
                        // Where a label is missing, the others have other numbers.
                        let is_whole = list != EVERY_LABEL && targets.len() == list.len as usize;
                        if is_whole && self.unit.module.guard(raw).is_none() {
                            let choice = Choice { instruction: last, targets: targets.to_vec() };
                            choices.push((BlockId(index as u32), choice));
                        }
                        successors.extend(targets);
                    } else {
                        successors.push(*hubs.entry(list.start).or_insert_with(|| {
                            let hub = BlockId(blocks.len() as u32);
                            blocks.push(Block::default());
                            connect(&mut blocks, hub, all());
                            hub
                        }));
                    }
                } else if matches!(transfer, Transfer::Branch) {
                    let label = self.label(raw.operands);
                    successors.extend(label.and_then(|label| labels.get(label)));
                }
                if !matches!(transfer, Transfer::None) {
                    blocks[index].leaves = matches!(transfer, Transfer::Leave);
                    falls_through = decided.is_none() && self.unit.module.guard(raw).is_some();
                    blocks[index].branch = falls_through.then_some(last);
                }
            }
            if falls_through {
                successors.extend(next);
            }
            connect(&mut blocks, BlockId(index as u32), successors);
        }
        let mut cfg = Cfg {
            body: self.body,
            decided: self.decided,
            blocks,
            block_of,
            first_instruction: first_instruction.unwrap_or_default(),
            choices,
            alone: OnceCell::new(),
            order: OnceCell::new(),
            positions: OnceCell::new(),
            reachable: OnceCell::new(),
            cycles: OnceCell::new(),
            circles: OnceCell::new(),
            dominators: OnceCell::new(),
            post_dominators: OnceCell::new(),
        };
        if cfg.is_pruned() {
            cfg.disconnect();
        }
        cfg
    }

    fn transfer(&self, instruction: u32) -> Transfer {
        match self.unit.operations.of(instruction).control() {
            Control::Next | Control::Call => Transfer::None,
            Control::Branch => Transfer::Branch,
            Control::IndexedBranch => Transfer::Indexed,
            Control::Return | Control::Exit | Control::Trap => Transfer::Leave,
        }
    }

    /// The statement of the label that the last operand names.
    fn label(&self, operands: Slice) -> Option<u32> {
        let last = operands.range().next_back()?;
        match self.unit.symbols.operand(last as u32) {
            Resolution::Symbol(id) => match self.unit.symbols.symbol(id).kind {
                SymbolKind::Label { statement } => Some(statement),
                _ => None,
            },
            _ => None,
        }
    }

    /// The labels that an instruction may jump to, if it does not name the label itself.
    fn list(&self, instruction: u32, targets: &FxHashMap<u32, Slice>) -> Option<Slice> {
        let operands = self.unit.module.instructions[instruction as usize].operands;
        match (self.transfer(instruction), self.label(operands)) {
            (Transfer::None | Transfer::Leave, _) | (Transfer::Branch, Some(_)) => None,
            (Transfer::Branch, None) => Some(EVERY_LABEL),
            (Transfer::Indexed, table) => {
                Some(table.and_then(|label| targets.get(&label)).copied().unwrap_or(EVERY_LABEL))
            }
        }
    }

    /// The blocks at the labels of a list.
    fn blocks_of(&self, list: Slice, labels: &Labels) -> BlockIds {
        if list == EVERY_LABEL {
            return labels.0.iter().map(|(_, block)| *block).collect();
        }
        list.range()
            .filter_map(|index| self.label(Slice { start: index as u32, len: 1 }))
            .filter_map(|label| labels.get(label))
            .collect()
    }
}

/// Stands for the list of all labels of the function.
const EVERY_LABEL: Slice = Slice { start: u32::MAX, len: 0 };

/// Makes edges from a block.
fn connect(blocks: &mut [Block], from: BlockId, mut successors: BlockIds) {
    successors.sort_unstable();
    successors.dedup();
    for successor in &successors {
        blocks[successor.index()].predecessors.push(from);
    }
    blocks[from.index()].successors = successors;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn edges(body: &str) -> Vec<Vec<u32>> {
        let text =
            format!(".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r; {body} }}");
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let (_, function) = unit.module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        cfg.blocks.iter().map(|block| block.successors.iter().map(|it| it.0).collect()).collect()
    }

    #[test]
    fn branches_and_falls() {
        assert_eq!(
            edges("mov.b32 r, 0; @p bra L; mov.b32 r, 1; L: ret;"),
            [vec![1, 2], vec![2], vec![], vec![]]
        );
        assert_eq!(
            edges("L: mov.b32 r, 0; @!p bra L; bra.uni M; M: exit;"),
            [vec![0, 1], vec![2], vec![], vec![]]
        );
        assert_eq!(edges("@p ret; mov.b32 r, 0;"), [vec![1], vec![]]);
    }

    #[test]
    fn labels_that_nothing_jumps_to() {
        assert_eq!(
            edges("mov.b32 r, 0; D: mov.b32 r, 1; @p bra L; E: mov.b32 r, 2; F: L: ret;"),
            [vec![1, 2], vec![2], vec![], vec![]]
        );
        // The same name in another scope is another label.
        assert_eq!(
            edges("mov.b32 r, 0; L: @p bra N; { L: mov.b32 r, 1; @p bra L; } N: ret;"),
            [vec![1, 2], vec![1, 2], vec![], vec![]]
        );
    }

    #[test]
    fn jump_tables() {
        let body = "T: .branchtargets A, B; brx.idx r, T; A: mov.b32 r, 0; B: ret; C: ret;";
        assert_eq!(edges(body), [vec![1, 2], vec![2], vec![], vec![], vec![]]);
    }

    #[test]
    fn labels_of_inner_scopes() {
        let body = "{ L: mov.b32 r, 0; @p bra L; } { L: mov.b32 r, 1; @p bra L; }";
        assert_eq!(edges(body), [vec![0, 1], vec![1, 2], vec![]]);
    }
}
