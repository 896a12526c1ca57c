import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { NormalCommand } from '@agentfleet/agent/rails';
import { EffectJournal, EffectReader, takeBack } from '@agentfleet/agent/effects';
import { Log, probeIn, shellIn } from '@agentfleet/agent/effects/testing';
import { useNamespace } from './harness.ts';

const bench = useNamespace('effects');
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'effects-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Commands run on this machine, with the kubectl and the configuration of the cluster. */
function here(): ReturnType<typeof probeIn> {
  const { bins, kubeconfig } = inject('environment');
  return probeIn(folder, { PATH: `${dirname(bins['kubectl'] ?? '')}:${process.env['PATH'] ?? ''}`, KUBECONFIG: kubeconfig });
}

const map = (name: string, data: Record<string, string>, kind = 'ConfigMap'): string =>
  JSON.stringify({ apiVersion: 'v1', kind, metadata: { name }, ...(kind === 'ConfigMap' ? { data } : { stringData: data }) });

async function act(log: Log, command: string): Promise<void> {
  const argv = command.split(' ');
  const external: readonly NormalCommand[] = [{ argv, via: [], span: { start: 0, end: command.length } }];
  const journal = new EffectJournal({ attempt: 1, note: log.note, probe: here(), newId: log.newId });
  const run = async (): Promise<{ ok: boolean }> => ({ ok: (await shellIn(here())(command)).exitCode === 0 });
  expect(await journal.around({ command, external, movesAbout: false, approved: true }, run)).toEqual({ ok: true });
}

function back(log: Log): Promise<readonly string[]> {
  const reader = new EffectReader();
  for (const record of log.records) reader.visit(record);
  return takeBack(reader.standing, { attempt: 2, shell: shellIn(here()), note: log.note, hindrance: () => null });
}

const dataOf = async (name: string): Promise<unknown> =>
  (await bench.kubectl.json<{ data?: unknown }>(['-n', bench.namespace, 'get', 'configmap', name])).data;

describe('changes by kubectl on a real API server', () => {
  test('is made, put back and made again as it was', async () => {
    const log = new Log();
    const before = JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: ['changed', 'gone'].map((name) => JSON.parse(map(name, { was: name })) as object),
    });
    await writeFile(join(folder, 'before.json'), before);
    await writeFile(
      join(folder, 'new.json'),
      `{"apiVersion":"v1","kind":"List","items":[${map('changed', { is: "it's new" })},${map('made', {})}]}`,
    );
    await writeFile(join(folder, 'gone.json'), map('gone', {}));
    const flags = `-n ${bench.namespace}`;
    await shellIn(here())(`kubectl apply ${flags} -f before.json`);
    await act(log, `kubectl apply ${flags} -f new.json`);
    await act(log, `kubectl delete ${flags} -f gone.json`);
    expect(log.kinds).toEqual(['EffectPlanned', 'EffectEnded', 'EffectPlanned', 'EffectEnded']);
    expect(await back(log)).toEqual([]);
    expect([await dataOf('changed'), await dataOf('gone')]).toEqual([{ was: 'changed' }, { was: 'gone' }]);
    await expect(dataOf('made')).rejects.toThrow(/not found/i);
  });

  test('stay when another client has changed them since, and a Secret is not kept', async () => {
    const log = new Log();
    const flags = `-n ${bench.namespace}`;
    await writeFile(join(folder, 'theirs.json'), map('theirs', { version: '1' }));
    await writeFile(join(folder, 'secret.json'), map('key', { token: 'one' }, 'Secret'));
    await shellIn(here())(`kubectl apply ${flags} -f theirs.json -f secret.json`);
    await writeFile(join(folder, 'theirs.json'), map('theirs', { version: '2' }));
    await writeFile(join(folder, 'secret.json'), map('key', { token: 'two' }, 'Secret'));
    await act(log, `kubectl apply ${flags} -f theirs.json`);
    await act(log, `kubectl apply ${flags} -f secret.json`);
    await bench.kubectl.text(['-n', bench.namespace, 'patch', 'configmap', 'theirs', '-p', '{"data":{"version":"3"}}']);
    const left = await back(log);
    expect(left[0]).toMatch(/Secret key as it was is not kept$/);
    expect(left[1]).toMatch(/its way back ended with 1; take it back with: printf/);
    expect(await dataOf('theirs')).toEqual({ version: '3' });
    expect(JSON.stringify(log.records)).not.toContain(Buffer.from('one').toString('base64'));
  });
});
