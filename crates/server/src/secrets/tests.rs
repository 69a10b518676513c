//! That secrets outlive a restart, are sealed, and are never API tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use seenit_ledger::reporter::ReporterId;

use super::*;
use crate::accounts::{Role, Roles};
use crate::config::Limits;

fn accounts(folder: &Path) -> Accounts {
    Accounts::open(folder, &Limits::default(), |_| Ok(ReporterId(9))).expect("no accounts yet")
}

/// Secrets to compare.
fn plain(secrets: Vec<(String, Secret)>) -> Vec<(String, Vec<u8>)> {
    assert!(secrets.iter().all(|(_, secret)| format!("{secret:?}") == "Secret(..)"), "none is printed");
    secrets.into_iter().map(|(account, secret)| (account, secret.to_vec())).collect()
}

#[test]
fn secrets_outlive_a_restart_and_are_not_in_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let secrets = Secrets::open(dir.path()).expect("new");
    let accounts = accounts(dir.path());
    secrets.put("mx", Protocol::Razor, b"open-sesame", &accounts).expect("kept");
    secrets.put("mx", Protocol::Razor, b"open-barley", &accounts).expect("replaced");
    secrets.put("mx", Protocol::Pyzor, b"other", &accounts).expect("kept");
    let again = Secrets::open(dir.path()).expect("there");
    assert_eq!(again.get("mx", Protocol::Razor).expect("opens").as_deref(), Some(&b"open-barley"[..]));
    assert_eq!(again.get("mx", Protocol::Dcc).expect("nothing"), None);
    for name in ["secrets.json", "secrets.key"] {
        let path = dir.path().join(name);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(!String::from_utf8_lossy(&fs::read(&path).expect("read")).contains("barley"));
    }
    assert_eq!(again.protocols_of("mx"), [Protocol::Pyzor, Protocol::Razor]);
    assert_eq!(plain(again.of_protocol(Protocol::Pyzor)), [("mx".to_owned(), b"other".to_vec())]);
    assert!(again.remove("mx", Protocol::Razor).expect("removed"));
    assert!(!again.remove("mx", Protocol::Razor).expect("nothing to remove"));
    let again = Secrets::open(dir.path()).expect("there");
    assert_eq!(again.get("mx", Protocol::Razor).expect("gone"), None);
    assert_eq!(again.get("mx", Protocol::Pyzor).expect("kept").as_deref(), Some(&b"other"[..]));
    again.remove_account("mx").expect("removed");
    again.remove_account("nobody").expect("nothing to remove");
    assert_eq!((again.get("mx", Protocol::Pyzor).expect("gone"), again.changes(Protocol::Pyzor)), (None, 1));
}

#[test]
fn an_api_token_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let secrets = Secrets::open(dir.path()).expect("new");
    let accounts = accounts(dir.path());
    let token = accounts.add("mx", Roles::from_iter([Role::Check]), ReporterId(9), 0).expect("an account");
    let why =
        secrets.put("other", Protocol::Razor, token.as_str().as_bytes(), &accounts).expect_err("a token");
    assert!(why.to_string().starts_with("cannot use this secret: it is the API token of mx; "));
    assert!(secrets.put("mx", Protocol::Razor, b"", &accounts).is_err());
    assert!(secrets.put("mx", Protocol::Razor, &[1; SECRET_BYTES_MAX + 1], &accounts).is_err());
}

#[test]
fn a_secret_moved_or_changed_does_not_open() {
    let dir = tempfile::tempdir().expect("a folder");
    let secrets = Secrets::open(dir.path()).expect("new");
    let accounts = accounts(dir.path());
    secrets.put("a", Protocol::Razor, b"open-sesame", &accounts).expect("kept");
    let path = dir.path().join("secrets.json");
    let text = fs::read_to_string(&path).expect("read");
    for (from, to) in [(r#""a""#, r#""ab""#), (r#""razor""#, r#""pyzor""#)] {
        fs::write(&path, text.replace(from, to)).expect("written");
        let moved = Secrets::open(dir.path()).expect("a store");
        for (account, protocol) in [("ab", Protocol::Razor), ("a", Protocol::Pyzor)] {
            assert!(!matches!(moved.get(account, protocol), Ok(Some(_))));
        }
    }
    fs::write(&path, &text[..text.len() - 3]).expect("written");
    assert!(Secrets::open(dir.path()).is_err());
    fs::write(&path, &text).expect("written");
    fs::write(dir.path().join("secrets.key"), [1; 31]).expect("written");
    assert!(Secrets::open(dir.path()).err().expect("no key").to_string().contains("has 31 bytes"));
    fs::write(dir.path().join("secrets.key"), [1; 32]).expect("written");
    let other = Secrets::open(dir.path()).expect("another key");
    let sealed = other.get("a", Protocol::Razor).expect_err("sealed").to_string();
    assert!(
        sealed.starts_with("cannot read the secret of a for razor: it was sealed with another key; "),
        "{sealed}"
    );
}

#[test]
fn two_accounts_never_have_one_key_and_a_damaged_one_is_nobodys_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let secrets = Secrets::open(dir.path()).expect("new");
    let accounts = accounts(dir.path());
    let key = Protocol::Fuzzy.random_secret().expect("random bits");
    secrets.put("a", Protocol::Fuzzy, key.as_bytes(), &accounts).expect("kept");
    secrets.put("a", Protocol::Fuzzy, key.as_bytes(), &accounts).expect("its own");
    let why = secrets.put("b", Protocol::Fuzzy, key.as_bytes(), &accounts).expect_err("a's");
    assert!(why.to_string().starts_with("this secret is a's already"), "{why}");
    let other = Protocol::Fuzzy.random_secret().expect("random bits");
    secrets.put("b", Protocol::Fuzzy, other.as_bytes(), &accounts).expect("kept");
    let path = dir.path().join("secrets.json");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replace(r#""a""#, r#""moved""#)).expect("written");
    let again = Secrets::open(dir.path()).expect("there");
    assert_eq!(plain(again.of_protocol(Protocol::Fuzzy)), [("b".to_owned(), other.into_bytes())]);
}
