import { describe, expect, it } from 'vitest';
import { newPool } from '../controllers/agenttask/testing/objects.ts';
import { poolWalls } from '../controllers/expertpool/manifests/walls.ts';
import type { PodTemplate } from '../runtime/resources.ts';
import { textWith, goldenEntries, type GoldenEntry } from './goldenSets.ts';
import { goldenJob, templateOf, type GoldenTemplate } from './goldenJob.ts';

const pool = newPool();
const owner = { ...pool, metadata: { ...pool.metadata, uid: 'uid-pool' } };
const arm = {
  kind: 'ExpertPool' as const,
  name: 'coding',
  namespace: 'platform',
  revision: 'aaaaaaaaaa',
  rollout: 'bbbbbbbbbb-1',
  experts: [],
  verifier: null,
};

const found = (template: PodTemplate['template']): GoldenTemplate =>
  templateOf('golden', { metadata: { name: 'golden', namespace: 'platform' }, ...(template && { template }) }) as GoldenTemplate;

function podsOf(template: PodTemplate['template']): { readonly metadata: object; readonly spec: Readonly<Record<string, unknown>> } {
  const labels = { 'agentfleet.dev/pool': 'coding' };
  const job = goldenJob({ owner, name: 'j', labels, template: found(template), arm, role: 'canary' });
  return (job.spec as { template: ReturnType<typeof podsOf> }).template;
}

describe('the Job of a golden set', () => {
  it('is run once, for as long as its template says, and goes with its pool', () => {
    const template = found({ spec: { containers: [{ name: 'set' }], restartPolicy: 'Always', activeDeadlineSeconds: 60 } });
    const job = goldenJob({ owner, name: 'j', labels: {}, template, arm, role: 'canary' });
    expect(job.metadata.ownerReferences).toMatchObject([{ uid: 'uid-pool', controller: true }]);
    expect(job.spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 60, template: { spec: { restartPolicy: 'Never' } } });
  });

  it('has no token unless the template wants one', () => {
    const containers = [{ name: 'set' }];
    expect(podsOf({ spec: { containers } }).spec['automountServiceAccountToken']).toBe(false);
    expect(podsOf({ spec: { containers, automountServiceAccountToken: true } }).spec['automountServiceAccountToken']).toBe(true);
  });

  it('carries a token for servers of its namespace, in the name of its template or else of its owner', () => {
    const job = (spec: object) => {
      const template = found({ spec: { containers: [{ name: 'set' }, { name: 'other' }], ...spec } });
      const given = {
        owner,
        name: 'j',
        labels: {},
        template,
        arm,
        role: 'canary' as const,
        serviceAccount: 'coding-golden',
      };
      return (goldenJob(given).spec as { template: { spec: Readonly<Record<string, unknown>> } }).template.spec;
    };
    const serviceAccountToken = { audience: 'agentfleet-experts:platform', expirationSeconds: 3600, path: 'token' };
    const volume = { name: 'experts-token', projected: { defaultMode: 0o440, sources: [{ serviceAccountToken }] } };
    const mount = { name: 'experts-token', mountPath: '/var/run/agentfleet/token', readOnly: true };
    expect(job({ volumes: [{ name: 'mine' }] })).toMatchObject({
      serviceAccountName: 'coding-golden',
      volumes: [{ name: 'mine' }, volume],
      containers: [{ name: 'set', volumeMounts: [mount] }, { name: 'other' }],
    });
    expect(job({ serviceAccountName: 'mine' })['serviceAccountName']).toBe('mine');
  });

  it('cannot pass for a worker, nor name another revision', () => {
    const labels = { app: 'set', 'agentfleet.dev/component': 'worker', 'agentfleet.dev/expert': 'gen' };
    const env = [{ name: 'AGENTFLEET_ARM' }, { name: 'MINE' }];
    const { metadata, spec } = podsOf({ metadata: { labels }, spec: { containers: [{ name: 'set', env }, { name: 'other' }] } });
    expect(metadata).toMatchObject({
      labels: {
        app: 'set',
        'agentfleet.dev/component': 'golden',
        'agentfleet.dev/pool': 'coding',
        'agentfleet.dev/revision': 'aaaaaaaaaa',
        'agentfleet.dev/rollout': 'bbbbbbbbbb-1',
      },
    });
    expect(metadata).not.toHaveProperty(['labels', 'agentfleet.dev/expert']);
    const [first, second] = spec['containers'] as readonly {
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
    }[];
    expect(first?.env?.map(({ name }) => name)).toEqual([
      'MINE',
      'AGENTFLEET_ARM',
      'AGENTFLEET_ARM_ROLE',
      'AGENTFLEET_SEED',
      'AGENTFLEET_TOKEN_FILE',
    ]);
    expect(JSON.parse(first?.env?.[1]?.value ?? '')).toEqual(arm);
    expect(second).not.toHaveProperty('env');
  });

  it('is let in by experts of its pool, where the pool has rollouts', () => {
    const asking = { ...owner, spec: newPool({ rolloutPolicyRef: { name: 'golden' } }).spec };
    const walls = JSON.stringify(poolWalls(asking, 'agentfleet-system'));
    expect(walls).toContain('{"matchLabels":{"agentfleet.dev/component":"golden","agentfleet.dev/pool":"coding"}}');
    expect(JSON.stringify(poolWalls(owner, 'agentfleet-system'))).not.toContain('golden');
  });
});

describe('a template', () => {
  it.each([
    ['is missing', undefined, 'create it'],
    ['has no container', { metadata: { name: 'golden' }, template: { spec: { containers: [] } } }, 'has no container'],
    ['has no pods', { metadata: { name: 'golden' } }, 'has no container'],
  ])('that %s is of no use', (_, object, words) => {
    expect(templateOf('golden', object)).toEqual({ fault: expect.stringContaining(words) as string });
  });

  it('is another one with another content, not under another version', () => {
    const of = (image: string, resourceVersion: string) =>
      templateOf('golden', {
        metadata: { name: 'golden', resourceVersion },
        template: { spec: { containers: [{ name: 'set', image }] } },
      }) as GoldenTemplate;
    expect(of('a', '1').hash).toBe(of('a', '2').hash);
    expect(of('a', '1').hash).not.toBe(of('b', '1').hash);
  });
});

describe('the book of golden sets', () => {
  const entry = (revision: string, run = 0): GoldenEntry => ({ revision, set: 's', run, lost: 0 });

  it('has one entry for each revision and set, and the newest only', () => {
    let text = '[]';
    for (let i = 0; i < 40; i += 1) text = textWith(goldenEntries(text), entry(`r${i}`));
    text = textWith(goldenEntries(text), entry('r39', 1));
    const entries = goldenEntries(text);
    expect(entries.length).toBeLessThan(30);
    expect(entries.at(-1)).toEqual(entry('r39', 1));
    expect(entries.filter(({ revision }) => revision === 'r39')).toHaveLength(1);
  });

  it('is empty where it was spoilt', () => {
    expect(goldenEntries('{')).toEqual([]);
    expect(goldenEntries('{}')).toEqual([]);
  });
});
