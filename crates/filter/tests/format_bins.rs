//! Guards the file of a bin filter: reproduced to the byte, read back whole, and refused by name when it is damaged
//! or says what cannot be.

mod common;

use common::key;
use seenit_filter::bins::BinFilter;
use seenit_filter::file::{self, BinFile, FileKind, FileView, Note};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::maths::bins::Bin;
use seenit_filter::{FormatError, PAGE_BYTES};

/// Keys of each bin; the third gets no bits.
const KEYS: [u64; 4] = [10, 200, 7, 1000];

/// Four bins of counted keys under the public key, the third of them dropped: the contents of the golden file.
fn golden() -> BinFile {
    let sip = SipKey::public();
    let bins: Vec<Bin> =
        KEYS.iter().zip([900.0, 3.5, 1.0, -2.0]).map(|(&keys, weight)| Bin { keys, weight }).collect();
    let mut filter = BinFilter::empty(sip.fingerprint(), &bins, &[200, 2000, 0, 9001]).expect("memory");
    let mut next = 0;
    for (place, &keys) in KEYS.iter().enumerate() {
        for _ in 0..keys {
            filter.insert(place, sip.hash(&key(next)));
            next += 1;
        }
    }
    let notes = [("slope", 12.5), ("a name of 24 characters!", -1e-9)];
    let notes = notes.map(|(name, value)| Note { name: name.into(), value }).to_vec();
    BinFile { filter, shares: vec![[0.25, 0.001], [0.5, 0.125], [0.0, 1.0]], notes }
}

fn bytes_of(file: &BinFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(file, &mut bytes).expect("memory takes any bytes");
    bytes
}

fn read(bytes: &[u8]) -> Result<BinFile, FormatError> {
    let view = FileView::open(bytes)?;
    view.check_all(|_| ())?;
    view.to_bins()
}

/// Written by release 0.1.0; `SEENIT_BLESS=1` writes it anew.
/// Makes a file unsound.
type Change = fn(&mut BinFile);

#[test]
fn the_golden_file_is_reproduced_to_the_byte() {
    let path = format!("{}/tests/golden/bins-1.filter", env!("CARGO_MANIFEST_DIR"));
    let bytes = bytes_of(&golden());
    if std::env::var_os("SEENIT_BLESS").is_some() {
        std::fs::write(&path, &bytes).expect("the golden folder is writable");
    }
    let stored = std::fs::read(&path).expect("a golden file");
    assert!(stored == bytes, "{path} differs from what this release writes");
    assert!(bytes_of(&read(&stored).expect("sound")) == bytes, "one filter, one file");
}

#[test]
fn what_is_written_is_read_back() {
    let (written, sip) = (golden(), SipKey::public());
    let found = read(&bytes_of(&written)).expect("sound");
    assert_eq!((&found.shares, &found.notes), (&written.shares, &written.notes));
    assert_eq!(found.note("slope"), Some(12.5));
    assert_eq!(found.filter.places().collect::<Vec<_>>(), [0, 1, 3]);
    for number in 0..5000 {
        let hash = sip.hash(&key(number));
        assert_eq!(found.filter.credit(hash), written.filter.credit(hash), "key {number}");
    }
    assert!(found.filter.credit(sip.hash(&key(0))).weight >= 890.0);
}

#[test]
fn damage_is_noticed_and_named() {
    let bytes = bytes_of(&golden());
    for length in [0, 100, PAGE_BYTES, 2 * PAGE_BYTES, bytes.len() - 1] {
        let refused = read(&bytes[..length]).expect_err("short").to_string();
        assert!(refused.starts_with("length:"), "{length}: {refused}");
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        read(&damaged).expect_err("every byte is vouched for");
    }
}

/// A file whose digests fit may still say what cannot be.
#[test]
fn impossible_values_are_refused_by_name() {
    let cases: [(&str, Change); 5] = [
        ("share:", |file| file.shares[1][0] = 1.5),
        ("shares:", |file| file.shares.truncate(2)),
        ("note:", |file| file.notes[0].value = f64::NAN),
        ("note:", |file| file.notes[0].name = "twenty-five characters...".into()),
        ("notes:", |file| file.notes = vec![file.notes[0].clone(); 65]),
    ];
    for (field, spoil) in cases {
        let mut file = golden();
        spoil(&mut file);
        let refused = file.check().expect_err("refused").to_string();
        assert!(refused.starts_with(field), "{refused}");
    }
}

#[test]
fn a_bin_filter_is_no_other_filter() {
    let bytes = bytes_of(&golden());
    let view = FileView::open(&bytes).expect("sound");
    assert_eq!(view.header().kind, FileKind::Bins { bins: 3, notes: 2 });
    let refused = view.to_filter(seenit_filter::HugePages::Default).expect_err("another kind").to_string();
    assert!(refused.contains("bin filter"), "{refused}");
    let plain =
        std::fs::read(format!("{}/tests/golden/flat-1.filter", env!("CARGO_MANIFEST_DIR"))).expect("golden");
    let refused = read(&plain).expect_err("another kind").to_string();
    assert!(refused.starts_with("kind:") && refused.contains("a plain filter"), "{refused}");
}
