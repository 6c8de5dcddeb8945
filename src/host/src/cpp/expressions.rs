//! Values of constant expressions, as far as arithmetic of integers gives them.
//!
//! The types of C++ are not followed: a result is right modulo 2^32 and 2^64. An operation that would tell types apart
//! has none, as the division of a value that does not fit 32 bits.

/// How deep parentheses, signs and names may be.
const DEPTH: u32 = 32;

/// How many operands an expression may have, those of the names in it included.
const STEPS: u32 = 200;

/// The value of an expression; `value_of` has the text that a name stands for.
pub(super) fn evaluate<'s>(
    text: &'s str,
    value_of: &mut dyn FnMut(&'s str) -> Option<&'s str>,
) -> Option<i128> {
    let mut steps = STEPS;
    Evaluator { rest: text, value_of, steps: &mut steps, depth: DEPTH }.whole()
}

struct Evaluator<'s, 'v> {
    rest: &'s str,
    value_of: &'v mut dyn FnMut(&'s str) -> Option<&'s str>,
    steps: &'v mut u32,
    depth: u32,
}

/// Operators from the weakest to the strongest.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl<'s> Evaluator<'s, '_> {
    fn whole(mut self) -> Option<i128> {
        let value = self.level(0)?;
        self.rest.trim_start().is_empty().then_some(value)
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn level(&mut self, level: usize) -> Option<i128> {
        let Some(operators) = LEVELS.get(level) else { return self.operand() };
        let mut left = self.level(level + 1)?;
        loop {
            let rest = self.rest.trim_start();
            let is_next = |operator: &&&str| {
                let behind = rest.strip_prefix(**operator);
                // `||`, `&&` and assignments are others.
                behind.is_some_and(|it| !it.starts_with(['|', '&', '=']))
            };
            let Some(operator) = operators.iter().find(is_next) else { return Some(left) };
            self.eat(operator);
            let right = self.level(level + 1)?;
            left = combine(operator, left, right)?;
        }
    }

    fn operand(&mut self) -> Option<i128> {
        *self.steps = self.steps.checked_sub(1)?;
        self.depth = self.depth.checked_sub(1)?;
        let value = self.unary();
        self.depth += 1;
        value
    }

    fn unary(&mut self) -> Option<i128> {
        if self.eat("~") {
            return Some(!self.operand()?);
        }
        if self.eat("-") {
            return Some(-self.operand()?);
        }
        if self.eat("+") {
            return self.operand();
        }
        if self.eat("(") {
            let inside = self.rest;
            let word = self.word();
            if is_type(word) && self.eat(")") {
                return self.operand();
            }
            self.rest = inside;
            return self.in_parentheses();
        }
        if self.eat("static_cast<") {
            let (ty, rest) = self.rest.split_once('>')?;
            self.rest = rest;
            return (is_type(ty.trim()) && self.eat("(")).then(|| self.in_parentheses())?;
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return super::constants::integer(word);
        }
        if is_type(word) {
            return self.eat("(").then(|| self.in_parentheses())?;
        }
        if word.is_empty() || self.rest.trim_start().starts_with(['(', '[', '.', ':', '<']) {
            return None;
        }
        let text = (self.value_of)(word)?;
        let depth = self.depth;
        Evaluator { rest: text, value_of: self.value_of, steps: self.steps, depth }.whole()
    }

    fn in_parentheses(&mut self) -> Option<i128> {
        let value = self.level(0)?;
        self.eat(")").then_some(value)
    }

    /// A name, also with `::`, or a number.
    fn word(&mut self) -> &'s str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_':".contains(c));
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = behind;
        word
    }
}

fn is_type(word: &str) -> bool {
    let word = word.strip_prefix("std::").unwrap_or(word);
    matches!(word, "uint32_t" | "uint64_t" | "int32_t" | "int64_t" | "unsigned" | "int" | "size_t")
}

fn combine(operator: &str, left: i128, right: i128) -> Option<i128> {
    let small = |value: i128| u32::try_from(value).ok().map(i128::from);
    let value = match operator {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "<<" => left.checked_mul(1 << u32::try_from(right).ok().filter(|by| *by < 64)?)?,
        ">>" => small(left)? >> u32::try_from(right).ok().filter(|by| *by < 32)?,
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "/" => small(left)?.checked_div(small(right)?)?,
        "%" => small(left)?.checked_rem(small(right)?)?,
        _ => return None,
    };
    (value.unsigned_abs() <= u128::from(u64::MAX)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_expressions_have_values() {
        let names = |name: &str| match name {
            "M" => Some("128"),
            "kDesc" => Some("(1u << 4) | ((M / 16) << 24)"),
            "CYCLE" => Some("CYCLE + 1"),
            _ => None,
        };
        let value = |text: &'static str| evaluate(text, &mut { names });
        for (text, expected) in [
            ("0x10", 16),
            ("1 + 2 * 3 - 4", 3),
            (" ( 1 + 2 ) * 3 ", 9),
            ("kDesc", 0x0800_0010),
            ("(1u << 4) | (128u / 8 << 17) | ((uint32_t)128 / 16 << 24)", 0x0820_0010),
            ("uint32_t(M) >> 4 | static_cast<uint32_t>(1) << 31", 0x8000_0008),
            ("~0 & 0xff", 255),
            ("-1", -1),
            ("128'000 % 7 ^ 1", 4),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "x",
            "M M",
            "f(1)",
            "a::b",
            "M::x",
            "1 / 0",
            "-1 / 2",
            "~0 >> 4",
            "1 << 64",
            "1 ? 2 : 3",
            "1 || 1",
            "CYCLE",
            "(1",
            "1 +",
            "1.5",
            "M[0]",
            "sizeof(int)",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
        let deep: &'static str = Box::leak("(".repeat(100_000).into_boxed_str());
        assert_eq!(value(deep), None);
        let long: &'static str = Box::leak("1+".repeat(100_000).into_boxed_str());
        assert_eq!(value(long), None);
    }
}
