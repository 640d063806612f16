#!/usr/bin/perl

# t/360-durability.t again, on Valkey 8.

use strict;
use warnings;

use lib 't/lib';
use CouponRedis;
use Test::More;

$ENV{COUPON_REDIS} = CouponRedis::beside('valkey-server')
    or plan skip_all => 'no Valkey 8 (t/bin/fetch-redis.sh)';

do './t/360-durability.t' or die $@ || "t/360-durability.t: $!";
