//! Bloom filters with a stated error: plain, counting, tagged, aging; keyed hashing, exact maths, one file format.
//!
//! ```
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::{AnyLayout, Filter, HugePages, LayoutName, Promise};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A thousand keys at one false positive in a hundred, hashed under a secret.
//! let key = SipKey::derive(b"a secret that the sites of a network share");
//! let promise = Promise { capacity: 1000, rate: 0.01 };
//! let layout = AnyLayout::sized(LayoutName::Line, promise.capacity, promise.rate)?;
//! let mut filter = Filter::new(layout, Some(promise), key.fingerprint(), HugePages::Default)?;
//!
//! let digests: Vec<[u8; 4]> = (0..1000u32).map(u32::to_le_bytes).collect();
//! filter.insert_many(&key, &digests);
//! assert!(filter.contains(key.hash(&digests[17])));
//!
//! // What it holds and what it is worth, read off its bits.
//! let estimate = filter.cardinality().expect("not every bit is set");
//! assert!((estimate.value - 1000.0).abs() < 6.0 * estimate.sd);
//! assert!(filter.present_rate() < 0.012);
//!
//! // A file that is used in place.
//! let mut bytes = Vec::new();
//! seenit_filter::file::write(&filter, &mut bytes)?;
//! let view = seenit_filter::file::FileView::open(&bytes)?;
//! view.check_all(|_| ())?;
//! view.expect_key(key.fingerprint())?;
//! # Ok(())
//! # }
//! ```
//!
//! # Which layout
//!
//! Bits a key, at the rate the filter was sized for, with a million keys:
//!
//! | rate | [`Flat`] | [`Paged`] | [`Line`] |
//! |---|---|---|---|
//! | 10 % | 4.8 | 4.8 | 5.9 |
//! | 1 % | 9.6 | 9.6 | 10.1 |
//! | 0.1 % | 14.4 | 14.4 | 15.7 |
//! | 0.01 % | 19.2 | 19.2 | 23.6 |
//! | 0.001 % | 24.0 | 24.1 | 35.0 |
//!
//! [`Line`] touches one cache line a key and is the fastest by far; take it unless the rate is below 0.1 % and
//! memory is dear. [`Paged`] touches one page, which is what counts for files. [`Flat`] is the textbook, and what
//! the papers measure.
//!
//! # Which filter
//!
//! | question | filter |
//! |---|---|
//! | was this key put in? | [`Filter`] |
//! | how often? | [`counting::CountingFilter`], in [packed](cells::PackedCells) or [split](cells::split) cells |
//! | at least so often? | a cut, [`CountingFilter::at_least`](counting::CountingFilter::at_least) |
//! | into which of several sets? | [`tagged::TaggedFilter`] |
//! | how often exactly, and taken back? | [`table::Table`], 9 bytes a key with a value of 40 bits |
//! | how many recipients, at 4.5 bytes a key, as lists that travel? | [`sightings`] |
//! | how many of a message's shingles are known from spam? | [`shingles`] |
//! | what is it worth? | [`bins::BinFilter`] |
//!
//! [`retouch`] takes keys out of a plain filter that hit by chance, at a price in members; [`delta`] tells another
//! machine what changed.
//!
//! # When not to use it
//!
//! When keys must be listed, or when the set is small enough for a hash set. A plain filter forgets nothing but
//! everything.
//!
//! # What is certain
//!
//! * A count is never below the truth; where cells are full it says "at least".
//! * A key that was inserted is always found, unless bits were cleared since: [`Filter::cleared_bits`].
//! * The false-positive rate of a filter holding its capacity is, on average over hash keys, the promised one or
//!   less; [`Filter::present_rate`] tells what a particular filter's bits amount to. Formulas are in [`maths`].
//! * Equal keys in any order give equal bits, on every processor: kernels for AVX2 and AVX-512 are chosen at run
//!   time and give what the scalar ones give.
//! * Nothing here reads a clock or opens a file, and what is random comes from a seed of the caller's.
//!
//! # Sources
//!
//! The page-local layout is Zawierucha's ("Minimizing page faults of Bloom filters"); merging by OR, and counting with its refined rule, its merges and its split
//! storage are from "Enhancing collaborative spam detection with Bloom filters" (ACSAC 2006); the split line is the
//! known "split block" design, widened to 64-bit sectors. Retouching is Donnet, Baynat and Friedman's ("Retouched
//! Bloom filters"), bins are Natarajan, Subramanian and Premalatha's ("Optimization of Bloom filter using simulated
//! annealing for spam filtering").

pub mod bins;
pub mod cells;
pub mod counting;
pub mod delta;
mod error;
pub mod file;
mod filter;
pub mod hash;
pub mod layout;
pub mod maths;
mod memory;
mod pipeline;
pub mod random;
pub mod readable;
pub mod retouch;
pub mod shingles;
pub mod sightings;
mod simd;
pub mod table;
pub mod tagged;

pub use error::{
    BinError, ChoiceError, CutError, FormatError, Full, GeometryError, NotCounted, OddsError, RetouchError,
    TableError, TagError, Unlike,
};
pub use filter::{Fill, Filter, Promise};
pub use layout::{AnyLayout, Flat, Layout, LayoutName, Line, Paged};
pub use memory::{HugePages, PAGE_BITS, PAGE_BYTES, PAGE_WORDS, PageBuf};
pub use simd::Simd;
