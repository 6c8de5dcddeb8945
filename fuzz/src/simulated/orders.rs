//! Bugs of order between CTAs, clusters and lanes: scopes, fences, flags and counters, and what only the last CTA does.
//! The whole grid runs.

use super::body::{Body, Edit, Statement, unguarded};
use super::list::Bug;

/// What a race or a hang is called.
const ORDER: &[&str] = &["SIM204", "SIM201", "SIM101"];

/// The bugs.
#[rustfmt::skip]
pub const ORDERS: &[Bug] = &[
    Bug { name: "scope .gpu narrowed to .cta", names: ORDER,
        inject: |body| body.strong().filter(|it| it.opcode.contains(".gpu")).map(|it| it.as_if(".gpu", ".cta")).collect() },
    Bug { name: "scope .gpu narrowed to .cluster", names: ORDER,
        inject: |body| body.strong().filter(|it| it.opcode.contains(".gpu")).map(|it| it.as_if(".gpu", ".cluster")).collect() },
    Bug { name: "scope .cluster narrowed to .cta", names: ORDER,
        inject: |body| body.strong().filter(|it| it.opcode.contains(".cluster")).map(|it| it.as_if(".cluster", ".cta")).collect() },
    Bug { name: "arrival at a peer in the scope .cta", names: ORDER,
        inject: |body| body.arrivals_elsewhere().map(|it| {
            let opcode = it.opcode.replace(".release", "").replace(".relaxed", "").replacen(".cluster.", ".", 1);
            it.replace(it.text.replacen(it.opcode, &opcode.replacen(".shared", ".release.cta.shared", 1), 1))
        }).collect() },
    Bug { name: "fence between threads missing", names: ORDER,
        inject: |body| body.fences().map(Statement::delete).collect() },
    Bug { name: "release weakened to relaxed", names: ORDER,
        inject: |body| {
            let of_both = body.strong().filter(|it| it.opcode.contains(".acq_rel") && !it.is("fence")).map(|it| it.as_if(".acq_rel", ".acquire"));
            body.strong().filter(|it| it.opcode.contains(".release")).map(|it| it.as_if(".release", ".relaxed")).chain(of_both).collect()
        } },
    Bug { name: "release weakened to a weak store", names: ORDER,
        inject: |body| body.all("st.release").map(|it| it.replace(weak(it))).collect() },
    Bug { name: "acquire weakened to relaxed", names: ORDER,
        inject: |body| {
            let of_both = body.strong().filter(|it| it.opcode.contains(".acq_rel") && !it.is("fence")).map(|it| it.as_if(".acq_rel", ".release"));
            body.strong().filter(|it| it.opcode.contains(".acquire")).map(|it| it.as_if(".acquire", ".relaxed")).chain(of_both).collect()
        } },
    Bug { name: "acquire weakened to a weak load", names: ORDER,
        inject: |body| body.all("ld.acquire").map(|it| it.replace(weak(it))).collect() },
    Bug { name: "flag written before the data", names: ORDER,
        inject: |body| body.flags().filter_map(|it| {
            // What is computed between is not known before.
            it.operand(1, body.text)?.parse::<u32>().ok()?;
            let data = body.data_before(it)?;
            Some([it.delete(), data.before(it.text)].concat())
        }).collect() },
    Bug { name: "barrier missing before a flag or a counter", names: ORDER,
        inject: |body| body.barriers().filter(|it| body.flags().chain(body.counters()).any(|flag| body.follows_at_once(it, flag))).map(Statement::delete).collect() },
    Bug { name: "barrier missing behind a flag or a counter", names: ORDER,
        inject: |body| body.barriers().filter(|it| body.polls().chain(body.counters()).any(|flag| body.precedes_at_once(it, flag))).map(Statement::delete).collect() },
    Bug { name: "last of all one too early", names: ORDER,
        inject: |body| body.counters().filter_map(|it| Some(it.after(&changed_result(it, body.text, "add")?))).collect() },
    Bug { name: "last of all one too late", names: ORDER,
        inject: |body| body.counters().filter_map(|it| Some(it.after(&changed_result(it, body.text, "sub")?))).collect() },
    Bug { name: "counted by all lanes", names: ORDER,
        inject: |body| body.counters().chain(body.all("red.")).filter(|it| it.text.starts_with('@')).map(|it| it.replace(unguarded(it))).collect() },
    Bug { name: "counter not reset", names: ORDER,
        inject: |body| body.strong().filter(|it| it.is("st") && it.operand(1, body.text) == Some("0")).map(Statement::delete).collect() },
    Bug { name: "lanes not synchronised before one arrives", names: ORDER,
        inject: |body| body.lane_barriers().map(Statement::delete).collect() },
    Bug { name: "fence for the proxy of another memory", names: &["SIM203"],
        inject: |body| body.fences_of_stores().map(|it| it.replace(it.text.replacen(it.opcode, "fence.proxy.async.global", 1))).collect() },
    Bug { name: "proxy fence missing", names: &["SIM203"],
        inject: |body| body.fences_of_stores().map(Statement::delete).collect() },
    Bug { name: "one element too many", names: &["SIM501"],
        inject: |body| body.bounds().map(|it| {
            if it.is("setp.ge") { it.as_if("setp.ge", "setp.gt") } else { it.as_if("setp.lt", "setp.le") }
        }).collect() },
    Bug { name: "the last CTA stores past the end of a buffer", names: &["SIM501"],
        inject: |body| body.all("st.global").filter_map(|it| {
            let [(range, address)] = <[Edit; 1]>::try_from(it.moved(0, 1 << 30, body.text)?).ok()?;
            let (from, to) = (range.start - it.range.start, range.end - it.range.start);
            let wrong = format!("{}{address}{}", &it.text[..from], &it.text[to..]);
            Some(it.replace(in_last_cta(it.text, &wrong, it)))
        }).collect() },
    Bug { name: "barrier missing in the last CTA", names: &["SIM201", "SIM202", "SIM203", "SIM401", "SIM101", "SIM204", "SIM302", "SIM301", "SIM406"],
        inject: |body| body.barriers_alone().filter(|it| !it.text.starts_with('@')).map(|it| it.replace(in_last_cta(it.text, "", it))).collect() },
    Bug { name: "wait missing in the last CTA", names: &["SIM201", "SIM202", "SIM203", "SIM401", "SIM101", "SIM204", "SIM505", "SIM405", "SIM306", "SIM102"],
        inject: |body| body.waits().filter(|it| !it.text.starts_with('@')).filter_map(|it| {
            let passes = format!("setp.eq.u32 {}, 0, 0;", it.operand(0, body.text)?);
            Some(it.replace(in_last_cta(it.text, &passes, it)))
        }).collect() },
];

/// A store or a load without its semantics and scope.
fn weak(statement: &Statement<'_>) -> String {
    let words = [".release", ".acquire", ".gpu", ".cluster", ".cta", ".sys"];
    let opcode = words.iter().fold(statement.opcode.to_owned(), |opcode, word| opcode.replacen(word, "", 1));
    statement.text.replacen(statement.opcode, &opcode, 1)
}

/// A statement, and another one in the last CTA.
fn in_last_cta(right: &str, wrong: &str, statement: &Statement<'_>) -> String {
    let guard = |sense: &str, text: &str| match text.strip_prefix('@') {
        // Its own guard is put into the predicate.
        Some(_) => {
            let (own, rest) = text.split_once(statement.opcode).unwrap_or_default();
            let own = own.trim().trim_start_matches('@');
            let (not, name) = own
                .strip_prefix('!')
                .map_or(("", own), |name| ("not.pred injected_own, injected_own; ", name));
            format!(
                "mov.pred injected_own, {name}; {not}@{sense}injected_is mov.pred injected_own, injected_none; \
                 @injected_own {}{rest}",
                statement.opcode
            )
        }
        None if text.is_empty() => String::new(),
        None => format!("@{sense}injected_is {text}"),
    };
    let (right, wrong) = if right.starts_with('@') {
        (guard("", right), guard("!", wrong))
    } else {
        (guard("!", right), guard("", wrong))
    };
    format!(
        "{{ .reg .pred injected_is, injected_own, injected_none; .reg .b32 injected_cta, injected_ctas; \
         setp.ne.u32 injected_none, 0, 0; mov.u32 injected_cta, %ctaid.x; mov.u32 injected_ctas, %nctaid.x; \
         sub.u32 injected_ctas, injected_ctas, 1; setp.eq.u32 injected_is, injected_cta, injected_ctas; \
         {right} {wrong} }}"
    )
}

/// What makes another number of what a counter was.
fn changed_result(counter: &Statement<'_>, text: &str, operation: &str) -> Option<String> {
    let register = counter.operand(0, text)?;
    let guard = counter.text.split_once(counter.opcode)?.0;
    Some(format!("{guard}{operation}.u32 {register}, {register}, 1;"))
}

impl Statement<'_> {
    /// With a word of its opcode for another.
    fn as_if(&self, word: &str, other: &str) -> Vec<Edit> {
        let opcode = self.opcode.replacen(word, other, 1);
        self.replace(self.text.replacen(self.opcode, &opcode, 1))
    }
}

impl<'a> Body<'a> {
    /// What takes part in an order of threads by a scope.
    fn strong(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| {
            let is_access =
                ["ld", "st", "atom", "red"].iter().any(|name| it.opcode.split('.').next() == Some(name));
            let is_strong =
                [".acquire", ".release", ".relaxed", ".acq_rel"].iter().any(|word| it.opcode.contains(word));
            let is_wait =
                it.is("mbarrier.try_wait") || it.is("mbarrier.test_wait") || it.is("mbarrier.arrive");
            is_access && is_strong
                || it.is("fence.acq_rel")
                || it.is("fence.sc")
                || is_wait && (it.opcode.contains("acquire.cluster") || it.opcode.contains("release.cluster"))
        })
    }

    fn fences(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("fence.acq_rel") || it.is("fence.sc") || it.is("membar"))
    }

    /// Arrivals at mbarriers of other CTAs.
    fn arrivals_elsewhere(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("mbarrier.arrive")
            .filter(|it| it.opcode.contains("shared::cluster") && !it.opcode.contains(".cta"))
    }

    /// Stores that tell others something.
    fn flags(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_flag = |it: &&Statement<'a>| {
            it.is("st.release")
                || it.is("red.release")
                || it.is("st.relaxed") && it.operand(1, self.text) != Some("0")
        };
        self.statements.iter().filter(is_flag)
    }

    /// Counters whose value is used.
    fn counters(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.all("atom").filter(|it| it.opcode.contains(".add") && !it.opcode.contains(".f"))
    }

    /// Loads that wait for flags.
    fn polls(&self) -> impl Iterator<Item = &Statement<'a>> {
        self.statements.iter().filter(|it| it.is("ld.acquire") || it.is("ld.relaxed"))
    }

    /// The last store of data before a flag.
    fn data_before(&self, flag: &Statement<'a>) -> Option<&Statement<'a>> {
        let before = self.statements.iter().rev().filter(|it| it.range.end <= flag.range.start);
        before
            .take_while(|it| !it.is("ret") && !it.is("ld.acquire") && !it.is("ld.relaxed"))
            .find(|it| it.is("st.global") || it.is("cp.async.bulk.global"))
    }

    /// Whether only fences and what computes lie between two statements.
    fn follows_at_once(&self, first: &Statement<'a>, then: &Statement<'a>) -> bool {
        let is_between =
            |it: &&Statement<'a>| it.range.start >= first.range.end && it.range.end <= then.range.start;
        let is_plain = |it: &Statement<'a>| {
            !["bar", "ld", "st", "atom", "red", "cp", "ret"].iter().any(|name| it.is(name))
        };
        first.range.end <= then.range.start && self.statements.iter().filter(is_between).all(is_plain)
    }

    /// The same for a barrier after it, with the store that hands the number on.
    fn precedes_at_once(&self, barrier: &Statement<'a>, flag: &Statement<'a>) -> bool {
        let is_between =
            |it: &&Statement<'a>| it.range.start >= flag.range.end && it.range.end <= barrier.range.start;
        let is_plain = |it: &Statement<'a>| {
            !["bar", "ld", "st.global", "atom", "red", "cp", "ret"].iter().any(|name| it.is(name))
        };
        flag.range.end <= barrier.range.start && self.statements.iter().filter(is_between).all(is_plain)
    }

    /// `bar.warp.sync` between stores, or loads, and an arrival or a flag of one lane.
    fn lane_barriers(&self) -> impl Iterator<Item = &Statement<'a>> {
        let tells = |it: &Statement<'a>| {
            it.text.starts_with('@')
                && (it.is("mbarrier.arrive") || it.is("st.release") || it.is("red.release"))
        };
        let ends = |it: &Statement<'a>| it.is("bar") || it.is("ret") || it.is("exit");
        let barriers = self.statements.iter().enumerate().filter(|(_, it)| it.is("bar.warp.sync"));
        barriers
            .filter(move |(at, _)| {
                let next = self.statements[at + 1..].iter().find(|it| tells(it) || ends(it));
                let before = self.statements[..*at].iter().rev().take_while(|it| !ends(it));
                next.is_some_and(tells)
                    && before.into_iter().any(|it| it.is("st.shared") || it.is("st.global"))
            })
            .map(|(_, it)| it)
    }

    /// Comparisons with a number of elements.
    fn bounds(&self) -> impl Iterator<Item = &Statement<'a>> {
        let is_given =
            |register: &str| self.all("ld.param.u32").any(|it| it.operand(0, self.text) == Some(register));
        self.statements.iter().filter(move |it| {
            (it.is("setp.ge.u32") || it.is("setp.lt.u32")) && it.operand(2, self.text).is_some_and(is_given)
        })
    }
}
