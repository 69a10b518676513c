//! The shape of seen cells as releases before the log of sightings kept it, in the identity or by the configuration.

use std::fmt;
use std::path::Path;

use seenit_filter::cells::SplitCells;
use seenit_filter::cells::split::Split;
use seenit_filter::counting::CountingFilter;
use seenit_filter::hash::SipKey;
use seenit_filter::{GeometryError, HugePages, Layout, Paged, Promise};
use serde::Deserialize;

use crate::config::LedgerConfig;
use crate::seen::Counts;

/// Low bits of a cell.
const LOW_BITS: u32 = 3;

/// Tables of high parts.
const CHUNKS: u64 = 64;

/// The hash key and the geometry of cells.
#[derive(Clone)]
pub(super) struct Cells {
    hash_key: [u8; 16],
    layout: Paged,
    split: Split,
    promise: Promise,
}

impl Cells {
    /// What a site counted in that stood alone.
    pub(super) fn private(config: &LedgerConfig, hash_key: [u8; 16]) -> Result<Self, GeometryError> {
        let split = Split::new(LOW_BITS, CHUNKS)?;
        let rate = config.rate / config.seen_generations as f64;
        let promise = Promise { capacity: config.seen_capacity, rate };
        let layout = Paged::sized_with_slots(promise.capacity, rate, split.base().per_page())?;
        Ok(Cells { hash_key, layout, split, promise })
    }

    /// Cells in which nothing is counted.
    pub(super) fn empty(&self) -> Result<Counts, GeometryError> {
        let cells = SplitCells::zeroed(self.split, self.layout.bits(), HugePages::Default)?;
        let fingerprint = SipKey::new(self.hash_key).fingerprint();
        CountingFilter::new(self.layout.any(), cells, Some(self.promise), fingerprint)
    }
}

/// What the identity of an earlier release says of incarnations.
#[derive(Deserialize)]
struct OldIdentity {
    incarnations: Vec<OldIncarnation>,
}

#[derive(Deserialize)]
pub(super) struct OldIncarnation {
    pub(super) id: u64,
    /// The generation whose cells the next incarnation went on counting in, as its own.
    pub(super) carried_over: Option<u64>,
    #[serde(default)]
    terms: Vec<OldTerms>,
}

/// Terms that hold from a generation on. Later releases have no geometry in them.
#[derive(Deserialize)]
struct OldTerms {
    generation: u64,
    hash_key: String,
    pages: Option<u64>,
    k: Option<u32>,
    low_bits: Option<u32>,
    chunks: Option<u64>,
    capacity: Option<u64>,
    rate: Option<String>,
}

impl OldIncarnation {
    /// The cells of the network in a generation; `None` where it was counted privately.
    pub(super) fn cells_at(&self, generation: u64) -> Result<Option<Cells>, String> {
        let begun = self.terms.iter().filter(|terms| terms.generation <= generation);
        begun.max_by_key(|terms| terms.generation).map(OldTerms::cells).transpose()
    }
}

impl OldTerms {
    fn cells(&self) -> Result<Cells, String> {
        let why = |error: &dyn fmt::Display| format!("terms of generation {}: {error}", self.generation);
        let mut hash_key = [0; 16];
        hex::decode_to_slice(&self.hash_key, &mut hash_key).map_err(|error| why(&error))?;
        let shape = self.pages.zip(self.k).zip(self.low_bits.zip(self.chunks));
        let ((pages, k), (low_bits, chunks)) = shape.ok_or_else(|| why(&"they have no geometry"))?;
        let split = Split::new(low_bits, chunks).map_err(|error| why(&error))?;
        let layout = Paged::with_slots(pages, 1, k, split.base().per_page()).map_err(|error| why(&error))?;
        let (capacity, rate) =
            self.capacity.zip(self.rate.as_ref()).ok_or_else(|| why(&"they promise nothing"))?;
        let rate = rate.parse().map_err(|error| why(&error))?;
        Ok(Cells { hash_key, layout, split, promise: Promise { capacity, rate } })
    }
}

/// Reads what an identity says of earlier incarnations.
pub(super) fn incarnations(folder: &Path) -> Result<Vec<OldIncarnation>, String> {
    let bytes = std::fs::read(folder.join("identity.json")).map_err(|error| error.to_string())?;
    let identity: OldIdentity = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    Ok(identity.incarnations)
}
