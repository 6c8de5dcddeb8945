//! What fits nowhere else.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

/// One of 16 events, or a mask of them.
const EVENTS: &[(&[Modifier], Numbers)] =
    &[(&[Modifier::Flag(Flag::Mask)], Numbers::From(0, 0xFFFF)), (&[], Numbers::From(0, 15))];

rows! { "Miscellaneous Instructions";
    Brkpt "brkpt" [] () {}
    Nanosleep "nanosleep" [(Type: U32)] (src("t", T1)) {}
    Pmevent "pmevent" [{Flag: Mask}]
        (immediate("a", B32).by_words(EVENTS)) {}
    Trap "trap" [] () {control: Control::Trap}
    Setmaxnreg "setmaxnreg" [(RegisterChange: Inc Dec) (Flag: Sync) (Flag: Aligned) (Type: U32)]
        (immediate("imm-reg-count", T1).multiples(8, 24, 256)) {synchronization: Synchronization::RegisterChange,
         constraints: constraints![
            leads(RegisterChange: Inc Dec);
            since(8, 0);
            on(HOPPER_AND_BLACKWELL);
        ]}
    Tensor "tcgen05" [] () {synchronization: Synchronization::Tensor}
}
