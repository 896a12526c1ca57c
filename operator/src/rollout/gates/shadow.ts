import { wilson } from '@agentfleet/protocol/stats';
import { kappa, z95, type Table } from '../statistics/index.ts';
import type { Finding, ShadowEvidence, Verdict } from './gate.ts';

const none: Table = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };

interface AgreementGate {
  readonly bound: number;
  readonly minSamples: number;
}

/** Whether the shadow refuses what the stable verifier refuses. Pure. */
export function agreementFinding(shadow: ShadowEvidence | undefined, { bound, minSamples }: AgreementGate): Finding {
  const acts = shadow?.acts ?? none;
  const samples = acts.both + acts.onlyFirst + acts.onlySecond + acts.neither;
  const few = tooFew(samples, minSamples, 'acts that both verifiers were asked about');
  if (few !== undefined) return few;
  const found = kappa(acts, z95);
  if (found === undefined) {
    const message = `both said the same of all ${samples} acts, so that kappa says nothing; wait for acts of the other kind, or remove the gate`;
    return { verdict: 'InsufficientData', samples, message };
  }
  const { value, lower, upper } = found;
  const verdict: Verdict = lower >= bound ? 'Pass' : upper < bound ? 'Fail' : 'Inconclusive';
  const apart = `${acts.onlyFirst} acts refused by the stable only, ${acts.onlySecond} by the shadow only`;
  return { verdict, value, samples, message: `kappa is above ${lower.toFixed(3)}, and has to be ${bound}; ${apart}` };
}

interface FalseVetoGate {
  readonly bound: number;
  readonly minSamples: number;
}

/** How much of what led to success the shadow would have refused. Pure. */
export function falseVetoFinding(shadow: ShadowEvidence | undefined, { bound: max, minSamples }: FalseVetoGate): Finding {
  const { onlySecond, neither } = shadow?.ofSucceeded ?? none;
  const total = onlySecond + neither;
  const few = tooFew(total, minSamples, 'acts of tasks that succeeded');
  if (few !== undefined) return few;
  const { low, high } = wilson(onlySecond, total, z95);
  const verdict: Verdict = high <= max ? 'Pass' : low > max ? 'Fail' : 'Inconclusive';
  const message = `${onlySecond} of ${total} acts of tasks that succeeded would be refused: at most ${high.toFixed(4)}, and may be ${max}`;
  return { verdict, value: onlySecond / total, samples: total, message };
}

function tooFew(samples: number, needed: number, what: string): Finding | undefined {
  if (samples >= Math.max(1, needed)) return undefined;
  return { verdict: 'InsufficientData', samples, message: `${samples} of ${needed} ${what} so far` };
}
