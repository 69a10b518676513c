//! The file of a bin filter: the bits of all bins, then what is said of each, then notes.
//!
//! Bins are small, so they do not begin on pages of their own but on words.

use std::io;

use super::kind::impossible;
use super::{DIGEST_BYTES, FileKind, FileView, Header, Stored};
use crate::bins::{BINS_MAX, BinFilter, Kept};
use crate::error::FormatError;
use crate::filter::Filter;
use crate::hash::KeyFingerprint;
use crate::layout::{AnyLayout, Flat, Layout};
use crate::maths::bins::Bin;
use crate::memory::{HugePages, PAGE_BYTES};

/// The most notes: what a score needs beside the bins is a handful of numbers.
pub(crate) const NOTES_MAX: usize = 64;

/// Bytes of what is said of a bin.
pub(super) const BIN_BYTES: u64 = 48;
/// Bytes of a note.
pub(super) const NOTE_BYTES: u64 = 32;
/// Bytes of a note's name.
const NAME_BYTES: usize = 24;

/// A number with a name: what the owner of a bin filter wants to find again beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// 1 to 24 printable ASCII characters.
    pub name: String,
    /// Any finite number.
    pub value: f64,
}

/// A bin filter as its file has it.
#[derive(Debug)]
pub struct BinFile {
    /// The bins and their filters. Bins that were dropped are not in the file.
    pub filter: BinFilter,
    /// For each bin, how often its keys are met in texts of the first and of the second kind, from 0 to 1.
    pub shares: Vec<[f64; 2]>,
    /// Numbers by name.
    pub notes: Vec<Note>,
}

impl BinFile {
    /// The value of the note with this name.
    pub fn note(&self, name: &str) -> Option<f64> {
        self.notes.iter().find(|note| note.name == name).map(|note| note.value)
    }

    /// Refuses what no reader would take.
    pub fn check(&self) -> Result<(), FormatError> {
        let bins = self.filter.kept().len();
        let notes = self.notes.len();
        if self.shares.len() != bins {
            return Err(impossible("shares", self.shares.len(), format!("there are {bins} bins")));
        }
        check(&self.layout()?, bins as u64, notes as u64)?;
        self.filter.kept().iter().zip(&self.shares).try_for_each(|(kept, shares)| check_bin(kept, shares))?;
        self.notes.iter().try_for_each(check_note)
    }

    fn layout(&self) -> Result<AnyLayout, FormatError> {
        let words = self.filter.kept().iter().map(|kept| words_of(&kept.filter)).sum::<usize>();
        Ok(Flat::new(words as u64 * 64, 1)?.any())
    }

    /// What is said of bins, and notes.
    fn behind(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kept, shares) in self.filter.kept().iter().zip(&self.shares) {
            bytes.extend((kept.place as u32).to_le_bytes());
            bytes.extend(kept.filter.layout().k().to_le_bytes());
            bytes.extend(kept.bin.keys.to_le_bytes());
            bytes.extend(kept.filter.layout().bits().to_le_bytes());
            bytes.extend(kept.bin.weight.to_le_bytes());
            bytes.extend(shares.iter().flat_map(|share| share.to_le_bytes()));
        }
        for note in &self.notes {
            let mut name = [0; NAME_BYTES];
            name[..note.name.len()].copy_from_slice(note.name.as_bytes());
            bytes.extend(name);
            bytes.extend(note.value.to_le_bytes());
        }
        bytes
    }
}

/// # Panics
/// When [`BinFile::check`] would refuse it.
impl Stored for BinFile {
    fn header(&self) -> Header {
        self.check().expect("bins and notes are within their limits");
        Header {
            kind: FileKind::Bins { bins: self.filter.kept().len() as u64, notes: self.notes.len() as u64 },
            layout: self.layout().expect("checked"),
            promise: None,
            fingerprint: self
                .filter
                .kept()
                .first()
                .map_or(KeyFingerprint([0; 16]), |kept| kept.filter.fingerprint()),
            table_digest: [0; DIGEST_BYTES],
            cleared_bits: 0,
        }
    }

    fn for_each_page(&self, mut page: impl FnMut(&[u8; PAGE_BYTES]) -> io::Result<()>) -> io::Result<()> {
        let mut bits: Vec<u8> = Vec::new();
        for kept in self.filter.kept() {
            bits.extend(
                kept.filter.words()[..words_of(&kept.filter)].iter().flat_map(|word| word.to_le_bytes()),
            );
        }
        for mut bytes in [bits, self.behind()] {
            bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES), 0);
            bytes.as_chunks().0.iter().try_for_each(&mut page)?;
        }
        Ok(())
    }
}

impl FileView<'_> {
    /// A copy of the bin filter. The pages are unchecked, but what they say of bins must be possible.
    pub fn to_bins(&self) -> Result<BinFile, FormatError> {
        let FileKind::Bins { bins, notes } = self.header.kind else {
            return Err(FormatError::OtherKind { found: self.header.kind.as_str(), wanted: "a bin filter" });
        };
        let (base, behind) = self.pages.split_at(self.header.layout.pages() as usize);
        let behind = behind.as_flattened();
        let words = base.as_flattened().as_chunks::<8>().0;
        let (records, rest) = behind.split_at((bins * BIN_BYTES) as usize);
        let mut words = &words[..(self.header.layout.bits() / 64) as usize];
        let (mut kept, mut shares): (Vec<Kept>, Vec<[f64; 2]>) = (Vec::new(), Vec::new());
        for record in records.as_chunks::<{ BIN_BYTES as usize }>().0 {
            let (bin, share) = read_bin(record, &mut words, self.header.fingerprint)?;
            if kept.last().is_some_and(|last| last.place >= bin.place) {
                return Err(impossible("place", bin.place, "places rise from bin to bin"));
            }
            check_bin(&bin, &share)?;
            kept.push(bin);
            shares.push(share);
        }
        if !words.is_empty() {
            return Err(impossible("bits", self.header.layout.bits(), "more than the bins have"));
        }
        let notes = rest.as_chunks::<{ NOTE_BYTES as usize }>().0.iter().take(notes as usize).map(read_note);
        Ok(BinFile { filter: BinFilter::of_kept(kept), shares, notes: notes.collect::<Result<_, _>>()? })
    }
}

/// What a header may say of a bin filter.
pub(super) fn check(layout: &AnyLayout, bins: u64, notes: u64) -> Result<(), FormatError> {
    if !(1..=BINS_MAX as u64).contains(&bins) {
        return Err(impossible("bins", bins, format!("there are 1 to {BINS_MAX}")));
    }
    if notes > NOTES_MAX as u64 {
        return Err(impossible("notes", notes, format!("there are at most {NOTES_MAX}")));
    }
    if !matches!(layout, AnyLayout::Flat(_)) || layout.k() != 1 || !layout.bits().is_multiple_of(64) {
        return Err(impossible("layout", layout.bits(), "the bits of bins are flat, k 1, and whole words"));
    }
    Ok(())
}

fn check_bin(kept: &Kept, shares: &[f64; 2]) -> Result<(), FormatError> {
    if kept.place >= BINS_MAX {
        return Err(impossible("place", kept.place, format!("places end at {BINS_MAX}")));
    }
    if kept.bin.keys == 0 {
        return Err(impossible("keys", 0, "a bin has at least one"));
    }
    if !kept.bin.weight.is_finite() {
        return Err(impossible("weight", kept.bin.weight, "it is no number"));
    }
    match shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        Some(share) => Err(impossible("share", share, "shares lie between 0 and 1")),
        None => Ok(()),
    }
}

fn check_note(note: &Note) -> Result<(), FormatError> {
    let sound = (1..=NAME_BYTES).contains(&note.name.len());
    if !sound || !note.name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Err(impossible("note", format!("{:?}", note.name), "names are 1 to 24 printable characters"));
    }
    if !note.value.is_finite() {
        return Err(impossible("note", note.value, "it is no number"));
    }
    Ok(())
}

/// Reads a bin, and takes its bits from the front of `words`.
fn read_bin(
    record: &[u8; BIN_BYTES as usize],
    words: &mut &[[u8; 8]],
    fingerprint: KeyFingerprint,
) -> Result<(Kept, [f64; 2]), FormatError> {
    let word = |at: usize| std::array::from_fn(|i| record[8 * at + i]);
    let number = |at| u64::from_le_bytes(word(at));
    let real = |at| f64::from_le_bytes(word(at));
    let place = (number(0) & 0xffff_ffff) as usize;
    let k = (number(0) >> 32) as u32;
    let keys = number(1);
    let bits = number(2);
    let refused = |why: String| impossible("bin", format!("{bits} bits, k {k}"), why);
    let layout = Flat::new(bits, k).map_err(|error| refused(error.to_string()))?;
    let count = bits.div_ceil(64) as usize;
    let (mine, others) =
        words.split_at_checked(count).ok_or_else(|| refused("the file has fewer bits left".into()))?;
    *words = others;
    let mut filter = Filter::new(layout, None, fingerprint, HugePages::Default)?;
    for (word, bytes) in filter.words_mut().iter_mut().zip(mine) {
        *word = u64::from_le_bytes(*bytes);
    }
    let over = filter.words()[count - 1].checked_shr((bits % 64) as u32).unwrap_or(0);
    if !bits.is_multiple_of(64) && over != 0 {
        return Err(FormatError::Padding);
    }
    Ok((Kept { place, bin: Bin { keys, weight: real(3) }, filter }, [real(4), real(5)]))
}

fn read_note(record: &[u8; NOTE_BYTES as usize]) -> Result<Note, FormatError> {
    let (name, value) = record.split_at(NAME_BYTES);
    let end = name.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let value = f64::from_le_bytes(std::array::from_fn(|i| value[i]));
    let note = Note { name: String::from_utf8_lossy(&name[..end]).into_owned(), value };
    check_note(&note)?;
    Ok(note)
}

/// The words that a bin's bits take.
fn words_of(filter: &Filter<Flat>) -> usize {
    filter.layout().bits().div_ceil(64) as usize
}
