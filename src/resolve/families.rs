//! The names before `<` of parameterised registers, and which of them `%r13` may belong to.

use rustc_hash::FxHashMap;

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
    /// By a few bits of their bytes: short stems and their nodes, as they were last asked for.
    recent: Recent,
    /// Whether a name does not start with `%`, as compilers have them all do.
    has_bare_names: bool,
}

/// A short stem as a number, and its node.
#[derive(Debug)]
struct Recent([(u64, u32); Self::SIZE]);

impl Recent {
    const SIZE: usize = 64;

    const fn place(key: u64) -> usize {
        // The letter behind `%`, and the next one.
        ((key >> 8) ^ (key >> 13)) as usize % Self::SIZE
    }
}

impl Default for Recent {
    fn default() -> Self {
        // No stem has this number.
        Self([(0, 0); Self::SIZE])
    }
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

    /// The only way to read `text` as a register of a family, where it is soon found: `%r` and a short
    /// number, no family being called `%r1` or the like.
    #[inline]
    pub(super) fn only_reading(&mut self, text: &str) -> Option<(u32, u32)> {
        const DIGITS: usize = MOST.ilog10() as usize;
        let bytes = text.as_bytes();
        let (mut number, mut scale, mut stem) = (0, 1, bytes.len());
        while let Some(digit) = bytes[..stem].last().filter(|last| last.is_ascii_digit()) {
            if bytes.len() - stem == DIGITS {
                return None;
            }
            number += u32::from(digit - b'0') * scale;
            scale *= 10;
            stem -= 1;
        }
        if stem == bytes.len() || stem > size_of::<u64>() || bytes.first() != Some(&b'%') {
            return None;
        }
        let key = bytes[..stem].iter().rev().fold(0, |key, byte| key << 8 | u64::from(*byte));
        let place = Recent::place(key);
        let (known, mut node) = self.recent.0[place];
        if known != key {
            node = *self.stems.get(&text[..stem])?;
            self.recent.0[place] = (key, node);
        }
        let Node { name, goes_on } = self.nodes[node as usize];
        name.filter(|_| !goes_on).map(|name| (name, number))
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
