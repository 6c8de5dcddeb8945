//! Which rules run, and how much their findings matter.
//!
//! The defaults are the rules' own. A [`Layer`] changes them: a configuration is one, the command
//! line another on top of it.

use std::fmt;
use std::str::FromStr;

use super::Code;
use crate::diagnostic::Severity;

/// One rule, or a family of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// `TC301` or `ncols-invalid`
    Rule(Code),
    /// `TC3`: all rules whose code starts so.
    Family(String),
}

impl Selector {
    /// What a code, a name, or the start of codes means.
    pub fn known(text: &str) -> Option<Self> {
        if let Some(code) = Code::parse(text) {
            return Some(Self::Rule(code));
        }
        let prefix = text.to_ascii_uppercase();
        let is_family = (prefix.starts_with("TC") || prefix.starts_with("SIM"))
            && Code::all().any(|code| code.as_str().starts_with(&prefix));
        is_family.then_some(Self::Family(prefix))
    }

    /// Whether the rule is meant.
    pub fn matches(&self, code: Code) -> bool {
        match self {
            Self::Rule(rule) => *rule == code,
            Self::Family(prefix) => code.as_str().starts_with(prefix.as_str()),
        }
    }

    /// How exact it is; of two that match, the more exact one decides.
    fn precision(&self) -> usize {
        match self {
            Self::Rule(_) => usize::MAX,
            Self::Family(prefix) => prefix.len(),
        }
    }
}

/// A text that is neither the code nor the name of a rule, nor the start of codes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownRule {
    /// The text.
    pub wanted: String,
    /// The code or name that is the most like it.
    pub nearest: &'static str,
}

impl UnknownRule {
    /// The error for `wanted`.
    #[cold]
    pub fn new(wanted: &str) -> Self {
        // Names are short. Where a text is longer, its end makes no difference.
        let start: String = wanted.chars().take(64).flat_map(char::to_lowercase).collect();
        let distance = |name: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &start);
        let names = Code::all().flat_map(|code| [code.as_str(), code.name()]);
        Self { wanted: wanted.to_owned(), nearest: names.min_by_key(distance).unwrap_or_default() }
    }
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no rule `{}`; did you mean `{}`?", self.wanted, self.nearest)
    }
}

impl std::error::Error for UnknownRule {}

impl FromStr for Selector {
    type Err = UnknownRule;

    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        Self::known(text).ok_or_else(|| UnknownRule::new(text))
    }
}

/// Changes to the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Run these rules and no others. A rule that is off by default runs when it is named itself,
    /// not when its family is.
    pub select: Option<Vec<Selector>>,
    /// Do not run these.
    pub ignore: Vec<Selector>,
    /// How much findings matter. A rule that is off by default runs when it is named here itself.
    pub severity: Vec<(Selector, Severity)>,
}

/// Which rules run, and how much their findings matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSettings {
    /// By [`Code`].
    rules: Vec<RuleSetting>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RuleSetting {
    runs: bool,
    /// Where it is not the rule's own.
    severity: Option<Severity>,
}

impl Default for RuleSettings {
    fn default() -> Self {
        let setting = |code: Code| RuleSetting { runs: code.severity() != Severity::Off, severity: None };
        Self { rules: Code::all().map(setting).collect() }
    }
}

impl RuleSettings {
    /// How much findings of the rule matter; [`Severity::Off`] when it does not run.
    pub fn severity(&self, code: Code) -> Severity {
        let RuleSetting { runs, severity } = self.rules[code as usize];
        match (severity, code.severity()) {
            _ if !runs => Severity::Off,
            (Some(severity), _) => severity,
            // Someone has asked for it; nothing says that it is worse than this.
            (None, Severity::Off) => Severity::Warning,
            (None, severity) => severity,
        }
    }

    /// Whether the rule runs.
    pub fn runs(&self, code: Code) -> bool {
        self.severity(code) != Severity::Off
    }

    /// The severity that findings of the rule get instead of their own.
    pub(crate) fn override_of(&self, code: Code) -> Option<Severity> {
        let own = code.severity();
        Some(self.severity(code)).filter(|severity| *severity != own)
    }

    /// These settings, changed.
    #[must_use]
    pub fn with(mut self, layer: &Layer) -> Self {
        let mut severities: Vec<&(Selector, Severity)> = layer.severity.iter().collect();
        severities.sort_by_key(|(selector, _)| selector.precision());
        for (code, setting) in Code::all().zip(&mut self.rules) {
            let precision = |selectors: &[Selector]| {
                selectors.iter().filter(|it| it.matches(code)).map(Selector::precision).max()
            };
            let mut wanted = code.severity() != Severity::Off;
            for (selector, severity) in severities.iter().filter(|(selector, _)| selector.matches(code)) {
                setting.severity = Some(*severity);
                if *selector == Selector::Rule(code) && !wanted {
                    wanted = true;
                    setting.runs = true;
                }
            }
            wanted |= setting.severity.is_some();
            let selected = layer.select.as_ref().map(|select| precision(select));
            if let Some(selected) = selected {
                setting.runs = selected.is_some_and(|precision| wanted || precision == usize::MAX);
            }
            let ignored = precision(&layer.ignore);
            if ignored.is_some() && ignored >= selected.flatten() {
                setting.runs = false;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(text: &str) -> Vec<Selector> {
        text.split(',').filter(|it| !it.is_empty()).map(|it| it.parse().unwrap()).collect()
    }

    fn severity(code: Code, select: Option<&str>, ignore: &str, severity: &[(&str, Severity)]) -> Severity {
        let layer = Layer {
            select: select.map(selectors),
            ignore: selectors(ignore),
            severity: severity.iter().map(|(selector, level)| (selector.parse().unwrap(), *level)).collect(),
        };
        RuleSettings::default().with(&layer).severity(code)
    }

    #[test]
    fn the_more_exact_selector_decides() {
        let code = Code::NcolsInvalid;
        assert_eq!(severity(code, None, "", &[]), Severity::Error);
        assert_eq!(severity(code, Some("TC1"), "", &[]), Severity::Off);
        assert_eq!(severity(code, Some("TC3"), "TC301", &[]), Severity::Off);
        assert_eq!(severity(code, Some("ncols-invalid"), "TC3", &[]), Severity::Error);
        assert_eq!(severity(code, Some("TC3"), "TC3", &[]), Severity::Off);
        assert_eq!(severity(code, None, "tc3", &[]), Severity::Off);
        let levels = [("TC301", Severity::Info), ("TC3", Severity::Warning)];
        assert_eq!(severity(code, None, "", &levels), Severity::Info);
        assert_eq!(severity(code, None, "", &[("TC301", Severity::Off)]), Severity::Off);
        assert_eq!(severity(code, Some("TC301"), "", &[("TC3", Severity::Off)]), Severity::Off);
    }

    #[test]
    fn rules_that_are_off_run_when_they_are_named() {
        let code = Code::FamilyPortability;
        assert_eq!(severity(code, None, "", &[]), Severity::Off);
        assert_eq!(severity(code, Some("TC9"), "", &[]), Severity::Off);
        assert_eq!(severity(code, Some("TC902"), "", &[]), Severity::Warning);
        assert_eq!(severity(code, None, "", &[("TC902", Severity::Info)]), Severity::Info);
        assert_eq!(severity(code, Some("TC9"), "", &[("TC902", Severity::Error)]), Severity::Error);
        assert_eq!(severity(code, Some("TC1"), "", &[("TC902", Severity::Error)]), Severity::Off);
    }

    #[test]
    fn a_later_layer_wins() {
        let configuration = Layer { ignore: selectors("TC3,TC901"), ..Layer::default() };
        let settings = RuleSettings::default().with(&configuration);
        assert!(!settings.runs(Code::NcolsInvalid));
        let command_line = Layer { select: Some(selectors("TC301")), ..Layer::default() };
        let settings = settings.with(&command_line);
        assert!(settings.runs(Code::NcolsInvalid) && !settings.runs(Code::MixedCtaGroup));
    }

    #[test]
    fn unknown_rules_have_a_suggestion() {
        let unknown = "ncols-invald".parse::<Selector>().unwrap_err();
        assert_eq!(unknown.nearest, "ncols-invalid");
        assert!("TC7777".parse::<Selector>().is_err() && "".parse::<Selector>().is_err());
    }
}
