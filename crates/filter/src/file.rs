//! The file of a filter: a header page, a table of page digests, the pages. Usable in place.
//!
//! `docs/reference/format.md` draws it byte by byte. In short: everything is little-endian and in units of 4096
//! bytes; the header carries the geometry, the promise, the *fingerprint* of the hash key (never the key), the digest
//! of the table, and its own digest; the table has the BLAKE3 digest of every page. So the header's digest vouches
//! for the whole file, a mapped file opens by looking at one page, and once the table has been checked any page can
//! be checked alone.
//!
//! Digests show damage, not forgery: whoever can write the file can make them anew.

mod bins;
mod counting;
mod header;
mod kind;
mod padding;
mod view;
mod write;

pub use bins::{BinFile, Note};
pub use header::{FORMAT_VERSION, Header};
pub(crate) use header::{MAGIC, PATCHABLE, layout_code, seal};
pub use kind::FileKind;
pub use view::FileView;
pub use write::{Stored, StoredCells, digest, write};
pub(crate) use write::{pages_of, table_of, write_parts};

/// Bytes of a BLAKE3 digest.
pub const DIGEST_BYTES: usize = 32;

/// Bytes the digest table of `pages` pages takes, padding included.
fn table_bytes(pages: u64) -> u64 {
    (pages * DIGEST_BYTES as u64).next_multiple_of(crate::PAGE_BYTES as u64)
}
