//! What a picture consists of, before anybody decides how it looks.

use serde::{Deserialize, Serialize};

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// What it shows; screen readers say it.
    pub title: String,
    /// Its parts, from the top.
    pub blocks: Vec<Block>,
    /// What the inks and letters mean.
    pub legend: Vec<Key>,
    /// What has to be known besides.
    pub notes: Vec<String>,
}

/// A part of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Rows and columns of cells.
    Grid(Grid),
    /// Lines of words.
    Table(Table),
    /// Bars along an axis.
    Chart(Chart),
    /// What comes together, and who comes.
    Meetings(Vec<Meeting>),
}

/// Rows of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// What it shows; empty if the picture's title says it.
    pub title: String,
    /// What the rows and the columns are: `lane \ column`.
    pub corner: String,
    /// What the columns are called; each covers one or more of them.
    pub heads: Vec<Head>,
    /// The rows.
    pub rows: Vec<Line>,
    /// Where lines may be broken that are too long: at multiples of so many columns.
    pub fold: u32,
}

/// The name of some columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The name.
    pub text: String,
    /// How many columns have it.
    pub span: u32,
}

/// A row of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What the row is called.
    pub label: String,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// A cell: as wide as one or more columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What is written in it.
    pub text: String,
    /// What kind of cell it is.
    pub ink: Ink,
    /// How many columns it covers.
    pub span: u32,
}

impl Cell {
    /// A cell of one column.
    pub fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink, span: 1 }
    }

    /// The same over several columns.
    #[must_use]
    pub fn over(self, span: u32) -> Self {
        Self { span, ..self }
    }
}

/// What kind of thing something is. Each has a colour and a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ink {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Nothing is there.
    Empty,
    /// One of [`Ink::TONES`] kinds that are told apart; larger numbers start again.
    Tone(u8),
    /// Something is wrong.
    Wrong,
}

impl Ink {
    /// How many tones there are.
    pub const TONES: u8 = 8;

    /// A tone by any number.
    pub const fn tone(number: u32) -> Self {
        Self::Tone((number % Self::TONES as u32) as u8)
    }
}

/// An entry of the legend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// How it looks.
    pub ink: Ink,
    /// What is written in it.
    pub sign: String,
    /// What it means.
    pub text: String,
}

/// Lines of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows; may be empty.
    pub title: String,
    /// The names of the columns.
    pub heads: Vec<String>,
    /// The lines.
    pub rows: Vec<TableRow>,
}

/// A line of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// The kind of what it is about, as elsewhere in the picture.
    pub ink: Ink,
    /// The words.
    pub words: Vec<String>,
}

/// Bars along an axis: time, or the columns of Tensor Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chart {
    /// What it shows; may be empty.
    pub title: String,
    /// What the axis counts: `step`, `column`.
    pub axis: String,
    /// The places where something changes, in order. Bars lie between two of them.
    pub stops: Vec<u64>,
    /// How far each of these is from the first, in parts of [`Chart::WHOLE`].
    pub places: Vec<u32>,
    /// The rows.
    pub rows: Vec<Bars>,
}

impl Chart {
    /// What places count up to.
    pub const WHOLE: u32 = 10_000;

    /// A chart whose axis is as long everywhere.
    pub fn even(axis: &str, stops: Vec<u64>) -> Self {
        let (first, last) = ends(&stops);
        let of = |stop: &u64| part(stop - first, last - first);
        let places = stops.iter().map(of).collect();
        Self { axis: axis.to_owned(), stops, places, ..Self::default() }
    }

    /// A chart whose axis is shorter where nothing changes for long: between two stops it is as long as the logarithm
    /// of their distance.
    pub fn dense(axis: &str, stops: Vec<u64>) -> Self {
        let mut at = 0;
        let mut lengths = vec![0];
        for pair in stops.windows(2) {
            at += 3 + u64::from((pair[1] - pair[0]).max(1).ilog2());
            lengths.push(at);
        }
        let places = lengths.iter().map(|length| part(*length, at)).collect();
        Self { axis: axis.to_owned(), stops, places, ..Self::default() }
    }

    /// How far something is from the start of the axis, in parts of [`Chart::WHOLE`].
    pub fn place(&self, at: u64) -> u32 {
        let behind = self.stops.partition_point(|stop| *stop <= at);
        let Some(before) = behind.checked_sub(1) else { return 0 };
        let of = |index: usize| self.places.get(index).copied().unwrap_or(Self::WHOLE).min(Self::WHOLE);
        let Some(next) = self.stops.get(behind) else { return of(before) };
        let (from, to) = (self.stops[before], *next);
        let distance = u128::from(of(behind).saturating_sub(of(before)));
        of(before) + (distance * u128::from(at - from) / u128::from((to - from).max(1))) as u32
    }
}

fn ends(stops: &[u64]) -> (u64, u64) {
    (stops.first().copied().unwrap_or(0), stops.last().copied().unwrap_or(0))
}

/// So many parts of the whole.
fn part(length: u64, of: u64) -> u32 {
    (u128::from(length) * u128::from(Chart::WHOLE) / u128::from(of.max(1))) as u32
}

/// A row of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bars {
    /// What it is called.
    pub label: String,
    /// Whether it is a heading: a label only.
    pub is_heading: bool,
    /// What lies on it. A later bar covers earlier ones.
    pub bars: Vec<Bar>,
    /// What stands at one place of it.
    pub marks: Vec<Mark>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// Where it starts.
    pub start: u64,
    /// Where it ends; it covers nothing of that place.
    pub end: u64,
    /// What kind of bar it is.
    pub ink: Ink,
    /// The letter of its kind in text.
    pub sign: String,
    /// What is written on it where there is room.
    pub text: String,
    /// What else is to be said of it.
    pub hint: String,
}

/// Something at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Where.
    pub at: u64,
    /// The kind.
    pub ink: Ink,
    /// Its letter.
    pub sign: String,
    /// What is to be said of it.
    pub hint: String,
}

/// Something that some come to and others wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// What it is called.
    pub name: String,
    /// What is known of it, line by line.
    pub facts: Vec<String>,
    /// Who comes.
    pub arrives: Vec<Party>,
    /// Who waits.
    pub waits: Vec<Party>,
    /// Whether something is wrong with it.
    pub is_wrong: bool,
}

/// Who takes part in a meeting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// Who it is.
    pub who: String,
    /// By what.
    pub how: String,
}
