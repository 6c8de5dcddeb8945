//! Which part of a layout is drawn cell by cell.

use std::ops::Range;
use std::str::FromStr;

use crate::error::DrawError;

/// Some lanes and some columns. What is left out is chosen by the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The lanes.
    pub lanes: Option<Range<u32>>,
    /// The columns.
    pub columns: Option<Range<u32>>,
}

/// A picture has no more cells.
pub(crate) const MOST_CELLS: u32 = 8192;

impl Window {
    /// Everything.
    pub const ALL: Self = Self { lanes: Some(0..u32::MAX), columns: Some(0..u32::MAX) };

    /// Whether cells are wanted at all, and no overview.
    pub(crate) const fn is_given(&self) -> bool {
        self.lanes.is_some() || self.columns.is_some()
    }

    /// The lanes and columns of a layout that are drawn; so many where nothing is chosen.
    pub(crate) fn within(
        &self,
        (lanes, columns): (u32, u32),
        (of_lanes, of_columns): (u32, u32),
    ) -> Result<(Range<u32>, Range<u32>), DrawError> {
        let cut = |wanted: &Option<Range<u32>>, all: u32, first: u32, what: &str| {
            let range = wanted.clone().unwrap_or(0..first.min(all));
            if range.start >= all {
                let message = format!("there is no {what} {}", range.start);
                return Err(DrawError::helped(
                    message,
                    format!("the {what}s are 0 to {}", all.saturating_sub(1)),
                ));
            }
            Ok(range.start..range.end.min(all))
        };
        let lanes = cut(&self.lanes, lanes, of_lanes, "lane")?;
        let columns = cut(&self.columns, columns, of_columns, "column")?;
        let count = (lanes.len() as u64) * (columns.len() as u64);
        if count > u64::from(MOST_CELLS) {
            return Err(DrawError::helped(
                format!("{count} cells are more than a picture shows"),
                format!(
                    "choose at most {MOST_CELLS} by `lanes=` and `columns=`, such as `lanes=0-31 columns=0-15`"
                ),
            ));
        }
        Ok((lanes, columns))
    }
}

/// A range as people write it: `3`, or `0-31`, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Range<u32>);

impl FromStr for Numbers {
    type Err = DrawError;

    fn from_str(text: &str) -> Result<Self, DrawError> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number < u32::MAX);
        let ends = match text.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(text).map(|number| (number, number)),
        };
        match ends {
            Some((first, last)) if first <= last => Ok(Self(first..last + 1)),
            _ => Err(DrawError::new("expected a number, or the first and the last one: `0-31`")),
        }
    }
}
