//! `seenit network streams` and `publish`: where sites meet, and what they find there.

use std::process::ExitCode;

use clap::Args;
use seenit_filter::readable;
use seenit_server::engine::{Limits, Names, Operator, Paper, StreamState, User, permissions};
use seenit_sites::key::SiteKey;
use seenit_sites::roster::Roster;
use serde_json::{Value, json};

use super::folder::Folder;
use super::{Common, Nats};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Run it again after each admission: each member has a bucket for its snapshots. The permissions \
    are an account of nats-server, to be included in its configuration.\n\
    Examples:\n  seenit network streams --folder admin --print-permissions > seenit-users.conf\n  \
    seenit network streams --folder admin --nats tls://nats.example.org --replicas 3"
)]
pub(crate) struct Streams {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    nats: Nats,
    /// Servers that keep a copy: 3 in a cluster of three
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(1..=5))]
    replicas: u8,
    /// Bytes that each of the streams of records and seen counts may have; the oldest messages go first
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().stream_bytes,
        value_parser = clap::value_parser!(u64).range(1 << 20..))]
    max_bytes: u64,
    /// Seconds that records and seen counts are kept
    #[arg(long, value_name = "SECS", default_value_t = Limits::default().age_secs,
        value_parser = clap::value_parser!(u64).range(Limits::AGE_SECS_MIN..=10 * 366 * 86_400))]
    max_age: u64,
    /// Bytes of each site's bucket of snapshots
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().bucket_bytes,
        value_parser = clap::value_parser!(u64).range(1 << 20..))]
    bucket_bytes: u64,
    /// Print who may do what, for the configuration of nats-server
    #[arg(long, conflicts_with_all = ["json", "nats"])]
    print_permissions: bool,
}

#[derive(Args)]
#[command(after_help = "Example: seenit network publish --folder admin --nats tls://nats.example.org")]
pub(crate) struct Publish {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    nats: Nats,
}

pub(super) fn streams(arguments: &Streams) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let roster = folder.roster()?;
    if arguments.print_permissions {
        output::text(&users(&folder, &roster)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let operator = arguments.nats.connect(&folder)?.ok_or_else(no_server)?;
    let limits = Limits {
        replicas: arguments.replicas.into(),
        stream_bytes: arguments.max_bytes,
        age_secs: arguments.max_age,
        bucket_bytes: arguments.bucket_bytes,
    };
    let made = operator.make(&sites(&roster), &limits)?;
    let text: String = made.iter().map(line).collect();
    arguments.common.tell(&json!({"streams": states(&made)}), &text)
}

pub(super) fn publish(arguments: &Publish) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let operator = arguments.nats.connect(&folder)?.ok_or_else(no_server)?;
    let published = publish_papers(&operator, &folder)?;
    let text = format!("{published} papers are published that were not yet.\n");
    arguments.common.tell(&json!({"published": published}), &text)
}

/// Publishes what is not published yet: manifests first, because a roster names those who need them.
pub(super) fn publish_papers(operator: &Operator, folder: &Folder) -> Result<usize, Problem> {
    let names = Names::of(&folder.network());
    let manifests = folder.manifests()?.into_iter().map(|manifest| {
        let subject = names.manifest(manifest.number());
        Paper { subject, bytes: manifest.bytes().to_vec() }
    });
    let mut papers: Vec<Paper> = manifests.collect();
    papers.push(Paper { subject: names.roster(), bytes: folder.roster()?.bytes().to_vec() });
    Ok(operator.publish(&papers)?)
}

pub(super) fn sites(roster: &Roster) -> Vec<SiteKey> {
    roster.members().iter().map(|member| member.site).collect()
}

pub(super) fn states(states: &[StreamState]) -> Vec<Value> {
    let one = |state: &StreamState| {
        json!({
            "name": state.name,
            "messages": state.messages,
            "bytes": state.bytes,
            "bytes_max": state.bytes_max,
            "replicas": state.replicas,
        })
    };
    states.iter().map(one).collect()
}

pub(super) fn line(state: &StreamState) -> String {
    let of = state.bytes_max.map_or(String::new(), |bytes| format!(" of {}", readable::bytes(bytes)));
    let StreamState { name, messages, bytes, replicas, .. } = state;
    format!("{name}: {messages} messages, {}{of}, {replicas} times\n", readable::bytes(*bytes))
}

fn users(folder: &Folder, roster: &Roster) -> Result<String, Problem> {
    let user = |member: &seenit_sites::roster::Member| {
        let (name, site) = (member.name.to_string(), member.site);
        folder.introduction(&site).map(|introduction| User { name, site, engine: *introduction.engine() })
    };
    let users: Vec<User> = roster.members().iter().map(user).collect::<Result<_, _>>()?;
    Ok(permissions(&folder.network(), &folder.secret().engine().public(), &users))
}

fn no_server() -> Problem {
    Problem::Value("which server? give --nats URL".to_owned())
}
