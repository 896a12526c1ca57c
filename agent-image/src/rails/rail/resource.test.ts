import { describeRail } from '../testing/table.ts';

await describeRail('resource', {
  positives: [
    ':(){ :|:& };:',
    'yes > file',
    'cat /dev/zero > big',
    'dd if=/dev/zero of=big',
    'sleep 86400',
    'fallocate -l 500G big',
    'sleep infinity',
    'truncate -s 1T big',
    'dd if=/dev/urandom of=big bs=1G count=100',
  ],
  evasions: [
    'bomb() { bomb | bomb & }; bomb',
    "sh -c 'yes > f'",
    'sleep 30m 31m',
    'd=/dev/zero; cat $d > f',
    'cat < /dev/zero > f',
    "python3 -c 'import os\nwhile True: os.fork()'",
    'f() { g | g; }; g() { f | f; }; f',
    'b() { b & b & }; b',
    "perl -e 'fork while fork'",
  ],
  benign: [
    'sleep 5',
    'yes | head -3',
    'yes | ./install',
    'dd if=/dev/zero of=x bs=1M count=1',
    'truncate -s 1M x',
    'head -c 32 /dev/urandom > key',
    'while true; do ls; break; done',
    'f() { echo hi; }; f',
    'fallocate -l 10M x',
    'cat /dev/null > x',
  ],
});
