//! `seenit lab` in a build without the lab: one sentence in place of an unknown command.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::problem::Problem;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Whatever a build with the lab would understand
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    given: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let words = arguments.given.iter().map(|word| word.to_string_lossy());
    let asked = words.fold("seenit lab".to_owned(), |asked, word| asked + " " + &word);
    Err(Problem::NoLab(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn whoever_asks_a_build_without_lab_is_told_how_to_get_one() {
        let given = ["run", "counting", "--json"].map(OsString::from).into();
        let problem = run(&Arguments { given }).expect_err("there is no lab");
        assert_eq!(problem.exit(), Exit::Usage);
        let said = problem.to_string();
        assert!(said.contains("`seenit lab run counting --json`"), "{said}");
        assert!(said.contains("no lab") && said.contains("cargo build"), "{said}");
    }
}
