//! The text that `printf` prints: C's conversions, as far as CUDA has them ("Formatted Output" of the CUDA C++
//! Programming Guide).
//!
//! An argument that is not known is printed as `?`, as wide as the conversion says.

/// Bytes that one call prints at most.
const MOST_TEXT: usize = 4096;
/// Widths and precisions are taken to be at most this: more is a number that went wrong.
const MOST_WIDTH: usize = 1024;

/// Where arguments come from.
pub(crate) trait Arguments {
    /// The next argument, of 4 or 8 bytes; nothing if it is not known.
    fn next(&mut self, bytes: u32) -> Option<u64>;
    /// The bytes of a string up to its end, at most so many; nothing if one of them is not known.
    fn string(&mut self, address: u64, most: usize) -> Option<Vec<u8>>;
}

/// Prints a format with its arguments. Returns the text, and how many arguments it took.
pub(crate) fn print(format: &[u8], arguments: &mut dyn Arguments) -> (String, u32) {
    let mut text = Vec::new();
    let mut count = 0;
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        text.extend_from_slice(&rest[..at]);
        let (conversion, after) = Conversion::parse(&rest[at + 1..], arguments, &mut count);
        match conversion {
            Some(conversion) => conversion.print(arguments, &mut count, &mut text),
            // What is no conversion is a text.
            None => text.extend_from_slice(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
        if text.len() > MOST_TEXT {
            break;
        }
    }
    text.extend_from_slice(rest);
    text.truncate(MOST_TEXT);
    (String::from_utf8_lossy(&text).into_owned(), count)
}

#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the format")]
struct Conversion {
    is_left: bool,
    has_sign: bool,
    has_blank: bool,
    is_alternative: bool,
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer.
    bits: u32,
    /// What is printed: `d`, `x`, ...
    kind: u8,
}

impl Conversion {
    /// The conversion after a `%`, and what comes after it.
    fn parse<'f>(
        mut rest: &'f [u8],
        arguments: &mut dyn Arguments,
        count: &mut u32,
    ) -> (Option<Self>, &'f [u8]) {
        let mut it = Self { bits: 32, ..Self::default() };
        while let [flag, after @ ..] = rest {
            match flag {
                b'-' => it.is_left = true,
                b'+' => it.has_sign = true,
                b' ' => it.has_blank = true,
                b'#' => it.is_alternative = true,
                b'0' => it.has_zeros = true,
                _ => break,
            }
            rest = after;
        }
        let mut number = |rest: &mut &'f [u8]| -> Option<i64> {
            if let [b'*', after @ ..] = *rest {
                *rest = after;
                *count += 1;
                return arguments.next(4).map(|value| i64::from((value as u32).cast_signed()));
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (number, after) = rest.split_at(digits);
            *rest = after;
            let number = std::str::from_utf8(number).ok().filter(|it| !it.is_empty());
            number.map(|it| it.parse().unwrap_or(i64::MAX))
        };
        let width = number(&mut rest).unwrap_or(0);
        it.is_left |= width < 0;
        it.width = usize::try_from(width.unsigned_abs()).map_or(MOST_WIDTH, |width| width.min(MOST_WIDTH));
        if let [b'.', after @ ..] = rest {
            rest = after;
            let precision = number(&mut rest).unwrap_or(0);
            // A negative one counts as none.
            it.precision = usize::try_from(precision).ok().map(|it| it.min(MOST_WIDTH));
        }
        loop {
            (it.bits, rest) = match rest {
                [b'h', b'h', after @ ..] => (8, after),
                [b'h', after @ ..] => (16, after),
                [b'l' | b'j' | b'z' | b't' | b'L', after @ ..] => (64, after),
                [kind, after @ ..] => {
                    it.kind = *kind;
                    let is_known = matches!(
                        kind,
                        b'd' | b'i'
                            | b'u'
                            | b'o'
                            | b'x'
                            | b'X'
                            | b'c'
                            | b's'
                            | b'p'
                            | b'%'
                            | b'f'
                            | b'F'
                            | b'e'
                            | b'E'
                            | b'g'
                            | b'G'
                            | b'a'
                            | b'A'
                    );
                    return (is_known.then_some(it), after);
                }
                [] => return (None, rest),
            };
        }
    }

    fn print(self, arguments: &mut dyn Arguments, count: &mut u32, out: &mut Vec<u8>) {
        if self.kind == b'%' {
            out.push(b'%');
            return;
        }
        *count += 1;
        let bytes = match self.kind {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' if self.bits <= 32 => 4,
            b'c' => 4,
            _ => 8,
        };
        let Some(value) = arguments.next(bytes) else { return self.pad(b"", b"?", false, out) };
        match self.kind {
            b'd' | b'i' => {
                let unused = 64 - self.bits;
                let value = (value << unused).cast_signed() >> unused;
                self.integer(self.sign(value < 0), value.unsigned_abs().to_string(), out);
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = value & u64::MAX >> (64 - self.bits);
                let is_alternative = self.is_alternative && value != 0;
                let (prefix, digits) = match self.kind {
                    b'x' => (if is_alternative { "0x" } else { "" }, format!("{value:x}")),
                    b'X' => (if is_alternative { "0X" } else { "" }, format!("{value:X}")),
                    b'o' => (if is_alternative { "0" } else { "" }, format!("{value:o}")),
                    _ => ("", value.to_string()),
                };
                self.integer(prefix, digits, out);
            }
            b'c' => self.pad(b"", &[value as u8], false, out),
            b'p' if value == 0 => self.pad(b"", b"(nil)", false, out),
            b'p' => self.pad(b"", format!("{value:#x}").as_bytes(), false, out),
            b's' if value == 0 => self.pad(b"", b"(null)", false, out),
            b's' => {
                let most = self.precision.unwrap_or(MOST_TEXT);
                let text = arguments.string(value, most).unwrap_or_else(|| b"?".to_vec());
                self.pad(b"", &text, false, out);
            }
            _ => {
                let value = f64::from_bits(value);
                let text = self.number(value.abs());
                let is_finite = value.is_finite();
                let text = if self.kind.is_ascii_uppercase() { text.to_uppercase() } else { text };
                self.pad(self.sign(value.is_sign_negative()).as_bytes(), text.as_bytes(), is_finite, out);
            }
        }
    }

    const fn sign(self, is_negative: bool) -> &'static str {
        match (is_negative, self.has_sign, self.has_blank) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    /// The precision of an integer is its least number of digits.
    fn integer(self, sign: &str, digits: String, out: &mut Vec<u8>) {
        let digits = match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(least) => format!("{digits:0>least$}"),
            None => digits,
        };
        self.pad(sign.as_bytes(), digits.as_bytes(), self.precision.is_none(), out);
    }

    /// A number without its sign.
    fn number(self, value: f64) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "nan" } else { "inf" }.to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match self.kind.to_ascii_lowercase() {
            b'f' => self.pointed(format!("{value:.precision$}"), precision),
            b'e' => self.scientific(value, precision),
            b'a' => hexadecimal(value),
            _ => {
                let precision = precision.max(1);
                let exponent: i64 = format!("{value:.*e}", precision - 1)
                    .split_once('e')
                    .and_then(|(_, exponent)| exponent.parse().ok())
                    .unwrap_or(0);
                let digits = i64::try_from(precision).unwrap_or(i64::MAX);
                if (-4..digits).contains(&exponent) {
                    let after = usize::try_from(digits - 1 - exponent).unwrap_or(0);
                    self.short(self.pointed(format!("{value:.after$}"), after))
                } else {
                    self.short(self.scientific(value, precision - 1))
                }
            }
        }
    }

    fn scientific(self, value: f64, precision: usize) -> String {
        let text = format!("{value:.precision$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", self.pointed(mantissa.to_owned(), precision), exponent.unsigned_abs())
    }

    /// `#` keeps the point.
    fn pointed(self, text: String, precision: usize) -> String {
        if self.is_alternative && precision == 0 { text + "." } else { text }
    }

    /// Without zeros at the end, as `%g` has it.
    fn short(self, text: String) -> String {
        if self.is_alternative {
            return text;
        }
        let (mantissa, exponent) = match text.find('e') {
            Some(at) => text.split_at(at),
            None => (text.as_str(), ""),
        };
        if !mantissa.contains('.') {
            return text;
        }
        format!("{}{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
    }

    fn pad(self, sign: &[u8], text: &[u8], may_have_zeros: bool, out: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(sign.len() + text.len());
        let blanks = |out: &mut Vec<u8>, byte: u8| out.extend(std::iter::repeat_n(byte, missing));
        match (self.is_left, self.has_zeros && may_have_zeros) {
            (true, _) => {
                out.extend_from_slice(sign);
                out.extend_from_slice(text);
                blanks(out, b' ');
            }
            (false, true) => {
                out.extend_from_slice(sign);
                blanks(out, b'0');
                out.extend_from_slice(text);
            }
            (false, false) => {
                blanks(out, b' ');
                out.extend_from_slice(sign);
                out.extend_from_slice(text);
            }
        }
    }
}

/// `%a`, as short as it is exact.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    let (whole, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{whole}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments as a buffer has them, the strings by their address.
    struct Few<'a>(std::slice::Iter<'a, Option<u64>>, &'a [(u64, &'a str)]);

    impl Arguments for Few<'_> {
        fn next(&mut self, bytes: u32) -> Option<u64> {
            let value = self.0.next().copied().flatten();
            value.map(|value| value & u64::MAX >> (64 - 8 * bytes))
        }

        fn string(&mut self, address: u64, most: usize) -> Option<Vec<u8>> {
            let (_, text) = self.1.iter().find(|(at, _)| *at == address)?;
            Some(text.bytes().take(most).collect())
        }
    }

    fn printed(format: &str, values: &[Option<u64>]) -> (String, u32) {
        print(format.as_bytes(), &mut Few(values.iter(), &[(64, "text")]))
    }

    fn text(format: &str, value: u64) -> String {
        printed(format, &[Some(value)]).0
    }

    /// What C prints for the same.
    #[test]
    fn integers() {
        let minus = (-5_i32) as u32;
        for (format, value, expected) in [
            ("%d", u64::from(minus), "-5"),
            ("%u", u64::from(minus), "4294967291"),
            ("%5d|", 42, "   42|"),
            ("%-5d|", 42, "42   |"),
            ("%05d", 42, "00042"),
            ("%05d", u64::from(minus), "-0005"),
            ("%+d", 42, "+42"),
            ("% d", 42, " 42"),
            ("%.3d", 7, "007"),
            ("%6.3d|", 7, "   007|"),
            ("%06.3d|", 7, "   007|"),
            ("%.0d|", 0, "|"),
            ("%x", 0xAB, "ab"),
            ("%#X", 0xAB, "0XAB"),
            ("%#x", 0, "0"),
            ("%#06x", 0xAB, "0x00ab"),
            ("%o", 8, "10"),
            ("%#o", 8, "010"),
            ("%hd", 0x1_8000, "-32768"),
            ("%hhu", 0x1FF, "255"),
            ("%lld", (-5_i64) as u64, "-5"),
            ("%lu", u64::MAX, "18446744073709551615"),
            ("%zu", 1 << 40, "1099511627776"),
            ("%c", 120, "x"),
            ("%3c|", 120, "  x|"),
            ("%p", 0x1000, "0x1000"),
            ("%p", 0, "(nil)"),
            ("%s", 64, "text"),
            ("%6s|", 64, "  text|"),
            ("%-6.2s|", 64, "te    |"),
            ("%s", 0, "(null)"),
            ("%s", 65, "?"),
        ] {
            assert_eq!(text(format, value), expected, "{format}");
        }
    }

    #[test]
    fn numbers() {
        for (format, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%.2f", 2.675, "2.67"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.5, "2."),
            ("%8.2f|", -1.5, "   -1.50|"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%F", f64::INFINITY, "INF"),
            ("%05f", f64::NEG_INFINITY, " -inf"),
            ("%f", f64::NAN, "nan"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2E", 0.00012, "1.20E-04"),
            ("%e", 0.0, "0.000000e+00"),
            ("%e", 1e300, "1.000000e+300"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 0.0, "0"),
            ("%.3g", 1234.0, "1.23e+03"),
            ("%#g", 1.5, "1.50000"),
            ("%G", 1e-10, "1E-10"),
            ("%g", 999_999.5, "1e+06"),
            ("%a", 1.5, "0x1.8p+0"),
            ("%lf", 0.25, "0.250000"),
        ] {
            assert_eq!(text(format, value.to_bits()), expected, "{format}");
        }
    }

    #[test]
    fn what_is_not_known_is_a_question_mark() {
        assert_eq!(printed("%d, %4f, %s.\n", &[None, None, None]), ("?,    ?, ?.\n".to_owned(), 3));
    }

    #[test]
    fn formats() {
        assert_eq!(printed("100%%\n", &[]), ("100%\n".to_owned(), 0));
        assert_eq!(printed("%*d|%-*d|%.*f", &[Some(4), Some(7), Some(3), Some(8), Some(1), Some(0)]).1, 6);
        assert_eq!(printed("%*d|", &[Some(u64::from(-4_i32 as u32)), Some(7)]).0, "7   |");
        // C leaves these open.
        assert_eq!(printed("%y %", &[]), ("%y %".to_owned(), 0));
        assert_eq!(printed("%5", &[]), ("%5".to_owned(), 0));
        assert_eq!(text("%99999999999999999999d", 1).len(), MOST_WIDTH);
        assert_eq!(printed(&"%1000d".repeat(10), &[Some(1); 10]).0.len(), MOST_TEXT);
    }
}
