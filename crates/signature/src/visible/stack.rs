//! The elements that are open: which hide what is in them, and which an element that begins or ends closes.
//!
//! Each tag may ask for the innermost of 256 open elements, and a message has millions of tags. So nothing is searched:
//! what closes an element takes away all that it looks at, and a name that is not open is known to be none.

use std::collections::{HashMap, VecDeque};

use crate::work;

/// Elements open at a time. Mail nests tables a few dozen deep; beyond this, the outermost are forgotten.
pub(super) const OPEN_MAX: usize = 256;

/// Names that are remembered with their counts, those that are no longer open included: a name mostly comes again.
const OTHERS_MAX: usize = 4 * OPEN_MAX;

/// The name of an element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// Its number among those that are in a table.
    Known(usize),
    /// Any other of few bytes, and a 1 before them, so that their number counts.
    Short(u128),
    /// Any other.
    Long(Vec<u8>),
}

impl Name {
    /// A name that is in no table.
    pub(super) fn other(name: &[u8]) -> Self {
        if name.len() < size_of::<u128>() {
            Name::Short(name.iter().fold(1, |short, byte| short << 8 | u128::from(*byte)))
        } else {
            Name::Long(name.to_vec())
        }
    }
}

/// An element that was opened and not closed.
pub(super) struct Open {
    pub(super) name: Name,
    pub(super) hidden: bool,
    /// What is in it cannot be seen, though it takes its room.
    pub(super) invisible: bool,
    /// Its letters have no size.
    pub(super) sizeless: bool,
}

/// How many groups of elements there are that end their like.
pub(super) const GROUPS: usize = 8;

/// What an element is to each group, a bit a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    /// The next of the group ends it.
    pub(super) ended: u8,
    /// What is outside of it is not ended from within.
    pub(super) walls: u8,
}

impl Roles {
    /// The groups in which it is anything.
    fn groups(self) -> impl Iterator<Item = usize> {
        let groups = self.ended | self.walls;
        (0..GROUPS).take(if groups == 0 { 0 } else { GROUPS }).filter(move |group| groups >> group & 1 == 1)
    }

    fn is_ended(self, group: usize) -> bool {
        self.ended >> group & 1 == 1
    }
}

/// An element on the stack. Ordinals only grow, so that they tell which of two is further in.
struct Placed {
    ordinal: u64,
    roles: Roles,
    open: Open,
}

/// The open elements.
#[derive(Default)]
pub(super) struct Stack {
    /// The outermost ones, found to be hidden when room was needed: those are kept.
    kept: Vec<Placed>,
    open: VecDeque<Placed>,
    /// How many are open of each name.
    known: Vec<usize>,
    others: HashMap<Name, usize>,
    /// Those with a role, group by group: their ordinals, and whether they are ended.
    groups: [Vec<(u64, bool)>; GROUPS],
    hidden: usize,
    next_ordinal: u64,
}

impl Stack {
    /// The innermost element.
    pub(super) fn last(&self) -> Option<&Open> {
        self.open.back().or(self.kept.last()).map(|placed| &placed.open)
    }

    /// Whether any of them hides what is in it.
    pub(super) fn hides(&self) -> bool {
        self.hidden > 0
    }

    /// Remembers an element. Where there is no more room, the outermost that hides nothing is forgotten.
    pub(super) fn push(&mut self, open: Open, roles: Roles) {
        if self.kept.len() + self.open.len() == OPEN_MAX && !self.forget() {
            return;
        }
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        self.hidden += usize::from(open.hidden);
        match &open.name {
            Name::Known(number) => {
                self.known.resize(self.known.len().max(number + 1), 0);
                self.known[*number] += 1;
            }
            name => {
                if self.others.len() == OTHERS_MAX {
                    self.others.retain(|_, count| *count > 0);
                }
                *self.others.entry(name.clone()).or_default() += 1;
            }
        }
        for group in roles.groups() {
            self.groups[group].push((ordinal, roles.is_ended(group)));
        }
        self.open.push_back(Placed { ordinal, roles, open });
    }

    /// Forgets the outermost element that hides nothing; false where all of them hide something.
    fn forget(&mut self) -> bool {
        while let Some(outermost) = self.open.pop_front() {
            work::did(1);
            if !outermost.open.hidden {
                self.removed(&outermost);
                return true;
            }
            self.kept.push(outermost);
        }
        false
    }

    /// Closes the innermost element of a group, unless a wall is further in.
    pub(super) fn end(&mut self, group: usize) {
        if let Some(&(ordinal, true)) = self.groups[group].last() {
            while self.pop().is_some_and(|closed| closed.ordinal != ordinal) {}
        }
    }

    /// Closes the innermost element of this name, and all that were opened in it and left open. Says whether it was
    /// hidden; `None` where none is open.
    pub(super) fn close(&mut self, name: &Name) -> Option<bool> {
        match name {
            Name::Known(number) => self.known.get(*number).filter(|count| **count > 0)?,
            name => self.others.get(name).filter(|count| **count > 0)?,
        };
        loop {
            let Placed { open, .. } = self.pop()?;
            if open.name == *name {
                return Some(open.hidden);
            }
        }
    }

    fn pop(&mut self) -> Option<Placed> {
        let closed = self.open.pop_back().or_else(|| self.kept.pop())?;
        work::did(1);
        self.removed(&closed);
        Some(closed)
    }

    /// Takes an element that is gone out of all counts.
    fn removed(&mut self, gone: &Placed) {
        self.hidden -= usize::from(gone.open.hidden);
        match &gone.open.name {
            Name::Known(number) => self.known[*number] -= 1,
            name => {
                if let Some(count) = self.others.get_mut(name) {
                    *count -= 1;
                }
            }
        }
        for group in gone.roles.groups() {
            let group = &mut self.groups[group];
            if let Ok(place) = group.binary_search_by_key(&gone.ordinal, |(ordinal, _)| *ordinal) {
                group.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Roles = Roles { ended: 0, walls: 0 };

    fn name(name: &str) -> Name {
        Name::other(name.as_bytes())
    }

    fn element(named: &str, hidden: bool) -> Open {
        Open { name: name(named), hidden, invisible: false, sizeless: false }
    }

    fn names(stack: &Stack) -> Vec<Name> {
        stack.kept.iter().chain(&stack.open).map(|placed| placed.open.name.clone()).collect()
    }

    #[test]
    fn names_differ() {
        let long = "a".repeat(16);
        let all = ["", "a", "\0", "\0\0", "aa", &long[..14], &long[..15], &long].map(name);
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| one != other), "{one:?}");
        }
    }

    #[test]
    fn the_outermost_that_hides_nothing_is_forgotten() {
        let mut stack = Stack::default();
        for number in 0..OPEN_MAX {
            stack.push(element(&format!("x{number}"), number < 2), PLAIN);
        }
        stack.push(element("new", false), PLAIN);
        assert_eq!(names(&stack)[..3], ["x0", "x1", "x3"].map(name));
        assert_eq!(stack.close(&name("x2")), None, "forgotten");
        assert_eq!(stack.close(&name("x1")), Some(true));
        assert_eq!(names(&stack), ["x0"].map(name));
        assert!(stack.hides());
        assert_eq!(stack.close(&name("x0")), Some(true));
        assert!(!stack.hides() && stack.last().is_none());
    }

    #[test]
    fn all_hidden_ones_are_kept() {
        let mut stack = Stack::default();
        (0..OPEN_MAX).for_each(|_| stack.push(element("x", true), PLAIN));
        stack.push(element("new", false), PLAIN);
        assert_eq!(names(&stack).len(), OPEN_MAX);
        assert_eq!(stack.close(&name("new")), None);
    }

    #[test]
    fn an_element_is_ended_up_to_a_wall() {
        let (ended, wall) = (Roles { ended: 1, walls: 0 }, Roles { ended: 0, walls: 1 });
        let mut stack = Stack::default();
        stack.push(element("li", false), ended);
        stack.push(element("b", false), PLAIN);
        stack.end(0);
        assert!(names(&stack).is_empty());
        stack.push(element("li", false), ended);
        stack.push(element("ul", false), wall);
        stack.end(0);
        assert_eq!(names(&stack), ["li", "ul"].map(name));
    }
}
