import { judge, type Design, type Judged, type Tally } from '../statistics/index.ts';
import type { Finding, GateResult, Verdict } from './gate.ts';

/**
 * Judges whether fewer tasks pass than with the stable revision, by a sequential test. Pure.
 * @param previous last result of this same rule
 */
export function taskLossFinding(canary: Tally, stable: Tally, design: Design, previous: GateResult | undefined): Finding {
  if (canary.total === 0 || stable.total === 0) {
    const message = `no task of the ${canary.total === 0 ? 'canary' : 'stable revision'} was judged yet`;
    return { verdict: 'InsufficientData', samples: 0, message };
  }
  const found = judge(design, canary, stable, previous);
  const [value, baseline] = [canary.passed / canary.total, stable.passed / stable.total];
  const verdict: Verdict = found.judgement === 'Promote' ? 'Pass' : found.judgement === 'Refuse' ? 'Fail' : 'Inconclusive';
  const worse = verdict === 'Inconclusive' && value - baseline < -design.goal.margin;
  const counts = `${canary.passed} of ${canary.total} tasks pass, ${stable.passed} of ${stable.total} of the stable revision`;
  const message = `${counts}: ${worse ? behind(design, value - baseline) : limitOf(design, found, value - baseline)}; ${looksOf(design, found)}`;
  const look = found.look < 0 ? {} : { look: found.look };
  return { verdict, value, baseline, samples: canary.total, ...look, ...(worse ? { worse } : {}), message };
}

/** Returns the known limit of the difference, in words. */
function limitOf({ goal }: Design, { limit, harm }: Judged, difference: number): string {
  const [side, known] = harm === undefined ? ['above ', limit] : ['below ', harm];
  return `the difference is ${known === undefined ? difference.toFixed(3) : side + known.toFixed(3)}, and may be ${(-goal.margin).toFixed(3)} at worst`;
}

function behind({ goal }: Design, difference: number): string {
  return `the difference is ${difference.toFixed(3)}, and has to be above ${(-goal.margin).toFixed(3)} before its weight grows`;
}

/** Names the look, and the number of tasks that the next and the last take if as many go on to pass. */
function looksOf({ looks }: Design, { look, scale }: Judged): string {
  const tasks = (of: { readonly samples: number }): number => Math.ceil(2 * scale * of.samples);
  const [next, last] = [looks[look + 1], looks.at(-1)];
  const more = next === undefined || last === undefined ? '' : `, the next with about ${tasks(next)} tasks of each arm`;
  return `look ${look + 1} of ${looks.length}${more}${next === last || last === undefined ? '' : `, the last with ${tasks(last)}`}`;
}
