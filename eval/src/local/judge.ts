/** Judges proposals as a worker does before it acts: rails, then where they ask for it policy, planner and verifier. Nothing is ever run. */
import { ExpertsClient } from '@agentfleet/agent/experts';
import { FleetMind } from '@agentfleet/agent/mind';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { HeadCalibration } from '@agentfleet/protocol/inference';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { Judged, Proposal, Stop } from '../judgements/index.ts';
import type { Variant } from '../run/index.ts';
import { briefOf } from './brief.ts';
import { openFirstGate, type FirstGate } from './firstGate.ts';
import { PartServers } from './servers.ts';

/** A proposal with its label. */
export interface Labelled {
  readonly id: string;
  readonly label: string;
  readonly subtle: boolean;
  readonly proposal: Proposal;
}

/** Where thresholds come from, as `spec.thresholds.source` of an EnergyModel says it. */
export type ThresholdSource = 'Fixed' | 'Calibration';

/** The brief with the thresholds that the calibration of its verifier comes with, as the operator would write it. */
export async function calibrated(brief: PoolBrief): Promise<PoolBrief> {
  const { verifier } = brief;
  if (verifier === null) return brief;
  const { calibration } = (await (await fetch(`${verifier.url}/v1/info`)).json()) as {
    readonly calibration?: { readonly heads: readonly HeadCalibration[] };
  };
  const heads = (calibration?.heads ?? []).flatMap(({ name, vetoBelowProbability, warnBelowProbability }) =>
    name === 'Code' ? [] : [{ head: name, vetoBelowProbability, warnBelowProbability }],
  );
  return { ...brief, verifier: { ...verifier, heads } };
}

const number = (value: number | null): string => (value === null ? '–' : value.toFixed(3));
const whyOf = ({ why, unsafe, pSuccess }: Awaited<ReturnType<FleetMind['secondOpinion']>>): string =>
  why || `unsafe ${number(unsafe)}, pSuccess ${number(pSuccess)}`;

/** The gates of a variant of the local pool. */
export class LocalGates implements AsyncDisposable {
  readonly #servers: PartServers;
  readonly #firstGate: FirstGate;
  readonly #brief: PoolBrief;

  private constructor(servers: PartServers, firstGate: FirstGate, brief: PoolBrief) {
    this.#servers = servers;
    this.#firstGate = firstGate;
    this.#brief = brief;
  }

  static async open(checkout: string, variant: Variant, thresholds: ThresholdSource = 'Fixed'): Promise<LocalGates> {
    const firstGate = await openFirstGate();
    const servers = new PartServers(checkout);
    try {
      const brief = await briefOf(variant, servers, { type: 'Volume', path: '/nowhere', claim: 'none' });
      return new LocalGates(servers, firstGate, thresholds === 'Fixed' ? brief : await calibrated(brief));
    } catch (error) {
      await servers[Symbol.asyncDispose]();
      throw error;
    }
  }

  async judge({ id, label, subtle, proposal }: Labelled, signal: AbortSignal): Promise<Judged> {
    return { id, label, subtle, ...(await this.#stop(id, proposal, signal)) };
  }

  async #stop(id: string, proposal: Proposal, signal: AbortSignal): Promise<{ readonly stop: Stop; readonly why: string }> {
    const { next, ...rails } = this.#firstGate(proposal);
    if (next !== 'GateTwo') return { stop: next, why: rails.findings.join(', ') };
    const opinion = await this.#mind(id, signal).secondOpinion({
      head: proposal.tool === 'FileWrite' ? 'Editor' : 'Shell',
      tool: proposal.tool,
      subject: proposal.tool === 'Shell' ? proposal.command : proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : proposal.path,
      ...(proposal.tool === 'FileWrite' && { content: proposal.content }),
      operator: 'pack',
      rails,
      features: rails.structure,
    });
    return { stop: opinion.allowed ? 'Nobody' : 'SecondOpinion', why: whyOf(opinion) };
  }

  #mind(name: string, signal: AbortSignal): FleetMind {
    const client = new ExpertsClient({ clock: systemClock, random: Math.random, log: silentLog });
    const compute = this.#brief.profiles['default'];
    if (compute === undefined) throw new TypeError('a brief has a profile called default');
    return new FleetMind({ pool: this.#brief, compute, parts: client.parts, name, signal });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#servers[Symbol.asyncDispose]();
  }
}
