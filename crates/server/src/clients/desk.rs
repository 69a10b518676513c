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
use crate::backend::Backend;
use crate::limits::{Spending, cost_of};
use crate::network::{Network, plain};
use crate::owner::{Owners, Uid};
use crate::secrets::{Protocol, Secret, SecretError};
use crate::who::Who;

/// The longest digest that a client sends: rspamd's shingles.
const DIGEST_BYTES_MAX: usize = 256;

/// Where the clients' requests are taken to.
pub(crate) struct Desk {
    pub(crate) backend: Arc<Backend>,
    pub(crate) owners: Owners,
}

/// An account, and what whoever claims to be it must prove to know.
pub(crate) type Known = (Arc<Account>, Secret);

/// Somebody whose opinion is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub(crate) reporter: ReporterId,
    /// The user of this machine, where it spoke without an account and the kernel knows.
    pub(crate) uid: Option<Uid>,
}

impl Desk {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Desk { backend, owners: Owners::new() }
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
        speaker.reporter != LOCAL || self.backend.ledger.weight_of(LOCAL) >= TRUSTED_MIN
    }

    /// The account of a name, where it has a secret for the protocol.
    pub(crate) fn account(&self, name: &str, protocol: Protocol) -> Result<Option<Known>, SecretError> {
        let secret = self.backend.secrets.get(name, protocol)?;
        Ok(self.backend.accounts.get(name).zip(secret))
    }

    /// Spends what a request takes. False when a budget is used up.
    pub(crate) fn may(&self, who: &Who, address: IpAddr, what: Spending, number: usize) -> bool {
        let network = if self.is_stranger(who) { self.backend.budget(plain(address)) } else { None };
        who.spend(network.as_deref(), what, number).is_ok()
    }

    /// Counts a request that proves nothing, which anybody can forge. False when its network sent too many of them.
    ///
    /// Asked only once a proof has failed. A signature is looked at however many wrong ones came before: that takes
    /// microseconds, about as much as receiving the datagram did, and whoever floods would else lock out the accounts
    /// of the network whose address it forges. A secret that people chose can be guessed at that speed: `account
    /// secret` makes random ones.
    pub(crate) fn may_fail(&self, address: IpAddr) -> bool {
        let network = self.backend.budget(plain(address));
        network.is_none_or(|network| network.spend(Spending::Failures, 1).is_ok())
    }

    /// What is known of one signature. A digest of another length than its kind's is known to nobody.
    pub(crate) fn look_up(&self, kind: Kind, digest: &[u8]) -> Answer {
        let mut answer = [Answer::default()];
        with_signature(kind, digest, |signature| self.backend.ledger.check_many(&[signature], &mut answer));
        answer[0]
    }

    /// How often one signature was seen.
    pub(crate) fn sightings(&self, kind: Kind, digest: &[u8]) -> Sightings {
        with_signature(kind, digest, |signature| self.backend.ledger.sightings(signature)).unwrap_or_default()
    }

    /// Counts that so many got a message with one signature, and says how many did by now. What finds no room in the
    /// counts is answered with the count of before.
    pub(crate) fn see(&self, kind: Kind, digest: &[u8], recipients: u64) -> Result<u64, WriteError> {
        let ledger = &self.backend.ledger;
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
            self.backend.ledger.see_by_anonymous(std::iter::once(signature), Network::of(address).into());
        });
    }

    /// Whether what somebody sees is kept apart.
    pub(crate) fn is_stranger(&self, who: &Who) -> bool {
        who.is_stranger(&self.backend.ledger)
    }

    /// Counts one recipient for a check whose protocol says that a message arrived. Where writes are refused, or this
    /// network or account counts too much, nothing is counted: the check is answered all the same.
    pub(crate) fn see_checked(&self, kind: Kind, digest: &[u8], who: &Who, address: IpAddr) {
        let is_counted = self.backend.config.clients.see && kind.is_exact();
        if !is_counted || !self.may(who, address, Spending::Writes, 1) {
            return;
        }
        if self.is_stranger(who) {
            self.see_by_stranger(kind, digest, address);
        } else if self.see(kind, digest, 1).is_ok() {
            self.backend.metrics.seen.inc();
        }
    }

    /// Has something remembered; `done` hears of it when it is durable, or refused.
    pub(crate) fn say(
        &self,
        verb: Verb,
        speaker: Speaker,
        origin: Origin,
        cases: Vec<Case>,
        done: impl FnOnce(Result<Receipt, WriteError>) + Send + 'static,
    ) {
        let backend = &self.backend;
        let number = cases.len() as u64;
        let (Speaker { reporter, uid }, counter) = (speaker, backend.metrics.written.clone());
        // Users of this machine write as much as one network does: the journal keeps repeats, too.
        if reporter == LOCAL && backend.local.spend(Spending::Writes, cost_of(&cases)).is_err() {
            return done(Err(WriteError::Busy { waiting: cases.len() }));
        }
        let account = backend.ledger.name_of(reporter).unwrap_or_default();
        let written = Written { account, origin: Origin { uid, ..origin }, verb, cases: cases.clone() };
        let pending = backend.audit.begun(&backend.ledger, written);
        backend.ledger.write(Write { verb, reporter, cases }, move |result| {
            if result.is_ok() {
                counter.inc_by(number);
            }
            pending.ended(&result);
            done(result);
        });
    }

    /// Tells the log of somebody who is not who they say, or may not do what they ask for.
    pub(crate) fn refused(&self, origin: Origin, name: &str, why: &'static str) {
        self.backend.audit.refused(origin, name, why);
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
