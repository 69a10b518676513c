//! Sightings: how many recipients got a message with this signature, as lists that travel and as counts in memory.
//!
//! A signature is hashed under a secret; its [`Fingerprint`] is 44 bits of that hash. What was seen in one interval is
//! a *delta*: a list of [`Sighting`]s, sorted by fingerprint, [encoded](encode) in little more than the fewest bits
//! that can say it. The same bytes are journalled and sent. Many deltas [added up](add_up) are a *base*: blocks, each
//! encoded like a delta.
//!
//! Memory is an index over those lists, and can be rebuilt from them at any size. Positions in it derive from the
//! fingerprint alone, so sites need no common geometry. There are two, behind the trait [`SeenIndex`]:
//!
//! | | bytes a signature | absent key reads >= 1 | reads >= 20 |
//! |---|---|---|---|
//! | [`SeenTable`]: lines of 32-bit slots, each part of a fingerprint and a count | 4.5 to 4.7 | 3.5e-6 | <= 1e-6 |
//! | [`SeenFilter`]: refined counting filter, high parts in a table | 4.4 to 6.0 | 2.3e-4 | < 1e-9 |
//!
//! Neither ever counts below the truth.
//!
//! ```
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::sightings::{self, AnySeen, Fingerprint, SeenIndex, Sighting, Structure};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let own = AnySeen::new(Structure::Table, 10_000)?;
//! let fingerprint = Fingerprint::of(SipKey::public().hash(b"a digest"));
//! assert_eq!(own.add(fingerprint, 3).after.value, 3);
//!
//! // What another site says it saw, in its own words.
//! let delta = sightings::encode(&[Sighting { fingerprint, increment: 20, count: 25 }])?;
//! let peers = AnySeen::new(Structure::Table, 10_000)?;
//! for sighting in sightings::decode(&delta)? {
//!     peers.add(sighting.fingerprint, sighting.increment);
//!     peers.raise_to(sighting.fingerprint, sighting.count);
//! }
//! assert_eq!(own.count(fingerprint).value + peers.count(fingerprint).value, 28);
//! # Ok(())
//! # }
//! ```

mod base;
mod codec;
mod filter;
mod index;
mod item;
mod lines;
mod overflow;
mod place;
mod range;
mod segments;
mod slots;
mod table;

pub use base::{BaseBlocks, Merged, add_up, encode_all, encode_base};
pub use codec::{decode, encode};
pub use filter::SeenFilter;
pub use index::{Added, AnySeen, SeenIndex, Structure, UnknownStructure};
pub use item::{BYTES_MAX, COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, SightingsError};
pub use table::SeenTable;
