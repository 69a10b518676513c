//! Who asks, and how to answer: at once, or when something is durable.

use std::net::IpAddr;
use std::sync::Arc;

use seenit_wire::dcc::{Header, Password, Reply, Request, Sender, ServerId};

use super::answered::{Answered, Earlier, Which};
use crate::audit::Origin;
use crate::clients::desk::Desk;
use crate::clients::udp::WayBack;
use crate::metrics::FrontEnd;
use crate::secrets::{DCC_NAME, Protocol};
use crate::who::Who;

/// Whoever asks, and the password that proved it.
pub(super) struct Signer {
    pub(super) who: Who,
    pub(super) password: Option<Password>,
}

impl Signer {
    /// Whoever signed the request: the client with number 32768 is the account `dcc-32768`, by its secret for `dcc`.
    /// A request with a bad signature is treated as anonymous, as DCC's own server does. None where the network sends
    /// too many of those.
    pub(super) fn of(request: &Request<'_>, from: IpAddr, desk: &Desk) -> Option<Self> {
        let anybody = Signer { who: Who::at(from), password: None };
        let number = match request.header.sender {
            Sender::Anonymous => return Some(anybody),
            Sender::Server(number) => number.into(),
            Sender::Client(number) => number,
        };
        if let Some(signed) = Signer::signed(request, number, desk) {
            return Some(signed);
        }
        if !desk.may_fail(from) {
            return None;
        }
        let origin = Origin::at(FrontEnd::Dcc, from);
        desk.refused(origin, &format!("{DCC_NAME}{number}"), "bad-signature");
        Some(anybody)
    }

    fn signed(request: &Request<'_>, number: u32, desk: &Desk) -> Option<Self> {
        let (account, secret) = desk.account(&format!("{DCC_NAME}{number}"), Protocol::Dcc).ok()??;
        let password = Password::new(std::str::from_utf8(&secret).ok()?).ok()?;
        let is_signed = request.is_signed_by(&password);
        is_signed.then(|| Signer { who: Who::Account(account), password: Some(password) })
    }

    /// Somebody whose recipients are kept apart.
    pub(super) fn is_stranger(&self, desk: &Desk) -> bool {
        desk.is_stranger(&self.who)
    }
}

/// An answer that must wait until something is durable.
pub(super) struct Later {
    pub(super) server: ServerId,
    pub(super) header: Header,
    pub(super) password: Option<Password>,
    pub(super) way_back: WayBack,
    pub(super) answered: Arc<Answered>,
    pub(super) which: Which,
}

impl Later {
    /// Sends the answer, and keeps how it went for retransmissions.
    pub(super) fn send(&self, how: Result<Earlier, ()>, write: impl FnOnce(&Reply<'_>, &mut Vec<u8>)) {
        match how {
            Ok(how) => self.answered.end(self.which, how),
            Err(()) => self.answered.fail(self.which),
        }
        let mut out = Vec::new();
        let password = self.password.as_ref();
        write(&Reply { server: self.server, to: &self.header, password }, &mut out);
        self.way_back.send(&out);
    }
}
