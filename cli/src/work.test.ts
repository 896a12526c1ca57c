import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { policies } from '@agentfleet/protocol/api';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

let api: ApiServer;
let folder = '';
beforeEach(async () => {
  api = await ApiServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fleet-work-'));
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const running = { phase: 'Running', finished: 'false', assignment: { attempt: 1 } };
const outcome = {
  result: 'Succeeded',
  reason: 'ChecksPassed',
  checks: [{ name: 'check-1', passed: 3, failed: 0, skipped: 1, seconds: 2 }],
};
const succeeded = { phase: 'Succeeded', finished: 'true', run: { outcome, answer: 'Done.', patch: '--- a\n+++ b\n' } };
const failed = { phase: 'Failed', finished: 'true', run: { outcome: { result: 'Failed', reason: 'ChecksFailed', message: 'one failed' } } };

describe('fleet run', () => {
  const args = (): readonly string[] => ['run', '--from', join(folder, 'src'), '--patch', join(folder, 'out.patch')];
  beforeEach(async () => {
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'src', 'a.py'), 'x = 1\n');
  });

  test('makes a task of a folder, follows it, prints the result and saves the patch', async () => {
    api.worker = (_, looks) =>
      looks < 3 ? { ...running, run: { plan: [{ kind: 'Step', intent: 'edit a.py', state: 'Done' }] } } : succeeded;
    const { code, out, err } = await fleet(api, [
      ...args(),
      '--check',
      'npm test',
      '--review',
      '--pool',
      'platform/coding',
      'Fix the Parser, please now',
    ]);
    expect([code, err]).toEqual([0, '']);
    for (const line of ['02:00:00 Running (attempt 1)', 'step done: edit a.py', 'ChecksPassed', 'check-1   3', 'Done.', 'git apply'])
      expect(out).toContain(line);
    expect(out.match(/step done/g)).toHaveLength(1);
    expect(await readFile(join(folder, 'out.patch'), 'utf8')).toBe('--- a\n+++ b\n');
    expect([...api.tasks]).toMatchObject([
      [
        'team/fix-the-parser-please-x0',
        {
          spec: {
            goal: 'Fix the Parser, please now',
            poolRef: { namespace: 'platform', name: 'coding' },
            checks: [{ command: ['sh', '-c', 'npm test'] }, { name: 'review', type: 'Review' }],
            workspace: { type: 'Inline', inline: { files: [{ path: 'a.py', content: 'x = 1\n', mode: 0o644 }] } },
          },
        },
      ],
    ]);
  });

  test.each([
    ['a task that fails', failed, 6, /ended as Failed \(ChecksFailed\): one failed; see "fleet explain one"/],
    ['a task that does not end', running, 7, /has not ended after 5 s and goes on; follow it with "fleet watch one"/],
  ])('reports %s by its exit status', async (_, status, code, message) => {
    api.worker = () => status;
    const said = await fleet(api, [...args(), '--check', 'x', '--name', 'one', '--timeout', '5', 'go']);
    expect(said.code).toBe(code);
    expect(said.err).toMatch(message);
  });

  test('sends the result back to the repository of the folder, and reports where it went', async () => {
    const src = join(folder, 'src');
    const git = (...words: readonly string[]) =>
      execFileSync('git', ['-C', src, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words]);
    const words = [...args(), '--review', '--name', 'one', '--pull-request', '--credential', 'git', 'go'];
    expect((await fleet(api, words)).err).toMatch(/pull request from .* cannot be made/);
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-qm', 'a');
    git('remote', 'add', 'origin', 'https://git.example.com/acme/shop');
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    const output = {
      branch: 'agentfleet/one',
      commit: 'a'.repeat(40),
      pullRequest: 'https://git.example.com/acme/shop/pulls/7',
      message: 'left out: lib/a',
    };
    api.worker = () => ({ ...succeeded, run: { ...succeeded.run, output } });
    const { code, out } = await fleet(api, words);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /is created\nits pull request goes into main of https:\/\/git\.example\.com\/acme\/shop\n[^]*branch: agentfleet\/one, commit a{12}\npull request: https:\S+\/7\nleft out: lib\/a\n/,
      ),
    ]);
    const spec = { workspace: { type: 'Git', git: { ref: 'main', credential: 'git' } }, output: { git: { pullRequest: {} } } };
    expect(api.tasks.get('team/one')).toMatchObject({ spec });
    api.tasks.clear();
    const refused = { branch: 'agentfleet/one', reason: 'AccessDenied', message: 'the token may not push; give it the right to' };
    api.worker = () => ({ ...succeeded, run: { ...succeeded.run, output: refused } });
    const said = await fleet(api, words);
    expect([said.code, said.err]).toEqual([
      6,
      expect.stringMatching(/is good, and was not delivered \(AccessDenied\): the token may not push.*fleet patch one/),
    ]);
    expect((await fleet(api, [...args(), '--check', 'x', '--credential', 'git', 'go'])).err).toContain(
      '--credential goes with --pull-request',
    );
  });

  test('takes YAML, does not follow when asked not to, and refuses what is no task', async () => {
    const file = join(folder, 'task.yaml');
    await writeFile(file, 'kind: AgentTask\nmetadata: { name: two }\nspec: { goal: go, suspend: yes, priority: 0755 }\n');
    expect(await fleet(api, ['run', file, '--detach'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('fleet watch two') as string,
    });
    expect([...api.tasks.values()]).toMatchObject([{ spec: { goal: 'go', suspend: true, priority: 0o755 } }]);
    expect((await fleet(api, ['run', file])).err).toContain('there is an AgentTask two in namespace team; choose another --name');
    await writeFile(file, 'kind: AgentTask\nmetadata: { name: three, namespace: demo }\nspec: { goal: go }\n');
    expect((await fleet(api, ['run', file, '-n', 'prod'])).err).toContain('is for namespace demo, and -n names prod; leave -n out');
    expect((await fleet(api, ['run', file, '--detach', '-n', 'demo'])).out).toContain('demo/three is created');
    await writeFile(file, 'kind: ExpertPool\n');
    expect((await fleet(api, ['run', file])).err).toContain('give other objects to kubectl apply');
    await writeFile(file, '{');
    expect((await fleet(api, ['run', file])).err).toContain('is no YAML');
    expect(api.tasks.size).toBe(2);
  });

  test.each([
    ['no check', ['go'], /--check 'npm test'/],
    ['a pool that is none', ['--check', 'x', '--pool', 'a/b/c', 'go'], /write NAME, or NAMESPACE\/NAME/],
    ['a folder that is not there', ['--check', 'x', '--from', '/nowhere', 'go'], /there is no folder \/nowhere; correct --from/],
  ])('creates nothing with %s', async (_, more, message) => {
    const { code, err } = await fleet(api, [...args(), ...more]);
    expect([code, api.tasks.size]).toEqual([1, 0]);
    expect(err).toMatch(message);
  });
});

describe('what is known of a task', () => {
  const artifacts = [{ name: 'report.json', bytes: 3, sha256: 'c'.repeat(64), uri: 's3://agents/one/report.json' }];
  const snapshots = { initial: 's0000', lastGreen: 's0002' };
  beforeEach(() =>
    api.addTask('one', {
      spec: { goal: 'go', poolRef: { name: 'coding' }, suspend: false },
      status: {
        ...running,
        totals: { usage: { tokensIn: 2, tokensOut: 3 } },
        run: { snapshots, artifacts, rollback: { snapshot: 's0000', verified: true } },
      },
    }),
  );

  test.each([
    ['get one -o wide', /one +Running +1 +- +120m +coding +- +- +5/],
    ['get -o json', /"kind": "List"/],
    ['get one -o yaml', /^ {2}phase: Running$/m],
    ['artifacts one', /report\.json +3 +cccccccccccc +s3:/],
    ['artifacts one -o json', /"bytes": 3/],
    ['snapshots one', /initial +s0000 +after set-up\nlastGreen +s0002 +all checks passed\nrestored: s0000, verified/],
    ['report one', /AgentTask one: Running/],
    ['suspend one', /waits after its current step/],
    ['resume one', /is not suspended already/],
  ])('fleet %s', async (line, wanted) => {
    const { code, out } = await fleet(api, line.split(' '));
    expect(code).toBe(0);
    expect(out).toMatch(wanted);
  });

  test('suspend writes one field', async () => {
    await fleet(api, ['suspend', 'one']);
    expect(api.seen.find(({ method }) => method === 'PATCH')?.body).toEqual({ spec: { suspend: true } });
  });

  test('what lies behind keys that the caller lacks is reported with its place and cure', async () => {
    const { code, err } = await fleet(api, ['artifacts', 'one', 'report.json']);
    expect(code).toBe(10);
    expect(err).toMatch(/lies at s3:\/\/agents\/one\/report\.json; the cluster does not serve the results API.*--endpoint/);
    expect((await fleet(api, ['artifacts', 'one', 'no'])).err).toContain('has no artifact no; it has report.json');
  });

  test('logs print events, oldest first, and where the whole log lies', async () => {
    const event = (name: string, eventTime: string, type: string) => ({
      metadata: { name, uid: name },
      type,
      reason: 'Backoff',
      note: 'pauses',
      eventTime,
      regarding: { uid: 'u-one' },
    });
    const items = [event('b', '2030-01-01T01:00:00Z', 'Warning'), event('a', '2030-01-01T00:30:00Z', 'Normal')];
    api.others.set('/apis/events.k8s.io/v1/namespaces/team/events', { kind: 'EventList', metadata: {}, items });
    const { out } = await fleet(api, ['logs', 'one', '--events']);
    expect(out).toBe('2030-01-01T00:30:00Z Normal Backoff pauses\n2030-01-01T01:00:00Z Warning Backoff pauses\n');
    expect((await fleet(api, ['explain', 'one'])).out).toContain('event 60m ago: Backoff, pauses');
  });
});

describe('fleet doctor', () => {
  const path = '/apis/agentfleet.dev/v1alpha1';
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
  const kinds = ['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels', 'rolloutpolicies', 'poolgrants', 'expertscales'];
  const deployment = { metadata: { name: 'agentfleet-operator', namespace: 'fleet' }, spec: { replicas: 2 }, status: { readyReplicas: 2 } };
  beforeEach(() => {
    api.others.set('/version', { gitVersion: 'v1.36.0', minor: '36' });
    api.others.set(path, { resources: kinds.map((name) => ({ name })) });
    const bound = policies.map(({ name }) => ({ metadata: { name: `${name}.agentfleet.dev` } }));
    api.others.set(bindings, { items: bound });
    api.others.set('/apis/apps/v1/deployments', { items: [deployment] });
    api.others.set('/apis/apiregistration.k8s.io/v1/apiservices', { items: [] });
    api.others.set('/api/v1/nodes', { items: [{ metadata: { name: 'n' }, status: { allocatable: { 'nvidia.com/gpu': '4' } } }] });
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    api.others.set('/apis/storage.k8s.io/v1/storageclasses', { items: [{ metadata: { name: 'fast', annotations } }] });
    api.others.set('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { status: { allowed: true } });
    api.addTask('one', { status: { run: { isolation: { network: 'Enforced' } } } });
    api.pools.set('team/coding', {
      metadata: { name: 'coding', namespace: 'team' },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });

  test('finds nothing wrong, and has colours for a terminal only', async () => {
    const { code, out } = await fleet(api, ['doctor']);
    expect([code, /FAIL|WARN/.exec(out), out.includes('\u{1b}')]).toEqual([0, null, false]);
    expect((await fleet(api, ['doctor'], { terminal: true })).out).toContain('\u{1b}[32mOK');
    expect((await fleet(api, ['doctor'], { terminal: true, env: { KUBECONFIG: api.kubeconfig, NO_COLOR: '1' } })).out).not.toContain(
      '\u{1b}',
    );
  });

  const forbidden = { code: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'no' } };
  const byHand = {
    metadata: { name: 'fast', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
  };
  const volume = (storageClassName: string, phase: string) => ({ metadata: { name: 'v' }, spec: { storageClassName }, status: { phase } });
  test.each([
    ['an old server', () => api.others.set('/version', { gitVersion: 'v1.30.0', minor: '30+' }), 0, /WARN +API server .*upgrade/],
    ['no definitions', () => api.others.set(path, { resources: [] }), 1, /FAIL +Definitions .*helm upgrade/],
    [
      'no policies',
      () => api.others.set(bindings, { items: [] }),
      1,
      /FAIL +Admission policies +not in force: .*agenttask-spec\.agentfleet\.dev.*crds\/policies/,
    ],
    ['no operator', () => api.others.set('/apis/apps/v1/deployments', { items: [] }), 1, /FAIL +Operator .*install the chart/],
    [
      'an open network',
      () => api.addTask('two', { status: { run: { isolation: { network: 'NotEnforced' } } } }),
      1,
      /FAIL +NetworkPolicy .*team\/two .*plugin/,
    ],
    [
      'a network that was open before',
      () => {
        api.addTask('two', { status: { run: { isolation: { network: 'NotEnforced' } } } });
        const metadata = { name: 'three', namespace: 'team', creationTimestamp: '2031-01-01T00:00:00Z' };
        api.addTask('three', { metadata, status: { run: { isolation: { network: 'Enforced' } } } });
      },
      0,
      /WARN +NetworkPolicy .*team\/two reached .* team\/three, .* delete the older task/,
    ],
    ['no pool', () => api.pools.clear(), 0, /WARN +Pools .*fleet init/],
    [
      'a pool that is not ready',
      () =>
        api.pools.set('team/coding', {
          metadata: { name: 'coding', namespace: 'team' },
          status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ReplayNotFound', message: 'm' }] },
        }),
      1,
      /FAIL +Pool team\/coding +ReplayNotFound: m +create it/,
    ],
    ['no storage', () => api.others.set('/apis/storage.k8s.io/v1/storageclasses', { items: [] }), 0, /WARN +Storage .*mark a StorageClass/],
    [
      'a class without a provisioner, and no volume that is free',
      () => {
        api.others.set('/apis/storage.k8s.io/v1/storageclasses', { items: [byHand] });
        api.others.set('/api/v1/persistentvolumes', { items: [volume('fast', 'Bound'), volume('other', 'Available')] });
      },
      0,
      /WARN +Storage +default StorageClass fast has no provisioner, and no volume of it is Available +make a PersistentVolume/,
    ],
    [
      'a class without a provisioner, and a volume',
      () => {
        api.others.set('/apis/storage.k8s.io/v1/storageclasses', { items: [byHand] });
        api.others.set('/api/v1/persistentvolumes', { items: [volume('fast', 'Available')] });
      },
      0,
      /OK +Storage +default StorageClass fast, 1 volume Available\n/,
    ],
    [
      'a pool without workers',
      () => api.pools.set('team/coding', { ...api.pools.get('team/coding'), spec: { workers: { replicas: 0 } } }),
      0,
      /WARN +Pool team\/coding +spec\.workers\.replicas is 0: its tasks wait +kubectl -n team scale expertpool coding --replicas=1/,
    ],
    [
      'kinds that are gone, which is no lack of rights',
      () =>
        (api.refuse = ({ path: asked }) =>
          asked.startsWith(`${path}/`) ? { code: 404, body: { message: '404 page not found' } } : undefined),
      0,
      /^(?![^]*may not list)[^]*NetworkPolicy +the cluster does not serve AgentTasks +install the chart/,
    ],
    [
      'no permission to look',
      () => (api.refuse = ({ path: asked }) => (asked.endsWith('/nodes') ? forbidden : undefined)),
      0,
      /WARN +GPUs +you may not list Nodes/,
    ],
    [
      'no permission to act',
      () => api.others.set('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { status: { allowed: false } }),
      0,
      /WARN +May create agenttasks .*agentfleet-editor/,
    ],
  ])('finds %s', async (_, change, code, wanted) => {
    change();
    const said = await fleet(api, ['doctor']);
    expect(said.code).toBe(code);
    expect(said.out).toMatch(wanted);
  });
});

test.each(['bash', 'zsh', 'fish'])('fleet completion %s is a script that the shell reads', async (shell) => {
  const { code, out } = await fleet(api, ['completion', shell]);
  expect(code).toBe(0);
  expect(out).toContain('--dry-run');
  if (shell !== 'bash') return;
  const ask = `${out}\nCOMP_WORDS=(fleet -n team audit ver); COMP_CWORD=4; _fleet; echo "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['-c', ask], { encoding: 'utf8' })).toBe('verify\n');
});
