//! Accounts that earn trust to abuse it: attackers who register, report their own spam early so that honest reports
//! confirm it, and lie together when they are believed. `docs/design/trust.md` has the rule that they meet.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

use crate::common::Folder;
use crate::common::hosts::Hosts;
use crate::common::serving::{Serving, mail};
use crate::peer::Razor;

/// Accounts of the attacker. Ten points each were 300 when they could be earned; the quorum is 10.
const SYBILS: usize = 30;

/// Spam that the attacker reports before anybody else does: five times what once gave a point.
const PRE_REPORTED: u64 = 25;

/// Good messages that the attackers may get listed, and spam that they may get cleared, all together.
const BOUND: usize = 0;

/// Points that all registered accounts may have together: none.
const REGISTERED_POINTS: u64 = 0;

/// A known account needs so many generations for a point.
const GENERATIONS_PER_POINT: u64 = 3;

/// Days of a second, so that whoever can earn something does; and no limits, so that a slow machine refuses nothing
/// and has an opinion.
const CONFIG: &str = "[ledger]\ngeneration_secs = 1\nrecord_generations = 400\n\
    [razor]\nregistrations_per_day = 100\n\
    [limits]\naccount_writes_per_sec = 0\naccount_checks_per_sec = 0\n\
    [check]\ndeadline_millis = 60000\n";

/// An address of a test's own namespace that is not loopback: whoever comes from there is a stranger.
const ABROAD: &str = "10.77.0.254";

/// A site, and the operator's way in.
struct Site<'a> {
    serving: Serving<'a>,
    agent: Agent,
    operator: String,
}

impl<'a> Site<'a> {
    fn start(folder: &'a Folder, options: &str) -> Self {
        folder.write("site.toml", CONFIG);
        let serving = Serving::start_with(
            folder,
            &format!("--config site.toml --pyzor off --dcc off --fuzzy off {options}"),
        );
        let operator = serving.operator_token();
        let agent = Agent::config_builder().proxy(None).build().new_agent();
        Site { serving, agent, operator }
    }

    fn post(&self, path: &str, token: &str, kind: &str, body: &str) -> Value {
        let asked = self.agent.post(format!("{}{path}", self.serving.url()));
        let asked = asked.header("authorization", format!("Bearer {token}")).header("content-type", kind);
        let mut answer = asked.send(body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let text = answer.body_mut().read_to_string().expect("text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Says something of a message; durable when it returns.
    fn say(&self, verb: &str, token: &str, message: &str) {
        self.post(&format!("/v1/{verb}"), token, "message/rfc822", message);
    }

    fn verdict(&self, message: &str) -> String {
        let judged = self.post("/v1/check", &self.operator, "message/rfc822", message);
        judged["verdict"].as_str().expect("a verdict").to_owned()
    }

    /// How many messages have a verdict.
    fn count<'m>(&self, messages: impl IntoIterator<Item = &'m String>, verdict: &str) -> usize {
        messages.into_iter().filter(|message| self.verdict(message) == verdict).count()
    }

    /// Makes an account by hand, and gives its token.
    fn add(&self, name: &str, weight: Option<u8>) -> String {
        let mut wanted = json!({"name": name, "roles": ["report", "revoke"]});
        if let Some(weight) = weight {
            wanted["weight"] = weight.into();
        }
        let made = self.post("/v1/accounts", &self.operator, "application/json", &wanted.to_string());
        made["token"].as_str().expect("a token").to_owned()
    }

    /// A registered account's token for HTTP, where words are said of every signature: more than Razor lets it say.
    fn token_of(&self, name: &str) -> String {
        let made = self.post(&format!("/v1/accounts/{name}/token"), &self.operator, "application/json", "{}");
        made["token"].as_str().expect("a token").to_owned()
    }

    fn reporters(&self) -> Vec<Value> {
        let list = self.serving.run("account list --json").json();
        list["accounts"].as_array().expect("a list").iter().map(|one| one["reporter"].clone()).collect()
    }

    fn reporter(&self, name: &str) -> Value {
        let found = self.reporters().into_iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }
}

/// Registers as Razor's clients do, from beyond this machine.
fn register(address: &str, user: &str) {
    let answer = Razor::connect(address).register(user, "open-sesame");
    assert!(answer.contains("res=1"), "{user}: {answer}");
}

/// A message that links to a host.
fn linking(seed: u64, host: &str) -> String {
    format!("{}\nhttp://{host}/offer\n", mail(seed))
}

fn mails(seeds: std::ops::Range<u64>) -> Vec<String> {
    seeds.map(mail).collect()
}

#[test]
fn thirty_accounts_that_register_and_earn_first_list_no_ham_unlist_no_spam_and_list_no_link() {
    let name =
        "trust::thirty_accounts_that_register_and_earn_first_list_no_ham_unlist_no_spam_and_list_no_link";
    let Some(_hosts) = Hosts::make(0, name) else {
        return;
    };
    let folder = Folder::new();
    let site = Site::start(&folder, &format!("--razor {ABROAD}:0"));
    let razor = site.serving.said["clients"]["razor"].as_str().expect("it is served").to_owned();
    let names: Vec<String> = (0..SYBILS).map(|number| format!("sybil{number}")).collect();
    names.iter().for_each(|name| register(&razor, name));
    let sybils: Vec<String> = names.iter().map(|name| site.token_of(&format!("razor.{name}"))).collect();
    let (desk, insider) = (site.add("desk", Some(10)), site.add("insider", None));

    // They earn: all of them report the attacker's spam before honest reports confirm it, over some generations.
    let began = Instant::now();
    for seed in 0..PRE_REPORTED {
        let spam = mail(seed);
        sybils.iter().chain([&insider]).for_each(|one| site.say("report", one, &spam));
        site.say("report", &desk, &spam);
        thread::sleep(Duration::from_millis(200));
    }
    let reporters = site.reporters();
    let registered = reporters.iter().filter(|one| one["name"].as_str().expect("text").starts_with("razor."));
    let registered: Vec<&Value> = registered.collect();
    assert_eq!(registered.len(), SYBILS);
    let points: u64 = registered.iter().map(|one| one["weight"].as_u64().expect("points")).sum();
    assert_eq!(points, REGISTERED_POINTS, "{registered:#?}");
    for one in &registered {
        assert_eq!(
            (&one["standing"], &one["confirmed"]),
            (&"stranger".into(), &PRE_REPORTED.into()),
            "{one}"
        );
        assert!(one["confirmed_generations"].as_u64() >= Some(GENERATIONS_PER_POINT), "days went by: {one}");
    }
    // Generations last a second: seven seconds and a bit, which begin at the end of one and end at the start of
    // another, touch nine.
    let generations = began.elapsed().as_secs() + 2;
    let most = 4 + generations / GENERATIONS_PER_POINT;
    let weight = site.reporter("insider")["weight"].as_u64().expect("points");
    assert!((5..=most.min(9)).contains(&weight), "known, it earns slowly: {weight}, at most {most}");

    // They lie.
    let (ham, reported) = (mails(100..105), mails(200..203));
    reported.iter().for_each(|spam| site.say("report", &desk, spam));
    for one in &sybils {
        ham.iter().for_each(|message| site.say("report", one, message));
        reported.iter().for_each(|message| site.say("revoke", one, message));
    }
    for (seed, one) in (300..).zip(&sybils) {
        site.say("report", one, &linking(seed, "victim.example"));
    }
    assert_eq!(site.count(&ham, "spam"), BOUND, "ham is listed");
    assert_eq!(reported.len() - site.count(&reported, "spam"), BOUND, "spam is cleared");
    let newsletters: Vec<String> = (400..403).map(|seed| linking(seed, "victim.example")).collect();
    assert_eq!(site.count(&newsletters, "spam"), BOUND, "mail that links to the victim is listed");
    site.serving.stop();
}

#[test]
fn after_the_operators_revocation_a_liar_is_refuted_whoever_confirmed_it() {
    let folder = Folder::new();
    let site = Site::start(&folder, "--razor off");
    let (liar, desk) = (site.add("liar", None), site.add("desk", Some(10)));
    let weight = || {
        let one = site.reporter("liar");
        (one["weight"].as_u64().expect("points"), one["refuted"].as_u64().expect("a number"))
    };
    site.say("report", &liar, &mail(1));
    site.say("report", &desk, &mail(1));
    assert_eq!(weight(), (4, 0), "confirmed by somebody who was wrong");
    site.say("revoke", &site.operator, &mail(1));
    assert_eq!(weight(), (2, 1));
    site.say("report", &site.operator, &mail(2));
    site.say("revoke", &liar, &mail(2));
    assert_eq!(weight(), (0, 2), "who contradicts the operator afterwards is refuted, too");
    assert_eq!(site.verdict(&mail(2)), "spam");
    site.serving.stop();
}

#[test]
fn one_account_takes_nothing_from_an_honest_one() {
    let folder = Folder::new();
    let site = Site::start(&folder, "--razor off");
    let (honest, attacker) = (site.add("honest", None), site.add("attacker", None));
    let desk = site.add("desk", Some(10));
    // Five confirmed words once made it trusted.
    for seed in 10..15 {
        site.say("report", &attacker, &mail(seed));
        site.say("report", &desk, &mail(seed));
    }
    for seed in 0..3 {
        site.say("report", &honest, &mail(seed));
        site.say("revoke", &attacker, &mail(seed));
    }
    let one = site.reporter("honest");
    assert_eq!((&one["weight"], &one["refuted"]), (&4.into(), &0.into()), "{one}");
    site.serving.stop();
}
