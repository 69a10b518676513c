//! Guards that SpamAssassin's plugins for Pyzor and Razor work against a site as they are: the real program of Debian,
//! with its own rules and the lines of docs/guide/clients.md. Nothing else that could ask anybody is loaded.

mod common;

use std::process::{Command, Stdio};

use common::clients::{client, point_pyzor_at, point_razor_at, pyzor, razor};
use common::documented::{blocks, changed};
use common::serving::{Serving, mail};
use common::{Folder, Ran};

const SERVED: &str = "--pyzor 127.0.0.1:0 --razor 127.0.0.1:0 --dcc off --fuzzy off";

/// Where the documentation has its files.
const DOCUMENTED_PLACE: &str = "/etc/spamassassin/";

/// The rules that Debian's package brings: no newer ones, which this machine may have fetched.
const RULES: &str = "/usr/share/spamassassin";

/// Bayes is there because revoking fails without it.
const PLUGINS: &str = "loadplugin Mail::SpamAssassin::Plugin::Check\nloadplugin Mail::SpamAssassin::Plugin::Pyzor\n\
    loadplugin Mail::SpamAssassin::Plugin::Razor2\nloadplugin Mail::SpamAssassin::Plugin::Bayes\n";

/// No names are looked up, and a busy machine is no reason to give up.
const SETTINGS: &str = "dns_available no\npyzor_timeout 60\nrazor_timeout 60\nbayes_learn_during_report 0\n";

/// The lines in the documentation, with the test's folder in place of the documented one.
struct Documented {
    razor: String,
    /// With the program `pyzor`, and with the client that is built in.
    with_program: String,
    with_own_client: String,
}

impl Documented {
    fn read(folder: &Folder) -> Self {
        let place = format!("{}/", folder.path("").display().to_string().trim_end_matches('/'));
        let mut blocks = blocks("SpamAssassin");
        let mut next = || changed(blocks.next(), DOCUMENTED_PLACE, &place);
        Documented { razor: next(), with_program: next(), with_own_client: next() }
    }
}

/// SpamAssassin that is set up in the folder.
struct SpamAssassin<'a>(&'a Folder);

impl<'a> SpamAssassin<'a> {
    fn is_installed() -> bool {
        let version = Command::new("spamassassin").arg("--version").stdout(Stdio::null()).status();
        let is_installed = version.is_ok_and(|status| status.success());
        if !is_installed {
            println!("skipped: spamassassin is not installed (Debian package of that name)");
        }
        is_installed
    }

    /// Points it at a site, with these lines of the documentation.
    fn pointed_at(serving: &Serving<'_>, folder: &'a Folder, lines: fn(&Documented) -> String) -> Self {
        let documented = Documented::read(folder);
        point_pyzor_at(folder, serving);
        point_razor_at(folder, serving);
        let razor_conf = String::from_utf8(folder.read("razor/razor-agent.conf")).expect("text");
        folder.write("razor/razor-agent.conf", razor_conf + &documented.razor);
        std::fs::create_dir(folder.path("site")).expect("a folder");
        folder.write("site/clients.pre", PLUGINS);
        let bayes = format!("bayes_path {}\n", folder.path("bayes").display());
        folder.write("site/local.cf", format!("{SETTINGS}{bayes}{}", lines(&documented)));
        let registered = razor(folder, "razor-admin", &["-register", "-user=alice", "-pass=secret"], "a.eml");
        assert_eq!(registered.code, 0, "{} {}", registered.out, registered.err);
        SpamAssassin(folder)
    }

    fn run(&self, what: &str, mail: &str) -> Ran {
        let site = format!("--siteconfigpath={}", self.0.path("site").display());
        let ran =
            client(self.0, "spamassassin", &["-x", &site, &format!("--configpath={RULES}"), what], mail);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{what} {mail}: {}", ran.out);
        ran
    }

    /// Which of the two hit, Pyzor's and Razor's.
    fn hits(&self, mail: &str) -> (bool, bool) {
        let out = self.run("-t", mail).out.replace("\n\t", " ");
        let status = out.lines().find(|line| line.starts_with("X-Spam-Status: ")).expect("it was scanned");
        (status.contains("PYZOR_CHECK"), status.contains("RAZOR2_CHECK"))
    }

    /// Razor says whom it asked.
    fn asked_nobody_else(&self) {
        let log = String::from_utf8_lossy(&self.0.read("razor/razor-agent.log")).into_owned();
        let mut asked = log.lines().filter_map(|line| line.split_once("Connecting to ")).peekable();
        assert!(asked.peek().is_some(), "{log}");
        asked.for_each(|(_, whom)| assert!(whom.starts_with("127.0.0.1"), "{whom}"));
    }
}

fn folder_with_mail() -> Folder {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    folder
}

#[test]
fn both_plugins_hit_what_razor_reported_until_razor_revokes_it() {
    if !SpamAssassin::is_installed() {
        return;
    }
    let folder = folder_with_mail();
    let serving = Serving::start_with(&folder, SERVED);
    let assassin = SpamAssassin::pointed_at(&serving, &folder, |lines| lines.with_program.clone());
    assert_eq!(assassin.hits("a.eml"), (false, false));
    let reported = razor(&folder, "razor-report", &["-f", "a.eml"], "a.eml");
    assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    assert_eq!(assassin.hits("a.eml"), (true, true));
    assert_eq!(assassin.hits("b.eml"), (false, false));
    let revoked = razor(&folder, "razor-revoke", &["-f", "a.eml"], "a.eml");
    assert_eq!(revoked.code, 0, "{} {}", revoked.out, revoked.err);
    assert_eq!(assassin.hits("a.eml"), (false, false));
    assassin.asked_nobody_else();
    serving.stop();
}

#[test]
fn what_spamassassin_reports_everybody_knows_until_it_revokes() {
    if !SpamAssassin::is_installed() {
        return;
    }
    let folder = folder_with_mail();
    let serving = Serving::start_with(&folder, SERVED);
    let assassin = SpamAssassin::pointed_at(&serving, &folder, |lines| lines.with_program.clone());
    // A home of Razor from which nobody was asked yet has no server for a report.
    assert_eq!(assassin.hits("a.eml"), (false, false));
    assassin.run("--report", "a.eml");
    assert_eq!(serving.verdict("a.eml"), ("spam".into(), 10));
    assert_eq!(assassin.hits("a.eml"), (true, true));
    assassin.run("--revoke", "a.eml");
    assert_ne!(serving.verdict("a.eml").0, "spam");
    assert_eq!(assassin.hits("a.eml"), (false, false));
    assassin.asked_nobody_else();
    serving.stop();
}

#[test]
fn its_own_client_of_pyzor_hits_from_five_reports_on_unless_told_otherwise() {
    if !SpamAssassin::is_installed() {
        return;
    }
    let folder = folder_with_mail();
    let serving = Serving::start_with(&folder, SERVED);
    // Without the line of the documentation that asks for one report.
    let lines =
        |lines: &Documented| lines.with_program.replace("pyzor_count_min 1\n", "") + &lines.with_own_client;
    let assassin = SpamAssassin::pointed_at(&serving, &folder, lines);
    assert_eq!(assassin.hits("a.eml"), (false, false));
    assert_eq!(serving.run("report a.eml").code, 0, "the whole message, so both know it");
    assert_eq!(assassin.hits("a.eml"), (false, true));
    for _ in 0..3 {
        assert_eq!(pyzor(&folder, "report", "a.eml").code, 0);
    }
    assert_eq!(assassin.hits("a.eml"), (false, true), "four");
    assert_eq!(pyzor(&folder, "report", "a.eml").code, 0);
    assert_eq!(assassin.hits("a.eml"), (true, true), "five");
    assert_eq!(serving.run("revoke a.eml").code, 0);
    assert_eq!(assassin.hits("a.eml"), (false, false));
    assassin.asked_nobody_else();
    serving.stop();
}
