//! Rows times the inverse Cholesky factors of the classes: squared Mahalanobis distances.
//!
//! Rows are multiplied side by side: the numbers of 16 rows fill the vectors, whatever the number of columns.

use pulp::{as_arrays, Simd, WithSimd};

/// Rows that are multiplied side by side.
pub(crate) const BESIDE: usize = 16;

/// The same number of 16 rows.
pub(crate) type Beside = [f64; BESIDE];

/// Writes the numbers of at most 16 rows column by column; rows that are not there have zeros.
#[inline(always)]
pub(crate) fn transpose(rows: &[f64], columns: usize, beside: &mut [Beside]) {
    beside.fill([0.0; BESIDE]);
    for (r, row) in rows.chunks_exact(columns.max(1)).enumerate() {
        beside.iter_mut().zip(row).for_each(|(to, &v)| to[r] = v);
    }
}

/// Distances of 16 rows by the factor of one class: |z - a|^2, where z is the factor times the row.
///
/// With `other`, also |z - b|^2 and (z - a)(z - b), where b is another vector for every row.
pub(crate) struct Distances<'a> {
    /// Lower triangle, columns x columns.
    pub(crate) factor: &'a [f64],
    /// The centre of the class, times the factor.
    pub(crate) shift: &'a [f64],
    pub(crate) rows: &'a [Beside],
    pub(crate) other: Option<&'a [Beside]>,
}

impl WithSimd for Distances<'_> {
    type Output = [Beside; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        match S::F64_LANES {
            8 => self.by_vectors::<S, 2>(simd),
            4 => self.by_vectors::<S, 4>(simd),
            2 => self.by_vectors::<S, 8>(simd),
            _ => self.by_vectors::<S, BESIDE>(simd),
        }
    }
}

impl Distances<'_> {
    /// The distances, with the numbers of 16 rows in `V` vectors.
    #[inline(always)]
    fn by_vectors<S: Simd, const V: usize>(self, simd: S) -> [Beside; 3] {
        let columns = self.rows.len();
        let (x, _) = as_arrays::<V, _>(S::as_simd_f64s(self.rows.as_flattened()).0);
        let zero = [simd.splat_f64s(0.0); V];
        let mut sums = [zero; 3];
        let line = |j: usize| &self.factor[j * columns..][..j + 1];
        // Two lines of the factor at a time, so that a number of a row is loaded once for both.
        let mut j = 0;
        while j + 1 < columns {
            let (mut first, mut second) = (zero, zero);
            let (one, two) = (line(j), line(j + 1));
            for ((&f, &g), x) in one.iter().zip(two).zip(x) {
                first = add_product(simd, f, x, first);
                second = add_product(simd, g, x, second);
            }
            second = add_product(simd, two[j + 1], &x[j + 1], second);
            sums = self.add_squares(simd, j, first, sums);
            sums = self.add_squares(simd, j + 1, second, sums);
            j += 2;
        }
        if j < columns {
            let mut last = zero;
            for (&f, x) in line(j).iter().zip(x) {
                last = add_product(simd, f, x, last);
            }
            sums = self.add_squares(simd, j, last, sums);
        }
        let mut found = [[0.0; BESIDE]; 3];
        for (to, from) in found.iter_mut().zip(&sums) {
            S::as_mut_simd_f64s(to).0.copy_from_slice(from);
        }
        found
    }

    /// Adds the squares and products of number j of the whitened rows.
    #[inline(always)]
    fn add_squares<S: Simd, const V: usize>(
        &self,
        simd: S,
        j: usize,
        z: [S::f64s; V],
        mut sums: [[S::f64s; V]; 3],
    ) -> [[S::f64s; V]; 3] {
        let a = simd.splat_f64s(self.shift[j]);
        let other = self.other.map(|other| S::as_simd_f64s(&other[j]).0);
        for v in 0..V {
            let difference = simd.sub_f64s(z[v], a);
            sums[0][v] = simd.mul_add_e_f64s(difference, difference, sums[0][v]);
            if let Some(b) = other {
                let of_other = simd.sub_f64s(z[v], b[v]);
                sums[1][v] = simd.mul_add_e_f64s(of_other, of_other, sums[1][v]);
                sums[2][v] = simd.mul_add_e_f64s(difference, of_other, sums[2][v]);
            }
        }
        sums
    }
}

/// A sum of vectors plus a number times other vectors.
#[inline(always)]
fn add_product<S: Simd, const V: usize>(
    simd: S,
    f: f64,
    x: &[S::f64s; V],
    mut sum: [S::f64s; V],
) -> [S::f64s; V] {
    let f = simd.splat_f64s(f);
    for v in 0..V {
        sum[v] = simd.mul_add_e_f64s(f, x[v], sum[v]);
    }
    sum
}

/// Writes a lower triangular factor, columns x columns, times a vector.
pub(crate) fn apply(factor: &[f64], columns: usize, vector: &[f64], out: &mut [f64]) {
    for (out, (j, line)) in out.iter_mut().zip(factor.chunks_exact(columns.max(1)).enumerate()) {
        *out = line[..=j].iter().zip(vector).map(|(f, v)| f * v).sum();
    }
}
