//! Where rules put what they find.
//!
//! A broken text can break one rule a million times, and nobody reads the second hundred. The first
//! findings of each rule are kept, in the order of the source and not of their discovery; of the
//! others there is only the number. So a check needs no more memory than its text does.
//!
//! Findings with one [`Cause`] are one, whichever comes first and wherever it was found: what is silenced
//! never gets here, and what is recorded is what was added.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Applicability, Cause, Code, Diagnostic, Fix, Ptxas, Severity};
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
    /// How many of these fixes are applied only when all are.
    pub unsafe_fixable: usize,
}

impl Omitted {
    /// One finding, with the applicability of its fix.
    fn one(code: Code, severity: Severity, ptxas: Ptxas, fix: Option<Applicability>) -> Self {
        let unsafe_fixable = usize::from(fix == Some(Applicability::Unsafe));
        Self { code, severity, ptxas, count: 1, fixable: usize::from(fix.is_some()), unsafe_fixable }
    }

    /// One for each rule, with the highest severity of those that it stands for.
    pub fn by_code(all: &[Self]) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for omitted in all {
            match sums.iter_mut().find(|sum| sum.code == omitted.code) {
                Some(sum) => {
                    sum.severity = sum.severity.max(omitted.severity);
                    sum.count += omitted.count;
                    sum.fixable += omitted.fixable;
                    sum.unsafe_fixable += omitted.unsafe_fixable;
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
    /// Those with a cause.
    mistakes: FxHashMap<Mistake, Met>,
    /// How many of these have their first finding.
    whole: usize,
    /// Once there are too many: nothing behind this place is among the first.
    last: Option<Span>,
    omitted: Vec<Omitted>,
    fixes: Vec<Fix>,
}

/// What findings of a rule have in common that are one in the end.
type Mistake = (Box<Cause>, Severity, Ptxas);

/// Where one mistake is met.
#[derive(Default)]
struct Met {
    /// The first finding, by its place in the source; none where that is not among the first of its rule.
    first: Option<Diagnostic>,
    /// All places.
    at: Vec<Span>,
}

impl Met {
    /// The first finding, with the other places.
    fn finding(self, again: &str) -> Option<Diagnostic> {
        /// Places that are named each.
        const NAMED: usize = 3;
        let mut finding = self.first?;
        let mut at = self.at;
        at.sort_unstable();
        at.dedup();
        at.retain(|span| *span != finding.primary.span);
        let named = if at.len() > NAMED + 1 { NAMED } else { at.len() };
        for span in &at[..named] {
            finding = finding.label(*span, again);
        }
        if let Some(last) = at[named..].last() {
            finding = finding.label(*last, format!("and {} more, up to here", at.len() - named));
        }
        finding.again = at;
        Some(finding)
    }
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
        kept.add(finding, fixes);
        if kept.first.len() + kept.whole >= limit.saturating_mul(2) {
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
            more.omitted.into_iter().for_each(|omitted| kept.count(omitted));
            kept.fixes.append(&mut more.fixes);
            kept.first.append(&mut more.first);
            for (mistake, met) in more.mistakes {
                kept.meet(mistake, met);
            }
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
        for (code, mut kept) in self.by_code {
            kept.cut(self.limit, self.fixes);
            let before = kept.first.len();
            for ((cause, severity, ptxas), met) in std::mem::take(&mut kept.mistakes) {
                match met.finding(cause.again) {
                    Some(finding) => kept.first.push(finding),
                    None => kept.count(Omitted::one(code, severity, ptxas, None)),
                }
            }
            // They are in no order.
            kept.first[before..].sort_by(in_order);
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

/// The order of findings of one rule, whichever came first.
fn in_order(one: &Diagnostic, other: &Diagnostic) -> Ordering {
    let by_place = one.primary.span.cmp(&other.primary.span);
    by_place
        .then_with(|| one.primary.message.cmp(&other.primary.message))
        .then_with(|| one.message.cmp(&other.message))
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
    /// Adds a finding, or omits it.
    fn add(&mut self, mut finding: Diagnostic, fixes: Option<Applicability>) {
        let is_late = self.last.is_some_and(|last| finding.primary.span >= last);
        if let Some(cause) = finding.cause.take().filter(|_| finding.fix.is_none()) {
            let mistake = (cause, finding.severity, finding.ptxas);
            let at = vec![finding.primary.span];
            self.meet(mistake, Met { first: (!is_late).then_some(finding), at });
        } else if is_late {
            self.omit(finding, fixes);
        } else {
            self.first.push(finding);
        }
    }

    /// Adds places where a mistake is met.
    fn meet(&mut self, mistake: Mistake, more: Met) {
        let met = self.mistakes.entry(mistake).or_default();
        met.at.extend(more.at);
        // Nothing that was omitted is before one that is among the first.
        self.whole -= usize::from(met.first.is_some());
        met.first = match (met.first.take(), more.first) {
            (Some(one), Some(other)) => Some(if in_order(&other, &one).is_lt() { other } else { one }),
            (one, other) => one.or(other),
        };
        self.whole += usize::from(met.first.is_some());
    }

    /// Keeps the first `limit`. Of those at one place, those that were found first are the first.
    fn cut(&mut self, limit: usize, fixes: Option<Applicability>) {
        if self.first.len() + self.whole <= limit {
            return;
        }
        let mut places: Vec<Span> = self.first.iter().map(|finding| finding.primary.span).collect();
        let mistakes = self.mistakes.values().filter_map(|met| met.first.as_ref());
        places.extend(mistakes.map(|finding| finding.primary.span));
        let Some(last) = limit.checked_sub(1).map(|last| *places.select_nth_unstable(last).1) else { return };
        self.last = Some(last);
        let mut first = std::mem::take(&mut self.first);
        first.sort_by_key(|finding| finding.primary.span);
        // As many of those at the last place as there is room for, and what has no cause first.
        let mut room = limit - places.iter().filter(|place| **place < last).count();
        let mut has_room = |span: Span| {
            let is_kept = span < last || span == last && room > 0;
            room -= usize::from(is_kept && span == last);
            is_kept
        };
        let kept = first.iter().take_while(|finding| has_room(finding.primary.span)).count();
        first.drain(kept..).for_each(|finding| self.omit(finding, fixes));
        self.first = first;
        // Those of the mistakes in their order, and then all that there is no room for.
        let firsts = self.mistakes.values().filter_map(|met| met.first.as_ref());
        let mut late: Vec<&Diagnostic> = firsts.filter(|finding| finding.primary.span == last).collect();
        late.sort_by(|one, other| in_order(one, other));
        let end = late.iter().find(|finding| !has_room(finding.primary.span)).map(|it| (*it).clone());
        for met in self.mistakes.values_mut() {
            let is_late = |it: &Diagnostic| {
                it.primary.span > last || end.as_ref().is_some_and(|end| !in_order(it, end).is_lt())
            };
            if met.first.as_ref().is_some_and(is_late) {
                met.first = None;
                self.whole -= 1;
            }
        }
    }

    fn omit(&mut self, finding: Diagnostic, fixes: Option<Applicability>) {
        let Diagnostic { code, severity, ptxas, fix, .. } = finding;
        self.count(Omitted::one(code, severity, ptxas, fix.as_ref().map(|fix| fix.applicability)));
        let fix = fix.filter(|fix| fixes.is_some_and(|allowed| allowed.includes(fix.applicability)));
        self.fixes.extend(fix.map(|fix| Fix { title: String::new(), ..fix }));
    }

    fn count(&mut self, more: Omitted) {
        let is_alike = |it: &&mut Omitted| it.severity == more.severity && it.ptxas == more.ptxas;
        match self.omitted.iter_mut().find(is_alike) {
            Some(omitted) => {
                omitted.count += more.count;
                omitted.fixable += more.fixable;
                omitted.unsafe_fixable += more.unsafe_fixable;
            }
            None => self.omitted.push(more),
        }
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

    /// A finding about the mistake that was made at 1.
    fn caused(at: u32) -> Diagnostic {
        finding(Code::SyntaxError, at).caused_at(Span::at(1), "the same here")
    }

    fn labels(finding: &Diagnostic) -> Vec<(u32, &str)> {
        finding.labels.iter().map(|it| (it.span.start, it.message.as_str())).collect()
    }

    #[test]
    fn one_mistake_is_one_finding_in_whatever_order_it_is_met() {
        let forwards: Vec<u32> = (10..20).collect();
        let backwards: Vec<u32> = (10..20).rev().collect();
        for order in [forwards, backwards] {
            let mut findings = Findings::new(Some(2), None);
            let (one, other) = order.split_at(4);
            findings.extend(one.iter().map(|at| caused(*at)));
            findings.push(finding(Code::SyntaxError, 30));
            let mut elsewhere = Findings::new(Some(2), None);
            elsewhere.extend(other.iter().map(|at| caused(*at)));
            elsewhere.push(caused(40).fix(Some(Fix::safe("Title", Span::at(40), "x"))));
            findings.absorb(elsewhere);
            let found = findings.finish();
            assert_eq!(places(&found, Code::SyntaxError), [10, 30]);
            let expected = [
                (11, "the same here"),
                (12, "the same here"),
                (13, "the same here"),
                (19, "and 6 more, up to here"),
            ];
            assert_eq!(labels(&found.diagnostics[0]), expected);
            assert_eq!(found.diagnostics[0].again.len(), 9);
            assert_eq!(found.omitted[0].count, 1, "the one with a fix stands for itself");
        }
    }

    #[test]
    fn a_mistake_that_is_omitted_is_counted_once() {
        let mistake = |made: u32, at: u32| finding(Code::SyntaxError, at).caused_at(Span::at(made), "again");
        let all = (0..100).flat_map(|made| [mistake(made, made), mistake(made, 1000 + made)]);
        for backwards in [false, true] {
            let mut findings = Findings::new(Some(3), None);
            if backwards {
                findings.extend(all.clone().collect::<Vec<_>>().into_iter().rev());
            } else {
                findings.extend(all.clone());
            }
            let found = findings.finish();
            assert_eq!(places(&found, Code::SyntaxError), [0, 1, 2]);
            assert_eq!(found.omitted[0].count, 97);
            assert!(found.diagnostics.iter().all(|it| it.labels.len() == 1));
        }
    }

    #[test]
    fn what_is_silenced_is_not_met() {
        let mut findings = Findings::all().except(|it| it.primary.span.start == 10);
        findings.extend((10..13).map(caused));
        let found = findings.finish();
        assert_eq!(labels(&found.diagnostics[0]), [(12, "the same here")]);
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
            let Omitted { fixable, unsafe_fixable, .. } = found.omitted[0];
            assert_eq!((found.fixes.len(), fixable, unsafe_fixable), (kept, 19, 10));
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
