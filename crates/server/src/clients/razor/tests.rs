//! Razor's: accounts that clients beyond this machine make for themselves.

use std::sync::Arc;

use seenit_ledger::Standing;
use seenit_wire::razor::{Command, Request, response};

use super::{Conversation, Ends, RazorLogin, Registrations};
use crate::accounts::{Role, Roles};
use crate::clients::tests::{Office, abroad, home};
use crate::secrets::Protocol;

pub(in crate::clients) struct Talk(Conversation);

impl Talk {
    fn with(office: &Office, registrations: &Arc<Registrations>, from: std::net::SocketAddr) -> Self {
        let desk = Arc::clone(&office.desk);
        let registrations = Arc::clone(registrations);
        let ends = Ends { peer: from, own: home() };
        Talk(Conversation::new(Arc::clone(&desk), home(), RazorLogin::new(desk, registrations, ends)))
    }

    /// Somebody of this machine who shows nothing.
    pub(in crate::clients) fn at_home(office: &Office) -> Self {
        Talk::with(office, &Arc::new(Registrations::new(0, 16)), home())
    }

    /// Somebody beyond it, where nobody may register.
    pub(in crate::clients) fn beyond(office: &Office, from: std::net::SocketAddr) -> Self {
        Talk::with(office, &Arc::new(Registrations::new(0, 16)), from)
    }

    pub(in crate::clients) async fn ask(&mut self, command: Command<'_>) -> String {
        let mut out = Vec::new();
        self.0.answer(Request::Query(Ok(command)), &mut out).await.expect("an answer");
        String::from_utf8(out).expect("text").trim_end().to_owned()
    }

    async fn register(&mut self, user: &str, password: &str) -> String {
        let user = Some(user.as_bytes().into());
        let password = Some(password.as_bytes().into());
        self.ask(Command::Register { user, password }).await
    }

    /// Proves to be somebody, or does not.
    pub(in crate::clients) async fn log_in(&mut self, user: &str, password: &str) -> String {
        let answer = self.ask(Command::Identify { user: user.as_bytes().into() }).await;
        let Some(challenge) = answer.split('&').find_map(|field| field.strip_prefix("achal=")) else {
            return answer;
        };
        let response = response(password.as_bytes(), challenge.as_bytes());
        self.ask(Command::Authenticate { response: response.into_bytes().into() }).await
    }
}

pub(in crate::clients) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

#[test]
fn strangers_register_a_few_accounts_a_day_and_their_word_weighs_nothing() {
    run(async {
        let office = Office::open();
        let registrations = Arc::new(Registrations::new(2, 16));
        let mut talk = Talk::with(&office, &registrations, abroad());
        assert_eq!(talk.log_in("Alice@example.com", "open-sesame").await, "err=213", "nobody yet");
        let registered = talk.register("Alice@example.com", "open-sesame").await;
        assert!(registered.contains("res=1"), "{registered}");
        assert_eq!(talk.log_in("alice@example.com", "open-barley").await, "err=212");
        assert_eq!(talk.log_in("alice@example.com", "open-sesame").await, "res=1");
        let account = office.desk.backend.accounts.get("razor.alice.at.example.com").expect("an account");
        assert!(account.roles.allow(Role::Revoke) && !account.roles.allow(Role::Admin));
        let reporter = office.desk.backend.ledger.reporter(&account.name).expect("a reporter");
        assert_eq!(
            (reporter.weight, reporter.standing),
            (0, Standing::Stranger),
            "until the operator says otherwise"
        );
        assert_eq!(talk.register("alice@example.com", "stolen").await, "err=210");
        assert_eq!(talk.register("bob", "open-sesame").await, "err=214", "two tries of one network a day");
        let elsewhere = ([192, 0, 3, 9], 4000).into();
        let mut other = Talk::with(&office, &registrations, elsewhere);
        assert!(other.register("bob", "open-sesame").await.contains("res=1"));
    });
}

#[test]
fn nobody_inherits_a_weight_or_takes_a_name_that_means_something() {
    run(async {
        let office = Office::open();
        let registrations = Arc::new(Registrations::new(100, 16));
        let accounts = &office.desk.backend.accounts;
        let secrets = &office.desk.backend.secrets;
        office.account("trusted", &[Role::Report], Protocol::Razor, "open-sesame");
        let mut talk = Talk::with(&office, &registrations, abroad());
        assert_eq!(talk.register("trusted", "mine").await, "err=210", "the operator's");
        assert!(talk.register("bob", "bobs-own").await.contains("res=1"));
        accounts.remove("razor.bob").expect("removed");
        secrets.remove_account("razor.bob").expect("removed");
        assert_eq!(talk.register("bob", "mine").await, "err=210", "what it had earned is nobody else's");
        assert_eq!(talk.register("no such name", "mine").await, "err=214");
        assert_eq!(talk.register("fine", "no such password").await, "err=214");
        assert!(accounts.get("razor.fine").is_none(), "nothing is left of it");
        let why = accounts
            .check_new("razor.fine", Roles::from_iter([Role::Check]))
            .expect_err("not an operator's name");
        assert!(why.to_string().contains("clients that register"), "{why}");
    });
}

#[test]
fn a_strangers_name_keeps_nobody_at_home_from_reporting() {
    run(async {
        let office = Office::open();
        let registrations = Arc::new(Registrations::new(100, 16));
        let mut abroad = Talk::with(&office, &registrations, abroad());
        assert!(abroad.register("postmaster", "mine").await.contains("res=1"));
        let mut at_home = Talk::with(&office, &registrations, home());
        assert!(at_home.register("postmaster", "anything").await.contains("res=1"));
        assert_eq!(at_home.log_in("postmaster", "goes").await, "res=1", "it is `local` under any name");
        assert!(at_home.0.takes_messages());
        office.account("mx", &[Role::Report], Protocol::Razor, "open-sesame");
        assert_eq!(at_home.log_in("mx", "anything").await, "err=212", "but for the operator's accounts");
        assert!(!at_home.0.takes_messages());
    });
}

#[test]
fn a_connection_does_not_outlive_the_secret_it_was_opened_with() {
    run(async {
        let office = Office::open();
        let registrations = Arc::new(Registrations::new(0, 16));
        let accounts = &office.desk.backend.accounts;
        let secrets = &office.desk.backend.secrets;
        office.account("mx", &[Role::Report], Protocol::Razor, "open-sesame");
        let mut talk = Talk::with(&office, &registrations, abroad());
        assert_eq!(talk.log_in("mx", "open-sesame").await, "res=1");
        assert!(talk.0.takes_messages());
        secrets.put("mx", Protocol::Razor, b"open-barley", accounts).expect("changed");
        assert!(!talk.0.takes_messages(), "another secret");
        secrets.put("mx", Protocol::Razor, b"open-sesame", accounts).expect("changed back");
        assert!(talk.0.takes_messages());
        accounts.remove("mx").expect("removed");
        assert!(!talk.0.takes_messages(), "no account");
    });
}
