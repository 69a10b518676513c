//! The laws of counting filters' files, checked on whatever file the fuzzer comes up with.

use seenit_filter::cells::CellsMut;
use seenit_filter::counting::{CountingFilter, Rule};
use seenit_filter::file::{self, FileKind, FileView, StoredCells};
use seenit_filter::{HugePages, Layout};

use crate::format::probes;

/// A file whose header is sound and says so: its pages may be anything.
pub(crate) fn check<R: Rule>(bytes: &[u8], view: FileView<'_>) {
    assert!(view.filter().is_err(), "counts are no bits");
    let sound = view.check_all(|_| ()).is_ok();
    if let FileKind::Packed { .. } = view.header().kind {
        let in_place = view.packed::<R>().expect("the bytes are aligned");
        let mut copy = view.to_packed::<R>(HugePages::Default).expect("no more memory than the file has");
        assert!(in_place.cells().words() == copy.cells().words(), "copy and original differ");
        check_written(bytes, sound, &copy);
        check_counts(&mut copy);
    } else if let Ok(mut copy) = view.to_split::<R>(HugePages::Default) {
        check_written(bytes, sound, &copy);
        check_counts(&mut copy);
    }
}

/// An accepted file is the very bytes that its filter is written as.
fn check_written<R: Rule, L: Layout, C: StoredCells>(
    bytes: &[u8],
    sound: bool,
    filter: &CountingFilter<R, L, C>,
) {
    if sound {
        let mut written = Vec::with_capacity(bytes.len());
        file::write(filter, &mut written).expect("memory takes any bytes");
        assert!(written == bytes, "an accepted file is not what its filter is written as");
    }
}

/// Whatever the cells hold, counts rise by insertion, and a cut says what the counts say.
fn check_counts<R: Rule, L: Layout, C: CellsMut>(filter: &mut CountingFilter<R, L, C>) {
    let cap = filter.cells().cap();
    let share = filter.saturated_share();
    assert!((0.0..=1.0).contains(&share), "saturated share {share}");
    for hash in probes() {
        let before = filter.count(hash).value;
        filter.insert(hash);
        let after = filter.count(hash).value;
        assert!(before <= cap && after >= before.saturating_add(1).min(cap), "{before} {after} {cap}");
    }
    let cut = filter.at_least(cap.min(3)).expect("between 1 and the cap");
    for hash in probes() {
        assert_eq!(cut.contains(hash), filter.count(hash).value >= cap.min(3));
    }
}
