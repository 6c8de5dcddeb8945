//! Which lines of its sources a module comes from: what its compiler wrote into `.file`, `.loc` and
//! the DWARF strings of `.section`.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::unit::Unit;
use crate::source::Source;
use crate::syntax::ast::{Location, Section, StatementKind};
use crate::syntax::section::{Item, Value};

/// Of calls that were inlined into each other, so many are told.
const MAX_FRAMES: usize = 16;

/// The comments that LLVM writes around the assembly of an `asm` statement, each on a line of its own.
const ASSEMBLY_BEGINS: &str = "// begin inline asm";
const ASSEMBLY_ENDS: &str = "// end inline asm";

/// The lines of a source that a place in a module was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The line itself, and then the calls through which it was inlined. There is at least one.
    pub frames: Vec<Frame>,
    /// Whether the compiler named no line for the place, so that this is the last line before it in
    /// the same function.
    pub is_near: bool,
    /// Which instruction of the inline assembly the place is in, from 1; 0 outside of inline assembly.
    /// It tells apart what one line of a source was compiled to, and is the same in each copy of the line.
    pub instruction: u32,
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
                let Place { is_near, instruction, .. } = *place;
                (!frames.is_empty()).then(|| Arc::new(Self { frames, is_near, instruction }))
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
    instruction: u32,
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
    let mut assemblies = Assemblies::new(&unit.source);
    let mut instruction = 0;
    // The last `.loc` of a place in this function, and the one that a `.loc` was inlined for.
    let mut places: FxHashMap<(u32, u32, u32), u32> = FxHashMap::default();
    let mut calls: FxHashMap<u32, u32> = FxHashMap::default();
    let place = |current: Option<u32>, is_near: bool, instruction: u32, calls: &FxHashMap<u32, u32>| {
        let chain = std::iter::successors(current, |location| calls.get(location).copied());
        current.map(|_| Place { locations: chain.take(MAX_FRAMES).collect(), is_near, instruction })
    };
    let Some(mut next) = order.peek().map(|&index| offsets[index]) else { return found };
    for statement in &module.statements {
        if next < statement.span.start {
            while let Some(index) = order.next_if(|&index| offsets[index] < statement.span.start) {
                found[index] = place(current, is_near, instruction, &calls);
            }
            let Some(&index) = order.peek() else { break };
            next = offsets[index];
        }
        let is_in_assembly = match assemblies.at(statement.span.start) {
            Within::Nothing => {
                instruction = 0;
                false
            }
            Within::New => {
                instruction = 0;
                true
            }
            Within::Same => true,
        };
        match statement.kind() {
            // It counts the lines of the template, from where the `asm` statement is. That may be the line of
            // anything.
            StatementKind::Loc(_) if is_in_assembly => {}
            StatementKind::Instruction(_) | StatementKind::Broken if is_in_assembly => instruction += 1,
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
        found[index] = place(current, is_near, instruction, &calls);
    }
    found
}

/// The inline assembly of a text, from its start to its end.
struct Assemblies<'s> {
    text: &'s str,
    begins: memchr::memmem::Finder<'static>,
    ends: memchr::memmem::Finder<'static>,
    /// The first that ends behind the place that was last asked about.
    next: Option<Range<usize>>,
    is_entered: bool,
}

/// Whether a place is in inline assembly, as compared with the place before it.
enum Within {
    Nothing,
    /// It is the first one in it.
    New,
    Same,
}

impl<'s> Assemblies<'s> {
    fn new(source: &'s Source) -> Self {
        let text = source.text();
        let begins = memchr::memmem::Finder::new(ASSEMBLY_BEGINS);
        let ends = memchr::memmem::Finder::new(ASSEMBLY_ENDS);
        let mut assemblies = Self { text, begins, ends, next: None, is_entered: false };
        assemblies.next = assemblies.after(0);
        assemblies
    }

    /// Where a place is that stands behind all those that were asked about.
    fn at(&mut self, offset: u32) -> Within {
        let offset = offset as usize;
        while let Some(next) = self.next.clone() {
            if offset < next.start {
                break;
            }
            if offset < next.end {
                let is_same = std::mem::replace(&mut self.is_entered, true);
                return if is_same { Within::Same } else { Within::New };
            }
            self.is_entered = false;
            self.next = self.after(next.end);
        }
        Within::Nothing
    }

    /// The first inline assembly behind a place.
    fn after(&self, from: usize) -> Option<Range<usize>> {
        let all = self.text.len();
        let mut start = self.find(&self.begins, from..all)?;
        let end = self.find(&self.ends, start..all)?;
        // One without an end is not believed.
        while let Some(later) = self.find(&self.begins, start + 1..end) {
            start = later;
        }
        Some(start..end)
    }

    /// The first of these comments in a piece of the text that has a line for itself.
    fn find(&self, comment: &memchr::memmem::Finder<'_>, within: Range<usize>) -> Option<usize> {
        let text = self.text.as_bytes();
        let mut found = comment.find_iter(text.get(within.clone())?).map(|at| within.start + at);
        found.find(|at| {
            let before = text[..*at].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
            let behind = text.get(at + comment.needle().len());
            matches!(before, None | Some(b'\n')) && matches!(behind, None | Some(b'\n' | b'\r'))
        })
    }
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
type NameKey = (Range<usize>, u32);

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

    /// nvcc counts the lines of a template from the line of its statement on.
    #[test]
    fn what_is_in_an_asm_statement_is_from_its_line() {
        let text = format!(
            "{HEADER}.file 1 \"a.cu\"\n.entry k() {{\n .loc 1 3 5\n .loc 1 7 1, function_name f, inlined_at 1 3 5\n\
             \t// begin inline asm\n {{ .reg .b32 t;\n .loc 1 8 1, function_name f, inlined_at 1 3 5\n mark0;\n \
             .loc 1 20 3\n mark1;\n }}\n\t// end inline asm\n mark2;\n\t// begin inline asm\n .loc 1 7 1\n mark3;\n \
             // end inline asm\n .loc 1 20 3, function_name f, inlined_at 1 9 9\n mark4;\n /* // begin inline asm */\n \
             .loc 1 21 1\n mark5;\n\t// begin inline asm\n .loc 1 22 1\n mark6;\n}}\n.entry l() {{\n .loc 1 30 1\n \
             // begin inline asm\n .loc 1 31 1\n mark7;\n // end inline asm\r\n}}\n"
        );
        let marks: Vec<String> = (0..8).map(|n| format!("mark{n};")).collect();
        let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
        let inlined = "a.cu:7:1 < a.cu:3:5";
        assert_eq!(
            provenance(&text, &marks),
            [
                inlined,
                inlined,
                inlined,
                inlined,
                "a.cu:20:3 < a.cu:9:9",
                "a.cu:21:1",
                // This one has no end.
                "a.cu:22:1",
                "a.cu:30:1"
            ]
        );
        let offsets: Vec<u32> = marks.iter().map(|mark| text.find(mark).unwrap() as u32).collect();
        let found = Provenance::of(&unit(&text), &offsets);
        let instructions: Vec<u32> = found.iter().flatten().map(|it| it.instruction).collect();
        assert_eq!(instructions, [1, 2, 0, 1, 0, 0, 0, 1]);
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
