//! Whether a condition on the way could have selected one thread of a warp.
//!
//! What may differ between threads makes what depends on it differ: a value that is made of it, a
//! branch that tests it, the blocks that the branch decides about. So a question goes back to all
//! that its answer depends on, which is looked at once, and what differs is carried forward from
//! there.

use std::cell::RefCell;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::lanes::needed;
use super::{Uniformity, VISIT, tested};
use crate::budget::Budget;
use crate::cfg::BlockId;
use crate::control::{Branches, Edges};
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::resolve::symbols::Resolution;
use crate::values::{JoinId, ValueId};

impl Uniformity {
    /// Whether a condition that decides whether `instruction` runs could be true for one thread of
    /// a warp and false for another; it could be when that takes more than the `budget`.
    pub fn may_be_selected(&self, function: &Function<'_>, instruction: u32, budget: &Budget) -> bool {
        let Some(block) = function.cfg.block_of(instruction) else { return true };
        let known = &mut self.selection().borrow_mut();
        let mut search = Search { function, budget, control: &self.control, known };
        let guard = function.unit.module.guard(&function.unit.module.instructions[instruction as usize]);
        let guard = match guard {
            None => None,
            Some(_) => match search.guard(instruction) {
                None => return true,
                Some(value) => Some(Step::Value(value)),
            },
        };
        [Some(Step::Block(block)), guard].into_iter().flatten().any(|step| search.is_selected(step))
    }

    /// Whether a value may differ between the threads of a warp; it may when that takes more than the
    /// `budget`.
    pub(crate) fn may_differ(&self, function: &Function<'_>, value: ValueId, budget: &Budget) -> bool {
        let known = &mut self.selection().borrow_mut();
        Search { function, budget, control: &self.control, known }.is_selected(Step::Value(value))
    }

    /// Whether threads of a warp may leave a block to different ones, or not all of them get there.
    pub(super) fn may_part(&self, function: &Function<'_>, block: BlockId, budget: &Budget) -> bool {
        let known = &mut self.selection().borrow_mut();
        Search { function, budget, control: &self.control, known }.is_selected(Step::Branch(block))
    }

    fn selection(&self) -> &RefCell<Selection> {
        self.selection.get_or_init(|| RefCell::new(Selection::new(&self.control)))
    }
}

/// Something that may be the same for a whole warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Whether a block runs.
    Block(BlockId),
    /// Which way is taken behind a block that branches.
    Branch(BlockId),
    /// A value.
    Value(ValueId),
}

/// What something depends on.
type Needs = SmallVec<[Step; 8]>;

/// What is looked at in most functions.
const MANY: usize = 28;

/// What was found out so far.
#[derive(Debug)]
pub(super) struct Selection {
    /// What was looked at.
    seen: FxHashSet<Step>,
    /// What differs where these do, as far as they are not known to.
    dependents: FxHashMap<Step, SmallVec<[Step; 2]>>,
    /// Branches and values that may differ.
    selected: FxHashSet<Step>,
    /// By block: itself, or, where it may run for some threads only, a block above it in the tree of
    /// post-dominators behind others of which that is known, too.
    unselected: Vec<Option<BlockId>>,
    /// Edges that decide about no block that was looked at.
    edges: Edges,
}

impl Selection {
    fn new(control: &Branches) -> Self {
        Self {
            seen: FxHashSet::with_capacity_and_hasher(MANY, FxBuildHasher),
            dependents: FxHashMap::with_capacity_and_hasher(MANY, FxBuildHasher),
            selected: FxHashSet::default(),
            unselected: control.blocks().map(Some).collect(),
            edges: control.edges(),
        }
    }

    fn is_selected(&self, step: Step) -> bool {
        match step {
            Step::Block(block) => self.unselected[block.index()] != Some(block),
            Step::Branch(_) | Step::Value(_) => self.selected.contains(&step),
        }
    }

    /// The first block from one on up the tree that is not known to run for some threads only.
    fn next_unselected(&mut self, block: BlockId) -> Option<BlockId> {
        let mut top = Some(block);
        while let Some(at) = top.filter(|at| self.unselected[at.index()] != Some(*at)) {
            top = self.unselected[at.index()];
        }
        let mut at = Some(block);
        while let Some(block) = at.filter(|_| at != top) {
            at = std::mem::replace(&mut self.unselected[block.index()], top);
        }
        top
    }
}

/// A search for what may differ between the threads of a warp.
struct Search<'a> {
    function: &'a Function<'a>,
    budget: &'a Budget,
    control: &'a Branches,
    known: &'a mut Selection,
}

impl Search<'_> {
    /// Whether something may differ; it may when the budget is spent.
    fn is_selected(&mut self, step: Step) -> bool {
        let mut work: SmallVec<[Step; 16]> = smallvec![step];
        // What was just found to differ.
        let mut found = Needs::new();
        while let Some(step) = work.pop() {
            if self.known.seen.contains(&step) {
                continue;
            }
            if !self.budget.take(VISIT) {
                return true;
            }
            self.known.seen.insert(step);
            let mut needs = Needs::new();
            let is_known = match step {
                Step::Block(block) => {
                    let found = &mut |branch: BlockId| work.push(Step::Branch(branch));
                    if !self.known.edges.take(self.control, block, self.budget, found) {
                        return true;
                    }
                    true
                }
                Step::Branch(block) => self.branch(block, &mut needs),
                Step::Value(ValueId::Definition(id)) => self.definition(id, &mut needs),
                Step::Value(ValueId::Join(join)) => self.join(join, &mut needs),
            };
            if !is_known || needs.iter().any(|needed| self.known.is_selected(*needed)) {
                found.extend(self.known.selected.insert(step).then_some(step));
                self.carry(&mut found);
                continue;
            }
            for needed in needs {
                self.known.dependents.entry(needed).or_default().push(step);
                work.push(needed);
            }
        }
        self.budget.is_spent() || self.known.is_selected(step)
    }

    /// Carries what differs to what depends on it.
    fn carry(&mut self, found: &mut Needs) {
        while let Some(step) = found.pop() {
            if let Step::Branch(branch) = step {
                for successor in &self.function.cfg.block(branch).successors {
                    while let Some(block) = self.known.next_unselected(*successor)
                        && self.control.is_on_way(branch, block)
                    {
                        self.known.unselected[block.index()] = self.control.next(block);
                        found.push(Step::Block(block));
                    }
                }
            }
            for dependent in self.known.dependents.remove(&step).unwrap_or_default() {
                found.extend(self.known.selected.insert(dependent).then_some(dependent));
            }
        }
    }

    /// The value of an instruction's guard; `None` where nothing is known of it.
    fn guard(&self, instruction: u32) -> Option<ValueId> {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.function.value(instruction, register),
            _ => None,
        }
    }

    // What something needs to be the same; false where it may differ anyway, or can't be told.

    fn branch(&mut self, block: BlockId, needs: &mut Needs) -> bool {
        needs.push(Step::Block(block));
        tested(self.function, block, self.budget, &mut |from, value| {
            needs.extend([Step::Block(from), Step::Value(value)]);
        })
    }

    fn join(&mut self, join: JoinId, needs: &mut Needs) -> bool {
        let inputs = self.function.definitions.joined(join);
        needs.extend(inputs.iter().map(|value| Step::Value(*value)));
        self.budget.take(VISIT * inputs.len() as u64)
    }

    fn definition(&mut self, id: DefinitionId, needs: &mut Needs) -> bool {
        let function = self.function;
        let definition = *function.definitions.get(id);
        let at = definition.instruction;
        if definition.guarded {
            let Some(guard) = self.guard(at) else { return false };
            needs.push(Step::Value(guard));
        }
        // Which of several definitions it was, something decided.
        if function.definitions.of(definition.register).len() > 1 {
            needs.extend(function.cfg.block_of(at).map(Step::Block));
        }
        needed(function, at, &mut |value| needs.push(Step::Value(value)))
    }
}
