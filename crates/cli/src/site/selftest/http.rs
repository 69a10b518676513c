//! HTTP, as the other commands ask it.

use seenit_ledger::Verdict;

use super::front_end::{Found, FrontEnd, Step};
use super::trouble::Trouble;
use crate::client::Client;
use crate::site::say::Verb;
use crate::site::{check, say};

pub(super) const NAME: &str = "HTTP";

/// HTTP.
pub(super) struct Http<'a>(pub(super) &'a Client);

const STEPS: [Step; 4] = [
    Step::new("a new message is unknown", None, Verdict::Unknown),
    Step::new("reported, it is spam", Some(Verb::Report), Verdict::Spam),
    Step::new("revoked, it is good mail", Some(Verb::Revoke), Verdict::Ham),
    Step::new("withdrawn, it is unknown again", Some(Verb::Withdraw), Verdict::Unknown),
];

impl FrontEnd for Http<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn steps(&self) -> &'static [Step] {
        &STEPS
    }

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble> {
        let judged = check::ask(self.0, mail)?;
        let told = format!("it is {}: {}", judged.verdict, judged.why());
        Ok(Found { verdict: judged.verdict, told })
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble> {
        say::say(self.0, verb, mail)?;
        Ok(())
    }

    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble> {
        self.say(Verb::Withdraw, mail)
    }
}
