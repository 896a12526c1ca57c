import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { unsupported } from '../acceptance.ts';
import { sandboxPod, type SandboxPodInput } from './pod.ts';
import { newPool } from '../testing/objects.ts';
import { snapshotOf, taskOf } from '../testing/snapshots.ts';

const input: SandboxPodInput = {
  name: 'fix-parser-1',
  namespace: 'team-a',
  sandboxImage: 'localhost/agentfleet/sandbox:1',
  toolsImage: 'python:3',
  clients: ['system:serviceaccount:pool:worker'],
  issuer: 'https://kubernetes.default.svc',
  layered: true,
};

describe('a sandbox pod with layers', () => {
  const spec = sandboxPod(input).spec;
  const of = (name: string) => [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((container) => container.name === name);

  test('has exactly the capabilities that mounting needs, in a user namespace of its own', () => {
    expect(spec?.hostUsers).toBe(false);
    expect(spec?.securityContext).toMatchObject({ runAsUser: 0, runAsGroup: 0, fsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } });
    expect(of('keeper')?.securityContext?.capabilities).toEqual({ drop: ['ALL'], add: ['SYS_ADMIN', 'DAC_OVERRIDE'] });
    expect(of('tools')?.securityContext?.capabilities).toEqual({ drop: ['ALL'], add: ['SYS_ADMIN'] });
    expect(of('install-runner')?.securityContext?.capabilities).toEqual({ drop: ['ALL'] });
    for (const name of ['keeper', 'tools', 'install-runner'])
      expect(of(name)?.securityContext).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
  });

  test('shows the layers to the keeper alone', () => {
    const has = (name: string) => of(name)?.volumeMounts?.some((mount) => mount.name === 'layers') === true;
    expect([has('keeper'), has('tools'), has('install-runner')]).toEqual([true, false, false]);
    const claimed = sandboxPod({ ...input, claim: 'fix-parser' }).spec;
    const kept = claimed?.containers.map(({ volumeMounts = [] }) => volumeMounts.filter(({ subPath }) => subPath === 'layers').length);
    expect(kept).toEqual([1, 0]);
  });

  test('starts the program of the image', () => {
    const entry = /^ENTRYPOINT (\[.*\])$/m.exec(
      readFileSync(new URL('../../../../../sandbox-image/Dockerfile', import.meta.url), 'utf8'),
    )?.[1];
    expect(of('keeper')?.command).toEqual(['/opt/agentfleet/runner', 'mount', ...(JSON.parse(entry ?? '[]') as string[])]);
  });
});

describe('a task of a pool with layers is refused', () => {
  const refusal = (level: string | undefined, sandbox: object = {}) => {
    const labels: Record<string, string> = level === undefined ? {} : { 'pod-security.kubernetes.io/enforce': level };
    const task = taskOf(undefined, { sandbox });
    const namespaces = new Map([[task.metadata.namespace ?? '', labels]]);
    const pool = newPool({ sandbox: { userNamespace: 'Auto', snapshotEngine: 'Overlay' } });
    return unsupported({ ...snapshotOf(task), capabilities: { nodes: [], runtimeClasses: [], namespaces } }, pool, 'Landlock');
  };

  test.each(['baseline', 'restricted'])('where its namespace enforces Pod Security %s, with the label that lets it in', (level) => {
    expect(refusal(level)).toMatchObject({
      reason: 'LayersNotPossible',
      message: expect.stringMatching(/snapshotEngine.*enforce to privileged/) as string,
    });
  });

  test('beside a RuntimeClass, and not otherwise', () => {
    expect(refusal('privileged')).toBeUndefined();
    expect(refusal(undefined)).toBeUndefined();
    expect(refusal(undefined, { runtimeClassName: 'gvisor' })).toMatchObject({
      reason: expect.stringMatching(/Layers|RuntimeClass/) as string,
    });
  });
});
