//! Our server's own process: loaded with what the race asks for, then answering clients on loopback.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use seenit_ledger::Write;
use seenit_ledger::error::SignatureError;
use seenit_ledger::ledger::{CASES_MAX, Ledger};
use seenit_ledger::record::Verb;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::signature::Case;
use seenit_server::config::Listen;
use seenit_server::{ClientAddresses, Server};
use seenit_signature::Kind;
use serde::{Deserialize, Serialize};

use super::question::{SUMS, dcc_digest, dcc_recipients, fuzzy_digest, pyzor_digest, shingles};
use crate::hosted;
use crate::report;

/// What the server is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    pub(crate) protocol: Protocol,
    /// Signatures of Pyzor and DCC, messages of rspamd: what is stored, and what there is room for.
    pub(crate) stored: u64,
}

/// What is raced.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Protocol {
    Pyzor,
    Dcc,
    Fuzzy,
}

/// What it says when it serves.
#[derive(Serialize, Deserialize)]
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    /// Bytes of filters and tallies.
    pub(crate) stored_bytes: u64,
}

/// Runs the server until the race is over.
pub(crate) fn serve(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let mut config = hosted::config();
    let ledger = &mut config.ledger;
    let mut addresses = ClientAddresses::default();
    let here = Some(Listen::At((Ipv4Addr::LOCALHOST, 0).into()));
    let off = Some(Listen::Off);
    (addresses.pyzor, addresses.razor, addresses.dcc, addresses.fuzzy) = (off, off, off, off);
    match plan.protocol {
        Protocol::Pyzor => (ledger.capacity, addresses.pyzor) = (plan.stored, here),
        Protocol::Dcc => (ledger.seen_capacity, addresses.dcc) = (plan.stored, here),
        Protocol::Fuzzy => {
            (ledger.capacity, ledger.near_capacity, addresses.fuzzy) = (plan.stored, plan.stored, here);
        }
    }
    let data = plan.folder.join("data");
    let server = Server::new(config, &data).http((Ipv4Addr::LOCALHOST, 0).into()).token_folder(&data);
    let running = server.clients(addresses).start()?;
    load(running.ledger(), plan)?;
    let &(_, address) = running.clients().first().ok_or("no client is served")?;
    let stored_bytes = running.ledger().stats().memory_bytes;
    hosted::serve(&Serving { address, stored_bytes })
}

/// Stores what the listeners would, as the account that clients on loopback have.
fn load(ledger: &Ledger, plan: &Plan) -> Result<(), Box<dyn Error>> {
    let bar = report::loading("loading seenit", plan.stored)?;
    for first in (0..plan.stored).step_by(CASES_MAX) {
        let numbers = first..plan.stored.min(first + CASES_MAX as u64);
        bar.set_position(first);
        if plan.protocol == Protocol::Dcc {
            for number in numbers {
                ledger.see(&[case(plan.protocol, number)?], dcc_recipients(number))?;
            }
            continue;
        }
        let cases = numbers.map(|number| case(plan.protocol, number)).collect::<Result<_, _>>()?;
        ledger.write_and_wait(Write { verb: Verb::Report, reporter: OPERATOR, cases })?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// What is stored under a number.
fn case(protocol: Protocol, number: u64) -> Result<Case, SignatureError> {
    let mut case = Case::new();
    match protocol {
        Protocol::Pyzor => case.push(Kind::Pyzor, &pyzor_digest(number))?,
        Protocol::Dcc => {
            let kinds: [Kind; SUMS as usize] = [Kind::DccBody, Kind::DccFuz1, Kind::DccFuz2];
            case.push(kinds[(number % SUMS) as usize], &dcc_digest(number))?;
        }
        Protocol::Fuzzy => {
            case.push(Kind::Rspamd, &fuzzy_digest(number))?;
            case.push(Kind::RspamdNear, &shingles(number))?;
        }
    }
    Ok(case)
}
