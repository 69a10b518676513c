//! Reading a filter file in place: open looks at the header alone, pages are checked when asked.

use super::{DIGEST_BYTES, FileKind, Header, table_bytes};
use crate::error::{FormatError, GeometryError};
use crate::filter::Filter;
use crate::hash::KeyFingerprint;
use crate::layout::AnyLayout;
use crate::memory::{HugePages, PAGE_BYTES, PageBuf};

/// A filter file's bytes, most often a mapping, whose header has been checked.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'a> {
    pub(super) header: Header,
    table: &'a [u8],
    pub(super) pages: &'a [[u8; PAGE_BYTES]],
}

impl<'a> FileView<'a> {
    /// Checks the header and the length; touches no other page.
    pub fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let found = bytes.len() as u64;
        if bytes.starts_with(&crate::delta::MAGIC) {
            return Err(FormatError::Delta);
        }
        let (first, rest) = bytes.split_first_chunk().ok_or(FormatError::NoHeader(found))?;
        let header = Header::decode(first)?;
        if header.file_bytes() != found {
            return Err(FormatError::Length { expected: header.file_bytes(), found });
        }
        let (table, pages) = rest.split_at(table_bytes(header.pages()) as usize);
        Ok(FileView { header, table, pages: pages.as_chunks().0 })
    }

    /// What the filter is.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Refuses a file that was built with another key.
    pub fn expect_key(&self, expected: KeyFingerprint) -> Result<(), FormatError> {
        let found = self.header.fingerprint;
        if found == expected { Ok(()) } else { Err(FormatError::ForeignKey { expected, found }) }
    }

    /// Checks the table of page digests against the header. Before it has been, a page that fits the table proves
    /// nothing: both may come from another file.
    pub(crate) fn check_table(&self) -> Result<(), FormatError> {
        let padding = &self.table[self.pages.len() * DIGEST_BYTES..];
        let sealed = *blake3::hash(self.table).as_bytes() == self.header.table_digest;
        if !sealed || padding.iter().any(|&byte| byte != 0) {
            return Err(FormatError::Table);
        }
        Ok(())
    }

    /// Checks one page against the table, and that bits which belong to no cell are zero. A page that is not there is
    /// not sound.
    pub fn check_page(&self, page: usize) -> Result<(), FormatError> {
        let (digests, _) = self.table.as_chunks::<DIGEST_BYTES>();
        let sound =
            self.pages.get(page).is_some_and(|bytes| *blake3::hash(bytes).as_bytes() == digests[page]);
        if !sound {
            return Err(FormatError::Page(page as u64));
        }
        if !self.padding_is_zero(page) {
            return Err(FormatError::Padding);
        }
        Ok(())
    }

    /// Checks the table and every page; `progress` hears of each page.
    pub fn check_all(&self, mut progress: impl FnMut(u64)) -> Result<(), FormatError> {
        self.check_table()?;
        (0..self.pages.len()).try_for_each(|page| {
            self.check_page(page)?;
            progress(page as u64 + 1);
            Ok(())
        })
    }

    /// The plain filter, in place and unchecked. The bytes must be aligned for words, as mappings are.
    pub fn filter(&self) -> Result<Filter<AnyLayout, &'a [u64]>, FormatError> {
        self.expect_plain()?;
        Ok(self.described(self.words_in_place()?))
    }

    /// A copy of the plain filter in memory of its own, unchecked; on any machine and any alignment.
    pub fn to_filter(&self, huge: HugePages) -> Result<Filter, FormatError> {
        self.expect_plain()?;
        Ok(self.described(self.copied_words(huge)?))
    }

    /// All pages as words, in place.
    pub(super) fn words_in_place(&self) -> Result<&'a [u64], FormatError> {
        if cfg!(target_endian = "big") {
            return Err(FormatError::InPlace("this machine is big-endian"));
        }
        bytemuck::try_cast_slice(self.pages.as_flattened())
            .map_err(|_| FormatError::InPlace("they are not aligned to 8 bytes"))
    }

    /// All pages in memory of their own.
    pub(super) fn copied_words(&self, huge: HugePages) -> Result<PageBuf, GeometryError> {
        let mut pages = PageBuf::zeroed(self.pages.len() as u64, huge)?;
        let (bytes, _) = self.pages.as_flattened().as_chunks::<8>();
        for (word, bytes) in pages.as_mut().iter_mut().zip(bytes) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(pages)
    }

    fn expect_plain(&self) -> Result<(), FormatError> {
        match self.header.kind {
            FileKind::Plain => Ok(()),
            other => Err(FormatError::OtherKind { found: other.as_str(), wanted: FileKind::Plain.as_str() }),
        }
    }

    /// The filter that the header describes, with these words.
    fn described<S: AsRef<[u64]>>(&self, words: S) -> Filter<AnyLayout, S> {
        let Header { layout, promise, fingerprint, cleared_bits, .. } = self.header;
        Filter::from_parts(layout, promise, fingerprint, words).with_cleared(cleared_bits)
    }
}
