# The checks of make lint that are scripts of our own: do they find what they
# are there to find?  Each case is a small source tree with one mistake.

use strict;
use warnings;

use Test::More;
use FindBin;
use File::Path 'make_path';
use File::Temp 'tempdir';

my $bin = "$FindBin::Bin/bin";

my $good = <<'END';
/*
 * A file without fault.
 */

#include <string.h>

#include "core.h"


int
cc_answer(void)
{
    return 42;      /* "// in a string", https://example.com */
}
END

my $long = join '', map { "    n = $_;\n" } 1 .. 90;

sub source_check
{
    my (%files) = @_;

    %files = ('src/core/core.h' => "int  x;\n", %files);
    return run('check-source.pl', %files);
}


sub run
{
    my ($script, %files) = @_;
    my $dir = tempdir(CLEANUP => 1);

    for my $name (keys %files) {
        make_path("$dir/$1") if $name =~ m{(.*)/};
        open my $file, '>', "$dir/$name" or die $!;
        print {$file} $files{$name};
        close $file;
    }

    my $out = `cd '$dir' && '$bin/$script' 2>&1`;
    return ($? >> 8, $out);
}


is_deeply [source_check('src/core/a.c' => $good)], [0, ''], 'a clean tree';

my @cases = (
    ['src/core/a.c', "$good\t\n", 'tab'],
    ['src/core/a.c', "$good \n", 'trailing white space'],
    ['src/core/a.c', "int  a;    // b\n", '// comment'],
    ['src/core/a.c', '/* ' . 'x' x 80 . " */\n", 'more than 80 columns'],
    ['src/core/a.c', "int\nf(void)\n{\n$long}\n", 'f() has 93 lines'],
    ['src/core/a.c', "/* TODO */\n", 'TODO or the like'],
    ['src/core/a.c', 'int  a;', 'no newline at the end'],
    ['src/core/a.c', "#include <ngx_core.h>\n", 'may not include <ngx_core.h>'],
    ['src/core/a.c', "#include <hiredis/hiredis.h>\n",
     'may not include <hiredis/hiredis.h>'],
    ['src/core/a.c', "#include <sqlite3.h>\n", 'may not include <sqlite3.h>'],
    ['src/core/a.c', "#include \"store.h\"\n", 'may not include "store.h"'],
    ['src/ngx/a.c', "#include \"store.h\"\n", 'may not include "store.h"'],
    ['src/ngx/a.c', "#include <time.h>\n#include <ngx_config.h>\n",
     'a header in front of <ngx_config.h>'],
    ['src/settle/a.c', "#include <ngx_core.h>\n",
     'may not include <ngx_core.h>'],
    ['src/other/a.c', "int  a;\n", 'C source in a folder without a layer'],
    ['t/100-a.t', "--- ONLY\n", 'left over: ONLY'],
);

for my $case (@cases) {
    my ($file, $text, $expected) = @$case;
    my ($status, $out) = source_check($file => $text,
                                      'src/settle/store.h' => "int  y;\n");

    is $status, 1, "$file: $expected: found";
    like $out, qr/^\Q$file\E:\d+: \Q$expected\E/m, '... and said';
}


my %documented = (
    'ngx_m.c' => '{ ngx_string("coupon_callback"), NGX_HTTP_LOC_CONF }, '
               . '{ ngx_string("coupon_callback_id"), NULL }',
    'src/settle/config.c' => '{ "redis", "url", cs_set_text, offsetof(c, url), '
                           . 'NULL, "x" } '
                           . '{ "redis", "group", cs_set_text, offsetof(c, g), '
                           . '"settle", NULL }',
    'src/ngx/metrics_page.c' => '# TYPE coupon_callback_pending gauge',
    'src/settle/metrics_page.c' => '"coupon_settle_ready"',
    'src/settle/main.c' => '{ "show", "CODE", 1, 1, 0, cs_cmd_show }',
    'README.md' => 'coupon_callback $coupon_callback_id show '
                 . '`coupon_callback_pending` `coupon_settle_ready`'
                 . "\n| `[redis] url` | - | |\n| `group` | `settle` | |\n",
    'conf/nginx.conf' => "coupon_callback;\n",
    'conf/settle.ini' => "[redis]\nurl = x\ngroup = settle\n",
);

is_deeply [run('check-docs.pl', %documented)], [0, ''], 'all is documented';

my @undocumented = (
    ['README.md', 'url $coupon_callback_id',
     'README.md does not have the directive coupon_callback'],
    ['README.md', 'url coupon_callback',
     'README.md does not have the variable $coupon_callback_id'],
    ['README.md', 'coupon_callback $coupon_callback_id',
     'README.md does not have the option url of [redis]'],
    ['README.md', 'coupon_callback $coupon_callback_id url',
     'README.md does not have the command coupon-settle show'],
    ['README.md', 'coupon_callback_pending',
     'README.md does not have the metric coupon_settle_ready'],
    ['README.md', 'coupon_settle_ready',
     'README.md does not have the metric coupon_callback_pending'],
    ['README.md', 'coupon_settle_nope',
     'README.md has the metric coupon_settle_nope, coupon-settle has not'],
    ['README.md', '| `[redis] url` | `x` | |',
     'README.md says that url of [redis] is x, not none'],
    ['README.md', "| `[redis] url` | - | |\n| `group` | - | |",
     'README.md says that group of [redis] is none, not settle'],
    ['conf/nginx.conf', '',
     'conf/nginx.conf does not have the directive coupon_callback'],
    ['conf/nginx.conf', "coupon_callback;\ncoupon_callback_nope;\n",
     'conf/nginx.conf has coupon_callback_nope, the module has not'],
    ['conf/settle.ini', "[redis]\n",
     'conf/settle.ini does not have url in [redis]'],
    ['conf/settle.ini', "[redis]\nurl = x\n[api]\n;token = x\n",
     'conf/settle.ini has token in [api], coupon-settle has not'],
);

for my $case (@undocumented) {
    my ($file, $text, $expected) = @$case;
    my ($status, $out) = run('check-docs.pl', %documented, $file => $text);

    is $status, 1, "$expected: found";
    like $out, qr/^\Q$expected\E$/m, '... and said';
}

done_testing;
