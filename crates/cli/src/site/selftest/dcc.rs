//! DCC, as an anonymous client.

use std::net::SocketAddr;

use seenit_ledger::Verdict;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use seenit_wire::dcc::{self, Ask, Count, DccResponse, Sum, Targets, Totals};

use super::front_end::{Found, FrontEnd, Step};
use super::trouble::Trouble;
use super::{mail, socket};
use crate::client::Client;
use crate::site::say::Verb;

/// DCC.
pub(super) struct Dcc<'a> {
    pub(super) address: SocketAddr,
    pub(super) client: &'a Client,
}

/// The checksums that are computed here, in the order in which they are sent.
const KINDS: [(dcc::SumKind, Kind); 2] =
    [(dcc::SumKind::Body, Kind::DccBody), (dcc::SumKind::Fuz1, Kind::DccFuz1)];

const STEPS: [Step; 3] = [
    Step::new("a new message has totals of 0", None, Verdict::Unknown),
    Step::new("reported as MANY, its totals are MANY", Some(Verb::Report), Verdict::Bulk),
    Step::new("forgotten, its totals are 0 again", Some(Verb::Withdraw), Verdict::Unknown),
];

impl FrontEnd for Dcc<'_> {
    fn name(&self) -> &'static str {
        "DCC"
    }

    fn steps(&self) -> &'static [Step] {
        &STEPS
    }

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble> {
        let sums = sums(mail)?;
        let totals = self.ask(&sums, |ask, out| ask.query(out))?;
        let are = |count| totals.iter().all(|totals| totals.current == count);
        let verdict = match (are(Count::Number(0)), are(Count::Many)) {
            (true, _) => Verdict::Unknown,
            (_, true) => Verdict::Bulk,
            _ => Verdict::NoOpinion,
        };
        let named = sums.iter().zip(&totals);
        let told: Vec<String> = named.map(|(sum, totals)| total(sum.kind, totals.current)).collect();
        Ok(Found::new(verdict, format!("its totals are {}", told.join(", "))))
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble> {
        if verb != Verb::Report {
            return self.take_back(mail);
        }
        let many = Targets { recipients: 1, many: true };
        self.ask(&sums(mail)?, |ask, out| ask.report(many, out)).map(drop)
    }

    /// Over HTTP: DCC's own DELETE takes an account. MANY is a mark and a report, and both go.
    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble> {
        let sums = sums(mail)?;
        let named = KINDS.iter().zip(&sums).map(|((_, kind), sum)| (*kind, &sum.digest[..]));
        let named: Vec<(Kind, &[u8])> = named.collect();
        mail::forget(self.client, &named)?;
        Ok(mail::withdraw(self.client, &named)?)
    }
}

impl Dcc<'_> {
    fn ask(&self, sums: &[Sum], write: impl FnOnce(&Ask<'_>, &mut Vec<u8>)) -> Result<Vec<Totals>, Trouble> {
        // New numbers each time: the same again would be the same request.
        let ask = Ask { numbers: socket::random()?, sums };
        let mut question = Vec::new();
        write(&ask, &mut question);
        let answer = socket::ask(self.address, &question, |bytes| match DccResponse::decode(bytes, &ask)? {
            DccResponse::Totals(totals) => Some(Ok(totals)),
            DccResponse::Error(why) => Some(Err(why.to_owned())),
        })?;
        answer.map_err(|why| Trouble::Refused { address: self.address, why })
    }
}

fn sums(mail: &[u8]) -> Result<[Sum; 2], Trouble> {
    let digest = |kind| mail::digest(mail, kind, &Ep4::default());
    let [(body, signed_body), (fuz1, signed_fuz1)] = KINDS;
    Ok([Sum { kind: body, digest: digest(signed_body)? }, Sum { kind: fuz1, digest: digest(signed_fuz1)? }])
}

fn total(kind: dcc::SumKind, count: Count) -> String {
    let count = match count {
        Count::Number(number) => number.to_string(),
        Count::Many => "MANY".into(),
        Count::Ok | Count::Ok2 => "whitelisted".into(),
        Count::NoOpinion => "nobody's opinion".into(),
    };
    format!("{} {count}", kind.name())
}
