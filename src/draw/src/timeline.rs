//! What happened in a run, and when.
//!
//! The data are plain: whoever runs a kernel can make them, and a program can read them from JSON.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::lines::cut;
use crate::picture::{Bar, Bars, Block, Chart, Ink, Key, Mark, Picture};

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The kernel.
    pub kernel: String,
    /// Who did something, in the order in which they are drawn.
    pub tracks: Vec<Track>,
    /// mbarriers: the letter of each, and its name.
    pub barriers: Vec<(char, String)>,
    /// When the last thing happened.
    pub end: u64,
    /// Things that are not among these.
    pub left_out: u64,
}

/// Someone who did something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// The rank of its CTA in the cluster.
    pub cta: u32,
    /// Who: `warp 0, copies`.
    pub name: String,
    /// When it starts and ends; units beside the warps have none.
    pub life: Option<(u64, u64)>,
    /// What it does when the run is over, unless it has ended: `waits for phase 1 of full`.
    pub stands: Option<String>,
    /// What took time.
    pub slices: Vec<Slice>,
    /// What took none.
    pub events: Vec<Event>,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// When it started.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What it was.
    pub kind: Kind,
    /// What it was in a word: `full[0]`, `16384 bytes`.
    pub name: String,
    /// The line of the instruction, from 1.
    pub line: u32,
    /// Whether it had not ended when the run was over.
    pub is_open: bool,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Waits for an mbarrier.
    Mbarrier,
    /// Waits for other threads.
    Barrier,
    /// Waits for its own copies, loads or stores, for columns or registers.
    Own,
    /// A copy.
    Copy,
    /// A multiply.
    Multiply,
    /// Another operation of the tensor core.
    Rearrange,
    /// A load of Tensor Memory.
    Load,
    /// A store to Tensor Memory.
    Store,
}

/// Something that took no time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: u64,
    /// Its letter.
    pub sign: String,
    /// What it was.
    pub name: String,
    /// The line of the instruction, from 1.
    pub line: u32,
    /// Whether something was found there.
    pub is_finding: bool,
}

/// CTAs that are drawn.
const MOST_CTAS: usize = 4;
/// Slices that are drawn: of more, those in the middle are left out.
const MOST_SLICES: usize = 4000;
/// The longest label.
const LONGEST: usize = 40;

impl Kind {
    const fn looks(self) -> (Ink, &'static str, &'static str) {
        match self {
            Self::Mbarrier => (Ink::Tone(1), "w", "waits for an mbarrier"),
            Self::Barrier => (Ink::Tone(4), "=", "waits for other threads"),
            Self::Own => (Ink::Tone(7), "~", "waits for what it started, columns or registers"),
            Self::Copy => (Ink::Tone(2), "c", "copy in bulk"),
            Self::Multiply => (Ink::Tone(0), "M", "multiply"),
            Self::Rearrange => (Ink::Tone(3), "r", "cp, shift"),
            Self::Load => (Ink::Tone(5), "l", "tcgen05.ld"),
            Self::Store => (Ink::Tone(6), "s", "tcgen05.st"),
        }
    }

    const fn is_wait(self) -> bool {
        matches!(self, Self::Mbarrier | Self::Barrier | Self::Own)
    }
}

/// The picture.
pub fn picture(timeline: &Timeline) -> Picture {
    let ctas = ctas(timeline);
    let (timeline, hidden) = shortened(timeline, &ctas);
    let timeline = &*timeline;
    let shown = || timeline.tracks.iter().filter(|track| ctas.contains(&track.cta));
    let mut stops: BTreeSet<u64> = BTreeSet::from([0, timeline.end]);
    let mut kinds = BTreeSet::new();
    let (mut stuck, mut found, mut arrives) = (false, false, false);
    for track in shown() {
        stops.extend(track.life.into_iter().flat_map(|(start, end)| [start, end]));
        for slice in &track.slices {
            stops.extend([slice.start, slice.end]);
            stuck |= slice.is_open && slice.kind.is_wait();
            if !(slice.is_open && slice.kind.is_wait()) {
                kinds.insert(slice.kind);
            }
        }
        stops.extend(track.events.iter().map(|event| event.at));
        found |= track.events.iter().any(|event| event.is_finding);
        arrives |= track.events.iter().any(|event| !event.is_finding);
    }
    let has_headings = ctas.len() > 1 || !ctas.contains(&0);
    let mut rows = Vec::new();
    for cta in &ctas {
        if has_headings {
            rows.push(Bars { label: format!("CTA {cta}"), is_heading: true, ..Bars::default() });
        }
        rows.extend(shown().filter(|track| track.cta == *cta).flat_map(rows_of));
    }
    let mut legend: Vec<Key> = kinds
        .iter()
        .map(|kind| {
            let (ink, sign, text) = kind.looks();
            Key { ink, sign: sign.to_owned(), text: text.to_owned() }
        })
        .collect();
    let key = |ink, sign: &str, text: &str| Key { ink, sign: sign.to_owned(), text: text.to_owned() };
    if stuck {
        legend.push(key(Ink::Wrong, "X", "waits forever"));
    }
    if arrives {
        legend.push(key(Ink::Plain, "A", "a capital letter: arrives at the mbarrier of that letter"));
    }
    if found {
        legend.push(key(Ink::Wrong, "!", "something was found"));
    }
    let mut notes: Vec<String> = shown().filter_map(|track| stands(track, has_headings)).collect();
    if arrives && !timeline.barriers.is_empty() {
        let all: Vec<String> =
            timeline.barriers.iter().map(|(letter, name)| format!("{letter} {name}")).collect();
        notes.push(format!("mbarriers: {}.", all.join(", ")));
    }
    let all: BTreeSet<u32> = timeline.tracks.iter().map(|track| track.cta).collect();
    if all.len() > ctas.len() {
        notes.push(format!("{} more CTAs are not drawn.", all.len() - ctas.len()));
    }
    if let Some((from, to)) = hidden {
        notes.push(format!("What happens from step {from} to {to} is not drawn."));
    }
    if timeline.left_out > 0 {
        notes.push(format!("{} later things are not drawn.", timeline.left_out));
    }
    notes.push("Steps are no cycles: where nothing changes, time is drawn shorter.".to_owned());
    let chart = Chart { rows, ..Chart::dense("step", stops.into_iter().collect()) };
    Picture {
        title: format!("{}: what happened in the run", timeline.kernel),
        blocks: vec![Block::Chart(chart)],
        legend,
        notes,
    }
}

/// What somebody does who has not ended.
fn stands(track: &Track, has_headings: bool) -> Option<String> {
    let what = track.stands.as_ref()?.replace('`', "");
    // Several do it.
    let what = match what.strip_prefix("waits ") {
        Some(rest) if track.name.starts_with("warps ") => format!("wait {rest}"),
        _ => what,
    };
    Some(format!("{} {what}.", said(track, has_headings)))
}

fn said(track: &Track, has_headings: bool) -> String {
    // Without what it is there for.
    let name = track
        .name
        .split(", ")
        .take_while(|part| !part.starts_with(['c', 'm']))
        .collect::<Vec<_>>()
        .join(", ");
    if has_headings { format!("CTA {}, {name}", track.cta) } else { name }
}

/// The run without its middle, if more happens than a picture has room for, and which steps that is.
fn shortened<'t>(timeline: &'t Timeline, ctas: &BTreeSet<u32>) -> (Cow<'t, Timeline>, Option<(u64, u64)>) {
    let shown = timeline.tracks.iter().filter(|track| ctas.contains(&track.cta));
    let mut starts: Vec<u64> = shown
        .flat_map(|track| track.slices.iter().map(|it| it.start).chain(track.events.iter().map(|it| it.at)))
        .collect();
    if starts.len() <= MOST_SLICES {
        return (Cow::Borrowed(timeline), None);
    }
    starts.sort_unstable();
    let (from, to) = (starts[MOST_SLICES / 2], starts[starts.len() - MOST_SLICES / 2]);
    let is_kept = |at: u64| at < from || at > to;
    let mut kept = timeline.clone();
    for track in &mut kept.tracks {
        track.slices.retain(|slice| is_kept(slice.start));
        track.events.retain(|event| is_kept(event.at));
    }
    (Cow::Owned(kept), Some((from, to)))
}

/// The CTAs that are drawn, those first where something is wrong.
fn ctas(timeline: &Timeline) -> BTreeSet<u32> {
    let is_calm = |cta: u32| {
        timeline
            .tracks
            .iter()
            .filter(|track| track.cta == cta)
            .all(|track| track.stands.is_none() && !track.events.iter().any(|event| event.is_finding))
    };
    let all: BTreeSet<u32> = timeline.tracks.iter().map(|track| track.cta).collect();
    let mut order: Vec<u32> = all.into_iter().collect();
    order.sort_by_key(|cta| (is_calm(*cta), *cta));
    order.into_iter().take(MOST_CTAS).collect()
}

/// A row; more where several things happen at once.
fn rows_of(track: &Track) -> Vec<Bars> {
    let mut ends: Vec<u64> = Vec::new();
    let mut homes: Vec<Vec<&Slice>> = Vec::new();
    let mut slices: Vec<&Slice> = track.slices.iter().collect();
    slices.sort_by_key(|slice| slice.start);
    for slice in slices {
        // Within a warp, one thing happens at a time.
        let free = ends.iter().position(|end| *end <= slice.start || track.life.is_some());
        let home = free.unwrap_or(ends.len());
        if home == ends.len() {
            ends.push(0);
            homes.push(Vec::new());
        }
        ends[home] = ends[home].max(slice.end);
        homes[home].push(slice);
    }
    if homes.is_empty() {
        homes.push(Vec::new());
    }
    homes.iter().enumerate().map(|(index, slices)| row(track, slices, index == 0)).collect()
}

fn row(track: &Track, slices: &[&Slice], is_first: bool) -> Bars {
    let life = track.life.filter(|(start, end)| start < end).map(|(start, end)| Bar {
        start,
        end,
        ink: Ink::Plain,
        sign: "-".to_owned(),
        hint: format!("{} runs from {start} to {end}", track.name),
        ..Bar::default()
    });
    let bar = |slice: &&Slice| {
        let (ink, sign, text) = slice.kind.looks();
        let is_stuck = slice.is_open && slice.kind.is_wait();
        Bar {
            start: slice.start,
            end: slice.end.max(slice.start + 1),
            ink: if is_stuck { Ink::Wrong } else { ink },
            sign: if is_stuck { "X" } else { sign }.to_owned(),
            text: slice.name.clone(),
            hint: format!("{text} {}, {} to {}, line {}", slice.name, slice.start, slice.end, slice.line),
        }
    };
    let mark = |event: &Event| Mark {
        at: event.at,
        ink: if event.is_finding { Ink::Wrong } else { Ink::Plain },
        sign: event.sign.clone(),
        hint: format!("{}, at {}, line {}", event.name, event.at, event.line),
    };
    Bars {
        label: if is_first { cut(&track.name, LONGEST) } else { String::new() },
        is_heading: false,
        bars: life.into_iter().chain(slices.iter().map(bar)).collect(),
        marks: track.events.iter().filter(|_| is_first).map(mark).collect(),
    }
}
