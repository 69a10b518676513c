//! `seenit join`: what the operator of a new site does with an invite.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::{Clock, SystemClock, private};
use seenit_server::broker::{INVITE_LETTERS_MAX, Invite, Login, Servers, SiteLogin, deposit, is_admitted};
use seenit_sites::introduction::Introduction;
use seenit_sites::key::SiteSecret;
use serde_json::json;

use crate::client::{CONFIG_FILE, DATA_FOLDER};
use crate::network::site_config::{self, Section};
use crate::network::tell;
use crate::plural::counted;
use crate::problem::Problem;

/// The authority of the broker's certificate, in the data folder.
const AUTHORITY_FILE: &str = "network-ca.pem";

#[derive(Args)]
#[command(
    after_help = "Makes the data folder a site if it is none, writes [network] into the configuration and keeps all \
    else that is there, and leaves the site's introduction at the broker. It prints six words: the admin sees the same \
    ones, and admits the site once you have compared them, by telephone or in person. Run it again if it \
    fails: it does the same again.\n\
    The server may be started before: it waits until the site is admitted.\n\
    Examples:\n  seenit join seenit-invite-1-0a1b...\n  \
    seenit join --data /var/lib/seenit/data --config /etc/seenit.toml - < invite.txt"
)]
pub(crate) struct Arguments {
    /// The string that the admin sent, in as many pieces as it came, or - to read it from standard input
    #[arg(value_name = "INVITE", required = true)]
    invite: Vec<String>,
    /// The site's data folder
    #[arg(long, value_name = "DIR", default_value = DATA_FOLDER)]
    data: PathBuf,
    /// The site's configuration; made where it is missing
    #[arg(long, value_name = "FILE", default_value = CONFIG_FILE)]
    config: PathBuf,
    /// Join even if the configuration names another network, and leave that one
    #[arg(long)]
    force: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let invite: Invite =
        read(&arguments.invite)?.parse().map_err(|error| Problem::Refused(format!("{error}")))?;
    check_time(&invite)?;
    site_config::check(&arguments.config, &invite.network, arguments.force)?;
    let data = &arguments.data;
    let secret = SiteSecret::from_bytes(*seenit_ledger::site_secret(data, &SystemClock::default())?);
    let introduction = Introduction::sign(&secret, invite.name.clone());
    let ca = keep_authority(&invite, data)?;
    let own = SiteLogin::new(&secret, invite.network, data);
    let login = Login::Site(own.clone());
    let servers = Servers::new(invite.addresses.clone(), login, ca.clone(), invite.insecure_plaintext)?;
    let is_member = is_admitted(&invite, &servers, &introduction.site)?;
    if !is_member {
        deposit(&invite, &servers, &introduction)?;
    }
    if !is_member || own.jwt().is_none() {
        own.keep_invite(&invite)?;
    }
    let section = Section {
        network: invite.network,
        nats: invite.addresses.clone(),
        ca,
        insecure_plaintext: invite.insecure_plaintext,
    };
    site_config::write(&arguments.config, &section, arguments.force)?;
    finish(arguments, &invite, &introduction, is_member)
}

fn finish(
    arguments: &Arguments,
    invite: &Invite,
    introduction: &Introduction,
    is_member: bool,
) -> Result<ExitCode, Problem> {
    let words = introduction.words();
    let config = arguments.config.display();
    let data = arguments.data.display();
    let asks = format!(
        "{name} asks to be let into network {network}.\nRead these words to the network's admin, by telephone or in \
         person:\n\n    {}\n\nThe admin sees the same words with `seenit network admit --pending`, and admits you with \
         `seenit network admit {name}`.\nStart the server now or later; it waits until then:\n  \
         seenit serve --data {data} --config {config}\n",
        words.join(" "),
        name = invite.name,
        network = invite.network,
    );
    let is_in = format!(
        "The site in {data} is a member of network {} already: nobody has to admit it. Start its server:\n  \
         seenit serve --data {data} --config {config}\n",
        invite.network
    );
    let text = if is_member { is_in } else { asks };
    let told = json!({
        "network": invite.network.to_string(),
        "name": invite.name.as_str(),
        "site": introduction.site.to_string(),
        "words": words,
        "is_member": is_member,
        "config": arguments.config,
    });
    tell(arguments.json, &told, &text)
}

fn read(words: &[String]) -> Result<String, Problem> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    let mut input = io::stdin().lock().take(INVITE_LETTERS_MAX as u64 + 1);
    input.read_to_string(&mut text).map_err(Problem::io("standard input"))?;
    Ok(text)
}

fn check_time(invite: &Invite) -> Result<(), Problem> {
    let now = SystemClock::default().now_secs();
    if invite.expires_secs > now {
        return Ok(());
    }
    let days = counted((now - invite.expires_secs) / 86_400, "day");
    Err(Problem::Refused(format!("the invite ended {days} ago: ask the admin for another one")))
}

/// Writes the certificates of the broker's authority, and says where.
fn keep_authority(invite: &Invite, data: &Path) -> Result<Option<PathBuf>, Problem> {
    let Some(pem) = invite.authority_pem() else { return Ok(None) };
    let path = std::path::absolute(data.join(AUTHORITY_FILE)).map_err(Problem::output(data))?;
    private::write(&path, pem.as_bytes())?;
    Ok(Some(path))
}
