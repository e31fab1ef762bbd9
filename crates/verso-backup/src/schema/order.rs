//! In which order views can be made: those that others read come first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid, ViewDef, is_temporary};

/// The users' views, each behind those that it reads.
pub(super) fn views(catalog: &CatalogSnapshot) -> Vec<Arc<ViewDef>> {
    let own = |view: &Arc<ViewDef>| !view.oid.is_system() && !is_temporary(&view.schema);
    let mut all: Vec<Arc<ViewDef>> = catalog.all_views().filter(own).collect();
    all.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    let by_oid: HashMap<Oid, &Arc<ViewDef>> = all.iter().map(|view| (view.oid, view)).collect();
    let mut done: HashSet<Oid> = HashSet::new();
    let mut ordered = Vec::new();
    for view in &all {
        // Views over views may be nested deeply, so this is no recursion: a view waits on the stack for those it reads.
        let mut stack = vec![view];
        let mut waiting: HashSet<Oid> = HashSet::new();
        while let Some(view) = stack.last().copied() {
            let mut reads =
                view.query.relations.iter().filter_map(|read| by_oid.get(&read.relation).copied());
            waiting.insert(view.oid);
            let first = reads.find(|read| !done.contains(&read.oid) && !waiting.contains(&read.oid));
            match first {
                Some(read) => stack.push(read),
                _ => {
                    stack.pop();
                    if done.insert(view.oid) {
                        ordered.push(Arc::clone(view));
                    }
                }
            }
        }
    }
    ordered
}
