//! What lies at the positions of a filter: bits, packed cells, cells in split storage, or the bits of several bins.

use super::bins::{self, BIN_BYTES, NOTE_BYTES};
use crate::cells::{Packing, Split};
use crate::counting::RuleName;
use crate::error::{FormatError, GeometryError};
use crate::layout::{AnyLayout, Layout};
use crate::memory::PAGE_BYTES;

/// Bytes of a high part in a file.
pub(super) const HIGH_BYTES: u64 = 4;

/// The kind of a filter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// One bit a position.
    Plain,
    /// A counting filter of packed cells.
    Packed {
        /// The insertion rule.
        rule: RuleName,
        /// How cells lie.
        packing: Packing,
    },
    /// A counting filter in split storage.
    Split {
        /// The insertion rule.
        rule: RuleName,
        /// Low bits and chunks.
        split: Split,
        /// How many counts have a high part.
        highs: u64,
    },
    /// The filters of a bin filter, one behind the other.
    Bins {
        /// How many bins.
        bins: u64,
        /// How many notes.
        notes: u64,
    },
}

/// The fields of the header that describe a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) kind: u32,
    pub(super) rule: u32,
    pub(super) cell_bits: u32,
    pub(super) chunks: u64,
    pub(super) highs: u64,
}

impl FileKind {
    /// What it is, for messages.
    pub fn as_str(&self) -> &'static str {
        match self {
            FileKind::Plain => "a plain filter",
            FileKind::Packed { .. } => "a counting filter of packed cells",
            FileKind::Split { .. } => "a counting filter in split storage",
            FileKind::Bins { .. } => "a bin filter",
        }
    }

    /// The rule of a counting filter.
    pub fn rule(&self) -> Option<RuleName> {
        match *self {
            FileKind::Plain | FileKind::Bins { .. } => None,
            FileKind::Packed { rule, .. } | FileKind::Split { rule, .. } => Some(rule),
        }
    }

    /// The pages that hold bits or cells.
    pub(super) fn base_pages(&self, layout: &AnyLayout) -> u64 {
        match self {
            FileKind::Plain | FileKind::Bins { .. } => layout.pages(),
            FileKind::Packed { packing, .. } => packing.pages(layout.bits()),
            FileKind::Split { split, .. } => split.base().pages(layout.bits()),
        }
    }

    /// All pages: high parts, or what is said of bins, follow the base.
    pub(super) fn pages(&self, layout: &AnyLayout) -> u64 {
        self.base_pages(layout) + self.bytes_behind().div_ceil(PAGE_BYTES as u64)
    }

    /// The bytes behind the base, padding aside.
    pub(super) fn bytes_behind(&self) -> u64 {
        match *self {
            FileKind::Plain | FileKind::Packed { .. } => 0,
            FileKind::Split { highs, .. } => highs * HIGH_BYTES,
            FileKind::Bins { bins, notes } => bins * BIN_BYTES + notes * NOTE_BYTES,
        }
    }

    pub(super) fn fields(&self) -> Fields {
        match *self {
            FileKind::Plain => Fields { kind: 1, rule: 0, cell_bits: 0, chunks: 0, highs: 0 },
            FileKind::Packed { rule, packing } => {
                Fields { kind: 2, rule: rule.code(), cell_bits: packing.bits(), chunks: 0, highs: 0 }
            }
            FileKind::Split { rule, split, highs } => Fields {
                kind: 3,
                rule: rule.code(),
                cell_bits: split.base().bits(),
                chunks: split.chunks(),
                highs,
            },
            FileKind::Bins { bins, notes } => {
                Fields { kind: 4, rule: 0, cell_bits: 0, chunks: bins, highs: notes }
            }
        }
    }

    /// A header may claim anything; the constructors decide what can be.
    pub(super) fn from_fields(fields: Fields, layout: &AnyLayout) -> Result<Self, FormatError> {
        let refused = |error: GeometryError| impossible("cells", format!("{} bits", fields.cell_bits), error);
        let counted = |per_page: u64| crate::counting::check_layout(layout, per_page).map_err(refused);
        let kind = match fields.kind {
            1 => FileKind::Plain,
            2 => {
                let packing = Packing::new(fields.cell_bits).map_err(refused)?;
                counted(packing.per_page())?;
                FileKind::Packed { rule: rule_of(fields.rule)?, packing }
            }
            3 => {
                let low_bits = fields.cell_bits.saturating_sub(1);
                let split = Split::new(low_bits, fields.chunks).map_err(refused)?;
                counted(split.base().per_page())?;
                if fields.highs > layout.bits() {
                    return Err(impossible("high parts", fields.highs, "more than there are cells"));
                }
                FileKind::Split { rule: rule_of(fields.rule)?, split, highs: fields.highs }
            }
            4 => {
                let bins = fields.chunks;
                let notes = fields.highs;
                bins::check(layout, bins, notes)?;
                FileKind::Bins { bins, notes }
            }
            other => return Err(impossible("kind", other, "this release knows kinds 1 to 4")),
        };
        if kind.fields() != fields {
            return Err(impossible("kind", fields.kind, "it has no such cells, chunks or high parts"));
        }
        Ok(kind)
    }
}

/// The pages that so many high parts take.
pub(super) fn high_pages(highs: u64) -> u64 {
    (highs * HIGH_BYTES).div_ceil(PAGE_BYTES as u64)
}

fn rule_of(code: u32) -> Result<RuleName, FormatError> {
    RuleName::from_code(code)
        .ok_or_else(|| impossible("rule", code, "this release knows 1 (intuitive) and 2 (refined)"))
}

pub(super) fn impossible(field: &'static str, value: impl ToString, why: impl ToString) -> FormatError {
    FormatError::Field { field, value: value.to_string(), why: why.to_string() }
}
