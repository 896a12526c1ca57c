import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../runtime/resources.ts';
import { decidePool } from './decide.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';
import { type Fields, gen, readme, snapshotOf } from './testing/chatPools.ts';
import { deployment, worker } from './testing/snapshots.ts';

describe('the status of a chat model', () => {
  const pod = (name: string, message?: string): Pod => ({
    metadata: { name, namespace: 'platform', labels: { [labels.component]: 'gateway', [labels.pool]: 'coding' } },
    spec: { containers: [{ name: 'inference', image: 'inference:1' }] },
    status: { phase: 'Pending', conditions: [{ type: 'Ready', status: message === undefined ? 'True' : 'False' }] },
  });
  function stateOf(parts: Partial<PoolSnapshot>, spec: Fields = readme) {
    const workers = { deployments: new Map([deployment('coding-workers', 1)]), pods: [worker('w')], alive: new Set(['w']) };
    const snapshot = snapshotOf({ ...spec, workers: { replicas: 1 } }, { ...workers, ...parts });
    const { experts, conditions } = poolStatus(snapshot, decidePool(snapshot).obstacles, 0);
    const conditionOf = (type: string) => conditions?.find((condition) => condition.type === type);
    return { expert: experts?.[0], engines: conditionOf('EnginesReady'), degraded: conditionOf('Degraded') };
  }

  it('is ready when the gateway is', () => {
    const { expert, engines } = stateOf({ deployments: new Map([deployment('coding-gateway', 2)]) });
    expect(expert).toEqual({
      name: 'gen',
      phase: 'Ready',
      endpoint: 'http://coding-gateway.platform.svc:8090',
      replicas: 2,
      ready: 2,
    });
    expect(engines?.status).toBe('True');
    expect(stateOf({}).engines).toMatchObject({ status: 'False', reason: 'Progressing' });
    const latency = { p50Ms: 20, p95Ms: 300 };
    expect(stateOf({ latencies: new Map([['gen', latency]]) }).expert).toMatchObject({ latency });
  });

  it.for([
    ['CredentialRefused', 'CredentialRefused', 'correct the Secret of its credential'],
    ['CredentialMissing', 'CredentialMissing', 'correct the Secret of its credential'],
    ['ModelNotAtProvider', 'ModelNotAtProvider', 'correct its name'],
    ['ProviderUnreachable', 'ModelUnreachable', 'look at the endpoint'],
  ] as const)('is not ready while its newest request failed: %s', ([fault, reason, cure]) => {
    const deployments = new Map([deployment('coding-workers', 1), deployment('coding-gateway', 2)]);
    const modelFaults = new Map([[undefined, new Map([['gen', fault]])]]);
    const { expert, engines } = stateOf({ deployments, modelFaults });
    expect(expert).toMatchObject({ phase: 'Degraded', ready: 2 });
    expect(expert?.message).toContain(cure);
    expect(engines).toMatchObject({ status: 'False', reason });
    expect(engines?.message).toMatch(/^expert gen: the last request to the model /);
    // A gateway of another revision says nothing about this one, and a fallback answers instead.
    expect(stateOf({ deployments, modelFaults: new Map([['r2', new Map([['gen', fault]])]]) }).engines?.status).toBe('True');
    // Another operator, or another gateway, has not heard of a request: what was reported of this spec stands until it has.
    const was = (of: number) => ({
      deployments,
      pool: { ...snapshotOf(readme).pool, status: { observedGeneration: of, experts: [expert!] } } as PoolSnapshot['pool'],
    });
    const generation = snapshotOf(readme).pool.metadata.generation ?? 0;
    expect(stateOf(was(generation)).engines).toMatchObject({ status: 'False', reason });
    expect(stateOf({ ...was(generation), modelFaults: new Map([[undefined, new Map([['gen', null]])]]) }).engines?.status).toBe('True');
    expect(stateOf(was(generation - 1)).engines?.status).toBe('True');
    const two = {
      ...readme,
      experts: [
        { ...gen, fallback: 'other' },
        { ...gen, name: 'other' },
      ],
    };
    const replaced = stateOf({ deployments, modelFaults }, two);
    expect(replaced).toMatchObject({ engines: { status: 'True' }, degraded: { reason }, expert: { phase: 'Degraded' } });
  });

  it.for([
    [
      'MountVolume.SetUp failed for volume "credentials" : secret "llm" not found',
      'CredentialMissing',
      'create Secret llm with the key token in namespace platform',
    ],
    [
      'MountVolume.SetUp failed for volume "credentials" : references non-existent secret key: token',
      'CredentialMissing',
      'create Secret llm with the key token in namespace platform',
    ],
    ['MountVolume.SetUp failed for volume "authorities" : configmap "ca" not found', 'CaBundleMissing', 'ConfigMap ca'],
  ] as const)('names the object that is missing: %s', ([note, reason, cure]) => {
    const notes = new Map([['g', `FailedMount: ${note}`]]);
    const { expert, engines } = stateOf({
      pods: [pod('g', note)],
      notes,
      deployments: new Map([deployment('coding-gateway', 2, { readyReplicas: 0 })]),
    });
    expect(engines).toMatchObject({ status: 'False', reason });
    expect(expert?.phase).toBe('Starting');
    expect(expert?.message).toContain(cure);
  });
});
