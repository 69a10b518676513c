//! Who may do what on the broker: the subjects of a site, of the holder of an invite, and of nobody else.

use seenit_sites::key::{BrokerKey, SiteKey};
use serde::Serialize;

use super::names::inbox_prefix;
use super::{Names, Stream};

/// Messages that answer one question, at most.
const ANSWERS_MAX: u32 = 1000;

/// How long a question can be answered, in nanoseconds.
const ANSWER_NANOS: u64 = 60_000_000_000;

/// The largest message of an invited newcomer: an introduction has 244 bytes at most, a question for a message less.
const INVITED_BYTES_MAX: i64 = 4096;

/// Subscriptions of an invited newcomer: for the answers to its questions.
const INVITED_SUBSCRIPTIONS_MAX: i64 = 8;

/// No limit, as the broker writes it.
const NO_LIMIT: i64 = -1;

/// What a user may do, as it stands in the user's JWT. The order of the fields is the order in the JWT, which a
/// newcomer rebuilds from its invite: see [`super::invite`].
#[derive(Debug, Serialize)]
pub(super) struct Permissions {
    #[serde(rename = "pub", skip_serializing_if = "Option::is_none")]
    publish: Option<Allow>,
    #[serde(rename = "sub", skip_serializing_if = "Option::is_none")]
    subscribe: Option<Allow>,
    #[serde(rename = "resp", skip_serializing_if = "Option::is_none")]
    answer: Option<ResponseLimits>,
    subs: i64,
    data: i64,
    payload: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    version: u8,
}

#[derive(Debug, Serialize)]
struct Allow {
    allow: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ResponseLimits {
    max: u32,
    ttl: u64,
}

impl Permissions {
    /// The admin's: everything in the account.
    pub(super) fn all() -> Self {
        Permissions {
            publish: None,
            subscribe: None,
            answer: None,
            subs: NO_LIMIT,
            data: NO_LIMIT,
            payload: NO_LIMIT,
            kind: "user",
            version: 2,
        }
    }

    /// A site's: what it must do, under its own name.
    pub(super) fn of_site(names: &Names, site: &SiteKey) -> Self {
        let inboxes = format!("{}.>", inbox_prefix(&site.to_string()));
        let hears = vec![names.heartbeat(None), names.ask(Some(site)), names.news(None), inboxes];
        Permissions {
            publish: Some(Allow { allow: says(names, site) }),
            subscribe: Some(Allow { allow: hears }),
            answer: Some(ResponseLimits { max: ANSWERS_MAX, ttl: ANSWER_NANOS }),
            ..Permissions::all()
        }
    }

    /// The holder of an invite leaves one introduction, and looks whether it was admitted.
    pub(super) fn of_invited(names: &Names, invite: &BrokerKey) -> Self {
        let says = vec![names.deposit(Some(invite)), format!("$JS.API.STREAM.MSG.GET.{}", names.door())];
        let hears = vec![format!("{}.>", inbox_prefix(&invite.to_string()))];
        Permissions {
            publish: Some(Allow { allow: says }),
            subscribe: Some(Allow { allow: hears }),
            subs: INVITED_SUBSCRIPTIONS_MAX,
            payload: INVITED_BYTES_MAX,
            ..Permissions::all()
        }
    }
}

/// Where a site may speak: under its own name, and what reading takes.
fn says(names: &Names, site: &SiteKey) -> Vec<String> {
    let mut subjects = vec![
        names.spoken(Stream::Records, site),
        names.spoken(Stream::Seen, site),
        names.heartbeat(Some(site)),
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
