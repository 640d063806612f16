# The demo checks what it shows; here it is checked that it does, that it ends
# well, and that it leaves nothing running and nothing behind.

use strict;
use warnings;

use Test::More;
use FindBin;
use File::Temp 'tempdir';

plan skip_all => 'the demo shows the ordinary build' if $ENV{COUPON_REPORTS};

my $tmp = tempdir(CLEANUP => 1);

# its folder is made in TMPDIR; nginx's workers have another user under root
chmod 0711, $tmp;

my $out = `TMPDIR='$tmp' '$FindBin::Bin/bin/demo.sh' 2>&1`;

is $?, 0, 'exit status' or diag $out;
like $out, qr/^All as announced/m, 'it came to the end';
is scalar(() = $out =~ /^   ok  /gm), 7, 'all seven steps were good';
unlike $out, qr/NOT AS EXPECTED/, 'nothing was not';

opendir my $dir, $tmp or die $!;
is_deeply [grep { !/^\./ } readdir $dir], [], 'no file is left';

my @left = grep { index($_, $tmp) >= 0 } map { tr/\0/ /r } map { cmdline($_) }
           glob '/proc/[0-9]*/cmdline';
is_deeply \@left, [], 'no process is left';

done_testing;


sub cmdline
{
    my ($path) = @_;

    open my $file, '<', $path or return '';
    local $/;
    return scalar <$file> // '';
}
