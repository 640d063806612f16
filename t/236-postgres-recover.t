#!/usr/bin/perl

# t/232-recover.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/232-recover.t' or die $@ || "t/232-recover.t: $!";
