//! `seenit completions` and `seenit man`: what shells and `man` read.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  seenit completions bash > ~/.local/share/bash-completion/completions/seenit\n  \
    seenit completions fish > ~/.config/fish/completions/seenit.fish"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  seenit man | man -l -\n  seenit man --output ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write one page for each command into this folder. Without it, the page of `seenit` goes to standard output
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn completions(arguments: &Completions) -> Result<ExitCode, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command_line(), "seenit", &mut script);
    print(&script)
}

pub(super) fn man(arguments: &Man) -> Result<ExitCode, Problem> {
    let command = crate::command_line();
    let Some(folder) = &arguments.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(Problem::io("manual page"))?;
        return print(&page);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(Problem::output(folder))?;
    Ok(ExitCode::SUCCESS)
}

fn print(bytes: &[u8]) -> Result<ExitCode, Problem> {
    output::printed(io::Write::write_all(&mut io::stdout().lock(), bytes))?;
    Ok(ExitCode::SUCCESS)
}
