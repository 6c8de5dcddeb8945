//! Work side by side, where the crate is built with threads (feature `parallel`) and there are several.
//! Without, the same is done one after the other.

/// How many threads there are to work on.
pub fn count() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Whether there are several, and no work is done side by side already that this one is a part of.
pub fn are_free() -> bool {
    #[cfg(feature = "parallel")]
    return count() > 1 && rayon::current_thread_index().is_none();
    #[cfg(not(feature = "parallel"))]
    false
}

/// Does two things.
pub fn join<A: Send, B: Send>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    return rayon::join(one, other);
    #[cfg(not(feature = "parallel"))]
    (one(), other())
}

/// Does the same with each item, each of which is worth a thread; the results are in their order.
pub fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    #[cfg(feature = "parallel")]
    if items.len() > 1 && count() > 1 {
        use rayon::prelude::*;
        return items.into_par_iter().with_max_len(1).map(work).collect();
    }
    items.into_iter().map(work).collect()
}
