//! The laws of the file format, checked on whatever file the fuzzer comes up with.
//!
//! No file may cause a panic. Readers must agree with each other about what is damaged and what is in the
//! filter. And a file that passes every check must be the very bytes that writing its filter gives: one
//! filter, one file.

use seenit_filter::counting::{Intuitive, Refined, RuleName};
use seenit_filter::file::{self, DIGEST_BYTES, FileKind, FileView};
use seenit_filter::hash::Hash128;
use seenit_filter::{AnyLayout, Filter, Flat, FormatError, HugePages, Layout, Line, PAGE_BYTES, Paged};

use crate::counting;
use crate::forge::{forge, mode};
use crate::model::{all_set, drawn};

/// Lookups a file. A file here has few pages, so this many meet all of them, most of the time.
const LOOKUPS: usize = 24;

/// Forges a file from `input` and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let file = forge(input);
    // One word more than needed, so that the same bytes can also be laid one byte off.
    let mut words = vec![0u64; file.len() / 8 + 2];
    let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    memory[1..=file.len()].copy_from_slice(&file);
    let shifted = verdict(&memory[1..=file.len()]);
    memory.copy_within(1..=file.len(), 0);
    let bytes = &memory[..file.len()];
    assert_eq!(shifted, verdict(bytes), "the verdict depends on alignment");
    if let Ok(view) = FileView::open(bytes) {
        check_opened(bytes, view);
    }
}

/// What opening and checking say, in words: errors must be able to say what they are, too.
fn verdict(bytes: &[u8]) -> Result<(), String> {
    let view = FileView::open(bytes).map_err(|error| error.to_string())?;
    if bytes.as_ptr().align_offset(align_of::<u64>()) != 0 {
        assert!(matches!(view.filter(), Err(FormatError::InPlace(_) | FormatError::OtherKind { .. })));
    }
    view.check_all(|_| ()).map_err(|error| error.to_string())
}

/// The laws of a file whose header is sound; its pages may be anything.
fn check_opened(bytes: &[u8], view: FileView<'_>) {
    let header = view.header();
    assert!(header.encode() == bytes[..PAGE_BYTES], "a header has two encodings");
    assert_eq!(header.file_bytes(), bytes.len() as u64);
    let pages = header.pages();
    let damaged: Vec<u64> = (0..pages).filter(|&page| view.check_page(page as usize).is_err()).collect();
    match header.kind.rule() {
        None if matches!(header.kind, FileKind::Bins { .. }) => check_bins(bytes, view),
        None => check_plain(bytes, view, &damaged),
        Some(RuleName::Intuitive) => counting::check::<Intuitive>(bytes, view),
        Some(RuleName::Refined) => counting::check::<Refined>(bytes, view),
    }
}

/// The laws of a plain filter's file.
fn check_plain(bytes: &[u8], view: FileView<'_>, damaged: &[u64]) {
    let in_place = view.filter().expect("the bytes are aligned");
    let copy = view.to_filter(HugePages::Default).expect("no more memory than the file has");
    assert!(in_place.words() == copy.words(), "copy and original differ");
    check_lookups(&copy);
    let mut reported = 0;
    match view.check_all(|page| reported = page) {
        Ok(()) => {
            assert!(
                damaged.is_empty() && reported == view.header().pages(),
                "damage was overlooked: {damaged:?}"
            );
            check_accepted(bytes, &copy);
            check_accepted(bytes, &in_place);
        }
        Err(FormatError::Page(page)) => {
            assert_eq!(damaged.first(), Some(&page), "not the first damaged page")
        }
        Err(_) => {}
    }
}

/// The laws of a bin filter's file: it can be refused, but what is read from a sound one is written as it was.
fn check_bins(bytes: &[u8], view: FileView<'_>) {
    let read = view.to_bins();
    if view.check_all(|_| ()).is_err() {
        return;
    }
    if let Ok(bins) = read {
        let mut written = Vec::with_capacity(bytes.len());
        file::write(&bins, &mut written).expect("memory takes any bytes");
        assert!(written == bytes, "an accepted file is not what its bins are written as");
        for hash in probes() {
            let fired = bins.filter.credit(hash).fired;
            assert!(bins.filter.places().fold(fired, |left, place| left & !(1 << place)) == 0, "no such bin");
        }
    }
}

/// Lookups find the bits there are.
fn check_lookups(filter: &Filter) {
    let layout = *filter.layout();
    for hash in probes() {
        assert_eq!(filter.contains(hash), all_set(layout, filter.words(), hash), "{layout:?} {hash:?}");
    }
}

/// The laws of a file without any damage.
fn check_accepted<S: AsRef<[u64]>>(bytes: &[u8], filter: &Filter<AnyLayout, S>) {
    let mut written = Vec::with_capacity(bytes.len());
    file::write(filter, &mut written).expect("memory takes any bytes");
    assert!(written == bytes, "an accepted file is not what its filter is written as");
    assert!(padding_is_zero(filter), "bits are set behind the last one");
    let rate = filter.present_rate();
    assert!((0.0..=1.0).contains(&rate), "present rate {rate}");
    if let Some(estimate) = filter.cardinality() {
        assert!(estimate.value >= 0.0 && estimate.sd >= 0.0, "{estimate:?}");
    }
}

/// Whether no bit is set behind the filter's last one.
fn padding_is_zero<S: AsRef<[u64]>>(filter: &Filter<AnyLayout, S>) -> bool {
    let bits = filter.layout().bits();
    let padding = &filter.words()[(bits / 64) as usize..];
    // The filter's last bits stand in the first of these words, if it has a part of it.
    let mut shifts = std::iter::once(bits % 64).chain(std::iter::repeat(0));
    padding.iter().zip(&mut shifts).all(|(word, shift)| word >> shift == 0)
}

/// The corners of the hash space and some hashes from within.
pub(crate) fn probes() -> impl Iterator<Item = Hash128> {
    let corners = [0, u64::MAX].map(|word| Hash128 { lo: word, hi: word });
    corners.into_iter().chain(drawn(0, LOOKUPS))
}

/// A forge that makes nothing but refused files would fuzz nothing but the door: so sound files whose digests
/// were struck out must be accepted once they are forged anew. Run before fuzzing starts.
///
/// # Panics
/// When the forge and the format disagree.
pub fn check_forge() {
    let layouts = [
        Flat::new(70_001, 5).expect("in range").any(),
        Paged::new(130, 2, 7).expect("in range").any(),
        Line::new(65).expect("in range").any(),
    ];
    for layout in layouts {
        let fingerprint = seenit_filter::hash::KeyFingerprint([7; 16]);
        let mut filter = Filter::new(layout, None, fingerprint, HugePages::Default).expect("memory");
        drawn(1, 100).for_each(|hash| filter.insert(hash));
        let mut input = vec![mode::SEAL_ALL];
        file::write(&filter, &mut input).expect("memory takes any bytes");
        let sound = input[1..].to_vec();
        input[1 + PAGE_BYTES - DIGEST_BYTES..][..2 * DIGEST_BYTES].fill(0);
        assert!(forge(&input) == sound, "the forge does not know the format of {layout:?}");
    }
}
