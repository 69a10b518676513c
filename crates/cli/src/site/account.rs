//! `seenit account`: who may ask, and what their word weighs.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use seenit_server::secrets::Protocol;
use serde_json::{Value, json};

use crate::client::{Client, ServerArgs, escaped};
use crate::output;
use crate::plural::counted;
use crate::problem::Problem;
use crate::range::within;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List all accounts with roles, standing, weight, and how often each was confirmed and refuted
    #[command(
        after_help = "Two are built in: `operator` is whoever holds the operator's token, and on this machine \
        root and whom the server runs as; `local` is all other users of this machine together.\n\
        Vouched accounts settle what others said; known ones earn weight slowly; strangers, who registered themselves, \
        earn none, and their record is there for you to decide (docs/design/trust.md).\n\
        Example: seenit account list --json"
    )]
    List(Common),
    /// Make an account and show its token, once
    #[command(after_help = "Examples:\n  seenit account add mx1 --role check\n  \
        seenit account add abuse-desk --role report --role revoke --weight 10")]
    Add(Add),
    /// Remove an account; what it reported and revoked stays
    #[command(after_help = "Example: seenit account remove mx1")]
    Remove(Named),
    /// Give an account a new token, and show it, once
    #[command(after_help = "Example: seenit account token mx1")]
    Token(Named),
    /// Set how far an account is trusted: vouched, known or stranger
    #[command(
        after_help = "Examples:\n  seenit account standing abuse-desk vouched   # lists mail alone, judges others\n  \
        seenit account standing razor.alice known      # she registered; now she can earn weight"
    )]
    Standing(Stand),
    /// Fix the weight of an account's opinions; with 5 or more the account is vouched for
    #[command(after_help = "Examples:\n  seenit account weight mx1 5\n  \
        seenit account weight local 10   # any user of this machine may list mail")]
    Weight(Weight),
    /// Give an account a secret for an older protocol, and show what its clients need, once
    #[command(after_help = "Examples:\n  seenit account secret mx1 pyzor\n  \
        seenit account secret dcc-32768 dcc --secret-file password\n  seenit account secret mx1 fuzzy --remove\n\n\
        The account of DCC's client 32768 is called dcc-32768. For fuzzy (rspamd) a key of this server is made for the \
        account, and its public half is shown: the encryption_key of the account's rule.")]
    Secret(Secret),
    /// Take back everything an account said and set its weight to 0 (the operator's weight stays)
    #[command(after_help = "Example: seenit account undo mx1")]
    Undo(Named),
}

#[derive(Args)]
pub(crate) struct Common {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Named {
    /// The account
    name: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(crate) struct Add {
    #[command(flatten)]
    named: Named,
    /// What it may do; may be given more than once. Each role lets it check and see as well
    #[arg(long, value_enum, default_value = "check")]
    role: Vec<Role>,
    /// Fixed weight of its opinions, 0 to 10 points [default: the server's choice, which changes by trust]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(0..=10_u8))]
    weight: Option<u8>,
}

#[derive(Args)]
pub(crate) struct Weight {
    #[command(flatten)]
    named: Named,
    /// Points, 0 to 10
    #[arg(value_name = "N", allow_negative_numbers = true, value_parser = within(0..=10_u8))]
    weight: u8,
}

#[derive(Args)]
pub(crate) struct Stand {
    #[command(flatten)]
    named: Named,
    /// How it stands with you
    #[arg(value_enum)]
    standing: Standing,
}

/// How an account stands with the operator.
#[derive(Clone, Copy, ValueEnum)]
enum Standing {
    /// Its opinions always weigh 10 points, and they confirm or refute the opinions of others
    Vouched,
    /// Its weight begins at the server's `account_weight` and grows slowly, never enough to list mail alone
    Known,
    /// Its opinions weigh nothing
    Stranger,
}

impl Standing {
    fn as_str(self) -> &'static str {
        match self {
            Standing::Vouched => "vouched",
            Standing::Known => "known",
            Standing::Stranger => "stranger",
        }
    }
}

#[derive(Args)]
pub(crate) struct Secret {
    #[command(flatten)]
    named: Named,
    /// Which protocol
    #[arg(value_parser = PossibleValuesParser::new(Protocol::ALL.map(Protocol::as_str)))]
    protocol: String,
    /// A file with the secret [default: the server makes one]
    #[arg(long, value_name = "FILE", conflicts_with = "remove")]
    secret_file: Option<PathBuf>,
    /// Take the secret away instead
    #[arg(long)]
    remove: bool,
}

/// What an account may do.
#[derive(Clone, Copy, ValueEnum)]
enum Role {
    /// Check, see, explain
    Check,
    /// Report, and withdraw what it said
    Report,
    /// Revoke
    Revoke,
    /// Everything
    Admin,
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Role::Check => "check",
            Role::Report => "report",
            Role::Revoke => "revoke",
            Role::Admin => "admin",
        }
    }
}

impl Named {
    fn path(&self, verb: &str) -> String {
        format!("/v1/accounts/{}{verb}", escaped(&self.name))
    }
}

pub(super) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::List(common) => tell(common, Client::of(&common.server)?.get("/v1/accounts")?, list),
        Command::Add(add) => {
            let roles: Vec<&str> = add.role.iter().map(|role| role.as_str()).collect();
            let mut wanted = json!({"name": add.named.name, "roles": roles});
            if let Some(weight) = add.weight {
                wanted["weight"] = weight.into();
            }
            let client = Client::of(&add.named.common.server)?;
            tell(&add.named.common, client.post_json("/v1/accounts", &wanted)?, token)
        }
        Command::Remove(named) => {
            let client = Client::of(&named.common.server)?;
            tell(&named.common, client.delete(&named.path(""))?, |_| format!("{} is removed\n", named.name))
        }
        Command::Token(named) => {
            let client = Client::of(&named.common.server)?;
            tell(&named.common, client.post_json(&named.path("/token"), &json!({}))?, token)
        }
        Command::Weight(weight) => {
            let named = &weight.named;
            let client = Client::of(&named.common.server)?;
            let wanted = json!({"weight": weight.weight});
            tell(&named.common, client.post_json(&named.path("/weight"), &wanted)?, line)
        }
        Command::Standing(wanted) => {
            let named = &wanted.named;
            let client = Client::of(&named.common.server)?;
            let body = json!({"standing": wanted.standing.as_str()});
            tell(&named.common, client.post_json(&named.path("/standing"), &body)?, line)
        }
        Command::Secret(wanted) => secret(wanted),
        Command::Undo(named) => {
            let client = Client::of(&named.common.server)?;
            let done = client.post_json(&named.path("/undo"), &json!({}))?;
            let told = |done: &Value| {
                let words = done["words"].as_u64().unwrap_or(0);
                let are = if words == 1 { "is" } else { "are" };
                format!("{} of {} {are} taken back\n", counted(words, "opinion"), named.name)
            };
            tell(&named.common, done, told)
        }
    }
}

/// The secret alone on standard output: it goes into a file of the client's.
fn secret(wanted: &Secret) -> Result<ExitCode, Problem> {
    let named = &wanted.named;
    let protocol = &wanted.protocol;
    let client = Client::of(&named.common.server)?;
    let path = named.path(&format!("/secrets/{protocol}"));
    let name = &named.name;
    if wanted.remove {
        let told = |_: &Value| format!("{name} has no secret for {protocol} any more\n");
        return tell(&named.common, client.delete(&path)?, told);
    }
    let body = match &wanted.secret_file {
        Some(file) => json!({"secret": secret_in(file)?}),
        None => json!({}),
    };
    tell(&named.common, client.post_json(&path, &body)?, |shown| {
        let (what, value) = match shown["encryption_key"].as_str() {
            Some(key) => ("The encryption_key of", key),
            None => ("The secret of", shown["secret"].as_str().unwrap_or_default()),
        };
        eprintln!("{what} {name} for {protocol}, shown this once:");
        if protocol == Protocol::Pyzor.as_str() {
            // A name for the secret: what goes to standard output may be on its way into a file.
            let address = pyzor_address(&client);
            eprintln!("Its line in the file `accounts` of Pyzor's client: {address} : {name} : ,SECRET");
        }
        format!("{value}\n")
    })
}

/// Host and port of the server for Pyzor's clients, as their file has them.
fn pyzor_address(client: &Client) -> String {
    let served = client.get::<Value>("/v1/stats").ok();
    let address = served.and_then(|stats| stats["clients"]["pyzor"].as_str()?.parse::<SocketAddr>().ok());
    address.map_or("HOST : PORT".into(), |address| format!("{} : {}", address.ip(), address.port()))
}

/// A file's text without the end of its line. Whether it will do, the server says.
fn secret_in(path: &Path) -> Result<String, Problem> {
    let text = fs::read_to_string(path).map_err(Problem::input(path))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn tell(common: &Common, answer: Value, told: impl FnOnce(&Value) -> String) -> Result<ExitCode, Problem> {
    if common.json {
        output::json(&answer)?;
    } else {
        output::text(&told(&answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(answer: &Value) -> String {
    answer["accounts"].as_array().into_iter().flatten().map(line).collect()
}

fn line(account: &Value) -> String {
    let roles: Vec<&str> =
        account["roles"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let reporter = &account["reporter"];
    let weight = reporter["weight"].as_u64().map_or("-".into(), |weight| weight.to_string());
    let how = if reporter["fixed"] == true { "fixed" } else { "by trust" };
    let number = |field: &str| reporter[field].as_u64().unwrap_or(0);
    let name = account["name"].as_str().unwrap_or_default();
    let standing = reporter["standing"].as_str();
    format!(
        "{name:24}{:32}{:10}weight {weight} ({how})  {}, {} confirmed on {}, {} refuted\n",
        roles.join(", "),
        standing.unwrap_or("-"),
        counted(number("records"), "record"),
        number("confirmed"),
        counted(number("confirmed_generations"), "day"),
        number("refuted"),
    )
}

/// The token alone on standard output: it goes into a file or a variable.
fn token(account: &Value) -> String {
    let name = account["name"].as_str().unwrap_or_default();
    eprintln!("The token of {name}, shown this once. Keep it in a file that only {name} can read:");
    format!("{}\n", account["token"].as_str().unwrap_or_default())
}
