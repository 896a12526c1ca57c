import { kappa, z95, type Table } from '../statistics/index.ts';
import type { Bounded, Finding, GateResult, ShadowEvidence, Verdict } from './gate.ts';
import { lookAt, rateFinding, tooFew } from './look.ts';

const none: Table = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };

/**
 * Judges whether the shadow refuses the acts that the stable verifier refuses. Pure.
 * @param previous last result of this same rule
 */
export function agreementFinding(
  shadow: ShadowEvidence | undefined,
  { bound, minSamples }: Bounded,
  previous: GateResult | undefined,
): Finding {
  const acts = shadow?.acts ?? none;
  const samples = acts.both + acts.onlyFirst + acts.onlySecond + acts.neither;
  const few = tooFew(samples, minSamples, 'acts that both verifiers were asked about');
  if (few !== undefined) return few;
  const found = kappa(acts, z95);
  if (found === undefined) {
    const message = `both said the same of all ${samples} acts, so that kappa says nothing; wait for acts of the other kind, or remove the gate`;
    return { verdict: 'InsufficientData', samples, ...(previous?.look === undefined ? {} : { look: previous.look }), message };
  }
  const { value, lower } = found;
  const { look, z, words } = lookAt(samples, minSamples, previous);
  const refused = (kappa(acts, z)?.upper ?? bound) < bound;
  const verdict: Verdict = refused ? 'Fail' : lower >= bound ? 'Pass' : 'Inconclusive';
  const apart = `${acts.onlyFirst} acts refused by the stable only, ${acts.onlySecond} by the shadow only`;
  const message = `kappa is above ${lower.toFixed(3)}, and has to be ${bound}; ${apart}; ${words} acts`;
  return { verdict, value, samples, look, message };
}

/**
 * Judges the share of the acts of tasks that succeeded that the shadow would have refused. Pure.
 * @param previous last result of this same rule
 */
export function falseVetoFinding(shadow: ShadowEvidence | undefined, gate: Bounded, previous: GateResult | undefined): Finding {
  const { onlySecond, neither } = shadow?.ofSucceeded ?? none;
  const tally = { passed: onlySecond, total: onlySecond + neither };
  return rateFinding('atMost', tally, gate, 'acts of tasks that succeeded', previous, ' would be refused');
}
