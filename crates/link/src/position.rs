//! How far this site is with a stream of another, as it is kept under [`rows::position`](crate::rows::position).

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::HEAD_BYTES;
use seenit_sites::number::Sequence;

/// How far a stream is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The last item that is applied, and the chain there: what its site signed.
    pub at: Chain,
    /// The signed head that says so, where one is kept; a snapshot brings none.
    pub head: Option<Vec<u8>>,
    /// Of records: how many are kept here but not counted.
    pub uncounted: u64,
    /// The last of those.
    pub uncounted_last: Sequence,
}

/// Bytes before the head.
const FIXED_BYTES: usize = 8 + 32 + 8 + 8;

impl Position {
    /// At an item, of which no signed head is kept.
    pub fn new(at: Chain) -> Self {
        Position { at, head: None, uncounted: 0, uncounted_last: Sequence::START }
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + HEAD_BYTES);
        bytes.extend(self.at.sequence.0.to_be_bytes());
        bytes.extend(self.at.value.0);
        bytes.extend(self.uncounted.to_be_bytes());
        bytes.extend(self.uncounted_last.0.to_be_bytes());
        bytes.extend(self.head.iter().flatten());
        bytes
    }

    /// Reads a position; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (applied, rest) = bytes.split_first_chunk::<8>()?;
        let (value, rest) = rest.split_first_chunk::<32>()?;
        let (uncounted, rest) = rest.split_first_chunk::<8>()?;
        let (uncounted_last, head) = rest.split_first_chunk::<8>()?;
        let head = match head.len() {
            0 => None,
            HEAD_BYTES => Some(head.to_vec()),
            _ => return None,
        };
        Some(Position {
            at: Chain { sequence: Sequence(u64::from_be_bytes(*applied)), value: Digest(*value) },
            head,
            uncounted: u64::from_be_bytes(*uncounted),
            uncounted_last: Sequence(u64::from_be_bytes(*uncounted_last)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_were_written_and_nothing_else_is_one() {
        let bare = Position {
            at: Chain { sequence: Sequence(1), value: Digest([2; 32]) },
            head: None,
            uncounted: 3,
            uncounted_last: Sequence(u64::MAX),
        };
        for position in [Position { head: Some(vec![4; HEAD_BYTES]), ..bare.clone() }, bare] {
            let bytes = position.encode();
            assert_eq!(Position::decode(&bytes), Some(position.clone()));
            let is_bare = |end: &usize| position.head.is_some() && *end == FIXED_BYTES;
            for end in (0..bytes.len()).filter(|end| !is_bare(end)) {
                assert_eq!(Position::decode(&bytes[..end]), None, "{end}");
            }
            assert_eq!(Position::decode(&[bytes.as_slice(), b"!"].concat()), None);
        }
    }
}
