//! Vector clocks: what an agent knows to have happened.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

/// Which agent: a warp, or a chain of asynchronous operations, each of which starts after the one
/// before it ended.
pub(crate) type Agent = u32;

/// By agent: how much of what it did is known to have happened before. Agents at the end are left
/// out while nothing is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    time: Vec<u32>,
    /// The same for what threads wrote, as the async proxy sees it: up to the last proxy fence. For shared memory, and
    /// for global memory.
    proxy: Vec<u32>,
    proxy_of_global: Vec<u32>,
    /// What is known to be over because of the order of execution alone, without what it wrote to memory
    /// being seen. Empty while that is no more than the rest.
    executed: Vec<u32>,
    /// What is known of other clusters of the grid.
    others: Option<Arc<Others>>,
}

/// Clusters in order, each with how much is known of its agents.
type Others = Vec<(u32, Arc<Vec<u32>>)>;

/// What one cluster says to others.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    cluster: u32,
    time: Arc<Vec<u32>>,
    others: Option<Arc<Others>>,
}

impl Clock {
    /// How much is known of an agent.
    pub(crate) fn of(&self, agent: Agent) -> u32 {
        self.time.get(agent as usize).copied().unwrap_or(0)
    }

    /// How much of what an agent wrote to shared or to global memory the async proxy sees.
    pub(crate) fn proxy_of(&self, agent: Agent, is_global: bool) -> u32 {
        let proxy = if is_global { &self.proxy_of_global } else { &self.proxy };
        proxy.get(agent as usize).copied().unwrap_or(0)
    }

    /// How much is known of an agent of another cluster.
    pub(crate) fn of_other(&self, cluster: u32, agent: Agent) -> u32 {
        let known = self.others.as_ref().and_then(|it| {
            let at = it.binary_search_by_key(&cluster, |(cluster, _)| *cluster).ok()?;
            it[at].1.get(agent as usize).copied()
        });
        known.unwrap_or(0)
    }

    /// All that is known, for other clusters.
    pub(crate) fn say(&self, cluster: u32) -> Said {
        Said { cluster, time: Arc::new(self.time.clone()), others: self.others.clone() }
    }

    /// Learns what another cluster says. What it says of the own cluster is returned.
    pub(crate) fn hear(&mut self, own: u32, said: &Said) -> Option<Arc<Vec<u32>>> {
        let mut returned = None;
        let others = said.others.as_deref().into_iter().flatten();
        let all = others.map(|(cluster, time)| (*cluster, time)).chain([(said.cluster, &said.time)]);
        for (cluster, time) in all {
            if cluster == own {
                join(&mut self.time, time);
                returned = Some(Arc::clone(time));
            } else if !self.others.as_ref().is_some_and(|it| knows(it, cluster, time)) {
                learn(Arc::make_mut(self.others.get_or_insert_default()), cluster, time);
            }
        }
        returned
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
        for times in [&mut self.time, &mut self.proxy, &mut self.proxy_of_global, &mut self.executed] {
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
        join(&mut self.proxy_of_global, &other.proxy_of_global);
        join(&mut self.executed, &other.executed);
        if let Some(others) = &other.others {
            self.join_others(others);
        }
    }

    fn join_others(&mut self, others: &Arc<Others>) {
        match &mut self.others {
            None => self.others = Some(Arc::clone(others)),
            Some(known) if Arc::ptr_eq(known, others) => {}
            Some(known) => {
                for (cluster, time) in others.iter() {
                    if !knows(known, *cluster, time) {
                        learn(Arc::make_mut(known), *cluster, time);
                    }
                }
            }
        }
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

    /// A proxy fence: the async proxy sees all that is known to have happened in shared memory, and in global memory.
    pub(crate) fn fence(&mut self, shared: bool, global: bool) {
        if shared {
            join(&mut self.proxy, &self.time);
        }
        if global {
            join(&mut self.proxy_of_global, &self.time);
        }
    }

    /// A proxy fence that shows what others have done only, not these agents.
    pub(crate) fn fence_acquired(&mut self, own: &[Option<Agent>]) {
        let seen = |agent: Agent| (agent, [false, true].map(|is_global| self.proxy_of(agent, is_global)));
        let before: SmallVec<[(Agent, [u32; 2]); 2]> =
            own.iter().flatten().map(|agent| seen(*agent)).collect();
        self.fence(true, true);
        for (agent, seen) in before {
            for (proxy, seen) in [&mut self.proxy, &mut self.proxy_of_global].into_iter().zip(seen) {
                if let Some(now) = proxy.get_mut(agent as usize) {
                    *now = seen;
                }
            }
        }
    }
}

/// Whether something is known already.
fn knows(others: &Others, cluster: u32, time: &Arc<Vec<u32>>) -> bool {
    let at = others.binary_search_by_key(&cluster, |(cluster, _)| *cluster);
    at.is_ok_and(|at| {
        let known = &others[at].1;
        Arc::ptr_eq(known, time)
            || known.len() >= time.len() && known.iter().zip(time.iter()).all(|(known, it)| known >= it)
    })
}

fn learn(others: &mut Others, cluster: u32, time: &Arc<Vec<u32>>) {
    match others.binary_search_by_key(&cluster, |(cluster, _)| *cluster) {
        Ok(at) => join(Arc::make_mut(&mut others[at].1), time),
        Err(at) => others.insert(at, (cluster, Arc::clone(time))),
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
