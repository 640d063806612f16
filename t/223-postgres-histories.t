#!/usr/bin/perl

# t/206-settle-histories.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/206-settle-histories.t' or die $@ || "t/206-settle-histories.t: $!";
