//! `seenit network admit` and `remove`: who belongs to a network.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::{Clock, SystemClock};
use seenit_sites::introduction::{INTRODUCTION_BYTES_MAX, Introduction};
use seenit_sites::manifest::{HashKey, Manifest, Terms};
use seenit_sites::roster::{Caps, Member, Name, Roster};
use serde_json::json;

use super::folder::{Folder, random};
use super::meet::publish_papers;
use super::{Common, Nats};
use crate::problem::Problem;

/// Generations of which a newcomer may still need the hash key.
const GENERATIONS_KEPT: u64 = 31;

/// How long before a generation a new key for it is signed at least: it must be everywhere by then.
const AHEAD_SECS: u64 = 600;

#[derive(Args)]
#[command(
    after_help = "Signs a new roster, and the running terms once more with the hash key sealed to all members.\n\
    Examples:\n  seenit network admit --folder admin seenit-introduction-1:7365...\n  \
    seenit network admit --folder admin --name mail.example.org --spam 4 - < introduction.txt"
)]
pub(crate) struct Admit {
    #[command(flatten)]
    common: Common,
    /// What the site's operator sent, or - to read it from standard input
    #[arg(value_name = "INTRODUCTION")]
    introduction: String,
    /// What to call it [default: what it would like to be called]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Most points of spam that its word adds to a signature at another site
    #[arg(long, value_name = "N", default_value_t = 10)]
    spam: u32,
    /// Most points of ham
    #[arg(long, value_name = "N", default_value_t = 10)]
    ham: u32,
    /// Most recipients that it counts for at another site
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    seen: u64,
    #[command(flatten)]
    nats: Nats,
}

#[derive(Args)]
#[command(
    after_help = "Print the permissions anew afterwards (seenit network streams --print-permissions), so that it \
    cannot connect any more.\n\
    Examples:\n  seenit network remove --folder admin mail.example.org\n  \
    seenit network remove --folder admin mail.example.org --new-key --nats tls://nats.example.org"
)]
pub(crate) struct Remove {
    #[command(flatten)]
    common: Common,
    /// Its name or its key
    #[arg(value_name = "SITE")]
    site: String,
    /// Change the hash key from the next generation on: the removed site knows the one so far, and could test with it
    /// what others saw
    #[arg(long)]
    new_key: bool,
    #[command(flatten)]
    nats: Nats,
}

pub(super) fn admit(arguments: &Admit) -> Result<ExitCode, Problem> {
    let introduction = read_introduction(&arguments.introduction)?;
    let folder = arguments.common.open()?;
    let old = folder.roster()?;
    let (site, sealing) = (*introduction.site(), *introduction.sealing());
    let name = arguments.name.clone().unwrap_or_else(|| introduction.name().clone());
    let caps = Caps { spam: arguments.spam, ham: arguments.ham, seen: arguments.seen };
    let member = Member { site, sealing, name: name.clone(), caps };
    // One that is a member already gets its new name and caps.
    let others = old.members().iter().filter(|other| other.site != site).cloned();
    let roster = folder.sign_roster(old.version() + 1, others.chain([member]).collect())?;
    folder.keep_introduction(&introduction)?;
    seal_again(&folder, &roster)?;
    folder.keep_roster(&roster)?;
    let done = format!("{name} is admitted: {site}\n");
    finish(&arguments.common, &arguments.nats, &folder, &roster, &done)
}

pub(super) fn remove(arguments: &Remove) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let (old, wanted) = (folder.roster()?, arguments.site.as_str());
    let is_wanted = |member: &Member| member.name.as_str() == wanted || member.site.to_string() == wanted;
    let (gone, stay): (Vec<_>, Vec<_>) = old.members().iter().cloned().partition(is_wanted);
    let [gone] = gone.as_slice() else {
        return Err(Problem::Value(format!("{wanted} is the name or key of no member")));
    };
    let roster = folder.sign_roster(old.version() + 1, stay)?;
    if arguments.new_key {
        change_key(&folder, &roster)?;
    }
    folder.keep_roster(&roster)?;
    let done = format!("{} is removed: {}\n", gone.name, gone.site);
    finish(&arguments.common, &arguments.nats, &folder, &roster, &done)
}

fn finish(
    common: &Common,
    nats: &Nats,
    folder: &Folder,
    roster: &Roster,
    done: &str,
) -> Result<ExitCode, Problem> {
    let published = match nats.connect(folder)? {
        Some(operator) => Some(publish_papers(&operator, folder)?),
        None => None,
    };
    let (version, members) = (roster.version(), roster.members().len());
    let mut text = format!("{done}Roster {version} has {members} sites.\n");
    if published.is_none() {
        text += "Nothing is published yet: run seenit network publish.\n";
    }
    common.tell(&json!({"roster": version, "members": members, "published": published}), &text)
}

fn read_introduction(argument: &str) -> Result<Introduction, Problem> {
    let mut text = argument.to_owned();
    if argument == "-" {
        text.clear();
        let mut input = io::stdin().lock().take(4 * INTRODUCTION_BYTES_MAX as u64);
        input.read_to_string(&mut text).map_err(Problem::io("standard input"))?;
    }
    text.trim().parse().map_err(|error| Problem::Refused(format!("{error}")))
}

/// Signs all terms that are of use to a newcomer once more, under new numbers, sealed to everybody.
fn seal_again(folder: &Folder, roster: &Roster) -> Result<(), Problem> {
    for manifest in running(folder)? {
        folder.add_manifest(*manifest.terms(), roster, &folder.hash_key(&manifest)?)?;
    }
    Ok(())
}

/// Signs the same geometry with a new hash key, from the next generation on.
fn change_key(folder: &Folder, roster: &Roster) -> Result<(), Problem> {
    let running = running(folder)?;
    let last = running.last().ok_or_else(|| Problem::Refused("there is no manifest".to_owned()))?;
    let terms = *last.terms();
    let next = (SystemClock::default().now_secs() + AHEAD_SECS) / terms.generation_secs + 1;
    let terms = Terms { first_generation: next.max(terms.first_generation), ..terms };
    folder.add_manifest(terms, roster, &HashKey::from_bytes(random()?)).map(drop)
}

/// The manifests that hold, now, before or later, as far as it matters: by their first generation.
fn running(folder: &Folder) -> Result<Vec<Manifest>, Problem> {
    let manifests = folder.manifests()?;
    // Later numbers come later, and replace earlier ones of the same first generation.
    let newest = manifests.into_iter().map(|manifest| (manifest.terms().first_generation, manifest));
    let newest: Vec<Manifest> = newest.collect::<BTreeMap<_, _>>().into_values().collect();
    let now_secs = SystemClock::default().now_secs();
    let is_over = |next: &Manifest| {
        let Terms { first_generation, generation_secs, .. } = *next.terms();
        first_generation + GENERATIONS_KEPT < now_secs / generation_secs
    };
    let over = newest.iter().skip(1).take_while(|next| is_over(next)).count();
    Ok(newest.into_iter().skip(over).collect())
}
