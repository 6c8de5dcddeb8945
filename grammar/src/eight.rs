//! Eight bytes of a text at a time, for what would take a step for each byte otherwise.

const EACH: u64 = u64::MAX / 0xFF;
const HIGH: u64 = EACH * 0x80;

/// Eight bytes, the first one lowest.
#[derive(Clone, Copy)]
pub(crate) struct Eight(u64);

/// Where the first of some bytes is among eight: the lowest bit that is set is its highest one. Of bytes
/// behind it nothing is said.
#[derive(Clone, Copy)]
pub(crate) struct First(u64);

impl Eight {
    /// How many bytes these are.
    pub(crate) const LEN: usize = 8;

    /// The bytes at a place that is not too near the end.
    #[inline]
    pub(crate) fn at(text: &str, at: usize) -> Option<Self> {
        Some(Self(u64::from_le_bytes(*text.as_bytes().get(at..)?.first_chunk()?)))
    }

    /// The first that is less than an ASCII character.
    #[inline]
    pub(crate) const fn first_below(self, byte: u8) -> First {
        First(self.0.wrapping_sub(EACH * byte as u64) & !self.0 & HIGH)
    }

    /// The first that is this character.
    #[inline]
    pub(crate) const fn first(self, byte: u8) -> First {
        Self(self.0 ^ (EACH * byte as u64)).first_below(1)
    }

    /// These bytes, the first one lowest.
    #[inline]
    pub(crate) const fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    /// With the letters among them in lower case. Of what is neither a letter nor a digit nothing is made that
    /// would be one.
    #[inline]
    pub(crate) const fn in_lower_case(self) -> Self {
        Self(self.0 | (EACH * 0x20))
    }

    /// Whether all are ASCII characters.
    #[inline]
    pub(crate) const fn is_ascii(self) -> bool {
        self.0 & HIGH == 0
    }

    /// Those from one ASCII character to another, where all are ASCII characters.
    #[inline]
    pub(crate) const fn all_between(self, first: u8, last: u8) -> All {
        // Then nothing is carried from one byte to the next.
        let not_before = self.0.wrapping_add(EACH * (0x80 - first as u64));
        let behind = self.0.wrapping_add(EACH * (0x7F - last as u64));
        All(not_before & !behind & HIGH)
    }

    /// What `digits` decimal digits in front write, one to seven of them.
    #[inline]
    pub(crate) const fn decimal(self, digits: u32) -> u32 {
        // As many as there can be, with zeros before.
        let ones = self.0 << (8 * (Self::LEN as u32 - digits)) & (EACH * 0x0F);
        let tens = (ones * 10 + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
        let hundreds = (tens * 100 + (tens >> 16)) & 0x0000_FFFF_0000_FFFF;
        (hundreds * 10_000 + (hundreds >> 32)) as u32
    }
}

/// Which of eight bytes are of some kind: the highest bit of each tells.
#[derive(Clone, Copy)]
pub(crate) struct All(u64);

impl All {
    /// Those of either kind.
    #[inline]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many there are from the first byte on without one between that is none.
    #[inline]
    pub(crate) const fn run(self) -> u32 {
        (!self.0 & HIGH).trailing_zeros() / 8
    }

    /// How many there are before the byte at a place, from one to seven, without one between that is none.
    #[inline]
    pub(crate) const fn run_before(self, place: u32) -> u32 {
        let before = self.0 << (8 * (Eight::LEN as u32 - place));
        (!before & HIGH).leading_zeros() / 8
    }
}

impl First {
    /// The first of both.
    #[inline]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many of the eight stand before it: eight if there is none.
    #[inline]
    pub(crate) const fn before(self) -> usize {
        (self.0.trailing_zeros() / 8) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte in every place, with neighbours that a borrow would come from or go to.
    fn every(found: impl Fn(Eight) -> First, expected: impl Fn(u8) -> bool) {
        for byte in 0..=u8::MAX {
            for beside in [0, 0x20, 0x21, b':', b';', b'<', b'a', 0x7F, 0x80, 0xA0, 0xBB, 0xFF] {
                for place in 0..Eight::LEN {
                    let mut bytes = [beside; Eight::LEN];
                    bytes[place] = byte;
                    let found = found(Eight(u64::from_le_bytes(bytes))).before();
                    let first = bytes.iter().position(|byte| expected(*byte));
                    assert_eq!(found, first.unwrap_or(Eight::LEN), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_one_is_found() {
        every(|eight| eight.first_below(0x21), |byte| byte <= b' ');
        every(|eight| eight.first(b';'), |byte| byte == b';');
        every(|eight| eight.first_below(0x21).or(eight.first(b';')), |byte| byte <= b' ' || byte == b';');
        assert!(Eight::at("1234567", 0).is_none() && Eight::at("1234567", 9).is_none());
    }

    #[test]
    fn all_of_a_kind_are_found() {
        for byte in 0..0x80_u8 {
            let eight = Eight::of(EACH * u64::from(byte));
            assert!(eight.is_ascii() && !Eight::of((EACH * u64::from(byte)) | (0x80 << 40)).is_ascii());
            let expected = |is_some: bool| if is_some { HIGH } else { 0 };
            assert_eq!(eight.all_between(b'0', b'9').0, expected(byte.is_ascii_digit()));
            assert_eq!(
                eight.in_lower_case().all_between(b'a', b'z').0,
                expected(byte.is_ascii_alphabetic()),
                "{byte}"
            );
        }
        let eight = |text: &str| Eight::at(text, 0).unwrap();
        let digits = eight("12a4567;").all_between(b'0', b'9');
        assert_eq!(
            (digits.run(), digits.run_before(7), digits.run_before(2), digits.run_before(3)),
            (2, 4, 2, 0)
        );
        assert_eq!(eight("        ").all_between(b' ', b' ').run(), 8);
        for (text, digits, number) in [("7;;;;;;;", 1, 7), ("0429,  9", 4, 429), ("9876543]", 7, 9_876_543)] {
            assert_eq!(eight(text).decimal(digits), number);
        }
    }
}
