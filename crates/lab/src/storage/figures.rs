//! The figures of storage.

use super::Study;
use super::deltas::KINDS;
use super::split::{CHUNKS, Counts};
use crate::figure::{Axis, Figure, Series};

/// All figures.
pub(super) fn all(study: &Study) -> Vec<Figure> {
    vec![
        by_low_bits(study),
        by_chunks(study),
        by_exponent(study),
        delta_bytes(study, "bits", "plain filters"),
        delta_bytes(study, "cells", "counting filters"),
        delta_ratio(study),
    ]
}

fn named(counts: &Counts) -> String {
    format!("exponent {}", counts.exponent)
}

fn by_low_bits(study: &Study) -> Figure {
    let series = study.counts.iter().map(|counts| {
        let shapes = counts.shapes.iter().filter(|shape| shape.split.chunks() == 1);
        Series::line(named(counts), shapes.map(|shape| (f64::from(shape.split.low_bits()), shape.measured)))
    });
    Figure {
        title: "Bits a signature by low bits".into(),
        caption: "Split storage filled and measured, one chunk. Too few low bits, and many cells need an entry of 64 \
                  bits in a table at most half full; too many, and every cell pays for the few large ones. Steeper \
                  counts want more bits."
            .into(),
        x: Axis::linear("low bits s"),
        y: Axis::linear("bits a signature"),
        series: series.collect(),
    }
}

fn by_chunks(study: &Study) -> Figure {
    let mut series = Vec::new();
    for counts in &study.counts {
        let s = counts.best().split.low_bits();
        let shapes = || CHUNKS.iter().filter_map(move |&chunks| counts.shape(s, chunks));
        let places = |of: fn(&super::Shape) -> f64| {
            shapes().map(move |shape| (shape.split.chunks() as f64, of(shape))).collect::<Vec<_>>()
        };
        series.push(Series::line(format!("{}, s = {s}", named(counts)), places(|shape| shape.measured)));
    }
    Figure {
        title: "Bits a signature by chunks".into(),
        caption: "At the best number of low bits. A chunk is one more writer at a time; it costs its table's head and \
                  the empty half of its last segment."
            .into(),
        x: Axis::log("chunks N"),
        y: Axis::linear("bits a signature"),
        series,
    }
}

fn by_exponent(study: &Study) -> Figure {
    let curve = |of: &dyn Fn(&Counts) -> f64| {
        study.counts.iter().map(|counts| (counts.exponent, of(counts))).collect::<Vec<_>>()
    };
    let flat = |place: usize| curve(&|counts| counts.bits_a_signature(counts.choice.flat[place].bytes));
    Figure {
        title: "Split storage against flat cells".into(),
        caption: "Bits a signature of the chosen shape, of flat cells, and the entropy of the cells' values, which no \
                  storage of cells in order can beat without knowing more. Flat cells of 8 bits lose large counts; \
                  split storage has them all."
            .into(),
        x: Axis::linear("exponent of the counts"),
        y: Axis::linear("bits a signature"),
        series: vec![
            Series::line("chosen", curve(&|counts| counts.chosen_bits)),
            Series::dashed("flat, 8 bits", flat(0)),
            Series::dashed("flat, 16 bits", flat(1)),
            Series::dashed("flat, 32 bits", flat(2)),
            Series::dashed("entropy", curve(&|counts| counts.entropy_bits)),
        ],
    }
}

fn delta_bytes(study: &Study, about: &str, filters: &str) -> Figure {
    let mut series = Vec::new();
    for (kind, _) in KINDS.iter().filter(|(kind, _)| kind.starts_with(about)) {
        let of = || study.deltas.iter().filter(move |delta| delta.kind == *kind);
        series.push(Series::points(*kind, of().map(|delta| (delta.change_rate, delta.bytes as f64))));
        let bound = of().map(|delta| (delta.change_rate, delta.bound_bytes as f64));
        series.push(Series::dashed(format!("{kind}, bound"), bound).like(*kind));
    }
    let size = study.deltas.first().map_or(0, |delta| delta.filter_bytes);
    Figure {
        title: format!("Delta bytes by change rate, {filters}"),
        caption: format!(
            "Deltas of filters of {} KiB, without envelopes, and the fewest bytes that say as much. Over the whole \
             range the points lie on their bounds.",
            size >> 10
        ),
        x: Axis::log("share of bits or cells that changed"),
        y: Axis::log("bytes"),
        series,
    }
}

fn delta_ratio(study: &Study) -> Figure {
    let series = KINDS.iter().map(|(kind, _)| {
        let of = study.deltas.iter().filter(|delta| delta.kind == *kind);
        Series::line(*kind, of.map(|delta| (delta.change_rate, delta.ratio())))
    });
    Figure {
        title: "Deltas above their bound".into(),
        caption: "Bytes of a delta, without its envelope, over the fewest that say as much. With few changes the few \
                  bytes of its head count; with many it is within some hundredths."
            .into(),
        x: Axis::log("share of bits or cells that changed"),
        y: Axis::linear("bytes / bound"),
        series: series.collect(),
    }
}
