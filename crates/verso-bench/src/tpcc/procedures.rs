//! The five transactions as procedures: one CALL each (`--procedures`).
//!
//! Their statements are those of [`super::session`], with variables in place of parameters. The terminal draws what a
//! transaction is about before it calls, so both ways do the same work. A new order with an item that does not exist rolls itself
//! back and says so in `p_done`.

/// A procedure, called with the values that the terminal has drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Call {
    /// The calls, in the order of the names.
    pub const TEXTS: &[&str] = &[
        "CALL tpcc_new_order($1, $2, $3, $4, $5, $6, $7)",
        "CALL tpcc_payment($1, $2, $3, $4, $5, $6, $7, $8)",
        "CALL tpcc_order_status($1, $2, $3, $4)",
        "CALL tpcc_delivery($1, $2, $3)",
        "CALL tpcc_stock_level($1, $2, $3, $4)",
    ];
}

/// Makes the procedures, or makes them anew.
pub(super) const CREATE: [&str; 5] = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

/// `p_lines` has item, supplying warehouse and quantity of each line, one after the other.
const NEW_ORDER: &str = "
CREATE OR REPLACE PROCEDURE tpcc_new_order(p_w integer, p_d integer, p_c integer, p_at timestamp, p_local integer,
    p_lines text, INOUT p_done integer) LANGUAGE plpgsql AS $$
DECLARE
    v_lines integer[] := p_lines::integer[];
    v_count integer := array_length(v_lines, 1) / 3;
    v_order integer; v_item integer; v_from integer; v_quantity integer; v_left integer;
    v_tax numeric; v_district_tax numeric; v_discount numeric; v_price numeric;
    v_last varchar; v_credit varchar; v_name varchar; v_data varchar; v_stock varchar; v_dist varchar;
BEGIN
    SELECT w_tax INTO STRICT v_tax FROM warehouse WHERE w_id = p_w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_next_o_id - 1, d_tax INTO STRICT v_order, v_district_tax;
    SELECT c_discount, c_last, c_credit INTO STRICT v_discount, v_last, v_credit FROM customer
        WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (v_order, p_d, p_w, p_c, p_at, NULL, v_count, p_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_order, p_d, p_w);
    FOR i IN 1..v_count LOOP
        v_item := v_lines[3 * i - 2]; v_from := v_lines[3 * i - 1]; v_quantity := v_lines[3 * i];
        SELECT i_price, i_name, i_data INTO v_price, v_name, v_data FROM item WHERE i_id = v_item;
        IF NOT FOUND THEN
            ROLLBACK;
            p_done := 0;
            RETURN;
        END IF;
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= v_quantity + 10 THEN s_quantity - v_quantity ELSE s_quantity - v_quantity + 91 END,
            s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN v_from <> p_w THEN 1 ELSE 0 END
            WHERE s_w_id = v_from AND s_i_id = v_item
            RETURNING s_quantity, s_data,
                CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO STRICT v_left, v_stock, v_dist;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (v_order, p_d, p_w, i, v_item, v_from, NULL, v_quantity, v_price * v_quantity, v_dist);
    END LOOP;
    p_done := 1;
END $$";

/// The customer is the one of `p_name` in the middle, or, where that is NULL, `p_c`.
const PAYMENT: &str = "
CREATE OR REPLACE PROCEDURE tpcc_payment(p_w integer, p_d integer, p_c_w integer, p_c_d integer, p_c integer, p_name text,
    p_amount numeric, p_at timestamp) LANGUAGE plpgsql AS $$
DECLARE
    v_customers integer[]; v_c integer := p_c;
    v_warehouse varchar; v_district varchar; v_street varchar; v_street_2 varchar; v_city varchar; v_state varchar; v_zip varchar;
    v_credit varchar; v_data varchar; v_balance numeric; v_first varchar; v_middle varchar; v_last varchar; v_phone varchar;
    v_since timestamp; v_limit numeric; v_discount numeric;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
        INTO STRICT v_warehouse, v_street, v_street_2, v_city, v_state, v_zip;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
        INTO STRICT v_district, v_street, v_street_2, v_city, v_state, v_zip;
    IF p_name IS NOT NULL THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO v_customers FROM customer
            WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_name;
        v_c := v_customers[(cardinality(v_customers) + 1) / 2];
    END IF;
    UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c
        RETURNING c_credit, c_data, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
            c_phone, c_since, c_credit_lim, c_discount
        INTO STRICT v_credit, v_data, v_balance, v_first, v_middle, v_last, v_street, v_street_2, v_city, v_state, v_zip,
            v_phone, v_since, v_limit, v_discount;
    IF v_credit = 'BC' THEN
        UPDATE customer SET c_data = left(concat_ws(' ', v_c, p_c_d, p_c_w, p_d, p_w, p_amount, v_data), 500)
            WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (v_c, p_c_d, p_c_w, p_d, p_w, p_at, p_amount, v_warehouse || '    ' || v_district);
END $$";

const ORDER_STATUS: &str = "
CREATE OR REPLACE PROCEDURE tpcc_order_status(p_w integer, p_d integer, p_c integer, p_name text) LANGUAGE plpgsql AS $$
DECLARE
    v_customers integer[]; v_c integer := p_c; v_order integer; v_at timestamp; v_carrier integer;
    v_balance numeric; v_first varchar; v_middle varchar; v_last varchar; v_line record;
BEGIN
    IF p_name IS NOT NULL THEN
        SELECT array_agg(c_id ORDER BY c_first) INTO v_customers FROM customer
            WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_name;
        v_c := v_customers[(cardinality(v_customers) + 1) / 2];
    END IF;
    SELECT c_balance, c_first, c_middle, c_last INTO STRICT v_balance, v_first, v_middle, v_last FROM customer
        WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
    SELECT o_id, o_entry_d, o_carrier_id INTO v_order, v_at, v_carrier FROM orders
        WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
    IF FOUND THEN
        FOR v_line IN SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
            WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order
        LOOP
            NULL;
        END LOOP;
    END IF;
END $$";

const DELIVERY: &str = "
CREATE OR REPLACE PROCEDURE tpcc_delivery(p_w integer, p_carrier integer, p_at timestamp) LANGUAGE plpgsql AS $$
DECLARE
    v_order integer; v_customer integer; v_amount numeric;
BEGIN
    FOR v_d IN 1..10 LOOP
        -- Somebody else may deliver the same order: then the next one is the oldest.
        LOOP
            SELECT no_o_id INTO v_order FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
            EXIT WHEN FOUND;
        END LOOP;
        CONTINUE WHEN v_order IS NULL;
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order
            RETURNING o_c_id INTO STRICT v_customer;
        UPDATE order_line SET ol_delivery_d = p_at WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
        SELECT sum(ol_amount) INTO v_amount FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
        UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_customer;
    END LOOP;
END $$";

const STOCK_LEVEL: &str = "
CREATE OR REPLACE PROCEDURE tpcc_stock_level(p_w integer, p_d integer, p_threshold integer, INOUT p_low integer)
    LANGUAGE plpgsql AS $$
DECLARE
    v_next integer;
BEGIN
    SELECT d_next_o_id INTO STRICT v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
    SELECT count(DISTINCT s_i_id) INTO p_low FROM order_line, stock
        WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < v_next AND ol_o_id >= v_next - 20
            AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
END $$";
