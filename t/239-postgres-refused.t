#!/usr/bin/perl

# t/238-refused.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/238-refused.t' or die $@ || "t/238-refused.t: $!";
