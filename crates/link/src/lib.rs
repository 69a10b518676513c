//! How sites come to agree: what each publishes, applies, repairs and proves.

#![forbid(unsafe_code)]

mod action;
mod link;
mod position;
pub mod rows;
mod status;
pub mod store;

pub use action::{Action, BrokerState, Kind, Millis, Note, Place, Published, ReplyTo, Ticket};
pub use link::{Link, LocalCap, LocalCaps};
pub use position::Position;
pub use status::{BrokerStatus, HoldsOfOurs, NetworkStatus, Reach, ReachOne, SiteStatus, StreamStatus};

/// The name of the newest snapshot's manifest in a site's bucket.
pub const SNAPSHOT: &str = "snapshot";
