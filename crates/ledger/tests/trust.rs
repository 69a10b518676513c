//! The rule of trust (`docs/design/trust.md`), as a ledger keeps it: who settles whom, what that takes, and what is
//! left of it.

mod common;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use common::*;
use flate2::read::GzDecoder;
use seenit_ledger::{
    Case, Clock, LOCAL, Ledger, LedgerConfig, OPERATOR, Reporter, ReporterId, Standing, Verb, Verdict, Write,
};
use seenit_signature::Kind;

/// A ledger with the default reporters, and a clock for it.
struct Site {
    hands: Arc<Hands>,
    ledger: Ledger,
    _folder: tempfile::TempDir,
}

impl Site {
    fn open() -> Self {
        let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
        let clock = Arc::clone(&hands) as Arc<dyn Clock>;
        let ledger = Ledger::open(folder.path(), config(), clock).expect("a ledger");
        Site { hands, ledger, _folder: folder }
    }

    fn add(&self, name: &str, weight: Option<u8>) -> ReporterId {
        self.ledger.put_reporter(name, weight).expect("durable").id
    }

    fn register(&self, name: &str) -> ReporterId {
        self.ledger.admit_reporter(name).expect("durable").id
    }

    fn report(&self, who: ReporterId, case: Case) {
        write(&self.ledger, Verb::Report, who, case).expect("durable");
    }

    fn revoke(&self, who: ReporterId, case: Case) {
        write(&self.ledger, Verb::Revoke, who, case).expect("durable");
    }

    fn reporter(&self, name: &str) -> Reporter {
        self.ledger.reporter(name).expect("known")
    }

    fn weight(&self, name: &str) -> u8 {
        self.reporter(name).weight
    }

    /// Messages on which somebody was confirmed and refuted.
    fn settled(&self, name: &str) -> (u64, u64) {
        let one = self.reporter(name);
        (one.confirmed, one.refuted)
    }

    fn next_day(&self) {
        self.hands.pass(DAY);
        settle(&self.ledger);
    }
}

#[test]
fn a_known_account_gains_a_point_in_three_days_and_a_stranger_a_record() {
    let site = Site::open();
    let (mx, stranger, echo) = (site.add("mx", None), site.register("stranger"), site.add("echo", None));
    for day in 0..3 {
        for number in 0..10 {
            let case = || case(1000 * day + 10 * number);
            site.report(mx, case());
            site.report(stranger, case());
            site.report(OPERATOR, case());
            site.report(echo, case());
        }
        assert_eq!(site.weight("mx"), if day < 2 { 4 } else { 5 }, "day {day}");
        site.next_day();
    }
    assert_eq!((site.weight("stranger"), site.settled("stranger")), (0, (30, 0)));
    assert_eq!(site.reporter("stranger").confirmed_generations, 3);
    assert_eq!((site.weight("echo"), site.settled("echo")), (4, (0, 0)), "an echo gains nothing");
    assert_eq!(site.ledger.admit_reporter("mx").expect("known").weight, 5, "a known one stays as it is");
}

#[test]
fn a_message_confirms_once_however_often_and_by_how_many_it_is_said() {
    let site = Site::open();
    let (mx, late) = (site.add("mx", None), site.add("late", None));
    let (desk, other) = (site.add("desk", Some(10)), site.add("other", Some(5)));
    site.report(mx, case(1));
    let many = Write { verb: Verb::Report, reporter: desk, cases: vec![case(1); 20] };
    site.ledger.write_and_wait(many).expect("durable");
    site.report(late, case(1));
    site.report(other, case(1));
    for _ in 0..5 {
        site.report(OPERATOR, case(1));
    }
    assert_eq!((site.settled("mx"), site.settled("late")), ((1, 0), (0, 0)));
}

/// Whoever confirmed it before.
#[test]
fn the_operators_revocation_refutes_a_liar_who_was_confirmed() {
    let site = Site::open();
    let (liar, desk) = (site.add("liar", None), site.add("desk", Some(10)));
    site.report(liar, case(1));
    site.report(desk, case(1));
    assert_eq!(site.settled("liar"), (1, 0));
    site.revoke(OPERATOR, case(1));
    assert_eq!((site.settled("liar"), site.weight("liar")), ((1, 1), 2));
    assert_eq!((site.settled("desk"), site.weight("desk")), ((0, 1), 10), "the operator's choice stays");
    site.revoke(OPERATOR, case(1));
    assert_eq!(site.settled("liar"), (1, 1), "one message, one refutation");
    site.report(liar, case(100));
    site.revoke(desk, case(100));
    assert_eq!((site.settled("liar"), site.weight("liar")), ((1, 2), 0), "a second lie takes all");
}

#[test]
fn who_contradicts_the_operator_is_refuted_at_once_and_that_word_weighs_nothing() {
    let site = Site::open();
    let (liar, desk) = (site.add("liar", None), site.add("desk", Some(10)));
    site.report(OPERATOR, case(1));
    site.revoke(liar, case(1));
    assert_eq!((site.settled("liar"), site.weight("liar")), ((0, 1), 2));
    assert_eq!(site.ledger.check(&case(1)).verdict, Verdict::Spam);
    site.revoke(liar, case(1));
    assert_eq!(site.settled("liar"), (0, 1), "the same lie");
    site.report(desk, case(2000));
    site.revoke(liar, case(2000));
    assert_eq!(site.settled("liar"), (0, 1), "what others say later of a vouched word is for the operator");
    site.report(OPERATOR, case(2000));
    assert_eq!((site.settled("liar"), site.weight("liar")), ((0, 2), 0));
}

/// A case of signatures in this order.
fn case_of(signatures: &[(Kind, u64)]) -> Case {
    let mut case = Case::new();
    for &(kind, number) in signatures {
        let mut digest = vec![0x5a; kind.digest_bytes()];
        digest[..8].copy_from_slice(&number.to_le_bytes());
        case.push(kind, &digest).expect("a digest");
    }
    case
}

/// A lie about a part, with a made-up message around it, is no earlier lie about the message.
#[test]
fn neither_the_order_of_signatures_nor_a_made_up_one_hides_a_lie() {
    let site = Site::open();
    let liar = site.add("liar", None);
    site.report(OPERATOR, case_of(&[(Kind::Exact1, 1), (Kind::Part1, 77)]));
    site.revoke(liar, case_of(&[(Kind::Part1, 77), (Kind::Exact1, 999)]));
    assert_eq!(site.settled("liar"), (0, 0), "a part that two messages share");
    site.revoke(liar, case_of(&[(Kind::Part1, 77), (Kind::Exact1, 1)]));
    assert_eq!((site.settled("liar"), site.weight("liar")), ((0, 1), 2));
    site.revoke(liar, case_of(&[(Kind::Exact1, 1), (Kind::Part1, 77)]));
    assert_eq!(site.settled("liar"), (0, 1), "the same lie");
}

/// Four known accounts and `local` would have 10 points or more between them.
#[test]
fn nobody_but_the_vouched_clears_what_the_operator_reported() {
    let site = Site::open();
    let message = || case_of(&[(Kind::Exact1, 1), (Kind::RazorE4, 2)]);
    site.report(OPERATOR, message());
    let mut all: Vec<ReporterId> = (0..4).map(|one| site.add(&format!("liar{one}"), None)).collect();
    all.push(LOCAL);
    for &one in &all {
        site.revoke(one, message());
        site.revoke(one, message());
        site.revoke(one, case_of(&[(Kind::RazorE4, 2), (Kind::Exact1, 999)]));
    }
    for checked in [exact(1), case_of(&[(Kind::RazorE4, 2)])] {
        let judgement = site.ledger.check(&checked);
        assert_eq!((judgement.verdict, judgement.reasons[0].against), (Verdict::Spam, 0));
    }
    let desk = site.add("desk", Some(10));
    site.revoke(desk, message());
    assert_eq!(site.ledger.check(&message()).verdict, Verdict::Unknown, "the vouched do");
}

/// Whoever binds good mail to spam in one report waits for somebody to clear the good mail.
#[test]
fn a_revocation_takes_along_nothing_that_was_bound_to_it_by_those_who_weigh_little() {
    let site = Site::open();
    let (known, stranger) = (site.add("known", None), site.register("razor.stranger"));
    let (spam, good) = ((Kind::Pyzor, 500), (Kind::Exact1, 1));
    site.report(OPERATOR, case_of(&[spam]));
    for one in [known, stranger, LOCAL] {
        site.report(one, case_of(&[good, spam]));
    }
    site.revoke(OPERATOR, case_of(&[good]));
    assert_eq!(site.ledger.check(&case_of(&[spam])).verdict, Verdict::Spam);
    assert_eq!(site.ledger.check(&case_of(&[good])).verdict, Verdict::Unknown, "cleared");
    let desk = site.add("desk", Some(10));
    let both = [(Kind::Exact1, 2), (Kind::Pyzor, 600)];
    site.report(desk, case_of(&both));
    site.revoke(OPERATOR, case_of(&both[..1]));
    assert_eq!(site.ledger.check(&case_of(&both[1..])).reasons[0].against, 10, "what a vouched one reported");
}

/// A revocation takes along what its reporter reported together: here the spam that the operator reported.
#[test]
fn a_known_account_clears_nothing_that_it_bound_to_its_own_report() {
    let site = Site::open();
    let insider = site.add("insider", None);
    site.report(OPERATOR, exact(1));
    site.report(insider, case_of(&[(Kind::Exact1, 1), (Kind::Exact1, 999)]));
    site.revoke(insider, exact(999));
    let judgement = site.ledger.check(&exact(1));
    assert_eq!((judgement.verdict, judgement.reasons[0].against), (Verdict::Spam, 0));
}

#[test]
fn a_made_up_signature_beside_it_does_not_clear_a_part_that_the_operator_reported() {
    let site = Site::open();
    let insider = site.add("insider", None);
    let text = || case_of(&[(Kind::Rspamd, 7)]);
    site.report(OPERATOR, text());
    site.revoke(insider, case_of(&[(Kind::Rspamd, 7), (Kind::Rspamd, 8)]));
    site.revoke(insider, case_of(&[(Kind::Rspamd, 7), (Kind::Exact1, 999)]));
    let judgement = site.ledger.check(&text());
    assert_eq!((judgement.verdict, judgement.reasons[0].against), (Verdict::Spam, 0));
}

/// Variants of the text, too, have shingles that the operator reported.
#[test]
fn a_known_account_blinds_nobody_to_replicas_of_what_the_operator_reported() {
    let site = Site::open();
    let insider = site.add("insider", None);
    earn(&site, insider, "insider");
    site.report(OPERATOR, near(1, 0));
    assert_eq!(site.ledger.check(&near(1, 0)).verdict, Verdict::Spam);
    for changed in [0, 1, 8, 16, 24] {
        site.revoke(insider, near(1, changed));
    }
    assert_eq!(site.ledger.check(&near(1, 0)).verdict, Verdict::Spam);
    assert_eq!(site.weight("insider"), 5, "shingles judge nobody");
}

/// A sender can give spam the Pyzor digest of a newsletter that the operator cleared.
#[test]
fn a_sender_who_borrows_a_newsletters_digest_takes_nothing_from_whoever_reports_its_spam() {
    let site = Site::open();
    let (honest, early, desk) =
        (site.add("honest", None), site.add("early", None), site.add("desk", Some(10)));
    let newsletter = |number| case_of(&[(Kind::Exact1, number), (Kind::Pyzor, number)]);
    let spam = |number| case_of(&[(Kind::Exact1, 1000 + number), (Kind::Pyzor, number)]);
    for number in 1..4 {
        site.report(early, spam(number));
        site.revoke(OPERATOR, newsletter(number));
        site.report(honest, spam(number));
        site.revoke(desk, newsletter(number));
    }
    assert_eq!((site.weight("honest"), site.settled("honest")), (4, (0, 0)));
    assert_eq!((site.weight("early"), site.settled("early")), (4, (0, 0)));
    let judgement = site.ledger.check(&exact(1001));
    assert_eq!(judgement.reasons[0].weight, 8, "what they said of the spam itself counts");
    let judgement = site.ledger.check(&case_of(&[(Kind::Pyzor, 1)]));
    assert_eq!(judgement.reasons[0].weight, 4, "what was said against the operator afterwards does not");
}

/// Phishing has the words of a bank's mail that the operator cleared, and a link of its own.
#[test]
fn who_reports_phishing_with_the_words_of_cleared_mail_keeps_its_weight_and_who_reports_the_mail_does_not() {
    let site = Site::open();
    let (honest, early) = (site.add("honest", None), site.add("early", None));
    let (liar, desk) = (site.add("liar", None), site.add("desk", Some(10)));
    let mail = |words, body, links: &[u64]| {
        let links = links.iter().map(|&link| (Kind::Url1, link));
        case_of(&[(Kind::Exact1, words), (Kind::DccBody, body)].into_iter().chain(links).collect::<Vec<_>>())
    };
    for number in 1..4 {
        site.report(early, mail(number, 100 + number, &[1, 66]));
        site.revoke(OPERATOR, mail(number, number, &[1, 2]));
        site.report(honest, mail(number, 200 + number, &[1, 66]));
        site.revoke(desk, mail(number, 300 + number, &[1, 2]));
    }
    assert_eq!((site.weight("honest"), site.settled("honest")), (4, (0, 0)));
    assert_eq!((site.weight("early"), site.settled("early")), (4, (0, 0)));
    // Another copy of the mail, with another body, and one link of it.
    site.report(liar, mail(1, 400, &[2]));
    assert_eq!((site.weight("liar"), site.settled("liar")), (2, (0, 1)));
}

/// Five points are earned; what weighs as much as a vouched word is not one.
#[test]
fn a_revocation_takes_along_nothing_that_a_known_account_bound_to_it_whatever_it_weighs() {
    let site = Site::open();
    let insider = site.add("insider", None);
    earn(&site, insider, "insider");
    site.report(OPERATOR, exact(1));
    site.report(insider, case_of(&[(Kind::Exact1, 2), (Kind::Exact1, 1)]));
    site.revoke(OPERATOR, exact(2));
    let judgement = site.ledger.check(&exact(1));
    assert_eq!((judgement.verdict, judgement.reasons[0].against), (Verdict::Spam, 0));
}

#[test]
fn one_message_refutes_once_whoever_repeats_it() {
    let site = Site::open();
    let (robot, contrary, desk) =
        (site.add("robot", None), site.add("contrary", None), site.add("desk", Some(10)));
    site.report(robot, exact(1));
    site.revoke(OPERATOR, exact(1));
    site.report(robot, exact(1));
    site.revoke(desk, exact(1));
    assert_eq!((site.settled("robot"), site.weight("robot")), ((0, 1), 2));
    site.report(OPERATOR, exact(2));
    site.revoke(contrary, exact(2));
    site.report(OPERATOR, exact(2));
    site.report(desk, exact(2));
    assert_eq!((site.settled("contrary"), site.weight("contrary")), ((0, 1), 2));
}

/// What somebody said last of a part is about another message: what it said before of this one counts.
#[test]
fn a_later_opinion_on_a_part_hides_no_earlier_one_on_the_message() {
    let site = Site::open();
    let liar = site.add("liar", None);
    site.report(liar, case_of(&[(Kind::RazorE4, 1)]));
    site.report(liar, case_of(&[(Kind::Part1, 77), (Kind::Exact1, 999)]));
    site.revoke(OPERATOR, case_of(&[(Kind::Exact1, 1), (Kind::RazorE4, 1), (Kind::Part1, 77)]));
    assert_eq!(site.settled("liar"), (0, 1));
}

/// Three days of honest work: a fifth point.
fn earn(site: &Site, who: ReporterId, name: &str) {
    for number in 0..15 {
        site.report(who, exact(100_000 + number));
        site.report(OPERATOR, exact(100_000 + number));
        if number % 5 == 4 {
            site.next_day();
        }
    }
    assert_eq!(site.weight(name), 5);
}

/// The second may be staged while the first is not in the journal yet.
#[test]
fn words_that_arrive_together_settle_each_other() {
    let site = Site::open();
    let liar = site.add("liar", None);
    let say = |verb, reporter| Write { verb, reporter, cases: vec![case(1)] };
    for one in [say(Verb::Report, liar), say(Verb::Revoke, OPERATOR)] {
        site.ledger.write(one, |result| drop(result.expect("durable")));
    }
    settle(&site.ledger);
    assert_eq!(site.settled("liar"), (0, 1));
}

#[test]
fn nobody_but_the_vouched_takes_anything_from_anybody() {
    let site = Site::open();
    let honest = site.add("honest", None);
    let strangers: Vec<ReporterId> = (0..30).map(|one| site.register(&format!("razor.s{one}"))).collect();
    let insiders: Vec<ReporterId> = (0..2).map(|one| site.add(&format!("insider{one}"), None)).collect();
    for number in 0..3 {
        site.report(honest, case(1000 * number));
        strangers.iter().chain(&insiders).for_each(|&one| site.revoke(one, case(1000 * number)));
    }
    assert_eq!((site.weight("honest"), site.settled("honest")), (4, (0, 0)));
}

/// A weight that rises later raises no word that was said before.
#[test]
fn words_keep_the_weight_they_were_said_with() {
    let site = Site::open();
    let banked = site.register("razor.banked");
    site.report(banked, case(1));
    site.ledger.set_standing("razor.banked", Standing::Vouched).expect("durable");
    assert_eq!(site.ledger.check(&case(1)).verdict, Verdict::Unknown);
    site.report(banked, case(2000));
    assert_eq!(site.ledger.check(&case(2000)).verdict, Verdict::Spam);
    site.ledger.set_standing("razor.banked", Standing::Stranger).expect("durable");
    assert_eq!((site.weight("razor.banked"), site.reporter("razor.banked").fixed), (0, false));
    assert_eq!(site.ledger.check(&case(2000)).verdict, Verdict::Spam, "`account undo` takes words back");
}

/// A footer is no message: who reported spam with it did not lie about the newsletter that has it, too.
#[test]
fn a_part_that_two_messages_share_judges_nobody() {
    let site = Site::open();
    let (honest, by_parts) = (site.add("honest", None), site.add("by-parts", None));
    let with_footer = |number: u64| {
        let mut case = exact(number);
        case.push(Kind::Part1, &digest::<20>(77)).expect("a digest");
        case.push(Kind::RazorE4, &digest::<20>(number)).expect("a digest");
        case
    };
    let mut parts = Case::new();
    parts.push(Kind::RazorE4, &digest::<20>(2)).expect("a digest");
    site.report(honest, with_footer(1));
    site.report(by_parts, parts);
    site.revoke(OPERATOR, with_footer(2));
    assert_eq!(site.settled("honest"), (0, 0));
    assert_eq!(site.settled("by-parts"), (0, 1), "all that it named is of this message");
}

/// Rows of a signature are read up to a limit: a crowd before the liar is no hiding place.
#[test]
fn a_crowd_of_strangers_hides_nobody() {
    let site = Site::open();
    let crowd: Vec<ReporterId> = (0..200).map(|one| site.register(&format!("razor.s{one}"))).collect();
    let liar = site.add("liar", None);
    site.report(liar, exact(1));
    site.next_day();
    crowd.iter().for_each(|&one| site.report(one, exact(1)));
    site.revoke(OPERATOR, exact(1));
    assert_eq!(site.weight("liar"), 2);
}

/// Written by the version before there were standings, in which five confirmed signatures gave a point to anybody and
/// whoever had five points settled others: `razor.liar` had registered and earned 5, `mx2` had earned 5, `mx1` had 4,
/// the operator had fixed 10 for `desk` and 3 for `light`. The liar's last word, on signature 900, weighs 5.
fn folder_of_older_version(to: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/weights-by-confirmations.tar.gz");
    let packed = GzDecoder::new(File::open(golden).expect("there"));
    tar::Archive::new(packed).unpack(to).expect("unpacked");
}

#[test]
fn a_folder_of_an_older_version_gets_standings_when_it_is_opened() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    folder_of_older_version(folder.path());
    let small = || LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let clock = || Arc::clone(&hands) as Arc<dyn Clock>;
    let standings = |ledger: &Ledger| {
        let standing = |one: Reporter| (one.name, one.standing, one.weight, one.fixed);
        ledger.reporters().into_iter().map(standing).collect::<Vec<_>>()
    };
    let ledger = Ledger::open(folder.path(), small(), clock()).expect("a ledger");
    let after = standings(&ledger);
    let (vouched, known, stranger) = (Standing::Vouched, Standing::Known, Standing::Stranger);
    let expected = [
        ("local", stranger, 2, true),
        ("operator", vouched, 10, true),
        ("razor.liar", stranger, 0, false),
        ("mx2", known, 5, false),
        ("mx1", known, 4, false),
        ("desk", vouched, 10, true),
        ("light", known, 3, true),
    ];
    assert_eq!(
        after,
        expected.map(|(name, standing, weight, fixed)| (name.to_owned(), standing, weight, fixed))
    );
    assert_eq!(ledger.reporter("razor.liar").expect("known").confirmed, 25, "its record stays");
    assert_eq!(ledger.check(&exact(900)).reasons[0].weight, 5, "what was said keeps its weight");
    ledger.set_standing("razor.liar", Standing::Known).expect("durable");
    drop(ledger);
    let again = Ledger::open(folder.path(), small(), clock()).expect("a ledger");
    assert_eq!(again.reporter("razor.liar").expect("known").weight, 4, "it happens once");
}
