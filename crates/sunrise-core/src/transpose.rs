//! Rows of cells from columns that are far apart in memory.

use crate::fault::Fault;
use crate::parallel::blocks;

/// Fills rows of cells by columns: `fill(column, cells)` is called for every column.
///
/// Columns and wide rows are far from each other in memory. So the cells of a few columns are read one after the other,
/// which lets a processor wait for several columns at once, and then put into rows, one line of the cache at a time.
#[inline(always)]
pub(crate) fn transposed<T: Copy>(
    rows: &mut [T],
    width: usize,
    empty: T,
    mut fill: impl FnMut(usize, &mut [T]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    const TILE: usize = 16;
    let n = rows.len() / width.max(1);
    let mut tile = vec![empty; TILE.min(width) * n];
    for some in blocks(0..if n > 0 { width } else { 0 }, TILE) {
        for (j, cells) in some.clone().zip(tile.chunks_exact_mut(n)) {
            fill(j, cells)?;
        }
        for (r, row) in rows.chunks_exact_mut(width).enumerate() {
            let cells = tile[r..].iter().step_by(n);
            row[some.clone()].iter_mut().zip(cells).for_each(|(to, cell)| *to = *cell);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_width_have_the_cells_of_their_columns() {
        for (n, width) in [(0, 3), (5, 0), (1, 1), (7, 16), (3, 17), (64, 50)] {
            let mut rows = vec![-1_i64; n * width];
            let done = transposed(&mut rows, width, 0, |j, cells| {
                cells.iter_mut().enumerate().for_each(|(r, cell)| *cell = (100 * r + j) as i64);
                Ok(())
            });
            assert!(done.is_ok());
            let expected = (0..n).flat_map(|r| (0..width).map(move |j| (100 * r + j) as i64));
            assert!(rows.iter().copied().eq(expected));
        }
    }
}
