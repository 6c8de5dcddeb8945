//! What of a statement is read where the preprocessor decides, and where arguments of a macro are.

use super::Reader;
use crate::cpp::guards;
use crate::cpp::tokens::{Directive, Token, Tokens};
use ptx_text::source::Span;

/// No statement has more.
const MOST_DECISIONS: usize = 64;

impl Reader<'_, '_> {
    /// Where the next token is read: in the text, and in an argument.
    pub(super) fn place(&self) -> (usize, Option<Span>) {
        (self.tokens.at(), self.argument)
    }

    pub(super) fn go_to(&mut self, (at, argument): (usize, Option<Span>)) {
        self.tokens.go_to(at);
        self.argument = argument;
    }

    /// The next token in the branch that is read.
    pub(super) fn next(&mut self) -> Option<Token> {
        if let Some(argument) = &mut self.argument {
            let mut tokens = Tokens::new(&self.text[..argument.end as usize]);
            tokens.go_to(argument.start as usize);
            match tokens.next() {
                Some(Token::Directive(_)) => return None,
                Some(Token::Word(word)) if self.macros.is_keyword(&self.text[word.range()]) => return None,
                Some(token) => {
                    argument.start = tokens.at() as u32;
                    return Some(token);
                }
                None => self.argument = None,
            }
        }
        loop {
            let directive = match self.tokens.next()? {
                Token::Directive(directive) => directive,
                // A statement in a statement: the first one is none.
                Token::Word(word) if self.macros.is_keyword(&self.text[word.range()]) => return None,
                token => return Some(token),
            };
            match directive {
                Directive::If => self.decide()?,
                // The branch that is read ends here.
                Directive::ElseIf | Directive::Else => while self.skip_branch()? != Directive::EndIf {},
                Directive::EndIf | Directive::Define | Directive::Undefine | Directive::Other => {
                    self.tokens.skip_line();
                }
            }
        }
    }

    /// Enters the branch that is read, behind an `#if`.
    fn decide(&mut self) -> Option<()> {
        self.decisions += 1;
        if self.decisions > MOST_DECISIONS {
            return None;
        }
        let line = self.tokens.at();
        self.tokens.skip_line();
        // Nobody compiles the first one of `#if 0`.
        let never = usize::from(guards::is_never(&self.text[line..self.tokens.at()]));
        if self.reading == 0 {
            // How many there are is counted once.
            let entered = self.tokens.at();
            self.readings = self.readings.max(self.branches()? - never);
            self.tokens.go_to(entered);
        }
        for _ in 0..self.reading + never {
            if self.skip_branch()? == Directive::EndIf {
                break;
            }
        }
        Some(())
    }

    /// How many readings there are from here to the end of the condition.
    fn branches(&mut self) -> Option<usize> {
        let mut branches = 1;
        let mut has_else = false;
        loop {
            match self.skip_branch()? {
                Directive::EndIf => return Some(branches + usize::from(!has_else)),
                it => {
                    has_else |= it == Directive::Else;
                    branches += 1;
                }
            }
        }
    }

    /// Skips the rest of a branch, up to the line of the directive that ends it.
    fn skip_branch(&mut self) -> Option<Directive> {
        let mut depth = 0;
        loop {
            match self.tokens.next_directive()? {
                Directive::If => depth += 1,
                Directive::EndIf if depth > 0 => depth -= 1,
                it @ (Directive::EndIf | Directive::ElseIf | Directive::Else) if depth == 0 => {
                    self.tokens.skip_line();
                    return Some(it);
                }
                _ => {}
            }
            self.tokens.skip_line();
        }
    }

    /// Skips to what closes a bracket; what is in between may be any expression.
    pub(super) fn skip(&mut self, open: u8) -> Option<Span> {
        self.skip_within(open, false)
    }

    /// The same where a macro may make a text of what is in between.
    pub(super) fn skip_text(&mut self, open: u8) -> Option<Span> {
        self.skip_within(open, true)
    }

    fn skip_within(&mut self, open: u8, is_text: bool) -> Option<Span> {
        let mut closing = vec![closing(open)];
        loop {
            match self.next()? {
                Token::Other(byte @ (b'(' | b'[' | b'{'), _) => closing.push(self::closing(byte)),
                Token::Other(byte @ (b')' | b']' | b'}'), span) => {
                    if closing.pop() != Some(byte) {
                        return None;
                    }
                    if closing.is_empty() {
                        return Some(span);
                    }
                }
                // No expression goes beyond its statement, but for the bodies in it.
                Token::Other(b';', _) if !is_text && !closing.contains(&b'}') => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {}
            }
        }
    }
}

fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}
