//! Writing a filter file: equal filters give equal bytes.

use std::io;

use super::kind::{HIGH_BYTES, high_pages};
use super::{DIGEST_BYTES, FileKind, Header, table_bytes};
use crate::cells::{Cells, PackedCells, SplitCells};
use crate::counting::{CountingFilter, Rule, RuleName};
use crate::error::GeometryError;
use crate::filter::Filter;
use crate::layout::Layout;
use crate::memory::{HugePages, PAGE_BYTES, PAGE_WORDS, PageBuf};

/// A filter that can be written to a file.
pub trait Stored {
    /// Its header, the digest of its table aside.
    fn header(&self) -> Header;

    /// Calls `page` with each page of the file, in order, until one fails.
    fn for_each_page(&self, page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()>;
}

/// Writes `filter` to `out`: header, table, pages. No timestamps, no padding of unknown content.
pub fn write(filter: &impl Stored, out: &mut impl io::Write) -> io::Result<()> {
    let (header, table) = sealed(filter)?;
    out.write_all(&header.encode())?;
    out.write_all(&table)?;
    filter.for_each_page(|page| out.write_all(page))?;
    out.flush()
}

/// The digest that `filter`'s file would have: the one in its header, which vouches for the whole of it.
pub fn digest(filter: &impl Stored) -> [u8; DIGEST_BYTES] {
    let (header, _) = sealed(filter).expect("digesting a page cannot fail");
    *header.encode().last_chunk().expect("a page is longer than a digest")
}

/// The header with the digest of the table, and the table.
fn sealed(filter: &impl Stored) -> io::Result<(Header, Vec<u8>)> {
    let header = filter.header();
    let mut table = Vec::with_capacity(table_bytes(header.pages()) as usize);
    filter.for_each_page(|page| {
        table.extend_from_slice(blake3::hash(page).as_bytes());
        Ok(())
    })?;
    debug_assert_eq!(table.len() as u64, header.pages() * DIGEST_BYTES as u64);
    table.resize(table_bytes(header.pages()) as usize, 0);
    Ok((Header { table_digest: blake3::hash(&table).into(), ..header }, table))
}

/// The table of the digests of these pages.
pub(crate) fn table_of(words: &[u64]) -> Vec<u8> {
    let (pages, _) = words.as_chunks::<PAGE_WORDS>();
    let mut table = Vec::with_capacity(table_bytes(pages.len() as u64) as usize);
    for page in pages {
        table.extend_from_slice(blake3::hash(&le_bytes(page)).as_bytes());
    }
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
    write_words(words, |page| out.write_all(page))?;
    out.flush()
}

impl<L: Layout, S: AsRef<[u64]>> Stored for Filter<L, S> {
    fn header(&self) -> Header {
        Header {
            kind: FileKind::Plain,
            layout: self.layout().any(),
            promise: self.promise(),
            fingerprint: self.fingerprint(),
            table_digest: [0; DIGEST_BYTES],
            cleared_bits: self.cleared_bits(),
        }
    }

    fn for_each_page(&self, page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
        write_words(self.words(), page)
    }
}

/// Cells that know how they stand in a file.
pub trait StoredCells: Cells {
    /// The kind of a filter of these cells.
    fn kind(&self, rule: RuleName) -> FileKind;

    /// Calls `page` with each page of the file, in order, until one fails.
    fn for_each_page(&self, page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()>;
}

impl<R: Rule, L: Layout, C: StoredCells> Stored for CountingFilter<R, L, C> {
    fn header(&self) -> Header {
        Header {
            kind: self.cells().kind(R::NAME),
            layout: self.layout().any(),
            promise: self.promise(),
            fingerprint: self.fingerprint(),
            table_digest: [0; DIGEST_BYTES],
            cleared_bits: 0,
        }
    }

    fn for_each_page(&self, page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
        self.cells().for_each_page(page)
    }
}

impl<S: AsRef<[u64]>> StoredCells for PackedCells<S> {
    fn kind(&self, rule: RuleName) -> FileKind {
        FileKind::Packed { rule, packing: self.shape() }
    }

    fn for_each_page(&self, page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
        write_words(self.words(), page)
    }
}

/// The base, then the high parts in the order of their cells: tables depend on the order of insertion, files do not.
impl StoredCells for SplitCells {
    fn kind(&self, rule: RuleName) -> FileKind {
        FileKind::Split { rule, split: self.split(), highs: self.highs() }
    }

    fn for_each_page(&self, mut page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
        let pages = self.split().base().pages(self.len()) as usize;
        (0..pages).try_for_each(|index| page(&le_bytes(&self.base_page(index))))?;
        let mut bytes = [0; PAGE_BYTES];
        let mut used = 0;
        let mut result = Ok(());
        self.for_each_nonzero(|_, value| {
            let high = self.split().high_of(value) as u32;
            if high == 0 || result.is_err() {
                return;
            }
            bytes[used..used + HIGH_BYTES as usize].copy_from_slice(&high.to_le_bytes());
            used += HIGH_BYTES as usize;
            if used == PAGE_BYTES {
                result = page(&bytes);
                (bytes, used) = ([0; PAGE_BYTES], 0);
            }
        });
        result?;
        if used > 0 { page(&bytes) } else { Ok(()) }
    }
}

/// The pages of cells as a file has them.
pub(crate) fn pages_of(cells: &SplitCells) -> Result<PageBuf, GeometryError> {
    let pages = cells.split().base().pages(cells.len()) + high_pages(cells.highs());
    let mut buffer = PageBuf::zeroed(pages, HugePages::Default)?;
    let mut rest = buffer.as_mut();
    let copied = cells.for_each_page(|page| {
        let (here, behind) = std::mem::take(&mut rest).split_at_mut(PAGE_WORDS);
        for (word, bytes) in here.iter_mut().zip(page.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        rest = behind;
        Ok(())
    });
    copied.expect("copying a page cannot fail");
    Ok(buffer)
}

fn write_words(words: &[u64], mut page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
    words.as_chunks::<PAGE_WORDS>().0.iter().try_for_each(|words| page(&le_bytes(words)))
}

/// A page as it stands in the file, on machines of either byte order.
fn le_bytes(page: &[u64; PAGE_WORDS]) -> [u8; PAGE_BYTES] {
    let mut bytes = [0; PAGE_BYTES];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(page) {
        *bytes = word.to_le_bytes();
    }
    bytes
}
