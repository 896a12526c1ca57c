import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { slimTask } from '../../runtime/transforms.ts';
import { newPool } from './testing/objects.ts';
import { assignment, now, snapshotOf, taskOf, working } from './testing/snapshots.ts';

const setup = [{ name: 'deps', command: ['npm', 'ci'], network: 'Registries' }];
const git = (url: string, credential = 'robot') => ({ workspace: { type: 'Git', git: { url, ref: 'main', credential } } });
const credentials = [{ name: 'robot', secretRef: { name: 'git', key: 'token' }, hosts: ['git.example.com', 'example.com'] }];
const behindKey = (credential: string): object => ({
  name: 'chat',
  role: 'Specialist',
  engine: { type: 'OpenAI', api: { baseURL: 'https://example.com/v1', model: 'm', credential } },
});
const compute = { kBase: 1, kMax: 2 };
const hostsOf = (...written: readonly string[]): readonly object[] =>
  written.map((one) => ({ host: one.split(':')[0], port: Number(one.split(':')[1]) }));
const reaching = (...hosts: readonly string[]): object => ({ policy: { network: { mode: 'Allowed', hosts: hostsOf(...hosts) } } });
const listing = (...hosts: readonly string[]): Readonly<Record<string, unknown>> => ({ policy: { allowedHosts: hostsOf(...hosts) } });
const serving = (server: object): object => ({ tools: { mcpServers: [server] } });
const withServer = { tools: { mcpServers: [{ name: 'docs', url: 'https://mcp.corp/mcp', timeoutSeconds: 60, readOnly: false }] } };
const repository = (url: string): object => ({ workspace: { type: 'Git', git: { url, ref: 'main' } } });

interface Case {
  readonly spec: object;
  readonly pool?: Readonly<Record<string, unknown>>;
  readonly listed?: boolean;
}

function accepted({ spec, pool = {}, listed = false }: Case, status = taskOf(undefined).status): string {
  const decision = decide(
    snapshotOf(slimTask(taskOf(status, spec)), { resolution: { pool: newPool(pool) }, registriesListed: listed }),
    now,
  );
  const { status: is, reason, message } = findCondition(decision.status.conditions, 'Accepted')!;
  expect(decision.actions.filter(({ type }) => type === 'createSandbox')).toHaveLength(is === 'True' && status === undefined ? 1 : 0);
  if (is === 'False') expect(findCondition(decision.status.conditions, 'Stalled')?.status).toBe('True');
  return is === 'True' ? 'True' : `${reason}: ${message}`;
}

describe('a task is taken on only when the pool has what it names', () => {
  test.each<readonly [string, Case, RegExp]>([
    [
      'registries that nobody lists',
      { spec: { setup } },
      /^RegistriesNotConfigured: spec\.setup\[\] deps .*chart value egress\.registries/,
    ],
    ['registries that are listed', { spec: { setup }, listed: true }, /^True$/],
    ['a set-up without network', { spec: { setup: [{ name: 'build', command: ['make'] }] } }, /^True$/],
    [
      'hosts that the task allows itself',
      {
        spec: {
          policy: { network: { mode: 'Allowed', hosts: [{ host: 'example.com', port: 443 }] } },
          setup: [{ ...setup[0], network: 'Allowed' }],
        },
      },
      /^True$/,
    ],
    ['an MCP server of the pool', { spec: serving({ name: 'docs' }), pool: withServer }, /^True$/],
    [
      'an MCP server of the pool by its address',
      { spec: serving({ name: 'docs', url: 'https://mcp.corp/mcp' }), pool: withServer },
      /^True$/,
    ],
    [
      'an MCP server at a host that the pool lists',
      { spec: serving({ name: 'own', url: 'http://own.example:8080/mcp' }), pool: listing('own.example:8080') },
      /^True$/,
    ],
    [
      'an MCP server that nobody has',
      { spec: serving({ name: 'own' }), pool: withServer },
      /^ToolsNotAllowed: spec\.tools\.mcpServers\[\] own has no url, and ExpertPool platform\/coding has these servers: docs; create .* add it to spec\.tools\.mcpServers of the pool/,
    ],
    [
      'an MCP server of the pool at another address',
      { spec: serving({ name: 'docs', url: 'https://own.example/mcp' }), pool: withServer },
      /^ToolsNotAllowed: .* docs has the url https:\/\/own\.example\/mcp, and that of ExpertPool platform\/coding is https:\/\/mcp\.corp\/mcp; create/,
    ],
    [
      'an MCP server at a host that the pool does not list',
      { spec: serving({ name: 'own', url: 'https://own.example/mcp' }), pool: listing('own.example:8080') },
      /^ToolsNotAllowed: .* own is at own\.example:443, which ExpertPool platform\/coding does not list; add it to spec\.tools\.mcpServers or/,
    ],
    ['a host that the pool lists', { spec: reaching('git.corp:443'), pool: listing('a.example:443', 'git.corp:443') }, /^True$/],
    [
      'a host that it does not list',
      { spec: reaching('a.example:443', 'b.example:443'), pool: listing('a.example:443') },
      /^HostNotAllowed: spec\.policy\.network\.hosts has b\.example:443, and ExpertPool platform\/coding allows these: a\.example:443; create .* spec\.policy\.allowedHosts/,
    ],
    [
      'another port of a host that it lists',
      { spec: reaching('a.example:22'), pool: listing('a.example:443') },
      /^HostNotAllowed: .* has a\.example:22/,
    ],
    [
      'any host of a pool that lists none',
      { spec: reaching('a.example:443'), pool: listing() },
      /^HostNotAllowed: .* allows these: none; /,
    ],
    ...['10.96.0.1', '127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '169.254.169.254', '172.18.0.2', '100.64.0.9', '0.0.0.0'].map(
      (host) =>
        [
          `${host}, which is no public address, in a pool without a list`,
          { spec: reaching(`${host}:10250`) },
          /^HostNotAllowed: spec\.policy\.network\.hosts has .*:10250, which is no public address, and .* does not list it; create/,
        ] as const,
    ),
    ['a private address that the pool lists', { spec: reaching('10.1.2.3:8443'), pool: listing('10.1.2.3:8443') }, /^True$/],
    ['a public address', { spec: reaching('1.1.1.1:443') }, /^True$/],
    ...['https://10.96.0.1/a/b', 'https://[::1]:6443/a/b', 'https://[::ffff:10.0.0.1]/a', 'https://2130706433:10250/a/b'].map(
      (url) =>
        [
          `a repository at ${url}`,
          { spec: repository(url) },
          /^HostNotAllowed: spec\.workspace\.git\.url leads to \S+, which is no public address, and .* does not list it; create/,
        ] as const,
    ),
    ...['https://10.0.0.256/a/b', 'https://git.example.com:70000/a/b'].map(
      (url) =>
        [
          `a repository at ${url}, which is no address although the API server takes it`,
          { spec: git(url), pool: { credentials } },
          /^HostNotResolved: spec\.workspace\.git\.url is https:\S+, whose host or port is none; create the task again/,
        ] as const,
    ),
    [
      'an MCP server at no address',
      { spec: serving({ name: 'own', url: 'http://10.0.0.256/mcp' }) },
      /^ToolsNotAllowed: spec\.tools\.mcpServers\[\] own has the url http:\S+, whose host or port is none; create the task again/,
    ],
    ['a repository that the pool lists', { spec: repository('https://10.1.2.3/a/b'), pool: listing('10.1.2.3:443') }, /^True$/],
    ['a public repository in a pool with a list', { spec: repository('https://git.example.com/a'), pool: listing('a.b:443') }, /^True$/],
    [
      'a credential that the pool does not have',
      { spec: git('https://example.com/a/b') },
      /^CredentialNotFound: spec\.workspace\.git\.credential is robot, and ExpertPool platform\/coding has no .*spec\.credentials/,
    ],
    [
      'a credential of another host',
      { spec: git('https://evil.example.net/a/b'), pool: { credentials } },
      /^CredentialNotForHost: .* git\.example\.com, example\.com only, and spec\.workspace\.git\.url has the host evil\.example\.net; add/,
    ],
    [
      'a credential that the pool binds to other repositories',
      {
        spec: git('https://example.com/teams/app'),
        pool: { credentials: credentials.map((one) => ({ ...one, repositories: ['example.com/team/'] })) },
      },
      /^CredentialNotForRepository: spec\.workspace\.git\.credential is robot, which ExpertPool platform\/coding lets tasks use for example\.com\/team\/ only; add/,
    ],
    [
      'one that it binds to this one',
      {
        spec: git('https://example.com/team/app.git'),
        pool: { credentials: credentials.map((one) => ({ ...one, repositories: ['example.com/team/app'] })) },
      },
      /^True$/,
    ],
    [
      'a credential to push with that the pool does not have',
      { spec: { ...git('https://example.com/a/b'), output: { git: { credential: 'writer' } } }, pool: { credentials } },
      /^CredentialNotFound: spec\.output\.git\.credential is writer, and ExpertPool platform\/coding has no .*spec\.credentials/,
    ],
    [
      'one that it has',
      { spec: { ...git('https://example.com/a/b'), output: { git: { credential: 'robot' } } }, pool: { credentials } },
      /^True$/,
    ],
    [
      'more tokens than the pool allows',
      { spec: { budget: { tokens: 11 } }, pool: { policy: { maxBudget: { tokens: 10 } } } },
      /^BudgetTooHigh: spec\.budget\.tokens is 11/,
    ],
    [
      'more money than it allows',
      { spec: { budget: { cost: '10.01' } }, pool: { policy: { maxBudget: { cost: '9.5' } } } },
      /^BudgetTooHigh: spec\.budget\.cost is 10\.01/,
    ],
    ['as much money as it allows', { spec: { budget: { cost: '9.50' } }, pool: { policy: { maxBudget: { cost: '9.5' } } } }, /^True$/],
    [
      'more consent to the use of its trace than the pool allows',
      { spec: { trace: { consent: 'Training' } }, pool: { policy: { traceConsent: { default: 'None', most: 'Internal' } } } },
      /^TraceConsentTooHigh: spec\.trace\.consent is Training, and ExpertPool platform\/coding allows Internal at most; .* spec\.policy\.traceConsent\.most/,
    ],
    ['consent that no pool bounds', { spec: { trace: { consent: 'Training' } } }, /^True$/],
    [
      'the key of a model',
      { spec: git('https://example.com/a/b'), pool: { credentials, experts: [...newPool().spec.experts, behindKey('robot')] } },
      /^CredentialNotFound: .* the key of a model of ExpertPool platform\/coding/,
    ],
    ['a host that only ends like one', { spec: git('https://notexample.com/a/b'), pool: { credentials } }, /^CredentialNotForHost/],
    [
      'a credential of the host, whatever its case and port',
      { spec: git('https://Example.com:8443/a/b'), pool: { credentials } },
      /^True$/,
    ],
    [
      'a profile that the pool does not have',
      { spec: { profile: 'fast' }, pool: { profiles: [{ name: 'slow', compute }] } },
      /^ProfileNotFound: spec\.profile is fast, and ExpertPool platform\/coding has these: default, slow; create/,
    ],
    ['a profile that it has', { spec: { profile: 'slow' }, pool: { profiles: [{ name: 'slow', compute }] } }, /^True$/],
    [
      'rules that the pool does not let its tasks have',
      { spec: { policy: { profile: 'Permissive' } } },
      /^PolicyProfileNotAllowed: spec\.policy\.profile is Permissive, and ExpertPool platform\/coding allows these: Default, Strict; create/,
    ],
    [
      'the usual rules in a pool that leaves them out',
      { spec: {}, pool: { policy: { profiles: ['Strict'] } } },
      /^PolicyProfileNotAllowed: spec\.policy\.profile is Default, .* allows these: Strict; /,
    ],
    [
      'rules that it lets them have',
      { spec: { policy: { profile: 'Permissive' } }, pool: { policy: { profiles: ['Permissive'] } } },
      /^True$/,
    ],
    ['the profile that every pool has', { spec: { profile: 'default' }, pool: { profiles: [{ name: 'slow', compute }] } }, /^True$/],
  ])('%s', (_, given, expected) => expect(accepted(given)).toMatch(expected));

  test('what runs goes on when the platform takes its registries away', () => {
    expect(accepted({ spec: { setup } }, { ...working, assignment })).toBe('True');
  });
});
