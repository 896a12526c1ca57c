import { decisions, risks, type Decision, type Finding, type Profile, type Risk, type Severity, type Verdict } from './types.ts';

/** What each profile makes of each severity. */
export const decisionTable: Readonly<Record<Severity, Readonly<Record<Profile, Decision>>>> = {
  Notice: { Strict: 'Allow', Default: 'Allow', Permissive: 'Allow', Privileged: 'Allow' },
  Reversible: { Strict: 'NeedsSnapshot', Default: 'NeedsSnapshot', Permissive: 'NeedsSnapshot', Privileged: 'NeedsSnapshot' },
  Suspicious: { Strict: 'NeedsApproval', Default: 'Review', Permissive: 'Review', Privileged: 'NeedsSnapshot' },
  Unknown: { Strict: 'Deny', Default: 'NeedsApproval', Permissive: 'Review', Privileged: 'Review' },
  High: { Strict: 'Deny', Default: 'Deny', Permissive: 'NeedsApproval', Privileged: 'Review' },
  Critical: { Strict: 'Deny', Default: 'Deny', Permissive: 'Deny', Privileged: 'NeedsApproval' },
};

function highest<T>(order: readonly T[], values: readonly T[]): T {
  return order[Math.max(0, ...values.map((value) => order.indexOf(value)))] as T;
}

/** One decision from all findings: the strictest. */
export function verdictOf(
  findings: readonly Finding[],
  risksFound: readonly Risk[],
  profile: Profile,
  { simpleCommands, structure, vouched }: Pick<Verdict, 'simpleCommands' | 'structure' | 'vouched'>,
): Verdict {
  const decision = highest(
    decisions,
    findings.map((one) => decisionTable[one.severity][profile]),
  );
  return {
    decision,
    risk: highest(risks, risksFound),
    snapshotFirst: decision !== 'Allow' && decision !== 'Deny',
    vouched: vouched && decision !== 'Deny',
    findings,
    simpleCommands,
    structure,
  };
}
