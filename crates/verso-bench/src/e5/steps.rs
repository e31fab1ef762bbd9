//! The batch's statements by variant.

/// How the batch does its work: what the contestants did to it, one by one, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// As published: insert, two updates of bills, balances by a correlated subquery.
    Correlated,
    /// The balances by a join.
    Joined,
    /// Joined, with an index on bills (product_number, customer_number).
    Indexed,
    /// Both updates of bills within the insert.
    Fused,
    /// Fused, and a trigger on bills in place of the update of balances.
    Trigger,
}

const CYCLE: &str = "(SELECT product_number FROM bill_product_cycle)";
const TRIGGER: &str = "CREATE TRIGGER upd_bc INSERT ON bills REFERENCING NEW AS newbill FOR EACH ROW WHEN (newbill.total_bill > 0) \
    (UPDATE bill_customer SET balance_due = balance_due + newbill.total_bill WHERE bill_customer.customer_number = newbill.customer_number)";
/// The same for servers that know PostgreSQL's form only.
const TRIGGER_FUNCTION: &str = "CREATE OR REPLACE FUNCTION upd_bc() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \
    UPDATE bill_customer SET balance_due = balance_due + NEW.total_bill WHERE customer_number = NEW.customer_number; RETURN NULL; END'";
const TRIGGER_CALL: &str = "CREATE TRIGGER upd_bc AFTER INSERT ON bills FOR EACH ROW WHEN (NEW.total_bill > 0) EXECUTE FUNCTION upd_bc()";

/// A step of an iteration: its name, and its text.
pub(super) type Step = (&'static str, String);

impl Variant {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Correlated => "correlated",
            Variant::Joined => "joined",
            Variant::Indexed => "indexed",
            Variant::Fused => "fused",
            Variant::Trigger => "trigger",
        }
    }

    /// What is made before the first iteration; `informix` for Informix's form of the trigger.
    pub(super) fn preparation(self, informix: bool) -> Vec<&'static str> {
        match self {
            Variant::Indexed => vec!["CREATE INDEX bills_pc ON bills (product_number, customer_number)"],
            Variant::Trigger if informix => vec![TRIGGER],
            Variant::Trigger => vec![TRIGGER_FUNCTION, TRIGGER_CALL],
            _ => Vec::new(),
        }
    }

    /// One iteration.
    pub(super) fn steps(self) -> Vec<Step> {
        let mut steps = vec![("cycle", "SELECT product_number FROM bill_product_cycle".to_owned())];
        match self {
            Variant::Fused | Variant::Trigger => steps.push(("insert", fused_insert())),
            _ => {
                steps.push(("insert", insert()));
                steps.push((
                    "discount",
                    format!(
                        "UPDATE bills SET product_discount = 10 WHERE product_number = {CYCLE} AND customer_number IN \
                         (SELECT customer_number FROM bill_customer WHERE plan_class IN (1, 3, 5, 7))"
                    ),
                ));
                steps.push((
                    "total",
                    format!(
                        "UPDATE bills SET total_bill = (product_price - product_price * product_discount / 100) * (1 + tax_rate) \
                         WHERE product_number = {CYCLE} AND customer_number IN \
                         (SELECT customer_number FROM bill_customer WHERE plan_class NOT IN (0, 2, 4, 6))"
                    ),
                ));
            }
        }
        match self {
            Variant::Trigger => {}
            Variant::Correlated => steps.push((
                "balances",
                format!(
                    "UPDATE bill_customer SET balance_due = balance_due + (SELECT sum(total_bill) FROM bills b \
                     WHERE b.customer_number = bill_customer.customer_number AND b.product_number = {CYCLE}) \
                     WHERE customer_number IN (SELECT customer_number FROM bills WHERE product_number = {CYCLE} AND total_bill > 0)"
                ),
            )),
            _ => steps.push((
                "balances",
                format!(
                    "UPDATE bill_customer SET balance_due = balance_due + b.t FROM (SELECT customer_number, sum(total_bill) AS t FROM bills \
                     WHERE product_number = {CYCLE} AND total_bill > 0 GROUP BY customer_number) b \
                     WHERE b.customer_number = bill_customer.customer_number"
                ),
            )),
        }
        let totals = "SELECT count(*), sum(product_price), sum(product_discount), sum(total_bill) FROM bills";
        steps.push(("bills", totals.to_owned()));
        steps.push(("customers", "SELECT count(*), sum(balance_due) FROM bill_customer".to_owned()));
        steps.push(("next", "UPDATE bill_product_cycle SET product_number = product_number + 1".to_owned()));
        steps
    }
}

const COLUMNS: &str = "customer_number, product_number, last_name, state, bill_date, product_name, product_price, product_discount, tax_rate, total_bill";

fn insert() -> String {
    format!(
        "INSERT INTO bills ({COLUMNS}) SELECT c.customer_number, p.product_number, c.last_name, c.state, current_date, p.product_name, \
         p.product_price, 0, s.tax_rate, 0 FROM bill_customer c, bill_state s, bill_product p \
         WHERE s.state = c.state AND p.product_number IN {CYCLE}"
    )
}

fn fused_insert() -> String {
    let discount = "CASE WHEN c.plan_class IN (1, 3, 5, 7) THEN 10 ELSE 0 END";
    format!(
        "INSERT INTO bills ({COLUMNS}) SELECT c.customer_number, p.product_number, c.last_name, c.state, current_date, p.product_name, \
         p.product_price, {discount}, s.tax_rate, CASE WHEN c.plan_class IN (0, 2, 4, 6) THEN 0 \
         ELSE (p.product_price - p.product_price * {discount} / 100) * (1 + s.tax_rate) END \
         FROM bill_customer c, bill_state s, bill_product p, bill_product_cycle y \
         WHERE s.state = c.state AND p.product_number = y.product_number"
    )
}
