//! How far a run is, for somebody who waits at a terminal.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use ptx_check::words::demangled;
use ptx_simulation::Progress;

/// Before somebody who waits is told something.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between what they are told.
const BETWEEN: Duration = Duration::from_millis(100);

/// Runs something, and after a while says on the terminal how far it is.
pub(super) fn watch<T>(kernel: &str, progress: &Progress, run: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return run();
    }
    thread::scope(|scope| {
        // Dropped when the run is over, also when it panics.
        let (running, over) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut bar: Option<ProgressBar> = None;
            let mut patience = PATIENCE;
            while over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                patience = BETWEEN;
                let instructions = progress.instructions.load(Ordering::Relaxed);
                let runs = progress.runs.load(Ordering::Relaxed);
                let runs = if runs > 1 { format!(" in {runs} runs") } else { String::new() };
                let bar = bar.get_or_insert_with(ProgressBar::new_spinner);
                bar.set_message(format!(
                    "{}: {} warp instructions{runs}",
                    demangled(kernel),
                    grouped(instructions)
                ));
                bar.tick();
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        let result = run();
        drop(running);
        result
    })
}

/// `12 345 678`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
