//! The geometry of seen filters, said in full.

use seenit_filter::cells::split::Split;
use seenit_filter::{GeometryError, Layout, Paged, Promise};
use thiserror::Error;

use crate::form::{Bytes, FormError};
use crate::root::PAGES_MAX;

/// The most tables of high parts: a site would hardly have more writers at a time.
const CHUNKS_MAX: u64 = 4096;

/// How the cells of one generation lie, and what was promised of them.
///
/// The layout is said and not computed from the promise by whoever reads it: two releases that size a filter
/// otherwise, or two machines that round otherwise, would have cells in two places and never agree on one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    promise: Promise,
    layout: Paged,
    split: Split,
}

/// Why there are no such filters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NoGeometry {
    /// The filters themselves say so.
    #[error(transparent)]
    Filter(#[from] GeometryError),
    /// Not even the form.
    #[error(transparent)]
    Form(#[from] FormError),
    /// More than any site has memory for.
    #[error("{0} pages of cells: there may be {PAGES_MAX}")]
    Pages(u64),
    /// More tables than are of any use.
    #[error("{0} chunks: there may be {CHUNKS_MAX}")]
    Chunks(u64),
    /// Nothing could be put in.
    #[error("a capacity of no signatures")]
    Capacity,
    /// Not a probability.
    #[error("rate must lie between 0 and 1, both excluded, not {0}")]
    Rate(f64),
}

impl Geometry {
    /// The smallest cells that hold `capacity` signatures a generation at a false-positive rate of `rate`, with
    /// `low_bits` bits in the base and `chunks` tables for the rest.
    pub fn sized(capacity: u64, rate: f64, low_bits: u32, chunks: u64) -> Result<Self, NoGeometry> {
        let split = Split::new(low_bits, chunks)?;
        let layout = Paged::sized_with_slots(capacity, rate, split.base().per_page())?;
        Geometry { promise: Promise { capacity, rate }, layout, split }.checked()
    }

    /// What each generation's filter promises.
    pub fn promise(&self) -> Promise {
        self.promise
    }

    /// Where a signature's cells lie.
    pub fn layout(&self) -> Paged {
        self.layout
    }

    /// How cells are stored.
    pub fn split(&self) -> Split {
        self.split
    }

    /// Pages of cells.
    pub fn pages(&self) -> u64 {
        self.layout.bits() / self.layout.slots()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.promise.capacity.to_le_bytes());
        out.extend(self.promise.rate.to_bits().to_le_bytes());
        out.extend(self.pages().to_le_bytes());
        // All three fit by what filters and `checked` allow.
        out.extend([self.layout.k() as u8, self.split.low_bits() as u8]);
        out.extend((self.split.chunks() as u16).to_le_bytes());
    }

    pub(super) fn decode(bytes: &mut Bytes<'_>) -> Result<Self, NoGeometry> {
        let promise = Promise { capacity: bytes.u64()?, rate: f64::from_bits(bytes.u64()?) };
        let (pages, k, low_bits, chunks) = (bytes.u64()?, bytes.u8()?, bytes.u8()?, bytes.u16()?);
        let split = Split::new(low_bits.into(), chunks.into())?;
        let layout = Paged::with_slots(pages, 1, k.into(), split.base().per_page())?;
        Geometry { promise, layout, split }.checked()
    }

    fn checked(self) -> Result<Self, NoGeometry> {
        let Promise { capacity, rate } = self.promise;
        if capacity == 0 {
            return Err(NoGeometry::Capacity);
        }
        if !(rate > 0.0 && rate < 1.0) {
            return Err(NoGeometry::Rate(rate));
        }
        if self.pages() > PAGES_MAX {
            return Err(NoGeometry::Pages(self.pages()));
        }
        if self.split.chunks() > CHUNKS_MAX {
            return Err(NoGeometry::Chunks(self.split.chunks()));
        }
        Ok(self)
    }
}
