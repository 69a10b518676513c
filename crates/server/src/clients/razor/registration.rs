//! Accounts that clients beyond this machine make for themselves.
//!
//! Nobody vouches for them: their word weighs nothing until trusted accounts have confirmed it, a network gets a few a
//! day, and they never take up more than half of the room, so that the operator's own always find some.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::accounts::{ACCOUNTS_MAX, AccountError, Role, Roles};
use crate::clients::desk::Desk;
use crate::network::Network;
use crate::secrets::{DCC_NAME, Protocol};

/// Accounts from which on nobody registers.
const REGISTERED_MAX: usize = ACCOUNTS_MAX / 2;

const DAY_SECS: u64 = 86_400;

/// Who registered today.
pub(super) struct Registrations {
    per_day: u32,
    today: Mutex<LruCache<Network, (u64, u32)>>,
    one_at_a_time: Mutex<()>,
}

/// Why nobody was registered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Somebody has the name, or had it.
    Taken,
    /// Such a name, such a password, or none at all today.
    Forbidden,
    /// Something of ours is broken.
    Internal,
}

impl Registrations {
    pub(super) fn new(per_day: u32, networks_max: u32) -> Self {
        let most = NonZeroUsize::new(networks_max as usize).unwrap_or(NonZeroUsize::MIN);
        Registrations { per_day, today: Mutex::new(LruCache::new(most)), one_at_a_time: Mutex::new(()) }
    }

    /// Whether the network may have one more account today, which counts as made.
    pub(super) fn may(&self, network: Network, now_secs: u64) -> bool {
        let today = now_secs / DAY_SECS;
        let mut table = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let (day, made) = table.get_or_insert_mut(network, || (today, 0));
        if *day != today {
            (*day, *made) = (today, 0);
        }
        *made = made.saturating_add(1);
        *made <= self.per_day
    }

    /// Makes an account; durable when it returns.
    pub(super) fn register(&self, desk: &Desk, name: &str, password: &[u8]) -> Result<(), Refused> {
        let _alone = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, roles) = (&desk.state, Roles::from_iter([Role::Check, Role::Report, Role::Revoke]));
        state.accounts.check_new(name, roles).map_err(|error| refused(&error))?;
        // Whoever had a name may have earned a weight, or lost it: nobody inherits that.
        if state.ledger.reporter(name).is_some() {
            return Err(Refused::Taken);
        }
        if name.starts_with(DCC_NAME) || state.accounts.list().len() >= REGISTERED_MAX {
            return Err(Refused::Forbidden);
        }
        let kept = state.secrets.put(name, Protocol::Razor, password, &state.accounts);
        kept.map_err(|_| Refused::Forbidden)?;
        let reporter = state.ledger.admit_reporter(name).map_err(|_| Refused::Internal)?;
        // Its token is shown to nobody: an operator can give it another.
        let added = state.accounts.add(name, roles, reporter.id, state.clock.now_secs());
        added.map_err(|error| refused(&error))?;
        tracing::info!(account = name, "a client registered");
        Ok(())
    }
}

/// The account that a user of Razor is: users are often addresses of mail, which are no names of accounts.
pub(super) fn account_of(user: &[u8]) -> String {
    String::from_utf8_lossy(user).to_ascii_lowercase().replace('@', ".at.").replace('+', ".plus.")
}

fn refused(error: &AccountError) -> Refused {
    match error {
        AccountError::Exists(_) | AccountError::Reserved(_) => Refused::Taken,
        AccountError::Name(_) | AccountError::TooMany => Refused::Forbidden,
        _ => Refused::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_gets_a_few_accounts_a_day() {
        let (registrations, one) = (Registrations::new(2, 16), Network::of([192, 0, 2, 1].into()));
        let may = |secs| registrations.may(one, secs);
        assert_eq!([may(0), may(5), may(DAY_SECS - 1), may(DAY_SECS)], [true, true, false, true]);
        assert!(registrations.may(Network::of([192, 0, 3, 1].into()), 0), "another network");
        assert!(!Registrations::new(0, 16).may(one, 0));
    }

    #[test]
    fn users_are_accounts_by_their_addresses() {
        assert_eq!(account_of(b"Alice+lists@example.com"), "alice.plus.lists.at.example.com");
    }
}
