//! `seenit words eval`: every message is judged by a model that never saw it.

use std::path::PathBuf;

use clap::Args;
use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::random::SplitMix;
#[cfg(feature = "lab")]
use seenit_lab::{Axis, Figure, Series};
use seenit_signature::Message;
use seenit_words::roc::{Reliability, Roc, reliability};
use seenit_words::{Side, Trainer, WordsError, token};
use serde::Serialize;

use super::Training;
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::range::within;

/// The most words of all messages: they are in memory, 16 bytes each.
const WORDS_MAX: usize = 1 << 27;

/// The shares of ham lost that the table shows.
const SHARES: [f64; 9] = [0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// Which messages are judged together follows from it.
const SEED: u64 = 1;

#[derive(Args)]
#[command(after_help = "Example: seenit words eval --spam spam.mbox --ham Maildir --folds 10 --plot roc.svg")]
pub(crate) struct Arguments {
    #[command(flatten)]
    training: Training,
    /// Parts that the messages are cut into: each is judged by a model of all others
    #[arg(long, value_name = "K", default_value_t = 5, allow_negative_numbers = true,
        value_parser = within(2..=100_u32))]
    folds: u32,
    /// Draw spam caught against ham lost, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found. Names are a contract: scripts read them.
#[derive(Serialize)]
struct Report {
    spam_messages: usize,
    ham_messages: usize,
    folds: u32,
    /// Messages without words.
    no_opinion: usize,
    auc: f64,
    spam_caught_at_0001: f64,
    spam_caught_at_001: f64,
    roc: Vec<Point>,
    reliability: Vec<Said>,
}

#[derive(Serialize)]
struct Point {
    ham_lost: f64,
    spam_caught: f64,
}

#[derive(Serialize)]
struct Said {
    from: f64,
    to: f64,
    messages: u64,
    mean_probability: f64,
    spam_share: f64,
}

impl From<Reliability> for Said {
    fn from(row: Reliability) -> Self {
        let Reliability { range: (from, to), messages, said, was } = row;
        Said { from, to, messages, mean_probability: said, spam_share: was }
    }
}

/// A message: its side, its words, and the part that it is in.
struct Mail {
    side: Side,
    words: Vec<Hash128>,
    fold: u32,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    // The lab draws, and before an hour's work is the time to say that there is none.
    #[cfg(not(feature = "lab"))]
    if let Some(path) = &arguments.plot {
        return Err(Problem::NoLab(format!("seenit words eval --plot {}", path.display())));
    }
    let mut mails = read(&arguments.training)?;
    check(&mails, arguments.folds)?;
    deal(&mut mails, arguments.folds);
    let mut progress = Progress::new("parts judged", Some(arguments.folds.into()));
    let mut spam = Vec::new();
    let mut ham = Vec::new();
    let mut said = Vec::new();
    let mut no_opinion = 0;
    for fold in 0..arguments.folds {
        let mut trainer = Trainer::new();
        mails.iter().filter(|mail| mail.fold != fold).for_each(|mail| trainer.learn(mail.side, &mail.words));
        let model = trainer.train(&arguments.training.options())?.model;
        for mail in mails.iter().filter(|mail| mail.fold == fold) {
            let opinion = model.opinion(&mail.words);
            no_opinion += usize::from(opinion.is_none());
            said.extend(opinion.as_ref().map(|opinion| (opinion.probability, mail.side == Side::Spam)));
            let score = opinion.map_or(model.neutral_score(), |opinion| opinion.score);
            if mail.side == Side::Spam { spam.push(score) } else { ham.push(score) }
        }
        progress.advance(1);
    }
    drop(progress);
    let roc = Roc::of(&spam, &ham);
    #[cfg(feature = "lab")]
    if let Some(path) = &arguments.plot {
        let svg = figure(&roc, arguments.folds).svg();
        output::write_file(path, svg.len() as u64, &[], |out| out.write_all(svg.as_bytes()))?;
    }
    let report = Report {
        spam_messages: spam.len(),
        ham_messages: ham.len(),
        folds: arguments.folds,
        no_opinion,
        auc: roc.auc(),
        spam_caught_at_0001: roc.caught_at(0.001),
        spam_caught_at_001: roc.caught_at(0.01),
        roc: SHARES.map(|share| Point { ham_lost: share, spam_caught: roc.caught_at(share) }).into(),
        reliability: reliability(&said).into_iter().map(Said::from).collect(),
    };
    if arguments.json { output::json(&report) } else { output::text(&report.lines()) }
}

/// The words of all messages.
fn read(training: &Training) -> Result<Vec<Mail>, Problem> {
    let key = SipKey::public();
    let mut mails = Vec::new();
    let mut total = 0;
    training.each_message(|side, bytes| {
        let words = token::hashes(&Message::parse(bytes), &key);
        total += words.len();
        if total > WORDS_MAX {
            let why = format!("more than {WORDS_MAX} words; evaluate on fewer messages");
            return Err(Problem::io("messages")(std::io::Error::other(why)));
        }
        mails.push(Mail { side, words, fold: 0 });
        Ok(())
    })?;
    Ok(mails)
}

/// Refuses fewer messages of a side than parts: some part would have none to judge, or leave none to learn from.
fn check(mails: &[Mail], folds: u32) -> Result<(), Problem> {
    let of = |side: Side| mails.iter().filter(|mail| mail.side == side).count() as u64;
    let spam = of(Side::Spam);
    let ham = of(Side::Ham);
    if spam.min(ham) < u64::from(folds) {
        return Err(WordsError::TooFew { spam, ham, parts: folds }.into());
    }
    Ok(())
}

/// Deals each side's messages, shuffled, to the parts in turn.
fn deal(mails: &mut [Mail], folds: u32) {
    // Fisher and Yates: all orders are equally likely.
    let mut random = SplitMix(SEED);
    for i in (1..mails.len()).rev() {
        mails.swap(i, random.below(i as u64 + 1) as usize);
    }
    for side in [Side::Spam, Side::Ham] {
        let mine = mails.iter_mut().filter(|mail| mail.side == side);
        mine.zip((0..folds).cycle()).for_each(|(mail, fold)| mail.fold = fold);
    }
}

#[cfg(feature = "lab")]
fn figure(roc: &Roc, folds: u32) -> Figure {
    Figure {
        title: "Spam caught against ham lost".into(),
        caption: format!("Cross-validated in {folds} parts; a threshold takes every message at or above it."),
        x: Axis::log("share of ham lost"),
        y: Axis::linear("share of spam caught"),
        series: vec![Series::line("words", SHARES[1..].iter().map(|&share| (share, roc.caught_at(share))))],
    }
}

impl Report {
    fn lines(&self) -> String {
        let mut text = format!(
            "{} spam and {} ham messages in {} parts, {} without words\nAUC {:.5}\n\n  ham lost  spam caught\n",
            self.spam_messages, self.ham_messages, self.folds, self.no_opinion, self.auc
        );
        for point in &self.roc {
            text += &format!("{:8.2} %  {:9.2} %\n", 100.0 * point.ham_lost, 100.0 * point.spam_caught);
        }
        text += "\n   probability  messages  mean said  share of spam\n";
        for row in &self.reliability {
            let range = format!("{} to {}", row.from, row.to);
            text += &format!(
                "{range:>14}  {:8}  {:9.4}  {:13.4}\n",
                row.messages, row.mean_probability, row.spam_share
            );
        }
        text
    }
}
