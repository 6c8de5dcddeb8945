//! What happened in a run, drawn in the terminal: a line for each warp and each unit beside the warps,
//! time from left to right.
//!
//! mbarriers have letters: who waits for one has its small letter, who arrives at it the capital one.
//! So a hang is a row of small letters to the right end, for which no capital comes. Warps that do the
//! same share a line. Where nothing changes, time is drawn shorter; where there is not enough room for
//! all, the stretch that matters is drawn again with room: the last one before a hang, or that
//! around a finding.

use std::collections::BTreeSet;
use std::io::{self, Write};

use axis::Axis;
use ptx_check::source::{Source, Span};
use ptx_check::words::{plural, ranges};
use ptx_simulation::record::{Activity, Event, Record, Track, Who};

mod axis;
mod legend;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether with colours.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// CTAs that are drawn.
const MOST_CTAS: usize = 4;
/// How many times share a column before a stretch is cut.
const DENSEST: f64 = 1.6;
/// Columns that the shortest time has at most.
const WIDEST: f64 = 3.0;
/// Pictures are at least so wide, whatever the terminal.
const NARROWEST: usize = 24;

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    symbol: char,
    paint: Paint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Wait,
    Stuck,
    Arrive,
    Busy,
    Found,
}

impl Paint {
    /// The numbers of its escape sequence.
    const fn codes(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Wait => "33",
            Self::Stuck => "31",
            Self::Arrive => "1;32",
            Self::Busy => "36",
            Self::Found => "1;31",
        }
    }
}

/// A line of the picture: tracks that do the same.
#[derive(Debug)]
struct Row {
    cta: u32,
    label: String,
    /// The first is drawn.
    tracks: Vec<u32>,
}

struct Picture<'a> {
    source: &'a Source,
    record: &'a Record,
    look: Look,
    rows: Vec<Row>,
    /// By mbarrier: its letter.
    letters: Vec<char>,
    /// By track: its slices and marks.
    slices: Vec<Vec<usize>>,
    marks: Vec<Vec<usize>>,
}

/// Draws what happened.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(source: &Source, record: &Record, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let picture = Picture::new(source, record, look);
    picture.draw(out)
}

impl<'a> Picture<'a> {
    fn new(source: &'a Source, record: &'a Record, look: Look) -> Self {
        let mut slices = vec![Vec::new(); record.tracks.len()];
        let mut marks = vec![Vec::new(); record.tracks.len()];
        for (index, slice) in record.slices.iter().enumerate() {
            slices[slice.track as usize].push(index);
        }
        for (index, mark) in record.marks.iter().enumerate() {
            marks[mark.track as usize].push(index);
        }
        let mut this = Self { source, record, look, rows: Vec::new(), letters: Vec::new(), slices, marks };
        this.letters = this.letters();
        this.rows = this.rows();
        this
    }

    /// mbarriers at the same place of different CTAs have the same letter.
    fn letters(&self) -> Vec<char> {
        let offsets: BTreeSet<u32> = self.record.barriers.iter().map(|barrier| barrier.offset).collect();
        let offsets: Vec<u32> = offsets.into_iter().collect();
        let letter = |offset: u32| {
            let number = offsets.binary_search(&offset).unwrap_or(usize::MAX);
            u8::try_from(number).ok().filter(|number| *number < 26).map_or('*', |it| char::from(b'a' + it))
        };
        self.record.barriers.iter().map(|barrier| letter(barrier.offset)).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let mut order: Vec<u32> = (0..self.record.tracks.len() as u32).collect();
        order.retain(|track| self.is_shown(*track));
        order.sort_by_key(|track| {
            let track = self.track(*track);
            (track.cta, track.who)
        });
        let mut rows: Vec<Row> = Vec::new();
        for track in order {
            let cta = self.track(track).cta;
            let same = rows.iter_mut().find(|row| row.cta == cta && self.is_same(row.tracks[0], track));
            match same {
                Some(row) => row.tracks.push(track),
                None => rows.push(Row { cta, label: String::new(), tracks: vec![track] }),
            }
        }
        for row in &mut rows {
            row.label = self.label(row);
        }
        rows
    }

    fn track(&self, track: u32) -> &Track {
        &self.record.tracks[track as usize]
    }

    /// Threads that went another way for a moment are not.
    fn is_shown(&self, track: u32) -> bool {
        let it = self.track(track);
        let Who::Warp { lane, .. } = it.who else { return true };
        let marks = self.marks[track as usize].iter().map(|at| self.record.marks[*at].what);
        lane == 0
            || it.stands.is_some()
            || !self.slices[track as usize].is_empty()
            || marks.into_iter().any(|what| what != Event::Exit)
    }

    /// Whether two warps do the same.
    fn is_same(&self, one: u32, other: u32) -> bool {
        let is_line = |track: u32| matches!(self.track(track).who, Who::Warp { .. });
        let deeds = |track: u32| {
            let slices = self.slices[track as usize].iter().map(|at| &self.record.slices[*at]);
            let waits: Vec<_> = slices.map(|slice| (slice.what, slice.step)).collect();
            let marks = self.marks[track as usize].iter().map(|at| &self.record.marks[*at]);
            let marks = marks.filter(|mark| !matches!(mark.what, Event::Finding { .. }));
            (waits, marks.map(|mark| (mark.what, mark.step)).collect::<Vec<_>>())
        };
        let stands = |track: u32| self.track(track).stands.as_ref();
        is_line(one)
            && is_line(other)
            && self.slices[one as usize].len() == self.slices[other as usize].len()
            && stands(one) == stands(other)
            && deeds(one) == deeds(other)
    }

    fn label(&self, row: &Row) -> String {
        let name = self.name(row);
        match self.role(row.tracks[0]) {
            "" => name,
            role => format!("{name}, {role}"),
        }
    }

    /// Who, without the CTA.
    fn name(&self, row: &Row) -> String {
        let warp = |track: u32| match self.track(track).who {
            Who::Warp { index, .. } => Some(index),
            Who::Tma | Who::Copies | Who::TensorCore | Who::Moves => None,
        };
        let numbers: Vec<u32> = row.tracks.iter().filter_map(|track| warp(*track)).collect();
        match (self.track(row.tracks[0]).who, numbers.as_slice()) {
            (Who::Tma, _) => "TMA".to_owned(),
            (Who::Copies, _) => "cp.async".to_owned(),
            (Who::TensorCore, _) => "tensor core".to_owned(),
            (Who::Moves, _) => "ld/st".to_owned(),
            (Who::Warp { index, lane: 0 }, [] | [_]) => format!("warp {index}"),
            (Who::Warp { index, lane }, [] | [_]) => format!("warp {index} lane {lane}"),
            (Who::Warp { .. }, numbers) => format!("warps {}", ranges(numbers)),
        }
    }

    /// What a warp is there for.
    fn role(&self, track: u32) -> &'static str {
        if !matches!(self.track(track).who, Who::Warp { .. }) {
            return "";
        }
        let has = |what: &dyn Fn(Event) -> bool| {
            self.marks[track as usize].iter().any(|at| what(self.record.marks[*at].what))
        };
        let moves = self.record.flows.iter().any(|flow| {
            flow.from.0 == track && flow.barrier.is_none() && self.track(flow.to.0).who == Who::Moves
        });
        match (has(&|what| what == Event::Copy), has(&|what| what == Event::Tensor), moves) {
            (true, false, false) => "copies",
            (false, true, false) => "multiplies",
            (false, false, true) => "ld/st",
            (true, true, false) => "copies, multiplies",
            (true, false, true) => "copies, ld/st",
            (false, true, true) => "multiplies, ld/st",
            (true, true, true) => "all",
            (false, false, false) => "",
        }
    }

    /// The CTAs that are drawn, those first where something is wrong.
    fn ctas(&self) -> (Vec<u32>, usize) {
        let all: BTreeSet<u32> = self.rows.iter().map(|row| row.cta).collect();
        let mut order: Vec<u32> = all.into_iter().collect();
        let is_calm = |cta: u32| {
            let found =
                self.record.marks.iter().any(|mark| {
                    matches!(mark.what, Event::Finding { .. }) && self.track(mark.track).cta == cta
                });
            !found && self.record.tracks.iter().all(|track| track.cta != cta || track.stands.is_none())
        };
        order.sort_by_key(|cta| (is_calm(*cta), *cta));
        let left = order.len().saturating_sub(MOST_CTAS);
        order.truncate(MOST_CTAS);
        order.sort_unstable();
        (order, left)
    }

    fn draw(&self, out: &mut dyn Write) -> io::Result<()> {
        let (ctas, left) = self.ctas();
        let rows: Vec<&Row> = self.rows.iter().filter(|row| ctas.contains(&row.cta)).collect();
        let heading = self.rows.iter().any(|row| row.cta != 0);
        let label = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let width = self.look.width.saturating_sub(label + 5).max(NARROWEST);
        let times = self.times(&rows);
        let mut reached = 0;
        for (index, (first, last)) in self.stretches(&times, width).into_iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            if first > reached {
                writeln!(out, "  steps {} to {} are left out", times[reached], times[first])?;
                writeln!(out)?;
            }
            reached = last;
            let axis = Axis::new(times[first..=last].to_vec(), width);
            self.stretch_of(&rows, &axis, (label, heading), out)?;
        }
        if left > 0 {
            writeln!(out, "  and {} more", plural(left, "CTA"))?;
        }
        self.legend(&rows, out)?;
        self.found(out)?;
        self.stand(&rows, out)?;
        if self.record.left_out > 0 {
            writeln!(out, "  {} later things are not drawn", self.record.left_out)?;
        }
        Ok(())
    }

    /// When something changes.
    fn times(&self, rows: &[&Row]) -> Vec<u64> {
        let mut times = vec![0, self.record.end];
        for track in rows.iter().map(|row| row.tracks[0]) {
            let slices = self.slices[track as usize].iter().map(|at| &self.record.slices[*at]);
            times.extend(slices.flat_map(|slice| [slice.start, slice.end]));
            let marks = self.marks[track as usize].iter().map(|at| &self.record.marks[*at]);
            times.extend(marks.map(|mark| mark.at));
        }
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Which times are drawn, each stretch in lines of its own: all if they fit into three, else the first and
    /// the last ones, and those around the first finding.
    fn stretches(&self, times: &[u64], width: usize) -> Vec<(usize, usize)> {
        let room = width.saturating_sub(1) as f64 * DENSEST;
        let places = axis::places(times);
        let last = times.len() - 1;
        let end_of = |first: usize| {
            (places.partition_point(|place| *place - places[first] <= room) - 1)
                .clamp((first + 1).min(last), last)
        };
        let start_of = |end: usize| places.partition_point(|place| places[end] - *place > room).min(end);
        let first = end_of(0);
        if first == last {
            return vec![(0, last)];
        }
        let second = end_of(first);
        if second == last {
            return vec![(0, first), (first, last)];
        }
        if end_of(second) == last {
            return vec![(0, first), (first, second), (second, last)];
        }
        let hangs = self.record.tracks.iter().any(|track| track.stands.is_some());
        let end = start_of(last);
        let found = self
            .record
            .marks
            .iter()
            .find(|mark| matches!(mark.what, Event::Finding { is_primary: true, .. }))
            .map(|mark| times.partition_point(|time| *time < mark.at).min(last));
        // More of what comes before than of what comes behind.
        let around = |at: usize| {
            let before = places.partition_point(|place| places[at] - *place > room * 0.7).max(first);
            (before, end_of(before))
        };
        match found {
            Some(at) if hangs && (first..end).contains(&at) => {
                let (before, behind) = around(at);
                vec![(0, first), (before, behind.min(end)), (end, last)]
            }
            Some(at) if !hangs && at < first => vec![(0, first)],
            Some(at) if !hangs => vec![(0, first), around(at)],
            Some(_) | None => vec![(0, first), (end, last)],
        }
    }

    fn stretch_of(
        &self,
        rows: &[&Row],
        axis: &Axis,
        (label, heading): (usize, bool),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(out, "  {:label$} {}", "step", axis.numbers())?;
        let mut cta = None;
        for row in rows {
            if heading && cta != Some(row.cta) {
                writeln!(out, "  CTA {}", row.cta)?;
                cta = Some(row.cta);
            }
            let cells = self.cells(row, axis);
            if cells.iter().all(|cell| cell.symbol == ' ') {
                continue;
            }
            write!(out, "  {:label$} ", row.label)?;
            self.paint(&cells, out)?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn paint(&self, cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
        let end = cells.iter().rposition(|cell| cell.symbol != ' ').map_or(0, |at| at + 1);
        let mut paint = Paint::Plain;
        for cell in &cells[..end] {
            if self.look.color && cell.paint != paint {
                write!(out, "\u{1b}[0m")?;
                if cell.paint != Paint::Plain {
                    write!(out, "\u{1b}[{}m", cell.paint.codes())?;
                }
                paint = cell.paint;
            }
            write!(out, "{}", cell.symbol)?;
        }
        if paint != Paint::Plain {
            write!(out, "\u{1b}[0m")?;
        }
        Ok(())
    }

    fn cells(&self, row: &Row, axis: &Axis) -> Vec<Cell> {
        let number = row.tracks[0];
        let track = self.track(number);
        let is_line = matches!(track.who, Who::Warp { .. });
        let mut cells = vec![Cell { symbol: ' ', paint: Paint::Plain }; axis.width];
        if is_line {
            let (from, to) = (axis.column(track.life.0), axis.column(track.life.1));
            for cell in &mut cells[from.min(axis.width)..to.min(axis.width)] {
                cell.symbol = '─';
            }
        }
        for slice in self.slices[number as usize].iter().map(|at| &self.record.slices[*at]) {
            if slice.end < axis.first() || slice.start > axis.last() {
                continue;
            }
            let (from, to) = (axis.column(slice.start), axis.column(slice.end));
            let to = if slice.is_open || axis.is_whole { to.max(from + 1) } else { to };
            let paint = match (slice.what.is_wait(), slice.is_open) {
                (true, true) => Paint::Stuck,
                (true, false) => Paint::Wait,
                (false, _) => Paint::Busy,
            };
            let symbol = self.symbol(slice.what);
            for cell in &mut cells[from.min(axis.width)..to.min(axis.width)] {
                *cell = Cell { symbol, paint };
            }
        }
        let mut ranks = vec![0; axis.width];
        let marks =
            row.tracks.iter().flat_map(|track| self.marks[*track as usize].iter().map(|at| (*track, at)));
        for (track, mark) in marks.map(|(track, at)| (track, &self.record.marks[*at])) {
            // What is found of one of them concerns the line.
            let is_seen = track == number || matches!(mark.what, Event::Finding { .. });
            if mark.at < axis.first() || mark.at > axis.last() || !is_seen {
                continue;
            }
            let (rank, symbol, paint) = match mark.what {
                Event::Finding { .. } => (4, '!', Paint::Found),
                Event::Exit => (3, '■', Paint::Plain),
                Event::Arrive { barrier, .. } => {
                    (2, self.letter(barrier).to_ascii_uppercase(), Paint::Arrive)
                }
                Event::NamedArrive(id) => (2, digit(id), Paint::Arrive),
                Event::Commit | Event::Copy | Event::Tensor | Event::Alloc | Event::Dealloc => continue,
            };
            let at = axis.column(mark.at).min(axis.width - 1);
            if rank >= ranks[at] {
                ranks[at] = rank;
                cells[at] = Cell { symbol, paint };
            }
        }
        if track.stands.is_some()
            && is_line
            && axis.last() == self.record.end
            && let Some(last) = cells.last_mut()
        {
            *last = Cell { symbol: '×', paint: Paint::Found };
        }
        cells
    }

    fn letter(&self, barrier: u32) -> char {
        self.letters.get(barrier as usize).copied().unwrap_or('*')
    }

    fn symbol(&self, what: Activity) -> char {
        match what {
            Activity::Mbarrier { barrier, .. } => self.letter(barrier),
            Activity::Named(id) => digit(id),
            Activity::Cluster => '%',
            Activity::Warp => '=',
            Activity::Copied | Activity::Moved => '~',
            Activity::Columns(_) => '$',
            Activity::Registers(_) => '&',
            Activity::Memory => '?',
            Activity::Copy { stores: false, .. } | Activity::Grant | Activity::Load => '▒',
            Activity::Copy { stores: true, .. } | Activity::Store => '░',
            Activity::Multiply => '█',
            Activity::Rearrange => '▓',
            Activity::Commit => ' ',
        }
    }

    fn line(&self, span: Span) -> u32 {
        self.source.position(span.start).line
    }
}

fn digit(id: u32) -> char {
    char::from_digit(id % 10, 10).unwrap_or('0')
}
