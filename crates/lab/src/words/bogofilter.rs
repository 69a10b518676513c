//! bogofilter as Debian has it: its own tokens, a database of counts, Fisher's method.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Mail, Trial, roc};
use crate::bench::LabError;

/// The exit code of bogofilter that means an error; the lower ones are verdicts.
const ERROR_CODE: i32 = 3;

/// Fails, with the name of the package, when there is no bogofilter.
pub(super) fn check() -> Result<(), LabError> {
    let found = Command::new("bogofilter").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.map(|_| ()).map_err(unusable)
}

fn unusable(why: impl ToString) -> LabError {
    LabError::Program { program: "bogofilter", package: "bogofilter", why: why.to_string() }
}

/// Trains a database of its own below `scratch` and judges with it.
pub(super) fn trial(scratch: &Path, train: &[&Mail], test: &[&Mail]) -> Result<Trial, LabError> {
    let folder =
        tempfile::tempdir_in(scratch).map_err(|error| LabError::File { path: scratch.into(), error })?;
    for (option, is_spam) in [("-s", true), ("-n", false)] {
        let mine: Vec<&Mail> = train.iter().copied().filter(|mail| mail.is_spam == is_spam).collect();
        run(folder.path(), option, &mine)?;
    }
    let path = folder.path().join("wordlist.db");
    let model_bytes = fs::metadata(&path).map_err(|error| LabError::File { path, error })?.len();
    let started = Instant::now();
    let printed = run(folder.path(), "-TT", test)?;
    let msgs_per_s = test.len() as f64 / started.elapsed().as_secs_f64();
    let scores = scores(&printed, test)?;
    let said = test.iter().zip(&scores).map(|(mail, &score)| (score, mail.is_spam)).collect();
    Ok(Trial { roc: roc(test, &scores), model_bytes, msgs_per_s, said })
}

/// Runs it on these mails, named on its standard input; no configuration but its own defaults.
fn run(folder: &Path, option: &str, mails: &[&Mail]) -> Result<String, LabError> {
    let mut command = Command::new("bogofilter");
    command.args(["-C", option, "-b", "-d"]).arg(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(unusable)?;
    let list: Vec<u8> =
        mails.iter().flat_map(|mail| [mail.path.as_os_str().as_encoded_bytes(), b"\n"].concat()).collect();
    let mut input = child.stdin.take().ok_or_else(|| unusable("it has no standard input"))?;
    // While it is still being told of mails, it prints: two pipes, two threads.
    let output = std::thread::scope(|scope| -> io::Result<_> {
        let writer = scope.spawn(move || input.write_all(&list));
        let output = child.wait_with_output()?;
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the list of mails broke off")))?;
        Ok(output)
    });
    let output = output.map_err(unusable)?;
    match output.status.code() {
        Some(code) if code < ERROR_CODE => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => Err(unusable(format!("it ended with {}", output.status))),
    }
}

/// The scores of lines `path score`, in the order of the mails.
fn scores(printed: &str, test: &[&Mail]) -> Result<Vec<f64>, LabError> {
    let mut lines = printed.lines();
    let score = |mail: &&Mail| {
        let line = lines.next().unwrap_or_default();
        let (path, score) = line.rsplit_once(' ').unwrap_or_default();
        let score = score.parse().ok().filter(|_| mail.path == Path::new(path));
        score.ok_or_else(|| unusable(format!("it printed {line:?} for {}", mail.path.display())))
    };
    test.iter().map(score).collect()
}
