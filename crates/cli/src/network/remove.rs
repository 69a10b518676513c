//! `seenit network remove`: takes a site out.

use std::process::ExitCode;

use clap::Args;
use seenit_server::broker::Names;
use seenit_sites::roster::Member;
use serde_json::json;

use super::admit::publish;
use super::session::Session;
use super::{Common, documents};
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "The broker ends the site's connection at once and lets it in no more. Where the broker cannot be \
    reached, the site is removed all the same: run `seenit network up` when it can.\n\
    Examples:\n  seenit network remove mail.example.org\n  seenit network remove mail.example.org --new-key"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Its name or its key
    #[arg(value_name = "SITE")]
    site: String,
    /// Change the hash key from the next generation on: the removed site knows the one so far, and could test with it
    /// what others saw
    #[arg(long)]
    new_key: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let folder = arguments.common.open()?;
    let old = folder.roster()?;
    let wanted = arguments.site.as_str();
    let is_wanted = |member: &Member| member.name.as_str() == wanted || member.site.to_string() == wanted;
    let (gone, stay): (Vec<_>, Vec<_>) = old.members.iter().cloned().partition(is_wanted);
    let [gone] = gone.as_slice() else {
        let why = format!("{wanted} is the name or key of no member: see `seenit network status`");
        return Err(Problem::Unknown(why));
    };
    let settings = folder.known_settings()?;
    let roster = folder.sign_roster(old.version + 1, stay)?;
    if arguments.new_key {
        documents::change_key(&folder, &roster)?;
    }
    folder.keep_roster(&roster)?;
    let published = || {
        let session = Session::connect(&folder, &settings)?;
        let changes = publish(&folder, &session)?;
        session.operator.clear(&[Names::of(&folder.network()).user(&gone.site)])?;
        if !session.cuts_off() {
            eprintln!(
                "seenit: the broker has its users from its own configuration, and still lets {} in: take it out there",
                gone.name
            );
        }
        Ok::<_, Problem>(changes)
    };
    let changes = published().inspect_err(|_| {
        eprintln!(
            "seenit: {} is removed in {}, but the broker and the other sites do not know yet: run `seenit network up`",
            gone.name,
            folder.path().display()
        );
    })?;
    let version = roster.version;
    let members = roster.members.len();
    let text = format!("{} is removed: {}\nRoster {version} has {members} sites.\n", gone.name, gone.site);
    let told =
        json!({"removed": gone.name.as_str(), "roster": version, "members": members, "changes": changes});
    arguments.common.tell(&told, &text)
}
