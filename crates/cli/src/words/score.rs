//! `seenit words score`: how likely a message is spam by its words, and which mattered.

use std::path::PathBuf;

use clap::Args;
use seenit_mailbox::Mailbox;
use seenit_words::{Model, Opinion, Word};
use serde::Serialize;

use crate::mapped::Mapped;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "A message without words gets no opinion.\n\
    Example: seenit words score message.eml --words words.bbf")]
pub(crate) struct Arguments {
    /// Messages: files, mbox files, Maildirs, folders, archives (.tar, .tar.gz, .tar.zst), or - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The model that `words train` wrote
    #[arg(long, value_name = "WORDS", default_value = "words.bbf")]
    words: PathBuf,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    /// None where there is no opinion.
    probability: Option<f64>,
    /// Distinct words.
    words: usize,
    mattered: Vec<Mattered>,
}

#[derive(Serialize)]
struct Mattered {
    token: String,
    side: &'static str,
    bin: usize,
    /// The mean of Ps/Pns in the bin, or of its inverse for good words.
    weight: f64,
    /// What it adds to the sum of the score: above 0 for spam.
    says: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let mapped = Mapped::open(&arguments.words)?;
    let model = Model::open(&mapped.checked()?)
        .map_err(|error| Problem::WordsFile { path: arguments.words.clone(), error })?;
    let mut rows = Vec::new();
    Mailbox::find(&arguments.files)?.each_message(&mut |name, bytes| {
        let row = row(name, model.judge(bytes));
        if arguments.json {
            rows.push(row);
            return Ok(());
        }
        output::text(&row.lines())
    })?;
    if arguments.json { output::json(&rows) } else { Ok(()) }
}

fn row(file: &str, opinion: Option<Opinion>) -> Row {
    let file = file.to_owned();
    let Some(opinion) = opinion else {
        return Row { file, probability: None, words: 0, mattered: Vec::new() };
    };
    let mattered = |word: Word| Mattered {
        token: word.token,
        side: if word.weight > 0.0 { "spam" } else { "good" },
        bin: word.bin,
        weight: word.weight.abs(),
        says: word.says,
    };
    let probability = Some(opinion.probability);
    let words = opinion.words;
    Row { file, probability, words, mattered: opinion.mattered.into_iter().map(mattered).collect() }
}

impl Row {
    fn lines(&self) -> String {
        let Some(probability) = self.probability else {
            return format!("{}\n  no opinion: it has no words\n", self.file);
        };
        let mut text = format!("{}\n  {probability:.4} spam, by {} words\n", self.file, self.words);
        for word in &self.mattered {
            text += &format!(
                "  {:>+6.2}  {:4} bin {:2}, weight {:7.1}  {}\n",
                word.says, word.side, word.bin, word.weight, word.token
            );
        }
        text
    }
}
