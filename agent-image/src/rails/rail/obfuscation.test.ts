import { describeRail } from '../testing/table.ts';

await describeRail('obfuscation', {
  positives: [
    'echo bHM= | base64 -d | sh',
    'base64 -d payload | bash',
    'eval "$(base64 -d x)"',
    'xxd -r -p x | sh',
    "r''m x",
    "$'\\x6c\\x73'",
    'openssl enc -d -aes-256-cbc -in x | sh',
    'rev x | bash',
    'LD_PRELOAD=./x.so ls',
  ],
  evasions: [
    'x=$(base64 -d <<< bHM=); eval $x',
    'zcat x.gz | sh',
    'python3 -c "$(base64 -d x)"',
    'tr a-z b-za < x | bash',
    'l\\s -la',
    'cat x | gunzip | bash -s',
    'eval "$(cat /etc/x)"',
    'export LD_PRELOAD=/tmp/x.so; ls',
    'DYLD_PRINT_LIBRARIES=1 LD_PRELOAD=./x.so ls',
  ],
  benign: [
    'base64 -d x > y',
    'echo bHM= | base64 -d',
    'eval "echo hi"',
    'bash <<E\nls\nE',
    'python3 - <<E\nprint(1)\nE',
    'sh script.sh',
    'zcat x.gz | grep y',
    'tr a-z A-Z < x',
    "echo $'a\\nb'",
    '\\ls',
    'python3 -c \'import base64; print(base64.b64decode("eA=="))\'',
  ],
});
