//! `seenit words`: train a model of words, ask it, and see how good it would be.

mod eval;
mod score;
mod train;

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seenit_mailbox::Mailbox;
use seenit_words::{BITS_MAX, Options, Side};

use crate::problem::Problem;
use crate::progress::Progress;
use crate::range::within;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Learn the words of spam and of good mail, and write them as one small file
    Train(train::Arguments),
    /// Show how likely messages are spam by their words, and which words mattered
    Score(score::Arguments),
    /// Measure how much spam a model of these messages would catch, by cross-validation
    Eval(eval::Arguments),
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Train(arguments) => train::run(arguments)?,
        Command::Score(arguments) => score::run(arguments)?,
        Command::Eval(arguments) => eval::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Messages of both sides, and how to make a model of them.
#[derive(Args)]
struct Training {
    /// Spam: files, mbox files, Maildirs, folders, archives (.tar, .tar.gz, .tar.zst), or - for standard input
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    spam: Vec<PathBuf>,
    /// Good mail, likewise
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    ham: Vec<PathBuf>,
    /// Bits of all bins together [default: 7 a word]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(1..=BITS_MAX))]
    bits: Option<u64>,
    /// Bins of spam words, and as many of good words, 1 to 32
    #[arg(long, value_name = "L", default_value_t = Options::default().bins)]
    bins: usize,
    /// Cut the bins by simulated annealing, as the paper does, in place of the exact optimum
    #[arg(long)]
    anneal: bool,
}

/// The seed of annealing: equal messages give equal files.
const ANNEALING_SEED: u64 = 1;

impl Training {
    fn options(&self) -> Options {
        let annealing_seed = self.anneal.then_some(ANNEALING_SEED);
        Options { bits: self.bits, bins: self.bins, annealing_seed }
    }

    /// Calls `visit` with every message and its side, one at a time.
    fn each_message(&self, mut visit: impl FnMut(Side, &[u8]) -> Result<(), Problem>) -> Result<(), Problem> {
        let pipes = self.spam.iter().chain(&self.ham).filter(|path| path.as_os_str() == "-");
        if pipes.count() > 1 {
            return Err(Problem::StdinTwice);
        }
        for (side, paths, what) in [(Side::Spam, &self.spam, "spam"), (Side::Ham, &self.ham, "ham")] {
            let mailbox = Mailbox::find(paths)?;
            let progress = RefCell::new(Progress::of_bytes(what, mailbox.bytes()));
            let watch = |bytes| progress.borrow_mut().advance(bytes);
            let mailbox = mailbox.watched(&watch);
            mailbox.each_message(&mut |_, bytes| visit(side, bytes))?;
            if let Some(skipped) = mailbox.skipped() {
                eprintln!("seenit: {skipped}");
            }
        }
        Ok(())
    }
}
