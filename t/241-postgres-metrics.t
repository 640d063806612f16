#!/usr/bin/perl

# t/240-daemon-metrics.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/240-daemon-metrics.t' or die $@ || "t/240-daemon-metrics.t: $!";
