//! Writing a filter file: equal filters give equal bytes.

use std::io;

use super::{DIGEST_BYTES, Header, table_bytes};
use crate::filter::Filter;
use crate::layout::Layout;
use crate::memory::{PAGE_BYTES, PAGE_WORDS};

/// Writes `filter` to `out`: header, table, pages. No timestamps, no padding of unknown content.
pub fn write<L: Layout, S: AsRef<[u64]>>(filter: &Filter<L, S>, out: &mut impl io::Write) -> io::Result<()> {
    let table = table_of(filter.words());
    write_parts(&header_of(filter, &table).encode(), &table, filter.words(), out)
}

/// The digest that `filter`'s file would have: the one in its header, which vouches for the whole of it.
pub fn digest<L: Layout, S: AsRef<[u64]>>(filter: &Filter<L, S>) -> [u8; DIGEST_BYTES] {
    let page = header_of(filter, &table_of(filter.words())).encode();
    *page.last_chunk().expect("a page is longer than a digest")
}

fn header_of<L: Layout, S: AsRef<[u64]>>(filter: &Filter<L, S>, table: &[u8]) -> Header {
    Header {
        layout: filter.layout().any(),
        promise: filter.promise(),
        fingerprint: filter.fingerprint(),
        table_digest: blake3::hash(table).into(),
    }
}

/// The table of the digests of these pages.
pub(crate) fn table_of(words: &[u64]) -> Vec<u8> {
    let (pages, _) = words.as_chunks::<PAGE_WORDS>();
    let mut table = Vec::with_capacity(table_bytes(pages.len() as u64) as usize);
    for page in pages {
        table.extend_from_slice(blake3::hash(&le_bytes(page)).as_bytes());
    }
    debug_assert_eq!(table.len(), pages.len() * DIGEST_BYTES);
    table.resize(table_bytes(pages.len() as u64) as usize, 0);
    table
}

/// Writes what a file is made of.
pub(crate) fn write_parts(
    header: &[u8; PAGE_BYTES],
    table: &[u8],
    words: &[u64],
    out: &mut impl io::Write,
) -> io::Result<()> {
    out.write_all(header)?;
    out.write_all(table)?;
    for page in words.as_chunks::<PAGE_WORDS>().0 {
        out.write_all(&le_bytes(page))?;
    }
    out.flush()
}

/// A page as it stands in the file, on machines of either byte order.
fn le_bytes(page: &[u64; PAGE_WORDS]) -> [u8; PAGE_BYTES] {
    let mut bytes = [0; PAGE_BYTES];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(page) {
        *bytes = word.to_le_bytes();
    }
    bytes
}
