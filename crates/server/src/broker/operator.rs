//! What the admin's tool does on the broker: makes streams and buckets, publishes signed documents, and lets sites in.

use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, LastRawMessageErrorKind, Republish, StorageType,
};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, HeaderMap};
use futures_util::{StreamExt, TryStreamExt};
use seenit_sites::key::{AdminKey, BrokerKey, SiteKey};
use seenit_sites::message::MESSAGE_BYTES_MAX;
use seenit_sites::roster::{ROSTER_BYTES_MAX, Roster};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::objects::OBJECT_BYTES_MAX;
use super::{ANSWER_TIME, BrokerError, Names, Servers, Stream};

/// Bytes of a message's headers, at most.
const HEADER_BYTES_MAX: usize = 4096;

/// How long a message that is published again is known to be the same.
const DUPLICATES_SECS: u64 = 600;

/// How long making a stream may take: in a cluster, its leader must be found first.
const MAKE_TIME: Duration = Duration::from_secs(15);

/// Bytes of the door: JWTs of 1,000 sites and as many introductions are 3 MB.
const DOOR_BYTES: i64 = 64 << 20;

/// The largest message at the door: a JWT has about 1.5 kB.
const DOOR_MESSAGE_BYTES: usize = 16 * 1024;

/// Introductions that are looked at: more than that many invites are not open at a time.
const PENDING_MAX: usize = 1000;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Servers that keep a copy of everything.
    pub replicas: usize,
    /// Bytes of each of the streams of records and seen counts.
    pub stream_bytes: u64,
    /// Seconds that records and seen counts are kept, at least 600.
    pub age_secs: u64,
    /// Bytes of each site's bucket.
    pub bucket_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let bucket_bytes = 8 * OBJECT_BYTES_MAX as u64;
        Limits { replicas: 1, stream_bytes: 4 << 30, age_secs: 7 * 24 * 3600, bucket_bytes }
    }
}

impl Limits {
    /// The shortest time that anything is kept: that in which duplicates are known.
    pub const AGE_SECS_MIN: u64 = DUPLICATES_SECS;
}

/// A stream as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Its name.
    pub name: String,
    /// Messages in it.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that it may have.
    pub bytes_max: Option<u64>,
    /// Servers that keep it.
    pub replicas: usize,
}

/// What making a stream came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    New,
    /// It was there, and is another now.
    Changed,
    /// It was there as it should be.
    None,
}

/// A stream that was made, or was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// How it is now.
    pub state: StreamState,
    /// What was done.
    pub change: Change,
}

/// A roster or a manifest, to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDocument {
    /// Where.
    pub subject: String,
    /// What.
    pub bytes: Vec<u8>,
}

/// A connection of the admin's.
#[derive(Debug)]
pub struct Operator {
    runtime: Runtime,
    context: Context,
    network: AdminKey,
    names: Names,
}

impl Operator {
    /// Connects, or says why not.
    pub fn connect(servers: &Servers, network: AdminKey) -> Result<Self, BrokerError> {
        let (runtime, client) = connect(servers, &network.to_string())?;
        // What is made here has tasks of its own.
        let entered = runtime.enter();
        let mut context = jetstream::new(client);
        drop(entered);
        context.set_timeout(MAKE_TIME.max(ANSWER_TIME));
        Ok(Operator { runtime, context, network, names: Names::of(&network) })
    }

    /// Makes the streams, and a bucket for each site, or changes them to these limits.
    pub fn make(&self, sites: &[SiteKey], limits: &Limits) -> Result<Vec<Made>, BrokerError> {
        let streams = Stream::ALL.into_iter().map(|stream| self.stream(stream, limits));
        let buckets = sites.iter().map(|site| self.bucket(site, limits));
        streams.chain([self.door(limits)]).chain(buckets).map(|config| self.make_one(config)).collect()
    }

    fn make_one(&self, config: Config) -> Result<Made, BrokerError> {
        let name = config.name.clone();
        let failed = |error: String| {
            let hint = if error.contains("insufficient") {
                ": raise max_file in the broker's configuration, or give --max-bytes and --bucket-bytes"
            } else {
                ""
            };
            BrokerError::Failed(format!("{name}: {error}{hint}"))
        };
        self.runtime.block_on(async {
            let held = match self.context.get_stream(&name).await {
                Ok(held) => Some(held.cached_info().clone()),
                Err(error) if is_missing(&error) => None,
                Err(error) => return Err(failed(error.to_string())),
            };
            if let Some(held) = held.as_ref().filter(|held| chosen(&held.config) == chosen(&config)) {
                return Ok(Made { state: state(held), change: Change::None });
            }
            let change = if held.is_some() { Change::Changed } else { Change::New };
            let made = self.context.create_or_update_stream(config).await;
            made.map(|info| Made { state: state(&info), change }).map_err(|error| failed(error.to_string()))
        })
    }

    /// The door: the last message of each subject.
    fn door(&self, limits: &Limits) -> Config {
        Config {
            name: self.names.door(),
            subjects: vec![self.names.door_subjects()],
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            num_replicas: limits.replicas,
            max_bytes: DOOR_BYTES,
            max_messages_per_subject: 1,
            max_message_size: bytes_max(DOOR_MESSAGE_BYTES),
            ..Config::default()
        }
    }

    fn stream(&self, stream: Stream, limits: &Limits) -> Config {
        let subjects = self.names.subjects(stream);
        let news = self.names.news(Some(stream));
        let common = Config {
            name: self.names.stream(stream),
            subjects: vec![subjects.clone()],
            storage: StorageType::File,
            discard: DiscardPolicy::Old,
            num_replicas: limits.replicas,
            duplicate_window: Duration::from_secs(DUPLICATES_SECS),
            deny_delete: true,
            republish: Some(Republish { source: subjects, destination: news, headers_only: true }),
            ..Config::default()
        };
        match stream {
            Stream::Documents => Config {
                max_messages_per_subject: 1,
                max_message_size: bytes_max(ROSTER_BYTES_MAX),
                ..common
            },
            Stream::Records | Stream::Seen => Config {
                deny_purge: true,
                max_bytes: i64::try_from(limits.stream_bytes).unwrap_or(i64::MAX),
                max_age: Duration::from_secs(limits.age_secs),
                max_message_size: bytes_max(MESSAGE_BYTES_MAX),
                ..common
            },
        }
    }

    /// An object store, as NATS itself lays one out.
    fn bucket(&self, site: &SiteKey, limits: &Limits) -> Config {
        let bucket = self.names.bucket(site);
        Config {
            name: self.names.bucket_stream(site),
            subjects: vec![format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")],
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            num_replicas: limits.replicas,
            max_bytes: i64::try_from(limits.bucket_bytes).unwrap_or(i64::MAX),
            allow_rollup: true,
            deny_delete: true,
            ..Config::default()
        }
    }

    /// Publishes those documents that are not there yet, and says how many.
    pub fn publish(&self, documents: &[SignedDocument]) -> Result<usize, BrokerError> {
        self.runtime.block_on(async {
            let mut published = 0;
            for document in documents {
                let held = self.held(&document.subject).await?;
                if held.as_ref() == Some(&document.bytes) {
                    continue;
                }
                self.check_newer(document, held.as_deref())?;
                self.publish_one(document).await?;
                published += 1;
            }
            Ok(published)
        })
    }

    async fn publish_one(&self, document: &SignedDocument) -> Result<(), BrokerError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, const_hex::encode(Sha256::digest(&document.bytes)));
        self.send(document, headers).await
    }

    async fn send(&self, document: &SignedDocument, headers: HeaderMap) -> Result<(), BrokerError> {
        let bytes = document.bytes.clone().into();
        let sent = self.context.publish_with_headers(document.subject.clone(), headers, bytes);
        let acknowledged = async { sent.await?.await };
        acknowledged.await.map(drop).map_err(BrokerError::of)
    }

    /// The document at a subject.
    async fn held(&self, subject: &str) -> Result<Option<Vec<u8>>, BrokerError> {
        last(&self.context, self.names.stream(Stream::Documents), subject).await
    }

    /// Lays the JWTs of sites at the door, those that are not there yet, and says how many these are.
    pub fn admit(&self, users: &[(SiteKey, String)]) -> Result<usize, BrokerError> {
        self.runtime.block_on(async {
            let mut published = 0;
            for (site, jwt) in users {
                let document =
                    SignedDocument { subject: self.names.user(site), bytes: jwt.clone().into_bytes() };
                let held = last(&self.context, self.names.door(), &document.subject).await?;
                if held.as_ref() != Some(&document.bytes) {
                    // Without an id: what was taken away and comes back is the same bytes, and no duplicate.
                    self.send(&document, HeaderMap::new()).await?;
                    published += 1;
                }
            }
            Ok(published)
        })
    }

    /// What holders of invites left at the door, as bytes that nobody has looked at, and by which invite.
    pub fn pending(&self, invites: &[BrokerKey]) -> Result<Vec<(BrokerKey, Vec<u8>)>, BrokerError> {
        self.runtime.block_on(async {
            let mut found = Vec::new();
            for invite in invites.iter().take(PENDING_MAX) {
                let subject = self.names.deposit(Some(invite));
                let bytes = last(&self.context, self.names.door(), &subject).await?;
                found.extend(bytes.map(|bytes| (*invite, bytes)));
            }
            Ok(found)
        })
    }

    /// What was left at the door in all, as bytes that nobody has looked at, and at which subject: by holders of
    /// invites that are open, and of those that are not any more.
    pub fn deposits(&self) -> Result<Vec<(String, Vec<u8>)>, BrokerError> {
        self.runtime.block_on(async {
            let door = self.context.get_stream_no_info(self.names.door()).await.map_err(BrokerError::of)?;
            let named = door.info_with_subjects(self.names.deposit(None)).await.map_err(BrokerError::of)?;
            let subjects: Vec<(String, usize)> =
                named.take(PENDING_MAX).try_collect().await.map_err(BrokerError::of)?;
            let mut found = Vec::new();
            for (subject, _) in subjects {
                let bytes = last(&self.context, self.names.door(), &subject).await?;
                found.extend(bytes.map(|bytes| (subject, bytes)));
            }
            Ok(found)
        })
    }

    /// Takes what is at subjects of the door away: an introduction that was taken, a JWT of a site that is removed.
    pub fn clear(&self, subjects: &[String]) -> Result<(), BrokerError> {
        self.runtime.block_on(async {
            let held = self.context.get_stream_no_info(self.names.door()).await.map_err(BrokerError::of)?;
            for subject in subjects {
                held.purge().filter(subject).await.map_err(BrokerError::of)?;
            }
            Ok(())
        })
    }

    /// An older roster in place of a newer one would come from a folder that was restored, or copied.
    fn check_newer(&self, document: &SignedDocument, held: Option<&[u8]>) -> Result<(), BrokerError> {
        let read = |bytes: &[u8]| Roster::decode(bytes, &self.network).ok().map(|roster| roster.version);
        match (read(&document.bytes), held.and_then(read)) {
            (Some(own), Some(held)) if held >= own => Err(BrokerError::Failed(format!(
                "the broker has another roster of version {held}, and this folder has version {own}: \
                 the folder is an older copy; use the one that signed last"
            ))),
            _ => Ok(()),
        }
    }

    /// How the streams and buckets are.
    pub fn states(&self, sites: &[SiteKey]) -> Result<Vec<StreamState>, BrokerError> {
        let streams = Stream::ALL.into_iter().map(|stream| self.names.stream(stream));
        let buckets = sites.iter().map(|site| self.names.bucket_stream(site));
        streams
            .chain([self.names.door()])
            .chain(buckets)
            .map(|name| self.runtime.block_on(self.state(&name)))
            .collect()
    }

    async fn state(&self, name: &str) -> Result<StreamState, BrokerError> {
        let failed = |error: String| BrokerError::Failed(format!("{name}: {error}"));
        let held = self.context.get_stream_no_info(name).await;
        let info = held.map_err(|error| failed(error.to_string()))?.get_info().await;
        let hint = "`seenit network up` makes again what is missing";
        info.map(|info| state(&info)).map_err(|error| failed(format!("{error}: {hint}")))
    }
}

/// A connection of the admin's in the broker's system account, where accounts are changed without a reload.
#[derive(Debug)]
pub struct System {
    runtime: Runtime,
    client: Client,
}

impl System {
    /// Connects, or says why not.
    pub fn connect(servers: &Servers) -> Result<Self, BrokerError> {
        let (runtime, client) = connect(servers, "system")?;
        Ok(System { runtime, client })
    }

    /// Has the broker know this account, and says whether that changed anything. All servers of a cluster take it.
    pub fn push(&self, account: &str, jwt: &str) -> Result<bool, BrokerError> {
        self.runtime.block_on(async {
            let subject = format!("$SYS.REQ.ACCOUNT.{account}.CLAIMS.LOOKUP");
            let held = self.client.request(subject, "".into()).await.map_err(BrokerError::of)?;
            if held.payload == jwt.as_bytes() {
                return Ok(false);
            }
            let pushed = self.client.request("$SYS.REQ.CLAIMS.UPDATE", jwt.to_owned().into()).await;
            let answer = pushed.map_err(BrokerError::of)?.payload;
            let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap_or_default();
            match answer["data"]["code"].as_u64() {
                Some(200) => Ok(true),
                _ => Err(BrokerError::Failed(format!(
                    "the broker does not take the network's account: {answer}"
                ))),
            }
        })
    }
}

fn connect(servers: &Servers, who: &str) -> Result<(Runtime, Client), BrokerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let options = servers.options(who)?.max_reconnects(1);
    let connected = runtime.block_on(options.connect(servers.addresses.clone()));
    let client = connected.map_err(|error| BrokerError::connecting(&servers.addresses, &error))?;
    Ok((runtime, client))
}

/// The last message of a subject.
pub(super) async fn last(
    context: &Context,
    stream: String,
    subject: &str,
) -> Result<Option<Vec<u8>>, BrokerError> {
    let held = context.get_stream_no_info(&stream).await.map_err(BrokerError::of)?;
    match held.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Ok(Some(message.payload.to_vec())),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(BrokerError::Failed(format!("{stream}: {error}"))),
    }
}

fn is_missing(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// What of a stream is ours to choose, to be compared: the broker fills in the rest.
fn chosen(config: &Config) -> impl PartialEq + use<> {
    let Config { subjects, num_replicas, max_bytes, max_age, max_message_size, .. } = config.clone();
    let Config { max_messages_per_subject, republish, deny_delete, deny_purge, allow_rollup, .. } =
        config.clone();
    let discard = config.discard == DiscardPolicy::New;
    (
        (subjects, num_replicas, max_bytes.max(0), max_age, max_message_size.max(0), discard),
        (max_messages_per_subject.max(0), republish, deny_delete, deny_purge, allow_rollup),
    )
}

fn state(info: &Info) -> StreamState {
    StreamState {
        name: info.config.name.clone(),
        messages: info.state.messages,
        bytes: info.state.bytes,
        bytes_max: u64::try_from(info.config.max_bytes).ok().filter(|bytes| *bytes > 0),
        replicas: info.config.num_replicas,
    }
}

fn bytes_max(payload: usize) -> i32 {
    i32::try_from(payload + HEADER_BYTES_MAX).unwrap_or(i32::MAX)
}
