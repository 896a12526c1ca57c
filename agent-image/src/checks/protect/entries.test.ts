import { expect, test } from 'vitest';
import { entriesOf } from './entries.ts';

test.each([
  ['tox -e py', ['ci/all.py', 'ci/lint.sh']],
  ['python3 -m tox', ['ci/all.py', 'ci/lint.sh']],
  ['nox -s tests', ['ci/all.py']],
  ['uv run nox', ['ci/all.py']],
  ['pytest', []],
])('%s runs the files of its environments: %j', (line, files) => {
  const tree = {
    'tox.ini':
      '[testenv]\ncommands_pre =\n  pip list\ncommands =\n  py311: pytest {posargs}\n\n  python {toxinidir}/ci/all.py\n[testenv:lint]\ncommands = bash ci/lint.sh\n',
    'noxfile.py':
      '@nox.session\ndef tests(session):\n    session.run(\n        "python",\n        "ci/all.py",\n        external=True,\n    )\n',
    'ci/all.py': '',
    'ci/lint.sh': 'echo',
    'src/a.py': '',
  };
  const checks = [{ name: 'c', command: ['sh', '-c', line] }];
  const found = entriesOf(new Set(Object.keys(tree)), checks, (path) => Object.entries(tree).find(([one]) => one === path)?.[1]);
  expect([...found.files.keys()].sort()).toEqual(files);
});
