//! The tables of replicas.

use super::Study;
use super::curves::HAM_LEARNT;
use super::findings::spread;
use super::kinds::SIGHTINGS;
use super::memory::{ANY, DEFAULT_THRESHOLD, LIKEST, LOW_THRESHOLD, RULES, SAME, SHIPPED};
use crate::account::{Table, Verdict};

/// Thresholds that tables show.
const THRESHOLDS: [u32; 7] = [5, 9, 12, 14, 17, 21, 26];

/// All tables.
pub(super) fn all(study: &Study) -> Vec<Table> {
    vec![kinds(study), rules(study), orders(study), attacks(study), poison(study), estimates(study)]
}

fn table(title: &str, head: Vec<String>, rows: Vec<Vec<String>>, summary: String) -> Table {
    Table { title: title.into(), head, rows, verdict: Verdict::Ours, summary }
}

fn heads<T: AsRef<str>>(heads: impl IntoIterator<Item = T>) -> Vec<String> {
    heads.into_iter().map(|head| head.as_ref().to_owned()).collect()
}

fn kinds(study: &Study) -> Table {
    let rows = study.rounds[0].kinds.iter().map(|of| {
        let cells = of.hits.iter().map(|hits| format!("{} / {}", hits.spam, hits.ham));
        std::iter::once(of.kind.to_string()).chain(cells).collect()
    });
    let head = heads(["kind"].map(String::from).into_iter().chain(SIGHTINGS.map(|n| format!("{n} seen"))));
    table(
        "Kinds: spam caught / ham hit after so many sightings in spam",
        head,
        rows.collect(),
        format!(
            "Of {} spam and {} ham, on arrival. Kinds other than near1 count sightings in spam alone: what is known \
             to be good does not cancel them. near1 is the rule that ships, all ham learnt: {DEFAULT_THRESHOLD} \
             matching shingles, each seen in spam so often.",
            study.spam, study.ham
        ),
    )
}

/// Whether what is known of ham does not matter to a rule.
fn asks_no_ham(rule: usize) -> bool {
    [ANY, SAME, LIKEST].contains(&rule)
}

fn rules(study: &Study) -> Table {
    let mut rows = Vec::new();
    for (number, rule) in RULES.into_iter().enumerate() {
        for (share, learnt) in HAM_LEARNT.into_iter().enumerate() {
            if asks_no_ham(number) && learnt > 0.0 {
                continue;
            }
            let curve = &study.rounds[0].curves[share][number];
            let cells =
                THRESHOLDS.map(|t| curve[t as usize - 1]).map(|hits| format!("{} / {}", hits.spam, hits.ham));
            let learnt = if asks_no_ham(number) { "any".into() } else { learnt.to_string() };
            rows.push([rule.to_owned(), learnt].into_iter().chain(cells).collect());
        }
    }
    let thresholds = THRESHOLDS.map(|t| format!("{t} of 32"));
    let head = heads(["rule", "ham learnt"].map(String::from).into_iter().chain(thresholds));
    table(
        "Shingles: spam caught / ham hit from so many matching shingles on",
        head,
        rows,
        format!(
            "any: seen in spam; minus: and never in ham; ratio: more than four times as often as in ham; same: \
             last learnt with one and the same text, as rspamd's storage has it; likest: shared with one and the same \
             spam message, whoever came after, which no storage we know keeps; shipped: ratio, asked of \
             the product's filters ({}). near1 is withheld for {} spam and {} ham, which no rule catches.",
            study.geometry.text(),
            study.withheld[0],
            study.withheld[1]
        ),
    )
}

fn orders(study: &Study) -> Table {
    let mut rows = Vec::new();
    for rule in [SHIPPED, SAME, LIKEST] {
        for threshold in [LOW_THRESHOLD, DEFAULT_THRESHOLD] {
            let hits = |round: &super::Round| super::findings::hits(round, rule, threshold);
            let spam = spread(study, |round| hits(round).spam as f64);
            let ham = spread(study, |round| hits(round).ham as f64);
            let cells = [spam.0, spam.1, spam.2, ham.0, ham.1, ham.2].map(|value| format!("{value:.1}"));
            let name = format!("{}, {threshold} of 32", RULES[rule]);
            rows.push(std::iter::once(name).chain(cells).collect());
        }
    }
    let seeds: Vec<String> = study.rounds.iter().map(|round| round.shuffle.to_string()).collect();
    table(
        "Over several orders of arrival",
        heads(["rule", "spam least", "mean", "most", "ham least", "mean", "most"]),
        rows,
        format!(
            "All ham learnt; orders by the seeds {}. The other tables are of the first.",
            seeds.join(", ")
        ),
    )
}

fn attacks(study: &Study) -> Table {
    let first = &study.rounds[0].attacks;
    let rows = first.chunks(2).enumerate().map(|(number, two)| {
        let cells = two.iter().zip(2 * number..).flat_map(|(one, place)| {
            let (least, _, most) = spread(study, |round| round.attacks[place].share());
            [
                format!("{} of {}", one.kept, one.matches),
                format!("{:.1} %", 100.0 * one.share()),
                format!("{:.1} to {:.1} %", 100.0 * least, 100.0 * most),
            ]
        });
        std::iter::once(two[0].attack.to_owned()).chain(cells).collect()
    });
    let low = format!("kept at {LOW_THRESHOLD}");
    let usual = format!("kept at {DEFAULT_THRESHOLD}");
    table(
        "Attacks: what is still caught of what was caught",
        heads(["attack", low.as_str(), "share", "all orders", usual.as_str(), "share", "all orders"]),
        rows.collect(),
        "The text that a reader sees, changed and judged in the moment in which the message itself was, all \
         ham learnt. Words put in are drawn from the corpus, as often as they occur; text behind is running \
         text of its ham; half of the letters that a digit looks like are digits; html-noise tears words by \
         elements and comments and hides words between them; hash-busters are random strings."
            .into(),
    )
}

fn poison(study: &Study) -> Table {
    let rows = study.rounds[0].poison.iter().map(|one| {
        vec![
            one.poison.to_owned(),
            RULES[one.rule].to_owned(),
            one.threshold.to_string(),
            one.messages.to_string(),
            format!("{} / {}", one.clean.spam, one.clean.ham),
            format!("{} / {}", one.poisoned.spam, one.poisoned.ham),
        ]
    });
    table(
        "Poison: spam caught / ham hit without the lie and with it",
        heads(["poison", "rule", "shingles", "messages", "without", "with"]),
        rows.collect(),
        "All ham learnt. The forged good copy is of the largest campaign, right after its first message, and \
         only that campaign is looked at; 5 % of the spam is learnt as good; 20 ham texts are reported before \
         anything arrives (they themselves are among the ham hit); one footer stands below half of the ham \
         and a tenth of the spam."
            .into(),
    )
}

fn estimates(study: &Study) -> Table {
    let rows = study.estimates.iter().map(|one| {
        vec![
            one.jaccard.to_string(),
            one.shingles.to_string(),
            one.alike.to_string(),
            one.taken.to_string(),
            format!("{:.1} %", 100.0 * one.precision()),
            format!("{:.1} %", 100.0 * one.recall()),
        ]
    });
    table(
        "near1 as an estimate of likeness: pairs of messages",
        heads(["Jaccard of 3-grams", "shingles", "pairs alike", "taken to be", "precision", "recall"]),
        rows.collect(),
        "Every pair of messages that shares a 3-gram. Pairs near the border fall on either side: with 32 \
         shingles the estimate has a standard error of 0.09 at a half."
            .into(),
    )
}
