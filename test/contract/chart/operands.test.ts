// The chart's settings for everything that the operator makes, read like the operator reads them; and its Jobs.
import { execa } from 'execa';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gatewayPort } from '@agentfleet/protocol/gateway';
import { expertPort, workerPort } from '@agentfleet/protocol/pool';
import { beforeAll, describe, expect, it } from 'vitest';
import { up, type Cluster } from '../../../hack/cluster/index.ts';
import { chartValues } from '../../../hack/install/index.ts';
import { parseSettings, type OperandSettings } from '../../../operator/src/runtime/settings.ts';
import { vllmPort } from '../../../operator/src/serving/vllm/index.ts';
import { image, one, render, type Manifest } from './rendered.ts';

let cluster: Cluster;
const rendered = (values: object): Promise<readonly Manifest[]> =>
  render(cluster.bin('helm'), 'system', { ...chartValues({ image }), ...values });

beforeAll(async () => {
  cluster = await up({ tier: 'control-plane', log: () => undefined });
});

const podOf = (all: readonly Manifest[]) => one(all, 'Deployment', 'agentfleet-operator').spec!.template!.spec;

function settingsOf(all: readonly Manifest[]): OperandSettings {
  const env = podOf(all).containers[0]!.env.find(({ name }) => name === 'AGENTFLEET_OPERANDS');
  return parseSettings(env?.value ?? '');
}

const usual = { imagePullPolicy: 'IfNotPresent', users: 'Fixed' };
const own = ['localhost', '127.0.0.1', '.svc', '.cluster.local'];

describe('values for operands', () => {
  it.for<readonly [string, object, object]>([
    ['nothing by default', {}, usual],
    [
      'pull secrets and policy',
      { imagePullPolicy: 'Always', imagePullSecrets: [{ name: 'pull' }] },
      { ...usual, imagePullPolicy: 'Always', imagePullSecrets: ['pull'] },
    ],
    ['users of the cluster', { users: 'Cluster' }, { ...usual, users: 'Cluster' }],
    [
      'a proxy',
      { proxy: { url: 'http://proxy.corp:3128', except: ['.corp'] } },
      { ...usual, proxy: { url: 'http://proxy.corp:3128', except: [...own, '.corp'] } },
    ],
    ['authorities', { privateAuthorities: true }, { ...usual, privateAuthorities: true }],
    [
      'scheduling, identity and storage',
      {
        operands: {
          nodeSelector: { disk: 'ssd' },
          tolerations: [{ key: 'fleet' }],
          priorityClassName: 'high',
          serviceAccountAnnotations: { role: 'arn' },
          artifacts: { size: '50Gi', storageClassName: '' },
        },
      },
      {
        ...usual,
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'fleet' }],
        priorityClassName: 'high',
        serviceAccountAnnotations: { role: 'arn' },
        artifacts: { size: '50Gi' },
      },
    ],
  ])('pass on %s', async ([, values, expected]) => {
    expect(settingsOf(await rendered(values))).toEqual(expected);
  });

  it.for<readonly [string, object]>([
    ['a proxy by https', { proxy: { url: 'https://proxy.corp:3128', except: [] } }],
    ['a size without a unit', { operands: { artifacts: { size: '50' } } }],
    ['an unknown member', { operands: { affinity: {} } }],
    ['other users', { users: 'Root' }],
  ])('refuse %s', async ([, values]) => {
    await expect(rendered(values)).rejects.toThrow(/don't meet the specifications of the schema/);
  });

  it('run the operator without a fixed user where the cluster assigns users, with its account annotated', async () => {
    const all = await rendered({ users: 'Cluster', serviceAccount: { annotations: { role: 'arn' } }, privateAuthorities: true });
    const { securityContext, volumes } = podOf(all) as unknown as Readonly<Record<string, unknown>>;
    expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(volumes).toEqual([{ name: 'authorities', configMap: { name: 'agentfleet-ca', optional: true } }]);
    expect(one(all, 'ServiceAccount', 'agentfleet-operator').metadata.annotations).toEqual({ role: 'arn' });
  });
});

describe('the NetworkPolicy of the operator', () => {
  it('is made on request, lets every pod read metrics, and opens the ports that it uses', async () => {
    const made = (all: readonly Manifest[]) =>
      all.filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'agentfleet-operator');
    expect(made(await rendered({}))).toEqual([]);
    const more = { ports: [{ port: 8443 }] };
    const [policy] = made(await rendered({ networkPolicy: { enabled: true, egress: [more] } }));
    const { ingress, egress, policyTypes } = policy!.spec as unknown as Readonly<
      Record<string, readonly { readonly ports: readonly { readonly port: number }[] }[]>
    >;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 'metrics' }] }]);
    expect(egress!.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      [53, 53, 443, 6443],
      [expertPort, workerPort, vllmPort, gatewayPort],
      [8443],
    ]);
  });
});

describe('what runs once', () => {
  const hookOf = ({ metadata }: Manifest): string | undefined => metadata.annotations?.['helm.sh/hook'];

  it('releases sandboxes after an uninstall, with no other right, unless configured otherwise', async () => {
    const hooks = (await rendered({ imagePullSecrets: [{ name: 'pull' }] })).filter((manifest) => hookOf(manifest) === 'post-delete');
    expect(hooks.map(({ kind }) => kind).toSorted()).toEqual(['ClusterRole', 'ClusterRoleBinding', 'Job', 'ServiceAccount']);
    expect(hooks.flatMap(({ rules = [] }) => rules)).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch'] }]);
    expect(hooks.find(({ kind }) => kind === 'Job')?.spec?.template?.spec).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      containers: [{ image: image('operator'), args: ['uninstall'] }],
    });
    expect((await rendered({ uninstallHook: false })).filter((manifest) => hookOf(manifest) === 'post-delete')).toEqual([]);
  });

  it.for(['agentfleet-uninstall', 'agentfleet-smoke-test'])(
    '%s has a wall with the way to the API server, where the operator has one',
    async (name) => {
      const isWall = ({ kind, metadata }: Manifest): boolean => kind === 'NetworkPolicy' && metadata.name === name;
      expect((await rendered({})).filter(isWall)).toEqual([]);
      const more = { ports: [{ port: 8443 }] };
      const [wall] = (await rendered({ networkPolicy: { enabled: true, egress: [more] } })).filter(isWall);
      expect(wall?.metadata.annotations).toMatchObject({ 'helm.sh/hook-weight': '-1' });
      const { egress } = wall!.spec as unknown as { readonly egress: readonly { readonly ports: readonly { readonly port: number }[] }[] };
      expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53, 443, 6443, 8080], [8443]]);
    },
  );

  it.for<readonly [string, number, readonly string[], number, string]>([
    [
      'passes',
      401,
      ['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels', 'rolloutpolicies', 'poolgrants', 'expertscales'],
      0,
      'all kinds are served',
    ],
    [
      'sees open metrics',
      200,
      ['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels', 'rolloutpolicies', 'poolgrants', 'expertscales'],
      1,
      'answered 200',
    ],
    ['sees a missing kind', 403, ['agenttasks'], 1, 'does not serve poolgrants'],
  ])('is a test that %s', async ([, status, kinds, exitCode, words]) => {
    const pod = one(await rendered({}), 'Pod', 'agentfleet-smoke-test');
    expect(hookOf(pod)).toBe('test');
    const { containers } = pod.spec as unknown as { readonly containers: readonly { readonly command: readonly string[] }[] };
    const server = createServer((request, response) => {
      if (request.url === '/metrics') response.writeHead(status).end();
      else response.end(JSON.stringify({ resources: kinds.map((name) => ({ name })) }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = { OPERATOR_URL: url, API_SERVER_URL: url, TOKEN_FILE: '/dev/null' };
    try {
      const { exitCode: ended, all } = await execa(process.execPath, containers[0]!.command.slice(1), { env, reject: false, all: true });
      expect([ended, all]).toEqual([exitCode, expect.stringContaining(words)]);
    } finally {
      server.close();
    }
  });
});
