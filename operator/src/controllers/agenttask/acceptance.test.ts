import { findCondition } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { newPool } from './testing/objects.ts';
import { assignment, now, snapshotOf, taskOf, working } from './testing/snapshots.ts';

const setup = [{ name: 'deps', command: ['npm', 'ci'], network: 'Registries' }];
const git = (url: string, credential = 'robot') => ({ workspace: { type: 'Git', git: { url, ref: 'main', credential } } });
const credentials = [{ name: 'robot', secretRef: { name: 'git', key: 'token' }, hosts: ['git.example.com', 'example.com'] }];
const compute = { kBase: 1, kMax: 2 };

interface Case {
  readonly spec: object;
  readonly pool?: Readonly<Record<string, unknown>>;
  readonly listed?: boolean;
}

function accepted({ spec, pool = {}, listed = false }: Case, status = taskOf(undefined).status): string {
  const decision = decide(snapshotOf(taskOf(status, spec), { resolution: { pool: newPool(pool) }, registriesListed: listed }), now);
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
    ['a host that only ends like one', { spec: git('https://notexample.com/a/b'), pool: { credentials } }, /^CredentialNotForHost/],
    ['a credential over ssh', { spec: git('ssh://git@example.com/a/b'), pool: { credentials } }, /^CredentialNotForHost: .*https only/],
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
