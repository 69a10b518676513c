//! A network of a few sites, and the broker of one of them.

use std::time::Duration;

use seenit_link::BrokerStream;
use seenit_server::broker::{
    Arrivals, Arrived, Authority, BrokerConfig, BrokerHandle, Limits, Login, Operator, Published, Servers,
    StreamPosition, User, nkey_account,
};
use seenit_sites::key::{AdminSecret, SiteSecret};
use tokio::runtime::Runtime;

/// How long anything may take before a test gives up: a cluster may have to elect a leader first.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn admin() -> AdminSecret {
    AdminSecret::from_bytes([200; 32])
}

pub(crate) fn site(seed: u8) -> SiteSecret {
    SiteSecret::from_bytes([seed; 32])
}

/// What a server must be told: whom to trust. It is told nothing of any site.
pub(crate) fn users() -> String {
    let (authority, network) = (Authority::of(&admin()), nkey_account(&admin().public()));
    format!(
        "operator: {}\nsystem_account: {system}\nresolver: MEMORY\n\
         resolver_preload: {{ {network}: {}, {system}: {} }}\n",
        authority.operator(),
        authority.account(1, &[]),
        authority.system(),
        system = authority.system_account(),
    )
}

/// The admin, with all rights.
pub(crate) fn admin_user() -> User {
    Authority::of(&admin()).admin()
}

/// A site that the admin let in.
pub(crate) fn site_user(seed: u8) -> User {
    let secret = site(seed);
    let jwt = Authority::of(&admin()).site(&secret.public(), &secret.broker_key().public());
    User { jwt, secret: secret.broker_key() }
}

pub(crate) fn servers(urls: &[String], login: Login) -> Servers {
    Servers { addresses: urls.to_vec(), login, ca: None, may_be_plain: true }
}

pub(crate) fn operator(urls: &[String]) -> Operator {
    let servers = servers(urls, Login::User(admin_user()));
    Operator::connect(&servers, admin().public()).expect("the broker is there")
}

/// Makes the streams, and buckets for sites 1 and 2.
pub(crate) fn make(urls: &[String], replicas: usize) -> Operator {
    let operator = operator(urls);
    let limits = Limits { replicas, stream_bytes: 64 << 20, bucket_bytes: 64 << 20, ..Limits::default() };
    let made = operator.make(&[site(1).public(), site(2).public()], &limits).expect("streams");
    assert_eq!(made.len(), 6);
    operator
}

/// The broker of a site, and all that arrived there.
pub(crate) struct Running {
    pub(crate) handle: BrokerHandle,
    arrived: Arrivals,
    runtime: Runtime,
    tickets: u64,
}

impl Running {
    pub(crate) fn start(urls: &[String], seed: u8, after: Vec<StreamPosition>) -> Self {
        Running::start_as(urls, seed, Login::User(site_user(seed)), after)
    }

    pub(crate) fn start_as(urls: &[String], seed: u8, login: Login, after: Vec<StreamPosition>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let servers = servers(urls, login);
        let config = BrokerConfig { network: admin().public(), site: site(seed).public(), servers, after };
        let (handle, arrived) =
            seenit_server::broker::start(config, runtime.handle()).expect("the broker starts");
        Running { handle, arrived, runtime, tickets: 0 }
    }

    /// The next thing that arrives, if it does in time.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<Arrived> {
        let next = async { tokio::time::timeout(patience, self.arrived.recv()).await.ok().flatten() };
        self.runtime.block_on(next)
    }

    /// The first thing that will do; all before it is passed over.
    pub(crate) fn find<T>(&mut self, what: &str, mut wanted: impl FnMut(Arrived) -> Option<T>) -> T {
        loop {
            let arrived = self.next(PATIENCE).unwrap_or_else(|| panic!("{what} does not arrive"));
            if let Some(found) = wanted(arrived) {
                return found;
            }
        }
    }

    pub(crate) fn up(&mut self) {
        self.find("the connection", |arrived| (arrived == Arrived::Up).then_some(()));
    }

    /// The next message of a stream, and its place.
    pub(crate) fn read(&mut self) -> (Vec<u8>, StreamPosition) {
        self.find("a message", |arrived| match arrived {
            Arrived::Bytes { bytes, place: Some(place), .. } => Some((bytes.to_vec(), place)),
            _ => None,
        })
    }

    /// Publishes once, and says what became of it.
    pub(crate) fn publish(&mut self, kind: BrokerStream, bytes: &[u8], expected: u64) -> Published {
        self.tickets += 1;
        let own = self.tickets;
        self.handle.publish(own, kind, bytes.to_vec(), expected).expect("room");
        self.find("the outcome", |arrived| match arrived {
            Arrived::Published { ticket, outcome } if ticket == own => Some(outcome),
            _ => None,
        })
    }

    /// Publishes until it is known what became of it.
    pub(crate) fn insist(&mut self, kind: BrokerStream, bytes: &[u8], expected: u64) -> Published {
        let until = std::time::Instant::now() + 2 * PATIENCE;
        loop {
            match self.publish(kind, bytes, expected) {
                Published::Failed(why) => assert!(std::time::Instant::now() < until, "{why}"),
                outcome => return outcome,
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn object(&mut self, of: u8, name: &str) -> Option<Vec<u8>> {
        self.handle.get(site(of).public(), name.to_owned()).expect("room");
        self.find("the object", |arrived| match arrived {
            Arrived::Object { site: owner, name: found, bytes } => {
                assert_eq!((owner, found.as_str()), (site(of).public(), name));
                Some(bytes)
            }
            _ => None,
        })
    }

    pub(crate) fn put(&mut self, name: &str, bytes: &[u8]) -> bool {
        self.handle.put(name.to_owned(), bytes.to_vec()).expect("room");
        self.find("what became of the object", |arrived| match arrived {
            Arrived::Put { name: found, is_kept } if found == name => Some(is_kept),
            _ => None,
        })
    }
}
