//! A provisional code: 16 bytes a sighting.

use super::item::check;
use super::{Fingerprint, Sighting, SightingsError};

/// The bytes of an ascending list.
pub fn encode(sightings: &[Sighting]) -> Result<Vec<u8>, SightingsError> {
    check(sightings)?;
    let words = sightings.iter().flat_map(|s| [s.fingerprint.get(), s.increment, s.count]);
    Ok(words.flat_map(u64::to_le_bytes).collect())
}

/// The list that has these bytes.
pub fn decode(bytes: &[u8]) -> Result<Vec<Sighting>, SightingsError> {
    let damaged = |why| SightingsError::Damaged { bytes: bytes.len(), why };
    let (words, []) = bytes.as_chunks::<8>() else { return Err(damaged("they are no words")) };
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (entries, []) = words.as_chunks::<3>() else { return Err(damaged("they are no entries")) };
    let mut sightings = Vec::new();
    for &[number, increment, count] in entries {
        let fingerprint = Fingerprint::new(number).ok_or_else(|| damaged("a fingerprint is too large"))?;
        sightings.push(Sighting { fingerprint, increment, count });
    }
    check(&sightings)?;
    Ok(sightings)
}
