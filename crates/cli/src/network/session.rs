//! The admin at the broker: connected, and whatever the folder says made true there.

use seenit_filter::readable;
use seenit_server::broker::{
    Authority, BrokerError, Change, Limits, Login, Made, Names, Operator, Servers, SignedDocument,
    StreamState, System, nkey_account,
};
use seenit_sites::key::SiteKey;
use seenit_sites::roster::Roster;
use serde_json::{Value, json};

use super::folder::Folder;
use super::folder::settings::Settings;
use crate::plural::counted;
use crate::problem::Problem;

/// A connection of the admin's.
pub(super) struct Session<'a> {
    folder: &'a Folder,
    limits: Limits,
    pub(super) operator: Operator,
    /// Missing where the broker has its users from its own configuration, or from somebody else's account.
    system: Option<System>,
}

impl<'a> Session<'a> {
    /// Connects to the broker that the settings of the folder name.
    pub(super) fn connect(folder: &'a Folder, settings: &Settings) -> Result<Self, Problem> {
        let authority = Authority::of(folder.secret());
        let servers = |login| {
            Servers::new(settings.nats.clone(), login, settings.ca.clone(), settings.insecure_plaintext)
        };
        let own = settings.credentials.is_none();
        let login = settings.credentials.clone().map_or_else(|| Login::User(authority.admin()), Login::File);
        let operator = Operator::connect(&servers(login)?, folder.network());
        let operator = operator.map_err(|error| refused(error, folder))?;
        let system =
            if own { Some(System::connect(&servers(Login::User(authority.system_admin()))?)) } else { None };
        let system = match system.transpose() {
            // A broker from before JWTs lets the admin in by a key alone, and has no system account.
            Err(BrokerError::Refused(_)) => None,
            other => other?,
        };
        Ok(Session { folder, limits: settings.limits(), operator, system })
    }

    /// Whether a removal at this broker cuts the site off. Else somebody has to take its user out by hand.
    pub(super) fn cuts_off(&self) -> bool {
        self.system.is_some()
    }

    /// Makes true what the folder says, and says what that changed: nothing where all was so already.
    pub(super) fn bring_up(&self) -> Result<Vec<String>, Problem> {
        let folder = self.folder;
        let mut changes = Vec::new();
        let roster = folder.roster()?;
        let authority = Authority::of(folder.secret());
        if let Some(system) = &self.system {
            let removed = folder.removed(&roster)?;
            let account = authority.account(roster.version, &removed);
            if system.push(&nkey_account(&folder.network()), &account)? {
                changes.push(format!("told the broker who is removed, as of roster {}", roster.version));
            }
        }
        changes.extend(self.operator.make(&sites(&roster), &self.limits)?.iter().filter_map(change));
        let published = self.operator.publish(&documents(folder, &roster)?)?;
        if published > 0 {
            changes.push(format!("published {}", counted(published as u64, "signed document")));
        }
        let admitted = self.operator.admit(&users(folder, &roster, &authority)?)?;
        if admitted > 0 {
            changes.push(format!("published the broker's JWTs of {}", counted(admitted as u64, "site")));
        }
        Ok(changes)
    }
}

fn refused(error: BrokerError, folder: &Folder) -> Problem {
    let BrokerError::Refused(why) = error else { return error.into() };
    let start = format!(
        "{why}: the broker does not know this network; start it with `nats-server -c {}`, on a port that is free",
        folder.broker_conf().display()
    );
    BrokerError::Refused(start).into()
}

/// Manifests first, because a roster names those who need them.
fn documents(folder: &Folder, roster: &Roster) -> Result<Vec<SignedDocument>, Problem> {
    let names = Names::of(&folder.network());
    let manifests = folder.manifests()?.into_iter().map(|manifest| {
        let subject = names.manifest(manifest.number);
        SignedDocument { subject, bytes: manifest.bytes.to_vec() }
    });
    let mut documents: Vec<SignedDocument> = manifests.collect();
    documents.push(SignedDocument { subject: names.roster(), bytes: roster.bytes.to_vec() });
    Ok(documents)
}

/// The JWT of each member. It is no secret: it proves nothing without the member's own key.
fn users(folder: &Folder, roster: &Roster, authority: &Authority) -> Result<Vec<(SiteKey, String)>, Problem> {
    let user = |site: SiteKey| {
        let introduction = folder.introduction(&site)?;
        Ok((site, authority.site(&site, &introduction.broker)))
    };
    sites(roster).into_iter().map(user).collect()
}

pub(super) fn sites(roster: &Roster) -> Vec<SiteKey> {
    roster.members.iter().map(|member| member.site).collect()
}

fn change(made: &Made) -> Option<String> {
    let name = &made.state.name;
    match made.change {
        Change::New => Some(format!("made {name}")),
        Change::Changed => Some(format!("changed {name}")),
        Change::None => None,
    }
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
    let (messages, copies) = (counted(*messages, "message"), if *replicas == 1 { "copy" } else { "copies" });
    format!("{name}: {messages}, {}{of}, {replicas} {copies}\n", readable::bytes(*bytes))
}
