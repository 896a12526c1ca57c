import { workspaceDir } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { namingEnvironment, parseResults } from '../checks/index.ts';
import { LocalKeeper } from './testing/localKeeper.ts';
import { pythons } from './testing/pythons.ts';
import { trace } from './testing/trace.ts';

const python = (await pythons()).find(({ pytest }) => pytest);
const pytest = [python?.program ?? '', '-m', 'pytest', '-q', '-p', 'no:cacheprovider'];

let keeper: LocalKeeper;

beforeEach(async () => {
  keeper = await LocalKeeper.create();
});

afterEach(async () => {
  await keeper.remove();
});

const files = {
  'calc.py': 'def add(a, b):\n    if a == 3:\n        return 0\n    return a + b\n\n\ndef prepare():\n    return 1\n',
  'tests/conftest.py': `import pytest
from calc import prepare


@pytest.fixture
def prepared():
    yield prepare()


@pytest.fixture
def broken():
    raise RuntimeError(prepare())
`,
  'tests/test_calc.py': `import unittest
import pytest
from calc import add


@pytest.mark.parametrize('a, b', [(1, 2), (3, 4), ('ü', 'x')], ids=['plain', 'wrong [x] - y', 'ü'])
def test_add(a, b):
    assert add(a, b) == a + b


def test_fixture(prepared):
    assert prepared == 1


def test_broken(broken):
    pass


@pytest.mark.skip
def test_skipped():
    pass


@pytest.mark.xfail
def test_expected():
    assert add(3, 1) == 4


@pytest.mark.xfail
def test_unexpected():
    pass


class TestGroup:
    def test_method(self):
        assert add(1, 1) == 2


class Old(unittest.TestCase):
    def test_old(self):
        self.assertEqual(add(2, 2), 4)
`,
};

describe.skipIf(python === undefined)('pytest', () => {
  test('gives each test its own lines, with its fixtures, and the ids that the output has', async () => {
    const { runs, lines, outcomes } = await trace(keeper, pytest, files);
    const at = (name: string): string => `tests/test_calc.py::${name}`;
    expect(lines('calc.py')).toEqual({
      [at('test_add[plain]')]: [2, 4],
      [at('test_add[wrong [x] - y]')]: [2, 3],
      [at('test_add[\\xfc]')]: [2, 4],
      [at('test_fixture')]: [8],
      [at('test_broken')]: [8],
      [at('test_unexpected')]: [],
      [at('TestGroup::test_method')]: [2, 4],
      [at('Old::test_old')]: [2, 4],
    });
    expect(Object.entries(outcomes()).flatMap(([id, outcome]) => (outcome === 'Failed' ? [id] : []))).toEqual([
      at('test_add[wrong [x] - y]'),
      at('test_broken'),
    ]);
    const { stdout, stderr, end } = await keeper.run({ execId: 'plain', tool: 'ExecCode', argv: pytest, env: namingEnvironment });
    const parsed = parseResults('Pytest', { exitCode: end.exitCode, stdout, stderr });
    const judged = parsed.tests.filter(({ kind, outcome }) => kind === 'Test' && outcome !== 'Skipped');
    expect(judged.map(({ id }) => id).sort()).toEqual(runs.map(({ test }) => test));
  });

  test('ids from a folder below are those that pytest prints there', async () => {
    const more = { cwd: `${workspaceDir}/tests`, env: { PYTHONPATH: workspaceDir } };
    const { runs } = await trace(keeper, [...pytest, '-k', 'fixture'], { ...files, 'pytest.ini': '[pytest]\n' }, more);
    expect(runs.map(({ test }) => test)).toEqual(['test_calc.py::test_fixture']);
    expect(runs[0]?.covered.map(({ path }) => path)).toEqual(['calc.py', 'tests/conftest.py', 'tests/test_calc.py']);
  });

  test('is compatible with the variables that make runners name their tests, and with those of the task', async () => {
    const env = { ...namingEnvironment, MODE: 'x' };
    const own = {
      'test_env.py': "import os\ndef test_env():\n    assert os.environ['MODE'] == 'x' and '-rA' in os.environ['PYTEST_ADDOPTS']\n",
    };
    expect((await trace(keeper, pytest, own, { env })).outcomes()).toEqual({ 'test_env.py::test_env': 'Passed' });
  });

  test('a module that cannot be collected does not hide the others', async () => {
    const own = { 'test_a.py': 'def test_a():\n    pass\n', 'test_b.py': 'def (:\n' };
    const { outcomes } = await trace(keeper, [...pytest, '--continue-on-collection-errors'], own);
    expect(outcomes()).toEqual({ 'test_a.py::test_a': 'Passed' });
  });

  test('the tests of an inner pytest belong to the test that started it', async () => {
    const own = {
      'inner/test_inner.py': 'def test_inner():\n    pass\n',
      'test_outer.py': `import subprocess, sys
def test_outer():
    subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'inner'], check=True)
`,
    };
    const { runs, lines } = await trace(keeper, [...pytest, 'test_outer.py'], own);
    expect(runs.map(({ test }) => test)).toEqual(['test_outer.py::test_outer']);
    expect(lines('inner/test_inner.py')).toEqual({ 'test_outer.py::test_outer': [2] });
  });
});
