//! Guards the files of counting filters: golden files, canonical bytes, and refusals that name what is wrong.

mod common;

use common::{SplitMix, key};
use seenit_filter::cells::{Cells, Packing, Split, SplitCells};
use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule};
use seenit_filter::file::{self, FileKind, FileView, Stored};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::{AnyLayout, Flat, HugePages, Layout, PAGE_BYTES, Paged, Promise};

const KEYS: u64 = 500;
const PROMISE: Promise = Promise { capacity: KEYS, rate: 0.01 };

/// Key number i is counted 1000/(i+1) + 1 times.
fn weight(i: u64) -> u64 {
    1000 / (i + 1) + 1
}

/// Counts in `order`, which gives every key once.
fn packed<R: Rule>(order: impl Iterator<Item = u64>) -> CountingFilter<R> {
    let (sip, packing) = (SipKey::public(), Packing::new(5).expect("a width"));
    let layout = Paged::sized_with_slots(KEYS, PROMISE.rate, packing.per_page()).expect("sized").any();
    let huge = HugePages::Default;
    let mut counts =
        CountingFilter::packed(layout, packing, Some(PROMISE), sip.fingerprint(), huge).expect("memory");
    order.for_each(|i| counts.insert_weighted(sip.hash(&key(i)), weight(i)));
    counts
}

fn split<R: Rule>(order: impl Iterator<Item = u64>) -> CountingFilter<R, AnyLayout, SplitCells> {
    let (sip, split) = (SipKey::public(), Split::new(2, 3).expect("a shape"));
    let layout = Flat::new(40_000, 7).expect("in range").any();
    let cells = SplitCells::zeroed(split, layout.bits(), HugePages::Default).expect("memory");
    let mut counts =
        CountingFilter::new(layout, cells, Some(PROMISE), sip.fingerprint()).expect("one cell a position");
    order.for_each(|i| counts.insert_weighted(sip.hash(&key(i)), weight(i)));
    counts
}

fn bytes_of(filter: &impl Stored) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(filter, &mut bytes).expect("memory takes any bytes");
    bytes
}

/// The bytes with the digests of pages, table and header made anew.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let pages = bytes.len() / PAGE_BYTES - 2;
    for page in 0..pages {
        let digest = blake3::hash(&bytes[(2 + page) * PAGE_BYTES..][..PAGE_BYTES]);
        bytes[PAGE_BYTES + page * 32..][..32].copy_from_slice(digest.as_bytes());
    }
    let table = blake3::hash(&bytes[PAGE_BYTES..2 * PAGE_BYTES]);
    bytes[80..112].copy_from_slice(table.as_bytes());
    let header = blake3::hash(&bytes[..PAGE_BYTES - 32]);
    bytes[PAGE_BYTES - 32..PAGE_BYTES].copy_from_slice(header.as_bytes());
    bytes
}

fn refusal(bytes: &[u8]) -> String {
    let check = |view: FileView<'_>| {
        view.check_all(|_| ())?;
        match view.header().kind {
            FileKind::Split { .. } => view.to_split::<Refined>(HugePages::Default).map(|_| ()),
            _ => view.to_packed::<Refined>(HugePages::Default).map(|_| ()),
        }
    };
    FileView::open(bytes).and_then(check).expect_err("must be refused").to_string()
}

/// Written by release 0.1.0; see tests/format.rs.
#[test]
fn golden_files_are_reproduced_to_the_byte() {
    let files = [
        ("packed", bytes_of(&packed::<Refined>(0..KEYS))),
        ("intuitive", bytes_of(&packed::<Intuitive>(0..KEYS))),
        ("split", bytes_of(&split::<Refined>(0..KEYS))),
    ];
    for (name, bytes) in files {
        let path = format!("{}/tests/golden/counting-{name}-1.filter", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("SEENIT_BLESS").is_some() {
            std::fs::write(&path, &bytes).expect("the golden folder is writable");
        }
        let stored = std::fs::read(&path).expect("a golden file");
        assert!(stored == bytes, "{path} differs from what this release writes");
        FileView::open(&stored).expect("sound").check_all(|_| ()).expect("sound");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let (counts, bytes) = (packed::<Refined>(0..KEYS), bytes_of(&packed::<Refined>(0..KEYS)));
    let view = FileView::open(&bytes).expect("sound");
    let copy = view.to_packed::<Refined>(HugePages::Default).expect("memory");
    assert!(copy.cells().words() == counts.cells().words() && bytes_of(&copy) == bytes);
    assert_eq!((copy.promise(), copy.layout()), (Some(PROMISE), counts.layout()));
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let view = FileView::open(bytemuck::cast_slice(&words)).expect("sound");
    assert!(view.packed::<Refined>().expect("aligned").cells().words() == counts.cells().words());

    let (counts, bytes) = (split::<Refined>(0..KEYS), bytes_of(&split::<Refined>(0..KEYS)));
    let view = FileView::open(&bytes).expect("sound");
    let copy = view.to_split::<Refined>(HugePages::Default).expect("memory");
    assert!((0..counts.cells().len()).all(|cell| copy.cells().get(cell) == counts.cells().get(cell)));
    assert!(bytes_of(&copy) == bytes);
}

/// Tables of high parts depend on the order of insertion; intuitive counts do not, and neither do their files.
#[test]
fn equal_counts_are_equal_files_whatever_the_order() {
    let mut order: Vec<u64> = (0..KEYS).collect();
    let mut rng = SplitMix(7);
    (1..order.len()).rev().for_each(|i| order.swap(i, rng.below(i as u64 + 1) as usize));
    let shuffled = || order.iter().copied();
    assert!(bytes_of(&split::<Intuitive>(0..KEYS)) == bytes_of(&split::<Intuitive>(shuffled())));
    assert!(bytes_of(&packed::<Intuitive>(0..KEYS)) == bytes_of(&packed::<Intuitive>(shuffled())));
}

#[test]
fn files_of_another_kind_or_rule_are_refused_by_name() {
    let bytes = bytes_of(&packed::<Refined>(0..KEYS));
    let view = FileView::open(&bytes).expect("sound");
    let refused = view.to_filter(HugePages::Default).expect_err("counts").to_string();
    assert_eq!(refused, "kind: the file holds a counting filter of packed cells, not a plain filter");
    assert!(view.to_packed::<Intuitive>(HugePages::Default).is_err(), "another rule");
    assert!(view.to_split::<Refined>(HugePages::Default).is_err(), "other storage");
    assert_eq!(view.header().kind.rule().map(|rule| rule.as_str()), Some("refined"));
}

#[test]
fn impossible_fields_are_refused_by_name() {
    let lie = |bytes: &[u8], at: usize, value: &[u8]| {
        let mut lying = bytes.to_vec();
        lying[at..at + value.len()].copy_from_slice(value);
        refusal(&sealed(lying))
    };
    let packed = bytes_of(&packed::<Refined>(0..KEYS));
    for (field, at, value) in [
        ("kind:", 12, &[5u8][..]),
        ("kind:", 12, &[1]),
        ("layout:", 16, &[4]),
        ("k:", 16, &[3]),
        ("cells:", 28, &[1, 0]),
        ("geometry:", 28, &[0, 0, 0, 0]),
        ("cleared bits:", 112, &[1]),
        ("rule:", 120, &[3]),
        ("cells:", 124, &[0]),
        ("cells:", 124, &[17]),
        ("cells:", 124, &[8]),
        ("kind:", 128, &[1]),
        ("kind:", 136, &[1]),
    ] {
        let refused = lie(&packed, at, value);
        assert!(refused.starts_with(field), "at {at}: {refused}, not {field}");
    }
    let split = bytes_of(&split::<Refined>(0..KEYS));
    for (field, at, value) in [
        ("cells:", 124, &[1u8][..]),
        ("cells:", 128, &[0; 8]),
        ("high parts:", 136, &[255; 8]),
        ("pages:", 136, &[0; 8]),
    ] {
        let refused = lie(&split, at, value);
        assert!(refused.starts_with(field), "at {at}: {refused}, not {field}");
    }
}

/// Bits beside the cells of a word, cells behind the last one, and high parts nobody flagged.
#[test]
fn what_belongs_to_no_cell_must_be_zero() {
    let packed = bytes_of(&packed::<Refined>(0..KEYS));
    let mut hurt = packed.clone();
    // Five bits a cell leave the upper four of a word.
    hurt[2 * PAGE_BYTES + 7] |= 0x80;
    assert!(refusal(&sealed(hurt)).starts_with("padding:"));

    let split = bytes_of(&split::<Refined>(0..KEYS));
    // 40,000 cells of three bits, 21 a word: 40,000 = 1904 * 21 + 16, so the last cell ends 48 bits into word 1904.
    let mut hurt = split.clone();
    hurt[2 * PAGE_BYTES + 1904 * 8 + 6] |= 1;
    assert!(refusal(&sealed(hurt)).starts_with("padding:"));
    let mut hurt = split.clone();
    *hurt.last_mut().expect("a byte") = 1;
    assert!(refusal(&sealed(hurt)).starts_with("padding:"));
    // A high part that is zero, and one less or more of them than there are flags.
    let highs = 2 * PAGE_BYTES + 4 * PAGE_BYTES;
    let mut hurt = split.clone();
    hurt[highs..highs + 4].fill(0);
    assert!(refusal(&sealed(hurt)).starts_with("high parts:"));
    for change in [-1i64, 1] {
        let mut hurt = split.clone();
        let count = u64::from_le_bytes(hurt[136..144].try_into().expect("eight bytes"));
        hurt[136..144].copy_from_slice(&count.wrapping_add_signed(change).to_le_bytes());
        if change < 0 {
            let last = highs + (count as usize - 1) * 4;
            hurt[last..last + 4].fill(0);
        }
        assert!(refusal(&sealed(hurt)).starts_with("high parts:"), "{change}");
    }
}
