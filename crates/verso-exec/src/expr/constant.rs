//! Constants of expressions that are evaluated row by row.
//!
//! A row takes a clone of the constant, and the clone of a text counts its holders in one word. Workers that count the same text
//! take this word's cache line from each other with every row, which costs several times what a function does with the text.
//! Hence each thread but the one that compiled the expression clones a copy of its own.

use std::sync::OnceLock;

use verso_env::sync::thread_number;
use verso_types::Value;

/// So many copies at most; threads beyond share them.
const COPIES: usize = 16;

/// A constant.
pub(super) struct Constant {
    value: Value,
    /// The thread that compiled the expression.
    home: usize,
    /// Those of other threads, made when they first ask. None of a value whose clones count nothing.
    copies: Option<OnceLock<Box<[OnceLock<Value>; COPIES]>>>,
}

impl Constant {
    pub(super) fn new(value: Value) -> Constant {
        let copies = value.is_counted().then(OnceLock::new);
        Constant { value, home: thread_number(), copies }
    }

    /// The value, which nobody else counts at the same time, as a rule.
    #[inline]
    pub(super) fn get(&self) -> Value {
        match &self.copies {
            None => self.value.clone(),
            Some(copies) => {
                let thread = thread_number();
                if thread == self.home {
                    return self.value.clone();
                }
                let copies = copies.get_or_init(Box::default);
                copies[thread % COPIES].get_or_init(|| self.value.apart()).clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use verso_types::Value;

    use super::Constant;

    fn text(value: &Value) -> Arc<str> {
        match value {
            Value::Text(text) => Arc::clone(text),
            other => panic!("{other:?} is no text"),
        }
    }

    #[test]
    fn each_thread_counts_a_copy_of_its_own() {
        let constant = Constant::new(Value::text("name"));
        let own = text(&constant.get());
        assert!(Arc::ptr_eq(&own, &text(&constant.get())));
        let others = std::thread::scope(|scope| {
            let ask = || scope.spawn(|| [text(&constant.get()), text(&constant.get())]);
            let threads = [ask(), ask()];
            threads.map(|thread| thread.join().expect("the thread ends"))
        });
        for [first, second] in &others {
            assert!(Arc::ptr_eq(first, second) && !Arc::ptr_eq(first, &own) && **first == *own);
        }
        assert!(!Arc::ptr_eq(&others[0][0], &others[1][0]));
    }
}
