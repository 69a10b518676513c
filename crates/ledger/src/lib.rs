//! What a site remembers: records, tallies, generations, verdicts, trust, journal, snapshots.
pub mod clock;
pub mod config;
pub mod error;
pub mod identity;
mod journal;
pub mod ledger;
pub mod record;
pub mod reporter;
pub mod signature;
mod tally;
pub mod trust;
pub mod verdict;
