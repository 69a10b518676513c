//! What everything of a network is called on the broker.

use seenit_sites::key::{AdminKey, BrokerKey, SiteKey};

/// Letters of a network's key in names: enough that no two networks of one broker meet by chance.
const NETWORK_LETTERS: usize = 16;

/// Letters of a site's key in names: those that the ids of its records begin with.
const SITE_LETTERS: usize = 32;

/// One of the three streams of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// What sites said.
    Records,
    /// What sites saw.
    Seen,
    /// Rosters and manifests.
    Documents,
}

impl Stream {
    /// All of them.
    pub const ALL: [Stream; 3] = [Stream::Records, Stream::Seen, Stream::Documents];

    /// As in subjects.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Records => "records",
            Stream::Seen => "seen",
            Stream::Documents => "papers",
        }
    }
}

/// The names of one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    network: String,
}

impl Names {
    /// Those of the network with this key.
    pub fn of(network: &AdminKey) -> Self {
        Names { network: first(&network.to_string(), NETWORK_LETTERS) }
    }

    /// What stands for the network in them.
    pub(super) fn network(&self) -> &str {
        &self.network
    }

    /// A stream's name.
    pub fn stream(&self, stream: Stream) -> String {
        format!("SEENIT_{}_{}", self.network, stream.as_str())
    }

    /// All subjects of a stream.
    pub fn subjects(&self, stream: Stream) -> String {
        format!("seenit.{}.{}.>", self.network, stream.as_str())
    }

    /// Where it is told, without contents, that a stream has a new message: `stream` none for all of them.
    pub fn news(&self, stream: Option<Stream>) -> String {
        let of = stream.map_or(String::new(), |stream| format!("{}.", stream.as_str()));
        format!("seenit.{}.new.{of}>", self.network)
    }

    /// The stream that a subject of [`Names::news`] tells of.
    pub(super) fn told_of(&self, subject: &str) -> Option<Stream> {
        let rest = subject.strip_prefix("seenit.")?.strip_prefix(&self.network)?.strip_prefix(".new.")?;
        let word = rest.split('.').next()?;
        Stream::ALL.into_iter().find(|stream| stream.as_str() == word)
    }

    /// Where a site speaks in a stream.
    pub fn spoken(&self, stream: Stream, site: &SiteKey) -> String {
        format!("seenit.{}.{}.{}", self.network, stream.as_str(), site_letters(site))
    }

    /// Where the newest roster is.
    pub fn roster(&self) -> String {
        format!("seenit.{}.papers.roster", self.network)
    }

    /// Where a manifest is.
    pub fn manifest(&self, number: u64) -> String {
        format!("seenit.{}.papers.manifest.{number}", self.network)
    }

    /// The stream of the door: introductions on their way in, and what the admin let in. Apart from the signed
    /// documents, because sites read all of those and nothing of this but their own admission.
    pub fn door(&self) -> String {
        format!("SEENIT_{}_door", self.network)
    }

    /// All subjects of the door.
    pub fn door_subjects(&self) -> String {
        format!("seenit.{}.door.>", self.network)
    }

    /// Where the holder of an invite leaves an introduction; `None` for those of all invites.
    pub fn deposit(&self, invite: Option<&BrokerKey>) -> String {
        let letters = invite.map_or_else(|| "*".to_owned(), |key| first(&key.to_string(), SITE_LETTERS));
        format!("seenit.{}.door.in.{letters}", self.network)
    }

    /// Where the JWT is with which a site is let in.
    pub fn user(&self, site: &SiteKey) -> String {
        format!("seenit.{}.door.user.{}", self.network, site_letters(site))
    }

    /// Where a site's heartbeats are heard; `None` for those of all sites.
    pub fn heartbeat(&self, site: Option<&SiteKey>) -> String {
        format!("seenit.{}.beat.{}", self.network, letters_or_all(site))
    }

    /// Where a site is asked; `None` for all sites.
    pub fn ask(&self, site: Option<&SiteKey>) -> String {
        format!("seenit.{}.ask.{}", self.network, letters_or_all(site))
    }

    /// The bucket of a site's snapshots.
    pub fn bucket(&self, site: &SiteKey) -> String {
        format!("SEENIT_{}_{}", self.network, site_letters(site))
    }

    /// The stream below that bucket.
    pub fn bucket_stream(&self, site: &SiteKey) -> String {
        format!("OBJ_{}", self.bucket(site))
    }
}

/// What the subjects of somebody's inboxes begin with. Nobody else may listen there.
pub(super) fn inbox_prefix(who: &str) -> String {
    format!("{INBOXES}{}", first(who, SITE_LETTERS))
}

/// What all inboxes begin with.
pub(super) const INBOXES: &str = "_INBOX.";

fn site_letters(site: &SiteKey) -> String {
    first(&site.to_string(), SITE_LETTERS)
}

fn letters_or_all(site: Option<&SiteKey>) -> String {
    site.map_or_else(|| "*".to_owned(), site_letters)
}

fn first(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_sites::key::{AdminSecret, SiteSecret};

    #[test]
    fn names_are_those_of_the_document() {
        let names = Names::of(&AdminSecret::from_bytes([1; 32]).public());
        let site = SiteSecret::from_bytes([2; 32]).public();
        assert_eq!(names.stream(Stream::Records), "SEENIT_8a88e3dd7409f195_records");
        assert_eq!(
            names.spoken(Stream::Seen, &site),
            "seenit.8a88e3dd7409f195.seen.8139770ea87d175f56a35466c34c7ecc"
        );
        assert_eq!(names.manifest(7), "seenit.8a88e3dd7409f195.papers.manifest.7");
        assert_eq!(names.heartbeat(None), "seenit.8a88e3dd7409f195.beat.*");
        assert_eq!(
            names.bucket_stream(&site),
            "OBJ_SEENIT_8a88e3dd7409f195_8139770ea87d175f56a35466c34c7ecc"
        );
        assert_eq!(names.told_of("seenit.8a88e3dd7409f195.new.papers.roster"), Some(Stream::Documents));
        assert_eq!(names.told_of("seenit.8a88e3dd7409f195.beat.x"), None);
    }
}
