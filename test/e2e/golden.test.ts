// Golden sets of examples/golden.yaml as real Jobs: made from their PodTemplates, run by the kubelet, under the network
// policies.
import { readFile } from 'node:fs/promises';
import type { EnergyModel, RolloutStatus } from '@agentfleet/protocol/api';
import { goldenEnvironment, goldenReportOf, type GoldenArm, type GoldenReport } from '@agentfleet/protocol/golden';
import { resources } from '@agentfleet/operator/resources';
import { labels } from '@agentfleet/protocol/pool';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually, poolOf } from './devices.ts';
import { useFleet, type Fleet, type Pod } from './fleet.ts';
import { History } from './history.ts';

type Node = Record<string, unknown> & { readonly metadata: { readonly name: string } };

const example = new URL('../../examples/golden.yaml', import.meta.url);

interface Template extends Node {
  readonly template: { readonly spec: { readonly containers: readonly (Record<string, unknown> & { image: string })[] } };
}

/** ConfigMaps and PodTemplates of the example, with the images of this run. */
async function sets({ namespace }: Fleet): Promise<readonly Node[]> {
  const all = loadAll(await readFile(example, 'utf8')) as Node[];
  return all
    .filter(({ kind }) => kind === 'ConfigMap' || kind === 'PodTemplate')
    .map((object) => {
      const placed = { ...object, metadata: { ...object.metadata, namespace } };
      if (object['kind'] === 'ConfigMap') return placed;
      const { template } = object as Template;
      const containers = template.spec.containers.map((container) => ({ ...container, image: inject('fleet').images['agent'] }));
      return { ...placed, template: { ...template, spec: { ...template.spec, containers } } };
    });
}

const golden = (name: string, minSamples: number): object => ({
  name: 'set',
  metric: 'GoldenLoss',
  templateRef: { name },
  atMost: '0.01',
  minSamples,
});
const rollout = (gate: object): object => ({
  steps: [{ weight: 100, minSamples: 0, pauseSeconds: 0 }],
  gates: [gate],
  minSamples: 0,
  drainSeconds: 5,
});
const expert = (...domains: readonly string[]): object => ({ name: 'gen', role: 'Generalist', engine: { type: 'Synth' }, domains });

interface Ended {
  readonly role: string;
  /** Servers that it asked. */
  readonly urls: readonly string[];
  readonly report: GoldenReport;
}

interface Container {
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** Returns the kubelet's status of a revision's golden pods, and the ends of their Jobs. */
function ended(fleet: Fleet, revision: string | undefined, owner: string): readonly Ended[] {
  const pods = new Map<string, Pod>();
  for (const pod of fleet.pods.states) {
    const { labels: reported = {}, uid = '' } = pod.metadata;
    if (reported[labels.component] === 'golden' && reported[owner] !== undefined && reported[labels.revision] === revision)
      pods.set(uid, pod);
  }
  return [...pods.values()].flatMap((pod) => {
    const message = pod.status?.containerStatuses?.[0]?.state?.terminated?.message;
    const report = goldenReportOf(message);
    if ('fault' in report) return [];
    const [container] = (pod.spec as unknown as { readonly containers: readonly Container[] }).containers;
    const value = (name: string): string => container?.env?.find((one) => one.name === name)?.value ?? '';
    const arm = JSON.parse(value(goldenEnvironment.arm)) as GoldenArm;
    return [{ role: value(goldenEnvironment.role), urls: arm.experts.map(({ url }) => url), report }];
  });
}

describe('golden sets on a real kubelet', () => {
  const fleet = useFleet('golden', {
    before: async (opened) => {
      await opened.kubectl.apply(...(await sets(opened)));
      await opened.apply('RolloutPolicy', 'acts', rollout(golden('golden-acts', 32)));
      await opened.apply('RolloutPolicy', 'coding', rollout(golden('golden-coding', 14)));
      await opened.apply('EnergyModel', 'judge', { artifact: { uri: 'builtin://features-v3' }, rolloutPolicyRef: { name: 'acts' } });
    },
    pool: { experts: [expert('*')], workers: { replicas: 0 }, rolloutPolicyRef: { name: 'coding' } },
  });
  let models: History<EnergyModel>;
  const ofModel = (): RolloutStatus | undefined => models.named('judge').at(-1)?.status?.rollout;
  const ofPool = async (): Promise<RolloutStatus | undefined> => (await poolOf(fleet)).status?.rollout;
  const patch = (object: string, spec: object): Promise<string> =>
    fleet.run('patch', object, '--type=merge', '-p', JSON.stringify({ spec }));
  const becomes = (what: string, holds: (status: RolloutStatus | undefined) => boolean): Promise<void> =>
    eventually(fleet, what, 120, () => Promise.resolve(holds(ofModel())));

  beforeAll(async () => {
    const { kubeconfig, context } = inject('fleet');
    models = await History.of(resources.energyModels, { kubeconfig, context, namespace: fleet.namespace });
    await becomes('a verifier serves', (status) => status?.phase === 'Idle' && status.stable !== undefined);
    // Both are tried at once: the pool does not name this verifier.
    await Promise.all([
      patch('expertpool/pool', { experts: [expert('python')] }),
      patch('energymodel/judge', { artifact: { uri: 'builtin://features-v1' } }),
    ]);
  });
  afterAll(async () => {
    await models.close();
  });

  test('a verifier that fails its set is rolled back, and no task was ever given to it', async () => {
    const { stable } = models.named('judge').find(({ status }) => status?.rollout?.stable !== undefined)?.status?.rollout ?? {};
    await becomes('it goes back', (status) => status?.failures !== undefined);
    const status = ofModel();
    const lost = Object.keys(status?.failures ?? {})[0];
    expect(status).toMatchObject({ stable, gates: [{ name: 'set', verdict: 'Fail', samples: 32 }] });
    expect(new Set(models.named('judge').map((state) => state.status?.rollout?.weight ?? 0))).toEqual(new Set([0]));
    const [mine, theirs] = [ended(fleet, lost, labels.model), ended(fleet, stable, labels.model)];
    expect([mine.map(({ role }) => role), theirs.map(({ role }) => role)]).toEqual([['canary'], ['stable']]);
    const gate = status?.gates?.[0];
    expect([Number(gate?.value), Number(gate?.baseline)]).toEqual([mine, theirs].map(([one]) => (one?.report.passed ?? 0) / 32));
    console.log(`${gate?.message}\n${JSON.stringify(theirs[0]?.report)}`);
  });

  test('one that passes it is promoted, compared with the results of the stable one', async () => {
    const before = ofModel()?.stable;
    await patch('energymodel/judge', {
      artifact: { uri: 'builtin://features-v3' },
      resources: { container: { requests: { cpu: '60m', memory: '96Mi' } } },
    });
    await becomes('it serves', (status) => status?.phase === 'Idle' && status.stable !== before);
    const { stable, gates, lastGreen } = ofModel() ?? {};
    expect(lastGreen).toEqual([before]);
    expect(gates).toMatchObject([{ name: 'set', verdict: 'Pass', samples: 32 }]);
    expect(ended(fleet, stable, labels.model)).toHaveLength(1);
    expect(ended(fleet, before, labels.model)).toHaveLength(1);
  });

  test('experts are heard through their wall by their golden pods, and by no others', async () => {
    await eventually(fleet, 'the pool is promoted', 120, async () => (await ofPool())?.lastGreen !== undefined);
    const { stable, gates, lastGreen } = (await ofPool()) ?? {};
    const [mine] = ended(fleet, stable, labels.pool);
    const [theirs] = ended(fleet, lastGreen?.[0], labels.pool);
    expect([mine?.role, theirs?.role]).toEqual(['canary', 'stable']);
    expect(gates).toMatchObject([{ name: 'set', verdict: 'Pass', samples: 14 }]);
    expect(Number(gates?.[0]?.value)).toBeCloseTo((mine?.report.passed ?? 0) / 14, 5);
    console.log(`${gates?.[0]?.message}\n${JSON.stringify(mine?.report)}`);
    expect(await strangers(fleet, mine?.urls ?? [])).toBe('silent');
  });
});

/** Returns the answers that a pod outside of golden sets gets from the servers of one. */
async function strangers(fleet: Fleet, urls: readonly string[]): Promise<string> {
  const template = (await sets(fleet)).find(({ kind }) => kind === 'PodTemplate') as Template;
  const [set] = template.template.spec.containers;
  const ask = `fetch('${urls[0] ?? ''}/v1/info', { signal: AbortSignal.timeout(3000) }).then(() => 'heard', () => 'silent').then(console.log)`;
  const container = { ...set, args: [], command: ['/usr/local/bin/node', '-e', ask] };
  const spec = { ...template.template.spec, containers: [container], restartPolicy: 'Never' };
  await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'stranger', namespace: fleet.namespace }, spec });
  await fleet.run('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/stranger', '--timeout=240s');
  return (await fleet.run('logs', 'stranger')).trim();
}
