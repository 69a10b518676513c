//! What the admin's tool does on the engine: makes streams and buckets, and publishes papers.

use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, LastRawMessageErrorKind, Republish, StorageType,
};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectErrorKind, HeaderMap};
use seenit_sites::key::{AdminKey, SiteKey};
use seenit_sites::message::MESSAGE_BYTES_MAX;
use seenit_sites::roster::{ROSTER_BYTES_MAX, Roster};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::objects::OBJECT_BYTES_MAX;
use super::{ANSWER_TIME, EngineError, Names, Servers, Stream};

/// Bytes of a message's headers, at most.
const HEADER_BYTES_MAX: usize = 4096;

/// How long a message that is published again is known to be the same.
const DUPLICATES_SECS: u64 = 600;

/// How long making a stream may take: in a cluster, its leader must be found first.
const MAKE_TIME: Duration = Duration::from_secs(15);

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

/// A roster or a manifest, to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paper {
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
    pub fn connect(servers: &Servers, network: AdminKey) -> Result<Self, EngineError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let options = servers.options(&network.to_string())?.max_reconnects(1);
        let connected = runtime.block_on(options.connect(servers.addresses.clone()));
        let connected = connected.map_err(|error| {
            let why = format!("{}: {error}", servers.addresses.join(", "));
            match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    EngineError::Refused(why)
                }
                _ => EngineError::Failed(why),
            }
        })?;
        // What is made here has tasks of its own.
        let entered = runtime.enter();
        let mut context = jetstream::new(connected);
        drop(entered);
        context.set_timeout(MAKE_TIME.max(ANSWER_TIME));
        Ok(Operator { runtime, context, network, names: Names::of(&network) })
    }

    /// Makes the streams, and a bucket for each site, or changes them to these limits.
    pub fn make(&self, sites: &[SiteKey], limits: &Limits) -> Result<Vec<StreamState>, EngineError> {
        let streams = Stream::ALL.into_iter().map(|stream| self.stream(stream, limits));
        let buckets = sites.iter().map(|site| self.bucket(site, limits));
        streams.chain(buckets).map(|config| self.make_one(config)).collect()
    }

    fn make_one(&self, config: Config) -> Result<StreamState, EngineError> {
        let name = config.name.clone();
        let made = self.runtime.block_on(self.context.create_or_update_stream(config));
        made.map(|info| state(&info)).map_err(|error| EngineError::Failed(format!("{name}: {error}")))
    }

    fn stream(&self, stream: Stream, limits: &Limits) -> Config {
        let (subjects, news) = (self.names.subjects(stream), self.names.news(Some(stream)));
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
            Stream::Papers => Config {
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

    /// Publishes those papers that are not there yet, and says how many.
    pub fn publish(&self, papers: &[Paper]) -> Result<usize, EngineError> {
        self.runtime.block_on(async {
            let mut published = 0;
            for paper in papers {
                let held = self.held(&paper.subject).await?;
                if held.as_ref() == Some(&paper.bytes) {
                    continue;
                }
                self.check_newer(paper, held.as_deref())?;
                self.publish_one(paper).await?;
                published += 1;
            }
            Ok(published)
        })
    }

    async fn publish_one(&self, paper: &Paper) -> Result<(), EngineError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, const_hex::encode(Sha256::digest(&paper.bytes)));
        let bytes = paper.bytes.clone().into();
        let sent = self.context.publish_with_headers(paper.subject.clone(), headers, bytes);
        let acknowledged = async { sent.await?.await };
        acknowledged.await.map(drop).map_err(EngineError::of)
    }

    /// The paper at a subject.
    async fn held(&self, subject: &str) -> Result<Option<Vec<u8>>, EngineError> {
        let name = self.names.stream(Stream::Papers);
        let held = self.context.get_stream_no_info(name).await.map_err(EngineError::of)?;
        match held.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message.payload.to_vec())),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(EngineError::Failed(format!("the stream of papers: {error}"))),
        }
    }

    /// An older roster in place of a newer one would come from a folder that was restored, or copied.
    fn check_newer(&self, paper: &Paper, held: Option<&[u8]>) -> Result<(), EngineError> {
        let read = |bytes: &[u8]| Roster::decode(bytes, &self.network).ok().map(|roster| roster.version());
        match (read(&paper.bytes), held.and_then(read)) {
            (Some(own), Some(held)) if held >= own => Err(EngineError::Failed(format!(
                "it has another roster of version {held}, and this folder has version {own}"
            ))),
            _ => Ok(()),
        }
    }

    /// How the streams and buckets are.
    pub fn states(&self, sites: &[SiteKey]) -> Result<Vec<StreamState>, EngineError> {
        let streams = Stream::ALL.into_iter().map(|stream| self.names.stream(stream));
        let buckets = sites.iter().map(|site| self.names.bucket_stream(site));
        streams.chain(buckets).map(|name| self.runtime.block_on(self.state(&name))).collect()
    }

    async fn state(&self, name: &str) -> Result<StreamState, EngineError> {
        let failed = |error: String| EngineError::Failed(format!("{name}: {error}"));
        let held = self.context.get_stream_no_info(name).await;
        let info = held.map_err(|error| failed(error.to_string()))?.get_info().await;
        info.map(|info| state(&info)).map_err(|error| failed(error.to_string()))
    }
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
