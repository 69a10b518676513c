//! What every protocol asks: who somebody is, what is known, and to have something remembered.

use std::net::IpAddr;
use std::sync::Arc;

use seenit_ledger::error::WriteError;
use seenit_ledger::record::Verb;
use seenit_ledger::reporter::{LOCAL, OPERATOR, ReporterId};
use seenit_ledger::signature::{Case, HEAD_BYTES, SignatureRef};
use seenit_ledger::trust::TRUSTED_MIN;
use seenit_ledger::verdict::Answer;
use seenit_ledger::{Receipt, Sightings, Write};
use seenit_signature::Kind;

use crate::accounts::{Account, Role};
use crate::audit::{Origin, Written};
use crate::http::State;
use crate::limits::{Spending, cost_of};
use crate::metrics::FrontEnd;
use crate::network::{Network, plain};
use crate::owner::{Owners, Uid};
use crate::secrets::{Protocol, Secret, SecretError};

/// The longest digest that a client sends: rspamd's shingles.
const DIGEST_BYTES_MAX: usize = 256;

/// Where the clients' requests are taken to.
pub(crate) struct Desk {
    pub(crate) state: Arc<State>,
    pub(crate) owners: Owners,
}

/// An account, and what whoever claims to be it must prove to know.
pub(crate) type Known = (Arc<Account>, Secret);

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

    /// Whether it may say something that takes a role. As whom it speaks, [`Desk::speaker`] finds out.
    pub(crate) fn may_say(&self, role: Role) -> bool {
        match self {
            Who::Local => true,
            Who::Stranger => false,
            Who::Account(account) => account.roles.allow(role),
        }
    }

    /// A name for the log.
    pub(crate) fn name(&self) -> &str {
        match self {
            Who::Local => "local",
            Who::Stranger => "anonymous",
            Who::Account(account) => &account.name,
        }
    }
}

/// Somebody whose opinion is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub(crate) reporter: ReporterId,
    /// The user of this machine, where it spoke without an account and the kernel knows.
    pub(crate) uid: Option<Uid>,
}

/// By which protocol and from which address something is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) front_end: FrontEnd,
    pub(crate) address: IpAddr,
}

impl Place {
    fn origin(self, uid: Option<Uid>) -> Origin {
        Origin { front_end: self.front_end, address: plain(self.address), uid }
    }
}

impl Desk {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Desk { state, owners: Owners::new() }
    }

    /// As whom somebody speaks, where it may say this. Only those of this machine without an account cost a question to
    /// the kernel (`owner`), so checks do not ask for it.
    pub(crate) fn speaker(
        &self,
        who: &Who,
        role: Role,
        owner: impl FnOnce(&Owners) -> Option<Uid>,
    ) -> Option<Speaker> {
        match who {
            Who::Local => Some(self.local_speaker(owner(&self.owners))),
            Who::Stranger => None,
            Who::Account(account) => {
                let reporter = account.reporter;
                account.roles.allow(role).then_some(Speaker { reporter, uid: None })
            }
        }
    }

    /// As whom a user of this machine speaks. One that is not known is anybody.
    pub(crate) fn local_speaker(&self, uid: Option<Uid>) -> Speaker {
        let is_operator = uid.is_some_and(|uid| self.owners.is_operator(uid));
        Speaker { reporter: if is_operator { OPERATOR } else { LOCAL }, uid }
    }

    /// Whether somebody's word may stand without a weight beside it: `local` must be trusted by the operator for that.
    pub(crate) fn is_trusted(&self, speaker: Speaker) -> bool {
        speaker.reporter != LOCAL || self.state.ledger.weight_of(LOCAL) >= TRUSTED_MIN
    }

    /// The account of a name, where it has a secret for the protocol.
    pub(crate) fn account(&self, name: &str, protocol: Protocol) -> Result<Option<Known>, SecretError> {
        let secret = self.state.secrets.get(name, protocol)?;
        Ok(self.state.accounts.get(name).zip(secret))
    }

    /// Spends from the account's own budget alone, where it is no stranger's: anybody can forge an address of its
    /// network. Those without an account spend from the network's budget, and an account that registered itself from
    /// both. The operator has no limits. False when a budget is used up.
    pub(crate) fn may(&self, who: &Who, address: IpAddr, what: Spending, number: usize) -> bool {
        let account = match who {
            Who::Account(account) if account.is_operator() => return true,
            Who::Account(account) => Some(account),
            Who::Local | Who::Stranger => None,
        };
        let network = if self.is_stranger(who) { self.state.budget(plain(address)) } else { None };
        network.is_none_or(|network| network.spend(what, number).is_ok())
            && account.is_none_or(|account| account.budget.spend(what, number).is_ok())
    }

    /// Counts a request that proves nothing, which anybody can forge. False when its network sent too many of them.
    ///
    /// Asked only once a proof has failed. A signature is looked at however many wrong ones came before: that takes
    /// microseconds, about as much as receiving the datagram did, and whoever floods would else lock out the accounts
    /// of the network whose address it forges. A secret that people chose can be guessed at that speed: `account
    /// secret` makes random ones.
    pub(crate) fn may_fail(&self, address: IpAddr) -> bool {
        let network = self.state.budget(plain(address));
        network.is_none_or(|network| network.spend(Spending::Failures, 1).is_ok())
    }

    /// What is known of one signature. A digest of another length than its kind's is known to nobody.
    pub(crate) fn look_up(&self, kind: Kind, digest: &[u8]) -> Answer {
        let mut answer = [Answer::default()];
        with_signature(kind, digest, |signature| self.state.ledger.check_many(&[signature], &mut answer));
        answer[0]
    }

    /// How often one signature was seen.
    pub(crate) fn sightings(&self, kind: Kind, digest: &[u8]) -> Sightings {
        with_signature(kind, digest, |signature| self.state.ledger.sightings(signature)).unwrap_or_default()
    }

    /// Counts that so many got a message with one signature, and says how many did by now. What finds no room in the
    /// counts is answered with the count of before.
    pub(crate) fn see(&self, kind: Kind, digest: &[u8], recipients: u64) -> Result<u64, WriteError> {
        let ledger = &self.state.ledger;
        let see = |signature: SignatureRef<'_>| match ledger.see_one(signature, recipients) {
            Err(WriteError::SeenFull { .. }) => Ok(ledger.sightings(signature).recipients),
            counted => counted,
        };
        with_signature(kind, digest, see).unwrap_or(Ok(0))
    }

    /// Somebody without an account says that they got a message with one signature. Anybody can forge an address, so
    /// it counts nobody.
    pub(crate) fn see_by_stranger(&self, kind: Kind, digest: &[u8], address: IpAddr) {
        with_signature(kind, digest, |signature| {
            self.state.ledger.see_by_stranger(std::iter::once(signature), Network::of(address).into());
        });
    }

    /// Whether what somebody sees is kept apart: those beyond this machine without an account, and accounts that
    /// clients registered for themselves, which anybody can.
    pub(crate) fn is_stranger(&self, who: &Who) -> bool {
        match who {
            Who::Local => false,
            Who::Stranger => true,
            Who::Account(account) => self.state.ledger.is_stranger(account.reporter),
        }
    }

    /// Counts one recipient for a check whose protocol says that a message arrived. Where writes are refused, or this
    /// network or account counts too much, nothing is counted: the check is answered all the same.
    pub(crate) fn see_checked(&self, kind: Kind, digest: &[u8], who: &Who, address: IpAddr) {
        let is_counted = self.state.config.clients.see && kind.is_exact();
        if !is_counted || !self.may(who, address, Spending::Writes, 1) {
            return;
        }
        if self.is_stranger(who) {
            self.see_by_stranger(kind, digest, address);
        } else if self.see(kind, digest, 1).is_ok() {
            self.state.metrics.seen.inc();
        }
    }

    /// Has something remembered; `done` hears of it when it is durable, or refused.
    pub(crate) fn say(
        &self,
        verb: Verb,
        speaker: Speaker,
        place: Place,
        cases: Vec<Case>,
        done: impl FnOnce(Result<Receipt, WriteError>) + Send + 'static,
    ) {
        let (state, number) = (&self.state, cases.len() as u64);
        let (Speaker { reporter, uid }, counter) = (speaker, state.metrics.written.clone());
        // Users of this machine write as much as one network does: the journal keeps repeats, too.
        if reporter == LOCAL && state.local.spend(Spending::Writes, cost_of(&cases)).is_err() {
            return done(Err(WriteError::Busy { waiting: cases.len() }));
        }
        let account = state.ledger.name_of(reporter).unwrap_or_default();
        let written = Written { account, origin: place.origin(uid), verb, cases: cases.clone() };
        let pending = state.audit.begun(&state.ledger, written);
        state.ledger.write(Write { verb, reporter, cases }, move |result| {
            if result.is_ok() {
                counter.inc_by(number);
            }
            pending.ended(&result);
            done(result);
        });
    }

    /// Tells the log of somebody who is not who they say, or may not do what they ask for.
    pub(crate) fn refused(&self, place: Place, name: &str, why: &'static str) {
        self.state.audit.refused(place.origin(None), name, why);
    }
}

/// Asks something of one signature, without an allocation; not where the digest has another length than its kind's.
fn with_signature<T>(kind: Kind, digest: &[u8], ask: impl FnOnce(SignatureRef<'_>) -> T) -> Option<T> {
    let mut bytes = [0; HEAD_BYTES + DIGEST_BYTES_MAX];
    bytes.get_mut(HEAD_BYTES..HEAD_BYTES + digest.len())?.copy_from_slice(digest);
    let [low, high] = (digest.len() as u16).to_le_bytes();
    bytes[..HEAD_BYTES].copy_from_slice(&[kind.code(), low, high]);
    SignatureRef::split(&bytes).ok().map(|(signature, _)| ask(signature))
}

/// A case of one signature; none where the digest has another length than its kind's.
pub(crate) fn case_of(kind: Kind, digest: &[u8]) -> Option<Case> {
    let mut case = Case::new();
    case.push(kind, digest).ok()?;
    Some(case)
}
