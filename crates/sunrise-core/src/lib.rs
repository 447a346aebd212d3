//! The kernels of Sunrise: arrays in, arrays out.
//!
//! Nothing here knows a family of distributions. Accumulating kernels add up terms of the cells per class
//! ([`sums`], [`moments`], [`counts`], [`stored`]); scoring kernels are their transposes ([`linear`], [`table`], [`polya`]), driven
//! block by block by [`score`]. [`text`] counts words. Work is cut by shape only and reduced in order, so every result has the
//! same bits for any number of threads.
#![forbid(unsafe_code)]

pub mod cells;
pub mod columns;
pub mod counts;
pub mod csr;
pub mod fault;
pub mod gather;
pub mod kernel;
pub mod labels;
pub mod linear;
pub mod loss;
pub mod moments;
pub mod normalise;
pub mod own;
pub mod polya;
pub mod rows;
pub mod score;
pub mod shares;
pub mod stored;
pub mod summary;
pub mod sums;
pub mod table;
pub mod text;
pub mod work;

/// Runs `f` compiled for the widest vectors this processor has.
#[inline(always)]
pub(crate) fn vectorised<R, F: FnOnce() -> R>(f: F) -> R {
    pulp::Arch::new().dispatch(f)
}
