//! A descriptor bit by bit.

use std::collections::BTreeSet;

use crate::descriptor::field::Bits;
use crate::descriptor::{Field, Layout, Problem};
use crate::picture::{Bar, Bars, Block, Cell, Chart, Grid, Head, Ink, Key, Line, Picture, Table, TableRow};

/// Bits in a line.
const BITS: u8 = 32;

/// The picture of a word, with what is wrong with it.
pub fn picture(layout: &Layout, word: u64, problems: &[Problem]) -> Picture {
    let digits = layout.width as usize / 4 + 2;
    let title = layout.title.trim_start_matches("the ").replace('`', "");
    let is_wrong = |field: &Field| problems.iter().any(|problem| problem.field == field);
    let inks: Vec<Ink> = inks(layout, &is_wrong);
    let ink = |field: &Field| {
        let at = layout.fields.iter().position(|it| it == field);
        at.and_then(|at| inks.get(at).copied()).unwrap_or_default()
    };
    let mut blocks: Vec<Block> = (0..layout.width as u8)
        .step_by(BITS.into())
        .rev()
        .map(|low| Block::Grid(bits(layout, word, low, &ink)))
        .collect();
    let row = |field: &Field| {
        let raw = field.get(word);
        let places: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
        let words = vec![
            field.name.to_owned(),
            places.join(","),
            field.show(raw),
            format!("{}{}", if is_wrong(field) { "! " } else { "" }, field.meaning.replace('`', "")),
        ];
        TableRow { ink: ink(field), words }
    };
    blocks.push(Block::Table(Table {
        title: String::new(),
        heads: ["field", "bits", "value", "meaning"].map(str::to_owned).to_vec(),
        rows: layout.fields.iter().map(row).collect(),
    }));
    let said = |problem: &Problem| format!("{problem} ({})", problem.reference).replace('`', "");
    Picture {
        title: format!("{word:#0digits$x} as {title} ({})", layout.table),
        blocks,
        legend: Vec::new(),
        notes: problems.iter().map(said).collect(),
    }
}

/// Adds the columns that a zero-column mask makes zero: one list for each of its sub-masks, column by column.
pub fn with_zero_columns(mut picture: Picture, masks: &[Vec<bool>]) -> Picture {
    let (ink, sign) = (Ink::Tone(0), "0");
    let mut first = 0;
    let (mut rows, mut stops) = (Vec::new(), BTreeSet::from([0]));
    for (number, mask) in masks.iter().enumerate() {
        let mut bars: Vec<Bar> = Vec::new();
        for (at, _) in mask.iter().enumerate().filter(|(_, is_zero)| **is_zero) {
            let at = first + at as u64;
            match bars.last_mut() {
                Some(bar) if bar.end == at => bar.end = at + 1,
                _ => bars.push(Bar { start: at, end: at + 1, ink, sign: sign.to_owned(), ..Bar::default() }),
            }
        }
        for bar in &mut bars {
            bar.hint = format!("columns {} to {} count as zero", bar.start, bar.end - 1);
        }
        first += mask.len() as u64;
        stops.insert(first);
        stops.extend(bars.iter().flat_map(|bar| [bar.start, bar.end]));
        rows.push(Bars { label: format!("mask {number}"), bars, ..Bars::default() });
    }
    let chart = Chart {
        title: "Columns of B".to_owned(),
        rows,
        ..Chart::even("column", stops.into_iter().collect())
    };
    picture.blocks.push(Block::Chart(chart));
    picture.legend.push(Key { ink, sign: sign.to_owned(), text: "counts as zero".to_owned() });
    picture
}

/// The bits and the names of the fields alone.
pub fn bits_only(layout: &Layout, word: u64) -> Picture {
    let mut picture = picture(layout, word, &[]);
    picture.blocks.retain(|block| matches!(block, Block::Grid(_)));
    picture
}

/// Those of the fields, in their order: neighbours differ.
fn inks(layout: &Layout, is_wrong: &dyn Fn(&Field) -> bool) -> Vec<Ink> {
    let mut next = 0;
    let fields = layout.fields.iter().map(|field| {
        if is_wrong(field) {
            return Ink::Wrong;
        }
        if field.is_fixed() {
            return Ink::Empty;
        }
        let ink = Ink::tone(next);
        next += 1;
        ink
    });
    fields.collect()
}

/// The bits from `low` on, the highest first.
fn bits(layout: &Layout, word: u64, low: u8, ink: &dyn Fn(&Field) -> Ink) -> Grid {
    let places = || (low..low + BITS).rev();
    let parts = || layout.fields.iter().flat_map(|field| field.bits.iter().map(move |bits| (*bits, field)));
    let of =
        |bit: u8| parts().find(|(bits, _)| (bits.low..=bits.high).contains(&bit)).map(|(_, field)| field);
    let values = places().map(|bit| {
        let ink = of(bit).map_or(Ink::Plain, ink);
        Cell::new((word >> bit & 1).to_string(), ink)
    });
    let starting = |bit: u8| parts().find(|(bits, _)| bits.high == bit);
    let names = places()
        .filter_map(starting)
        .map(|(bits, field): (Bits, &Field)| Cell::new(field.short, ink(field)).over(bits.width()));
    Grid {
        title: String::new(),
        corner: String::new(),
        heads: places().map(|bit| Head { text: bit.to_string(), span: 1 }).collect(),
        rows: vec![
            Line { label: String::new(), cells: values.collect() },
            Line { label: String::new(), cells: names.collect() },
        ],
        fold: 16,
    }
}
