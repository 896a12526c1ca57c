import { describe, expect, test } from 'vitest';
import { artifactsClaim, briefName, childName, expertName, workerServiceAccount } from './names.ts';

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
});
