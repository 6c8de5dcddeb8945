//! What the memories of CTAs hold when the run has ended.

use super::Machine;
use crate::state::CtaState;

impl Machine<'_> {
    /// Those of all CTAs of the cluster.
    pub(super) fn states(&self) -> Vec<CtaState> {
        let state = |(rank, cta): (usize, &super::Cta)| {
            let shared = cta.shared.contents(0, cta.shared.len()).unwrap_or_default();
            let columns = cta.tensor.sizes.columns as usize;
            let mut tensor = vec![0; CtaState::LANES * columns];
            let mut tensor_known = vec![false; CtaState::LANES * columns];
            for lane in 0..CtaState::LANES {
                for column in 0..columns {
                    if let Some(value) = cta.tensor.cells.get(lane as u32, column as u32) {
                        tensor[lane * columns + column] = value;
                        tensor_known[lane * columns + column] = true;
                    }
                }
            }
            CtaState {
                index: self.shape.cta(rank as u32),
                shared: shared.bytes,
                shared_unknown: shared.unknown,
                tensor,
                tensor_known,
                allocated: cta.tensor.allocations.iter().map(|(start, count, _)| (*start, *count)).collect(),
            }
        };
        self.ctas.iter().enumerate().map(state).collect()
    }
}
