//! The built-in accounts: the operator, and all other users of this machine together. What those users can do is in
//! `attacks/users.rs`.

mod common;

use common::Folder;
use common::serving::Serving;
use serde_json::Value;

fn account(serving: &Serving<'_>, name: &str) -> Value {
    let list = serving.run("account list --json").json();
    let found = list["accounts"].as_array().expect("a list").iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}")).clone()
}

#[test]
fn local_and_the_operator_are_accounts_that_are_listed_weighed_and_undone() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let weight = |serving: &Serving<'_>, name| account(serving, name)["reporter"]["weight"].clone();
    assert_eq!((weight(&serving, "local"), weight(&serving, "operator")), (2.into(), 10.into()));
    let shown = serving.run("account weight local 7");
    assert!(shown.code == 0 && shown.out.contains("weight 7 (fixed)"), "{}{}", shown.out, shown.err);
    serving.stop();
    let serving = Serving::start(&folder);
    assert_eq!(weight(&serving, "local"), 7, "it lasts");
    assert_eq!(serving.run("account undo local").code, 0);
    assert_eq!(weight(&serving, "local"), 0, "as the help says");
    serving.stop();
    let serving = Serving::start(&folder);
    assert_eq!(weight(&serving, "local"), 0, "it lasts, too");
    assert_eq!(serving.run("account undo operator").code, 0);
    assert_eq!(weight(&serving, "operator"), 10, "as the help says");
    serving.run("account remove local").refused(77, "local");
}

#[test]
fn a_configuration_with_the_weight_of_local_is_told_what_to_do_instead() {
    let folder = Folder::new();
    folder.write("old.toml", "[ledger]\nlocal_weight = 3\n");
    folder.run("config check old.toml").refused(78, "old.toml:2: ledger.local_weight = 3: this key is gone");
    folder.run("config check old.toml").refused(78, "seenit account weight local");
}
