//! The bin filter as its paper has it: spam words only, weights `Ps/Pns`, equal memory for every bin, cuts by its
//! annealing; the credits of a message's words add up.

use seenit_filter::bins::{BinFilter, Credit, Goal, Plan, Schedule, Weights, anneal};
use seenit_filter::file::{BinFile, Stored};
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_signature::Message;
use seenit_words::{Trainer, token};

use super::{Mail, Trial, judge, roc};
use crate::bench::LabError;

/// The paper's fewest bins.
const BINS: usize = 10;

/// Words are hashed already.
struct Hashed;

impl KeyHasher<Hash128> for Hashed {
    fn hash(&self, key: &Hash128) -> Hash128 {
        *key
    }
}

/// Judges with the spam words of `trainer` in `bits` bits.
pub(super) fn trial(trainer: &Trainer, bits: u64, seed: u64, test: &[&Mail]) -> Result<Trial, LabError> {
    let key = SipKey::public();
    let (words, sizes): (Vec<Hash128>, Vec<f64>) =
        trainer.weights().into_iter().filter(|&(_, weight)| weight > 0.0).unzip();
    let weights = Weights::new(&sizes)?;
    let goal = Goal::EqualBits;
    let bins = BINS.min(words.len());
    let cuts = anneal(goal, &weights, bins, bits, Schedule::paper(), seed)?.cuts;
    let plan = Plan::for_cuts(goal, &weights, cuts, bits)?;
    let filter = BinFilter::build(&Hashed, key.fingerprint(), &words, &weights, &plan)?;
    let mut scores = Vec::new();
    let mut credits = Vec::new();
    let msgs_per_s = judge(test, |_, bytes| {
        let words = token::hashes(&Message::parse(bytes), &key);
        credits.clear();
        credits.resize(words.len(), Credit::default());
        filter.credit_many(&Hashed, &words, &mut credits);
        scores.push(credits.iter().map(|credit| credit.weight).sum());
    })?;
    let shares = vec![[0.0; 2]; filter.bins().count()];
    let model_bytes = BinFile { filter, shares, notes: Vec::new() }.header().file_bytes();
    Ok(Trial { roc: roc(test, &scores), model_bytes, msgs_per_s, said: Vec::new() })
}
