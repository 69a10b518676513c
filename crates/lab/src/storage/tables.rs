//! The tables of storage.

use super::Study;
use super::split::{CELLS_PER_SIGNATURE, CHUNKS, Counts, HASHES};
use crate::account::{Table, Verdict};

/// All tables.
pub(super) fn all(study: &Study) -> Vec<Table> {
    let mut tables = vec![choices(study)];
    let middle = study.counts.iter().min_by(|a, b| {
        let off = |counts: &Counts| (counts.exponent - 1.0).abs();
        off(a).total_cmp(&off(b))
    });
    tables.extend(middle.map(shapes));
    tables.push(deltas(study));
    tables
}

fn heads(heads: &[&str]) -> Vec<String> {
    heads.iter().map(|&head| head.to_owned()).collect()
}

fn choices(study: &Study) -> Table {
    let rows = study.counts.iter().map(|counts| {
        let best = counts.best();
        let choice = &counts.choice;
        let [eight, sixteen, _] = choice.flat;
        vec![
            counts.exponent.to_string(),
            counts.top.to_string(),
            format!("{:.1} %", 100.0 * counts.filled),
            format!("{}, {}", best.split.low_bits(), best.split.chunks()),
            format!("{:.1}", best.measured),
            format!("{}, {}", choice.split.low_bits(), choice.split.chunks()),
            format!("{:.1}", counts.chosen_bits),
            format!("{:.1}", counts.bits_a_signature(choice.bytes)),
            format!("{:.1}", counts.entropy_bits),
            format!("{:.0}", counts.bits_a_signature(eight.bytes)),
            eight.too_small_for.to_string(),
            format!("{:.0}", counts.bits_a_signature(sixteen.bytes)),
            sixteen.too_small_for.to_string(),
        ]
    });
    let signatures = study.counts.first().map_or(0, |counts| counts.signatures);
    Table {
        title: "Split storage: bits a signature, and what was chosen".into(),
        head: heads(&[
            "exponent",
            "largest count",
            "cells in use",
            "best s, N",
            "bits",
            "chosen s, N",
            "bits",
            "reckoned",
            "entropy",
            "flat 8",
            "do not fit",
            "flat 16",
            "do not fit",
        ]),
        rows: rows.collect(),
        verdict: Verdict::Ours,
        summary: format!(
            "{signatures} signatures, the r-th reported ({signatures}/r)^exponent times, in a refined counting filter \
             with {CELLS_PER_SIGNATURE} cells a signature and {HASHES} hashes. Best is the shape that took least of \
             those that were filled; chosen is what the chooser took from the histogram of cells, which prefers more \
             chunks (writers) where they cost less than a hundredth. Split storage holds every count; of flat cells, \
             the columns beside them say how many cells would not fit. The paper measured none of this."
        ),
    }
}

fn shapes(counts: &Counts) -> Table {
    let mut head = heads(&["s", "cells with a high part"]);
    head.extend(CHUNKS.map(|chunks| format!("N = {chunks}")));
    head.push("reckoned, N = 1".into());
    let low_bits = counts.shapes.iter().map(|shape| shape.split.low_bits()).max().unwrap_or(0);
    let rows = (1..=low_bits).filter_map(|s| {
        let first = counts.shape(s, CHUNKS[0])?;
        let mut row = vec![s.to_string(), format!("{:.3} %", 100.0 * first.flagged)];
        row.extend(CHUNKS.iter().filter_map(|&n| Some(format!("{:.1}", counts.shape(s, n)?.measured))));
        row.push(format!("{:.1}", first.expected));
        Some(row)
    });
    let off =
        counts.shapes.iter().map(|shape| (shape.expected / shape.measured - 1.0).abs()).fold(0.0, f64::max);
    Table {
        title: format!("Bits a signature by low bits s and chunks N, exponent {}", counts.exponent),
        head,
        rows: rows.collect(),
        verdict: Verdict::Ours,
        summary: format!(
            "Memory of filled storage, base, chunks and tables. What the chooser reckons with is off by {:.1} % at \
             most, where many tables are about to grow at once. Widths that do not divide 64 leave bits of a word \
             unused, hence the uneven steps.",
            100.0 * off
        ),
    }
}

fn deltas(study: &Study) -> Table {
    let rows = study.deltas.iter().map(|delta| {
        vec![
            delta.kind.to_owned(),
            format!("{:.2e}", delta.change_rate),
            delta.bytes.to_string(),
            delta.bound_bytes.to_string(),
            format!("{:+}", delta.bytes as i64 - delta.bound_bytes as i64),
            format!("{:.3}", delta.ratio()),
            format!("{:.3} %", 100.0 * delta.bytes as f64 / delta.filter_bytes as f64),
        ]
    });
    let kib = study.deltas.first().map_or(0, |delta| delta.filter_bytes >> 10);
    Table {
        title: format!("Deltas of filters of {kib} KiB"),
        head: heads(&["kind", "change rate", "bytes", "bound", "beyond", "ratio", "of the filter"]),
        rows: rows.collect(),
        verdict: Verdict::Ours,
        summary: "Filters half full of real keys that took more keys (gain), or two with most keys in common (diff). \
                  The bound is the least that says which places changed, and by how much, to someone who has the old \
                  state. An envelope of 64 bytes comes before each gain and each diff of a file."
            .into(),
    }
}
