//! Messages from wherever mail lies, asked about several at a time. Whatever happens to one, the others are asked.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use clap::Args;
use seenit_mailbox::Mailbox;

use crate::client::AskError;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::progress::Progress;

/// Questions under way at a time: as many as keep a server of a few processors busy, half of what it takes by default.
const AT_A_TIME: usize = 8;

/// Messages that are read before they are asked about together: enough that a slow one holds up few others.
const TOGETHER: usize = 64;

/// Bytes of messages that are held at a time, and one message more.
const TOGETHER_BYTES: usize = 32 << 20;

/// Which messages.
#[derive(Args)]
pub(crate) struct Files {
    /// Messages: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input. A message that cannot be read is named and skipped
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// One message that is asked about: its name, and its bytes.
pub(crate) type Message<'m> = (String, Cow<'m, [u8]>);

/// How the questions of one command went.
pub(crate) struct Questions {
    started: Instant,
    /// Messages that were asked about, and those that could not be read.
    messages: u64,
    /// How those ended that failed.
    failed: Vec<Exit>,
    /// Whether the trouble that all share has been told.
    told: bool,
}

/// A message that waits to be asked about, or why it cannot be.
struct Waiting {
    name: String,
    mail: Result<Vec<u8>, AskError>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.mail.as_ref().map_or(0, Vec::len)
    }
}

impl Questions {
    pub(crate) fn new() -> Self {
        Questions { started: Instant::now(), messages: 0, failed: Vec::new(), told: false }
    }

    /// Asks about each message in some files, and hands each answer on, in the order of the messages.
    pub(crate) fn ask<T: Send>(
        &mut self,
        files: &[PathBuf],
        ask: impl Fn(&[u8]) -> Result<T, AskError> + Sync,
        answered: impl FnMut(&str, Result<T, AskError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.ask_inside(files, |name, mail| Ok(vec![(name.to_owned(), Cow::Borrowed(mail))]), ask, answered)
    }

    /// The same about what `inside` finds in each message.
    pub(crate) fn ask_inside<T: Send>(
        &mut self,
        files: &[PathBuf],
        inside: impl for<'m> Fn(&str, &'m [u8]) -> Result<Vec<Message<'m>>, AskError>,
        ask: impl Fn(&[u8]) -> Result<T, AskError> + Sync,
        mut answered: impl FnMut(&str, Result<T, AskError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mailbox = Mailbox::find_or_failures(files)?;
        let progress = RefCell::new(Progress::of_bytes("messages", mailbox.bytes()));
        let watch = |bytes| progress.borrow_mut().advance(bytes);
        let mailbox = mailbox.watched(&watch);
        let mut waiting = Vec::new();
        let mut bytes = 0;
        let mut ask_those = |questions: &mut Self, waiting: &mut Vec<Waiting>| {
            let answers = ask_together(waiting, &ask);
            let hand_on = || questions.hand_on(waiting, answers, &mut answered);
            let handed_on = progress.borrow().around(hand_on);
            progress.borrow().tell(format!("{} messages", questions.messages));
            handed_on
        };
        mailbox.each_message_or_failure(&mut |name, mail| {
            for found in found_in(name, mail.map_err(AskError::unread), &inside) {
                bytes += found.bytes();
                waiting.push(found);
            }
            // The first is asked alone: trouble that all will share is met once.
            if self.messages == 0 || waiting.len() >= TOGETHER || bytes >= TOGETHER_BYTES {
                bytes = 0;
                return ask_those(self, &mut waiting);
            }
            Ok(())
        })?;
        ask_those(self, &mut waiting)?;
        progress.borrow().finish();
        if let Some(skipped) = mailbox.skipped() {
            eprintln!("seenit: {skipped}");
        }
        Ok(())
    }

    fn hand_on<T>(
        &mut self,
        waiting: &mut Vec<Waiting>,
        answers: Vec<Result<T, AskError>>,
        answered: &mut impl FnMut(&str, Result<T, AskError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        for (Waiting { name, .. }, answer) in waiting.drain(..).zip(answers) {
            self.messages += 1;
            if let Err(error) = &answer {
                self.failed(&name, error);
            }
            answered(&name, answer)?;
        }
        Ok(())
    }

    /// Says what went wrong: once, where it goes wrong for all.
    fn failed(&mut self, name: &str, error: &AskError) {
        self.failed.push(error.exit());
        match error.is_for_all() {
            true if self.told => (),
            true => eprintln!("seenit: {error}"),
            false => eprintln!("seenit: {}: {error}", name.escape_debug()),
        }
        self.told |= error.is_for_all();
    }

    /// The worst of the failures, if there were any.
    pub(crate) fn failure(&self) -> Option<Exit> {
        Exit::worst(&self.failed)
    }

    /// That of the worst failure, else 0.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.failure().unwrap_or(Exit::Done).into()
    }

    /// Says on standard error how many messages there were, and what became of them. One message needs no summary.
    pub(crate) fn tell_summary(&self, kinds: &[(&str, u64)]) {
        if self.messages > 1 {
            eprintln!("seenit: {}", self.summary(kinds));
        }
    }

    fn summary(&self, kinds: &[(&str, u64)]) -> String {
        let failed = [("failed", self.failed.len() as u64)];
        let counted = kinds.iter().chain(&failed).filter(|(_, count)| *count > 0);
        let counted: Vec<String> = counted.map(|(kind, count)| format!("{count} {kind}")).collect();
        let secs = self.started.elapsed().as_secs_f64();
        format!("{} messages in {secs:.1} s: {}", self.messages, counted.join(", "))
    }
}

/// What is to be asked about one message.
fn found_in(
    name: &str,
    mail: Result<&[u8], AskError>,
    inside: &impl for<'m> Fn(&str, &'m [u8]) -> Result<Vec<Message<'m>>, AskError>,
) -> Vec<Waiting> {
    match mail.and_then(|mail| inside(name, mail)) {
        Ok(found) => {
            found.into_iter().map(|(name, mail)| Waiting { name, mail: Ok(mail.into_owned()) }).collect()
        }
        Err(error) => vec![Waiting { name: name.to_owned(), mail: Err(error) }],
    }
}

/// Asks about several messages, [`AT_A_TIME`]; answers come in their order.
fn ask_together<T: Send>(
    waiting: &[Waiting],
    ask: &(impl Fn(&[u8]) -> Result<T, AskError> + Sync),
) -> Vec<Result<T, AskError>> {
    let ask = |one: &Waiting| one.mail.as_ref().map_err(Clone::clone).and_then(|mail| ask(mail));
    if let [one] = waiting {
        return vec![ask(one)];
    }
    let next = AtomicUsize::new(0);
    let answers: Vec<Mutex<Option<_>>> = waiting.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((one, answer)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            waiting.get(at).zip(answers.get(at))
        } {
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(ask(one));
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(waiting.len()) {
            scope.spawn(work);
        }
    });
    // The scope ends only when every message was asked about.
    answers
        .into_iter()
        .filter_map(|answer| answer.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(count: u8) -> Vec<Waiting> {
        (0..count).map(|number| Waiting { name: number.to_string(), mail: Ok(vec![number]) }).collect()
    }

    #[test]
    fn answers_come_in_the_order_of_the_messages_whoever_is_slow() {
        let slow_first = |mail: &[u8]| {
            thread::sleep(std::time::Duration::from_millis(if mail[0] == 0 { 20 } else { 0 }));
            Ok(mail[0])
        };
        let answers = ask_together(&waiting(100), &slow_first);
        let numbers: Vec<u8> = answers.into_iter().map(|answer| answer.expect("answered")).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<u8>>());
        assert!(ask_together(&waiting(0), &slow_first).is_empty());
    }

    #[test]
    fn a_summary_names_only_what_there_was() {
        let mut questions = Questions::new();
        (questions.messages, questions.failed) = (7, vec![Exit::Data]);
        let summary = questions.summary(&[("spam", 4), ("bulk", 0), ("unknown", 2)]);
        assert!(summary.starts_with("7 messages in "), "{summary}");
        assert!(summary.ends_with(" s: 4 spam, 2 unknown, 1 failed"), "{summary}");
    }
}
