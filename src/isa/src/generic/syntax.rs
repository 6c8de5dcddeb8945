//! The syntax of a row as the ISA writes it, and where the ISA has it.

use super::{Form, Geometry, Group, Modifier, OperandSlot, Pair, Presence, Role, Row, TypeRule};

impl Row {
    /// The syntax, with what stands for the words of each group below it:
    ///
    /// ```text
    /// mbarrier.expect_tx{.relaxed}{.scope}{.space}.b64 [addr], txCount;
    ///
    /// .scope = { .cta, .cluster }
    /// .space = { .shared, .shared::cta, .shared::cluster }
    /// ```
    pub fn syntax(&self, name: &str) -> String {
        let mut text = self.line(name);
        let groups = self.modifiers.iter().enumerate().filter(|(_, group)| group.words.len() > 1);
        let mut seen: Vec<String> = Vec::new();
        for (index, group) in groups {
            let placeholder = self.placeholder(index);
            if seen.contains(&placeholder) {
                continue;
            }
            if seen.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("\n.{placeholder} = {{ {} }}", list(group.words)));
            seen.push(placeholder);
        }
        text
    }

    /// The first line of the [syntax](Self::syntax).
    pub fn line(&self, name: &str) -> String {
        let mut text = name.to_owned();
        for (index, group) in self.modifiers.iter().enumerate() {
            let word = match group.words {
                [only] => only.spelling(),
                _ => self.placeholder(index),
            };
            if group.required {
                text.push_str(&format!(".{word}"));
            } else {
                text.push_str(&format!("{{.{word}}}"));
            }
        }
        let mut is_first = true;
        // One that some words make necessary is written once.
        let mut last = "";
        for slot in self.operands {
            if std::mem::replace(&mut last, slot.name) == slot.name {
                continue;
            }
            let operand = self.operand_syntax(slot);
            let comma = if is_first { "" } else { ", " };
            match (slot.presence, is_first) {
                (Presence::Always, _) => {
                    text.push_str(if is_first { " " } else { comma });
                    text.push_str(&operand);
                    is_first = false;
                }
                // What follows needs no comma before it if this is left out.
                (_, true) => text.push_str(&format!(" {{{operand},}}")),
                (_, false) => text.push_str(&format!("{{{comma}{operand}}}")),
            }
        }
        // All of them can be left out.
        if is_first && text.ends_with(",}") {
            text.truncate(text.len() - 2);
            text.push('}');
        }
        text.push(';');
        text
    }

    /// How an operand is written: `[addr]`, `d|p`.
    pub fn operand_syntax(&self, slot: &OperandSlot) -> String {
        let name = slot.name;
        let has_coordinates = || {
            let is_geometry = |word: &Modifier| matches!(word, Modifier::Geometry(_));
            let is_of_tensor = || name == "tensorMap" || name == "a";
            self.modifiers.iter().flat_map(|group| group.words).any(is_geometry) && is_of_tensor()
        };
        match (slot.role, slot.form, slot.pair) {
            (Role::Address(..), ..) if has_coordinates() => format!("[{name}, coords]"),
            (Role::Address(..), ..) => format!("[{name}]"),
            (Role::Results | Role::Arguments, ..) => format!("({name})"),
            (_, Form::Predicate, _) => format!("{{!}}{name}"),
            (.., Pair::Optional) => format!("{name}{{|{}}}", slot.second_name()),
            (.., Pair::Required) => format!("{name}|{}", slot.second_name()),
            (.., Pair::None) => name.to_owned(),
        }
    }

    /// What stands for the words of a group in the syntax, without its dot.
    pub fn placeholder(&self, index: usize) -> String {
        let Some(first) = self.modifiers.get(index).and_then(|group| group.words.first()) else {
            return String::new();
        };
        let kind = std::mem::discriminant(first);
        let (_, name) = first.kind_names();
        let is_alike = |group: &Group| group.words.first().map(std::mem::discriminant) == Some(kind);
        // How many groups of its kind stand before it, and how many there are that need a name.
        let nth = self.modifiers[..index].iter().filter(|group| is_alike(group)).count();
        let several =
            self.modifiers.iter().filter(|group| is_alike(group) && group.words.len() > 1).count() > 1;
        match first {
            Modifier::Type(_) => self.type_name(nth, several),
            Modifier::Space(_) if several => ["dst", "src", "space3"][nth.min(2)].to_owned(),
            Modifier::Layout(_) if several => ["alayout", "blayout"][nth.min(1)].to_owned(),
            Modifier::Geometry(Geometry::D1)
                if self.modifiers[index].words.contains(&Modifier::Geometry(Geometry::A1d)) =>
            {
                "geom".to_owned()
            }
            _ if several => format!("{name}{}", nth + 1),
            _ => name.to_owned(),
        }
    }

    /// `.dtype`, where that is the type of `d`.
    fn type_name(&self, nth: usize, several: bool) -> String {
        if !several {
            return "type".to_owned();
        }
        let rule = TypeRule::Nth(nth as u8);
        let of_operand = self.operands.iter().find(|slot| slot.ty == rule).map(|slot| slot.name);
        let is_of_fragments = self.operands.iter().any(|slot| slot.form == Form::Fragment);
        match of_operand {
            Some(name) if name.len() == 1 && !is_of_fragments => format!("{name}type"),
            // Of matrices and of video instructions, in the order of their operands.
            _ => match ["d", "a", "b", "c"].get(nth) {
                Some(operand) => format!("{operand}type"),
                None => "stype".to_owned(),
            },
        }
    }

    /// The place of its section in the online ISA.
    pub fn anchor(&self) -> String {
        let title = match self.title.unwrap_or(self.name()) {
            "mbarrier.test_wait" | "mbarrier.try_wait" => "mbarrier.test_wait.mbarrier.try_wait",
            "cp.async.commit_group" => "cp.async.commit_group",
            "wgmma.mma_async" => "wgmma.mma",
            "wgmma.mma_async.sp" => "wgmma.mma.sp",
            "wmma.load" => "wmma.ld",
            "wmma.store" => "wmma.st",
            "mma" => return "warp-level-matrix-instructions-for-mma".to_owned(),
            "mma.sp" => return "warp-level-matrix-instructions-for-sparse-mma".to_owned(),
            "createpolicy.range" | "createpolicy.fractional" | "createpolicy.cvt" => "createpolicy",
            "prefetch" | "prefetchu" => "prefetch.prefetchu",
            title => title.split(',').next().unwrap_or(title),
        };
        let chapter = match self.chapter {
            "Extended-Precision Integer Arithmetic Instructions" => {
                "extended precision arithmetic instructions"
            }
            "Warp Level Matrix Multiply-Accumulate Instructions" if self.name().starts_with("wgmma") => {
                "asynchronous warpgroup level matrix instructions"
            }
            "Warp Level Matrix Multiply-Accumulate Instructions" => "warp level matrix instructions",
            "Video Instructions" => return self.video_anchor().to_owned(),
            chapter => chapter,
        };
        format!("{chapter} {title}").to_ascii_lowercase().replace("::", "-").replace([' ', '.', '_'], "-")
    }

    fn video_anchor(&self) -> &'static str {
        match self.name() {
            "vmad" => "scalar-video-instructions-vmad",
            "vset" => "scalar-video-instructions-vset",
            "vshl" | "vshr" => "scalar-video-instructions-vshl-vshr",
            "vset2" => "simd-video-instructions-vset2",
            "vset4" => "simd-video-instructions-vset4",
            name if name.ends_with('2') => "simd-video-instructions-vadd2-vsub2-vavrg2-vabsdiff2-vmin2-vmax2",
            name if name.ends_with('4') => "simd-video-instructions-vadd4-vsub4-vavrg4-vabsdiff4-vmin4-vmax4",
            _ => "scalar-video-instructions-vadd-vsub-vabsdiff-vmin-vmax",
        }
    }
}

impl OperandSlot {
    /// The name of a second destination.
    pub fn second_name(&self) -> &'static str {
        if self.name == "p" { "q" } else { "p" }
    }
}

impl Group {
    /// What the group is called in a sentence: `the scope`; the word itself, where there is only one.
    pub fn title(&self) -> String {
        match self.words {
            [only @ Modifier::Flag(_)] => format!("`.{}`", only.spelling()),
            [first, ..] => first.kind_names().0.to_owned(),
            [] => String::new(),
        }
    }

    /// What its words are for; nothing where a word says it itself.
    pub fn purpose(&self) -> &'static str {
        match self.words.first() {
            Some(Modifier::Flag(_)) | None => "",
            Some(first) => first.purpose(),
        }
    }
}

/// The words of a group. The many shapes of a warpgroup are said in short.
fn list(words: &[Modifier]) -> String {
    /// Nobody reads more.
    const MOST: usize = 24;
    let spelled = |words: &[Modifier]| {
        let words: Vec<String> = words.iter().map(|word| format!(".{}", word.spelling())).collect();
        words.join(", ")
    };
    match words {
        [.., last] if words.len() > MOST => {
            format!("{}, ..., .{}", spelled(&words[..MOST / 2]), last.spelling())
        }
        all => spelled(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generic::rows;

    fn row(name: &str, nth: usize) -> &'static Row {
        rows().filter(|row| row.names.contains(&name)).nth(nth).unwrap()
    }

    #[test]
    fn syntax_is_written_as_the_isa_writes_it() {
        let line = |name: &str, nth| row(name, nth).line(name);
        assert_eq!(
            line("mbarrier.expect_tx", 0),
            "mbarrier.expect_tx{.relaxed}{.scope}{.space}{.multicast::cluster::32b}.b64 [addr], txCount{, ctaMask};"
        );
        assert_eq!(line("setp", 0), "setp.CmpOp{.BoolOp}{.ftz}.type p{|q}, a, b{, {!}c};");
        assert_eq!(line("elect.sync", 0), "elect.sync d|p, membermask;");
        assert_eq!(line("cvt", 0), "cvt{.rnd}{.ftz}{.sat}{.relu}{.satfinite}{.pzo}.dtype.atype d, a;");
        assert_eq!(line("call", 0), "call{.uni} {(ret-param),} func{, (param-list)}{, flist};");
        assert_eq!(line("fabric.wait", 0), "fabric.wait{.restrict} {N};");
        assert_eq!(line("ret", 0), "ret{.uni};");
        assert_eq!(
            line("cp.async.bulk.tensor", 1),
            "cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.L2::cache_hint}\
             {.override::global_address}{.override} [tensorMap, coords], [srcMem]{, cache-policy};"
        );
        assert_eq!(
            row("mbarrier.init", 0).syntax("mbarrier.init"),
            "mbarrier.init{.layout}{.space}.b64 [addr], count;\n\n.layout = { .layout::v0, .layout::v1 }\n\
             .space = { .shared, .shared::cta }"
        );
        assert!(
            line("mma", 0).contains(".alayout.blayout")
                && line("mma", 0).contains(".dtype.atype.btype.ctype")
        );
    }

    #[test]
    fn sections_have_places() {
        assert_eq!(row("ld", 0).anchor(), "data-movement-and-conversion-instructions-ld");
        assert_eq!(
            row("bar.sync", 0).anchor(),
            "parallel-synchronization-and-communication-instructions-bar"
        );
        assert_eq!(row("add", 0).anchor(), "integer-arithmetic-instructions-add");
        assert_eq!(
            row("wgmma.fence", 0).anchor(),
            "asynchronous-warpgroup-level-matrix-instructions-wgmma-fence"
        );
        for row in rows() {
            let anchor = row.anchor();
            assert!(
                anchor.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-'),
                "{anchor}"
            );
        }
    }

    /// Hover says which words stand for which; two lists under one name would contradict each other.
    #[test]
    fn no_name_stands_for_two_lists() {
        for row in rows() {
            for (index, group) in row.modifiers.iter().enumerate().filter(|(_, it)| it.words.len() > 1) {
                for (other, again) in row.modifiers.iter().enumerate().skip(index + 1) {
                    if again.words.len() > 1 && row.placeholder(index) == row.placeholder(other) {
                        assert_eq!(group.words, again.words, "{}: {}", row.name(), row.placeholder(index));
                    }
                }
            }
        }
    }
}
