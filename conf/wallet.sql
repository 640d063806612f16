-- An example: the player's balance moves in the transaction that settles the
-- coupon, so it moves exactly once, or not at all.
--
-- Load it into the schema of coupon-settle after `coupon-settle migrate`, and
-- put your own tables in the place of players and player_coupons.
--
-- What this raises rolls back, and the batch waits in the inbox and is tried
-- again, while others are settled.  It is called once for all operations of a
-- transaction.  Rows are locked in one order, so that consumers do not wait for
-- each other in a circle.  Keep it short, and do not talk to other systems in
-- it: what they did could not be rolled back.

CREATE TABLE players (
    player   text PRIMARY KEY,
    balance  numeric NOT NULL DEFAULT 0
);

CREATE TABLE player_coupons (
    coupon_code  text COLLATE "C" PRIMARY KEY,
    player       text NOT NULL REFERENCES players
);

CREATE FUNCTION pay_players() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    unknown  text;
BEGIN
    SELECT m.coupon_code INTO unknown
        FROM moved m LEFT JOIN player_coupons USING (coupon_code)
        WHERE player IS NULL LIMIT 1;

    IF FOUND THEN
        RAISE EXCEPTION 'coupon % belongs to no player', unknown;
    END IF;

    PERFORM 1 FROM players
        WHERE player IN (SELECT player
                         FROM moved JOIN player_coupons USING (coupon_code))
        ORDER BY player FOR NO KEY UPDATE;

    UPDATE players p SET balance = p.balance + s.amount
        FROM (SELECT player, sum(amount) AS amount
              FROM moved JOIN player_coupons USING (coupon_code)
              GROUP BY player) s
        WHERE p.player = s.player;

    RETURN NULL;
END
$$;

CREATE TRIGGER pay_players AFTER INSERT ON coupon_operations
    REFERENCING NEW TABLE AS moved
    FOR EACH STATEMENT EXECUTE FUNCTION pay_players();
