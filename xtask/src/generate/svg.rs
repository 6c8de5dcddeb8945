//! A terminal's screen as SVG.

use std::fmt::Write as _;

const CHARACTER: f64 = 8.4;
const LINE: usize = 19;

/// `command` and what it printed, with ANSI colours.
pub(crate) fn terminal(command: &str, output: &str) -> String {
    let prompt = format!("\u{1b}[1m$ {command}\u{1b}[0m");
    let lines: Vec<&str> = std::iter::once(prompt.as_str()).chain(output.lines()).collect();
    let columns = lines.iter().map(|line| visible(line)).max().unwrap_or_default();
    let width = (columns as f64 * CHARACTER).ceil() as usize + 32;
    let height = lines.len() * LINE + 28;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace\" font-size=\"14\">\n\
         <title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1b1f27\"/>\n",
        escape(command)
    );
    let mut style = Style::default();
    for (number, line) in lines.iter().enumerate() {
        let y = 28 + number * LINE;
        let mut column = 0;
        for (piece, next) in pieces(line) {
            // Each piece has its own place, so that a font without box characters keeps the grid.
            let length = piece.chars().count();
            if !piece.trim().is_empty() {
                let x = 16.0 + column as f64 * CHARACTER;
                let span = length as f64 * CHARACTER;
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{span:.1}\" xml:space=\"preserve\" fill=\"{}\"{}>{}</text>",
                    style.color,
                    if style.bold { " font-weight=\"bold\"" } else { "" },
                    escape(piece)
                );
            }
            column += length;
            if let Some(codes) = next {
                style.apply(codes);
            }
        }
    }
    svg + "</svg>\n"
}

struct Style {
    color: &'static str,
    bold: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: "#d5dae3", bold: false }
    }
}

impl Style {
    /// Applies the numbers of an escape sequence.
    fn apply(&mut self, codes: &str) {
        // `38;5;9` is the bright variant of `31`, and so on.
        if let Some(index) = codes.strip_prefix("38;5;") {
            return self.apply(match index {
                "1" | "9" => "31",
                "2" | "10" => "32",
                "3" | "11" => "33",
                "4" | "12" => "34",
                "6" | "14" => "36",
                _ => "37",
            });
        }
        for code in codes.split(';') {
            match code {
                "" | "0" => *self = Self::default(),
                "1" => self.bold = true,
                "31" | "91" => self.color = "#ff7b72",
                "32" | "92" => self.color = "#7ee787",
                "33" | "93" => self.color = "#f2cc60",
                "34" | "94" => self.color = "#79c0ff",
                "36" | "96" => self.color = "#76e3ea",
                "37" | "97" => self.color = "#f0f3f6",
                _ => {}
            }
        }
    }
}

/// The text between escape sequences, each with the sequence that follows it.
fn pieces(line: &str) -> Vec<(&str, Option<&str>)> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((text, tail)) = rest.split_once("\u{1b}[") {
        let Some((codes, tail)) = tail.split_once('m') else { break };
        pieces.push((text, Some(codes)));
        rest = tail;
    }
    pieces.push((rest, None));
    pieces
}

fn visible(line: &str) -> usize {
    pieces(line).iter().map(|(text, _)| text.chars().count()).sum()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
