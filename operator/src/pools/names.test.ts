import { describe, expect, test } from 'vitest';
import { assert, property, stringMatching } from 'fast-check';
import { sandboxName } from '../controllers/agenttask/sandbox/template.ts';
import {
  accessName,
  artifactsClaim,
  briefName,
  childName,
  expertName,
  expertsName,
  verifierName,
  workerServiceAccount,
  workersName,
  workersOfPod,
} from './names.ts';

describe('names of children', () => {
  test('join their parts while they are short', () => {
    expect(childName('coding', 'worker')).toBe('coding-worker');
    expect(briefName('coding')).toBe('coding-workers');
    expect(workerServiceAccount('coding')).toBe('coding-worker');
    expect(expertName('coding', 'gen')).toBe('coding-expert-gen');
    expect(artifactsClaim('coding')).toBe('coding-artifacts');
  });

  test('are cut at 52 characters and stay apart', () => {
    const long = 'p'.repeat(60);
    const names = [childName(long, 'worker'), childName(long, 'workers'), childName(`${long}p`, 'worker')];
    for (const name of names) expect(name).toMatch(/^p{43}-[0-9a-f]{8}$/);
    expect(new Set(names).size).toBe(3);
    expect(childName('a'.repeat(45), 'worker')).toHaveLength(52);
  });

  test('are names that a Service may have', () => {
    for (const name of ['a.b', '7up', 'a.b-c'].map((pool) => childName(pool, 'worker'))) {
      expect(name).toMatch(/^[a-z][-a-z0-9]*-worker-[0-9a-f]{8}$/);
    }
    expect(childName('a.b', 'c')).not.toBe(childName('a-b', 'c'));
    expect(childName(`${'a'.repeat(42)}--${'b'.repeat(20)}`)).toMatch(/^a{42}-[0-9a-f]{8}$/);
  });

  test('of one owner are legal and differ, whatever its name; those of the longest names too', () => {
    const label = /^(?=.{1,63}$)[a-z]([-a-z0-9]*[a-z0-9])?$/;
    const subdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
    const name = stringMatching(/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?)?$/);
    const expert = stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    const holds = (pool: string, one: string, other: string): void => {
      const own = [workersName(pool), workerServiceAccount(pool), expertsName(pool), artifactsClaim(pool), verifierName(pool)];
      const all = [...own, expertName(pool, one), ...(other === one ? [] : [expertName(pool, other)]), childName(pool, 'warm')];
      for (const made of all) {
        expect(made).toMatch(label);
        // A ReplicaSet and a pod append eleven characters and six.
        expect(made.length).toBeLessThanOrEqual(52);
      }
      expect(new Set(all).size).toBe(all.length);
      const sandboxes = [1, 2, 99, 1_000_000].map((epoch) => sandboxName(pool, epoch));
      for (const made of sandboxes) expect(made).toMatch(/^(?=.{1,63}$)/);
      for (const made of [...sandboxes, accessName({ namespace: 'n'.repeat(63), name: pool })]) expect(made).toMatch(subdomain);
      expect(new Set(sandboxes).size).toBe(sandboxes.length);
    };
    assert(property(name, expert, expert, holds), { numRuns: 300 });
    holds('x'.repeat(63), 'y'.repeat(63), `${'y'.repeat(62)}z`);
    holds(`${'x'.repeat(30)}.${'-'.repeat(0)}${'x'.repeat(32)}`, 'e', 'f');
    expect(accessName({ namespace: 'a', name: 'b.c' })).not.toBe(accessName({ namespace: 'a.b', name: 'c' }).replace('a.b', 'a-b'));
  });
});

test('the workers of a pool are found by the name of a pod, however long theirs is and wherever Kubernetes cuts it', () => {
  const pool = stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  const [hash, random] = [stringMatching(/^[bcdfghjklmnpqrstvwxz2456789]{6,10}$/), stringMatching(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/)];
  const holds = (of: string, template: string, end: string): void => {
    const pod = `${`${workersName(of)}-${template}-`.slice(0, 58)}${end}`;
    expect(workersOfPod(pod)).toBe(workersName(of));
  };
  assert(property(pool, hash, random, holds), { numRuns: 500 });
  for (let length = 1; length <= 63; length += 1) holds('p'.repeat(length), '7d4f9c5b68', 'x2x4x');
  expect(['w-1', 'worker', ''].map(workersOfPod)).toEqual([undefined, undefined, undefined]);
});
