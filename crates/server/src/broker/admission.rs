//! The site's side of joining: what it keeps in its data folder until it is let in and after, and how it asks.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::{self, Context};
use seenit_ledger::private as private_file;
use seenit_sites::introduction::Introduction;
use seenit_sites::key::{AdminKey, BrokerSecret, SiteKey, SiteSecret};
use tokio::runtime::Runtime;

use super::arrivals::Arriving;
use super::invite::{INVITE_LETTERS_MAX, Invite};
use super::{ANSWER_TIME, Arrived, BrokerError, Login, Names, Servers, jwt};

/// The site's JWT, in its data folder. It is no secret, and proves nothing without the site's key.
const USER_FILE: &str = "network-user.jwt";

/// The invite, in the data folder until the site is admitted.
const INVITE_FILE: &str = "network-invite";

/// The most bytes of a JWT: one has about 1.5 kB.
const USER_BYTES_MAX: u64 = 16 * 1024;

/// How often a site that is not admitted yet looks whether it is.
const LOOK: Duration = Duration::from_secs(2);

/// How often one that is admitted looks whether the admin signed another JWT for it.
const REFRESH: Duration = Duration::from_secs(60);

/// A site as the broker knows it: by a key made from its own, and by the JWT that the admin signed for it.
#[derive(Clone, Debug)]
pub struct SiteLogin {
    pub(super) secret: BrokerSecret,
    site: SiteKey,
    network: AdminKey,
    data: PathBuf,
}

impl SiteLogin {
    /// That of the site with this secret and this data folder, in this network.
    pub fn new(secret: &SiteSecret, network: AdminKey, data: &Path) -> Self {
        SiteLogin { secret: secret.broker_key(), site: secret.public(), network, data: data.to_owned() }
    }

    /// The JWT, if the site has one of this network. A network that knows its sites by their keys alone has none.
    pub fn jwt(&self) -> Option<String> {
        let bytes = private_file::read(&self.data.join(USER_FILE), USER_BYTES_MAX).ok().flatten()?;
        let text = String::from_utf8(bytes).ok()?.trim_end().to_owned();
        jwt::is_for(&text, &self.network, &self.secret.public()).then_some(text)
    }

    /// Keeps a JWT if it is this site's, and says whether it is another one than before.
    pub fn keep_jwt(&self, bytes: &[u8]) -> Result<bool, BrokerError> {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end();
        if !jwt::is_for(text, &self.network, &self.secret.public()) {
            return Err(BrokerError::Failed("what the broker has for this site is no JWT of it".to_owned()));
        }
        // What the invite was for is done; the file would only be a secret that lies around.
        let _ = std::fs::remove_file(self.data.join(INVITE_FILE));
        if self.jwt().as_deref() == Some(text) {
            return Ok(false);
        }
        private_file::write(&self.data.join(USER_FILE), format!("{text}\n").as_bytes())
            .map_err(BrokerError::of)?;
        Ok(true)
    }

    /// Keeps the invite, with which the site looks whether it is admitted.
    pub fn keep_invite(&self, invite: &Invite) -> Result<(), BrokerError> {
        let text = format!("{invite}\n");
        private_file::write(&self.data.join(INVITE_FILE), text.as_bytes()).map_err(BrokerError::of)
    }

    fn invite(&self) -> Option<Invite> {
        let path = self.data.join(INVITE_FILE);
        let bytes = private_file::read(&path, INVITE_LETTERS_MAX as u64).ok().flatten()?;
        let invite: Invite = String::from_utf8(bytes).ok()?.parse().ok()?;
        (invite.network == self.network).then_some(invite)
    }

    /// Waits until the admin has let the site in, if it was invited and is not yet. It is told why it still waits.
    pub(super) async fn wait(&self, servers: &Servers, arrived: &Arriving) {
        let mut last = String::new();
        while let Some(invite) = self.invite().filter(|_| self.jwt().is_none()) {
            let why = match self.look(servers, &invite).await {
                Ok(true) => break,
                Err(_) if has_ended(&invite) => {
                    "this site was not admitted before its invite ended: ask the admin for another, and join again"
                        .into()
                }
                Ok(false) => {
                    "this site is not admitted yet: the admin runs `seenit network admit --pending`".into()
                }
                Err(error) => {
                    format!("this site is not admitted yet, and cannot look whether it is: {error}")
                }
            };
            if why != last {
                let _ = arrived.send(Arrived::Down(why.clone())).await;
                last = why;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Looks whether the site is admitted, and keeps its JWT if so.
    async fn look(&self, servers: &Servers, invite: &Invite) -> Result<bool, BrokerError> {
        let context = knock(servers, invite).await?;
        let Some(bytes) = held(&context, &Names::of(&self.network), &self.site).await? else {
            return Ok(false);
        };
        self.keep_jwt(&bytes).map(|_| true)
    }

    /// Takes the JWT that the admin signed last, again and again. It holds from the next connection on: a newer release
    /// may allow a site more, or less, and a network may know its sites by their keys alone so far.
    pub(super) async fn keep_fresh(self, context: Context) {
        loop {
            self.refresh(&context).await;
            tokio::time::sleep(REFRESH).await;
        }
    }

    async fn refresh(&self, context: &Context) {
        let refreshed = match held(context, &Names::of(&self.network), &self.site).await {
            Ok(Some(bytes)) => self.keep_jwt(&bytes),
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        if let Err(error) = refreshed {
            tracing::debug!(%error, "the site's JWT is not read again");
        }
    }
}

/// Leaves an introduction at the door, as the holder of the invite.
pub fn deposit(invite: &Invite, servers: &Servers, introduction: &Introduction) -> Result<(), BrokerError> {
    Runtime::new()?.block_on(async {
        let context = knock(servers, invite).await?;
        let user = invite.user().map_err(BrokerError::of)?;
        let subject = Names::of(&invite.network).deposit(Some(&user.secret.public()));
        let sent = context.publish(subject, introduction.bytes().to_vec().into());
        let acknowledged = async { sent.await?.await };
        acknowledged.await.map(drop).map_err(|error| {
            BrokerError::Failed(format!(
                "{}: the introduction is not taken: {error}; the admin runs `seenit network up` to repair the broker",
                servers.addresses.join(", ")
            ))
        })
    })
}

/// Whether the network has let a site in already, as far as the holder of an invite can see.
pub fn is_admitted(invite: &Invite, servers: &Servers, site: &SiteKey) -> Result<bool, BrokerError> {
    Runtime::new()?.block_on(async {
        let context = knock(servers, invite).await?;
        Ok(held(&context, &Names::of(&invite.network), site).await?.is_some())
    })
}

/// Connects as the holder of an invite.
async fn knock(servers: &Servers, invite: &Invite) -> Result<Context, BrokerError> {
    let user = invite.user().map_err(BrokerError::of)?;
    let who = user.secret.public().to_string();
    let servers = Servers { login: Login::User(user), ..servers.clone() };
    let options = servers.options(&who)?.max_reconnects(1);
    let client = options.connect(servers.addresses.clone()).await;
    let client = client.map_err(|error| BrokerError::connecting(&servers.addresses, &error))?;
    let mut context = jetstream::new(client);
    context.set_timeout(ANSWER_TIME);
    Ok(context)
}

fn has_ended(invite: &Invite) -> bool {
    SystemTime::now().duration_since(UNIX_EPOCH).is_ok_and(|now| now.as_secs() > invite.expires_secs)
}

/// What the door has for a site.
async fn held(context: &Context, names: &Names, site: &SiteKey) -> Result<Option<Vec<u8>>, BrokerError> {
    super::operator::last(context, names.door(), &names.user(site)).await
}
