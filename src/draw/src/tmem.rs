//! The Tensor Memory of a kernel over its instructions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::lines::{brief, cut};
use crate::picture::{Bar, Bars, Block, Chart, Ink, Key, Picture};

/// What a kernel does with Tensor Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The kernel.
    pub kernel: String,
    /// Its allocations, and what else addresses are counted from.
    pub spaces: Vec<Space>,
    /// Instructions whose columns are not known.
    pub unknown: Vec<Place>,
}

/// Columns that are counted from one address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// What the address is called.
    pub name: String,
    /// How many columns it has, if it is an allocation of a known size.
    pub columns: Option<u32>,
    /// What happens to them, in the order of the text or of time.
    pub steps: Vec<Step>,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its line, from 1.
    pub line: u32,
    /// Its opcode.
    pub opcode: String,
}

/// What an instruction does to columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The instruction.
    pub place: Place,
    /// What it does.
    pub action: Action,
    /// The columns: the first one, and how many.
    pub columns: Vec<(u32, u32)>,
    /// What else is known: whose lanes, which matrix.
    pub detail: String,
    /// How often it was done, if that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

/// What is done to columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// They are allocated.
    Allocate,
    /// A multiply writes them.
    Accumulate,
    /// A multiply reads A, metadata or scale factors from them.
    Operand,
    /// A copy from shared memory writes them.
    Copy,
    /// Registers are stored there.
    Store,
    /// They are loaded.
    Load,
    /// Their rows are shifted.
    Shift,
    /// They are freed.
    Free,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Allocate,
        Self::Accumulate,
        Self::Operand,
        Self::Copy,
        Self::Store,
        Self::Load,
        Self::Shift,
        Self::Free,
    ];

    const fn looks(self) -> (Ink, &'static str, &'static str) {
        match self {
            Self::Allocate => (Ink::Tone(7), "=", "alloc: allocates"),
            Self::Accumulate => (Ink::Tone(0), "D", "mma: writes the accumulator"),
            Self::Operand => (Ink::Tone(3), "a", "mma: reads A, metadata or scale factors"),
            Self::Copy => (Ink::Tone(1), "c", "cp: writes from shared memory"),
            Self::Store => (Ink::Tone(6), "s", "st: writes from registers"),
            Self::Load => (Ink::Tone(2), "l", "ld: reads into registers"),
            Self::Shift => (Ink::Tone(5), "v", "shift: moves rows"),
            Self::Free => (Ink::Empty, "-", "dealloc: frees"),
        }
    }
}

/// The longest opcode that is written.
const LONGEST: usize = 44;

/// The picture.
pub fn picture(kernel: &Use) -> Picture {
    let mut blocks = Vec::new();
    let mut actions = BTreeSet::new();
    for space in &kernel.spaces {
        blocks.push(Block::Chart(chart(space)));
        actions.extend(space.steps.iter().map(|step| step.action));
    }
    let key = |action: &Action| {
        let (ink, sign, text) = action.looks();
        Key { ink, sign: sign.to_owned(), text: text.to_owned() }
    };
    let mut notes = Vec::new();
    if !kernel.unknown.is_empty() {
        let all: Vec<String> = kernel.unknown.iter().take(8).map(label).collect();
        let more = kernel.unknown.len().saturating_sub(8);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        notes.push(format!("Not known are the columns of {}{more}.", all.join("; ")));
    }
    if kernel.spaces.is_empty() {
        notes.push("No instruction uses columns that are known.".to_owned());
    }
    Picture {
        title: if kernel.spaces.iter().any(|space| space.steps.iter().any(|step| step.times.is_some())) {
            format!("{}: columns of Tensor Memory in the run", kernel.kernel)
        } else {
            format!("{}: columns of Tensor Memory, instruction by instruction", kernel.kernel)
        },
        blocks,
        legend: actions.iter().map(key).collect(),
        notes,
    }
}

fn label(place: &Place) -> String {
    format!("line {} {}", place.line, cut(&brief(&place.opcode), LONGEST))
}

fn chart(space: &Space) -> Chart {
    let ends = |step: &Step| {
        step.columns
            .iter()
            .flat_map(|(first, count)| [u64::from(*first), u64::from(first + count)])
            .collect::<Vec<_>>()
    };
    let mut stops: BTreeSet<u64> = space.steps.iter().flat_map(ends).collect();
    stops.insert(0);
    stops.extend(space.columns.map(u64::from));
    // What several instructions do one after the other is drawn once.
    let is_same = |one: &Step, other: &Step| {
        let kind = |step: &Step| (step.action, step.place.opcode.clone(), step.detail.clone());
        one.times.is_none() && kind(one) == kind(other) && one.columns == other.columns
    };
    let row = |steps: &[Step]| {
        let [step, ..] = steps else { return Bars::default() };
        let (ink, sign, text) = step.action.looks();
        let bar = |&(first, count): &(u32, u32)| Bar {
            start: first.into(),
            end: (first + count).into(),
            ink,
            sign: sign.to_owned(),
            text: step.detail.clone(),
            hint: format!("columns {first} to {}: {text}. {}", (first + count).max(1) - 1, step.detail),
        };
        let label = match steps {
            [.., last] if steps.len() > 1 => {
                let opcode = cut(&brief(&step.place.opcode), LONGEST);
                format!("lines {}-{} {opcode}, {} times", step.place.line, last.place.line, steps.len())
            }
            _ => {
                let times = step.times.filter(|times| *times > 1);
                label(&step.place) + &times.map(|times| format!(", {times} times")).unwrap_or_default()
            }
        };
        Bars { label, bars: step.columns.iter().map(bar).collect(), ..Bars::default() }
    };
    let size = space.columns.map_or_else(String::new, |columns| format!(", {columns} columns"));
    Chart {
        title: format!("from {}{size}", space.name),
        rows: space.steps.chunk_by(is_same).map(row).collect(),
        ..Chart::even("column", stops.into_iter().collect())
    }
}
