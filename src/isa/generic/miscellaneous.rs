//! What fits nowhere else.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

rows! { "Miscellaneous Instructions";
    Brkpt "brkpt" [] () {}
    Nanosleep "nanosleep" [(Type: U32)] (src("t", T1)) {}
    Pmevent "pmevent" [{Flag: Mask}] (immediate("a", B32)) {}
    Trap "trap" [] () {control: Control::Trap}
    Setmaxnreg "setmaxnreg" [(RegisterChange: Inc Dec) (Flag: Sync) (Flag: Aligned) (Type: U32)]
        (immediate("imm-reg-count", T1)) {synchronization: Synchronization::RegisterChange,
         constraints: constraints![
            since(8, 0);
            on(HOPPER_AND_BLACKWELL);
        ]}
    Tensor "tcgen05" [] () {synchronization: Synchronization::Tensor}
}
