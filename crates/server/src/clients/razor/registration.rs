//! Accounts that clients beyond this machine make for themselves.
//!
//! They are strangers: their word weighs nothing until the operator gives them another standing. A network gets a few a
//! day, and a site not many more. Their names are in a place of their own.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::accounts::{AccountError, REGISTERED, Role, Roles};
use crate::clients::desk::Desk;
use crate::network::Network;
use crate::secrets::Protocol;

/// Accounts that a site makes in a day, whoever asks: whoever has many networks is not many reporters.
const PER_DAY_MAX: u32 = 100;

const DAY_SECS: u64 = 86_400;

/// Who registered today.
pub(super) struct Registrations {
    per_day: u32,
    today: Mutex<Today>,
    one_at_a_time: Mutex<()>,
}

/// Accounts that were made today, in all and by networks.
struct Today {
    day: u64,
    all: u32,
    networks: LruCache<Network, u32>,
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
        let today = Today { day: 0, all: 0, networks: LruCache::new(most) };
        Registrations { per_day, today: Mutex::new(today), one_at_a_time: Mutex::new(()) }
    }

    /// Whether the network may have one more account today, which counts as made.
    pub(super) fn may(&self, network: Network, now_secs: u64) -> bool {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if today.day != now_secs / DAY_SECS {
            (today.day, today.all) = (now_secs / DAY_SECS, 0);
            today.networks.clear();
        }
        let made = today.networks.get_or_insert_mut(network, || 0);
        *made = made.saturating_add(1);
        if *made > self.per_day {
            return false;
        }
        today.all = today.all.saturating_add(1);
        today.all <= PER_DAY_MAX
    }

    /// Makes an account; durable when it returns.
    pub(super) fn register(&self, desk: &Desk, user: &str, password: &[u8]) -> Result<(), Refused> {
        let _alone = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let backend = &desk.backend;
        let name = registered(user);
        let roles = Roles::from_iter([Role::Check, Role::Report, Role::Revoke]);
        backend.accounts.check_free(&name, roles).map_err(|error| refused(&error))?;
        // Whoever had a name may have got a weight, or lost it: nobody inherits that.
        if backend.ledger.reporter(&name).is_some() {
            return Err(Refused::Taken);
        }
        Protocol::Razor.check(&name, password).map_err(|_| Refused::Forbidden)?;
        let reporter = backend.ledger.admit_reporter(&name).map_err(|_| Refused::Internal)?;
        let made = backend.accounts.register(&name, roles, reporter.id, backend.clock.now_secs());
        made.map_err(|error| refused(&error))?;
        if backend.secrets.put(&name, Protocol::Razor, password, &backend.accounts).is_err() {
            // Without a secret it is nobody's: whoever asks again finds the name taken, and takes another.
            let _ = backend.accounts.remove(&name);
            return Err(Refused::Internal);
        }
        tracing::info!(account = name, "a client registered");
        Ok(())
    }
}

/// The account that the operator may have given a user of Razor: users are often addresses of mail, which are no names
/// of accounts.
pub(super) fn account_of(user: &[u8]) -> String {
    String::from_utf8_lossy(user).to_ascii_lowercase().replace('@', ".at.").replace('+', ".plus.")
}

/// The account that a user has who registered.
pub(super) fn registered(name: &str) -> String {
    format!("{REGISTERED}{name}")
}

fn refused(error: &AccountError) -> Refused {
    match error {
        AccountError::Exists(_) => Refused::Taken,
        AccountError::Name(_) | AccountError::TooMany => Refused::Forbidden,
        _ => Refused::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_gets_a_few_accounts_a_day() {
        let registrations = Registrations::new(2, 16);
        let one = Network::of([192, 0, 2, 1].into());
        let may = |secs| registrations.may(one, secs);
        assert_eq!([may(0), may(5), may(DAY_SECS - 1), may(DAY_SECS)], [true, true, false, true]);
        assert!(registrations.may(Network::of([192, 0, 3, 1].into()), 0), "another network");
        assert!(!Registrations::new(0, 16).may(one, 0));
        let many = Registrations::new(2, 1000);
        let made = (0..200_u8).filter(|number| many.may(Network::of([192, 0, *number, 1].into()), 0)).count();
        assert_eq!(made, PER_DAY_MAX as usize, "whoever has many networks");
    }

    #[test]
    fn users_are_accounts_by_their_addresses() {
        assert_eq!(account_of(b"Alice+lists@example.com"), "alice.plus.lists.at.example.com");
    }
}
