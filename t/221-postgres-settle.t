#!/usr/bin/perl

# t/200-settle.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/200-settle.t' or die $@ || "t/200-settle.t: $!";
