//! One point of the ramp with both placements: pages are counted, conditions hold, and the lines are drawn.

use verso_env::Env;

use super::{E3Options, plot, point};
use crate::folder::copy_database;

#[test]
fn both_placements_are_measured_on_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    let options = E3Options {
        warehouses: vec![1],
        terminals: 4,
        seconds: 1,
        warm_up: 0,
        seed: 1,
        json: None,
        plot: None,
        folder: None,
    };
    let (env, loaded, copy) =
        (Env::real(), folder.path().join("loaded.verso"), folder.path().join("e3.verso"));
    let bytes = point::fill(&env, &loaded, 1, 1).unwrap();
    let points = [true, false].map(|colocate| {
        copy_database(&loaded, &copy).unwrap();
        let asked = point::Asked { warehouses: 1, pool: "quarter", pool_bytes: bytes / 4, colocate };
        point::measure(&env, &copy, &asked, &options).unwrap()
    });
    for point in &points {
        assert!(point.commits > 0 && point.bytes >= bytes, "{point:?}");
        assert!(point.page_writes["data"].contains_key("order_line"), "{point:?}");
    }
    let drawn = folder.path().join("e3.svg");
    crate::chart::write(&plot::ramp(&points), &drawn).unwrap();
    assert!(std::fs::read_to_string(&drawn).unwrap().contains("pool quarter, shared"));
}
