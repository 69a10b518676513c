//! The memory of a filter: whole pages, page-aligned, zeroed, and refused rather than aborted when there is none.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicU64;

use memmap2::{MmapMut, MmapRaw};

use crate::error::GeometryError;

/// Bytes of a page: the unit of locality, locking, digesting and repair.
pub const PAGE_BYTES: usize = 4096;
/// Bits of a page.
pub const PAGE_BITS: u64 = PAGE_BYTES as u64 * 8;
/// 64-bit words of a page.
pub const PAGE_WORDS: usize = PAGE_BYTES / 8;

/// Whether to ask the kernel for 2 MiB pages.
///
/// A filter larger than the TLB's reach pays a page walk on top of each cache miss; huge pages take the walk
/// away. It is advice: a kernel that has none to give goes on with 4 KiB pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HugePages {
    /// Leave it to the system's setting.
    #[default]
    Default,
    /// Advise the kernel to use them.
    Advise,
}

/// Owned pages with one owner at a time.
#[derive(Debug)]
pub struct PageBuf {
    map: MmapMut,
}

impl PageBuf {
    /// `pages` zeroed pages. An error, not an abort, when the memory is not to be had.
    pub fn zeroed(pages: u64, huge: HugePages) -> Result<Self, GeometryError> {
        let refused =
            |source| GeometryError::Memory { bytes: pages.saturating_mul(PAGE_BYTES as u64), source };
        let bytes = usize::try_from(pages)
            .ok()
            .and_then(|pages| pages.checked_mul(PAGE_BYTES))
            .ok_or_else(|| refused(std::io::ErrorKind::OutOfMemory.into()))?;
        let map = MmapMut::map_anon(bytes).map_err(refused)?;
        #[cfg(target_os = "linux")]
        if huge == HugePages::Advise {
            // Refused advice changes speed, never results.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        Ok(PageBuf { map })
    }

    /// Hands the pages to many threads at once.
    pub(crate) fn share(self) -> SharedPages {
        SharedPages { map: self.map.into() }
    }
}

impl AsRef<[u64]> for PageBuf {
    #[inline(always)]
    fn as_ref(&self) -> &[u64] {
        // SAFETY: the mapping is page-aligned, whole pages long, and initialised by the kernel. (A checked cast
        // would do the same and check it again on every lookup.)
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.map.len() / 8) }
    }
}

impl AsMut<[u64]> for PageBuf {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `as_ref`, and `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.map.len() / 8) }
    }
}

/// Owned pages that many threads read and write at once, as atomic words only.
#[derive(Debug)]
pub(crate) struct SharedPages {
    map: MmapRaw,
}

impl SharedPages {
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.map.len() / 8;
        // SAFETY: the mapping is page-aligned, readable, writable and lives as long as `self`; `MmapRaw` hands
        // out no references of its own, so all access goes through these atomics.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<AtomicU64>(), words) }
    }
}

/// Asks for the cache line of `words[index]`; out of range it asks for nothing.
#[inline(always)]
pub(crate) fn prefetch<W>(words: &[W], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = words.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, and this address is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_and_aligned() {
        let pages = PageBuf::zeroed(3, HugePages::Advise).expect("12 KiB");
        let words: &[u64] = pages.as_ref();
        assert_eq!(words.len(), 3 * PAGE_WORDS);
        assert_eq!(words.as_ptr() as usize % PAGE_BYTES, 0);
        assert!(words.iter().all(|&word| word == 0));
    }

    #[test]
    fn more_memory_than_there_is_gives_an_error_that_names_the_size() {
        let error = PageBuf::zeroed(u64::MAX / 2, HugePages::Default).expect_err("no machine has that");
        assert!(error.to_string().contains("memory"), "{error}");
        let error = PageBuf::zeroed(1 << 46, HugePages::Default).expect_err("no machine has that");
        assert!(error.to_string().contains(&(1u64 << 58).to_string()), "{error}");
    }
}
