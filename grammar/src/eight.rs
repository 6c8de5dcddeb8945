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
}
