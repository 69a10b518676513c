//! A diff: what to change in one filter file to have another, to the byte.

use std::borrow::Cow;
use std::io;

use super::bits::{read_changes, write_changes};
use super::cells;
use super::envelope::{DeltaKind, Envelope, ShortDigest};
use super::stream::{BitReader, BitWriter};
use super::{Bound, DeltaError, ENVELOPE_BYTES, bound_of_bits, bound_of_cells};
use crate::error::FormatError;
use crate::file::{self, FileView, Header, PATCHABLE};
use crate::layout::Layout;
use crate::memory::{HugePages, PAGE_BYTES, PAGE_WORDS, PageBuf};

/// What to change in one file to have another: header fields, and bits or cells. Bound to the digests of both.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    envelope: Envelope,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Diff<'a> {
    /// The way from `old` to `new`, whose pages the caller has checked. Refuses files of filters of two kinds.
    pub fn between(old: &FileView<'_>, new: &FileView<'_>) -> Result<Self, DeltaError> {
        old.header().like(new.header())?;
        let old_page = old.header().encode();
        let new_page = new.header().encode();
        let mut out = BitWriter::default();
        write_patch(&mut out, &old_page[PATCHABLE], &new_page[PATCHABLE]);
        let payload = write_body(out, old, new)?;
        let old = digest_of(&old_page);
        let new = digest_of(&new_page);
        let envelope = Envelope { kind: DeltaKind::Diff, old, new };
        Ok(Diff { envelope, bytes: envelope.seal(&payload).into() })
    }

    /// How much changes from `old` to `new`, and the fewest bits that can say it.
    pub fn bound(old: &FileView<'_>, new: &FileView<'_>) -> Result<Bound, DeltaError> {
        old.header().like(new.header())?;
        let huge = HugePages::Default;
        match old.header().kind {
            file::FileKind::Plain => bound_of_bits(&old.filter()?, &new.filter()?),
            file::FileKind::Packed { .. } => Ok(bound_of_cells(&old.packed_cells()?, &new.packed_cells()?)),
            file::FileKind::Split { .. } => {
                Ok(bound_of_cells(&old.copied_split_cells(huge)?, &new.copied_split_cells(huge)?))
            }
            file::FileKind::Bins { .. } => Err(no_deltas(old)),
        }
    }

    /// Reads a diff; its payload is looked at when it is applied.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, DeltaError> {
        let bytes = bytes.into();
        let (envelope, _) = Envelope::open_as(DeltaKind::Diff, &bytes)?;
        Ok(Diff { envelope, bytes })
    }

    /// The whole of it, to be sent or stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it belongs to.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The new file, made from the old one and from no other. Memory is that of the new file's pages, and for split
    /// storage that of its tables.
    pub fn apply(&self, old: &FileView<'_>) -> Result<NewFile, DeltaError> {
        let mut header = old.header().encode();
        let expected = self.envelope.old;
        let found = digest_of(&header);
        if found != expected {
            return Err(DeltaError::OtherOld { expected, found });
        }
        let mut reader = BitReader::new(&self.bytes[ENVELOPE_BYTES..]);
        read_patch(&mut reader, &mut header[PATCHABLE])?;
        let pages = read_body(reader, old)?;
        let table = file::table_of(pages.as_ref());
        file::seal(&mut header, (pages.as_ref().len() / PAGE_WORDS) as u64, &table);
        let new = NewFile { header: Box::new(header), table, pages };
        let expected = self.envelope.new;
        let found = new.digest();
        if found != expected {
            return Err(DeltaError::OtherNew { expected, found });
        }
        Header::decode(&new.header)?;
        Ok(new)
    }
}

/// Writes what changes behind the header: for bits in the very stream, for cells as a payload from the next byte on.
fn write_body(out: BitWriter, old: &FileView<'_>, new: &FileView<'_>) -> Result<Vec<u8>, DeltaError> {
    let cells = match old.header().kind {
        file::FileKind::Plain => {
            let from = old.filter()?;
            let to = new.filter()?;
            return Ok(write_changes(out, from.words(), to.words(), from.layout().bits()).finish());
        }
        file::FileKind::Packed { .. } => cells::diff(&old.packed_cells()?, &new.packed_cells()?),
        file::FileKind::Split { .. } => {
            let huge = HugePages::Default;
            cells::diff(&old.copied_split_cells(huge)?, &new.copied_split_cells(huge)?)
        }
        file::FileKind::Bins { .. } => return Err(no_deltas(old)),
    };
    Ok([out.finish(), cells].concat())
}

/// The pages of the new file.
fn read_body(mut reader: BitReader, old: &FileView<'_>) -> Result<PageBuf, DeltaError> {
    match old.header().kind {
        file::FileKind::Plain => {
            let from = old.filter()?;
            let mut pages = PageBuf::zeroed(from.layout().pages(), HugePages::Default)?;
            pages.as_mut().copy_from_slice(from.words());
            read_changes(&mut reader, from.words(), pages.as_mut(), from.layout().bits())?;
            reader.finish()?;
            Ok(pages)
        }
        file::FileKind::Packed { .. } => {
            let mut cells = old.copied_packed_cells(HugePages::Default)?;
            cells::apply_diff(&mut cells, reader.rest()?)?;
            Ok(cells.into_words())
        }
        file::FileKind::Split { .. } => {
            let mut cells = old.copied_split_cells(HugePages::Default)?;
            cells::apply_diff(&mut cells, reader.rest()?)?;
            Ok(file::pages_of(&cells)?)
        }
        file::FileKind::Bins { .. } => Err(no_deltas(old)),
    }
}

/// Bins are trained anew, and then every bit differs: a delta would be as long as the file.
fn no_deltas(old: &FileView<'_>) -> DeltaError {
    let wanted = "a plain or a counting filter, which have deltas";
    FormatError::OtherKind { found: old.header().kind.as_str(), wanted }.into()
}

/// A file as a diff makes it, not written yet.
#[derive(Debug)]
pub struct NewFile {
    header: Box<[u8; PAGE_BYTES]>,
    table: Vec<u8>,
    pages: PageBuf,
}

impl NewFile {
    /// The first half of its header digest.
    pub fn digest(&self) -> ShortDigest {
        digest_of(&self.header)
    }

    /// How long it is.
    pub fn file_bytes(&self) -> u64 {
        (PAGE_BYTES + self.table.len() + size_of_val(self.pages.as_ref())) as u64
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        file::write_parts(&self.header, &self.table, self.pages.as_ref(), out)
    }
}

/// The first half of the digest at the end of a header page: it vouches for the whole file.
fn digest_of(header: &[u8; PAGE_BYTES]) -> ShortDigest {
    let (_, digest) = header.split_last_chunk().expect("a page is longer than a digest");
    ShortDigest::of(digest)
}

/// Writes the runs of bytes that differ: one bit, whether there are any; how many; of each the bytes before it that do
/// not, its length, its bytes.
fn write_patch(out: &mut BitWriter, old: &[u8], new: &[u8]) {
    let differs = |&at: &usize| old[at] != new[at];
    let starts: Vec<usize> =
        (0..new.len()).filter(|&at| differs(&at) && (at == 0 || !differs(&(at - 1)))).collect();
    out.push(u64::from(!starts.is_empty()), 1);
    if starts.is_empty() {
        return;
    }
    out.push_number(starts.len() as u64);
    let mut done = 0;
    for start in starts {
        let end = (start..new.len()).find(|at| !differs(at)).unwrap_or(new.len());
        out.push_number((start - done) as u64);
        out.push_number((end - start) as u64);
        new[start..end].iter().for_each(|&byte| out.push(u64::from(byte), 8));
        done = end;
    }
}

/// Lays the runs over `bytes`.
fn read_patch(reader: &mut BitReader, bytes: &mut [u8]) -> Result<(), DeltaError> {
    if reader.take(1) == 0 {
        return Ok(());
    }
    let mut rest = bytes;
    for _ in 0..reader.take_number()? {
        let before = reader.take_number()?;
        let length = reader.take_number()?;
        let run = usize::try_from(before).ok().and_then(|before| rest.split_at_mut_checked(before));
        let run = run.and_then(|(_, behind)| behind.split_at_mut_checked(usize::try_from(length).ok()?));
        let (run, behind) = run
            .filter(|(run, _)| !run.is_empty())
            .ok_or(DeltaError::Payload("a header field lies beyond it"))?;
        run.iter_mut().for_each(|byte| *byte = reader.take(8) as u8);
        reader.check()?;
        rest = behind;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_read_as_written() {
        let old: Vec<u8> = (0..200).map(|i| i as u8).collect();
        for changed in [&[][..], &[0], &[199], &[0, 1, 2, 50, 51, 199], &[3, 5, 7]] {
            let mut new = old.clone();
            changed.iter().for_each(|&at: &usize| new[at] ^= 0x40);
            let mut out = BitWriter::default();
            write_patch(&mut out, &old, &new);
            let bytes = out.finish();
            assert!(!changed.is_empty() || bytes.len() == 1);
            let mut reader = BitReader::new(&bytes);
            let mut patched = old.clone();
            read_patch(&mut reader, &mut patched).expect("sound");
            reader.finish().expect("all was read");
            assert_eq!(patched, new);
            assert!(
                changed.is_empty()
                    || read_patch(&mut BitReader::new(&bytes), &mut patched[..changed[0]]).is_err()
            );
        }
    }
}
