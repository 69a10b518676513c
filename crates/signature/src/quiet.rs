//! A tokenizer of HTML that does not look for errors: nobody hears of them, and to look at each byte for them takes as
//! long as all else. The tokens are the same.

use html5gum::Tokenizer;
use html5gum::emitters::callback::{Callback, CallbackEmitter};
use html5gum::emitters::{Emitter, ForwardingEmitter};

/// An emitter whose errors nobody wants.
struct Quiet<E>(E);

impl<E: Emitter> ForwardingEmitter for Quiet<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = E::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

/// Hands the tokens of some HTML to `callback`, until that hands on anything: then the rest is not looked at. Start
/// tags switch states as html5gum guesses that they do.
pub(crate) fn read<T, C: Callback<T, ()>>(html: &str, callback: C) {
    let mut emitter = CallbackEmitter::<_, T>::new(callback);
    emitter.naively_switch_states(true);
    let _ = Tokenizer::new_with_emitter(html, Quiet(emitter)).next();
}
