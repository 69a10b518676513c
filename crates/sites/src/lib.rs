//! What travels between sites: keys, roster, manifest, messages, roots; beats, asks and answers, snapshots.
//!
//! The admin of a network signs the *roster* (who belongs to it, and how far each is believed) and *manifests* (how
//! seen counts are kept from a generation on, and the hash key, sealed to each member). A site signs *messages*: what
//! its log or its cells gained, and the *root* of all it holds after that, by which anybody can prove a page to
//! anybody.
//!
//! ```
//! use seenit_sites::key::{AdminSecret, SiteSecret};
//! use seenit_sites::message::{Message, State, Stream};
//! use seenit_sites::number::Generation;
//! use seenit_sites::roster::{Caps, Member, Roster};
//! use seenit_sites::root::{Tree, leaf};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Secrets are 32 random bytes. These are not.
//! let (admin, site) = (AdminSecret::from_bytes([1; 32]), SiteSecret::from_bytes([2; 32]));
//! let caps = Caps { spam: 100, ham: 100, seen: 1_000_000 };
//! let (key, sealing) = (site.public(), site.sealing().public());
//! let member = Member { site: key, sealing, name: "mail.example.org".parse()?, caps };
//! let roster = Roster::sign(&admin, 1, vec![member])?;
//!
//! // The site says what changed, and what it holds now.
//! let pages = [[0; 4096], [1; 4096]];
//! let tree = Tree::of(pages.iter().map(|page| leaf(page)));
//! let (stream, root) = (Stream::Sightings { generation: Generation(20_000) }, tree.root());
//! let state = State { incarnation: 1, stream, sequence: 1, manifest: 1, root, time_secs: 1_728_000_000 };
//! let bytes = Message::sign(&site, roster.network(), state, 0, b"a gain of counts")?;
//!
//! // Whoever knows the network's key believes the roster, and by it the message, and by it a page of anybody's.
//! let roster = Roster::decode(roster.bytes(), &admin.public())?;
//! let message = Message::decode(&bytes, &roster)?;
//! let path = tree.path(1).ok_or("there is a page 1")?;
//! assert!(path.leads_to(&message.head().state().root, &pages[1]));
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here reads a socket, a clock or a file, or draws a random number; no bytes make it panic; and what
//! `decode` returns has been checked in full, the signature included. (Only asks and answers have none: what they hold
//! proves itself.) `docs/replication.md` says what sites promise each other, and draws every format byte by byte.

#![forbid(unsafe_code)]
#![deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod arrival;
pub mod ask;
pub mod beat;
pub mod chain;
mod digest;
mod form;
pub mod introduction;
pub mod key;
pub mod list;
pub mod manifest;
pub mod message;
pub mod number;
pub mod part;
pub mod root;
pub mod roster;
pub mod snapshot;
mod succession;

pub use arrival::Arrival;
pub use digest::Digest;
pub use form::FormError;
pub use succession::Standing;
