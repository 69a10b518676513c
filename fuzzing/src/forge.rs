//! Makes filter files out of fuzz input, and digests that fit them.
//!
//! Digests stop a fuzzer at the door: hardly a mutation gets past the header's. So the first byte of the
//! input, the mode, says which digests are made anew, and whether the rest is a file or a short description
//! of one. `docs/reference/format.md` draws the file; the offsets are stated here a second time on purpose, and
//! [`check_forge`](crate::format::check_forge) notices when the two disagree.

use seenit_filter::PAGE_BYTES;
use seenit_filter::file::DIGEST_BYTES;

/// The modes, to be combined.
pub mod mode {
    /// Write the header's own digest anew.
    pub const SEAL_HEADER: u8 = 1;
    /// Write the table's digest, which stands in the header, anew.
    pub const SEAL_TABLE: u8 = 2;
    /// Write the pages' digests, which stand in the table, anew.
    pub const SEAL_PAGES: u8 = 4;
    /// All digests.
    pub const SEAL_ALL: u8 = SEAL_HEADER | SEAL_TABLE | SEAL_PAGES;
    /// The rest is not a file, but header fields and patches: see [`forge`](super::forge).
    pub const COMPACT: u8 = 8;
}

/// Where the number of pages stands in the header.
const PAGE_COUNT_AT: usize = 40;
/// Where the table's digest stands, behind the fields that a compact input gives; patches reach those behind it.
pub const TABLE_DIGEST_AT: usize = 80;
/// Where the header's own digest stands.
const HEADER_DIGEST_AT: usize = PAGE_BYTES - DIGEST_BYTES;
/// Digests in one page of the table.
const DIGESTS_A_PAGE: usize = PAGE_BYTES / DIGEST_BYTES;

/// The most pages of a described file: with header and table it has 2^15 bytes, what a patch can address.
const DESCRIBED_PAGES_MAX: u64 = 6;
/// Bytes of a patch: where, and what to xor there.
const PATCH_BYTES: usize = 3;
/// The bit of a patch's address that puts it off until the digests are made: damage, not content.
const PATCH_LATE: u16 = 1 << 15;

/// The file that `input` asks for. Every input asks for some file; no input at all for an empty one.
///
/// A compact input goes on with [`TABLE_DIGEST_AT`] bytes of header fields, then patches of three bytes each:
/// a 15-bit address with a bit for "after sealing", and the byte to xor. Few bytes to mutate, each of them
/// with a meaning, and as many pages as the header claims, within reason.
pub fn forge(input: &[u8]) -> Vec<u8> {
    let Some((&mode, rest)) = input.split_first() else {
        return Vec::new();
    };
    if mode & mode::COMPACT == 0 {
        let mut file = rest.to_vec();
        seal(&mut file, mode);
        return file;
    }
    let (fields, patches) = rest.split_at(rest.len().min(TABLE_DIGEST_AT));
    let mut file = blank(fields);
    patch(&mut file, patches, 0);
    seal(&mut file, mode);
    patch(&mut file, patches, PATCH_LATE);
    file
}

/// A file with these header fields, no digests and empty pages.
fn blank(fields: &[u8]) -> Vec<u8> {
    let mut header = [0; PAGE_BYTES];
    header[..fields.len()].copy_from_slice(fields);
    let claimed: [u8; 8] = std::array::from_fn(|i| header[PAGE_COUNT_AT + i]);
    let pages = u64::from_le_bytes(claimed).min(DESCRIBED_PAGES_MAX) as usize;
    let mut file = header.to_vec();
    file.resize((2 + pages) * PAGE_BYTES, 0);
    file
}

/// Applies the patches that are for now: those whose late bit is `when`.
fn patch(file: &mut [u8], patches: &[u8], when: u16) {
    let (patches, _) = patches.as_chunks::<PATCH_BYTES>();
    for &[low, high, value] in patches {
        let address = u16::from_le_bytes([low, high]);
        let at = usize::from(address & !PATCH_LATE);
        if address & PATCH_LATE == when && at < file.len() {
            file[at] ^= value;
        }
    }
}

/// Makes the digests that `mode` asks for, the inner ones first. What is too short for a digest goes without.
pub(crate) fn seal(file: &mut [u8], mode: u8) {
    let Some((header, rest)) = file.split_at_mut_checked(PAGE_BYTES) else {
        return;
    };
    let (table, pages) = rest.split_at_mut(table_pages(rest.len() / PAGE_BYTES) * PAGE_BYTES);
    if mode & mode::SEAL_PAGES != 0 {
        let (digests, _) = table.as_chunks_mut::<DIGEST_BYTES>();
        for (digest, page) in digests.iter_mut().zip(pages.as_chunks::<PAGE_BYTES>().0) {
            *digest = blake3::hash(page).into();
        }
    }
    if mode & mode::SEAL_TABLE != 0 {
        header[TABLE_DIGEST_AT..][..DIGEST_BYTES].copy_from_slice(blake3::hash(table).as_bytes());
    }
    if mode & mode::SEAL_HEADER != 0 {
        let digest = blake3::hash(&header[..HEADER_DIGEST_AT]);
        header[HEADER_DIGEST_AT..].copy_from_slice(digest.as_bytes());
    }
}

/// How many of `units` pages of table and content are table: each page of it vouches for 128 others.
fn table_pages(units: usize) -> usize {
    units.div_ceil(DIGESTS_A_PAGE + 1)
}
