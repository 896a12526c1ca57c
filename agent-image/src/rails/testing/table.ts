import { describe, expect, test } from 'vitest';
import { createRails, installedGrammars, loadGrammars, type Act, type Policy, type Rails } from '../index.ts';

/** For tests only: rails with the installed grammars, and the policy that most cases are judged by. */
export async function testRails(): Promise<Rails> {
  return createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
}

export const testPolicy: Policy = { profile: 'Default', roots: ['/workspace'], network: 'Loopback' };

export interface Cases {
  /** Found by the rail as anybody would write it. */
  readonly positives: readonly (string | Act)[];
  /** Found although written to pass. */
  readonly evasions: readonly (string | Act)[];
  /** Looks alike and is not found by this rail; it is not denied either. */
  readonly benign: readonly (string | Act)[];
  readonly policy?: Partial<Policy>;
}

export function shell(one: string | Act): Act {
  return typeof one === 'string' ? { tool: 'Shell', command: one } : one;
}

/** The suite of one rail. */
export async function describeRail(id: string, cases: Cases): Promise<void> {
  const rails = await testRails();
  const policy = { ...testPolicy, ...cases.policy };
  const idsOf = (act: string | Act): readonly string[] => rails.judge(shell(act), policy).findings.map((one) => one.rail);
  describe(id, () => {
    test('there are enough cases', () => {
      expect(cases.positives.length + cases.evasions.length).toBeGreaterThanOrEqual(8);
      expect(cases.evasions.length).toBeGreaterThanOrEqual(3);
      expect(cases.benign.length).toBeGreaterThanOrEqual(8);
    });
    const name = (act: string | Act): string => (typeof act === 'string' ? act : JSON.stringify(act));
    test.each(cases.positives.map((act) => [name(act), act] as const))('finds %s', (_name, act) => {
      expect(idsOf(act)).toContain(id);
      expect(rails.judge(shell(act), policy).decision).not.toBe('Allow');
    });
    test.each(cases.evasions.map((act) => [name(act), act] as const))('sees through %s', (_name, act) => {
      expect(idsOf(act)).toContain(id);
      expect(rails.judge(shell(act), policy).decision).not.toBe('Allow');
    });
    test.each(cases.benign.map((act) => [name(act), act] as const))('leaves %s', (_name, act) => {
      expect(idsOf(act)).not.toContain(id);
      expect(rails.judge(shell(act), policy).decision).not.toBe('Deny');
    });
  });
}
