//! The header page: what the filter is, and a digest that vouches for it.

use super::{DIGEST_BYTES, table_bytes};
use crate::error::{FormatError, GeometryError};
use crate::filter::Promise;
use crate::hash::Fingerprint;
use crate::layout::{AnyLayout, Flat, LINE_BITS, Layout, Line, Paged};
use crate::memory::{PAGE_BITS, PAGE_BYTES};

/// The version this release writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The first byte is no text, the last one is a newline: transfers that mangle either are noticed at once.
pub(crate) const MAGIC: [u8; 8] = *b"\x89seenit\n";
/// The only kind of filter so far: one bit a position.
const KIND_PLAIN: u32 = 1;
/// Where the header's own digest lies; it covers everything before it.
const DIGEST_AT: usize = PAGE_BYTES - DIGEST_BYTES;
/// Where the digest of the table lies.
const TABLE_DIGEST_AT: usize = 80;
/// The bytes that a delta may change: fields in which files of one kind may differ, and reserved ones.
pub(crate) const PATCHABLE: std::ops::Range<usize> = TABLE_DIGEST_AT + DIGEST_BYTES..DIGEST_AT;
/// Where the fields end; from here to the digest all is zero.
const FIELDS_END: usize = 112;

/// The header of a filter file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Where the bits lie.
    pub layout: AnyLayout,
    /// What it was sized for.
    pub promise: Option<Promise>,
    /// The fingerprint of the hash key.
    pub fingerprint: Fingerprint,
    /// The BLAKE3 digest of the table of page digests, padding included.
    pub table_digest: [u8; DIGEST_BYTES],
}

impl Header {
    /// The length of the whole file.
    pub fn file_bytes(&self) -> u64 {
        let pages = self.layout.pages();
        PAGE_BYTES as u64 + table_bytes(pages) + pages * PAGE_BYTES as u64
    }

    /// The header page.
    pub fn encode(&self) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            page[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        put(&FORMAT_VERSION.to_le_bytes());
        put(&KIND_PLAIN.to_le_bytes());
        put(&layout_code(&self.layout).to_le_bytes());
        put(&self.layout.k().to_le_bytes());
        put(&self.layout.pages_per_key().to_le_bytes());
        put(&[0; 4]);
        put(&self.layout.bits().to_le_bytes());
        put(&self.layout.pages().to_le_bytes());
        put(&self.promise.map_or(0, |promise| promise.capacity).to_le_bytes());
        put(&self.promise.map_or(0.0, |promise| promise.rate).to_le_bytes());
        put(&self.fingerprint.0);
        put(&self.table_digest);
        debug_assert_eq!(at, FIELDS_END);
        seal_header(&mut page);
        page
    }

    /// Reads a header page. Version before digest: a later version may put its digest elsewhere.
    pub fn decode(page: &[u8; PAGE_BYTES]) -> Result<Self, FormatError> {
        let mut fields = Fields { page, at: 0 };
        if fields.bytes::<8>() != MAGIC {
            return Err(FormatError::Magic);
        }
        let found = fields.u32();
        if found != FORMAT_VERSION {
            return Err(FormatError::Version { found, known: FORMAT_VERSION });
        }
        if blake3::hash(&page[..DIGEST_AT]).as_bytes()[..] != page[DIGEST_AT..] {
            return Err(FormatError::HeaderDigest);
        }
        let kind = fields.u32();
        if kind != KIND_PLAIN {
            return Err(impossible("kind", kind, "this release knows kind 1 only"));
        }
        let (code, k, pages_per_key, reserved) = (fields.u32(), fields.u32(), fields.u32(), fields.u32());
        let (bits, pages) = (fields.u64(), fields.u64());
        let layout = layout_from(code, bits, k, pages_per_key)?;
        if pages != layout.pages() {
            return Err(impossible("pages", pages, "the bits take another number of pages"));
        }
        let promise = promise_from(fields.u64(), f64::from_bits(fields.u64()))?;
        let (fingerprint, table_digest) = (Fingerprint(fields.bytes()), fields.bytes());
        if reserved != 0 || page[FIELDS_END..DIGEST_AT].iter().any(|&byte| byte != 0) {
            return Err(impossible(
                "reserved",
                "a value other than zero",
                "this release knows no such field",
            ));
        }
        Ok(Header { layout, promise, fingerprint, table_digest })
    }
}

/// Puts the digest of `table` and its own digest into a header page.
pub(crate) fn seal(page: &mut [u8; PAGE_BYTES], table: &[u8]) {
    page[TABLE_DIGEST_AT..][..DIGEST_BYTES].copy_from_slice(blake3::hash(table).as_bytes());
    seal_header(page);
}

fn seal_header(page: &mut [u8; PAGE_BYTES]) {
    let digest = blake3::hash(&page[..DIGEST_AT]);
    page[DIGEST_AT..].copy_from_slice(digest.as_bytes());
}

fn impossible(field: &'static str, value: impl ToString, why: impl ToString) -> FormatError {
    FormatError::Field { field, value: value.to_string(), why: why.to_string() }
}

pub(crate) fn layout_code(layout: &AnyLayout) -> u32 {
    match layout {
        AnyLayout::Flat(_) => 1,
        AnyLayout::Paged(_) => 2,
        AnyLayout::Line(_) => 3,
    }
}

/// A header may claim anything; the constructors decide what can be.
fn layout_from(code: u32, bits: u64, k: u32, pages_per_key: u32) -> Result<AnyLayout, FormatError> {
    let refused = |error: GeometryError| impossible("geometry", format!("{bits} bits, k {k}"), error);
    let layout = match code {
        1 => Flat::new(bits, k).map_err(refused)?.any(),
        2 => Paged::new(bits / PAGE_BITS, pages_per_key, k).map_err(refused)?.any(),
        3 => Line::new(bits / LINE_BITS).map_err(refused)?.any(),
        _ => {
            return Err(impossible("layout", code, "this release knows 1 (flat), 2 (paged) and 3 (line)"));
        }
    };
    if layout.bits() != bits {
        return Err(impossible("bits", bits, "not a whole number of the layout's pages or lines"));
    }
    if layout.k() != k {
        return Err(impossible("k", k, "the line layout has 8"));
    }
    if layout.pages_per_key() != pages_per_key {
        return Err(impossible("pages per key", pages_per_key, "not so in this layout"));
    }
    Ok(layout)
}

/// No promise is written as capacity 0 and rate 0.
fn promise_from(capacity: u64, rate: f64) -> Result<Option<Promise>, FormatError> {
    if capacity == 0 && rate.to_bits() == 0 {
        return Ok(None);
    }
    // Looser than what this release would promise: other releases may know better.
    if capacity == 0 || !(rate > 0.0 && rate < 1.0) {
        return Err(impossible(
            "promise",
            format!("{capacity} keys at {rate}"),
            "no keys, or no probability",
        ));
    }
    Ok(Some(Promise { capacity, rate }))
}

/// Reads the fields in order.
struct Fields<'a> {
    page: &'a [u8; PAGE_BYTES],
    at: usize,
}

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let bytes = std::array::from_fn(|i| self.page[self.at + i]);
        self.at += N;
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}
