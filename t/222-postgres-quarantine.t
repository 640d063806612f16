#!/usr/bin/perl

# t/201-settle-quarantine.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/201-settle-quarantine.t' or die $@ || "t/201-settle-quarantine.t: $!";
