//! Savepoints of handlers in PL/pgSQL, which end in the order of a stack: how much there was of something at each of them.

/// Places by the names of savepoints.
#[derive(Debug)]
pub(crate) struct Marks<P>(Vec<(String, P)>);

impl<P> Default for Marks<P> {
    fn default() -> Marks<P> {
        Marks(Vec::new())
    }
}

impl<P: Clone> Marks<P> {
    /// A savepoint is set.
    pub(crate) fn set(&mut self, name: &str, place: P) {
        self.0.push((name.to_owned(), place));
    }

    /// Back to a savepoint, which stays; its place.
    pub(crate) fn return_to(&mut self, name: &str) -> Option<P> {
        let at = self.find(name)?;
        self.0.truncate(at + 1);
        Some(self.0[at].1.clone())
    }

    /// A savepoint ends, and those behind it.
    pub(crate) fn release(&mut self, name: &str) {
        if let Some(at) = self.find(name) {
            self.0.truncate(at);
        }
    }

    /// All savepoints have ended.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|(mark, _)| mark == name)
    }
}
