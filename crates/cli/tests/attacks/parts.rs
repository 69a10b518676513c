//! A logo or a footer that spam carries to harm the mail it was taken from.

use serde_json::Value;

use crate::common::Folder;
use crate::common::clients::{address, point_razor_at, razor};
use crate::common::serving::{Serving, mail};
use crate::fuzzy::Client;

/// Every protocol that knows parts.
const EVERYTHING: &str = "--pyzor off --dcc off --razor 127.0.0.1:0 --fuzzy 127.0.0.1:0";

/// Mail of the victims that one report of spam with their logo or footer may list: none of it.
const LISTED: usize = 0;

/// The victims' mail: newsletters with the logo, and mail of a list with its footer.
const GOOD: [&str; 6] = ["news-1.eml", "news-2.eml", "news-3.eml", "list-1.eml", "list-2.eml", "list-3.eml"];

/// Spam with the one, and spam with the other.
const SPAM: [&str; 2] = ["spam-logo.eml", "spam-footer.eml"];

/// The logo: 2 KB that no other mail has.
fn logo() -> String {
    let mut state = 7_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(state >> 58) as usize],
        )
    };
    let lines: Vec<String> = (0..36).map(|_| (0..76).map(|_| letter()).collect()).collect();
    format!("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n{}\n", lines.join("\n"))
}

/// The text of a message that only this seed has.
fn text(seed: u64) -> String {
    let mail = mail(seed);
    let (_, text) = mail.split_once("\n\n").expect("a head and a text");
    format!("Content-Type: text/plain\n\n{text}")
}

fn with_parts(parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("--=_b\n{part}\n")).collect();
    format!(
        "From: a@b.example\nSubject: news\nContent-Type: multipart/mixed; boundary=\"=_b\"\n\n{parts}--=_b--\n"
    )
}

fn write_mails(folder: &Folder) {
    let (logo, footer) = (logo(), text(99));
    for number in 1..=3 {
        folder.write(&format!("news-{number}.eml"), with_parts(&[&text(number), &logo]));
        folder.write(&format!("list-{number}.eml"), with_parts(&[&text(10 + number), &footer]));
    }
    folder.write("spam-logo.eml", with_parts(&[&text(20), &logo]));
    folder.write("spam-footer.eml", with_parts(&[&text(21), &footer]));
}

/// What rspamd's client sends for a part of a message: a digest, and for a text its shingles.
struct FuzzyPart {
    digest: [u8; 64],
    shingles: Option<[u64; 32]>,
}

/// The parts of a message in their order, as rspamd's client asks about them and reports them.
fn fuzzy_parts(folder: &Folder, file: &str) -> Vec<FuzzyPart> {
    let rows = folder.run(&format!("sign --json {file}")).json();
    let of_kind = |kind: &str| -> Vec<Value> {
        rows.as_array().expect("rows").iter().filter(|row| row["kind"] == kind).cloned().collect()
    };
    let bytes = |row: &Value| hex::decode(row["digest"].as_str().expect("text")).expect("hexadecimal");
    let texts = of_kind("rspamd").into_iter().map(|row| {
        let digest: [u8; 64] = bytes(&row).try_into().expect("64 bytes");
        // Two texts share no shingle: how they are made is rspamd's business.
        let shingles = std::array::from_fn(|slot| {
            u64::from_le_bytes(digest[..8].try_into().expect("eight bytes")) ^ (slot as u64) << 56
        });
        FuzzyPart { digest, shingles: Some(shingles) }
    });
    let images = of_kind("part1").into_iter().map(|row| {
        let mut digest = [0x1a; 64];
        digest[..20].copy_from_slice(&bytes(&row));
        FuzzyPart { digest, shingles: None }
    });
    texts.chain(images).collect()
}

/// A client of rspamd's protocol: it has one socket a message, and asks about all parts before it reads an answer, as
/// rspamd does. The server takes parts for those of one message that come within half a second; a client that waited
/// for answers in between would need longer on a busy machine.
fn fuzzy_says(serving: &Serving<'_>, folder: &Folder, action: u8, flag: u8, file: &str) -> Vec<bool> {
    let mut client = Client::plain(address(serving, "fuzzy"));
    let parts = fuzzy_parts(folder, file);
    let parts: Vec<_> = parts.iter().map(|part| (&part.digest, part.shingles.as_ref())).collect();
    let heard = client.ask_all(action, (flag, 1), &parts).expect("an answer to each");
    heard.into_iter().map(|heard| heard.value > 0 && heard.flag == 1).collect()
}

/// The protocols that call a message spam.
fn spam_by(serving: &Serving<'_>, folder: &Folder, file: &str) -> Vec<&'static str> {
    const CHECK: u8 = 0;
    let mut by = Vec::new();
    if serving.verdict(file).0 == "spam" {
        by.push("http");
    }
    if razor(folder, "razor-check", &[file], file).code == 0 {
        by.push("razor");
    }
    if fuzzy_says(serving, folder, CHECK, 0, file).contains(&true) {
        by.push("rspamd");
    }
    by
}

/// What of the victims' mail is listed, by whom.
fn listed_good(serving: &Serving<'_>, folder: &Folder) -> Vec<(&'static str, Vec<&'static str>)> {
    let listed = GOOD.into_iter().map(|file| (file, spam_by(serving, folder, file)));
    listed.filter(|(_, by)| !by.is_empty()).collect()
}

fn start(folder: &Folder) -> Serving<'_> {
    write_mails(folder);
    let serving = Serving::start_with(folder, EVERYTHING);
    point_razor_at(folder, &serving);
    let registered = razor(folder, "razor-admin", &["-register", "-user=alice", "-pass=secret"], GOOD[0]);
    assert_eq!(registered.code, 0, "{} {}", registered.out, registered.err);
    serving
}

/// The operator reports the spam, the victims stay unlisted, and clearing one of them leaves the spam what it is.
fn report_and_look(knows: &[&str], report: impl Fn(&Serving<'_>, &Folder, &str)) {
    let folder = Folder::new();
    let serving = start(&folder);
    SPAM.iter().for_each(|spam| report(&serving, &folder, spam));
    let listed = listed_good(&serving, &folder);
    assert_eq!(listed.len(), LISTED, "of {}: {listed:?}", GOOD.len());
    SPAM.iter().for_each(|spam| assert_eq!(spam_by(&serving, &folder, spam), knows, "{spam}"));
    for good in ["news-1.eml", "list-1.eml"] {
        let revoked = serving.run(&format!("revoke {good}"));
        assert_eq!(revoked.code, 0, "{}", revoked.err);
    }
    let whole: Vec<&str> = knows.iter().copied().filter(|by| *by != "rspamd").collect();
    for spam in SPAM {
        let by = spam_by(&serving, &folder, spam);
        assert!(whole.iter().all(|one| by.contains(one)), "{spam} after a newsletter was cleared: {by:?}");
    }
    assert_eq!(listed_good(&serving, &folder).len(), 0);
    serving.stop();
}

#[test]
fn a_logo_or_footer_in_spam_that_was_reported_over_http_lists_no_mail_of_its_owner() {
    report_and_look(&["http", "razor", "rspamd"], |serving, _, spam| {
        let reported = serving.run(&format!("report {spam}"));
        assert_eq!(reported.code, 0, "{}", reported.err);
    });
}

#[test]
fn a_logo_or_footer_in_spam_that_razor_reported_lists_no_mail_of_its_owner() {
    report_and_look(&["http", "razor", "rspamd"], |_, folder, spam| {
        let reported = razor(folder, "razor-report", &["-f", spam], spam);
        assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    });
}

#[test]
fn a_logo_or_footer_in_spam_that_rspamd_reported_lists_no_mail_of_its_owner() {
    const WRITE: u8 = 1;
    report_and_look(&["http", "rspamd"], |serving, folder, spam| {
        fuzzy_says(serving, folder, WRITE, 1, spam);
    });
}
