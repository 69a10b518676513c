//! Rosters: one encoding for one roster, nothing half-checked, and the greater version counts.

mod made;

use made::{admin, any_members, flips, is_number, member, other_admin, roster, signed_by_admin, too_many};
use proptest::prelude::*;
use seenit_sites::roster::{NAME_BYTES_MAX, Name, NameError, ROSTER_BYTES_MAX, Roster, SITES_MAX};
use seenit_sites::{FormatError, Precedence};

/// Where the first member begins, and the number of members before it.
const MEMBERS: usize = 64;
/// A member whose name is `site-N.example`.
const MEMBER_BYTES: usize = 81 + 14;

fn decode(bytes: &[u8]) -> Result<Roster, FormatError> {
    Roster::decode(bytes, &admin().public())
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(version in 1..u64::MAX, members in any_members()) {
        let signed = Roster::sign(&admin(), version, members.clone()).expect("a roster");
        let read = decode(&signed.bytes).expect("a roster of ours");
        prop_assert_eq!(&read, &signed);
        prop_assert_eq!((read.version, read.members.len()), (version, members.len()));
        for member in &members {
            prop_assert_eq!(read.member(&member.site), Some(member));
        }
    }

    #[test]
    fn the_order_of_members_changes_no_byte(members in any_members().prop_flat_map(|members| {
        (Just(members.clone()), Just(members).prop_shuffle())
    })) {
        let (one, other) = members;
        let [one, other] = [one, other].map(|members| Roster::sign(&admin(), 1, members).expect("a roster"));
        prop_assert_eq!(one.bytes, other.bytes);
    }

    #[test]
    fn any_bytes_are_a_roster_or_an_error(bytes: Vec<u8>) {
        prop_assert!(decode(&bytes).is_err());
    }

    /// Even what the admin's key signs is read with care: the tool that signed it may have been wrong.
    #[test]
    fn any_signed_bytes_are_a_roster_or_an_error(
        at in 52..400_usize,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = roster(3, &[1, 2, 3, 4]).bytes.to_vec();
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_by_admin(&bytes);
        if let Ok(read) = decode(&bytes) {
            let again = Roster::sign(&admin(), read.version, read.members.to_vec()).expect("a roster");
            prop_assert_eq!(again.bytes, bytes, "one roster has one encoding");
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    for (bit, flipped) in flips(&roster(1, &[1, 2]).bytes) {
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let bytes = roster(1, &[1, 2]).bytes.to_vec();
    assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_err()));
    let longer = [bytes.as_slice(), &[0; 64]].concat();
    assert!(matches!(decode(&longer), Err(FormatError::Signature { .. })));
    assert_eq!(decode(&signed_by_admin(&longer)), Err(FormatError::Surplus(64)));
    let large = vec![0; ROSTER_BYTES_MAX + 1];
    let error = FormatError::Many { what: "bytes", found: large.len(), most: ROSTER_BYTES_MAX };
    assert_eq!(decode(&large), Err(error));
}

#[test]
fn a_roster_of_another_network_is_refused() {
    let foreign = Roster::sign(&other_admin(), 1, vec![member(1)]).expect("a roster");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    assert_eq!(decode(&foreign.bytes), Err(FormatError::OtherNetwork { expected, found }));
    // Not even when it says to be of this one.
    let mut bytes = foreign.bytes.to_vec();
    bytes[20..52].copy_from_slice(&expected.to_bytes());
    assert!(matches!(decode(&bytes), Err(FormatError::Signature { .. })));
}

#[test]
fn what_must_not_be_in_a_roster_is_named() {
    let sign = |members| Roster::sign(&admin(), 1, members);
    assert_eq!(sign(vec![member(1), member(1)]), Err(FormatError::Order(member(1).site)));
    let mut named = member(2);
    named.name = member(1).name;
    assert_eq!(sign(vec![member(1), named]), Err(FormatError::NameTwice(member(1).name)));
    let mut copied = member(2);
    copied.sealing = member(1).sealing;
    assert_eq!(sign(vec![member(1), copied]), Err(FormatError::SealingTwice(member(1).sealing)));
    assert!(is_number(&Roster::sign(&admin(), 0, vec![]), "roster of version", 0));
    let many = vec![member(1); SITES_MAX + 1];
    assert_eq!(sign(many), Err(too_many("sites", SITES_MAX + 1, SITES_MAX)));
}

#[test]
fn what_the_admin_signed_by_mistake_is_named() {
    let sound = roster(1, &[1, 2]);
    let forge = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = sound.bytes.to_vec();
        change(&mut bytes);
        decode(&signed_by_admin(&bytes)).expect_err("a mistake")
    };
    let first = &sound.members[0];
    let swapped = forge(&|bytes| bytes[MEMBERS..MEMBERS + 2 * MEMBER_BYTES].rotate_left(MEMBER_BYTES));
    assert_eq!(swapped, FormatError::Order(first.site));
    let twice = forge(&|bytes| bytes.copy_within(MEMBERS..MEMBERS + 32, MEMBERS + MEMBER_BYTES));
    assert_eq!(twice, FormatError::Order(first.site));
    let weak = forge(&|bytes| bytes[MEMBERS + MEMBER_BYTES..][..32].fill(0));
    assert!(matches!(weak, FormatError::Key("site", _)), "{weak}");
    let name = forge(&|bytes| bytes[MEMBERS + 2 * MEMBER_BYTES - 1] = 0xff);
    let error = NameError::Letter(char::REPLACEMENT_CHARACTER);
    assert_eq!(name, FormatError::Name(error));
    let many = forge(&|bytes| bytes[MEMBERS - 4..MEMBERS].fill(0xff));
    assert_eq!(many, too_many("sites", u32::MAX as usize, SITES_MAX));
    assert!(is_number(&Err::<(), _>(forge(&|bytes| bytes[52..60].fill(0))), "roster of version", 0));
    assert!(matches!(forge(&|bytes| bytes[15] = b'2'), FormatError::Tag { .. }));
}

#[test]
fn a_full_roster_fits_its_limit() {
    let mut members = Vec::new();
    for number in 0..SITES_MAX {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let secret = seenit_sites::key::SiteSecret::from_bytes(seed);
        let name = format!("{number:0>width$}", width = NAME_BYTES_MAX).parse().expect("a name");
        let (site, sealing) = (secret.public(), secret.sealing().public());
        members.push(seenit_sites::roster::Member { site, sealing, name, ..member(1) });
    }
    let roster = Roster::sign(&admin(), 1, members).expect("a full roster");
    assert_eq!(roster.bytes.len(), ROSTER_BYTES_MAX);
    assert_eq!(decode(&roster.bytes), Ok(roster));
}

#[test]
fn the_greater_version_counts_and_of_two_alike_the_same_one_everywhere() {
    let (old, new) = (roster(1, &[1, 2, 3]), roster(2, &[1, 2]));
    assert_eq!(new.precedence(&old), Precedence::Newer);
    assert_eq!(old.precedence(&new), Precedence::Older);
    assert_eq!(old.precedence(&old), Precedence::Same);
    let twin = roster(2, &[1, 3]);
    let both = [twin.precedence(&new), new.precedence(&twin)];
    assert!(both.iter().all(|one| matches!(one, Precedence::Fork { .. })), "{both:?}");
    assert!(both[0].replaces() != both[1].replaces(), "each order ends with the same roster: {both:?}");
}

#[test]
fn names_that_could_not_be_read_anywhere_are_refused() {
    assert!(["a", "0", "mail.example.org", "a-b"].iter().all(|text| text.parse::<Name>().is_ok()));
    assert_eq!("".parse::<Name>(), Err(NameError::Length(0)));
    assert_eq!("a".repeat(64).parse::<Name>(), Err(NameError::Length(64)));
    assert_eq!("a b".parse::<Name>(), Err(NameError::Letter(' ')));
    assert_eq!("A".parse::<Name>(), Err(NameError::Letter('A')));
    assert_eq!("..".parse::<Name>(), Err(NameError::Edge("..".into())));
    assert_eq!("a-".parse::<Name>(), Err(NameError::Edge("a-".into())));
}
