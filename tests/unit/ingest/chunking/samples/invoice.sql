-- The tables of billing.

/* Whoever pays. */
CREATE TABLE IF NOT EXISTS billing.customers (
    id          integer PRIMARY KEY,
    name        varchar(200) NOT NULL DEFAULT 'nobody; really',
    "e-mail"    text UNIQUE,
    CONSTRAINT named CHECK (name <> '')
);

CREATE TABLE billing.invoices (
    id           integer PRIMARY KEY,
    customer_id  integer NOT NULL REFERENCES billing.customers (id) ON DELETE CASCADE,
    fee_id       integer,
    total        numeric(10, 2) NOT NULL,
    FOREIGN KEY (fee_id) REFERENCES fees (id)
);

CREATE INDEX invoices_by_customer ON billing.invoices (customer_id);
INSERT INTO fees VALUES (1, 'card'), (2, 'transfer');
INSERT INTO fees VALUES (3, 'cash');

-- Invoices that nobody has paid yet.
CREATE OR REPLACE VIEW unpaid AS
SELECT i.id, c.name FROM billing.invoices i JOIN billing.customers c ON c.id = i.customer_id
WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.invoice_id = i.id) AND i.total > 0 ORDER BY i.total DESC;

CREATE FUNCTION apply_fee(invoice integer, fee numeric) RETURNS numeric AS $body$
DECLARE
    found numeric;
BEGIN
    SELECT total INTO found FROM billing.invoices WHERE id = invoice;
    IF found IS NULL THEN
        RAISE EXCEPTION 'no invoice %; look again', invoice;
    END IF;
    RETURN found + greatest(fee, found / 100);
END;
$body$ LANGUAGE plpgsql;

CREATE TRIGGER fee_on_insert AFTER INSERT ON billing.invoices FOR EACH ROW EXECUTE FUNCTION add_fee();
ALTER TABLE billing.invoices ADD COLUMN paid_at timestamp;
CALL archive_invoices(2024);
