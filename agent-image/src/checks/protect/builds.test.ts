import { expect, test } from 'vitest';
import { judgeChanges } from './judge.ts';
import { protectedPaths } from './protected.ts';
import type { Protect } from '@agentfleet/protocol/api';

const byDefault: Protect = { mode: 'Default', paths: [] };

test('what a build writes into a folder that git leaves out is deleted before the proof, and is no violation', () => {
  const ignored = 'node_modules/\n/build\ndist\n!dist/keep.js\n*.log\nout\nlib/\n**/gen\n';
  const tree = ['.gitignore', 'src/a.ts', 'lib/old.js', 'test/a.test.js'];
  const read = (path: string): string | undefined => (path === '.gitignore' ? ignored : undefined);
  const command = 'npm test && test -s out/report.txt && cmake -S . -B build && cmake --build build && cd build';
  const set = protectedPaths(tree, [{ name: 'c', command: ['sh', '-c', command] }], byDefault, read);
  const made = [
    'build/a.js',
    'packages/x/build/a.js',
    'build/test/a.test.js',
    'a/gen/b.js',
    'dist/a.js',
    'lib/new.js',
    'out/report.txt',
    'build',
    'a.log',
  ];
  expect(made.filter(set.derived)).toEqual(['build/a.js', 'packages/x/build/a.js', 'build/test/a.test.js', 'a/gen/b.js']);
  expect(judgeChanges([{ path: 'build/a.js', op: 'Add' }], set)).toEqual({ violations: [], discard: ['build/a.js'], aside: [] });
});

test('what set-up built is made again by a check with the tool that builds it, and changes there are no act', () => {
  const tree = [
    '.gitignore',
    'Cargo.toml',
    'a/Cargo.toml',
    'a/src/lib.rs',
    'a/target/debug/b',
    'docs/target/x',
    'target/debug/a',
    'dist/a.js',
  ];
  const read = (path: string): string | undefined => (path === '.gitignore' ? '/target/\ndist\n' : undefined);
  const of = (command: string): readonly string[] =>
    ['target/debug/a', 'a/target/debug/b', 'docs/target/x', 'dist/a.js'].filter(
      protectedPaths(tree, [{ name: 'c', command: command.split(' ') }], byDefault, read).derived,
    );
  expect(of('cargo test --workspace')).toEqual(['target/debug/a', 'a/target/debug/b']);
  expect(of('npm test')).toEqual([]);
  const set = protectedPaths(tree, [{ name: 'c', command: ['cargo', 'test'] }], byDefault, read);
  expect(judgeChanges([{ path: 'target/debug/a', op: 'Modify' }], set).discard).toEqual(['target/debug/a']);
  expect(of('sh -c target/debug/a&&cargo')).toEqual([]);
});

test('a build folder of CMake or Meson that set-up made is no act, and stays in its place', () => {
  const tree = ['CMakeLists.txt', 'tests/a.cpp', 'out/build/CMakeCache.txt', 'out/build/tests/a', 'b/meson-private/coredata.dat'];
  const inSource = ['CMakeCache.txt', 'lib/CMakeCache.txt', 'lib/CMakeLists.txt', 'lib/tests/b.cpp'];
  const set = protectedPaths([...tree, ...inSource], [{ name: 'c', command: ['ctest', '--test-dir', 'out/build'] }], byDefault);
  expect(set.configured).toEqual(['out/build', 'b']);
  const paths = [
    'out/build',
    'out/build/tests/a',
    'out/build/CTestTestfile.cmake',
    'b/x',
    'out/x',
    'tests/a.cpp',
    'lib/tests/b.cpp',
    'a.o',
  ];
  expect(paths.filter(set.derived)).toEqual(paths.slice(0, 4));
  expect(set.files).toEqual(['CMakeLists.txt', 'lib/CMakeLists.txt', 'lib/tests/b.cpp', 'tests/a.cpp']);
  const changes = [...paths.slice(0, 4), 'out'].map((path) => ({ path, op: 'Type' }) as const);
  expect(judgeChanges(changes, set).violations).toMatchObject([{ path: 'out', code: 'ReplacesParent' }]);
});

test('reports of Gradle lie in a folder of each module, and belong to no other tool', () => {
  const tree = ['settings.gradle', 'app/build.gradle.kts', 'libs/core/core.gradle', 'plain/src/test/java/A.java', 'docs/a.md'];
  const of = (...command: string[]): readonly string[] => protectedPaths(tree, [{ name: 'c', command }], byDefault).reportFolders;
  expect(of('./gradlew', 'test')).toEqual(['', 'app', 'libs/core', 'plain'].map((one) => `${one}${one && '/'}build/test-results`));
  expect(of('npm', 'test')).toEqual([]);
});

test('a new test of minitest may be added', () => {
  expect(protectedPaths(['test/test_a.rb'], [], byDefault).addable('test/test_b.rb')).toBe(true);
});

test('a new test of bats may be added, and nothing that tests load', () => {
  const set = protectedPaths(['test/_helpers.bash', 'test/a.bats'], [{ name: 'c', command: ['bats', 'test'] }], byDefault);
  const addable = ['test/b.bats', 'b.bats', 'test/a.bats', 'test/setup_suite.bash', 'test/b.bash'];
  expect(addable.filter(set.addable)).toEqual(['test/b.bats', 'b.bats']);
});

test('a new integration test of cargo may be added, and no module that it shares', () => {
  const set = protectedPaths(['Cargo.toml', 'tests/a.rs', 'tests/common/mod.rs'], [{ name: 'c', command: ['cargo', 'test'] }], byDefault);
  const addable = ['tests/b.rs', 'x/tests/b.rs', 'tests/a.rs', 'tests/common/b.rs', 'tests/fixtures/b.txt', 'src/tests.rs'];
  expect(addable.filter(set.addable)).toEqual(['tests/b.rs', 'x/tests/b.rs']);
});
