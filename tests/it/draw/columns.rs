//! Columns of Tensor Memory: what is said of a kernel without a run, each run of it does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptx_depict::kernel;
use ptx_depict::run::Told;
use ptx_draw::tmem::{Action, Use};
use ptx_tc::simulation::launch::{LaunchError, LaunchFile};
use ptx_tc::simulation::{Kernels, Settings};
use ptx_tc::{Source, Unit, draw as ptx_draw};

use crate::common::root;

/// Columns by line and action.
type Columns = BTreeMap<(u32, Action), BTreeSet<u32>>;

fn columns(told: &Use, space: usize) -> Columns {
    let mut all = Columns::new();
    for step in told.spaces.get(space).map(|it| &it.steps[..]).unwrap_or_default() {
        // Of some loops only the start is known.
        if step.detail.contains("first iterations") {
            continue;
        }
        let columns = step.columns.iter().flat_map(|(first, count)| *first..first + count);
        all.entry((step.place.line, step.action)).or_default().extend(columns);
    }
    all
}

#[test]
fn a_run_uses_what_is_known_without_it() {
    let (mut compared, mut equal) = (0, 0);
    for entry in fs::read_dir(root().join("fixtures/simulation/launches")).unwrap() {
        let path = entry.unwrap().path();
        let (module, name) = path.file_stem().unwrap().to_str().unwrap().split_once('.').unwrap();
        let ptx = root().join(format!("fixtures/kernels/{module}.ptx"));
        let Ok(text) = fs::read_to_string(&ptx) else { panic!("{} has no module", path.display()) };
        let source = Source::new(module, text).unwrap();
        let unit = Unit::new(&source);
        let kernels = Kernels::new(&unit);
        let kernel = kernels.kernel(name).unwrap();
        let told = kernel::of(&unit, name).unwrap().tmem;
        // Columns that are counted from one allocation can be compared with those of the memory.
        let [space] = told.spaces.as_slice() else { continue };
        if !space.steps.iter().any(|step| step.action == Action::Allocate) {
            continue;
        }
        let file: LaunchFile = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut read = |name: &str| {
            let folder = path.parent().unwrap();
            fs::read(folder.join(name)).map_err(|error| LaunchError(error.to_string()))
        };
        let Ok(launch) = kernel.fitting_launch(&file, &mut read) else { continue };
        let settings = Settings { records: true, ..Settings::default() };
        let report = kernel.simulate(&launch, &settings).unwrap();
        let record = report.record.unwrap();
        let run = Told { source: &source, kernel: name, record: &record }.tensor_memory();
        let (certain, done) = (columns(&told, 0), columns(&run, 0));
        for (key, wanted) in &certain {
            // Not every branch is taken.
            let Some(used) = done.get(key) else { continue };
            compared += 1;
            equal += usize::from(wanted == used);
            assert!(wanted.is_superset(used), "{module}.{name} {key:?}: {wanted:?}, not {used:?}");
        }
    }
    assert!(compared > 250, "{compared}");
    assert!(equal * 10 > compared * 9, "{equal} of {compared}");
}
