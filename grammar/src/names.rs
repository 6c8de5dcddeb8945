//! What names tell by the way they are written.

use crate::eight::Eight;
use crate::source::Span;

/// How a name is written, in one number, which a tree keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape(u32);

impl Shape {
    /// None of the others.
    pub(crate) const OTHER: Self = Self(0);
    /// `%` and a word without dots, as registers are called.
    pub(crate) const PLAIN: Self = Self(1);

    const STEM_BITS: u32 = 3;

    /// A plain name that is short and ends with digits, by how much stands before these and the number that
    /// they write.
    const fn numbered(stem: u32, number: u32) -> Self {
        Self(Self::PLAIN.0 | stem << 1 | number << (1 + Self::STEM_BITS))
    }

    /// The shape of a whole name.
    pub(crate) fn of(text: &str, name: Span) -> Self {
        if let Some((length, shape)) = short(text, name.start as usize)
            && length == name.len()
        {
            return shape;
        }
        let written = text.as_bytes().get(name.range()).unwrap_or_default();
        if written.starts_with(b"%") && !written.contains(&b'.') { Self::PLAIN } else { Self::OTHER }
    }

    /// Back from the number.
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn is_plain(self) -> bool {
        self.0 & Self::PLAIN.0 != 0
    }

    /// How much stands before the number at its end, and that number, if the name is short and has one.
    #[inline]
    pub(crate) const fn number(self) -> Option<(u32, u32)> {
        let stem = self.0 >> 1 & ((1 << Self::STEM_BITS) - 1);
        if stem == 0 { None } else { Some((stem, self.0 >> (1 + Self::STEM_BITS))) }
    }
}

/// Bytes that are looked at together. A short name is shorter: what stands behind it is among them.
const TOGETHER: usize = 8;

/// The length and the shape of `%` and a short word, if they stand at a place and no dot behind them.
#[inline]
pub(crate) fn short(text: &str, at: usize) -> Option<(u32, Shape)> {
    let bytes = text.as_bytes().get(at..)?;
    let bytes = match bytes.first_chunk::<TOGETHER>() {
        Some(bytes) => *bytes,
        None => padded(bytes),
    };
    if bytes[0] != b'%' {
        return None;
    }
    // How long names and numbers are changes from one to the next: loops would be guessed wrong.
    let word = u64::from_le_bytes(bytes) >> 8;
    let eight = Eight::of(word);
    let digits = eight.all_between(b'0', b'9');
    let length = digits.or(eight.in_lower_case().all_between(b'a', b'z')).run();
    let behind = (word >> (8 * length)) as u8;
    if !eight.is_ascii() || is_word(behind) {
        return short_by_steps(word);
    }
    // Behind the last byte nothing is known.
    if !(1..TOGETHER as u32 - 1).contains(&length) || behind == b'.' {
        return None;
    }
    let number = digits.run_before(length);
    Some((
        1 + length,
        if number == 0 {
            Shape::PLAIN
        } else {
            let digits = Eight::of(word >> (8 * (length - number)));
            Shape::numbered(1 + length - number, digits.decimal(number))
        },
    ))
}

/// The same of a word that has more than letters and digits.
#[cold]
fn short_by_steps(mut rest: u64) -> Option<(u32, Shape)> {
    let (mut length, mut stem, mut number) = (1, 1, 0);
    loop {
        let byte = rest as u8;
        let digit = byte.wrapping_sub(b'0');
        length += 1;
        if digit < 10 {
            number = number * 10 + u32::from(digit);
        } else if is_word(byte) {
            (stem, number) = (length, 0);
        } else {
            break;
        }
        rest >>= 8;
    }
    length -= 1;
    // Behind the last byte nothing is known.
    if !(2..TOGETHER as u32).contains(&length) || rest as u8 == b'.' {
        return None;
    }
    Some((length, if stem == length { Shape::PLAIN } else { Shape::numbered(stem, number) }))
}

/// What stands before the end of the text, and no bytes of any name behind it.
#[cold]
fn padded(bytes: &[u8]) -> [u8; TOGETHER] {
    std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0))
}

/// Whether words are made of it.
#[inline]
pub(crate) const fn is_word(byte: u8) -> bool {
    const WORD: [bool; 256] = {
        let mut word = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let it = byte as u8;
            word[byte] = it.is_ascii_alphanumeric() || it == b'_' || it == b'$';
            byte += 1;
        }
        word
    };
    WORD[byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names() {
        let short =
            |text: &str| short(text, 1).map(|(length, shape)| (length, shape.is_plain(), shape.number()));
        for behind in ["", ",", " ;   ", "]; mov.b32 %r1", "|%p1"] {
            let short = |name: &str| short(&format!("-{name}{behind}"));
            assert_eq!(short("%r12"), Some((4, true, Some((2, 12)))));
            assert_eq!(short("%r007"), Some((5, true, Some((2, 7)))));
            assert_eq!(short("%r1x20"), Some((6, true, Some((4, 20)))));
            assert_eq!(short("%1"), Some((2, true, Some((1, 1)))));
            assert_eq!(short("%r99999"), Some((7, true, Some((2, 99_999)))));
            assert_eq!(short("%999999"), Some((7, true, Some((1, 999_999)))));
            assert_eq!(short("%leader"), Some((7, true, None)));
            for other in ["%", "%r123456", "%r1.x", "r1", "", "%rd12345678"] {
                assert_eq!(short(other), None, "{other}");
            }
        }
        assert_eq!(short("-%r"), Some((2, true, None)));
    }

    #[test]
    fn names_are_read_alike_at_one_glance() {
        let of = [b'%', b'a', b'Z', b'0', b'9', b'_', b'$', b'.', b',', b'@', b'`', b'{', b'/', b':', b' '];
        for number in 0..of.len().pow(5) {
            let byte = |place: u32| of[number / of.len().pow(place) % of.len()];
            let (front, back) = (number % 3, number % 4);
            let mut name = vec![b'r'; front];
            name.extend((0..5).map(byte));
            name.extend(std::iter::repeat_n(b'7', back));
            name.resize(7, b';');
            let word = name.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            let text = format!("%{}", String::from_utf8(name).unwrap());
            let simple = |shape: Option<(u32, Shape)>| shape.map(|(length, shape)| (length, shape.bits()));
            assert_eq!(simple(super::short(&text, 0)), simple(short_by_steps(word)), "{text}");
        }
    }

    #[test]
    fn whole_names() {
        let of = |name: &str| {
            let shape = Shape::of(&format!("-{name};"), Span::new(1, 1 + name.len() as u32));
            (shape.is_plain(), shape.number())
        };
        assert_eq!(of("%r12"), (true, Some((2, 12))));
        assert_eq!(of("%r123456789"), (true, None));
        assert_eq!(of("%tid.x"), (false, None));
        assert_eq!(of("r1"), (false, None));
        assert_eq!(Shape::of_bits(Shape::of("%r3", Span::new(0, 3)).bits()).number(), Some((2, 3)));
    }
}
