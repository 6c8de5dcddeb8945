//! The text of findings, with the escapes of a terminal where colours are wanted.

use std::io::{self, Write};

use codespan_reporting::diagnostic::{LabelStyle, Severity};
use codespan_reporting::term::{Styles, WriteStyle, termcolor};
use termcolor::{Ansi, ColorSpec, WriteColor};

/// Takes what codespan writes. It writes character by character, so that what each of them passes through
/// is most of what a finding costs: this is one buffer and nothing else.
pub(crate) struct Styled<'a> {
    text: Ansi<Vec<u8>>,
    /// None for a text without colours.
    styles: Option<&'a Styles>,
}

impl<'a> Styled<'a> {
    pub(crate) fn new(styles: Option<&'a Styles>) -> Self {
        Self { text: Ansi::new(Vec::new()), styles }
    }

    /// What has come.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text.into_inner()
    }

    fn set(&mut self, style: impl FnOnce(&Styles) -> &ColorSpec) -> io::Result<()> {
        self.styles.map_or(Ok(()), |styles| self.text.set_color(style(styles)))
    }
}

impl Write for Styled<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.get_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteStyle for Styled<'_> {
    fn set_header(&mut self, severity: Severity) -> io::Result<()> {
        self.set(|styles| styles.header(severity))
    }

    fn set_header_message(&mut self) -> io::Result<()> {
        self.set(|styles| &styles.header_message)
    }

    fn set_line_number(&mut self) -> io::Result<()> {
        self.set(|styles| &styles.line_number)
    }

    fn set_note_bullet(&mut self) -> io::Result<()> {
        self.set(|styles| &styles.note_bullet)
    }

    fn set_source_border(&mut self) -> io::Result<()> {
        self.set(|styles| &styles.source_border)
    }

    fn set_label(&mut self, severity: Severity, label: LabelStyle) -> io::Result<()> {
        self.set(|styles| styles.label(severity, label))
    }

    fn reset(&mut self) -> io::Result<()> {
        self.styles.map_or(Ok(()), |_| WriteColor::reset(&mut self.text))
    }
}
