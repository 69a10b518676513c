//! Manifests: every member opens the same key and nobody else any; terms change with a generation and never in one.

mod made;

use made::{
    admin, flips, hash_key, is_number, manifest, member, other_admin, roster, signed_by_admin, site, terms,
    too_many,
};
use proptest::prelude::*;
use seenit_sites::key::SealingKey;
use seenit_sites::manifest::{MANIFESTS_MAX, Manifest, ManifestTerms, Manifests};
use seenit_sites::number::Generation;
use seenit_sites::roster::{Member, Roster, SITES_MAX};
use seenit_sites::{FormatError, Precedence};

fn decode(bytes: &[u8]) -> Result<Manifest, FormatError> {
    Manifest::decode(bytes, &admin().public())
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(
        number in 1..u64::MAX,
        first in 0..1_u64 << 40,
        key: [u8; 16],
        once: [u8; 32],
        seeds in proptest::collection::btree_set(0..50_u8, 0..5),
    ) {
        let roster = roster(1, &seeds.iter().copied().collect::<Vec<_>>());
        let key = seenit_sites::manifest::HashKey::from_bytes(key);
        let terms = terms(first);
        let signed = Manifest::sign(&admin(), number, terms, &roster, &key, once).expect("a manifest");
        let read = decode(&signed.bytes).expect("a manifest of ours");
        prop_assert_eq!(&read, &signed);
        prop_assert_eq!((read.number, read.terms, read.key), (number, terms, key.fingerprint()));
        for &seed in &seeds {
            prop_assert_eq!(read.open(&site(seed)).expect("a member"), key.clone());
        }
        let refused = matches!(read.open(&site(99)), Err(FormatError::NotSealed { .. }));
        prop_assert!(refused, "no member");
    }

    #[test]
    fn any_bytes_are_a_manifest_or_an_error(bytes: Vec<u8>) {
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn any_signed_bytes_are_a_manifest_or_an_error(
        at in 52..350_usize,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = manifest(1, 20_000, 1).bytes.to_vec();
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        if let Ok(read) = decode(&signed_by_admin(&bytes)) {
            let _ = read.open(&site(1));
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    for (bit, flipped) in flips(&manifest(1, 20_000, 1).bytes) {
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let bytes = manifest(1, 20_000, 1).bytes.to_vec();
    assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_err()));
    let longer = signed_by_admin(&[bytes.as_slice(), &[0; 64]].concat());
    assert!(matches!(decode(&longer), Err(FormatError::Surplus(64))));
}

/// Even where the admin signs it: a key belongs to one site in one manifest.
#[test]
fn a_sealed_key_that_is_moved_does_not_open() {
    let manifest = manifest(1, 20_000, 1);
    // Bytes 128 on: a site's key and what is sealed to it, 32 bytes each.
    let (first, second) = (128 + 32..128 + 64, 128 + 96..128 + 128);
    let mut moved = manifest.bytes.to_vec();
    moved.copy_within(first, second.start);
    let sites: Vec<_> = manifest.sites().copied().collect();
    let victim = (1..=3).map(site).find(|secret| secret.public() == sites[1]).expect("one of the three");
    let moved = decode(&signed_by_admin(&moved)).expect("it is signed");
    assert!(matches!(moved.open(&victim), Err(FormatError::OtherKey { number: 1, .. })));
    // A later number with the same seals.
    let mut later = manifest.bytes.to_vec();
    later[52] = 9;
    let later = decode(&signed_by_admin(&later)).expect("it is signed");
    assert!(matches!(later.open(&victim), Err(FormatError::OtherKey { number: 9, .. })));
}

#[test]
fn nothing_is_sealed_with_a_key_that_everybody_shares() {
    let weak = Member { sealing: SealingKey::from_bytes([0; 32]), ..member(1) };
    let roster = Roster::sign(&admin(), 1, vec![weak]).expect("a roster");
    let refused = Manifest::sign(&admin(), 1, terms(1), &roster, &hash_key(1), [1; 32]);
    assert!(matches!(refused, Err(FormatError::WeakSealing(weak)) if weak == member(1).site));
}

#[test]
fn a_manifest_of_another_network_is_refused() {
    let signed = manifest(1, 20_000, 1);
    let read = Manifest::decode(&signed.bytes, &other_admin().public());
    assert!(matches!(read, Err(FormatError::OtherNetwork { .. })));
    let foreign = Manifest::sign(&other_admin(), 1, terms(1), &roster(1, &[1]), &hash_key(1), [1; 32]);
    assert!(matches!(foreign, Err(FormatError::OtherNetwork { .. })), "a roster of one, the key of another");
}

#[test]
fn what_the_admin_signed_by_mistake_is_named() {
    let sound = manifest(1, 20_000, 1);
    let forge = |at: usize, with: &[u8]| {
        let mut bytes = sound.bytes.to_vec();
        bytes[at..at + with.len()].copy_from_slice(with);
        decode(&signed_by_admin(&bytes))
    };
    assert!(is_number(&forge(52, &[0; 8]), "manifest of number", 0));
    assert!(is_number(&forge(60, &[0xff; 8]), "generation", u64::MAX));
    assert!(is_number(&forge(68, &[0; 8]), "seconds of a generation", 0));
    assert_eq!(forge(124, &[0xff; 4]), Err(too_many("sealed keys", u32::MAX as usize, SITES_MAX)));
    assert!(matches!(forge(128, &[0; 32]), Err(FormatError::Key("site", _))));
    assert!(matches!(forge(128 + 64, &sound.bytes[128..160]), Err(FormatError::Order(_))));
}

#[test]
fn the_latest_manifest_that_has_begun_holds() {
    let mut all = Manifests::new();
    assert!(all.holding(Generation(5)).is_none());
    for manifest in [manifest(3, 200, 2), manifest(1, 100, 1), manifest(2, 100, 1)] {
        assert_eq!(all.add(manifest, None).expect("in any order"), Precedence::Newer);
    }
    let number = |generation| all.holding(Generation(generation)).map(|manifest| manifest.number);
    assert_eq!([99, 100, 199, 200, 900].map(number), [None, Some(2), Some(2), Some(3), Some(3)]);
    // What was made under the first is of the same key; under the third it is not.
    assert!(
        all.applies(1, Generation(150)) && all.applies(2, Generation(150)) && all.applies(3, Generation(250))
    );
    assert!(
        !all.applies(1, Generation(250))
            && !all.applies(3, Generation(150))
            && !all.applies(4, Generation(250))
    );
}

#[test]
fn a_generation_that_has_begun_keeps_its_terms() {
    let mut all = Manifests::new();
    all.add(manifest(1, 100, 1), None).expect("the first");
    let late = all.add(manifest(2, 150, 2), Some(Generation(150)));
    assert!(
        matches!(late, Err(FormatError::Late { number: 2, first: Generation(150), begun: Generation(150) })),
        "{late:?}"
    );
    assert_eq!(all.add(manifest(2, 151, 2), Some(Generation(150))).expect("the next one"), Precedence::Newer);
    // A newcomer's copy of running terms says nothing new, and undoes no change to come.
    assert_eq!(
        all.add(manifest(3, 100, 1), Some(Generation(150))).expect("the same terms"),
        Precedence::Newer
    );
    assert_eq!(all.holding(Generation(151)).map(|manifest| manifest.number), Some(2));
    // Nor may the past be changed below a later change.
    assert!(all.add(manifest(4, 100, 3), Some(Generation(160))).is_err());
    assert!(all.add(manifest(5, 151, 2), Some(Generation(160))).is_ok());
    // What a greater number has overtaken already may say what it likes: it never held.
    assert!(all.add(manifest(4, 151, 3), Some(Generation(160))).is_ok());
    assert_eq!(all.holding(Generation(160)).map(|manifest| manifest.number), Some(5));
}

#[test]
fn generations_keep_their_length() {
    let mut all = Manifests::new();
    all.add(manifest(1, 100, 1), None).expect("the first");
    let hours = ManifestTerms { generation_secs: 3600, ..terms(200) };
    let hours =
        Manifest::sign(&admin(), 2, hours, &roster(1, &[1]), &hash_key(1), [1; 32]).expect("a manifest");
    let refused = all.add(hours, None);
    let named =
        matches!(refused, Err(FormatError::OtherGenerationSecs { number: 2, found: 3600, held: 86_400 }));
    assert!(named, "{refused:?}");
}

#[test]
fn no_more_manifests_are_held_than_the_limit_says() {
    let (mut all, terms, nobody) = (Manifests::new(), terms(1), roster(1, &[]));
    let sign =
        |number| Manifest::sign(&admin(), number, terms, &nobody, &hash_key(1), [1; 32]).expect("a manifest");
    for number in 1..=MANIFESTS_MAX as u64 {
        all.add(sign(number), None).expect("within the limit");
    }
    assert!(matches!(
        all.add(sign(MANIFESTS_MAX as u64 + 1), None),
        Err(FormatError::Many { what: "manifests", .. })
    ));
    assert_eq!(all.add(sign(7), None).expect("one that is held"), Precedence::Same);
}

#[test]
fn of_two_manifests_of_one_number_every_site_keeps_the_same() {
    let (one, other) = (manifest(1, 100, 1), manifest(1, 100, 2));
    let kept = |order: [&Manifest; 2]| {
        let mut all = Manifests::new();
        for manifest in [order[0], order[1], order[0]] {
            all.add(manifest.clone(), None).expect("of one network");
        }
        all.holding(Generation(100)).expect("one of them").bytes.to_vec()
    };
    assert_eq!(kept([&one, &other]), kept([&other, &one]));
    let mut all = Manifests::new();
    all.add(one.clone(), None).expect("the first");
    assert_eq!(all.add(one, None).expect("again"), Precedence::Same);
    assert!(matches!(all.add(other, None), Ok(Precedence::Fork { .. })));
}
