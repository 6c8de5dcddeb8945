//! Waits that end in vain: `try_wait` gives up after a while that nobody knows, and `test_wait` does not wait.
//!
//! Who asks again until the phase is over has waited, whatever the answers before were. Who does not may go on
//! without what the phase was to tell him: so the first question of a place and a warp is answered that the phase is
//! not over yet, unless the warp can know that it is.

use rustc_hash::FxHashSet;

use super::Machine;
use super::influence::concerns_others;
use super::warp::Strand;
use crate::program::{Action, Callee, Where};

/// Steps of a loop that asks again, with those that lead out of it.
const MOST_STEPS: usize = 128;

impl Machine<'_> {
    /// Whether a question about a phase, which is over or not, is answered in vain.
    pub(super) fn answers_in_vain(&mut self, strand: &Strand) -> bool {
        let answered = &self.warps[strand.warp as usize].answered;
        if answered.contains(&strand.step) {
            return false;
        }
        let asks_again = match self.asked_again.get(&strand.step) {
            Some(known) => *known,
            None => self.asks_again(strand),
        };
        self.asked_again.insert(strand.step, asks_again);
        if asks_again {
            return false;
        }
        self.warps[strand.warp as usize].answered.push(strand.step);
        true
    }

    /// Whether threads come back to a question before they do anything that matters to others.
    fn asks_again(&self, strand: &Strand) -> bool {
        let question = strand.step;
        let mut seen: FxHashSet<(u32, Option<usize>)> = FxHashSet::default();
        // Where a call is entered that is not one of the frames, its return leads nowhere.
        let mut work = vec![(question + 1, Some(strand.frames.len()))];
        while let Some((step, frames)) = work.pop() {
            if step == question {
                return true;
            }
            if seen.len() == MOST_STEPS || !seen.insert((step, frames)) {
                continue;
            }
            let Some(it) = self.program.steps.get(step as usize) else { continue };
            let is_guarded = it.guard.is_some();
            let goes_on = match &it.action {
                Action::Branch { target, .. } => {
                    work.push((*target, frames));
                    is_guarded
                }
                Action::Call { callee: Callee::Known(function), .. } => {
                    let entry = self.program.functions.get(*function as usize).map(|it| it.entry);
                    work.extend(entry.map(|entry| (entry, None)));
                    is_guarded
                }
                Action::Return => {
                    let outer = frames.and_then(|frames| frames.checked_sub(1));
                    let call = outer.and_then(|outer| strand.frames.get(outer)).map(|frame| frame.call);
                    work.extend(call.map(|call| (call + 1, outer)));
                    is_guarded
                }
                action => is_guarded || is_idle(action),
            };
            if goes_on {
                work.push((step + 1, frames));
            }
        }
        false
    }
}

/// Whether nobody else notices what an instruction does.
fn is_idle(action: &Action) -> bool {
    let is_own = |space: Where| matches!(space, Where::Local | Where::Param | Where::Const);
    match action {
        Action::Load(access) | Action::Store(access) => {
            is_own(access.space) || access.space == Where::Generic
        }
        Action::WarpBarrier { .. } | Action::Sleep => true,
        // Where these lead to is not followed.
        Action::IndexedBranch { .. } | Action::Call { .. } => false,
        action => !concerns_others(action),
    }
}
