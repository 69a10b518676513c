//! `seenit network invite`: one string for the operator of a new site.

use std::process::ExitCode;

use clap::Args;
use seenit_ledger::{Clock, SystemClock};
use seenit_server::broker::{BrokerAddress, Invite};
use seenit_sites::roster::Name;
use serde_json::json;

use super::Common;
use super::folder::{Open, random};
use crate::problem::Problem;
use crate::range::within;

const DAY_SECS: u64 = 86_400;

#[derive(Args)]
#[command(
    after_help = "The string may be wrapped by a mail program. It is a secret, though one that admits nobody: whoever \
    has it may ask once to be let in. An invite for a name replaces an earlier one for the same name.\n\
    Examples:\n  seenit network invite mail.example.org\n  seenit network invite mail.example.org --days 1 --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// What to call the new site: letters a to z, digits, '-' and '.'
    #[arg(value_name = "NAME")]
    name: Name,
    /// Days until the invite ends
    #[arg(long, value_name = "N", default_value_t = 7, allow_negative_numbers = true,
        value_parser = within(1..=366_u64))]
    days: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let common = &arguments.common;
    let name = &arguments.name;
    let folder = common.open()?;
    let settings = folder.known_settings()?;
    let mut broker = BrokerAddress {
        addresses: settings.nats.clone(),
        insecure_plaintext: settings.insecure_plaintext,
        authority: Vec::new(),
    };
    if let Some(ca) = &settings.ca {
        broker = broker.with_authority(ca)?;
    }
    let expires_secs = SystemClock::default().now_secs() + arguments.days * DAY_SECS;
    let invite = Invite::sign(folder.secret(), name.clone(), expires_secs, broker, random()?);
    let invite = invite.map_err(|error| Problem::Refused(error.to_string()))?;
    folder.keep_invite(&Open {
        name: name.clone(),
        key: invite.key(),
        expires_secs,
        shown: String::new(),
    })?;
    if folder.roster()?.members.iter().any(|member| member.name == *name) {
        eprintln!(
            "seenit: warning: {name} is a member already: another site cannot be admitted by that name; invite it by \
             another one, or take the member out first (seenit network remove {name})"
        );
    }
    if !common.json {
        // Apart from the string, which may go into a file.
        eprintln!(
            "Send this string to the operator of {name}, who runs `seenit join` with it within {} days. Then compare \
             six words: seenit network admit --pending",
            arguments.days
        );
    }
    let told = json!({"name": name.as_str(), "invite": invite.to_string(), "expires_secs": expires_secs});
    common.tell(&told, &format!("{invite}\n"))
}
