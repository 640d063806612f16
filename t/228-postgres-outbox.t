#!/usr/bin/perl

# t/227-outbox.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/227-outbox.t' or die $@ || "t/227-outbox.t: $!";
