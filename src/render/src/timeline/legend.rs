//! What stands below a picture: what its symbols mean, who uses which mbarrier, what was found, and where those
//! are who have not ended.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ptx_check::words::plural;
use ptx_simulation::record::{Activity, Event};

use super::{NARROWEST, Picture, Row};

impl Picture<'_> {
    /// What the symbols mean that are drawn.
    pub(super) fn legend(&self, rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
        let tracks: Vec<u32> = rows.iter().map(|row| row.tracks[0]).collect();
        let mut words: Vec<String> = Vec::new();
        let mut add = |text: String| {
            if !words.contains(&text) {
                words.push(text);
            }
        };
        for slice in self.record.slices.iter().filter(|slice| tracks.contains(&slice.track)) {
            let symbol = self.symbol(slice.what);
            match slice.what {
                Activity::Mbarrier { .. } => {}
                Activity::Named(id) => add(format!("{symbol} waits at barrier {id}")),
                Activity::Cluster => add(format!("{symbol} waits for the cluster")),
                Activity::Warp => add(format!("{symbol} waits for its warp")),
                Activity::Copied | Activity::Moved => add(format!("{symbol} waits for what it started")),
                Activity::Columns(_) => add(format!("{symbol} waits for Tensor Memory")),
                Activity::Registers(_) => add(format!("{symbol} waits for registers")),
                Activity::Memory => add(format!("{symbol} asks memory")),
                Activity::Copy { stores: false, .. } => add(format!("{symbol} to shared memory")),
                Activity::Copy { stores: true, .. } => add(format!("{symbol} from shared memory")),
                Activity::Grant | Activity::Commit => {}
                Activity::Multiply => add(format!("{symbol} multiplies")),
                Activity::Rearrange => add(format!("{symbol} copies to Tensor Memory")),
                Activity::Load => add(format!("{symbol} loads")),
                Activity::Store => add(format!("{symbol} stores")),
            }
        }
        let of_rows = |mark: &&ptx_simulation::record::Mark| tracks.contains(&mark.track);
        if self.record.marks.iter().filter(of_rows).any(|mark| mark.what == Event::Exit) {
            add("■ ends".to_owned());
        }
        if rows.iter().any(|row| self.track(row.tracks[0]).stands.is_some()) {
            add("× stands".to_owned());
        }
        writeln!(out)?;
        let mut line = "  ─ runs".to_owned();
        for word in words {
            if line.chars().count() + word.chars().count() + 3 > self.look.width.max(NARROWEST * 2) {
                writeln!(out, "{line}")?;
                " ".clone_into(&mut line);
            }
            line.push_str(&format!("   {word}"));
        }
        writeln!(out, "{line}")?;
        self.barriers(rows, out)
    }

    /// The mbarriers: who arrives, and who waits. Those of a ring are one line.
    fn barriers(&self, rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
        let mut known: Vec<(char, usize)> = Vec::new();
        for (number, barrier) in self.record.barriers.iter().enumerate() {
            let letter = self.letter(number as u32);
            let is_drawn = rows.iter().any(|row| row.cta == barrier.cta);
            if is_drawn && letter != '*' && known.iter().all(|(other, _)| *other != letter) {
                known.push((letter, number));
            }
        }
        known.sort_unstable();
        let mut groups: Vec<(Vec<(char, usize)>, String)> = Vec::new();
        for (letter, number) in known {
            let barrier = &self.record.barriers[number];
            let (arrive, wait) = self.users(letter, rows);
            let said =
                |names: &[String]| if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            let text = format!(
                "awaits {}: {} \u{2192} {}; {}",
                plural(barrier.count as usize, "arrival"),
                said(&arrive),
                said(&wait),
                phases(barrier.phases)
            );
            match groups.last_mut() {
                Some((members, known)) if *known == text => members.push((letter, number)),
                _ => groups.push((vec![(letter, number)], text)),
            }
        }
        if !groups.is_empty() {
            writeln!(out, "  small letters wait at the mbarrier of that name, capitals arrive at it:")?;
        }
        for (members, text) in groups {
            let name = |number: usize| {
                let barrier = &self.record.barriers[number];
                let of = format!(" of CTA {}", barrier.cta);
                barrier.name.strip_suffix(&of).unwrap_or(&barrier.name).to_owned()
            };
            match members.as_slice() {
                [] => {}
                [(letter, number)] => writeln!(out, "  {letter} {}, {text}", name(*number))?,
                [(first, number), .., (last, other)] => {
                    let words = if members.len() == 2 { "and" } else { "to" };
                    let (number, other) = (name(*number), name(*other));
                    // Of the same memory, only how far on it is.
                    let other = match (number.rsplit_once(" + "), other.rsplit_once(" + ")) {
                        (Some((one, _)), Some((same, at))) if one == same => format!("+ {at}"),
                        _ => other,
                    };
                    writeln!(out, "  {first}-{last} {number} {words} {other}, each {text}")?;
                }
            }
        }
        Ok(())
    }

    /// Who arrives at the mbarriers of a letter, and who waits for them.
    fn users(&self, letter: char, rows: &[&Row]) -> (Vec<String>, Vec<String>) {
        let alike = |other: u32| self.letter(other) == letter;
        let names = |tracks: BTreeSet<u32>| -> Vec<String> {
            let has = |row: &&&Row| row.tracks.iter().any(|track| tracks.contains(track));
            let mut names: Vec<String> = Vec::new();
            for row in rows.iter().filter(has) {
                let name = self.name(row);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        let arrive = self.record.marks.iter().filter_map(|mark| match mark.what {
            Event::Arrive { barrier, .. } if alike(barrier) => Some(mark.track),
            _ => None,
        });
        let seen = self.record.flows.iter().filter(|flow| flow.barrier.is_some_and(|(it, _)| alike(it)));
        let waits = self.record.slices.iter().filter_map(|slice| match slice.what {
            Activity::Mbarrier { barrier, .. } if alike(barrier) => Some(slice.track),
            _ => None,
        });
        (names(arrive.collect()), names(waits.chain(seen.map(|flow| flow.to.0)).collect()))
    }

    /// What was found, and when.
    pub(super) fn found(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = |track: u32| {
            let name =
                self.name(&Row { cta: self.track(track).cta, label: String::new(), tracks: vec![track] });
            if self.record.tracks.iter().all(|track| track.cta == 0) {
                name
            } else {
                format!("{name} of CTA {}", self.track(track).cta)
            }
        };
        let mut said = BTreeSet::new();
        let mut marks = self.record.marks.iter().peekable();
        while let Some(mark) = marks.next() {
            let Event::Finding { code, is_primary: true } = mark.what else { continue };
            let mut text = format!(
                "  ! {code} {}: {} at step {}, line {}",
                code.name(),
                name(mark.track),
                mark.at,
                self.line(mark.span)
            );
            while let Some(other) =
                marks.next_if(|it| matches!(it.what, Event::Finding { is_primary: false, .. }))
            {
                text.push_str(&format!(
                    "; {} at step {}, line {}",
                    name(other.track),
                    other.at,
                    self.line(other.span)
                ));
            }
            if said.insert(text.clone()) {
                writeln!(out, "{text}")?;
            }
        }
        Ok(())
    }

    /// Where those are who have not ended.
    pub(super) fn stand(&self, rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
        for row in rows {
            let Some((span, words)) = &self.track(row.tracks[0]).stands else { continue };
            let many = row.tracks.len() > 1;
            let words = match words.strip_prefix("waits ") {
                Some(rest) if many => format!("wait {rest}"),
                _ => words.clone(),
            };
            let letter = self.slices[row.tracks[0] as usize].iter().rev().find_map(|at| {
                match self.record.slices[*at] {
                    ref slice if !slice.is_open => None,
                    ref slice => Some(self.symbol(slice.what)),
                }
            });
            let letter = letter.map_or_else(String::new, |letter| format!(" ({letter})"));
            writeln!(out, "  × {} in line {}: {words}{letter}", self.name(row), self.line(*span))?;
        }
        Ok(())
    }
}

fn phases(phases: u64) -> String {
    format!("{} over", plural(usize::try_from(phases).unwrap_or(usize::MAX), "phase"))
}
