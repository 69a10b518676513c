//! The memory of seen counts: bytes a signature and wrong reads of both structures, alone and in a network.
//!
//! No server and no rival: the structures themselves, filled to their capacity. In a network a site has two of them,
//! its own counts and the sum of its peers' counts; here five peers have seen the same signatures as the site, and say
//! so in deltas, as they travel.

use std::error::Error;

use seenit_filter::counting::Count;
use seenit_filter::random::SplitMix;
use seenit_filter::sightings::{self, AnySeen, Fingerprint, SeenIndex, Sighting, Structure};
use serde::Serialize;

use crate::targets::answer;

/// What rows are called.
const NAME: &str = "dcc memory";
/// Shares of signatures that are bulk.
const BULK_SHARES: [f64; 3] = [0.0, 0.1, 0.3];
/// A bulk signature has at least so many recipients.
const BULK: u64 = 20;
/// No signature has more.
const RECIPIENTS_MAX: u64 = 1_000_000;
/// Sites of the network besides this one.
const PEERS: usize = 5;
/// No peer counts for more than this.
const PEER_CAP: u64 = 1000;
/// Absent keys are asked for, so many for each signature: at 3e-6 some 70 are wrong where there are a million.
const ABSENT_TIMES: u64 = 20;
/// Keys that are asked for at a time.
const ASKED_AT_ONCE: usize = 1 << 16;

/// What a structure takes, and how often it is wrong. The names of the fields are those of the JSON.
#[derive(Clone, Serialize)]
pub(crate) struct MemoryRow {
    name: &'static str,
    structure: &'static str,
    network: bool,
    bulk_share: f64,
    /// Signatures and capacity of each index.
    signatures: u64,
    /// Of all indexes together.
    bytes_per_signature: f64,
    absent_reads_1: f64,
    absent_reads_20: f64,
    wrong_share: f64,
}

/// Recipients of one signature: one to three, or, where it is bulk, 20 and more, of which every 25th has above 500.
fn recipients(random: &mut SplitMix, bulk_share: f64) -> u64 {
    if random.unit() < bulk_share {
        ((BULK as f64 / (1.0 - random.unit())) as u64).min(RECIPIENTS_MAX)
    } else {
        1 + random.below(3) * random.below(2)
    }
}

/// Distinct signatures, ascending, and the recipients of each.
struct Mail {
    fingerprints: Vec<Fingerprint>,
    own: Vec<u64>,
    /// By peer.
    theirs: [Vec<u64>; PEERS],
}

impl Mail {
    fn drawn(signatures: u64, bulk_share: f64) -> Self {
        let mut random = SplitMix(signatures);
        let mut fingerprints: Vec<Fingerprint> =
            (0..signatures).map(|_| Fingerprint::of(random.hash())).collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let own = fingerprints.iter().map(|_| recipients(&mut random, bulk_share)).collect();
        let mut theirs = [const { Vec::new() }; PEERS];
        for _ in &fingerprints {
            let all = recipients(&mut random, bulk_share);
            let luckiest = random.below(PEERS as u64) as usize;
            for (peer, counts) in theirs.iter_mut().enumerate() {
                let rest = if peer == luckiest { all % PEERS as u64 } else { 0 };
                counts.push(all / PEERS as u64 + rest);
            }
        }
        Mail { fingerprints, own, theirs }
    }

    /// What one peer says, in two deltas or more: half of what it saw, and then the other half.
    fn said(&self, peer: usize) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        let of_half = |half: u64| {
            let counts = self.fingerprints.iter().zip(&self.theirs[peer]);
            let sightings = counts.map(move |(&fingerprint, &all)| {
                let first = all - all / 2;
                let (increment, count) = if half == 0 { (first, first) } else { (all / 2, all) };
                Sighting { fingerprint, increment, count }
            });
            let sightings: Vec<Sighting> = sightings.filter(|said| said.increment > 0).collect();
            sightings::encode_all(&sightings)
        };
        Ok([of_half(0)?, of_half(1)?].concat())
    }
}

/// A peer's delta in the sum of peers: as much more as it counts more, and no less than it counts.
fn apply(sum: &AnySeen, delta: &[u8]) -> Result<(), Box<dyn Error>> {
    for Sighting { fingerprint, increment, count } in sightings::decode(delta)? {
        let before = (count - increment).min(PEER_CAP);
        let after = count.min(PEER_CAP);
        sum.add(fingerprint, after - before);
        sum.raise_to(fingerprint, after);
    }
    Ok(())
}

/// The counts of all indexes together, for many keys.
fn read(indexes: &[AnySeen], keys: &[Fingerprint], mut visit: impl FnMut(usize, u64)) {
    let mut one = vec![Count::default(); ASKED_AT_ONCE];
    let mut sums = vec![0; ASKED_AT_ONCE];
    for (batch, keys) in keys.chunks(ASKED_AT_ONCE).enumerate() {
        let sums = &mut sums[..keys.len()];
        sums.fill(0);
        for index in indexes {
            index.count_many(keys, &mut one[..keys.len()]);
            sums.iter_mut().zip(&one).for_each(|(sum, count)| *sum += count.value);
        }
        sums.iter().enumerate().for_each(|(i, &sum)| visit(batch * ASKED_AT_ONCE + i, sum));
    }
}

fn measure(
    structure: Structure,
    network: bool,
    bulk_share: f64,
    signatures: u64,
) -> Result<MemoryRow, Box<dyn Error>> {
    let mail = Mail::drawn(signatures, bulk_share);
    let mut indexes = vec![AnySeen::new(structure, signatures)?];
    for (&fingerprint, &count) in mail.fingerprints.iter().zip(&mail.own) {
        indexes[0].add(fingerprint, count);
    }
    if network {
        let sum = AnySeen::new(structure, signatures)?;
        for peer in 0..PEERS {
            mail.said(peer)?.iter().try_for_each(|delta| apply(&sum, delta))?;
        }
        indexes.push(sum);
    }
    let truth = |i: usize| {
        let theirs = mail.theirs.iter().map(|counts| counts[i].min(PEER_CAP)).sum::<u64>();
        mail.own[i] + if network { theirs } else { 0 }
    };
    let mut wrong = 0u64;
    let mut below = 0u64;
    read(&indexes, &mail.fingerprints, |i, count| {
        wrong += u64::from(count > truth(i));
        below += u64::from(count < truth(i));
    });
    assert_eq!(below, 0, "a count is never below the truth");
    let asked = ABSENT_TIMES * signatures;
    let mut random = SplitMix(!signatures);
    let mut seen = 0u64;
    let mut bulk = 0u64;
    for _ in 0..asked.div_ceil(ASKED_AT_ONCE as u64) {
        let absent: Vec<Fingerprint> = (0..ASKED_AT_ONCE).map(|_| Fingerprint::of(random.hash())).collect();
        read(&indexes, &absent, |_, count| {
            seen += u64::from(count >= 1);
            bulk += u64::from(count >= BULK);
        });
    }
    let asked = asked.next_multiple_of(ASKED_AT_ONCE as u64) as f64;
    let held = mail.fingerprints.len() as f64;
    let bytes: u64 = indexes.iter().map(AnySeen::memory_bytes).sum();
    Ok(MemoryRow {
        name: NAME,
        structure: structure.as_str(),
        network,
        bulk_share,
        signatures,
        bytes_per_signature: (100.0 * bytes as f64 / held).round() / 100.0,
        absent_reads_1: seen as f64 / asked,
        absent_reads_20: bulk as f64 / asked,
        wrong_share: wrong as f64 / held,
    })
}

/// All rows, with indexes for so many signatures.
pub(crate) fn race(signatures: u64) -> Result<Vec<MemoryRow>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for structure in Structure::ALL {
        for network in [false, true] {
            for bulk_share in BULK_SHARES {
                rows.push(measure(structure, network, bulk_share, signatures)?);
            }
        }
    }
    Ok(rows)
}

pub(crate) fn table(rows: &[MemoryRow]) -> String {
    let mut table = format!(
        "{NAME:12} {:8} {:>8} {:>6} {:>9} {:>9} {:>9} {:>9}\n",
        "", "network", "bulk", "B/sig.", ">= 1", ">= 20", "wrong"
    );
    for row in rows {
        table += &format!(
            "{:12} {:8} {:>8} {:>6} {:>9.2} {:>9.1e} {:>9.1e} {:>9.1e}\n",
            "",
            row.structure,
            row.network,
            row.bulk_share,
            row.bytes_per_signature,
            row.absent_reads_1,
            row.absent_reads_20,
            row.wrong_share
        );
    }
    table
}

/// The most bytes a signature, alone and in a network, and how often an absent key may read 1 and 20.
const TARGETS: [(&str, [f64; 2], [f64; 2]); 2] =
    [("table", [5.0, 9.5], [1e-5, 3e-6]), ("filter", [8.0, 16.0], [5e-4, 3e-6])];

/// One line a target.
pub(crate) fn targets(rows: &[MemoryRow]) -> Vec<String> {
    let mut lines = Vec::new();
    for (structure, bytes, rates) in TARGETS {
        let worst = |network: Option<bool>, value: fn(&MemoryRow) -> f64| {
            let rows = rows.iter().filter(|row| row.structure == structure);
            let rows = rows.filter(|row| network.is_none_or(|network| row.network == network));
            rows.map(value).reduce(f64::max)
        };
        for (network, most) in [false, true].into_iter().zip(bytes) {
            let found = worst(Some(network), |row| row.bytes_per_signature);
            let where_ = if network { "in a network" } else { "alone" };
            let found = found.map(|found| (found <= most, format!("{found:.2}")));
            lines.push(answer(&format!("{NAME} {structure} {where_} <= {most} bytes a signature"), found));
        }
        let reads: [fn(&MemoryRow) -> f64; 2] = [|row| row.absent_reads_1, |row| row.absent_reads_20];
        for ((least, most), read) in [1, BULK].into_iter().zip(rates).zip(reads) {
            let found = worst(None, read).map(|found| (found <= most, format!("{found:.1e}")));
            lines
                .push(answer(&format!("{NAME} {structure}: absent key reads >= {least} at {most:e}"), found));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small race: nobody below the truth, and the rates of the structures.
    #[test]
    fn rows_of_a_small_race() {
        let rows = race(20_000).expect("memory for some thousand signatures");
        assert_eq!(rows.len(), 12);
        for row in &rows {
            let most = if row.structure == "table" { 1e-4 } else { 1e-3 };
            assert!(row.absent_reads_1 <= most && row.wrong_share <= most, "{}", table(&rows));
        }
        assert_eq!(targets(&rows).len(), 8);
        assert_eq!(table(&rows).lines().count(), 13);
    }
}
