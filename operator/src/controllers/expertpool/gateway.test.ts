import { gatewayPort } from '@agentfleet/protocol/gateway';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import { operatorLabels } from '../../serving/index.ts';
import { testAccess } from '../../serving/testing/access.ts';
import type { Pod } from '../../runtime/resources.ts';
import { decidePool } from './decide.ts';
import type { PoolSnapshot } from './snapshot.ts';
import {
  behind,
  briefOf,
  core,
  deploymentOf,
  gen,
  key,
  modelsOf,
  names,
  object,
  podOf,
  readme,
  snapshotOf,
  taped,
  wallOf,
  type Fields,
} from './testing/chatPools.ts';

describe('a pool with an endpoint and a key', () => {
  const snapshot = snapshotOf(readme);

  it('has a gateway, and no pods of the expert', () => {
    const { apply, obstacles } = decidePool(snapshot);
    const own = names(apply).filter((name) => /gateway|expert-/.test(name));
    expect(own).toEqual([
      'ConfigMap coding-gateway',
      'NetworkPolicy coding-gateway',
      'Service coding-gateway',
      'PodDisruptionBudget coding-gateway',
      'Deployment coding-gateway',
    ]);
    expect(obstacles).toEqual([]);
  });

  it('passes the gateway the model, and the workers where the gateway is', () => {
    expect(modelsOf(snapshot)).toEqual([
      {
        name: 'gen',
        engine: 'OpenAI',
        baseURLs: ['https://llm.acme/v1'],
        model: 'm',
        credentialFile: '/etc/agentfleet/gateway-credentials/llm',
        maxOutputTokens: 8192,
        concurrency: 32,
        timeoutSeconds: 300,
      },
    ]);
    const chat = { contextTokens: 131_072, maxOutputTokens: 8192, toolCalls: 'Native', model: 'm' };
    const brief = briefOf(snapshot);
    expect(brief.experts).toEqual([
      { name: 'gen', role: 'Generalist', engine: 'OpenAI', domains: ['*'], chat, url: 'http://coding-gateway.platform.svc:8090' },
    ]);
    expect(brief.gateway).toEqual({ audience: 'agentfleet-gateway:platform/coding' });
  });

  it.each([
    [300, undefined],
    [3600, 3600],
  ])('tells the workers of a model that may take %s s for an answer: %s', (timeoutSeconds, told) => {
    expect(briefOf(snapshotOf(behind({ timeoutSeconds }))).experts[0]?.chat?.timeoutSeconds).toBe(told);
  });

  it('gives the key to the gateway and to no one else', () => {
    const holders = decidePool(snapshot).apply.filter(({ object }) => JSON.stringify(object).includes('"secret":{"name":"llm"'));
    expect(names(holders)).toEqual(['Deployment coding-gateway']);
    expect(briefOf(snapshot).credentials).toEqual([]);
    const sources = [{ secret: { name: 'llm', items: [{ key: 'token', path: 'llm' }] } }];
    expect(podOf(snapshot).spec?.volumes).toContainEqual({ name: 'credentials', projected: { defaultMode: 0o440, sources } });
  });

  it('works for its workers alone, by tokens for this gateway, and reports to the operator how long it takes', () => {
    const [container] = podOf(snapshot).spec?.containers ?? [];
    const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    expect(env).toMatchObject({
      AGENTFLEET_AUDIENCE: 'agentfleet-gateway:platform/coding',
      AGENTFLEET_CALLERS: 'system:serviceaccount:platform:coding-worker',
      // The operator reads how long models take.
      AGENTFLEET_METRICS_READERS: `${testAccess.metricsReaders.join()},${testAccess.operator}`,
    });
    const { ingress } = wallOf(snapshot);
    const workers = { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'coding' };
    const operator = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agentfleet-system' } },
      podSelector: { matchLabels: { ...operatorLabels } },
    };
    expect(ingress).toEqual([
      { from: [{ podSelector: { matchLabels: workers } }, operator], ports: [{ protocol: 'TCP', port: gatewayPort }] },
    ]);
    expect(podOf(snapshot).spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container).toMatchObject({
      args: ['gateway'],
      securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    });
  });

  it('is reached by its workers, and so by those of no pool without one', () => {
    const toGateway = (one: PoolSnapshot): boolean =>
      JSON.stringify(object(one, 'NetworkPolicy', 'coding-workers')).includes('"agentfleet.dev/component":"gateway"');
    expect([toGateway(snapshot), toGateway(snapshotOf({}))]).toEqual([true, false]);
  });

  it('obeys spec.gateway', () => {
    const limits = { memory: '2Gi' };
    const single = snapshotOf({ ...readme, gateway: { replicas: 1, resources: { limits } } });
    expect(names(decidePool(single).apply)).not.toContain('PodDisruptionBudget coding-gateway');
    expect(deploymentOf(single).replicas).toBe(1);
    expect(podOf(single).spec?.containers[0]?.resources).toEqual({ limits });
    expect(deploymentOf(snapshot).replicas).toBe(2);
  });

  it('goes when no expert is asked through it any more', () => {
    const { apply } = decidePool(
      snapshotOf({
        ...readme,
        experts: [
          { ...gen, replicas: 0 },
          { name: 'search', role: 'Generalist', engine: { type: 'Synth' } },
        ],
      }),
    );
    expect(names(apply).filter((name) => name.includes('gateway'))).toEqual([]);
  });
});

describe('what a gateway gets', () => {
  it('has all that the engine declares', () => {
    const price = { input: '3', output: '15.5' };
    const more = {
      caBundleRef: { name: 'authorities', key: 'ca.pem' },
      proxyURL: 'http://proxy.corp:3128',
      contextTokens: 32_768,
      maxOutputTokens: 4096,
      toolCalls: 'Json',
      price,
      requestsPerMinute: 60,
      concurrency: 4,
      timeoutSeconds: 30,
    };
    const snapshot = snapshotOf(behind(more));
    const whole = { ...price, cachedInput: '3' };
    expect(modelsOf(snapshot)[0]).toMatchObject({
      caFile: '/etc/agentfleet/gateway-authorities/gen.crt',
      proxy: 'http://proxy.corp:3128',
      maxOutputTokens: 4096,
      price: whole,
      requestsPerMinute: 60,
      concurrency: 4,
      timeoutSeconds: 30,
    });
    const chat = { contextTokens: 32_768, maxOutputTokens: 4096, toolCalls: 'Json', model: 'm', price: whole };
    expect(briefOf(snapshot).experts[0]?.chat).toEqual(chat);
    const sources = [{ configMap: { name: 'authorities', items: [{ key: 'ca.pem', path: 'gen.crt' }] } }];
    expect(podOf(snapshot).spec?.volumes).toContainEqual({ name: 'authorities', projected: { defaultMode: 0o440, sources } });
    expect(podOf(snapshot).spec?.terminationGracePeriodSeconds).toBe(45);
  });

  it('is where Anthropic is by itself', () => {
    const credentials = [{ ...key, hosts: ['api.anthropic.com'] }];
    const engine = { type: 'Anthropic', api: { baseURL: 'https://api.anthropic.com', model: 'claude', credential: 'llm' } };
    const [model] = modelsOf(snapshotOf({ credentials, experts: [{ ...gen, engine }] }));
    expect(model).toMatchObject({ engine: 'Anthropic', baseURLs: ['https://api.anthropic.com'], model: 'claude' });
  });

  it('has the engines of the pool, whose pods hear it', () => {
    const snapshot = snapshotOf({ ...readme, experts: [{ ...gen, fallback: 'core' }, core] });
    expect(modelsOf(snapshot)).toMatchObject([
      { name: 'gen', fallback: 'core' },
      {
        name: 'core',
        engine: 'OpenAI',
        baseURLs: ['http://coding-expert-core.platform.svc:8000/v1'],
        model: 'coding.core',
        maxOutputTokens: 1024,
        concurrency: 16,
      },
    ]);
    expect(names(decidePool(snapshot).apply)).toContain('Service coding-expert-core');
    const heard = JSON.stringify(object(snapshot, 'NetworkPolicy', 'coding-experts'));
    expect(heard).toContain(
      '{"from":[{"podSelector":{"matchLabels":{"agentfleet.dev/component":"gateway","agentfleet.dev/pool":"coding"}}}],"ports":[{"protocol":"TCP","port":8000}]}',
    );
    expect(briefOf(snapshot).experts[0]?.chat).toMatchObject({ fallback: 'core' });
    expect(briefOf(snapshot).experts[1]).toMatchObject({
      engine: 'VLLM',
      url: 'http://coding-gateway.platform.svc:8090',
      chat: { contextTokens: 4096, price: { input: '0', cachedInput: '0', output: '0' } },
    });
  });

  it('has each pod of an engine with several, and is not replaced when they change', () => {
    const pod = (name: string, podIP: string, status = 'True'): Pod => ({
      metadata: { name, namespace: 'platform', labels: { [labels.pool]: 'coding', [labels.expert]: 'core' } },
      status: { podIP, conditions: [{ type: 'Ready', status }] },
    });
    const several = { ...readme, experts: [gen, { ...core, replicas: 2 }] };
    const [none, two] = [[], [pod('b', '10.0.0.2'), pod('a', 'fd00::1'), pod('c', '10.0.0.3', 'False')]].map((pods) =>
      snapshotOf(several, { pods }),
    );
    expect(modelsOf(none!)[1]?.baseURLs).toEqual(['http://coding-expert-core.platform.svc:8000/v1']);
    expect(modelsOf(two!)[1]?.baseURLs).toEqual(['http://10.0.0.2:8000/v1', 'http://[fd00::1]:8000/v1']);
    expect(podOf(two!).metadata?.annotations).toEqual(podOf(none!).metadata?.annotations);
  });

  it('has no fallback that is switched off', () => {
    const spare = taped('spare', { replicas: 0 });
    expect(modelsOf(snapshotOf({ ...readme, experts: [{ ...gen, fallback: 'spare' }, spare] }))).toMatchObject([{ name: 'gen' }]);
    expect(modelsOf(snapshotOf({ ...readme, experts: [{ ...gen, fallback: 'spare' }, spare] }))[0]).not.toHaveProperty('fallback');
  });

  it('replaces its pods when models or recordings change, and only then', () => {
    const replays = (hash: string): Partial<PoolSnapshot> => ({ replays: new Map([['chats', { hash }]]) });
    const hashOf = (spec: Fields, tape = 'a'): string | undefined =>
      podOf(snapshotOf(spec, replays(tape))).metadata?.annotations?.['agentfleet.dev/models-hash'];
    const both = { ...readme, experts: [gen, taped('tape')] };
    const hashes = [both, both, { ...both, experts: [...both.experts, taped('more')] }].map((spec) => hashOf(spec));
    expect(hashes[0]).toBe(hashes[1]);
    expect(new Set([...hashes, hashOf(both, 'b')]).size).toBe(3);
    expect(hashOf({ ...both, limits: { maxRunning: 3 } })).toBe(hashes[0]);
  });

  it('has a folder for each recording, and waits for one that is missing', () => {
    const spec = { ...readme, experts: [{ ...taped('gen'), role: 'Generalist' }] };
    const snapshot = snapshotOf(spec, { replays: new Map([['chats', { hash: 'a' }]]) });
    expect(modelsOf(snapshot)).toMatchObject([{ engine: 'Replay', recording: '/etc/agentfleet/gateway-recordings/gen' }]);
    expect(podOf(snapshot).spec?.volumes).toContainEqual({ name: 'recording-0', configMap: { name: 'chats' } });
    const missing = { reason: 'ReplayNotFound' as const, message: 'there is no ConfigMap chats' };
    const { apply, remove, obstacles } = decidePool(snapshotOf(spec, { replays: new Map([['chats', missing]]) }));
    expect(names(apply)).not.toContain('Deployment coding-gateway');
    expect([remove, obstacles]).toEqual([[], [{ ...missing, expert: 'gen' }]]);
  });
});

describe('where a gateway may go', () => {
  const dns = {
    ports: [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ],
  };
  const rulesOf = (endpoint: Fields): readonly unknown[] => wallOf(snapshotOf(behind({ credential: undefined, ...endpoint }))).egress ?? [];
  const inNamespace = (name: string): object => ({ to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }] });
  const only = (cidr: string, port: number): object => ({ to: [{ ipBlock: { cidr } }], ports: [{ protocol: 'TCP', port }] });

  it.for([
    ['an address', { baseURL: 'http://10.1.2.3:8000/v1' }, [only('10.1.2.3/32', 8000)]],
    ['an address of IPv6', { baseURL: 'https://[fd00::7]/v1' }, [only('fd00::7/128', 443)]],
    ['a Service', { baseURL: 'http://llm.models.svc:8000/v1' }, [inNamespace('models')]],
    ['a Service of the namespace', { baseURL: 'http://llm:8000/v1' }, [inNamespace('platform')]],
    ['a proxy, instead of the host', { proxyURL: 'http://10.0.0.9:3128' }, [only('10.0.0.9/32', 3128)]],
  ] as const)('of %s: there, and to name servers', ([, endpoint, expected]) => {
    expect(rulesOf(endpoint)).toEqual([dns, ...expected]);
  });

  it('of a name: to addresses outside of the cluster at that port', () => {
    const [first, ...rest] = rulesOf({ baseURL: 'https://llm.acme:8443/v1' }) as readonly { readonly ports: unknown }[];
    expect(first).toEqual(dns);
    expect(rest.length).toBe(2);
    for (const { ports } of rest) expect(ports).toEqual([{ protocol: 'TCP', port: 8443 }]);
  });
});
