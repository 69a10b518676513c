//! Who is asking, by whichever protocol, and whose budget that takes.

use std::net::IpAddr;
use std::sync::Arc;

use seenit_ledger::ledger::Ledger;

use crate::accounts::{Account, Role};
use crate::limits::{Budget, Spending, UsedUp};
use crate::network::plain;

/// Whoever sent a request.
#[derive(Clone)]
pub(crate) enum Who {
    /// Somebody of this machine without an account: the operator or the built-in `local`, by their user.
    Local,
    /// Somebody beyond it without an account: may check, and what it sees is kept apart.
    Stranger,
    /// An account, by a proof of its secret.
    Account(Arc<Account>),
}

impl Who {
    /// Whoever is at an address and shows nothing.
    pub(crate) fn at(address: IpAddr) -> Self {
        if plain(address).is_loopback() { Who::Local } else { Who::Stranger }
    }

    pub(crate) fn account(&self) -> Option<&Arc<Account>> {
        match self {
            Who::Account(account) => Some(account),
            Who::Local | Who::Stranger => None,
        }
    }

    /// Whether what it sees is kept apart: those beyond this machine without an account, and accounts that clients
    /// registered for themselves, which anybody can.
    pub(crate) fn is_stranger(&self, ledger: &Ledger) -> bool {
        match self {
            Who::Local => false,
            Who::Stranger => true,
            Who::Account(account) => ledger.is_stranger(account.reporter),
        }
    }

    /// Whether it is an account with this role.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.account().is_some_and(|account| account.roles.allow(role))
    }

    /// Whether its opinion is taken that needs a role. Users of this machine have one, as `local` if nobody else.
    pub(crate) fn may_say(&self, role: Role) -> bool {
        matches!(self, Who::Local) || self.has(role)
    }

    /// A name for the log.
    pub(crate) fn name(&self) -> &str {
        match self {
            Who::Local => "local",
            Who::Stranger => "anonymous",
            Who::Account(account) => &account.name,
        }
    }

    /// Spends from the account's own budget alone, where it is no stranger's: whatever others of its client network do
    /// or forge, it has as much. Strangers spend from the budget of their client network, which is given for them only;
    /// an account that registered itself spends from both. The operator has no limits.
    pub(crate) fn spend(
        &self,
        strangers_network: Option<&Budget>,
        what: Spending,
        number: usize,
    ) -> Result<(), UsedUp> {
        if self.account().is_some_and(|account| account.is_operator()) {
            return Ok(());
        }
        strangers_network.map_or(Ok(()), |network| network.spend(what, number))?;
        self.account().map_or(Ok(()), |account| account.budget.spend(what, number))
    }
}
