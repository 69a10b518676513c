//! `seenit network introduce`: one line for the admin.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::SystemClock;
use seenit_server::engine::nkey;
use seenit_sites::introduction::Introduction;
use seenit_sites::key::SiteSecret;
use seenit_sites::roster::Name;
use serde_json::json;

use crate::client::DATA_FOLDER;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "The line holds no secret. A server may be running on the folder; a folder that is no site yet \
    becomes one.\nExample: seenit network introduce --data seenit-data --name mail.example.org"
)]
pub(crate) struct Arguments {
    /// The site's data folder
    #[arg(long, value_name = "DIR", default_value = DATA_FOLDER)]
    data: PathBuf,
    /// What the site would like to be called: letters a to z, digits, '-' and '.'
    #[arg(long, value_name = "NAME")]
    name: Name,
    /// Print one JSON object, with the keys beside the line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let secret = seenit_ledger::site_secret(&arguments.data, &SystemClock::default())?;
    let introduction = Introduction::sign(&SiteSecret::from_bytes(*secret), arguments.name.clone());
    if arguments.json {
        output::json(&json!({
            "introduction": introduction.to_string(),
            "site": introduction.site().to_string(),
            "sealing": introduction.sealing().to_string(),
            "nkey": nkey(introduction.engine()),
            "name": introduction.name().as_str(),
        }))?;
    } else {
        output::text(&format!("{introduction}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
