//! Pictures of kernels and of runs.

use std::path::PathBuf;

use ptx_check::Unit;
use ptx_check::source::Source;
use ptx_depict::{kernel, run};
use ptx_draw::{DrawError, barriers, timeline, tmem};
use ptx_simulation::record::Record;
use ptx_workbench::Drawn;

use super::Draw;
use crate::simulate;
use crate::words::no_picture;

impl Draw {
    pub(super) fn draw_file(&self) -> miette::Result<Drawn> {
        let path = self.file()?;
        let is_run = self.what == "timeline" || self.launch.is_some();
        if is_run {
            let ran = simulate::recorded(&path, self.kernel.as_deref(), self.launch.as_deref())?;
            let record = ran.report.record.clone().unwrap_or_default();
            return Ok(self.draw_run(&ran.source, &ran.report.kernel, &record));
        }
        let source = simulate::read(&path)?;
        let unit = Unit::new(&source);
        let name =
            simulate::kernel_of(&ptx_simulation::kernels(&unit), source.name(), self.kernel.as_deref())?;
        let told = kernel::of(&unit, &name).unwrap_or_default();
        Ok(match self.what.as_str() {
            "tmem" => tmem::picture(&told.tmem).into(),
            _ => barriers::picture(&name, &told.barriers, false).into(),
        })
    }

    /// The only word: a path.
    fn file(&self) -> miette::Result<PathBuf> {
        let what = &self.what;
        Err(no_picture(match self.words.as_slice() {
            [path] => return Ok(PathBuf::from(path)),
            [] => DrawError::helped(
                format!("`draw {what}` needs a file with PTX"),
                format!("write `ptx-tc draw {what} kernel.ptx`"),
            ),
            [_, second, ..] => DrawError::helped(
                format!("`draw {what}` takes one file, and nothing else is known of `{second}`"),
                "name the kernel by `--kernel`, and what it is launched with by `--launch`",
            ),
        }))
    }

    fn draw_run(&self, source: &Source, kernel: &str, record: &Record) -> Drawn {
        let told = run::Told { source, kernel, record };
        match self.what.as_str() {
            "barriers" => barriers::picture(kernel, &told.barriers(), true).into(),
            "tmem" => tmem::picture(&told.tensor_memory()).into(),
            _ => timeline::picture(&told.timeline()).into(),
        }
    }
}
