//! The chain over a log of records: a digest that stands for every record up to a number, in order.
//!
//! ```text
//! link 0 = H(log domain, site, incarnation)
//! link n = H(record domain, link n-1, n, record n)
//! ```
//!
//! A site signs links as the roots of its stream of records. Whoever holds two signed links can check the records
//! between them, whoever sent those; so a newcomer needs no record that has expired, only the link before the first
//! it takes.

use crate::digest::{Digest, Domain};
use crate::key::SiteKey;

const LOG: Domain = *b"seenit log of records v1        ";
const RECORD: Domain = *b"seenit record of a log v1       ";

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    records: u64,
    link: Digest,
}

impl Chain {
    /// Of a log without records.
    pub fn begin(site: &SiteKey, incarnation: u64) -> Self {
        let link = Digest::of(&LOG, &[&site.to_bytes(), &incarnation.to_le_bytes()]);
        Chain { records: 0, link }
    }

    /// One that was stored, or signed by its site, after so many records.
    pub fn resume(records: u64, link: Digest) -> Self {
        Chain { records, link }
    }

    /// Goes on with the next record, as it travels.
    #[must_use]
    pub fn then(self, record: &[u8]) -> Self {
        // A log of one record a nanosecond would be six centuries old.
        let records = self.records.saturating_add(1);
        let link = Digest::of(&RECORD, &[&self.link.0, &records.to_le_bytes(), record]);
        Chain { records, link }
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What stands for all of them.
    pub fn link(&self) -> Digest {
        self.link
    }
}
