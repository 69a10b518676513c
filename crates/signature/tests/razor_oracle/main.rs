//! Our Razor2 signatures against those of the installed `razor-check`, on real mail and on mail that was made
//! to be odd.
//!
//! `razor-check -H` prints signatures and asks no server. One process signs all files of a test. A mail agrees if its
//! parts have the same e4 signatures and every e8 signature of the client is among ours.
//!
//! By default every 20th message of the corpus and a few hundred odd mails are signed; with `SEENIT_LONG=1` all
//! of them.

mod client;
mod corpus;
mod odd_mail;

use std::path::PathBuf;

use client::{Client, MailSignatures};
use seenit_signature::razor::{Ep4, Part, mails_of_file, sign};

fn is_long() -> bool {
    std::env::var_os("SEENIT_LONG").is_some_and(|value| value == "1")
}

/// Signs the files with the client and by ourselves and fails with a list of what differs.
fn assert_agreement(client: &Client, folder: &std::path::Path, files: &[PathBuf], ep4: &Ep4) {
    let theirs = client.sign(folder, files, ep4);
    let mut mails = 0;
    let mut differing_files = 0;
    let mut differences = Vec::new();
    for path in files {
        let file = std::fs::read(folder.join(path)).expect("a listed file can be read");
        let before = differences.len();
        for mail in mails_of_file(&file) {
            mails += 1;
            let empty = MailSignatures::default();
            let found = compare(&sign(&mail, ep4), theirs.get(&mails).unwrap_or(&empty));
            differences.extend(found.into_iter().map(|what| format!("{}: {what}", path.display())));
        }
        differing_files += usize::from(differences.len() > before);
    }
    eprintln!("{} of {} files agree, {mails} mails", files.len() - differing_files, files.len());
    assert!(differences.is_empty(), "{} files differ:\n{}", differing_files, differences.join("\n"));
}

/// What differs between the parts of one mail.
fn compare(ours: &[Part], theirs: &MailSignatures) -> Vec<String> {
    let mut differences = Vec::new();
    for number in 0..ours.len().max(theirs.last_part().map_or(0, |last| last + 1)) {
        let part = ours.get(number).cloned().unwrap_or_default();
        let our_e4 = part.e4.map(|e4| e4.to_string());
        let their_e4 = theirs.e4.get(&number).cloned();
        if our_e4 != their_e4 {
            differences.push(format!("part {number}: e4 {our_e4:?} where the client has {their_e4:?}"));
        }
        let hosts: Vec<String> = part.e8.iter().map(|found| found.host.escape_ascii().to_string()).collect();
        for e8 in theirs.e8.get(&number).into_iter().flatten() {
            if !part.e8.iter().any(|found| found.signature.to_string() == *e8) {
                differences
                    .push(format!("part {number}: the client's e8 {e8} is not among those of {hosts:?}"));
            }
        }
    }
    differences
}

#[test]
fn the_corpus() {
    let Some(client) = Client::installed() else { return };
    let Some((folder, mut files)) = corpus::unpacked() else { return };
    if !is_long() {
        files = files.into_iter().step_by(20).collect();
    }
    assert_agreement(&client, folder.path(), &files, &Ep4::default());
}

#[test]
fn odd_mails() {
    let Some(client) = Client::installed() else { return };
    let count = if is_long() { 5000 } else { 300 };
    for (seed, ep4) in [(1, "7542-10"), (2, "99991-32"), (3, "42-111-119")] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files: Vec<PathBuf> = (0..count).map(|n| PathBuf::from(format!("{n:05}"))).collect();
        for (n, name) in (0..).zip(&files) {
            std::fs::write(folder.path().join(name), odd_mail::odd_mail(seed << 32 | n))
                .expect("a file can be written");
        }
        assert_agreement(&client, folder.path(), &files, &ep4.parse().expect("parameters"));
    }
}

/// The e8 signatures of one link to each host, by the client and by us.
fn sign_hosts(client: &Client, hosts: &[&str]) -> Vec<(Vec<String>, Vec<Part>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mail = |host: &&str| format!("Subject: x\n\nsee http://{host}/ now\n").into_bytes();
    for host in hosts {
        std::fs::write(folder.path().join(host), mail(host)).expect("a file can be written");
    }
    let files: Vec<PathBuf> = hosts.iter().map(PathBuf::from).collect();
    let theirs = client.sign(folder.path(), &files, &Ep4::default());
    let their_e8 = |number: usize| theirs[&number].e8.get(&0).cloned().unwrap_or_default();
    let ours = hosts.iter().map(|host| sign(&mail(host), &Ep4::default()));
    (1..).map(their_e8).zip(ours).collect()
}

#[test]
fn hosts_under_many_suffixes() {
    let Some(client) = Client::installed() else { return };
    let hosts = [
        "a.b.com",
        "a.b.co.uk",
        "a.b.com.br",
        "a.b.com.au",
        "a.b.edu.au",
        "a.b.gov.au",
        "a.b.co.jp",
        "a.b.ac.at",
        "a.b.github.io",
        "a.b.blogspot.com",
        "a.b.com.ru",
        "a.b.net.ru",
        "a.b.org.ru",
        "a.b.pp.ru",
        "a.b.ru",
        "a.b.shop",
        "a.b.top",
        "a.b.xyz",
        "a.b.info",
        "a.b.invalid",
        "a.b.co.za",
        "a.b.com.cn",
        "a.b.com.mx",
        "a.b.co.in",
        "a.b.uk.com",
        "a.b.eu.org",
    ];
    for (host, (theirs, ours)) in hosts.iter().zip(sign_hosts(&client, &hosts)) {
        assert_eq!(theirs.len(), 1, "{host}");
        assert!(ours[0].e8.iter().any(|found| found.signature.to_string() == theirs[0]), "{host}");
    }
}

/// A known difference. The client does not know these suffixes and takes them for names that someone registered. A
/// signature of a whole suffix would hit the mail of strangers, so we do not make one.
#[test]
fn suffixes_that_the_client_does_not_know() {
    let Some(client) = Client::installed() else { return };
    let hosts = ["a.b.adm.br", "a.b.edu.ar", "a.b.biz.az", "a.b.tokyo.jp", "a.b.k12.ca.us", "a.b.in.ua"];
    for (host, (theirs, ours)) in hosts.iter().zip(sign_hosts(&client, &hosts)) {
        let suffix = format!("http://{}/", &host["a.b.".len()..]);
        let of_suffix = sign(format!("Subject: x\n\nsee {suffix} now\n").as_bytes(), &Ep4::default());
        assert_eq!(theirs, [of_suffix[0].e8[0].signature.to_string()], "{host}");
        assert!(ours[0].e8.iter().all(|found| found.signature.to_string() != theirs[0]), "{host}");
    }
}
