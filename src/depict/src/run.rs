//! What happened in a run.

use std::collections::{BTreeMap, BTreeSet};

use ptx_check::isa::asynchrony::Access;
use ptx_check::source::{Source, Span};
use ptx_check::words::{demangled, ranges};
use ptx_draw::barriers::{Barrier, Role};
use ptx_draw::timeline::{Event, Kind, Slice, Timeline, Track};
use ptx_draw::tmem::{Action, Place, Space, Step, Use};
use ptx_simulation::record::{self, Activity, Column, Record, Touch, Who};

/// What the record of a run says.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The text that ran.
    pub source: &'a Source,
    /// The kernel.
    pub kernel: &'a str,
    /// What happened.
    pub record: &'a Record,
}

/// What an instruction did to columns of a CTA.
struct Done<'a> {
    /// The first time.
    touch: &'a Touch,
    action: Action,
    times: u32,
    columns: BTreeSet<(u32, u32)>,
    /// Warps that did it.
    tracks: BTreeSet<u32>,
}

/// Tracks that do the same.
struct Row {
    tracks: Vec<u32>,
}

impl Told<'_> {
    fn line(&self, span: Span) -> u32 {
        self.source.position(span.start).line
    }

    fn opcode(&self, span: Span) -> String {
        // The statement may have a guard in front.
        let text = self.source.slice(span);
        let words = text.split_whitespace().find(|word| !word.starts_with(['@', '{']));
        words.unwrap_or_default().trim_end_matches(';').to_owned()
    }

    fn track(&self, track: u32) -> &record::Track {
        &self.record.tracks[track as usize]
    }

    fn slices(&self, track: u32) -> impl Iterator<Item = &record::Slice> {
        self.record.slices.iter().filter(move |slice| slice.track == track)
    }

    fn marks(&self, track: u32) -> impl Iterator<Item = &record::Mark> {
        self.record.marks.iter().filter(move |mark| mark.track == track)
    }

    /// mbarriers at the same place of different CTAs have the same letter.
    fn letters(&self) -> Vec<char> {
        let offsets: BTreeSet<u32> = self.record.barriers.iter().map(|it| it.offset).collect();
        let letter = |offset: u32| {
            let number = offsets.iter().position(|it| *it == offset);
            number
                .and_then(|it| u8::try_from(it).ok())
                .filter(|it| *it < 26)
                .map_or('*', |it| char::from(b'A' + it))
        };
        self.record.barriers.iter().map(|it| letter(it.offset)).collect()
    }

    /// The timeline.
    pub fn timeline(&self) -> Timeline {
        let letters = self.letters();
        Timeline {
            kernel: demangled(self.kernel).into_owned(),
            tracks: self.rows().iter().map(|row| self.drawn(row, &letters)).collect(),
            barriers: self.named(&letters),
            end: self.record.end,
            left_out: self.record.left_out,
        }
    }

    /// Which letter is which.
    fn named(&self, letters: &[char]) -> Vec<(char, String)> {
        let all = letters.iter().zip(&self.record.barriers).filter(|(letter, _)| **letter != '*');
        let mut all: Vec<(char, String)> = all.map(|(letter, it)| (*letter, plain(&it.name))).collect();
        all.sort();
        all.dedup_by_key(|(letter, _)| *letter);
        all
    }

    /// Warps of a CTA that do the same at the same time are one.
    fn rows(&self) -> Vec<Row> {
        let deeds = |track: u32| {
            let slices: Vec<_> =
                self.slices(track).map(|it| (it.start, it.end, it.what, it.is_open)).collect();
            let is_deed = |it: &&record::Mark| !matches!(it.what, record::Event::Finding { .. });
            let marks: Vec<_> = self.marks(track).filter(is_deed).map(|it| (it.at, it.what)).collect();
            (slices, marks)
        };
        let mut order: Vec<u32> = (0..self.record.tracks.len() as u32).collect();
        order.retain(|track| self.is_shown(*track));
        order.sort_by_key(|track| (self.track(*track).cta, self.track(*track).who));
        let mut rows: Vec<Row> = Vec::new();
        for track in order {
            let is_warp = |track: u32| matches!(self.track(track).who, Who::Warp { .. });
            let is_same = |row: &&mut Row| {
                let other = row.tracks[0];
                self.track(other).cta == self.track(track).cta
                    && is_warp(track)
                    && is_warp(other)
                    && self.track(other).stands == self.track(track).stands
                    && deeds(other) == deeds(track)
            };
            match rows.iter_mut().find(is_same) {
                Some(row) => row.tracks.push(track),
                None => rows.push(Row { tracks: vec![track] }),
            }
        }
        rows
    }

    /// Threads that went another way for a moment are not.
    fn is_shown(&self, track: u32) -> bool {
        match self.track(track).who {
            Who::Warp { lane, .. } if lane > 0 => {
                self.track(track).stands.is_some()
                    || self.slices(track).next().is_some()
                    || self.marks(track).any(|mark| mark.what != record::Event::Exit)
            }
            _ => true,
        }
    }

    fn name(&self, tracks: &[u32]) -> String {
        let name = self.who(tracks);
        let has = |what: record::Event| self.marks(tracks[0]).any(|mark| mark.what == what);
        match (has(record::Event::Copy), has(record::Event::Tensor)) {
            (true, true) => format!("{name}, copies, multiplies"),
            (true, false) => format!("{name}, copies"),
            (false, true) => format!("{name}, multiplies"),
            (false, false) => name,
        }
    }

    /// The same without what they do.
    fn who(&self, tracks: &[u32]) -> String {
        let numbers: Vec<u32> = tracks
            .iter()
            .filter_map(|track| match self.track(*track).who {
                Who::Warp { index, .. } => Some(index),
                Who::Tma | Who::Copies | Who::TensorCore | Who::Moves => None,
            })
            .collect();
        match (self.track(tracks[0]).who, numbers.as_slice()) {
            (Who::Tma, _) => "TMA".to_owned(),
            (Who::Copies, _) => "cp.async".to_owned(),
            (Who::TensorCore, _) => "tensor core".to_owned(),
            (Who::Moves, _) => "ld/st".to_owned(),
            (Who::Warp { index, lane: 0 }, [] | [_]) => format!("warp {index}"),
            (Who::Warp { index, lane }, [] | [_]) => format!("warp {index} lane {lane}"),
            (Who::Warp { .. }, numbers) => format!("warps {}", ranges(numbers)),
        }
    }

    fn drawn(&self, row: &Row, letters: &[char]) -> Track {
        let first = row.tracks[0];
        let track = self.track(first);
        let slice = |slice: &record::Slice| {
            Some(Slice {
                start: slice.start,
                end: slice.end,
                kind: kind(slice.what)?,
                name: self.said(slice.what, letters),
                line: self.line(slice.span),
                is_open: slice.is_open,
            })
        };
        let event = |mark: &record::Mark| {
            let (sign, name, is_finding) = match mark.what {
                record::Event::Arrive { barrier, phase } => {
                    let it = &self.record.barriers[barrier as usize];
                    let letter = letters[barrier as usize];
                    (
                        letter.to_string(),
                        format!("arrives at {letter}, {}, phase {phase}", plain(&it.name)),
                        false,
                    )
                }
                record::Event::NamedArrive(id) => (id.to_string(), format!("arrives at barrier {id}"), false),
                record::Event::Finding { code, is_primary: true } => {
                    ("!".to_owned(), format!("{code:?}"), true)
                }
                record::Event::Finding { .. }
                | record::Event::Copy
                | record::Event::Tensor
                | record::Event::Commit
                | record::Event::Alloc
                | record::Event::Dealloc
                | record::Event::Exit => return None,
            };
            Some(Event { at: mark.at, sign, name, line: self.line(mark.span), is_finding })
        };
        let is_warp = matches!(track.who, Who::Warp { .. });
        let findings = row.tracks[1..]
            .iter()
            .flat_map(|it| self.marks(*it).filter(|mark| matches!(mark.what, record::Event::Finding { .. })));
        Track {
            cta: track.cta,
            name: self.name(&row.tracks),
            life: is_warp.then_some(track.life),
            stands: track.stands.as_ref().map(|(_, what)| what.clone()).filter(|_| is_warp),
            slices: self.slices(first).filter_map(slice).collect(),
            events: self.marks(first).chain(findings).filter_map(event).collect(),
        }
    }

    fn said(&self, what: Activity, letters: &[char]) -> String {
        match what {
            Activity::Mbarrier { barrier, .. } => {
                let name = plain(&self.record.barriers[barrier as usize].name);
                format!("{} {name}", letters[barrier as usize])
            }
            Activity::Named(id) => format!("barrier {id}"),
            Activity::Cluster => "cluster".to_owned(),
            Activity::Warp => "warp".to_owned(),
            Activity::Copied => "copies".to_owned(),
            Activity::Moved => "ld/st".to_owned(),
            Activity::Columns(columns) => format!("{columns} columns"),
            Activity::Registers(_) => "registers".to_owned(),
            Activity::Memory => "memory".to_owned(),
            Activity::Copy { bytes: Some(bytes), stores: false } => format!("{bytes} bytes"),
            Activity::Copy { bytes: Some(bytes), stores: true } => format!("{bytes} bytes out"),
            Activity::Copy { bytes: None, .. } => "copy".to_owned(),
            Activity::Grant => "next cluster".to_owned(),
            Activity::Multiply => "mma".to_owned(),
            Activity::Rearrange => "cp".to_owned(),
            Activity::Commit => "commit".to_owned(),
            Activity::Load => "ld".to_owned(),
            Activity::Store => "st".to_owned(),
        }
    }

    /// What was done to Tensor Memory: each instruction once for each CTA, in the order in which the first of its
    /// effects came, with all columns.
    pub fn tensor_memory(&self) -> Use {
        let mut order: Vec<Done<'_>> = Vec::new();
        let mut numbers: BTreeMap<_, usize> = BTreeMap::new();
        for touch in &self.record.columns {
            let action = action(touch.what);
            let number = *numbers.entry((touch.cta, touch.span, action)).or_insert_with(|| {
                let (columns, tracks) = (BTreeSet::new(), BTreeSet::new());
                order.push(Done { touch, action, times: 0, columns, tracks });
                order.len() - 1
            });
            let done = &mut order[number];
            done.times += 1;
            done.columns.extend(&touch.columns);
            if matches!(self.track(touch.track).who, Who::Warp { .. }) {
                done.tracks.insert(touch.track);
            }
        }
        let several = self.record.columns.iter().any(|it| it.cta != 0);
        let mut spaces: BTreeMap<u32, Space> = BTreeMap::new();
        for Done { touch, action, times, columns, tracks } in order {
            let space = spaces.entry(touch.cta).or_insert_with(|| Space {
                name: if several { format!("column 0 of CTA {}", touch.cta) } else { "column 0".to_owned() },
                ..Space::default()
            });
            let tracks: Vec<u32> = tracks.into_iter().collect();
            space.steps.push(Step {
                place: Place { line: self.line(touch.span), opcode: self.opcode(touch.span) },
                action,
                columns: joined(&columns),
                detail: if tracks.is_empty() { String::new() } else { self.who(&tracks) },
                times: Some(times),
            });
        }
        Use {
            kernel: demangled(self.kernel).into_owned(),
            spaces: spaces.into_values().collect(),
            ..Use::default()
        }
    }

    /// The mbarriers: who arrived, and who waited.
    pub fn barriers(&self) -> Vec<Barrier> {
        let several = self.record.barriers.iter().any(|it| it.cta != 0);
        let who = |track: u32, cta: u32| {
            let name = self.who(&[track]);
            let own = self.track(track).cta;
            if own == cta { name } else { format!("CTA {own}, {name}") }
        };
        let mut all: Vec<Barrier> = Vec::new();
        for (number, it) in self.record.barriers.iter().enumerate() {
            let is_it = |barrier: u32| barrier as usize == number;
            let arrivals = self.record.marks.iter().filter_map(|mark| match mark.what {
                record::Event::Arrive { barrier, .. } if is_it(barrier) => Some((mark.track, mark.span)),
                _ => None,
            });
            let waits = self.record.slices.iter().filter_map(|slice| match slice.what {
                Activity::Mbarrier { barrier, .. } if is_it(barrier) => Some((slice.track, slice.span)),
                _ => None,
            });
            let is_open = self.record.slices.iter().any(|slice| {
                slice.is_open && matches!(slice.what, Activity::Mbarrier { barrier, .. } if is_it(barrier))
            });
            let roles = |all: &mut dyn Iterator<Item = (u32, Span)>| {
                let mut times: BTreeMap<(u32, String, String), u32> = BTreeMap::new();
                for (track, span) in all {
                    let key = (self.line(span), who(track, it.cta), self.opcode(span));
                    *times.entry(key).or_default() += 1;
                }
                let role = |((line, who, opcode), times)| Role { who, line, opcode, times: Some(times) };
                times.into_iter().map(role).collect::<Vec<_>>()
            };
            let name = plain(&it.name);
            let name = if several { format!("CTA {}, {name}", it.cta) } else { name };
            all.push(Barrier {
                name,
                count: Some(it.count),
                init: Some(self.line(it.init)),
                phases: Some(it.phases),
                // What the next phase lacks says something only where somebody waits for it.
                lacks: is_open.then_some(it.lacks),
                arrives: roles(&mut arrivals.into_iter()),
                waits: roles(&mut waits.into_iter()),
            });
        }
        all
    }
}

/// Columns, as few pieces as they are.
fn joined(columns: &BTreeSet<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    for &(column, count) in columns {
        match pieces.last_mut() {
            Some((start, length)) if column <= *start + *length => {
                *length = (*length).max(column + count - *start);
            }
            _ => pieces.push((column, count)),
        }
    }
    pieces
}

const fn action(what: Column) -> Action {
    match what {
        Column::Allocate => Action::Allocate,
        Column::Free => Action::Free,
        Column::Access(Access::MultiplyReadsOperand) => Action::Operand,
        Column::Access(Access::MultiplyReadsC | Access::MultiplyWritesD) => Action::Accumulate,
        Column::Access(Access::Copy | Access::Copy4x256b) => Action::Copy,
        Column::Access(Access::Shift) => Action::Shift,
        Column::Access(Access::Store) => Action::Store,
        Column::Access(Access::Load) => Action::Load,
    }
}

const fn kind(what: Activity) -> Option<Kind> {
    Some(match what {
        Activity::Mbarrier { .. } => Kind::Mbarrier,
        Activity::Named(_) | Activity::Cluster | Activity::Warp => Kind::Barrier,
        Activity::Copied
        | Activity::Moved
        | Activity::Columns(_)
        | Activity::Registers(_)
        | Activity::Memory => Kind::Own,
        Activity::Copy { .. } | Activity::Grant => Kind::Copy,
        Activity::Multiply => Kind::Multiply,
        Activity::Rearrange => Kind::Rearrange,
        Activity::Commit => return None,
        Activity::Load => Kind::Load,
        Activity::Store => Kind::Store,
    })
}

/// A name without the quotes that messages have.
fn plain(name: &str) -> String {
    name.replace('`', "")
}
