//! Threads that live as long as one call, and tasks that depend on shapes only.
//!
//! No thread outlives a call, because threads of a pool are lost where a process forks.

use std::ops::Range;
use std::sync::Mutex;
use std::thread;

/// Cuts `n` rows into equal pieces of at least `smallest` rows, `most` pieces at the most.
pub fn pieces(n: usize, smallest: usize, most: usize) -> Vec<Range<usize>> {
    let count = (n / smallest.max(1)).clamp(1, most.max(1));
    (0..count).map(|k| n * k / count..n * (k + 1) / count).collect()
}

/// Cuts a range into blocks of `size` rows; the last may be shorter.
pub fn blocks(rows: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = rows;
    (start..end).step_by(size.max(1)).map(move |at| at..end.min(at + size.max(1)))
}

/// Does `work` with threads that every `run` within it uses: for many short steps, to which new threads would add time.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    match pool {
        Some(Ok(pool)) => pool.install(work),
        _ => work(),
    }
}

/// Joins the results of `drain`, done by this thread and by others of its pool that are free.
fn with_pool<R: Send>(helpers: usize, drain: &(impl Fn() -> Vec<R> + Sync)) -> Vec<R> {
    let others = Mutex::new(Vec::new());
    let add = |part| others.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend::<Vec<R>>(part);
    rayon::scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| add(drain())));
        add(drain());
    });
    others.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Joins the results of `drain`, done by this thread and by new ones.
fn with_new<R: Send>(helpers: usize, drain: &(impl Fn() -> Vec<R> + Sync)) -> Vec<R> {
    thread::scope(|scope| {
        let started: Vec<_> =
            (0..helpers).filter_map(|_| thread::Builder::new().spawn_scoped(scope, drain).ok()).collect();
        let mut done = drain();
        for helper in started {
            match helper.join() {
                Ok(part) => done.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// Runs `work` on every task, on up to `threads` threads, and returns the results in the tasks' order.
///
/// The calling thread works too, so a machine that refuses new threads still gets the job done.
pub fn run<T: Send, R: Send>(threads: usize, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = threads.min(tasks.len()).saturating_sub(1);
    if helpers == 0 {
        return tasks.into_iter().map(work).collect();
    }
    let queue = Mutex::new(tasks.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let drain = || {
        let mut done = Vec::new();
        while let Some((k, task)) = next() {
            done.push((k, work(task)));
        }
        done
    };
    let done = if rayon::current_thread_index().is_some() {
        with_pool(helpers, &drain)
    } else {
        with_new(helpers, &drain)
    };
    // Each result is put into its place; a sort would be compiled once more for every type of result.
    let mut ordered: Vec<Option<R>> = Vec::with_capacity(done.len());
    ordered.resize_with(done.len(), || None);
    for (k, result) in done {
        ordered[k] = Some(result);
    }
    ordered.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_all_rows_once_and_depend_on_shape_only() {
        for n in [0, 1, 7, 1000, 1001] {
            let cut = pieces(n, 10, 16);
            assert_eq!(cut.first().map(|r| r.start), Some(0));
            assert_eq!(cut.last().map(|r| r.end), Some(n));
            assert!(cut.windows(2).all(|p| p[0].end == p[1].start));
        }
    }

    #[test]
    fn results_come_back_in_order_for_any_number_of_threads() {
        let tasks: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 2, 7, 200] {
            let squares: Vec<usize> = tasks.iter().map(|k| k * k).collect();
            assert_eq!(run(threads, tasks.clone(), |k| k * k), squares);
            // The threads of one pool do many runs, also one within another.
            let sums = with_threads(threads, || {
                run(threads, tasks.clone(), |k| run(threads, vec![k; k], |k| k).iter().sum::<usize>())
            });
            assert_eq!(sums, squares);
        }
    }
}
