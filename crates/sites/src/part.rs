//! Parts: a step of seen cells that is too large for one message goes into several, all with the same head but for
//! the payload. In front of each stand its number and how many there are, 2 bytes each.

use crate::form::{Bytes, FormError};
use crate::message::PAYLOAD_BYTES_MAX;

/// The most parts of a step: 32 MB. Who has missed more is better off with pages.
pub const PARTS_MAX: usize = 64;

/// Bytes of the body in one part.
const PART_BYTES: usize = PAYLOAD_BYTES_MAX - 4;

/// The payloads of a body, which is not empty; none where it is too large for any number of them.
pub fn parts(body: &[u8]) -> Vec<Vec<u8>> {
    let count = body.len().div_ceil(PART_BYTES);
    if count > PARTS_MAX {
        return Vec::new();
    }
    let payload = |(number, part): (usize, &[u8])| {
        let mut payload = Vec::with_capacity(4 + part.len());
        payload.extend((number as u16).to_le_bytes());
        payload.extend((count as u16).to_le_bytes());
        payload.extend_from_slice(part);
        payload
    };
    body.chunks(PART_BYTES).enumerate().map(payload).collect()
}

/// The number of a part, how many there are, and what it holds.
pub fn part(payload: &[u8]) -> Result<(usize, usize, &[u8]), FormError> {
    let mut rest = Bytes(payload);
    let (number, count) = (usize::from(rest.u16()?), usize::from(rest.u16()?));
    if number >= count {
        return Err(FormError::Cut);
    }
    if count > PARTS_MAX {
        return Err(FormError::Large { found: count, most: PARTS_MAX });
    }
    Ok((number, count, rest.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_put_together_are_the_body() {
        for length in [1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 7] {
            let body: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let payloads = parts(&body);
            let mut joined = Vec::new();
            for (place, payload) in payloads.iter().enumerate() {
                assert!(payload.len() <= PAYLOAD_BYTES_MAX);
                let (number, count, bytes) = part(payload).expect("a part");
                assert_eq!((number, count), (place, payloads.len()));
                joined.extend_from_slice(bytes);
            }
            assert_eq!(joined, body);
        }
        assert!(parts(&vec![0; PARTS_MAX * PART_BYTES + 1]).is_empty());
    }

    #[test]
    fn a_part_beyond_the_last_is_refused() {
        assert!(part(&[1, 0, 1, 0, 9]).is_err());
        assert!(part(&[0, 0, 0xff, 0xff]).is_err());
        assert!(part(&[0, 0, 1]).is_err());
    }
}
