//! Who may do what on the engine, as nats-server reads it.

use std::fmt::Write;

use seenit_sites::key::{AdminKey, EngineKey, SiteKey};

use super::names::inbox_prefix;
use super::{Names, Stream, nkey};

/// Messages that answer one question, at most.
const ANSWERS_MAX: u32 = 1000;

/// How long a question can be answered.
const ANSWER_SECS: u32 = 60;

/// A site that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What people call it.
    pub name: String,
    /// Who it is.
    pub site: SiteKey,
    /// What it connects with.
    pub engine: EngineKey,
}

/// An account for a network: the admin may do everything in it, and each site what it must.
pub fn permissions(network: &AdminKey, admin: &EngineKey, users: &[User]) -> String {
    let names = Names::of(network);
    let mut text = format!("# The users of network {network}, as `seenit network streams` prints them.\n");
    text.push_str("accounts: {\n  SEENIT: {\n    jetstream: enabled\n    users: [\n");
    let _ = write!(text, "      # The admin\n      {{ nkey: {} }}\n", nkey(admin));
    users.iter().for_each(|user| text.push_str(&one(&names, user)));
    text.push_str("    ]\n  }\n}\n");
    text
}

fn one(names: &Names, user: &User) -> String {
    let site = &user.site;
    let inboxes = format!("{}.>", inbox_prefix(&site.to_string()));
    let hears = [names.beat(None), names.ask(Some(site)), names.news(None), inboxes];
    format!(
        "      # {} ({site})\n      {{\n        nkey: {}\n        permissions: {{\n          \
         publish: {{ allow: [\n{}          ] }}\n          subscribe: {{ allow: [\n{}          ] }}\n          \
         allow_responses: {{ max: {ANSWERS_MAX}, expires: \"{ANSWER_SECS}s\" }}\n        }}\n      }}\n",
        user.name,
        nkey(&user.engine),
        lines(&says(names, site)),
        lines(&hears),
    )
}

/// Where a site may speak: under its own name, and what reading takes.
fn says(names: &Names, site: &SiteKey) -> Vec<String> {
    let mut subjects = vec![
        names.spoken(Stream::Records, site),
        names.spoken(Stream::Seen, site),
        names.beat(Some(site)),
        names.ask(None),
        format!("$O.{}.>", names.bucket(site)),
        format!("$JS.API.STREAM.PURGE.{}", names.bucket_stream(site)),
        format!("$JS.API.STREAM.INFO.{}", names.bucket_stream(site)),
    ];
    subjects.extend(Stream::ALL.map(|stream| format!("$JS.API.STREAM.INFO.{}", names.stream(stream))));
    // Of the streams of this account: those of the network, and everybody's buckets.
    subjects.push("$JS.API.STREAM.MSG.GET.*".to_owned());
    subjects
}

fn lines(subjects: &[String]) -> String {
    subjects.iter().fold(String::new(), |text, subject| text + &format!("            \"{subject}\"\n"))
}
