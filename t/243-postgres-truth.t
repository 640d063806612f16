#!/usr/bin/perl

# t/237-truth-everything.t again, on PostgreSQL.

use strict;
use warnings;

BEGIN { $ENV{COUPON_STORE} = 'postgresql' }

do './t/237-truth-everything.t' or die $@ || "t/237-truth-everything.t: $!";
