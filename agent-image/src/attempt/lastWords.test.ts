import { expect, it } from 'vitest';
import { lastWords } from './baseline.ts';

it.each<[string, string, string]>([
  ['mocha', '    ✔ throws\n\n\n  839 passing (6s)\n  1 pending\n\n', '"839 passing (6s), 1 pending"'],
  [
    'vitest',
    ' Test Files  21 passed (21)\n      Tests  \u001B[1m964 passed\u001B[22m (964)\n   Start at  22:33:51\n   Duration  9.47s (transform 1.02s)\n',
    '"Test Files 21 passed (21), Tests 964 passed (964)"',
  ],
  [
    'jest',
    'Test Suites: 1 failed, 3 passed, 4 total\nTests:       2 failed, 10 passed, 12 total\nSnapshots:   0 total\nTime:        1.2 s\n',
    '"Test Suites: 1 failed, 3 passed, 4 total, Tests: 2 failed, 10 passed, 12 total"',
  ],
  ['what counts nothing', 'make: nothing\nmake: *** [test] Error 2\n', '"make: *** [test] Error 2"'],
  [
    'Maven before its advice',
    '[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal on project a: Could not resolve b -> [Help 1]\n[ERROR] \n[ERROR]   mvn <args> -rf :a\n',
    '"[ERROR] Failed to execute goal on project a: Could not resolve b -> [Help 1]"',
  ],
  [
    'a build that does not compile',
    '[ERROR] COMPILATION ERROR : \n[INFO] ---\n[ERROR] /workspace/A.java:[3,5] cannot find symbol\n[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal x -> [Help 1]\n',
    '"[ERROR] /workspace/A.java:[3,5] cannot find symbol"',
  ],
  ['silence', '\n', 'and it printed nothing'],
])('the last words of %s', (_, output, words) => {
  expect(lastWords(output)).toBe(words);
});
