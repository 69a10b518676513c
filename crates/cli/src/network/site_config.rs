//! The section `[network]` of a site's configuration, written without touching the rest of the file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seenit_server::Config;
use seenit_sites::key::AdminKey;

use crate::problem::Problem;

const HEADER: &str = "[network]";

/// The keys that are written; the others of the section stay.
const KEYS: [&str; 4] = ["key", "nats", "ca", "insecure_plaintext"];

/// What the section is to say.
pub(crate) struct Section {
    pub(crate) network: AdminKey,
    pub(crate) nats: Vec<String>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) insecure_plaintext: bool,
}

/// Refuses a configuration that is wrong, or that is of another network unless that is to be left.
pub(crate) fn check(path: &Path, network: &AdminKey, force: bool) -> Result<(), Problem> {
    if !path.exists() {
        return Ok(());
    }
    match Config::read(path)?.network.key() {
        Some(other) if other != *network && !force => Err(Problem::Refused(format!(
            "{}: this site belongs to network {other} already: give another --config and another data folder; or leave \
             that network: take [network] out of the file, which `seenit join --force` does, too",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes the section, and says whether that changed the file.
pub(crate) fn write(path: &Path, section: &Section, force: bool) -> Result<bool, Problem> {
    check(path, &section.network, force)?;
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(Problem::input(path))?,
    };
    let after = with_section(&before, section);
    if after == before {
        return Ok(false);
    }
    // What it says must be what a server reads, whatever the file looked like.
    let read = Config::parse(&after)?.network;
    if read.key() != Some(section.network) || read.nats != section.nats || read.ca != section.ca {
        let why =
            "its [network] cannot be changed; write it by hand as docs/guide/network.md says".to_owned();
        return Err(Problem::AdminFile { path: path.to_owned(), why });
    }
    // In place, so that a file that is there keeps its owner and mode.
    fs::write(path, after).map_err(Problem::output(path))?;
    Ok(true)
}

fn with_section(text: &str, section: &Section) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let own = own_lines(section);
    let own = own.iter().map(String::as_str);
    match lines.iter().position(|line| line.trim() == HEADER) {
        None => {
            let gap = (!lines.is_empty()).then_some("");
            lines.extend(gap.into_iter().chain([HEADER]).chain(own));
        }
        Some(header) => {
            let rest = lines.split_off(header + 1);
            let ends = rest.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(rest.len());
            // An array over several lines has lines that begin with a quote, and one that ends it.
            let (inside, after) = rest.split_at(ends);
            lines.extend(own);
            lines.extend(without_keys(inside));
            lines.extend(after);
        }
    }
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// The lines of a section without those of the keys that are written anew.
fn without_keys<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut depth = 0_i64;
    for line in lines {
        let key = line.split_once('=').map_or("", |(key, _)| key.trim());
        if depth == 0 && !KEYS.contains(&key) {
            kept.push(*line);
            continue;
        }
        let value = if depth == 0 { line.split_once('=').map_or("", |(_, value)| value) } else { line };
        let count = |letter| value.matches(letter).count() as i64;
        depth = (depth + count('[') - count(']')).max(0);
    }
    kept
}

fn own_lines(section: &Section) -> Vec<String> {
    let nats: Vec<String> = section.nats.iter().map(|address| format!("{address:?}")).collect();
    let mut lines = vec![format!("key = \"{}\"", section.network), format!("nats = [{}]", nats.join(", "))];
    lines.extend(section.ca.as_ref().map(|ca| format!("ca = {:?}", ca.display().to_string())));
    if section.insecure_plaintext {
        lines.push("insecure_plaintext = true".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use seenit_sites::key::AdminSecret;

    use super::*;

    fn section() -> Section {
        let network = AdminSecret::from_bytes([1; 32]).public();
        let nats = vec!["tls://nats.example.org:4222".to_owned(), "tls://192.0.2.1".to_owned()];
        Section { network, nats, ca: Some("/etc/ca.pem".into()), insecure_plaintext: false }
    }

    #[test]
    fn the_section_is_written_and_all_else_stays() {
        let fresh = with_section("", &section());
        assert_eq!(with_section(&fresh, &section()), fresh, "written twice");
        let before = "# mine\n[log]\nlevel = \"warn\"\n\n[network]\n# ours\nkey = \"00\"\nnats = [\n  \"nats://a\",\n  \
                      \"nats://b\",\n]\nsnapshot_secs = 60\n\n[http]\nlisten = [\"127.0.0.1:0\"]\n";
        let after = with_section(before, &section());
        let config = Config::parse(&after).expect(&after);
        assert_eq!(config.network.key(), Some(section().network));
        assert_eq!((config.network.nats, config.network.ca), (section().nats, section().ca));
        assert_eq!(config.network.snapshot_secs, 60);
        for kept in
            ["# mine\n[log]\nlevel = \"warn\"\n", "# ours\n", "\n[http]\nlisten = [\"127.0.0.1:0\"]\n"]
        {
            assert!(after.contains(kept), "{after}");
        }
        assert!(!after.contains("nats://a"), "{after}");
    }

    #[test]
    fn the_documented_configuration_can_be_written_into() {
        let after = with_section(&Config::documented(), &section());
        assert_eq!(Config::parse(&after).expect("a configuration").network.nats, section().nats);
        assert_eq!(with_section(&after, &section()), after);
    }
}
