//! Poison: what somebody gains who lies to the tallies.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::EXPERIMENT;
use super::change;
use super::curves::{self, Hits, Pass};
use super::mail::{Arrival, Mail, Shingles, near_of_raw};
use super::memory::{ANY, DEFAULT_THRESHOLD, Evidence, Geometry, LOW_THRESHOLD, MINUS, SHIPPED};
use super::tamper::Tamper;
use crate::bench::LabError;
use crate::draw;

/// What random numbers are drawn for, below the experiment.
const LIES: u64 = 4;

/// The share of the spam that is called good.
const CALLED_HAM: f64 = 0.05;

/// Good texts that are reported as spam.
const REPORTED_HAM: usize = 20;

/// Of so many ham and spam messages one has the footer of a list.
const HAM_WITH_FOOTER: usize = 2;
const SPAM_WITH_FOOTER: usize = 10;

/// The footer of a list, in the words of such footers.
const FOOTER: &str = "\n_______________________________________________\n\
You are receiving this message because you are a member of the neighbourhood garden list.\n\
To change how often you get it, or to leave, follow the link in your welcome letter or write to the owner\n\
of the list. Opinions are those of their authors; please trim what you quote and keep to the subject.\n\
Old messages can be searched in the archive.\n";

/// The lies, as they are named.
pub(super) const FORGED: &str = "forged-good-copy";
pub(super) const MISLABELLED: &str = "spam-called-ham-5";
pub(super) const REPORTED: &str = "ham-reported-20";
pub(super) const SHARED_FOOTER: &str = "shared-footer";

/// What a lie changed, by one rule at one threshold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Poisoned {
    pub(super) poison: &'static str,
    pub(super) rule: usize,
    pub(super) threshold: u32,
    pub(super) clean: Hits,
    pub(super) poisoned: Hits,
    /// Messages that are looked at: all, or those of the campaign.
    pub(super) messages: u64,
}

/// All lies, all ham learnt; `clean` is the pass without them.
pub(super) fn all(
    mails: &[Mail],
    arrival: &Arrival,
    clean: &Pass,
    with: (&Geometry, u64),
) -> Result<Vec<Poisoned>, LabError> {
    let campaign = largest_campaign(mails);
    let lies: Vec<(&'static str, [usize; 2], Tamper)> = vec![
        (FORGED, [MINUS, SHIPPED], forged(mails, arrival, &campaign)),
        (MISLABELLED, [MINUS, SHIPPED], mislabelled(mails, with.1)),
        (REPORTED, [ANY, SHIPPED], reported(mails, with.1)),
        (SHARED_FOOTER, [ANY, SHIPPED], shared_footer(mails)),
    ];
    let results: Vec<Vec<Poisoned>> = lies
        .par_iter()
        .map(|(poison, rules, tamper)| {
            let pass = curves::pass(mails, arrival, (1.0, tamper), with)?;
            let is_of = |number: &usize| *poison != FORGED || campaign.contains(number);
            let numbers: Vec<usize> = (0..mails.len()).filter(is_of).collect();
            let mut results = Vec::new();
            for &rule in rules {
                for threshold in [LOW_THRESHOLD, DEFAULT_THRESHOLD] {
                    let hits = |pass: &Pass| {
                        let mut hits = Hits::default();
                        let is_hit =
                            |evidence: &Option<Evidence>| evidence.is_some_and(|of| of[rule] >= threshold);
                        numbers.iter().for_each(|&n| hits.count(mails[n].is_spam, is_hit(&pass[n])));
                        hits
                    };
                    let messages = numbers.len() as u64;
                    let clean = hits(clean);
                    let poisoned = hits(&pass);
                    results.push(Poisoned { poison, rule, threshold, clean, poisoned, messages });
                }
            }
            Ok(results)
        })
        .collect::<Result<_, LabError>>()?;
    Ok(results.concat())
}

/// The largest group of spam that shares the default threshold of shingles with the group's first message.
pub(super) fn largest_campaign(mails: &[Mail]) -> HashSet<usize> {
    let mut holders: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
    let mut groups: Vec<HashSet<usize>> = Vec::new();
    for (number, mail) in mails.iter().enumerate().filter(|(_, mail)| mail.is_spam) {
        let Some(shingles) = &mail.shingles else { continue };
        let mut shared = vec![0; groups.len()];
        for key in shingles.iter().copied().enumerate() {
            holders.get(&key).into_iter().flatten().for_each(|&group| shared[group] += 1);
        }
        match shared.iter().position(|&shared| shared >= DEFAULT_THRESHOLD) {
            Some(group) => {
                groups[group].insert(number);
            }
            None => {
                let of = groups.len();
                shingles.iter().copied().enumerate().for_each(|key| holders.entry(key).or_default().push(of));
                groups.push(HashSet::from([number]));
            }
        }
    }
    // Of equally large ones the first.
    groups.into_iter().rev().max_by_key(HashSet::len).unwrap_or_default()
}

/// A good copy of the campaign's first message, slipped in as early as can be: when the first one has arrived.
fn forged(mails: &[Mail], arrival: &Arrival, campaign: &HashSet<usize>) -> Tamper {
    let first = arrival.order.iter().find(|number| campaign.contains(number));
    let first = first.and_then(|&first| mails[first].shingles);
    Tamper { forged: first.map(|shingles| (campaign.clone(), shingles)), ..Tamper::default() }
}

fn mislabelled(mails: &[Mail], seed: u64) -> Tamper {
    let mut rng = draw::stream(seed, &[EXPERIMENT, LIES, 1]);
    let called_ham = (0..mails.len()).filter(|_| rng.unit() < CALLED_HAM).collect();
    Tamper { called_ham, ..Tamper::default() }
}

fn reported(mails: &[Mail], seed: u64) -> Tamper {
    let mut ham: Vec<Shingles> =
        mails.iter().filter(|mail| !mail.is_spam).filter_map(|mail| mail.shingles).collect();
    draw::shuffle(&mut ham, &mut draw::stream(seed, &[EXPERIMENT, LIES, 2]));
    let before = ham.into_iter().take(REPORTED_HAM).map(|shingles| (shingles, true)).collect();
    Tamper { before, ..Tamper::default() }
}

fn shared_footer(mails: &[Mail]) -> Tamper {
    let numbered = mails.par_iter().enumerate();
    let has_footer = |(number, mail): &(usize, &Mail)| {
        number % if mail.is_spam { SPAM_WITH_FOOTER } else { HAM_WITH_FOOTER } == 0
    };
    let with_footer = |(number, mail): (usize, &Mail)| {
        (number, near_of_raw(change::plain(&format!("{}{FOOTER}", mail.text)).as_bytes()))
    };
    Tamper { replaced: numbered.filter(has_footer).map(with_footer).collect(), ..Tamper::default() }
}
