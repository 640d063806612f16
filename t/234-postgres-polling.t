#!/usr/bin/perl

# t/231-polling.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/231-polling.t' or die $@ || "t/231-polling.t: $!";
