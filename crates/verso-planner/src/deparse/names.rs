//! Names that tell the items of FROM apart: those of a query inside differ from those of all queries around it.

use std::collections::HashSet;

use super::node::{Item, ItemKind};

/// An item and the name that it goes by.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) place: u32,
    pub(super) name: Option<String>,
    pub(super) columns: Vec<String>,
}

/// The items of one query.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) items: Vec<Named>,
    /// Columns are shown with the name of their item.
    pub(super) qualified: bool,
}

impl Level {
    /// Names the items of a FROM beside those of the queries around.
    pub(super) fn of(items: &[Item], around: &[Level]) -> Level {
        let known = around.iter().flat_map(|level| &level.items);
        let mut taken: HashSet<String> = known.filter_map(|item| item.name.clone()).collect();
        let mut level = Level::default();
        items.iter().for_each(|item| level.add(item, &mut taken));
        level.qualified = !around.is_empty() || level.items.len() != 1;
        level
    }

    fn add(&mut self, item: &Item, taken: &mut HashSet<String>) {
        if let ItemKind::Join(join) = &item.kind {
            self.add(&join.left, taken);
            self.add(&join.right, taken);
        }
        let wanted = item.alias.as_ref().or(item.own.as_ref());
        let name = wanted.map(|wanted| {
            let mut name = wanted.clone();
            let mut number = 0;
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("{wanted}_{number}");
            }
            name
        });
        self.items.push(Named { place: item.place, name, columns: item.columns.clone() });
    }

    pub(super) fn find(&self, place: u32) -> Option<&Named> {
        self.items.iter().find(|item| item.place == place)
    }
}
