//! Between the places of a finding that stand in different functions there are calls; these are
//! marked, too.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::calls::{CallGraph, functions_named};
use crate::diagnostic::{Diagnostic, Label};
use crate::isa::generic::Control;
use crate::resolve::unit::Unit;
use crate::source::Span;
use crate::syntax::ast::StatementKind;

/// So many functions are looked at to find how one leads to another; farther, nobody would follow.
const FAR: usize = 1000;

/// Marks the calls between what a finding names.
pub(super) struct CallLabels<'a> {
    unit: &'a Unit,
    calls: &'a CallGraph,
    /// Where each function stands, in the order of the text.
    bodies: Vec<(Span, u32)>,
    /// Who calls a function; found when it is first asked for.
    callers: Option<FxHashMap<u32, Vec<u32>>>,
    /// What was found out between two functions.
    known: FxHashMap<(u32, u32), Vec<Marked>>,
}

/// A call that is marked, and the others that would say the same.
type Marked = (Label, Vec<Span>);

impl<'a> CallLabels<'a> {
    pub(super) fn new(unit: &'a Unit, calls: &'a CallGraph) -> Self {
        let statements = &unit.module.statements;
        let bodies = unit.module.bodies().filter_map(|(index, function)| {
            let body = statements.get(function.body.range())?;
            Some((body.first()?.span.to(body.last()?.span), index))
        });
        Self { unit, calls, bodies: bodies.collect(), callers: None, known: FxHashMap::default() }
    }

    /// Adds the calls to what a finding says.
    pub(super) fn add(&mut self, finding: &mut Diagnostic) {
        let Some(here) = self.function(finding.primary.span) else { return };
        let others: FxHashSet<u32> =
            finding.labels.iter().filter_map(|label| self.function(label.span)).collect();
        let mut others: Vec<u32> = others.into_iter().filter(|function| *function != here).collect();
        others.sort_unstable();
        for other in others {
            let labels = self.known.get(&(here, other)).cloned();
            let labels = labels.unwrap_or_else(|| {
                let labels = self.between(here, other);
                self.known.insert((here, other), labels.clone());
                labels
            });
            for (label, sites) in labels {
                let is_marked =
                    finding.labels.iter().chain([&finding.primary]).any(|it| sites.contains(&it.span));
                if !is_marked {
                    finding.labels.push(label);
                }
            }
        }
    }

    /// The function that a place is in the body of.
    fn function(&self, span: Span) -> Option<u32> {
        let behind = self.bodies.partition_point(|(body, _)| body.start <= span.start);
        let (body, function) = self.bodies.get(behind.checked_sub(1)?)?;
        (span.start < body.end).then_some(*function)
    }

    /// The calls through which both functions run: of one by the other, or of both by a third.
    fn between(&mut self, here: u32, other: u32) -> Vec<Marked> {
        let reaching_here = self.ancestors(here);
        let reaching_other: FxHashSet<u32> = self.ancestors(other).into_iter().collect();
        let Some(caller) = reaching_here.into_iter().find(|function| reaching_other.contains(function))
        else {
            return Vec::new();
        };
        [other, here].into_iter().filter_map(|function| self.call(caller, function)).collect()
    }

    /// A function and those that call it, the nearest first.
    fn ancestors(&mut self, function: u32) -> Vec<u32> {
        let (unit, calls) = (self.unit, self.calls);
        let callers = self.callers.get_or_insert_with(|| {
            let mut callers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
            for caller in 0..unit.module.functions.len() as u32 {
                for &callee in calls.callees(caller) {
                    callers.entry(callee).or_default().push(caller);
                }
            }
            callers
        });
        let mut order = vec![function];
        let mut seen: FxHashSet<u32> = FxHashSet::from_iter([function]);
        let mut next = 0;
        while next < order.len() && order.len() < FAR {
            let above = callers.get(&order[next]).into_iter().flatten();
            order.extend(above.copied().filter(|caller| seen.insert(*caller)));
            next += 1;
        }
        order
    }

    /// The call in `caller` that leads to `function`.
    fn call(&self, caller: u32, function: u32) -> Option<Marked> {
        if caller == function {
            return None;
        }
        // Breadth first, with the callee of `caller` that each was reached through.
        let mut work: VecDeque<(u32, u32)> =
            self.calls.callees(caller).iter().map(|&callee| (callee, callee)).collect();
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let callee = loop {
            let (reached, through) = work.pop_front()?;
            if reached == function {
                break through;
            }
            if seen.len() < FAR && seen.insert(reached) {
                work.extend(self.calls.callees(reached).iter().map(|&callee| (callee, through)));
            }
        };
        let sites: Vec<Span> = self.sites(caller, callee).collect();
        let first = *sites.first()?;
        let name = |function: u32| self.unit.readable(self.unit.module.functions[function as usize].name);
        let mut message = format!("`{}` is called here", name(callee));
        if callee != function {
            message.push_str(&format!(", and from there `{}`", name(function)));
        }
        match sites.len() - 1 {
            0 => {}
            1 => message.push_str("; there is another call"),
            others => message.push_str(&format!("; there are {others} other calls")),
        }
        Some((Label::new(first, message), sites))
    }

    /// Where a function calls another.
    fn sites(&self, caller: u32, callee: u32) -> impl Iterator<Item = Span> {
        let Unit { module, symbols, operations, .. } = self.unit;
        let body = &module.statements[module.functions[caller as usize].body.range()];
        body.iter().filter_map(move |statement| {
            let StatementKind::Instruction(index) = statement.kind() else { return None };
            if operations.of(index).control() != Control::Call {
                return None;
            }
            let operands = module.instructions[index as usize].operands;
            let is_it = functions_named(module, symbols, operands).any(|named| named == callee);
            is_it.then_some(module.instructions[index as usize].opcode)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::Source;

    /// What is marked for a finding at the first `trap` that names the second: line and message.
    fn marked(functions: &str) -> Vec<(u32, String)> {
        let text = format!(".version 9.0\n.target sm_100a\n{functions}");
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let mut traps =
            source.text().match_indices("trap").map(|(at, _)| Span::new(at as u32, at as u32 + 4));
        let (first, second) = (traps.next().unwrap(), traps.next().unwrap());
        let mut finding = Diagnostic::new(Code::MissingCommit, first, "", "").label(second, "");
        CallLabels::new(&unit, &CallGraph::new(&unit)).add(&mut finding);
        let added = finding.labels.iter().filter(|label| label.span != second);
        added.map(|label| (source.position(label.span.start).line - 2, label.message.clone())).collect()
    }

    #[test]
    fn a_call_between_them() {
        let found = marked(".func f() { trap; ret; }\n.entry k() { trap;\ncall f;\nret; }");
        assert_eq!(found, [(3, "`f` is called here".to_owned())]);
        let found = marked(".func f() { trap; ret; }\n.entry k() { call f; trap;\ncall f; call f; ret; }");
        assert_eq!(found, [(2, "`f` is called here; there are 2 other calls".to_owned())]);
    }

    #[test]
    fn a_call_through_others() {
        let found = marked(
            ".func f() { trap; ret; }\n.func g() { call f; ret; }\n.func h() { call g; ret; }\n\
             .entry k() { trap;\ncall h; ret; }",
        );
        assert_eq!(found, [(5, "`h` is called here, and from there `f`".to_owned())]);
    }

    #[test]
    fn both_are_called() {
        let found = marked(
            ".func f() { trap; ret; }\n.func g() { trap; ret; }\n.entry k() {\ncall g;\ncall f;\nret; }",
        );
        assert_eq!(found, [(4, "`g` is called here".to_owned()), (5, "`f` is called here".to_owned())]);
    }

    #[test]
    fn nothing_leads_from_one_to_the_other() {
        assert_eq!(marked(".func f() { trap; ret; }\n.entry k() { trap; ret; }"), []);
        assert_eq!(marked(".entry k() { trap;\ntrap; ret; }"), []);
        // Functions that call each other without end.
        let found = marked(
            ".func f() { trap; ret; }\n.func g() { call h; ret; }\n.func h() { call g; ret; }\n\
             .entry k() { trap; call g; ret; }",
        );
        assert_eq!(found, []);
    }
}
