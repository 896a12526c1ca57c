import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseResults } from '../checks/index.ts';
import { LocalKeeper } from './testing/localKeeper.ts';
import { oneOfEachWay } from './testing/pythons.ts';
import { trace, type Traced } from './testing/trace.ts';

const all = await oneOfEachWay();

let keeper: LocalKeeper;

beforeEach(async () => {
  keeper = await LocalKeeper.create();
});

afterEach(async () => {
  await expect(access(join(keeper.home, '.agentfleet'))).rejects.toThrow('ENOENT');
  await keeper.remove();
});

const traced = (command: readonly string[], files: Readonly<Record<string, string>>, more: object = {}): Promise<Traced> =>
  trace(keeper, command, files, more);

const clamp = `LIMIT = 10


def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return low
    return x


def countdown(n):
    if n == 0:
        return 0
    return countdown(n - 1)


def numbers():
    yield 1
    yield 2
`;

describe.skipIf(all.length === 0).each(all)('unittest, Python $version', ({ program, version }) => {
  const unittest = [program, '-m', 'unittest', '-v'];

  test('gives each test its own lines, and the ids that the output has', async () => {
    const files = {
      'pkg/__init__.py': '',
      'pkg/clamp.py': clamp,
      'test_clamp.py': `import unittest
from pkg.clamp import clamp, countdown, numbers

held = numbers()


class Clamp(unittest.TestCase):
    def test_inside(self):
        self.assertEqual(clamp(5, 0, 10), 5)

    def test_low(self):
        self.assertEqual(clamp(-5, 0, 10), 0)

    def test_high(self):
        self.assertEqual(clamp(50, 0, 10), 10)

    def test_recursion(self):
        self.assertEqual(countdown(5), 0)

    def test_generator_first(self):
        self.assertEqual(next(held), 1)

    def test_generator_second(self):
        self.assertEqual(next(held), 2)
`,
    };
    const { runs, lines, outcomes } = await traced(unittest, files);
    const name = (test: string): string => `test_clamp.Clamp.${test}`;
    expect(lines('pkg/clamp.py')).toEqual({
      [name('test_inside')]: [5, 7, 9],
      [name('test_low')]: [5, 6],
      [name('test_high')]: [5, 7, 8],
      [name('test_recursion')]: [13, 14, 15],
      [name('test_generator_first')]: [19],
      [name('test_generator_second')]: [20],
    });
    expect(outcomes()[name('test_high')]).toBe('Failed');
    expect(runs.filter(({ outcome }) => outcome === 'Failed')).toHaveLength(1);
    const plain = await keeper.run({ execId: 'plain', tool: 'ExecCode', argv: unittest });
    const parsed = parseResults('Unittest', { exitCode: plain.end.exitCode, stdout: plain.stdout, stderr: plain.stderr });
    expect(parsed.tests.map(({ id }) => id).sort()).toEqual(runs.map(({ test }) => test));
    const again = await traced(unittest, {});
    expect(again.runs).toEqual(runs);
  });

  test('distinguishes outcomes: sub-tests fold into their test, skips and expected failures are left out', async () => {
    const files = {
      'test_kinds.py': `import unittest


class Kinds(unittest.TestCase):
    def test_ok(self):
        pass

    def test_error(self):
        raise ValueError('x')

    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    def test_sub_skip(self):
        with self.subTest():
            self.skipTest('not here')

    @unittest.skip('never')
    def test_skip(self):
        pass

    def test_skip_late(self):
        self.skipTest('late')

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass


class Loop(unittest.IsolatedAsyncioTestCase):
    async def test_async(self):
        self.assertEqual(await answer(), 42)


async def answer():
    return 42


class SetUp(unittest.TestCase):
    def setUp(self):
        raise RuntimeError('broken')

    def test_any(self):
        pass


class ClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        prepare()

    def test_never(self):
        pass


def prepare():
    raise RuntimeError('broken')
`,
    };
    const { outcomes, lines } = await traced(unittest, files);
    expect(outcomes()).toEqual({
      'test_kinds.ClassSetUp': 'Failed',
      'test_kinds.Kinds.test_error': 'Failed',
      'test_kinds.Kinds.test_ok': 'Passed',
      'test_kinds.Kinds.test_sub': 'Failed',
      'test_kinds.Kinds.test_sub_skip': 'Passed',
      'test_kinds.Kinds.test_unexpected': 'Failed',
      'test_kinds.Loop.test_async': 'Passed',
      'test_kinds.SetUp.test_any': 'Failed',
    });
    expect(lines('test_kinds.py')['test_kinds.Loop.test_async']).toEqual([38, 42]);
    expect(lines('test_kinds.py')['test_kinds.ClassSetUp']).toEqual([56, 63]);
  });

  test('follows threads, programs and copies of the process that a test starts', async () => {
    const files = {
      'work.py': 'def work():\n    a = 1\n    return a\n\n\ndef other():\n    return 2\n',
      'tool.py': 'import sys\nfrom work import other\n\nif len(sys.argv) > 5:\n    print()\nother()\n',
      'test_more.py': `import os, subprocess, sys, threading, unittest
from work import work


class More(unittest.TestCase):
    def test_thread(self):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    def test_program(self):
        subprocess.run([sys.executable, 'tool.py'], check=True)

    def test_quiet(self):
        pass
`,
    };
    const { lines } = await traced(unittest, files);
    expect(lines('work.py')).toEqual({
      'test_more.More.test_thread': [2, 3],
      'test_more.More.test_program': [7],
      'test_more.More.test_quiet': [],
    });
    expect(lines('tool.py')['test_more.More.test_program']).toEqual([1, 2, 4, 6]);
  });

  test('a test that ends the process, a time-out and a broken module keep what was run before', async () => {
    const ending = (line: string): string =>
      `import os, time, unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n\n    def test_b(self):\n        ${line}\n`;
    const exited = await traced([...unittest, 'test_exit'], { 'test_exit.py': ending('os._exit(3)') });
    expect(exited.outcomes()).toEqual({ 'test_exit.T.test_a': 'Passed' });
    const late = await traced([...unittest, 'test_late'], { 'test_late.py': ending('time.sleep(600)') }, { timeoutSeconds: 2 });
    expect(late.outcomes()).toEqual({ 'test_late.T.test_a': 'Passed' });
    const discover = [program, '-m', 'unittest', 'discover', '-p', 'test_[os]*.py'];
    const broken = await traced(discover, { 'test_ok.py': ending('pass'), 'test_syntax.py': 'def (:\n' });
    expect(broken.outcomes()).toEqual({ 'test_ok.T.test_a': 'Passed', 'test_ok.T.test_b': 'Passed' });
  });

  test('the sitecustomize that was there still runs, and tests see the path, output and exit code that they always see', async () => {
    const files = {
      'site/sitecustomize.py': 'import builtins\nbuiltins.was_here = True\n',
      'test_site.py': `import sys, unittest
class T(unittest.TestCase):
    def test_site(self):
        self.assertTrue(was_here)
        self.assertFalse([p for p in sys.path if 'agentfleet' in p])
        self.assertIn('site', sys.modules['sitecustomize'].__file__)
`,
    };
    const { outcomes } = await traced(unittest, files, { env: { PYTHONPATH: `${workspaceDir}/site` } });
    expect(outcomes()).toEqual({ 'test_site.T.test_site': 'Passed' });
  });

  test('an abort ends the command and removes the tracer', async () => {
    const stop = new AbortController();
    const files = {
      'test_hang.py': 'import time, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        time.sleep(600)\n',
    };
    const running = traced(unittest, files, { signal: stop.signal });
    await expect.poll(() => keeper.requests.some(({ env }) => env !== undefined)).toBe(true);
    stop.abort(new Error('Stop'));
    await expect(running).rejects.toThrow('Stop');
  });

  test('the way that this Python has was taken', async () => {
    const files = {
      'test_way.py': `import sys, unittest
class T(unittest.TestCase):
    def test_way(self):
        self.assertEqual(sys.gettrace() is None, ${version[1] >= 12 ? 'True' : 'False'})
`,
    };
    expect((await traced(unittest, files)).outcomes()).toEqual({ 'test_way.T.test_way': 'Passed' });
  });
});

test('commands that are not Python are not run', async () => {
  const { runs } = await traced(['go', 'test', './...'], {});
  expect([runs, keeper.requests]).toEqual([[], []]);
});
