//! `seenit lab report`: every experiment on one page.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use seenit_lab::account::{Account, Table, Verdict};
use seenit_lab::bench::DEFAULT_SEED;
use seenit_lab::page::{Chapter, page};
use seenit_lab::{Bench, EXPERIMENTS, LabError, Outcome};
use seenit_lab::{bins, counting, pages, redstop, replicas, retouch, site, storage, words};
use seenit_mailbox::MailError;

use super::progress::LabProgress;
use crate::output;
use crate::problem::Problem;

pub(super) const EXAMPLES: &str = "\
Examples:
  seenit lab report --out report --quick    a small version of everything, in about a minute
  seenit lab report --out report            all rounds of all experiments";

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Where to put index.html; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Seed of all random numbers: equal seeds give equal results
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// The shared corpus of real mail, for the experiments that use it
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// A small version of every experiment
    #[arg(long)]
    quick: bool,
}

type Runner = fn(&Bench<'_>) -> Result<Account, LabError>;

/// In the order of [`EXPERIMENTS`].
const RUNNERS: [Runner; EXPERIMENTS.len()] = [
    |bench| counting::run(&Default::default(), bench).map(account),
    |bench| retouch::run(&Default::default(), bench).map(account),
    |bench| redstop::run(&Default::default(), bench).map(account),
    |bench| bins::run(&Default::default(), bench).map(account),
    |bench| pages::run(&super::pages::options(None), bench).map(account),
    |bench| storage::run(&Default::default(), bench).map(account),
    |bench| unless_missing(replicas::run(&Default::default(), bench).map(account), bench),
    |bench| unless_missing(words::run(&Default::default(), bench).map(account), bench),
    |bench| unless_missing(site::run(&Default::default(), bench).map(account), bench),
];

fn account<R>(outcome: Outcome<R>) -> Account {
    outcome.account
}

/// A report without a corpus, or without the program that one experiment compares with, is still a report; it says what
/// is missing.
fn unless_missing(result: Result<Account, LabError>, bench: &Bench<'_>) -> Result<Account, LabError> {
    match result {
        Err(error) if is_missing(&error, bench) => {
            let skipped = Table {
                title: "Skipped".into(),
                head: vec!["reason".into()],
                rows: vec![vec![error.to_string()]],
                verdict: Verdict::Ours,
                summary: format!("skipped: {error}."),
            };
            Ok(Account { tables: vec![skipped], ..Account::default() })
        }
        other => other,
    }
}

/// Whether it stopped for want of something that nobody promised. A corpus that was named must be readable; but a
/// folder without an index will do for the experiment `pages`, which takes any mail.
fn is_missing(error: &LabError, bench: &Bench<'_>) -> bool {
    match (error, bench.corpus_folder()) {
        (LabError::Program { .. }, _) | (LabError::Option { option: "--corpus", .. }, Err(_)) => true,
        (LabError::Mail(MailError::Open { .. }), Ok(folder)) => {
            folder.is_dir() && !folder.join("index.tsv").exists()
        }
        _ => false,
    }
}

pub(super) fn run(args: &ReportArgs) -> Result<(), Problem> {
    let path = args.out.join("index.html");
    // Before the work, so that nobody waits for a page that cannot be written, or for a corpus that is not there.
    fs::create_dir_all(&args.out).map_err(Problem::output(&args.out))?;
    if let Some(corpus) = &args.corpus {
        fs::metadata(corpus).map_err(Problem::input(corpus))?;
    }
    let progress = LabProgress::new();
    let seed = args.seed;
    let corpus = args.corpus.clone();
    let quick = args.quick;
    let bench = Bench { seed, rounds: None, corpus, quick, progress: &progress };
    let mut chapters = Vec::new();
    for ((name, question), runner) in EXPERIMENTS.into_iter().zip(RUNNERS) {
        chapters.push(Chapter { name, question, account: runner(&bench)? });
    }
    drop(bench);
    let profile = if quick { "the quick profile" } else { "all rounds" };
    let made_with = format!("Made by seenit {} with seed {seed}, {profile}.", env!("CARGO_PKG_VERSION"));
    let document = page(&chapters, &made_with);
    output::write_file(&path, document.len() as u64, &[], |out| out.write_all(document.as_bytes()))?;
    output::text(&summary(&chapters, &path.display().to_string()))
}

/// The verdict of each table, and where the page is.
fn summary(chapters: &[Chapter], path: &str) -> String {
    let tables =
        chapters.iter().flat_map(|chapter| chapter.account.tables.iter().map(move |table| (chapter, table)));
    let lines = tables
        .map(|(chapter, table)| format!("{:8}{:10}{}\n", table.verdict.as_str(), chapter.name, table.title))
        .collect::<String>();
    lines + path + "\n"
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A corpus that was named and cannot be read was once skipped, and the report a success.
    #[test]
    fn only_what_nobody_named_is_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |path: &str| {
            let error = io::Error::from(io::ErrorKind::NotFound);
            LabError::Mail(MailError::Open { path: folder.path().join(path), error })
        };
        let bench = |name: &str| Bench { corpus: Some(folder.path().join(name)), ..Bench::new(&()) };
        assert!(unless_missing(Err(open("typo/index.tsv")), &bench("typo")).is_err(), "no such folder");
        let skipped =
            unless_missing(Err(open("index.tsv")), &bench("")).expect("a folder of mail without an index");
        assert!(skipped.tables[0].summary.contains("index.tsv"), "it says why");
        fs::write(folder.path().join("index.tsv"), "path\tlabel\n").expect("an index");
        assert!(
            unless_missing(Err(open("mail.tar")), &bench("")).is_err(),
            "an archive of the index is missing"
        );
        let small = || LabError::Option { option: "--corpus", value: "2 messages".into(), why: "too few" };
        assert!(unless_missing(Err(small()), &bench("")).is_err(), "a corpus that is too small");
        let program = LabError::Program { program: "p", package: "p", why: "gone".into() };
        assert!(unless_missing(Err(program), &bench("")).is_ok(), "a program that is not installed");
    }
}
