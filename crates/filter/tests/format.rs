//! Guards the file format: golden files of this release stay readable and writable to the byte, and no
//! truncated, flipped, over-long, foreign or future file is taken for a filter.

mod common;

use common::{LAYOUTS, SplitMix, key, sip};
use proptest::prelude::*;
use seenit_filter::file::{self, FORMAT_VERSION, FileView};
use seenit_filter::hash::SipKey;
use seenit_filter::{
    AnyLayout, Filter, Flat, FormatError, HugePages, Layout, LayoutName, PAGE_BITS, PAGE_BYTES, Promise,
};

const KEYS: u64 = 1000;

/// A thousand counted keys under the public key: the contents of the golden files.
fn golden(name: LayoutName) -> Filter {
    let (sip, promise) = (SipKey::public(), Promise { capacity: KEYS, rate: 0.01 });
    let layout = AnyLayout::sized(name, promise.capacity, promise.rate).expect("sized");
    let mut filter =
        Filter::new(layout, Some(promise), sip.fingerprint(), HugePages::Default).expect("memory");
    filter.insert_many(&sip, &(0..KEYS).map(key).collect::<Vec<_>>());
    filter
}

fn bytes_of<S: AsRef<[u64]>>(filter: &Filter<AnyLayout, S>) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(filter, &mut bytes).expect("memory takes any bytes");
    bytes
}

fn check(bytes: &[u8]) -> Result<(), FormatError> {
    FileView::open(bytes)?.check_all(|_| ())
}

fn refusal(bytes: &[u8]) -> String {
    check(bytes).expect_err("must be refused").to_string()
}

/// Bytes aligned as a mapping would be.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}

/// The files under tests/golden were written by release 0.1.0. A difference is a change of format, of
/// hashing or of sizing, and each of them is a new version. `SEENIT_BLESS=1` writes them anew.
#[test]
fn golden_files_are_reproduced_to_the_byte() {
    for name in LAYOUTS {
        let path = format!("{}/tests/golden/{}-1.filter", env!("CARGO_MANIFEST_DIR"), name.as_str());
        let bytes = bytes_of(&golden(name));
        if std::env::var_os("SEENIT_BLESS").is_some() {
            std::fs::write(&path, &bytes).expect("the golden folder is writable");
        }
        let stored = std::fs::read(&path).expect("a golden file");
        assert!(stored == bytes, "{path} differs from what this release writes");
        check(&stored).expect("a golden file is sound");
    }
}

#[test]
fn what_is_written_is_read_back_in_place_and_as_a_copy() {
    for name in LAYOUTS {
        let filter = golden(name);
        let words = aligned(&bytes_of(&filter));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let view = FileView::open(bytemuck::cast_slice(&words)).expect("sound");
        view.check_all(|_| ()).expect("sound");
        view.expect_key(SipKey::public().fingerprint()).expect("the same key");
        let (in_place, copy) =
            (view.filter().expect("aligned"), view.to_filter(HugePages::Default).expect("memory"));
        assert!(in_place.words() == filter.words() && copy.words() == filter.words());
        assert_eq!((copy.promise(), copy.layout()), (filter.promise(), filter.layout()));
        assert!(bytes_of(&copy) == bytes && bytes_of(&in_place) == bytes, "equal filters give equal bytes");
    }
}

#[test]
fn misaligned_bytes_are_refused_in_place_but_can_be_copied() {
    let bytes = bytes_of(&golden(LayoutName::Line));
    let mut words = vec![0u64; bytes.len() / 8 + 1];
    let shifted: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[1..=bytes.len()];
    shifted.copy_from_slice(&bytes);
    let view = FileView::open(shifted).expect("sound");
    assert!(matches!(view.filter(), Err(FormatError::InPlace(_))));
    assert!(view.to_filter(HugePages::Default).expect("memory").words() == golden(LayoutName::Line).words());
}

#[test]
fn truncated_and_overlong_files_are_refused() {
    let bytes = bytes_of(&golden(LayoutName::Flat));
    for length in [0, 1, 100, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 2 * PAGE_BYTES, bytes.len() - 1] {
        let refused = refusal(&bytes[..length]);
        assert!(refused.starts_with("length:"), "{length}: {refused}");
    }
    let longer = [&bytes[..], b"\0"].concat();
    assert!(refusal(&longer).starts_with("length:"));
}

/// Every single bit of a header, one at a time.
#[test]
fn every_flipped_bit_of_the_header_is_noticed() {
    let mut bytes = bytes_of(&golden(LayoutName::Paged));
    for bit in 0..PAGE_BYTES * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let refused = refusal(&bytes);
        let field = match bit / 8 {
            0..8 => "magic:",
            8..12 => "version:",
            _ => "header digest:",
        };
        assert!(refused.starts_with(field), "bit {bit}: {refused}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    check(&bytes).expect("sound again");
}

#[test]
fn flipped_bits_of_table_and_pages_are_noticed_and_named() {
    let bytes = bytes_of(&golden(LayoutName::Line));
    let mut rng = SplitMix(4);
    for _ in 0..500 {
        let mut damaged = bytes.clone();
        let at = PAGE_BYTES + rng.next() as usize % (bytes.len() - PAGE_BYTES);
        damaged[at] ^= 1 << (rng.next() % 8);
        let refused = refusal(&damaged);
        let field = if at < 2 * PAGE_BYTES { "digest table:" } else { "page 0:" };
        assert!(refused.starts_with(field), "byte {at}: {refused}");
    }
}

#[test]
fn foreign_keys_and_future_versions_are_refused_by_name() {
    let mut bytes = bytes_of(&golden(LayoutName::Line));
    let view = FileView::open(&bytes).expect("sound");
    let refused = view.expect_key(sip(1).fingerprint()).expect_err("another key").to_string();
    assert!(refused.starts_with("key fingerprint:"), "{refused}");
    assert!(refused.contains(&sip(1).fingerprint().to_string()), "{refused}");
    bytes[8] = FORMAT_VERSION as u8 + 1;
    assert_eq!(refusal(&bytes), "version: the file has format version 2; this release reads version 1");
}

/// A header that is signed and sealed but lies: the digest is right, a field is impossible.
#[test]
fn impossible_fields_are_refused_by_name() {
    let bytes = bytes_of(&golden(LayoutName::Flat));
    let lie = |at: usize, value: &[u8]| {
        let mut lying = bytes.clone();
        lying[at..at + value.len()].copy_from_slice(value);
        let digest = blake3::hash(&lying[..PAGE_BYTES - 32]);
        lying[PAGE_BYTES - 32..PAGE_BYTES].copy_from_slice(digest.as_bytes());
        refusal(&lying)
    };
    let huge = u64::MAX.to_le_bytes();
    for (field, at, value) in [
        ("kind:", 12, &[9u8, 0, 0, 0][..]),
        ("layout:", 16, &[9, 0, 0, 0]),
        ("geometry:", 20, &[0, 0, 0, 0]),
        ("geometry:", 20, &[33, 0, 0, 0]),
        ("pages per key:", 24, &[1, 0, 0, 0]),
        ("slots per page:", 28, &[1, 0, 0, 0]),
        ("geometry:", 32, &huge),
        ("geometry:", 32, &[0; 8]),
        ("pages:", 40, &[2, 0, 0, 0, 0, 0, 0, 0]),
        ("promise:", 48, &[0; 8]),
        ("promise:", 56, &2.0f64.to_le_bytes()),
        ("promise:", 56, &f64::NAN.to_le_bytes()),
        ("kind:", 120, &[1]),
        ("reserved:", 144, &[1]),
        ("reserved:", PAGE_BYTES - 33, &[1]),
    ] {
        let refused = lie(at, value);
        assert!(refused.starts_with(field), "at {at}: {refused}, not {field}");
    }
    // Paged geometry claimed for a number of bits that is no whole number of pages.
    assert!(lie(16, &[2, 0, 0, 0]).contains("pages"));
}

/// Bits behind the last one would change the fill and the estimate without belonging to any key.
#[test]
fn set_padding_is_refused() {
    let layout = Flat::new(1001, 3).expect("in range").any();
    let empty = Filter::new(layout, None, sip(0).fingerprint(), HugePages::Default).expect("memory");
    let mut bytes = bytes_of(&empty);
    for bit in [1001, 1007, 1008, PAGE_BITS as usize - 1] {
        let page = 2 * PAGE_BYTES;
        bytes[page + bit / 8] |= 1 << (bit % 8);
        let digest = blake3::hash(&bytes[page..]);
        bytes[PAGE_BYTES..PAGE_BYTES + 32].copy_from_slice(digest.as_bytes());
        assert!(matches!(
            FileView::open(&bytes).expect("the header is sound").check_page(0),
            Err(FormatError::Padding)
        ));
        bytes[page + bit / 8] = 0;
    }
}

/// Found by the fuzzer: a table sealed with something behind its last entry was taken for sound, though nobody
/// would write it so.
#[test]
fn a_table_with_padding_that_is_not_zero_is_refused() {
    let mut bytes = bytes_of(&golden(LayoutName::Line));
    bytes[2 * PAGE_BYTES - 1] = 1;
    let table = blake3::hash(&bytes[PAGE_BYTES..2 * PAGE_BYTES]);
    bytes[80..112].copy_from_slice(table.as_bytes());
    let header = blake3::hash(&bytes[..PAGE_BYTES - 32]);
    bytes[PAGE_BYTES - 32..PAGE_BYTES].copy_from_slice(header.as_bytes());
    assert!(refusal(&bytes).starts_with("digest table:"));
}

/// What the golden files are too small for: three pages a key, and a table of several pages. The header's digest
/// vouches for every byte of the file.
#[test]
fn a_large_file_with_several_pages_a_key_is_reproduced_to_the_byte() {
    let (sip, layout) = (SipKey::public(), seenit_filter::Paged::new(300, 3, 5).expect("in range").any());
    let mut filter = Filter::new(layout, None, sip.fingerprint(), HugePages::Default).expect("memory");
    filter.insert_many(&sip, &(0..100_000).map(key).collect::<Vec<_>>());
    let bytes = bytes_of(&filter);
    check(&bytes).expect("sound");
    let digest: String =
        bytes[PAGE_BYTES - 32..PAGE_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "b8660006f3a74286f9f8103a118281be179ec75d0e1679897ef7ff461346f58c");
}

/// Found in review: one file's header on another's table and pages passed for sound where pages were checked
/// against the table alone, and every member was denied.
#[test]
fn spliced_files_are_refused() {
    let file_under = |seed| {
        let sip = sip(seed);
        let layout = seenit_filter::Line::new(1000).expect("in range").any();
        let mut filter = Filter::new(layout, None, sip.fingerprint(), HugePages::Default).expect("memory");
        filter.insert_many(&sip, &(0..10_000).map(key).collect::<Vec<_>>());
        bytes_of(&filter)
    };
    let mut spliced = file_under(1);
    spliced[PAGE_BYTES..].copy_from_slice(&file_under(2)[PAGE_BYTES..]);
    let words = aligned(&spliced);
    let view = FileView::open(bytemuck::cast_slice(&words)).expect("the header is sound");
    view.expect_key(sip(1).fingerprint()).expect("the header's key");
    assert!(matches!(view.check_all(|_| ()), Err(FormatError::Table)));
    assert!(matches!(view.check_page(99), Err(FormatError::Page(99))));
}

proptest! {
    /// Whatever the bytes, an answer: no panic, and nothing that is not a filter of ours gets through.
    #[test]
    fn any_bytes_get_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 0..3 * PAGE_BYTES), ours: bool) {
        if ours && bytes.len() >= 12 {
            bytes[..8].copy_from_slice(b"\x89seenit\n");
            bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        }
        prop_assert!(check(&bytes).is_err());
    }
}
