import type { Run } from '@agentfleet/protocol/api';
import type { StepSignals } from './steps.ts';

const maxDegraded = 8;

/** Signals as the API has them: numbers are decimals in strings, and what is not known is left out. */
export function signalsReport(signals: StepSignals): NonNullable<Run['signals']> {
  const { risk, energy, pSuccess, margin, entropyNats, k, deliberate, degraded } = signals;
  return {
    k,
    deliberate,
    ...(risk !== null && { risk: decimal(risk) }),
    ...(energy !== null && { energy: decimal(energy) }),
    ...(pSuccess !== null && { pSuccess: decimal(pSuccess) }),
    ...(margin !== null && { margin: decimal(margin) }),
    ...(entropyNats !== null && { entropyNats: decimal(entropyNats) }),
    ...(degraded.length > 0 && { degraded: degraded.slice(0, maxDegraded) }),
  };
}

/** At most nine digits before the point. */
function decimal(value: number): string {
  return Math.min(1e8, Math.max(-1e8, value)).toFixed(6);
}
