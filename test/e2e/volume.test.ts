import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, test } from 'vitest';
import { copyCommand } from '../../cli/src/evidence/artifact.ts';
import { condition, useFleet } from './fleet.ts';
import { oneBug } from './repositories.ts';
import { readAsViewer } from './viewer.ts';

const fleet = useFleet('volume', { storage: false });

describe('a pool without object storage', () => {
  test('keeps artifacts on a separate volume', async ({ skip }) => {
    const { provider, kubeconfig } = inject('fleet');
    if (provider !== 'local') skip('the volume is one that only our own cluster makes');
    await fleet.task('fix', oneBug);
    const task = await fleet.finished('fix');
    expect(condition(task, 'Succeeded'), await fleet.explain('fix')).toMatchObject({ status: 'True' });
    const patch = task.status?.run?.artifacts?.find(({ name }) => name === 'change.patch');
    expect(patch?.uri).toMatch(/^pvc:\/\/pool-artifacts\//);
    const path = patch?.uri.replace('pvc://pool-artifacts/', '') ?? '';
    const content = await readFile(join(dirname(kubeconfig), 'volumes', 'agentfleet-local', path));
    expect(createHash('sha256').update(content).digest('hex')).toBe(patch?.sha256);
    expect(content.toString('utf8')).toMatch(/^\+.*start <= merged/m);
    const seen = await readAsViewer(fleet, task);
    expect(seen).toMatchObject({ raw: content.toString('utf8').trimEnd(), patch: content.toString('utf8'), errors: '' });
    // The CLI's command for users without access to the volume.
    const { bins } = inject('fleet');
    const env = { KUBECONFIG: kubeconfig, PATH: `${dirname(bins['kubectl'] ?? '')}:${process.env['PATH'] ?? ''}` };
    const copy = join(await mkdtemp(join(tmpdir(), 'volume-')), 'change.patch');
    await execa('sh', ['-c', copyCommand(task, copy, path)], { env });
    expect(await readFile(copy, 'utf8')).toBe(content.toString('utf8'));
    await rm(dirname(copy), { recursive: true });
  });
});
