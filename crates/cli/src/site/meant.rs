//! Which message is meant: the one in the file, or those that it carries.
//!
//! A complaint that is reported as it stands lists the words of the complaint, which the next complaint shares. So
//! whoever does not say which is meant is asked on a terminal, and refused elsewhere.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use seenit_signature::complaint::{Carrier, Complaint};

use super::messages::Message;
use super::say::{Arguments, Verb};
use crate::client::AskError;

/// Which message is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Carried,
    AsItIs,
    Neither,
}

/// What is known of what is meant.
pub(super) struct Meant {
    /// What was said once holds for all.
    choice: Option<Choice>,
    /// Whether somebody can be asked.
    can_ask: bool,
}

impl Meant {
    pub(super) fn of(arguments: &Arguments) -> Self {
        let choice = match (arguments.arf, arguments.as_is) {
            (true, _) => Some(Choice::Carried),
            (_, true) => Some(Choice::AsItIs),
            _ => None,
        };
        Meant { choice, can_ask: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }

    /// The messages that are meant by one file.
    pub(super) fn inside<'m>(
        &mut self,
        verb: Verb,
        name: &str,
        mail: &'m [u8],
    ) -> Result<Vec<Message<'m>>, AskError> {
        let as_it_is = || Ok(vec![(name.to_owned(), Cow::Borrowed(mail))]);
        match self.choice {
            Some(Choice::AsItIs) => return as_it_is(),
            Some(Choice::Carried) => return carried(verb, name, Complaint::read(mail)),
            Some(Choice::Neither) | None => (),
        }
        let complaint = Complaint::read(mail);
        let Some(carrier) = complaint.carrier else {
            return as_it_is();
        };
        let what = told(carrier, complaint.messages.len());
        if self.choice.is_none() && self.can_ask {
            self.choice = ask(verb, name, &what);
        }
        match self.choice {
            Some(Choice::AsItIs) => as_it_is(),
            Some(Choice::Carried) => carried(verb, name, complaint),
            Some(Choice::Neither) | None => Err(AskError::Nothing(format!(
                "{what}: say --arf to {verb} what it carries, or --as-is to {verb} it as it is",
                verb = verb.as_str()
            ))),
        }
    }
}

fn told(carrier: Carrier, messages: usize) -> String {
    let what = match carrier {
        Carrier::Complaint => "it is a complaint (ARF)",
        Carrier::Forward => "it has others attached",
    };
    let messages = if messages == 1 { "1 message".to_owned() } else { format!("{messages} messages") };
    format!("{what} and carries {messages}")
}

/// Asks until there is an answer; none where nobody answers.
fn ask(verb: Verb, name: &str, what: &str) -> Option<Choice> {
    let verb = verb.as_str();
    loop {
        eprint!(
            "seenit: {}: {what}. The same will hold for all others like it.\n\
             {verb} what it [c]arries, {verb} it [a]s it is, or [n]either? ",
            name.escape_debug()
        );
        let mut line = String::new();
        if !io::stdin().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return None;
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "c" | "carries" => return Some(Choice::Carried),
            "a" | "as it is" => return Some(Choice::AsItIs),
            "n" | "neither" => return Some(Choice::Neither),
            _ => (),
        }
    }
}

/// The messages that a complaint carries.
fn carried<'m>(verb: Verb, name: &str, complaint: Complaint<'m>) -> Result<Vec<Message<'m>>, AskError> {
    if verb == Verb::Report && complaint.is_not_spam() {
        return Err(AskError::Nothing(
            "its Feedback-Type is not-spam: say `seenit revoke --arf` of what it carries".into(),
        ));
    }
    match complaint.messages.len() {
        0 if complaint.has_head_only => Err(AskError::Nothing(
            "it carries only the head of a message, and signatures are of the body".into(),
        )),
        0 => Err(AskError::Nothing("no message is attached to it (message/rfc822)".into())),
        1 => Ok(complaint.messages.into_iter().map(|inner| (name.to_owned(), inner)).collect()),
        _ => {
            let named = |(number, inner)| (format!("{name}, attached message {number}"), inner);
            Ok((1..).zip(complaint.messages).map(named).collect())
        }
    }
}
