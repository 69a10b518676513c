//! What Razor's requests mean: check asks, report reports the whole mail, revoke revokes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::{self, E4, Ep4};
use seenit_wire::razor::{
    Command, ErrorCode, Listing, Malformed, Query, QueryBatch, RazorAnswer, Request, ServerSettings, Servers,
    Signature, Subject, Upload, write_batch, write_greeting, write_line, write_servers, write_state,
};
use tokio::sync::oneshot;

use super::login::RazorLogin;
use super::upload;
use crate::accounts::Role;
use crate::backend::blocking;
use crate::clients::desk::Desk;
use crate::limits::{Spending, cost_of, cost_of_bytes};
use crate::memory::Holder;
use crate::metrics::FrontEnd;
use crate::network::Network;
use crate::who::Who;

/// The confidence from which clients call something spam. We say 100 or nothing.
const AVERAGE_CONFIDENCE: u8 = 50;

/// The revision of what `state` says: clients ask again when it has grown.
const REVISION: u32 = 1;

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
    local: SocketAddr,
    ep4: String,
    login: RazorLogin,
}

impl Conversation {
    pub(super) fn new(desk: Arc<Desk>, local: SocketAddr, login: RazorLogin) -> Self {
        Conversation { desk, local, ep4: Ep4::default().to_string(), login }
    }

    /// Whether mails are read: from those who may report.
    pub(super) fn takes_messages(&self) -> bool {
        self.login.speaker(Role::Report).is_some()
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
            Request::Query(Ok(Command::Identify { user })) => self.login.identify(&user, out)?,
            Request::Query(Ok(Command::Register { user, password })) => {
                self.login.register(user.as_deref(), password.as_deref(), out).await?;
            }
            Request::Query(Ok(Command::Revoke(query))) => {
                let answer = self.revoke(&[query]).await;
                write_line(&answer, out).map_err(io::Error::other)?;
            }
            Request::Query(query) => {
                // A client that has one question of a mail asks it on a line of its own.
                let message = query.as_ref().ok().and_then(part_of);
                let answer = self.answer_one(query, message);
                self.see(message);
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

    fn state(&self) -> ServerSettings<'_> {
        ServerSettings { average_confidence: AVERAGE_CONFIDENCE, ep4: &self.ep4, revision: REVISION }
    }

    fn describe(&self, subject: Subject, out: &mut Vec<u8>) -> io::Result<()> {
        let written = match subject {
            Subject::State => write_state(&self.state(), out),
            // Two spellings: a client that knows one server alone asks for others whenever it is run.
            Subject::Servers(kind @ (Servers::Catalogue | Servers::Nomination)) => {
                let ip = self.local.ip().to_canonical();
                let port = self.local.port();
                write_servers(kind, &[&format!("{ip}:{port}"), &format!("{ip}:0{port}")], out)
            }
        };
        written.map_err(io::Error::other)
    }

    /// A query that is answered at once. A message is asked about by its parts, and all of them together name it.
    fn answer_one(
        &mut self,
        query: Result<Command<'_>, Malformed>,
        message: Option<E4>,
    ) -> RazorAnswer<'static> {
        match query {
            Ok(Command::Check(query)) => self.check(&query, message),
            Ok(Command::Report(_)) => self.ask_for_the_mail(),
            Ok(Command::Authenticate { response }) => self.login.authenticate(&response),
            _ => RazorAnswer::Error(ErrorCode::Malformed),
        }
    }

    /// The checks of one batch are of one mail, since clients ask about each mail when it arrives, and so are its
    /// revocations. Who asks about several at once is told of none of them: that one part is known says nothing.
    async fn answer_batch(&mut self, batch: QueryBatch<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let revoked: Vec<Query<'_>> = batch
            .queries()
            .filter_map(|query| match query {
                Ok(Command::Revoke(query)) => Some(query),
                _ => None,
            })
            .collect();
        let revocation = if revoked.is_empty() { None } else { Some(self.revoke(&revoked).await) };
        let message = razor::together(batch.queries().filter_map(|query| part_of(&query.ok()?)));
        let mut answers = Vec::with_capacity(batch.len());
        for query in batch.queries() {
            answers.push(match (query, &revocation) {
                (Ok(Command::Revoke(_)), Some(answer)) => *answer,
                (query, _) => self.answer_one(query, message),
            });
        }
        self.see(message);
        write_batch(answers, out).map_err(io::Error::other)
    }

    fn who(&self) -> Who {
        self.login.who().unwrap_or_else(|| Who::at(self.login.address))
    }

    /// Whether the client has proved to be somebody.
    pub(super) fn is_proved(&self) -> bool {
        self.login.who().is_some()
    }

    /// Whether the client has proved to be an account, and no stranger's.
    pub(super) fn is_known(&self) -> bool {
        let who = self.login.who();
        who.is_some_and(|who| matches!(who, Who::Account(_)) && !self.desk.is_stranger(&who))
    }

    /// Whose memory its mails take.
    pub(super) fn holder(&self) -> Holder {
        match self.who() {
            Who::Account(account) if !self.desk.backend.ledger.is_stranger(account.reporter) => {
                Holder::Account(account.reporter)
            }
            _ if self.login.address.is_loopback() => Holder::Local,
            _ => Holder::Network(Network::of(self.login.address)),
        }
    }

    /// A mail server checks a message when it arrives. A host, which is engine 8, is shared by many and not counted.
    fn see(&self, message: Option<E4>) {
        if let Some(E4(digest)) = message {
            self.desk.see_checked(Kind::RazorE4, &digest, &self.who(), self.login.address);
        }
    }

    fn check(&self, query: &Query<'_>, message: Option<E4>) -> RazorAnswer<'static> {
        if !self.desk.may(&self.who(), self.login.address, Spending::Checks, 1) {
            return RazorAnswer::Error(ErrorCode::TooMany);
        }
        let signature = match (query.signature, message) {
            (Signature::E4(_), Some(message)) => Signature::E4(message),
            (signature, _) => signature,
        };
        let (kind, digest) = named(&signature);
        let verdict = self.desk.look_up(kind, digest).verdict;
        self.desk.backend.metrics.verdicts.count(FrontEnd::Razor, verdict);
        match verdict {
            Verdict::Spam => RazorAnswer::Listed(Listing { confidence: 100, contested: false }),
            _ => RazorAnswer::Unlisted,
        }
    }

    /// Engine 4 alone would be known of a report; from the mail all signatures follow.
    fn ask_for_the_mail(&self) -> RazorAnswer<'static> {
        match (self.login.who(), self.takes_messages()) {
            (None, _) => RazorAnswer::Error(ErrorCode::NotAuthenticated),
            (_, false) => RazorAnswer::Error(ErrorCode::Forbidden),
            (_, true) => RazorAnswer::Error(ErrorCode::SendMail),
        }
    }

    async fn report(&self, upload: &Upload<'_>) -> RazorAnswer<'static> {
        let mail = upload::message(upload);
        let who = self.login.who().unwrap_or_else(|| Who::at(self.login.address));
        if !self.desk.may(&who, self.login.address, Spending::Checks, cost_of_bytes(mail.len())) {
            return RazorAnswer::Error(ErrorCode::TooMany);
        }
        let backend = &self.desk.backend;
        let network = self.desk.backend.budget(self.login.address);
        let budget = match &who {
            Who::Account(account) => &account.budget,
            _ => network.as_deref().unwrap_or(&backend.local),
        };
        let sign = move |_: &_| Case::of_message(&mail, &Ep4::default());
        let signed = blocking::sign(backend, budget, sign).await;
        match signed {
            Ok(case) if case.is_empty() => RazorAnswer::Rejected,
            Ok(case) => self.say(Verb::Report, Role::Report, case).await,
            Err(_) => RazorAnswer::Error(ErrorCode::Internal),
        }
    }

    /// The ledger puts the parts together: they name one mail.
    async fn revoke(&self, queries: &[Query<'_>]) -> RazorAnswer<'static> {
        let mut case = Case::new();
        for query in queries {
            let (kind, digest) = named(&query.signature);
            // A batch has far fewer queries than a case has room.
            let _ = case.push(kind, digest);
        }
        self.say(Verb::Revoke, Role::Revoke, case).await
    }

    /// Has it remembered, and waits until it is durable.
    async fn say(&self, verb: Verb, role: Role, case: Case) -> RazorAnswer<'static> {
        let Some(who) = self.login.who() else {
            return RazorAnswer::Error(ErrorCode::NotAuthenticated);
        };
        let Some(speaker) = self.login.speaker(role) else {
            return RazorAnswer::Error(ErrorCode::Forbidden);
        };
        let cases = vec![case];
        if !self.desk.may(&who, self.login.address, Spending::Writes, cost_of(&cases)) {
            return RazorAnswer::Error(ErrorCode::TooMany);
        }
        let (done, durable) = oneshot::channel();
        self.desk.say(verb, speaker, self.login.origin(), cases, move |result| {
            // Whoever asked may have gone: the write stands.
            let _ = done.send(result);
        });
        match durable.await {
            Ok(Ok(_)) => RazorAnswer::Accepted,
            Ok(Err(_)) => RazorAnswer::Rejected,
            Err(_) => RazorAnswer::Error(ErrorCode::Internal),
        }
    }
}

/// The signature of engine 4 that a check asks about.
fn part_of(command: &Command<'_>) -> Option<E4> {
    match command {
        Command::Check(Query { signature: Signature::E4(part), .. }) => Some(*part),
        _ => None,
    }
}

fn named(signature: &Signature) -> (Kind, &[u8]) {
    match signature {
        Signature::E4(e4) => (Kind::RazorE4, &e4.0),
        Signature::E8(e8) => (Kind::RazorE8, &e8.0),
    }
}
