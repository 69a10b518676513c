//! Razor, as a client that nobody knows yet.

use std::net::SocketAddr;

use seenit_ledger::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::{E4, Ep4};
use seenit_wire::razor::{Ask, ErrorCode, Greeting, Program, Query, RazorResponse, Signature, response};

use super::front_end::{Found, FrontEnd, Step};
use super::mail;
use super::socket::Lines;
use super::trouble::Trouble;
use crate::client::Client;
use crate::site::say::Verb;

const PROGRAM: Program<'_> = Program { name: "seenit", version: env!("CARGO_PKG_VERSION") };

/// An account that no operator has made: on this machine any name will do, and any password.
const USER: &str = "seenit-selftest";
const PASSWORD: &str = "selftest";

/// Razor.
pub(super) struct Razor<'a> {
    pub(super) address: SocketAddr,
    pub(super) client: &'a Client,
}

const STEPS: [Step; 3] = [
    Step::new("a new message is not listed", None, Verdict::Unknown),
    Step::new("reported, it is listed", Some(Verb::Report), Verdict::Spam),
    Step::new("revoked, it is not listed", Some(Verb::Revoke), Verdict::Unknown),
];

impl FrontEnd for Razor<'_> {
    fn name(&self) -> &'static str {
        "Razor"
    }

    fn steps(&self) -> &'static [Step] {
        &STEPS
    }

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble> {
        let mut talk = Talk::begin(self.address)?;
        let query = talk.query(mail)?;
        let found = talk.ask(&Ask::Check(query), |heard| match heard {
            RazorResponse::Unlisted => Some(Found::new(Verdict::Unknown, "it is not listed".into())),
            RazorResponse::Listed(listing) => {
                let told = format!("it is listed with confidence {}", listing.confidence);
                Some(Found::new(Verdict::Spam, told))
            }
            _ => None,
        })?;
        talk.end()?;
        Ok(found)
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble> {
        if verb == Verb::Withdraw {
            return self.take_back(mail);
        }
        let mut talk = Talk::begin(self.address)?;
        let query = talk.query(mail)?;
        talk.identify()?;
        match verb {
            Verb::Report => talk.report(query, mail)?,
            _ => talk.have_accepted(&Ask::Revoke(query.signature))?,
        }
        talk.end()
    }

    /// A mail was reported, with all of its signatures, and all of them were revoked.
    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble> {
        Ok(mail::withdraw_all(self.client, mail)?)
    }
}

/// One connection.
struct Talk {
    address: SocketAddr,
    lines: Lines,
    /// What the server wants engine 4 to be computed with.
    ep4: Ep4,
}

impl Talk {
    /// The server speaks first, and then hears what asks.
    fn begin(address: SocketAddr) -> Result<Self, Trouble> {
        let mut lines = Lines::connect(address)?;
        let line = lines.read()?;
        let foreign = || Trouble::Foreign(address);
        let greeting = Greeting::decode(&line).ok_or_else(foreign)?;
        let ep4 = greeting.ep4.map(|ep4| String::from_utf8_lossy(&ep4).parse()).transpose();
        let ep4 = ep4.map_err(|_| foreign())?.unwrap_or_default();
        let mut talk = Talk { address, lines, ep4 };
        talk.send(&Ask::Program(PROGRAM))?;
        Ok(talk)
    }

    fn query(&self, mail: &[u8]) -> Result<Query<'static>, Trouble> {
        let signature = Signature::E4(E4(mail::digest(mail, Kind::RazorE4, &self.ep4)?));
        Ok(Query { signature, ep4: Some(self.ep4.to_string().into_bytes().into()) })
    }

    fn identify(&mut self) -> Result<(), Trouble> {
        let proof = self.ask(&Ask::Identify(PROGRAM, USER), |heard| match heard {
            RazorResponse::Challenge(challenge) => Some(response(PASSWORD.as_bytes(), &challenge)),
            _ => None,
        })?;
        self.have_accepted(&Ask::Authenticate(&proof))
    }

    /// Reports its signature, and when asked for it the whole mail, its lines as the client sends them.
    fn report(&mut self, query: Query<'_>, mail: &[u8]) -> Result<(), Trouble> {
        let send_mail = Some(RazorResponse::Error(ErrorCode::SendMail as u16));
        self.send(&Ask::Report(query))?;
        let line = self.lines.read()?;
        if RazorResponse::decode(&line) != send_mail {
            return self.understood(&line, accepted);
        }
        let text = String::from_utf8_lossy(mail).replace("\r\n", "\n");
        let (header, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let header = format!("{header}\n");
        let part = format!("Content-Type: text/plain; charset=us-ascii\n\n{body}");
        self.have_accepted(&Ask::Upload { header: header.as_bytes(), parts: &[part.as_bytes()] })
    }

    fn have_accepted(&mut self, ask: &Ask<'_>) -> Result<(), Trouble> {
        self.ask(ask, accepted)
    }

    fn ask<T>(
        &mut self,
        ask: &Ask<'_>,
        read: impl FnOnce(RazorResponse<'_>) -> Option<T>,
    ) -> Result<T, Trouble> {
        self.send(ask)?;
        let line = self.lines.read()?;
        self.understood(&line, read)
    }

    fn understood<T>(
        &self,
        line: &[u8],
        read: impl FnOnce(RazorResponse<'_>) -> Option<T>,
    ) -> Result<T, Trouble> {
        let refused = |why| Trouble::Refused { address: self.address, why };
        match RazorResponse::decode(line) {
            Some(RazorResponse::Error(code)) => Err(refused(format!("error {code}"))),
            Some(RazorResponse::Rejected) => Err(refused("res=0".into())),
            Some(heard) => read(heard).ok_or(Trouble::Foreign(self.address)),
            None => Err(Trouble::Foreign(self.address)),
        }
    }

    fn end(mut self) -> Result<(), Trouble> {
        self.send(&Ask::Quit)
    }

    fn send(&mut self, ask: &Ask<'_>) -> Result<(), Trouble> {
        let mut bytes = Vec::new();
        ask.write(&mut bytes);
        self.lines.send(&bytes)
    }
}

fn accepted(heard: RazorResponse<'_>) -> Option<()> {
    (heard == RazorResponse::Accepted).then_some(())
}
