//! What there is to say about a bin filter: for people as lines, for machines as one object.

use std::collections::BTreeMap;
use std::path::Path;

use seenit_filter::Layout;
use seenit_filter::file::FileView;
use serde::Serialize;

use super::report::{listed, memory};
use crate::output;
use crate::problem::Problem;

#[derive(Serialize)]
struct Report {
    file: String,
    bits: u64,
    pages: u64,
    bins: Vec<Bin>,
    notes: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Bin {
    place: usize,
    keys: u64,
    bits: u64,
    k: u32,
    weight: f64,
    present_rate: f64,
    shares: [f64; 2],
}

/// Shows the bins of a checked file.
pub(super) fn info(path: &Path, view: &FileView<'_>, json: bool) -> Result<(), Problem> {
    let file = view.to_bins().map_err(Problem::format(path))?;
    let bins = file.filter.bins().zip(file.filter.places()).zip(&file.shares);
    let bins = bins.map(|(((bin, filter), place), &shares)| Bin {
        place,
        keys: bin.keys,
        bits: filter.layout().bits(),
        k: filter.layout().k(),
        weight: bin.weight,
        present_rate: filter.present_rate(),
        shares,
    });
    let report = Report {
        file: path.display().to_string(),
        bits: view.header().layout.bits(),
        pages: view.header().pages(),
        bins: bins.collect(),
        notes: file.notes.iter().map(|note| (note.name.clone(), note.value)).collect(),
    };
    if json { output::json(&report) } else { output::text(&report.lines()) }
}

impl Report {
    fn lines(&self) -> String {
        let mut text = listed(&[
            ("file", self.file.clone()),
            ("layout", format!("{} bins, {} bits", self.bins.len(), self.bits)),
            ("memory", memory(self.pages, self.pages * seenit_filter::PAGE_BYTES as u64)),
        ]);
        text += "bin    keys      bits  k      weight      rate\n";
        for bin in &self.bins {
            let Bin { place, keys, bits, k, weight, present_rate, .. } = bin;
            text += &format!("{place:3} {keys:7} {bits:9} {k:2} {weight:11.3} {present_rate:9.6}\n");
        }
        text + &self.notes.iter().map(|(name, value)| format!("{name:24} {value}\n")).collect::<String>()
    }
}
