//! The race of signing: from the bytes of real messages to each of seenit's own signatures.
//!
//! Every contender begins with the bytes, so that a row is what a caller waits for; they take turns in each round, and
//! reported are medians. What the signatures cost is the difference to `text`, which is what has to be done anyway.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use mail_parser::MessageParser;
use seenit_mailbox::{Corpus, Labelled};
use seenit_signature::{Message, Words, own};
use serde::Serialize;

use crate::report::median;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- sign
  cargo run --release -p seenit-lab --bin race -- sign --corpus ../shared/corpus --rounds 9 --json > sign.json";

/// Parsing and the text alone may be at most this many times as fast as everything.
const TIMES_MAX: f64 = 2.0;

/// What is done with a message.
type Work = fn(&[u8]);

/// From the bytes of a message to what the row is named for.
const CONTENDERS: [(&str, Work); 6] = [
    ("parse", |mail| {
        black_box(MessageParser::default().parse(mail));
    }),
    ("text", |mail| {
        black_box(Message::parse(mail));
    }),
    ("exact", |mail| {
        black_box(own::exact(&Words::of(&Message::parse(mail).text)));
    }),
    ("near", |mail| {
        black_box(own::near(&Words::of(&Message::parse(mail).text)));
    }),
    ("url", |mail| {
        black_box(own::urls(&Message::parse(mail)));
    }),
    ("all", |mail| {
        let message = Message::parse(mail);
        let words = Words::of(&message.text);
        black_box((own::exact(&words), own::near(&words), own::urls(&message)));
    }),
];

#[derive(Args)]
pub(crate) struct SignArgs {
    /// A corpus of real mail: a folder with index.tsv and its messages.
    #[arg(long, value_name = "DIR", default_value = "../shared/corpus")]
    corpus: PathBuf,
    /// Rounds; reported are medians over them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
}

/// One contender. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    mb_per_s: f64,
    msgs_per_s: f64,
}

pub(crate) fn run(args: &SignArgs) -> Result<(), Box<dyn Error>> {
    let rows = race(&args.corpus, args.rounds)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!("{}", table(&rows));
    println!("{}", target(&rows));
    Ok(())
}

fn race(corpus: &Path, rounds: u32) -> Result<Vec<Row>, Box<dyn Error>> {
    let messages = Corpus::read(corpus)?.messages;
    let mut secs: [Vec<f64>; CONTENDERS.len()] = Default::default();
    for round in 0..rounds as usize {
        for turn in 0..CONTENDERS.len() {
            let who = (turn + round) % CONTENDERS.len();
            let (name, work) = CONTENDERS[who];
            let started = Instant::now();
            messages.iter().for_each(|message| work(&message.bytes));
            secs[who].push(started.elapsed().as_secs_f64());
            eprintln!("round {}/{rounds}  {name:6} {:8.3} s", round + 1, secs[who][round]);
        }
    }
    Ok(CONTENDERS.iter().zip(secs).map(|(&(name, _), secs)| row(name, &messages, secs)).collect())
}

fn row(name: &'static str, messages: &[Labelled], secs: Vec<f64>) -> Row {
    let secs = median(secs).unwrap_or(f64::NAN);
    let megabytes = messages.iter().map(|message| message.bytes.len()).sum::<usize>() as f64 / 1e6;
    let tenths = |speed: f64| (speed * 10.0).round() / 10.0;
    Row { name, mb_per_s: tenths(megabytes / secs), msgs_per_s: (messages.len() as f64 / secs).round() }
}

/// Speeds, and where the time of a message goes.
fn table(rows: &[Row]) -> String {
    let text = speed(rows, "text");
    let mut table =
        format!("{:6} {:>9} {:>12} {:>12} {:>16}\n", "", "MB/s", "messages/s", "us/message", "time / text's");
    for row in rows {
        let (micros, share) = (1e6 / row.msgs_per_s, text / row.msgs_per_s);
        table += &format!(
            "{:6} {:>9} {:>12} {micros:>12.1} {share:>16.2}\n",
            row.name, row.mb_per_s, row.msgs_per_s
        );
    }
    table
}

fn target(rows: &[Row]) -> String {
    let times = speed(rows, "text") / speed(rows, "all");
    let answer = if times <= TIMES_MAX { "yes" } else { "NO " };
    format!(
        "{answer}  exact + near + url take <= {TIMES_MAX}x the time of parsing and text alone: {times:.2}x"
    )
}

fn speed(rows: &[Row], name: &str) -> f64 {
    rows.iter().find(|row| row.name == name).map_or(f64::NAN, |row| row.msgs_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(all: f64) -> [Row; 2] {
        [("text", 1000.0), ("all", all)].map(|(name, msgs_per_s)| Row { name, mb_per_s: 8.5, msgs_per_s })
    }

    #[test]
    fn the_answer_follows_the_rows() {
        assert!(target(&rows(500.0)).starts_with("yes"));
        assert!(target(&rows(499.0)).starts_with("NO"));
        assert!(target(&[]).starts_with("NO"), "no rows are no answer");
    }

    #[test]
    fn json_has_exactly_the_agreed_fields() {
        let json = serde_json::to_string(&rows(1.0)[0]).expect("plain fields");
        assert_eq!(json, r#"{"name":"text","mb_per_s":8.5,"msgs_per_s":1000.0}"#);
    }

    #[test]
    fn the_contenders_are_the_agreed_ones() {
        assert_eq!(CONTENDERS.map(|(name, _)| name), ["parse", "text", "exact", "near", "url", "all"]);
    }
}
