//! Exit codes, written once: what each one means, and which ones a command may give. Every help text is made of this.
//!
//! The codes from 64 on are those of sysexits.h, which mail programs act on: 75 makes a mail server keep a message and
//! try again. So 75 is only for what may go away by itself, and a refusal has a code of its own.

use std::process::ExitCode;

use clap::Command;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// Of `check`: every message was answered, and none is spam or bulk.
    NoneListed,
    /// Of queries of filters.
    KeysMissed,
    /// Of `selftest` and `sites`.
    SomethingFails,
    Usage,
    Spam,
    Bulk,
    NotYet,
    Data,
    NoInput,
    InUse,
    NoMemory,
    NoOutput,
    BrokenOff,
    TryLater,
    Foreign,
    Refused,
    Config,
}

use Exit::*;

impl Exit {
    const ALL: [Exit; 18] = [
        Done,
        NoneListed,
        KeysMissed,
        SomethingFails,
        Usage,
        Spam,
        Bulk,
        NotYet,
        Data,
        NoInput,
        InUse,
        NoMemory,
        NoOutput,
        BrokenOff,
        TryLater,
        Foreign,
        Refused,
        Config,
    ];

    pub(crate) const fn code(self) -> u8 {
        match self {
            Done | NoneListed => 0,
            KeysMissed | SomethingFails => 1,
            // What clap gives, too.
            Usage => 2,
            Spam => 10,
            Bulk => 11,
            NotYet => 12,
            Data => 65,
            NoInput => 66,
            InUse => 69,
            NoMemory => 71,
            NoOutput => 73,
            BrokenOff => 74,
            TryLater => 75,
            Foreign => 76,
            Refused => 77,
            Config => 78,
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Done => "done",
            NoneListed => "every message was answered, and none of them is spam or bulk",
            KeysMissed => "some keys are not in the filter",
            SomethingFails => "something does not work, or a site does not agree",
            Usage => "wrong usage: the command line is not valid",
            Spam => "some message is spam",
            Bulk => "some message is bulk, and none is spam",
            NotYet => "something is still on its way between sites",
            Data => "the input is damaged, too large, has too little text, or the server cannot use it",
            NoInput => "an input file cannot be opened",
            InUse => "another process uses the port or the folder",
            NoMemory => "there is not enough memory",
            NoOutput => "the output cannot be written",
            BrokenOff => "reading or writing broke off",
            TryLater => "no answer; trying again later may help (no connection, timeout, busy, rate limit)",
            Foreign => "what answers there is not a seenit server, or its certificate is not trusted",
            Refused => "the server refuses: a wrong token, a missing role, or an unknown name",
            Config => "the configuration is wrong",
        }
    }

    /// The worst of several failures. What may succeed later comes first, because asking again is worth it; then what
    /// stands in the way of all messages, then what is wrong with one.
    pub(crate) fn worst(failures: &[Exit]) -> Option<Exit> {
        const ORDER: [Exit; 7] = [TryLater, Foreign, Refused, NoMemory, BrokenOff, NoInput, Data];
        ORDER.into_iter().find(|exit| failures.contains(exit)).or(failures.first().copied())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// What every command that asks a server may end with; the token may be in a file.
const ASKS: &[Exit] = &[Done, Usage, Data, NoInput, BrokenOff, TryLater, Foreign, Refused];

/// What a command may end with that reads and writes files of its own.
const FILES: &[Exit] = &[Done, Usage, Data, NoInput, NoMemory, NoOutput, BrokenOff];

/// The exit codes of the command at a path such as `account add`, by their numbers.
fn of_command(path: &str) -> Vec<Exit> {
    let (group, rest) = path.split_once(' ').unwrap_or((path, ""));
    let (all, more): (&[Exit], &[Exit]) = match (group, rest) {
        ("check", _) => (&ASKS[1..], &[NoneListed, Spam, Bulk, NoMemory]),
        ("receipt", _) => (ASKS, &[NotYet]),
        ("sites", _) => (ASKS, &[SomethingFails, NotYet]),
        ("selftest", _) => (ASKS, &[SomethingFails]),
        (
            "report" | "revoke" | "withdraw" | "see" | "explain" | "protect" | "stats" | "account" | "clock"
            | "snapshot",
            _,
        ) => (ASKS, &[]),
        ("config", "check") => (&[Done, Usage, NoInput, Config], &[]),
        ("config" | "completions" | "man", _) => (&[Done, Usage, NoOutput, BrokenOff], &[]),
        ("filter", "query" | "count query") => (FILES, &[KeysMissed]),
        ("filter" | "sign" | "words", _) => (FILES, &[]),
        ("network" | "join", _) => (FILES, &[TryLater, Refused, Config]),
        ("lab", _) => (FILES, &[InUse, TryLater]),
        // A server's folder: serve, rebuild and the like.
        _ => (FILES, &[InUse, Config]),
    };
    let mut exits = [all, more].concat();
    exits.sort_by_key(|exit| exit.code());
    exits
}

/// A line for each code; what several commands mean by one stands on one line.
fn table(exits: &[Exit]) -> String {
    let mut table = "Exit codes:".to_owned();
    for same in exits.chunk_by(|one, next| one.code() == next.code()) {
        let meanings: Vec<&str> = same.iter().map(|exit| exit.meaning()).collect();
        table += &format!("\n  {:2}  {}", same[0].code(), meanings.join("; "));
    }
    table
}

/// The whole command line, each command's exit codes at the end of its help.
pub(crate) fn documented(command: Command) -> Command {
    let all: Vec<Exit> = Exit::ALL.into_iter().filter(|exit| *exit != NoneListed).collect();
    with_codes(command.after_help(table(&all)), "")
}

fn with_codes(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    if names.is_empty() {
        let before = command.get_after_help().map_or(String::new(), |help| format!("{help}\n\n"));
        return command.after_help(before + &table(&of_command(path)));
    }
    names.iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |sub| with_codes(sub, &path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_succeed_later_outranks_what_never_will_and_nothing_is_nothing() {
        assert_eq!(Exit::worst(&[]), None);
        assert_eq!(Exit::worst(&[Data, TryLater, Refused]), Some(TryLater));
        assert_eq!(Exit::worst(&[Data, NoInput]), Some(NoInput));
        assert_eq!(Exit::worst(&[Config]), Some(Config));
    }

    #[test]
    fn a_command_names_each_of_its_codes_once() {
        for path in ["check", "report", "sites", "filter query", "filter count query", "serve", "lab run"] {
            let codes: Vec<u8> = of_command(path).iter().map(|exit| exit.code()).collect();
            assert!(codes.is_sorted_by(|one, next| one < next), "{path}: {codes:?}");
        }
    }

    #[test]
    fn a_line_of_the_table_fits_a_terminal() {
        for exit in Exit::ALL {
            assert!(exit.meaning().len() <= 90, "{exit:?}");
        }
    }
}
