//! Where rules put what they find.
//!
//! A broken text can break one rule a million times, and nobody reads the second hundred. The first
//! findings of each rule are kept, in the order of the source and not of their discovery; of the
//! others there is only the number. So a check needs no more memory than its text does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Applicability, Code, Diagnostic, Fix, Ptxas, Severity};
use crate::source::Span;

/// What becomes of a finding before it is kept.
type Fate<'a> = Box<dyn FnMut(Diagnostic) -> Option<Diagnostic> + Send + 'a>;

/// The findings of one source, while they are being made.
pub struct Findings<'a> {
    /// How many of each rule are kept.
    limit: usize,
    fixes: Option<Applicability>,
    severity: Option<Severity>,
    fate: Option<Fate<'a>>,
    by_code: BTreeMap<Code, Kept>,
    /// A copy of what is added, silenced or not, while someone wants one.
    record: Option<Vec<Diagnostic>>,
}

/// What becomes of [`Findings`].
#[derive(Debug, Default)]
pub struct Found {
    /// Those that are kept, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of the others.
    pub omitted: Vec<Omitted>,
    /// The fixes of the others, without titles, when they were asked for.
    pub fixes: Vec<Fix>,
}

/// Findings that are alike and of which only the number is known, because there were too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omitted {
    /// The rule.
    pub code: Code,
    /// How much they matter.
    pub severity: Severity,
    /// What the assembler does.
    pub ptxas: Ptxas,
    /// How many they are.
    pub count: usize,
    /// How many of them have a fix.
    pub fixable: usize,
}

impl Omitted {
    /// One for each rule, with the highest severity of those that it stands for.
    pub fn by_code(all: &[Self]) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for omitted in all {
            match sums.iter_mut().find(|sum| sum.code == omitted.code) {
                Some(sum) => {
                    sum.severity = sum.severity.max(omitted.severity);
                    sum.count += omitted.count;
                    sum.fixable += omitted.fixable;
                }
                None => sums.push(*omitted),
            }
        }
        sums
    }
}

/// The findings of one rule.
#[derive(Default)]
struct Kept {
    first: Vec<Diagnostic>,
    /// Once there are too many: nothing behind this place is among the first.
    last: Option<Span>,
    omitted: Vec<Omitted>,
    fixes: Vec<Fix>,
}

impl<'a> Findings<'a> {
    /// How many are recorded. Where more is found, there is more to do than to look again.
    const RECORD: usize = 256;

    /// None yet. Of each rule, `limit` will be kept, or all when that is 0 or not said; of those that
    /// are not kept, at least the fixes that can be applied if `fixes` is allowed.
    pub fn new(limit: Option<usize>, fixes: Option<Applicability>) -> Self {
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        Self { limit, fixes, severity: None, fate: None, by_code: BTreeMap::new(), record: None }
    }

    /// None yet, and all will be kept.
    pub fn all() -> Self {
        Self::new(None, None)
    }

    /// From now on without the findings that `silenced` holds of: they do not count.
    #[must_use]
    pub fn except(self, mut silenced: impl FnMut(&Diagnostic) -> bool + Send + 'a) -> Self {
        self.through(move |finding| (!silenced(&finding)).then_some(finding))
    }

    /// From now on with what `fate` makes of each finding; where that is nothing, it does not count.
    #[must_use]
    pub fn through(self, fate: impl FnMut(Diagnostic) -> Option<Diagnostic> + Send + 'a) -> Self {
        Self { fate: Some(Box::new(fate)), ..self }
    }

    /// From now on with all findings as they come.
    #[must_use]
    pub fn including_all(self) -> Findings<'static> {
        let Self { limit, fixes, severity, fate: _, by_code, record } = self;
        Findings { limit, fixes, severity, fate: None, by_code, record }
    }

    /// From now on, findings get this severity instead of their own.
    pub fn set_severity(&mut self, severity: Option<Severity>) {
        self.severity = severity;
    }

    /// Adds a finding.
    pub fn push(&mut self, mut finding: Diagnostic) {
        finding.severity = self.severity.unwrap_or(finding.severity);
        if let Some(record) = &mut self.record {
            if record.len() < Self::RECORD {
                record.push(finding.clone());
            } else {
                self.record = None;
            }
        }
        if let Some(fate) = &mut self.fate {
            let Some(left) = fate(finding) else { return };
            finding = left;
        }
        let (limit, fixes) = (self.limit, self.fixes);
        let kept = self.by_code.entry(finding.code).or_default();
        if kept.last.is_some_and(|last| finding.primary.span >= last) {
            kept.omit(finding, fixes);
            return;
        }
        kept.first.push(finding);
        if kept.first.len() >= limit.saturating_mul(2) {
            kept.cut(limit, fixes);
        }
    }

    /// Whether another finding of the rule can still be among the first wherever it is. If not, it
    /// need not say more than is counted.
    pub fn has_room(&self, code: Code) -> bool {
        // What is recorded may be among the first of the next text.
        self.record.is_some() || self.by_code.get(&code).is_none_or(|kept| kept.last.is_none())
    }

    /// From now on, keeps a copy of what is added, silenced or not, with its severity.
    pub(crate) fn start_record(&mut self) {
        self.record = Some(Vec::new());
    }

    /// What was added since [`Findings::start_record`], unless it was too much.
    pub(crate) fn end_record(&mut self) -> Option<Vec<Diagnostic>> {
        self.record.take()
    }

    /// Adds what was found elsewhere. It has its severities, and nothing of it is silenced.
    pub fn absorb(&mut self, other: Self) {
        let (limit, fixes) = (self.limit, self.fixes);
        for (code, mut more) in other.by_code {
            let kept = self.by_code.entry(code).or_default();
            for omitted in more.omitted {
                let is_alike =
                    |it: &&mut Omitted| it.severity == omitted.severity && it.ptxas == omitted.ptxas;
                match kept.omitted.iter_mut().find(is_alike) {
                    Some(same) => {
                        same.count += omitted.count;
                        same.fixable += omitted.fixable;
                    }
                    None => kept.omitted.push(omitted),
                }
            }
            kept.fixes.append(&mut more.fixes);
            kept.first.append(&mut more.first);
            kept.cut(limit, fixes);
            kept.last = match (kept.last, more.last) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
    }

    /// What was found.
    pub fn finish(self) -> Found {
        let mut found = Found::default();
        for (_, mut kept) in self.by_code {
            kept.cut(self.limit, self.fixes);
            // They came in the order in which they were omitted.
            kept.omitted.sort_by_key(|it| (Reverse(it.severity), it.ptxas == Ptxas::Silent));
            kept.fixes.sort_by(|one, other| first_edit(one).cmp(&first_edit(other)));
            found.diagnostics.append(&mut kept.first);
            found.omitted.append(&mut kept.omitted);
            found.fixes.append(&mut kept.fixes);
        }
        found.diagnostics.sort_by_key(|finding| (finding.primary.span, finding.code));
        found
    }
}

/// Where a fix starts, and with what.
fn first_edit(fix: &Fix) -> Option<(Span, &str)> {
    fix.edits.first().map(|edit| (edit.span, edit.text.as_str()))
}

impl Extend<Diagnostic> for Findings<'_> {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, findings: I) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

impl Kept {
    /// Keeps the first `limit`. Of those at one place, those that were found first are the first.
    fn cut(&mut self, limit: usize, fixes: Option<Applicability>) {
        if self.first.len() <= limit {
            return;
        }
        let mut first = std::mem::take(&mut self.first);
        first.sort_by_key(|finding| finding.primary.span);
        first.drain(limit..).for_each(|finding| self.omit(finding, fixes));
        self.last = first.last().map(|finding| finding.primary.span);
        self.first = first;
    }

    fn omit(&mut self, finding: Diagnostic, fixes: Option<Applicability>) {
        let Diagnostic { code, severity, ptxas, fix, .. } = finding;
        let is_alike = |it: &&mut Omitted| it.severity == severity && it.ptxas == ptxas;
        let fixable = usize::from(fix.is_some());
        match self.omitted.iter_mut().find(is_alike) {
            Some(omitted) => {
                omitted.count += 1;
                omitted.fixable += fixable;
            }
            None => self.omitted.push(Omitted { code, severity, ptxas, count: 1, fixable }),
        }
        let fix = fix.filter(|fix| fixes.is_some_and(|allowed| allowed.includes(fix.applicability)));
        self.fixes.extend(fix.map(|fix| Fix { title: String::new(), ..fix }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: Code, at: u32) -> Diagnostic {
        Diagnostic::new(code, Span::at(at), "", "")
    }

    #[test]
    fn no_limit_and_0_keep_all() {
        for limit in [None, Some(0)] {
            let mut findings = Findings::new(limit, None);
            findings.extend((0..1000).map(|at| finding(Code::SyntaxError, at)));
            let found = findings.finish();
            assert_eq!((found.diagnostics.len(), found.omitted.len()), (1000, 0));
        }
    }

    fn places(found: &Found, code: Code) -> Vec<u32> {
        let of_code = found.diagnostics.iter().filter(|it| it.code == code);
        of_code.map(|it| it.primary.span.start).collect()
    }

    #[test]
    fn the_first_of_the_source_are_kept_in_whatever_order_they_come() {
        let forwards: Vec<u32> = (0..1000).collect();
        let backwards: Vec<u32> = (0..1000).rev().collect();
        let mixed: Vec<u32> = (0..1000).map(|at| at * 7919 % 1000).collect();
        for order in [forwards, backwards, mixed] {
            let mut findings = Findings::new(Some(10), None);
            findings.extend(order.into_iter().map(|at| finding(Code::SyntaxError, at)));
            findings.push(finding(Code::InvalidToken, 5));
            let found = findings.finish();
            assert_eq!(places(&found, Code::SyntaxError), (0..10).collect::<Vec<_>>());
            assert_eq!(places(&found, Code::InvalidToken), [5]);
            let [omitted] = &found.omitted[..] else { panic!("{:?}", found.omitted) };
            assert_eq!((omitted.code, omitted.count, omitted.fixable), (Code::SyntaxError, 990, 0));
        }
    }

    #[test]
    fn what_is_kept_does_not_grow_with_what_is_found() {
        let mut findings = Findings::new(Some(10), None);
        for at in 0..100_000 {
            findings.push(finding(Code::SyntaxError, 100_000 - at));
            assert!(findings.by_code.values().all(|kept| kept.first.len() < 20));
        }
        assert!(!findings.has_room(Code::SyntaxError) && findings.has_room(Code::InvalidToken));
    }

    #[test]
    fn what_is_silenced_does_not_take_room() {
        let mut findings = Findings::new(Some(3), None).except(|it| it.primary.span.start < 50);
        findings.extend((0..100).map(|at| finding(Code::SyntaxError, at)));
        let found = findings.including_all().finish();
        assert_eq!(places(&found, Code::SyntaxError), [50, 51, 52]);
        assert_eq!(found.omitted[0].count, 47);
    }

    #[test]
    fn fixes_outlive_their_findings_when_they_are_asked_for() {
        let fixed = |at| finding(Code::SyntaxError, at).fix(Some(Fix::safe("Title", Span::at(at), "x")));
        let guess = |at| finding(Code::SyntaxError, at).fix(Some(Fix::guess("Title", Span::at(at), "x")));
        for (allowed, kept) in [(None, 0), (Some(Applicability::Safe), 9), (Some(Applicability::Unsafe), 19)]
        {
            let mut findings = Findings::new(Some(1), allowed);
            findings.extend((0..10).flat_map(|at| [fixed(at), guess(at)]));
            let found = findings.finish();
            assert_eq!((found.fixes.len(), found.omitted[0].fixable), (kept, 19));
        }
    }

    #[test]
    fn what_the_assembler_does_is_counted_apart() {
        let mut findings = Findings::new(Some(1), None);
        for at in 0..5 {
            findings.push(finding(Code::NcolsInvalid, at));
            findings.push(finding(Code::NcolsInvalid, at).ptxas(Ptxas::Silent));
        }
        let counts: Vec<(Ptxas, usize)> =
            findings.finish().omitted.iter().map(|it| (it.ptxas, it.count)).collect();
        assert_eq!(counts, [(Ptxas::Rejects, 4), (Ptxas::Silent, 5)]);
    }
}
