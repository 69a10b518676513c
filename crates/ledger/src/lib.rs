//! What a site remembers: records, tallies, generations, verdicts, trust, journal, snapshots.
//!
//! ```
//! use std::sync::Arc;
//!
//! use seenit_ledger::{Case, OPERATOR, Ledger, LedgerConfig, SystemClock, Verb, Verdict, Write};
//! use seenit_signature::razor::Ep4;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let config = LedgerConfig { free_bytes_min: 0, ..LedgerConfig::default() };
//! let ledger = Ledger::open(folder, config, Arc::new(SystemClock::default()))?;
//! let mail = b"Subject: win\r\n\r\nYou have won a prize of one million, write to us at once to claim it today\r\n";
//! let case = Case::of_message(mail, &Ep4::default());
//! assert_eq!(ledger.check(&case).verdict, Verdict::Unknown);
//!
//! // Durable when it returns.
//! let receipt = ledger.write_and_wait(Write { verb: Verb::Report, reporter: OPERATOR, cases: vec![case.clone()] })?;
//! assert_eq!(ledger.check(&case).verdict, Verdict::Spam);
//! assert_eq!(ledger.receipt(receipt.id).map(|receipt| receipt.verb), Some(Verb::Report));
//! # Ok(())
//! # }
//! ```
//!
//! # The way of a write
//!
//! [`Ledger::write`] queues it; the one thread that writes (`writer`) takes what waits, works out what it will do
//! (`stage`), commits it to the `journal` in one batch, changes `memory`, and answers. A commit is synced first, so
//! what is acknowledged is durable; and memory never says what the journal does not know.
//!
//! # The way of a check
//!
//! [`Ledger::check_many`] hashes signatures, looks them up in memory, and judges (`judge`): no lock, no disk.
//! [`Ledger::check`] does so for all signatures of a message, its text's shingles among them, and reads the details of
//! what it found from the journal.
//!
//! # Size and error
//!
//! Memory is fixed by the configuration: 8.9 bytes for each signature of `capacity`, at most two cache lines a
//! lookup, and
//! 8.6e-7 false hits at capacity; an index over the log of sightings for what is seen; counting filters for shingles; a
//! tagged filter for bulk. A
//! capacity that will be used up is an alarm days before, and a full tally forgets the oldest records first.

mod adding;
mod age;
mod anonymous;
mod answers;
mod appoint;
pub mod clock;
pub mod config;
mod date;
mod doubt;
pub mod error;
mod explain;
mod follow;
mod fullness;
mod held;
pub mod identity;
mod incarnations;
mod introduce;
mod journal;
mod judge;
mod keys;
pub mod ledger;
mod local;
pub mod mapped;
mod memory;
mod migrate;
mod near;
pub mod new_file;
mod open;
mod open_reporters;
mod own_chain;
mod own_log;
mod peers;
pub mod private;
mod probe;
mod protection;
mod rebuild;
pub mod record;
pub mod reporter;
mod restore;
mod salvage;
mod seen;
mod share;
mod shared;
pub mod signature;
mod snapshot;
mod stage;
mod store;
mod sum;
mod tally;
mod tally_growth;
#[cfg(test)]
mod testing;
pub mod trust;
pub mod verdict;
mod writer;
mod writer_progress;

pub use anonymous::{ANONYMOUS_NETWORKS_MIN, ClientNetwork};
pub use answers::{
    Explanation, MessageExplanation, ProtectedBy, ProtectionReceipt, Receipt, Sightings, SiteReceipt, Spoken,
    Statement, Stats, Write,
};
pub use clock::{Clock, SystemClock};
pub use config::LedgerConfig;
pub use error::{OpenError, SignatureError, WriteError};
pub use introduce::site_secret;
pub use ledger::Ledger;
pub use local::Local;
pub use probe::FilterRate;
pub use rebuild::rebuild;
pub use record::{RecordId, Verb};
pub use reporter::{LOCAL, LOCAL_WEIGHT, OPERATOR, Reporter, ReporterId, Standing};
pub use restore::{Restored, restore, restore_in_place};
pub use seen::RECIPIENTS_MAX;
pub use seenit_filter::sightings::Structure;
pub use signature::{Case, SignatureRef};
pub use verdict::{Answer, Judgement, Reason, Verdict};
