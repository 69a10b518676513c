//! The header page: what the filter is, and a digest that vouches for it.

use super::kind::{self, FileKind, impossible};
use super::{DIGEST_BYTES, table_bytes};
use crate::error::{FormatError, GeometryError, Unlike};
use crate::filter::{Promise, same_promise};
use crate::hash::KeyFingerprint;
use crate::layout::{AnyLayout, Flat, LINE_BITS, Layout, Line, Paged, same};
use crate::memory::{PAGE_BITS, PAGE_BYTES};

/// The version this release writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// The first byte is no text, the last one is a newline: transfers that mangle either are noticed at once.
pub(crate) const MAGIC: [u8; 8] = *b"\x89seenit\n";
/// Where the header's own digest lies; it covers everything before it.
const DIGEST_AT: usize = PAGE_BYTES - DIGEST_BYTES;
/// Where the number of pages lies.
const PAGES_AT: usize = 40;
/// Where the digest of the table lies.
const TABLE_DIGEST_AT: usize = 80;
/// The bytes that a delta may change: fields in which files of one kind may differ, and reserved ones.
pub(crate) const PATCHABLE: std::ops::Range<usize> = TABLE_DIGEST_AT + DIGEST_BYTES..DIGEST_AT;
/// Where the fields end; from here to the digest all is zero.
const FIELDS_END: usize = 144;

/// The header of a filter file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Bits or cells.
    pub kind: FileKind,
    /// Where they lie.
    pub layout: AnyLayout,
    /// What it was sized for.
    pub promise: Option<Promise>,
    /// The fingerprint of the hash key.
    pub fingerprint: KeyFingerprint,
    /// The BLAKE3 digest of the table of page digests, padding included.
    pub table_digest: [u8; DIGEST_BYTES],
    /// How many bits retouching cleared; zero for a filter that misses none of its keys.
    pub cleared_bits: u64,
}

impl Header {
    /// The number of 4 KiB pages behind the table.
    pub fn pages(&self) -> u64 {
        self.kind.pages(&self.layout)
    }

    /// The length of the whole file.
    pub fn file_bytes(&self) -> u64 {
        let pages = self.pages();
        PAGE_BYTES as u64 + table_bytes(pages) + pages * PAGE_BYTES as u64
    }

    /// The first field in which two filters are not of the same kind: kind, rule, cells, layout, key, promise.
    pub(crate) fn like(&self, other: &Self) -> Result<(), Unlike> {
        let ours = self.kind.fields();
        let theirs = other.kind.fields();
        same("kind", self.kind.as_str(), other.kind.as_str())?;
        let rule = |kind: FileKind| kind.rule().map_or("none", |rule| rule.as_str());
        same("rule", rule(self.kind), rule(other.kind))?;
        same("bits of a cell", ours.cell_bits, theirs.cell_bits)?;
        self.layout.like(&other.layout)?;
        same("key fingerprint", self.fingerprint.to_string(), other.fingerprint.to_string())?;
        same_promise(self.promise, other.promise)
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
        let kind = self.kind.fields();
        put(&kind.kind.to_le_bytes());
        put(&layout_code(&self.layout).to_le_bytes());
        put(&self.layout.k().to_le_bytes());
        put(&self.layout.pages_per_key().to_le_bytes());
        put(&slots_field(&self.layout).to_le_bytes());
        put(&self.layout.bits().to_le_bytes());
        put(&self.pages().to_le_bytes());
        put(&self.promise.map_or(0, |promise| promise.capacity).to_le_bytes());
        put(&self.promise.map_or(0.0, |promise| promise.rate).to_le_bytes());
        put(&self.fingerprint.0);
        put(&self.table_digest);
        put(&self.cleared_bits.to_le_bytes());
        put(&kind.rule.to_le_bytes());
        put(&kind.cell_bits.to_le_bytes());
        put(&kind.chunks.to_le_bytes());
        put(&kind.highs.to_le_bytes());
        debug_assert_eq!(at, FIELDS_END);
        seal_header(&mut page);
        page
    }

    /// Reads a header page. Version before digest: a later version may put its digest elsewhere.
    pub(crate) fn decode(page: &[u8; PAGE_BYTES]) -> Result<Self, FormatError> {
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
        let code = fields.u32();
        let k = fields.u32();
        let pages_per_key = fields.u32();
        let slots = fields.u32();
        let bits = fields.u64();
        let pages = fields.u64();
        let layout = layout_from(code, bits, k, pages_per_key, slots)?;
        let promise = promise_from(fields.u64(), f64::from_bits(fields.u64()))?;
        let fingerprint = KeyFingerprint(fields.bytes());
        let table_digest = fields.bytes();
        let cleared_bits = fields.u64();
        let kind = kind::Fields {
            kind,
            rule: fields.u32(),
            cell_bits: fields.u32(),
            chunks: fields.u64(),
            highs: fields.u64(),
        };
        let kind = FileKind::from_fields(kind, &layout)?;
        if page[FIELDS_END..DIGEST_AT].iter().any(|&byte| byte != 0) {
            let why = "this release knows no such field";
            return Err(impossible("reserved", "a value other than zero", why));
        }
        if cleared_bits > 0 && kind != FileKind::Plain {
            return Err(impossible("cleared bits", cleared_bits, "counting filters are not retouched"));
        }
        if let (FileKind::Bins { .. }, Some(promise)) = (kind, promise) {
            return Err(impossible("promise", promise.capacity, "a bin filter makes none"));
        }
        let header = Header { kind, layout, promise, fingerprint, table_digest, cleared_bits };
        if pages != header.pages() {
            return Err(impossible("pages", pages, "the bits or cells take another number of pages"));
        }
        Ok(header)
    }
}

/// Puts the number of pages, the digest of `table` and its own digest into a header page.
pub(crate) fn seal(page: &mut [u8; PAGE_BYTES], pages: u64, table: &[u8]) {
    page[PAGES_AT..][..8].copy_from_slice(&pages.to_le_bytes());
    page[TABLE_DIGEST_AT..][..DIGEST_BYTES].copy_from_slice(blake3::hash(table).as_bytes());
    seal_header(page);
}

fn seal_header(page: &mut [u8; PAGE_BYTES]) {
    let digest = blake3::hash(&page[..DIGEST_AT]);
    page[DIGEST_AT..].copy_from_slice(digest.as_bytes());
}

pub(crate) fn layout_code(layout: &AnyLayout) -> u32 {
    match layout {
        AnyLayout::Flat(_) => 1,
        AnyLayout::Paged(_) => 2,
        AnyLayout::Line(_) => 3,
    }
}

/// Slots a page, where they are not the 32,768 bits it has.
fn slots_field(layout: &AnyLayout) -> u32 {
    match layout.slots() {
        PAGE_BITS => 0,
        slots => slots as u32,
    }
}

/// A header may claim anything; the constructors decide what can be.
fn layout_from(
    code: u32,
    bits: u64,
    k: u32,
    pages_per_key: u32,
    slots: u32,
) -> Result<AnyLayout, FormatError> {
    let slots_per_page = if slots == 0 { PAGE_BITS } else { u64::from(slots) };
    let refused = |error: GeometryError| impossible("geometry", format!("{bits} bits, k {k}"), error);
    let layout = match code {
        1 => Flat::new(bits, k).map_err(refused)?.any(),
        2 => {
            let pages = bits / slots_per_page;
            Paged::with_slots(pages, pages_per_key, k, slots_per_page).map_err(refused)?.any()
        }
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
    if slots_field(&layout) != slots {
        return Err(impossible("slots per page", slots, "not so in this layout"));
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
