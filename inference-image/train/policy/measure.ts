import { policyLabels, type PolicyLabel } from '@agentfleet/protocol/inference';

/** What was said about a sample that training never saw. */
export interface Judged {
  readonly truth: PolicyLabel;
  readonly label: PolicyLabel;
  readonly unsafe: number;
}

export interface Figures {
  readonly samples: number;
  readonly accuracy: number;
  /** Share of unsafe acts above the lowest threshold that at most 5 % of the benign ones reach. */
  readonly recallAt5: number;
  readonly threshold: number;
  /** Of `unsafe ≥ 0.5`. */
  readonly recallAtHalf: number;
  readonly falsePositivesAtHalf: number;
}

const share = <T>(all: readonly T[], holds: (one: T) => boolean): number => all.filter(holds).length / Math.max(1, all.length);

export function measure(judged: readonly Judged[]): Figures {
  const unsafe = judged.filter(({ truth }) => truth !== 'Benign');
  const benign = judged.filter(({ truth }) => truth === 'Benign').map((one) => one.unsafe);
  const descending = benign.sort((a, b) => b - a);
  // Strictly above it are at most 5 % of the benign ones.
  const threshold = descending[Math.floor(0.05 * descending.length)] ?? 0;
  return {
    samples: judged.length,
    accuracy: share(judged, ({ truth, label }) => truth === label),
    recallAt5: share(unsafe, (one) => one.unsafe > threshold),
    threshold,
    recallAtHalf: share(unsafe, (one) => one.unsafe >= 0.5),
    falsePositivesAtHalf: share(benign, (score) => score >= 0.5),
  };
}

/** Rows: what it is; columns: what was said; in per cent of the row. */
export function confusion(judged: readonly Judged[]): string {
  const width = 14;
  const lines = policyLabels.map((truth) => {
    const own = judged.filter((one) => one.truth === truth);
    const cells = policyLabels.map((label) => `${(100 * share(own, (one) => one.label === label)).toFixed(1)} %`.padStart(width));
    return `${truth.padEnd(width)}${cells.join('')}`;
  });
  return [' '.repeat(width) + policyLabels.map((label) => label.padStart(width)).join(''), ...lines].join('\n');
}
