//! What every front end can do.

use seenit_ledger::Verdict;

use super::trouble::Trouble;
use crate::site::say::Verb;

/// One way to ask a server: HTTP, or a protocol that mail programs speak.
pub(super) trait FrontEnd {
    fn name(&self) -> &'static str;

    /// The first one says nothing.
    fn steps(&self) -> &'static [Step];

    fn check(&self, mail: &[u8]) -> Result<Found, Trouble>;

    /// Says something of it, and waits until that is durable.
    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), Trouble>;

    /// Takes back what was said, as if nothing had been, also where that takes another way than this one.
    fn take_back(&self, mail: &[u8]) -> Result<(), Trouble>;
}

/// One step: what is said first, if anything, and the verdict that must follow.
pub(super) struct Step {
    pub(super) what: &'static str,
    pub(super) verb: Option<Verb>,
    pub(super) expected: Verdict,
}

impl Step {
    pub(super) const fn new(what: &'static str, verb: Option<Verb>, expected: Verdict) -> Self {
        Step { what, verb, expected }
    }
}

/// What a front end says of a message.
pub(super) struct Found {
    /// The verdict, or what comes nearest to it in that protocol.
    pub(super) verdict: String,
    /// The same in the words of the protocol.
    pub(super) told: String,
}

impl Found {
    pub(super) fn new(verdict: Verdict, told: String) -> Self {
        Found { verdict: verdict.as_str().to_owned(), told }
    }
}
