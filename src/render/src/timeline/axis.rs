//! How time is laid out: where nothing changes it is drawn shorter.

use super::{DENSEST, WIDEST};

/// A stretch of time, and how it is laid out.
pub(super) struct Axis {
    pub(super) times: Vec<u64>,
    /// Where each is: columns.
    places: Vec<f64>,
    pub(super) width: usize,
    /// Whether there is room for what is short.
    pub(super) is_whole: bool,
}

impl Axis {
    /// Lays times out.
    pub(super) fn new(times: Vec<u64>, width: usize) -> Self {
        let mut places = places(&times);
        let at = places.last().copied().unwrap_or(0.0);
        let scale = ((width.saturating_sub(1)) as f64 / at.max(1.0)).min(WIDEST);
        for place in &mut places {
            *place *= scale;
        }
        let width = (places.last().copied().unwrap_or(0.0).round() as usize + 1).min(width);
        Self { times, places, width, is_whole: scale * DENSEST >= 0.999 }
    }

    pub(super) fn first(&self) -> u64 {
        self.times.first().copied().unwrap_or(0)
    }

    pub(super) fn last(&self) -> u64 {
        self.times.last().copied().unwrap_or(0)
    }

    /// The column of a time.
    pub(super) fn column(&self, time: u64) -> usize {
        let behind = self.times.partition_point(|it| *it <= time);
        let Some(before) = behind.checked_sub(1) else { return 0 };
        let place = self.places[before];
        let place = match (self.times.get(behind), self.places.get(behind)) {
            (Some(next), Some(end)) => {
                let part = (time - self.times[before]) as f64 / (next - self.times[before]).max(1) as f64;
                place + (end - place) * part
            }
            _ => place,
        };
        place.round() as usize
    }

    /// The times of some columns.
    pub(super) fn numbers(&self) -> String {
        let mut line = String::new();
        for (time, place) in self.times.iter().zip(&self.places) {
            let column = place.round() as usize;
            let text = time.to_string();
            let room = line.is_empty() || column >= line.len() + 6;
            if room && column + text.len() <= self.width.max(text.len()) {
                while line.len() < column {
                    line.push(' ');
                }
                line.push_str(&text);
            }
        }
        line
    }
}

/// Where times are drawn: long ones are drawn shorter than they are, and none takes less than a column.
pub(super) fn places(times: &[u64]) -> Vec<f64> {
    let mut at = 0.0;
    let mut places = Vec::with_capacity(times.len());
    for (index, time) in times.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).and_then(|before| times.get(before)) {
            at += 1.0 + f64::from((time - before).max(1).ilog2()) / 3.0;
        }
        places.push(at);
    }
    places
}
