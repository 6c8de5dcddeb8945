//! What is wrong with words of the command line, for people.

use miette::{LabeledSpan, NamedSource, Report, SourceSpan};
use ptx_draw::DrawError;
use ptx_workbench::{ExpressionError, Label, NoPicture};

/// A word makes no sense.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
struct Misread {
    message: String,
    #[source_code]
    source_code: NamedSource<String>,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
    #[help]
    help: Option<String>,
}

/// Something is wrong with no word in particular.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
struct Plain {
    message: String,
    #[help]
    help: Option<String>,
}

/// A word that makes no sense, pointed at.
pub(crate) fn in_words(error: ExpressionError) -> Report {
    let ExpressionError { message, text, labels, help } = error;
    let label = |Label { span, text }| {
        let span = SourceSpan::new((span.start as usize).into(), span.len() as usize);
        LabeledSpan::new_with_span(Some(text), span)
    };
    // Where nothing was written, there is nothing to point at.
    if text.trim().is_empty() {
        let message = labels.first().map_or(message.clone(), |label| format!("{message}: {}", label.text));
        return Plain { message, help }.into();
    }
    let labels = labels.into_iter().map(label).collect();
    Misread { message, source_code: NamedSource::new("expression", text), labels, help }.into()
}

/// There is no picture.
pub(crate) fn no_picture(error: impl Into<NoPicture>) -> Report {
    match error.into() {
        NoPicture::Word(error) => in_words(error),
        NoPicture::Nothing(DrawError { message, help }) => Plain { message, help }.into(),
    }
}
