//! The twelve consistency conditions (specification, clause 3.3.2): each a query that counts what breaks it.

/// Number and query; each must give 0.
pub(super) const CONDITIONS: [(u8, &str); 12] = [
    (1, "SELECT count(*) FROM warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id WHERE w_ytd <> ytd"),
    (2, "SELECT count(*) FROM district
         JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id
         LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id
         WHERE d_next_o_id - 1 <> last OR last_new > last"),
    (3, "SELECT count(*) FROM (SELECT max(no_o_id) - min(no_o_id) + 1 AS span, count(*) AS entries FROM new_order GROUP BY no_w_id, no_d_id) n WHERE span <> entries"),
    (4, "SELECT count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS ordered FROM orders GROUP BY o_w_id, o_d_id) o
         JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id
         WHERE ordered <> lines"),
    (5, "SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)"),
    (6, "SELECT count(*) FROM orders LEFT JOIN
         (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> coalesce(lines, 0)"),
    (7, "SELECT count(*) FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)"),
    (8, "SELECT count(*) FROM warehouse JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id WHERE w_ytd <> paid"),
    (9, "SELECT count(*) FROM district JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> paid"),
    (10, "SELECT count(*) FROM customer
          LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM orders
                     JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                     WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o
          ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
          LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
          ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
          WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)"),
    // Clause 3.3.2.11 holds for the tables as they are filled; each delivery adds one order that is no longer new.
    (11, "SELECT count(*) FROM (SELECT o_w_id, o_d_id, count(*) AS all_orders FROM orders GROUP BY o_w_id, o_d_id) o
          JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS deliveries FROM customer GROUP BY c_w_id, c_d_id) c
          ON c_w_id = o_w_id AND c_d_id = o_d_id
          LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new_orders FROM new_order GROUP BY no_w_id, no_d_id) n
          ON no_w_id = o_w_id AND no_d_id = o_d_id
          WHERE all_orders - coalesce(new_orders, 0) <> 2100 + deliveries"),
    (12, "SELECT count(*) FROM customer
          LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered FROM orders
                     JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                     WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) o
          ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
          WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0)"),
];
