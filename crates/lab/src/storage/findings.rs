//! What storage and deltas come to.

use super::Study;
use super::deltas::Delta;
use super::split::{CHUNKS, Counts};
use crate::account::Finding;

/// How much a delta may take, as a multiple of the bound, at rates up to a tenth; and bytes beyond that.
pub(super) const RATIO_MAX: f64 = 1.15;
pub(super) const SLACK_BYTES: f64 = 64.0;

/// How far the chooser may be from the best shape, and its reckoning from what is measured.
const CHOICE_OFF_MAX: f64 = 0.03;

/// All findings.
pub(super) fn all(study: &Study) -> Vec<Finding> {
    vec![
        saves(study),
        choice(study),
        chunks(study),
        floor(study),
        exact(study),
        within_bound(study),
        never_below(study),
    ]
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn saves(study: &Study) -> Finding {
    let saved = |counts: &Counts, bytes: f64| 1.0 - counts.chosen_bits / counts.bits_a_signature(bytes);
    // The narrowest flat cells that hold every count.
    let fair = range(study.counts.iter().filter_map(|counts| {
        let holds_all = counts.choice.flat.iter().find(|flat| flat.too_small_for == 0)?;
        Some(saved(counts, holds_all.bytes))
    }));
    let eight = range(study.counts.iter().map(|counts| saved(counts, counts.choice.flat[0].bytes)));
    let per_cent = |(low, high): (f64, f64)| format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high);
    let shapes: Vec<String> = study
        .counts
        .iter()
        .map(|counts| {
            let best = counts.best();
            let s = best.split.low_bits();
            let n = best.split.chunks();
            format!("({s}, {n}) at exponent {}, {:.1} bits a signature", counts.exponent, best.measured)
        })
        .collect();
    Finding::new(
        "Split storage takes less memory than flat cells that hold every count",
        fair.0 > 0.0,
        format!(
            "it saves {} against the narrowest of 8, 16 and 32 bits that hold them; against 8 bits, which do not, {}. \
             The best (s, N): {}",
            per_cent(fair),
            per_cent(eight),
            shapes.join("; ")
        ),
    )
}

fn choice(study: &Study) -> Finding {
    let above = range(study.counts.iter().map(|counts| counts.chosen_bits / counts.best().measured - 1.0));
    let reckoned = |counts: &Counts| counts.bits_a_signature(counts.choice.bytes) / counts.chosen_bits;
    let off = range(study.counts.iter().map(|counts| (reckoned(counts) - 1.0).abs()));
    let all = study.counts.iter().flat_map(|counts| &counts.shapes);
    let off_all = range(all.map(|shape| (shape.expected / shape.measured - 1.0).abs()));
    Finding::new(
        "The chooser takes a shape close to the best, and knows what it will take",
        above.1 <= CHOICE_OFF_MAX && off.1 <= CHOICE_OFF_MAX,
        format!(
            "its shapes take at most {:.2} % more than the best that was filled; reckoned and measured memory differ \
             by at most {:.2} %, and by {:.1} % over all shapes that were filled",
            100.0 * above.1,
            100.0 * off.1,
            100.0 * off_all.1
        ),
    )
}

/// The paper's reason for chunks is shorter keys; ours is writers.
fn chunks(study: &Study) -> Finding {
    let most = CHUNKS[CHUNKS.len() - 1];
    let cost = |counts: &Counts| {
        let s = counts.best().split.low_bits();
        let one = counts.shape(s, 1)?;
        let many = counts.shape(s, most)?;
        // A key would be shorter by log2 N bits, in every entry of the table, used or free.
        let shorter = (one.measured - one.base) / 64.0 * (most as f64).log2();
        Some((many.measured - one.measured, shorter))
    };
    let costs: Vec<(f64, f64)> = study.counts.iter().filter_map(cost).collect();
    let (low, high) = range(costs.iter().map(|cost| cost.0));
    let (_, shorter) = range(costs.iter().map(|cost| cost.1));
    Finding::new(
        "More chunks take less memory",
        high < 0.0,
        format!(
            "{most} chunks in place of one take {low:+.1} to {high:+.1} bits a signature: an entry of ours has 64 bits \
             whatever N is, and each table has a head. Keys shorter by log2 N bits, the paper's reason for chunks, \
             would save {shorter:.1} bits a signature at most. Chunks are for writers",
        ),
    )
}

fn floor(study: &Study) -> Finding {
    let (low, high) = range(study.counts.iter().map(|counts| counts.chosen_bits / counts.entropy_bits));
    Finding::new(
        "Split storage comes close to the entropy of its cells",
        high < 1.25,
        format!(
            "the chosen shapes take {low:.2} to {high:.2} times the entropy of the cells' values: most cells are 0, \
             and every one has s + 1 bits of its own, to be found at once"
        ),
    )
}

fn exact(study: &Study) -> Finding {
    let right = study.deltas.iter().filter(|delta| delta.exact).count();
    Finding::new(
        "Every delta leads to the new state, bit by bit",
        right == study.deltas.len(),
        format!("{right} of {}", study.deltas.len()),
    )
}

fn within_bound(study: &Study) -> Finding {
    let few: Vec<&Delta> = study.deltas.iter().filter(|delta| delta.change_rate <= 0.11).collect();
    let many = study.deltas.iter().filter(|delta| delta.change_rate > 0.11);
    let fits = |delta: &&&Delta| delta.bytes as f64 <= RATIO_MAX * delta.bound_bytes as f64 + SLACK_BYTES;
    let beyond = few.iter().filter(|delta| delta.change_rate < 1e-4);
    let beyond = beyond.map(|delta| delta.bytes as i64 - delta.bound_bytes as i64).max().unwrap_or(0);
    let of = |rates: std::ops::Range<f64>| {
        range(few.iter().filter(|delta| rates.contains(&delta.change_rate)).map(|delta| delta.ratio()))
    };
    let middle = of(1e-4..0.11);
    let high = range(many.map(Delta::ratio));
    Finding::new(
        "A delta takes at most 1.15 times the fewest bytes, and 64 bytes, where up to a tenth changes",
        few.iter().filter(fits).count() == few.len(),
        format!(
            "{:.3} to {:.3} times from 1e-4 to 0.1, at most {beyond} bytes beyond below, {:.3} to {:.3} times above",
            middle.0, middle.1, high.0, high.1
        ),
    )
}

fn never_below(study: &Study) -> Finding {
    let below = study.deltas.iter().filter(|delta| delta.bytes < delta.bound_bytes).count();
    Finding::new(
        "No delta takes less than the bound",
        below == 0,
        format!("{below} of {} do", study.deltas.len()),
    )
}
