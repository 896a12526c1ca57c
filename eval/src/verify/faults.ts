/** What a task is refused for, from what was seen of it. */
import type { PackManifest, PackTask, Range } from '../format/index.ts';
import type { CheckVerdict, Verdict } from './judge.ts';
import { missedTests } from './passed.ts';

const shownLines = 12;

function told(verdict: Omit<CheckVerdict, 'counts'>): string {
  const end = verdict.output.trimEnd().split('\n').slice(-shownLines).join('\n');
  return `${verdict.reason === 'Exit' ? `status ${String(verdict.status)}` : verdict.reason}\n${end}`;
}

/** The oracle must pass both checks. */
export function oracleFaults(verdict: Verdict): string[] {
  const { broken } = verdict;
  if (broken !== undefined) return [`its ${broken.script === 'set-up' ? 'set-up' : 'oracle script'} fails: ${told(broken)}`];
  return (['visible', 'hidden'] as const)
    .filter((check) => !verdict[check].passed)
    .map((check) => `its oracle does not pass the ${check} check: ${told(verdict[check])}`);
}

/** A no-op that runs out of time or memory fails too, but says nothing about the bug: it is refused. */
export function noOpFaults({ visible: { start } }: Pick<PackTask, 'visible'>, verdict: Verdict): string[] {
  return (['visible', 'hidden'] as const).flatMap((check) => {
    const { passed, reason } = verdict[check];
    const mayPass = check === 'visible' && start === 'passes';
    if (passed) return mayPass ? [] : [`the no-op passes its ${check} check; add a test that the bug fails`];
    if (mayPass) return [`the no-op does not pass its visible check, which says "start: passes": ${told(verdict[check])}`];
    return reason === 'Exit' ? [] : [`the no-op ends its ${check} check with ${reason}; choose a bug that lets the tests end`];
  });
}

/** What an instance says about tests must hold before anything is done: those to pass fail, those to stay pass. */
export function startFaults({ hidden: { tests } }: Pick<PackTask, 'hidden'>, { hidden }: Verdict): string[] {
  if (tests === undefined) return [];
  const missed = new Set(missedTests([...tests.failing, ...tests.passing], hidden.output, hidden.status));
  const passes = tests.failing.filter((id) => !missed.has(id)).map((id) => `${id} of FAIL_TO_PASS passes at the start; take it out`);
  return [...passes, ...tests.passing.filter((id) => missed.has(id)).map((id) => `${id} of PASS_TO_PASS fails at the start; take it out`)];
}

/** A wrong solution must be told from a right one by the hidden check; one that breaks by itself says nothing. */
export function decoyFaults(at: number, why: string, { broken, hidden }: Verdict): string[] {
  const name = `decoy ${at + 1} (${why})`;
  if (broken !== undefined) return [`the script of its ${name} fails: ${told(broken)}`];
  return hidden.passed ? [`its ${name} passes the hidden check; test for what is wrong with it`] : [];
}

function outside(what: string, value: number | undefined, range: Range | undefined): string[] {
  if (range === undefined) return [];
  if (value === undefined) return [`the output tells no number of ${what}; use a runner that does, or drop the bound`];
  return value < range[0] || value > range[1] ? [`${value} ${what}, not ${range[0]} to ${range[1]}; change its tests`] : [];
}

/** Numbers of tests that the pack promises. */
export function boundFaults({ noOp, oracle }: { noOp: Verdict; oracle: Verdict }, bounds: PackManifest['bounds']): string[] {
  return [
    ...outside('visible tests', oracle.visible.counts?.tests, bounds?.visibleTests),
    ...outside('visible tests that fail', noOp.visible.counts?.failed, bounds?.visibleFailing),
    ...outside('hidden tests', oracle.hidden.counts?.tests, bounds?.hiddenTests),
  ];
}
