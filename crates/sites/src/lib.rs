//! What travels between sites: keys, roster, manifest, messages, chains; heartbeats, asks and answers, snapshots.
//!
//! The admin of a network signs the *roster* (who belongs to it, and how far each is believed) and *manifests* (how
//! long a generation is, and the hash key, sealed to each member). A site signs *messages*: items of its streams, each
//! with the value of the chain after it, by which anybody can prove to anybody what the site said.
//!
//! ```
//! use seenit_sites::chain::Chain;
//! use seenit_sites::key::{AdminSecret, SiteSecret};
//! use seenit_sites::list;
//! use seenit_sites::message::{Message, Statement, Stream, StreamId};
//! use seenit_sites::number::{Generation, Incarnation};
//! use seenit_sites::roster::{Caps, Member, Roster};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Secrets are 32 random bytes. These are not.
//! let (admin, site) = (AdminSecret::from_bytes([1; 32]), SiteSecret::from_bytes([2; 32]));
//! let caps = Caps { spam: 100, ham: 100, seen: 1_000_000 };
//! let (key, sealing) = (site.public(), site.sealing().public());
//! let member = Member { site: key, sealing, name: "mail.example.org".parse()?, caps };
//! let roster = Roster::sign(&admin, 1, vec![member])?;
//!
//! // The site says what is new, and signs the value of its chain.
//! let (incarnation, stream) = (Incarnation(1), Stream::Sightings { generation: Generation(20_000) });
//! let begin = Chain::begin(&StreamId { site: key, incarnation, stream });
//! let (previous, at) = (begin.sequence, begin.then(b"a delta"));
//! let statement = Statement { incarnation, stream, previous, at, manifest: 1, time_secs: 1_728_000_000 };
//! let mut payload = Vec::new();
//! list::push(&mut payload, b"a delta");
//! let bytes = Message::sign(&site, &roster.network, statement, &payload)?;
//!
//! // Whoever knows the network's key believes the roster, and by it the message, and by it the delta.
//! let roster = Roster::decode(&roster.bytes, &admin.public())?;
//! let message = Message::decode(&bytes, &roster)?;
//! let items = list::items(message.payload, 1)?;
//! assert_eq!(begin.then(items[0]).value, message.head.value);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here reads a socket, a clock or a file, or draws a random number; no bytes make it panic; and what
//! `decode` returns has been checked in full, the signature included. (Only asks and answers have none: what they hold
//! proves itself.) `docs/design/replication.md` says what sites promise each other, `docs/reference/replication.md`
//! draws every format byte by byte.

#![forbid(unsafe_code)]
#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod arrival;
pub mod ask;
pub mod chain;
mod digest;
mod error;
mod form;
pub mod heartbeat;
pub mod introduction;
pub mod key;
pub mod list;
pub mod manifest;
pub mod message;
pub mod number;
mod precedence;
pub mod roster;
pub mod snapshot;
mod stream;

pub use arrival::Arrival;
pub use digest::Digest;
pub use error::FormatError;
pub use precedence::Precedence;
