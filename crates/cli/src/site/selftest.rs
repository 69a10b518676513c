//! `seenit selftest`: a message of its own through every front end of a server, and what works in plain words.

mod dcc;
mod front_end;
mod fuzzy;
mod http;
mod mail;
mod pyzor;
mod razor;
mod served;
mod socket;
mod trouble;

use std::process::ExitCode;

use clap::Args;
use seenit_ledger::Verdict;
use serde::Serialize;

use self::front_end::{FrontEnd, Step};
use self::http::Http;
use self::served::{Clients, Served};
use crate::client::{Client, ServerArgs};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Asked are HTTP, and Pyzor, Razor, DCC and rspamd where the server says that it answers them. \
    Beyond this machine those are only checked, because reports there take an account.\n\
    Each message is new, and what is said of it is taken back at the end.\n\
    The exit code is 0 when everything works that is on.\n\
    Example: seenit selftest --server http://127.0.0.1:8025"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON array: front_end, step, works (null where it is off or was not tried), told
    #[arg(long)]
    json: bool,
}

/// What became of a step, for machines.
#[derive(Serialize)]
struct Row {
    front_end: &'static str,
    step: &'static str,
    /// None where there was nothing to try.
    works: Option<bool>,
    told: String,
}

impl Row {
    fn fails(&self) -> bool {
        self.works == Some(false)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.server)?;
    let http = Http(&client);
    let Tried { mut rows, said_of } = try_steps(&http, http.steps())?;
    if let Some(mail) = said_of.filter(|_| rows.iter().any(Row::fails)) {
        // Whether this works is not what was asked.
        let _ = http.take_back(&mail);
    }
    let served = client.get::<Served>("/v1/stats");
    rows.push(Row {
        front_end: http::NAME,
        step: "it says where other protocols are answered",
        works: Some(served.is_ok()),
        told: served.as_ref().map_or_else(ToString::to_string, Served::to_string),
    });
    if let Ok(served) = served {
        for clients in served.clients(&client) {
            rows.extend(try_clients(clients, &http)?);
        }
    }
    let all_work = !rows.iter().any(Row::fails);
    if arguments.json {
        output::json(&rows)?;
    } else {
        output::text(&told(client.url(), &rows))?;
    }
    Ok(if all_work { ExitCode::SUCCESS } else { Exit::SomethingFails.into() })
}

/// Tries what can be tried of one protocol, and says what cannot, and why.
fn try_clients(clients: Clients<'_>, http: &Http<'_>) -> Result<Vec<Row>, Problem> {
    let not_tried = |front_end, step, told| Row { front_end, step, works: None, told };
    Ok(match clients {
        Clients::Off { name } => {
            let why = "this server does not answer it: it is off, or its port was taken at the start";
            vec![not_tried(name, OFF, why.into())]
        }
        Clients::Beyond { name, why } => vec![not_tried(name, "it is not tried", why)],
        Clients::CheckOnly(front_end, why) => {
            let check = front_end.steps().split_at(1).0;
            let mut rows = try_steps(front_end.as_ref(), check)?.rows;
            rows.push(not_tried(front_end.name(), "reports are not tried", why));
            rows
        }
        Clients::Here(front_end) => {
            let Tried { mut rows, said_of } = try_steps(front_end.as_ref(), front_end.steps())?;
            rows.extend(said_of.map(|mail| take_back(front_end.as_ref(), &mail, http)));
            rows
        }
    })
}

/// What was tried, and the message that something was said of.
struct Tried {
    rows: Vec<Row>,
    said_of: Option<Vec<u8>>,
}

/// Takes one step after the other with a message of their own. Where there is no answer, the other steps would have
/// none, either: nobody waits for that.
fn try_steps(front_end: &dyn FrontEnd, steps: &[Step]) -> Result<Tried, Problem> {
    let mail = mail::new()?;
    let mut rows = Vec::new();
    let mut trouble = None;
    let mut is_said = false;
    for step in steps {
        let (works, told) = match &trouble {
            Some(trouble) => (false, String::clone(trouble)),
            None => {
                is_said |= step.verb.is_some();
                take(front_end, step, &mail).unwrap_or_else(|error| {
                    trouble = Some(error.to_string());
                    (false, error.to_string())
                })
            }
        };
        rows.push(Row { front_end: front_end.name(), step: step.what, works: Some(works), told });
    }
    Ok(Tried { rows, said_of: is_said.then_some(mail) })
}

/// Leaves nothing behind: asked over HTTP, all that was said of the message is gone, of whichever signature it was.
fn take_back(front_end: &dyn FrontEnd, mail: &[u8], http: &Http<'_>) -> Row {
    let found = front_end.take_back(mail).and_then(|()| http.check(mail));
    let (works, told) = match found {
        Ok(found) => (found.verdict == Verdict::Unknown.as_str(), found.told),
        Err(trouble) => (false, trouble.to_string()),
    };
    Row { front_end: front_end.name(), step: "taken back, it is unknown to all", works: Some(works), told }
}

/// Whether it works, and what was told.
fn take(front_end: &dyn FrontEnd, step: &Step, mail: &[u8]) -> Result<(bool, String), trouble::Trouble> {
    if let Some(verb) = step.verb {
        front_end.say(verb, mail)?;
    }
    let found = front_end.check(mail)?;
    Ok((found.verdict == step.expected.as_str(), found.told))
}

/// What works, and what was not there to be tried: its port may have been taken.
fn on_and_off(url: &str, rows: &[Row]) -> String {
    let named = |is_off: bool| {
        let rows = rows.iter().filter(|row| (row.step == OFF) == is_off);
        let mut names: Vec<&str> = rows.map(|row| row.front_end).collect();
        names.dedup();
        names
    };
    let (on, off) = (named(false), named(true));
    format!(
        "{} {} at {url}; {} {} off.\n",
        listed(&on),
        if on.len() == 1 { "works" } else { "work" },
        listed(&off),
        if off.len() == 1 { "is" } else { "are" },
    )
}

/// `Pyzor, Razor and DCC`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The step of a front end that is off.
const OFF: &str = "it is off";

fn told(url: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { front_end, step, works, told } in rows {
        text += &match works {
            Some(true) => format!("works  {front_end}: {step}\n"),
            Some(false) => format!("FAILS  {front_end}: {step}: {told}\n"),
            None if *step == OFF => format!("off    {front_end}: {told}\n"),
            None => format!("-----  {front_end}: {step}: {told}\n"),
        };
    }
    let number = |works| rows.iter().filter(|row| row.works == Some(works)).count();
    let failed = number(false);
    text + &match failed {
        0 if rows.iter().any(|row| row.step == OFF) => on_and_off(url, rows),
        0 => format!("All is well with {url}.\n"),
        _ => format!("{failed} of {} steps fail with {url}.\n", failed + number(true)),
    }
}
