//! Words that nobody believes, and what clients are told of them.

use crate::common::Folder;
use crate::common::clients::{point_pyzor_at, pyzor, pyzor_check};
use crate::common::serving::{Serving, mail};

/// Whitelistings that Pyzor's clients are told of where the verdict is not ham: one is enough for them to call no
/// message spam, whoever said so.
const WHITELISTINGS_MAX: u64 = 0;

#[test]
fn a_revocation_that_weighs_nothing_does_not_clear_spam_for_pyzor() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, "--pyzor 127.0.0.1:0 --razor off --dcc off --fuzzy off");
    point_pyzor_at(&folder, &serving);
    folder.write("spam.eml", mail(1));
    folder.write("unknown.eml", mail(2));
    let added = serving.run("account add stranger --role report --role revoke --weight 0");
    assert_eq!(added.code, 0, "{}", added.err);
    folder.write("stranger.token", added.out);
    assert_eq!(pyzor(&folder, "report", "spam.eml").code, 0);
    for mail in ["spam.eml", "unknown.eml"] {
        let revoked = serving.run(&format!("revoke {mail} --token-file stranger.token"));
        assert_eq!(revoked.code, 0, "{}", revoked.err);
    }
    assert_eq!(pyzor_check(&folder, "spam.eml"), (true, 1, WHITELISTINGS_MAX));
    assert_eq!(pyzor_check(&folder, "unknown.eml"), (false, 0, WHITELISTINGS_MAX), "nobody is believed");
    assert_eq!(pyzor(&folder, "whitelist", "spam.eml").code, 0);
    let (is_spam, reports, whitelistings) = pyzor_check(&folder, "spam.eml");
    assert!(!is_spam && reports == 0 && whitelistings > 0, "the operator is believed: {whitelistings}");
    serving.stop();
}
