//! Words on real mail: our bins on both sides, the paper's bins of spam words, and bogofilter, on the same bytes.
//!
//! Half of the corpus, drawn anew for each round, is for training and the other half for judging. Every program gets
//! the same mails, of which all headers but the subject and those of MIME are taken off, from the same files.
//! What is fitted is fitted to the half that trains; docs/notebook/words.md says how the constants were chosen.

mod bogofilter;
mod figures;
mod findings;
mod mail;
mod paper;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use seenit_filter::file::Stored;
use seenit_filter::hash::{Hash128, SipKey};
use seenit_mailbox::{Corpus, Label};
use seenit_signature::Message;
use seenit_words::roc::Roc;
use seenit_words::{Side, Trainer, token};
use serde::Serialize;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};
use crate::draw;

/// This experiment's number in the paths of random streams.
const EXPERIMENT: u64 = 8;

/// The half splits of the full experiment.
const SPLITS: u32 = 5;

/// The quick profile takes every so many-th message.
const QUICK_STRIDE: usize = 4;

/// What can be asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bins a side.
    pub bins: usize,
    /// Bits of all bins together; `None` for the default of training.
    pub bits: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let words = seenit_words::Options::default();
        Options { bins: words.bins, bits: words.bits }
    }
}

/// One filter, means over the splits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `seenit`, `paper` or `bogofilter`.
    pub name: &'static str,
    /// The chance that a spam message scores higher than a good one.
    pub auc: f64,
    /// The share of spam caught when at most one good message in a thousand is lost.
    pub spam_caught_at_0001: f64,
    /// The same for one in a hundred.
    pub spam_caught_at_001: f64,
    /// The file that was trained.
    pub model_bytes: u64,
    /// Messages judged in a second, by one process, from files.
    pub msgs_per_s: f64,
}

/// The three, in the order of rows.
const NAMES: [&str; 3] = ["seenit", "paper", "bogofilter"];

/// A message of the experiment.
struct Mail {
    is_spam: bool,
    path: PathBuf,
    words: Vec<Hash128>,
}

/// What one filter did in one split.
struct Trial {
    roc: Roc,
    model_bytes: u64,
    msgs_per_s: f64,
    /// Probabilities beside the truth, of those that give probabilities.
    said: Vec<(f64, bool)>,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let folder = bench.corpus_folder()?;
    bogofilter::check()?;
    let scratch =
        tempfile::tempdir().map_err(|error| LabError::File { path: "a temporary folder".into(), error })?;
    let mails = read(&folder, scratch.path(), bench)?;
    let splits = bench.rounds_or(SPLITS, 2);
    let mut trials: [Vec<Trial>; 3] = Default::default();
    bench.progress.begin("half splits, three filters each", u64::from(splits) * 3);
    for split in 0..splits {
        let mut order: Vec<&Mail> = mails.iter().collect();
        draw::shuffle(&mut order, &mut draw::stream(bench.seed, &[EXPERIMENT, u64::from(split)]));
        let (train, test) = order.split_at(order.len() / 2);
        let (ours, trainer, bits) = seenit(options, train, test)?;
        trials[0].push(ours);
        bench.progress.advance(1);
        trials[1].push(paper::trial(&trainer, bits, bench.seed, test)?);
        bench.progress.advance(1);
        trials[2].push(bogofilter::trial(scratch.path(), train, test)?);
        bench.progress.advance(1);
    }
    let rows = NAMES.iter().zip(&trials).map(|(name, trials)| row(name, trials)).collect::<Vec<_>>();
    let account = Account {
        tables: tables::tables(&rows, &trials, &mails),
        figures: figures::figures(&trials),
        findings: findings::findings(&rows, &trials),
    };
    Ok(Outcome { rows, account })
}

/// The corpus with its headers taken off, written to files that every filter reads.
fn read(folder: &Path, scratch: &Path, bench: &Bench<'_>) -> Result<Vec<Mail>, LabError> {
    let corpus = Corpus::read(folder)?;
    let chosen: Vec<_> = corpus.messages.iter().step_by(bench.choose(1, QUICK_STRIDE)).collect();
    bench.progress.begin("messages", chosen.len() as u64);
    let key = SipKey::public();
    let mails = chosen.par_iter().enumerate().map(|(number, message)| {
        let path = scratch.join(format!("{number}.eml"));
        let bytes = mail::subject_and_body(&message.bytes);
        fs::write(&path, &bytes).map_err(|error| LabError::File { path: path.clone(), error })?;
        bench.progress.advance(1);
        let words = token::hashes(&Message::parse(&bytes), &key);
        Ok(Mail { is_spam: message.label == Label::Spam, path, words })
    });
    let mails = mails.collect::<Result<Vec<Mail>, LabError>>()?;
    let spam = mails.iter().filter(|mail| mail.is_spam).count();
    // Either half must have both.
    if spam < 8 || mails.len() - spam < 8 {
        let value = format!("{} ({spam} spam, {} ham)", folder.display(), mails.len() - spam);
        let why = "it takes at least 8 messages of each side";
        return Err(LabError::Option { option: "--corpus", value, why });
    }
    Ok(mails)
}

/// Ours; with the trainer, and the bits that were used.
fn seenit(options: &Options, train: &[&Mail], test: &[&Mail]) -> Result<(Trial, Trainer, u64), LabError> {
    let mut trainer = Trainer::new();
    for mail in train {
        trainer.learn(if mail.is_spam { Side::Spam } else { Side::Ham }, &mail.words);
    }
    let options = seenit_words::Options { bits: options.bits, bins: options.bins, annealing_seed: None };
    let trained = trainer.train(&options)?;
    let model = &trained.model;
    let key = SipKey::public();
    let mut said = Vec::new();
    let mut scores = Vec::new();
    let msgs_per_s = judge(test, |mail, bytes| {
        // A message without words has no opinion; it is ordered where nothing speaks for either side.
        let opinion = model.opinion(&token::hashes(&Message::parse(bytes), &key));
        said.extend(opinion.as_ref().map(|opinion| (opinion.probability, mail.is_spam)));
        scores.push(opinion.map_or(model.neutral_score(), |opinion| opinion.score));
    })?;
    let model_bytes = model.file().header().file_bytes();
    let trial = Trial { roc: roc(test, &scores), model_bytes, msgs_per_s, said };
    Ok((trial, trainer, trained.summary.bits))
}

/// Reads each mail and hands it to `judge`; how many that made a second.
fn judge(test: &[&Mail], mut judge: impl FnMut(&Mail, &[u8])) -> Result<f64, LabError> {
    let started = Instant::now();
    for mail in test {
        let bytes =
            fs::read(&mail.path).map_err(|error| LabError::File { path: mail.path.clone(), error })?;
        judge(mail, &bytes);
    }
    Ok(test.len() as f64 / started.elapsed().as_secs_f64())
}

/// The curve of the scores of the judged half.
fn roc(test: &[&Mail], scores: &[f64]) -> Roc {
    let of = |is_spam: bool| {
        let mine = test.iter().zip(scores).filter(|(mail, _)| mail.is_spam == is_spam);
        mine.map(|(_, &score)| score).collect::<Vec<f64>>()
    };
    Roc::of(&of(true), &of(false))
}

fn row(name: &'static str, trials: &[Trial]) -> Row {
    let mean = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / trials.len() as f64;
    Row {
        name,
        auc: mean(&|trial| trial.roc.auc()),
        spam_caught_at_0001: mean(&|trial| trial.roc.caught_at(0.001)),
        spam_caught_at_001: mean(&|trial| trial.roc.caught_at(0.01)),
        model_bytes: mean(&|trial| trial.model_bytes as f64).round() as u64,
        msgs_per_s: mean(&|trial| trial.msgs_per_s),
    }
}
