//! Guards that the clients people have installed work against a site as they are: the real programs of Debian, on
//! loopback, with nothing changed but the address they ask.

mod common;

use common::Folder;
use common::clients::{address, point_pyzor_at, point_razor_at, pyzor, pyzor_check, razor};
use common::serving::{Serving, mail};

/// Every protocol on a port of its own.
const ANY_PORTS: &str = "--pyzor 127.0.0.1:0 --razor 127.0.0.1:0";

#[test]
fn pyzor_works_as_it_is() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, ANY_PORTS);
    point_pyzor_at(&folder, &serving);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    let pinged = pyzor(&folder, "ping", "a.eml");
    assert_eq!(pinged.code, 0, "{} {}", pinged.out, pinged.err);
    assert_eq!(pyzor_check(&folder, "a.eml"), (false, 0, 0));
    for reports in 1..=2 {
        let reported = pyzor(&folder, "report", "a.eml");
        assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
        assert_eq!(pyzor_check(&folder, "a.eml"), (true, reports, 0));
    }
    assert_eq!(serving.verdict("a.eml"), ("spam".into(), 10), "what Pyzor knows, seenit knows");
    let info = pyzor(&folder, "info", "a.eml");
    assert!(info.code == 0 && info.out.contains("Count: 2"), "{} {}", info.out, info.err);
    assert_eq!(pyzor_check(&folder, "b.eml"), (false, 0, 0));
    let cleared = pyzor(&folder, "whitelist", "a.eml");
    assert_eq!(cleared.code, 0, "{} {}", cleared.out, cleared.err);
    assert_eq!(pyzor_check(&folder, "a.eml"), (false, 0, 1));
    assert_ne!(serving.verdict("a.eml").0, "spam");
    serving.stop();
}

#[test]
fn a_pyzor_account_that_nobody_knows_is_refused() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, ANY_PORTS);
    point_pyzor_at(&folder, &serving);
    let (host, port) = address(&serving, "pyzor").split_once(':').expect("a port");
    folder.write("pyzor/accounts", format!("{host} : {port} : stranger : 11111111,{}\n", "ab".repeat(20)));
    folder.write("a.eml", mail(1));
    let refused = pyzor(&folder, "report", "a.eml");
    assert!(refused.code == 1 && refused.out.contains("401"), "{} {}", refused.out, refused.err);
    serving.stop();
}

#[test]
fn razor_works_as_it_is_and_what_it_reports_and_revokes_every_client_knows() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, ANY_PORTS);
    point_pyzor_at(&folder, &serving);
    point_razor_at(&folder, &serving);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    let registered = razor(&folder, "razor-admin", &["-register", "-user=alice", "-pass=secret"], "a.eml");
    assert_eq!(registered.code, 0, "{} {}", registered.out, registered.err);
    let check = |mail: &str| razor(&folder, "razor-check", &[mail], mail).code;
    assert_eq!(check("a.eml"), 1, "not spam");
    let reported = razor(&folder, "razor-report", &["-f", "a.eml"], "a.eml");
    assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    assert_eq!((check("a.eml"), check("b.eml")), (0, 1));
    assert_eq!(pyzor_check(&folder, "a.eml"), (true, 1, 0), "its other signatures come from the mail");
    assert_eq!(serving.verdict("a.eml"), ("spam".into(), 10));
    let revoked = razor(&folder, "razor-revoke", &["-f", "a.eml"], "a.eml");
    assert_eq!(revoked.code, 0, "{} {}", revoked.out, revoked.err);
    assert_eq!(check("a.eml"), 1);
    assert!(!pyzor_check(&folder, "a.eml").0, "what was reported together is revoked together");
    assert_ne!(serving.verdict("a.eml").0, "spam");
    serving.stop();
}

#[test]
fn a_razor_client_without_an_account_gets_one_on_this_machine() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, ANY_PORTS);
    point_razor_at(&folder, &serving);
    folder.write("a.eml", mail(3));
    // One that has never asked any server gives up on its first report: it comes to the end of its list.
    assert_eq!(razor(&folder, "razor-check", &["a.eml"], "a.eml").code, 1);
    let reported = razor(&folder, "razor-report", &["-f", "a.eml"], "a.eml");
    assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    assert_eq!(serving.verdict("a.eml"), ("spam".into(), 10));
    serving.stop();
}

/// What an account has said, by the operator's list.
fn records(serving: &Serving<'_>, name: &str) -> u64 {
    let listed = serving.run("account list --json");
    let listed: serde_json::Value = serde_json::from_str(&listed.out).expect("JSON");
    let accounts = listed["accounts"].as_array().expect("a list");
    let account = accounts.iter().find(|account| account["name"] == name).expect("the account");
    account["reporter"]["records"].as_u64().expect("a number")
}

#[test]
fn accounts_that_the_operator_gives_speak_for_themselves_through_pyzor_and_razor() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, ANY_PORTS);
    point_pyzor_at(&folder, &serving);
    point_razor_at(&folder, &serving);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    assert_eq!(serving.run("account add mx1 --role report --weight 10").code, 0);
    let secret = |words: &str| {
        let given = serving.run(&format!("account secret mx1 {words}"));
        assert_eq!(given.code, 0, "{}", given.err);
        given.out.trim_end().to_owned()
    };
    let (host, port) = address(&serving, "pyzor").split_once(':').expect("a port");
    folder.write("pyzor/accounts", format!("{host} : {port} : mx1 : ,{}\n", secret("pyzor")));
    let reported = pyzor(&folder, "report", "a.eml");
    assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    assert_eq!((records(&serving, "mx1"), serving.verdict("a.eml").1), (1, 10));

    let (user, password) = ("-user=mx1", format!("-pass={}", secret("razor")));
    let stolen = razor(&folder, "razor-admin", &["-register", user, "-pass=guess"], "a.eml");
    assert_ne!(stolen.code, 0, "somebody else's name");
    let registered = razor(&folder, "razor-admin", &["-register", user, &password], "a.eml");
    assert_eq!(registered.code, 0, "{} {}", registered.out, registered.err);
    assert_eq!(razor(&folder, "razor-check", &["b.eml"], "b.eml").code, 1);
    let reported = razor(&folder, "razor-report", &["-f", "b.eml"], "b.eml");
    assert_eq!(reported.code, 0, "{} {}", reported.out, reported.err);
    assert_eq!((records(&serving, "mx1"), serving.verdict("b.eml").1), (2, 10));

    assert_eq!(serving.run("account secret mx1 pyzor --remove").code, 0);
    let refused = pyzor(&folder, "report", "a.eml");
    assert!(refused.code == 1 && refused.out.contains("401"), "{} {}", refused.out, refused.err);
    let unfit = serving.run("account secret mx1 dcc");
    assert!(unfit.code != 0 && unfit.err.contains("dcc-32768"), "{}", unfit.err);
    serving.stop();
}
