//! How documents are to be checked: the nearest `ptx-tc.toml`, and the client's settings on top.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use ptx_check::Options;
use ptx_check::diagnostic::selection::{Layer, RuleSettings};
use ptx_config::Configs;

use crate::settings::Settings;

/// The configurations as they are on disk now. Not kept: they may be others the next time.
pub(crate) struct Reader<'a> {
    settings: &'a Settings,
    configs: Result<Configs, String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        let given = settings.configuration.as_deref();
        Self { settings, configs: Configs::new(given).map_err(|report| describe(&report)) }
    }

    /// The options for a document, and what is wrong with its configuration.
    pub(crate) fn options(&mut self, uri: &str) -> (Options, Option<String>) {
        let wishes = &self.settings.wishes;
        // A document without a file, such as one that was never saved, has no configuration.
        let path = path_of(uri);
        let config = match (&mut self.configs, &path) {
            (Ok(configs), Some(path)) => configs.of(path).map_err(|report| describe(&report)),
            (Ok(_), None) => Ok(None),
            (Err(error), _) => Err(error.clone()),
        };
        let path = path.unwrap_or_default();
        match config {
            Ok(Some(config)) if config.excludes(&path) => {
                let nothing = Layer { select: Some(Vec::new()), ..Layer::default() };
                (Options { rules: RuleSettings::default().with(&nothing), ..Options::default() }, None)
            }
            Ok(config) => (wishes.options(config.as_deref(), &path), None),
            Err(error) => (wishes.options(None, &path), Some(error)),
        }
    }
}

/// What is wrong with a configuration, and where, in a line.
pub(crate) fn describe(report: &miette::Report) -> String {
    let place = report.labels().and_then(|mut labels| labels.next()).and_then(|label| {
        let contents = report.source_code()?.read_span(label.inner(), 0, 0).ok()?;
        Some(format!("{}:{}: ", contents.name()?, contents.line() + 1))
    });
    let help = report.help().map(|help| format!("; {help}"));
    format!("{}{report}{}", place.unwrap_or_default(), help.unwrap_or_default())
}

/// The file that a URI names.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    // An authority, such as `localhost`, ends at the path.
    let path = percent_decode_str(rest.get(rest.find('/')?..)?).decode_utf8().ok()?;
    let windows = matches!(path.as_bytes(), [b'/', drive, b':', ..] if drive.is_ascii_alphabetic());
    Some(Path::new(if windows { &path[1..] } else { &path }).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_files() {
        let path = |uri| path_of(uri).map(|path| path.display().to_string());
        assert_eq!(path("file:///a/b%20c/%C3%A4.ptx").as_deref(), Some("/a/b c/\u{e4}.ptx"));
        assert_eq!(path("file://localhost/a%").as_deref(), Some("/a%"));
        assert_eq!(path("file:///c%3A/k.ptx").as_deref(), Some("c:/k.ptx"));
        assert_eq!(path("untitled:Untitled-1"), None);
        assert_eq!(path("file:///%ff"), None);
    }

    #[test]
    fn configurations_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ptx-tc.toml");
        let uri = format!("file://{}/k.ptx", directory.path().display());
        let settings = Settings::default();
        let options = || Reader::new(&settings).options(&uri);
        let default = Options { max_findings: Some(100), ..Options::default() };
        assert_eq!(options(), (default.clone(), None));
        std::fs::write(&file, "targets = [\"sm_103a\"]").unwrap();
        assert_eq!(options().0.targets, ["sm_103a".parse().unwrap()]);
        std::fs::write(&file, "exclude = [\"k.ptx\"]").unwrap();
        assert!(ptx_check::rules::Code::all().all(|code| !options().0.rules.runs(code)));
        std::fs::write(&file, "\ntarget = []").unwrap();
        let (fallback, problem) = options();
        assert_eq!(fallback, default);
        let problem = problem.unwrap();
        assert!(
            problem.contains("ptx-tc.toml:2: unknown key `target`; did you mean `targets`?"),
            "{problem}"
        );
    }
}
