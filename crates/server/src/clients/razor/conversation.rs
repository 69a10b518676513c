//! What Razor's requests mean: check asks, report reports the whole mail, revoke revokes.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use seenit_wire::razor::{
    Answer, Batch, Command, ErrorCode, Listing, Malformed, Query, Request, Servers, Signature, State,
    Subject, Upload, proves, write_batch, write_greeting, write_line, write_servers, write_state,
};
use tokio::sync::oneshot;

use super::registration::{Refused, Registrations, account_of};
use super::upload;
use crate::accounts::{Account, Role};
use crate::clients::desk::{Desk, Who};
use crate::http::blocking;
use crate::limits::Spending;
use crate::network::{Network, plain};
use crate::secrets::Protocol;

/// The confidence from which clients call something spam. We say 100 or nothing.
const AVERAGE_CONFIDENCE: u8 = 50;

/// The revision of what `state` says: clients ask again when it has grown.
const REVISION: u32 = 1;

/// Random bytes of a challenge and of a password.
const RANDOM_BYTES: usize = 16;

/// What becomes of a request.
pub(super) enum Said {
    /// The answer is written.
    Answer,
    /// It gets none.
    Nothing,
    /// The client is gone.
    Farewell,
}

/// One client's connection.
pub(super) struct Conversation {
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
    address: IpAddr,
    local: SocketAddr,
    ep4: String,
    /// Who has proved to be somebody.
    who: Option<Who>,
    /// Who claims to be somebody, and what it must answer to.
    claim: Option<(String, String)>,
}

impl Conversation {
    pub(super) fn new(
        desk: Arc<Desk>,
        registrations: Arc<Registrations>,
        address: IpAddr,
        local: SocketAddr,
    ) -> Self {
        let ep4 = Ep4::default().to_string();
        Conversation { desk, registrations, address, local, ep4, who: None, claim: None }
    }

    /// Whether mails are read: from those who may report.
    pub(super) fn takes_messages(&self) -> bool {
        self.reporter(Role::Report).is_some()
    }

    pub(super) fn greet(&self, out: &mut Vec<u8>) -> io::Result<()> {
        write_greeting(&self.state(), out).map_err(io::Error::other)
    }

    /// Answers a request: with one line, or with as many as it has queries.
    pub(super) async fn answer(&mut self, request: Request<'_>, out: &mut Vec<u8>) -> io::Result<Said> {
        match request {
            Request::Query(Ok(Command::Client)) => return Ok(Said::Nothing),
            Request::Query(Ok(Command::Quit)) => return Ok(Said::Farewell),
            Request::Query(Ok(Command::Get(subject))) => self.describe(subject, out)?,
            Request::Query(Ok(Command::Identify { user })) => self.identify(&user, out)?,
            Request::Query(Ok(Command::Register { user, password })) => {
                self.register(user.as_deref(), password.as_deref(), out).await?;
            }
            Request::Query(Ok(Command::Revoke(query))) => {
                let answer = self.revoke(&[query]).await;
                write_line(&answer, out).map_err(io::Error::other)?;
            }
            Request::Query(query) => {
                let answer = self.answer_one(query);
                write_line(&answer, out).map_err(io::Error::other)?;
            }
            Request::Batch(batch) => self.answer_batch(batch, out).await?,
            Request::Upload(upload) => {
                let answer = self.report(&upload).await;
                write_line(&answer, out).map_err(io::Error::other)?;
            }
        }
        Ok(Said::Answer)
    }

    fn state(&self) -> State<'_> {
        State { average_confidence: AVERAGE_CONFIDENCE, ep4: &self.ep4, revision: REVISION }
    }

    fn describe(&self, subject: Subject, out: &mut Vec<u8>) -> io::Result<()> {
        let written = match subject {
            Subject::State => write_state(&self.state(), out),
            // Two spellings: a client that knows one server alone asks for others whenever it is run.
            Subject::Servers(kind @ (Servers::Catalogue | Servers::Nomination)) => {
                let (ip, port) = (self.local.ip().to_canonical(), self.local.port());
                write_servers(kind, &[&format!("{ip}:{port}"), &format!("{ip}:0{port}")], out)
            }
        };
        written.map_err(io::Error::other)
    }

    /// A query that is answered at once.
    fn answer_one(&mut self, query: Result<Command<'_>, Malformed>) -> Answer<'static> {
        match query {
            Ok(Command::Check(query)) => self.check(&query),
            Ok(Command::Report(_)) => self.ask_for_the_mail(),
            Ok(Command::Authenticate { response }) => self.authenticate(&response),
            _ => Answer::Error(ErrorCode::Malformed),
        }
    }

    /// Revocations of one batch are of one mail, or of several: either way of all that they name.
    async fn answer_batch(&mut self, batch: Batch<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let revoked: Vec<Query<'_>> = batch
            .queries()
            .filter_map(|query| match query {
                Ok(Command::Revoke(query)) => Some(query),
                _ => None,
            })
            .collect();
        let revocation = if revoked.is_empty() { None } else { Some(self.revoke(&revoked).await) };
        let mut answers = Vec::with_capacity(batch.len());
        for query in batch.queries() {
            answers.push(match (query, &revocation) {
                (Ok(Command::Revoke(_)), Some(answer)) => *answer,
                (query, _) => self.answer_one(query),
            });
        }
        write_batch(answers, out).map_err(io::Error::other)
    }

    fn check(&self, query: &Query<'_>) -> Answer<'static> {
        let who = self.who.clone().unwrap_or_else(|| Who::at(self.address));
        if !self.desk.may(&who, self.address, Spending::Checks, 1) {
            return Answer::Error(ErrorCode::TooMany);
        }
        let (kind, digest) = named(&query.signature);
        match self.desk.look_up(kind, digest).verdict {
            Verdict::Spam => Answer::Listed(Listing { confidence: 100, contested: false }),
            _ => Answer::Unlisted,
        }
    }

    /// Engine 4 alone would be known of a report; from the mail all signatures follow.
    fn ask_for_the_mail(&self) -> Answer<'static> {
        match (&self.who, self.takes_messages()) {
            (None, _) => Answer::Error(ErrorCode::NotAuthenticated),
            (_, false) => Answer::Error(ErrorCode::Forbidden),
            (_, true) => Answer::Error(ErrorCode::SendMail),
        }
    }

    async fn report(&self, upload: &Upload<'_>) -> Answer<'static> {
        let mail = upload::message(upload);
        let signed = blocking::run(&self.desk.state, move |_| Case::of_message(&mail, &Ep4::default())).await;
        match signed {
            Ok(case) if case.is_empty() => Answer::Rejected,
            Ok(case) => self.say(Verb::Report, Role::Report, case).await,
            Err(_) => Answer::Error(ErrorCode::Internal),
        }
    }

    async fn revoke(&self, queries: &[Query<'_>]) -> Answer<'static> {
        let mut case = Case::new();
        for query in queries {
            let (kind, digest) = named(&query.signature);
            // A batch has far fewer queries than a case has room.
            let _ = case.push(kind, digest);
        }
        self.say(Verb::Revoke, Role::Revoke, case).await
    }

    /// Has it remembered, and waits until it is durable.
    async fn say(&self, verb: Verb, role: Role, case: Case) -> Answer<'static> {
        let Some(who) = &self.who else {
            return Answer::Error(ErrorCode::NotAuthenticated);
        };
        let Some(reporter) = who.reporter(role) else {
            return Answer::Error(ErrorCode::Forbidden);
        };
        if !self.desk.may(who, self.address, Spending::Writes, 1) {
            return Answer::Error(ErrorCode::TooMany);
        }
        let (done, durable) = oneshot::channel();
        self.desk.say(verb, reporter, vec![case], move |result| {
            // Whoever asked may have gone: the write stands.
            let _ = done.send(result);
        });
        match durable.await {
            Ok(Ok(_)) => Answer::Accepted,
            Ok(Err(_)) => Answer::Rejected,
            Err(_) => Answer::Error(ErrorCode::Internal),
        }
    }

    fn reporter(&self, role: Role) -> Option<seenit_ledger::reporter::ReporterId> {
        self.who.as_ref().and_then(|who| who.reporter(role))
    }

    /// Hands out a challenge. Beyond this machine only accounts that exist get one.
    fn identify(&mut self, user: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let user = account_of(user);
        let is_known = self.account(&user)?.is_some();
        if !self.desk.may(&Who::at(self.address), self.address, Spending::Writes, 1) {
            return write_line(&Answer::Error(ErrorCode::TooMany), out).map_err(io::Error::other);
        }
        if !is_known && !self.is_at_home() {
            return write_line(&Answer::Error(ErrorCode::UnknownUser), out).map_err(io::Error::other);
        }
        let challenge = random_text()?;
        write_line(&Answer::Challenge(&challenge), out).map_err(io::Error::other)?;
        self.claim = Some((user, challenge));
        Ok(())
    }

    /// Whoever answers to the challenge of an account is that account. On this machine any other name will do: it is
    /// the built-in `local` whoever asks.
    fn authenticate(&mut self, response: &[u8]) -> Answer<'static> {
        let Some((user, challenge)) = self.claim.take() else {
            return Answer::Error(ErrorCode::NotAuthenticated);
        };
        let Ok(known) = self.account(&user) else {
            return Answer::Error(ErrorCode::Internal);
        };
        self.who = match known {
            Some((account, secret)) if proves(response, &secret, challenge.as_bytes()) => {
                Some(Who::Account(account))
            }
            None if self.is_at_home() => Some(Who::Local),
            _ => None,
        };
        if self.who.is_some() { Answer::Accepted } else { Answer::Error(ErrorCode::NotAuthenticated) }
    }

    /// On this machine everybody gets what they ask for: it is `local` under any name. Beyond it a network gets a few
    /// accounts a day, whose word weighs nothing yet.
    async fn register(
        &self,
        user: Option<&[u8]>,
        password: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let (made_user, made_password) = (format!("razor-{}", random_text()?), random_text()?);
        let user = user.unwrap_or(made_user.as_bytes());
        let password = password.unwrap_or(made_password.as_bytes());
        let (name, secret) = (account_of(user), password.to_vec());
        let registered = if self.is_at_home() {
            if self.account(&name)?.is_some() { Err(Refused::Taken) } else { Ok(()) }
        } else if !self.registrations.may(Network::of(self.address), self.desk.state.clock.now_secs()) {
            Err(Refused::Forbidden)
        } else {
            let (desk, registrations) = (Arc::clone(&self.desk), Arc::clone(&self.registrations));
            let make = move |_: &_| registrations.register(&desk, &name, &secret);
            let made = blocking::run(&self.desk.state, make).await;
            made.unwrap_or(Err(Refused::Internal))
        };
        let answer = match registered {
            Ok(()) => Answer::Registered { user, password },
            Err(Refused::Taken) => Answer::Error(ErrorCode::UserExists),
            Err(Refused::Forbidden) => Answer::Error(ErrorCode::Forbidden),
            Err(Refused::Internal) => Answer::Error(ErrorCode::Internal),
        };
        // What the client would not read to its end is no name or password.
        write_line(&answer, out)
            .or_else(|_| write_line(&Answer::Error(ErrorCode::Malformed), out))
            .map_err(io::Error::other)
    }

    fn account(&self, name: &str) -> io::Result<Option<(Arc<Account>, Vec<u8>)>> {
        self.desk.account(name, Protocol::Razor).map_err(io::Error::other)
    }

    fn is_at_home(&self) -> bool {
        plain(self.address).is_loopback()
    }
}

fn named(signature: &Signature) -> (Kind, &[u8]) {
    match signature {
        Signature::E4(e4) => (Kind::RazorE4, &e4.0),
        Signature::E8(e8) => (Kind::RazorE8, &e8.0),
    }
}

/// Letters and digits that nobody can guess.
fn random_text() -> io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(const_hex::encode(bytes))
}
