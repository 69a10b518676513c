//! Writing a filter file: equal filters give equal bytes.

use std::io;

use super::{DIGEST_BYTES, Header, table_bytes};
use crate::filter::Filter;
use crate::layout::Layout;
use crate::memory::{PAGE_BYTES, PAGE_WORDS};

/// Writes `filter` to `out`: header, table, pages. No timestamps, no padding of unknown content.
pub fn write<L: Layout, S: AsRef<[u64]>>(filter: &Filter<L, S>, out: &mut impl io::Write) -> io::Result<()> {
    let (pages, _) = filter.words().as_chunks::<PAGE_WORDS>();
    let mut table = Vec::with_capacity(table_bytes(pages.len() as u64) as usize);
    for page in pages {
        table.extend_from_slice(blake3::hash(&le_bytes(page)).as_bytes());
    }
    debug_assert_eq!(table.len(), pages.len() * DIGEST_BYTES);
    table.resize(table_bytes(pages.len() as u64) as usize, 0);
    let header = Header {
        layout: filter.layout().any(),
        promise: filter.promise(),
        fingerprint: filter.fingerprint(),
        table_digest: blake3::hash(&table).into(),
        cleared_bits: filter.cleared_bits(),
    };
    out.write_all(&header.encode())?;
    out.write_all(&table)?;
    for page in pages {
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
