//! A diff: what to change in one filter file to have another, to the byte.

use std::borrow::Cow;
use std::io;

use super::bits::{read_changes, write_changes};
use super::envelope::{Envelope, Kind, ShortDigest};
use super::stream::{BitReader, BitWriter};
use super::{DeltaError, ENVELOPE_BYTES};
use crate::file::{self, FileView, Header, PATCHABLE};
use crate::layout::Layout;
use crate::memory::{HugePages, PAGE_BYTES, PageBuf};

/// What to change in one file to have another: header fields, bits gained, bits lost. Bound to the digests of both.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    envelope: Envelope,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Diff<'a> {
    /// The way from `old` to `new`, whose pages the caller has checked. Refuses files of filters of two kinds.
    pub fn between(old: &FileView<'_>, new: &FileView<'_>) -> Result<Self, DeltaError> {
        let (from, to) = (old.filter()?, new.filter()?);
        from.like(&to)?;
        let (old_page, new_page) = (old.header().encode(), new.header().encode());
        let mut out = BitWriter::default();
        write_patch(&mut out, &old_page[PATCHABLE], &new_page[PATCHABLE]);
        let bits = from.layout().bits();
        out = write_changes(out, from.words(), to.words(), bits);
        let (old, new) = (digest_of(&old_page), digest_of(&new_page));
        let envelope = Envelope { kind: Kind::Diff, old, new };
        Ok(Diff { envelope, bytes: envelope.seal(&out.finish()).into() })
    }

    /// Reads a diff; its payload is looked at when it is applied.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, DeltaError> {
        let bytes = bytes.into();
        let (envelope, _) = Envelope::open_as(Kind::Diff, &bytes)?;
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

    /// The new file, made from the old one and from no other. Memory is that of the new file's pages.
    pub fn apply(&self, old: &FileView<'_>) -> Result<NewFile, DeltaError> {
        let mut header = old.header().encode();
        let (expected, found) = (self.envelope.old, digest_of(&header));
        if found != expected {
            return Err(DeltaError::OtherOld { expected, found });
        }
        let from = old.filter()?;
        let mut reader = BitReader::new(&self.bytes[ENVELOPE_BYTES..]);
        read_patch(&mut reader, &mut header[PATCHABLE])?;
        let mut pages = PageBuf::zeroed(from.layout().pages(), HugePages::Default)?;
        pages.as_mut().copy_from_slice(from.words());
        let bits = from.layout().bits();
        read_changes(&mut reader, from.words(), pages.as_mut(), bits)?;
        reader.finish()?;
        let table = file::table_of(pages.as_ref());
        file::seal(&mut header, &table);
        let new = NewFile { header: Box::new(header), table, pages };
        let (expected, found) = (self.envelope.new, new.digest());
        if found != expected {
            return Err(DeltaError::OtherNew { expected, found });
        }
        Header::decode(&new.header)?;
        Ok(new)
    }
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
        let (before, length) = (reader.take_number()?, reader.take_number()?);
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
            let (mut reader, mut patched) = (BitReader::new(&bytes), old.clone());
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
