//! The instructions of a function, lowered once for all who ask.

use std::cell::OnceCell;
use std::ops::Range;

use crate::Computing;
use crate::resolve::unit::Unit;

/// The instructions of one function, each lowered when it is first asked for: of a long function, analyses read
/// a small part.
#[derive(Debug)]
pub struct Lowered {
    first: u32,
    computing: Box<[OnceCell<Option<Box<Computing>>>]>,
}

impl Lowered {
    /// Instructions of which none is lowered yet.
    pub fn new(instructions: &Range<u32>) -> Self {
        let computing = instructions.clone().map(|_| OnceCell::new()).collect();
        Self { first: instructions.start, computing }
    }

    /// What an instruction computes, see [`Computing::of`]; `None` for one outside the function, too.
    pub fn computing(&self, unit: &Unit, instruction: u32) -> Option<&Computing> {
        let cell = self.computing.get(instruction.checked_sub(self.first)? as usize)?;
        cell.get_or_init(|| Computing::of(unit, instruction).map(Box::new)).as_deref()
    }
}
