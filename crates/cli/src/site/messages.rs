//! Messages from wherever mail lies, asked about one by one.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_mailbox::Mailbox;

use crate::client::AskError;
use crate::problem::Problem;

/// Which messages.
#[derive(Args)]
pub(crate) struct Files {
    /// Messages: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// One message that is asked about: its name, and its bytes.
pub(crate) type Message<'m> = (String, Cow<'m, [u8]>);

/// How the questions of one command went.
#[derive(Default)]
pub(crate) struct Questions {
    /// The exit codes of those that failed.
    failed: Vec<u8>,
    /// Whether the trouble that all share has been told.
    told: bool,
}

impl Questions {
    /// Asks about each message in some files, and hands each answer on.
    pub(crate) fn ask<T>(
        &mut self,
        files: &[PathBuf],
        ask: impl Fn(&[u8]) -> Result<T, AskError>,
        answered: impl FnMut(&str, Result<T, AskError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.ask_inside(files, |name, mail| Ok(vec![(name.to_owned(), Cow::Borrowed(mail))]), ask, answered)
    }

    /// The same about what `inside` finds in each message.
    pub(crate) fn ask_inside<T>(
        &mut self,
        files: &[PathBuf],
        inside: impl for<'m> Fn(&str, &'m [u8]) -> Result<Vec<Message<'m>>, AskError>,
        ask: impl Fn(&[u8]) -> Result<T, AskError>,
        mut answered: impl FnMut(&str, Result<T, AskError>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mailbox = Mailbox::find(files)?;
        mailbox.each_message(&mut |name, mail| {
            let found = match inside(name, mail) {
                Ok(found) => found,
                Err(error) => {
                    self.failed(name, &error);
                    return answered(name, Err(error));
                }
            };
            for (name, mail) in found {
                let answer = ask(&mail);
                if let Err(error) = &answer {
                    self.failed(&name, error);
                }
                answered(&name, answer)?;
            }
            Ok(())
        })?;
        if let Some(skipped) = mailbox.skipped() {
            eprintln!("seenit: {skipped}");
        }
        Ok(())
    }

    /// Says what went wrong: once, where it goes wrong for all.
    fn failed(&mut self, name: &str, error: &AskError) {
        self.failed.push(error.exit_code());
        match error.is_for_all() {
            true if self.told => (),
            true => eprintln!("seenit: {error}"),
            false => eprintln!("seenit: {}: {error}", name.escape_debug()),
        }
        self.told |= error.is_for_all();
    }

    /// Whether any question got no answer.
    pub(crate) fn any_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// 75 where anybody might answer later, else 77 or 65, else 0.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let worst = [75, 77, 65].into_iter().find(|code| self.failed.contains(code));
        ExitCode::from(worst.unwrap_or(0))
    }
}
