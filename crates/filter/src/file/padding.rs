//! What belongs to no bit or cell of a filter must be zero, so that equal filters are equal files.

use super::{FileKind, FileView};
use crate::cells::Packing;
use crate::layout::Layout;
use crate::memory::{PAGE_BITS, PAGE_BYTES};

impl FileView<'_> {
    /// Whether all bits of a page that mean nothing are zero.
    pub(super) fn padding_is_zero(&self, page: usize) -> bool {
        let bytes = &self.pages[page];
        let positions = self.header.layout.bits();
        let base_pages = self.header.kind.base_pages(&self.header.layout);
        match self.header.kind {
            FileKind::Plain | FileKind::Bins { .. } if (page as u64) < base_pages => {
                zero_from(bytes, positions.saturating_sub(page as u64 * PAGE_BITS))
            }
            FileKind::Packed { packing, .. } => cells_are_sound(bytes, packing, page as u64, positions),
            FileKind::Split { split, .. } if (page as u64) < base_pages => {
                cells_are_sound(bytes, split.base(), page as u64, positions)
            }
            kind => {
                let before = (page as u64).saturating_sub(base_pages) * PAGE_BITS;
                zero_from(bytes, (kind.bytes_behind() * 8).saturating_sub(before))
            }
        }
    }
}

/// Whether the page is zero from bit `used` on.
fn zero_from(page: &[u8; PAGE_BYTES], used: u64) -> bool {
    let whole = (used / 8) as usize;
    let bits = used % 8;
    let Some(rest) = page.get(whole..).filter(|rest| !rest.is_empty()) else {
        return true;
    };
    rest[0] >> bits == 0 && rest[1..].iter().all(|&byte| byte == 0)
}

/// Whether nothing is set beside the cells of a word, or behind the last cell.
fn cells_are_sound(bytes: &[u8; PAGE_BYTES], packing: Packing, page: u64, cells: u64) -> bool {
    let first = page * packing.per_page();
    bytes.as_chunks::<8>().0.iter().enumerate().all(|(index, word)| {
        let before = first + index as u64 * packing.per_word();
        let here = cells.saturating_sub(before).min(packing.per_word()) as u32;
        u64::from_le_bytes(*word).checked_shr(here * packing.bits()).unwrap_or(0) == 0
    })
}
