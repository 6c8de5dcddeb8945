//! A picture in a terminal.

use std::fmt::Write;

use crate::lines::{length, wrapped};
use crate::picture::{Block, Chart, Grid, Head, Ink, Key, Line, Meeting, Picture, Table};

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether with colours.
    pub color: bool,
    /// The columns of the terminal. What can be broken is not wider.
    pub width: usize,
}

/// The axis of a chart has at least so many columns, whatever the terminal has.
const NARROWEST: usize = 24;

/// Renders it.
pub fn render(picture: &Picture, look: Look) -> String {
    let mut out = Out { text: String::new(), look };
    for line in wrapped(&picture.title, look.width) {
        out.strong(&line);
        out.end();
    }
    for block in &picture.blocks {
        out.end();
        match block {
            Block::Grid(grid) => out.grid(grid),
            Block::Table(table) => out.table(table),
            Block::Chart(chart) => out.chart(chart),
            Block::Meetings(meetings) => out.meetings(meetings),
        }
    }
    out.legend(&picture.legend);
    if !picture.notes.is_empty() {
        out.end();
    }
    for note in &picture.notes {
        for (index, line) in wrapped(note, look.width.saturating_sub(2)).iter().enumerate() {
            let start = if index == 0 { "- " } else { "  " };
            let _ = writeln!(out.text, "{start}{line}");
        }
    }
    out.text
}

struct Out {
    text: String,
    look: Look,
}

/// The numbers of the escape sequence of an ink.
fn codes(ink: Ink) -> &'static str {
    match ink {
        Ink::Plain => "",
        Ink::Empty => "2",
        Ink::Wrong => "1;31",
        Ink::Tone(tone) => ["36", "33", "32", "35", "93", "96", "95", "37"][(tone % Ink::TONES) as usize],
    }
}

impl Out {
    fn paint(&mut self, codes: &str, text: &str) {
        // What a kernel calls something must not move the cursor.
        let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        if self.look.color && !codes.is_empty() && !text.trim().is_empty() {
            let _ = write!(self.text, "\u{1b}[{codes}m{text}\u{1b}[0m");
        } else {
            self.text.push_str(&text);
        }
    }

    fn strong(&mut self, text: &str) {
        self.paint("1", text);
    }

    /// Ends a line, without blanks at its end.
    fn end(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        self.text.push('\n');
    }

    fn blanks(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
    }

    fn title(&mut self, title: &str) {
        if !title.is_empty() {
            self.strong(title);
            self.end();
        }
    }

    fn grid(&mut self, grid: &Grid) {
        self.title(&grid.title);
        let label = grid.rows.iter().map(|row| length(&row.label)).chain([length(&grid.corner)]).max();
        let label = label.unwrap_or(0);
        let all = grid.rows.iter().map(|row| row.cells.iter().map(|cell| cell.span as usize).sum());
        let count: usize =
            all.chain([grid.heads.iter().map(|head| head.span as usize).sum()]).max().unwrap_or(0);
        let widths = widths(grid, count);
        // As many columns as fit, a multiple of the fold.
        let fold = grid.fold.max(1) as usize;
        let mut first = 0;
        while first < count {
            let mut last = (first + fold).min(count);
            let room = self.look.width.saturating_sub(label + 2);
            let needed = |last: usize| widths[first..last].iter().map(|width| width + 1).sum::<usize>();
            while last < count && needed((last + fold).min(count)) <= room {
                last = (last + fold).min(count);
            }
            if first > 0 {
                self.end();
            }
            self.stretch(grid, label, &widths, (first, last));
            first = last;
        }
        if count == 0 {
            for row in &grid.rows {
                self.text.push_str(&row.label);
                self.end();
            }
        }
    }

    /// Some columns of a grid.
    fn stretch(&mut self, grid: &Grid, label: usize, widths: &[usize], (first, last): (usize, usize)) {
        let room = |from: usize, to: usize| {
            let (from, to) = (from.max(first), to.min(last));
            if from >= to { 0 } else { widths[from..to].iter().sum::<usize>() + (to - from - 1) }
        };
        if !grid.heads.is_empty() {
            let corner = format!("{:label$}", grid.corner);
            self.paint("2", &corner);
            let mut at = 0;
            for Head { text, span } in &grid.heads {
                let wide = room(at, at + *span as usize);
                at += *span as usize;
                if wide > 0 {
                    self.text.push(' ');
                    let text = format!("{:^wide$}", clipped(text, wide));
                    self.paint("2", &text);
                }
            }
            self.end();
        }
        for Line { label: name, cells } in &grid.rows {
            let name = format!("{name:>label$}");
            self.paint("2", &name);
            let mut at = 0;
            for cell in cells {
                let wide = room(at, at + cell.span as usize);
                at += cell.span as usize;
                if wide > 0 {
                    self.text.push(if cell.span > 1 { '|' } else { ' ' });
                    let text = format!("{:^wide$}", clipped(&cell.text, wide));
                    self.paint(codes(cell.ink), &text);
                }
            }
            self.end();
        }
    }

    fn table(&mut self, table: &Table) {
        self.title(&table.title);
        let mut widths: Vec<usize> = table.heads.iter().map(|head| length(head)).collect();
        for row in &table.rows {
            for (width, word) in widths.iter_mut().zip(&row.words) {
                *width = (*width).max(length(word));
            }
        }
        let mut line = |words: &[String], codes: &[&str]| {
            for (index, (word, width)) in words.iter().zip(&widths).enumerate() {
                let padded = if index + 1 == words.len() { word.clone() } else { format!("{word:width$}  ") };
                self.paint(codes.get(index).copied().unwrap_or(""), &padded);
            }
            self.end();
        };
        let faint = vec!["2"; table.heads.len()];
        line(&table.heads, &faint);
        for row in &table.rows {
            line(&row.words, &[codes(row.ink)]);
        }
    }

    fn chart(&mut self, chart: &Chart) {
        self.title(&chart.title);
        let rows = || chart.rows.iter().filter(|row| !row.is_heading);
        let label = rows().map(|row| length(&row.label)).chain([length(&chart.axis)]).max().unwrap_or(0);
        let width = self.look.width.saturating_sub(label + 2).max(NARROWEST);
        let column = |at: u64| (chart.place(at) as usize * width / Chart::WHOLE as usize).min(width - 1);
        let mut numbers = String::new();
        for stop in &chart.stops {
            let text = stop.to_string();
            // The last number ends where the axis does.
            let at = column(*stop).min(width.saturating_sub(text.len()));
            if numbers.is_empty() && at == 0 || at > length(&numbers) {
                let missing = at - length(&numbers);
                numbers.extend(std::iter::repeat_n(' ', missing));
                numbers.push_str(&text);
            }
        }
        let line = format!("{:>label$}  {numbers}", chart.axis);
        self.paint("2", &line);
        self.end();
        for row in &chart.rows {
            if row.is_heading {
                self.strong(&row.label);
                self.end();
                continue;
            }
            let mut cells = vec![(' ', Ink::Plain); width];
            for bar in &row.bars {
                let from = column(bar.start);
                let to =
                    (chart.place(bar.end) as usize * width / Chart::WHOLE as usize).max(from + 1).min(width);
                let sign = bar.sign.chars().next().unwrap_or('#');
                cells[from..to].fill((sign, bar.ink));
                let text: Vec<char> = bar.text.chars().collect();
                if !text.is_empty() && text.len() + 2 <= to - from {
                    let start = from + (to - from - text.len()) / 2;
                    for (cell, c) in cells[start..].iter_mut().zip(text) {
                        *cell = (c, bar.ink);
                    }
                }
            }
            for mark in &row.marks {
                cells[column(mark.at)] = (mark.sign.chars().next().unwrap_or('|'), mark.ink);
            }
            let name = format!("{:>label$}", row.label);
            self.text.push_str(&name);
            self.blanks(2);
            let mut rest = cells.as_slice();
            while let Some((_, ink)) = rest.first() {
                let same = rest.iter().take_while(|(_, other)| other == ink).count();
                let text: String = rest[..same].iter().map(|(c, _)| *c).collect();
                let codes = codes(*ink);
                self.paint(codes, &text);
                rest = &rest[same..];
            }
            self.end();
        }
    }

    fn meetings(&mut self, meetings: &[Meeting]) {
        for (index, meeting) in meetings.iter().enumerate() {
            if index > 0 {
                self.end();
            }
            self.paint(if meeting.is_wrong { "1;31" } else { "1" }, &meeting.name);
            if !meeting.facts.is_empty() {
                let _ = write!(self.text, "  {}", meeting.facts.join(", "));
            }
            self.end();
            let who = meeting.arrives.iter().chain(&meeting.waits).map(|party| length(&party.who)).max();
            let who = who.unwrap_or(0);
            let sides = [("arrives", "32", &meeting.arrives), ("waits", "33", &meeting.waits)];
            for (what, codes, parties) in sides {
                for party in parties {
                    self.blanks(2);
                    self.paint(codes, &format!("{what:7}"));
                    let line = format!("  {:who$}  {}", party.who, party.how);
                    self.paint("", &line);
                    self.end();
                }
            }
        }
    }

    fn legend(&mut self, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        self.end();
        let signs = keys.iter().map(|key| length(&key.sign)).max().unwrap_or(0);
        for key in keys {
            if signs > 0 {
                let sign = format!("{:signs$}", key.sign);
                self.paint(codes(key.ink), &sign);
                self.blanks(2);
                self.paint("", &key.text);
            } else {
                self.paint(codes(key.ink), &key.text);
            }
            self.end();
        }
    }
}

/// The width of each column: what stands in it alone, then what spans several.
fn widths(grid: &Grid, count: usize) -> Vec<usize> {
    let mut widths = vec![1; count];
    let mut spans: Vec<(usize, usize, usize)> = Vec::new();
    let mut note = |texts: &mut dyn Iterator<Item = (&str, u32)>| {
        let mut at = 0;
        for (text, span) in texts {
            spans.push((at, span as usize, length(text)));
            at += span as usize;
        }
    };
    note(&mut grid.heads.iter().map(|head| (head.text.as_str(), head.span)));
    for row in &grid.rows {
        note(&mut row.cells.iter().map(|cell| (cell.text.as_str(), cell.span)));
    }
    spans.sort_by_key(|(_, span, _)| *span);
    for (at, span, wanted) in spans {
        let Some(columns) = widths.get_mut(at..at + span) else { continue };
        let has = columns.iter().sum::<usize>() + span.saturating_sub(1);
        if has < wanted && span > 0 {
            let missing = wanted - has;
            for (index, width) in columns.iter_mut().enumerate() {
                *width += missing / span + usize::from(index < missing % span);
            }
        }
    }
    widths
}

fn clipped(text: &str, most: usize) -> String {
    if length(text) <= most { text.to_owned() } else { text.chars().take(most).collect() }
}
