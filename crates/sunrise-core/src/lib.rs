//! The native routines of Sunrise: arrays in, arrays out.
//!
//! This crate does not know families of distributions. Accumulating routines add up terms of the cells per class
//! ([`sums`], [`moments`], [`counts`], [`row_counts`]); scoring routines are their transposes ([`dense_linear`],
//! [`sparse_linear`], [`composition`], [`table`], [`polya`], [`distance`], [`rising`], [`density`]), driven block by block by
//! [`score`]. [`text`] counts words. Tasks depend on shapes only and their results are combined in order, so every result
//! has the same bits for any number of threads.
#![forbid(unsafe_code)]

pub mod cells;
pub mod cholesky;
pub mod columns;
pub mod composition;
pub mod counts;
pub mod csr;
pub mod dense_linear;
pub mod density;
pub mod distance;
pub mod fault;
pub mod few_values;
pub mod gamma;
pub mod gather;
pub mod hessian;
pub mod labels;
pub mod lanes;
pub mod leave_one_out;
pub mod log_odds;
mod log_rest;
pub mod logarithm;
pub mod loss;
pub mod moments;
pub mod normalise;
pub mod odds_left_out;
pub mod pairs;
pub mod parallel;
pub mod polya;
pub mod products;
pub mod ranges;
pub mod rising;
pub mod row_counts;
pub mod rows;
pub mod score;
pub mod sparse_linear;
pub mod student;
pub mod summary;
pub mod sums;
pub mod table;
pub mod table_cells;
pub mod temperature;
pub mod text;
mod transpose;
mod whitening;
pub mod word_weights;

/// Runs `f` compiled for the widest vectors this processor has.
#[inline(always)]
pub(crate) fn vectorised<R, F: FnOnce() -> R>(f: F) -> R {
    pulp::Arch::new().dispatch(f)
}

/// Runs an operation compiled for vectors of at most four numbers.
///
/// For rows of one number per class, which are padded to four: they rarely fill vectors of eight, and rows padded to
/// eight would take more memory, while the time of these operations goes into cache misses.
#[inline(always)]
pub(crate) fn in_fours<W: pulp::WithSimd>(operation: W) -> W::Output {
    match pulp::Arch::new() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        pulp::Arch::V4(simd) => pulp::Simd::vectorize(*simd, operation),
        arch => arch.dispatch(operation),
    }
}
