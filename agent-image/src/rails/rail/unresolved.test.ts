import { describeRail } from '../testing/table.ts';

await describeRail('unresolved', {
  positives: ['$CMD x', '"$(cat name)" x', '$(head -1 list) -rf', 'a &&', "echo 'open", 'if true; then ls', 'x=$(date); $x', 'a | | b'],
  evasions: [
    'r${x}m file',
    'for a in a b c d e f g r; do for b in a b c d e f g m; do $a$b x; done; done',
    './[b]in/x',
    'IFS=, read a b < f; $a',
    '${cmds[$i]} x',
    "python3 -c 'import subprocess, sys; subprocess.run(sys.argv[1:])'",
    `${'$('.repeat(200)}ls${')'.repeat(200)}`,
    '((1<<2))\nls\n2))\n((x<<y',
    "find . -name 'a*' -exec {} \\;",
    'find . -name a -o -name b -exec {} \\;',
    'find . -type f -exec {} \\;',
  ],
  benign: [
    'ls "$X"',
    'echo $(date)',
    'for f in *.txt; do cat "$f"; done',
    'a=ls; $a',
    'kill "$pid"',
    'cat "$(git rev-parse --show-toplevel)/x"',
    'if [ -f x ]; then cat x; fi',
    'case "$1" in a) ls ;; *) pwd ;; esac',
    '((x = 1 << 2)); ls',
    'find build -name unit_tests -type f -exec {} --gtest_list_tests \\;',
  ],
});
