//! Both renderers: what is written is sound, whatever the picture is.

use ptx_descriptor::idesc_check::{Multiply, check};
use ptx_descriptor::{Features, Generation, Known, instruction, shared_memory, zero_column_mask};
use ptx_draw::copies::{self, Copied};
use ptx_draw::registers::{self, Moved};
use ptx_draw::window::Window;
use ptx_draw::{Bar, Bars, Block, Chart, Ink, Key, Picture, svg, text, words};
use ptx_isa::vocabulary::{CpShape, CtaGroup, Kind, LdShape, Num};
use quick_xml::Reader;
use quick_xml::events::Event;
use strum::IntoEnumIterator;

fn pictures() -> Vec<Picture> {
    let mut all = Vec::new();
    for kind in Kind::iter() {
        for word in [0, 0x0820_0490, u32::MAX] {
            let known: Known = word.into();
            let format = instruction::Format::of(kind, Generation::Blackwell, known);
            let problems = check(&Multiply::any(kind, Features::ANY), known);
            all.push(words::picture(format.layout(), word.into(), &problems));
        }
    }
    for wide in [false, true] {
        all.push(words::picture(shared_memory::layout(wide), 0x4000_4040_0001_0040, &[]));
    }
    all.push(words::picture(zero_column_mask::layout(), 0x0003_0280_0000_0000, &[]));
    for shape in LdShape::iter() {
        let moved = Moved { shape, num: Num::X4, packed: true, store: true, split: None };
        all.push(registers::picture(&moved, &Window::default()).unwrap());
    }
    let copied = Copied {
        shape: CpShape::S128x256b,
        multicast: None,
        decompressed: Some(6),
        cta_group: CtaGroup::Two,
    };
    all.push(copies::picture(&copied, &Window::default()).unwrap());
    // What comes from a kernel may be anything.
    all.push(Picture {
        title: "<&\">\u{1b}[31m\u{0} a\tb \u{ffff}".to_owned(),
        blocks: vec![Block::Chart(Chart {
            rows: vec![Bars {
                label: "]]>\u{7}".to_owned(),
                bars: vec![Bar {
                    start: 3,
                    end: u64::MAX,
                    ink: Ink::Wrong,
                    hint: "<!--".to_owned(),
                    ..Bar::default()
                }],
                ..Bars::default()
            }],
            ..Chart::dense("step", vec![0, 3, u64::MAX])
        })],
        legend: vec![Key { ink: Ink::Tone(200), sign: "&".to_owned(), text: "'".to_owned() }],
        notes: vec!["</svg>".to_owned()],
    });
    all
}

/// SVG that parses, stays within its box, and has a title first, for those who do not see it.
#[test]
fn svg_is_sound() {
    for picture in pictures() {
        let drawn = svg::render(&picture);
        assert_eq!(drawn, svg::render(&picture), "the same each time");
        let mut reader = Reader::from_str(&drawn);
        let (mut size, mut names, mut texts) = ((0.0, 0.0), Vec::new(), 0);
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("{error}: {drawn}")) {
                Event::Start(tag) | Event::Empty(tag) => {
                    let name = tag.name().as_ref().to_owned();
                    let get = |wanted: &str| {
                        let found = tag.attributes().map(Result::unwrap).find(|it| it.key.as_ref() == wanted);
                        found.map(|it| it.value.to_string())
                    };
                    let number =
                        |wanted: &str| get(wanted).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
                    if name == "svg" {
                        size = (number("width"), number("height"));
                        let wanted = format!("0 0 {} {}", get("width").unwrap(), get("height").unwrap());
                        assert_eq!(get("viewBox"), Some(wanted));
                        assert_eq!(get("role").as_deref(), Some("img"));
                    } else if name == "rect" {
                        let (right, below) = (number("x") + number("width"), number("y") + number("height"));
                        assert!(right <= size.0 && below <= size.1, "{name} {right} {below} {size:?}");
                    } else if name == "text" {
                        texts += 1;
                        assert!(number("x") <= size.0 && number("y") <= size.1);
                    }
                    assert!(name != "script" && get("onload").is_none());
                    names.push(name);
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(names[..2], ["svg", "title"], "{}", picture.title);
        assert!(texts > 0);
        assert!(drawn.contains("prefers-color-scheme:dark"));
    }
}

/// Each kind of cell has a colour by day and by night, and a pattern that the others do not have.
#[test]
fn inks_are_told_apart_without_colour() {
    let tones = (0..Ink::TONES).map(Ink::Tone).chain([Ink::Wrong]);
    let legend = tones.map(|ink| Key { ink, ..Key::default() }).collect();
    let drawn = svg::render(&Picture { legend, ..Picture::default() });
    let patterns: Vec<&str> =
        drawn.split("<pattern ").skip(1).map(|it| it.split("</pattern>").next().unwrap()).collect();
    assert_eq!(patterns.len(), usize::from(Ink::TONES) + 1);
    let path = |pattern: &&str| pattern.split(" d=\"").nth(1).unwrap_or("").to_owned();
    let mut paths: Vec<String> = patterns.iter().map(path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), patterns.len());
}

/// Text of the colours that WCAG asks for: 4.5 to 1, on each of them, by day and by night.
#[test]
fn text_has_contrast() {
    let tones = (0..Ink::TONES).map(Ink::Tone).chain([Ink::Wrong]);
    let legend = tones.map(|ink| Key { ink, ..Key::default() }).collect();
    let drawn = svg::render(&Picture { legend, ..Picture::default() });
    let (light, dark) = drawn.split_once("@media").unwrap();
    let luminance = |color: &str| {
        let part = |at: usize| f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |it: f64| if it <= 0.04045 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(0)) + 0.7152 * linear(part(2)) + 0.0722 * linear(part(4))
    };
    let mut seen = 0;
    for (css, ink, faint) in [(light, "1f2328", "59636e"), (dark, "e6edf3", "9198a1")] {
        let contrast = |one: &str, other: &str| {
            let (one, other) = (luminance(one), luminance(other));
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        assert!(css.contains(ink) && css.contains(faint));
        for (_, rest) in css.match_indices("f{fill:#").map(|(at, it)| css.split_at(at + it.len())) {
            let color = &rest[..6];
            // The faint text has the page below it, and is found by the same pattern.
            if color == faint {
                continue;
            }
            seen += 1;
            assert!(contrast(color, ink) >= 4.5, "#{color} below #{ink}: {}", contrast(color, ink));
        }
        let page = if ink == "1f2328" { "ffffff" } else { "0d1117" };
        assert!(contrast(page, faint) >= 4.5);
    }
    assert_eq!(seen, 2 * (usize::from(Ink::TONES) + 1));
}

/// What can be broken is as wide as the terminal at most; colours add escape sequences and nothing else.
#[test]
fn text_fits() {
    for picture in pictures() {
        for width in [40, 60, 80, 200] {
            let plain = text::render(&picture, text::Look { color: false, width });
            let has_escapes = plain.contains('\u{1b}');
            assert!(!has_escapes, "{plain}");
            for line in plain.lines() {
                assert_eq!(line, line.trim_end(), "blanks at the end");
            }
            for block in &picture.blocks {
                // A table is not broken, and a column of a grid may be wide by itself.
                if matches!(block, Block::Grid(_)) && width >= 80 {
                    let only = Picture { blocks: vec![block.clone()], ..Picture::default() };
                    let drawn = text::render(&only, text::Look { color: false, width });
                    let widest = drawn.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                    assert!(widest <= width, "{widest} > {width}\n{drawn}");
                }
            }
            let colored = text::render(&picture, text::Look { color: true, width });
            let mut rest = colored.as_str();
            let mut stripped = String::new();
            while let Some((before, behind)) = rest.split_once("\u{1b}[") {
                stripped.push_str(before);
                rest = behind.split_once('m').unwrap().1;
            }
            stripped.push_str(rest);
            let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
            assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
        }
    }
}
