import { describe, expect, it } from 'vitest';
import { objectWith, parseSettings, podWith, proxyFor, type OperandSettings, type Written } from './settings.ts';

type Fields = Readonly<Record<string, unknown>>;

const security = { runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 };
const proxy = { url: 'http://proxy.corp:3128', except: ['.svc', '.corp'] };

/** A Deployment of one component, with members of its pod. */
const deployment = (component: string, pod: Fields = {}): Written => ({
  kind: 'Deployment',
  metadata: { name: 'one', labels: { 'agentfleet.dev/component': component } },
  spec: { replicas: 1, template: { spec: { securityContext: security, containers: [{ name: 'main' }], ...pod } } },
});

/** The pod of such a Deployment with settings. */
function made(component: string, settings: OperandSettings, pod?: Fields): Fields & { readonly containers: readonly Fields[] } {
  const { spec } = objectWith(deployment(component, pod), settings) as unknown as {
    readonly spec: { readonly template: { readonly spec: Fields & { readonly containers: readonly Fields[] } } };
  };
  return spec.template.spec;
}

const namesIn = (pod: ReturnType<typeof made>): unknown => (pod.containers[0]?.['env'] as Fields[] | undefined)?.map(({ name }) => name);

describe('pods with the settings of the administrator', () => {
  const proxied = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];
  it.each<readonly [string, () => unknown, unknown]>([
    [
      'are as before without any',
      () => made('worker', {}),
      {
        securityContext: security,
        containers: [{ name: 'main', imagePullPolicy: 'IfNotPresent' }],
      },
    ],
    [
      'pull as it is said',
      () => made('expert', { imagePullPolicy: 'Always', imagePullSecrets: ['pull'] }),
      {
        securityContext: security,
        imagePullSecrets: [{ name: 'pull' }],
        containers: [{ name: 'main', imagePullPolicy: 'Always' }],
      },
    ],
    ['name no user where the cluster does', () => made('worker', { users: 'Cluster' })['securityContext'], { runAsNonRoot: true }],
    [
      'are scheduled where it is said',
      () => {
        const { nodeSelector, tolerations, priorityClassName } = made('worker', {
          nodeSelector: { disk: 'ssd' },
          tolerations: [{ key: 'fleet' }],
          priorityClassName: 'high',
        });
        return { nodeSelector, tolerations, priorityClassName };
      },
      { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'fleet' }], priorityClassName: 'high' },
    ],
    [
      'stay where a plan put them',
      () => {
        const seat = { nodeSelector: { 'kubernetes.io/hostname': 'gpu-1' }, tolerations: [{ key: 'gpu' }] };
        const { nodeSelector, tolerations } = made('expert', { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'fleet' }] }, seat);
        return { nodeSelector, tolerations };
      },
      { nodeSelector: { 'kubernetes.io/hostname': 'gpu-1' }, tolerations: [{ key: 'gpu' }] },
    ],
    ['of workers have the proxy', () => namesIn(made('worker', { proxy })), proxied],
    ['that fetch weights have it for Node too', () => namesIn(made('weights', { proxy })), [...proxied, 'NODE_USE_ENV_PROXY']],
    ['that speak to nobody have no proxy', () => namesIn(made('expert', { proxy, privateAuthorities: true })), undefined],
    [
      'of gateways trust private authorities',
      () => {
        const pod = made('gateway', { privateAuthorities: true });
        return [namesIn(pod), pod['volumes'], pod.containers[0]?.['volumeMounts']];
      },
      [
        ['NODE_EXTRA_CA_CERTS'],
        [{ name: 'private-authorities', configMap: { name: 'agentfleet-ca', optional: true } }],
        [{ name: 'private-authorities', mountPath: '/etc/agentfleet/ca', readOnly: true }],
      ],
    ],
    [
      'of sandboxes get what holds for all',
      () => podWith({ containers: [{ name: 'tools' }], securityContext: security }, { users: 'Cluster', proxy }),
      {
        containers: [{ name: 'tools', imagePullPolicy: 'IfNotPresent' }],
        securityContext: { runAsNonRoot: true },
      },
    ],
  ])('%s', (_, pod, expected) => {
    expect(pod()).toEqual(expected);
  });

  const other = (kind: string, component: string, spec?: object): Written => ({
    kind,
    metadata: { name: 'one', labels: { 'agentfleet.dev/component': component } },
    ...(spec === undefined ? {} : { spec }),
  });
  const claim = other('PersistentVolumeClaim', 'worker', { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } });
  const settings = { serviceAccountAnnotations: { role: 'arn' }, artifacts: { size: '50Gi', storageClassName: 'fast' } };
  it('annotate the accounts of workers alone', () => {
    expect(objectWith(other('ServiceAccount', 'worker'), settings).metadata).toMatchObject({ annotations: { role: 'arn' } });
    expect(objectWith(other('ServiceAccount', 'expert'), settings)).toEqual(other('ServiceAccount', 'expert'));
  });
  it('decide the volume of artifacts when it is made, and never after', () => {
    expect(objectWith(claim, settings)['spec']).toMatchObject({
      resources: { requests: { storage: '50Gi' } },
      storageClassName: 'fast',
    });
    const grown = { apiVersion: 'v1', ...claim, spec: { resources: { requests: { storage: '80Gi' } }, storageClassName: 'slow' } };
    for (const now of [settings, {}])
      expect(objectWith(claim, now, grown as never)['spec']).toMatchObject({
        resources: { requests: { storage: '80Gi' } },
        storageClassName: 'slow',
      });
    const models = { ...claim, metadata: other('', 'weights').metadata };
    expect(objectWith(models, settings)).toEqual(models);
  });
  it.each([
    ['api.example.com', proxy.url],
    ['203.0.113.9', proxy.url],
    ['git.corp', undefined],
    ['corp', undefined],
    ['web.shop.svc', undefined],
    ['web', undefined],
  ])('reach %s by %s', (host, by) => {
    expect(proxyFor({ proxy }, host)).toBe(by);
    expect(proxyFor({}, host)).toBeUndefined();
  });
});

it.each([
  ['{"users":"Root"}', 'users is "Root"'],
  ['{"user":"Fixed"}', 'user is not known'],
  ['{"proxy":{"url":"https://proxy","except":[]}}', 'proxy is'],
  ['{"imagePullSecrets":"pull"}', 'imagePullSecrets is'],
  ['[]', 'it is not an object'],
])('refuses the settings %s', (text, words) => {
  expect(() => parseSettings(text)).toThrow(words);
});
