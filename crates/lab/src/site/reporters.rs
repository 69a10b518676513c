//! Who reports, and what they say of a message that came to them.

use super::{EXPERIMENT, Options};
use crate::bench::LabError;
use crate::draw;

/// What random numbers are drawn for, below the experiment.
const RANKS: u64 = 3;

/// How often an honest reporter says something: people report about half of what annoys them, at best.
const HONEST_SAYS: f64 = 0.5;

/// How often a careless one reports good mail: newsletters that were asked for and forgotten.
const CARELESS_REPORTS: f64 = 0.05;

/// How often a hostile one lies about what it gets.
const HOSTILE_SAYS: f64 = 0.5;

/// What somebody says of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Report,
    Revoke,
}

/// What a reporter is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Character {
    /// Reports spam that was not caught, revokes ham that was.
    Honest,
    /// The same, and reports some ham.
    Careless,
    /// Reports ham and revokes spam.
    Hostile,
}

pub(super) const CHARACTERS: [Character; 3] = [Character::Honest, Character::Careless, Character::Hostile];

impl Character {
    /// What it says of a message that the site called spam or not. `chance` is in 0..1, and the same whatever the rule:
    /// rules are compared on the same decisions.
    pub(super) fn says(self, is_spam: bool, called_spam: bool, chance: f64) -> Option<Word> {
        let (word, odds) = match (self, is_spam, called_spam) {
            (Character::Honest | Character::Careless, true, false) => (Word::Report, HONEST_SAYS),
            (Character::Honest | Character::Careless, false, true) => (Word::Revoke, HONEST_SAYS),
            (Character::Careless, false, false) => (Word::Report, CARELESS_REPORTS),
            (Character::Hostile, true, _) => (Word::Revoke, HOSTILE_SAYS),
            (Character::Hostile, false, false) => (Word::Report, HOSTILE_SAYS),
            _ => return None,
        };
        (chance < odds).then_some(word)
    }
}

/// The shares of honest, careless and hostile reporters, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) honest: u32,
    pub(super) careless: u32,
    pub(super) hostile: u32,
}

impl Shares {
    /// Those that were asked for.
    pub(super) fn of(options: &Options) -> Result<Self, LabError> {
        let hundredths = |option: &'static str, share: f64| {
            let value = (100.0 * share).round();
            if (0.0..=100.0).contains(&value) && (value - 100.0 * share).abs() < 1e-6 {
                return Ok(value as u32);
            }
            let why = "must be from 0 to 1, in hundredths";
            Err(LabError::Option { option, value: share.to_string(), why })
        };
        let honest = hundredths("--honest", options.honest)?;
        let careless = hundredths("--careless", options.careless)?;
        let hostile = hundredths("--hostile", options.hostile)?;
        let shares = Shares { honest, careless, hostile };
        if honest == 0 || honest + careless + hostile != 100 {
            let why = "honest, careless and hostile shares must make 1, and somebody must be honest";
            return Err(LabError::Option { option: "--honest", value: shares.text(), why });
        }
        Ok(shares)
    }

    /// With another share of hostile reporters, in place of honest ones where there are as many.
    pub(super) fn with_hostile(self, hostile: u32) -> Option<Self> {
        let honest = (self.honest + self.hostile).checked_sub(hostile).filter(|&honest| honest > 0)?;
        Some(Shares { honest, hostile, ..self })
    }

    /// As rows have them.
    pub(super) fn text(self) -> String {
        format!("{}/{}/{}", self.honest, self.careless, self.hostile)
    }

    /// What each of so many reporters is like. Who is hostile with a small share is hostile with a larger one, too.
    pub(super) fn characters(self, reporters: usize, seed: u64) -> Vec<Character> {
        let of = |share: u32| (reporters as f64 * f64::from(share) / 100.0).round() as usize;
        let mut ranks: Vec<usize> = (0..reporters).collect();
        draw::shuffle(&mut ranks, &mut draw::stream(seed, &[EXPERIMENT, RANKS]));
        let character = |rank: usize| match rank {
            _ if rank < of(self.hostile) => Character::Hostile,
            _ if reporters - 1 - rank < of(self.careless) => Character::Careless,
            _ => Character::Honest,
        };
        ranks.into_iter().map(character).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIX: Shares = Shares { honest: 70, careless: 20, hostile: 10 };

    #[test]
    fn characters_have_their_shares_and_the_hostile_stay_hostile() {
        let few = MIX.characters(20, 7);
        let count = |of: &[Character], one| of.iter().filter(|&&character| character == one).count();
        assert_eq!(CHARACTERS.map(|one| count(&few, one)), [14, 4, 2]);
        let many = MIX.with_hostile(30).expect("honest ones are left").characters(20, 7);
        assert_eq!(CHARACTERS.map(|one| count(&many, one)), [10, 4, 6]);
        for (few, many) in few.iter().zip(&many) {
            assert!(*few != Character::Hostile || *many == Character::Hostile);
            assert_eq!(*few == Character::Careless, *many == Character::Careless);
        }
        assert_eq!(MIX.with_hostile(80), None, "nobody honest is left");
    }

    #[test]
    fn shares_that_do_not_make_one_are_refused() {
        let refused = |honest, careless, hostile| {
            let options = Options { honest, careless, hostile, ..Options::default() };
            Shares::of(&options).expect_err("refused").to_string()
        };
        assert!(refused(0.7, 0.2, 0.2).contains("70/20/20"));
        assert!(refused(0.0, 0.5, 0.5).contains("0/50/50"));
        assert!(refused(1.5, 0.0, 0.0).starts_with("--honest 1.5"));
        assert!(refused(f64::NAN, 0.0, 0.0).starts_with("--honest NaN"));
    }

    #[test]
    fn nobody_honest_lies_and_nobody_hostile_helps() {
        for called_spam in [false, true] {
            assert_ne!(Character::Honest.says(true, called_spam, 0.0), Some(Word::Revoke));
            assert_ne!(Character::Honest.says(false, called_spam, 0.0), Some(Word::Report));
            assert_ne!(Character::Hostile.says(true, called_spam, 0.0), Some(Word::Report));
            assert_ne!(Character::Hostile.says(false, called_spam, 0.0), Some(Word::Revoke));
        }
        assert_eq!(Character::Careless.says(false, false, 0.01), Some(Word::Report));
        assert_eq!(Character::Careless.says(false, false, 0.99), None);
    }
}
