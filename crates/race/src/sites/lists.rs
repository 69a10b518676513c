//! Rows `seen 12` and `seen 3300`: deltas of so many signatures each, drawn from a mix like that of everyday mail.
//!
//! The mix: three in four signatures are seen once in an interval and 94 of 100 at most three times; more than `x`
//! times with chance `x^-2`, up to 100,000. One in five was seen before in its generation; then more than `x` times
//! with chance `1/x`, up to 100,000. The two are independent of each other.
//!
//! Each delta is a message of its own, so the envelope is the signed head and the length of one item.

use std::collections::BTreeMap;
use std::error::Error;

use seenit_filter::random::SplitMix;
use seenit_filter::sightings::{self, Fingerprint, Sighting};
use seenit_sites::chain::Chain;
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::list;
use seenit_sites::message::{Message, Statement, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation};
use serde::Serialize;

use super::entropy;

/// The most recipients that the mix has.
const RECIPIENTS_MAX: u64 = 100_000;
/// Of so many signatures one was seen before.
const SEEN_BEFORE: u64 = 5;
/// Sightings that the entropy of a pair is taken of: of those of a few short deltas alone only the pairs that happen to
/// be there would count, and the bound would be too low.
const DRAWN: usize = 1_000_000;

/// Deltas of one size. The names of the fields are those of the JSON.
#[derive(Serialize)]
pub(crate) struct ListRow {
    pub(crate) name: &'static str,
    pub(crate) deltas: usize,
    pub(crate) items: usize,
    pub(crate) bytes_per_item: f64,
    pub(crate) entropy_bytes_per_item: f64,
    /// Heads, signatures and lengths.
    pub(crate) envelope_bytes: f64,
    /// What it takes to say the new count besides the increment.
    pub(crate) count_bytes: f64,
    /// The most bytes an item that it may take.
    #[serde(skip)]
    pub(crate) bytes_max: f64,
}

pub(crate) fn rows() -> Result<Vec<ListRow>, Box<dyn Error>> {
    let pair_bits = entropy::of_pairs(&delta(&mut SplitMix(77), DRAWN)) / DRAWN as f64;
    Ok(vec![row("seen 12", (3000, 12), 5.6, pair_bits)?, row("seen 3300", (30, 3300), 4.6, pair_bits)?])
}

fn row(
    name: &'static str,
    (deltas, each): (usize, usize),
    bytes_max: f64,
    pair_bits: f64,
) -> Result<ListRow, Box<dyn Error>> {
    let mut random = SplitMix(each as u64);
    let site = SiteSecret::from_bytes([4; 32]);
    let network = AdminSecret::from_bytes([1; 32]).public();
    let incarnation = Incarnation(1);
    let stream = Stream::Sightings { generation: Generation(20_000) };
    let mut chain = Chain::begin(&StreamId { site: site.public(), incarnation, stream });
    let mut payload_bytes = 0;
    let mut without_counts = 0;
    let mut published = 0;
    for _ in 0..deltas {
        let list = delta(&mut random, each);
        let encoded = sightings::encode(&list)?;
        let as_if_new: Vec<Sighting> =
            list.iter().map(|said| Sighting { count: said.increment, ..*said }).collect();
        let previous = chain.sequence;
        chain = chain.then(&encoded);
        let at = chain;
        let time_secs = 1_800_000_000;
        let statement = Statement { incarnation, stream, previous, at, manifest: 1, time_secs };
        let mut payload = Vec::new();
        list::push(&mut payload, &encoded);
        published += Message::sign(&site, &network, statement, &payload)?.len();
        payload_bytes += encoded.len();
        without_counts += sightings::encode(&as_if_new)?.len();
    }
    let items = deltas * each;
    let per_item = |bytes: f64| bytes / items as f64;
    let bits = deltas as f64 * entropy::of_fingerprints(each) + items as f64 * pair_bits;
    Ok(ListRow {
        name,
        deltas,
        items,
        bytes_per_item: per_item(payload_bytes as f64),
        entropy_bytes_per_item: per_item(bits / 8.0),
        envelope_bytes: per_item((published - payload_bytes) as f64),
        count_bytes: per_item((payload_bytes - without_counts) as f64),
        bytes_max,
    })
}

/// What a site saw in an interval.
fn delta(random: &mut SplitMix, signatures: usize) -> Vec<Sighting> {
    let mut seen = BTreeMap::new();
    while seen.len() < signatures {
        let increment = zipf(random, 2.0);
        let before = if random.below(SEEN_BEFORE) == 0 { zipf(random, 1.0) } else { 0 };
        seen.insert(Fingerprint::of(random.hash()), (increment, increment + before));
    }
    let said = |(fingerprint, (increment, count))| Sighting { fingerprint, increment, count };
    seen.into_iter().map(said).collect()
}

/// At least `x` with chance `x^-power`.
fn zipf(random: &mut SplitMix, power: f64) -> u64 {
    ((1.0 - random.unit()).powf(-1.0 / power) as u64).min(RECIPIENTS_MAX)
}
