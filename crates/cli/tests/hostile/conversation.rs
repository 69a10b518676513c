//! What a Razor server makes of a connection: so that nothing is sent to one that has hung up, and no write that is
//! sound.

use seenit_wire::razor::{Command, Decoder, Request};

/// What becomes of a connection when it hears something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It goes on.
    More,
    /// It ends: the client took its leave, or cannot be understood any more.
    End,
    /// Something is remembered.
    Write,
}

/// A connection, as far as it matters.
#[derive(Clone, Default)]
pub(crate) struct Conversation {
    decoder: Decoder,
    is_introduced: bool,
    has_challenge: bool,
    is_somebody: bool,
}

/// What a request is about.
#[derive(Default)]
struct About {
    introduction: bool,
    /// It is none of Razor's requests.
    foreign: bool,
    challenge: bool,
    proof: bool,
    revocation: bool,
    mail: bool,
    end: bool,
}

impl Conversation {
    pub(crate) fn hear(&mut self, mut bytes: &[u8]) -> Heard {
        while !bytes.is_empty() {
            self.decoder.take_messages(self.is_somebody);
            bytes = &bytes[self.decoder.feed(bytes)..];
            loop {
                let about = match self.decoder.next_request() {
                    Err(_) => return Heard::End,
                    Ok(None) => break,
                    Ok(Some(request)) => About::of(request),
                };
                match self.answer(&about) {
                    Heard::More => self.decoder.take_messages(self.is_somebody),
                    other => return other,
                }
            }
        }
        Heard::More
    }

    /// On this machine whoever answers to a challenge is `local`, whatever the answer.
    fn answer(&mut self, about: &About) -> Heard {
        self.is_introduced |= about.introduction;
        if about.end || !self.is_introduced || about.foreign && !self.is_somebody {
            return Heard::End;
        }
        if self.is_somebody && (about.revocation || about.mail) {
            return Heard::Write;
        }
        self.is_somebody |= about.proof && self.has_challenge;
        self.has_challenge = about.challenge || self.has_challenge && !about.proof;
        Heard::More
    }
}

impl About {
    fn of(request: Request<'_>) -> Self {
        let first =
            |command: &Command<'_>| matches!(command, Command::Client | Command::Get(_) | Command::Quit);
        let introduction = matches!(&request, Request::Query(Ok(command)) if first(command));
        let mut about = About { introduction, ..About::default() };
        match request {
            Request::Query(Ok(Command::Identify { .. })) => about.challenge = true,
            Request::Query(Ok(Command::Authenticate { .. })) => about.proof = true,
            Request::Query(Ok(Command::Revoke(_))) => about.revocation = true,
            Request::Query(Ok(Command::Quit)) => about.end = true,
            Request::Query(Err(malformed)) => about.foreign = malformed.is_foreign(),
            Request::Query(Ok(_)) => {}
            Request::Batch(batch) => {
                let has = |is: fn(&Command<'_>) -> bool| batch.queries().flatten().any(|query| is(&query));
                about.proof = has(|query| matches!(query, Command::Authenticate { .. }));
                about.revocation = has(|query| matches!(query, Command::Revoke(_)));
            }
            Request::Upload(_) => about.mail = true,
        }
        about
    }
}
