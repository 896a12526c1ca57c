// A model of 13B in 16 bit on two GPUs that NVLink joins, beside other tenants of both: the scheduler of Kubernetes gives its pod the very
// two boards that the plan names.
import { findCondition } from '@agentfleet/kube';
import type { Condition } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod, resources } from '../../../operator/src/runtime/resources.ts';
import { connect, enabled, install } from '../api/server.ts';
import { a100, GpuNode } from './gpuNode.ts';
import { PlacementStage } from './stage.ts';
import { readingWeights } from './weights.ts';

const gib = 2 ** 30;
const uuids = ['GPU-7a', 'GPU-1c', 'GPU-f0', 'GPU-3d'];
const digest = 'b'.repeat(64);

/** A job's report after reading weights of 13B in 16 bit, like those of CodeLlama-13B. */
const found = {
  format: 'agentfleet.dev/weights/v1',
  digest: `sha256:${digest}`,
  bytes: 26_050_000_000,
  files: 6,
  weightBytes: 26_031_738_880,
  architecture: { layers: 40, heads: 40, kvHeads: 40, headSize: 128, hiddenSize: 5120, feedForwardSize: 13_824, vocabulary: 32_016 },
  tokenizerHash: null,
};

interface EnginePod {
  readonly nodeName?: string;
  readonly resourceClaims: readonly { readonly name: string; readonly resourceClaimName: string }[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir?: { readonly sizeLimit?: string } }[];
  readonly initContainers: readonly {
    readonly name: string;
    readonly args: readonly string[];
    readonly resources: { readonly claims?: readonly { readonly name: string }[]; readonly requests?: Readonly<Record<string, string>> };
  }[];
}

describe.runIf(enabled)('an engine on two GPUs', { timeout: 120_000 }, () => {
  let gpus: GpuNode;
  let stage: PlacementStage;

  beforeAll(async () => {
    const server = await connect();
    await install(server);
    gpus = await GpuNode.start(server);
    await gpus.beat();
    await gpus.publish([2, 0, 3, 1].map((index) => a100(index, uuids[index] ?? '')));
    stage = await PlacementStage.start(gpus);
    stage.startsAs = readingWeights(found);
  });
  afterAll(async () => {
    await stage.close();
    await gpus.close();
  });

  const word = async (): Promise<Condition | undefined> =>
    findCondition((await stage.pool('wide')).status?.conditions, 'PlacementFeasible');
  const enginePods = async (): Promise<readonly Pod[]> =>
    (await stage.pods()).filter(
      ({ metadata, spec }) =>
        metadata.labels?.[labels.expert] === 'core' && metadata.labels[labels.component] === 'expert' && spec?.nodeName !== undefined,
    );

  it('is refused with the cure while no connection of GPUs is declared, and nothing is made', async () => {
    const slot = (index: number): object => ({ slot: `${gpus.node}/gpu${index}`, memory: { budget: '9Gi' } });
    const tenant = (name: string, role: string, index: number) => ({ name, role, engine: { type: 'Synth' }, resources: slot(index) });
    await stage.createPool('beside', [tenant('gen', 'Generalist', 0), tenant('py', 'Specialist', 1)]);
    await stage.until('tenants have their places', async () => (await stage.pool('beside')).status?.plan?.assignments.length === 2);
    const core = {
      name: 'core',
      role: 'Generalist',
      engine: { type: 'VLLM', vLLM: { image: 'none.invalid/vllm:1', maxNumSeqs: 16, tensorParallel: 2 } },
      artifact: { uri: `oci://none.invalid/models/core@sha256:${digest}` },
      resources: { memory: { kvTokens: 16_384 } },
    };
    await stage.createPool('wide', [core]);
    await stage.until('it is refused', async () => (await word())?.reason === 'NotJoined');
    expect((await word())?.message).toContain('declare them in data.links of ConfigMap agentfleet-slots of the operator');
    console.log((await word())?.message);
    expect((await stage.pool('wide')).status?.plan?.assignments).toEqual([]);
    expect((await stage.deployments()).filter(({ metadata }) => metadata.labels?.[labels.expert] === 'core')).toEqual([]);
  });

  it('gets the very boards that are declared to be joined, which it shares with their tenants', async () => {
    const began = performance.now();
    await stage.writeBook({ links: `${gpus.node}/gpu0 ${gpus.node}/gpu1 NV4\n` });
    await stage.until('its pod is bound', async () => (await enginePods()).length === 1);
    console.log(`${(performance.now() - began).toFixed(0)} ms from the line of data.links to the engine bound on two GPUs`);
    const { plan } = (await stage.pool('wide')).status ?? {};
    expect(plan?.assignments.map(({ item, slot, uuid }) => [item, slot.replace(/^.*\//, ''), uuid])).toEqual([
      ['core', 'gpu0', 'GPU-7a'],
      ['core', 'gpu1', 'GPU-1c'],
    ]);
    // Half of 24.2 GiB of weights and of 12.5 GiB of keys and values, on each.
    const [first, second] = plan?.assignments.map(({ bytes }) => bytes / gib) ?? [];
    expect(first).toBe(second);
    expect(first).toBeGreaterThan(19);
    expect(first).toBeLessThan(23);
    console.log((await word())?.message);
    const [pod] = await enginePods();
    const spec = pod?.spec as unknown as EnginePod;
    const claims = spec.resourceClaims.map(({ resourceClaimName }) => resourceClaimName);
    expect(claims).toEqual(plan?.assignments.map(({ claim }) => claim));
    for (const [index, name] of claims.entries()) {
      const { status } = await gpus.claim(name);
      expect(status?.allocation?.devices?.results?.map(({ device }) => device)).toEqual([`gpu-${3 - index}`]);
      expect(status?.reservedFor?.map((consumer) => consumer.name)).toContain(pod?.metadata.name);
      expect(status?.reservedFor).toHaveLength(2);
    }
    const engine = spec.initContainers.find(({ name }) => name === 'engine');
    expect(engine?.resources.claims?.map(({ name }) => name)).toEqual(spec.resourceClaims.map(({ name }) => name));
    expect(engine?.args.join(' ')).toContain('--tensor-parallel-size 2');
    expect(spec.volumes.find(({ name }) => name === 'shm')?.emptyDir?.sizeLimit).toBe('2Gi');
    expect(Number(engine?.resources.requests?.['memory'])).toBe(10 * gib);
    const { plan: tenants } = (await stage.pool('beside')).status ?? {};
    expect(tenants?.assignments.map(({ item, slot, admitted }) => [item, slot.replace(/^.*\//, ''), admitted])).toEqual([
      ['gen', 'gpu0', true],
      ['py', 'gpu1', true],
    ]);
  });

  it('takes the room of all its boards: a later one is refused with the bytes that each lacks', async () => {
    const late = {
      name: 'gen',
      role: 'Generalist',
      engine: { type: 'Synth' },
      resources: { memory: { budget: '30Gi' }, slot: `${gpus.node}/gpu1` },
    };
    await stage.createPool('late', [late]);
    const refused = async () => findCondition((await stage.pool('late')).status?.conditions, 'PlacementFeasible');
    await stage.until('it is refused', async () => (await refused())?.reason === 'NotEnoughMemory');
    for (const name of ['late', 'wide', 'beside']) await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name });
    const claims = () => stage.client(resources.resourceClaims).list({ namespace: gpus.namespace });
    await stage.until('no claim is left', async () => (await claims()).length === 0);
  });
});
