//! `seenit network status`: what a network is.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use seenit_sites::manifest::Manifest;
use seenit_sites::roster::Roster;
use serde_json::{Value, json};

use super::Common;
use super::folder::Open;
use super::session::{Session, line, sites, states};
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Examples:\n  seenit network status\n  seenit network status --offline --json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Tell what the folder says, without asking the broker
    #[arg(long)]
    offline: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let roster = folder.roster()?;
    let manifests = folder.manifests()?;
    let invites = folder.invites()?;
    let settings = folder.settings()?;
    let streams = match settings.as_ref().filter(|_| !arguments.offline) {
        Some(settings) => Some(Session::connect(&folder, settings)?.operator.states(&sites(&roster))?),
        None => None,
    };
    let mut text = told(&roster, &manifests, &invites);
    streams.iter().flatten().for_each(|state| text += &line(state));
    let invited = |open: &Open| json!({"name": open.name.as_str(), "expires_secs": open.expires_secs});
    let document = json!({
        "network": roster.network.to_string(),
        "broker": settings.map(|settings| settings.nats),
        "roster": roster.version,
        "members": members(&roster),
        "invites": invites.iter().map(invited).collect::<Vec<_>>(),
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
    roster.members.iter().map(one).collect()
}

fn manifest(manifest: &Manifest) -> Value {
    let terms = manifest.terms;
    json!({
        "number": manifest.number,
        "first_generation": terms.first_generation.0,
        "generation_secs": terms.generation_secs,
        "hash_key": hex::encode(manifest.key.0),
        "sites": manifest.sites().count(),
    })
}

fn told(roster: &Roster, manifests: &[Manifest], invites: &[Open]) -> String {
    let mut text = format!("network {}\nroster {}\n", roster.network, roster.version);
    for member in &roster.members {
        let caps = member.caps;
        let name = member.name.as_str();
        let spam = caps.spam;
        let ham = caps.ham;
        let seen = caps.seen;
        let _ = writeln!(text, "  {name:32}{}  spam {spam}, ham {ham}, seen {seen}", member.site);
    }
    for open in invites {
        let _ = writeln!(text, "  {:32}invited", open.name.as_str());
    }
    for manifest in manifests {
        let number = manifest.number;
        let first = manifest.terms.first_generation;
        let sites = manifest.sites().count();
        let _ = writeln!(text, "manifest {number}: from generation {first} on, for {sites} sites");
    }
    text
}
