//! `seenit words train`: messages in, a file of words out. Equal messages give equal bytes.

use std::path::{Path, PathBuf};

use clap::Args;
use seenit_filter::file::Stored;
use seenit_words::{Summary, Trainer};
use serde::Serialize;

use super::Training;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Example: seenit words train --spam Maildir/.Junk --ham Maildir/cur old.tar.gz -o words.bbf"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    training: Training,
    /// The file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was learnt. Names are a contract: scripts read them.
#[derive(Serialize)]
struct Report {
    file: String,
    messages: u64,
    spam_messages: u32,
    ham_messages: u32,
    tokens: u64,
    spam_words: u64,
    good_words: u64,
    bins: u64,
    bits: u64,
    expected_ham_credit: f64,
    member_error: f64,
    file_bytes: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mut trainer = Trainer::new();
    arguments.training.each_message(|side, bytes| {
        trainer.learn_message(side, bytes);
        Ok(())
    })?;
    let trained = trainer.train(&arguments.training.options())?;
    let file = trained.model.file();
    let inputs: Vec<&Path> =
        arguments.training.spam.iter().chain(&arguments.training.ham).map(PathBuf::as_path).collect();
    output::write_filter(&arguments.output, file, &inputs)?;
    let report = report(&arguments.output, &trained.summary, file.header().file_bytes());
    if arguments.json { output::json(&report) } else { output::text(&report.lines()) }
}

fn report(path: &Path, summary: &Summary, file_bytes: u64) -> Report {
    Report {
        file: path.display().to_string(),
        messages: summary.messages.all(),
        spam_messages: summary.messages.spam,
        ham_messages: summary.messages.ham,
        tokens: summary.words,
        spam_words: summary.spam_words,
        good_words: summary.good_words,
        bins: summary.bins,
        bits: summary.bits,
        expected_ham_credit: summary.expected_ham_credit,
        member_error: summary.member_error,
        file_bytes,
    }
}

impl Report {
    fn lines(&self) -> String {
        format!(
            "file      {}, {} bytes\n\
             messages  {} spam, {} ham\n\
             words     {} seen; kept {} of spam and {} good ones\n\
             bins      {}, {} bits\n\
             credit    a word in no bin is credited with {:.4} of spam weight, on average\n\
             error     a word's credit is {:.4} off its weight, on average\n",
            self.file,
            self.file_bytes,
            self.spam_messages,
            self.ham_messages,
            self.tokens,
            self.spam_words,
            self.good_words,
            self.bins,
            self.bits,
            self.expected_ham_credit,
            self.member_error
        )
    }
}
