//! The rules that are compared: what a word weighs, and what the site knows beforehand.

use seenit_server::Config;
use seenit_server::config::Limits;

use super::reporters::Character;

/// Of so many reporters the operator knows one to be honest.
const VOUCHED_PART: usize = 10;

/// Points of reporters that are fully trusted.
const FULL: u8 = 10;

/// Points of reporters of whom two must agree.
const HALF: u8 = 5;

/// A rule of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Every word is a verdict.
    Anyone,
    /// Two must agree, whoever they are.
    Quorum,
    /// What ships: accounts begin with the default weight, and weights move.
    Trust,
    /// The same, and good mail was protected before.
    TrustProtect,
    /// The same without that, and the operator vouches for a few.
    Vouched,
}

pub(super) const RULES: [Rule; 5] =
    [Rule::Anyone, Rule::Quorum, Rule::Trust, Rule::TrustProtect, Rule::Vouched];

impl Rule {
    /// As rows have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Rule::Anyone => "anyone",
            Rule::Quorum => "quorum",
            Rule::Trust => "trust",
            Rule::TrustProtect => "trust + protect",
            Rule::Vouched => "vouched",
        }
    }

    /// Whether known-good mail is protected before anything arrives.
    pub(super) fn protects(self) -> bool {
        self == Rule::TrustProtect
    }

    /// What accounts are made with: a fixed weight, or none.
    pub(super) fn weights(self, characters: &[Character]) -> Vec<Option<u8>> {
        let mut vouched = match self {
            Rule::Vouched => characters.len().div_ceil(VOUCHED_PART),
            _ => 0,
        };
        let weight = |&character: &Character| match self {
            Rule::Anyone => Some(FULL),
            Rule::Quorum => Some(HALF),
            _ if character == Character::Honest && vouched > 0 => {
                vouched -= 1;
                Some(FULL)
            }
            _ => None,
        };
        characters.iter().map(weight).collect()
    }

    /// The site's configuration: what ships, but for what the rule changes and what an experiment needs.
    pub(super) fn config(self) -> Config {
        let mut config = Config::default();
        // How fast a machine is must not decide what is refused, nor what is answered.
        config.limits = Limits { account_checks_per_sec: 0, account_writes_per_sec: 0, ..config.limits };
        config.check.deadline_millis = 60_000;
        // Room for the corpus, and for all that attackers may say in a day; and a small temporary folder will do.
        config.ledger.capacity = 2_000_000;
        config.ledger.seen_capacity = 10_000;
        config.ledger.bulk_capacity = 10_000;
        config.ledger.free_bytes_min = 0;
        // How soon the server notices that a day has passed.
        config.ledger.delta_millis = 100;
        config
    }
}
