//! A statement while it is read.

use crate::{Constraint, Machine, Operand, Piece, Statement};
use ptx_text::source::Span;

/// What stands in front of the value of an operand.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) span: Span,
    pub(super) literals: String,
    /// Whether there are names in it of which nothing is known.
    pub(super) has_names: bool,
    /// Whether it stands in an argument of a macro.
    pub(super) is_given: bool,
}

impl Written {
    pub(super) fn new(span: Span, is_given: bool) -> Self {
        Self { span, literals: String::new(), has_names: false, is_given }
    }

    /// Whether it is the name of a macro, which may stand for any number of operands.
    pub(super) fn is_macro(&self) -> bool {
        self.has_names && self.literals.is_empty()
    }
}

/// The parts of a statement between colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Template,
    Outputs,
    Inputs,
    Clobbers,
    Labels,
}

impl Section {
    fn next(self) -> Self {
        match self {
            Self::Template => Self::Outputs,
            Self::Outputs => Self::Inputs,
            Self::Inputs => Self::Clobbers,
            Self::Clobbers | Self::Labels => Self::Labels,
        }
    }

    /// The part behind so many colons.
    fn behind(self, colons: usize) -> Self {
        (0..colons.min(4)).fold(self, |section, _| section.next())
    }
}

/// No statement has more.
const MOST_OPERANDS: usize = 1024;

/// A statement while it is read.
pub(super) struct Draft {
    pub(super) statement: Statement,
    pub(super) section: Section,
    /// What has been read of an operand.
    pub(super) constraint: Option<Written>,
    /// What the next operand is called.
    pub(super) name: Option<String>,
    /// How many operands there are in front of those that a macro of another file has.
    pub(super) listed: Option<usize>,
    /// Whether an operand has ended, and no comma has followed.
    pub(super) comma_is_due: bool,
    /// How many clobbers there are.
    pub(super) clobbers: usize,
    /// What has been read of a clobber, which may be written as several literals.
    pub(super) clobber: Option<String>,
    /// Whether operands come from arguments of the macro.
    pub(super) is_given: bool,
    /// Whether the template ends with such an argument.
    pub(super) is_open: bool,
}

impl Draft {
    pub(super) fn new(statement: Statement) -> Self {
        Self {
            statement,
            section: Section::Template,
            constraint: None,
            name: None,
            listed: None,
            comma_is_due: false,
            clobbers: 0,
            clobber: None,
            is_given: false,
            is_open: false,
        }
    }

    /// Goes on behind colons with operands in between that are not known.
    pub(super) fn go_behind(&mut self, colons: usize) {
        self.section = self.section.behind(colons);
        // What a macro has behind its operands may be that.
        self.statement.clobbers_memory |= self.section >= Section::Clobbers;
        self.listed = Some(0);
        self.is_given = true;
    }

    pub(super) fn next_section(&mut self) {
        self.end_operand();
        self.section = self.section.next();
    }

    /// A literal among the clobbers.
    pub(super) fn read_clobber(&mut self, text: &str) {
        if self.clobber.is_none() {
            self.clobbers += 1;
        }
        self.clobber.get_or_insert_default().push_str(text);
    }

    /// A comma or colon behind a clobber.
    pub(super) fn end_clobber(&mut self) {
        match self.clobber.take().as_deref() {
            None => {}
            Some("memory") => self.statement.clobbers_memory = true,
            // The registers of PTX have no names that a compiler knows.
            Some(_) => self.statement.machine = Machine::Other,
        }
    }

    /// A comma or colon behind an operand. One that is a name only may stand for several.
    pub(super) fn end_operand(&mut self) {
        if self.constraint.take().is_some_and(|it| it.is_macro()) {
            self.has_unknown_operands();
        }
        self.comma_is_due = false;
        self.end_clobber();
    }

    pub(super) fn has_unknown_operands(&mut self) {
        self.listed = self.listed.or(Some(self.statement.operands.len()));
    }

    /// What stands in front of the value of this operand, with one more token.
    pub(super) fn written(&mut self, token: Span, is_given: bool) -> &mut Written {
        let written = self.constraint.get_or_insert_with(|| Written::new(token, is_given));
        written.span = written.span.to(token);
        written
    }

    pub(super) fn push(&mut self, operand: Operand) {
        let lacks_comma = std::mem::replace(&mut self.comma_is_due, true);
        self.statement.operands.push(Operand { lacks_comma, ..operand });
    }

    /// The operands of a macro.
    pub(super) fn push_all(&mut self, operands: Vec<Operand>) {
        let mut operands = operands.into_iter();
        if let Some(first) = operands.next() {
            self.push(first);
        }
        self.statement.operands.extend(operands);
    }

    /// The statement, which ends at `close`, once all is read.
    pub(super) fn finish(mut self, text: &str, close: Span) -> Statement {
        let ends_in_hole = matches!(self.statement.template.last(), Some(Piece::Hole(_)));
        // What is not known at the end may have operands.
        if self.section == Section::Template && ends_in_hole {
            self.listed = Some(0);
        }
        if let Some(listed) = self.listed {
            self.replace_operands(text, listed);
        }
        self.statement.span = self.statement.keyword.to(close);
        self.statement.memory_clobber = self.clobber().map(|clobber| (close.start, clobber));
        self.statement
    }

    /// Nobody knows what the operands behind some are, and what they are there for.
    fn replace_operands(&mut self, text: &str, listed: usize) {
        let Statement { template, operands, keyword, .. } = &mut self.statement;
        let unknown = Operand { is_tied: true, ..Operand::new(*keyword, Constraint::Other, false) };
        let named = operands_named(text, template).min(MOST_OPERANDS);
        operands.truncate(listed);
        operands.resize(named.max(listed), unknown);
    }

    /// What has to be added at the end to say that it changes memory.
    fn clobber(&self) -> Option<&'static str> {
        // Where operands are given with each use, nothing can be added behind them for all; nor behind what is
        // not known, which may have colons of its own.
        let goes_on = self.is_given || self.listed.is_some();
        if self.statement.clobbers_memory || goes_on || self.is_open && self.section == Section::Template {
            return None;
        }
        match (self.section, self.clobbers) {
            (Section::Template, _) => Some(" ::: \"memory\""),
            (Section::Outputs, _) => Some(" :: \"memory\""),
            (Section::Inputs, _) => Some(" : \"memory\""),
            (Section::Clobbers, 0) => Some(" \"memory\""),
            (Section::Clobbers, _) => Some(", \"memory\""),
            (Section::Labels, _) => None,
        }
    }
}

/// How many operands a template is written for: one more than the highest number that it has. Where a
/// sign is escaped, there are some.
fn operands_named(text: &str, template: &[Piece]) -> usize {
    let mut count = 0;
    for piece in template {
        let Piece::Text { span, .. } = piece else { continue };
        let mut rest = &text[span.range()];
        while let Some((_, behind)) = rest.split_once('%') {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let number = behind[..digits].parse::<usize>();
            let is_escaped = behind.starts_with('%');
            let least = number.map_or(usize::from(is_escaped), |number| number.saturating_add(1));
            count = count.max(least);
            rest = &behind[usize::from(is_escaped)..];
        }
    }
    count
}
