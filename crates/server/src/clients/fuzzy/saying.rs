//! What additions and deletions have remembered.

use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_signature::Kind;
use seenit_wire::fuzzy::{Action, Command};

use super::{digest_of, labels};
use crate::accounts::Role;
use crate::clients::desk::{Desk, case_of};
use crate::config;

/// Something to be remembered.
pub(super) struct Saying {
    pub(super) verb: Verb,
    pub(super) role: Role,
    pub(super) cases: Vec<Case>,
}

impl Saying {
    /// What a command says: spam is reported, ham revoked, anything else a label; a deletion withdraws. Nothing where
    /// the value takes something away: a deletion does that.
    pub(super) fn of(command: &Command, rules: &config::Fuzzy, desk: &Desk) -> Option<Self> {
        let is_spam = rules.spam_flags.contains(&command.flag);
        let is_ham = rules.ham_flags.contains(&command.flag);
        let times = command.value.clamp(1, rules.value_max.cast_signed()) as usize;
        match command.action {
            Action::Write if command.value <= 0 || command.flag == 0 => None,
            Action::Write if is_spam => {
                let mut cases = counted(command, times)?;
                // Which of several flags was meant; the first goes without saying.
                if rules.spam_flags.first() != Some(&command.flag) {
                    cases.extend(labels::given(command.flag, &command.digest, times)?);
                }
                Some(Saying { verb: Verb::Report, role: Role::Report, cases })
            }
            Action::Write if is_ham => {
                Some(Saying { verb: Verb::Revoke, role: Role::Revoke, cases: counted(command, times)? })
            }
            Action::Write => {
                let cases = labels::given(command.flag, &command.digest, times)?;
                Some(Saying { verb: Verb::Report, role: Role::Report, cases })
            }
            Action::Delete => {
                let mut cases = Vec::new();
                // A deletion by digest alone has no flag, and means them all.
                if is_spam || is_ham || command.flag == 0 {
                    cases.extend(counted(command, 1)?);
                }
                let taken = |flag: &u8| labels::taken(*flag, &command.digest);
                if command.flag == 0 {
                    cases.extend(labels::all_taken(desk, &command.digest));
                } else if is_spam {
                    // It is no spam any more, so there is no flag that was meant.
                    cases.extend(rules.spam_flags.iter().skip(1).filter_map(taken));
                } else if !is_ham {
                    cases.extend(taken(&command.flag));
                }
                Some(Saying { verb: Verb::Withdraw, role: Role::Report, cases })
            }
            _ => None,
        }
    }
}

/// The case, as often as the value says: raw totals grow by it, and the reporter's weight counts once all the same.
fn counted(command: &Command, times: usize) -> Option<Vec<Case>> {
    let single = case_of(Kind::Rspamd, &command.digest)?;
    let mut whole = single.clone();
    if let Some(shingles) = &command.shingles {
        whole.push(Kind::RspamdNear, &digest_of(shingles)).ok()?;
    }
    // Shingles have no raw totals: once is enough for them. They are in the last record, where a deletion by digest
    // alone finds them.
    Some(std::iter::repeat_n(single, times - 1).chain([whole]).collect())
}
