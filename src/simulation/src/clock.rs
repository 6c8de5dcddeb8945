//! Vector clocks: what an agent knows to have happened.

use std::borrow::Cow;

use smallvec::SmallVec;

/// Which agent: a warp, or a chain of asynchronous operations, each of which starts after the one
/// before it ended.
pub(crate) type Agent = u32;

/// By agent: how much of what it did is known to have happened before. Agents at the end are left
/// out while nothing is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    time: Vec<u32>,
    /// The same for what threads wrote, as the async proxy sees it: up to the last proxy fence.
    proxy: Vec<u32>,
    /// What is known to be over because of the order of execution alone, without what it wrote to memory
    /// being seen. Empty while that is no more than the rest.
    executed: Vec<u32>,
}

impl Clock {
    /// How much is known of an agent.
    pub(crate) fn of(&self, agent: Agent) -> u32 {
        self.time.get(agent as usize).copied().unwrap_or(0)
    }

    /// How much of what an agent wrote the async proxy sees.
    pub(crate) fn proxy_of(&self, agent: Agent) -> u32 {
        self.proxy.get(agent as usize).copied().unwrap_or(0)
    }

    /// Learns that an agent got so far.
    pub(crate) fn learn(&mut self, agent: Agent, tick: u32) {
        let index = agent as usize;
        if self.time.len() <= index {
            self.time.resize(index + 1, 0);
        }
        self.time[index] = self.time[index].max(tick);
    }

    /// Forgets what an agent did later than that.
    pub(crate) fn forget(&mut self, agent: Agent, tick: u32) {
        for times in [&mut self.time, &mut self.proxy, &mut self.executed] {
            if let Some(time) = times.get_mut(agent as usize) {
                *time = tick.min(*time);
            }
        }
    }

    /// Goes on to the next time of its own.
    pub(crate) fn advance(&mut self, agent: Agent) {
        let tick = self.of(agent) + 1;
        self.learn(agent, tick);
    }

    /// Learns all that another one knows.
    pub(crate) fn join(&mut self, other: &Self) {
        join(&mut self.time, &other.time);
        join(&mut self.proxy, &other.proxy);
        join(&mut self.executed, &other.executed);
    }

    /// Learns that all is over that another one knows of, and nothing about memory.
    pub(crate) fn join_executed(&mut self, other: &Self) {
        join(&mut self.executed, &other.executed);
        join(&mut self.executed, &other.time);
    }

    /// What is over: Tensor Memory follows the order of execution.
    pub(crate) fn executed(&self) -> Cow<'_, Self> {
        if self.executed.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        join(&mut all.time, &self.executed);
        Cow::Owned(all)
    }

    /// A proxy fence: the async proxy sees all that is known to have happened.
    pub(crate) fn fence(&mut self) {
        join(&mut self.proxy, &self.time);
    }

    /// A proxy fence that shows what others have done only, not these agents.
    pub(crate) fn fence_acquired(&mut self, own: &[Option<Agent>]) {
        let before = own.iter().flatten().map(|agent| (*agent, self.proxy_of(*agent)));
        let before: SmallVec<[(Agent, u32); 2]> = before.collect();
        self.fence();
        for (agent, seen) in before {
            if let Some(now) = self.proxy.get_mut(agent as usize) {
                *now = seen;
            }
        }
    }
}

fn join(one: &mut Vec<u32>, other: &[u32]) {
    if one.len() < other.len() {
        one.resize(other.len(), 0);
    }
    for (one, other) in one.iter_mut().zip(other) {
        *one = (*one).max(*other);
    }
}
