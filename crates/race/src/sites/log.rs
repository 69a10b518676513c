//! What a site's log has: the items of its own streams, as they travel.

use std::error::Error;

use seenit_filter::sightings::{self, Sighting};
use seenit_ledger::ledger::Ledger;
use seenit_link::store::{Read, ReadDone, Store};
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};

use super::entropy;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// Sizes of what one site published, or of what all of them did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Payloads {
    pub(crate) records: u64,
    pub(crate) records_bytes: u64,
    pub(crate) deltas_bytes: u64,
    /// The fewest bits that the deltas could take.
    pub(crate) deltas_bits: f64,
}

impl Payloads {
    /// Of a site's own streams that are published.
    pub(crate) fn of(ledger: &Ledger) -> Result<Self, Box<dyn Error>> {
        let mut payloads = Payloads::default();
        let mut seen: Vec<Sighting> = Vec::new();
        for own in ledger.own().streams {
            let items = items(ledger, own.incarnation, own.stream, own.last)?;
            let bytes: u64 = items.iter().map(|item| item.len() as u64).sum();
            match own.stream {
                Stream::Records => {
                    payloads.records += items.len() as u64;
                    payloads.records_bytes += bytes;
                }
                Stream::Sightings { .. } => {
                    payloads.deltas_bytes += bytes;
                    for item in &items {
                        let delta = sightings::decode(item)?;
                        payloads.deltas_bits += entropy::of_fingerprints(delta.len());
                        seen.extend(delta);
                    }
                }
            }
        }
        payloads.deltas_bits += entropy::of_pairs(&seen);
        Ok(payloads)
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Payloads {
            records: self.records + other.records,
            records_bytes: self.records_bytes + other.records_bytes,
            deltas_bytes: self.deltas_bytes + other.deltas_bytes,
            deltas_bits: self.deltas_bits + other.deltas_bits,
        }
    }
}

/// All items of an own stream.
pub(crate) fn items(
    ledger: &Ledger,
    incarnation: Incarnation,
    stream: Stream,
    last: Sequence,
) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    while (all.len() as u64) < last.0 {
        let after = Sequence(all.len() as u64);
        let read = Read::Own { incarnation, stream, after, bytes_max: READ_BYTES };
        let ReadDone::Own(run) = ledger.read(&read)? else { return Err("not what was asked for".into()) };
        if run.after != after || run.items.is_empty() {
            return Err(format!("item {} of {stream:?} is gone", after.0 + 1).into());
        }
        all.extend(run.items);
    }
    Ok(all)
}
