//! Who asks, and whether they may.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, StatusCode};
use seenit_ledger::reporter::ReporterId;

use super::held::Holder;
use super::problem::Problem;
use super::route::{Need, Route};
use super::state::{Peer, State};
use crate::accounts::{Account, Role};
use crate::audit::Origin;
use crate::limits::{Budget, Spending};
use crate::listen::{Guest, Seat};
use crate::metrics::FrontEnd;
use crate::network::Network;

use super::forwarded;

/// Whoever asks.
pub(crate) struct Caller {
    account: Option<Arc<Account>>,
    /// Without an account and beyond this machine, or with an account that a client registered for itself.
    is_stranger: bool,
    /// A process of this machine, as far as we can tell.
    is_local: bool,
    address: IpAddr,
    network: Option<Arc<Budget>>,
    seat: Arc<Seat>,
}

impl Caller {
    /// Finds out who asks. A token that nobody holds is refused, even where none is needed.
    ///
    /// A token is looked up however many wrong ones came from the same network: that costs one hash, less than reading
    /// the request did, and nobody guesses 256 random bits. Else whoever shares the network would lock out its
    /// accounts.
    pub(crate) fn identify(state: &State, peer: &Peer, headers: &HeaderMap) -> Result<Self, Problem> {
        let client = forwarded::client(state, peer, headers)?;
        let address: IpAddr = client.unwrap_or(peer.address);
        let network = if client.is_some() { state.budget(address) } else { peer.budget.clone() };
        // What comes through a proxy may come from anywhere, whatever the proxy says or leaves out.
        let is_local = peer.address.is_loopback() && !state.is_trusted_proxy(peer.address);
        let seat = Arc::clone(&peer.seat);
        let mut caller = Caller { account: None, is_stranger: !is_local, is_local, address, network, seat };
        if let Some(token) = bearer(headers)? {
            let Some(holder) = state.accounts.holder(token) else {
                caller.spend(Spending::Failures, 1)?;
                return Err(unauthorized("unknown-token", "nobody holds this token"));
            };
            caller.is_stranger = state.ledger.is_stranger(holder.reporter);
            if !caller.is_stranger {
                caller.seat.guest.is_known();
            }
            caller.account = Some(holder);
        }
        Ok(caller)
    }

    /// Refuses what this caller may not do.
    pub(crate) fn check(&self, state: &State, route: Route<'_>) -> Result<(), Problem> {
        let role = match route.need() {
            Need::Nothing => return Ok(()),
            Need::LocalOrAdmin if self.is_local && self.account.is_none() => return Ok(()),
            Need::LocalOrAdmin => Role::Admin,
            Need::Role(role) => role,
        };
        let Some(account) = &self.account else {
            return self.check_anonymous(state, route, role);
        };
        if account.roles.allow(role) { Ok(()) } else { Err(forbidden(&account.name, role)) }
    }

    /// Refuses what takes a role that this caller has not.
    pub(crate) fn check_role(&self, role: Role) -> Result<(), Problem> {
        let has_it = self.account.as_ref().is_some_and(|account| account.roles.allow(role));
        if has_it { Ok(()) } else { Err(forbidden(self.name(), role)) }
    }

    fn check_anonymous(&self, state: &State, route: Route<'_>, role: Role) -> Result<(), Problem> {
        let is_open = match (self.is_local, role) {
            (true, Role::Check) => return Ok(()),
            (true, _) => false,
            (false, _) => {
                state.live().config.http.anonymous_beyond_loopback
                    && matches!(route, Route::Check | Route::See)
            }
        };
        if is_open {
            return Ok(());
        }
        self.spend(Spending::Failures, 1)?;
        Err(unauthorized("no-token", "this takes a token: Authorization: Bearer TOKEN"))
    }

    /// The network of a stranger: what it sees is kept apart.
    pub(crate) fn stranger(&self) -> Option<Network> {
        self.is_stranger.then(|| Network::of(self.address))
    }

    /// Spends from the account's own budget alone, where it is no stranger's: whatever others of its network do, it has
    /// as much. Anybody can be in a network, and register an account: those spend from the network's budget, and an
    /// account that registered itself from its own as well. The operator has no limits.
    pub(crate) fn spend(&self, what: Spending, number: usize) -> Result<(), Problem> {
        if self.account.as_ref().is_some_and(|account| account.is_operator()) {
            return Ok(());
        }
        if let Some(network) = self.network.as_ref().filter(|_| self.is_stranger) {
            network.spend(what, number)?;
        }
        if let Some(account) = &self.account {
            account.budget.spend(what, number)?;
        }
        Ok(())
    }

    /// Whose turn it is when its work waits: the account's, else the network's, else this machine's.
    pub(crate) fn budget<'a>(&'a self, state: &'a State) -> &'a Budget {
        let account = self.account.as_ref().map(|account| &account.budget);
        account.or(self.network.as_deref()).unwrap_or(&state.local)
    }

    /// Whose memory its bodies and answers take. Accounts that clients registered for themselves have none of their
    /// own.
    pub(crate) fn holder(&self) -> Holder {
        match &self.account {
            Some(account) if !self.is_stranger => Holder::Account(account.reporter),
            _ if self.network.is_some() => Holder::Network(Network::of(self.address)),
            _ => Holder::Local,
        }
    }

    /// Its place among the connections.
    pub(crate) fn guest(&self) -> &Arc<Guest> {
        &self.seat.guest
    }

    /// Whose word it is. Writes take a role, and only accounts have roles.
    pub(crate) fn reporter(&self) -> Result<ReporterId, Problem> {
        let account = self.account.as_ref();
        account.map(|account| account.reporter).ok_or_else(|| unauthorized("no-token", "this takes a token"))
    }

    /// From where it asks, for the log.
    pub(crate) fn origin(&self) -> Origin {
        Origin { front_end: FrontEnd::Http, address: self.address, uid: None }
    }

    /// Its name, for the log.
    pub(crate) fn name(&self) -> &str {
        self.account.as_ref().map_or("anonymous", |account| &account.name)
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let malformed = || unauthorized("unknown-token", "Authorization is not `Bearer TOKEN`");
    if values.next().is_some() {
        return Err(malformed());
    }
    let (scheme, token) = value.as_bytes().split_at_checked(7).ok_or_else(malformed)?;
    if scheme.eq_ignore_ascii_case(b"bearer ") { Ok(Some(token.trim_ascii())) } else { Err(malformed()) }
}

fn unauthorized(code: &'static str, why: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, code, why)
}

fn forbidden(name: &str, role: Role) -> Problem {
    let why = format!("the account {name} has not the role {}", role.as_str());
    Problem::new(StatusCode::FORBIDDEN, "role-missing", why)
}
