//! Why nothing can move any more.

use super::barrier::{Mbarrier, Sender};
use super::warp::{Strand, Wait};
use super::{Machine, Stop};
use crate::diagnostic::Code;
use crate::findings::{Awaited, Finding};
use crate::program::{Action, windows};

/// Addresses in global memory. Those of other memories are smaller, or in another window.
const GLOBAL: std::ops::Range<u64> = 1 << windows::BUFFER_BITS..1 << windows::BITS;

impl Machine<'_> {
    /// Lets another cluster, or another grid, of which an assumed launch says nothing, write what somebody
    /// waits for in global memory: they count, and turn phases over in the highest bit.
    pub(super) fn others_write(&mut self) -> bool {
        /// How often they count before they turn the phase over.
        const COUNTS: u32 = 32;
        /// How often they write altogether.
        const MOST: u32 = 8 * (COUNTS + 1);
        let mut writes: Vec<(u32, u64, usize, u64)> = Vec::new();
        for strand in self.strands.iter().filter(|_| self.is_assumed) {
            let (step, address) = strand.asked;
            if strand.wait != Wait::Change || !GLOBAL.contains(&address) {
                continue;
            }
            let bytes = match self.program.steps.get(step as usize).map(|step| &step.action) {
                Some(Action::Load(access)) => access.bytes,
                Some(Action::Atomic(atomic)) => atomic.bytes,
                _ => continue,
            };
            let times = self.from_others.get(&address).copied().unwrap_or(0);
            let (len, old) = (usize::from(bytes), self.global.read(address, bytes.into()));
            if times < MOST && !writes.iter().any(|(_, known, ..)| *known == address) {
                let old = old.ok().filter(|read| !read.unknown).map_or(0, |read| read.value);
                let is_over = times % (COUNTS + 1) == COUNTS;
                let value = if is_over { old ^ 1 << 31 } else { old.wrapping_add(1) };
                writes.push((step, address, len, value & u64::MAX >> (64 - len.clamp(1, 8) * 8)));
            }
        }
        for (step, address, bytes, value) in &writes {
            *self.from_others.entry(*address).or_default() += 1;
            // Where there is no buffer nothing is waited for.
            let _ = self.global.write(*address, *bytes, *value, false);
            self.assume(*step, "that others write what it waits for in global memory");
            self.epoch += 1;
        }
        !writes.is_empty()
    }

    /// A thread that waits for something in global memory.
    pub(super) fn waits_in_global_memory(&self) -> Option<&Strand> {
        self.strands.iter().find(|it| it.wait == Wait::Change && GLOBAL.contains(&it.asked.1))
    }

    /// The addresses in global memory that threads poll which wait.
    pub(crate) fn polled(&self) -> impl Iterator<Item = u64> {
        let waiting = self.strands.iter().filter(|it| it.wait == Wait::Change);
        let waited = waiting.map(|it| it.asked.1).filter(|address| GLOBAL.contains(address));
        waited.chain(self.polled_in_turns().iter().copied())
    }

    /// Who waits for something in global memory may wait for another cluster, or another grid, of which an
    /// assumed launch says nothing.
    pub(super) fn waits_for_another_cluster(&self) -> Option<Stop> {
        let strand = self.waits_in_global_memory().filter(|_| self.is_assumed)?;
        Some(Stop {
            step: strand.asked.0,
            reason: "it waits for what another cluster or grid may write".to_owned(),
        })
    }

    /// Reports what all who are left wait for.
    pub(crate) fn hang(&mut self) {
        // What went wrong at a barrier is why nobody goes on.
        let is_cause = |finding: &Finding| {
            matches!(
                finding.code,
                Code::BarrierUninitialized
                    | Code::BarrierReused
                    | Code::ArrivalOverflow
                    | Code::TransactionMismatch
                    | Code::PhaseOvertaken
                    | Code::NamedBarrierMisuse
                    | Code::DivergentAligned
            )
        };
        // Who arrives too early may do so because bytes went to another mbarrier than the one that lacks them.
        let lacks_bytes = self.strands.iter().any(|strand| match strand.wait {
            Wait::Mbarrier { barrier, phase, .. } => {
                let barrier = &self.mbarriers[barrier as usize];
                barrier.phase == phase && barrier.pending == 0 && barrier.transactions > 0
            }
            _ => false,
        });
        let explains =
            |finding: &Finding| is_cause(finding) && !(lacks_bytes && finding.code == Code::PhaseOvertaken);
        if self.findings.iter().any(explains) {
            return;
        }
        if self.waits_for_others() || self.check_all_unexpected() {
            return;
        }
        // What several wait for comes first; of these what others wait for, too.
        let mut groups: Vec<(Wait, u32, Vec<u32>)> = Vec::new();
        for strand in &self.strands {
            let known =
                groups.iter_mut().find(|(wait, step, _)| *wait == strand.wait && *step == strand.step);
            match known {
                Some((_, _, warps)) => warps.push(strand.warp),
                None => groups.push((strand.wait.clone(), strand.step, vec![strand.warp])),
            }
        }
        let starved = self.starved(&groups);
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|at| {
            let wait = &groups[*at].0;
            (self.is_certain(wait), std::cmp::Reverse(starved[*at]), self.weight(wait))
        });
        let groups: Vec<_> = order.into_iter().map(|at| groups[at].clone()).collect();
        let Some((wait, step, warps)) = groups.first().cloned() else { return };
        let senders: Vec<u32> = match &wait {
            Wait::Mbarrier { barrier, .. } => {
                self.mbarriers[*barrier as usize].senders.iter().map(|sender| sender.warp).collect()
            }
            _ => Vec::new(),
        };
        let doubt = self.doubt_of_hang(&senders);
        let code = match &wait {
            Wait::Registers { .. } => Code::RegistersNeverGranted,
            Wait::Alloc { .. } => Code::AllocationNeverSatisfied,
            Wait::Mbarrier { barrier, .. } => {
                let barrier = &self.mbarriers[*barrier as usize];
                if barrier.pending == 0 && barrier.transactions > 0 {
                    Code::TransactionMismatch
                } else {
                    Code::Deadlock
                }
            }
            _ => Code::Deadlock,
        };
        let message = match code {
            Code::RegistersNeverGranted => "`setmaxnreg` waits for registers that no warp gives back",
            Code::AllocationNeverSatisfied => "`tcgen05.alloc` waits for columns that no CTA frees",
            Code::TransactionMismatch => "fewer bytes come to an mbarrier than its phase expects",
            _ => "every thread that is left waits forever",
        };
        let explained = |wait: &Wait, warps: &[u32]| {
            format!("{} {}", self.roles(warps), self.explain(wait, warps.len() > 1))
        };
        let mut finding = Finding::new(code, step, message, explained(&wait, &warps));
        if let Wait::Mbarrier { barrier, .. } = wait {
            let known = &self.mbarriers[barrier as usize];
            finding = finding.label(known.init, format!("it awaits {}", count(known.count, "arrival")));
            let mut senders = known.senders.clone();
            senders.sort_by_key(|sender| std::cmp::Reverse(sender.phase));
            for sender in senders.iter().take(3) {
                let role = self.role(sender.warp);
                let times = match sender.times {
                    1 => format!("once, in phase {}", sender.phase),
                    times => format!("{times} times, last in phase {}", sender.phase),
                };
                let mask = self.mask_of(sender);
                finding = finding.label(sender.step, format!("{role} arrived here {times}{mask}"));
            }
            if let Some(note) = self.note_of_senders(&senders) {
                finding = finding.note(note);
            }
        }
        for (wait, step, warps) in groups.iter().skip(1).take(6) {
            finding = finding.label(*step, explained(wait, warps));
        }
        for (step, words) in self.ended().into_iter().take(3) {
            finding = finding.label(step, words);
        }
        for (step, words) in self.passed_over(&groups).into_iter().take(2) {
            finding = finding.label(step, words);
        }
        let is_why = |finding: &Finding| matches!(finding.code, Code::OutOfBounds | Code::Misaligned);
        let is_first = code == Code::TransactionMismatch && !self.findings.iter().any(is_why);
        let finding = if is_first { finding.cause() } else { finding };
        let awaited = match wait {
            Wait::Mbarrier { barrier, phase, .. } if self.all_led_wait_for_mbarriers() => {
                let Mbarrier { cta, offset, .. } = self.mbarriers[barrier as usize];
                Some(Awaited { cta, offset, phase })
            }
            _ => None,
        };
        self.report(finding.doubted(doubt).awaiting(awaited));
    }

    /// Multicast commits of a pair to the same mbarrier in other CTAs than that of it where somebody waits.
    fn passed_over(&self, groups: &[(Wait, u32, Vec<u32>)]) -> Vec<(u32, String)> {
        let mut found: Vec<(u32, String)> = Vec::new();
        for (wait, ..) in groups {
            let Wait::Mbarrier { barrier, .. } = wait else { continue };
            let Mbarrier { cta, offset, .. } = self.mbarriers[*barrier as usize];
            for ((step, warp), (committed, mask)) in &self.masks {
                let is_of_pair = self.warps[*warp as usize].cta / 2 == cta / 2;
                let is_new = found.iter().all(|(known, _)| known != step);
                if *committed == offset && mask >> cta & 1 == 0 && is_of_pair && is_new {
                    let words = format!(
                        "{} commits with the mask {mask:#b} here: to {}, and not to CTA {cta}",
                        self.role(*warp),
                        ctas_of(*mask)
                    );
                    found.push((*step, words));
                }
            }
        }
        found
    }

    /// The mask of a multicast commit, for whoever names an arrival.
    pub(super) fn mask_of(&self, sender: &Sender) -> String {
        match self.masks.get(&(sender.step, sender.warp)) {
            Some((_, mask)) => format!(", with the mask {mask:#b}: {}", ctas_of(*mask)),
            None => String::new(),
        }
    }

    /// Where threads have ended for which somebody may wait, and who.
    fn ended(&self) -> Vec<(u32, String)> {
        let mut by_step: Vec<(u32, Vec<u32>, u32)> = Vec::new();
        for (number, warp) in self.warps.iter().enumerate() {
            for (mask, step) in &warp.ends {
                let at = by_step.iter().position(|(known, ..)| known == step).unwrap_or(by_step.len());
                if at == by_step.len() {
                    by_step.push((*step, Vec::new(), 0));
                }
                by_step[at].1.push(number as u32);
                by_step[at].2 += mask.count_ones();
            }
        }
        let words = |(step, warps, threads): (u32, Vec<u32>, u32)| {
            let who = self.roles(&warps);
            let words = match (threads as usize == 32 * warps.len(), warps.len(), threads) {
                (true, 1, _) => format!("{who} has ended here"),
                (true, ..) => format!("{who} have ended here"),
                (false, _, 1) => format!("a thread of {who} has ended here"),
                (false, ..) => format!("{threads} threads of {who} have ended here"),
            };
            (step, words)
        };
        by_step.into_iter().map(words).collect()
    }

    /// What is to be said of those who have arrived at an mbarrier so far.
    fn note_of_senders(&self, senders: &[Sender]) -> Option<String> {
        if senders.is_empty() {
            return Some("no thread has ever arrived at it".to_owned());
        }
        let has_ended = |sender: &&Sender| {
            !self.strands.iter().any(|strand| strand.warp == sender.warp && strand.mask != 0)
        };
        let mut ended: Vec<u32> = senders.iter().filter(has_ended).map(|sender| sender.warp).collect();
        ended.sort_unstable();
        ended.dedup();
        let verb = if ended.len() == 1 { "has" } else { "have" };
        (!ended.is_empty()).then(|| format!("{} arrived at it before and {verb} ended", self.roles(&ended)))
    }

    /// By group: how many others wait for somebody in it, or for somebody who waits for one.
    fn starved(&self, groups: &[(Wait, u32, Vec<u32>)]) -> Vec<usize> {
        let waits_for = |at: usize| -> Vec<usize> {
            let (wait, _, warps) = &groups[at];
            let is_awaited = |other: usize| match wait {
                Wait::Mbarrier { barrier, .. } => {
                    let senders = &self.mbarriers[*barrier as usize].senders;
                    senders.iter().any(|sender| groups[other].2.contains(&sender.warp))
                }
                // Whoever of the CTA is not there may be who is awaited.
                Wait::Named { .. } => {
                    let cta = |warps: &[u32]| warps.first().map(|warp| self.warps[*warp as usize].cta);
                    cta(warps) == cta(&groups[other].2) && groups[other].0 != *wait
                }
                _ => false,
            };
            (0..groups.len()).filter(|other| *other != at && is_awaited(*other)).collect()
        };
        let mut starved = vec![0; groups.len()];
        for from in 0..groups.len() {
            let mut seen = vec![false; groups.len()];
            let mut work = vec![from];
            while let Some(at) = work.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    work.extend(waits_for(at));
                }
            }
            for (at, count) in starved.iter_mut().enumerate() {
                *count += usize::from(at != from && seen[at]);
            }
        }
        starved
    }

    /// 0 if something has come, but less than is awaited: the barrier itself is wrong then.
    fn is_certain(&self, wait: &Wait) -> u32 {
        match wait {
            Wait::Registers { .. } | Wait::Alloc { .. } => 0,
            Wait::Mbarrier { barrier, .. } => {
                let barrier = &self.mbarriers[*barrier as usize];
                u32::from(barrier.pending == barrier.count && barrier.transactions == 0)
            }
            _ => 1,
        }
    }

    /// What is more likely the cause comes first.
    fn weight(&self, wait: &Wait) -> u32 {
        match wait {
            Wait::Registers { .. } | Wait::Alloc { .. } => 0,
            Wait::Mbarrier { barrier, .. } => {
                let barrier = &self.mbarriers[*barrier as usize];
                // One at which nobody arrives is starved first.
                match (barrier.senders.is_empty(), barrier.pending == 0) {
                    (_, true) => 1,
                    (true, _) => 2,
                    _ => 3,
                }
            }
            Wait::Warp { .. } => 4,
            Wait::Copies { .. } | Wait::Bulk { .. } => 5,
            Wait::Change => 6,
            Wait::Named { .. } => 7,
            Wait::Cluster { .. } => 8,
            Wait::None | Wait::Unknown => 9,
        }
    }

    /// What someone waits for.
    pub(super) fn explain(&self, wait: &Wait, many: bool) -> String {
        let (waits, asks) = if many { ("wait", "ask") } else { ("waits", "asks") };
        match wait {
            Wait::Mbarrier { barrier, phase, .. } => {
                let barrier = &self.mbarriers[*barrier as usize];
                let name = self.mbarrier_name(barrier);
                let mut missing = Vec::new();
                if barrier.pending > 0 {
                    missing.push(format!("{} of {}", barrier.pending, count(barrier.count, "arrival")));
                }
                if barrier.transactions > 0 {
                    missing.push(format!("{} bytes", barrier.transactions));
                }
                let missing = if missing.is_empty() { "nothing".to_owned() } else { missing.join(" and ") };
                format!("{waits} for phase {phase} of {name}: {missing} missing")
            }
            Wait::Named { id } => format!("{waits} at barrier {id} for others"),
            Wait::Cluster { .. } => format!("{waits} at the barrier of the cluster for others"),
            Wait::Warp { mask, .. } => format!("{waits} for the threads {mask:#x} of the warp"),
            Wait::Bulk { .. } => format!("{waits} for copies in bulk"),
            Wait::Copies { .. } => format!("{waits} for copies"),
            Wait::Alloc { columns, pair: false } => format!("{waits} for {columns} columns of Tensor Memory"),
            Wait::Alloc { columns, pair: true } => {
                format!("{waits} for {columns} columns of Tensor Memory in both CTAs of the pair")
            }
            Wait::Registers { count } => format!("{waits} for {count} registers"),
            Wait::Unknown => "cannot go on".to_owned(),
            Wait::Change | Wait::None => format!("{asks} memory for a value that no thread writes any more"),
        }
    }

    /// What people call some warps: `warp 3`, `warps 0 and 2 to 5`.
    pub(super) fn roles(&self, warps: &[u32]) -> String {
        let mut warps = warps.to_vec();
        warps.sort_unstable();
        warps.dedup();
        let by_cta =
            warps.chunk_by(|one, other| self.warps[*one as usize].cta == self.warps[*other as usize].cta);
        let words = by_cta.map(|warps| {
            let &[first, ..] = warps else { return String::new() };
            let is_next = |one: &u32, next: &u32| one + 1 == *next;
            let index = |warp: u32| self.warps[warp as usize].index;
            let mut runs = Vec::new();
            for run in warps.chunk_by(is_next) {
                match *run {
                    [one] => runs.push(index(one).to_string()),
                    [one, other] => runs.extend([index(one), index(other)].map(|it| it.to_string())),
                    [one, .., last] => runs.push(format!("{} to {}", index(one), index(last))),
                    [] => {}
                }
            }
            let plural = if warps.len() == 1 { "" } else { "s" };
            let last = runs.pop().unwrap_or_default();
            let list = if runs.is_empty() { last } else { format!("{} and {last}", runs.join(", ")) };
            if self.ctas.len() > 1 {
                format!("warp{plural} {list} of CTA {}", self.warps[first as usize].cta)
            } else {
                format!("warp{plural} {list}")
            }
        });
        words.collect::<Vec<_>>().join(" and ")
    }
}

fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The CTAs that a mask names.
fn ctas_of(mask: u32) -> String {
    let mut ranks: Vec<String> =
        (0..u32::BITS).filter(|rank| mask >> rank & 1 == 1).map(|rank| rank.to_string()).collect();
    match (ranks.pop(), ranks.len()) {
        (None, _) => "no CTA".to_owned(),
        (Some(last), 0) => format!("CTA {last}"),
        (Some(last), _) => format!("CTAs {} and {last}", ranks.join(", ")),
    }
}
