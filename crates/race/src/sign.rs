//! The race of signing: from the bytes of real messages to each of seenit's own signatures.
//!
//! Every contender begins with the bytes, so that a row is what a caller waits for; they take turns in each round, and
//! reported are medians. What the signatures cost is the difference to `text`, which is what has to be done anyway.
//!
//! Real mail is quick. What a sender can make us do is another question: the slowest messages known (`worst`), each in
//! two sizes, with all signatures of all kinds made of them.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use mail_parser::MessageParser;
use seenit_mailbox::{Corpus, Labelled};
use seenit_signature::{Message, Words, own, sign};
use serde::Serialize;

use crate::report::median;
use crate::worst::{self, Worst};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- sign
  cargo run --release -p seenit-lab --bin race -- sign --corpus ../shared/corpus --rounds 9 --json > sign.json";

/// Parsing and the text alone may be at most this many times as fast as everything.
const TIMES_MAX: f64 = 2.0;

/// The sizes of the slowest messages, in bytes, and the milliseconds that none of that size may take. A message of the
/// first size is a large letter, one of the second the largest that the server takes.
const SMALL: (usize, f64) = (1 << 20, 100.0);
/// See [`SMALL`].
const LARGE: (usize, f64) = (32 << 20, 2000.0);

/// Of the slowest messages, as many are printed.
const WORST_SHOWN: usize = 12;

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

/// One of the slowest messages. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct WorstRow {
    name: String,
    ms_1mb: f64,
    ms_32mib: f64,
}

/// What is printed as JSON: both kinds of rows in one array.
#[derive(Serialize)]
#[serde(untagged)]
enum Printed<'a> {
    Real(&'a Row),
    Worst(&'a WorstRow),
}

pub(crate) fn run(args: &SignArgs) -> Result<(), Box<dyn Error>> {
    let rows = race(&args.corpus, args.rounds)?;
    let mut worst: Vec<WorstRow> = worst::MESSAGES.iter().map(worst_row).collect();
    worst.sort_by(|a, b| b.ms_1mb.total_cmp(&a.ms_1mb));
    if args.json {
        let all = rows.iter().map(Printed::Real).chain(worst.iter().map(Printed::Worst));
        println!("{}", serde_json::to_string_pretty(&all.collect::<Vec<_>>())?);
        return Ok(());
    }
    println!("{}", table(&rows));
    println!("{}", worst_table(&worst));
    println!("{}", target(&rows));
    println!("{}", worst_target(&worst));
    Ok(())
}

/// What all signatures of one of the slowest messages cost, in time of the thread: a busy machine changes that least.
fn worst_row(message: &Worst) -> WorstRow {
    let millis = |bytes| {
        let mail = message.make(bytes);
        let started = thread_time();
        black_box(sign(&mail, &Default::default()));
        ((thread_time() - started) * 1e4).round() / 10.0
    };
    let row = WorstRow {
        name: format!("worst: {}", message.name),
        ms_1mb: millis(SMALL.0),
        ms_32mib: millis(LARGE.0),
    };
    eprintln!("{:40} {:8.1} ms {:8.1} ms", row.name, row.ms_1mb, row.ms_32mib);
    row
}

/// The processor time of this thread, in seconds.
#[cfg(target_os = "linux")]
fn thread_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The time since the first call, where there is no clock of a thread.
#[cfg(not(target_os = "linux"))]
fn thread_time() -> f64 {
    static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    STARTED.elapsed().as_secs_f64()
}

/// The slowest of the slowest, by the small size.
fn worst_table(rows: &[WorstRow]) -> String {
    let mut table = format!("{:40} {:>9} {:>9}\n", "", "ms, 1 MB", "32 MiB");
    for row in rows.iter().take(WORST_SHOWN) {
        table += &format!("{:40} {:>9.1} {:>9.1}\n", row.name, row.ms_1mb, row.ms_32mib);
    }
    table
}

fn worst_target(rows: &[WorstRow]) -> String {
    let most = |millis: fn(&WorstRow) -> f64| rows.iter().map(millis).fold(f64::NAN, f64::max);
    let small = most(|row| row.ms_1mb);
    let large = most(|row| row.ms_32mib);
    let answer = if small <= SMALL.1 && large <= LARGE.1 { "yes" } else { "NO " };
    format!(
        "{answer}  no message of 1 MB takes more than {} ms, none of 32 MiB more than {}: {small:.1}, {large:.1}",
        SMALL.1, LARGE.1
    )
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
        let micros = 1e6 / row.msgs_per_s;
        let share = text / row.msgs_per_s;
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
        let worst = |ms_1mb, ms_32mib| worst_target(&[WorstRow { name: "w".to_owned(), ms_1mb, ms_32mib }]);
        assert!(worst(SMALL.1, LARGE.1).starts_with("yes"));
        assert!(worst(SMALL.1 + 0.1, 0.0).starts_with("NO") && worst(0.0, LARGE.1 + 0.1).starts_with("NO"));
        assert!(worst_target(&[]).starts_with("NO"), "no rows are no answer");
    }

    #[test]
    fn the_slowest_messages_have_the_size_asked_for_and_names_of_their_own() {
        let mut names: Vec<&str> = worst::MESSAGES.iter().map(|message| message.name).collect();
        assert!(worst::MESSAGES.iter().all(|message| message.make(10_000).len() == 10_000));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        let row = serde_json::to_string(&WorstRow { name: "w".to_owned(), ms_1mb: 1.0, ms_32mib: 2.5 });
        assert_eq!(row.expect("plain fields"), r#"{"name":"w","ms_1mb":1.0,"ms_32mib":2.5}"#);
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
