import { expect, it } from 'vitest';
import { lastWords } from './baseline.ts';

it.each<[string, string, string]>([
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
