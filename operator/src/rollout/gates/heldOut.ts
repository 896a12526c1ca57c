// operator, rollout/gates: gates on AUC, ECE and Brier score of canary and stable verifier. May import statistics, routing and protocol.
import type { Finding, HeldOut, HeldOutHead } from './gate.ts';

/** A bound of one figure: `holds` for those that may pass, `slack` the smaller the worse. */
interface HeldOutBound {
  readonly field: 'auc' | 'ece' | 'brier';
  readonly minSamples: number;
  /** By how much a figure keeps its bounds; below zero it does not. */
  readonly slack: (value: number, baseline: number | undefined) => number;
}

const unreported = (whose: string): Finding => ({
  verdict: 'InsufficientData',
  samples: 0,
  message: `the pods of the ${whose} have not reported figures on problems that it never saw`,
});

interface Compared {
  readonly head: HeldOutHead;
  readonly base: HeldOutHead | undefined;
  readonly slack: number;
}

/** Compares two verifiers head by head; the worst one decides. What is not reported, or is no number, never passes. Pure. */
export function heldOutFinding(canary: HeldOut | undefined, stable: HeldOut | undefined, bound: HeldOutBound): Finding {
  if (canary === undefined) return unreported('canary');
  if ('fault' in canary) return { verdict: 'Fail', samples: 0, message: `the calibration of the canary cannot count: ${canary.fault}` };
  if (stable === undefined) return unreported('stable revision');
  if ('fault' in stable)
    return { verdict: 'InsufficientData', samples: 0, message: `the calibration of the stable revision cannot count: ${stable.fault}` };
  const samples = Math.min(...canary.heads.map((head) => head.samples));
  const insufficient = (message: string): Finding => ({ verdict: 'InsufficientData', samples, message });
  const lost = stable.heads.find(({ name }) => !canary.heads.some((head) => head.name === name));
  if (lost !== undefined || canary.heads.length === 0) return insufficient(`the canary reports nothing of head ${lost?.name ?? ''}`);
  const needed = Math.max(1, bound.minSamples);
  const few = canary.heads.find((head) => !(head.samples >= needed));
  if (few !== undefined) return insufficient(`${few.samples} of ${needed} labelled acts of head ${few.name}`);
  const unmeasured = [...canary.heads, ...stable.heads].find((head) => head[bound.field] === undefined);
  if (unmeasured !== undefined)
    return insufficient(`nobody measured ${bound.field} of head ${unmeasured.name}; calibrate it anew, or remove the gate`);
  return worst(canary.heads, stable.heads, bound) ?? insufficient(`${bound.field} of a head is no number`);
}

function worst(heads: readonly HeldOutHead[], bases: readonly HeldOutHead[], { field, slack }: HeldOutBound): Finding | undefined {
  const all = heads.map((head): Compared => {
    const base = bases.find(({ name }) => name === head.name);
    return { head, base, slack: slack(head[field] ?? Number.NaN, base?.[field]) };
  });
  if (all.some(({ slack, base }) => ![slack, base?.[field] ?? 0].every(Number.isFinite))) return undefined;
  const [least] = all.toSorted((a, b) => a.slack - b.slack);
  if (least === undefined) return undefined;
  const { head, base } = least;
  const [value, baseline] = [head[field] ?? Number.NaN, base?.[field]];
  const beside = baseline === undefined ? 'which the stable revision does not have' : `of the stable ${baseline.toFixed(3)}`;
  return {
    verdict: least.slack >= 0 ? 'Pass' : 'Fail',
    value,
    ...(baseline === undefined ? {} : { baseline }),
    samples: head.samples,
    message: `the worst head is ${head.name}: ${field} ${value.toFixed(3)}, ${beside}`,
  };
}
