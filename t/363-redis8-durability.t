#!/usr/bin/perl

# t/360-durability.t again, on Redis 8.

use strict;
use warnings;

use lib 't/lib';
use CouponRedis;
use Test::More;

$ENV{COUPON_REDIS} = CouponRedis::beside('redis-server')
    or plan skip_all => 'no Redis 8 (t/bin/fetch-redis.sh)';

do './t/360-durability.t' or die $@ || "t/360-durability.t: $!";
