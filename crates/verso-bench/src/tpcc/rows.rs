//! The rows that the tables begin with (specification, clause 4.3.3.1), table by table, each a function of the seed.

use versodb::{Decimal, Value};

use super::random::{CUSTOMERS, ITEMS, Random};

/// Orders from here on are not delivered yet.
const FIRST_OPEN_ORDER: u32 = 2_101;
/// Districts of a warehouse.
pub(super) const DISTRICTS: u32 = 10;

/// A row, and where it goes.
pub(crate) type Row = Vec<Value>;
/// Takes the rows of one table.
pub(crate) type Sink<'s, E> = &'s mut dyn FnMut(&'static str, Row) -> Result<(), E>;

fn int(number: u32) -> Value {
    Value::Int4(number.cast_signed())
}

fn text(text: &str) -> Value {
    Value::text(text)
}

/// An amount of money: `cents` hundredths.
pub(super) fn money(cents: i64) -> Value {
    Value::Numeric(Decimal::from_scaled_i64(cents, 2))
}

/// A rate: ten thousandths.
fn rate(ten_thousandths: u32) -> Value {
    Value::Numeric(Decimal::from_scaled_i64(ten_thousandths.into(), 4))
}

/// The catalogue.
pub(super) fn items<E>(seed: u64, sink: Sink<'_, E>) -> Result<(), E> {
    let random = &mut Random::new(seed);
    for id in 1..=ITEMS {
        let row = vec![
            int(id),
            int(random.between(1, 10_000)),
            text(&random.text(14, 24)),
            money(random.between(100, 10_000).into()),
            text(&random.data()),
        ];
        sink("item", row)?;
    }
    Ok(())
}

/// A name, two streets, a city, a state and a zip code.
fn address(random: &mut Random) -> [Value; 5] {
    [
        text(&random.text(10, 20)),
        text(&random.text(10, 20)),
        text(&random.text(10, 20)),
        text(&random.text(2, 2)),
        text(&random.zip()),
    ]
}

/// All of one warehouse. `now` is in microseconds since 2000.
pub(super) fn warehouse<E>(seed: u64, warehouse: u32, now: i64, sink: Sink<'_, E>) -> Result<(), E> {
    let random = &mut Random::new(seed ^ (u64::from(warehouse) << 32));
    let mut row = vec![int(warehouse), text(&random.text(6, 10))];
    row.extend(address(random));
    row.extend([rate(random.between(0, 2_000)), money(30_000_000)]);
    sink("warehouse", row)?;
    stock(random, warehouse, sink)?;
    for district in 1..=DISTRICTS {
        let mut row = vec![int(district), int(warehouse), text(&random.text(6, 10))];
        row.extend(address(random));
        row.extend([rate(random.between(0, 2_000)), money(3_000_000), int(CUSTOMERS + 1)]);
        sink("district", row)?;
        customers(random, warehouse, district, now, sink)?;
        orders(random, warehouse, district, now, sink)?;
    }
    Ok(())
}

fn stock<E>(random: &mut Random, warehouse: u32, sink: Sink<'_, E>) -> Result<(), E> {
    for item in 1..=ITEMS {
        let mut row = vec![int(item), int(warehouse), int(random.between(10, 100))];
        row.extend((0..DISTRICTS).map(|_| text(&random.text(24, 24))));
        row.extend([int(0), int(0), int(0), text(&random.data())]);
        sink("stock", row)?;
    }
    Ok(())
}

fn customers<E>(
    random: &mut Random,
    warehouse: u32,
    district: u32,
    now: i64,
    sink: Sink<'_, E>,
) -> Result<(), E> {
    for id in 1..=CUSTOMERS {
        let mut row = vec![int(id), int(district), int(warehouse), text(&random.text(8, 16)), text("OE")];
        row.push(text(&random.loaded_last_name(id)));
        row.extend(address(random));
        row.extend([
            text(&random.digits(16)),
            Value::Timestamp(now),
            text(if random.percent(10) { "BC" } else { "GC" }),
            money(5_000_000),
            rate(random.between(0, 5_000)),
            money(-1_000),
            money(1_000),
            int(1),
            int(0),
            text(&random.text(300, 500)),
        ]);
        sink("customer", row)?;
        let history = [id, district, warehouse, district, warehouse].map(int);
        let rest = [Value::Timestamp(now), money(1_000), text(&random.text(12, 24))];
        sink("history", history.into_iter().chain(rest).collect())?;
    }
    Ok(())
}

fn orders<E>(
    random: &mut Random,
    warehouse: u32,
    district: u32,
    now: i64,
    sink: Sink<'_, E>,
) -> Result<(), E> {
    for (at, customer) in random.permutation(CUSTOMERS).into_iter().enumerate() {
        let id = at as u32 + 1;
        let delivered = id < FIRST_OPEN_ORDER;
        let carrier = if delivered { int(random.between(1, 10)) } else { Value::Null };
        let lines = random.between(5, 15);
        let when = Value::Timestamp(now);
        let row = vec![
            int(id),
            int(district),
            int(warehouse),
            int(customer),
            when.clone(),
            carrier,
            int(lines),
            int(1),
        ];
        sink("orders", row)?;
        for line in 1..=lines {
            let (delivery, amount) = match delivered {
                true => (when.clone(), 0),
                false => (Value::Null, random.between(1, 999_999)),
            };
            let row = vec![
                int(id),
                int(district),
                int(warehouse),
                int(line),
                int(random.between(1, ITEMS)),
                int(warehouse),
                delivery,
                int(5),
                money(amount.into()),
                text(&random.text(24, 24)),
            ];
            sink("order_line", row)?;
        }
        if !delivered {
            sink("new_order", vec![int(id), int(district), int(warehouse)])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_warehouse_has_the_specification_s_rows() {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let filled: Result<(), Infallible> = warehouse(1, 1, 0, &mut |table, row| {
            let columns = match table {
                "warehouse" => 9,
                "stock" => 17,
                "district" => 11,
                "customer" => 21,
                "history" | "orders" => 8,
                "order_line" => 10,
                _ => 3,
            };
            assert_eq!(row.len(), columns, "{table}");
            *counts.entry(table).or_default() += 1;
            Ok(())
        });
        assert!(filled.is_ok());
        let lines = counts.remove("order_line").unwrap_or_default();
        assert!((290_000..310_000).contains(&lines), "ten on the average: {lines}");
        let expected = [
            ("customer", 30_000),
            ("district", 10),
            ("history", 30_000),
            ("new_order", 9_000),
            ("orders", 30_000),
            ("stock", 100_000),
            ("warehouse", 1),
        ];
        assert_eq!(counts, BTreeMap::from(expected));
    }
}
