//! TC83: barriers and mbarriers.

pub(super) mod arrival_for_other_lanes;
pub(super) mod arrival_not_waited_for;
pub(super) mod arrival_scope_too_small;
pub(super) mod barrier_number;
pub(super) mod commit_for_another_pair;
pub(super) mod commit_not_waited_for;
pub(super) mod mbarrier_count;
pub(super) mod mbarrier_never_signalled;
pub(super) mod mbarrier_not_initialised;
pub(super) mod more_arrivals_than_expected;
pub(super) mod multicast_released_locally;
pub(super) mod wait_result_unread;
pub(super) mod wrong_parity;
