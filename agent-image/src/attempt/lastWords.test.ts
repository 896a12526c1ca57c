import { expect, it } from 'vitest';
import { lastWords } from './baseline.ts';

it.each<[string, string, string]>([
  ['a makefile', 'In a.sh line 2: x is unset\nmake[1]: *** [a] Error 1\nmake: *** [test] Error 2\n', '"In a.sh line 2: x is unset"'],
  ['a makefile that says nothing else', 'make: *** [test] Error 2\n', '"make: *** [test] Error 2"'],
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
  [
    'Gradle with tests that fail, in two modules',
    ':core:test\n\norg.a.NotesTest > testOrder FAILED\n    java.lang.AssertionError at NotesTest.java:76\n\nb.C > d[1] FAILED\n\n59 tests completed, 2 failed, 3 skipped\n:core:test FAILED\n\nSums of a list > [1] 2, 3 FAILED\n\n3 tests completed, 1 failed\n> Task :e:test FAILED\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task x.\n\nBUILD FAILED in 16s\n',
    '"3 tests fail: NotesTest > testOrder, C > d[1], Sums of a list > [1] 2, 3"',
  ],
  [
    'Gradle with code that does not compile',
    "> Task :compileJava FAILED\n/workspace/A.java:3: error: ';' expected\n1 error\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task x.\n> Compilation failed\n\nBUILD FAILED in 2s\n",
    '"/workspace/A.java:3: error: \';\' expected"',
  ],
  [
    'Gradle with another failure',
    'FAILURE: Build failed with an exception.\n\n* What went wrong:\nCould not resolve all files for configuration :a.\n> No cached version of b available for offline mode.\n\n* Try:\nRun with --info\n\nBUILD FAILED in 2s\n',
    '"Could not resolve all files for configuration :a. > No cached version of b available for offline mode."',
  ],
  ['silence', '\n', 'and it printed nothing'],
])('the last words of %s', (_, output, words) => {
  expect(lastWords(output)).toBe(words);
});
