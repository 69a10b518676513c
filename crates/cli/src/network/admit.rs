//! `seenit network admit`: who asks to be let in, who is, and how far each one is believed.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use seenit_server::broker::Names;
use seenit_sites::introduction::Introduction;
use seenit_sites::roster::{Caps, Member, Name, Roster};
use serde_json::{Value, json};

use super::folder::{Folder, Open};
use super::session::Session;
use super::stuck::{Stuck, stuck};
use super::{Common, broker, documents};
use crate::problem::Problem;
use crate::range::within;

/// How far a site is believed unless told otherwise. Nobody is believed alone: with 5 points a site alone does not
/// reach a quorum of 10, and two of them do. And with 2 points of ham nobody vetoes a full report alone: spam needs
/// four times the ham, and 10 is more than 4 * 2. Recipients are counted, not believed: a count is bulk wherever it was
/// seen.
pub(super) const DEFAULT_CAPS: Caps = Caps { spam: 5, ham: 2, seen: 1_000_000 };

#[derive(Args)]
#[command(
    after_help = "Compare the six words with the site's operator by another way than the invite went, such as a \
    telephone, before you admit anybody. A site that comes back keeps its caps unless you say others.\n\
    What was not shown with --pending, or \
    changed since, is not admitted.\n\
    Examples:\n  seenit network admit --pending\n  seenit network admit mail.example.org\n  \
    seenit network admit mail.example.org --spam 4 --seen 50000"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// The site to be let in, or a member whose caps change
    #[arg(value_name = "NAME", required_unless_present_any = ["pending", "all"])]
    name: Option<Name>,
    /// Show who asks to be let in, with six words each; admits nobody
    #[arg(long, conflicts_with_all = ["name", "all"])]
    pending: bool,
    /// Admit all who ask; only if you compared the words of each
    #[arg(long, requires = "yes", conflicts_with = "name")]
    all: bool,
    /// Admit without --pending first; only if you compared the words yourself
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    wanted: Wanted,
}

/// Caps that are said; the others stay as they were.
#[derive(Args)]
struct Wanted {
    /// Most points of spam that its opinions add to a signature at another site [default: 5, half a quorum]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(0..=u32::MAX))]
    spam: Option<u32>,
    /// Most points of ham [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(0..=u32::MAX))]
    ham: Option<u32>,
    /// Most recipients that it counts for at another site [default: 1000000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(0..=u64::MAX))]
    seen: Option<u64>,
}

impl Wanted {
    fn over(&self, before: Caps) -> Caps {
        Caps {
            spam: self.spam.unwrap_or(before.spam),
            ham: self.ham.unwrap_or(before.ham),
            seen: self.seen.unwrap_or(before.seen),
        }
    }

    fn is_told(&self) -> bool {
        self.spam.is_some() || self.ham.is_some() || self.seen.is_some()
    }
}

/// A site to be let in.
pub(super) struct Newcomer {
    pub(super) introduction: Introduction,
    pub(super) caps: Caps,
    /// Whether the caps were said. If not, a member's own stay as they are.
    pub(super) is_told: bool,
}

/// Somebody who asks to be let in.
pub(super) struct Asking {
    pub(super) open: Open,
    pub(super) introduction: Introduction,
    caps: Caps,
    /// Whether it was a member before, and keeps its caps.
    was_member: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let common = &arguments.common;
    let folder = arguments.common.open()?;
    let settings = folder.known_settings()?;
    let session = Session::connect(&folder, &settings)?;
    let asking = asking(&folder, &session, &arguments.wanted)?;
    if arguments.pending {
        let stuck = stuck(&folder, &session, &asking)?;
        let asking: Vec<Asking> =
            asking.into_iter().filter(|one| !stuck.iter().any(|it| it.is(one))).collect();
        asking.iter().try_for_each(|one| folder.keep_invite(&one.shown()))?;
        let told: Vec<Value> = asking.iter().map(Asking::json).collect();
        let stuck_told: Vec<Value> = stuck.iter().map(Stuck::json).collect();
        let text = stuck.iter().map(Stuck::line).collect::<String>() + &pending_text(&asking);
        return common.tell(&json!({"pending": told, "stuck": stuck_told}), &text);
    }
    let is_wanted = |one: &Asking| arguments.name.as_ref().is_none_or(|name| *name == one.open.name);
    let chosen: Vec<Asking> = asking.into_iter().filter(is_wanted).collect();
    if !arguments.yes {
        chosen.iter().try_for_each(Asking::check_shown)?;
    }
    let roster = folder.roster()?;
    if let Some(name) = arguments.name.as_ref().filter(|_| chosen.is_empty()) {
        let member = roster.members.iter().find(|member| member.name == *name);
        let member = member.ok_or_else(|| nobody(name))?;
        return change_caps(arguments, &folder, &session, &roster, member);
    }
    let is_told = arguments.wanted.is_told();
    let newcomers = chosen.iter().map(|one| Newcomer {
        introduction: one.introduction.clone(),
        caps: one.caps,
        is_told: is_told || one.was_member,
    });
    sign_in(&folder, newcomers.collect())?;
    let changes = publish(&folder, &session)?;
    let names = Names::of(&folder.network());
    for one in &chosen {
        session.operator.clear(&[names.deposit(Some(&one.open.key))])?;
        folder.close_invite(&one.open.name)?;
    }
    let mut text = String::new();
    for one in &chosen {
        let _ = writeln!(text, "{} is admitted: {}", one.open.name, one.introduction.words().join(" "));
        let _ =
            writeln!(text, "  {}{}", caps_text(one.caps), if one.was_member { ", as before" } else { "" });
    }
    if chosen.is_empty() {
        text += "Nobody asks to be let in.\n";
    }
    let told: Vec<Value> = chosen.iter().map(Asking::json).collect();
    let version = folder.roster()?.version;
    common.tell(&json!({"admitted": told, "roster": version, "changes": changes}), &text)
}

/// Signs a roster with these in it, and the documents sealed to them. Says whether that changed anything.
pub(super) fn sign_in(folder: &Folder, newcomers: Vec<Newcomer>) -> Result<bool, Problem> {
    let old = folder.roster()?;
    let mut members = old.members.clone();
    for Newcomer { introduction, caps, is_told } in newcomers {
        let site = introduction.site;
        let sealing = introduction.sealing;
        let name = introduction.name.clone();
        if let Some(other) = members.iter().find(|member| member.name == name && member.site != site) {
            return Err(Problem::Refused(format!(
                "there is a member called {name} already, with key {}: if that site lost its data, remove it first \
                 with `seenit network remove {name}`; else invite the new one by another name",
                other.site
            )));
        }
        let held = members.iter().find(|member| member.site == site).map(|member| member.caps);
        let caps = held.filter(|_| !is_told).unwrap_or(caps);
        members.retain(|member| member.site != site);
        members.push(Member { site, sealing, name, caps });
        folder.keep_introduction(&introduction)?;
    }
    members.sort_by_key(|member| member.site);
    if members == old.members {
        return Ok(false);
    }
    let roster = folder.sign_roster(old.version + 1, members)?;
    documents::seal_again(folder, &roster)?;
    folder.keep_roster(&roster)?;
    Ok(true)
}

/// Publishes what was signed, and keeps the broker's configuration in step.
pub(super) fn publish(folder: &Folder, session: &Session<'_>) -> Result<Vec<String>, Problem> {
    let settings = folder.known_settings()?;
    let mut changes = broker::configure(folder, Some(&settings), &settings)?;
    changes.extend(session.bring_up()?);
    Ok(changes)
}

/// Who left an introduction with an invite that is open. What cannot be used is said, and keeps nobody else out.
fn asking(folder: &Folder, session: &Session<'_>, wanted: &Wanted) -> Result<Vec<Asking>, Problem> {
    let mut found = Vec::new();
    for open in folder.invites()? {
        let Some((_, bytes)) = session.operator.pending(&[open.key])?.into_iter().next() else { continue };
        let introduction = match Introduction::decode(&bytes) {
            Ok(introduction) if introduction.name == open.name => introduction,
            unusable => {
                let why = unusable
                    .map_or_else(|error| error.to_string(), |other| format!("it names {}", other.name));
                let name = &open.name;
                eprintln!(
                    "seenit: what was left with the invite of {name} is of no use ({why}): invite {name} again"
                );
                continue;
            }
        };
        let before = folder.caps_before(&introduction.site)?;
        let caps = wanted.over(before.unwrap_or(DEFAULT_CAPS));
        found.push(Asking { open, introduction, caps, was_member: before.is_some() });
    }
    Ok(found)
}

impl Asking {
    /// Its invite, with the words that are shown now.
    fn shown(&self) -> Open {
        let Open { name, key, expires_secs, .. } = &self.open;
        Open {
            name: name.clone(),
            key: *key,
            expires_secs: *expires_secs,
            shown: self.introduction.words().join(" "),
        }
    }

    /// Words that were compared are those of what is admitted: whoever has the invite, or the broker, could leave
    /// another introduction meanwhile.
    fn check_shown(&self) -> Result<(), Problem> {
        let name = &self.open.name;
        let shown = &self.open.shown;
        let found = self.introduction.words().join(" ");
        if *shown == found {
            return Ok(());
        }
        let why = if shown.is_empty() {
            "was not shown to you yet"
        } else {
            "is another than the one shown to you"
        };
        Err(Problem::Refused(format!(
            "what {name} left {why}: run `seenit network admit --pending`, compare its six words, and admit it then"
        )))
    }

    fn json(&self) -> Value {
        json!({
            "name": self.open.name.as_str(),
            "site": self.introduction.site.to_string(),
            "words": self.introduction.words(),
            "spam": self.caps.spam,
            "ham": self.caps.ham,
            "seen": self.caps.seen,
            "was_member": self.was_member,
        })
    }
}

fn pending_text(asking: &[Asking]) -> String {
    let mut text = String::new();
    for one in asking {
        let _ = writeln!(text, "{}: {}", one.open.name, one.introduction.words().join(" "));
        let kept = if one.was_member { "; it was a member before, and keeps them" } else { "" };
        let _ = writeln!(text, "  {}{kept}", caps_text(one.caps));
    }
    match asking {
        [] => text += "Nobody asks to be let in.\n",
        [one, ..] => {
            let _ = writeln!(
                text,
                "Compare the words with each operator by telephone. Then: seenit network admit {}",
                one.open.name
            );
        }
    }
    text
}

fn caps_text(caps: Caps) -> String {
    format!("caps: spam {}, ham {}, seen {}", caps.spam, caps.ham, caps.seen)
}

fn nobody(name: &Name) -> Problem {
    Problem::Unknown(format!(
        "{name} is no member, and nobody asks to be let in by that name: run `seenit network invite {name}`, and have \
         its operator run `seenit join` with what it prints"
    ))
}

/// Gives a member other caps.
fn change_caps(
    arguments: &Arguments,
    folder: &Folder,
    session: &Session<'_>,
    roster: &Roster,
    member: &Member,
) -> Result<ExitCode, Problem> {
    let caps = arguments.wanted.over(member.caps);
    let name = &member.name;
    let mut text = format!("{name} is a member already, {}: nothing was changed.\n", caps_text(caps));
    let mut changes = Vec::new();
    if caps != member.caps {
        let others = roster.members.iter().filter(|other| other.site != member.site).cloned();
        let members = others.chain([Member { caps, ..member.clone() }]).collect();
        folder.keep_roster(&folder.sign_roster(roster.version + 1, members)?)?;
        changes = publish(folder, session)?;
        text = format!("{name}: {}, before {}\n", caps_text(caps), caps_text(member.caps));
    }
    let told = json!({"name": name.as_str(), "spam": caps.spam, "ham": caps.ham, "seen": caps.seen});
    arguments.common.tell(&json!({"changed": told, "changes": changes}), &text)
}
