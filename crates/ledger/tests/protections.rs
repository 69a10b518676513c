//! Protections are counted: a signature is protected as long as one message that protects it is left, whatever was
//! protected and undone before, and after a kill, a restart and a rebuild.

mod common;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use common::*;
use flate2::read::GzDecoder;
use proptest::prelude::*;
use seenit_ledger::{Answer, Case, Ledger, LedgerConfig, OPERATOR, ProtectionReceipt, Verb, Verdict, Write};
use seenit_signature::Kind;

/// The link that messages 0 to 9 of `case` share.
fn link() -> Case {
    let mut case = Case::new();
    case.push(Kind::Url1, &digest::<20>(1 << 50)).expect("a digest");
    case
}

fn is_protected(ledger: &Ledger, one: &Case) -> bool {
    let mut answers = [Answer::default()];
    ledger.check_many(&[one.iter().next().expect("one")], &mut answers);
    answers[0].protected
}

fn undo(ledger: &Ledger, case: Case) -> ProtectionReceipt {
    let receipt = write(ledger, Verb::Unprotect, OPERATOR, case).expect("durable");
    receipt.protection.expect("of a protection")
}

#[test]
fn undoing_one_message_does_not_take_away_what_another_protects() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.protect(vec![case(1), case(2)]).expect("durable");
    let undone = undo(&ledger, case(1));
    assert_eq!(undone, ProtectionReceipt { changed: 1, unchanged: 0, still_protected: 1 }, "the link");
    assert!(!is_protected(&ledger, &exact(1)) && is_protected(&ledger, &exact(2)));
    assert!(is_protected(&ledger, &link()), "message 2 has it, too");
    assert_eq!(undo(&ledger, case(2)).still_protected, 0);
    assert!(!is_protected(&ledger, &link()));
}

#[test]
fn protecting_a_message_twice_counts_once() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let first = ledger.protect(vec![case(1), case(1)]).expect("durable").protection;
    assert_eq!(first, Some(ProtectionReceipt { changed: 1, unchanged: 1, still_protected: 0 }));
    let mut reversed = Case::new();
    let signatures = case(1);
    let signatures: Vec<_> = signatures.iter().collect();
    signatures.iter().rev().for_each(|one| reversed.add(*one).expect("room"));
    let again = ledger.protect(vec![reversed]).expect("durable").protection;
    assert_eq!(again.map(|told| told.unchanged), Some(1), "the order of signatures is nobody's");
    assert_eq!(undo(&ledger, case(1)).changed, 1);
    assert!(!is_protected(&ledger, &exact(1)) && !is_protected(&ledger, &link()));
}

#[test]
fn undoing_what_was_never_protected_takes_nothing_away_and_says_so() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.protect(vec![case(1)]).expect("durable");
    let undone = undo(&ledger, case(2));
    assert_eq!(undone, ProtectionReceipt { changed: 0, unchanged: 1, still_protected: 1 });
    assert_eq!(undo(&ledger, link()).unchanged, 1, "a part of a message is another message");
    assert!(is_protected(&ledger, &link()) && is_protected(&ledger, &exact(1)));
    undo(&ledger, case(1));
    assert_eq!(undo(&ledger, case(1)).unchanged, 1, "twice");
    assert!(!is_protected(&ledger, &link()));
}

#[test]
fn shingles_stay_good_as_long_as_one_message_protects_them() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let weak = ledger.put_reporter("weak", Some(4)).expect("durable").id;
    let verdict = || ledger.check(&near(5, 0)).verdict;
    write(&ledger, Verb::Report, OPERATOR, near(5, 0)).expect("durable");
    for number in [1, 2] {
        write(&ledger, Verb::Protect, weak, near(5, number)).expect("durable");
    }
    assert_eq!(verdict(), Verdict::Spam, "the word of an account of 4 points is no unit");
    ledger.protect(vec![near(5, 3), near(5, 4)]).expect("durable");
    assert_eq!((verdict(), ledger.stats().near_ham), (Verdict::Unknown, 1), "they share their first shingle");
    for number in [1, 2, 3] {
        undo(&ledger, near(5, number));
        assert_eq!(verdict(), Verdict::Unknown, "text {number} undone");
    }
    undo(&ledger, near(5, 4));
    assert_eq!((verdict(), ledger.stats().near_ham), (Verdict::Spam, 0));
}

/// Other sites take a protection for a revocation, one word for each signature: an end of protection must not take that
/// back where another message still protects.
#[test]
fn other_sites_hear_the_end_of_a_protection_only_of_what_nobody_protects() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let (there, ledger) = (private_folder(), open(folder.path(), &hands));
    let other = open(there.path(), &hands);
    other.set_peers(&[peer(1, 10, 10, 1)]).expect("durable");
    ledger.protect(vec![case(1), case(2), link()]).expect("durable");
    undo(&ledger, case(1));
    undo(&ledger, link());
    undo(&ledger, case(3));
    let records = seenit_sites::message::Stream::Records;
    let run = ledger.items(ledger.incarnation(), records, 0, usize::MAX);
    assert_eq!(run.items.len(), 6);
    other.commit_link(heard(1, 1, run.items)).expect("durable");
    let against = |one: Case| {
        let mut answers = [Answer::default()];
        other.check_many(&[one.iter().next().expect("one")], &mut answers);
        answers[0].against
    };
    assert_eq!((against(exact(1)), against(exact(2)), against(link())), (0, 10, 10));
    assert_eq!(other.stats().heard_unreadable, 0);
}

/// Written by the version before protections were counted (9 requests of an operator): protect cases 1 and 2, 2 again,
/// 20, texts (5, 0) and (5, 3); report cases 1 and 2 and text (5, 0); unprotect case 1, text (5, 3), cases 20 and 30.
/// There the last record won: the link of cases 1 and 2 and the shingles of both texts were protected no longer.
fn folder_of_older_version(to: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/protections-by-last-record.tar.gz");
    let packed = GzDecoder::new(File::open(golden).expect("there"));
    tar::Archive::new(packed).unpack(to).expect("unpacked");
}

/// When that folder was written.
const WRITTEN_SECS: u64 = 1_794_853_948;

#[test]
fn a_folder_of_an_older_version_is_counted_once_when_it_is_opened() {
    let (folder, hands) = (private_folder(), Hands::at(WRITTEN_SECS + 60));
    folder_of_older_version(folder.path());
    let small = || LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let holds = |ledger: &Ledger, when: &str| {
        assert!(is_protected(ledger, &link()), "message 2 protects it {when}");
        assert!(is_protected(ledger, &exact(2)) && !is_protected(ledger, &exact(1)), "{when}");
        assert!(!is_protected(ledger, &exact(20)) && !is_protected(ledger, &exact(30)), "{when}");
        assert_eq!(ledger.check(&near(5, 0)).verdict, Verdict::Unknown, "text (5, 0) protects it {when}");
        assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam, "{when}");
    };
    let ledger = open_with(folder.path(), &hands, small());
    holds(&ledger, "when it is opened");
    let killed = private_folder();
    copy_all(folder.path(), killed.path());
    holds(&open_with(killed.path(), &hands, small()), "after a kill, with the old snapshot");
    drop(ledger);
    let again = open_with(folder.path(), &hands, small());
    assert_eq!(again.stats().recovery, Vec::<String>::new(), "the new snapshot counts them");
    holds(&again, "after a restart");
    assert_eq!(undo(&again, case(2)).changed, 1);
    assert!(!is_protected(&again, &link()));
}

/// Messages of the law: each is a set of exact signatures and of texts that others have, too.
fn message(number: usize) -> Case {
    let (exacts, text): (&[u64], Option<u64>) = [
        (&[0, 1][..], None),
        (&[1, 2], Some(0)),
        (&[0, 1, 2], Some(2)),
        (&[2], None),
        (&[3], Some(4)),
        (&[], Some(0)),
    ][number];
    let mut case = Case::new();
    exacts.iter().for_each(|&one| case.add(exact(one).iter().next().expect("one")).expect("room"));
    text.iter().for_each(|&one| case.add(near(9, one).iter().next().expect("one")).expect("room"));
    case
}

const MESSAGES: usize = 6;

/// Messages that are protected.
type Naive = BTreeSet<usize>;

fn compare(ledger: &Ledger, naive: &Naive, when: &str) -> Result<(), TestCaseError> {
    for signature in 0..4 {
        let one = exact(signature);
        let has = |number: &usize| message(*number).iter().any(|it| Some(it) == one.iter().next());
        let expected = naive.iter().any(has);
        prop_assert_eq!(is_protected(ledger, &one), expected, "signature {} {}", signature, when);
    }
    // Each text is reported: as soon as its shingles are not good, it is a replica.
    for text in [0, 2, 4] {
        let is_good = naive.iter().any(|&number| message(number).iter().any(|one| one.kind().is_near()));
        let expected = if is_good { Verdict::Unknown } else { Verdict::Spam };
        prop_assert_eq!(ledger.check(&near(9, text)).verdict, expected, "text {} {}", text, when);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_signature_is_protected_as_long_as_one_protecting_message_is_left(
        steps in prop::collection::vec((any::<bool>(), 0..MESSAGES, 0..8u32), 1..40),
    ) {
        let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
        let small = || LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
        let ledger = open_with(folder.path(), &hands, small());
        let texts = vec![near(9, 0), near(9, 2), near(9, 4)];
        ledger.write_and_wait(Write { verb: Verb::Report, reporter: OPERATOR, cases: texts }).expect("durable");
        let mut naive = Naive::new();
        for &(is_protect, number, other) in &steps {
            let verb = if is_protect { Verb::Protect } else { Verb::Unprotect };
            let cases = vec![message(number), message(number)];
            let receipt = ledger.write_and_wait(Write { verb, reporter: OPERATOR, cases }).expect("durable");
            let changes = if is_protect { naive.insert(number) } else { naive.remove(&number) };
            let told = receipt.protection.map(|told| (told.changed, told.unchanged));
            prop_assert_eq!(told, Some(if changes { (1, 1) } else { (0, 2) }));
            if other == 0 {
                settle(&ledger);
            }
        }
        compare(&ledger, &naive, "while running")?;
        let killed = private_folder();
        copy_all(folder.path(), killed.path());
        compare(&open_with(killed.path(), &hands, small()), &naive, "after a kill")?;
        drop(ledger);
        compare(&open_with(folder.path(), &hands, small()), &naive, "after a restart")?;
        seenit_ledger::rebuild(folder.path(), small(), hands.clone(), || ()).expect("rebuilt");
        let rebuilt = open_with(folder.path(), &hands, small());
        compare(&rebuilt, &naive, "after a rebuild")?;
        for &number in &naive.clone() {
            undo(&rebuilt, message(number));
            naive.remove(&number);
            compare(&rebuilt, &naive, "undone one by one after a rebuild")?;
        }
    }
}
