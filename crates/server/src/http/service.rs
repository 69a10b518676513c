//! A request from its head to its answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request};

use super::answer::{self, Answered, Sent};
use super::problem::Problem;
use super::route::Route;
use super::state::{Peer, State};
use super::who::Caller;
use super::{accounts, ask, check, explain, forwarded, guard, secrets, write};
use crate::audit::Origin;
use crate::listen::Doing;
use crate::metrics::FrontEnd;

/// Answers a request, once the answers before it have been read. There is always an answer.
pub(crate) async fn serve(
    state: Arc<State>,
    peer: Arc<Peer>,
    request: Request<Incoming>,
) -> Result<Sent, Infallible> {
    peer.unread.taken().await;
    peer.seat.progress(Doing::Working);
    let began = Instant::now();
    let uri = request.uri().clone();
    let route = Route::find(uri.path());
    let address = forwarded::client(&state, &peer, request.headers()).ok().flatten().unwrap_or(peer.address);
    let handled = handle(&state, &peer, route, request).await;
    let mut response = handled.unwrap_or_else(|problem| {
        if let Some(why) = problem.not_let_in() {
            let origin = Origin { front_end: FrontEnd::Http, address, uid: None };
            state.audit.refused(origin, route.map_or("none", Route::name), why);
        }
        answer::free(problem.into_response())
    });
    if peer.seat.guest.leaves_after_answer() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let (name, status, took) =
        (route.map_or("none", Route::name), response.status().as_u16(), began.elapsed());
    state.metrics.count(name, status, took);
    tracing::debug!(route = name, status, micros = took.as_micros() as u64, client = %peer.address, "answered");
    peer.seat.progress(Doing::Waiting);
    Ok(response)
}

async fn handle(
    state: &Arc<State>,
    peer: &Peer,
    route: Option<Route<'_>>,
    request: Request<Incoming>,
) -> Result<Sent, Problem> {
    guard::check(state, peer, &request)?;
    let caller = Caller::identify(state, peer, request.headers())?;
    let nothing = || Problem::not_found(format!("there is nothing at {}", shorten(request.uri().path())));
    let route = route.ok_or_else(nothing)?;
    if !route.takes(request.method()) {
        return Err(Problem::method(route.methods(), request.method().as_str()));
    }
    caller.check(state, route)?;
    tracing::trace!(caller = caller.name(), route = route.name(), "asked");
    let answered = dispatch(state, &caller, route, request).await?;
    Ok(answer::held(&state.memory, &caller, answered))
}

async fn dispatch(
    state: &Arc<State>,
    caller: &Caller,
    route: Route<'_>,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    match route {
        Route::Check => check::check(state, caller, request).await,
        Route::See => check::see(state, caller, request).await,
        Route::Write(verb) => write::write(state, caller, verb, request).await,
        Route::Receipt(id) => ask::receipt(state, caller, id).await,
        Route::Explain if request.method() == Method::POST => explain::message(state, caller, request).await,
        Route::Explain => explain::signature(state, caller, request.uri()).await,
        Route::Stats => ask::stats(state).await,
        Route::Sites => ask::sites(state, caller).await,
        Route::Health => Ok(ask::health()),
        Route::Ready => ask::ready(state),
        Route::Metrics => ask::metrics(state).await,
        Route::OpenApi => Ok(ask::openapi()),
        Route::Accounts if request.method() == Method::POST => accounts::add(state, caller, request).await,
        Route::Accounts => accounts::list(state).await,
        Route::Account(name) if request.method() == Method::DELETE => accounts::remove(state, name).await,
        Route::Account(name) => accounts::show(state, name).await,
        Route::AccountToken(name) => accounts::renew(state, name).await,
        Route::AccountWeight(name) => accounts::weigh(state, caller, name, request).await,
        Route::AccountStanding(name) => accounts::stand(state, caller, name, request).await,
        Route::AccountUndo(name) => accounts::undo(state, name).await,
        Route::AccountSecret(name, protocol) if request.method() == Method::DELETE => {
            secrets::remove(state, name, protocol).await
        }
        Route::AccountSecret(name, protocol) => secrets::put(state, caller, name, protocol, request).await,
        Route::ConfirmClock => ask::confirm_clock(state).await,
        Route::Snapshot => ask::snapshot(state).await,
    }
}

fn shorten(path: &str) -> String {
    path.chars().take(100).collect()
}
