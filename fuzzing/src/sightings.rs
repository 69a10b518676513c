//! The laws of deltas of sightings, checked on whatever bytes the fuzzer comes up with.
//!
//! No bytes may cause a panic. Bytes that are accepted are the encoding of what was read, or the one that earlier
//! builds gave it, which wrote the scale of the gaps into the first four bits. A list is read as it was written; added
//! to itself it has the same fingerprints and twice the increments.

use seenit_filter::sightings::{COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, add_up, decode, encode};

/// Bytes that describe one sighting of a list: 6 of its gap, 2 of its increment, 2 of its count before.
const DESCRIBED_BYTES: usize = 10;

/// Takes the first byte for a mode, odd: a description of a list, even: a delta; and holds the rest against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let Some((&mode, rest)) = input.split_first() else { return };
    if mode % 2 == 1 {
        return check_list(&described(rest));
    }
    let Ok(list) = decode(rest) else { return };
    assert!(!list.is_empty() && list.len() <= SIGHTINGS_MAX);
    let is_latest = encode(&list).as_deref() == Ok(rest);
    assert!(is_latest || writes_scale(rest, list.len()), "one encoding, and one of earlier builds");
    check_list(&list);
}

/// Whether a delta of so many sightings begins with the 4 bits of their scale: see `docs/reference/delta.md`. The range
/// coder's first interval is a little less than 2^64, so a byte on the edge may belong to the value before.
fn writes_scale(bytes: &[u8], sightings: usize) -> bool {
    let square = (sightings as u64 + 1).pow(2);
    let scale = (Fingerprint::BITS - square.ilog2().div_ceil(2) - 28) as u8;
    bytes[0] >> 4 == scale || bytes[0].wrapping_add(1) >> 4 == scale
}

fn check_list(list: &[Sighting]) {
    let Ok(bytes) = encode(list) else {
        assert!(list.is_empty(), "the description makes good lists");
        return;
    };
    assert_eq!(decode(&bytes).as_deref(), Ok(list), "read as written");
    for (sum, said) in add_up([list, list]).iter().zip(list) {
        assert_eq!((sum.fingerprint, sum.count), (said.fingerprint, said.count));
        assert_eq!(sum.increment, (2 * said.increment).min(COUNT_MAX));
    }
}

/// A good list, or an empty one. Numbers are shifted, so that few bytes say all lengths.
fn described(bytes: &[u8]) -> Vec<Sighting> {
    let (mut list, mut next) = (Vec::new(), 0u64);
    for part in bytes.chunks_exact(DESCRIBED_BYTES) {
        let number = |from: usize, to: usize| {
            let shift = u32::from(part[from]) % 48;
            part[from + 1..to].iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)) << shift
        };
        let Some(fingerprint) = Fingerprint::new(next.saturating_add(number(0, 6) & ((1 << 44) - 1))) else {
            break;
        };
        let increment = number(6, 8).clamp(1, COUNT_MAX);
        let count = (increment + (number(8, 10) & COUNT_MAX)).min(COUNT_MAX);
        list.push(Sighting { fingerprint, increment, count });
        next = fingerprint.get() + 1;
    }
    list
}
