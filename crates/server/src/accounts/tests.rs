//! That accounts outlive a restart, and that only the newest token of an account is worth anything.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn open(folder: &Path) -> Accounts {
    let limits = Limits::default();
    Accounts::open(folder, &limits, |name| Ok(ReporterId(100 + name.len() as u32)))
        .expect("readable accounts")
}

fn reporting() -> Roles {
    Roles::from_iter([Role::Report])
}

#[test]
fn accounts_outlive_a_restart_and_their_tokens_are_not_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let accounts = open(dir.path());
    let token = accounts.add("mx1.example", reporting(), ReporterId(7), 1234).expect("a new account");
    assert_eq!(accounts.holder(token.as_str().as_bytes()).expect("its holder").reporter, ReporterId(7));
    assert!(accounts.holder(b"seenit_guess").is_none());

    let path = dir.path().join("accounts.json");
    let text = fs::read_to_string(&path).expect("the file");
    assert!(!text.contains(token.as_str()) && text.contains("mx1.example"));
    assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);

    let again = open(dir.path());
    let account = again.holder(token.as_str().as_bytes()).expect("still its holder");
    assert_eq!((account.name.as_str(), account.roles, account.created), ("mx1.example", reporting(), 1234));
    assert_eq!(account.reporter, ReporterId(111));
}

#[test]
fn a_new_token_ends_the_old_one_and_so_does_removal() {
    let dir = tempfile::tempdir().expect("a folder");
    let accounts = open(dir.path());
    let old = accounts.add("mx", reporting(), ReporterId(7), 0).expect("a new account");
    let new = accounts.renew("mx").expect("a new token");
    assert!(accounts.holder(old.as_str().as_bytes()).is_none());
    assert!(accounts.holder(new.as_str().as_bytes()).is_some());
    accounts.remove("mx").expect("removed");
    assert!(accounts.holder(new.as_str().as_bytes()).is_none());
    let gone = accounts.remove("mx").expect_err("gone").to_string();
    assert!(gone.starts_with("there is no account \"mx\"; "), "{gone}");
    assert!(accounts.renew("mx").is_err() && accounts.get("mx").is_none());
}

#[test]
fn names_are_plain_free_and_not_built_in() {
    let dir = tempfile::tempdir().expect("a folder");
    let accounts = open(dir.path());
    accounts.add("a", reporting(), ReporterId(7), 0).expect("a new account");
    let why = |name: &str, roles| accounts.add(name, roles, ReporterId(8), 0).expect_err(name).to_string();
    assert!(why("a", reporting()).starts_with("cannot add the account \"a\": it exists already; "));
    for name in ["operator", "local"] {
        let built_in = format!("cannot add the account {name:?}: the name is built in; choose another name");
        assert_eq!(why(name, reporting()), built_in);
    }
    assert_eq!(
        why("b", Roles::default()),
        "cannot add an account without a role; give it one of check, report, revoke and admin"
    );
    for name in ["", "A", "ä", "a b", "../a", "a\n", &"a".repeat(65)] {
        assert!(why(name, reporting()).contains("a name has 1 to 64 characters"), "{name:?}");
    }
}

#[test]
fn the_operator_is_nobody_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let accounts = open(dir.path());
    let token = Token::random().expect("random");
    accounts.set_operator(&token, 5);
    accounts.add("a", reporting(), ReporterId(7), 0).expect("a new account");
    assert!(accounts.holder(token.as_str().as_bytes()).expect("the operator").is_operator());
    assert_eq!(accounts.list().len(), 2);
    assert!(accounts.remove("operator").is_err() && accounts.renew("operator").is_err());
    assert_eq!(open(dir.path()).list().len(), 1);
}

#[test]
fn a_damaged_or_open_file_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    open(dir.path()).add("a", reporting(), ReporterId(7), 0).expect("a new account");
    let path = dir.path().join("accounts.json");
    let whole = fs::read(&path).expect("the file");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("written");
        Accounts::open(dir.path(), &Limits::default(), |_| Ok(ReporterId(1)))
            .expect_err("damaged")
            .to_string()
    };
    for cut in 0..whole.len() {
        assert!(refused(&whole[..cut]).contains("accounts.json"), "cut at {cut}");
    }
    assert!(refused(br#"{"version":2,"accounts":[]}"#).contains("is of version 2"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).expect("ours");
    assert!(refused(&whole).contains("others may read it"));
}
