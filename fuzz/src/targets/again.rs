//! After any changes, a check that remembers the one before finds what a check of its own finds.

use fastrand::Rng;
use ptx_check::{Memory, Options, Source, Unit, check_unit, check_unit_again};

use super::{difference, options};
use crate::{Case, mutate};

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let mut random = Rng::with_seed(case.choice);
    // Descriptions are not remembered.
    let options = Options { describe: false, ..options(&mut random) };
    let mut memory = Memory::default();
    let mut text = case.text.clone();
    for round in 0..random.u32(2..8) {
        if let Ok(source) = Source::from_bytes("fuzz.ptx", text.clone()) {
            let unit = Unit::new(&source);
            let fresh = check_unit(&unit, &options, &|| false).ok_or("cancelled")?;
            let again = check_unit_again(&unit, &options, &mut memory, &|| false).ok_or("cancelled")?;
            if let Some(difference) = difference(&fresh.diagnostics, &again.diagnostics) {
                return Err(format!("without and with memory, in round {round}: {difference}"));
            }
            if fresh.steps < again.steps {
                return Err(format!("{} steps without memory, {} with it", fresh.steps, again.steps));
            }
        }
        text = mutate::again(&text, &mut random);
    }
    Ok(())
}
