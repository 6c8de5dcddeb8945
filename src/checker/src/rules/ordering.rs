//! TC7: the order of asynchronous operations (9.7.16.6).

pub(super) mod accumulates_from_start;
pub(super) mod bulk_source_overwritten;
pub(super) mod copy_never_waited_for;
pub(super) mod fence_before_wait;
pub(super) mod handed_over_before_wait;
pub(super) mod loaded_register_read_early;
pub(super) mod missing_after_fence;
pub(super) mod missing_commit;
pub(super) mod missing_proxy_fence;
pub(super) mod missing_wait_st;
pub(super) mod no_mbarrier_wait;
pub(super) mod not_pipelined;
pub(super) mod result_read_early;
pub(super) mod signal_before_wait;
pub(super) mod source_overwritten;
pub(super) mod tmem_reused_before_wait_ld;
pub(super) mod waited_by_another_warp;

/// The note of all rules about what has to be waited for before others go on.
fn must_be_waited_for(name: &str) -> String {
    format!(
        "a thread must wait for its `tcgen05.{name}` explicitly before it synchronises with another \
         (PTX ISA, 9.7.16.6.4.4)"
    )
}
