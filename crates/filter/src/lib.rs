//! Bloom filters whose error is stated in advance and can be read off their bits; keyed hashing, one file format.
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
//! # Which filter
//!
//! | question | take | bytes a key, and error |
//! |---|---|---|
//! | was this key put in? | [`Filter`] | 1.2 to 1.3 at 1 % |
//! | how often? | [`counting::CountingFilter`] | a [`Filter`]'s times the bits of a cell |
//! | at least so often? | a cut, [`CountingFilter::at_least`](counting::CountingFilter::at_least) | as a [`Filter`] |
//! | in which of up to 64 sets? | [`tagged::TaggedFilter`] | 2.0 a tag at 1 % for any of 16 |
//! | which value, exactly, and changed or taken back? | [`table::Table`] | 9 with a value of 40 bits |
//! | how many recipients, as lists that travel? | [`sightings`] | 4.5, and 3.5e-6 |
//! | how many of a message's shingles are known from spam? | [`shingles`] | 2.4 for 17 of 32 |
//! | what is it worth? | [`bins::BinFilter`] | chosen |
//!
//! [`retouch`] takes keys out of a plain filter that hit by chance, at a price in members; [`delta`] tells another
//! machine what changed; [`mod@file`] is the format of plain, counting and bin filters on disk.
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
//! # When not to use it
//!
//! * When keys must be listed, or the set is small enough for a hash set.
//! * When the set never changes: xor and fuse filters take 1.1 to 1.2 times the least memory, these 1.44 times.
//! * When keys must be taken out of a plain filter: take [`counting`] by the intuitive rule, or [`table`].
//! * With the key that everybody knows ([`hash::SipKey::public`]) or [`hash::Unkeyed`], where others choose the keys:
//!   they could choose keys that collide.
//!
//! # What is certain
//!
//! * A count is never below the truth; where cells are full it says "at least".
//! * A key that was inserted is always found, unless bits were cleared since: [`Filter::cleared_bits`].
//! * The false-positive rate of a filter holding its capacity is, on average over hash keys, the promised one or
//!   less; [`Filter::present_rate`] tells what a particular filter's bits amount to. Formulas are in [`maths`].
//! * Equal keys in any order give equal bits, on every processor: kernels for AVX2 and AVX-512 are chosen at run
//!   time and give what the scalar ones give. There are no features to choose.
//! * Nothing here reads a clock or opens a file, and what is random comes from a seed of the caller's.
//!
//! # What is asked of you
//!
//! * Hashes of one filter come from one key; files and unions compare its fingerprint.
//! * A promise has 1 key or more, and a rate between [`maths::RATE_MIN`] and 1; a filter has at most
//!   [`layout::MAX_BITS`] bits. Other numbers are refused by an error that names them.
//! * Files are little-endian. In place they need words aligned to 8 bytes, as mappings are.
//!
//! # Sources
//!
//! The page-local layout is Zawierucha's ("Minimizing page faults of Bloom filters"); merging by OR, and counting with
//! its refined rule, its merges and its split storage are from "Enhancing collaborative spam detection with Bloom
//! filters" (ACSAC 2006); the split line is the known "split block" design, widened to 64-bit sectors. Retouching is
//! Donnet, Baynat and Friedman's ("Retouched Bloom filters"), bins are Natarajan, Subramanian and Premalatha's
//! ("Optimization of Bloom filter using simulated annealing for spam filtering").

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
