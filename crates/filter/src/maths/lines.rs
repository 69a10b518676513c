//! How many cache lines one lookup touches.

use super::distinct_pages;
use crate::layout::{AnyLayout, Layout};

/// Expected distinct lines that the probes of one key touch, all of them, where a line holds `per_line` positions.
///
/// k throws at lines that hold the shares s of the positions touch `sum (1 - (1 - s)^k)` of them. Pages of the
/// paged layout need not begin where a line does; the mean over all pages is taken.
pub fn lines_per_lookup<L: Layout>(layout: &L, per_line: u64) -> f64 {
    match layout.any() {
        AnyLayout::Flat(flat) => distinct_pages(flat.bits(), per_line, flat.k()),
        AnyLayout::Paged(paged) => {
            let pages = paged.bits() / paged.slots();
            let one_page = mean_over_pages(pages, paged.slots(), per_line, paged.k());
            one_page * f64::from(paged.pages_per_key())
        }
        AnyLayout::Line(line) => distinct_pages(crate::layout::LINE_BITS, per_line, line.probes() as u32),
    }
}

/// The mean over pages of `slots` positions that follow each other. Where pages begin within a line repeats after
/// `per_line` pages.
fn mean_over_pages(pages: u64, slots: u64, per_line: u64, k: u32) -> f64 {
    let sum: f64 = (0..pages.min(per_line))
        .map(|page| {
            let alike = (pages - page).div_ceil(per_line);
            alike as f64 * in_one_page(page * slots % per_line, slots, per_line, k)
        })
        .sum();
    sum / pages as f64
}

/// Lines touched in a page whose first position is the `offset`th of its line.
fn in_one_page(offset: u64, slots: u64, per_line: u64, k: u32) -> f64 {
    let touched = |positions: u64| 1.0 - (1.0 - positions as f64 / slots as f64).powi(k as i32);
    let head = (per_line - offset).min(slots);
    let (whole, tail) = ((slots - head) / per_line, (slots - head) % per_line);
    touched(head) + whole as f64 * touched(per_line) + touched(tail)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::hash::Hash128;
    use crate::layout::{Flat, Paged};
    use crate::random::SplitMix;

    /// Counted over random keys, whose positions are what the layouts say.
    #[test]
    fn lines_are_as_many_as_counted() {
        let lookups = 40_000;
        let flat = |positions, k| Flat::new(positions, k).expect("in range").any();
        let paged = |pages, slots, k| Paged::with_slots(pages, 1, k, slots).expect("in range").any();
        let cases = [
            (flat(100, 7), 16),
            (flat(1000, 7), 24),
            (flat(1_000_000, 10), 32),
            (paged(3, 512, 7), 24),
            (paged(50, 1024, 10), 72),
            (paged(1000, 8192, 13), 16),
            (paged(7, 32_768, 32), 512),
        ];
        for (layout, per_line) in cases {
            let mut rng = SplitMix(per_line);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..lookups {
                let hash = Hash128 { lo: rng.next(), hi: rng.next() };
                let lines = (0..layout.probes()).map(|probe| layout.position(hash, probe) / per_line);
                let lines = lines.collect::<HashSet<u64>>().len() as f64;
                sum += lines;
                squares += lines * lines;
            }
            let mean = sum / f64::from(lookups);
            let error = ((squares / f64::from(lookups) - mean * mean) / f64::from(lookups)).sqrt();
            let expected = lines_per_lookup(&layout, per_line);
            assert!((mean - expected).abs() < 4.5 * error + 1e-9, "{layout:?}: {mean}, not {expected}");
        }
    }
}
