//! Who asks to be let in and cannot be: both sides would wait for ever if nobody said why.

use seenit_server::broker::Names;
use seenit_sites::introduction::Introduction;
use seenit_sites::roster::Roster;
use serde_json::{Value, json};

use super::admit::Asking;
use super::folder::Folder;
use super::session::Session;
use crate::problem::Problem;

/// Somebody who left an introduction and cannot be admitted.
pub(super) struct Stuck {
    introduction: Introduction,
    why: String,
}

/// All who cannot be admitted: with an invite that is not open any more, or by the name of a member.
pub(super) fn stuck(
    folder: &Folder,
    session: &Session<'_>,
    asking: &[Asking],
) -> Result<Vec<Stuck>, Problem> {
    let (roster, names) = (folder.roster()?, Names::of(&folder.network()));
    let open: Vec<String> = folder.invites()?.iter().map(|open| names.deposit(Some(&open.key))).collect();
    let mut found = Vec::new();
    for one in asking {
        if let Some(why) = taken(&roster, &one.introduction) {
            found.push(Stuck { introduction: one.introduction.clone(), why });
        }
    }
    for (subject, bytes) in session.operator.deposits()? {
        let Ok(introduction) = Introduction::decode(&bytes) else { continue };
        // A member that joined again with a used invite waits for nothing.
        if open.contains(&subject) || roster.member(&introduction.site).is_some() {
            continue;
        }
        let name = &introduction.name;
        let why = taken(&roster, &introduction).unwrap_or_else(|| {
            format!(
                "its invite was used, replaced or has ended: run `seenit network invite {name}`, and have it join with \
                 the new one"
            )
        });
        found.push(Stuck { introduction, why });
    }
    Ok(found)
}

/// Why somebody cannot have its name.
fn taken(roster: &Roster, introduction: &Introduction) -> Option<String> {
    let (site, name) = (&introduction.site, &introduction.name);
    let member = roster.members.iter().find(|member| member.name == *name && member.site != *site)?;
    Some(format!(
        "there is a member called {name} already, with key {}: if that site lost its data, remove it first with \
         `seenit network remove {name}`; then, or by another name, invite this one again",
        member.site
    ))
}

impl Stuck {
    /// Whether it is the one who asks.
    pub(super) fn is(&self, asking: &Asking) -> bool {
        self.introduction.site == asking.introduction.site && self.introduction.name == asking.open.name
    }

    pub(super) fn line(&self) -> String {
        let (name, words) = (&self.introduction.name, self.introduction.words().join(" "));
        format!("{name}: {words}\n  cannot be admitted: {}\n", self.why)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.introduction.name.as_str(),
            "site": self.introduction.site.to_string(),
            "words": self.introduction.words(),
            "problem": self.why,
        })
    }
}
