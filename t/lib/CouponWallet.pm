package CouponWallet;

# A wallet that is closed for some coupons: a trigger on the operations of a
# ledger, in either store, that refuses those of the table `closed`.
#
#   wallet($config);                    or with what it raises, see wallet()
#   closed($config, '007', '008');      for these, and for no others

use strict;
use warnings;

use Exporter 'import';

use CouponTest;

our @EXPORT = qw(wallet closed);


# $how: the SQLSTATE of PostgreSQL, or the word for RAISE() of SQLite.
sub wallet
{
    my ($config, $how) = @_;

    $how //= on_postgres() ? 'P0001' : 'ABORT';

    ledger_write($config, on_postgres() ? <<"END" : <<"END2");
        SET client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS closed (code text);
        CREATE OR REPLACE FUNCTION wallet() RETURNS trigger LANGUAGE plpgsql
        AS \$\$ BEGIN
            IF EXISTS (SELECT 1 FROM moved JOIN closed ON code = coupon_code)
            THEN RAISE EXCEPTION 'not now' USING ERRCODE = '$how'; END IF;
            RETURN NULL;
        END \$\$;
        DROP TRIGGER IF EXISTS wallet ON coupon_operations;
        CREATE TRIGGER wallet AFTER INSERT ON coupon_operations
            REFERENCING NEW TABLE AS moved
            FOR EACH STATEMENT EXECUTE FUNCTION wallet();
END
        CREATE TABLE IF NOT EXISTS closed (code text);
        DROP TRIGGER IF EXISTS wallet;
        CREATE TRIGGER wallet BEFORE INSERT ON coupon_operations
            WHEN new.coupon_code IN (SELECT code FROM closed)
            BEGIN SELECT RAISE($how, 'not now'); END;
END2
    return;
}


sub closed
{
    my ($config, @codes) = @_;

    ledger_write($config, join ' ', 'BEGIN; DELETE FROM closed;',
        (map { "INSERT INTO closed VALUES ('$_');" } @codes), 'COMMIT');
    return;
}


1;
