//! What a kernel does with Tensor Memory and with mbarriers, as far as that is known without a run.

use std::collections::BTreeMap;

use ptx_check::Unit;
use ptx_check::analysis::calls::CallGraph;
use ptx_check::analysis::descriptors;
use ptx_check::analysis::events::{Event, Events};
use ptx_check::analysis::executing::Executes;
use ptx_check::analysis::flow::{Flow, Together};
use ptx_check::analysis::footprint::{self, Columns};
use ptx_check::analysis::functions::FunctionFacts;
use ptx_check::analysis::mbarriers::{Mbarrier, Use as Used};
use ptx_check::analysis::places::{Root, Slot, SlotRoot};
use ptx_check::instruction::decode::Decoder;
use ptx_check::instruction::{Base, Instruction, Scalar};
use ptx_check::resolve::environment::Environment;
use ptx_check::resolve::symbols::{RegisterId, SymbolId};
use ptx_check::syntax::literal;
use ptx_draw::barriers::{Barrier, Role};
use ptx_draw::tmem::{Action, Place, Space, Step, Use};

/// What a function of a module does.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// With Tensor Memory.
    pub tmem: Use,
    /// With mbarriers.
    pub barriers: Vec<Barrier>,
}

/// What the analyses say of a kernel; `None` if the module has no body of that name.
///
/// Functions that it calls are not looked into.
pub fn of(unit: &Unit, kernel: &str) -> Option<Told> {
    let calls = CallGraph::new(unit);
    let mut decoder = Decoder::for_checks(unit);
    let name = |function: u32| unit.source.slice(unit.module.functions[function as usize].name);
    let (function, _) = unit.module.bodies().find(|(function, _)| name(*function) == kernel)?;
    let environment = Environment::new(unit, None, &[]);
    for component in calls.components(&[function]) {
        let instructions = decoder.decode(&component.functions);
        let mut events = Events::new(unit, &component, &instructions, &|_, _| true);
        let of = (&calls, &component, None);
        let functions = FunctionFacts::with_events(unit, of, &instructions, &mut events, None);
        let descriptors = descriptors::find(unit, &instructions, &functions, &environment);
        let together = Together {
            unit,
            instructions: &instructions,
            calls: &calls,
            all: &events,
            functions: &functions,
            descriptors: &descriptors,
        };
        if let Some(flow) = together.flows().find(|flow| flow.function() == function) {
            let teller = Teller { unit, flow };
            return Some(Told { tmem: teller.tmem(kernel), barriers: teller.barriers() });
        }
    }
    // No instruction of tcgen05 is in it, and nothing that orders some.
    Some(Told { tmem: Use { kernel: kernel.to_owned(), ..Use::default() }, barriers: Vec::new() })
}

/// Columns that are accessed in the iterations of a loop.
struct InIterations {
    root: Root,
    first: u32,
    count: u32,
    /// Whether there are no more iterations.
    is_complete: bool,
}

struct Teller<'a> {
    unit: &'a Unit,
    flow: Flow<'a>,
}

impl Teller<'_> {
    fn line(&self, instruction: u32) -> u32 {
        self.unit.source.position(self.unit.module.instructions[instruction as usize].opcode.start).line
    }

    fn opcode(&self, instruction: u32) -> String {
        self.unit.source.slice(self.unit.module.instructions[instruction as usize].opcode).to_owned()
    }

    fn place(&self, instruction: u32) -> Place {
        Place { line: self.line(instruction), opcode: self.opcode(instruction) }
    }

    fn symbol(&self, id: SymbolId) -> String {
        self.unit.source.slice(self.unit.symbols.symbol(id).span).to_owned()
    }

    fn register(&self, id: RegisterId) -> String {
        self.unit.source.slice(self.unit.symbols.register(id).span).to_owned()
    }

    fn slot(&self, slot: Slot) -> String {
        let by = if slot.offset == 0 { String::new() } else { format!("+{}", slot.offset) };
        match slot.root {
            SlotRoot::Variable(id) => format!("[{}{by}]", self.symbol(id)),
            SlotRoot::Literal => format!("[{}]", slot.offset),
            SlotRoot::Parameter(_) => format!("[a parameter{by}]"),
            SlotRoot::Register(id) => format!("[{}{by}]", self.register(id)),
        }
    }

    /// What columns are counted from.
    fn root(&self, root: Root) -> String {
        match root {
            Root::Literal => "column 0".to_owned(),
            Root::Variable(id) => self.symbol(id),
            Root::Slot(slot) => format!("the address in {}", self.slot(slot)),
            Root::Parameter(_) => "a parameter".to_owned(),
            Root::Register(id) => format!("what {} holds", self.register(id)),
        }
    }

    /// A number that stands there.
    fn number(scalar: &Scalar<'_>) -> Option<u32> {
        scalar.immediate().and_then(|it| u32::try_from(it.value()).ok())
    }

    fn tmem(&self, kernel: &str) -> Use {
        let mut told = Use { kernel: kernel.to_owned(), ..Use::default() };
        for &event in self.flow.events().iter().filter(|event| self.flow.is_own(**event)) {
            let Some(instruction) = self.flow.instruction(event) else { continue };
            let at = event.instruction;
            match instruction {
                Instruction::Alloc(alloc) => {
                    let columns = Self::number(&alloc.n_cols);
                    let slot = footprint::slot(&self.flow, event, &alloc.dst);
                    match slot.zip(columns) {
                        Some((slot, columns)) => {
                            let space = space(&mut told, self.root(Root::Slot(slot)));
                            space.columns = Some(space.columns.unwrap_or(0).max(columns));
                            space.steps.push(self.step(
                                at,
                                Action::Allocate,
                                vec![(0, columns)],
                                &self.who(at),
                            ));
                        }
                        None => told.unknown.push(self.place(at)),
                    }
                }
                Instruction::Dealloc(dealloc) => {
                    let place = self.flow.scalar_place(event, &dealloc.taddr);
                    let known = place.and_then(|place| Some((place.root, place.column()?)));
                    match known.zip(Self::number(&dealloc.n_cols)) {
                        Some(((root, column), columns)) => {
                            let step = self.step(at, Action::Free, vec![(column, columns)], &self.who(at));
                            space(&mut told, self.root(root)).steps.push(step);
                        }
                        None => told.unknown.push(self.place(at)),
                    }
                }
                Instruction::Ld(_) => self.access(&mut told, event, Action::Load),
                Instruction::St(_) => self.access(&mut told, event, Action::Store),
                Instruction::Cp(_) => self.access(&mut told, event, Action::Copy),
                Instruction::Shift(_) => self.access(&mut told, event, Action::Shift),
                Instruction::Mma(_) => {
                    self.access(&mut told, event, Action::Accumulate);
                    for columns in footprint::operands_read(&self.flow, event) {
                        self.add(&mut told, at, Action::Operand, columns, "");
                    }
                }
                Instruction::RelinquishAllocPermit(_)
                | Instruction::Wait(_)
                | Instruction::Commit(_)
                | Instruction::Fence(_) => {}
            }
        }
        told
    }

    fn step(&self, at: u32, action: Action, columns: Vec<(u32, u32)>, detail: &str) -> Step {
        Step { place: self.place(at), action, columns, detail: detail.to_owned(), times: None }
    }

    fn access(&self, told: &mut Use, event: Event, action: Action) {
        let detail = match action {
            Action::Load | Action::Store => self.who(event.instruction),
            _ => String::new(),
        };
        self.add(told, event.instruction, action, footprint::columns(&self.flow, event), &detail);
    }

    fn add(&self, told: &mut Use, at: u32, action: Action, columns: Option<Columns>, detail: &str) {
        let known = columns.and_then(|columns| Some((columns, columns.certain()?)));
        let Some((columns, (root, range))) = known else {
            if let Some(iterations) = columns.and_then(|columns| self.in_iterations(at, &columns)) {
                let InIterations { root, first, count, is_complete } = iterations;
                let which = if is_complete { "in a loop" } else { "first iterations of a loop" };
                let detail = [detail, which].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>();
                let step = self.step(at, action, vec![(first, count)], &detail.join(", "));
                space(told, self.root(root)).steps.push(step);
                return;
            }
            let place = self.place(at);
            if told.unknown.last() != Some(&place) {
                told.unknown.push(place);
            }
            return;
        };
        let mut all = vec![(range.start, range.end - range.start)];
        if let Some(by) = columns.second_half()
            && let Some(second) = i64::from(range.start).checked_add(by).and_then(|it| u32::try_from(it).ok())
        {
            all.push((second, range.end - range.start));
        }
        let step = self.step(at, action, all, detail);
        space(told, self.root(root)).steps.push(step);
    }

    /// The columns that are accessed iteration by iteration, where each is known: from the first one on, all.
    fn in_iterations(&self, at: u32, columns: &Columns) -> Option<InIterations> {
        let event = self.flow.event_at(at)?;
        let (address, _) = footprint::accessed(self.flow.instruction(event)?)?;
        let Base::Register(register) = address.base else { return None };
        let iterations = self.flow.in_iterations(at, register.id);
        let by = address.offset;
        let mut starts = Vec::new();
        let mut root = None;
        for place in &iterations.values {
            let column = i64::from(place.column()?).checked_add(by)?;
            if *root.get_or_insert(place.root) != place.root {
                return None;
            }
            starts.push(u32::try_from(column).ok()?);
        }
        starts.sort_unstable();
        let (first, last) = (*starts.first()?, *starts.last()?);
        // Without gaps.
        let is_dense = starts.windows(2).all(|pair| pair[1] - pair[0] <= columns.count());
        let count = last + columns.count() - first;
        is_dense.then_some(InIterations { root: root?, first, count, is_complete: iterations.is_complete })
    }

    /// The warps that execute an instruction, if they are known.
    fn who(&self, instruction: u32) -> String {
        self.flow.executing(None).of(instruction).map_or_else(String::new, |executes| warps(&executes))
    }

    fn barriers(&self) -> Vec<Barrier> {
        let mut groups: Vec<(Mbarrier, String, Barrier)> = Vec::new();
        let mut unknown = Barrier { name: "not known which".to_owned(), ..Barrier::default() };
        let used = self.flow.mbarriers();
        // Those that are known one by one come first: rings are shown as what they may be.
        let mut order: Vec<_> = used.iter().collect();
        order.sort_by_key(|used| used.mbarrier.is_none_or(|it| !it.is_one()));
        for used in order {
            let role = Role {
                who: self.who(used.instruction),
                line: self.line(used.instruction),
                opcode: self.opcode(used.instruction),
                times: None,
            };
            let barrier = match used.mbarrier {
                None => &mut unknown,
                Some(mbarrier) => {
                    let name = self.mbarrier(mbarrier);
                    let at = groups.iter().position(|(_, other, _)| *other == name).unwrap_or_else(|| {
                        let barrier = Barrier { name: name.clone(), ..Barrier::default() };
                        groups.push((mbarrier, name, barrier));
                        groups.len() - 1
                    });
                    &mut groups[at].2
                }
            };
            match used.how {
                Used::Waits => barrier.waits.push(role),
                Used::Arrives | Used::Completes | Used::Commits => barrier.arrives.push(role),
                Used::Initialises => {
                    barrier.init = Some(role.line);
                    barrier.count = self.count(used.instruction);
                }
            }
        }
        rings(&mut groups);
        let mut all: Vec<Barrier> = groups.into_iter().map(|(.., barrier)| barrier).collect();
        for barrier in all.iter_mut().chain([&mut unknown]) {
            barrier.arrives.sort_by_key(|role| role.line);
            barrier.waits.sort_by_key(|role| role.line);
        }
        all.sort_by_key(|barrier| barrier.init.unwrap_or(u32::MAX));
        if !unknown.arrives.is_empty() || !unknown.waits.is_empty() {
            all.push(unknown);
        }
        all
    }

    /// `full+8`, or `one of full..`
    fn mbarrier(&self, mbarrier: Mbarrier) -> String {
        let root = match mbarrier.root() {
            Root::Variable(id) => self.symbol(id),
            Root::Literal => "0".to_owned(),
            Root::Register(id) => self.register(id),
            Root::Slot(slot) => self.slot(slot),
            Root::Parameter(_) => "a parameter".to_owned(),
        };
        let (count, first) = mbarrier.size();
        let first = first.unwrap_or(0);
        match count {
            Some(1) if first == 0 => root,
            Some(1) => format!("{root}+{first}"),
            Some(count) => format!(
                "one of {count} from {root}{}",
                if first == 0 { String::new() } else { format!("+{first}") }
            ),
            None => format!("somewhere from {root}"),
        }
    }

    /// The arrivals that an initialisation says.
    fn count(&self, instruction: u32) -> Option<u32> {
        let module = &self.unit.module;
        let last = module.operands(module.instructions[instruction as usize].operands).last()?;
        literal::evaluate(&self.unit.source, module, last).and_then(|it| u32::try_from(it).ok())
    }
}

/// What is known of the mbarriers of a ring one by one is said of the ring, if nobody names them one by one.
fn rings(groups: &mut Vec<(Mbarrier, String, Barrier)>) {
    let is_ring = |it: &(Mbarrier, String, Barrier)| !it.0.is_one();
    for at in 0..groups.len() {
        if !is_ring(&groups[at]) {
            continue;
        }
        let ring = groups[at].0;
        let members = groups.iter().filter(|it| it.0.is_one() && it.0.may_be(&ring));
        let counts: Vec<Option<u32>> = members.clone().map(|it| it.2.count).collect();
        let init = members.filter_map(|it| it.2.init).min();
        let is_same = counts.windows(2).all(|pair| pair[0] == pair[1]);
        let barrier = &mut groups[at].2;
        barrier.init = barrier.init.or(init);
        barrier.count = barrier.count.or_else(|| counts.first().copied().flatten().filter(|_| is_same));
    }
    let in_ring: Vec<Mbarrier> = groups.iter().filter(|it| is_ring(it)).map(|it| it.0).collect();
    groups.retain(|(mbarrier, _, barrier)| {
        let is_named = !barrier.arrives.is_empty() || !barrier.waits.is_empty() || !mbarrier.is_one();
        is_named || !in_ring.iter().any(|ring| ring.may_be(mbarrier))
    });
}

/// The space with this name, which is made if there is none.
fn space(told: &mut Use, name: String) -> &mut Space {
    let at = told.spaces.iter().position(|space| space.name == name).unwrap_or_else(|| {
        told.spaces.push(Space { name, ..Space::default() });
        told.spaces.len() - 1
    });
    &mut told.spaces[at]
}

/// `warp 0`, `warps 2-5`; nothing if it is not known.
fn warps(executes: &Executes) -> String {
    let (certain, possible) = executes.warp_sets();
    if certain != possible || certain == 0 {
        return String::new();
    }
    let all: Vec<u32> = (0..32).filter(|warp| certain >> warp & 1 == 1).collect();
    let mut runs: BTreeMap<u32, u32> = BTreeMap::new();
    for warp in all {
        match runs.last_entry() {
            Some(mut last) if *last.get() + 1 == warp => *last.get_mut() = warp,
            _ => {
                runs.insert(warp, warp);
            }
        }
    }
    let run =
        |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let many = certain.count_ones() > 1;
    let all: Vec<String> = runs.into_iter().map(run).collect();
    format!("warp{} {}", if many { "s" } else { "" }, all.join(", "))
}
