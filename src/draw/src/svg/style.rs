//! Colours and patterns.

use std::fmt::Write;

use crate::picture::Ink;

/// What a kind of cell is filled with, and what its pattern is drawn with, by day and by night.
struct Paint {
    name: &'static str,
    light: [&'static str; 2],
    dark: [&'static str; 2],
    /// A path in a square of 8 x 8.
    pattern: &'static str,
}

#[rustfmt::skip]
const TONES: [Paint; Ink::TONES as usize] = [
    paint("t0", ["#cfe2ff", "#3b78c8"], ["#173a63", "#6cb1ff"], ""),
    paint("t1", ["#ffe2bd", "#b8690a"], ["#573709", "#ffb45c"], "M-1 1L1 -1M0 8L8 0M7 9L9 7"),
    paint("t2", ["#cdebd0", "#2f8a3c"], ["#16451f", "#6fd583"], "M3 4h2M7 0h2M-1 0h2M7 8h2M-1 8h2"),
    paint("t3", ["#e6d8f8", "#7b4bc0"], ["#41276b", "#c9a3ff"], "M0 4H8"),
    paint("t4", ["#f5ecae", "#8f7a00"], ["#484006", "#e6d24a"], "M4 0V8"),
    paint("t5", ["#c8eceb", "#12807e"], ["#0c4544", "#5fd6d3"], "M-1 7L1 9M0 0L8 8M7 -1L9 1"),
    paint("t6", ["#fbd6e4", "#b83472"], ["#5c1b3b", "#ff9cc6"], "M0 4H8M4 0V8"),
    paint("t7", ["#e2e6ea", "#5d6672"], ["#343b44", "#aab4c0"], "M2 6L4 2L6 6"),
];

const WRONG: Paint = paint("w", ["#ffc9c4", "#c4261d"], ["#7a1a15", "#ff9a92"], "M0 8L8 0M0 0L8 8");

const fn paint(
    name: &'static str,
    light: [&'static str; 2],
    dark: [&'static str; 2],
    pattern: &'static str,
) -> Paint {
    Paint { name, light, dark, pattern }
}

const fn of(ink: Ink) -> Option<&'static Paint> {
    match ink {
        Ink::Plain | Ink::Empty => None,
        Ink::Tone(tone) => Some(&TONES[(tone % Ink::TONES) as usize]),
        Ink::Wrong => Some(&WRONG),
    }
}

/// The class of a rectangle.
pub(super) const fn class(ink: Ink) -> &'static str {
    match of(ink) {
        Some(paint) => paint.name,
        None if matches!(ink, Ink::Empty) => "n",
        None => "p",
    }
}

/// The style and the patterns of the inks that are used.
pub(super) fn sheet(used: &[Ink]) -> String {
    let paints: Vec<&Paint> = used.iter().filter_map(|ink| of(*ink)).collect();
    let mut css = String::from(
        "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre;fill:#1f2328}\
         .h{font-size:14px;font-weight:bold}.b,.s{font-weight:bold}.s{font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:2.5px}.m{text-anchor:middle}.e{text-anchor:end}\
         .f{fill:#59636e}.bg{fill:#fff}.p{fill:#fff}.n{fill:#f6f8fa}rect{stroke:#8c959f;stroke-width:.6}.bg{stroke:none}\
         .l{stroke:#d1d9e0}.k{stroke:#1f2328;stroke-width:1.4}.a{stroke:#59636e;fill:none}.ah{fill:#59636e}\
         .q{fill:none;stroke-width:1;opacity:.3}",
    );
    let mut dark = String::from(
        "text{fill:#e6edf3}.s{stroke:#0d1117}.f{fill:#9198a1}.bg,.p{fill:#0d1117}.n{fill:#151b23}rect{stroke:#656c76}.bg{stroke:none}.l{stroke:#3d444d}\
         .k{stroke:#e6edf3}.a{stroke:#9198a1}.ah{fill:#9198a1}",
    );
    for Paint { name, light, dark: [fill, stroke], .. } in &paints {
        let _ = write!(
            css,
            ".{name}{{fill:url(#{name})}}.{name}f{{fill:{};stroke:none}}.{name}s{{stroke:{}}}",
            light[0], light[1]
        );
        let _ = write!(dark, ".{name}f{{fill:{fill};stroke:none}}.{name}s{{stroke:{stroke}}}");
    }
    let mut out = format!("<style>{css}@media(prefers-color-scheme:dark){{{dark}}}</style>\n<defs>");
    out.push_str(
        "<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path class=\"ah\" d=\"M0 0L8 4L0 8z\"/></marker>",
    );
    for Paint { name, pattern, .. } in &paints {
        let _ = write!(
            out,
            "<pattern id=\"{name}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect class=\"{name}f\" \
             width=\"8\" height=\"8\"/>"
        );
        if !pattern.is_empty() {
            let _ = write!(out, "<path class=\"q {name}s\" d=\"{pattern}\"/>");
        }
        out.push_str("</pattern>");
    }
    out.push_str("</defs>\n");
    out
}
