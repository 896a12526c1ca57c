import { timestamp } from '@agentfleet/kube';
import { passedOn, type RolloutStatus } from '@agentfleet/protocol/api';
import { idle, type GateResult, type RolloutState } from '../rollout/index.ts';

/** What status keeps beside the machine's own state. */
export interface Kept {
  readonly id: string | undefined;
  readonly samplesBefore: number;
  readonly samples: number;
  readonly retried: string | undefined;
}

export type Whole = Kept & { readonly state: RolloutState };

const mostFailures = 16;

function decimal(value: number | undefined): string | undefined {
  if (value === undefined || !Number.isFinite(value) || Math.abs(value) >= 1e9) return undefined;
  const text = value.toFixed(6).replace(/0+$/, '').replace(/\.$/, '');
  return text === '-0' ? '0' : text;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function gateOf({ name, verdict, value, baseline, samples, look, message }: NonNullable<RolloutStatus['gates']>[number]): GateResult {
  return {
    name,
    verdict,
    value: value === undefined ? undefined : Number(value),
    baseline: baseline === undefined ? undefined : Number(baseline),
    samples,
    ...(look === undefined ? {} : { look }),
    message: message ?? '',
  };
}

function gateStatus({ name, verdict, value, baseline, samples, look, message }: GateResult): NonNullable<RolloutStatus['gates']>[number] {
  const [found, base] = [decimal(value), decimal(baseline)];
  return {
    name,
    verdict,
    ...(found === undefined ? {} : { value: found }),
    ...(base === undefined ? {} : { baseline: base }),
    samples,
    ...(look === undefined ? {} : { look }),
    message: cut(message, 256),
  };
}

/** The state that a status tells; that of nothing for none. Pure. */
export function wholeOf(status: RolloutStatus | undefined): Whole {
  if (status === undefined) return { state: idle, id: undefined, samplesBefore: 0, samples: 0, retried: undefined };
  const { id, samplesBefore, samples, retried, since, failures, gates, lastGreen = [], stable, canary, ...rest } = status;
  const state: RolloutState = {
    ...rest,
    stable,
    canary,
    reason: passedOn(rest.reason),
    phaseSince: Date.parse(since) / 1000,
    lastGreen,
    failures: Object.fromEntries((failures ?? []).map(({ revision, count }) => [revision, count])),
    gates: (gates ?? []).map(gateOf),
  };
  return { state, id, samplesBefore, samples, retried };
}

/** The status of a state. Pure. */
export function statusOf({ state, id, samplesBefore, samples, retried }: Whole): RolloutStatus {
  const { phase, stable, canary, weight, step, phaseSince, lastGreen, failures, gates, reason, message } = state;
  const failed = Object.entries(failures)
    .map(([revision, count]) => ({ revision, count }))
    .slice(-mostFailures);
  return {
    phase,
    ...(id === undefined ? {} : { id }),
    ...(stable === undefined ? {} : { stable }),
    ...(canary === undefined ? {} : { canary }),
    weight,
    step,
    since: timestamp(phaseSince * 1000),
    samplesBefore,
    samples,
    ...(lastGreen.length === 0 ? {} : { lastGreen: [...lastGreen] }),
    ...(failed.length === 0 ? {} : { failures: failed }),
    ...(gates.length === 0 ? {} : { gates: gates.map(gateStatus) }),
    ...(retried === undefined ? {} : { retried }),
    reason,
    message: cut(message, 512),
  };
}
