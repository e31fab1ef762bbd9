//! The tables of the billing batch, a reconstruction from the list of its steps: the article does not give them.

/// Customers, each of whom gets a bill in every iteration.
pub(super) const CUSTOMERS: u64 = 100_000;
/// Products; each iteration bills the next one.
pub(super) const PRODUCTS: u64 = 2_000;

/// Takes the tables of an earlier run away.
pub(super) const DROP: &str =
    "DROP TABLE IF EXISTS bill_state, bill_product, bill_product_cycle, bill_customer, bills";

/// Makes and fills them.
pub(super) const CREATE: &[&str] = &[
    "CREATE TABLE bill_state (state char(2) PRIMARY KEY, state_name varchar(30), tax_rate numeric(6,4))",
    "CREATE TABLE bill_product (product_number int PRIMARY KEY, product_name varchar(40), product_price numeric(10,2), start_date date)",
    "CREATE TABLE bill_product_cycle (product_number int)",
    "CREATE TABLE bill_customer (customer_number int PRIMARY KEY, first_name varchar(30), last_name varchar(30), company varchar(40),
     address1 varchar(60), address2 varchar(60), city varchar(30), state char(2), zip char(10), phone char(16), email varchar(60),
     start_date date, plan_class int, balance_due numeric(14,2), comments varchar(200))",
    "CREATE TABLE bills (bill_number serial, customer_number int, product_number int, last_name varchar(30), state char(2), bill_date date,
     product_name varchar(40), product_price numeric(10,2), product_discount numeric(5,2), tax_rate numeric(6,4), total_bill numeric(14,2))",
    "INSERT INTO bill_state SELECT substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1 + i / 26, 1) || substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1 + i % 26, 1),
     'state ' || i, 0.01 * (i % 9) FROM generate_series(0, 49) AS g(i)",
    "INSERT INTO bill_product SELECT i, 'product number ' || i, 5 + (i * 37 % 500) * 0.10, date '2013-01-01' FROM generate_series(1, 2000) AS g(i)",
    "INSERT INTO bill_product_cycle VALUES (1)",
    "INSERT INTO bill_customer SELECT i, 'First' || i % 5000, 'Lastname' || i % 20000, 'Company of customer ' || i,
     i || ' Long Avenue of the Forest', 'Building ' || i % 100 || ', floor ' || i % 30, 'City ' || i % 3000,
     substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1 + (i % 50) / 26, 1) || substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1 + (i % 50) % 26, 1),
     '12345-6789', '+1 555 0100 0000', 'customer.' || i || '@example.invalid', date '2010-01-01' + i % 1000, i % 10, 0,
     'A comment about the customer that makes the record as wide as records of customers tend to be, number ' || i || repeat('.', 40)
     FROM generate_series(1, 100000) AS g(i)",
];

/// What all bills of one product come to, in cents: computed here, so that the database's own sums have something to be
/// compared with.
pub(super) fn total_of_product(product: u64) -> u64 {
    // A price has one decimal place, so tenths of it are whole cents.
    let price = 500 + product * 37 % 500 * 10;
    // Who pays depends on the last digit of the customer's number, how much tax on its remainder by 50: fifty classes.
    let of_class = |class: u64| -> u64 {
        let plan = class % 10;
        if matches!(plan, 0 | 2 | 4 | 6) {
            return 0;
        }
        let discount = if matches!(plan, 1 | 3 | 5 | 7) { 10 } else { 0 };
        let tax = class % 50 % 9;
        // Ten thousandths of a cent, rounded half up, as numeric(14,2) does.
        (price * (100 - discount) * (100 + tax) + 5_000) / 10_000
    };
    (0..50).map(of_class).sum::<u64>() * (CUSTOMERS / 50)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_product_s_bills_come_to_what_was_worked_out_by_hand() {
        // Product 500: 500 × 37 is a multiple of 500, so its price is 5.00. Plans 1, 3, 5 and 7 pay 4.50 before taxes, plans 8
        // and 9 pay 5.00; a customer's tax is (number mod 50) mod 9 per cent.
        let bill = |customer: u64| {
            let net = match customer % 10 {
                1 | 3 | 5 | 7 => 450,
                8 | 9 => 500,
                _ => return 0,
            };
            (net * (100 + customer % 50 % 9) + 50) / 100
        };
        let sum: u64 = (1..=super::CUSTOMERS).map(bill).sum();
        assert_eq!(super::total_of_product(500), sum);
        assert_eq!(bill(1), 455, "4.50 and 1 %, half a cent rounded up");
    }
}
