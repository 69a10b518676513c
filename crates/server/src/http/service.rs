//! A request from its head to its answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::{Method, Request};

use super::answer::{self, Answered, Sent};
use super::caller::Caller;
use super::connection::Connection;
use super::problem::Problem;
use super::route::Route;
use super::{accounts, ask, check, explain, forwarded, guard, secrets, write};
use crate::audit::Origin;
use crate::backend::Backend;
use crate::connections::Doing;
use crate::metrics::FrontEnd;

/// Answers a request, once the answers before it have been read. There is always an answer.
pub(crate) async fn serve(
    backend: Arc<Backend>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Sent, Infallible> {
    connection.unread.taken().await;
    connection.seat.progress(Doing::Working);
    let began = Instant::now();
    let uri = request.uri().clone();
    let route = Route::find(uri.path());
    let address = forwarded::client(&backend, &connection, request.headers())
        .ok()
        .flatten()
        .unwrap_or(connection.address);
    let handled = handle(&backend, &connection, route, request).await;
    let mut response = handled.unwrap_or_else(|problem| {
        if let Some(why) = problem.not_let_in() {
            let origin = Origin { front_end: FrontEnd::Http, address, uid: None };
            backend.audit.refused(origin, route.map_or("none", Route::name), why);
        }
        answer::free(problem.into_response())
    });
    if connection.seat.guest.leaves_after_answer() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let name = route.map_or("none", Route::name);
    let status = response.status().as_u16();
    let took = began.elapsed();
    backend.metrics.count(name, status, took);
    tracing::debug!(route = name, status, micros = took.as_micros() as u64, client = %connection.address, "answered");
    connection.seat.progress(Doing::Waiting);
    Ok(response)
}

async fn handle(
    backend: &Arc<Backend>,
    connection: &Connection,
    route: Option<Route<'_>>,
    request: Request<Incoming>,
) -> Result<Sent, Problem> {
    guard::check(backend, connection, &request)?;
    let caller = Caller::identify(backend, connection, request.headers())?;
    let nothing = || Problem::not_found(format!("there is nothing at {}", shorten(request.uri().path())));
    let route = route.ok_or_else(nothing)?;
    if !route.takes(request.method()) {
        return Err(Problem::method(route.methods(), request.method().as_str()));
    }
    caller.check(backend, route)?;
    tracing::trace!(caller = caller.name(), route = route.name(), "asked");
    let answered = dispatch(backend, &caller, route, request).await?;
    Ok(answer::held(&backend.memory, &caller, answered))
}

async fn dispatch(
    backend: &Arc<Backend>,
    caller: &Caller,
    route: Route<'_>,
    request: Request<Incoming>,
) -> Result<Answered, Problem> {
    match route {
        Route::Check => check::check(backend, caller, request).await,
        Route::See => check::see(backend, caller, request).await,
        Route::Write(verb) => write::write(backend, caller, verb, request).await,
        Route::Receipt(id) => ask::receipt(backend, caller, id).await,
        Route::Explain if request.method() == Method::POST => {
            explain::message(backend, caller, request).await
        }
        Route::Explain => explain::signature(backend, caller, request.uri()).await,
        Route::Stats => ask::stats(backend).await,
        Route::Sites => ask::sites(backend, caller).await,
        Route::Health => Ok(ask::health()),
        Route::Ready => ask::ready(backend),
        Route::Metrics => ask::metrics(backend).await,
        Route::OpenApi => Ok(ask::openapi()),
        Route::Accounts if request.method() == Method::POST => accounts::add(backend, caller, request).await,
        Route::Accounts => accounts::list(backend).await,
        Route::Account(name) if request.method() == Method::DELETE => accounts::remove(backend, name).await,
        Route::Account(name) => accounts::show(backend, name).await,
        Route::AccountToken(name) => accounts::renew(backend, name).await,
        Route::AccountWeight(name) => accounts::weigh(backend, caller, name, request).await,
        Route::AccountStanding(name) => accounts::stand(backend, caller, name, request).await,
        Route::AccountUndo(name) => accounts::undo(backend, name).await,
        Route::AccountSecret(name, protocol) if request.method() == Method::DELETE => {
            secrets::remove(backend, name, protocol).await
        }
        Route::AccountSecret(name, protocol) => secrets::put(backend, caller, name, protocol, request).await,
        Route::ConfirmClock => ask::confirm_clock(backend).await,
        Route::Snapshot => ask::snapshot(backend).await,
    }
}

fn shorten(path: &str) -> String {
    path.chars().take(100).collect()
}
