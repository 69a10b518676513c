//! `seenit network status`: what a network is.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use seenit_sites::manifest::Manifest;
use seenit_sites::roster::Roster;
use serde_json::{Value, json};

use super::meet::{line, sites, states};
use super::{Common, Nats};
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Examples:\n  seenit network status --folder admin\n  \
    seenit network status --folder admin --nats tls://nats.example.org --json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    nats: Nats,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let (roster, manifests) = (folder.roster()?, folder.manifests()?);
    let streams = match arguments.nats.connect(&folder)? {
        Some(operator) => Some(operator.states(&sites(&roster))?),
        None => None,
    };
    let mut text = told(&roster, &manifests);
    streams.iter().flatten().for_each(|state| text += &line(state));
    let document = json!({
        "network": roster.network().to_string(),
        "roster": roster.version(),
        "members": members(&roster),
        "manifests": manifests.iter().map(manifest).collect::<Vec<_>>(),
        "streams": streams.as_deref().map(states),
    });
    arguments.common.tell(&document, &text)
}

fn members(roster: &Roster) -> Vec<Value> {
    let one = |member: &seenit_sites::roster::Member| {
        let caps = member.caps;
        json!({
            "site": member.site.to_string(),
            "name": member.name.as_str(),
            "spam": caps.spam,
            "ham": caps.ham,
            "seen": caps.seen,
        })
    };
    roster.members().iter().map(one).collect()
}

fn manifest(manifest: &Manifest) -> Value {
    let (terms, promise) = (manifest.terms(), manifest.terms().geometry.promise());
    json!({
        "number": manifest.number(),
        "first_generation": terms.first_generation,
        "generation_secs": terms.generation_secs,
        "capacity": promise.capacity,
        "rate": promise.rate,
        "hash_key": hex::encode(manifest.key().0),
        "sites": manifest.sites().count(),
    })
}

fn told(roster: &Roster, manifests: &[Manifest]) -> String {
    let mut text = format!("network {}\nroster {}\n", roster.network(), roster.version());
    for member in roster.members() {
        let (caps, name) = (member.caps, &member.name);
        let (spam, ham, seen) = (caps.spam, caps.ham, caps.seen);
        let _ = writeln!(text, "  {name:32}{}  spam {spam}, ham {ham}, seen {seen}", member.site);
    }
    for manifest in manifests {
        let (number, terms) = (manifest.number(), manifest.terms());
        let (sites, capacity) = (manifest.sites().count(), terms.geometry.promise().capacity);
        let first = terms.first_generation;
        let _ = writeln!(
            text,
            "manifest {number}: from generation {first} on, {capacity} signatures, {sites} sites"
        );
    }
    text
}
