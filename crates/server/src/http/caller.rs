//! Who asks, and whether they may.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, StatusCode};
use seenit_ledger::reporter::ReporterId;

use super::connection::Connection;
use super::problem::Problem;
use super::route::{Need, Route};
use crate::accounts::Role;
use crate::audit::Origin;
use crate::backend::Backend;
use crate::connections::{Guest, Seat};
use crate::limits::{Budget, Spending};
use crate::memory::Holder;
use crate::metrics::FrontEnd;
use crate::network::Network;
use crate::who::Who;

use super::forwarded;

/// Whoever asks, and the connection it asks over.
pub(crate) struct Caller {
    who: Who,
    /// As it was when the request came.
    is_stranger: bool,
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
    pub(crate) fn identify(
        backend: &Backend,
        connection: &Connection,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let client = forwarded::client(backend, connection, headers)?;
        let address: IpAddr = client.unwrap_or(connection.address);
        let network = if client.is_some() { backend.budget(address) } else { connection.budget.clone() };
        // What comes through a proxy may come from anywhere, whatever the proxy says or leaves out.
        let is_local = connection.address.is_loopback() && !backend.is_trusted_proxy(connection.address);
        let who = if is_local { Who::Local } else { Who::Stranger };
        let seat = Arc::clone(&connection.seat);
        let mut caller = Caller { who, is_stranger: !is_local, address, network, seat };
        if let Some(token) = bearer(headers)? {
            let Some(holder) = backend.accounts.holder(token) else {
                caller.spend(Spending::Failures, 1)?;
                return Err(unauthorized(
                    "unknown-token",
                    "no account has this token; `seenit account token` makes a new one",
                ));
            };
            caller.who = Who::Account(holder);
            caller.is_stranger = caller.who.is_stranger(&backend.ledger);
            if !caller.is_stranger {
                caller.seat.guest.is_known();
            }
        }
        Ok(caller)
    }

    /// Refuses what this caller may not do.
    pub(crate) fn check(&self, backend: &Backend, route: Route<'_>) -> Result<(), Problem> {
        let role = match route.need() {
            Need::Nothing => return Ok(()),
            Need::LocalOrAdmin if matches!(self.who, Who::Local) => return Ok(()),
            Need::LocalOrAdmin => Role::Admin,
            Need::Role(role) => role,
        };
        let Some(account) = self.who.account() else {
            return self.check_anonymous(backend, route, role);
        };
        if account.roles.allow(role) { Ok(()) } else { Err(forbidden(&account.name, role)) }
    }

    /// Refuses what takes a role that this caller has not.
    pub(crate) fn check_role(&self, role: Role) -> Result<(), Problem> {
        if self.who.has(role) { Ok(()) } else { Err(forbidden(self.name(), role)) }
    }

    fn check_anonymous(&self, backend: &Backend, route: Route<'_>, role: Role) -> Result<(), Problem> {
        let is_open = match (&self.who, role) {
            (Who::Local, Role::Check) => return Ok(()),
            (Who::Local, _) => false,
            _ => {
                backend.live().config.http.anonymous_beyond_loopback
                    && matches!(route, Route::Check | Route::See)
            }
        };
        if is_open {
            return Ok(());
        }
        self.spend(Spending::Failures, 1)?;
        Err(unauthorized(
            "no-token",
            "this request needs a token: send the header Authorization: Bearer TOKEN",
        ))
    }

    /// The network of a stranger: what it sees is kept apart.
    pub(crate) fn stranger(&self) -> Option<Network> {
        self.is_stranger.then(|| Network::of(self.address))
    }

    /// Spends what a request takes, or says which limit is used up.
    pub(crate) fn spend(&self, what: Spending, number: usize) -> Result<(), Problem> {
        let network = self.network.as_deref().filter(|_| self.is_stranger);
        Ok(self.who.spend(network, what, number)?)
    }

    /// Whose turn it is when its work waits: the account's, else the network's, else this machine's.
    pub(crate) fn budget<'a>(&'a self, backend: &'a Backend) -> &'a Budget {
        let account = self.who.account().map(|account| &account.budget);
        account.or(self.network.as_deref()).unwrap_or(&backend.local)
    }

    /// Whose memory its bodies and answers take. Accounts that clients registered for themselves have none of their
    /// own.
    pub(crate) fn holder(&self) -> Holder {
        match self.who.account() {
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
        self.who
            .account()
            .map(|account| account.reporter)
            .ok_or_else(|| unauthorized("no-token", "this takes a token"))
    }

    /// From where it asks, for the log.
    pub(crate) fn origin(&self) -> Origin {
        Origin::at(FrontEnd::Http, self.address)
    }

    /// Its name, for the log.
    pub(crate) fn name(&self) -> &str {
        self.who.account().map_or("anonymous", |account| &account.name)
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
    let why = format!(
        "the account {name} does not have the role {}; the operator can add an account that has",
        role.as_str()
    );
    Problem::new(StatusCode::FORBIDDEN, "role-missing", why)
}
