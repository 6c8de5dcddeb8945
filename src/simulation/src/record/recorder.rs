//! Keeps a record while a machine runs, and a clock for each warp and each unit beside the warps.

use rustc_hash::FxHashMap;

use super::{
    Activity, Barrier, COPY, Column, Event, Flow, MOVE, MULTIPLY, Mark, Record, Slice, Touch, Track, Who,
};
use crate::diagnostic::Code;
use crate::source::Span;

/// What happens after so much is counted, and not kept.
const MOST: usize = 200_000;

/// Keeps what happens while a machine runs.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    record: Record,
    numbers: FxHashMap<(u32, Who), u32>,
    /// By track of a warp.
    lines: FxHashMap<u32, Line>,
    /// Who does what happens now.
    context: Context,
    /// How much the machine had executed when the line at hand had its time.
    executed: u64,
    /// When operations were started that are under way, and by whom.
    begun: FxHashMap<u64, (u64, u32)>,
    /// By CTA: when its tensor core is free.
    free: FxHashMap<u32, u64>,
    /// By mbarrier: when the last arrival of the phase came, and from whom.
    latest: FxHashMap<u32, (u64, u32)>,
    /// By mbarrier: when each phase was over, and because of whom.
    over: FxHashMap<u32, Vec<(u64, u32)>>,
    /// By CTA and barrier: when someone last arrived.
    named: FxHashMap<(u32, u32), u64>,
    /// By generation of the barrier of the cluster, the same.
    cluster: FxHashMap<u64, u64>,
    /// By track: when its loads and stores of Tensor Memory are over, and its copies.
    moved: FxHashMap<u32, u64>,
    copied: FxHashMap<u32, u64>,
    /// By step: who did it last.
    last: FxHashMap<u32, (u32, u64)>,
    /// When what happened last happened.
    now: u64,
}

/// Who does what happens now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Context {
    #[default]
    Nobody,
    Line(u32),
    Operation {
        track: u32,
        at: u64,
    },
}

/// Threads of a warp.
#[derive(Debug, Default)]
struct Line {
    time: u64,
    waits: Option<(u64, Activity, u32)>,
    /// When it was last let go on.
    resumed: u64,
}

impl Recorder {
    fn track(&mut self, cta: u32, who: Who, born: u64) -> u32 {
        if let Some(known) = self.numbers.get(&(cta, who)) {
            return *known;
        }
        let number = self.record.tracks.len() as u32;
        self.record.tracks.push(Track { cta, who, life: (born, born), stands: None });
        self.numbers.insert((cta, who), number);
        number
    }

    /// Threads of a warp are about to do something: those of the lane, or the whole warp again.
    pub(crate) fn at(&mut self, cta: u32, index: u32, lane: u32, is_whole: bool, executed: u64) {
        let who = Who::Warp { index, lane };
        let known = self.numbers.get(&(cta, who)).copied();
        if known.is_some_and(|track| self.context == Context::Line(track)) {
            return;
        }
        self.leave(executed);
        let others = |this: &Self| {
            let of_warp = |track: &Track| {
                track.cta == cta && matches!(track.who, Who::Warp { index: it, .. } if it == index)
            };
            let times = this.record.tracks.iter().enumerate().filter(|(_, track)| of_warp(track));
            times.filter_map(|(at, _)| this.lines.get(&(at as u32))).map(|line| line.time).max().unwrap_or(0)
        };
        let track = known.unwrap_or_else(|| {
            let born = others(self);
            let track = self.track(cta, who, born);
            self.lines.insert(track, Line { time: born, ..Line::default() });
            track
        });
        let met = if is_whole { others(self) } else { 0 };
        let now = self.now;
        if let Some(line) = self.lines.get_mut(&track) {
            line.time = line.time.max(met);
            line.resumed = now;
        }
        self.context = Context::Line(track);
    }

    /// They do no more for a while.
    pub(crate) fn leave(&mut self, executed: u64) {
        if let Context::Line(track) = self.context {
            self.now = self.time(executed);
            let life = &mut self.record.tracks[track as usize].life;
            life.1 = life.1.max(self.now);
        }
        self.executed = executed;
        self.context = Context::Nobody;
    }

    /// The time of whoever does what happens now.
    fn time(&mut self, executed: u64) -> u64 {
        match self.context {
            Context::Nobody => self.now,
            Context::Operation { at, .. } => at,
            Context::Line(track) => {
                let passed = executed.saturating_sub(self.executed);
                self.executed = executed;
                let Some(line) = self.lines.get_mut(&track) else { return self.now };
                // Who asks again and again gets no further.
                if line.waits.is_none() {
                    line.time += passed;
                }
                line.time
            }
        }
    }

    fn who(&self) -> Option<u32> {
        match self.context {
            Context::Nobody => None,
            Context::Line(track) | Context::Operation { track, .. } => Some(track),
        }
    }

    fn is_full(&mut self) -> bool {
        let Record { slices, marks, flows, columns, .. } = &self.record;
        let is_full = slices.len() + marks.len() + flows.len() + columns.len() >= MOST;
        self.record.left_out += u64::from(is_full);
        is_full
    }

    fn slice(&mut self, track: u32, (start, end): (u64, u64), what: Activity, step: u32) {
        self.record.end = self.record.end.max(end);
        let life = &mut self.record.tracks[track as usize].life;
        *life = (life.0.min(start), life.1.max(end));
        self.last.insert(step, (track, start));
        if !self.is_full() {
            let span = Span::new(0, 0);
            self.record.slices.push(Slice { track, start, end, what, span, is_open: false, step });
        }
    }

    /// Something happens that takes no time.
    pub(crate) fn mark(&mut self, what: Event, step: u32, executed: u64) {
        self.go_on(executed);
        let at = self.time(executed);
        if let Some(track) = self.who() {
            self.put(track, at, what, step);
        }
    }

    fn put(&mut self, track: u32, at: u64, what: Event, step: u32) {
        self.record.end = self.record.end.max(at);
        if !matches!(what, Event::Finding { .. }) {
            self.last.insert(step, (track, at));
        }
        if !self.is_full() {
            self.record.marks.push(Mark { track, at, what, span: Span::new(0, 0), step });
        }
    }

    /// Something is done to columns of the Tensor Memory of a CTA.
    pub(crate) fn touch(
        &mut self,
        (cta, what): (u32, Column),
        columns: Vec<(u32, u32)>,
        step: u32,
        executed: u64,
    ) {
        self.go_on(executed);
        let at = self.time(executed);
        let Some(track) = self.who() else { return };
        if !self.is_full() {
            self.record.columns.push(Touch { cta, track, at, what, columns, span: Span::new(0, 0), step });
        }
    }

    fn flow(&mut self, from: (u32, u64), to: (u32, u64), barrier: Option<(u32, u64)>) {
        if !self.is_full() {
            self.record.flows.push(Flow { from, to, barrier });
        }
    }

    /// Somebody starts to wait, or still waits.
    pub(crate) fn wait(&mut self, what: Activity, step: u32, executed: u64) {
        let Context::Line(track) = self.context else { return };
        let is_known = |line: &Line| line.waits.is_some_and(|(_, known, at)| known == what && at == step);
        if self.lines.get(&track).is_some_and(is_known) {
            self.executed = executed;
            return;
        }
        self.go_on(executed);
        let since = self.time(executed);
        if let Some(line) = self.lines.get_mut(&track) {
            line.waits = Some((since, what, step));
        }
    }

    /// Who waits for something that nobody tells about goes on now.
    fn go_on(&mut self, executed: u64) {
        let Context::Line(track) = self.context else { return };
        let Some(line) = self.lines.get(&track) else { return };
        if line.waits.is_some() {
            let until = line.resumed;
            self.pass(None, until, executed);
        }
    }

    /// What is waited for has come, at a time.
    pub(crate) fn pass(&mut self, what: Option<(Activity, u32)>, until: u64, executed: u64) {
        let Context::Line(track) = self.context else { return };
        let time = self.time(executed);
        let Some(line) = self.lines.get_mut(&track) else { return };
        let waited = line.waits.take();
        line.time = time.max(until);
        let end = line.time;
        let Some((activity, step)) = what.or(waited.map(|(_, what, step)| (what, step))) else { return };
        let start = waited.map_or(time, |(since, _, _)| since);
        if end > start {
            self.slice(track, (start, end), activity, step);
        }
    }

    /// A warp waits no longer because of what another has done; when that one has come.
    pub(crate) fn released(&mut self, cta: u32, who: Who, until: u64) {
        let Some(track) = self.numbers.get(&(cta, who)).copied() else { return };
        let Some(line) = self.lines.get_mut(&track) else { return };
        let Some((since, what, step)) = line.waits.take() else { return };
        line.time = line.time.max(until);
        let end = line.time;
        if end > since {
            self.slice(track, (since, end), what, step);
        }
    }

    /// Who waits at a barrier of a CTA.
    pub(crate) fn waiting_at(&self, cta: u32) -> Vec<(Who, u32, u64)> {
        let waits = |(track, line): (&u32, &Line)| {
            let it = &self.record.tracks[*track as usize];
            match line.waits {
                Some((since, Activity::Named(id), _)) if it.cta == cta => Some((it.who, id, since)),
                _ => None,
            }
        };
        self.lines.iter().filter_map(waits).collect()
    }

    /// Someone comes to a barrier of the CTA; when the last one came.
    pub(crate) fn come(&mut self, cta: u32, id: u32, executed: u64) -> u64 {
        let at = self.time(executed);
        let latest = self.named.entry((cta, id)).or_default();
        *latest = at.max(*latest);
        *latest
    }

    /// The barrier is over.
    pub(crate) fn gone(&mut self, cta: u32, id: u32) {
        self.named.remove(&(cta, id));
    }

    /// Someone arrives at the barrier of the cluster.
    pub(crate) fn come_to_cluster(&mut self, generation: u64, executed: u64) {
        let at = self.time(executed);
        let latest = self.cluster.entry(generation).or_default();
        *latest = at.max(*latest);
    }

    /// When the last one arrived at it.
    pub(crate) fn cluster_over(&self, generation: u64) -> u64 {
        self.cluster.get(&generation).copied().unwrap_or(0)
    }

    /// An operation is started.
    pub(crate) fn begin(&mut self, id: u64, executed: u64) {
        self.go_on(executed);
        let at = self.time(executed);
        if let Some(track) = self.who() {
            self.begun.insert(id, (at, track));
        }
    }

    /// An operation takes effect: what happens until [`Self::end_operation`] it does.
    pub(crate) fn operate(
        &mut self,
        (id, cta, step): (u64, u32, u32),
        (unit, what): (Who, Activity),
        is_late: bool,
        executed: u64,
    ) -> Context {
        // What the one at hand did before counts.
        let now = self.time(executed);
        let (issued, by) = self.begun.remove(&id).unwrap_or((now, u32::MAX));
        let mut start = issued + 1;
        if unit == Who::TensorCore {
            start = start.max(self.free.get(&cta).copied().unwrap_or(0));
        }
        let takes = match (unit, what) {
            (_, Activity::Commit) => 1,
            (Who::TensorCore, _) => MULTIPLY,
            _ => COPY,
        };
        let mut end = start + takes;
        if is_late {
            end = end.max(self.lines.values().map(|line| line.time).max().unwrap_or(0));
        }
        if unit == Who::TensorCore {
            self.free.insert(cta, end);
        }
        let track = self.track(cta, unit, start);
        self.slice(track, (start, end), what, step);
        if by != u32::MAX {
            self.flow((by, issued), (track, start), None);
            let copied = self.copied.entry(by).or_default();
            *copied = end.max(*copied);
        }
        std::mem::replace(&mut self.context, Context::Operation { track, at: end })
    }

    /// It has taken effect.
    pub(crate) fn end_operation(&mut self, before: Context) {
        if let Context::Operation { at, .. } = self.context {
            self.now = at;
        }
        self.context = before;
    }

    /// A load or a store of Tensor Memory.
    pub(crate) fn moves(&mut self, cta: u32, what: Activity, step: u32, executed: u64) {
        self.go_on(executed);
        let at = self.time(executed);
        let Some(by) = self.who() else { return };
        let unit = self.track(cta, Who::Moves, at);
        self.slice(unit, (at, at + MOVE), what, step);
        self.flow((by, at), (unit, at), None);
        self.moved.insert(by, at + MOVE);
    }

    /// When the loads and stores of Tensor Memory, or the copies, of who is at hand are over.
    pub(crate) fn own_over(&self, what: Activity) -> u64 {
        let of = if what == Activity::Moved { &self.moved } else { &self.copied };
        self.who().and_then(|track| of.get(&track)).copied().unwrap_or(0)
    }

    /// Someone arrives at an mbarrier, or bytes come to it.
    pub(crate) fn arrive(&mut self, barrier: u32, phase: u64, step: u32, executed: u64) {
        self.mark(Event::Arrive { barrier, phase }, step, executed);
        let at = self.time(executed);
        if let Some(track) = self.who() {
            let latest = self.latest.entry(barrier).or_insert((at, track));
            if at >= latest.0 {
                *latest = (at, track);
            }
        }
    }

    /// A phase of an mbarrier is over.
    pub(crate) fn phase_over(&mut self, barrier: u32, phase: u64, executed: u64) {
        let now = self.time(executed);
        let latest = self.latest.remove(&barrier).unwrap_or((now, self.who().unwrap_or(0)));
        let over = self.over.entry(barrier).or_default();
        over.resize(phase as usize, latest);
    }

    /// Someone sees that phases before this one are over.
    pub(crate) fn see(&mut self, barrier: u32, phases: u64, step: u32, executed: u64) {
        let Some(phase) = phases.checked_sub(1) else { return self.pass(None, 0, executed) };
        let over = self.over.get(&barrier).and_then(|over| over.get(phase as usize)).copied();
        let until = over.map_or(0, |(at, _)| at);
        self.pass(Some((Activity::Mbarrier { barrier, phase }, step)), until, executed);
        let at = self.time(executed);
        if let (Some((from, by)), Some(track)) = (over, self.who()) {
            self.flow((by, from), (track, at), Some((barrier, phase)));
        }
    }

    /// Something was found.
    pub(crate) fn found(&mut self, code: Code, step: u32, others: &[u32], executed: u64) {
        let at = self.time(executed);
        // Who hangs is seen without a mark.
        let Some(track) = self.who() else { return };
        self.put(track, at, Event::Finding { code, is_primary: true }, step);
        for other in others {
            if let Some((track, at)) = self.last.get(other).copied() {
                self.put(track, at, Event::Finding { code, is_primary: false }, *other);
            }
        }
    }

    /// Threads end.
    pub(crate) fn exit(&mut self, step: u32, executed: u64) {
        self.mark(Event::Exit, step, executed);
    }

    /// Everything, and where those are who have not ended: the CTA, who, the step and words for it.
    pub(crate) fn finish(
        mut self,
        barriers: Vec<Barrier>,
        left: Vec<(u32, Who, u32, String)>,
        spans: &[Span],
        executed: u64,
    ) -> Record {
        self.leave(executed);
        let latest = self.lines.values().map(|line| line.time).max().unwrap_or(0);
        let end = self.record.end.max(latest) + 1;
        let span = |step: u32| spans.get(step as usize).copied().unwrap_or(Span::new(0, 0));
        for (cta, who, step, words) in left {
            let Some(track) = self.numbers.get(&(cta, who)).copied() else { continue };
            if let Some((since, what, step)) = self.lines.get(&track).and_then(|line| line.waits) {
                self.record.slices.push(Slice {
                    track,
                    start: since,
                    end,
                    what,
                    span: span(step),
                    is_open: true,
                    step,
                });
            }
            let known = &mut self.record.tracks[track as usize];
            known.life.1 = end;
            known.stands = Some((span(step), words));
        }
        let mut record = self.record;
        record.end = end;
        record.barriers = barriers;
        for slice in &mut record.slices {
            slice.span = span(slice.step);
        }
        for mark in &mut record.marks {
            mark.span = span(mark.step);
        }
        for touch in &mut record.columns {
            touch.span = span(touch.step);
        }
        record
    }
}
