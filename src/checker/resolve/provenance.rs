//! Which lines of its sources a module comes from: what its compiler wrote into `.file`, `.loc` and
//! the DWARF strings of `.section`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::unit::Unit;
use crate::source::Source;
use crate::syntax::ast::{Location, Section, StatementKind};
use crate::syntax::section::{Item, Value};

/// Of calls that were inlined into each other, so many are told.
const MAX_FRAMES: usize = 16;

/// The lines of a source that a place in a module was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The line itself, and then the calls through which it was inlined. There is at least one.
    pub frames: Vec<Frame>,
    /// Whether the compiler named no line for the place, so that this is the last line before it in
    /// the same function.
    pub is_near: bool,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The file, as the compiler called it.
    pub path: Arc<str>,
    /// How many bytes it had then, if the compiler says so.
    pub size: Option<u64>,
    /// From 1.
    pub line: u32,
    /// From 1, if it is known.
    pub column: Option<u32>,
    /// The function that was inlined, by its symbol; unknown for the outermost one.
    pub function: Option<Arc<str>>,
}

impl Provenance {
    /// The lines that places of a module were compiled from, in the order of `offsets`; `None` for
    /// what no `.loc` stands before.
    pub fn of(unit: &Unit, offsets: &[u32]) -> Vec<Option<Arc<Self>>> {
        if unit.module.locations.is_empty() || offsets.is_empty() {
            return vec![None; offsets.len()];
        }
        let found = locate(unit, offsets);
        let files = files(unit);
        let names = function_names(unit, found.iter().flatten().flat_map(|place| &place.locations));
        let frame = |file: u32, line: u32, column: u32, function: Option<Arc<str>>| {
            let (path, size) = files.get(&file)?.clone();
            Some(Frame { path, size, line, column: Some(column).filter(|&column| column > 0), function })
        };
        // Many findings stand at one line.
        let mut known: FxHashMap<Place, Option<Arc<Self>>> = FxHashMap::default();
        let mut provenance = |place: Place| {
            let of = |place: &Place| {
                let mut frames = Vec::new();
                let mut last = None;
                for &index in &place.locations {
                    let location = unit.module.locations.get(index as usize)?;
                    let inlined = location.inlined.and_then(|at| unit.module.inlined.get(at as usize));
                    let function = inlined.and_then(|inlined| {
                        names.get(&(inlined.function_name?.range(), inlined.offset)).cloned()
                    });
                    frames.extend(frame(location.file, location.line, location.column, function));
                    last = inlined;
                }
                // The call that no `.loc` of its own describes.
                frames.extend(last.and_then(|call| frame(call.file, call.line, call.column, None)));
                frames.truncate(MAX_FRAMES);
                (!frames.is_empty()).then(|| Arc::new(Self { frames, is_near: place.is_near }))
            };
            known.entry(place).or_insert_with_key(of).clone()
        };
        found.into_iter().map(|place| provenance(place?)).collect()
    }
}

/// What the `.loc`s say of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    /// The `.loc` of the line, that of the call it was inlined for, and so on.
    locations: Vec<u32>,
    is_near: bool,
}

/// The `.loc`s that hold at each offset.
fn locate(unit: &Unit, offsets: &[u32]) -> Vec<Option<Place>> {
    let module = &unit.module;
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_unstable_by_key(|&index| offsets[index]);
    let mut order = order.into_iter().peekable();
    let mut found = vec![None; offsets.len()];
    let mut current: Option<u32> = None;
    let mut is_near = false;
    // The last `.loc` of a place in this function, and the one that a `.loc` was inlined for.
    let mut places: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
    let mut calls: FxHashMap<u32, u32> = FxHashMap::default();
    let place = |current: Option<u32>, is_near: bool, calls: &FxHashMap<u32, u32>| {
        let chain = std::iter::successors(current, |location| calls.get(location).copied());
        current.map(|_| Place { locations: chain.take(MAX_FRAMES).collect(), is_near })
    };
    let Some(mut next) = order.peek().map(|&index| offsets[index]) else { return found };
    for statement in &module.statements {
        if next < statement.span.start {
            while let Some(index) = order.next_if(|&index| offsets[index] < statement.span.start) {
                found[index] = place(current, is_near, &calls);
            }
            let Some(&index) = order.peek() else { break };
            next = offsets[index];
        }
        match statement.kind() {
            StatementKind::FunctionOpen(_)
            | StatementKind::UnknownFunctionOpen
            | StatementKind::FunctionClose => {
                current = None;
                places.clear();
            }
            StatementKind::Loc(index) => {
                let Some(location) = module.locations.get(index as usize) else { continue };
                let Location { file, line, column, inlined } = *location;
                is_near = line == 0;
                if is_near {
                    continue;
                }
                current = Some(index);
                if let Some(call) = inlined.and_then(|inlined| module.inlined.get(inlined as usize)) {
                    let caller = places.get(&(call.file, call.line, call.column));
                    calls.extend(caller.map(|&caller| (index, caller)));
                }
                places.insert((file, line, column), index);
            }
            StatementKind::Instruction(_)
            | StatementKind::Label
            | StatementKind::Declaration(_)
            | StatementKind::Prototype(_)
            | StatementKind::BlockOpen
            | StatementKind::BlockClose
            | StatementKind::Version
            | StatementKind::Target
            | StatementKind::AddressSize
            | StatementKind::File(_)
            | StatementKind::Section(_)
            | StatementKind::Pragma(_)
            | StatementKind::Alias(_)
            | StatementKind::BranchTargets(_)
            | StatementKind::CallTargets(_)
            | StatementKind::CallPrototype(_)
            | StatementKind::Broken => {}
        }
    }
    for index in order {
        found[index] = place(current, is_near, &calls);
    }
    found
}

/// Names and sizes of the files by their numbers.
fn files(unit: &Unit) -> FxHashMap<u32, (Arc<str>, Option<u64>)> {
    let files = unit.module.files.iter().rev();
    files
        .map(|file| {
            let name = unit.source.slice(file.name).trim_matches('"').replace("\\\\", "\\");
            let size = file.stamp.map(|(_, size)| size).filter(|&size| size > 0);
            (file.index, (Arc::from(name), size))
        })
        .collect()
}

/// A label of a section, by where a `.loc` names it, and how far behind it a name starts.
type NameKey = (std::ops::Range<usize>, u32);

/// The names of functions that these `.loc`s give.
fn function_names<'a>(unit: &Unit, locations: impl Iterator<Item = &'a u32>) -> FxHashMap<NameKey, Arc<str>> {
    let locations = locations.filter_map(|&index| unit.module.locations.get(index as usize)?.inlined);
    let wanted: Vec<NameKey> = locations
        .filter_map(|index| unit.module.inlined.get(index as usize))
        .filter_map(|inlined| Some((inlined.function_name?.range(), inlined.offset)))
        .collect();
    if wanted.is_empty() {
        return FxHashMap::default();
    }
    // Such sections are long, so that each is read once.
    let strings: Vec<Strings<'_>> =
        unit.module.sections.iter().map(|section| Strings::new(&unit.source, section)).collect();
    let text = unit.source.text();
    let name = |(label, offset): &NameKey| {
        let label = text.get(label.clone())?;
        strings.iter().find_map(|strings| strings.at(label, *offset))
    };
    wanted.into_iter().filter_map(|key| Some((key.clone(), Arc::from(name(&key)?)))).collect()
}

/// The bytes of a section, and where its labels are.
struct Strings<'s> {
    bytes: Vec<u8>,
    labels: FxHashMap<&'s str, usize>,
}

impl<'s> Strings<'s> {
    fn new(source: &'s Source, section: &Section) -> Self {
        let mut strings = Self { bytes: Vec::new(), labels: FxHashMap::default() };
        if source.slice(section.name) != ".debug_str" {
            return strings;
        }
        for item in section.place().items(source) {
            match item {
                Item::Label(span) => {
                    strings.labels.insert(source.slice(span), strings.bytes.len());
                }
                Item::Value { ty, value } => {
                    let number = match value {
                        Value::Number(number) => number,
                        // No character: the string ends.
                        Value::Address(..) | Value::Distance(..) => 0,
                    };
                    let width = ty.bits().unwrap_or(8).div_ceil(8).min(8) as usize;
                    strings.bytes.extend_from_slice(&number.to_le_bytes()[..width]);
                }
            }
        }
        strings
    }

    fn at(&self, label: &str, offset: u32) -> Option<&str> {
        let start = self.labels.get(label)?.checked_add(offset as usize)?;
        let bytes = self.bytes.get(start..)?;
        std::str::from_utf8(&bytes[..memchr::memchr(0, bytes)?]).ok().filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::new(&Source::new("k.ptx", text).unwrap())
    }

    /// What is said of the place of each marked text, one line each.
    fn provenance(text: &str, marks: &[&str]) -> Vec<String> {
        let unit = unit(text);
        let offsets: Vec<u32> = marks.iter().map(|mark| text.find(mark).unwrap() as u32).collect();
        let all = Provenance::of(&unit, &offsets).into_iter();
        all.map(|provenance| {
            let Some(provenance) = provenance else { return "unknown".to_owned() };
            let frames = provenance.frames.iter().map(|frame| {
                let column = frame.column.map_or(String::new(), |column| format!(":{column}"));
                let function = frame.function.as_ref().map_or(String::new(), |name| format!(" in {name}"));
                format!("{}:{}{column}{function}", frame.path, frame.line)
            });
            let near = if provenance.is_near { "near " } else { "" };
            format!("{near}{}", frames.collect::<Vec<_>>().join(" < "))
        })
        .collect()
    }

    const HEADER: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

    #[test]
    fn the_last_loc_before_a_place_holds() {
        let text = format!(
            "{HEADER}.file 1 \"a.cu\"\n.file 2 \"b.cuh\", 1700000000, 42\n.entry k() {{\n mark0;\n .loc 1 3 5\n \
             mark1;\n mark2;\n .loc 2 7 0\n mark3; .loc 2 0 0\n mark4;\n}}\n.entry l() {{\n mark5;\n .loc 9 1 1\n \
             mark6;\n}}\n"
        );
        let marks: Vec<String> = (0..7).map(|n| format!("mark{n};")).collect();
        let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
        assert_eq!(
            provenance(&text, &marks),
            ["unknown", "a.cu:3:5", "a.cu:3:5", "b.cuh:7", "near b.cuh:7", "unknown", "unknown"]
        );
        let offset = text.find("mark3").unwrap() as u32;
        let found = Provenance::of(&unit(&text), &[offset]);
        assert_eq!(found[0].as_ref().unwrap().frames[0].size, Some(42));
    }

    #[test]
    fn what_was_inlined_says_where() {
        let text = format!(
            "{HEADER}.file 1 \"a.cu\"\n.file 2 \"b.cuh\"\n.entry k() {{\n .loc 1 3 5\n .loc 2 7 1, function_name f, \
             inlined_at 1 3 5\n mark0;\n .loc 2 9 2, function_name f + 2, inlined_at 2 7 1\n mark1;\n .loc 1 4 4\n \
             .loc 2 7 1, function_name g, inlined_at 1 4 4\n .loc 2 9 2, function_name f, inlined_at 2 7 1\n \
             mark2;\n .loc 2 9 2, function_name h, inlined_at 1 8 8\n mark3;\n}}\n\
             .section .debug_str {{\n f:\n .b8 102, 49, 50\n .b8 0\n g:\n .b8 103, 0\n }}\n"
        );
        assert_eq!(
            provenance(&text, &["mark0", "mark1", "mark2", "mark3"]),
            [
                "b.cuh:7:1 in f12 < a.cu:3:5",
                "b.cuh:9:2 in 2 < b.cuh:7:1 in f12 < a.cu:3:5",
                "b.cuh:9:2 in f12 < b.cuh:7:1 in g < a.cu:4:4",
                "b.cuh:9:2 < a.cu:8:8",
            ]
        );
    }

    #[test]
    fn a_chain_of_calls_has_an_end() {
        let calls: String = (1..100)
            .map(|line| format!(" .loc 1 {} 1, function_name f, inlined_at 1 {line} 1\n", line + 1))
            .collect();
        let text = format!(
            "{HEADER}.file 1 \"a.cu\"\n.entry k() {{\n .loc 1 1 1\n .loc 1 1 1, function_name f, inlined_at 1 1 1\n{calls} mark;\n}}\n"
        );
        assert_eq!(provenance(&text, &["mark"])[0].matches('<').count(), MAX_FRAMES - 1);
    }
}
