import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectCoverage } from '../../agent-image/src/coverage/index.ts';
import { createDialer } from '../../agent-image/src/egress/index.ts';
import { importWorkspace } from '../../agent-image/src/workspace/index.ts';
import { startGitServer, type GitServer } from '../../agent-image/src/workspace/testing/gitServer.ts';
import { TestRepository } from '../../agent-image/src/workspace/testing/repository.ts';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('worker');
const { signal } = new AbortController();
let dir: string;
let server: GitServer;
let sandbox: Sandbox;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'worker-'));
  const repository = await TestRepository.create(join(dir, 'root', 'app'));
  await repository.write('calc.py', 'def add(a, b):\n    if a == 3:\n        return 0\n    return a + b\n');
  await repository.write(
    'test_calc.py',
    `import pytest
from calc import add


@pytest.mark.parametrize('a', [1, 3])
def test_add(a):
    assert add(a, 1) == a + 1
`,
  );
  await repository.git('config', 'core.symlinks', 'true');
  await repository.commit('one');
  server = await startGitServer(dir, join(dir, 'root'));
  sandbox = await bench.open();
});

afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

describe('the worker with a sandbox', () => {
  test('a Git workspace is a clean repository there, and is removed by a restore', async () => {
    const empty = await sandbox.client.takeSnapshot('empty');
    const imported = await importWorkspace(
      { type: 'Git', git: { url: `${server.origin}/app/.git`, ref: 'main' } },
      {
        keeper: sandbox.client,
        readConfigMap: () => Promise.reject(new Error('not asked for')),
        scratch: dir,
        clock: systemClock,
        signal,
        authorities: server.authorities,
        dialer: createDialer({ clock: systemClock, env: {} })({ open: [{ host: '127.0.0.1', port: Number(new URL(server.origin).port) }] }),
      },
    );
    const { stdout, stderr } = await shell(sandbox, 'git status --porcelain --branch && git log --format=%H && git fsck --strict');
    expect([stdout, stderr]).toEqual([`## main...origin/main\n${imported.commit}\n`, '']);
    const initial = await sandbox.client.takeSnapshot('initial');
    expect((await sandbox.client.restore(empty.id)).verified).toBe(true);
    expect((await shell(sandbox, 'ls -A /workspace')).stdout).toBe('');
    expect((await sandbox.client.restore(initial.id)).verified).toBe(true);
  });

  test('its tests are traced line by line, and no file of the tracer stays', async () => {
    const before = await sandbox.client.takeSnapshot('before');
    const command = ['pytest', '-q', '-p', 'no:cacheprovider'];
    const env = { PYTHONDONTWRITEBYTECODE: '1' };
    const runs = await collectCoverage({ keeper: sandbox.client, command, env, cwd: '/workspace', timeoutSeconds: 60, signal });
    expect(runs).toEqual([
      {
        test: 'test_calc.py::test_add[1]',
        outcome: 'Passed',
        covered: [
          { path: 'calc.py', lines: [2, 4] },
          { path: 'test_calc.py', lines: [7] },
        ],
      },
      {
        test: 'test_calc.py::test_add[3]',
        outcome: 'Failed',
        covered: [
          { path: 'calc.py', lines: [2, 3] },
          { path: 'test_calc.py', lines: [7] },
        ],
      },
    ]);
    expect((await sandbox.client.diff(before.id)).entries).toEqual([]);
  });
});
