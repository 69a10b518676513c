//! `seenit account`: who may ask, and what their word weighs.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::client::{Client, Place, escaped};
use crate::output;
use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// All accounts, with their roles and the weight of their word
    #[command(after_help = "Example: seenit account list --json")]
    List(Common),
    /// Make an account and show its token, once
    #[command(after_help = "Examples:\n  seenit account add mx1 --role check\n  \
        seenit account add abuse-desk --role report --role revoke --weight 10")]
    Add(Add),
    /// Take an account away; what it said stays
    #[command(after_help = "Example: seenit account remove mx1")]
    Remove(Named),
    /// Give an account a new token, and show it, once
    #[command(after_help = "Example: seenit account token mx1")]
    Token(Named),
    /// Fix what an account's word weighs
    #[command(after_help = "Example: seenit account weight mx1 5")]
    Weight(Weight),
    /// Take back everything an account said; its word weighs nothing from then on
    #[command(after_help = "Example: seenit account undo mx1")]
    Undo(Named),
}

#[derive(Args)]
pub(crate) struct Common {
    #[command(flatten)]
    place: Place,
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
    /// Points that its word weighs, 0 to 10, whatever it says [default: the server's choice, which changes by trust]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=10))]
    weight: Option<u8>,
}

#[derive(Args)]
pub(crate) struct Weight {
    #[command(flatten)]
    named: Named,
    /// Points, 0 to 10
    #[arg(value_name = "N", value_parser = clap::value_parser!(u8).range(0..=10))]
    weight: u8,
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
        Command::List(common) => tell(common, Client::of(&common.place)?.get("/v1/accounts")?, list),
        Command::Add(add) => {
            let roles: Vec<&str> = add.role.iter().map(|role| role.as_str()).collect();
            let mut wanted = json!({"name": add.named.name, "roles": roles});
            if let Some(weight) = add.weight {
                wanted["weight"] = weight.into();
            }
            let client = Client::of(&add.named.common.place)?;
            tell(&add.named.common, client.post_json("/v1/accounts", &wanted)?, token)
        }
        Command::Remove(named) => {
            let client = Client::of(&named.common.place)?;
            tell(&named.common, client.delete(&named.path(""))?, |_| format!("{} is removed\n", named.name))
        }
        Command::Token(named) => {
            let client = Client::of(&named.common.place)?;
            tell(&named.common, client.post_json(&named.path("/token"), &json!({}))?, token)
        }
        Command::Weight(weight) => {
            let named = &weight.named;
            let client = Client::of(&named.common.place)?;
            let wanted = json!({"weight": weight.weight});
            tell(&named.common, client.post_json(&named.path("/weight"), &wanted)?, line)
        }
        Command::Undo(named) => {
            let client = Client::of(&named.common.place)?;
            let done = client.post_json(&named.path("/undo"), &json!({}))?;
            let told = |done: &Value| format!("{} words of {} are taken back\n", done["words"], named.name);
            tell(&named.common, done, told)
        }
    }
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
    let records = reporter["records"].as_u64().unwrap_or(0);
    let name = account["name"].as_str().unwrap_or_default();
    format!("{name:24}{:32}weight {weight} ({how})  {records} records\n", roles.join(", "))
}

/// The token alone on standard output: it goes into a file or a variable.
fn token(account: &Value) -> String {
    let name = account["name"].as_str().unwrap_or_default();
    eprintln!("The token of {name}, shown this once. Keep it in a file that only {name} can read:");
    format!("{}\n", account["token"].as_str().unwrap_or_default())
}
