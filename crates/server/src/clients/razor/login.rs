//! Who is at the other end of a connection, and how it comes to be somebody.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use seenit_wire::razor::{ErrorCode, RazorAnswer, proves, write_line};

use super::registration::{Refused, Registrations, account_of, registered};
use crate::accounts::{Account, Role};
use crate::audit::Origin;
use crate::backend::blocking;
use crate::clients::desk::{Desk, Known, Speaker};
use crate::metrics::FrontEnd;
use crate::network::{Network, plain};
use crate::owner::Uid;
use crate::secrets::Protocol;
use crate::token::TokenHash;
use crate::who::Who;

/// Random bytes of a challenge and of a password.
const RANDOM_BYTES: usize = 16;

/// Whoever is at the other end.
pub(super) struct RazorLogin {
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
    pub(super) address: IpAddr,
    ends: Ends,
    proved: Option<Proved>,
    /// Who claims to be somebody, and what it must answer to.
    claim: Option<(String, String)>,
}

/// Both ends of the connection.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) peer: SocketAddr,
    pub(super) own: SocketAddr,
}

/// Who has proved to be somebody.
enum Proved {
    /// Somebody of this machine: this user, where the kernel knows.
    Local(Option<Uid>),
    /// An account, by a secret of which this is the hash.
    Account(Arc<Account>, TokenHash),
}

impl RazorLogin {
    pub(super) fn new(desk: Arc<Desk>, registrations: Arc<Registrations>, ends: Ends) -> Self {
        let address = plain(ends.peer.ip());
        RazorLogin { desk, registrations, address, ends, proved: None, claim: None }
    }

    /// Who it has proved to be. An account is asked for anew, because a connection may last longer than its secret.
    pub(super) fn who(&self) -> Option<Who> {
        match self.proved.as_ref()? {
            Proved::Local(_) => Some(Who::Local),
            Proved::Account(account, proof) => {
                let (now, secret) = self.desk.account(&account.name, Protocol::Razor).ok()??;
                (TokenHash::of(&secret) == *proof).then_some(Who::Account(now))
            }
        }
    }

    /// From where it speaks, for the log.
    pub(super) fn origin(&self) -> Origin {
        Origin::at(FrontEnd::Razor, self.address)
    }

    /// As whom it speaks, where it may say this.
    pub(super) fn speaker(&self, role: Role) -> Option<Speaker> {
        let uid = match self.proved.as_ref()? {
            Proved::Local(uid) => *uid,
            Proved::Account(..) => None,
        };
        self.desk.speaker(&self.who()?, role, |_| uid)
    }

    /// Hands out a challenge. Beyond this machine only accounts that exist get one.
    pub(super) fn identify(&mut self, user: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let user = account_of(user);
        let is_known = self.account(&user)?.is_some();
        if !is_known && !self.is_at_home() {
            let answer = self.unproved(&user, "unknown-account", ErrorCode::UnknownUser);
            return write_line(&answer, out).map_err(io::Error::other);
        }
        let challenge = random_text()?;
        write_line(&RazorAnswer::Challenge(&challenge), out).map_err(io::Error::other)?;
        self.claim = Some((user, challenge));
        Ok(())
    }

    /// Whoever answers to the challenge of an account is that account. On this machine any other name will do: it is
    /// the operator or the built-in `local`, by the user that the connection belongs to.
    pub(super) fn authenticate(&mut self, response: &[u8]) -> RazorAnswer<'static> {
        let Some((user, challenge)) = self.claim.take() else {
            return RazorAnswer::Error(ErrorCode::NotAuthenticated);
        };
        let Ok(known) = self.account(&user) else {
            return RazorAnswer::Error(ErrorCode::Internal);
        };
        self.proved = match known {
            Some((account, secret)) if proves(response, &secret, challenge.as_bytes()) => {
                Some(Proved::Account(account, TokenHash::of(&secret)))
            }
            None if self.is_at_home() => {
                // Now, while the client waits for the answer: nobody has a connection that was closed.
                let Ends { peer, own } = self.ends;
                Some(Proved::Local(self.desk.owners.of_connection(peer, own)))
            }
            _ => None,
        };
        if self.proved.is_some() {
            return RazorAnswer::Accepted;
        }
        self.unproved(&user, "bad-signature", ErrorCode::NotAuthenticated)
    }

    /// Refuses whoever is not who they say, and tells the log of it unless it happens too often.
    fn unproved(&self, user: &str, why: &'static str, code: ErrorCode) -> RazorAnswer<'static> {
        if !self.desk.may_fail(self.address) {
            return RazorAnswer::Error(ErrorCode::TooMany);
        }
        self.desk.refused(self.origin(), user, why);
        RazorAnswer::Error(code)
    }

    /// On this machine everybody gets what they ask for: a name means nothing there. Beyond it a network gets a few
    /// accounts a day, whose word weighs nothing yet.
    pub(super) async fn register(
        &self,
        user: Option<&[u8]>,
        password: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let made_user = format!("user-{}", random_text()?);
        let made_password = random_text()?;
        let user = user.unwrap_or(made_user.as_bytes());
        let password = password.unwrap_or(made_password.as_bytes());
        let answer = match self.made(account_of(user), password.to_vec()).await? {
            Ok(()) => RazorAnswer::Registered { user, password },
            Err(Refused::Taken) => RazorAnswer::Error(ErrorCode::UserExists),
            Err(Refused::Forbidden) => RazorAnswer::Error(ErrorCode::Forbidden),
            Err(Refused::Internal) => RazorAnswer::Error(ErrorCode::Internal),
        };
        // What the client would not read to its end is no name or password.
        write_line(&answer, out)
            .or_else(|_| write_line(&RazorAnswer::Error(ErrorCode::Malformed), out))
            .map_err(io::Error::other)
    }

    async fn made(&self, name: String, password: Vec<u8>) -> io::Result<Result<(), Refused>> {
        // First, so that nobody learns by trying which names there are.
        let may = || self.registrations.may(Network::of(self.address), self.desk.backend.clock.now_secs());
        if !self.is_at_home() && !may() {
            return Ok(Err(Refused::Forbidden));
        }
        if self.account(&name)?.is_some() {
            return Ok(Err(Refused::Taken));
        }
        if self.is_at_home() {
            return Ok(Ok(()));
        }
        let desk = Arc::clone(&self.desk);
        let registrations = Arc::clone(&self.registrations);
        let make = move |_: &_| registrations.register(&desk, &name, &password);
        let backend = &self.desk.backend;
        let network = self.desk.backend.budget(self.address);
        let made = blocking::status(backend, network.as_deref().unwrap_or(&backend.local), make).await;
        Ok(made.unwrap_or(Err(Refused::Internal)))
    }

    /// The account of a name: the operator's, or beyond this machine that of somebody who registered. On this machine a
    /// stranger's name keeps nobody from being `local`.
    fn account(&self, name: &str) -> io::Result<Option<Known>> {
        let find = |name: &str| self.desk.account(name, Protocol::Razor).map_err(io::Error::other);
        match find(name)? {
            None if !self.is_at_home() => find(&registered(name)),
            found => Ok(found),
        }
    }

    fn is_at_home(&self) -> bool {
        self.address.is_loopback()
    }
}

/// Letters and digits that nobody can guess.
fn random_text() -> io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(const_hex::encode(bytes))
}
