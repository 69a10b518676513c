//! The chain over a stream: a digest that stands for every item up to a sequence, in order.
//!
//! ```text
//! value 0 of records   = H(log domain, site, incarnation)
//! value 0 of sightings = H(sightings domain, site, incarnation, generation)
//! value n              = H(item domain, value n-1, n, item n)
//! ```
//!
//! A site signs values of its chains. Whoever holds two signed values can check the items between them, whoever sent
//! those; so a newcomer needs no item that has expired, only the value before the first that it takes.

use crate::digest::{Digest, Domain};
use crate::form::form;
use crate::message::{Stream, StreamId};
use crate::number::Sequence;

// Those of records are as old as records that are kept.
const LOG: Domain = *b"seenit log of records v1        ";
const SIGHTINGS: Domain = *b"seenit log of sightings v1      ";
const ITEM: Domain = *b"seenit record of a log v1       ";

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// How many items there are.
    pub sequence: Sequence,
    /// What stands for all of them.
    pub value: Digest,
}

form!(Chain { sequence, value });

impl Chain {
    /// Of a stream without items.
    pub fn begin(id: &StreamId) -> Self {
        let StreamId { site, incarnation, stream } = id;
        let site = site.to_bytes();
        let incarnation = incarnation.0.to_le_bytes();
        let value = match stream {
            Stream::Records => Digest::of(&LOG, &[&site, &incarnation]),
            Stream::Sightings { generation } => {
                Digest::of(&SIGHTINGS, &[&site, &incarnation, &generation.0.to_le_bytes()])
            }
        };
        Chain { sequence: Sequence::START, value }
    }

    /// Goes on with the next item, as it travels.
    #[must_use]
    pub fn then(self, item: &[u8]) -> Self {
        let sequence = self.sequence.next();
        let value = Digest::of(&ITEM, &[&self.value.0, &sequence.0.to_le_bytes(), item]);
        Chain { sequence, value }
    }

    /// Goes on with several.
    #[must_use]
    pub fn then_all<I: AsRef<[u8]>>(self, items: impl IntoIterator<Item = I>) -> Self {
        items.into_iter().fold(self, |chain, item| chain.then(item.as_ref()))
    }
}
