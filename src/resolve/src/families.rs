//! The names before `<` of parameterised registers, and which of them `%r13` may belong to.

use rustc_hash::FxHashMap;

use crate::source::Span;

/// Counts over this are not worth a register number each.
pub(super) const MOST: u32 = 1 << 24;

/// Declared names, by what they are without the digits at their end, and by those digits. So the
/// names that another one starts with are found in one pass over it: `%r13` may be number 13 of `%r`,
/// or number 3 of `%r1`.
#[derive(Debug, Default)]
pub(super) struct Families<'a> {
    stems: FxHashMap<&'a str, u32>,
    /// By node and digit: the node that both lead to.
    longer: FxHashMap<(u32, u8), u32>,
    nodes: Vec<Node>,
    /// Whether a name does not start with `%`, as compilers have them all do.
    has_bare_names: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The number of the name that ends here, if there is one.
    name: Option<u32>,
    /// Whether a longer name goes on here.
    goes_on: bool,
}

impl<'a> Families<'a> {
    /// The number of a name: the one that it has, or `next` from now on.
    pub(super) fn number(&mut self, name: &'a str, next: u32) -> u32 {
        self.has_bare_names |= !name.starts_with('%');
        let (stem, digits) = split(name);
        let fresh = self.nodes.len() as u32;
        let mut node = *self.stems.entry(stem).or_insert(fresh);
        if node == fresh {
            self.nodes.push(Node::default());
        }
        for digit in digits.bytes() {
            self.nodes[node as usize].goes_on = true;
            let fresh = self.nodes.len() as u32;
            node = *self.longer.entry((node, digit)).or_insert(fresh);
            if node == fresh {
                self.nodes.push(Node::default());
            }
        }
        *self.nodes[node as usize].name.get_or_insert(next)
    }

    /// Whether a register of a family may have this name.
    pub(super) fn may_have(&self, text: &str) -> bool {
        self.has_bare_names || text.starts_with('%')
    }

    /// The number of the only name that what is a stem and a number can belong to: no other name goes on
    /// with digits.
    pub(super) fn only(&self, stem: &str) -> Option<u32> {
        let Node { name, goes_on } = self.nodes[*self.stems.get(stem)? as usize];
        name.filter(|_| !goes_on)
    }

    /// Each way to read `text` as a register of a family: the number of its name, and of the register.
    /// The shortest name comes first.
    pub(super) fn readings(&self, text: &str) -> impl Iterator<Item = (u32, u32)> {
        // No number that is less than the largest count has more digits than these, but for zeros.
        const DIGITS: usize = MOST.ilog10() as usize + 1;
        let (stem, digits) = split(text);
        let digits = digits.as_bytes();
        let mut next = self.stems.get(stem).copied();
        let in_front = &digits[..digits.len().saturating_sub(DIGITS)];
        let zeros_from = in_front.iter().rposition(|digit| *digit != b'0').map_or(0, |at| at + 1);
        (0..digits.len())
            .map_while(move |at| {
                let node = self.nodes[next? as usize];
                next = node.goes_on.then(|| self.longer.get(&(next?, digits[at])).copied()).flatten();
                let last = &digits[at.max(in_front.len())..];
                let number = last.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
                Some(node.name.filter(|_| at >= zeros_from).map(|name| (name, number)))
            })
            .flatten()
    }
}

/// The first bytes of a name, fewer than eight, as a [stem](Numbered::stem); none has 0, which is what those at
/// the end of the text have.
#[inline]
pub(super) fn stem(text: &str, start: u32, length: u32) -> u64 {
    let name = text.as_bytes().get(start as usize..).and_then(<[u8]>::first_chunk);
    name.map_or(0, |name| u64::from_le_bytes(*name) & ((1 << (8 * length)) - 1))
}

/// `%` and a word of up to seven bytes that ends with digits, as most names of registers are, read at
/// one glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    /// Its bytes without the digits, the first one lowest.
    pub(super) stem: u64,
    /// How many these are.
    pub(super) length: u32,
    /// The number that the digits write.
    pub(super) number: u32,
}

impl Numbered {
    /// What a span of a text covers, if it is of this sort and not at the end of the text.
    #[inline]
    pub(super) fn read(text: &str, span: Span) -> Option<Self> {
        const EACH: u64 = u64::MAX / 0xFF;
        const ZEROS: u64 = EACH * 0x30;
        let word = u64::from_le_bytes(*text.as_bytes().get(span.start as usize..)?.first_chunk()?);
        let length = span.len();
        if word.to_le_bytes()[0] != b'%' || !(2..=8).contains(&length) {
            return None;
        }
        // The last byte goes to the top.
        let behind = u64::BITS - 8 * length;
        // A digit is 0 to 9 now, and what is more has its highest bit set next. The first byte has it.
        let digits = (word ^ ZEROS) << behind;
        let others = ((digits & (EACH * 0x7F)) + EACH * (0x80 - 10)) | digits;
        let in_front = u64::BITS - (others & (EACH * 0x80)).leading_zeros();
        if in_front == u64::BITS {
            return None;
        }
        // One digit a byte, the last one highest; then two in each second byte, and all of them.
        let ones = digits >> in_front << in_front;
        let tens = ones.wrapping_mul(10).wrapping_add(ones >> 8);
        let upper = (tens & 0x0000_00FF_0000_00FF).wrapping_mul(100 + (1_000_000 << 32));
        let lower = ((tens >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(1 + (10_000 << 32));
        let length = in_front.saturating_sub(behind) / 8;
        Some(Self {
            stem: word & ((1 << (8 * length)) - 1),
            length,
            number: (upper.wrapping_add(lower) >> 32) as u32,
        })
    }
}

/// A name without the digits at its end, and these.
fn split(name: &str) -> (&str, &str) {
    name.split_at(name.trim_end_matches(|last: char| last.is_ascii_digit()).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(declared: &[&str], text: &str) -> Vec<(String, u32)> {
        let mut families = Families::default();
        for (number, name) in declared.iter().enumerate() {
            families.number(name, number as u32);
        }
        families.readings(text).map(|(name, number)| (declared[name as usize].to_owned(), number)).collect()
    }

    #[test]
    fn short_names_are_read_at_a_glance() {
        let read = |name: &str| {
            let line = format!("; {name}, %r1234567");
            let numbered = Numbered::read(&line, Span::new(2, 2 + name.len() as u32))?;
            Some((name[..numbered.length as usize].to_owned(), numbered))
        };
        for stem in ["%", "%r", "%rd", "%_", "%r$", "%r/", "%r:", "%bcdefg", "%\u{e9}"] {
            for number in ["0", "7", "05", "42", "999", "1300", "65536", "123456", "1234567"] {
                let name = format!("{stem}{number}");
                let found = read(&name);
                if name.len() > 8 {
                    assert_eq!(found, None, "{name}");
                    continue;
                }
                let (text, numbered) = found.unwrap();
                let mut bytes = [0; 8];
                bytes[..stem.len()].copy_from_slice(stem.as_bytes());
                assert_eq!((text.as_str(), numbered.number), (stem, number.parse().unwrap()), "{name}");
                assert_eq!(numbered.stem, u64::from_le_bytes(bytes), "{name}");
            }
        }
        for name in ["%", "%r", "%r1x", "%r1.x", "123", "12345678", "r1", "%r12345678", ""] {
            assert_eq!(read(name), None, "{name}");
        }
        assert_eq!(Numbered::read("%r1", Span::new(0, 3)), None);
    }

    #[test]
    fn families_that_go_on_have_no_only_name() {
        let mut families = Families::default();
        for (number, name) in ["%r", "%rd1", "%rd"].iter().enumerate() {
            families.number(name, number as u32);
        }
        assert_eq!(families.only("%r"), Some(0));
        // `%rd12` may be number 2 of `%rd1`.
        assert_eq!(families.only("%rd"), None);
        assert_eq!(families.only("%s"), None);
    }

    #[test]
    fn a_name_has_one_number() {
        let mut families = Families::default();
        let names = ["%r", "%r1", "r", "%r12", "%r1", "%r", "%q1"];
        let numbers: Vec<u32> = (0..).zip(names).map(|(next, name)| families.number(name, next)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 1, 0, 6]);
    }

    #[test]
    fn every_declared_name_in_front_is_a_reading() {
        let all = ["%r1", "%r", "%r134", "%r0", "%q", "%r99"];
        let found = |text| readings(&all, text);
        let some = |pairs: &[(&str, u32)]| -> Vec<(String, u32)> {
            pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
        };
        assert_eq!(found("%r13"), some(&[("%r", 13), ("%r1", 3)]));
        assert_eq!(found("%r1345"), some(&[("%r", 1345), ("%r1", 345), ("%r134", 5)]));
        assert_eq!(found("%r007"), some(&[("%r", 7), ("%r0", 7)]));
        assert_eq!(found("%r"), []);
        assert_eq!(found("%s1"), []);
        assert_eq!(found("q"), []);
    }

    #[test]
    fn zeros_in_front_do_not_count() {
        let zeros = "0".repeat(1000);
        assert_eq!(readings(&["%r"], &format!("%r{zeros}16777215")), [("%r".to_owned(), (1 << 24) - 1)]);
        assert_eq!(readings(&["%r"], &format!("%r1{zeros}")), []);
        assert_eq!(readings(&["%r1"], &format!("%r1{zeros}")), [("%r1".to_owned(), 0)]);
        assert_eq!(readings(&["%r"], "%r99999999"), [("%r".to_owned(), 99_999_999)]);
        assert_eq!(readings(&["%r"], "%r123456789"), []);
    }

    /// One node for each digit that is declared, and none for those that are only used.
    #[test]
    fn the_index_is_as_long_as_the_names() {
        let mut families = Families::default();
        let long = format!("%r{}", "7".repeat(1000));
        for length in 2..long.len() {
            families.number(&long[..length], length as u32);
        }
        assert_eq!(families.nodes.len(), 1000);
        assert_eq!(families.readings(&format!("%s{long}")).count(), 0);
        assert_eq!(families.readings(&long[..50]).count(), 8);
    }
}
