//! Eight bytes of a text at a time, for what would take a step for each byte otherwise.

const EACH: u64 = u64::MAX / 0xFF;
const HIGH: u64 = EACH * 0x80;
const LOW: u64 = EACH * 0x7F;

/// Eight bytes, the first one lowest.
#[derive(Clone, Copy)]
pub(crate) struct Eight(u64);

/// Some of eight bytes: the highest bit of each is set, and no other.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(u64);

impl Eight {
    /// How many bytes these are.
    pub(crate) const LEN: usize = 8;

    /// The bytes at a place that is not too near the end.
    #[inline]
    pub(crate) fn at(text: &str, at: usize) -> Option<Self> {
        Some(Self(u64::from_le_bytes(*text.as_bytes().get(at..)?.first_chunk()?)))
    }

    /// The byte at an index below eight.
    #[inline]
    pub(crate) const fn byte(self, index: usize) -> u8 {
        (self.0 >> (8 * index)) as u8
    }

    /// Those that are this ASCII character.
    #[inline]
    pub(crate) const fn are(self, byte: u8) -> Chosen {
        let differs = self.0 ^ (EACH * byte as u64);
        Chosen(!(((differs & LOW) + LOW) | differs) & HIGH)
    }

    /// Those from one ASCII character to another.
    #[inline]
    const fn between(low: u64, first: u8, last: u8) -> u64 {
        (low + EACH * (0x80 - first as u64)) & !(low + EACH * (0x7F - last as u64))
    }

    /// Spaces and what comes before them.
    #[inline]
    pub(crate) const fn blanks(self) -> Chosen {
        Chosen(!(((self.0 & LOW) + EACH * (0x7F - b' ' as u64)) | self.0) & HIGH)
    }

    /// What words are made of: letters, digits, `_` and `$`.
    #[inline]
    pub(crate) const fn words(self) -> Chosen {
        const LOWER: u64 = EACH * 0x20;
        let low = self.0 & LOW;
        let letters = Self::between(low | LOWER, b'a', b'z');
        let digits = Self::between(low, b'0', b'9');
        // Only what is zero leaves the highest bit.
        let signs = (HIGH - (low ^ (EACH * b'_' as u64))) | (HIGH - (low ^ (EACH * b'$' as u64)));
        Chosen((letters | digits | signs) & !self.0 & HIGH)
    }
}

impl Chosen {
    /// These and others.
    #[inline]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many of the eight stand before the first one of these: eight if there is none.
    #[inline]
    pub(crate) const fn before(self) -> usize {
        (self.0.trailing_zeros() / 8) as usize
    }

    /// How many bytes behind the first are chosen up to the next that is not, and that one.
    #[inline]
    pub(crate) const fn behind_first(self) -> usize {
        (!(self.0 | 0x80) & HIGH).trailing_zeros() as usize / 8 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte in every place, with neighbours that a carry would come from or go to.
    fn every(chosen: impl Fn(Eight) -> Chosen, expected: impl Fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            for beside in [0, 0x20, b'$', b'0', b'9', b'Z', b'_', b'a', b'{', 0x7F, 0x80, 0xFF] {
                for place in 0..Eight::LEN {
                    let mut bytes = [beside; Eight::LEN];
                    bytes[place] = byte;
                    let found = chosen(Eight(u64::from_le_bytes(bytes))).0;
                    for (index, byte) in bytes.into_iter().enumerate() {
                        let is_chosen = (found >> (8 * index)) as u8;
                        assert_eq!(is_chosen, u8::from(expected(byte)) << 7, "{bytes:?} at {index}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_byte_is_chosen_by_itself() {
        every(Eight::words, |byte| byte.is_ascii_alphanumeric() || b"_$".contains(&byte));
        every(Eight::blanks, |byte| byte <= b' ');
        every(|eight| eight.are(b';'), |byte| byte == b';');
        every(|eight| eight.are(b'\n'), |byte| byte == b'\n');
    }

    #[test]
    fn places() {
        let eight = |text| Eight::at(text, 1).unwrap();
        assert_eq!(eight("-%rd16, x-").words().behind_first(), 4);
        assert_eq!(eight("-%;rd16, x").words().behind_first(), 0);
        assert_eq!(eight("-%1234567").words().behind_first(), 7);
        assert_eq!(eight("-12 45 78").blanks().before(), 2);
        assert_eq!(eight("-12345678").blanks().before(), 8);
        assert_eq!(eight("-12345678").byte(7), b'8');
        assert!(Eight::at("1234567", 0).is_none() && Eight::at("1234567", 9).is_none());
    }
}
