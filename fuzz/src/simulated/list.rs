//! The bugs that are put into kernels that run.

use super::body::{
    Body, Edit, Statement, WaitsFor, by_half_a_warp, by_threads, guard, moved, passed, unguarded,
};

/// A kind of bug.
#[derive(Debug)]
pub struct Bug {
    /// What was done to the kernel.
    pub name: &'static str,
    /// The findings that name it.
    pub names: &'static [&'static str],
    /// Its places in one kernel, each with the edits that put it there.
    pub(super) inject: fn(&Body<'_>) -> Vec<Vec<Edit>>,
}

impl Bug {
    /// Its places in a kernel, each with the edits that put it there.
    pub(super) fn places(&self, body: &Body<'_>) -> Vec<Vec<Edit>> {
        (self.inject)(body)
    }
}

/// The bugs.
#[rustfmt::skip]
pub const BUGS: &[Bug] = &[
    // Barriers of threads and operations.
    Bug { name: "mbarrier not initialised", names: &["SIM401"],
        inject: |body| body.all("mbarrier.init").map(Statement::delete).collect() },
    Bug { name: "mbarrier expects an arrival more", names: &["SIM101"],
        inject: |body| body.all("mbarrier.init").filter_map(|it| it.computed(1, "b32", "add.u32 WORD, OLD, 1;", body.text)).collect() },
    Bug { name: "mbarrier expects an arrival less", names: &["SIM403", "SIM405", "SIM201", "SIM202", "SIM101"],
        inject: |body| {
            let is_more = |it: &&Statement<'_>| it.operand(1, body.text).and_then(|count| body.number(count)).is_some_and(|count| count > 1);
            body.all("mbarrier.init").filter(is_more).filter_map(|it| it.computed(1, "b32", "sub.u32 WORD, OLD, 1;", body.text)).collect()
        } },
    Bug { name: "mbarrier initialised again in use", names: &["SIM402"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}mbarrier.init.shared::cta.b64 {barrier}, 1;")))
        }).collect() },
    Bug { name: "mbarrier invalidated in use", names: &["SIM402", "SIM401"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}mbarrier.inval.shared::cta.b64 {barrier};")))
        }).collect() },
    Bug { name: "mbarrier overwritten in use", names: &["SIM402"],
        inject: |body| body.expecting_here().filter_map(|it| {
            let barrier = it.operands.iter().map(|range| &body.text[range.clone()]).find(|it| it.starts_with('['))?;
            let guard = it.text.split_once(it.opcode)?.0;
            Some(it.after(&format!("{guard}st.shared.b64 {barrier}, 0;")))
        }).collect() },
    Bug { name: "arrival missing", names: &["SIM101"],
        inject: |body| body.arrivals().map(Statement::delete).collect() },
    Bug { name: "arrival twice", names: &["SIM403", "SIM405"],
        inject: |body| body.arrivals().map(Statement::again).collect() },
    Bug { name: "arrival on the next mbarrier", names: &["SIM101", "SIM401", "SIM403", "SIM405"],
        inject: |body| body.arrivals().filter_map(|it| it.moved(it.operands.iter().position(|range| body.text[range.clone()].starts_with('['))?, 8, body.text)).collect() },
    Bug { name: "bytes not expected", names: &["SIM404"],
        inject: |body| body.expecting().filter(|it| it.is("mbarrier.arrive")).filter_map(|it| {
            let end = it.operands.len().checked_sub(2)?;
            let text = it.text.replace(".expect_tx", "");
            let cut = text.rfind(',')?;
            (end > 0).then(|| it.replace(format!("{};", &text[..cut])))
        }).collect() },
    Bug { name: "too many bytes expected", names: &["SIM404"],
        inject: |body| body.expecting().filter_map(|it| it.computed(it.operands.len() - 1, "b32", "add.u32 WORD, OLD, 1024;", body.text)).collect() },
    Bug { name: "too few bytes expected", names: &["SIM404"],
        inject: |body| body.expecting().filter_map(|it| it.computed(it.operands.len() - 1, "b32", "sub.u32 WORD, OLD, 1024;", body.text)).collect() },
    // It arrives there, too.
    Bug { name: "bytes expected on the next mbarrier", names: &["SIM404", "SIM101", "SIM401", "SIM403"],
        inject: |body| body.expecting().filter_map(|it| it.moved(it.operands.len() - 2, 8, body.text)).collect() },
    Bug { name: "copy missing", names: &["SIM404"],
        inject: |body| body.loads().map(Statement::delete).collect() },
    Bug { name: "copy twice", names: &["SIM404", "SIM201"],
        inject: |body| body.loads().map(Statement::again).collect() },
    Bug { name: "copy signals the next mbarrier", names: &["SIM404", "SIM401"],
        inject: |body| body.loads().filter_map(|it| it.moved(2, 8, body.text)).collect() },
    Bug { name: "commit missing", names: &["SIM101"],
        inject: |body| body.all("tcgen05.commit").map(Statement::delete).collect() },
    Bug { name: "commit twice", names: &["SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").map(Statement::again).collect() },
    Bug { name: "commit to the next mbarrier", names: &["SIM101", "SIM401", "SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").filter_map(|it| it.moved(0, 8, body.text)).collect() },
    Bug { name: "stage filled again too early", names: &["SIM201", "SIM403", "SIM404", "SIM405"],
        inject: |body| passed(body.waits_for(WaitsFor::Stage), body.text) },
    Bug { name: "operands read before they are there", names: &["SIM201", "SIM202", "SIM505"],
        inject: |body| passed(body.waits_for(WaitsFor::Operands), body.text) },
    // The wait may be for more: that what was multiplied may be stored again, and that others may go on.
    Bug { name: "result read before it is there", names: &["SIM202", "SIM306", "SIM201", "SIM405"],
        inject: |body| passed(body.waits_for(WaitsFor::Result), body.text) },
    Bug { name: "the other parity", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM306", "SIM505"],
        inject: |body| body.waits().filter(|it| it.opcode.contains("parity")).filter_map(|it| it.computed(2, "b32", "xor.b32 WORD, OLD, 1;", body.text)).collect() },
    Bug { name: "always parity 0", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM306", "SIM505"],
        inject: |body| {
            let is_other = |it: &&Statement<'_>| it.operand(2, body.text).is_some_and(|parity| body.number(parity) != Some(0));
            body.waits().filter(|it| it.opcode.contains("parity")).filter(is_other).filter_map(|it| it.with(2, "0")).collect()
        } },
    // A commit tracks all that its thread has given before: who waits for the stage behind the one that he fills
    // waits for both. So it is the one before.
    Bug { name: "wait for another mbarrier", names: &["SIM101", "SIM405", "SIM201", "SIM202", "SIM401", "SIM505", "SIM306"],
        inject: |body| {
            let stages: Vec<_> = body.waits_for(WaitsFor::Stage).into_iter().map(|it| it.range.start).collect();
            let by = |it: &Statement<'_>| if stages.contains(&it.range.start) { -8 } else { 8 };
            body.waits().filter_map(|it| it.moved(1, by(it), body.text)).collect()
        } },
    Bug { name: "mbarrier initialised behind the barrier", names: &["SIM401"],
        inject: |body| {
            body.all("mbarrier.init").filter_map(|it| {
                let later = body.barrier_before_use(it)?;
                Some([it.delete(), later.after(&by_threads(64, 1, unguarded(it)))].concat())
            }).collect()
        } },
    // Barriers of the CTA, the cluster and the warp.
    Bug { name: "barrier missing", names: &["SIM201", "SIM202", "SIM203", "SIM401", "SIM101", "SIM302", "SIM301"],
        inject: |body| body.barriers_alone().map(Statement::delete).collect() },
    Bug { name: "barrier 16", names: &["SIM406"],
        inject: |body| body.barriers().filter_map(|it| it.computed(0, "b32", "mov.u32 WORD, 16;", body.text)).collect() },
    Bug { name: "barrier of a warp less", names: &["SIM406", "SIM101", "SIM104"],
        inject: |body| body.barriers().filter(|it| it.operands.len() == 2).filter_map(|it| it.computed(1, "b32", "sub.u32 WORD, OLD, 32;", body.text)).collect() },
    Bug { name: "barrier of a warp more", names: &["SIM406", "SIM101"],
        inject: |body| body.barriers().filter(|it| it.operands.len() == 2).filter_map(|it| it.computed(1, "b32", "add.u32 WORD, OLD, 32;", body.text)).collect() },
    // As if it was missing: nobody waits for another warp.
    Bug { name: "barrier for one warp of the CTA", names: &["SIM406", "SIM101", "SIM201", "SIM202", "SIM203", "SIM401", "SIM302", "SIM301"],
        inject: |body| body.barriers_alone().filter(|it| it.operands.len() == 1).map(|it| it.replace(it.text.replacen(';', ", 32;", 1))).collect() },
    Bug { name: "cluster does not arrive", names: &["SIM101"],
        inject: |body| body.all("barrier.cluster.arrive").map(Statement::delete).collect() },
    // Where nothing of another CTA is used between two barriers, the first is for nothing.
    Bug { name: "cluster does not wait", names: &["SIM101", "SIM401", "SIM402", "SIM406", "SIM102", "SIM104", "SIM201"],
        inject: |body| body.cluster_barriers().map(|(_, wait)| wait.delete()).collect() },
    Bug { name: "cluster does not synchronise", names: &["SIM401", "SIM102", "SIM101", "SIM202", "SIM501", "SIM201"],
        inject: |body| body.cluster_barriers().map(|(arrive, wait)| [arrive.delete(), wait.delete()].concat()).collect() },
    // Who executes.
    // The first that races says that several threads issue it.
    Bug { name: "multiply by all threads of a warp", names: &["SIM403", "SIM405", "SIM202", "SIM104", "SIM201"],
        inject: |body| body.multiplies().filter(|it| it.text.starts_with('@')).map(|it| it.replace(unguarded(it))).collect() },
    Bug { name: "commit by all threads of a warp", names: &["SIM403", "SIM405"],
        inject: |body| body.all("tcgen05.commit").filter(|it| it.text.starts_with('@')).map(|it| it.replace(unguarded(it))).collect() },
    Bug { name: "load by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.ld").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "store by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.st").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "wait by half a warp", names: &["SIM104"],
        inject: |body| body.all("tcgen05.wait").filter(|it| !it.text.starts_with('@')).map(by_half_a_warp).collect() },
    Bug { name: "allocated by one thread", names: &["SIM104"],
        inject: |body| body.all("tcgen05.alloc").filter(|it| !it.text.starts_with('@')).map(|it| it.replace(format!(
            "{{ .reg .pred injected_is; .reg .b32 injected_lane; mov.u32 injected_lane, %laneid; \
             setp.eq.u32 injected_is, injected_lane, 0; @injected_is {} }}", it.text))).collect() },
    // Where others wait for them, it is said where they have ended.
    Bug { name: "the end of the kernel instead of the wait for the result", names: &["SIM102", "SIM302", "SIM202", "SIM101"],
        inject: |body| body.waits_for(WaitsFor::Result).into_iter().map(|it| it.before("exit;")).collect() },
    Bug { name: "registers changed by one warp of four", names: &["SIM103"],
        inject: |body| {
            let has_warps = body.barriers().next().is_some() && body.multiplies().next().is_some();
            body.first().filter(|_| has_warps).map(|it| it.before(&by_threads(0, 32, "setmaxnreg.dec.sync.aligned.u32 24;"))).into_iter().collect()
        } },
    Bug { name: "registers never given back", names: &["SIM103"],
        inject: |body| {
            let given: Vec<Edit> = body.all("setmaxnreg.dec").flat_map(Statement::delete).collect();
            if given.is_empty() || body.all("setmaxnreg.inc").next().is_none() { Vec::new() } else { vec![given] }
        } },
    // Proxies and groups.
    Bug { name: "fence between proxies missing", names: &["SIM203"],
        inject: |body| body.fences_of_stores().map(Statement::delete).collect() },
    Bug { name: "fence between proxies before the stores", names: &["SIM203"],
        inject: |body| {
            let Some(first) = body.first() else { return Vec::new() };
            let fences = body.fences_of_stores().filter(|it| !it.text.starts_with('@'));
            fences.map(|it| [first.before(it.text), it.delete()].concat()).collect()
        } },
    // Tensor Memory.
    Bug { name: "allocated after the right to is given up", names: &["SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(|it| {
            let group = if it.opcode.contains("cta_group::2") { 2 } else { 1 };
            it.before(&format!("{}tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;", guard(it)))
        }).collect() },
    Bug { name: "allocated by all warps", names: &["SIM302", "SIM304", "SIM201", "SIM303"],
        inject: |body| body.all("tcgen05.alloc").filter_map(|it| {
            if it.text.starts_with('@') {
                return Some(it.replace(unguarded(it)));
            }
            // The branch that leads past it, if what falls through gets there.
            let mut before = body.statements.iter().rev().skip_while(|other| other.range.start >= it.range.start);
            let is_guarded = |other: &Statement<'_>| other.text.starts_with('@');
            let decides = |other: &&Statement<'_>| {
                if is_guarded(other) {
                    other.is("bra") && body.leads_past(other, it)
                } else {
                    ["bra", "ret", "exit"].iter().any(|name| other.is(name))
                }
            };
            before.find(decides).filter(|other| is_guarded(other)).map(Statement::delete)
        }).collect() },
    Bug { name: "scale factors or metadata never copied", names: &["SIM306"],
        inject: |body| {
            let has_some = body.multiplies().any(|it| it.opcode.contains("block_scale") || it.opcode.contains(".sp."));
            let copies = ["tcgen05.cp", "tcgen05.st"].map(|opcode| body.all(opcode).flat_map(Statement::delete).collect::<Vec<_>>());
            copies.into_iter().find(|it| has_some && !it.is_empty()).into_iter().collect()
        } },
    Bug { name: "stores not waited for", names: &["SIM202", "SIM306"],
        inject: |body| body.waits_for_stores().map(Statement::delete).collect() },
    Bug { name: "stores waited for too late", names: &["SIM202", "SIM306"],
        inject: |body| body.waits_for_stores().filter_map(|it| body.put_off(it, |later| later.is("tcgen05.mma"))).collect() },
    Bug { name: "allocated twice", names: &["SIM302", "SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(Statement::again).collect() },
    Bug { name: "all columns allocated once more", names: &["SIM304"],
        inject: |body| body.all("tcgen05.alloc").map(|it| it.after(&match it.operand(1, body.text) {
            Some(columns) => it.text.replacen(&format!("], {columns}"), "], 512", 1),
            None => it.text.to_owned(),
        })).collect() },
    // What is freed is more, then.
    Bug { name: "too few columns allocated", names: &["SIM301", "SIM303"],
        inject: |body| body.all("tcgen05.alloc").filter_map(|it| it.with(1, "32")).collect() },
    Bug { name: "not deallocated", names: &["SIM302"],
        inject: |body| body.all("tcgen05.dealloc").map(Statement::delete).collect() },
    Bug { name: "too few columns deallocated", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").filter_map(|it| it.with(1, "32")).collect() },
    Bug { name: "another address deallocated", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").filter_map(|it| it.computed(0, "b32", "add.u32 WORD, OLD, 32;", body.text)).collect() },
    Bug { name: "deallocated twice", names: &["SIM303"],
        inject: |body| body.all("tcgen05.dealloc").map(Statement::again).collect() },
    Bug { name: "deallocated before it is loaded", names: &["SIM301", "SIM202", "SIM303"],
        inject: |body| {
            let (Some(load), Some(dealloc)) = (body.all("tcgen05.ld").next(), body.all("tcgen05.dealloc").next()) else { return Vec::new() };
            let slot = body.all("tcgen05.alloc").next().and_then(|it| it.operand(0, body.text));
            let columns = dealloc.operand(1, body.text).and_then(|columns| body.number(columns));
            let (Some(slot), Some(columns)) = (slot, columns) else { return Vec::new() };
            // What it is to free is in a register then, or where the allocation has put it.
            let register = dealloc.operand(0, body.text).unwrap_or_default();
            let is_set = body.statements.iter().any(|it| it.range.start < load.range.start && it.operand(0, body.text) == Some(register));
            let freed = if is_set {
                format!("{} {register}, {columns};", dealloc.opcode)
            } else {
                format!("ld.shared.b32 injected_tid, {slot}; @injected_is {} injected_tid, {columns};", dealloc.opcode)
            };
            vec![load.before(&by_threads(0, 32, &freed))]
        } },
    Bug { name: "loaded from other lanes", names: &["SIM305"],
        inject: |body| body.all("tcgen05.ld").filter_map(|it| it.moved(1, 32 << 16, body.text)).collect() },
    Bug { name: "stored to other lanes", names: &["SIM305"],
        inject: |body| body.all("tcgen05.st").filter_map(|it| it.moved(0, 32 << 16, body.text)).collect() },
    Bug { name: "loaded past the allocation", names: &["SIM301"],
        inject: |body| body.all("tcgen05.ld").filter_map(|it| it.moved(1, 512, body.text)).collect() },
    Bug { name: "multiplied past the allocation", names: &["SIM301"],
        inject: |body| body.multiplies().filter_map(|it| it.moved(0, 512, body.text)).collect() },
    // Where the threads store zeros first, that is what is added to.
    Bug { name: "accumulated onto nothing", names: &["SIM306"],
        inject: |body| {
            let Some(it) = body.multiplies().next() else { return Vec::new() };
            let is_stored = body.all("tcgen05.st").any(|store| store.range.start < it.range.start);
            let change = Body::enables_input(it, body.text).filter(|_| !is_stored)
                .and_then(|at| it.computed(at, "pred", "setp.eq.u32 WORD, 0, 0;", body.text));
            change.into_iter().collect()
        } },
    // Where the accumulator ends with the allocation, its last column is past that.
    Bug { name: "multiply again, one column on", names: &["SIM202", "SIM301"],
        inject: |body| body.multiplies().filter_map(|it| {
            let address = moved(it.operand(0, body.text)?, 1)?;
            Some(it.after(&it.text.replacen(it.operand(0, body.text)?, &address, 1)))
        }).collect() },
    // Addresses.
    Bug { name: "copy past the end of shared memory", names: &["SIM501"],
        inject: |body| body.loads().filter_map(|it| it.moved(0, 240 << 10, body.text)).collect() },
    Bug { name: "copy to an address that is not aligned", names: &["SIM502"],
        inject: |body| body.loads().filter_map(|it| it.moved(0, 8, body.text)).collect() },
    Bug { name: "stage one row too far", names: &["SIM201", "SIM503", "SIM505"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "add.u64 WORD, OLD, 2048;", body.text)).collect() },
    Bug { name: "matrix past the end of shared memory", names: &["SIM503"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "or.b64 WORD, OLD, 0x3FFF;", body.text)).collect() },
    Bug { name: "rows of a matrix too far apart", names: &["SIM503"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "or.b64 WORD, OLD, 0x3FFF00000000;", body.text)).collect() },
    Bug { name: "the swizzle of another matrix for A", names: &["SIM504", "SIM505"],
        inject: |body| {
            let has_one = |it: &&Statement<'_>| it.operand(1, body.text).is_some_and(|it| !it.starts_with('['));
            body.multiplies().filter(has_one).filter_map(|it| it.computed(1, "b64", "xor.b64 WORD, OLD, 0xC000000000000000;", body.text)).collect()
        } },
    Bug { name: "the swizzle of another matrix for B", names: &["SIM504", "SIM505"],
        inject: |body| body.multiplies().filter_map(|it| it.computed(2, "b64", "xor.b64 WORD, OLD, 0xC000000000000000;", body.text)).collect() },
    Bug { name: "operands never copied", names: &["SIM505"],
        inject: |body| {
            let copies: Vec<Edit> = body.own_copies().flat_map(Statement::delete).collect();
            if copies.is_empty() || body.multiplies().next().is_none() { Vec::new() } else { vec![copies] }
        } },
    Bug { name: "operands never stored", names: &["SIM505"],
        inject: |body| {
            if body.loads().next().is_some() || body.own_copies().next().is_some() || body.multiplies().next().is_none() {
                return Vec::new();
            }
            let stores: Vec<Edit> = body.all("st.shared.v4").flat_map(Statement::delete).collect();
            if stores.is_empty() { Vec::new() } else { vec![stores] }
        } },
    Bug { name: "store past the end of shared memory", names: &["SIM501"],
        inject: |body| body.first().map(|it| it.before("st.shared.b32 [0x3FFF0], 0;")).into_iter().collect() },
    Bug { name: "store that is not aligned", names: &["SIM502"],
        inject: |body| body.all("st.shared").filter(|it| it.opcode.ends_with("32") || it.opcode.contains(".v")).take(1).filter_map(|it| it.moved(0, 2, body.text)).collect() },
    Bug { name: "store past the end of a buffer", names: &["SIM501"],
        inject: |body| body.all("st.global").filter_map(|it| it.moved(0, 1 << 30, body.text)).collect() },
    Bug { name: "mbarrier that is not aligned", names: &["SIM502"],
        inject: |body| body.all("mbarrier.init").filter_map(|it| it.moved(0, 4, body.text)).collect() },
];
