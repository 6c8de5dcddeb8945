//! A picture as SVG.
//!
//! Everything is placed by integers, tenths of a pixel, from the numbers of characters: no font is asked. Colours follow
//! `prefers-color-scheme`; each kind of cell has a pattern, too, and what matters is written.

use std::fmt::Write;

use crate::lines::{length, wrapped};
use crate::picture::{Block, Chart, Grid, Ink, Key, Meeting, Party, Picture, Table};

mod style;

/// Tenths of a pixel.
type Tenths = u32;

/// Around everything.
const MARGIN: Tenths = 160;
/// The widest character of the fonts that are named, at 12 pixels.
const CHARACTER: Tenths = 73;
/// The same of titles, which are bold and larger.
const CHARACTER_OF_TITLE: Tenths = 86;
/// A line of text, and a row of cells.
const LINE: Tenths = 180;
const ROW: Tenths = 220;
/// Between blocks.
const GAP: Tenths = 160;
/// At both ends of a text in a cell, together.
const PADDING: Tenths = 80;
/// The narrowest picture, column, and the axis of a chart.
const NARROWEST: Tenths = 5600;
const NARROWEST_COLUMN: Tenths = 200;
const AXIS: Tenths = 9000;
/// Between those who take part in a meeting and the meeting.
const ARROW: Tenths = 560;

/// Renders it.
pub fn render(picture: &Picture) -> String {
    let inner = picture.blocks.iter().map(width).max().unwrap_or(0).max(NARROWEST);
    let mut out = Canvas { body: String::new(), y: MARGIN };
    for line in wrapped(&picture.title, (inner / CHARACTER_OF_TITLE) as usize) {
        out.text(MARGIN, "h", &line);
        out.y += LINE + 20;
    }
    for block in &picture.blocks {
        out.y += GAP / 2;
        match block {
            Block::Grid(grid) => out.grid(grid),
            Block::Table(table) => out.table(table),
            Block::Chart(chart) => out.chart(chart),
            Block::Meetings(meetings) => out.meetings(meetings),
        }
        out.y += GAP / 2;
    }
    out.legend(&picture.legend, inner);
    for note in &picture.notes {
        for (index, line) in wrapped(note, ((inner - 160) / CHARACTER) as usize).iter().enumerate() {
            if index == 0 {
                out.text(MARGIN, "f", "-");
            }
            out.text(MARGIN + 160, "f", line);
            out.y += LINE;
        }
    }
    let (width, height) = (inner + 2 * MARGIN, out.y + MARGIN / 2);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\">\n\
         <title>{}</title>\n",
        escaped(&picture.title),
        w = px(width),
        h = px(height),
    );
    if !picture.notes.is_empty() {
        let _ = writeln!(svg, "<desc>{}</desc>", escaped(&picture.notes.join(" ")));
    }
    svg.push_str(&style::sheet(&used(picture)));
    let _ = writeln!(svg, "<rect class=\"bg\" width=\"{}\" height=\"{}\" rx=\"6\"/>", px(width), px(height));
    svg.push_str(&out.body);
    svg.push_str("</svg>\n");
    svg
}

/// The inks that a picture has.
fn used(picture: &Picture) -> Vec<Ink> {
    let mut all: Vec<Ink> = picture.legend.iter().map(|key| key.ink).collect();
    for block in &picture.blocks {
        match block {
            Block::Grid(grid) => {
                all.extend(grid.rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.ink)));
            }
            Block::Table(table) => all.extend(table.rows.iter().map(|row| row.ink)),
            Block::Chart(chart) => {
                let rows = chart.rows.iter();
                all.extend(rows.flat_map(|row| {
                    row.bars.iter().map(|bar| bar.ink).chain(row.marks.iter().map(|mark| mark.ink))
                }));
            }
            Block::Meetings(meetings) => {
                all.extend(meetings.iter().filter(|it| it.is_wrong).map(|_| Ink::Wrong));
            }
        }
    }
    let order = |ink: &Ink| match ink {
        Ink::Plain => 0,
        Ink::Empty => 1,
        Ink::Tone(tone) => 2 + u32::from(*tone),
        Ink::Wrong => u32::MAX,
    };
    all.sort_by_key(order);
    all.dedup();
    all
}

/// The width of a block.
fn width(block: &Block) -> Tenths {
    match block {
        Block::Grid(grid) => label_width(grid) + columns(grid) * column_width(grid),
        Block::Table(table) => widths(table).iter().sum(),
        Block::Chart(chart) => label_of_chart(chart) + AXIS,
        Block::Meetings(meetings) => {
            let [left, middle, right] = meeting_widths(meetings);
            left + middle + right + 2 * ARROW
        }
    }
}

fn text_width(text: &str) -> Tenths {
    length(text) as Tenths * CHARACTER
}

fn columns(grid: &Grid) -> u32 {
    let of_row = |row: &crate::Line| row.cells.iter().map(|cell| cell.span).sum();
    grid.rows.iter().map(of_row).chain([grid.heads.iter().map(|head| head.span).sum()]).max().unwrap_or(0)
}

fn label_width(grid: &Grid) -> Tenths {
    let labels = grid.rows.iter().map(|row| text_width(&row.label));
    labels.chain([text_width(&grid.corner)]).max().unwrap_or(0) + PADDING
}

fn column_width(grid: &Grid) -> Tenths {
    let heads = grid.heads.iter().map(|head| (head.text.as_str(), head.span));
    let cells = grid.rows.iter().flat_map(|row| row.cells.iter().map(|cell| (cell.text.as_str(), cell.span)));
    let wanted = heads.chain(cells).map(|(text, span)| (text_width(text) + PADDING).div_ceil(span.max(1)));
    // Whole pixels, so that lines are sharp.
    wanted.max().unwrap_or(0).max(NARROWEST_COLUMN).div_ceil(10) * 10
}

fn widths(table: &Table) -> Vec<Tenths> {
    let mut widths: Vec<Tenths> = table.heads.iter().map(|head| text_width(head) + 200).collect();
    for row in &table.rows {
        for (width, word) in widths.iter_mut().zip(&row.words) {
            *width = (*width).max(text_width(word) + 200);
        }
    }
    widths
}

fn label_of_chart(chart: &Chart) -> Tenths {
    let labels = chart.rows.iter().filter(|row| !row.is_heading).map(|row| text_width(&row.label));
    labels.chain([text_width(&chart.axis)]).max().unwrap_or(0) + 2 * PADDING
}

fn said(party: &Party) -> String {
    if party.how.is_empty() { party.who.clone() } else { format!("{}: {}", party.who, party.how) }
}

fn meeting_widths(meetings: &[Meeting]) -> [Tenths; 3] {
    let widest = |parties: fn(&Meeting) -> &[Party]| {
        meetings.iter().flat_map(parties).map(|it| text_width(&said(it))).max().unwrap_or(0) + PADDING
    };
    let middle = meetings.iter().flat_map(|it| it.facts.iter().chain([&it.name]));
    [
        widest(|it| &it.arrives).max(text_width("arrives")),
        middle.map(|text| text_width(text)).max().unwrap_or(0) + 2 * PADDING,
        widest(|it| &it.waits).max(text_width("waits")),
    ]
}

/// What is drawn, and how far down.
struct Canvas {
    body: String,
    y: Tenths,
}

impl Canvas {
    /// A text that starts at `x`, on the line below `y`.
    fn text(&mut self, x: Tenths, class: &str, text: &str) {
        self.text_at((x, self.y + 130), class, text);
    }

    fn text_at(&mut self, (x, y): (Tenths, Tenths), class: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(self.body, "<text x=\"{}\" y=\"{}\"{class}>{}</text>", px(x), px(y), escaped(text));
    }

    fn rectangle(
        &mut self,
        (x, y): (Tenths, Tenths),
        (width, height): (Tenths, Tenths),
        ink: Ink,
        hint: &str,
    ) {
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"",
            px(x),
            px(y),
            px(width),
            px(height),
            style::class(ink)
        );
        if hint.is_empty() {
            self.body.push_str("/>\n");
        } else {
            let _ = writeln!(self.body, "><title>{}</title></rect>", escaped(hint));
        }
    }

    fn title(&mut self, title: &str) {
        if !title.is_empty() {
            self.text(MARGIN, "b", title);
            self.y += LINE + 20;
        }
    }

    fn grid(&mut self, grid: &Grid) {
        self.title(&grid.title);
        let (label, column) = (label_width(grid), column_width(grid));
        let left = MARGIN + label;
        if !grid.heads.is_empty() {
            self.text(MARGIN, "f", &grid.corner);
            let mut at = 0;
            for head in &grid.heads {
                let middle = left + at * column + head.span * column / 2;
                self.text_at((middle, self.y + 130), "f m", &head.text);
                at += head.span;
            }
            self.y += LINE + 20;
        }
        for row in &grid.rows {
            self.text_at((left - PADDING / 2, self.y + 150), "f e", &row.label);
            let mut at = 0;
            for cell in &row.cells {
                let (x, wide) = (left + at * column, cell.span * column);
                self.rectangle((x, self.y), (wide, ROW), cell.ink, "");
                let class = if cell.ink == Ink::Empty { "f m" } else { "m" };
                self.text_at((x + wide / 2, self.y + 150), class, &cell.text);
                at += cell.span;
            }
            self.y += ROW;
        }
    }

    fn table(&mut self, table: &Table) {
        self.title(&table.title);
        let widths = widths(table);
        let mut x = MARGIN;
        for (head, width) in table.heads.iter().zip(&widths) {
            self.text(x, "f", head);
            x += width;
        }
        self.y += LINE + 10;
        for row in &table.rows {
            let mut x = MARGIN;
            for (index, (word, width)) in row.words.iter().zip(&widths).enumerate() {
                if index == 0 && row.ink != Ink::Plain && row.ink != Ink::Empty {
                    self.rectangle((x - 30, self.y), (text_width(word) + 60, LINE - 10), row.ink, "");
                }
                self.text(x, "", word);
                x += width;
            }
            self.y += LINE + 10;
        }
    }

    fn chart(&mut self, chart: &Chart) {
        self.title(&chart.title);
        let left = MARGIN + label_of_chart(chart);
        let top = self.y + LINE;
        let x_of = |at: u64| left + chart.place(at) * AXIS / Chart::WHOLE;
        // The numbers of the axis, as far as there is room.
        self.text_at((left - PADDING, self.y + 130), "f e", &chart.axis);
        let mut free = 0;
        let height = chart.rows.len() as u32 * ROW;
        for stop in &chart.stops {
            let (x, text) = (x_of(*stop), stop.to_string());
            let half = text_width(&text) / 2;
            if x < free + half {
                continue;
            }
            free = x + half + CHARACTER;
            self.text_at((x, self.y + 130), "f m", &text);
            let _ = writeln!(self.body, "<path class=\"l\" d=\"M{} {}v{}\"/>", px(x), px(top), px(height));
        }
        self.y = top;
        for row in &chart.rows {
            if row.is_heading {
                self.text_at((MARGIN, self.y + 150), "b", &row.label);
                self.y += ROW;
                continue;
            }
            self.text_at((left - PADDING, self.y + 150), "e", &row.label);
            for bar in &row.bars {
                let (start, end) = (x_of(bar.start), x_of(bar.end));
                let wide = end.saturating_sub(start).max(20);
                self.rectangle((start, self.y + 20), (wide, ROW - 40), bar.ink, &bar.hint);
                let fits = |text: &&str| !text.is_empty() && text_width(text) + 20 <= wide;
                if let Some(text) = [bar.text.as_str(), bar.sign.as_str()].iter().find(|text| fits(text)) {
                    self.text_at((start + wide / 2, self.y + 150), "m", text);
                }
            }
            for (index, mark) in row.marks.iter().enumerate() {
                let x = x_of(mark.at);
                let _ = writeln!(
                    self.body,
                    "<g><title>{}</title><path class=\"k\" d=\"M{} {}v{}\"/>",
                    escaped(&mark.hint),
                    px(x),
                    px(self.y + 10),
                    px(ROW - 20)
                );
                // Of marks that stand close together, the last one has its letter.
                let next = row.marks.get(index + 1).map(|next| x_of(next.at));
                if next.is_none_or(|next| next >= x + 20 + text_width(&mark.sign)) {
                    self.text_at((x + 15, self.y + 105), "s", &mark.sign);
                }
                self.body.push_str("</g>\n");
            }
            self.y += ROW;
        }
        self.y += 40;
    }

    fn meetings(&mut self, meetings: &[Meeting]) {
        let [left, middle, _] = meeting_widths(meetings);
        let at_middle = MARGIN + left + ARROW;
        let at_right = at_middle + middle + ARROW;
        self.text_at((MARGIN + left, self.y + 130), "f e", "arrives");
        self.text_at((at_middle + middle / 2, self.y + 130), "f m", "mbarrier");
        self.text_at((at_right, self.y + 130), "f", "waits");
        self.y += LINE + 40;
        for meeting in meetings {
            let lines = meeting.facts.len() as u32 + 1;
            let own = lines * LINE + 60;
            let count = meeting.arrives.len().max(meeting.waits.len()) as u32;
            let height = own.max(count * ROW);
            let ink = if meeting.is_wrong { Ink::Wrong } else { Ink::Plain };
            let top = self.y + (height - own) / 2;
            self.rectangle((at_middle, top), (middle, own), ink, "");
            for (index, text) in [&meeting.name].into_iter().chain(&meeting.facts).enumerate() {
                let y = top + index as u32 * LINE + 150;
                self.text_at((at_middle + middle / 2, y), if index == 0 { "b m" } else { "m" }, text);
            }
            let center = top + own / 2;
            let first = |count: usize| self.y + (height - count as u32 * ROW) / 2;
            let (of_left, of_right) = (first(meeting.arrives.len()), first(meeting.waits.len()));
            for (index, party) in meeting.arrives.iter().enumerate() {
                let y = of_left + index as u32 * ROW + ROW / 2;
                self.text_at((MARGIN + left, y + 40), "e", &said(party));
                self.arrow((MARGIN + left + 40, y), (at_middle - 10, center));
            }
            for (index, party) in meeting.waits.iter().enumerate() {
                let y = of_right + index as u32 * ROW + ROW / 2;
                self.text_at((at_right, y + 40), "", &said(party));
                self.arrow((at_middle + middle, center), (at_right - 40, y));
            }
            self.y += height + GAP;
        }
    }

    fn arrow(&mut self, from: (Tenths, Tenths), to: (Tenths, Tenths)) {
        let _ = writeln!(
            self.body,
            "<path class=\"a\" d=\"M{} {}L{} {}\" marker-end=\"url(#arrow)\"/>",
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1)
        );
    }

    fn legend(&mut self, keys: &[Key], inner: Tenths) {
        if keys.is_empty() {
            return;
        }
        let mut x = 0;
        for key in keys {
            let box_width = (text_width(&key.sign) + PADDING).max(NARROWEST_COLUMN);
            let wide = box_width + 80 + text_width(&key.text) + 200;
            if x > 0 && x + wide > inner + 200 {
                x = 0;
                self.y += ROW + 20;
            }
            self.rectangle((MARGIN + x, self.y), (box_width, LINE), key.ink, "");
            self.text_at((MARGIN + x + box_width / 2, self.y + 130), "m", &key.sign);
            self.text_at((MARGIN + x + box_width + 80, self.y + 130), "", &key.text);
            x += wide;
        }
        self.y += ROW + GAP / 2;
    }
}

/// Pixels: `12`, `12.5`.
fn px(tenths: Tenths) -> String {
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

/// As XML has it; characters that XML does not have are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}
