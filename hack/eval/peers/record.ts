// The record of an agent at a task, and the figures of many.
import { mean, quantile } from '@agentfleet/eval/stats';
import { chatRoutes } from '@agentfleet/protocol/chat';
import type { TracedRequest } from './trace.ts';
import type { Exchange } from './endpoint.ts';

const peerFormat = 'agentfleet.dev/peer-record/v1';

export interface PeerRecord {
  readonly format: typeof peerFormat;
  readonly agent: string;
  readonly version: string;
  readonly task: string;
  readonly model: string;
  /** By the hidden check. */
  readonly solved: boolean;
  /** The agent's own description of its end. */
  readonly ended: string;
  /** Answers of the model. */
  readonly steps: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Bytes of messages and tools of each request. */
  readonly promptBytes: readonly number[];
  /** From the start of the agent to its end. */
  readonly wallSeconds: number;
  /** For each step but the last: from the model's answer to the next request. */
  readonly besideMs: readonly number[];
  /** For our loop: its requests to keeper and learned parts in these times. */
  readonly requests?: readonly StepRequest[];
}

/** A request of a step. */
interface StepRequest {
  /** Index in `besideMs`. */
  readonly step: number;
  readonly what: string;
  readonly ms: number;
}

/** Times from an answer to the request that follows it. */
export function besideMs(exchanges: readonly Exchange[]): readonly number[] {
  return exchanges.slice(1).map(({ arrivedMs }, at) => arrivedMs - (exchanges[at]?.answeredMs ?? arrivedMs));
}

/** Requests that began between an answer of the model and the request that follows it. Those to the model count by their ways through the gateway. */
export function requestsBetween(exchanges: readonly Exchange[], traced: readonly TracedRequest[]): readonly StepRequest[] {
  const ways = exchanges.flatMap(({ arrivedMs, answeredMs }) => {
    const own = traced.find(({ what, beganMs, endedMs }) => isChat(what) && beganMs <= arrivedMs && endedMs >= answeredMs);
    if (own === undefined) return [];
    return [
      { what: 'gateway, to the model', beganMs: own.beganMs, endedMs: arrivedMs },
      { what: 'gateway, from the model', beganMs: answeredMs, endedMs: own.endedMs },
    ];
  });
  return [...traced.filter(({ what }) => !isChat(what)), ...ways].flatMap(({ what, beganMs, endedMs }) => {
    const step = exchanges.findLastIndex(({ answeredMs }) => answeredMs <= beganMs);
    return step < 0 || step === exchanges.length - 1 ? [] : [{ step, what, ms: endedMs - beganMs }];
  });
}

const isChat = (what: string): boolean => what.endsWith(chatRoutes.completions);

type Facts = Omit<PeerRecord, 'format' | 'requests' | 'steps' | 'tokensIn' | 'tokensOut' | 'promptBytes' | 'besideMs'>;

/** The record of one run. Refused requests are no steps. */
export function recordOf({ exchanges, ...facts }: Facts & { readonly exchanges: readonly Exchange[] }): PeerRecord {
  const answered = exchanges.filter(({ status }) => status === 200);
  const sum = (of: (one: Exchange) => number): number => answered.reduce((all, one) => all + of(one), 0);
  return {
    format: peerFormat,
    ...facts,
    steps: answered.length,
    tokensIn: sum(({ tokensIn }) => tokensIn),
    tokensOut: sum(({ tokensOut }) => tokensOut),
    promptBytes: answered.map(({ promptBytes }) => promptBytes),
    besideMs: besideMs(answered),
  };
}

/** Figures of some steps. */
interface StepFigures {
  readonly steps: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Bytes / 4 of messages and tools. */
  readonly promptTokens: number;
}

/** Figures over all steps of records. */
export function figuresOf(records: readonly Pick<PeerRecord, 'besideMs' | 'promptBytes'>[]): StepFigures {
  const times = records.flatMap(({ besideMs }) => besideMs);
  const prompts = records.flatMap(({ promptBytes }) => promptBytes);
  return { steps: times.length, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), promptTokens: mean(prompts) / 4 };
}

/** Returns each step of each task from its quickest round: the closest to a machine without other load. */
export function quickest(records: readonly PeerRecord[]): readonly PeerRecord[] {
  return [...Map.groupBy(records, ({ task }) => task).values()].flatMap((rounds) => {
    const [first, ...others] = rounds;
    if (first === undefined) return [];
    const least = first.besideMs.map((own, at) => Math.min(own, ...others.map(({ besideMs }) => besideMs[at] ?? own)));
    return [{ ...first, besideMs: least }];
  });
}
